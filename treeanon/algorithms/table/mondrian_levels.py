"""Mondrian for any models: all groups of a level are cut at once, and the halves of all put before the judge."""

from __future__ import annotations

import numpy as np

from treeanon.algorithms.table.problem import Problem
from treeanon.algorithms.table.row_group_checker import RowJudge
from treeanon.kernels.table.mondrian import Rule
from treeanon.kernels.table.mondrian_columns import Shape
from treeanon.kernels.table.mondrian_walk import cuts_of_groups, divide_all, sides_of
from treeanon.kernels.tree.forest import Flags, Ints, Longs


def cut_by_levels(problem: Problem, data: Ints, starts: Flags, shape: Shape, rule: Rule) -> None:
    """Cuts all rows while both halves satisfy the models; of each column only the best cut is tried."""
    judge = RowJudge(problem)
    spare = np.empty_like(data)
    bounds = np.array([[0, len(data)]], np.int64)[: len(data)]
    while len(bounds):
        held, chosen = _chosen(judge, data, bounds, shape, rule)
        bounds = bounds[held]
        middles = divide_all(data, spare, bounds, chosen, starts)
        halves = np.stack([bounds[:, 0], middles, middles, bounds[:, 1]], axis=1)
        bounds = halves.reshape(-1, 2)
        problem.tell(int(starts.sum()))


def _chosen(judge: RowJudge, data: Ints, bounds: Longs, shape: Shape, rule: Rule) -> tuple[Longs, Longs]:
    """The groups that can be cut, and the first cut of each of which both halves satisfy the models."""
    at, cuts = cuts_of_groups(data, bounds, shape, rule, int((bounds[:, 1] - bounds[:, 0]).max()))
    chosen = np.full(len(bounds), -1, np.int64)
    tried = at[:-1].copy()
    open_ = np.flatnonzero(tried < at[1:])
    while len(open_):
        own = np.ascontiguousarray(bounds[open_])
        rows = np.empty(int((own[:, 1] - own[:, 0]).sum()), np.int64)
        numbers = np.empty(len(rows), np.int64)
        sides_of(data, own, cuts[tried[open_]], rows, numbers)
        holds = judge.holds(numbers, 2 * len(open_), rows).reshape(-1, 2).all(axis=1)
        chosen[open_[holds]] = tried[open_[holds]]
        tried[open_] += 1
        open_ = open_[~holds & (tried[open_] < at[open_ + 1])]
    held = np.flatnonzero(chosen >= 0)
    return held, cuts[chosen[held]]
