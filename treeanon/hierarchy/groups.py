"""Hierarchies of neighbors: values in order, so many to a group, groups in groups."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from functools import cache

import numpy as np

from treeanon.errors import HierarchyError
from treeanon.hierarchy.links import ROOT, Ids, Nodes
from treeanon.hierarchy.model import Hierarchy
from treeanon.hierarchy.numbers import DECIMAL

_RANGE = re.compile(rf"({DECIMAL})(?:…({DECIMAL})(?: \([0-9]+\))?)?")

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
