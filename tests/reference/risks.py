"""Who can be singled out, counted in the most obvious way: every V, every R, every person; every set of columns."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import combinations
from typing import Any

from tests.reference.guarantee import Combination, Groups, Tree, groups

Pattern = tuple[tuple[str, ...], tuple[tuple[str, str], ...]]


def singled_out(found: Groups, k: int, m: int, n: int) -> set[int]:
    """The persons who share some m labels with n relations with fewer than k persons."""
    small = [held for (v, r), held in found.items() if len(v) <= m and len(r) <= n and len(held) < k]
    return set().union(*small)


def is_part(one: Combination, other: Combination) -> bool:
    return one != other and one[0] <= other[0] and one[1] <= other[1]


def dangerous(
    records: Sequence[Tree], k: int, m: int, n: int, known: Sequence[str], order: Sequence[str]
) -> Counter[Pattern]:
    """The persons whom each pattern of classes singles out, with no part of it doing so."""
    found = groups(records, m, n, known=known)
    rare = {one: held for one, held in found.items() if len(held) < k}
    persons: dict[Pattern, set[int]] = defaultdict(set)
    for one, held in rare.items():
        if not any(is_part(other, one) for other in rare):
            place = order.index
            classes = tuple(sorted((label[0] for label in one[0]), key=place))
            pairs = sorted((place(upper[0]), place(lower[0])) for upper, lower in one[1])
            persons[classes, tuple((order[upper], order[lower]) for upper, lower in pairs)] |= held
    return Counter({pattern: len(held) for pattern, held in persons.items()})


def singled_out_rows(
    rows: Sequence[tuple[Any, ...]], persons: Sequence[int], k: int, sets: Sequence[Sequence[int]]
) -> set[int]:
    """The persons whom the values of some of the sets of columns single out."""
    out: set[int] = set()
    for chosen in sets:
        alike: dict[tuple[Any, ...], set[int]] = defaultdict(set)
        for row, person in zip(rows, persons, strict=True):
            alike[tuple(row[column] for column in chosen)].add(person)
        out |= set().union(*(held for held in alike.values() if len(held) < k))
    return out


def column_sets(columns: int, m: int) -> list[tuple[int, ...]]:
    return [chosen for size in range(1, m + 1) for chosen in combinations(range(columns), size)]
