"""Settings of single columns on their way from a schema or a request to a search, and what refuses them."""

from __future__ import annotations

from typing import Any

import pytest

import treeanon as ta
from treeanon.algorithms.table.registry import TABLE_ALGORITHMS
from treeanon.errors import UsageError
from treeanon.schema.controls import CONTROL_KEYS

SCHEMA = """version = 1
[input]
format = "csv"
[[class]]
name = "age"
path = "age"
hierarchy = { prefix = [1] }
[[class]]
name = "zip"
path = "zip"
hierarchy = { prefix = [2, 1] }
"""
PEOPLE = [
    {"age": age, "zip": code} for age, code in zip(["31", "32", "41", "42"], ["111", "121", "112", "122"], strict=True)
]
ONE = {"weight": 2, "min_level": 1, "max_level": 1, "max_span": 10, "style": "sets", "microaggregate": "mean"}


@pytest.mark.parametrize("name", list(TABLE_ALGORITHMS))
def test_what_a_search_does_not_honor_it_refuses_by_name(name: str) -> None:
    more = {"max_loss": 0.5} if name == "onedim-dual" else {}
    for key in CONTROL_KEYS:
        if key in TABLE_ALGORITHMS[name].honors:
            continue
        value = repr(ONE[key]).replace("'", '"')
        # Means are of numbers alone.
        kind = 'type = "integer"\n' if key == "microaggregate" else ""
        schema = SCHEMA.replace("prefix = [1] }", f"prefix = [1] }}\n{kind}{key} = {value}")
        with pytest.raises(UsageError, match=f"algorithm '{name}' does not honor {key} \\(class 'age'\\)"):
            ta.anonymize(PEOPLE, schema=schema, k=2, algorithm=name, **more)


def test_what_is_asked_wins_over_the_schema() -> None:
    schema = SCHEMA.replace("prefix = [1] }", "prefix = [1] }\nweight = 9")
    by_schema, by_request = (
        ta.anonymize(PEOPLE, schema=schema, k=2, algorithm="optimal", **more) for more in ({}, {"weights": {"zip": 99}})
    )
    assert sorted(row["age"] for row in by_schema) == ["3*", "3*", "4*", "4*"]
    assert {row["zip"] for row in by_request} == {"11*", "12*"}


@pytest.mark.parametrize("algorithm", ["maximal", "gcs"])
def test_searches_of_trees_refuse_what_only_tables_have(algorithm: str) -> None:
    schema = ta.Schema.loads(
        SCHEMA.replace('"csv"', '"ndjson"').replace("prefix = [1] }", "prefix = [1] }\nmax_level = 1")
    )
    with pytest.raises(UsageError, match=f"algorithm '{algorithm}' does not honor max_level"):
        ta.anonymize(PEOPLE, schema=schema, k=2, m=1, algorithm=algorithm)


def test_a_weight_of_the_schema_counts_in_trees() -> None:
    schema = SCHEMA.replace('"csv"', '"ndjson"').replace("prefix = [1] }", "prefix = [1] }\nweight = 3")
    forest = ta.Forest.from_records(ta.Schema.loads(schema), [[["age", "31", []], ["zip", "111", []]]] * 3)
    release = ta.anonymize(forest, k=2, weights={"zip": 2})
    assert release.solution.options["weights"] == {"age": 3, "zip": 2}


NUMBERS = [{"age": age, "town": town} for age, town in zip(("31", "34", "47", "49") * 2, "abcdbadc", strict=True)]
NUMBERED = """version = 1
[input]
format = "csv"
[[class]]
name = "age"
path = "age"
type = "integer"
hierarchy = { intervals = [10] }
[[class]]
name = "town"
path = "town"
style = "ranges"
hierarchy = { groups = 2 }
"""


def kinds(rows: Any, name: str) -> set[str]:
    """The styles of the values of a column that are no single ones."""
    signs = {"[": "sets", "…": "ranges", "-": "hierarchy", "*": "hierarchy"}
    return {style for row in rows for sign, style in signs.items() if sign in str(row[name])}


@pytest.mark.parametrize("name", [name for name, one in TABLE_ALGORITHMS.items() if "style" in one.honors])
def test_each_column_has_its_style(name: str) -> None:
    more: dict[str, Any] = {"max_loss": 1.0} if name == "onedim-dual" else {}
    more |= {"parameters": {"seconds": 0.1}} if name in ("freeform", "freeform-optimal") else {}
    if name == "onedim-l":
        return
    for style in ("sets", "hierarchy"):
        release = ta.anonymize(NUMBERS, schema=NUMBERED, k=4, algorithm=name, styles={"age": style}, **more)
        assert kinds(release, "age") <= {style} and kinds(release, "town") <= {"ranges"}
        assert "…" in "".join(str(row["town"]) for row in release)


def test_a_style_of_single_values_is_refused_where_there_are_general_ones() -> None:
    with pytest.raises(UsageError, match="column 'age': style sets is for single values, and it has general ones"):
        ta.anonymize(NUMBERS, schema=NUMBERED, k=2, algorithm="mondrian", styles={"age": "sets"}, levels={"age": "1.."})


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"levels": {"salary": 1}}, "unknown quasi column 'salary'"),
        ({"weights": {"salary": 1}}, "unknown quasi column 'salary'"),
        ({"styles": {"age": "nice"}}, "styles: 'age': must be one of ranges, sets, hierarchy"),
        ({"levels": {"age": "x"}}, "levels: 'age': must be levels such as"),
    ],
)
def test_wrong_settings(asked: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        ta.anonymize(PEOPLE, schema=SCHEMA, k=2, algorithm="optimal", **asked)
