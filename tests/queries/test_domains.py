"""What single published values may stand for, by the builders of hierarchies."""

from __future__ import annotations

from typing import Any

import pytest

import treeanon as ta
from treeanon.errors import UsageError
from treeanon.hierarchy import Hierarchy
from treeanon.hierarchy.builders import parse_builder
from treeanon.queries.domains import domain_of
from treeanon.queries.grammar import conditions, parse
from treeanon.schema.model import ClassSpec


def possible(kind: str, builder: dict[str, object], query: str, text: str | None) -> set[int]:
    """The readings of a published value of a class c, by the conditions of a query as bits."""
    found, problems = parse_builder(builder, kind)
    assert found is not None, problems
    spec = ClassSpec("c", type=kind, hierarchy=found)  # type: ignore[arg-type]
    return set(domain_of(spec, list(conditions(parse(query))), Hierarchy.flat([]), ["*", text or "*"]).readings(text))


NUMBERS: dict[str, object] = {"intervals": [5, 10], "min_open": 20, "max_open": 90}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("90 and more", {1, 0}),
        ("less than 20", {0}),
        ("20-24", {0}),
        ("95", {0}),
        ("97", {1}),
        ("*", {0, 1}),
        (None, {0}),
        ("24 … 97", {0, 1}),
        ('["24","97"]', {0, 1}),
        ('["24",null]', {0}),
    ],
)
def test_numbers_with_open_classes(text: str | None, expected: set[int]) -> None:
    assert possible("integer", NUMBERS, "c > 95", text) == expected


@pytest.mark.parametrize(
    ("text", "query", "expected"),
    [
        ("[0, 5)", "c = 5", {0}),
        ("[0, 5)", "c < 5", {1}),
        ("[0, 5)", "c <= 0", {0, 1}),
        ("[5, 10]", "c > 10", {0}),
        ("2.50", "c = 2.5", {1}),
        ("2.5", "c 2-3", {1}),
    ],
)
def test_ends_of_intervals_count_where_they_belong(text: str, query: str, expected: set[int]) -> None:
    assert possible("number", {"intervals": [5], "min": 0, "max": 10}, query, text) == expected


@pytest.mark.parametrize(
    ("text", "query", "expected"),
    [
        ("10…20", "c > 20", {0}),
        ("10…20 (2)", "c >= 10", {1}),
        ("10…20", "c = 15", {0, 1}),
    ],
)
def test_groups_of_numbers(text: str, query: str, expected: set[int]) -> None:
    assert possible("integer", {"groups": 2}, query, text) == expected


@pytest.mark.parametrize(
    ("builder", "text", "query", "expected"),
    [
        # A group of texts may hold anything, but is itself.
        ({"groups": 2}, "a…b", "c = ant", {0, 1}),
        ({"groups": 2}, "a…b", "c = 'a…b'", {1}),
        ({"groups": 2}, "ant", "c = bee", {0}),
        ({"flat": True}, "a … c", "c = b", {0, 1}),
        ({"prefix": [2]}, "12*", "c = 1234", {0, 1}),
        ({"prefix": [2]}, "12*", "c = 1334", {0}),
        ({"prefix": [2, 1]}, "12*", "c = 1*", {1}),
        ({"prefix": [2, 1]}, "12*", "c in (1*, 3)", {1}),
        ({"icd10": True}, "A00", "c = A00.1", {0, 1}),
        ({"icd10": True}, "A00.1", "c = A00", {1}),
        ({"icd10": True}, "B00", "c = A00.1", {0}),
    ],
)
def test_values_of_open_hierarchies(builder: dict[str, object], text: str, query: str, expected: set[int]) -> None:
    assert possible("text", builder, query, text) == expected


def test_dates_in_weeks_reach_over_the_ends_of_months() -> None:
    weeks: dict[str, object] = {"dates": ["week", "month"]}
    # The week of the last of December has its Thursday in January.
    assert possible("date", weeks, "c < 2019-01-01", "2019-01") == {0, 1}
    assert possible("date", {"dates": ["month"]}, "c < 2019-01-01", "2019-01") == {0}
    assert possible("date", weeks, "c < 2019-01-01", "2019-W01") == {0, 1}
    assert possible("date", weeks, "c >= 2018-12-31", "2019-W01") == {1}


def test_pseudonyms_are_refused() -> None:
    schema = (
        'version = 1\n[input]\nformat = "csv"\n[[class]]\nname = "id"\npath = "id"\nrole = "identifier"\n'
        'pseudonym = true\n[[class]]\nname = "sex"\npath = "sex"\n'
    )
    rows: list[dict[str, Any]] = [{"id": "x", "sex": "f"}]
    with pytest.raises(UsageError, match="character 13: id is published as pseudonyms"):
        ta.query(rows, "sex = f and id = x", schema=schema)
    assert ta.query(rows, "sex = f", schema=schema).least == 1
