"""Releases as permutations: what they hold, what they hide, and what a reader can check of them."""

from __future__ import annotations

import csv
from collections import Counter, defaultdict
from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import pytest

from tests.support.diversity_worlds import random_table, table_of
from tests.support.strategies import properties
from treeanon.algorithms.table.onedim.l_diversity import search
from treeanon.algorithms.table.problem import Problem
from treeanon.errors import DataError, UsageError
from treeanon.hierarchy import Hierarchy
from treeanon.privacy.models import FrequencyDiversity
from treeanon.table import Table
from treeanon.table.permuted import Permuted, permuted


def says_the_same(rnd: Random) -> None:
    rnd = Random(rnd.getrandbits(32))
    table = random_table(rnd, rnd.choice([0, 1, 5, 30]))
    group = np.array([rnd.randrange(-1, 5) for _ in range(len(table))], np.int64)
    found = permuted(table, group)
    rows = list(table.rows())
    kept = [row for row, number in zip(rows, group.tolist(), strict=True) if number >= 0]
    members, listed = defaultdict(list), defaultdict(Counter)
    for *quasi, number in found.records.rows():
        members[number].append(tuple(quasi))
    for number, ill, count in found.values.rows():
        assert ill not in listed[number]
        listed[number][ill] = int(count)
    wanted = defaultdict(list)
    for row, number in zip(rows, group.tolist(), strict=True):
        if number >= 0:
            wanted[number].append(row)
    key = sorted(
        repr((sorted(map(repr, (row[:-1] for row in one))), sorted(map(repr, Counter(r[-1] for r in one).items()))))
        for one in wanted.values()
    )
    assert key == sorted(repr((sorted(map(repr, members[n])), sorted(map(repr, listed[n].items())))) for n in members)
    assert len(found.records) == len(kept)
    expected = min((sum(c.values()) // max(c.values()) for c in listed.values()), default=0)
    assert found.diversity() == expected


test_says_the_same, test_says_the_same_thoroughly = properties(says_the_same, 30, 1000)


def test_of_diverse_groups_read_back_from_files(tmp_path: Path) -> None:
    table = table_of("123456789123", "abcdxyzabcda")
    groups = search(Problem(table, (FrequencyDiversity(3),))).group
    found = permuted(table, groups)
    assert found.diversity() >= 3
    paths = [tmp_path / "records.csv", tmp_path / "values.csv"]
    found.records.write(paths[0])
    found.values.write(paths[1])
    records, values = (list(csv.DictReader(path.open())) for path in paths)

    def again(rows: list[dict[str, str]], roles: dict[str, str]) -> Table:
        texts = {name: [row[name] for row in rows] for name in rows[0]}
        return Table.of_texts({name: (own, Hierarchy.flat(own)) for name, own in texts.items()}, roles)

    roles = {"ill": "sensitive", "group": "keep", "count": "keep"}
    assert Permuted(again(records, roles), again(values, roles)).diversity() == found.diversity()


def test_order_and_numbers_say_nothing() -> None:
    table = table_of("123456789", "abcdxyzab")
    group = np.arange(9) // 3
    seen = {tuple(permuted(table, group).records.rows()) for _ in range(20)}
    assert len(seen) > 1
    assert len({permuted(table, group, seed=i).records.rows().__next__()[-1] for i in range(30)}) == 3
    same = [tuple(permuted(table, group, seed=4).records.rows()) for _ in range(2)]
    assert same[0] == same[1]


def test_tables_that_do_not_belong_together() -> None:
    one = permuted(table_of("1234", "abcd"), np.array([0, 0, 1, 1]))
    other = permuted(table_of("1234", "abcd"), np.array([0, 0, 0, 1]))
    with pytest.raises(DataError, match="same persons"):
        Permuted(one.records, other.values).diversity()
    twice = one.values.take(np.array([0, 0, 1, 2, 3]))
    with pytest.raises(DataError, match="twice"):
        Permuted(one.records, twice).diversity()


def test_names_that_are_taken() -> None:
    table = table_of("12", "ab")
    ages = replace(table.columns[0], spec=replace(table.columns[0].spec, name="group"))
    found = permuted(Table((ages, table.columns[1])), np.array([0, 0]))
    assert [c.name for c in found.records.columns] == ["group", "group_"] and found.diversity() == 2


def test_what_it_is_not_for() -> None:
    table = table_of("12", "ab")
    with pytest.raises(UsageError, match="one sensitive column"):
        permuted(Table(table.columns[:1]), np.array([0, 0]))
    with pytest.raises(UsageError, match="one row a person"):
        permuted(replace(table, person=np.zeros(2, np.int32)), np.array([0, 0]))
