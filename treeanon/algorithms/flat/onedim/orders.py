"""Orders of a table's rows in which rows that are alike lie near each other.

After 1D (Ghinita et al., TODS 2009), which maps the quasi columns to one dimension by a Hilbert curve or by iDistance.
Where we differ: rows can be sorted by one column after the other as well, which is often better than either; and
several orders can be tried.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from treeanon.algorithms.flat.onedim.hilbert import hilbert_order
from treeanon.algorithms.flat.onedim.idistance import idistance_order
from treeanon.algorithms.flat.onedim.lexicographic import few_values_first, lexicographic_order
from treeanon.algorithms.flat.onedim.points import Floats, Points
from treeanon.errors import UsageError
from treeanon.kernels.trees import Ints, Longs
from treeanon.table import Table

Order = Literal["best", "hilbert", "idistance", "lexicographic", "user"]
ORDERS: tuple[Order, ...] = ("best", "hilbert", "idistance", "lexicographic", "user")


@dataclass(frozen=True, eq=False, repr=False)
class Ordering:
    """The rows of a table in a one-dimensional order.

    `rows` has their numbers in that order and `places` how far along it each of these is, ascending. points[r, c] is
    the rank of the table's row r in the c-th quasi column, which has sizes[c] ranks: numbers rank by value, others as
    the hierarchy has them, missing values last. Equal rows lie side by side.
    """

    name: str
    rows: Longs
    places: Floats
    points: Ints
    sizes: Longs

    def __repr__(self) -> str:
        return f"<Ordering {self.name} of {len(self.rows):,} rows>"


def ordered(table: Table, order: Order = "best", *, columns: Sequence[str] | None = None) -> Ordering:
    """The rows in a one-dimensional order.

    `hilbert`: along a Hilbert curve. `idistance`: by the nearest of some centres, and the distance from it.
    `lexicographic`: by one column after the other, those with few values first. `user`: by the columns named, and then
    by the others, in the order that the table has them. `best`: whichever of several would lose least.

    >>> from treeanon.hierarchy import Hierarchy
    >>> table = Table.of_texts({"x": (["3", "1", "2"], Hierarchy.flat(["1", "2", "3"]))})
    >>> ordered(table, "hilbert").rows.tolist()
    [1, 2, 0]
    """
    if order not in ORDERS:
        raise UsageError(f"there is no order {order!r} of rows; there is: {', '.join(ORDERS)}")
    if columns is not None and order != "user":
        raise UsageError("columns can be named for the order user only")
    points = Points.of(table)
    if order == "hilbert":
        rows, places = hilbert_order(points)
    elif order == "idistance":
        rows, places = idistance_order(points)
    elif order == "user":
        rows, places = lexicographic_order(points, _named(table, columns or ()))
    else:
        rows, places = lexicographic_order(points, few_values_first(points))
    return Ordering(order, rows, places, points.points, points.sizes)


def _named(table: Table, columns: Sequence[str]) -> Longs:
    """The quasi columns by number, those named first."""
    names = [column.name for column in table.quasi]
    for name in columns:
        if name not in names:
            raise UsageError(f"there is no quasi column {name!r} to order by; there is: {', '.join(names)}")
    first = list(dict.fromkeys(columns))
    return np.array([names.index(name) for name in [*first, *(n for n in names if n not in first)]], np.int64)
