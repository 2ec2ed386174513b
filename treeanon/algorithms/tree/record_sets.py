"""A store of record sets: numbered, dense as bitmaps or sparse as sorted lists, whichever is smaller."""

from __future__ import annotations

import numpy as np

from treeanon.kernels.parts import change_bits, without
from treeanon.kernels.record_sets import DENSE, SPARSE
from treeanon.kernels.trees import Ints

_DENSE_FROM = 64
"""A set is a bitmap if it holds at least one in so many records."""


class RecordSets:
    """Record sets by number, in the arrays that the kernels read.

    >>> sets = RecordSets(1000)
    >>> one = sets.add(np.array([3, 5], np.int32))
    >>> sets.size[one], sets.kind[one] == SPARSE
    (2, True)
    """

    def __init__(self, records: int) -> None:
        self.records = records
        self.words = (records + 63) // 64
        self.kind = np.zeros(64, np.int8)
        self.at = np.zeros(64, np.int64)
        self.size = np.zeros(64, np.int32)
        self.lasting = np.zeros(64, bool)
        self.rows = np.zeros((16, max(self.words, 1)), np.uint64)
        self.lists = np.zeros(1024, np.int32)
        self._free_numbers = list(range(63, -1, -1))
        self._free_rows = list(range(15, -1, -1))
        self._used = 0
        self._garbage = 0

    @property
    def nbytes(self) -> int:
        """The memory that the sets take."""
        return self.rows.nbytes + self.lists.nbytes

    def new(self, size: int) -> int:
        """The number of a new set with room for `size` records: all zeros if dense, not yet filled if sparse."""
        if not self._free_numbers:
            count = len(self.kind)
            self.kind, self.at, self.size, self.lasting = (
                np.concatenate([a, np.zeros_like(a)]) for a in (self.kind, self.at, self.size, self.lasting)
            )
            self._free_numbers = list(range(2 * count - 1, count - 1, -1))
        number = self._free_numbers.pop()
        self.size[number] = size
        if size * _DENSE_FROM >= self.records:
            self.kind[number], self.at[number] = DENSE, self._new_row()
        else:
            self.kind[number], self.at[number] = SPARSE, -1
            self.at[number] = self._room(size)
        return number

    def add(self, records: Ints) -> int:
        """The number of a new set of these ascending records."""
        number = self.new(len(records))
        at = int(self.at[number])
        if self.kind[number] == DENSE:
            change_bits(self.rows, at, records, True)
        else:
            self.lists[at : at + len(records)] = records
        return number

    def drop(self, number: int) -> None:
        """Gives a set up, unless it is a lasting one."""
        if self.lasting[number]:
            return
        if self.kind[number] == DENSE:
            self._free_rows.append(int(self.at[number]))
        else:
            self._garbage += int(self.size[number])
            self.kind[number] = DENSE  # not a list to be kept
        self.at[number] = -1
        self._free_numbers.append(number)

    def lessen(self, number: int, gone: Ints) -> int:
        """The number of the set without the ascending `gone`: itself if dense, else (or if lasting) a new one beside it."""
        size = int(self.size[number])
        if self.kind[number] == DENSE and not self.lasting[number]:
            change_bits(self.rows, int(self.at[number]), gone, False)
            self.size[number] -= len(gone)
            return number
        if self.kind[number] == DENSE:
            smaller = self.new(size)
            self.rows[self.at[smaller]] = self.rows[self.at[number]]
            change_bits(self.rows, int(self.at[smaller]), gone, False)
            self.size[smaller] -= len(gone)
            return smaller
        smaller = self.new(size - len(gone))
        without(self.lists, int(self.at[number]), size, gone, int(self.at[smaller]))
        return smaller

    def restore(self, number: int, smaller: int, gone: Ints) -> None:
        """Takes `lessen` back."""
        if number == smaller:
            change_bits(self.rows, int(self.at[number]), gone, True)
            self.size[number] += len(gone)
        else:
            self.drop(smaller)

    def _new_row(self) -> int:
        if not self._free_rows:
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
        if self._used + size > len(self.lists):
            self._tidy(size)
        start = self._used
        self._used += size
        return start

    def _tidy(self, size: int) -> None:
        """Makes room at the end of the lists: closes gaps if there are many, and grows."""
        live = np.flatnonzero((self.kind == SPARSE) & (self.at >= 0) & (self.size > 0)).tolist()
        needed = self._used + size if 2 * self._garbage < self._used else int(self.size[live].sum()) + size
        lists = np.empty(max(len(self.lists), needed + needed // 2), np.int32)
        if 2 * self._garbage < self._used:
            lists[: self._used] = self.lists[: self._used]
        else:
            filled = 0
            for number in live:
                at, length = int(self.at[number]), int(self.size[number])
                lists[filled : filled + length] = self.lists[at : at + length]
                self.at[number] = filled
                filled += length
            self._used, self._garbage = filled, 0
        self.lists = lists
