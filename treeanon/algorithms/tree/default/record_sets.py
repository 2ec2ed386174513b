"""A store of record sets: numbered, dense as bitmaps or sparse as sorted lists, whichever is smaller."""

from __future__ import annotations

import numpy as np

from treeanon.arrays import Flags, Ints, Longs
from treeanon.kernels.tree.label_splits import change_bits, without
from treeanon.kernels.tree.record_sets import DENSE, SPARSE

_DENSE_FROM = 64
"""A set is a bitmap if it holds at least one in so many records."""

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


class RecordSets:
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
