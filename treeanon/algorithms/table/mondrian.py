"""Mondrian: rows as points in space, cut in two along one axis again and again while both halves satisfy the models.

After LeFevre, DeWitt and Ramakrishnan, "Mondrian multidimensional k-anonymity" (ICDE 2006); CHAP §4. `strict` keeps
rows together that are equal in the column that is cut; `relaxed` may divide them evenly.

`median`, as published: the column that is widest as a share of its whole range, cut as near to the middle as is
allowed; the next widest if there is no such cut. `ncp`: the cut, of all in all columns, that leaves the halves the
least NCP; relaxed, equal values are divided only where nothing else can be cut.

Where we differ: categories are ordered too, by their hierarchy, so that halves may be made of anything side by side:
cuts between the children of the lowest node above a group would often not exist, as one child is too small. A median
cut of a column published as nodes still prefers these, because others leave that node to one of the halves.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from treeanon.algorithms.table.mondrian_columns import numbered, ordered_columns, ranked_rows
from treeanon.algorithms.table.mondrian_levels import cut_by_levels
from treeanon.algorithms.table.mondrian_rule import checked_whole, rule_of
from treeanon.algorithms.table.options import Style
from treeanon.algorithms.table.parallel_split import divide_all
from treeanon.algorithms.table.partition import Partition
from treeanon.algorithms.table.problem import Problem
from treeanon.errors import UsageError
from treeanon.kernels.table.mondrian_walk import cut_all

Mode = Literal["strict", "relaxed"]
Split = Literal["median", "ncp"]


def search(problem: Problem, *, mode: Mode = "strict", split: Split = "median", style: Style = "auto") -> Partition:
    """Groups of rows that cannot be cut any more; no row is left out.

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

        divide_all(problem, starts, divide, 2 * max(rule.rows, rule.distinct))
    group = numbered(data, starts)
    counts = {"groups": int(starts.sum()), "mode": mode, "split": split}
    return Partition("mondrian", problem.models, group, counts=counts, style=style)
