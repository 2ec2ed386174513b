"""Tuples and the kernels below them, against dictionaries."""

from __future__ import annotations

from collections import Counter
from random import Random

import numpy as np

from tests.support.strategies import properties
from tests.support.table_worlds import random_problem
from treeanon.algorithms.table.group_checker import Fields, Tuples
from treeanon.hierarchy import Hierarchy
from treeanon.kernels.table.tuples import distinct, histogram, roll
from treeanon.table import Table


def distinct_keys(rnd: Random) -> None:
    words = rnd.randint(1, 3)
    rows = [tuple(rnd.choice([0, 1, 5, 1 << 62]) for _ in range(words)) for _ in range(rnd.choice([0, 3, 2000]))]
    first, counts, number = distinct(np.array(rows, np.int64).reshape(-1, words))
    assert {rows[i]: n for i, n in zip(first.tolist(), counts.tolist(), strict=True)} == Counter(rows)
    assert [rows[first[g]] for g in number] == rows


test_distinct_keys, test_distinct_keys_thoroughly = properties(distinct_keys, 40, 400)


def test_distinct_grows() -> None:
    keys = np.arange(50_000, dtype=np.int64).reshape(-1, 1) * 7
    first, counts, _ = distinct(np.concatenate([keys, keys]))
    assert first.tolist() == list(range(50_000)) and set(counts.tolist()) == {2}


def rolled(rnd: Random) -> None:
    """Keys of one word and of several give the same groups."""
    sizes = [rnd.choice([2, 9, 1 << 20, 1 << 40]) for _ in range(rnd.randint(1, 4))]
    rows = [tuple(rnd.randrange(min(size, 4)) for size in sizes) for _ in range(rnd.randint(0, 30))]
    rows = sorted(set(rows))
    fields = Fields.of(sizes)
    columns = [np.array([row[c] for row in rows], np.int32) for c in range(len(sizes))]
    keys = fields.pack(columns, [0] * len(sizes))
    assert [[int(x) for x in fields.unpack(keys, c)] for c in range(len(sizes))] == [c.tolist() for c in columns]
    ups = [[rnd.randrange(min(size, 4)) for _ in range(4)] for size in sizes]
    changed = [c for c in range(len(sizes)) if rnd.random() < 0.6]
    steps = [(*fields.places[c].tolist(), 4 * c) for c in changed]
    out_keys, out_counts = np.empty((len(rows) + 1, fields.words), np.int64), np.empty(len(rows) + 1, np.int64)
    number = np.empty(len(rows), np.int32)
    counts = np.array([rnd.randint(1, 9) for _ in rows], np.int64)
    found = roll(
        keys,
        counts,
        np.array(steps, np.int64).reshape(-1, 4),
        np.array(ups, np.int64).ravel(),
        np.empty(max(16, 4 * len(rows)), np.int32),
        out_keys,
        out_counts,
        number,
    )
    expected: Counter[tuple[int, ...]] = Counter()
    for row, count in zip(rows, counts.tolist(), strict=True):
        expected[tuple(ups[c][x] if c in changed else x for c, x in enumerate(row))] += count
    shown = list(zip(*(fields.unpack(out_keys[:found], c).tolist() for c in range(len(sizes))), strict=True))
    assert dict(zip(shown, out_counts[:found].tolist(), strict=True)) == expected
    assert len(number) == 0 or number.max() == found - 1


test_rolled, test_rolled_thoroughly = properties(rolled, 50, 1000)


def histograms(rnd: Random) -> None:
    groups = rnd.randint(1, 4)
    persons = rnd.random() < 0.5
    entries = {(rnd.randrange(3), rnd.randrange(4), rnd.randrange(-1, groups)) for _ in range(rnd.randint(0, 20))}
    rows = sorted(entries)  # by value, then person
    value, person, group = (np.array([row[i] for row in rows], np.int32) for i in range(3))
    counts = np.array([rnd.randint(1, 5) for _ in rows], np.int64)
    of = person if persons else np.empty(0, np.int32)
    starts, values, found, sums = histogram(group, groups, value, counts, of)
    for g in range(groups):
        expected: Counter[int] = Counter()
        for (v, _, h), count in zip(rows, counts.tolist(), strict=True):
            if h == g:
                expected[v] += 1 if persons else count
        shown = dict(
            zip(values[starts[g] : starts[g + 1]].tolist(), found[starts[g] : starts[g + 1]].tolist(), strict=True)
        )
        assert shown == expected and list(shown) == sorted(shown) and sums[g] == sum(expected.values())


test_histograms, test_histograms_thoroughly = properties(histograms, 50, 1000)


def tuples(rnd: Random) -> None:
    problem, world = random_problem(rnd)
    found = Tuples.of(problem.table)
    assert sorted(found.rows.tolist()) == sorted(Counter(row.quasi for row in world.rows).values())
    assert found.persons == len({row.person for row in world.rows})


test_tuples, test_tuples_thoroughly = properties(tuples, 30, 600)


def test_ten_thousand_values_in_many_columns() -> None:
    texts = [str(i) for i in range(10_000)]
    hierarchy = Hierarchy.flat(texts)
    table = Table.of_texts({f"q{c}": (texts, hierarchy) for c in range(10)})
    found = Tuples.of(table)
    assert len(found) == 10_000 and found.fields.words == 3
