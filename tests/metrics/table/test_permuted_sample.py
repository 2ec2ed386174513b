"""Queries of many permuted rows: not asked unless wanted, and then of a sample of whole quasi tuples."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from treeanon.hierarchy import Hierarchy
from treeanon.metrics.table.measure import measure_permuted, measure_permuted_tables
from treeanon.metrics.table.queries import permuted_query_loss, permuted_query_loss_of, tuples_sampled
from treeanon.randomness import Randomness
from treeanon.reports.text import permuted_losses_text
from treeanon.table import Table
from treeanon.table.permuted import permuted


def people(rnd: Random, rows: int) -> Table:
    letters, ills = Hierarchy.flat("abc"), Hierarchy.flat("pqr")
    draw = {"x": rnd.choices([*"abc", None], k=rows), "y": rnd.choices("abc", k=rows)}
    columns = {name: (texts, letters) for name, texts in draw.items()}
    return Table.of_texts({**columns, "ill": (rnd.choices("pqr", k=rows), ills)}, {"ill": "sensitive"})


@pytest.mark.parametrize("seed", range(8))
def test_a_sample_has_whole_tuples_and_their_records(seed: int) -> None:
    rnd = Random(seed)
    table = people(rnd, 40)
    group = np.array([rnd.randrange(-1, 5) for _ in range(40)])
    made = permuted(table, np.unique(group, return_inverse=True)[1] - (group.min() < 0), seed=1)
    sample, records = tuples_sampled(table, made.records, 15, Randomness(seed))
    assert sample.sum() > 0 and (sample.sum() <= 15 or len(set(_tuples(table, sample))) == 1)
    inside, outside = _tuples(table, sample), _tuples(table, ~sample)
    assert not set(inside) & set(outside)
    published = [row[:2] for row, taken in zip(made.records.rows(), records, strict=True) if taken]
    assert sorted(map(str, published)) == sorted(map(str, _tuples(table, sample & (group >= 0))))
    groups, (number, _) = made.groups(), made.numbers()
    for level in (1, 2):
        by_rows = permuted_query_loss(table, group, level, sample=sample).divergences
        by_tables = permuted_query_loss_of(table, made.records, groups, number, level, samples=(sample, records))
        assert by_rows == pytest.approx(by_tables.divergences)
        everything = np.ones(40, np.bool_)
        assert permuted_query_loss(table, group, level, sample=everything) == permuted_query_loss(table, group, level)


def _tuples(table: Table, rows: np.ndarray) -> list[tuple[str | None, ...]]:
    return [row[:2] for row, taken in zip(table.rows(), rows, strict=True) if taken]


def test_where_groups_are_within_tuples_a_sample_is_a_table_of_its_own() -> None:
    table = people(Random(3), 60)
    alike = np.unique([str(row[:2]) for row in table.rows()], return_inverse=True)[1].astype(np.int64)
    sample, _ = tuples_sampled(table, table, 20, Randomness(2))
    for level in (1, 2):
        own = permuted_query_loss(table.take(np.flatnonzero(sample)), alike[sample], level).mean
        assert permuted_query_loss(table, alike, level, sample=sample).mean == pytest.approx(own)


def test_of_many_rows_nothing_is_asked_unless_wanted() -> None:
    table = people(Random(5), 50)
    group = np.arange(50) // 5
    made = permuted(table, group, seed=1)
    for measured in (measure_permuted(table, group, asked=20), measure_permuted_tables(table, made, asked=20)):
        assert (measured.queries, measured.queried, measured.rows) == ({}, 0, 50)
    for measured in (
        measure_permuted(table, group, 1, asked=20, seed=1),
        measure_permuted_tables(table, made, 1, asked=20, seed=1),
    ):
        assert set(measured.queries) == {1} and 0 < measured.queried <= 20
        assert f"in a sample of {measured.queried} rows" in permuted_losses_text(measured)
    few = measure_permuted(table, group)
    assert set(few.queries) == {1, 2} and few.queried == 50 and "sample" not in permuted_losses_text(few)
