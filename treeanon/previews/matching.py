"""Which original node a published one can stand for, where no solution tells: by class, value and path.

Local recoding makes persons of a group equal, each in its own way, and keeps no account of it. A published node stands
for an original one of its class whose value is its own or lies under it; the nodes above it and below it decide where
there are several. What fits no published node of its own is told as merged where one says the same of its place, which
nobody could tell apart, and as dropped elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile

import numpy as np
from scipy.optimize import linear_sum_assignment

from treeanon.kernels.tree.forest import Ints
from treeanon.previews.records import Record

_NEVER = -1e9


def matched(before: Record, after: Record, label_parents: Ints) -> list[int | None]:
    """For every node of `before` the one of `after` that stands for it; None for none."""
    return _Matching(before, after, label_parents).find()


class _Matching:
    def __init__(self, before: Record, after: Record, label_parents: Ints) -> None:
        self.before, self.after = before, after
        self.covers = [_general(own, label_parents) for own in before.label]
        self.below = _descendants(before)
        self.children = after.children()
        self.became: list[int | None] = [None] * len(before)
        self.worth = np.full((len(after), len(before)), _NEVER)
        for a in reversed(range(len(after))):
            for b in range(len(before)):
                if self._fits(b, a):
                    self.worth[a, b] = self._worth(b, a)

    def _fits(self, b: int, a: int) -> bool:
        return self.after.label[a] in self.covers[b]

    def _worth(self, b: int, a: int) -> float:
        """How well an original fits: by how much of what is below fits below it, then by how near its value is."""
        found = 1 - self.covers[b].index(self.after.label[a]) / 1e6
        return found + sum(worth for *_, worth in self._best(self.children[a], self.below[b], {b}))

    def _best(self, wanted: list[int], candidates: list[int], tops: set[int]) -> Iterator[tuple[int, int, float]]:
        """The originals below `tops` that fit published siblings best, each at most once, and their worth."""
        if not wanted or not candidates:
            return
        between = [len(list(takewhile(lambda up: up not in tops, self.before.above(b)))) / 1e3 for b in candidates]
        worth = self.worth[np.ix_(wanted, candidates)] - between
        for row, column in zip(*linear_sum_assignment(worth, maximize=True), strict=True):
            if worth[row, column] > 0:
                yield wanted[row], candidates[column], float(worth[row, column])

    def find(self) -> list[int | None]:
        for above in (-1, *range(len(self.after))):
            tops = {b for b, a in enumerate(self.became) if a == above}
            pool = self.below[-1] if above < 0 else sorted({b for top in tops for b in self.below[top]})
            self._assign(self.children[above], pool, tops)
            # One level at a time: what hangs under a node that is one with others may be published under these.
            self._merge([b for b in pool if self.before.parent[b] in (tops or {-1})])
        # What stands elsewhere now: its value is all that can be gone by.
        told = set(self.became)
        self._assign([a for a in range(len(self.after)) if a not in told], self.below[-1], set())
        self._merge(self.below[-1])
        return self.became

    def _assign(self, wanted: list[int], candidates: list[int], tops: set[int]) -> None:
        for a, b, _ in self._best(wanted, [b for b in candidates if self.became[b] is None], tops):
            self.became[b] = a

    def _merge(self, nodes: list[int]) -> None:
        """Makes the nodes that are left one with a published node that says as much of their place, if there is one."""
        for b in nodes:
            if self.became[b] is not None:
                continue
            above = next((up for i in self.before.above(b) if (up := self.became[i]) is not None), -1)
            fitting = [a for a in self.children[above] if self._fits(b, a)]
            if fitting:
                self.became[b] = min(fitting, key=lambda a: self.covers[b].index(self.after.label[a]))


def _general(label: int, parents: Ints) -> list[int]:
    """The label and all above it, the nearest first; `*` too."""
    out = [label]
    while out[-1] > 0:
        out.append(int(parents[out[-1]]))
    return out


def _descendants(record: Record) -> list[list[int]]:
    """The nodes below every node; the last entry has all nodes."""
    out: list[list[int]] = [[] for _ in range(len(record) + 1)]
    for node in range(len(record)):
        out[-1].append(node)
        for above in record.above(node):
            out[above].append(node)
    return out
