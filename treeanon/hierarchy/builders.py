"""Builders of hierarchies by their names in a schema; here flat ones, prefixes of texts, and groups of neighbors.

How high the hierarchies of a builder are is known before it sees any value.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from functools import cache
from pathlib import Path
from typing import Protocol, cast

import numpy as np

from treeanon.builders import BUILDERS, LEAVES
from treeanon.errors import HierarchyError
from treeanon.hierarchy.codes import Atc, Prefix, parse_atc, parse_icd10, parse_prefix
from treeanon.hierarchy.dates import Ages, Dates, parse_ages, parse_dates
from treeanon.hierarchy.intervals import Intervals, parse_intervals
from treeanon.hierarchy.levels import LevelBuilder, Levels
from treeanon.hierarchy.links import ROOT, Ids, Nodes
from treeanon.hierarchy.model import Hierarchy
from treeanon.hierarchy.numbers import DECIMAL
from treeanon.hierarchy.terminology import parse_terminology, with_names

_RANGE = re.compile(rf"({DECIMAL})(?:…({DECIMAL})(?: \([0-9]+\))?)?")

Problems = list[tuple[str, str]]
Labeler = Callable[[int, int], str]
"""The label of the leaves from a first to a last, both by their place in the order."""


@dataclass(frozen=True)
class Groups:
    """Builder: values in order, `fanout` neighbors to a group, groups in groups, up to `*`.

    Groups depend on which values there are: a label that is read again is a value like the others.

    >>> Groups(2).build(["ant", "bee", "cat", "cow"]).texts
    ('*', 'a…b', 'ant', 'bee', 'c…c', 'cat', 'cow')
    """

    fanout: int
    numeric: bool = False

    def __post_init__(self) -> None:
        if _fanout_problem(self.fanout):
            raise HierarchyError(f"groups: {_fanout_problem(self.fanout)}")

    def build(self, values: Iterable[str]) -> Hierarchy:
        """Return the hierarchy of the values; the labels show no more of the values than distinguishes groups.

        >>> Groups(2, numeric=True).build(["1204", "15", "17", "980"]).texts
        ('*', '10…20', '15', '17', '900…2000', '980', '1204')
        """
        leaves = sorted(set(values) - {"", ROOT})
        label: Labeler = _TextLabels(leaves)
        if self.numeric and (bounds := _all_bounds(leaves)) is not None:
            # the float is only a fast first comparison: exact numbers decide where floats are equal
            order = sorted(range(len(leaves)), key=lambda at: (float(bounds[at][0]), *bounds[at], leaves[at]))
            leaves = [leaves[at] for at in order]
            label = _NumberLabels([bounds[at] for at in order])
        layers = _layers(len(leaves), self.fanout)
        texts = _unique_labels(leaves, [layer.spans() for layer in layers], label)
        nodes = Nodes()
        ids = np.zeros(1, dtype=np.intp)
        for layer, labels in reversed([*zip(layers, texts, strict=True)]):
            firsts = np.arange(len(labels)) * layer.size
            up = _spread(ids, layer.count, self.fanout)
            # a single one left over forms no group: its members are placed where the group would be
            ids = np.append(nodes.add(labels, firsts, up[: len(labels)]), up[len(labels) :])
        nodes.add(leaves, np.arange(len(leaves)), _spread(ids, len(leaves), self.fanout))
        return Hierarchy(*nodes.tree())


def _spread(ids: Ids, count: int, fanout: int) -> Ids:
    """Return the parents of so many nodes: each id for as many as its group has, the root's for all."""
    return np.repeat(ids, count if len(ids) == 1 else fanout)[:count]


