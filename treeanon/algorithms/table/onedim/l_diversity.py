"""One-dimensional ℓ-diversity: groups of rows near each other in an order, in which no sensitive value is frequent.

After G. Ghinita, P. Karras, P. Kalnis and N. Mamoulis, "A framework for efficient data anonymization under privacy and
accuracy constraints" (ACM TODS 34(2), 2009), Section 5. No sensitive value has more than 1/ℓ of a group; ℓ is whole.
Where we differ: the fall-back step takes the first rows of the values that would be too frequent in the rest, and of
others only what is missing to ℓ; looking back swaps rows of a group with rows of the groups before it, where less is
lost in all columns; and `near` puts groups together by what is lost, among the next rows in the order.

The optimum, by dynamic programming over what has been taken of each sensitive value: groups of 2ℓ rows or more can be
divided, so that groups of ℓ to 2ℓ - 1 rows of different values suffice. Among all partitions into such groups that can
follow one another so that the rows of each value are taken in order, the best is found. Where rows count, as in GCP,
that need not be the best of all, not even for one numeric column: a small group may lie within the extent of a larger
one.

All that is for one value a person, a whole ℓ, and no k above it. `runs` is for any models: see `any_model`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from math import prod
from typing import Any, Literal

import numpy as np

from treeanon.algorithms.table.onedim.any_model import Line
from treeanon.algorithms.table.onedim.any_model import grouped as grouped_in_runs
from treeanon.algorithms.table.onedim.bounded import least_bound, sorted_line
from treeanon.algorithms.table.onedim.costs import Costs, listed
from treeanon.algorithms.table.onedim.orders import Order, check_order
from treeanon.algorithms.table.problem import Problem
from treeanon.algorithms.table.registry import Style
from treeanon.algorithms.table.result import Partition
from treeanon.arrays import Ints, Longs
from treeanon.errors import UsageError
from treeanon.kernels.table.onedim_diversity import best_groups, diverse_groups, queues
from treeanon.kernels.table.onedim_diversity_loss import look_back as swap_back
from treeanon.kernels.table.onedim_diversity_near import near_groups
from treeanon.metrics.table.ncp import Form
from treeanon.privacy.models.model import asks_for_share, asks_for_size
from treeanon.table import Column, Table
from treeanon.table.reductions import members_of

_VALUES = 16
_CELLS = 20_000_000
_WORK = 1_000_000_000


@dataclass(frozen=True, eq=False, repr=False)
class Optimal:
    """The best groups for several levels of diversity at once.

    `gcp` has the least loss for each of `levels`, infinite where there is none.

    >>> from treeanon.hierarchy import Hierarchy
    >>> from treeanon.table import Table
    >>> table = Table.of_texts({"x": (["a", "b", "c", "c"], Hierarchy.flat(["a", "b", "c"]))})
    >>> costs = Costs.of(table, np.arange(4), "set", "sets")
    >>> best = Optimal.of(costs, np.array([0, 0, 1, 1], np.int32), 2, [1, 2])
    >>> best.gcp, best.groups(2).tolist()
    ([0.0, 0.5], [0, 1, 0, 1])
    """

    levels: tuple[int, ...]
    gcp: list[float]
    values: Ints
    masks: Longs
    last: Ints

    @classmethod
    def of(cls, costs: Costs, values: Ints, count: int, levels: list[int], *, by_most: bool = False) -> Optimal:
        """Return the best for these levels, by the group that loses most if so asked; UsageError where that would take
        too long.
        """
        sizes = np.bincount(values, minlength=count)
        states = prod(size + 1 for size in sizes.tolist())
        if count > _VALUES or states * len(levels) > _CELLS or states * 2**count > _WORK:
            raise UsageError(
                f"the optimal search is for small tables with few sensitive values: {len(values):,} rows with {count:,}"
                " values are too many; ask for the method heuristic or near"
            )
        masks = np.arange(1, 2**count)
        bits = np.array([int(mask).bit_count() for mask in masks.tolist()], np.int64)
        used = np.any([(bits >= level) & (bits < 2 * level) for level in levels], axis=0)
        masks, bits = masks[used], bits[used]
        starts, places = queues(values, count)
        wanted = np.array(levels, np.int64)
        loss, last = best_groups(costs.cells, starts, places, masks, bits, wanted, costs.prices, by_most)
        gcp = (loss[-1] / max(1, costs.cells.shape[1] if by_most else costs.cells.size)).tolist()
        return cls(tuple(levels), gcp, values, masks, last)

    def groups(self, level: int) -> Ints:
        """Return the group of every place in the best for a level."""
        at = self.levels.index(level)
        count = int(self.values.max(initial=-1)) + 1
        starts, places = queues(self.values, count)
        left = np.diff(starts)
        step = np.append(1, np.cumprod(left + 1))
        group = np.full(len(self.values), -1, np.int32)
        state, number = len(self.last) - 1, 0
        while state:
            mask = int(self.masks[self.last[state, at]])
            for v in range(count):
                if mask >> v & 1:
                    left[v] -= 1
                    state -= int(step[v])
                    group[places[starts[v] + left[v]]] = number
            number += 1
        return (number - 1 - group).astype(np.int32)


def largest(best: Optimal, max_loss: float) -> int:
    """Return the most diverse level that loses no more than what is allowed; 0 where there is none."""
    return max((level for level, loss in zip(best.levels, best.gcp, strict=True) if loss <= max_loss), default=0)


Method = Literal["auto", "heuristic", "near", "optimal", "dual", "runs"]
METHODS: tuple[Method, ...] = ("auto", "heuristic", "near", "optimal", "dual", "runs")
Objective = Literal["mean", "max"]
OBJECTIVES: tuple[Objective, ...] = ("mean", "max")
TRIED: tuple[Order, ...] = ("adaptive", "lexicographic", "hilbert", "idistance")
NEAR = 512
LOOK_BACK = 1
_BLOCK = 4096
_SAMPLE = 50_000

Counts = Mapping[str, Any]


def search(
    problem: Problem,
    *,
    order: Order = "best",
    columns: str | Sequence[str] | None = None,
    method: Method = "auto",
    form: Form = "taxonomy",
    style: Style = "auto",
    objective: Objective = "mean",
    look_back: int = LOOK_BACK,
    window: int = NEAR,
    bits: int | None = None,
    centers: int | None = None,
) -> Partition:
    """Return groups of ℓ to 2ℓ - 1 rows with different sensitive values; no row is left out.

    `auto` is `heuristic` for frequency ℓ-diversity of one column with a whole ℓ, beside k-anonymity of no larger k, and
    `runs` for any other models of sensitive columns: runs of the order, which may be of any size.

    `heuristic` goes through the order once, with greedy and fall-back steps. `near` puts each group together from the
    next `window` rows. Both then swap rows of each group with rows of the `look_back` groups before it. `optimal` finds
    the best for the order, for small tables; so does `dual`, by halves on the loss that is allowed. The `objective` of
    both is the mean loss of all rows, or the loss of the group that loses most (`max`; `dual` then is for one quasi
    column, by which it sorts the rows, and groups may be of any size).

    >>> from treeanon.hierarchy import Hierarchy
    >>> from treeanon.table import Table
    >>> columns = {"age": (["1", "2", "3", "4"], Hierarchy.flat("1234")), "ill": (list("ffaa"), Hierarchy.flat("fa"))}
    >>> table = Table.of_texts(columns, roles={"ill": "sensitive"})
    >>> from treeanon.privacy.models import FrequencyDiversity
    >>> search(Problem(table, (FrequencyDiversity(2),))).group.tolist()
    [0, 1, 0, 1]
    """
    if method not in METHODS:
        raise UsageError(f"unknown method {method!r} of 1-D ℓ-diversity; choose from {', '.join(METHODS)}")
    if objective not in OBJECTIVES or (objective == "max" and method not in ("optimal", "dual")):
        raise UsageError("the objective is mean, or with the methods optimal and dual max: the group that loses most")
    check_order(order, columns, bits, centers)
    if all(model.sensitive is None for model in problem.models):
        raise UsageError("1-D ℓ-diversity is for models of sensitive columns, beside which others may be asked for")
    if method == "runs" or (method == "auto" and why_not(problem)):
        if (look_back, window) != (LOOK_BACK, NEAR):
            raise UsageError("look_back and window are for the methods heuristic and near, and their models alone")
        how = {"bits": bits, "centers": centers}
        return grouped_in_runs(problem, "onedim-l", order=order, form=form, style=style, columns=columns, **how)
    ell, column = wanted(problem)
    if (method, objective) == ("dual", "max"):
        if order != "best" or columns:
            raise UsageError("dual with the objective max sorts the rows by the one column itself: it takes no order")
        line = sorted_line(problem.table, column, form, style)
        line.require(ell)
        group, loss = least_bound(line, ell)
        told: Counts = {"groups": int(group.max(initial=-1)) + 1, "greatest_ncp": loss}
        return Partition("onedim-l", problem.models, line.by_row(group), 0, told, style)
    if order == "best":
        order = best_order(problem.table, column, ell, form, style)
    line = Line.of(problem.table, column, order, columns, ell, form, style, bits, centers)
    line.require(ell)
    if method in ("optimal", "dual"):
        group, counts = best_of(line, ell, method, by_most=objective == "max")
    else:
        group, counts = grouped(line, ell, method, look_back, window)
    return Partition("onedim-l", problem.models, line.by_row(group), 0, counts, style)


def wanted(problem: Problem) -> tuple[int, Column]:
    """Return the ℓ that a problem asks for and the sensitive column; UsageError where that is not for searches that
    count values.
    """
    if reason := why_not(problem):
        raise UsageError(f"this search is for {reason}; 'onedim-l' with the method auto or runs takes other problems")
    diverse = [model for model in problem.models if asks_for_share(model)]
    column = next(iter(problem.columns_of(diverse[0])))
    return max(model.limits.share.denominator for model in diverse), column


def why_not(problem: Problem) -> str:
    """Return what searches that count values are for, where a problem is not of that kind; nothing if it is."""
    diverse = [model for model in problem.models if asks_for_share(model)]
    sizes = [model for model in problem.models if asks_for_size(model)]
    if not diverse or len(diverse) + len(sizes) < len(problem.models):
        return "frequency ℓ-diversity, beside which k-anonymity may be asked for"
    if len(problem.table.sensitive) > 1:
        return "one sensitive column"
    if any(members_of(column) is not None for model in diverse for column in problem.columns_of(model)):
        return "one value a person, not for columns of sets"
    if any(model.limits.share.numerator != 1 for model in diverse):
        return "a whole ℓ"
    ell = max(model.limits.share.denominator for model in diverse)
    if any(model.limits.persons > ell for model in sizes):
        return "groups of ℓ rows and more: k must not be more than ℓ"
    if problem.table.persons < len(problem.table):
        return "one row a person"
    return ""


def best_order(table: Table, column: Column, ell: int, form: Form, style: Style) -> Order:
    """Return the order in which the greedy and fall-back steps lose least, tried on some of the rows."""
    if len(table) > _SAMPLE:
        rows = np.sort(np.random.default_rng(1).choice(len(table), _SAMPLE, replace=False))
        table, column = table.take(rows), table.take(rows).column(column.name)
    losses: dict[Order, float] = {}
    for order in TRIED:
        line = Line.of(table, column, order, None, ell, form, style)
        if not line.most:
            return order
        losses[order] = line.costs.gcp(diverse_groups(line.values, line.count, min(ell, line.most))[0])
    return min(losses, key=lambda order: losses[order])


def grouped(line: Line, ell: int, method: str, window_back: int, window: int, rounds: int = 1) -> tuple[Ints, Counts]:
    """Return the group of every place by one of the linear methods, and what is told of it."""
    if window_back < 0 or window < 1:
        raise UsageError("the numbers of groups and rows to look at must not be negative, and there must be a row")
    if method == "near":
        prices = line.costs.prices
        group, groups, fallen = near_groups(line.costs.cells, line.values, line.count, ell, window, prices)
    else:
        group, groups, fallen = diverse_groups(line.values, line.count, ell)
    group, swaps = swapped(line, group, window_back, rounds)
    gcp = line.costs.gcp(group)
    return group, {"groups": groups, "fallen_back": fallen, "swaps": swaps, "gcp": gcp}


def swapped(line: Line, group: Ints, window: int, rounds: int) -> tuple[Ints, int]:
    """Return the groups after rows were swapped between near ones while that lost less, and how often that was.

    Blocks of groups do not look into each other, so that all cores can work.
    """
    if not window or not rounds:
        return group, 0
    offsets, members = listed(group)
    starts = range(0, len(offsets) - 1, _BLOCK)

    def look(start: int) -> int:
        own = offsets[start : start + _BLOCK + 1]
        part = members[own[0] : own[-1]]
        return swap_back(
            line.costs.cells, line.values, line.count, own - own[0], part, window, rounds, line.costs.prices
        )

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        swaps = sum(pool.map(look, starts))
    found = np.empty_like(group)
    found[members] = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    return found, swaps


def best_of(line: Line, ell: int, method: str, *, by_most: bool = False) -> tuple[Ints, Counts]:
    """Return the group of every place in the optimum for the order."""
    if method == "optimal":
        best = Optimal.of(line.costs, line.values, line.count, [ell], by_most=by_most)
    else:
        best = Optimal.of(line.costs, line.values, line.count, list(range(1, line.most + 1)))
        # The least loss that allows for ℓ: privacy as a function of the loss allowed is found by halves.
        allowed = sorted(best.gcp)
        low, high = 0, len(allowed) - 1
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if largest(best, allowed[middle]) >= ell else (middle + 1, high)
        ell = largest(best, allowed[low]) if allowed else ell
    if not len(line.values):
        return np.zeros(0, np.int32), {"groups": 0, "gcp": 0.0}
    group = best.groups(ell)
    name = "greatest_ncp" if by_most else "gcp"
    return group, {"groups": int(group.max()) + 1, name: best.gcp[best.levels.index(ell)]}
