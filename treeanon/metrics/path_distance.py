"""RPD, the relative path distance of a collection: lower where paths are longer and their labels more exact."""

from __future__ import annotations

import numpy as np

from treeanon.forest import Forest
from treeanon.kernels.tree.losses import Floats, path_losses
from treeanon.metrics.labels import Scope, level_sizes


def rpd_of_records(forest: Forest, scope: Scope = "class") -> Floats:
    """The RPD of every record: the mean over its root-to-leaf paths of 1 / Π d(u)·|C(u)|.

    d is the depth of a node (children of the pseudo-root have 1), |C(u)| the number of hierarchy nodes on its label's
    level, in the hierarchy of its class or (`scope="hierarchy"`) in all of them. A record without nodes has 0.
    """
    return path_losses(forest.offsets, forest.parent, forest.label, level_sizes(forest.classes, scope))


def rpd(forest: Forest, scope: Scope = "class") -> float:
    """The mean RPD of the records of a collection; 0 if there are none.

    >>> import treeanon as ta
    >>> schema = ta.Schema.loads('version = 1\\n[input]\\nformat = "trees"\\n[[class]]\\nname = "disease"')
    >>> forest = ta.Forest.from_records(schema, [[["disease", "flu", []]], [["disease", "acne", []]]])
    >>> rpd(forest), rpd(forest.project({"disease": ["*"]}))
    (0.5, 1.0)
    """
    return float(np.mean(rpd_of_records(forest, scope))) if len(forest) else 0.0
