"""RPDa, the heuristic of TREE's searches: the path distance of a synopsis instead of that of every record."""

from __future__ import annotations

import numpy as np

from treeanon.forest import Forest
from treeanon.forest.synopsis import Synopsis
from treeanon.kernels.tree.forest import Ints
from treeanon.kernels.tree.synopsis import Flags, path_cost
from treeanon.metrics.labels import Scope, level_sizes

_DIGITS = 12


def rpda(forest: Forest, scope: Scope = "class") -> float:
    """The RPDa of a collection: (1/nodes)·(1/leaves)·Σ_p RPDa(p) over the paths p of its synopsis (TREE Eq. 7, 8).

    RPDa(p) = Σ support(u) / Π d(u)·|C(u)| over the nodes u of p; the root of the synopsis is none of them. As in
    `rpd`, d is a node's depth (1 at the top) and |C(u)| the number of hierarchy nodes on its label's level.

    >>> import treeanon as ta
    >>> schema = ta.Schema.loads('version = 1\\n[input]\\nformat = "trees"\\n[[class]]\\nname = "disease"')
    >>> forest = ta.Forest.from_records(schema, [[["disease", "flu", []]], [["disease", "acne", []]]])
    >>> rpda(forest), rpda(forest.project("*"))
    (0.25, 2.0)
    """
    synopsis = Synopsis.of(forest)
    level = level_sizes(forest.classes, scope)[synopsis.label]
    dead = np.zeros(len(synopsis), np.bool_)
    return cost_of(synopsis.parent, synopsis.support.astype(np.int32), level, dead)


def cost_of(parent: Ints, support: Ints, level: Ints, dead: Flags) -> float:
    """The RPDa of a synopsis tree; nodes marked dead are none.

    It is rounded to 12 digits, so that equal costs are equal however they were added up: searches compare them.
    """
    return float(f"{path_cost(parent, support, level, dead):.{_DIGITS}g}")
