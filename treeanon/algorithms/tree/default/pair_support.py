"""What is known of hierarchy nodes before any walk begins, whatever else is published.

Rare combinations: why something cannot be published, and which relations are to blame.
"""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from treeanon.algorithms.tree.default.indexed_forest import IndexedForest
from treeanon.algorithms.tree.default.record_sets import LastingSets
from treeanon.arrays import Flags, Ints, Longs
from treeanon.kernels.tree.label_splits import fill_pairs, pair_supports
from treeanon.kernels.tree.rare_sets import Table
from treeanon.privacy import Guarantee

MOST_LABELS = 4096
"""The most labels that tables of their pairs are held for."""

MOST_BYTES = 1 << 30
"""The memory for record sets that all walks share."""


class PairSupports:
    """What holds of hierarchy nodes whatever else is published: which records hold two of them, or their relation.

    A walk need not look at the data for labels from which nothing was let out. Two nodes that fewer than k records
    hold together can never both be published: where they are parted further, the parts are rarer still.
    """

    def __init__(self, indexed: IndexedForest, guarantee: Guarantee, jobs: int = 1, *, deep: bool = False) -> None:
        """Counted by so many threads; the record sets are made too if the check goes `deep`."""
        frequent = np.flatnonzero(indexed.held >= guarantee.k)
        self.number = np.full(len(indexed.above), -1, np.int32)
        self.number[frequent] = np.arange(len(frequent), dtype=np.int32)
        trees = indexed.offsets, indexed.parent, indexed.label, indexed.above, self.number
        bounds = [len(indexed) * i // jobs & ~63 for i in range(jobs)] + [len(indexed)]
        with ThreadPoolExecutor(jobs) as pool:
            parts = list(
                pool.map(lambda i: pair_supports(*trees, len(frequent), True, bounds[i], bounds[i + 1]), range(jobs))
            )
            self.shared: Table = np.sum([shared for shared, _ in parts], axis=0, dtype=np.int32)
            self.related: Table = np.sum([related for _, related in parts], axis=0, dtype=np.int32)
            self.label_conflict: Flags = (self.shared > 0) & (self.shared < guarantee.k)
            self.conflict = self.label_conflict
            if guarantee.n > 0:
                self.conflict = self.label_conflict | ((self.related > 0) & (self.related < guarantee.k))
            self.lasting: LastingSets | None = None
            self.set_of = np.full((len(frequent),) * 2 if deep else (0, 0), -1, np.int32)
            if deep:
                self._make_sets(trees, parts, bounds, pool, len(indexed), jobs)

    def _make_sets(
        self,
        trees: tuple[Longs, Ints, Ints, Ints, Ints],
        parts: list[tuple[Table, Table]],
        bounds: list[int],
        pool: ThreadPoolExecutor,
        records: int,
        jobs: int,
    ) -> None:
        """Make the record sets of labels and of relations that can be published, as long as they fit in memory."""
        wanted = np.triu(self.related * ~self.conflict).astype(np.int64)
        np.fill_diagonal(wanted, self.shared.diagonal())
        if LastingSets.bytes_for(records, wanted[wanted > 0]) > MOST_BYTES:
            wanted *= np.eye(len(wanted), dtype=bool)
        rows, columns = np.nonzero(wanted)
        self.set_of[rows, columns] = self.set_of[columns, rows] = np.arange(len(rows), dtype=np.int32)
        sets = self.lasting = LastingSets(records, wanted[rows, columns], jobs)
        # Where each thread begins in a list: after what the threads before it will put there.
        begins, filled = [], np.zeros(len(rows), np.int64)
        for shared, related in parts:
            begins.append(filled.copy())
            filled += np.where(rows == columns, shared[rows, columns], related[rows, columns])
        arrays = self.set_of, sets.kind, sets.at, sets.rows, sets.lists
        list(pool.map(lambda i: fill_pairs(*trees, *arrays, begins[i], bounds[i], bounds[i + 1]), range(jobs)))

    @staticmethod
    def fit(indexed: IndexedForest, guarantee: Guarantee) -> bool:
        """Return whether tables of all pairs of frequent labels are worth their memory."""
        return guarantee.m > 1 and int((indexed.held >= guarantee.k).sum()) <= MOST_LABELS

    def record_set(self, a: int, b: int) -> int:
        """Return the number of the records where nodes a and b stand in a relation (a = b: that hold a); -1 if not
        made.
        """
        if not len(self.set_of):
            return -1
        return int(self.set_of[self.number[a], self.number[b]])


@dataclass
class Rare:
    """Why a label cannot be let out: slots of labels that too few records hold together, and their relations.

    The label itself has slot -1 once it was refused.
    """

    labels: tuple[int, ...]
    relations: tuple[tuple[int, int], ...] = ()


def blamed(related: Table, combinations: list[tuple[tuple[int, int], ...]]) -> list[tuple[int, int]] | None:
    """Return relations of slots that together end all rare combinations; None if one has no relation.

    The relation that ends most of them per record that holds it comes first.
    """
    waiting = [[(min(pair), max(pair)) for pair in combination] for combination in combinations]
    if not all(waiting):
        return None
    chosen = []
    while waiting:
        hits = Counter(pair for combination in waiting for pair in combination)
        best = max(hits, key=lambda pair: (hits[pair] / int(related[pair]), pair))
        chosen.append(best)
        waiting = [combination for combination in waiting if best not in combination]
    return chosen
