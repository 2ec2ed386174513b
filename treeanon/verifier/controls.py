"""A check of what was asked of single columns, from the published values alone.

Also a check of how much published values stand for, and of what groups lose, from the published values alone.

The span of a value is, for a column of integers or numbers, the distance of its ends, for others how many leaves of the
hierarchy it stands for; the loss of a group is its NCP. Both are computed here from the texts of the hierarchy, and
share nothing with the searches or with the metrics.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from treeanon.arrays import Flags, Longs, unique_values
from treeanon.hierarchy import Hierarchy, Intervals
from treeanon.hierarchy.builders import full_height
from treeanon.hierarchy.numbers import parse_number
from treeanon.table import Column, Table
from treeanon.table.controls import column_weights
from treeanon.table.covers import ranked_nodes

TINY = 1e-9
_BELOW, _ABOVE = re.compile(r"less than (-?[\d.]+)"), re.compile(r"(-?[\d.]+) and more")
_INTERVAL = re.compile(r"(-?\d+)-(-?\d+)|\[(-?[\d.]+), (-?[\d.]+)[)\]]")


@dataclass(frozen=True)
class GroupBound:
    """The greatest NCP that a group may have, and the form of NCP.

    `builders` are of the intervals of numbers, by column, where a table does not know how its hierarchies were built.
    """

    most: float
    form: Literal["taxonomy", "set", "free"] = "taxonomy"
    builders: Mapping[str, Intervals] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Return the bound in words."""
        return f"max_group_loss {self.most:g}"


def over_span(column: Column, most: float) -> Flags:
    """Return which rows have a published value that spans more.

    >>> from treeanon.hierarchy import Hierarchy
    >>> ages = Hierarchy.from_paths([["34", "30-39", "*"], ["41", "40-49", "*"]])
    >>> table = Table.of_texts({"age": (["34", "30-39", "*"], ages)})
    >>> over_span(table.columns[0], 1).tolist()
    [False, False, True]
    """
    spans = np.array([_span(column, code) for code in range(column.size)] + [0.0])
    return np.asarray(spans[column.places] > most + TINY, np.bool_)


def over_loss(table: Table, bound: GroupBound) -> Flags:
    """Return which rows are in a group that loses more: the mean of the NCP of all columns, by their weights.

    >>> from treeanon.hierarchy import Hierarchy
    >>> sexes = Hierarchy.flat(["f", "m"])
    >>> table = Table.of_texts({"a": (["f", "*"], sexes), "b": (["m", "f"], sexes)})
    >>> over_loss(table, GroupBound(0.5)).tolist(), over_loss(table, GroupBound(0.4)).tolist()
    ([False, False], [False, True])
    """
    losses = np.zeros(len(table))
    for column, weight in zip(table.quasi, column_weights(table.quasi), strict=True):
        used = unique_values(column.places)
        shares = np.zeros(column.size + 1)
        judge = _Loss(column, bound)
        for code in used[used < column.size].tolist():
            shares[code] = judge.of(code)
        losses += weight * shares[column.places]
    return np.asarray(losses > bound.most * len(table.quasi) + TINY, np.bool_)


def _leaves(column: Column, code: int) -> Longs:
    """Return the nodes of all leaves that a published value stands for."""
    covers, tree = column.covers, column.hierarchy
    if covers is None:
        inside = np.arange(code, int(tree.end[code]))
        found: Longs = inside[tree.end[inside] == inside + 1].astype(np.int64)
        return found
    own = covers.members[covers.starts[code] : covers.starts[code + 1]]
    ranks = own if len(own) else np.arange(covers.low[code], covers.high[code] + 1)
    return np.sort(ranked_nodes(tree)[ranks]).astype(np.int64)


def _numbers(column: Column, nodes: Longs) -> list[float] | None:
    """Return the numbers of nodes and the ends of those that are intervals; None where one is neither."""
    found = []
    for node in nodes.tolist():
        text = column.hierarchy.texts[node]
        number = parse_number(text, False)
        ends = _ends(text)
        if number is None and ends is None:
            return None
        found += [float(number)] if number is not None else list(ends or ())
    return found


def _ends(text: str) -> tuple[float, float] | None:
    """Return the ends of an interval of numbers, one infinite for an open class; None for another text."""
    for pattern, is_below in ((_BELOW, True), (_ABOVE, False)):
        if match := pattern.fullmatch(text):
            return (-math.inf, float(match[1])) if is_below else (float(match[1]), math.inf)
    match = _INTERVAL.fullmatch(text)
    if match is None:
        return None
    low, high = (part for part in match.groups() if part is not None)
    return float(low), float(high)


def is_open_end(column: Column, text: str) -> bool:
    """Return whether a text says all numbers from one on, or all below one, of a column of numbers."""
    return _is_numeric(column) and bool(_BELOW.fullmatch(text) or _ABOVE.fullmatch(text))


