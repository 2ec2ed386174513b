"""Random perfect matchings of a regular bipartite graph, by random walks.

After Goel, Kapralov, Khanna (Perfect matchings in O(n log n) time in regular bipartite graphs, STOC 2010): from a tuple
without an original, a walk takes a random edge to an original, and from there the one edge of the matching back, until
it comes to an original that is free. In a regular graph that is expected to be soon.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from treeanon.arrays import Ints, Longs
from treeanon.kernels.jit import njit

Draws = npt.NDArray[np.uint32]


@njit
def go_on_matching(edges: Ints, degree: int, order: Longs, first: int, owner: Ints, slot: Ints, draws: Draws) -> int:
    """Give the tuples order[first:] an original each, of the first `degree` of their edges; return for how many tuples
    of the order the draws have sufficed.

    owner[i] is the tuple that original i is given to, or -1, and slot[j] the edge by which tuple j has its own. There
    must be as many draws at least as there are tuples, for a walk to come to its end.
    """
    used = 0
    via = np.empty(len(edges), np.int32)
    for at in range(first, len(order)):
        start = order[at]
        tuple_ = start
        while True:
            if used == len(draws):
                return at
            edge = np.int64((np.uint64(draws[used]) * np.uint64(degree)) >> np.uint64(32))
            used += 1
            if edge == slot[tuple_]:
                continue
            # Where the walk comes again, what it did in between is forgotten.
            via[tuple_] = edge
            above = owner[edges[tuple_, edge]]
            if above < 0:
                break
            tuple_ = above
        # Along the walk every tuple takes the original that it left by.
        tuple_ = start
        while True:
            original = edges[tuple_, via[tuple_]]
            above = owner[original]
            owner[original] = tuple_
            slot[tuple_] = via[tuple_]
            if above < 0:
                break
            tuple_ = above
    return len(order)


@njit
def set_aside(edges: Ints, degree: int, slot: Ints) -> None:
    """Move every tuple's edge of the matching behind its first `degree` - 1."""
    for j in range(len(edges)):
        last = degree - 1
        edges[j, slot[j]], edges[j, last] = edges[j, last], edges[j, slot[j]]


@njit
def component_of(edges: Ints) -> tuple[Ints, int]:
    """Return the connected part of the graph that every tuple belongs to, and how many there are."""
    above = np.arange(len(edges)).astype(np.int32)
    first = np.full(len(edges), -1, np.int32)
    for j in range(len(edges)):
        for e in range(edges.shape[1]):
            original = edges[j, e]
            if first[original] < 0:
                first[original] = j
                continue
            a, b = np.int32(j), first[original]
            while above[a] != a:
                above[a] = above[above[a]]
                a = above[a]
            while above[b] != b:
                above[b] = above[above[b]]
                b = above[b]
            # The lesser one is the root, so that a tuple never comes before its own.
            above[max(a, b)] = min(a, b)
    parts = 0
    number = np.empty(len(edges), np.int32)
    for j in range(len(edges)):
        if above[j] == j:
            number[j] = parts
            parts += 1
        else:
            number[j] = number[above[j]]
    return number, parts
