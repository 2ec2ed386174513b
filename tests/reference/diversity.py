"""1-D ℓ-diversity as its definitions say: every partition of a few rows, one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction

Partition = list[list[int]]


def partitions(rows: Sequence[int]) -> Iterator[Partition]:
    """All ways to divide rows into groups."""
    if not rows:
        yield []
        return
    for rest in partitions(rows[1:]):
        yield [[rows[0]], *rest]
        for i in range(len(rest)):
            yield [*rest[:i], [rows[0], *rest[i]], *rest[i + 1 :]]


def is_diverse(groups: Partition, values: Sequence[int], least: int) -> bool:
    return all(max(ill.count(v) for v in ill) * least <= len(ill) for ill in ([values[r] for r in g] for g in groups))


def in_order(groups: Partition, values: Sequence[int]) -> bool:
    """Whether groups can follow one another so that each value's rows are taken in order."""
    left = [sorted(group) for group in groups]
    while left:
        rows = [row for group in left for row in group]
        heads = {v: min(row for row in rows if values[row] == v) for v in {values[row] for row in rows}}
        free = [g for g in left if all(heads[values[row]] == row for row in g)]
        if not free:
            return False
        left.remove(free[0])
    return True


def least_loss(values: Sequence[int], least: int, price: Callable[[list[int]], float], *, ordered: bool) -> float:
    """The least sum of size times price over all ℓ-diverse partitions; infinite where there is none."""
    found = [
        sum(len(group) * price(group) for group in groups)
        for groups in partitions(range(len(values)))
        if is_diverse(groups, values, least)
        and (not ordered or (all(len({values[r] for r in g}) == len(g) for g in groups) and in_order(groups, values)))
    ]
    return min(found, default=float("inf"))


def privacy(group: list[int], values: Sequence[int]) -> Fraction:
    """The rows of a group for each row of its most frequent value."""
    own = [values[row] for row in group]
    return Fraction(len(own), max(own.count(value) for value in own))


def most_private(values: Sequence[int], fits: Callable[[list[int]], bool]) -> Fraction | None:
    """The most that the least private group can have, over all partitions into groups that fit."""
    found = [
        min(privacy(group, values) for group in groups)
        for groups in partitions(range(len(values)))
        if all(map(fits, groups))
    ]
    return max(found, default=None)


def largest_least(rows: int, fits: Callable[[list[int]], bool]) -> int | None:
    """The most rows that the smallest piece can have, over all cuts of an order into pieces that fit."""
    best: list[int | None] = [rows]
    for end in range(1, rows + 1):
        found = [
            min(before, end - start)
            for start in range(end)
            if (before := best[start]) is not None and fits(list(range(start, end)))
        ]
        best.append(max(found, default=None))
    return best[rows]
