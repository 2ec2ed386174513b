"""The numbers of persons by the hashes of their keys."""

from __future__ import annotations

import numpy as np

from treeanon.arrays import Ints, Longs


class PersonIndex:
    """The persons of the first file, numbered in the order of its rows; `total` counts those without a key, too."""

    def __init__(self) -> None:
        self.parts: list[tuple[np.ndarray, Ints]] = []
        self.total = 0
        self.high = self.low = np.empty(0, np.uint64)
        self.number: Ints = np.empty(0, np.int32)
        self.run = 0

    def add(self, codes: Ints, digests: np.ndarray) -> Ints:
        """Return the numbers of new persons, given the codes of their digests; -1: a person without a key."""
        found = self.fresh(len(codes))
        self.parts.append((digests[codes[codes >= 0]], found[codes >= 0]))
        return found

    def fresh(self, count: int) -> Ints:
        """Return numbers of persons who have no key."""
        self.total += count
        return np.arange(self.total - count, self.total, dtype=np.int32)

    def close(self) -> int:
        """Make the persons so far ready to be found; return the first whose key one before it has, -1: none."""
        digests = np.concatenate([np.empty((0, 2), np.uint64), *(digests for digests, _ in self.parts)])
        number = np.concatenate([np.empty(0, np.int32), *(number for _, number in self.parts)])
        self.parts = []
        order = np.lexsort((digests[:, 1], digests[:, 0]))
        self.high, self.low, self.number = digests[order, 0], digests[order, 1], number[order]
        same = self.high[1:] == self.high[:-1]
        # How many keys have the same first half, at most: nearly always one.
        edges = np.flatnonzero(np.concatenate([[True], ~same, [True]]))
        self.run = int(np.diff(edges).max(initial=0)) if len(self.high) else 0
        again = self.number[1:][same & (self.low[1:] == self.low[:-1])]
        return int(again.min(initial=np.iinfo(np.int32).max)) if len(again) else -1

    def find(self, digests: np.ndarray) -> Longs:
        """Return the number of the person of each digest, -1 for none."""
        found = np.full(len(digests), -1, np.int64)
        place = np.searchsorted(self.high, digests[:, 0])
        for step in range(self.run):
            at = np.minimum(place + step, len(self.high) - 1)
            fits = (self.high[at] == digests[:, 0]) & (self.low[at] == digests[:, 1])
            found[fits] = self.number[at[fits]]
        return found
