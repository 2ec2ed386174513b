"""The check of a guarantee where no place holds all persons: parts count their sets, and sums over all parts decide.

What persons hold is taken from the trees as the check of one collection takes it. Sets are listed, sorted, and equal
ones added up. The rounds by which an engine finds a release count in another way (`treeanon.spark.spread`); neither
uses the other's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from treeanon.arrays import Flags, Ints, Longs, unique_values
from treeanon.errors import DataError, UsageError
from treeanon.forest import Classes, Forest
from treeanon.kernels.verify import knowledge
from treeanon.kernels.verify.supports import count_pairs, words_of_rows
from treeanon.privacy.guarantee import Guarantee
from treeanon.verifier.signed import PAIR, Lackings
from treeanon.verifier.tree_knowledge import above_of, are_few_pairs, deniable_below, deniable_with, starts_of

_WORD = 62
_NOBODY = 1 << _WORD
"""The first word of a set that nobody holds: no other is so large."""

_MOST = 1 << 21
"""A part hands over what it has counted when it holds so many sets, so that memory stays bounded."""

_AT_ONCE = 2000
"""Records whose sets are listed at once."""

Counts = tuple[Longs, Longs, Longs]
"""The first and the second word of sets, and how many persons hold each."""


@dataclass(frozen=True, eq=False)
class PartCheck:
    """Plan of the count in every part: the labels that an attacker may know, with m and n.

    `number` has the place of a label in `labels`, or -1; `is_known` says of each label whether an attacker may know it;
    `kind_of` has the class of sensitive values, -1 for other labels. `types` and `kinds` are those of whole objects.
    `lackings` says what persons may be known to lack. `is_distinct` says that l-diversity is counted by values left
    without those of one, for which persons are counted by pairs of values, too.
    """

    labels: Ints
    number: Ints
    is_known: Flags
    m: int
    n: int
    kind_of: Ints
    types: int = 0
    kinds: int = 1
    lackings: Lackings | None = None
    nothing_lacking: Lackings | None = None
    is_distinct: bool = False

    @classmethod
    def of(
        cls,
        labels: Ints,
        is_known: Flags,
        guarantee: Guarantee,
        kind_of: Ints | None = None,
        *,
        types: int = 0,
        kinds: int = 1,
        classes: Classes | None = None,
    ) -> PartCheck:
        """Return the check of a guarantee in which these labels may occur; UsageError for one that cannot be parted.

        Negative knowledge and distinct diversity need the `classes` of the labels.
        """
        joint = guarantee.attacker == "joint" and guarantee.m > 2 and guarantee.n > 1
        joint |= guarantee.attacker == "joint" and bool(guarantee.negative) and guarantee.m > 1 and guarantee.n > 0
        is_distinct = guarantee.l > 1 and guarantee.diversity == "distinct"
        if joint or (guarantee.l > 1 and kind_of is None) or ((guarantee.negative or is_distinct) and classes is None):
            raise UsageError("such joint attackers are checked in one place alone")
        number = np.full(len(is_known), -1, np.int32)
        number[labels] = np.arange(len(labels), dtype=np.int32)
        sensitive = np.full(len(is_known), -1, np.int32) if kind_of is None else kind_of
        n = guarantee.n if guarantee.m > 1 else 0
        found = cls(labels, number, is_known, guarantee.m, n, sensitive, types, kinds, is_distinct=is_distinct)
        in_second = max(found.m - _WORD // found.bits, 0) * found.bits
        if in_second + found.relations > _WORD:
            raise UsageError(f"sets of m = {found.m} of {len(labels):,} labels are too many to be counted")
        if classes is None or not (guarantee.negative or is_distinct):
            return found
        lackings = found._lackings_of(guarantee, classes)
        return replace(found, lackings=lackings) if guarantee.negative else replace(found, nothing_lacking=lackings)

    def _lackings_of(self, guarantee: Guarantee, classes: Classes) -> Lackings:
        denied = tuple(classes.index(name) for name in guarantee.negative)
        above = above_of(classes)
        deniable = deniable_with(above, denied) if classes.types else deniable_below(above, denied)
        deniable = deniable if denied else np.zeros_like(above)
        group = np.append(0, classes.class_of[self.labels].astype(np.int64) + 1)
        is_denied = np.isin(group - 1, denied)
        is_denied[0] = False
        return Lackings(is_denied, deniable, group, self.m, self.n, self.bits, self.kinds)

    @property
    def bits(self) -> int:
        """Return the number of bits of a label's number."""
        return max(len(self.labels).bit_length(), 1)

    @property
    def relations(self) -> int:
        """Return the number of relations that a set of m labels can have."""
        return self.kinds * (self.m * (self.m - 1) // 2)

    def sets_of(self, forests: Iterable[Forest]) -> Iterator[Counts]:
        """Yield the sets that the records of a part hold, and how many records hold each; a set may come repeatedly.

        A label that an attacker may know and that is not among those that may occur is a set of its own: nobody's.
        """
        nobody = np.full(1, _NOBODY), np.zeros(1, np.int64), np.zeros(1, np.int64)
        waiting: list[Counts] = []
        pairs = np.zeros((len(self.labels),) * 2 + (1 + self.kinds,), np.int64) if self._of_pairs else None
        for forest in forests:
            if (self.is_known[forest.label] & (self.number[forest.label] < 0)).any():
                yield nobody
            if pairs is not None:
                pairs += self._pairs_of(forest)
                continue
            for start in range(0, len(forest), _AT_ONCE):
                waiting.append(self._counts_of(forest[start : start + _AT_ONCE]))
                if sum(len(one[0]) for one in waiting) > 2 * _MOST:
                    waiting = [self._together(waiting)]
                if len(waiting[0][0]) > _MOST:
                    yield waiting.pop(0)
        if pairs is not None:
            yield self._sets_of_pairs(pairs)
        if waiting:
            yield self._together(waiting)

    @property
    def _of_pairs(self) -> bool:
        return are_few_pairs(len(self.labels), self.kinds, self.m, self.n)

    def _pairs_of(self, forest: Forest) -> np.ndarray:
        """Return the persons of each pair of labels, alone and with each relation; see `count_pairs`."""
        rows = self._rows(forest)
        return count_pairs(*rows, np.ones(len(forest), np.int32), len(self.labels), self.kinds, 0, len(forest))

    def _sets_of_pairs(self, pairs: np.ndarray) -> Counts:
        """Return the sets that are counted in a table of pairs."""
        one, other, kind = np.nonzero(pairs)
        kept = (one == other) & (kind == 0) | (self.m > 1) & (one < other) & (kind <= self.n * self.kinds)
        one, other, kind = one[kept], other[kept], kind[kept]
        first = np.where(one == other, one + 1, one + 1 | other + 1 << self.bits)
        return first, np.where(kind > 0, 1 << np.maximum(kind - 1, 0), 0), pairs[one, other, kind]

    def valued_sets_of(self, forests: Iterable[Forest]) -> Iterator[tuple[int, int, Counts]]:
        """Yield the sets of the persons of a part with each sensitive value, with the value and its class.

        A value of -1 stands for all persons, one of `PAIR` or more for those who hold two. Sets and values may come
        repeatedly.
        """
        for forest in forests:
            everybody = np.arange(len(forest))
            for value, kind, holders in ((-1, -1, everybody), *self._holders(forest)):
                for start in range(0, len(holders), _AT_ONCE):
                    yield value, kind, self._counts_of(forest.take(holders[start : start + _AT_ONCE]))
                if self.lackings is not None:
                    yield value, kind, self._nothing(len(holders))

    def _holders(self, forest: Forest) -> Iterator[tuple[int, int, Longs]]:
        """Yield sensitive values, and pairs of values of one class, with their class and the records that hold them."""
        there = np.flatnonzero(self.kind_of[forest.label] >= 0)
        place = np.repeat(np.arange(len(forest)), np.diff(forest.offsets))[there]
        width = len(self.kind_of)
        place, value = np.divmod(unique_values(place * np.int64(width) + forest.label[there]), width)
        found = [(value, place)]
        for apart in range(1, len(place) if self.is_distinct else 1):
            # The values of a record stand side by side, ascending.
            both = np.flatnonzero(place[apart:] == place[:-apart])
            if not len(both):
                break
            one, other = value[both], value[both + apart]
            alike = self.kind_of[one] == self.kind_of[other]
            found.append(((one[alike] + 1) * PAIR + other[alike], place[both][alike]))
        codes, holders = (np.concatenate(column) for column in zip(*found, strict=True))
        order = np.argsort(codes, kind="stable")
        codes, holders = codes[order], holders[order]
        begins = np.flatnonzero(np.append(True, codes[1:] != codes[:-1])[: len(codes)])
        for code, records in zip(codes[begins].tolist(), np.split(holders, begins[1:]), strict=False):
            yield code, int(self.kind_of[code % PAIR]), records

    def _nothing(self, persons: int) -> Counts:
        """Return the set of nothing, which all hold: those who lack something are taken from them."""
        return np.zeros(1, np.int64), np.zeros(1, np.int64), np.full(1, persons, np.int64)

    def _counts_of(self, forest: Forest) -> Counts:
        first, second = words_of_rows(*self._rows(forest), self.m, self.n, self.bits, self.kinds)
        width = self.m * self.bits
        if width + self.relations > _WORD:
            return self._sorted(first, second, np.ones(len(first), np.int64))
        # Both words fit into one, and numbers are sorted in a tenth of the time that their order takes.
        both, persons = _runs(np.sort(first | second << width))
        return both & (1 << width) - 1, both >> width, persons

    def _rows(self, forest: Forest) -> tuple[Longs, Ints, Longs, Longs]:
        """Return the labels that each record holds, and the relations between them."""
        code, items = self.number, len(self.labels)
        sizes, _ = knowledge.row_sizes(forest.offsets, forest.label, code, items)
        start, absent = starts_of(sizes), np.empty(0, np.int32)
        item = knowledge.distinct_items(forest.offsets, forest.label, code, items, start, absent)
        rel_start = starts_of(self.kinds * sizes * ((sizes.astype(np.int64) + 63) // 64))
        trees = forest.offsets, forest.parent, forest.label, code, items, start, item, sizes, rel_start
        group, parents = forest.classes.class_of + 1, forest.classes.parents
        if self.types:
            holder = np.array([0, *(parent + 1 for parent in parents)], np.int32)
            rel, is_kept = knowledge.object_relations(*trees, group, holder, self.types, self.kinds)
        else:
            rel, _, is_kept = knowledge.relations(*trees, group, above_of(forest.classes))
        if not is_kept:
            raise DataError("the trees do not follow the class tree: a class lies below itself or a class not above it")
        return start, item, rel_start, rel

    def _together(self, counts: list[Counts]) -> Counts:
        return self._sorted(*(np.concatenate(column) for column in zip(*counts, strict=True)))

    def _sorted(self, first: Longs, second: Longs, persons: Longs) -> Counts:
        """Return different sets, ascending, with their persons added up."""
        width = self.m * self.bits
        if width + self.relations <= _WORD:
            order = np.argsort(first | second << width)
        else:
            order = np.lexsort((second, first))
        return add_equal(first[order], second[order], persons[order])


def _runs(ascending: Longs) -> tuple[Longs, Longs]:
    """Return the different ones of ascending numbers, and how often each occurs."""
    begins = np.flatnonzero(np.append(True, ascending[1:] != ascending[:-1])[: len(ascending)])
    return ascending[begins], np.diff(np.append(begins, len(ascending)))


def add_equal(first: Longs, second: Longs, persons: Longs) -> Counts:
    """Return the sets of rows where equal ones stand side by side, with the persons of each added up.

    >>> first, second, persons = np.array([1, 1, 5]), np.array([0, 0, 0]), np.array([2, 3, 4])
    >>> [column.tolist() for column in add_equal(first, second, persons)]
    [[1, 5], [0, 0], [5, 4]]
    """
    if not len(first):
        return first, second, persons
    begins = np.flatnonzero(np.append(True, (first[1:] != first[:-1]) | (second[1:] != second[:-1])))
    return first[begins], second[begins], np.add.reduceat(persons, begins)


@dataclass(frozen=True)
class PartsTotal:
    """Totals over all parts: the least persons of a set (None: no set), the sets, and those too rare."""

    least: int | None
    sets: int
    rare: int


def total_of(counts: Iterator[Counts], k: int) -> Iterator[PartsTotal]:
    """Yield the totals of batches of sorted sets, of which equal ones may go on in the next batch.

    >>> columns = [([1, 2], [0, 0], [4, 1]), ([2], [0], [2])]
    >>> list(total_of(((np.array(a), np.array(b), np.array(c)) for a, b, c in columns), 4))
    [PartsTotal(least=4, sets=1, rare=0), PartsTotal(least=3, sets=1, rare=1)]
    """
    nothing = np.zeros(0, np.int64)
    left: Counts = nothing, nothing, nothing
    for batch in counts:
        first, second, persons = add_equal(*(np.append(a, b) for a, b in zip(left, batch, strict=True)))
        # The last set may go on in the next batch.
        left = first[-1:], second[-1:], persons[-1:]
        yield from _totals(persons[:-1], k)
    yield from _totals(left[2], k)


def _totals(persons: Longs, k: int) -> Iterator[PartsTotal]:
    if len(persons):
        yield PartsTotal(int(persons.min()), len(persons), int((persons < k).sum()))
