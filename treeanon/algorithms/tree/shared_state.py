"""What walks share: facts, record sets, and what earlier walks were refused."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Protocol

import numpy as np

from treeanon.algorithms.tree.indexed_forest import Indexed
from treeanon.algorithms.tree.pair_support import Facts
from treeanon.algorithms.tree.record_sets import RecordSets
from treeanon.arrays import Flags
from treeanon.privacy import Guarantee

if TYPE_CHECKING:
    from treeanon.algorithms.tree.published_labels import Partition


class Strict(Protocol):
    """A check beyond supports: joint attackers, l-diversity, negative knowledge."""

    def safe(self, partition: Partition, part: int, rest: int) -> bool:
        """Whether all combinations that hold slot `part`, or `rest` (-1: none), are as they must be."""


Lesson = tuple[tuple[int, ...], bool]
"""Plain hierarchy nodes that are rare together; and whether they are whatever else is published.

With one relation at most they can never all be published. With several, two nodes that witness the relations of one
label may part when it does (SPEC's remark on n >= 2), so that a finer cut may be safe: hardly ever is it.
"""


class Lessons:
    """What earlier walks were refused. A walk reads only what was learned before it began, so that it ends the same way
    however many walks go on beside it."""

    def __init__(self) -> None:
        self._of: dict[int, list[Lesson]] = {}
        self._all: set[Lesson] = set()

    def add(self, lessons: Iterable[Lesson]) -> None:
        """Takes in what walks have learned."""
        new = sorted(set(lessons) - self._all)
        self._all.update(new)
        for lesson in new:
            for node in lesson[0]:
                self._of.setdefault(node, []).append(lesson)

    def against(self, label: int, is_published: Flags, *, certain: bool) -> tuple[int, ...] | None:
        """Published nodes that a lesson forbids beside the label, itself among them; only certain ones if asked."""
        for nodes, always in self._of.get(label, ()):
            if (always or not certain) and all(node == label or is_published[node] for node in nodes):
                return nodes
        return None


class Workshop:
    """What the walks of one thread share: the record sets, and those of plain hierarchy nodes once they are made."""

    def __init__(
        self,
        indexed: Indexed,
        guarantee: Guarantee,
        facts: Facts | None = None,
        strict: Strict | None = None,
        lessons: Lessons | None = None,
        bench: int = 0,
    ) -> None:
        self.indexed, self.guarantee, self.facts, self.strict = indexed, guarantee, facts, strict
        self.lessons = Lessons() if lessons is None else lessons
        self.sets = RecordSets(len(indexed), None if facts is None else facts.lasting, bench)
        self.marks = np.zeros((len(indexed) + 63) // 64, np.uint64)
