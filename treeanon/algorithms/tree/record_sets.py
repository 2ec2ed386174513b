"""The store of record sets: numbered, dense as bitmaps or sparse as sorted lists, whichever is smaller.

A search that goes back the way it came, as the published ones do, forgets the newest sets first: a `SetStack`. One that
replaces single sets, as the default search does, gives them up in any order: `RecordSets`. Kernels read both alike.
"""

from __future__ import annotations

import numpy as np

from treeanon.arrays import Flags, Ints, Longs, SetArrays, Tinies, Words
from treeanon.kernels.tree.label_splits import change_bits, without
from treeanon.kernels.tree.record_sets import DENSE, SPARSE

_DENSE_FROM = 64
"""A set is a bitmap if it holds at least one in so many records."""


def list_room(records: int) -> int:
    """Return the size from which on a set of a stack is a bitmap: then that is not much larger than a list."""
    return records // _DENSE_FROM + 1


_OWN_ROWS = 512
_OWN_LISTS = 8


def is_dense(sizes: Longs, records: int) -> Flags:
    """Return whether sets of these sizes are held as bitmaps."""
    return sizes * _DENSE_FROM >= records


class LastingSets:
    """Sets that several stores read and none changes, with room behind them for the sets of each store."""

    def __init__(self, records: int, sizes: Longs, stores: int) -> None:
        self.records, self.words, self.count = records, max((records + 63) // 64, 1), len(sizes)
        dense = is_dense(sizes, records)
        self.kind = np.where(dense, DENSE, SPARSE).astype(np.int8)
        self.size = sizes.astype(np.int32)
        self.at = np.where(dense, np.cumsum(dense) - 1, np.cumsum(np.where(dense, 0, sizes)) - sizes)
        self.used_rows, self.used_lists = int(dense.sum()), int(sizes[~dense].sum())
        self.own_rows, self.own_lists = _OWN_ROWS, max(_OWN_LISTS * records, 1024)
        # Memory that is never written to is not taken: room costs nothing.
        self.rows = np.zeros((self.used_rows + stores * self.own_rows, self.words), np.uint64)
        self.lists = np.zeros(self.used_lists + stores * self.own_lists, np.int32)

    @staticmethod
    def bytes_for(records: int, sizes: Longs) -> int:
        """Return the memory that sets of these sizes take."""
        return int(np.where(is_dense(sizes, records), (records + 7) // 8, 4 * sizes).sum())


class _Store:
    """Numbered sets in the arrays that the kernels read."""

    kind: Tinies
    at: Longs
    size: Ints
    rows: Words
    lists: Ints

    @property
    def arrays(self) -> SetArrays:
        """The arrays, as kernels take them."""
        return self.kind, self.at, self.size, self.rows, self.lists


class RecordSets(_Store):
    """Record sets by number, in the arrays that the kernels read; the first numbers are lasting sets.

    >>> sets = RecordSets(1000)
    >>> one = sets.add(np.array([3, 5], np.int32))
    >>> int(sets.size[one]), bool(sets.kind[one] == SPARSE)
    (2, True)
    """

    def __init__(self, records: int, lasting: LastingSets | None = None, store: int = 0) -> None:
        """A store of sets of so many records; it is number `store` of those that share the lasting sets."""
        if lasting is None:
            lasting, store = LastingSets(records, np.zeros(0, np.int64), 1), 0
        self.records, self.lasting = records, lasting.count
        count = lasting.count + 64
        self.kind, self.at = np.zeros(count, np.int8), np.full(count, -1, np.int64)
        self.size = np.zeros(count, np.int32)
        for own, given in ((self.kind, lasting.kind), (self.at, lasting.at), (self.size, lasting.size)):
            own[: lasting.count] = given
        self.rows, self.lists = lasting.rows, lasting.lists
        first = lasting.used_rows + store * lasting.own_rows
        self._free_rows = list(range(first + lasting.own_rows - 1, first - 1, -1))
        self._first = self._used = lasting.used_lists + store * lasting.own_lists
        self._end = self._first + lasting.own_lists
        self._free_numbers = list(range(count - 1, lasting.count - 1, -1))

    def new(self, size: int) -> int:
        """Return the number of a new set with room for `size` records: all zeros if dense, not yet filled if sparse."""
        if not self._free_numbers:
            count = len(self.kind)
            self._free_numbers = list(range(2 * count - 1, count - 1, -1))
            self.kind, self.size = (np.concatenate([a, np.zeros_like(a)]) for a in (self.kind, self.size))
            self.at = np.concatenate([self.at, np.full(count, -1, np.int64)])
        number = self._free_numbers.pop()
        self.size[number] = size
        if size * _DENSE_FROM >= self.records:
            self.kind[number], self.at[number] = DENSE, self._new_row()
        else:
            self.kind[number] = SPARSE
            self.at[number] = self._room(size)
        return number

    def add(self, records: Ints) -> int:
        """Return the number of a new set of these ascending records."""
        number = self.new(len(records))
        at = int(self.at[number])
        if self.kind[number] == DENSE:
            change_bits(self.rows, at, records, True)
        else:
            self.lists[at : at + len(records)] = records
        return number

    def drop(self, number: int) -> None:
        """Give a set up, unless it is a lasting one."""
        if number < self.lasting:
            return
        if self.kind[number] == DENSE:
            self._free_rows.append(int(self.at[number]))
        self.at[number] = -1
        self._free_numbers.append(number)

    def lessen(self, number: int, gone: Ints) -> int:
        """Return the number of the set without the ascending `gone`: itself if dense and not lasting, else a new
        one.
        """
        size = int(self.size[number])
        if self.kind[number] == DENSE:
            smaller = number
            if number < self.lasting:
                smaller = self.new(size)
                self.rows[self.at[smaller]] = self.rows[self.at[number]]
            change_bits(self.rows, int(self.at[smaller]), gone, False)
            self.size[smaller] -= len(gone)
            return smaller
        smaller = self.new(size - len(gone))
        without(self.lists, int(self.at[number]), size, gone, int(self.at[smaller]))
        return smaller

    def restore(self, number: int, smaller: int, gone: Ints) -> None:
        """Take `lessen` back."""
        if number == smaller:
            change_bits(self.rows, int(self.at[number]), gone, True)
            self.size[number] += len(gone)
        else:
            self.drop(smaller)

    def _new_row(self) -> int:
        if not self._free_rows:
            # From here on the rows are this store's alone: other stores go on with the array that they have.
            count = len(self.rows)
            more = max(count // 2, 16)
            rows = np.zeros((count + more, self.rows.shape[1]), np.uint64)
            rows[:count] = self.rows
            self.rows = rows
            self._free_rows = list(range(count + more - 1, count - 1, -1))
        row = self._free_rows.pop()
        self.rows[row] = 0
        return row

    def _room(self, size: int) -> int:
        if self._used + size > self._end:
            self._tidy(size)
        start = self._used
        self._used += size
        return start

    def _tidy(self, size: int) -> None:
        """Make room at the end of the lists: closes gaps, and moves to a larger array of its own if need be."""
        live = np.flatnonzero((self.kind == SPARSE) & (self.at >= self._first)).tolist()
        live.sort(key=lambda number: int(self.at[number]))
        needed = int(self.size[live].sum()) + size
        goal, self._used = self.lists, self._first
        if 2 * needed > self._end - self._first:
            goal = np.empty(self._first + 3 * needed, np.int32)
            goal[: self._first] = self.lists[: self._first]
            self._end = len(goal)
        for number in live:
            at, length = int(self.at[number]), int(self.size[number])
            goal[self._used : self._used + length] = self.lists[at : at + length]
            self.at[number] = self._used
            self._used += length
        self.lists = goal


Mark = tuple[int, int, int]
"""How many sets, rows and places of lists a stack has."""


class SetStack(_Store):
    """Record sets by number; `mark` and `back_to` forget the newest.

    Sets 0 to m-1 are the kernels' own work space (`treeanon.kernels.tree.structure_check`).
    """

    def __init__(self, records: int, m: int) -> None:
        self.records = records
        self.room = list_room(records)
        self.kind: Tinies = np.zeros(max(64, m), np.int8)
        self.at: Longs = np.zeros(max(64, m), np.int64)
        self.size: Ints = np.zeros(max(64, m), np.int32)
        self.rows: Words = np.zeros((m + 8, (records + 63) // 64), np.uint64)
        self.lists: Ints = np.zeros(m * self.room + 1024, np.int32)
        self.mark: Mark = (m, m, m * self.room)
        self.holds: object = None

    def back_to(self, mark: Mark) -> None:
        """Forget all sets made after the mark."""
        self.mark = mark

    def _make_room(self, sets: int, rows: int, listed: int) -> None:
        sets, rows, listed = (have + more for have, more in zip(self.mark, (sets, rows, listed), strict=True))
        if sets > len(self.kind):
            self.kind, self.at, self.size = (_grown(a, sets) for a in (self.kind, self.at, self.size))
        if rows > len(self.rows):
            self.rows = _grown(self.rows, rows)
        if listed > len(self.lists):
            self.lists = _grown(self.lists, listed)

    def extend(self, sets: SetArrays) -> int:
        """Add the sets; the number of the first of them."""
        kind, at, size, rows, lists = sets
        self._make_room(len(kind), len(rows), len(lists))
        first, row, listed = self.mark
        end = first + len(kind)
        self.kind[first:end], self.size[first:end] = kind, size
        self.at[first:end] = at + np.where(kind == DENSE, row, listed)
        self.rows[row : row + len(rows)] = rows
        self.lists[listed : listed + len(lists)] = lists
        self.mark = (end, row + len(rows), listed + len(lists))
        return first

    def copy(self, number: int) -> int:
        """Return the number of a copy of a set."""
        dense = self.kind[number] == DENSE
        size = int(self.size[number])
        self._make_room(1, 1 if dense else 0, 0 if dense else size)
        new, row, listed = self.mark
        at = int(self.at[number])
        self.kind[new], self.size[new] = self.kind[number], size
        if dense:
            self.at[new] = row
            self.rows[row] = self.rows[at]
            self.mark = (new + 1, row + 1, listed)
        else:
            self.kind[new], self.at[new] = SPARSE, listed
            self.lists[listed : listed + size] = self.lists[at : at + size]
            self.mark = (new + 1, row, listed + size)
        return new


def _grown(array: np.ndarray, needed: int) -> np.ndarray:
    out = np.empty((max(needed, 2 * len(array)), *array.shape[1:]), array.dtype)
    out[: len(array)] = array
    return out
