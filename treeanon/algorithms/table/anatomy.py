"""Anatomy: groups of l rows with different sensitive values, whose values are published apart from the rows.

After X. Xiao and Y. Tao, "Anatomy: simple and effective privacy preservation" (VLDB 2006): rows are put into buckets by
their sensitive value; while l buckets have rows, one row of each of the l that have most makes a group; each row that
is left joins a group without its value. That ends well if no value is that of more than 1/l of the rows.

What the groups look like in the quasi columns is not asked: these are published as they are, and the sensitive values
of each group beside them, in another order. Where k is asked for too, groups are put together until they are so large.
"""

from __future__ import annotations

from math import ceil

import numpy as np

from treeanon.algorithms.table.group_checker import RowGroupChecker
from treeanon.algorithms.table.mondrian import checked_whole
from treeanon.algorithms.table.problem import Problem
from treeanon.algorithms.table.result import Partition, one_row_each
from treeanon.arrays import Flags, Longs
from treeanon.errors import GuaranteeError, UsageError
from treeanon.kernels.table.groups import draw_groups
from treeanon.privacy.models.model import asks_for_size


def search(problem: Problem, *, seed: int | None = None) -> Partition:
    """Return groups of rows with different sensitive values, to be published as two tables; no row is left out.

    Rows of a value, and groups for rows that are left over, are drawn at random; `seed` is for tests.

    >>> from treeanon.hierarchy import Hierarchy
    >>> from treeanon.table import Table
    >>> columns = {"age": (["20", "30"], Hierarchy.flat(["20", "30"])), "ill": (["a", "b"], Hierarchy.flat("ab"))}
    >>> table = Table.of_texts(columns, roles={"ill": "sensitive"})
    >>> from treeanon.privacy.models import FrequencyDiversity
    >>> search(Problem(table, (FrequencyDiversity(2),))).group.tolist()
    [0, 0]
    """
    table, size, k = problem.table, *_asked(problem)
    one_row_each(table, "Anatomy")
    checked_whole(problem)
    rng = np.random.default_rng(seed)
    _, value = np.unique(table.sensitive[0].codes, return_inverse=True)
    counts = np.bincount(value)
    by_size = np.argsort(-counts, kind="stable")
    place = np.argsort(by_size, kind="stable")
    mixed = rng.permutation(len(value))
    rows = mixed[np.argsort(place[value[mixed]], kind="stable")]
    group = np.full(len(value), -1, np.int64)
    groups, left = draw_groups(rows, counts[by_size], size, group)
    for v in by_size[left > 0].tolist():
        _place_rest(group, groups, value == v, rng)
    if k > size:
        # Enough groups in a row for k; what is left of them goes with the last.
        each = ceil(k / size)
        group = np.minimum(group // each, max(groups // each, 1) - 1)
    groups = int(group.max(initial=-1)) + 1
    if not RowGroupChecker(problem).holds(group, groups).all():
        raise GuaranteeError("Anatomy finds no groups that satisfy all models: ask for less diversity")
    return Partition("anatomy", problem.models, group, counts={"groups": groups, "left_over": int(left.sum())})


def _asked(problem: Problem) -> tuple[int, int]:
    """Return how many different values a group is made of, and how many rows it must have."""
    size, k = 1, 1
    for model in problem.models:
        limits = model.limits
        if asks_for_size(model):
            k = max(k, limits.persons)
        elif limits.is_all and limits.persons == 1 and limits.share > 0:
            size = max(size, limits.values, ceil(1 / limits.share))
        else:
            raise UsageError("Anatomy knows k-anonymity, and distinct and frequency l-diversity")
    if size == 1 or len(problem.table.sensitive) != 1:
        raise UsageError("Anatomy needs l-diversity of at least 2, and one sensitive column")
    return size, k


def _place_rest(group: Longs, groups: int, has_value: Flags, rng: np.random.Generator) -> None:
    """Give rows of one value that are left each another group without it, while there are such; then any."""
    rest = np.flatnonzero(has_value & (group < 0))
    has = np.zeros(groups, np.bool_)
    has[group[has_value & (group >= 0)]] = True
    lacking, having = rng.permutation(np.flatnonzero(~has)), rng.permutation(np.flatnonzero(has))
    group[rest] = np.resize(np.append(lacking, having), len(rest))
