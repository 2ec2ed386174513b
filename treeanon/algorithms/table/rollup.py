"""Counts of generalized tuples, rolled up from whatever smaller has been counted before."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from treeanon.algorithms.table.group_checker import Tuples
from treeanon.arrays import Floats, Ints, Longs
from treeanon.kernels.table.tuples import probe, roll, smallest_below, sum_costs

Vector = tuple[int, ...]

_MEMORY = 1 << 28
_NONE = np.empty(0, np.int32)


@dataclass(frozen=True)
class RolledUp:
    """The groups of one vector: their keys, and how many rows each has."""

    vector: Vector
    keys: Longs
    rows: Longs


class Rollup:
    """The groups of vectors of levels. What is counted on the way is kept, as far as it fits into some memory.

    `order` has the columns with the most values first: to generalize them saves the most work above.
    """

    def __init__(self, tuples: Tuples, memory: int = _MEMORY) -> None:
        self.tuples, self._memory, self._used = tuples, memory, 0
        maps = tuples.level_maps()
        self.heights: Vector = tuple(len(levels) - 1 for levels in maps)
        self._widths = [levels.shape[1] for levels in maps]
        self._starts = np.concatenate([[0], np.cumsum([levels.size for levels in maps])]).tolist()
        self._maps = np.concatenate([levels.ravel() for levels in maps]).astype(np.int64)
        self._places = tuples.fields.places.tolist()
        size = len(tuples)
        self._table = np.empty(max(16, 4 * size), np.int32)
        self._keys = np.empty((size + 1, tuples.fields.words), np.int64)
        self._rows = np.empty(size + 1, np.int64)
        # The tuples themselves are the first that is kept, and never dropped.
        values = [len(np.unique(tuples.fields.unpack(tuples.keys, c))) for c in range(len(self.heights))]
        self.order = sorted(range(len(values)), key=lambda c: (-values[c], c))
        self._kept = [RolledUp((0,) * len(maps), tuples.keys, tuples.rows)]
        self._by_vector = {self._kept[0].vector: self._kept[0]}
        self._vectors = np.zeros((64, len(maps)), np.int32)
        self._sizes = np.full(64, size, np.int64)

    def probe(self, vector: Vector, least: int, fixed: int | None = None) -> tuple[int, int]:
        """Return how many rows are in groups of less than `least`, and how many groups are not.

        On the way the vector with the levels of the first `fixed` columns of `order` is kept, and 0 for the others: of
        the vectors that a search visits next, many lie above it.
        """
        base = self._staged(vector, len(vector) - 2 if fixed is None else fixed)
        lost, published = probe(*self._step(base, vector), _NONE, least)
        return int(lost), int(published)

    def stage(self, vector: Vector) -> RolledUp:
        """Return the groups of a vector, which then serve those above it."""
        kept = self._by_vector.get(vector)
        if kept is not None:
            return kept
        base = self._base(vector)
        found = roll(*self._step(base, vector), _NONE)
        rolled = RolledUp(vector, self._keys[:found].copy(), self._rows[:found].copy())
        self._keep(rolled)
        return rolled

    def numbered(self, vector: Vector) -> tuple[RolledUp, Ints]:
        """Return the groups of a vector, and the group of each tuple."""
        number = np.empty(len(self.tuples), np.int32)
        found = roll(*self._step(self._kept[0], vector), number)
        return RolledUp(vector, self._keys[:found].copy(), self._rows[:found].copy()), number

    def level_costs(self, costs: list[Floats]) -> list[Floats]:
        """Return for every column and level the mean cost of a row, from the cost of every node of each column."""
        out = []
        rows = max(1, int(self.tuples.rows.sum()))
        for c, cost in enumerate(costs):
            codes = self.tuples.fields.unpack(self.tuples.keys, c)
            counts = np.bincount(codes, self.tuples.rows, self._widths[c])
            levels = self._maps[self._starts[c] : self._starts[c + 1]].reshape(-1, self._widths[c])
            out.append(cost[levels] @ counts / rows)
        return out

    def cost_of(self, rolled: RolledUp, taken: npt.NDArray[np.bool_], costs: list[Floats]) -> float:
        """Return the sum over the rows of the groups taken of the costs of their generalized codes."""
        starts = np.concatenate([[0], np.cumsum(self._widths)])[:-1]
        fields = np.column_stack([self.tuples.fields.places, starts])
        return float(sum_costs(rolled.keys, rolled.rows, taken, fields, np.concatenate(costs)))

    def _staged(self, vector: Vector, fixed: int) -> RolledUp:
        """Return the smallest base of a vector, once those of its first columns are kept one after the other."""
        start = [0] * len(vector)
        for c in self.order[: max(fixed, 0)]:
            if vector[c]:
                start[c] = vector[c]
                self.stage(tuple(start))
        return self._base(vector)

    def _base(self, vector: Vector) -> RolledUp:
        """Return the smallest groups kept that those of the vector can be rolled up from."""
        at = smallest_below(self._vectors, self._sizes, len(self._kept), np.array(vector, np.int32))
        return self._kept[at]

    def _step(self, base: RolledUp, vector: Vector) -> tuple[Longs, Longs, Longs, Longs, Ints, Longs, Longs]:
        """Return the arguments of `roll` from a base to a vector above it."""
        fields = [
            (*self._places[c], self._starts[c] + level * self._widths[c])
            for c, level in enumerate(vector)
            if level != base.vector[c]
        ]
        changes = np.array(fields, np.int64).reshape(-1, 4)
        return base.keys, base.rows, changes, self._maps, self._table, self._keys, self._rows

    def _keep(self, rolled: RolledUp) -> None:
        used = rolled.keys.nbytes + rolled.rows.nbytes
        if self._used + used > self._memory:
            self._drop()
        at = len(self._kept)
        if at == len(self._sizes):
            self._vectors = np.concatenate([self._vectors, np.zeros_like(self._vectors)])
            self._sizes = np.concatenate([self._sizes, np.zeros_like(self._sizes)])
        self._kept.append(rolled)
        self._by_vector[rolled.vector] = rolled
        self._vectors[at] = rolled.vector
        self._sizes[at] = len(rolled.rows)
        self._used += used

    def _drop(self) -> None:
        """Drop the older half of what is kept: a search goes on near where it was last."""
        self._kept = [self._kept[0], *self._kept[len(self._kept) // 2 + 1 :]]
        for at, rolled in enumerate(self._kept):
            self._vectors[at] = rolled.vector
            self._sizes[at] = len(rolled.rows)
        self._by_vector = {one.vector: one for one in self._kept}
        self._used = sum(one.keys.nbytes + one.rows.nbytes for one in self._kept[1:])
