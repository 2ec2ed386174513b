"""A check of what was asked of single columns, from the published values alone."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from treeanon.arrays import Flags, Longs
from treeanon.hierarchy import Hierarchy
from treeanon.hierarchy.builders import full_height
from treeanon.table import Column, Table
from treeanon.table.covers import ranked_nodes
from treeanon.verifier.spans import is_open_end, over_span


def broken_controls(table: Table) -> Iterator[tuple[str, str, Flags]]:
    """Yield for each column and each thing asked of it what that is, the column, and which rows break it.

    >>> from treeanon.hierarchy import Hierarchy
    >>> from treeanon.table.controls import with_controls
    >>> ages = Hierarchy.from_paths([["34", "30-39", "*"], ["41", "40-49", "*"]])
    >>> table = with_controls(Table.of_texts({"age": (["34", "40-49", "*"], ages)}), {"age": {"max_level": 1}})
    >>> [(what, name, rows.tolist()) for what, name, rows in broken_controls(table)]
    [('max_level 1', 'age', [False, False, True])]
    """
    for column in table.quasi:
        asked = column.spec.controls
        if asked.min_level:
            values = np.array([_is_coarse(column, code, asked.min_level) for code in range(column.size)] + [False])
            # A missing value says that it is missing, but where nothing at all is to be said.
            values[-1] = asked.min_level < _height(column)
            yield f"min_level {asked.min_level}", column.name, ~values[column.places]
        if asked.max_level is not None:
            values = np.array([_is_fine(column, code, asked.max_level) for code in range(column.size)] + [True])
            yield f"max_level {asked.max_level}", column.name, ~values[column.places]
        if asked.style is not None:
            values = np.array([_is_styled(column, code, asked.style) for code in range(column.size)] + [True])
            yield f"style {asked.style}", column.name, ~values[column.places]
        if asked.max_span is not None:
            yield f"max_span {asked.max_span:g}", column.name, over_span(column, asked.max_span)


def _height(column: Column) -> int:
    """Return the last level of a column; a hierarchy that is built from a release may lack the lowest ones."""
    return full_height(column.spec.hierarchy, column.hierarchy)


def _leaves(column: Column, code: int) -> Longs:
    """Return the nodes of the leaves that a published range or set stands for."""
    covers = column.covers
    assert covers is not None
    own = covers.members[covers.starts[code] : covers.starts[code + 1]]
    ranks = own if len(own) else np.arange(covers.low[code], covers.high[code] + 1)
    return np.sort(ranked_nodes(column.hierarchy)[ranks]).astype(np.int64)


def _is_styled(column: Column, code: int, style: str) -> bool:
    """Return whether a published value is a single one, or of a style: a node, a range, or a list of values."""
    covers = column.covers
    if covers is None:
        return style == "hierarchy" or int(column.hierarchy.end[code]) == code + 1
    if covers.counts[code] + covers.missing[code] < 2:
        return True
    listed = int(covers.starts[code + 1] - covers.starts[code])
    if style == "sets":
        return listed > 0
    # Where the ends cannot be spelled as a range, all values between them are listed.
    return style == "ranges" and listed in (0, int(covers.high[code]) - int(covers.low[code]) + 1)


def _is_coarse(column: Column, code: int, level: int) -> bool:
    """Return whether a published value is on a level or above.

    A range or set names values, so all of these must be nearer to the root, even where all values below a node are
    named: who reads `34 … 37` learns more than from 30-39, if nobody is 38 or 39.
    """
    named = code if column.covers is None else _leaves(column, code)
    if any(_is_in_open_class(column, node) for node in np.atleast_1d(named).tolist()):
        return False
    return bool(np.all(column.hierarchy.depth[named] <= _height(column) - level))


def _is_open_class(column: Column, node: int) -> bool:
    """Return whether a node is a class of all numbers from one on, or below it: it is on every level but 0."""
    tree = column.hierarchy
    return node > 0 and int(tree.parent[node]) == 0 and is_open_end(column, tree.texts[node])


def _is_in_open_class(column: Column, node: int) -> bool:
    """Return whether a node is a number directly below an open class, such as 97 below `90 and more`: on level 0."""
    tree = column.hierarchy
    return node > 0 and int(tree.end[node]) == node + 1 and _is_open_class(column, int(tree.parent[node]))


def _is_fine(column: Column, code: int, level: int) -> bool:
    """Return whether all that a published value stands for lies below one node of a level, or is one value."""
    hierarchy, covers = column.hierarchy, column.covers
    if covers is None:
        if _is_in_open_class(column, code) or (level and _is_open_class(column, code)):
            return True
        # What is a leaf there need not be a value, if the hierarchy is built from a release.
        is_value = int(hierarchy.end[code]) == code + 1 and isinstance(column.spec.hierarchy, Hierarchy)
        return is_value or bool(hierarchy.depth[code] >= _height(column) - level)
    if covers.missing[code]:
        return level == _height(column)
    held = _leaves(column, code)
    if len(held) < 2:
        return True
    node, above = int(held[0]), _height(column) - level
    while hierarchy.depth[node] > above:
        node = int(hierarchy.parent[node])
    return bool(held[-1] < hierarchy.end[node])
