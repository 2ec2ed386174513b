"""Mondrian: rows as points in space, cut in two along one axis again and again while both halves satisfy the models.

After K. LeFevre, D. J. DeWitt and R. Ramakrishnan, "Mondrian multidimensional k-anonymity" (ICDE 2006). `strict` keeps
rows together that are equal in the column that is cut; `relaxed` may divide them evenly.

`median`, as published: the column that is widest as a share of its whole range, cut as near to the middle as is
allowed; the next widest if there is no such cut. `ncp`: the cut, of all in all columns, that leaves the halves the
least NCP; relaxed, equal values are divided only where nothing else can be cut.

Where we differ: categories are ordered too, by their hierarchy, so that halves may be made of anything side by side:
cuts between the children of the lowest node above a group would often not exist, as one child is too small. A median
cut of a column published as nodes still prefers these, because others leave that node to one of the halves.

Mondrian for any models: all groups of a level are cut at once, and the halves of all put before the checker.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from treeanon.algorithms.table.group_checker import RowGroupChecker
from treeanon.algorithms.table.partition import Partition
from treeanon.algorithms.table.problem import Problem
from treeanon.algorithms.table.registry import Style
from treeanon.algorithms.table.splitting import (
    checked_whole,
    numbered,
    ordered_columns,
    ranked_rows,
    rule_of,
    split_in_threads,
)
from treeanon.arrays import Flags, Ints, Longs
from treeanon.errors import UsageError
from treeanon.kernels.table.mondrian import Rule
from treeanon.kernels.table.mondrian_columns import Shape
from treeanon.kernels.table.mondrian_walk import cut_all, cuts_of_groups, divide_all, sides_of


def cut_by_levels(problem: Problem, data: Ints, starts: Flags, shape: Shape, rule: Rule) -> None:
    """Cut all rows while both halves satisfy the models; of each column only the best cut is tried."""
    checker = RowGroupChecker(problem)
    spare = np.empty_like(data)
    bounds = np.array([[0, len(data)]], np.int64)[: len(data)]
    while len(bounds):
        held, chosen = _chosen(checker, data, bounds, shape, rule)
        bounds = bounds[held]
        middles = divide_all(data, spare, bounds, chosen, starts)
        halves = np.stack([bounds[:, 0], middles, middles, bounds[:, 1]], axis=1)
        bounds = halves.reshape(-1, 2)
        problem.report_progress(int(starts.sum()))


def _chosen(checker: RowGroupChecker, data: Ints, bounds: Longs, shape: Shape, rule: Rule) -> tuple[Longs, Longs]:
    """Return the groups that can be cut, and the first cut of each of which both halves satisfy the models."""
    at, cuts = cuts_of_groups(data, bounds, shape, rule, int((bounds[:, 1] - bounds[:, 0]).max()))
    chosen = np.full(len(bounds), -1, np.int64)
    tried = at[:-1].copy()
    open_ = np.flatnonzero(tried < at[1:])
    while len(open_):
        own = np.ascontiguousarray(bounds[open_])
        rows = np.empty(int((own[:, 1] - own[:, 0]).sum()), np.int64)
        numbers = np.empty(len(rows), np.int64)
        sides_of(data, own, cuts[tried[open_]], rows, numbers)
        holds = checker.holds(numbers, 2 * len(open_), rows).reshape(-1, 2).all(axis=1)
        chosen[open_[holds]] = tried[open_[holds]]
        tried[open_] += 1
        open_ = open_[~holds & (tried[open_] < at[open_ + 1])]
    held = np.flatnonzero(chosen >= 0)
    return held, cuts[chosen[held]]


Mode = Literal["strict", "relaxed"]
Split = Literal["median", "ncp"]


def search(problem: Problem, *, mode: Mode = "strict", split: Split = "median", style: Style = "auto") -> Partition:
    """Return groups of rows that cannot be cut any more; no row is left out.

    >>> from treeanon.hierarchy import Hierarchy
    >>> from treeanon.privacy.models import KAnonymity
    >>> from treeanon.table import Table
    >>> ages = Hierarchy.flat(["20", "21", "30", "40", "41"])
    >>> table = Table.of_texts({"age": (["20", "41", "21", "40", "30"], ages)})
    >>> search(Problem(table, (KAnonymity(2),))).group.tolist()
    [0, 1, 0, 1, 1]
    """
    if mode not in ("strict", "relaxed"):
        raise UsageError("the mode of Mondrian must be strict or relaxed")
    if split not in ("median", "ncp"):
        raise UsageError("Mondrian splits by median or by ncp")
    table = problem.table
    checked_whole(problem)
    columns, shape = ordered_columns(table, style)
    rule, sensitive = rule_of(problem, by_loss=split == "ncp", is_relaxed=mode == "relaxed")
    data = ranked_rows(table, columns, sensitive)
    starts = np.zeros(len(table), np.bool_)
    starts[:1] = True
    if sensitive is None:
        cut_by_levels(problem, data, starts, shape, rule)
    else:
        spare = np.empty_like(data)

        def divide(start: int, end: int, smallest: int) -> None:
            cut_all(data, spare, start, end, shape, rule, smallest, starts)

        split_in_threads(problem, starts, divide, 2 * max(rule.rows, rule.distinct))
    group = numbered(data, starts)
    counts = {"groups": int(starts.sum()), "mode": mode, "split": split}
    return Partition("mondrian", problem.models, group, counts=counts, style=style)
