"""The invented tables have the shape that they promise, and hang together."""

from __future__ import annotations

from collections import Counter, defaultdict
from math import log

import numpy as np
import pytest

from treeanon.bench.invented import census, drawn, synthetic
from treeanon.errors import UsageError
from treeanon.privacy.models import FrequencyDiversity
from treeanon.table import Table
from treeanon.verifier.table import check

# Values and height of each column's taxonomy; of numbers the height is that of our intervals.
SHAPE = {
    "age": 79,
    "gender": (2, 1),
    "education": 17,
    "marital": (6, 2),
    "race": (9, 1),
    "work_class": (10, 3),
    "country": (83, 2),
    "occupation": (50, 1),
    "salary_class": (50, 1),
}


@pytest.fixture(scope="module")
def people() -> Table:
    return census(20_000, seed=3, sensitive=None)


def test_columns_have_their_values_and_heights(people):
    assert [column.name for column in people.columns] == list(SHAPE)
    for column in people.columns:
        leaves, height = int(column.hierarchy.leaf_count[0]), column.hierarchy.height
        expected = SHAPE[column.name]
        assert leaves == expected if isinstance(expected, int) else (leaves, height) == expected, column.name
        assert (column.hierarchy.leaf_count[column.codes] == 1).all()
        assert column.spec.type == ("integer" if isinstance(expected, int) else "text")
    assert [column.name for column in people.sensitive] == ["occupation", "salary_class"]
    used = {column.name: len(set(column.texts())) for column in people.columns}
    assert used["age"] == 79 and used["country"] > 70 and used["occupation"] == used["salary_class"] == 50


def test_a_seed_makes_one_table(people):
    again = census(20_000, seed=3, sensitive=None)
    assert list(again.rows()) == list(people.rows())
    assert list(census(20_000, seed=4, sensitive=None).rows()) != list(people.rows())
    few = census(20_000, seed=3, sensitive="salary_class", quasi=2)
    assert [column.name for column in few.columns] == ["age", "gender", "salary_class"]
    assert list(few.rows()) == [(row[0], row[1], row[8]) for row in people.rows()]


@pytest.mark.parametrize("rows", [0, 1, 2])
def test_few_rows(rows):
    assert len(census(rows)) == rows and len(synthetic(rows)) == rows


def information(table, one, other):
    """How much two columns tell of each other, in nats."""
    pairs = Counter(zip(table.column(one).texts(), table.column(other).texts(), strict=True))
    left, right = Counter(table.column(one).texts()), Counter(table.column(other).texts())
    n = len(table)
    return sum(c / n * log(c * n / (left[a] * right[b])) for (a, b), c in pairs.items())


def test_columns_hang_together(people):
    rng = np.random.default_rng(0)
    for one, other in [
        ("age", "marital"),
        ("age", "education"),
        ("race", "country"),
        ("age", "work_class"),
        ("education", "occupation"),
        ("gender", "occupation"),
        ("occupation", "salary_class"),
    ]:
        column = people.column(other)
        run_interruptibly = people.with_codes({other: rng.permutation(column.codes)})
        assert information(people, one, other) > 1.8 * information(run_interruptibly, one, other), (one, other)


@pytest.mark.parametrize("rows", [2_000, 20_000])
@pytest.mark.parametrize("sensitive", ["occupation", "salary_class"])
def test_a_diversity_of_13_can_be_had(rows, sensitive):
    table = census(rows, seed=rows, sensitive=sensitive)
    whole = Table(table.sensitive)
    assert check(whole, [FrequencyDiversity(13)])[0].holds


def test_what_cannot_be_invented():
    with pytest.raises(UsageError, match="occupation, salary_class"):
        census(3, sensitive="age")
    for quasi in (0, 8):
        with pytest.raises(UsageError, match="1 to 7 quasi-identifiers"):
            census(3, quasi=quasi)
    with pytest.raises(UsageError, match="from 0 to 1"):
        synthetic(3, correlation=1.5)
    for quasi in (0, 5):
        with pytest.raises(UsageError, match="1 to 4 quasi-identifiers"):
            synthetic(3, quasi=quasi)


@pytest.mark.parametrize("alpha", [0.0, 0.3, 1.0])
def test_the_synthetic_table_follows_its_correlation(alpha):
    table = synthetic(20_000, seed=1, correlation=alpha)
    rows = [list(map(int, row)) for row in table.rows()]
    hits = sum((a + 3 * b + 7 * c + 9 * d) % 10 == s for a, b, c, d, s in rows)
    assert hits / 20_000 == pytest.approx(alpha + (1 - alpha) / 10, abs=0.02)
    for column in table.columns:
        times = Counter(column.texts())
        assert set(times) == set("0123456789") and max(times.values()) < 1.1 * 20_000 / 10
    assert [column.role for column in table.columns] == ["quasi"] * 4 + ["sensitive"]


def test_fewer_columns_are_the_first_of_the_same_table():
    whole, few = synthetic(50, seed=4), synthetic(50, seed=4, quasi=2)
    assert list(few.rows()) == [(*row[:2], row[4]) for row in whole.rows()]


def test_values_are_drawn_by_the_weights_of_their_kind():
    weights = np.array([[1.0, 0, 3, 0], [0, 1, 0, 0], [2, 2, 2, 2]])
    kinds = np.random.default_rng(5).integers(0, 3, 30_000)
    seen = defaultdict(Counter)
    for kind, value in zip(kinds.tolist(), drawn(np.random.default_rng(6), kinds, weights).tolist(), strict=True):
        seen[kind][value] += 1
    for kind, row in enumerate(weights):
        for value, weight in enumerate(row):
            assert seen[kind][value] / seen[kind].total() == pytest.approx(weight / row.sum(), abs=0.02)
            assert weight or not seen[kind][value]
