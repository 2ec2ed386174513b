"""TopDown: groups of rows are split between two rows far apart, each row to the half that it makes lose less.

After J. Xu, W. Wang, J. Pei, X. Wang, B. Shi and A. W.-C. Fu, "Utility-based anonymization using local recoding" (KDD
2006). A group of at least 2k rows is split in two: the seeds are found by going three times to the row farthest from
the last one, then the other rows, in random order, go to the half whose NCP grows less.

Where we differ: a half that is too small takes at once those rows of the other with which it grows least, so that no
group is ever smaller than k; it is too small with less than 1/64 of the rows too, else there could be as many splits as
rows. Seeds are looked for in a sample of large groups. Any models may be asked: halves with too little diversity are
filled up more, and if that does not help, the group is left whole; what has to be counted otherwise (several sensitive
columns, t-closeness, …) is split by k alone, and then groups that fail are merged with those near them until none does.
"""

from __future__ import annotations

import numpy as np

from treeanon.algorithms.table.group_checker import RowGroupChecker
from treeanon.algorithms.table.mondrian import (
    checked_whole,
    numbered,
    ordered_columns,
    ranked_rows,
    rule_of,
    split_in_threads,
)
from treeanon.algorithms.table.problem import Problem
from treeanon.algorithms.table.registry import Style
from treeanon.algorithms.table.result import Partition
from treeanon.arrays import Flags, Ints, Longs
from treeanon.kernels.table.mondrian_columns import Shape
from treeanon.kernels.table.topdown import group_ends, merge_failing, split_all

_WORK = 2_000_000
"""So many pairs of groups are looked at in one round of merging; with more groups, only those near by."""


def search(problem: Problem, *, style: Style = "auto", seed: int = 0) -> Partition:
    """Return groups of rows that are near each other; no row is left out. `seed` is of the random order of the rows.

    >>> from treeanon.hierarchy import Hierarchy
    >>> from treeanon.privacy.models import KAnonymity
    >>> from treeanon.table import Table
    >>> ages = Hierarchy.flat(["20", "21", "30", "40", "41"])
    >>> table = Table.of_texts({"age": (["20", "41", "21", "40"], ages)})
    >>> group = search(Problem(table, (KAnonymity(2),)), style="ranges").group.tolist()
    >>> group[0] == group[2] != group[1] == group[3]
    True
    """
    table = problem.table
    checked_whole(problem)
    columns, shape = ordered_columns(table, style)
    rule, sensitive = rule_of(problem)
    data = ranked_rows(table, columns, sensitive)
    data = np.insert(data, -1, 0, axis=1)[np.random.default_rng(seed).permutation(len(data))]
    starts = np.zeros(len(table), np.bool_)
    starts[:1] = True
    spare = np.empty_like(data)

    def divide(start: int, end: int, smallest: int) -> None:
        split_all(data, spare, start, end, shape, rule, smallest, starts)

    split_in_threads(problem, starts, divide, 2 * rule.rows)
    group = numbered(data, starts)
    if len(table) and sensitive is None:
        group = _merged(problem, data, starts, group, shape)
    counts = {"groups": int(group.max(initial=-1)) + 1, "split": int(starts.sum())}
    return Partition("topdown", problem.models, group, counts=counts, style=style)


def _merged(problem: Problem, data: Ints, starts: Flags, group: Longs, shape: Shape) -> Longs:
    """Return the groups after as many mergers as the models need."""
    checker, groups = RowGroupChecker(problem), int(starts.sum())
    low, high, sizes = group_ends(data, starts, groups, len(shape.kind))
    is_open = np.ones(groups, np.bool_)
    while True:
        fails = _failing(checker, group, is_open)
        if not fails.any():
            break
        into = np.arange(groups)
        window = max(_WORK // int(fails.sum()), 32)
        before = sizes.copy()
        merge_failing(low, high, sizes, shape, fails, window, into)
        while not np.array_equal(into, into[into]):
            into = into[into]
        group = into[group]
        is_open = sizes > before
        problem.report_progress(len(sizes) - int((sizes > 0).sum()))
    return np.unique(group, return_inverse=True)[1].astype(np.int64)


def _failing(checker: RowGroupChecker, group: Longs, is_open: Flags) -> Flags:
    """Return which of the groups that are open do not satisfy the models."""
    rows = np.flatnonzero(is_open[group])
    known, numbers = np.unique(group[rows], return_inverse=True)
    fails = np.zeros(len(is_open), np.bool_)
    fails[known] = ~checker.holds(numbers.astype(np.int64), len(known), rows)
    return fails
