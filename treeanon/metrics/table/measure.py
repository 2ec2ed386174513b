"""Everything that a release of a table has lost, measured at once.

Also what a permuted release has lost: rows, and how wrong counts by quasi columns and the sensitive one come out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from treeanon.arrays import Flags, Longs
from treeanon.errors import UsageError
from treeanon.metrics.table.groups import (
    average_class_size,
    classification,
    discernibility,
    height,
    precision,
    row_counts,
)
from treeanon.metrics.table.ncp import Form, Weights, mean_of, ncp
from treeanon.metrics.table.queries import permuted_query_loss, permuted_query_loss_of, tuples_sampled
from treeanon.metrics.table.use import lost_variance
from treeanon.randomness import Randomness
from treeanon.shown import Grid, Shown, Summary
from treeanon.table import Column, Table
from treeanon.table.covers import value_ranks
from treeanon.table.permuted import Permuted


def _ncp(original: Table, column: Column, form: Form, gone: int) -> float:
    """Return the NCP of a column; of one of means, the share of the squares of its deviations that is gone."""
    if not column.spec.controls.microaggregate:
        return ncp(column, form, gone)
    rows = len(column.codes) + gone
    kept = lost_variance(original.column(column.name), column)
    return (kept * len(column.codes) + gone) / rows if rows else 0.0


@dataclass(frozen=True, repr=False)
class FlatLosses(Shown):
    """Utility losses of a release of a table compared with its input of `rows` rows.

    All but `precision` (1: nothing lost) are lower for better releases. `gcp_taxonomy` and `gcp_set` are the means over
    the quasi columns of what `ncp_taxonomy` and `ncp_set` say of each, from 0 to 1; `discernibility` (DM) adds up the
    rows that each row is confused with, `classification` (CM) is the share of rows whose label a reader would guess
    wrong (None: no label), `average_class_size` (C_avg) is of the `groups` published and has k divided out if k is
    given, `height` counts steps up the hierarchies.
    """

    gcp_taxonomy: float
    gcp_set: float
    ncp_taxonomy: Mapping[str, float]
    ncp_set: Mapping[str, float]
    discernibility: int
    classification: float | None
    average_class_size: float
    precision: float
    height: int
    groups: int
    rows: int
    suppressed: int

    def _summary(self) -> Summary:
        rows = [[name, loss, self.ncp_set[name]] for name, loss in self.ncp_taxonomy.items()]
        line = f"GCP {self.gcp_taxonomy:.3f} (taxonomy), {self.gcp_set:.3f} (set)"
        facts = [("rows left out", f"{self.suppressed:,} of {self.rows:,}"), ("groups", self.groups)]
        facts += [("precision", f"{self.precision:.3f}"), ("discernibility", self.discernibility)]
        return Summary("FlatLosses", line, facts, [Grid("NCP", ["Column", "Taxonomy", "Set"], rows)])

    def as_dict(self) -> dict[str, Any]:
        """Return the same as plain data, as `--json` has it."""
        return asdict(self)


def measure(
    original: Table,
    released: Table,
    suppressed: int | None = None,
    *,
    label: str | None = None,
    k: int = 1,
    weights: Weights | None = None,
) -> FlatLosses:
    """Return all losses of a release; rows of the original that it lacks count as suppressed.

    Losses speak of rows, whoever's they are, in whatever order. `suppressed` need not be told: it is checked. `label`
    is the column of the classification metric, `weights` what columns count for in the GCP.

    >>> from treeanon.hierarchy import Hierarchy
    >>> sexes = Hierarchy.flat(["f", "m"])
    >>> original, released = (Table.of_texts({"sex": (texts, sexes)}) for texts in (["f", "f", "m"], ["f", "f"]))
    >>> losses = measure(original, released)
    >>> losses.suppressed, losses.discernibility, round(losses.gcp_set, 3), losses.height
    (1, 7, 0.333, 0)
    """
    names = [[column.name for column in table.quasi] for table in (original, released)]
    if names[0] != names[1]:
        raise UsageError("a release must have the quasi columns of its input, in their order")
    gone = len(original) - len(released)
    if gone < 0 or suppressed not in (None, gone):
        raise UsageError(f"a release of {len(released):,} rows cannot lack {suppressed or 0:,} of {len(original):,}")
    taxonomy = {column.name: _ncp(original, column, "taxonomy", gone) for column in released.quasi}
    as_sets = {column.name: _ncp(original, column, "set", gone) for column in released.quasi}
    sizes = row_counts(released)
    return FlatLosses(
        mean_of(taxonomy, weights),
        mean_of(as_sets, weights),
        taxonomy,
        as_sets,
        discernibility(released, gone, sizes),
        None if label is None else classification(released, label, gone),
        average_class_size(released, k, sizes),
        precision(released, gone),
        height(released),
        len(sizes),
        len(original),
        gone,
    )


LEVELS = 2
"""Queries are by one and by two columns: by more, each is of few rows, and there are many."""

ASKED = 100_000
"""Of more rows queries are answered only when asked for, and then about a sample of so many of them."""


@dataclass(frozen=True, repr=False)
class PermutedLosses(Shown):
    """Utility losses of a permuted release of `rows` rows; quasi values are unchanged.

    `queries` has the mean KL divergence of all group-bys of so many quasi columns with the sensitive column, in nats: 0
    is answered exactly. They are about `queried` rows: all of them or, of many, a random sample. It is empty where
    values of the input are groups of values already, and unless asked for, where there are more than `ASKED` rows.
    """

    queries: Mapping[int, float]
    queried: int
    groups: int
    average_group_size: float
    largest_group: int
    rows: int
    suppressed: int

    def _summary(self) -> Summary:
        rows = [[level, loss] for level, loss in self.queries.items()]
        line = f"{self.groups:,} groups of {self.average_group_size:.1f} rows"
        grids = [Grid("Queries, KL divergence", ["Columns", "Loss"], rows)] if rows else []
        return Summary("PermutedLosses", line, [("rows left out", f"{self.suppressed:,} of {self.rows:,}")], grids)

    def as_dict(self) -> dict[str, Any]:
        """Return the same as plain data, as `--json` has it."""
        return asdict(self) | {"queries": {str(level): loss for level, loss in self.queries.items()}}


def measure_permuted(
    original: Table, group: Longs, levels: int | None = None, *, asked: int = ASKED, seed: int | None = None
) -> PermutedLosses:
    """Return the losses of publishing a table in these groups of its rows; rows with -1 are left out.

    Queries are by up to `levels` columns, unless told otherwise 2, and none of more rows than are `asked` about; if
    told, these are asked of a random sample of so many. `seed` is for tests.

    >>> from treeanon.hierarchy import Hierarchy
    >>> columns = {"sex": (["f", "m"], Hierarchy.flat(["f", "m"])), "ill": (["a", "b"], Hierarchy.flat(["a", "b"]))}
    >>> losses = measure_permuted(Table.of_texts(columns, {"ill": "sensitive"}), np.array([0, 0]))
    >>> losses.groups, round(losses.queries[1], 4)
    (1, 0.6931)
    """
    sizes = np.unique(group[group >= 0], return_counts=True)[1]
    wanted, sample = _levels(original, levels, asked), None
    if wanted and len(original) > asked:
        sample = tuples_sampled(original, original.take(np.zeros(0, np.int64)), asked, Randomness(seed))[0]
    queries = {level: permuted_query_loss(original, group, level, sample=sample).mean for level in wanted}
    return _losses(queries, _count(original, wanted, sample), sizes, len(original))


def measure_permuted_tables(
    original: Table, made: Permuted, levels: int | None = None, *, asked: int = ASKED, seed: int | None = None
) -> PermutedLosses:
    """Return the losses from the two published tables, without a matching of their rows; see `measure_permuted`.

    Their columns have the hierarchies of the original.

    >>> from treeanon.hierarchy import Hierarchy
    >>> from treeanon.table.permuted import permuted
    >>> columns = {"sex": (["f", "m"], Hierarchy.flat(["f", "m"])), "ill": (["a", "b"], Hierarchy.flat(["a", "b"]))}
    >>> table = Table.of_texts(columns, {"ill": "sensitive"})
    >>> measure_permuted_tables(table, permuted(table, np.array([0, -1]))).suppressed
    1
    """
    groups, (number, _) = made.groups(), made.numbers()
    wanted, samples = _levels(original, levels, asked), None
    if wanted and len(original) > asked:
        samples = tuples_sampled(original, made.records, asked, Randomness(seed))
    queries = {
        level: permuted_query_loss_of(original, made.records, groups, number, level, samples=samples).mean
        for level in wanted
    }
    queried = _count(original, wanted, None if samples is None else samples[0])
    return _losses(queries, queried, groups.sizes, len(original))


def _levels(original: Table, levels: int | None, asked: int) -> range:
    """Return the numbers of quasi columns to query by; none where the input holds groups of values."""
    if levels is None:
        levels = LEVELS if len(original) <= asked else 0
    return range(1, min(levels, len(original.quasi)) + 1) if levels and _has_values(original) else range(0)


def _count(original: Table, wanted: range, sample: Flags | None) -> int:
    """Return how many rows queries were about."""
    return 0 if not wanted else len(original) if sample is None else int(sample.sum())


def _losses(queries: Mapping[int, float], queried: int, sizes: Longs, rows: int) -> PermutedLosses:
    published = int(sizes.sum())
    return PermutedLosses(
        queries, queried, len(sizes), published / max(len(sizes), 1), int(sizes.max(initial=0)), rows, rows - published
    )


def _has_values(table: Table) -> bool:
    """Return whether all queried columns hold single values, no groups of them."""
    columns = (*table.quasi, *table.sensitive)
    return all((value_ranks(c.hierarchy)[c.codes[c.codes >= 0]] >= 0).all() for c in columns)
