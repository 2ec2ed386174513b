"""Record sets in one store that only grows at its end: what one thread of a search works on."""

from __future__ import annotations

import numpy as np

from treeanon.kernels.tree.forest import Ints, Longs
from treeanon.kernels.tree.record_sets import DENSE, SPARSE, Bytes, Words
from treeanon.kernels.tree.synopsis import Sets

_DENSE_FROM = 64

Mark = tuple[int, int, int]


def list_room(records: int) -> int:
    """The size from which on a record set is a bitmap: then that is not much larger than a list."""
    return records // _DENSE_FROM + 1


class Workspace:
    """Numbered record sets, in the arrays that the kernels read; `mark` and `back_to` forget the newest.

    Sets 0 to m-1 are the kernels' own work space (see `kernels.structure`).
    """

    def __init__(self, records: int, m: int) -> None:
        self.records = records
        self.room = list_room(records)
        self.kind: Bytes = np.zeros(max(64, m), np.int8)
        self.at: Longs = np.zeros(max(64, m), np.int64)
        self.size: Ints = np.zeros(max(64, m), np.int32)
        self.rows: Words = np.zeros((m + 8, (records + 63) // 64), np.uint64)
        self.lists: Ints = np.zeros(m * self.room + 1024, np.int32)
        self.mark: Mark = (m, m, m * self.room)
        self.holds: object = None

    @property
    def arrays(self) -> Sets:
        """The arrays, as kernels take them."""
        return self.kind, self.at, self.size, self.rows, self.lists

    @property
    def nbytes(self) -> int:
        """The memory that the sets take."""
        return sum(array.nbytes for array in self.arrays)

    def back_to(self, mark: Mark) -> None:
        """Forgets all sets made after the mark."""
        self.mark = mark

    def _make_room(self, sets: int, rows: int, listed: int) -> None:
        sets, rows, listed = (have + more for have, more in zip(self.mark, (sets, rows, listed), strict=True))
        if sets > len(self.kind):
            self.kind, self.at, self.size = (_grown(a, sets) for a in (self.kind, self.at, self.size))
        if rows > len(self.rows):
            self.rows = _grown(self.rows, rows)
        if listed > len(self.lists):
            self.lists = _grown(self.lists, listed)

    def extend(self, sets: Sets) -> int:
        """Adds the sets; the number of the first of them."""
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
        """The number of a copy of a set."""
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
