"""Orders of a table's rows in which rows that are alike lie near each other.

After 1D (Ghinita et al., TODS 2009), which maps the quasi columns to one dimension by a Hilbert curve or by iDistance.
Where we differ: rows can be sorted by one column after the other as well, or split again and again by the column for
which that pays most, both of which are often better; and several orders can be tried.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from treeanon.algorithms.table.onedim.adaptive import adaptive_order
from treeanon.algorithms.table.onedim.costs import ColumnCosts, table_costs
from treeanon.algorithms.table.onedim.cuts import sampled_loss
from treeanon.algorithms.table.onedim.hilbert import hilbert_order
from treeanon.algorithms.table.onedim.idistance import CENTRES, idistance_order
from treeanon.algorithms.table.onedim.lexicographic import few_values_first, lexicographic_order, walk
from treeanon.algorithms.table.onedim.points import Floats, Points
from treeanon.algorithms.table.options import Style
from treeanon.errors import UsageError
from treeanon.kernels.tree.forest import Ints, Longs
from treeanon.metrics.table.ncp import Form
from treeanon.table import Table

Order = Literal["best", "adaptive", "hilbert", "idistance", "lexicographic", "user"]
ORDERS: tuple[Order, ...] = ("best", "adaptive", "hilbert", "idistance", "lexicographic", "user")
_TRIED: tuple[Order, ...] = "adaptive", "lexicographic", "hilbert"
_K = 10


@dataclass(frozen=True, eq=False, repr=False)
class Ordering:
    """The rows of a table in a one-dimensional order.

    `rows` has their numbers in that order and `places` how far along it each of these is, ascending. points[r, c] is
    the rank of the table's row r in the c-th quasi column, which has sizes[c] ranks: numbers rank by value, others as
    the hierarchy has them, missing values last. Equal rows lie side by side. `name` says which order it is.
    """

    name: Order
    rows: Longs
    places: Floats
    points: Ints
    sizes: Longs

    def __repr__(self) -> str:
        return f"<Ordering {self.name} of {len(self.rows):,} rows>"


def ordered(
    table: Table,
    order: Order = "best",
    *,
    k: int = _K,
    form: Form = "taxonomy",
    style: Style = "auto",
    columns: str | Sequence[str] | None = None,
    bits: int | None = None,
    centres: int | None = None,
) -> Ordering:
    """The rows in a one-dimensional order.

    `hilbert`: along a Hilbert curve of 2^`bits` cells a side (unless given, a cell for every value). `idistance`: by
    the nearest of some `centres`, and the distance from it. `lexicographic`: by one column after the other, those with
    few values first. `user`: by the `columns` named (with commas, if in a text), and then by the others in the order of
    the table. `adaptive`: split again and again by what pays most. `best`: that which loses least of adaptive,
    lexicographic and hilbert, looked at in samples if there are many rows.

    What pays and what loses is told for groups of `k` rows, the form of NCP, and the style in which they are published.

    >>> from treeanon.hierarchy import Hierarchy
    >>> table = Table.of_texts({"x": (["3", "1", "2"], Hierarchy.flat(["1", "2", "3"]))})
    >>> ordered(table, "hilbert").rows.tolist()
    [1, 2, 0]
    """
    if order not in ORDERS:
        raise UsageError(f"there is no order {order!r} of rows; there is: {', '.join(ORDERS)}")
    for name, given, own in (
        ("columns", columns, "user"),
        ("bits", bits, "hilbert"),
        ("centres", centres, "idistance"),
    ):
        if given is not None and order != own:
            raise UsageError(f"the option {name} is for the order {own} only")
    points = Points.of(table)
    # Most orders do not look at what groups cost.
    costs = table_costs(table, form, style) if order in ("best", "adaptive") else []
    makers: dict[str, Callable[[], tuple[Longs, Floats]]] = {
        "adaptive": lambda: _adaptive(points, costs, k),
        "lexicographic": lambda: lexicographic_order(points, few_values_first(points)),
        "hilbert": lambda: hilbert_order(points, bits),
        "idistance": lambda: idistance_order(points, CENTRES if centres is None else centres),
        "user": lambda: lexicographic_order(points, _named(table, columns or ())),
    }
    name, (rows, places) = _best(makers, costs, k) if order == "best" else (order, makers[order]())
    return Ordering(name, rows, places, points.points, points.sizes)


def _adaptive(points: Points, costs: list[ColumnCosts], k: int) -> tuple[Longs, Floats]:
    rows = adaptive_order(costs, k)
    return rows, walk(points, rows)


def _best(
    makers: dict[str, Callable[[], tuple[Longs, Floats]]], costs: list[ColumnCosts], k: int
) -> tuple[Order, tuple[Longs, Floats]]:
    """The order that loses least, and its name."""
    least = np.inf
    best: tuple[Order, tuple[Longs, Floats]] | None = None
    for name in _TRIED:
        made = makers[name]()
        loss = sampled_loss(costs, made[0], k)
        if best is None or loss < least:
            least, best = loss, (name, made)
    assert best is not None
    return best


def _named(table: Table, columns: str | Sequence[str]) -> Longs:
    """The quasi columns by number, those named first."""
    names = [column.name for column in table.quasi]
    given = [name.strip() for name in columns.split(",")] if isinstance(columns, str) else list(columns)
    for name in given:
        if name not in names:
            raise UsageError(f"there is no quasi column {name!r} to order by; there is: {', '.join(names)}")
    return np.array([names.index(name) for name in dict.fromkeys([*given, *names])], np.int64)
