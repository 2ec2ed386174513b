"""What a permuted release has lost: rows, and how wrong counts by quasi columns and the sensitive one come out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from treeanon.arrays import Longs
from treeanon.metrics.table.queries import permuted_query_loss, permuted_query_loss_of
from treeanon.table import Table
from treeanon.table.covers import value_ranks
from treeanon.table.permuted import Permuted

LEVELS = 2
"""Queries are by one and by two columns: by more, each is of few rows, and there are many."""


@dataclass(frozen=True)
class PermutedLosses:
    """Utility losses of a permuted release of `rows` rows; quasi values are unchanged.

    `queries` has the mean KL divergence of all group-bys of so many quasi columns with the sensitive column, in nats: 0
    is answered exactly. It is empty where values of the input are groups of values already.
    """

    queries: Mapping[int, float]
    groups: int
    average_group_size: float
    largest_group: int
    rows: int
    suppressed: int

    def as_dict(self) -> dict[str, Any]:
        """Return the same as plain data, as `--json` has it."""
        return asdict(self) | {"queries": {str(level): loss for level, loss in self.queries.items()}}


def measure_permuted(original: Table, group: Longs, levels: int = LEVELS) -> PermutedLosses:
    """Return the losses of publishing a table in these groups of its rows; rows with -1 are left out.

    >>> from treeanon.hierarchy import Hierarchy
    >>> columns = {"sex": (["f", "m"], Hierarchy.flat(["f", "m"])), "ill": (["a", "b"], Hierarchy.flat(["a", "b"]))}
    >>> losses = measure_permuted(Table.of_texts(columns, {"ill": "sensitive"}), np.array([0, 0]))
    >>> losses.groups, round(losses.queries[1], 4)
    (1, 0.6931)
    """
    sizes = np.unique(group[group >= 0], return_counts=True)[1]
    queries = {level: permuted_query_loss(original, group, level).mean for level in _levels(original, levels)}
    return _losses(queries, sizes, len(original))


def measure_permuted_tables(original: Table, made: Permuted, levels: int = LEVELS) -> PermutedLosses:
    """Return the losses from the two published tables, without a matching of their rows.

    Their columns have the hierarchies of the original.

    >>> from treeanon.hierarchy import Hierarchy
    >>> from treeanon.table.permuted import permuted
    >>> columns = {"sex": (["f", "m"], Hierarchy.flat(["f", "m"])), "ill": (["a", "b"], Hierarchy.flat(["a", "b"]))}
    >>> table = Table.of_texts(columns, {"ill": "sensitive"})
    >>> measure_permuted_tables(table, permuted(table, np.array([0, -1]))).suppressed
    1
    """
    groups, (number, _) = made.groups(), made.numbers()
    queries = {
        level: permuted_query_loss_of(original, made.records, groups, number, level).mean
        for level in _levels(original, levels)
    }
    return _losses(queries, groups.sizes, len(original))


def _levels(original: Table, levels: int) -> range:
    """Return the numbers of quasi columns to query by; none where the input holds groups of values."""
    return range(1, min(levels, len(original.quasi)) + 1) if _has_values(original) else range(0)


def _losses(queries: Mapping[int, float], sizes: Longs, rows: int) -> PermutedLosses:
    published = int(sizes.sum())
    return PermutedLosses(
        queries, len(sizes), published / max(len(sizes), 1), int(sizes.max(initial=0)), rows, rows - published
    )


def _has_values(table: Table) -> bool:
    """Return whether all queried columns hold single values, no groups of them."""
    columns = (*table.quasi, *table.sensitive)
    return all((value_ranks(c.hierarchy)[c.codes[c.codes >= 0]] >= 0).all() for c in columns)
