"""What every tuple would pay for every original in a round of assignments."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from treeanon.kernels.jit import njit
from treeanon.kernels.table.freeform_prices import Prices, fill_steps
from treeanon.kernels.table.freeform_rounds import may_cover
from treeanon.kernels.tree.forest import Ints


@njit
def step_matrix(prices: Prices, edges: Ints, number: int, forbidden: float, costs: npt.NDArray[np.float64]) -> None:
    """costs[j, i]: by how much tuple j, which covers `number` originals, grows by original i; `forbidden` where it
    covers that already.
    """
    steps = np.empty(len(prices.held), np.float64)
    for j in range(len(edges)):
        fill_steps(prices, edges[j], number, steps)
        for i in range(len(edges)):
            cost = 0.0
            for c in range(prices.cells.shape[1]):
                cost += steps[prices.cells[i, c]]
            costs[j, i] = cost if may_cover(edges, number, j, i) else forbidden
