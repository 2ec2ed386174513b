"""ACS, all cuts search: every cut once, from {*} down, except below cuts that fail ValueCheck.

After O. Gkountouna and M. Terrovitis, "Anonymizing collections of tree-structured data" (IEEE TKDE 2015), Section
III-C, Algorithm 4. `walk` is its loop, from the cut {*} down; `Closing` its body: which cuts come from a cut, each of
them once, and that those which fail ValueCheck are dead with all that is below them. Each is checked by
`Candidates.expand`: Algorithms 1 to 3, then its cost.

What is not specialized again: cuts that were seen, or values that a cheaper sibling has specialized. The paper closes
cuts in its text, and values in its implementation note (and in Examples 6 and 8). Closing values makes the search a set
enumeration: below a cut, nothing is specialized that one of its cheaper siblings specialized. Its second best branch so
never gets what the best one has.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Literal, get_args

from treeanon.algorithms.tree.published.candidates import Candidate, Candidates, Choose
from treeanon.algorithms.tree.published.choosing import Asked, Scopes, searched
from treeanon.algorithms.tree.published.cuts import Cut
from treeanon.algorithms.tree.solution import Result
from treeanon.errors import UsageError
from treeanon.forest import Forest
from treeanon.privacy import Guarantee
from treeanon.progress import Progress

Closed = Literal["values", "cuts"]


def search(
    forest: Forest,
    guarantee: Guarantee,
    *,
    closed: Closed = "values",
    scope: Scopes | None = None,
    choose: Choose | None = None,
    stricter: bool = False,
    budget: float | None = None,
    finish: threading.Event | None = None,
    progress: Progress | None = None,
) -> Result:
    """Return the best cut of all that pass (see `choosing`), with the disassociations that FixStructure makes for it.

    The number of cuts grows exponentially: for small hierarchies, or much data that is rare. At the end of `budget`
    seconds, or when `finish` is set, it is the best of those seen so far; {*}, the first, always holds. Both ways of
    closing visit the same cuts, in different orders: of equally cheap cuts the first wins.
    """

    asked = Asked(scope, choose, stricter, budget, finish, progress)
    return searched("acs", forest, guarantee, asked, partial(walk, closed=closed), closed=closed)


def walk(candidates: Candidates, closed: Closed) -> None:
    """Go through all cuts, depth first; `candidates.leading` are what was found."""
    closing = Closing(candidates, closed)
    # The last one in is the first one out.
    waiting: list[Candidate] = [candidates.root]
    while waiting and not candidates.limit.reached():
        [children] = closing.expand([waiting.pop()])
        waiting.extend(reversed(children))


class Closing:
    """Specializes cuts, each cut once."""

    def __init__(self, candidates: Candidates, closed: Closed) -> None:
        if closed not in get_args(Closed):
            raise UsageError(f"what is closed must be one of {', '.join(get_args(Closed))}")
        self._candidates = candidates
        self._values = closed == "values"
        self._seen: set[Cut] = set()

    def _open(self, parent: Candidate) -> list[int]:
        """Return the nodes of a cut that are to be specialized."""
        space = self._candidates.space
        nodes = [node for node in parent.cut if node not in parent.closed and space.kids(node)]
        if self._values:
            return nodes
        chosen = []
        for node in nodes:
            cut = space.specialized(parent.cut, node)
            if cut not in self._seen:
                self._seen.add(cut)
                chosen.append(node)
        return chosen

    def expand(self, parents: Sequence[Candidate]) -> list[list[Candidate]]:
        """Return the specializations of each parent that pass, cheapest first.

        A node whose specialisation fails is closed below all of them: it would fail there too.
        """
        wanted = [(parent, self._open(parent)) for parent in parents]
        if self._candidates.limit.reached():
            return [[] for _ in parents]
        out = []
        for (_, nodes), found in zip(wanted, self._candidates.expand(wanted), strict=True):
            dead = frozenset(node for node, child in zip(nodes, found, strict=True) if child is None)
            children = sorted((child for child in found if child is not None), key=lambda child: child.cost)
            for i, child in enumerate(children):
                cheaper = {sibling.node for sibling in children[:i]} if self._values else set()
                children[i] = replace(child, closed=child.closed | dead | cheaper)
            out.append(children)
        return out
