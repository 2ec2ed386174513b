"""What walks share: pair_supports, record sets, and what earlier walks were refused."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from hashlib import blake2b
from typing import TYPE_CHECKING, Protocol, TypeVar

import numpy as np

from treeanon.algorithms.tree.default.indexed_forest import IndexedForest
from treeanon.algorithms.tree.default.pair_support import PairSupports
from treeanon.algorithms.tree.record_sets import RecordSets
from treeanon.arrays import Flags, Ints
from treeanon.kernels.tree.walk import Lessons
from treeanon.privacy import Guarantee

if TYPE_CHECKING:
    from treeanon.algorithms.tree.default.label_step import Counted
    from treeanon.algorithms.tree.default.published_labels import PublishedLabels


T = TypeVar("T")

_FEW = 20_000
"""So many records are counted by one thread."""

_NUMBERS_KEPT = 1 << 24
"""So many numbers that were counted are kept for walks that come by: 64 MB."""


class GuaranteeCheck(Protocol):
    """A check beyond supports: joint attackers, l-diversity, negative knowledge."""

    def safe(self, partition: PublishedLabels, part: int, rest: int) -> bool:
        """Return whether all combinations that hold slot `part`, or `rest` (-1: none), are as they must be."""


RefusedSet = tuple[tuple[int, ...], bool]
"""Plain hierarchy nodes that are rare together; and whether they are whatever else is published.

With one relation at most they can never all be published. With several, two nodes that witness the relations of one
label may part when it does (for n >= 2), so that a finer cut may be safe: hardly ever is it.
"""


class RefusedSets:
    """What earlier walks were refused. A walk reads only what was learned before it began, so that it ends the same way
    however many walks go on beside it."""

    def __init__(self, labels: int) -> None:
        self.labels = labels
        self._known: dict[RefusedSet, None] = {}
        self.arrays = self._as_arrays()

    def add(self, refused_sets: Iterable[RefusedSet]) -> None:
        """Take in what walks have learned."""
        new = sorted(set(refused_sets) - self._known.keys())
        if new:
            self._known |= dict.fromkeys(new)
            self.arrays = self._as_arrays()

    def _as_arrays(self) -> Lessons:
        """Return what was learned as the walk's kernel reads it."""
        nodes = np.array([node for of, _ in self._known for node in of], np.int32)
        starts = np.cumsum([0, *(len(of) for of, _ in self._known)], dtype=np.int64)
        number = np.repeat(np.arange(len(self._known), dtype=np.int32), np.diff(starts))
        order = np.argsort(nodes, kind="stable")
        of_label = np.searchsorted(nodes[order], np.arange(self.labels + 1)).astype(np.int64)
        return of_label, number[order], starts, nodes, np.array([always for _, always in self._known], bool)

    def against(self, label: int, is_published: Flags, *, certain: bool) -> tuple[int, ...] | None:
        """Published nodes that a lesson forbids beside the label, itself among them; only certain ones if asked."""
        starts, listed, node_starts, every, always = self.arrays
        for number in listed[starts[label] : starts[label + 1]].tolist():
            nodes = every[node_starts[number] : node_starts[number + 1]].tolist()
            if (always[number] or not certain) and all(node == label or is_published[node] for node in nodes):
                return tuple(nodes)
        return None


class Helpers:
    """Threads among which a walk divides records."""

    def __init__(self, jobs: int) -> None:
        self.jobs, self._pool = jobs, ThreadPoolExecutor(jobs)

    def in_parts(self, count: Callable[[Ints], T], records: Ints) -> list[T]:
        """Return what is counted of each part of some records."""
        parts = min(self.jobs, 1 + len(records) // _FEW)
        return [count(records)] if parts == 1 else list(self._pool.map(count, np.array_split(records, parts)))


Place = tuple[bytes, int]
"""A label that is tried, and what is published then."""


class Tried:
    """What became of labels that were tried: many walks come by the same places, and would count the same again.

    For a label that was published, it has what was counted. What is no longer kept is counted again.
    """

    def __init__(self) -> None:
        self._found: dict[Place, Counted | None] = {}
        self._room = _NUMBERS_KEPT

    @staticmethod
    def place(label: int, is_published: Flags, is_plain: Flags) -> Place:
        """Return what tells this try from others."""
        return blake2b(is_published.tobytes() + is_plain.tobytes(), digest_size=16).digest(), label

    def is_refused(self, place: Place) -> bool:
        """Return whether the label was refused here."""
        return self._found.get(place, self) is None

    def counted(self, place: Place) -> Counted | None:
        """Return what was counted where the label was published; None if that is not known."""
        return self._found.get(place)

    def refuse(self, place: Place) -> None:
        """Note that the label was refused here."""
        self._found[place] = None

    def publish(self, place: Place, counted: Counted) -> None:
        """Note what was counted where the label was published."""
        self._room -= counted.numbers
        if self._room >= 0:
            self._found[place] = counted


class WalkState:
    """What the walks of one thread share: the record sets, and those of plain hierarchy nodes once they are made."""

    def __init__(
        self,
        indexed: IndexedForest,
        guarantee: Guarantee,
        pair_supports: PairSupports | None = None,
        strict: GuaranteeCheck | None = None,
        refused_sets: RefusedSets | None = None,
        thread: int = 0,
        tried: Tried | None = None,
    ) -> None:
        self.indexed, self.guarantee, self.pair_supports, self.strict = indexed, guarantee, pair_supports, strict
        self.refused_sets = RefusedSets(len(indexed.above)) if refused_sets is None else refused_sets
        self.sets = RecordSets(len(indexed), None if pair_supports is None else pair_supports.lasting, thread)
        self.marks = np.zeros((len(indexed) + 63) // 64, np.uint64)
        self.tried = Tried() if tried is None else tried
        self.helpers: Helpers | None = None
        """Threads that count for a walk, where there are many records: the last walks are fewer than the cores."""
