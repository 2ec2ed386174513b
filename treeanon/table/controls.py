"""Controls of columns on a table: what a release sets besides the schema, and the weights that searches count with."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from treeanon.arrays import Floats, Ints
from treeanon.errors import GuaranteeError, UsageError
from treeanon.hierarchy.builders import full_height
from treeanon.schema.controls import CONTROL_KEYS, Controls, is_control, unfixed_levels
from treeanon.table.covers import level_maps
from treeanon.table.table import MISSING, Column, Table

_OPEN = re.compile(r"less than -?[\d.]+|-?[\d.]+ and more")


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
    source = column.spec.hierarchy
    if wrong := controls.wrong_levels(full_height(source, column.hierarchy)) or unfixed_levels(controls, source):
        raise UsageError(f"column {column.name!r}: {wrong}")
    return replace(column, spec=replace(column.spec, controls=controls)) if given else column


def raised(table: Table) -> Table:
    """Return the table with every value on the least level that its column allows; itself where all allow all.

    >>> from treeanon.hierarchy import Hierarchy
    >>> ages = Hierarchy.from_paths([["34", "30-39", "*"], ["41", "40-49", "*"]])
    >>> table = Table.of_texts({"age": (["34", "41", None], ages)})
    >>> list(raised(with_controls(table, {"age": {"min_level": 1}})).rows())
    [('30-39',), ('40-49',), (None,)]
    """
    codes = {}
    for column in table.quasi:
        if column.spec.controls.min_level:
            above = level_maps(column.hierarchy)[levels_of(column)[0]][_in_open_classes(column)[column.codes]]
            codes[column.name] = np.where(above == len(column.hierarchy), MISSING, above).astype(np.int32)
    return table.with_codes(codes) if codes else table


def _in_open_classes(column: Column) -> Ints:
    """Return what each node is at the least with a min_level: of a number directly below an open class the class.

    There is nothing between the two, so that by its depth alone the number would be on a higher level.
    """
    tree = column.hierarchy
    own = np.arange(len(tree) + 1, dtype=np.int32)
    if column.spec.type in ("integer", "number"):
        for code in np.flatnonzero(tree.parent == 0).tolist():
            if _OPEN.fullmatch(tree.texts[code]):
                inside = np.arange(code, int(tree.end[code]))
                own[inside[(tree.parent[inside] == code) & (tree.end[inside] == inside + 1)]] = code
    return own


def levels_of(column: Column) -> tuple[int, int]:
    """Return the least and the highest level that a column allows, as its hierarchy of these values counts them.

    >>> from treeanon.hierarchy.codes import Prefix
    >>> from treeanon.schema.model import ClassSpec
    >>> column = Column(ClassSpec("zip", hierarchy=Prefix((2, 1)), controls=Controls(min_level=2)),
    ...     Prefix((2, 1)).build(["12", "13"]), np.zeros(0, np.int32))
    >>> levels_of(column)
    (1, 2)
    """
    height, asked = column.hierarchy.height, column.spec.controls
    lacking = full_height(column.spec.hierarchy, column.hierarchy) - height
    highest = height if asked.max_level is None else max(asked.max_level - lacking, 0)
    return max(asked.min_level - lacking, 0), highest


def of_hierarchy(column: Column) -> Controls:
    """Return the controls of a column where its hierarchy is all that is known of its levels, not how it was built."""
    low, high = levels_of(column)
    asked = column.spec.controls
    return replace(asked, min_level=low, max_level=None if asked.max_level is None else high)


def as_known(table: Table) -> Table:
    """Return the table whose columns' hierarchies are known as they are, with all levels that the input has."""
    columns = (
        replace(column, spec=replace(column.spec, hierarchy=column.hierarchy, controls=of_hierarchy(column)))
        for column in table.columns
    )
    return replace(table, columns=tuple(columns))


def is_bounded(column: Column) -> bool:
    """Return whether a column may not become all that its hierarchy says."""
    return levels_of(column)[1] < column.hierarchy.height


def refuse_coarse(table: Table) -> None:
    """GuaranteeError for values of the input above the highest level that their column allows."""
    for column in table.quasi:
        if is_bounded(column):
            tree = column.hierarchy
            inner = tree.end > np.arange(len(tree)) + 1
            is_above = np.append(inner & (tree.depth < tree.height - levels_of(column)[1]), False)
            if rows := int(is_above[column.codes].sum()):
                raise GuaranteeError(
                    f"column {column.name!r}: {rows:,} row{'s' if rows > 1 else ''} already with a value above"
                    f" max_level {column.spec.controls.max_level}, which nothing can make finer"
                )


def allowed_levels(column: Column) -> Ints:
    """Return what the nodes of a column become at each level that it allows, as in `level_maps`."""
    low, high = levels_of(column)
    return level_maps(column.hierarchy)[low : high + 1]


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
