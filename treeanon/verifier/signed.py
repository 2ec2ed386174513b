"""What persons lack, checked where no place holds all persons: from the sums of sets that parts have counted.

(Negative knowledge: Section III-G of O. Gkountouna and M. Terrovitis, "Anonymizing collections of tree-structured
data", IEEE TKDE 2015.) Beside every set P lie all counted sets that hold more, by what they hold more. Who holds P and
lacks an element of these are those who hold P less those who hold the element, too; and so on with the next, in what is
left.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from treeanon.arrays import Flags, Longs

_WORD = 62
ALL = -1
"""The class and the value of rows that count all persons of a set, not those who hold a sensitive value."""

PAIR = 1 << 31
"""The value of rows that count persons who hold two values is the first plus 1, times this, plus the other."""

Table = dict[int, dict[frozenset[int], int]]
"""By value: persons by what they hold more than a set: codes of labels, and bits of relations as numbers below 0."""


@dataclass(frozen=True, eq=False)
class Lackings:
    """What may be known to be lacking, of codes of labels (their numbers plus 1), and how sets are written as words.

    deniable[a, b] is about relations between classes, counted from 1; `group` has the class of every code.
    """

    negative: Flags
    deniable: Flags
    group: Longs
    m: int
    n: int
    bits: int
    kinds: int

    def beside(self, first: Longs, second: Longs) -> Iterator[tuple[Longs, tuple[Longs, Longs, Longs, Longs]]]:
        """Yield the sets that counted ones hold more than: the numbers of these, the words of those, and the surplus.

        What is left of a set must have all its other relations: a label is taken from it only if it has none.
        """
        codes, has = self._decoded(first, second)
        pairs = [(i, j, d) for j in range(self.m) for i in range(j) for d in range(self.kinds)]
        tied = np.zeros(codes.shape, bool)
        for at, (i, j, _) in enumerate(pairs):
            tied[:, i] |= has[:, at]
            tied[:, j] |= has[:, at]
        can_go = self.negative[codes] & (codes > 0) & ~tied
        one, other = (self.group[codes[:, [pair[side] for pair in pairs]]] for side in (0, 1))
        can_end = has & self.deniable[one, other]
        for some in _subsets(self.m, self.m):
            of = np.flatnonzero(can_go[:, some].all(axis=1))
            kept = np.setdiff1d(np.arange(self.m), some)
            for ended in _subsets(len(pairs), min(self.n, len(pairs))):
                chosen = of[can_end[np.ix_(of, ended)].all(axis=1)]
                if not len(chosen):
                    continue
                left = has[chosen].copy()
                left[:, ended] = False
                gone = np.zeros_like(left)
                gone[:, ended] = True
                base = self._words(codes[np.ix_(chosen, kept)], self._placed(left, pairs, kept))
                if not (len(some) or len(ended)):
                    # As it was counted, so that nothing is lost of a set that is none of ours.
                    base = first[chosen], second[chosen]
                more = self._words(codes[np.ix_(chosen, some)], self._placed(gone, pairs, kept))
                yield chosen, (*base, *more)

    @property
    def _shift(self) -> int:
        return max(self.m - _WORD // self.bits, 0) * self.bits

    def _decoded(self, first: Longs, second: Longs) -> tuple[Longs, Flags]:
        """Return the codes of sets, 0 where there is none, and which relations they have."""
        low, per_word = (1 << self.bits) - 1, _WORD // self.bits
        words = [
            first >> j * self.bits if j < per_word else second >> (j - per_word) * self.bits for j in range(self.m)
        ]
        codes = np.stack(words, axis=1) & low
        relations = self.kinds * (self.m * (self.m - 1) // 2)
        has = (second[:, None] >> self._shift + np.arange(relations)) & 1
        return codes, has.astype(bool)

    def _placed(self, has: Flags, pairs: list[tuple[int, int, int]], kept: Longs) -> Longs:
        """Return relations as the bits that they have among the labels kept."""
        found, place = np.zeros(len(has), np.int64), {one: at for at, one in enumerate(kept.tolist())}
        for at, (i, j, d) in enumerate(pairs):
            if i in place and j in place:
                a, b = place[i], place[j]
                found |= has[:, at].astype(np.int64) << self.kinds * (b * (b - 1) // 2) + d * b + a
        return found

    def _words(self, codes: Longs, relations: Longs) -> tuple[Longs, Longs]:
        per_word = _WORD // self.bits
        first, second = np.zeros(len(codes), np.int64), relations << self._shift
        for j in range(codes.shape[1]):
            if j < per_word:
                first |= codes[:, j] << j * self.bits
            else:
                second |= codes[:, j] << (j - per_word) * self.bits
        return first, second

    def _elements(self, more: int, rest: int) -> frozenset[int]:
        codes, has = self._decoded(np.array([more]), np.array([rest]))
        return frozenset([*codes[codes > 0].tolist(), *(-1 - bit for bit in np.flatnonzero(has[0]).tolist())])

    def _room(self, first: int, second: int) -> tuple[int, int]:
        codes, has = self._decoded(np.array([first]), np.array([second]))
        return self.m - int((codes > 0).sum()), self.n - int(has.sum())


@dataclass
class SignedTotals:
    """Totals of sets with and without something lacking: the least persons, the sets seen, those of fewer than k.

    `largest_l` has the largest l that holds by class of sensitive values: of the share of a value, or (`is_distinct`)
    the values that are left without those who hold one.
    """

    k: int
    is_distinct: bool = False
    least: int | None = None
    sets: int = 0
    rare: int = 0
    largest_l: dict[int, int] = field(default_factory=dict)

    def add(self, lackings: Lackings, rows: np.ndarray) -> None:
        """Judge all rows of one set P: class and value, its words, those of what is held more, and persons."""
        table: Table = {}
        kinds: dict[int, int] = {}
        surplus: dict[tuple[int, int], frozenset[int]] = {}
        for kind, value, _, _, more, rest, persons in rows.T.tolist():
            kinds[value] = kind
            if (more, rest) not in surplus:
                surplus[more, rest] = lackings._elements(more, rest)
            of = table.setdefault(value, {})
            of[surplus[more, rest]] = of.get(surplus[more, rest], 0) + persons
        first, second = int(rows[2, 0]), int(rows[3, 0])
        # The set of nothing is no knowledge.
        self._see(table, kinds, is_set=first > 0)
        everybody = table[ALL]
        elements = sorted(
            (e for one in everybody if len(one) == 1 for e in one), key=lambda e: -everybody[frozenset([e])]
        )
        self._take_away(table, kinds, elements, *lackings._room(first, second))

    def _see(self, table: Table, kinds: Mapping[int, int], *, is_set: bool) -> None:
        """Count what is left of a set."""
        persons = table[ALL][frozenset()]
        if not is_set:
            return
        self.sets += 1
        self.rare += persons < self.k
        self.least = persons if self.least is None else min(self.least, persons)
        for kind, found in self._largest_l(table, kinds, persons, 0):
            self.largest_l[kind] = min(found, self.largest_l.get(kind, found))

    def _largest_l(self, table: Table, kinds: Mapping[int, int], persons: int, less: int) -> Iterator[tuple[int, int]]:
        """Yield classes with an l that holds of a set of so many persons, also if any `less` of its persons go.

        By shares, `persons` are those left then.
        """
        held = {value: many for value, of in table.items() if value != ALL and (many := of.get(frozenset(), 0)) > 0}
        if not self.is_distinct:
            yield from ((kinds[value], persons // many) for value, many in held.items())
            return
        enough: Counter[int] = Counter(kinds[value] for value, many in held.items() if value < PAIR and many > less)
        # Of how many values too few persons are left without those who hold another one, by that one.
        gone: Counter[int] = Counter(value for value, many in held.items() if value < PAIR and many > less)
        for pair, both in held.items():
            if pair >= PAIR:
                one, other = pair // PAIR - 1, pair % PAIR
                for a, b in ((one, other), (other, one)):
                    gone[b] += held[a] > less >= held[a] - both
        yield from ((kinds[value], enough[kinds[value]] - gone[value]) for value in held if value < PAIR)

    def _is_safe(self, table: Table, kinds: Mapping[int, int], left: int) -> bool:
        """Return whether a part of a set that `left` persons at least are left of can change no total that matters."""
        if left < max(self.k, self.least or 0):
            return False
        less = table[ALL][frozenset()] - left
        return all(
            found >= self.largest_l.get(kind, found + 1) for kind, found in self._largest_l(table, kinds, left, less)
        )

    def _take_away(
        self, table: Table, kinds: Mapping[int, int], elements: list[int], labels: int, relations: int
    ) -> None:
        """Take away those who hold an element, one after another, and of those left the next, while there is room."""
        everybody = table[ALL]
        held = [everybody.get(frozenset([element]), 0) for element in elements]
        for at, element in enumerate(elements):
            if self._is_safe(table, kinds, everybody[frozenset()] - (labels + relations) * max(held[at:])):
                return
            if (labels if element > 0 else relations) == 0 or not held[at]:
                continue
            rest = {value: _less(of, element) for value, of in table.items()}
            if rest[ALL][frozenset()] == 0:
                continue
            self._see(rest, kinds, is_set=True)
            room = (labels - 1, relations) if element > 0 else (labels, relations - 1)
            if sum(room):
                self._take_away(rest, kinds, elements[at + 1 :], *room)


def _less(persons: Mapping[frozenset[int], int], element: int) -> dict[frozenset[int], int]:
    """Return the persons who hold a set and more, less those who hold an element."""
    return {one: many - persons.get(one | {element}, 0) for one, many in persons.items() if element not in one}


def _subsets(size: int, most: int) -> Iterator[Longs]:
    for many in range(most + 1):
        for chosen in combinations(range(size), many):
            yield np.array(chosen, np.int64)


def signed_totals(
    batches: Iterable[np.ndarray], lackings: Lackings, k: int, *, is_distinct: bool = False
) -> SignedTotals:
    """Return the totals of rows in the order of their sets P, and of what is held more, class and value.

    All rows of one set follow each other, also over batches. The columns are those of `SignedTotals.add`.
    """
    totals, left = SignedTotals(k, is_distinct), np.zeros((7, 0), np.int64)
    for batch in batches:
        rows = np.concatenate([left, batch], axis=1)
        begins = _begins(rows[2:4])
        _add(totals, lackings, rows[:, : begins[-1]] if len(begins) else rows[:, :0])
        left = rows[:, begins[-1] :] if len(begins) else rows
    _add(totals, lackings, left)
    return totals


def _begins(columns: np.ndarray) -> Longs:
    """Return where columns have something else than before."""
    if not columns.shape[1]:
        return np.zeros(0, np.int64)
    return np.flatnonzero(np.append(True, (columns[:, 1:] != columns[:, :-1]).any(axis=0)))


def _add(totals: SignedTotals, lackings: Lackings, rows: np.ndarray) -> None:
    """Add whole sets: one by one where something lacking can matter, the others at once."""
    if not rows.shape[1]:
        return
    first_of = _begins(rows[:6])
    rows = np.concatenate([rows[:6, first_of], np.add.reduceat(rows[6:], first_of, axis=1)], axis=0)
    begins = _begins(rows[2:4])
    is_base, of_all, persons = (rows[4] == 0) & (rows[5] == 0), rows[0] == ALL, rows[6]
    everybody = np.maximum.reduceat(np.where(is_base & of_all, persons, 0), begins)
    more = np.maximum.reduceat(np.where(is_base, 0, persons), begins)
    valued = np.maximum.reduceat(~of_all, begins)
    is_set = rows[2, begins] > 0
    least = int(everybody[is_set].min()) if is_set.any() else 0
    least = least if totals.least is None else min(least, totals.least)
    plain = is_set & ~valued & (everybody - (lackings.m + lackings.n) * more >= max(totals.k, least))
    if plain.any():
        totals.sets += int(plain.sum())
        totals.rare += int((everybody[plain] < totals.k).sum())
        own = int(everybody[plain].min())
        totals.least = own if totals.least is None else min(own, totals.least)
    ends = np.append(begins[1:], rows.shape[1])
    for at in np.flatnonzero(~plain).tolist():
        totals.add(lackings, rows[:, begins[at] : ends[at]])
