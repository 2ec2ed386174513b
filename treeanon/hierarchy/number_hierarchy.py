"""A hierarchy of intervals over very many numbers, whose texts are made on request.

All nodes are placed at once: numbers are whole steps of a decimal grid.

Also open classes of numbers: all that are less than the least interval, and all from the greatest on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from treeanon.errors import HierarchyError
from treeanon.hierarchy.links import Keys, Nodes, Tree
from treeanon.hierarchy.model import Codes, Hierarchy
from treeanon.hierarchy.numbers import (
    SAFE,
    Number,
    NumberTexts,
    decimal_text,
    parse_number,
    shortest,
    steps_of_text,
    steps_of_texts,
)


@dataclass(frozen=True)
class Grid:
    """The nested intervals, where widths and bounds count steps of 10**-decimals.

    `below` and `above` say that there are classes of what lies beyond the bounds.

    >>> Grid((5, 10), 0, 20, False, 0).starts(np.array([3, 17, 20]), 0).tolist()
    [0, 15, 15]
    """

    widths: tuple[int, ...]
    low: int | None
    high: int | None
    integer: bool
    decimals: int
    below: bool = False
    above: bool = False

    def is_small(self) -> bool:
        """Return whether widths and bounds fit into 64 bits with room to add.

        >>> Grid((5, 10**30), 0, None, True, 0).is_small()
        False
        """
        return all(abs(number or 0) < SAFE for number in (*self.widths, self.low, self.high))

    def starts(self, numbers: Keys, level: int) -> Keys:
        """Return the starts of the intervals around the numbers.

        >>> Grid((5,), -7, None, True, 0).starts(np.array([-7, 0]), 0).tolist()
        [-7, -2]
        """
        width, origin = self.widths[level], self.low or 0
        starts: Keys = numbers - (numbers - origin) % width
        if not self.integer and self.high is not None and self.low != self.high:
            starts[starts == self.high] -= width  # the last interval is closed: it holds the maximum too
        return starts

    def stops(self, starts: Keys, level: int) -> Keys:
        """Return the last numbers of intervals of integers, or the first ones beyond the others.

        >>> Grid((5,), 0, 8, True, 0).stops(np.array([0, 5]), 0).tolist()
        [4, 8]
        """
        stops: Keys = starts + (self.widths[level] - self.integer)
        return stops if self.high is None else np.minimum(stops, self.high)

    def kept(self, starts: Keys, level: int) -> NDArray[np.bool_]:
        """Return which intervals are nodes: those that are more than a number, less than all, and not the one above.

        >>> Grid((5, 10), 0, 12, True, 0).kept(np.array([0, 5, 10]), 0).tolist()
        [True, True, False]
        """
        stops = self.stops(starts, level)
        kept: NDArray[np.bool_] = starts != stops
        if self.low is not None and self.high is not None and not (self.below or self.above):
            kept &= (starts != self.low) | (stops != self.high)
        if level + 1 < len(self.widths):
            above = self.starts(starts, level + 1)
            kept &= (above != starts) | (self.stops(above, level + 1) != stops)
        return kept

    def labels(self, starts: Keys, level: int) -> list[str]:
        """Return the texts of the intervals.

        >>> Grid((5,), 0, 20, False, 1).labels(np.array([5, 15]), 0)
        ['[0.5, 1)', '[1.5, 2]']
        """
        pairs = zip(starts.tolist(), self.stops(starts, level).tolist(), strict=True)
        if self.integer:
            return [f"{start}-{stop}" for start, stop in pairs]
        return [
            f"[{decimal_text(start, self.decimals)}, {decimal_text(stop, self.decimals)}"
            f"{']' if stop == self.high and not self.above else ')'}"
            for start, stop in pairs
        ]


def interval_tree(grid: Grid, cells: Sequence[Keys], leaves: Sequence[str], numbers: Keys) -> Tree:
    """Return the tree of the intervals that start at `cells`, per level, and of sorted leaves with their numbers.

    >>> interval_tree(Grid((5, 10), None, None, True, 0), [np.array([5]), np.array([])], ["1"], np.array([1]))[0]
    ('*', '0-9', '0-4', '1', '5-9')
    """
    return interval_nodes(grid, cells, leaves, numbers).tree()


def interval_nodes(grid: Grid, cells: Sequence[Keys], leaves: Sequence[str], numbers: Keys) -> Nodes:
    """Return the nodes of that tree, those of the leaves last.

    >>> nodes = interval_nodes(Grid((5,), None, None, True, 0), [np.array([5])], ["1"], np.array([1]))
    >>> nodes.shape()[0].tolist()
    [1, 3, 2]
    """
    levels = _closed_upwards(grid, cells, numbers)
    nodes = Nodes()
    above, ids = numbers[:0], np.zeros(0, dtype=np.intp)
    for level in reversed(range(len(levels))):
        starts = levels[level]
        is_top = level + 1 == len(levels)
        up = np.zeros(len(starts), dtype=np.intp)
        if not is_top:
            up = ids[np.searchsorted(above, grid.starts(starts, level + 1))]
        kept = grid.kept(starts, level)
        own = nodes.add(grid.labels(starts[kept], level), starts[kept], up[kept])
        # the content of an interval that is no node is placed where the interval would be
        up[kept] = own
        above, ids = starts, up
    nodes.add(leaves, numbers, ids[np.searchsorted(above, grid.starts(numbers, 0))])
    return nodes


def _closed_upwards(grid: Grid, cells: Sequence[Keys], numbers: Keys) -> list[Keys]:
    """Return the sorted starts of each level: the given ones, and those around what lies a level below."""
    levels: list[Keys] = []
    for level, given in enumerate(cells):
        below = levels[-1] if levels else numbers
        starts = np.concatenate([grid.starts(below, level), given.astype(numbers.dtype)])
        levels.append(_distinct(np.sort(starts, kind="stable")))
    return levels


def _distinct(ordered: Keys) -> Keys:
    return ordered[np.append(True, ordered[1:] != ordered[:-1])] if len(ordered) else ordered


class _Kept(Sequence[str]):
    """The texts of those that are kept, counted before they are made."""

    def __init__(self, source: NumberTexts, size: int) -> None:
        self.source, self.size = source, size

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, at: Any) -> Any:
        return self.source.texts()[at]

    def __iter__(self) -> Iterator[str]:
        return iter(self.source.texts())


class _NodeTexts(Sequence[str]):
    """The texts of all nodes, made on request: a single one each time, all of them once."""

    def __init__(self, hierarchy: NumberHierarchy) -> None:
        self.hierarchy = hierarchy

    def __len__(self) -> int:
        return len(self.hierarchy)

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, slice) or "all_texts" in vars(self.hierarchy):
            return self.hierarchy.all_texts[at]
        if not -len(self) <= at < len(self):
            raise IndexError("there is no such node")
        return self.hierarchy.text(at % len(self))

    def __iter__(self) -> Iterator[str]:
        return iter(self.hierarchy.all_texts)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, _NodeTexts):
            return other is self or self.hierarchy.is_like(other.hierarchy) or tuple(self) == tuple(other)
        return tuple(self) == other

    def __hash__(self) -> int:
        return hash(tuple(self))


class NumberHierarchy(Hierarchy):
    """The hierarchy of nested intervals and of numbers in them; numbers are known without their texts."""

    nodes: Nodes
    order: Codes
    grid: Grid
    cells: Sequence[Keys]
    leaf_texts: NumberTexts
    numbers: Keys
    codes: Codes

    def __init__(self, grid: Grid, cells: Sequence[Keys], leaves: NumberTexts, numbers: Keys) -> None:
        nodes = interval_nodes(grid, cells, _Kept(leaves, len(numbers)), numbers)
        found, parents = nodes.shape()
        # Of very many nodes what they were placed by takes as much memory as all that is needed of them.
        order = nodes.placed(found)
        self._measure(parents)
        code = np.zeros(len(parents), np.int32)
        code[order] = np.arange(1, len(parents))
        given = {"nodes": nodes, "order": order, "grid": grid, "cells": cells, "leaf_texts": leaves, "numbers": numbers}
        for name, value in {**given, "codes": code[len(parents) - len(numbers) :]}.items():
            object.__setattr__(self, name, value)

    def __reduce__(self) -> Any:
        return NumberHierarchy, (self.grid, self.cells, self.leaf_texts, self.numbers)

    @property
    def texts(self) -> tuple[str, ...]:
        """The text of every node."""
        return cast("tuple[str, ...]", _NodeTexts(self))

    @property
    def decimals(self) -> int:
        """The number of decimals of a step of the numbers."""
        return self.grid.decimals

    @cached_property
    def all_texts(self) -> tuple[str, ...]:
        """The same, made at once."""
        return self.nodes.texts(self.order)

    def text(self, code: int) -> str:
        """Return the text of one node."""
        number = int(self.order[code - 1]) if code else 0
        if number < len(self._inner):
            return self._inner[number]
        return decimal_text(int(self.numbers[number - len(self._inner)]), self.decimals)

    @cached_property
    def _inner(self) -> list[str]:
        """The texts of the nodes that are no numbers, as they were added."""
        return self.nodes.inner_texts()

    @cached_property
    def _index(self) -> dict[str, int]:
        """The codes of the nodes that are no numbers."""
        place = np.flatnonzero(self.order < len(self._inner))
        found = {
            self._inner[number]: code
            for number, code in zip(self.order[place].tolist(), (place + 1).tolist(), strict=True)
        }
        return {self._inner[0]: 0, **found}

    def is_like(self, other: NumberHierarchy) -> bool:
        """Return whether another was made of the same."""
        mine, others = (self.grid, len(self.cells)), (other.grid, len(other.cells))
        return (
            mine == others
            and all(map(np.array_equal, self.cells, other.cells))
            and np.array_equal(self.numbers, other.numbers)
        )

    def find(self, text: str) -> int | None:
        """Return the code of the node with this text, or None."""
        code = self._index.get(text)
        if code is not None:
            return code
        steps = steps_of_text(text, self.decimals)
        at = -1 if steps is None else int(np.searchsorted(self.numbers, steps))
        return int(self.codes[at]) if 0 <= at < len(self.numbers) and self.numbers[at] == steps else None

    def code(self, text: str) -> int:
        """Return the code of the node with this text; an error, which does not show the text, if there is none."""
        code = self.find(text)
        if code is None:
            raise HierarchyError(f"a text is not among the {len(self)} nodes of the hierarchy")
        return code

    def encode(self, texts: Iterable[str]) -> Codes:
        """Return the codes of the texts, -1 where there is no such node."""
        steps = texts.in_steps(self.decimals) if isinstance(texts, NumberTexts) else None
        if steps is not None and isinstance(texts, NumberTexts):
            return self._codes(steps, np.ones(len(steps), bool) if texts.kept is None else texts.kept)
        listed = list(texts)
        codes = self._codes(*steps_of_texts(listed, self.decimals))
        for at in np.flatnonzero(codes < 0).tolist():
            codes[at] = self._index.get(listed[at], -1)
        return codes

    def _codes(self, steps: Keys, known: np.ndarray) -> Codes:
        """Return the codes of numbers, -1 of those not known or not there."""
        if not len(self.numbers):
            return np.full(len(steps), -1, np.int32)
        at = np.minimum(np.searchsorted(self.numbers, steps), len(self.numbers) - 1)
        return np.where(known & (self.numbers[at] == steps), self.codes[at], -1).astype(np.int32)


@dataclass(frozen=True)
class OpenClasses:
    """The numbers below `low` and those from `high` on (None: there is no such class), within `least` to `most`.

    >>> open = OpenClasses(18, 90, None, None, True)
    >>> open.labels
    ('less than 18', '90 and more')
    """

    low: Number | None
    high: Number | None
    least: Number | None
    most: Number | None
    integer: bool

    @property
    def labels(self) -> tuple[str | None, str | None]:
        """Return the text of either class."""
        below = None if self.low is None else f"less than {shortest(self.low)}"
        return below, None if self.high is None else f"{shortest(self.high)} and more"

    def around(self, tree: Tree, values: Iterable[str]) -> Tree:
        """Return a tree of what lies between them with the classes on either side, where any value belongs to them.

        >>> open = OpenClasses(None, 90, None, None, True)
        >>> texts, parents = open.around((("*", "80-89"), np.array([-1, 0])), ["97", "85", "90"])
        >>> texts, parents.tolist()
        (('*', '80-89', '90 and more', '90', '97'), [-1, 0, 0, 2, 2])
        """
        listed = list(dict.fromkeys(values))
        numbers = {text: number for text in listed if (number := parse_number(text, self.integer)) is not None}
        below, above = self.labels
        low = sorted((n, text) for text, n in numbers.items() if self._is_below(n))
        high = sorted((n, text) for text, n in numbers.items() if self._is_above(n))
        first = [] if below is None or not (low or below in listed) else [below, *(text for _, text in low)]
        last = [] if above is None or not (high or above in listed) else [above, *(text for _, text in high)]
        texts, parents = tree
        moved = np.where(parents > 0, parents + len(first), parents)[1:]
        place = len(texts) + len(first)
        found = [np.array([-1]), _under(1, first), moved, _under(place, last)]
        return (texts[0], *first, *texts[1:], *last), np.concatenate(found).astype(np.int32)

    def holds(self, text: str) -> bool:
        """Return whether a text is a number of a class, or the text of one.

        >>> OpenClasses(18, 90, 0, None, True).holds("95"), OpenClasses(18, 90, 0, None, True).holds("-1")
        (True, False)
        """
        number = parse_number(text, self.integer)
        return text in self.labels if number is None else self._is_below(number) or self._is_above(number)

    def _is_below(self, number: Number) -> bool:
        return self.low is not None and number < self.low and (self.least is None or number >= self.least)

    def _is_above(self, number: Number) -> bool:
        return self.high is not None and number >= self.high and (self.most is None or number <= self.most)


def _under(place: int, texts: list[str]) -> np.ndarray:
    """Return the parents of a class at a place and of its numbers."""
    return np.array([0] * len(texts[:1]) + [place] * len(texts[1:]), np.int64)
