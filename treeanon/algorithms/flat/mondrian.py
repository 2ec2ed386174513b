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

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from os import cpu_count
from typing import Literal

import numpy as np

from treeanon.algorithms.flat.mondrian_columns import numbered, ordered_columns, ranked_rows
from treeanon.algorithms.flat.mondrian_levels import cut_by_levels
from treeanon.algorithms.flat.mondrian_rule import checked_whole, rule_of
from treeanon.algorithms.flat.options import Style
from treeanon.algorithms.flat.partition import Partition
from treeanon.algorithms.flat.problem import Problem
from treeanon.errors import UsageError
from treeanon.kernels.mondrian import Rule
from treeanon.kernels.mondrian_columns import Shape
from treeanon.kernels.mondrian_walk import cut_all
from treeanon.kernels.trees import Flags, Ints

Mode = Literal["strict", "relaxed"]
Split = Literal["median", "ncp"]

_SMALL = 50_000
"""Fewer rows are not worth the start of a thread."""


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
        _cut_in_threads(data, starts, shape, rule)
    group = numbered(data, starts)
    counts = {"groups": int(starts.sum()), "mode": mode, "split": split}
    return Partition("mondrian", problem.models, group, counts=counts, style=style)


def _cut_in_threads(data: Ints, starts: Flags, shape: Shape, rule: Rule) -> None:
    """Cuts all rows: large groups one after the other, then what came of them on all cores."""
    rows, workers = len(data), cpu_count() or 1
    spare = np.empty_like(data)
    if rows < 2 * _SMALL or workers == 1:
        cut_all(data, spare, 0, rows, shape, rule, 2, starts)
        return
    cut_all(data, spare, 0, rows, shape, rule, max(_SMALL, rows // (4 * workers)), starts)
    bounds = [*np.flatnonzero(starts).tolist(), rows]
    with ThreadPoolExecutor(workers) as pool:
        ends = pairwise(bounds)
        for done in [pool.submit(cut_all, data, spare, a, b, shape, rule, 2, starts) for a, b in ends]:
            done.result()
