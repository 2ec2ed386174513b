"""What published tuples cost that cover rows of a table, as arrays for the kernels."""

from __future__ import annotations

import numpy as np

from treeanon.algorithms.table.onedim.costs import scales_of, table_costs
from treeanon.algorithms.table.options import Style
from treeanon.kernels.table.adaptive import Scales
from treeanon.kernels.table.freeform_prices import Floats, Prices
from treeanon.kernels.tree.forest import Ints, Longs
from treeanon.metrics.table.ncp import Form
from treeanon.table import Table


def prices_of(table: Table, form: Form = "taxonomy", style: Style = "auto") -> Prices:
    """The NCP, in this form, of what is published in this style of sets of the table's rows.

    >>> from treeanon.hierarchy import Hierarchy
    >>> from treeanon.kernels.table.freeform_prices import tuple_costs
    >>> table = Table.of_texts({"x": (["1", "2", "4"], Hierarchy.flat(["1", "2", "3", "4", "5"]))})
    >>> prices = prices_of(table, "set", "ranges")
    >>> tuple_costs(prices, np.array([[0, 1], [1, 2], [2, 0]], np.int32)).tolist()
    [0.25, 0.5, 0.75]
    """
    columns = table_costs(table, form, style)
    values, scales = scales_of(columns)
    return _numbered(values, scales, np.array([column.mixed for column in columns]))


def prices_within(prices: Prices, rows: Longs) -> Prices:
    """The prices of some of the rows alone, which are numbered from 0 on."""
    scales = Scales(prices.kinds, prices.starts, prices.shares, prices.parent, prices.end)
    return _numbered(np.ascontiguousarray(prices.values[rows]), scales, prices.mixed)


def _numbered(values: Ints, scales: Scales, mixed: Floats) -> Prices:
    """The prices of these rows, their distinct values numbered."""
    cells = np.empty_like(values)
    held, bounds = [], [0]
    for c in range(values.shape[1]):
        known, number = np.unique(values[:, c], return_inverse=True)
        cells[:, c] = number + bounds[-1]
        held.append(known)
        bounds.append(bounds[-1] + len(known))
    kinds, starts, shares, parent, end = scales
    return Prices(
        values, cells, np.concatenate(held), np.array(bounds, np.int64), kinds, starts, shares, parent, end, mixed
    )
