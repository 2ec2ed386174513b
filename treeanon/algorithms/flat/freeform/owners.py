"""The original behind every published tuple, where the sensitive values that are published must be diverse, too.

Somebody who knows an original sees it among its k tuples, and the sensitive values that these show: it is those that
must be diverse. Searches that go by rounds see to that in all of the k matchings that their rounds are, and one of
these is drawn for every connected part: each is equally likely. For other graphs, originals are drawn as in
`matchings`; where what an original is seen among is not diverse, tuples that cover each other's originals exchange
them, at random, until it is. Then every tuple still has one of its k originals behind it, but those with which this
could not be are a little less likely to be it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from treeanon.algorithms.flat.freeform.asked import Asked
from treeanon.algorithms.flat.freeform.graph import Graph
from treeanon.algorithms.flat.freeform.matchings import Matchings, Randomness, drawn_originals
from treeanon.errors import GuaranteeError
from treeanon.kernels.freeform_matchings import component_of
from treeanon.kernels.freeform_owners import Owned, all_excess, covering_of, improve_owners
from treeanon.kernels.trees import Ints

_LONGEST = 8
_TRIES = 1 << 16
_PATIENCE = 30


def drawn_owners(
    graph: Graph, asked: Asked, randomness: Randomness, *, in_rounds: bool = False
) -> tuple[Ints, dict[str, Any]]:
    """The original behind every tuple, and what there is to tell; GuaranteeError if none are diverse enough.

    `in_rounds` says that every column of the graph's edges is a matching with which all is as diverse as asked.

    >>> asked = Asked(2, np.zeros(0, np.int32), 2, 1)
    >>> drawn_owners(Graph(np.array([[0, 1], [1, 0]], np.int32)), asked, Randomness(1))[0].tolist() in ([0, 1], [1, 0])
    True
    """
    if not asked.is_diverse or not len(graph):
        return drawn_originals(graph, randomness), {}
    edges = np.ascontiguousarray(graph.edges)
    if in_rounds:
        original = Matchings(edges, *component_of(edges)).chosen(randomness)
    else:
        original = drawn_originals(graph, randomness)
    tuple_of = np.empty(len(graph), np.int32)
    tuple_of[original] = np.arange(len(graph))
    owned = Owned(edges, covering_of(edges), original, tuple_of, np.zeros(len(graph), np.int32))
    return owned.original, {"badly_off": _improved(owned, asked, randomness)}


def _improved(owned: Owned, asked: Asked, randomness: Randomness) -> int:
    """Exchanges originals until all are diverse enough; returns how many were not."""
    rule = asked.rule(np.arange(len(owned.original)))
    left = all_excess(owned, rule)
    badly_off = int((owned.excess > 0).sum())
    least, since = left, 0
    while left:
        left = improve_owners(owned, rule, left, _LONGEST, randomness.draws(_TRIES * (_LONGEST + 2)))
        least, since = (left, 0) if left < least else (least, since + 1)
        if since > _PATIENCE:
            raise GuaranteeError("the values shown could not be spread as diversely as asked; give a larger k")
    return badly_off
