"""The groups of a table: rows that look alike in what an attacker is taken to know."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from treeanon.kernels.table.groups import group_numbers
from treeanon.kernels.tree.forest import Longs
from treeanon.table import Column, Table


def groups_of(table: Table, columns: Sequence[Column] | None = None) -> tuple[Longs, int]:
    """The number of each row's group and how many there are; by the quasi columns unless others are given.

    >>> from treeanon.hierarchy import Hierarchy
    >>> sexes = Hierarchy.flat(["f", "m"])
    >>> groups_of(Table.of_texts({"sex": (["m", None, "f", "m"], sexes)}))
    (array([1, 2, 0, 1]), 3)
    """
    used = table.quasi if columns is None else columns
    return group_numbers([c.places for c in used], [c.size + 1 for c in used], len(table))


def row_counts(table: Table) -> Longs:
    """How many rows each group of a table has."""
    numbers, groups = groups_of(table)
    return np.bincount(numbers, minlength=groups).astype(np.int64)