@dataclass(frozen=True)
class _Layer:
    """Groups of `size` leaves, of which there are `leaves`; the last may be smaller, and may be one node only."""

    leaves: int
    size: int
    fanout: int

    @property
    def count(self) -> int:
        return -(-self.leaves // self.size)

    def spans(self) -> list[tuple[int, int]]:
        """Return the first and the last leaf of each group of two nodes or more."""
        firsts = range(0, self.leaves, self.size)
        # a last group that is no larger than one member is that member
        proper = [first for first in firsts if self.leaves - first > self.size // self.fanout]
        return [(first, min(first + self.size, self.leaves) - 1) for first in proper]


def _layers(leaves: int, fanout: int) -> list[_Layer]:
    """Return the layers of groups, lowest first, until there are few enough for the root."""
    layers = []
    size = 1
    while leaves > size * fanout:
        size *= fanout
        layers.append(_Layer(leaves, size, fanout))
    return layers


def _unique_labels(leaves: Sequence[str], layers: Iterable[list[tuple[int, int]]], label: Labeler) -> list[list[str]]:
    """Return the labels of the groups of each layer; one that is there already gets a number."""
    known, copies = set(leaves), dict[str, int]()
    texts: list[list[str]] = []
    for spans in layers:
        texts.append([])
        for first, last in spans:
            text = base = label(first, last)
            while text in known:
                copies[base] = copies.get(base, 1) + 1
                text = f"{base} ({copies[base]})"
            known.add(text)
            texts[-1].append(text)
    return texts


class _TextLabels:
    """Labels of sorted texts: as much of the outer leaves as distinguishes them from their neighbors."""

    def __init__(self, leaves: Sequence[str]) -> None:
        self.leaves, self.known = leaves, set(leaves)

    def __call__(self, first: int, last: int) -> str:
        before = self.leaves[first - 1] if first > 0 else ""
        after = self.leaves[last + 1] if last + 1 < len(self.leaves) else ""
        return f"{self._prefix(self.leaves[first], before)}…{self._prefix(self.leaves[last], after)}"

    def _prefix(self, leaf: str, neighbor: str) -> str:
        """Return the first characters that the neighbor does not share, less if they would show a whole value."""
        common = 0
        for own, other in zip(leaf, neighbor, strict=False):
            if own != other:
                break
            common += 1
        prefix = leaf[: common + 1]
        while len(prefix) > 1 and (prefix in self.known or prefix[-1].isspace()):
            prefix = prefix[:-1]
        return prefix


class _NumberLabels:
    """Labels of sorted numbers: the outer leaves rounded outward, as far as the neighbors allow."""

    def __init__(self, bounds: Sequence[tuple[Decimal, Decimal]]) -> None:
        self.bounds = bounds

    def __call__(self, first: int, last: int) -> str:
        below = self.bounds[first - 1][1] if first > 0 else Decimal("-Infinity")
        above = self.bounds[last + 1][0] if last + 1 < len(self.bounds) else Decimal("Infinity")
        low = _rounded(self.bounds[first][0], ROUND_FLOOR, lambda number: number > below)
        high = _rounded(self.bounds[last][1], ROUND_CEILING, lambda number: number < above)
        return f"{_text(low)}…{_text(high)}"


def _rounded(number: Decimal, rounding: str, separate: Callable[[Decimal], bool]) -> Decimal:
    for digits in range(1, len(number.as_tuple().digits)):
        candidate = _context(digits, rounding).plus(number)
        if separate(candidate):
            return candidate
    return number


@cache
def _context(digits: int, rounding: str) -> Context:
    return Context(prec=digits, rounding=rounding)


def _text(number: Decimal) -> str:
    """Return the shortest text of the number, without an exponent."""
    if not number:
        return "0"
    text = f"{number:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _all_bounds(texts: Iterable[str]) -> list[tuple[Decimal, Decimal]] | None:
    """Return the least and greatest number of each text, None unless all are numbers or labels of numbers."""
    bounds = []
    for text in texts:
        match = _RANGE.fullmatch(text)
        if match is None:
            return None
        low = Decimal(match[1])
        bounds.append((low, Decimal(match[2]) if match[2] else low))
    return bounds


def parse_groups(spec: Mapping[str, object], value_type: str) -> tuple[Groups | None, list[tuple[str, str]]]:
    """Return the builder of `{groups = 5}`, and its problems.

    >>> parse_groups({"groups": 5}, "integer")
    (Groups(fanout=5, numeric=True), [])
    """
    fanout = spec["groups"]
    message = _fanout_problem(fanout)
    if message or not isinstance(fanout, int):
        return None, [("groups", message or "")]
    return Groups(fanout, numeric=value_type in ("integer", "number")), []


def _fanout_problem(fanout: object) -> str | None:
    if isinstance(fanout, bool) or not isinstance(fanout, int) or fanout < 2:
        return "must be a whole number of 2 or more: how many values make a group"
    return None


@dataclass(frozen=True)
class Flat:
    """Builder: every value lies under `*`.

    >>> Flat().build(["b", "a", "*"]).texts
    ('*', 'a', 'b')
    """

    def build(self, values: Iterable[str]) -> Hierarchy:
        """Return the hierarchy of the values, sorted.

        >>> Flat().build([]).texts
        ('*',)
        """
        return Hierarchy.flat(sorted(set(values) - {""}))


def parse_flat(spec: Mapping[str, object], value_type: str) -> tuple[Flat | None, list[tuple[str, str]]]:
    """Return the builder of `{flat = true}`, and its problems.

    >>> parse_flat({"flat": 1}, "text")
    (None, [('flat', 'must be true')])
    """
    return (Flat(), []) if spec["flat"] is True else (None, [("flat", "must be true")])


class Builder(Protocol):
    """What makes a hierarchy out of the distinct values of a class.

    >>> from treeanon.hierarchy.builders import Flat
    >>> builder: Builder = Flat()
    >>> len(builder.build(["a", "b"]))
    3
    """

    def build(self, values: Iterable[str]) -> Hierarchy:
        """Return the hierarchy under `*`, without the values that have no place in it.

        >>> from treeanon.hierarchy.intervals import Intervals
        >>> Intervals((5,)).build(["7", "seven"]).encode(["7", "seven", "5-9"]).tolist()
        [2, -1, 1]
        """
        ...


_PARSERS: Mapping[str, Callable[[Mapping[str, object], str], tuple[Builder | None, Problems]]] = {
    "intervals": parse_intervals,
    "dates": parse_dates,
    "prefix": parse_prefix,
    "groups": parse_groups,
    "flat": parse_flat,
    "icd10": with_names(parse_icd10),
    "atc": with_names(parse_atc),
    "terminology": parse_terminology,
    "ages": parse_ages,
}


def with_files(source: object, change: Callable[[str], str]) -> object:
    """Return the hierarchy of a schema, a file or a table of a builder, with the names of its files changed.

    >>> with_files({"terminology": ["a.csv"]}, lambda name: "there/" + name)
    {'terminology': ['there/a.csv']}
    """
    if isinstance(source, str):
        return change(source)
    if not isinstance(source, Mapping):
        return source
    keys = {key for name, kind in BUILDERS.items() if name in source for key in kind.files}
    return {key: _changed(value, change) if key in keys else value for key, value in source.items()}


def _changed(value: object, change: Callable[[str], str]) -> object:
    if isinstance(value, list | tuple):
        return [_changed(each, change) for each in value]
    return change(value) if isinstance(value, str) and "\0" not in value else value


def parse_builder(
    spec: Mapping[str, object], value_type: str, folder: Path | None = None
) -> tuple[Builder | None, Problems]:
    """Return the builder that an inline table of a schema describes, and all problems as (key, message).

    Files that it names are found from the folder.

    >>> parse_builder({"groups": 5}, "text")
    (Groups(fanout=5, numeric=False), [])
    >>> parse_builder({"flat": True, "depth": 2}, "text")
    (None, [('depth', 'unknown key; choose from flat')])
    """
    names = [name for name in BUILDERS if name in spec]
    if LEAVES in spec and any(LEAVES in BUILDERS[name].keys for name in names):
        return _without_leaves(spec, value_type, folder)
    allowed = [key for name in names or BUILDERS for key in BUILDERS[name].keys]
    problems = [(key, f"unknown key; choose from {', '.join(allowed)}") for key in spec if key not in allowed]
    if len(names) != 1:
        problems.append((", ".join(names), f"must be exactly one of {', '.join(BUILDERS)}"))
    builder = None
    for name in names:
        placed = with_files(spec, lambda file: os.path.join(folder or "", file))  # noqa: PTH118
        builder, found = _PARSERS[name](placed if isinstance(placed, Mapping) else spec, value_type)
        problems += found
    return (None, problems) if problems else (builder, [])


def _without_leaves(
    spec: Mapping[str, object], value_type: str, folder: Path | None
) -> tuple[Builder | None, Problems]:
    """Return the builder of `{dates = ["year"], leaves = false}`, and all problems.

    >>> parse_builder({"prefix": [3], "leaves": False}, "text")
    (Levels(builder=Prefix(keep=(3,), large=None), knows_values=True), [])
    """
    rest = {key: value for key, value in spec.items() if key != LEAVES}
    builder, problems = parse_builder(rest, value_type, folder)
    if not isinstance(spec[LEAVES], bool):
        return None, [*problems, (LEAVES, "must be true, or false: values are published by their level at the finest")]
    if builder is None or spec[LEAVES]:
        return builder, problems
    return Levels(cast(LevelBuilder, builder)), problems


def height_of(source: object) -> int | None:
    """Return the last level that a class can have by its hierarchy or builder; None where that depends on the values.

    >>> from treeanon.hierarchy import Groups
    >>> height_of(Prefix((2, 1))), height_of(Hierarchy.flat("ab")), height_of(Groups(3))
    (3, 1, None)
    """
    if isinstance(source, Hierarchy):
        return source.height
    if isinstance(source, Levels):
        below = height_of(source.builder)
        return None if below is None else below - 1
    if isinstance(source, Prefix):
        return len(source.keep) + 1
    if isinstance(source, Dates):
        return len(source.levels) + 1
    if isinstance(source, Intervals):
        return len(source.widths) + 1
    if isinstance(source, Ages):
        return len(source.widths) + 2
    return 1 if isinstance(source, Flat) else 5 if isinstance(source, Atc) else None


def full_height(source: object, tree: Hierarchy) -> int:
    """Return the last level of a class whose hierarchy is a tree: that of a release may lack the lowest levels."""
    return max(height_of(source) or 0, tree.height)
