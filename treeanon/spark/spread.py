"""The counter of the rounds: sets of labels and relations part by part, in numbers that all parts share.

Sums over all parts give the support of every set of labels and relations, exactly. What is written in the end is
counted again by the verifier (`treeanon.verifier.parts`), which shares nothing with this.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from treeanon.arrays import Flags, Ints, Longs
from treeanon.errors import UsageError
from treeanon.forest import Forest
from treeanon.forest.classes import Classes
from treeanon.kernels.tree.spread import (
    Table,
    count_object_pairs,
    count_pairs,
    count_sets,
    fits,
    holdings,
    needed,
    set_of_words,
    table_of,
    words_of_set,
)
from treeanon.privacy.guarantee import Guarantee, Roles

_FULL = 1 << 21
"""A part hands over what it has counted when it holds so many sets, so that memory stays bounded."""

Relation = tuple[int, int, int]
"""Two labels, and the kind of their relation: 0 in merged trees, the depth of the object where objects stay whole."""

_AT_ONCE = 2000
"""So many records are counted before it is looked how many sets there are."""


@dataclass(frozen=True, eq=False)
class Signs:
    """What an attacker may know to be lacking, of labels by their numbers.

    `negative` says whether a person may be known to lack a label; deniable[a, b] says it of a relation of labels in the
    groups a and b, of which the first has the smaller number. `group` is the class of a label, counted from 1.
    """

    negative: Flags
    group: Longs
    deniable: Flags

    @classmethod
    def of(cls, labels: Ints, classes: Classes, roles: Roles) -> Signs:
        """Return the signs of labels; of none if no class is negative."""
        group = classes.class_of[labels].astype(np.int64) + 1
        deniable = np.zeros((len(classes.names) + 1,) * 2, bool)
        for index in roles.negative:
            if classes.types:
                # No object that holds a value holds another: which is which makes no difference.
                deniable[1 + index, 1:] = deniable[1:, 1 + index] = True
                continue
            above = classes.parents[index]
            while above >= 0:
                deniable[1 + above, 1 + index] = True
                above = classes.parents[above]
        return cls(np.isin(group - 1, roles.negative), group, deniable)


@dataclass(frozen=True, eq=False)
class Spread:
    """Plan of the count: the labels that an attacker may know, numbered alike in all parts, with m and n.

    `number` has the place of a label in `labels`, or -1. `types` and `kinds` are those of whole objects. With `signs`
    it is also judged what persons lack.
    """

    labels: Ints
    number: Ints
    m: int
    n: int
    types: int = 0
    kinds: int = 1
    signs: Signs | None = None

    @classmethod
    def of(
        cls,
        labels: Ints,
        all_labels: int,
        guarantee: Guarantee,
        *,
        types: int = 0,
        kinds: int = 1,
        signs: Signs | None = None,
    ) -> Spread:
        """Return the plan of a guarantee over these labels; UsageError if it cannot be distributed."""
        refuse_unspreadable(guarantee)
        number = np.full(all_labels, -1, np.int32)
        number[labels] = np.arange(len(labels), dtype=np.int32)
        spread = cls(labels, number, guarantee.m, guarantee.n if guarantee.m > 1 else 0, types, kinds, signs)
        if not fits(spread.m, spread.bits, kinds):
            raise UsageError(f"sets of m = {spread.m} of {len(labels):,} labels are too many to be counted")
        return spread

    @property
    def bits(self) -> int:
        """Return the number of bits of a label's number."""
        return max(len(self.labels).bit_length(), 1)

    def given(self, forest: Forest) -> tuple[Longs, Ints, Ints, Ints, int, int, int, int, int, int]:
        """Return the trees of some records, and how they are to be counted."""
        trees = forest.offsets, forest.parent, forest.label
        how = self.m, self.n, self.bits, self.types, self.kinds
        return *trees, self.number, len(self.labels), *how

    def encode(self, labels: tuple[int, ...], relations: tuple[Relation, ...]) -> tuple[int, int] | None:
        """Return the words of a set; None if one of its labels is not counted."""
        numbers = self.number[list(labels)].tolist()
        if min(numbers) < 0:
            return None
        place = {label: at for at, label in enumerate(labels)}
        related = tuple((place[a], place[b], kind) for a, b, kind in relations)
        return words_of_set(tuple(numbers), related, self.m, self.bits, self.kinds)

    def decode(self, first: int, second: int) -> tuple[tuple[int, ...], tuple[Relation, ...]]:
        """Return the labels and relations of a counted set."""
        places, related = set_of_words(first, second, self.m, self.bits, self.kinds)
        labels = tuple(int(self.labels[place]) for place in places)
        return labels, tuple((labels[i], labels[j], kind) for i, j, kind in related)


