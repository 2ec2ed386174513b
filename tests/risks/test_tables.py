"""Risks of tables against counting every set of columns, and against every pair of a row and somebody."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest

import treeanon as ta
from tests.reference.risks import column_sets, singled_out_rows
from tests.support.strategies import properties
from treeanon.errors import UsageError
from treeanon.hierarchy import Hierarchy
from treeanon.risks import Risk, population_counts, risk, risk_of_table
from treeanon.table import Column, Table
from treeanon.table.covers import Covers, ranked_texts

NUMBERS = Hierarchy.from_paths([[str(i), f"{i // 3 * 3}-{i // 3 * 3 + 2}", "*"] for i in range(9)])
WORDS = Hierarchy.from_paths([["a", "vowel", "letter"], ["e", "vowel", "letter"], ["x", "letter"], ["y", "letter"]])


def random_table(rnd: Random, *, several: bool) -> Table:
    columns = {}
    count = rnd.randint(0, 14)
    for number in range(rnd.randint(1, 5)):
        hierarchy = rnd.choice([NUMBERS, WORDS])
        values = rnd.sample(hierarchy.texts, rnd.randint(1, 4))
        columns[f"c{number}"] = ([rnd.choice([*values, None]) for _ in range(count)], hierarchy)
    table = Table.of_texts(columns, {"c3": "sensitive"})
    person = np.array([rnd.randrange(8) for _ in range(count)], np.int32) if several else None
    return Table(table.columns, person)


def check_by_brute_force(rnd: Random) -> None:
    table = random_table(rnd, several=rnd.random() < 0.3)
    k, m = rnd.randint(2, 4), rnd.randint(1, 6)
    found = risk_of_table(table, k=k, m=m, seconds=None)
    rows = list(zip(*(column.texts() for column in table.quasi), strict=True))
    persons = list(range(len(rows))) if table.person is None else table.person.tolist()
    columns, count = len(table.quasi), len(set(persons))

    def persons_of(k: int, sets: list[tuple[int, ...]]) -> int:
        return len(singled_out_rows(rows, persons, k, sets))

    for size in range(1, m + 1):
        sets = column_sets(columns, min(size, columns))
        told = (found.at(size).persons, found.unique[size - 1][0].persons)
        assert told == (persons_of(k, sets), persons_of(2, sets))
        assert found.at(size).of == count
    assert found.whole is not None
    everything = [tuple(range(columns))]
    assert (found.whole.below_k.persons, found.whole.unique.persons) == (
        persons_of(k, everything),
        persons_of(2, everything),
    )
    alike = [{p for row, p in zip(rows, persons, strict=True) if row == own} for own in rows]
    assert found.whole.smallest == min(map(len, alike), default=0)
    chances = dict.fromkeys(persons, 0.0)
    for person, held in zip(persons, alike, strict=True):
        chances[person] = max(chances[person], 1 / len(held))
    assert found.whole.marketer == pytest.approx(sum(chances.values()) / max(count, 1))
    assert found.whole.prosecutor == max(chances.values(), default=0.0)
    check_combinations(found, rows, persons, k, min(m, columns))


def check_combinations(found: Risk, rows: list[tuple[Any, ...]], persons: list[int], k: int, m: int) -> None:
    """A set of columns is told with the persons of the rows that it singles out and no part of it does."""
    rare = {
        chosen: {
            i
            for i, own in enumerate(rows)
            if len({p for row, p in zip(rows, persons, strict=True) if all(row[c] == own[c] for c in chosen)}) < k
        }
        for chosen in column_sets(len(rows[0]) if rows else 0, m)
    }
    slow = {}
    for chosen, own in rare.items():
        left = own - set().union(*(held for other, held in rare.items() if set(other) < set(chosen)))
        if left:
            slow[chosen] = len({persons[i] for i in left})
    names = {one.classes: one.persons for one in found.combinations}
    columns = ["c0", "c1", "c2", "c4"]
    assert names == {tuple(columns[c] for c in chosen): count for chosen, count in slow.items()}


test_risks_are_those_of_brute_force, test_risks_are_those_of_brute_force_often = properties(check_by_brute_force, 100)


def random_covers(rnd: Random, column: Column, rows: int) -> Column:
    """The column with ranges or sets for values."""
    leaves = len(column.hierarchy.leaf_nodes)
    is_range = rnd.random() < 0.5
    held: list[list[int]] = []
    for _ in range(rnd.randint(1, 4)):
        ranks = sorted(rnd.sample(range(leaves), rnd.randint(2, leaves)))
        held.append([ranks[0], ranks[-1]] if is_range else ranks)
    missing = [rnd.random() < 0.3 for _ in held]
    covers = Covers.of(column.hierarchy, held, missing, is_range=is_range)
    codes = np.array([rnd.randrange(len(covers)) for _ in range(rows)], np.int32)
    return Column(column.spec, column.hierarchy, codes, covers)


def stands_for(column: Column, code: int, *, somebody: bool = False) -> set[str | None]:
    """The values that a code may be, in texts."""
    if code < 0:
        return {None}
    texts = ranked_texts(column.hierarchy)
    if column.covers is not None:
        covers = column.covers
        listed = covers.members[covers.starts[code] : covers.starts[code + 1]].tolist()
        ranks = listed or range(covers.low[code], covers.high[code] + 1)
        return {*(texts[rank] for rank in ranks), *([None] if covers.missing[code] else [])}
    leaves: set[str | None] = {column.hierarchy.texts[leaf] for leaf in column.hierarchy.leaves(code).tolist()}
    return leaves | {None} if code == 0 and not somebody else leaves


def check_population(rnd: Random) -> None:
    columns, people = [], []
    here, there = rnd.randint(0, 8), rnd.randint(0, 12)
    for number in range(rnd.randint(1, 3)):
        hierarchy = rnd.choice([NUMBERS, WORDS])
        values = rnd.sample(hierarchy.texts, rnd.randint(1, 6))
        texts = [rnd.choice([*values, None]) for _ in range(here)]
        (column,) = Table.of_texts({f"c{number}": (texts, hierarchy)}).columns
        columns.append(random_covers(rnd, column, here) if rnd.random() < 0.4 else column)
        choice = [hierarchy.texts[leaf] for leaf in hierarchy.leaf_nodes.tolist()] * 3 + [*hierarchy.texts]
        theirs = [rnd.choice([*choice, None]) for _ in range(there)]
        people += Table.of_texts({f"c{number}": (theirs, hierarchy)}).columns
    found = population_counts(Table(tuple(columns)), Table(tuple(people)))
    slow = [
        sum(
            all(
                stands_for(other, int(other.codes[j]), somebody=True) <= stands_for(own, int(own.codes[i]))
                and not (own.covers and other.codes[j] >= 0 and not other.hierarchy.is_leaf(int(other.codes[j])))
                for own, other in zip(columns, people, strict=True)
            )
            for j in range(there)
        )
        for i in range(here)
    ]
    assert found.tolist() == slow


test_people_behind_rows, test_people_behind_rows_often = properties(check_population, 50)


def test_the_risks_of_a_sample_of_a_population() -> None:
    ages = Hierarchy.flat(["20", "30", "40"])
    table = Table.of_texts({"age": (["20", "20", "30", "40"], ages)})
    everybody = Table.of_texts({"age": (["20"] * 10 + ["30"] * 4, ages)})
    whole = risk_of_table(table, k=2, population=everybody).whole
    assert whole is not None
    # Nobody in the population is 40: the one in the table counts as the only one.
    assert (whole.prosecutor, whole.journalist, whole.population, whole.absent) == (1.0, 1.0, 14, 1)
    assert whole.marketer == pytest.approx((1 / 10 + 1 / 10 + 1 / 4 + 1) / 4)
    known = risk_of_table(table.take(np.arange(3)), k=2, population=everybody).whole
    assert known is not None and (known.journalist, known.absent) == (0.25, 0)


def test_without_a_population_no_journalist() -> None:
    found = risk(Table.of_texts({"age": (["20"] * 4, Hierarchy.flat(["20"]))}), k=2)
    assert found.whole is not None and (found.whole.journalist, found.whole.prosecutor) == (None, 0.25)


def test_a_released_table_singles_nobody_out() -> None:
    rnd = Random(1)
    hierarchy = Hierarchy.from_paths([[str(i), f"group {i // 5}", "*"] for i in range(20)])
    columns = {name: ([str(rnd.randrange(20)) for _ in range(200)], hierarchy) for name in "abc"}
    release = ta.anonymize(Table.of_texts(columns), k=4, algorithm="mondrian")
    found = risk_of_table(release.table, k=4, m=3)
    assert found.at(3).persons == 0 and found.whole is not None and found.whole.smallest >= 4


def test_larger_sets_without_time_are_left_out() -> None:
    rnd = Random(2)
    hierarchy = Hierarchy.flat([str(i) for i in range(4)])
    table = Table.of_texts({f"c{i}": ([str(rnd.randrange(4)) for _ in range(500)], hierarchy) for i in range(12)})
    found = risk_of_table(table, k=3, m=4, seconds=1e-6)
    assert (found.m, len(found.below_k), len(found.unique)) == (1, 1, 1)


def test_a_table_without_rows_and_one_without_quasi_columns() -> None:
    ages = Hierarchy.flat(["20"])
    nobody = risk_of_table(Table.of_texts({"age": ([], ages)}))
    assert (nobody.at(4).of, nobody.combinations) == (0, ())
    nothing = risk_of_table(Table.of_texts({"age": (["20"], ages)}, {"age": "sensitive"}))
    assert nothing.at(1).persons == 0 and nothing.whole is not None and nothing.whole.smallest == 1


def test_what_cannot_be_asked_of_tables() -> None:
    table = Table.of_texts({"age": (["20"], Hierarchy.flat(["20"]))})
    with pytest.raises(UsageError, match="no relations"):
        risk(table, n=1)
    with pytest.raises(UsageError, match="data must be a Forest"):
        risk([1])
    with pytest.raises(UsageError, match="at least"):
        risk(table, k=1)
    with pytest.raises(UsageError, match="same hierarchy"):
        risk(table, population=Table.of_texts({"age": (["20"], Hierarchy.flat(["20", "30"]))}))
