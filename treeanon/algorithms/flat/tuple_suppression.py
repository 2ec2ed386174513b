"""TS: tuple suppression. Rows that fewer than k persons share are left out; the others stay as they are (CHAP)."""

from __future__ import annotations

import numpy as np

from treeanon.algorithms.flat.suppression import Suppression, left_out, persons_of
from treeanon.errors import GuaranteeError, UsageError
from treeanon.kernels.trees import Flags
from treeanon.loss.flat.groups import groups_of
from treeanon.table import Table


def search(table: Table, k: int, *, max_suppressed: int | None = None) -> Suppression:
    """The table without the rows that fewer than k persons share; that is the least that can go.

    GuaranteeError if more than `max_suppressed` persons would lose a row.

    >>> from treeanon.hierarchy import Hierarchy
    >>> table = Table.of_texts({"sex": (["f", "m", "f"], Hierarchy.flat(["f", "m"]))})
    >>> found = search(table, 2)
    >>> found.rows, list(found.table.rows())
    (1, [('f',), ('f',)])
    """
    if k < 1:
        raise UsageError("k must be a whole number from 1")
    is_out = rare_rows(table, k)
    persons = left_out(table, is_out)
    if max_suppressed is not None and persons > max_suppressed:
        raise GuaranteeError(f"{persons:,} persons would be suppressed, and at most {max_suppressed:,} may be")
    return Suppression("TS", table.take(np.flatnonzero(~is_out).astype(np.int32)), rows=int(is_out.sum()))


def rare_rows(table: Table, k: int) -> Flags:
    """Which rows fewer than k persons share."""
    numbers, groups = groups_of(table)
    rare: Flags = persons_of(table, numbers, groups)[numbers] < k
    return rare
