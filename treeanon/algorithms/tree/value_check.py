"""ValueCheck (TREE, Algorithm 1): no up to m labels of a cut may be held together by some records but fewer than k.

Where we differ. TREE's checks sets of exactly m labels; sizes below m count too, as a person may have fewer values. A
cut whose parent has passed is only checked for sets with one of its new labels: the others are the parent's. Rare
labels come first, and counting stops at k records.
"""

from __future__ import annotations

import numpy as np

from treeanon.algorithms.tree.workspace import Workspace
from treeanon.kernels.tree.forest import Ints
from treeanon.kernels.tree.structure_check import rare_values
from treeanon.kernels.tree.synopsis import Flags


def value_check(space: Workspace, label_set: Ints, fresh: Flags, k: int, m: int) -> bool:
    """Whether a cut passes, given the record sets of its labels, and which of them its parent did not have.

    A cut that fails is dead, and so is every specialisation of it: some part of the rare records' values stays rare.
    """
    order = np.argsort(space.size[label_set], kind="stable")
    new = fresh[order]
    chosen = label_set[np.concatenate([order[new], order[~new]])]
    return not rare_values(*space.arrays, space.room, chosen, int(fresh.sum()), k, m)