def _is_numeric(column: Column) -> bool:
    return column.spec.type in ("integer", "number")


def _are_numbers(column: Column) -> bool:
    """Return whether a column is of numbers, and all leaves of its hierarchy are."""
    texts = (column.hierarchy.texts[leaf] for leaf in column.hierarchy.leaf_nodes.tolist())
    return _is_numeric(column) and all(parse_number(text, False) is not None for text in texts)


def _span(column: Column, code: int) -> float:
    """Return what one published value spans; infinite if it may also be missing, or has ends that are no numbers."""
    covers, tree = column.covers, column.hierarchy
    if covers is not None and covers.missing[code]:
        return float("inf")
    leaves = _leaves(column, code)
    count = float(len(leaves)) if len(leaves) > 1 else 0.0
    if not _is_numeric(column):
        return count
    if covers is None:
        found = _numbers(column, leaves) if len(leaves) > 1 else _numbers(column, leaves) or [0.0]
        if found is None:
            return float("inf")
        inner = np.arange(code, int(tree.end[code]))
        for node in inner[tree.end[inner] > inner + 1].tolist():
            found += _ends(tree.texts[node]) or ()
        return max(found) - min(found)
    if not _are_numbers(column):
        return count
    found = _numbers(column, leaves)
    return max(found) - min(found) if found else 0.0


class _Loss:
    """The NCP of the published values of a column."""

    def __init__(self, column: Column, bound: GroupBound) -> None:
        self.column = column
        tree, own = column.hierarchy, column.spec.hierarchy
        built = own if isinstance(own, Intervals) else bound.builders.get(column.name)
        self.leaves = int((tree.end == np.arange(len(tree)) + 1).sum())
        self.intervals = built if isinstance(built, Intervals) else None
        self.by_value = bound.form == "free" and _are_numbers(column)
        # FREE's own form counts numbers by their values, and all else as sets.
        self.form = "set" if bound.form == "free" and not self.by_value else bound.form
        self.whole: tuple[float, float] | None = None
        if self.form != "set" and _is_numeric(column):
            self.whole = self._range()

    def _range(self) -> tuple[float, float] | None:
        """Return the least and the greatest number of the column; None where not all values are numbers."""
        tree, built = self.column.hierarchy, self.intervals
        ends: list[float] = []
        if built is not None and self.column.covers is None:
            # Nodes go by the intervals of the builder, whatever else there is.
            for text in tree.texts[1:]:
                number = parse_number(text, False)
                ends += [float(number)] if number is not None else list(_ends(text) or ())
        else:
            found = _numbers(self.column, tree.leaf_nodes.astype(np.int64))
            if found is None:
                return None
            ends = found
        ends = [end for end in ends if math.isfinite(end)]
        if not ends:
            return None
        low = min(ends) if built is None or built.min is None else float(built.min)
        high = max(ends) if built is None or built.max is None else float(built.max)
        return low, high

    def of(self, code: int) -> float:
        """Return the NCP of a published value, from 0 to 1."""
        covers, tree = self.column.covers, self.column.hierarchy
        if covers is not None and covers.missing[code]:
            return 1.0
        held = _leaves(self.column, code)
        if self.form == "set":
            return (len(held) - 1) / max(self.leaves - 1, 1)
        if covers is None and self.intervals is not None and _is_numeric(self.column):
            return self._of_interval(code)
        if (covers is not None or self.by_value) and self.whole is not None:
            found = _numbers(self.column, held)
            low, high = self.whole
            return (max(found) - min(found)) / (high - low) if found and low < high else 0.0
        if len(held) < 2:
            return 0.0
        node = int(held[0])
        while held[-1] >= tree.end[node]:
            node = int(tree.parent[node])
        if covers is None:
            node = code
        inside = np.arange(node, int(tree.end[node]))
        return float((tree.end[inside] == inside + 1).sum()) / self.leaves

    def _of_interval(self, code: int) -> float:
        ends = _ends(self.column.hierarchy.texts[code])
        if self.whole is None or self.whole[0] >= self.whole[1]:
            return 0.0
        if code == 0:
            return 1.0
        low, high = self.whole
        return 0.0 if ends is None else (min(ends[1], high) - max(ends[0], low)) / (high - low)


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


def _covered_leaves(column: Column, code: int) -> Longs:
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
    named = code if column.covers is None else _covered_leaves(column, code)
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
    held = _covered_leaves(column, code)
    if len(held) < 2:
        return True
    node, above = int(held[0]), _height(column) - level
    while hierarchy.depth[node] > above:
        node = int(hierarchy.parent[node])
    return bool(held[-1] < hierarchy.end[node])
