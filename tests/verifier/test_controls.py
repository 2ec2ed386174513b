"""The check of levels, from the published values alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from treeanon.algorithms.table.registry import Style
from treeanon.algorithms.table.result import recoded_groups
from treeanon.hierarchy import Hierarchy
from treeanon.privacy.models import KAnonymity
from treeanon.table import Table
from treeanon.table.controls import with_controls
from treeanon.verifier.table import verify_table

AGES = Hierarchy.from_paths([["31", "30-39", "*"], ["34", "30-39", "*"], ["41", "40-49", "*"], ["90+", "*"]])


def failing(texts: Sequence[str | None], **controls: Any) -> list[tuple[str, int]]:
    """Return what fails, in how many rows."""
    table = with_controls(Table.of_texts({"age": (texts, AGES)}), {"age": controls})
    return [(one.model, one.persons) for one in verify_table(table, [KAnonymity(1)]).checked if not one.holds]


@pytest.mark.parametrize(
    ("texts", "controls", "expected"),
    [
        (["34", "30-39"], {"min_level": 1}, [("min_level 1", 1)]),
        # A value nearer to the root than the level is on it.
        (["90+", "30-39", None], {"min_level": 1}, []),
        (["*", None], {"min_level": 2}, [("min_level 2", 1)]),
        (["34", "30-39", "90+", None], {"max_level": 1}, []),
        (["34", "30-39", "*"], {"max_level": 0}, [("max_level 0", 2)]),
        (["34", "40-49", "*"], {"min_level": 1, "max_level": 1}, [("min_level 1", 1), ("max_level 1", 1)]),
    ],
)
def test_nodes(texts: Sequence[str | None], controls: dict[str, int], expected: list[tuple[str, int]]) -> None:
    assert failing(texts, **controls) == expected


@pytest.mark.parametrize("style", ["ranges", "sets"])
def test_ranges_and_sets(style: Style) -> None:
    table = Table.of_texts({"age": (["31", "34", "34", "41", None, "41"], AGES)})
    released = recoded_groups(table, np.array([0, 0, 1, 1, 2, 2]), style)
    for controls, rows in (({"max_level": 1}, 4), ({"max_level": 2}, 0), ({"min_level": 1}, 6)):
        checked = verify_table(with_controls(released, {"age": controls}), [KAnonymity(1)]).checked[1:]
        assert [one.persons for one in checked] == [rows], (style, controls)


@pytest.mark.parametrize(
    ("style", "failing"),
    [
        # A range, a single value, and one that may be missing, which is a list of one in either style.
        ("ranges", {"ranges": 0, "sets": 2, "hierarchy": 4}),
        ("sets", {"ranges": 2, "sets": 0, "hierarchy": 4}),
        ("hierarchy", {"ranges": 4, "sets": 4, "hierarchy": 0}),
    ],
)
def test_styles(style: Style, failing: dict[str, int]) -> None:
    table = Table.of_texts({"age": (["31", "41", "34", "34", None, "41"], AGES)})
    released = recoded_groups(table, np.array([0, 0, 1, 1, 2, 2]), style)
    for asked, rows in failing.items():
        checked = verify_table(with_controls(released, {"age": {"style": asked}}), [KAnonymity(1)]).checked[1:]
        assert [(one.model, one.persons) for one in checked] == [(f"style {asked}", rows)]