def refuse_unspreadable(guarantee: Guarantee) -> None:
    """Raise UsageError for a guarantee that only the local engine can count."""
    if guarantee.attacker == "joint" and guarantee.negative and guarantee.m > 1 and guarantee.n > 0:
        raise UsageError(
            "negative knowledge of a joint attacker is not counted by an engine beside the local one; without"
            " relations (n = 0), or of an independent attacker, it is"
        )
    if guarantee.attacker == "joint" and guarantee.m > 2 and guarantee.n > 1:
        raise UsageError("a joint attacker who knows m > 2 and n > 1 is not counted by an engine beside the local one")


@dataclass(frozen=True, eq=False)
class Outliers:
    """Sets of published labels and relations whose holders are left out."""

    spread: Spread
    table: Table

    @classmethod
    def of(cls, spread: Spread, sets: Iterable[tuple[tuple[int, ...], tuple[Relation, ...]]]) -> Outliers | None:
        """Return the outliers of sets of labels and relations, without those that are not published any more."""
        words = [found for labels, relations in sets if (found := spread.encode(labels, relations)) is not None]
        if not words:
            return None
        first, second = np.array(words, np.int64).T.copy()
        return cls(spread, table_of(first, second))

    def among(self, forest: Forest) -> Flags:
        """Return which published records hold one of the sets."""
        found = np.zeros(len(forest), bool)
        found[self.holdings(forest)[0]] = True
        return found

    def holdings(self, forest: Forest) -> tuple[Longs, Longs]:
        """Return published records and the numbers (from 0) of the sets that they hold."""
        rows, many = holdings(*self.spread.given(forest), self.table)
        return rows[:many, 0], rows[:many, 1] - 1


_MOST_CELLS = 1 << 22
"""Pairs of so many labels are counted in a table of all."""


def counter_of(spread: Spread) -> SpreadCounter | PairCounter:
    """Return a counter of the sets of one part of the records."""
    return PairCounter(spread) if PairCounter.fits(spread) else SpreadCounter(spread)


class PairCounter:
    """Counter of sets that are no more than pairs of few labels, with one relation at most."""

    def __init__(self, spread: Spread) -> None:
        self.spread, size = spread, len(spread.labels)
        self.shared = np.zeros((size, size), np.int32)
        self.related = np.zeros((size, size, spread.kinds), np.int32)

    @staticmethod
    def fits(spread: Spread) -> bool:
        """Return whether the sets of a plan are of that kind."""
        cells = len(spread.labels) ** 2 * (1 + spread.kinds)
        return spread.m <= 2 and (spread.n <= 1 or spread.kinds == 1) and cells <= _MOST_CELLS

    def add_all(self, forest: Forest) -> Iterator[Table]:
        """Count the records of a batch; there are never too many sets to wait."""
        own = self.spread.number[forest.label]
        nothing = np.full(len(own), -1, np.int32)
        if self.spread.types:
            trees = forest.offsets, forest.parent, forest.label
            count_object_pairs(*trees, own, nothing, self.spread.types, self.shared, self.related)
        else:
            count_pairs(forest.offsets, forest.parent, own, nothing, self.shared, self.related)
        return iter(())

    def taken(self) -> Table:
        """Return the sets: rows of two words and the number of holders."""
        spread = self.spread
        shared = np.triu(self.shared) if spread.m > 1 else np.diag(self.shared.diagonal())
        one, other = np.nonzero(shared)
        found = [(one, other, np.zeros(len(one), np.int64), shared[one, other])]
        if spread.n:
            one, other, kind = np.nonzero(self.related)
            found.append((one, other, 1 << kind, self.related[one, other, kind]))
        one, other, second, persons = map(np.concatenate, zip(*found, strict=True))
        first = np.where(one == other, one + 1, one + 1 | other + 1 << spread.bits)
        return np.stack([first, second, persons], axis=1).astype(np.int64)


class SpreadCounter:
    """Counter of the sets of one part of the records, batch by batch."""

    def __init__(self, spread: Spread) -> None:
        self.spread = spread
        self._clear()

    def _clear(self) -> None:
        self.table: Table = np.zeros((1 << 8, 3), np.int64)
        self.used = 0

    def add(self, forest: Forest) -> None:
        """Count the sets of some records."""
        self.table, self.used = count_sets(*self.spread.given(forest), self.table, self.used)

    def add_all(self, forest: Forest) -> Iterator[Table]:
        """Count the records of a batch; yield the counts whenever they are many."""
        for start in range(0, len(forest), _AT_ONCE):
            self.add(forest[start : start + _AT_ONCE])
            if self.used >= _FULL:
                yield self.taken()

    def needed(self, forest: Forest, least: int) -> Flags:
        """Return which records are needed for `least` holders of every set, given those needed before."""
        flags, self.table, self.used = needed(*self.spread.given(forest), self.table, self.used, least)
        return flags

    def taken(self) -> Table:
        """Return the sets counted since the last call: rows of two words and the number of holders."""
        found = self.table[self.table[:, 2] > 0]
        self._clear()
        return found
