"""Which original node a published one can stand for, where no solution tells: by class, value and path.

Local recoding makes persons of a group equal, each in its own way, and keeps no account of it. A published node stands
for an original one of its class whose value is its own or lies under it; the nodes above it and below it decide where
there are several. What fits no published node of its own is told as merged where one says the same of its place, which
nobody could tell apart, and as dropped elsewhere.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import linear_sum_assignment

from treeanon.kernels.trees import Ints
from treeanon.preview.records import Record

_NEVER = -1e9


def matched(before: Record, after: Record, label_parents: Ints) -> list[int | None]:
    """For every node of `before` the one of `after` that stands for it; None for none."""
    return _Matching(before, after, label_parents).find()


class _Matching:
    def __init__(self, before: Record, after: Record, label_parents: Ints) -> None:
        self.before, self.after = before, after
        self.covers = [_general(own, label_parents) for own in before.label]
        self.below_before, self.below_after = _descendants(before), _descendants(after)
        self.said = [{own for i in (node, *below) for own in self.covers[i]} for node, below in self._trees()]
        self.became: list[int | None] = [None] * len(before)
        self.origin: list[int | None] = [None] * len(after)

    def _trees(self) -> list[tuple[int, list[int]]]:
        return list(enumerate(self.below_before[:-1]))

    def find(self) -> list[int | None]:
        children = self.after.children()
        for above in (-1, *range(len(self.after))):
            under = -1 if above < 0 else self.origin[above]
            if under is not None:
                self._assign(children[above], self.below_before[under], under)
        # What stands elsewhere now: its value is all that can be gone by.
        self._assign([a for a, own in enumerate(self.origin) if own is None], list(range(len(self.before))), -1)
        self._tell_merged(children)
        return self.became

    def _assign(self, wanted: list[int], candidates: list[int], under: int) -> None:
        """Gives each published sibling the original that it fits best."""
        free = [b for b in candidates if self.became[b] is None]
        if not wanted or not free:
            return
        worth = np.array([[self._worth(b, a, under) for b in free] for a in wanted])
        for row, column in zip(*linear_sum_assignment(worth, maximize=True), strict=True):
            if worth[row, column] > _NEVER:
                self.became[free[column]], self.origin[wanted[row]] = wanted[row], free[column]

    def _worth(self, b: int, a: int, under: int) -> float:
        """How well an original fits: by what is said below both, then by how little lies between, then by detail."""
        if self.after.label[a] not in self.covers[b]:
            return _NEVER
        below = sum(self.after.label[i] in self.said[b] for i in self.below_after[a])
        between = sum(1 for up in self.before.above(b) if up > under)
        return 1 + below - between / 1e3 - self.covers[b].index(self.after.label[a]) / 1e6

    def _tell_merged(self, children: list[list[int]]) -> None:
        """What is left is one with a published node that says as much of the same place, if there is one."""
        for b in range(len(self.before)):
            if self.became[b] is not None:
                continue
            above = next((up for i in self.before.above(b) if (up := self.became[i]) is not None), -1)
            fitting = [a for a in children[above] if self.after.label[a] in self.covers[b]]
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
