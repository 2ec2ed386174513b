"""What may be said of single columns: keys of a schema, settings of a release."""

from __future__ import annotations

from typing import Any

import pytest

from treeanon.errors import SchemaError, UsageError
from treeanon.schema import Schema
from treeanon.schema.controls import Controls, controls_of
from treeanon.schema.dump import dump_schema

HEAD = 'version = 1\n[input]\nformat = "csv"\n[[class]]\nname = "age"\npath = "age"\n'


def test_keys_are_read_and_written_again() -> None:
    text = HEAD + "hierarchy = { prefix = [3, 2, 1] }\n"
    text += 'weight = 2.5\nmin_level = 1\nmax_level = 3\nmax_span = 10\nstyle = "ranges"\n'
    schema = Schema.loads(text)
    assert schema.classes[0].controls == Controls(2.5, 1, 3, 10, "ranges")
    assert Schema.loads(dump_schema(schema)).classes == schema.classes
    assert "weight" not in dump_schema(Schema.loads(HEAD))


def test_all_problems_are_told_at_once() -> None:
    text = HEAD + 'weight = -1\nmin_level = true\nmax_level = 1.5\nmax_span = 0\nstyle = "secret"\n'
    with pytest.raises(SchemaError) as refused:
        Schema.loads(text)
    assert [str(problem).partition("'age': ")[2] for problem in refused.value.problems] == [
        "weight: must be a number from 0",
        "min_level: must be a whole number from 0",
        "max_level: must be a whole number from 0",
        "max_span: must be a number above 0",
        "style: must be one of ranges, sets, hierarchy",
    ]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ('role = "sensitive"\nweight = 2', "weight: is not for role sensitive, which is not generalized"),
        ("min_level = 3\nmax_level = 2", "min_level: 3 is above max_level 2"),
    ],
)
def test_what_contradicts_is_refused(more: str, message: str) -> None:
    with pytest.raises(SchemaError) as refused:
        Schema.loads(HEAD + more + "\n")
    assert message in str(refused.value)


def test_levels_above_a_hierarchy_file_are_refused(tmp_path: Any) -> None:
    (tmp_path / "h.csv").write_text("34;30-39;*\n")
    with pytest.raises(SchemaError) as refused:
        Schema.loads(HEAD + 'hierarchy = "h.csv"\nmax_level = 3\n', folder=tmp_path)
    assert "max_level: 3 is above the last level of its hierarchy: 2" in str(refused.value)


def test_settings_of_a_release_become_keys() -> None:
    found = controls_of({"weights": {"age": 2}, "levels": {"age": (1, None), "zip": 2, "sex": "..1"}})
    assert found == {
        "age": {"weight": 2, "min_level": 1},
        "zip": {"min_level": 2, "max_level": 2},
        "sex": {"max_level": 1},
    }


@pytest.mark.parametrize(
    "given",
    [
        {"weights": {"age": -1}},
        {"weights": {"age": "x"}},
        {"weights": 3},
        {"levels": {"age": "3..1"}},
        {"levels": {"age": ".."}},
        {"levels": {"age": (1, 2, 3)}},
        {"levels": {"age": -1}},
        {"levels": {"age": True}},
    ],
)
def test_settings_that_mean_nothing_are_refused(given: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="must be"):
        controls_of(given)
