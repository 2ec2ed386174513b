"""The rounds' count of negative knowledge: sets of which something is known to be lacking, from counted sets.

(Section III-G of O. Gkountouna and M. Terrovitis, "Anonymizing collections of tree-structured data", IEEE TKDE 2015.)
Spark brings every counted set to each set P that it holds more than; there persons who hold P and lack Q are counted by
inclusion and exclusion. Only sets Q that nearly all who hold P have one of can be rare, and no others are looked at.
The check of what was written (`treeanon.verifier.signed`) shares nothing with this.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from treeanon.arrays import Longs
from treeanon.kernels.tree.signed import with_surplus
from treeanon.kernels.tree.spread import set_of_words
from treeanon.spark.records import Batches, batch_of, map_batches
from treeanon.spark.spread import Spread

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

EVERYBODY = 0
"""The value of rows that count all persons of a set, beside those that count the persons with a sensitive value."""

_BESIDE = "value long, first long, second long, more long, rest long, persons long"
_FOUND = "what int, first long, second long, more long, rest long, persons long"
_RARE, _SINGLE, _OTHER, _LEAST, _SETS, _RARE_SETS = range(6)

_PAIR = 1 << 32
"""The value of rows that count the persons with two sensitive values is the smaller times this, plus the other."""

Surplus = frozenset[tuple[str, int]]
"""Labels and relations that a set has more than another: ("label", number plus 1) and ("relation", bit)."""


@dataclass(frozen=True, eq=False)
class Diversity:
    """What diversity is wanted: l, by the share of a value or by `is_distinct` values.

    `class_of` has the class of every sensitive label, -1 for others.
    """

    l: int = 1  # noqa: E741 - its name in the literature
    class_of: Longs = field(default_factory=lambda: np.empty(0, np.int64))
    is_distinct: bool = False

    def pair(self, one: Longs, other: Longs) -> Longs:
        """Return the number that stands for those who hold both of two values."""
        found: Longs = np.minimum(one, other) * _PAIR + np.maximum(one, other)
        return found

    def fails(self, persons: Mapping[int, int], less: int = 0) -> bool:
        """Return whether some persons, by value, are not diverse, or may not be if any `less` of them go."""
        single = [value for value, many in persons.items() if EVERYBODY < value < _PAIR and many > 0]
        if not self.is_distinct:
            return any(persons[value] * self.l > persons[EVERYBODY] - less for value in single)
        left: dict[int, int] = {}
        for value in single:
            own = int(self.class_of[value])
            left[own] = left.get(own, 0) + (persons[value] > less)
        # Those who hold one value of two: of which others are too few.
        lost = {value: int(persons[value] > less) for value in single}
        for pair, both in persons.items():
            if pair < _PAIR or not both:
                continue
            for one, other in (divmod(pair, _PAIR), divmod(pair, _PAIR)[::-1]):
                lost[one] += persons[other] > less and persons[other] - both <= less
        return any(left[int(self.class_of[value])] - lost[value] < self.l for value in single)


@dataclass(frozen=True)
class SignedSet:
    """A set that is rare or not diverse: its labels (lacking ones last), relations, and persons.

    `lacks` says that labels or relations are known to be lacking; then `relations` are only those that are there.
    """

    labels: tuple[int, ...]
    relations: tuple[tuple[int, int, int], ...]
    persons: int
    lacks: bool


@dataclass(frozen=True)
class Judged:
    """What was found in all partitions; `sums` are the persons of rows that are no sets, by their two words."""

    least: int | None
    sets: int
    rare_sets: int
    rare: tuple[SignedSet, ...]
    held: Mapping[int, int]
    sums: Mapping[tuple[int, int], int]


def judged(summed: DataFrame, spread: Spread, k: int, most: int, wanted: Diversity | None = None) -> Judged:
    """Return what of counted sets, and of sets with something lacking, fewer than k persons hold, or is not diverse.

    `summed` has the first and second word of sets and their persons, and for diversity a value. Words below 0 stand for
    rows that are no sets; the set of no labels counts all persons. At most `most` rare sets are returned.
    """
    from pyspark.sql import functions as f

    shared = summed.sparkSession.sparkContext.broadcast((spread, wanted))
    given = summed if "value" in summed.columns else summed.withColumn("value", f.lit(EVERYBODY))
    given = given.select("value", "first", "second", "persons")
    beside = map_batches(given, partial(_listed, shared=shared), _BESIDE)
    together = beside.repartition("first", "second").sortWithinPartitions("first", "second")
    table = map_batches(together, partial(_judged, shared=shared, k=k, most=most), _FOUND).toArrow()
    what, first, second, more, rest, persons = (column.to_numpy() for column in table.columns)
    rare = what == _RARE
    order = np.flatnonzero(rare)[np.lexsort((rest[rare], more[rare], second[rare], first[rare]))][:most]
    columns = (first[order], second[order], more[order], rest[order], persons[order])
    single, other, least = what == _SINGLE, what == _OTHER, persons[what == _LEAST]
    return Judged(
        int(least.min()) if len(least) else None,
        int(persons[what == _SETS].sum()),
        int(persons[what == _RARE_SETS].sum()),
        tuple(_named(spread, *map(int, row)) for row in zip(*columns, strict=True)),
        {int(spread.labels[int(a) - 1]): int(p) for a, p in zip(first[single], persons[single], strict=True)},
        {(int(a), int(b)): int(p) for a, b, p in zip(first[other], second[other], persons[other], strict=True)},
    )


def _named(spread: Spread, first: int, second: int, more: int, rest: int, persons: int) -> SignedSet:
    labels, relations = spread.decode(first, second)
    lacking = spread.decode(more, rest & _labels_alone(spread))[0]
    return SignedSet(labels + lacking, relations, persons, bool(more or rest))


def _shift(spread: Spread) -> int:
    """Return where in the second word the bits of relations begin."""
    return max(spread.m - 62 // spread.bits, 0) * spread.bits


def _labels_alone(spread: Spread) -> int:
    return (1 << _shift(spread)) - 1


def _listed(batches: Batches, shared: Any) -> Iterator[pa.RecordBatch]:
    """Yield every counted set beside the sets that it holds more than."""
    spread, _ = shared.value
    signs = spread.signs
    for batch in batches:
        value, first, second, persons = (column.to_numpy() for column in batch.columns)
        for i in range(0, len(first), 1 << 14):
            some = slice(i, i + (1 << 14))
            is_set = first[some] >= 0
            words, owner = with_surplus(
                first[some][is_set], second[some][is_set], spread.m, spread.bits, spread.kinds, signs.negative,
                signs.deniable, signs.group,
            )  # fmt: skip
            yield batch_of(_BESIDE, value[some][is_set][owner], *words.T.copy(), persons[some][is_set][owner])
            rest = np.zeros(int((~is_set).sum()), np.int64)
            yield batch_of(
                _BESIDE, value[some][~is_set], first[some][~is_set], second[some][~is_set], rest, rest,
                persons[some][~is_set],
            )  # fmt: skip


def whole_groups(batches: Batches) -> Iterator[tuple[np.ndarray, Longs]]:
    """Yield the columns of some rows, and where the rows of each set begin; all rows of a set come together."""
    left = np.empty((6, 0), np.int64)
    for batch in batches:
        columns = np.concatenate([left, np.stack([column.to_numpy() for column in batch.columns])], axis=1)
        begins = _begins(columns)
        if len(begins) > 1:
            yield columns[:, : begins[-1]], begins[:-1]
            columns = columns[:, begins[-1] :]
        left = columns
    if left.shape[1]:
        yield left, _begins(left)


def _begins(columns: np.ndarray) -> Longs:
    keys = columns[1:3]
    return np.flatnonzero(np.append(True, (keys[:, 1:] != keys[:, :-1]).any(axis=0)))


def _judged(batches: Batches, shared: Any, k: int, most: int) -> Iterator[pa.RecordBatch]:
    """Yield the rare sets of a partition, its single labels, its rows that are no sets, and its totals."""
    spread, wanted = shared.value
    totals = {_LEAST: np.iinfo(np.int64).max, _SETS: 0, _RARE_SETS: 0}
    kept = np.empty((5, 0), np.int64)
    for columns, begins in whole_groups(batches):
        value, first, second, more, rest, persons = columns
        is_base = (more == 0) & (rest == 0) & (value == EVERYBODY)
        other, sets = is_base & (first < 0), is_base & (first > 0)
        yield batch_of(_FOUND, np.full(int(other.sum()), _OTHER), *columns[1:, other])
        single = sets & (second == 0) & (first < 1 << spread.bits)
        yield batch_of(_FOUND, np.full(int(single.sum()), _SINGLE), *columns[1:, single])
        found = [columns[1:, sets & (persons < k)]] if wanted is None else []
        if sets.any():
            totals[_LEAST] = min(totals[_LEAST], int(persons[sets].min()))
            totals[_SETS] += int(sets.sum())
        for begin, end in _in_question(columns, begins, spread, k, wanted):
            group = _Group(spread, columns[:, begin:end])
            rare = [*(group.rare(k) if wanted is None else group.not_diverse(wanted))]
            totals[_LEAST] = min([totals[_LEAST], *(row[-1] for row in rare)])
            found.append(np.array(rare, np.int64).reshape(-1, 5).T)
        totals[_RARE_SETS] += sum(part.shape[1] for part in found)
        kept = np.concatenate([kept, *found], axis=1)
        if kept.shape[1] > most:
            kept = kept[:, np.lexsort(kept[3::-1])[:most]]
    yield batch_of(_FOUND, np.full(kept.shape[1], _RARE), *kept)
    if totals[_SETS]:
        nothing = [0] * len(totals)
        yield batch_of(_FOUND, list(totals), nothing, nothing, nothing, nothing, list(totals.values()))


def _in_question(
    columns: np.ndarray, begins: Longs, spread: Spread, k: int, wanted: Diversity | None
) -> Iterator[tuple[int, int]]:
    """Yield where the rows of sets begin and end of which something lacking can be rare, or not diverse."""
    value, first, _, more, rest, persons = columns
    is_base, all_of = (more == 0) & (rest == 0), value == EVERYBODY
    everybody = np.maximum.reduceat(np.where(is_base & all_of, persons, 0), begins)
    of_value = np.maximum.reduceat(np.where(is_base & ~all_of, persons, 0), begins)
    most = np.maximum.reduceat(np.where(~is_base & all_of, persons, 0), begins)
    # No more than m labels and n relations can be lacking, each of which at most so many hold.
    left = everybody - (spread.m + spread.n) * most
    if wanted is None:
        asked = (left < k) & (most > 0)
    else:
        asked = (of_value > 0) & (wanted.is_distinct | (left < of_value * wanted.l))
    ends = np.append(begins[1:], columns.shape[1])
    for at in np.flatnonzero(asked & (first[begins] >= 0)).tolist():
        yield int(begins[at]), int(ends[at])


class _Group:
    """The persons who hold a set P, by what they hold more and by sensitive value."""

    def __init__(self, spread: Spread, columns: np.ndarray) -> None:
        self.spread, self.shift = spread, _shift(spread)
        self.first, self.second = int(columns[1, 0]), int(columns[2, 0])
        labels, relations = set_of_words(self.first, self.second, spread.m, spread.bits, spread.kinds)
        self.room = {"label": spread.m - len(labels), "relation": spread.n - len(relations)}
        self.persons: dict[int, dict[Surplus, int]] = {EVERYBODY: {}}
        for value, _, _, more, rest, persons in columns.T.tolist():
            self.persons.setdefault(value, {})[self._surplus(more, rest)] = persons

    def _surplus(self, more: int, rest: int) -> Surplus:
        spread = self.spread
        lacking, _ = set_of_words(more, rest & _labels_alone(spread), spread.m, spread.bits, spread.kinds)
        mask = rest >> self.shift
        bits = [bit for bit in range(mask.bit_length()) if mask >> bit & 1]
        return frozenset([*(("label", place + 1) for place in lacking), *(("relation", bit) for bit in bits)])

    def rare(self, k: int) -> Iterator[tuple[int, int, int, int, int]]:
        """Yield what is lacking and rare: the words of P and of what is lacking, and the persons."""
        everybody = self.persons[EVERYBODY]
        for lacking in self._lacking(everybody[frozenset()] - k):
            if 0 < (persons := _without(everybody, lacking)) < k:
                yield self.first, self.second, *self._words(lacking), persons

    def not_diverse(self, wanted: Diversity) -> Iterator[tuple[int, int, int, int, int]]:
        """Yield what is lacking and not diverse, in the same form; P itself among it, of which nothing is lacking."""
        held = {value: of.get(frozenset(), 0) for value, of in self.persons.items()}
        if wanted.fails(held):
            yield self.first, self.second, 0, 0, held[EVERYBODY]
        if len(self.persons[EVERYBODY]) == 1:
            return
        # As many may go, whoever they are.
        spare = bisect_left(range(held[EVERYBODY]), True, key=lambda less: wanted.fails(held, less)) - 1
        for lacking in self._lacking(spare):
            left = {value: _without(of, lacking) for value, of in self.persons.items()}
            if wanted.fails(left):
                yield self.first, self.second, *self._words(lacking), left[EVERYBODY]

    def _lacking(self, spare: int) -> Iterator[tuple[tuple[str, int], ...]]:
        """Yield what may be lacking so that fewer are left than are needed: more than `spare` hold some of it."""
        everybody = self.persons[EVERYBODY]
        single = sorted((one for one in everybody if len(one) == 1), key=lambda one: (-everybody[one], sorted(one)))
        elements = [(next(iter(one)), everybody[one]) for one in single]

        def grown(chosen: tuple[tuple[str, int], ...], held: int, start: int, room: int) -> Iterator[Any]:
            for at in range(start, len(elements)):
                element, persons = elements[at]
                # Those that follow are held by no more.
                if held + room * persons <= spare:
                    return
                wider = (*chosen, element)
                if sum(kind == element[0] for kind, _ in wider) > self.room[element[0]]:
                    continue
                if held + persons > spare:
                    yield wider
                if room > 1:
                    yield from grown(wider, held + persons, at + 1, room - 1)

        yield from grown((), 0, 0, sum(self.room.values()))

    def _words(self, lacking: tuple[tuple[str, int], ...]) -> tuple[int, int]:
        bits, per_word = self.spread.bits, 62 // self.spread.bits
        more = rest = 0
        for at, code in enumerate(sorted(code for kind, code in lacking if kind == "label")):
            if at < per_word:
                more |= code << at * bits
            else:
                rest |= code << (at - per_word) * bits
        for kind, bit in lacking:
            rest |= 1 << bit + self.shift if kind == "relation" else 0
        return more, rest


def _without(persons: Mapping[Surplus, int], lacking: tuple[tuple[str, int], ...]) -> int:
    """Return the persons who hold nothing of what is lacking."""
    parts = chain.from_iterable(combinations(lacking, size) for size in range(len(lacking) + 1))
    return sum((-1) ** len(part) * persons.get(frozenset(part), 0) for part in parts)
