"""The nodes of nested intervals, placed all at once: numbers are whole steps of a decimal grid."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from treeanon.hierarchy.links import Tree
from treeanon.hierarchy.nodes import Keys, Nodes
from treeanon.hierarchy.number_texts import SAFE
from treeanon.hierarchy.numbers import decimal_text


@dataclass(frozen=True)
class Grid:
    """The nested intervals, where widths and bounds count steps of 10**-decimals.

    >>> Grid((5, 10), 0, 20, False, 0).starts(np.array([3, 17, 20]), 0).tolist()
    [0, 15, 15]
    """

    widths: tuple[int, ...]
    low: int | None
    high: int | None
    integer: bool
    decimals: int

    def is_small(self) -> bool:
        """Whether widths and bounds fit into 64 bits with room to add.

        >>> Grid((5, 10**30), 0, None, True, 0).is_small()
        False
        """
        return all(abs(number or 0) < SAFE for number in (*self.widths, self.low, self.high))

    def starts(self, numbers: Keys, level: int) -> Keys:
        """The starts of the intervals around the numbers.

        >>> Grid((5,), -7, None, True, 0).starts(np.array([-7, 0]), 0).tolist()
        [-7, -2]
        """
        width, origin = self.widths[level], self.low or 0
        starts: Keys = numbers - (numbers - origin) % width
        if not self.integer and self.high is not None and self.low != self.high:
            starts[starts == self.high] -= width  # the last interval is closed: it holds the maximum too
        return starts

    def stops(self, starts: Keys, level: int) -> Keys:
        """The last numbers of intervals of integers, or the first ones beyond the others.

        >>> Grid((5,), 0, 8, True, 0).stops(np.array([0, 5]), 0).tolist()
        [4, 8]
        """
        stops: Keys = starts + (self.widths[level] - self.integer)
        return stops if self.high is None else np.minimum(stops, self.high)

    def kept(self, starts: Keys, level: int) -> NDArray[np.bool_]:
        """Which intervals are nodes: those that are more than a number, less than all, and not the one above.

        >>> Grid((5, 10), 0, 12, True, 0).kept(np.array([0, 5, 10]), 0).tolist()
        [True, True, False]
        """
        stops = self.stops(starts, level)
        kept: NDArray[np.bool_] = starts != stops
        if self.low is not None and self.high is not None:
            kept &= (starts != self.low) | (stops != self.high)
        if level + 1 < len(self.widths):
            above = self.starts(starts, level + 1)
            kept &= (above != starts) | (self.stops(above, level + 1) != stops)
        return kept

    def labels(self, starts: Keys, level: int) -> list[str]:
        """The texts of the intervals.

        >>> Grid((5,), 0, 20, False, 1).labels(np.array([5, 15]), 0)
        ['[0.5, 1)', '[1.5, 2]']
        """
        pairs = zip(starts.tolist(), self.stops(starts, level).tolist(), strict=True)
        if self.integer:
            return [f"{start}-{stop}" for start, stop in pairs]
        return [
            f"[{decimal_text(start, self.decimals)}, {decimal_text(stop, self.decimals)}"
            f"{']' if stop == self.high else ')'}"
            for start, stop in pairs
        ]


def interval_tree(grid: Grid, cells: Sequence[Keys], leaves: Sequence[str], numbers: Keys) -> Tree:
    """The tree of the intervals that start at `cells`, per level, and of sorted leaves with their numbers.

    >>> interval_tree(Grid((5, 10), None, None, True, 0), [np.array([5]), np.array([])], ["1"], np.array([1]))[0]
    ('*', '0-9', '0-4', '1', '5-9')
    """
    return interval_nodes(grid, cells, leaves, numbers).tree()


def interval_nodes(grid: Grid, cells: Sequence[Keys], leaves: Sequence[str], numbers: Keys) -> Nodes:
    """The nodes of that tree, those of the leaves last.

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
        # what lies in an interval that is no node hangs where that would hang
        up[kept] = own
        above, ids = starts, up
    nodes.add(leaves, numbers, ids[np.searchsorted(above, grid.starts(numbers, 0))])
    return nodes


def _closed_upwards(grid: Grid, cells: Sequence[Keys], numbers: Keys) -> list[Keys]:
    """The sorted starts of each level: the given ones, and those around what lies a level below."""
    levels: list[Keys] = []
    for level, given in enumerate(cells):
        below = levels[-1] if levels else numbers
        starts = np.concatenate([grid.starts(below, level), given.astype(numbers.dtype)])
        levels.append(_distinct(np.sort(starts, kind="stable")))
    return levels


def _distinct(ordered: Keys) -> Keys:
    return ordered[np.append(True, ordered[1:] != ordered[:-1])] if len(ordered) else ordered
