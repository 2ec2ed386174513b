"""A table's rows in a one-dimensional order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from treeanon.algorithms.table.onedim.costs import Costs
from treeanon.algorithms.table.onedim.orders import Order, ordered
from treeanon.algorithms.table.registry import Style
from treeanon.arrays import Ints, Longs
from treeanon.errors import GuaranteeError
from treeanon.metrics.table.ncp import Form
from treeanon.table import Column, Table


@dataclass(frozen=True, eq=False, repr=False)
class Line:
    """A table's rows in a one-dimensional order: the sensitive value of each place, from 0 to count - 1, and costs."""

    rows: Longs
    values: Ints
    count: int
    costs: Costs

    @classmethod
    def of(
        cls,
        table: Table,
        column: Column,
        order: Order,
        columns: str | Sequence[str] | None,
        ell: int,
        form: Form,
        style: Style,
        bits: int | None = None,
        centers: int | None = None,
    ) -> Line:
        """Return the rows of a table in an order, one for groups of ℓ rows if it is of that kind."""
        how = {"bits": bits, "centers": centers}
        rows = ordered(table, order, k=ell, form=form, style=style, columns=columns, **how).rows
        known, values = np.unique(column.codes[rows], return_inverse=True)
        return cls(rows, values.astype(np.int32), len(known), Costs.of(table, rows, form, style))

    @property
    def most(self) -> int:
        """The largest ℓ for which the whole table is ℓ-diverse; 0 without rows."""
        return len(self.values) // int(np.bincount(self.values).max()) if len(self.values) else 0

    def require(self, ell: int) -> None:
        """Raise GuaranteeError where not even the whole table is ℓ-diverse."""
        if len(self.values) and ell > self.most:
            raise GuaranteeError(
                f"one sensitive value has more than 1/{ell} of all rows, so no grouping can be {ell}-diverse; "
                f"the most that can be reached is {self.most}"
            )

    def by_row(self, group: Ints) -> Longs:
        """Return the group of every row, from that of every place."""
        found = np.empty(len(group), np.int64)
        found[self.rows] = group
        return found
