"""What is known of hierarchy nodes before any walk begins, whatever else is published.

Rare combinations: why something cannot be published, and which relations are to blame.
"""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from treeanon.algorithms.tree.default.indexed_forest import IndexedForest
from treeanon.algorithms.tree.record_sets import LastingSets
from treeanon.arrays import Flags, Ints, Longs, Shorts
from treeanon.kernels.tree.label_splits import fill_pairs, pair_supports
from treeanon.kernels.tree.object_relations import fill_object_pairs, object_pairs
from treeanon.kernels.tree.record_sets import Relations, Table
from treeanon.privacy import Guarantee

Relation = tuple[int, int, int]
"""Two labels or slots, and the kind of their relation: 0 in merged trees, the depth of the object in whole ones."""

MOST_LABELS = 4096
"""The most labels that tables of their pairs are held for."""

MOST_BYTES = 1 << 30
"""The memory for record sets that all walks share."""

_SELDOM = 256
"""Sets of a label that fewer than one in so many records hold are made when it is published. That is soon done, and
most such labels never are, while pairs of them are most of the sets."""

_VERDICTS = 1 << 20
"""So many verdicts on larger sets are remembered at most; memory that none is written to is not taken."""


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
        self.indexed = indexed
        bounds = [len(indexed) * i // jobs & ~63 for i in range(jobs)] + [len(indexed)]
        with ThreadPoolExecutor(jobs) as pool:
            parts = list(pool.map(lambda i: self._counted(len(frequent), bounds[i], bounds[i + 1]), range(jobs)))
            # Tables of all pairs are large, so each part is added to the one after it, and the last is the whole.
            for (shared, related), (more, more_related) in pairwise(parts):
                more += shared
                more_related += related
            self.shared: Table = parts[-1][0]
            self.related: Relations = parts[-1][1]
            if indexed.types:
                self._pass_over_own(frequent)
            self.label_conflict: Flags = (self.shared > 0) & (self.shared < guarantee.k)
            self.conflict = self.label_conflict
            if guarantee.n > 0:
                rare = (self.related > 0) & (self.related < guarantee.k)
                self.conflict = self.label_conflict | rare.any(axis=2)
            self.lasting: LastingSets | None = None
            self.remembered = np.zeros(_VERDICTS if deep else 0, np.int64)
            """Verdicts on sets of three labels and more, as the kernel keeps them."""
            self.set_of = np.full((*self.shared.shape, indexed.kinds) if deep else (0, 0, 0), -1, np.int32)
            if deep:
                self._make_sets(parts, bounds, pool, len(indexed), jobs)

    @property
    def _trees(self) -> tuple[Longs, Ints | Shorts, Ints | Shorts, Ints, Ints]:
        indexed = self.indexed
        return indexed.offsets, indexed.parent, indexed.label, indexed.above, self.number

    def _counted(self, count: int, start: int, stop: int) -> tuple[Table, Relations]:
        """Return the records of some that hold two labels, and those with their relation of each kind."""
        if self.indexed.types:
            return object_pairs(*self._trees, count, self.indexed.types, self.indexed.kinds, start, stop)
        shared, related = pair_supports(*self._trees, count, True, start, stop)
        return shared, related[:, :, None]

    def _pass_over_own(self, frequent: Longs) -> None:
        """Count no relation of a label with what lies above it in its hierarchy: it says nothing yet of the two."""
        for number, label in enumerate(frequent.tolist()):
            up = int(self.indexed.above[label])
            while up >= 0:
                if self.number[up] >= 0:
                    self.related[number, self.number[up]] = self.related[self.number[up], number] = 0
                up = int(self.indexed.above[up])

    def _make_sets(
        self,
        parts: list[tuple[Table, Relations]],
        bounds: list[int],
        pool: ThreadPoolExecutor,
        records: int,
        jobs: int,
    ) -> None:
        """Make the record sets of labels and of relations that can be published, as long as they fit in memory."""
        often = np.flatnonzero(np.diagonal(self.shared) >= records // _SELDOM)
        among, own = np.ix_(often, often), np.arange(len(often))
        upper = np.tri(len(often), k=-1, dtype=bool).T
        wanted = (self.related[among] > 0) & (upper & ~self.conflict[among])[:, :, None]
        wanted[own, own, 0] = True
        rows, columns, kinds = np.nonzero(wanted)

        def sizes(shared: Table, related: Relations) -> Longs:
            a, b = often[rows], often[columns]
            counted: Longs = np.where(rows == columns, shared[a, b], related[a, b, kinds])
            return counted.astype(np.int64)

        if LastingSets.bytes_for(records, sizes(self.shared, self.related)) > MOST_BYTES:
            rows, columns, kinds = own, own, np.zeros_like(own)
        sets = self.lasting = LastingSets(records, sizes(self.shared, self.related), jobs)
        # Of these labels alone, so that what is looked up for every node stays in the cache.
        set_of = np.full(wanted.shape, -1, np.int32)
        set_of[rows, columns, kinds] = set_of[columns, rows, kinds] = np.arange(len(rows), dtype=np.int32)
        self.set_of[among] = set_of
        number = np.full_like(self.number, -1)
        number[np.flatnonzero(self.number >= 0)[often]] = own
        trees = *self._trees[:-1], number
        # Where each thread begins in a list: after what the threads before it will put there.
        begins = [np.zeros(len(rows), np.int64), *(sizes(*part) for part in parts[:-1])]

        def fill(i: int) -> None:
            arrays = sets.kind, sets.at, sets.rows, sets.lists, begins[i]
            if self.indexed.types:
                fill_object_pairs(*trees, set_of, *arrays, self.indexed.types, bounds[i], bounds[i + 1])
            else:
                fill_pairs(*trees, np.ascontiguousarray(set_of[:, :, 0]), *arrays, bounds[i], bounds[i + 1])

        list(pool.map(fill, range(jobs)))

    @staticmethod
    def fit(indexed: IndexedForest, guarantee: Guarantee) -> bool:
        """Return whether tables of all pairs of frequent labels are worth their memory."""
        return guarantee.m > 1 and int((indexed.held >= guarantee.k).sum()) <= MOST_LABELS

    def record_set(self, a: int, b: int, kind: int = 0) -> int:
        """Return the number of the records where nodes a and b stand in a relation (a = b: that hold a); -1 if not
        made.
        """
        if not len(self.set_of):
            return -1
        return int(self.set_of[self.number[a], self.number[b], kind])


@dataclass
class Rare:
    """Why a label cannot be let out: slots of labels that too few records hold together, and their relations.

    The label itself has slot -1 once it was refused.
    """

    labels: tuple[int, ...]
    relations: tuple[Relation, ...] = ()


def blamed(related: Relations, combinations: list[tuple[Relation, ...]]) -> list[Relation] | None:
    """Return relations of slots that together end all rare combinations; None if one has no relation.

    The relation that ends most of them per record that holds it comes first.
    """
    waiting = [[(min(a, b), max(a, b), d) for a, b, d in combination] for combination in combinations]
    if not all(waiting):
        return None
    chosen = []
    while waiting:
        hits = Counter(pair for combination in waiting for pair in combination)
        best = max(hits, key=lambda pair: (hits[pair] / int(related[pair]), pair))
        chosen.append(best)
        waiting = [combination for combination in waiting if best not in combination]
    return chosen
