"""Counts of generalized tuples, rolled up from whatever smaller has been counted before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from treeanon.algorithms.table.group_checker import Cells, Fields, Tuples, counted_groups
from treeanon.arrays import Flags, Floats, Ints, Longs
from treeanon.kernels.table.tuples import add_field, histogram, probe, roll, smallest_below, sum_costs
from treeanon.table import Groups

Vector = tuple[int, ...]

_MEMORY = 1 << 28
_SHORT = 1000
"""From so many groups a vector is rolled up sooner than more is kept for those that follow it."""
_NONE = np.empty(0, np.int32)


@dataclass(frozen=True)
class RolledUp:
    """The groups of one vector: their keys, and how many rows each has."""

    vector: Vector
    keys: Longs
    rows: Longs


class Rollup:
    """The groups of vectors of levels. What is counted on the way is kept, as far as it fits into some memory.

    `order` has the columns with the most values first, unless it is given: to generalize them saves the most work
    above.
    """

    def __init__(self, tuples: Tuples, memory: int = _MEMORY, order: Sequence[int] = ()) -> None:
        self.tuples, self._memory, self._used = tuples, memory, 0
        maps = tuples.level_maps
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
        self.order = order or by_values(tuples)
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

    def rolled(self, vector: Vector, fixed: int | None = None) -> RolledUp:
        """Return the groups of a vector, in arrays that the next call overwrites; `fixed` as in `probe`."""
        base = self._staged(vector, len(vector) - 2 if fixed is None else fixed)
        if base.vector == vector:
            return base
        found = roll(*self._step(base, vector), _NONE)
        return RolledUp(vector, self._keys[:found], self._rows[:found])

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
        """Return the smallest base of a vector; a long one only once those of its first columns are kept one after the
        other.
        """
        base = self._base(vector)
        if len(base.rows) <= _SHORT:
            return base
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


def by_values(tuples: Tuples) -> list[int]:
    """Return the numbers of the quasi columns, those with the most different values first."""
    columns = range(len(tuples.columns))
    values = [np.count_nonzero(np.bincount(tuples.fields.unpack(tuples.keys, c))) for c in columns]
    return sorted(columns, key=lambda c: (-values[c], c))


class RolledCells:
    """What the groups of vectors hold of a sensitive column, rolled up as their rows are: for one row a person.

    A cell is a tuple with a value, and with those of the other sensitive columns if these are `joined`. Cells come in
    ascending order of values and stay so, as those of equal values are put together where the first of them was.
    `order` is that of the `Rollup` of the rows.
    """

    def __init__(self, tuples: Tuples, cells: Cells, order: Sequence[int], *, joined: bool) -> None:
        self._cells = cells
        sizes = [len(column.hierarchy) + 1 for column in tuples.columns]
        combos = [cells.combos] if joined and cells.combos > 1 else []
        fields = Fields.of([*sizes, *combos, len(cells.whole)])
        keys = np.zeros((len(cells.value), fields.words), np.int64)
        keys[:, : tuples.fields.words] = tuples.keys[cells.tuple_of]
        for codes, (word, shift, _) in zip(
            [cells.combo, cells.value][-1 - len(combos) :], fields.places[len(sizes) :].tolist(), strict=True
        ):
            add_field(keys, codes, 0, word, shift)
        self.rollup = Rollup(replace(tuples, fields=fields, keys=keys, rows=cells.counts), order=order)
        self._fields, self._combos = fields, len(combos)
        self._nothing = np.zeros(max(cells.combos, len(cells.whole)), np.int64)

    def groups(self, rolled: RolledUp, holds: Flags, fixed: int | None = None) -> tuple[Groups, Ints]:
        """Return those groups of a vector that hold, or their parts, with their histograms; and the group of each."""
        cells = self.rollup.rolled(rolled.vector, fixed)
        keys, number = cells.keys, np.arange(len(rolled.keys), dtype=np.int32)
        value = self._fields.unpack(keys, len(self._fields.places) - 1)
        known = np.zeros((len(rolled.keys), self._fields.words), np.int64)
        known[:, : rolled.keys.shape[1]] = rolled.keys
        if self._combos:
            keys, of = self._without(keys[:0], keys, -1)
            _, number = self._without(known, keys, -2)
        else:
            _, of = self._without(known, keys, -1)
        part = np.where(holds[number[of]], of, np.int32(-1))
        starts, values, counts, sizes = histogram(part, len(number), value, cells.rows, _NONE)
        return counted_groups(self._cells, starts, values, counts, sizes, number)

    def _without(self, first: Longs, keys: Longs, field: int) -> tuple[Longs, Ints]:
        """Return the distinct keys without a field, those in `first` as they are there; and which each key becomes."""
        word, shift, mask = self._fields.places[field].tolist()
        both = np.concatenate([first, keys])
        number = np.empty(len(both), np.int32)
        table = np.empty(max(16, 4 * len(both)), np.int32)
        out, rows = np.empty_like(both), np.empty(len(both), np.int64)
        change = np.array([[word, shift, mask, 0]], np.int64)
        found = roll(both, np.zeros(len(both), np.int64), change, self._nothing, table, out, rows, number)
        return out[:found], number[len(first) :]
