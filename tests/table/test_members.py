"""Sensitive columns of sets: a person holds every member, in the searches, in the check and in the risk."""

from __future__ import annotations

import json
from collections import Counter
from random import Random

import pytest

import treeanon as ta
from tests.support.strategies import properties
from treeanon.errors import GuaranteeError, UsageError
from treeanon.hierarchy import Hierarchy
from treeanon.table import Table
from treeanon.table.reductions import members_of

AGES = Hierarchy.from_paths([[str(age), f"{age // 10}0-{age // 10}9", "*"] for age in range(20, 60)])
TOWNS = Hierarchy.from_paths([[town, town[0], "*"] for town in ("aa", "ab", "ba", "bb")])
SEARCHES = ("optimal", "samarati", "incognito", "datafly", "mondrian", "topdown", "local", "suppress-columns")


def table_of(rnd: Random, rows: int) -> Table:
    """Persons with one or two illnesses each, some with none."""
    sets = [json.dumps(sorted(rnd.sample("pqrstu", rnd.choice([1, 1, 2]))), separators=(",", ":")) for _ in range(rows)]
    columns = {
        "age": ([str(rnd.randrange(20, 60)) for _ in range(rows)], AGES),
        "town": ([rnd.choice(["aa", "ab", "ba", "bb"]) for _ in range(rows)], TOWNS),
        "ill": ([None if rnd.random() < 0.1 else one for one in sets], Hierarchy.flat(sorted(set(sets)))),
    }
    return Table.of_texts(columns, {"ill": "sensitive"})


def largest_l(table: Table) -> int:
    """The largest l by frequency of members over all groups of rows, where a missing set is a value of its own."""
    groups: dict[tuple[str | None, ...], list[list[str]]] = {}
    for *known, ill in table.rows():
        groups.setdefault(tuple(known), []).append(["missing"] if ill is None else json.loads(ill))
    return min(len(group) // max(Counter(v for one in group for v in one).values()) for group in groups.values())


def check_searches(rnd: Random) -> None:
    table, name = table_of(rnd, rnd.randint(20, 60)), rnd.choice(SEARCHES)
    try:
        release = ta.anonymize(table, k=2, l=2, diversity="frequency", algorithm=name)
    except GuaranteeError as problem:
        assert "report" not in str(problem)
        return
    assert largest_l(release.table) >= 2
    assert ta.verify(release.table, k=2, l=2, diversity="frequency").holds


test_searches_count_members, test_searches_count_members_many = properties(check_searches, few=40)


def check_verdicts(rnd: Random) -> None:
    table = table_of(rnd, rnd.randint(3, 12))
    own = Table(tuple(column for column in table.columns if column.name != "age"))
    largest = largest_l(own)
    assert ta.risk(own, k=2).largest_l == {"ill": largest}
    for least in range(2, 8):
        assert ta.verify(own, k=1, l=least, diversity="frequency").holds == (least <= largest)


test_verdicts_count_members, test_verdicts_count_members_many = properties(check_verdicts, few=40)


def test_thirty_persons_with_hiv() -> None:
    """Each has HIV and two other illnesses: the sets differ, and everybody has HIV."""
    sets = ['["Flu","Gout","HIV"]', '["Acne","Flu","HIV"]', '["Acne","Gout","HIV"]']
    columns = {"town": (["aa"] * 30, TOWNS), "ill": ([sets[i % 3] for i in range(30)], Hierarchy.flat(sets))}
    table = Table.of_texts(columns, {"ill": "sensitive"})
    found = members_of(table.columns[1])
    assert found is not None and Counter(found.column.texts()) == {"HIV": 30, "Flu": 20, "Gout": 20, "Acne": 20}
    assert not ta.verify(table, k=5, l=2, diversity="frequency").holds
    with pytest.raises(UsageError, match="holds sets"):
        ta.verify(table, k=5, l=3)
    for name in ("optimal", "mondrian", "local"):
        with pytest.raises(GuaranteeError):
            ta.anonymize(table, k=5, l=3, diversity="frequency", algorithm=name)
    some = ['["Flu"]', '["Gout"]'] * 4
    table = Table.of_texts({"town": (["aa"] * 8, TOWNS), "ill": (some, Hierarchy.flat(some[:2]))}, {"ill": "sensitive"})
    with pytest.raises(UsageError, match="sets"):
        ta.anonymize(table, l=2, diversity="frequency", publish="permuted")


def test_the_reduction_to_sets_is_counted_by_members() -> None:
    text = 'version = 1\n[input]\nformat = "trees"\n[[class]]\nname = "town"\n'
    text += '[[class]]\nname = "ill"\nrole = "sensitive"\n'
    records = [[["town", "a", []], ["ill", "HIV", []], ["ill", other, []]] for other in "pqrs"]
    table = ta.Forest.from_records(ta.Schema.loads(text), records).flatten({"ill": "set"})
    assert largest_l(table) == 1
    assert ta.verify(table, k=4, alpha=0.5).holds is False and ta.verify(table, k=4, alpha=1).holds


@pytest.mark.parametrize("texts", [["Flu", '["HIV"]'], ["[1]", "[2]"], ['["HIV"', '["Flu"]'], []])
def test_other_columns_have_no_members(texts: list[str]) -> None:
    column = Table.of_texts({"ill": (texts, Hierarchy.flat(texts))}).columns[0]
    assert members_of(column) is None
