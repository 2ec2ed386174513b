"""RPD, the relative path distance of a collection: lower where paths are longer and their labels more exact.

RPDa, the heuristic of TREE's searches: the path distance of a synopsis instead of that of every record.
"""

from __future__ import annotations

import numpy as np

from treeanon.arrays import Flags, Floats, Ints
from treeanon.forest import Forest
from treeanon.forest.synopsis import Synopsis
from treeanon.kernels.tree.losses import path_losses
from treeanon.kernels.tree.synopsis import path_cost
from treeanon.metrics.values import Scope, level_sizes


def rpd_of_records(forest: Forest, scope: Scope = "class") -> Floats:
    """Return the RPD of every record: the mean over its root-to-leaf paths of 1 / Π d(u)·|C(u)|.

    d is the depth of a node (children of the pseudo-root have 1), |C(u)| the number of hierarchy nodes on its label's
    level, in the hierarchy of its class or (`scope="hierarchy"`) in all of them. A record without nodes has 0.
    """
    return path_losses(forest.offsets, forest.parent, forest.label, level_sizes(forest.classes, scope))


def rpd(forest: Forest, scope: Scope = "class") -> float:
    """Return the mean RPD of the records of a collection; 0 if there are none.

    >>> import treeanon as ta
    >>> schema = ta.Schema.loads('version = 1\\n[input]\\nformat = "trees"\\n[[class]]\\nname = "disease"')
    >>> forest = ta.Forest.from_records(schema, [[["disease", "flu", []]], [["disease", "acne", []]]])
    >>> rpd(forest), rpd(forest.project({"disease": ["*"]}))
    (0.5, 1.0)
    """
    return float(np.mean(rpd_of_records(forest, scope))) if len(forest) else 0.0


_DIGITS = 12


def rpda(forest: Forest, scope: Scope = "class") -> float:
    """Return the RPDa: (1/nodes)·(1/leaves)·Σ_p RPDa(p) over the paths p of the synopsis (TREE Eq. 7, 8).

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
    """Return the RPDa of a synopsis tree without the nodes marked dead.

    It is rounded to 12 digits, so that equal costs are equal however they were added up: searches compare them.
    """
    return float(f"{path_cost(parent, support, level, dead):.{_DIGITS}g}")
