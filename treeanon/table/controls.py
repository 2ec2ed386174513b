"""Controls of columns on a table: what a release sets besides the schema, and the weights that searches count with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from treeanon.arrays import Floats
from treeanon.errors import UsageError
from treeanon.schema.controls import CONTROL_KEYS, is_control
from treeanon.table.table import Column, Table


def with_controls(table: Table, given: Mapping[str, Mapping[str, Any]]) -> Table:
    """Return the table whose columns have these controls beside those of their classes, over which they win.

    UsageError for what is no quasi column, and for levels that its hierarchy has not.

    >>> from treeanon.hierarchy import Hierarchy
    >>> table = Table.of_texts({"sex": (["f"], Hierarchy.flat(["f", "m"]))})
    >>> with_controls(table, {"sex": {"max_level": 0}}).columns[0].spec.controls.given
    ('max_level',)
    """
    names = [column.name for column in table.quasi]
    for name in given:
        if name not in names:
            raise UsageError(f"unknown quasi column {name!r}; choose from {', '.join(names)}")
    columns = tuple(_controlled(column, given.get(column.name, {})) for column in table.columns)
    return replace(table, columns=columns)


def _controlled(column: Column, given: Mapping[str, Any]) -> Column:
    if column.role != "quasi":
        return column
    controls = replace(column.spec.controls, **given)
    if wrong := controls.wrong_levels(column.hierarchy.height):
        raise UsageError(f"column {column.name!r}: {wrong}")
    return replace(column, spec=replace(column.spec, controls=controls)) if given else column


def controls_told(columns: Iterable[Column]) -> dict[str, dict[str, Any]]:
    """Return the controls of all columns that have any, as plain data."""
    return {column.name: column.spec.controls.as_dict() for column in columns if column.spec.controls.given}


def told_controls(told: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the controls that a solution file tells; UsageError for what is none."""
    found = told.get("controls", {})
    if not isinstance(found, dict) or not all(map(_are_controls, found.values())):
        raise UsageError("options: controls: must be an object of columns, with their keys as schemas have them")
    return found


def _are_controls(own: object) -> bool:
    return isinstance(own, dict) and all(key in CONTROL_KEYS and is_control(key, value) for key, value in own.items())


def column_weights(columns: Iterable[Column]) -> Floats:
    """Return the weights of columns, so that their mean is 1: a row that has lost everything has lost their number.

    Where no column weighs anything, all weigh the same.

    >>> from treeanon.hierarchy import Hierarchy
    >>> table = Table.of_texts({name: ([], Hierarchy.flat(["f"])) for name in "ab"})
    >>> column_weights(with_controls(table, {"a": {"weight": 3}}).quasi).tolist()
    [1.5, 0.5]
    """
    weights = np.array([column.spec.controls.weight for column in columns], np.float64)
    whole = weights.sum()
    return weights * (len(weights) / whole) if whole else np.ones(len(weights))


def weights_by_name(table: Table) -> dict[str, float] | None:
    """Return what each quasi column weighs in a mean; None where all weigh the same."""
    found = {column.name: float(column.spec.controls.weight) for column in table.quasi}
    return found if len(set(found.values())) > 1 else None
