"""The classification metric: what a release takes from somebody who learns to tell one column from the others."""

from __future__ import annotations

import numpy as np

from treeanon.kernels.table.groups import group_numbers
from treeanon.metrics.table.groups import groups_of
from treeanon.table import Table


def classification(released: Table, label: str, suppressed: int = 0) -> float:
    """CM (Iyengar 2002): the share of rows that are suppressed, or whose label is not the commonest of their group.

    The groups are those of the quasi columns other than `label`, which is a column of the release.

    >>> from treeanon.hierarchy import Hierarchy
    >>> yes = Hierarchy.flat(["yes", "no"])
    >>> columns = {"sex": (["f", "f", "f"], Hierarchy.flat(["f", "m"])), "ill": (["yes", "yes", "no"], yes)}
    >>> classification(Table.of_texts(columns, roles={"ill": "sensitive"}), "ill", suppressed=1)
    0.5
    """
    rows = len(released) + suppressed
    if not rows:
        return 0.0
    column = released.column(label)
    group, groups = groups_of(released, [c for c in released.quasi if c.name != label])
    sizes = [groups, column.size + 1]
    pair, pairs = group_numbers([group.astype(np.int32), column.places], sizes, len(released))
    commonest = np.zeros(groups, np.int64)
    group_of = np.zeros(pairs, np.int64)
    group_of[pair] = group
    np.maximum.at(commonest, group_of, np.bincount(pair, minlength=pairs))
    return (rows - int(commonest.sum())) / rows
