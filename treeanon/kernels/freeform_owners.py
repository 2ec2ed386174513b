"""Exchanges of originals between published tuples, until the sensitive values that they show are spread well.

original[j] is the original behind tuple j, whose sensitive value the tuple shows, and tuple_of[i] the tuple that has
original i behind it. Whoever knows original i sees it among the values of the k tuples covering[i]: what these break of
the rule is its excess.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from treeanon.kernels.freeform_matchings import Draws
from treeanon.kernels.freeform_rounds import Rule
from treeanon.kernels.jit import njit
from treeanon.kernels.trees import Ints, Longs

_UPHILL = np.uint32(1 << 24)


class Owned(NamedTuple):
    """A graph from both sides, and which original is behind which tuple."""

    edges: Ints
    covering: Ints
    original: Ints
    tuple_of: Ints
    excess: Ints


@njit
def covering_of(edges: Ints) -> Ints:
    """The k tuples that cover each original."""
    out = np.empty_like(edges)
    filled = np.zeros(len(edges), np.int64)
    for j in range(edges.shape[0]):
        for e in range(edges.shape[1]):
            i = edges[j, e]
            out[i, filled[i]] = j
            filled[i] += 1
    return out


@njit
def _excess(owned: Owned, i: int, rule: Rule) -> int:
    """By how many of the values that it is seen among an original breaks the rule."""
    k, over, distinct = owned.edges.shape[1], 0, 0
    for a in range(k):
        value = rule.values[owned.original[owned.covering[i, a]]]
        before = 0
        for b in range(a):
            if rule.values[owned.original[owned.covering[i, b]]] == value:
                before += 1
        if before == 0:
            distinct += 1
        if before >= rule.most:
            over += 1
    return over + max(rule.least - distinct, 0)


@njit
def all_excess(owned: Owned, rule: Rule) -> int:
    """Looks at all originals; returns the sum."""
    for i in range(len(owned.excess)):
        owned.excess[i] = _excess(owned, i, rule)
    return int(owned.excess.sum())


@njit
def _covers(edges: Ints, j: int, original: int) -> bool:
    for e in range(edges.shape[1]):
        if edges[j, e] == original:
            return True
    return False


@njit
def _drawn_cycle(owned: Owned, start: int, draws: Draws, at: int, chain: Longs) -> int:
    """A random way for some tuples to pass their originals on, each to the one before it: how many they are, or 0.

    Tuple chain[a] takes the original of chain[a + 1], and the last one that of the first, which is `start`.
    """
    chain[0] = start
    for length in range(1, len(chain)):
        j = chain[length - 1]
        taken = owned.edges[j, draws[at + length - 1] % np.uint32(owned.edges.shape[1])]
        after = owned.tuple_of[taken]
        for a in range(length):
            if chain[a] == after:
                return 0
        chain[length] = after
        if _covers(owned.edges, after, owned.original[start]):
            return length + 1
    return 0


@njit
def _pass_on(owned: Owned, chain: Longs, back: bool) -> None:
    """Every tuple of a cycle takes the original of the next one, or, to undo that, of the one before."""
    count = len(chain)
    step = count - 1 if back else 1
    before = owned.original[chain]
    for a in range(count):
        original = before[(a + step) % count]
        owned.original[chain[a]] = original
        owned.tuple_of[original] = chain[a]


@njit
def _recount(owned: Owned, chain: Longs, rule: Rule) -> int:
    """Looks anew at the originals that these tuples cover; returns by how much more they break the rule."""
    more = 0
    for j in chain:
        for e in range(owned.edges.shape[1]):
            i = owned.edges[j, e]
            now = _excess(owned, i, rule)
            more += now - owned.excess[i]
            owned.excess[i] = now
    return more


@njit
def improve_owners(owned: Owned, rule: Rule, left: int, longest: int, draws: Draws) -> int:
    """Lets tuples pass originals on in random cycles that do no harm, where an original breaks the rule; returns by how
    much all of them still do.
    """
    chain = np.empty(longest, np.int64)
    k = owned.edges.shape[1]
    listed = np.flatnonzero(owned.excess)
    for at in range(0, len(draws) - longest - 2, longest + 2):
        if left == 0:
            break
        # The list is of some time ago: an original that is well off by now leaves it when it is drawn.
        if len(listed) == 0:
            listed = np.flatnonzero(owned.excess)
        drawn = draws[at] % np.uint32(len(listed))
        i = listed[drawn]
        if owned.excess[i] == 0:
            listed[drawn] = listed[-1]
            listed = listed[:-1]
            continue
        start = owned.covering[i, draws[at + 1] % np.uint32(k)]
        count = _drawn_cycle(owned, start, draws, at + 2, chain)
        if count == 0:
            continue
        _pass_on(owned, chain[:count], False)
        more = _recount(owned, chain[:count], rule)
        if more <= 0 or (more == 1 and draws[at] < _UPHILL):
            left += more
            continue
        _pass_on(owned, chain[:count], True)
        _recount(owned, chain[:count], rule)
    return left
