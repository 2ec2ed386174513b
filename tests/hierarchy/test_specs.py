from __future__ import annotations

import pytest

from treeanon.errors import HierarchyError
from treeanon.hierarchy import Dates, Flat, Groups, Intervals, Prefix, parse_builder


@pytest.mark.parametrize(
    ("spec", "value_type", "builder"),
    [
        ({"intervals": [5, 10], "min": 0, "max": 120}, "integer", Intervals((5, 10), 0, 120, True)),
        ({"intervals": [0.5]}, "number", Intervals((0.5,), integer=False)),
        ({"dates": ["month", "year"]}, "date", Dates(("month", "year"))),
        ({"prefix": [3, 2]}, "text", Prefix((3, 2))),
        ({"groups": 5}, "text", Groups(5)),
        ({"groups": 5}, "number", Groups(5, numeric=True)),
        ({"flat": True}, "date", Flat()),
    ],
)
def test_specs_make_builders(spec, value_type, builder):
    assert parse_builder(spec, value_type) == (builder, [])


@pytest.mark.parametrize(
    ("spec", "value_type", "keys"),
    [
        ({}, "text", [""]),
        ({"interval": [5]}, "integer", ["interval", ""]),
        ({"groups": 5, "flat": True}, "text", ["groups, flat"]),
        ({"groups": True}, "text", ["groups"]),
        ({"groups": 1}, "text", ["groups"]),
        ({"groups": 5, "min": 0}, "text", ["min"]),
        ({"flat": False}, "text", ["flat"]),
        ({"dates": ["month", "year"]}, "text", ["dates"]),
        ({"dates": ["year", "month"]}, "text", ["dates", "dates"]),
        ({"dates": ["fortnight"]}, "date", ["dates"]),
        ({"dates": [[]]}, "date", ["dates"]),
        ({"dates": "year"}, "date", ["dates"]),
        ({"prefix": []}, "text", ["prefix"]),
        ({"prefix": [2, 3]}, "text", ["prefix"]),
        ({"prefix": [True]}, "text", ["prefix"]),
        ({"prefix": [0]}, "text", ["prefix"]),
        (
            {"intervals": [5, 12], "min": True, "max": "x", "step": 1},
            "text",
            ["step", *["intervals"] * 2, "min", "max"],
        ),
        ({"intervals": [10, 5]}, "integer", ["intervals"]),
        ({"intervals": [0]}, "integer", ["intervals"]),
        ({"intervals": [2.5]}, "integer", ["intervals"]),
        ({"intervals": 5}, "integer", ["intervals"]),
        ({"intervals": [float("inf")]}, "number", ["intervals"]),
        ({"intervals": [5], "min": float("nan")}, "number", ["min"]),
        ({"intervals": [5], "min": 5, "max": 1}, "integer", ["max"]),
    ],
)
def test_all_problems_of_a_spec_are_told(spec, value_type, keys):
    builder, problems = parse_builder(spec, value_type)
    assert builder is None
    assert [key for key, _ in problems] == keys
    assert all(message for _, message in problems)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Intervals(()),
        lambda: Intervals((5,), min=3, max=1),
        lambda: Dates(("fortnight",)),
        lambda: Prefix((1, 2)),
        lambda: Groups(1),
    ],
)
def test_builders_that_cannot_be_are_refused(make):
    with pytest.raises(HierarchyError):
        make()
