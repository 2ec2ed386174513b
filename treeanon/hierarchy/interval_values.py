"""Texts sorted into the numbers and the labels of nested intervals, on a decimal grid that is fine enough."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from treeanon.hierarchy.interval_scale import Scale
from treeanon.hierarchy.interval_tree import Grid
from treeanon.hierarchy.nodes import Keys
from treeanon.hierarchy.number_texts import SAFE, NumberTexts
from treeanon.hierarchy.numbers import Number, decimals_of, parse_number
from treeanon.hierarchy.plain_numbers import PlainNumbers
from treeanon.hierarchy.shapes import MOST_DIGITS

Placed = tuple[Grid, list[Keys], list[str], Keys]
_POWERS = 10 ** np.arange(MOST_DIGITS + 1, dtype=np.int64)
_FEW = 20
"""One in so many is few enough to be read one by one."""


def placed(scale: Scale, values: Iterable[str]) -> Placed:
    """What makes the tree: the grid, the starts of intervals per level, the sorted leaves and their numbers.

    >>> grid, cells, leaves, numbers = placed(Scale((5,), None, None, True), ["7", "1", "5-9", "x"])
    >>> [cell.tolist() for cell in cells], leaves, numbers.tolist()
    ([[5]], ['1', '7'], [1, 7])
    """
    counts, integers = scale.whole_range()
    texts = list(dict.fromkeys([*values, *map(str, integers)]))
    plain = PlainNumbers.read(texts, scale.integer)
    wholes = plain.digits // _POWERS[plain.decimals]
    in_range = _between(wholes, *_floors(scale))
    plain, wholes = plain.only(in_range), wholes[in_range]
    grid = _grid(scale, _decimals(scale, plain, wholes))
    is_fine = plain.decimals > grid.decimals
    odd, labels = _one_by_one(scale, [texts[at] for at in [*plain.others, *plain.places[is_fine].tolist()]])
    plain, wholes = plain.only(~is_fine), wholes[~is_fine]
    exact = {text: Fraction(number) * 10**grid.decimals for text, number in odd.items()}
    floors = [number.__floor__() for number in exact.values()]
    is_small = grid.is_small() and _is_small(wholes, grid.decimals) and all(abs(floor) < SAFE for floor in floors)
    kind = np.dtype(np.int64 if is_small else object)
    steps = _steps(plain, grid.decimals, kind)
    held = _between(steps, grid.low, grid.high)
    names = [texts[at] for at in plain.places[held].tolist()]
    leaves, numbers = _sorted([*names, *exact], np.concatenate([steps[held], np.array(floors, dtype=kind)]), exact)
    return grid, _cells(grid, counts, labels, kind), leaves, numbers


def placed_numbers(scale: Scale, values: NumberTexts) -> tuple[Grid, list[Keys], NumberTexts, Keys] | None:
    """The same for numbers, whose texts are not made; None if they, or the range, are not for 64 bits.

    >>> values = NumberTexts(np.array([1, 7]), 0, lambda: ["1", "7"])
    >>> grid, cells, leaves, numbers = placed_numbers(Scale((5,), None, None, True), values)
    >>> [cell.tolist() for cell in cells], list(leaves), numbers.tolist()
    ([[]], ['1', '7'], [1, 7])
    """
    counts, integers = scale.whole_range()
    least = max(map(decimals_of, scale.numbers()))
    grid = _grid(scale, 0 if scale.integer else max(values.decimals, least))
    steps = values.in_steps(grid.decimals)
    if len(integers) or not grid.is_small() or steps is None:
        return None
    held = _between(steps, grid.low, grid.high)
    kept = held if values.kept is None else held & values.kept
    cells = _cells(grid, counts, [], np.dtype(np.int64))
    # Very many numbers are not copied without need.
    return (grid, cells, values, steps) if kept.all() else (grid, cells, values.only(kept), steps[kept])


def _floors(scale: Scale) -> tuple[int | None, int | None]:
    low, high = (None if bound is None else bound.__floor__() for bound in (scale.low, scale.high))
    return low, high


def _between(numbers: Keys, low: int | None, high: int | None) -> NDArray[np.bool_]:
    between = np.ones(len(numbers), dtype=np.bool_)
    if low is not None:
        between &= numbers >= low
    if high is not None:
        between &= numbers <= high
    return between


def _decimals(scale: Scale, plain: PlainNumbers, wholes: NDArray[np.int64]) -> int:
    """Enough decimals for widths and bounds, and for the numbers unless a few that are finer do not fit."""
    least = max(map(decimals_of, scale.numbers()))
    most = max(least, int(plain.decimals.max(initial=0)))
    fitting = most
    while fitting > least and not _is_small(wholes, fitting):
        fitting -= 1
    are_few = np.count_nonzero(plain.decimals > fitting) * _FEW <= len(plain.decimals)
    return fitting if are_few else most


def _is_small(wholes: NDArray[np.int64], decimals: int) -> bool:
    """Whether numbers with these whole parts fit into 64 bits, counted in steps."""
    largest = max(int(wholes.max(initial=0)), -int(wholes.min(initial=0))) + 1
    return bool(largest * 10**decimals < SAFE)


def _grid(scale: Scale, decimals: int) -> Grid:
    widths = tuple(int(width * 10**decimals) for width in scale.widths)
    low, high = (None if bound is None else int(bound * 10**decimals) for bound in (scale.low, scale.high))
    return Grid(widths, low, high, scale.integer, decimals)


def _one_by_one(scale: Scale, texts: Iterable[str]) -> tuple[dict[str, Number], list[tuple[Number, int]]]:
    """The numbers in the range by their texts, and the starts and levels of labels of intervals."""
    numbers: dict[str, Number] = {}
    labels: list[tuple[Number, int]] = []
    for text in texts:
        number = parse_number(text, scale.integer)
        if number is None:
            found = scale.labelled(text)
            labels += [] if found is None else [found]
        elif scale.holds(number):
            numbers[text] = number
    return numbers, labels


def _steps(plain: PlainNumbers, decimals: int, kind: np.dtype[np.generic]) -> Keys:
    if kind == np.int64:
        return plain.digits * _POWERS[decimals - plain.decimals]
    # beyond 64 bits numpy counts with Python's numbers: slower, and as exact
    powers = np.array([10**power for power in range(decimals + 1)], dtype=object)
    steps: Keys = plain.digits.astype(object) * powers[decimals - plain.decimals]
    return steps


def _sorted(texts: list[str], steps: Keys, exact: dict[str, Fraction]) -> tuple[list[str], Keys]:
    """The texts by their numbers, then by themselves, where `exact` knows those that the grid rounds down."""
    order = np.argsort(steps, kind="stable")
    steps, texts = steps[order], list(map(texts.__getitem__, order.tolist()))
    is_same = np.concatenate([[False], steps[1:] == steps[:-1], [False]])
    tied = np.flatnonzero(is_same[1:] | is_same[:-1]).tolist() if len(texts) else []
    runs = sorted((exact.get(texts[at], step), texts[at]) for at, step in zip(tied, steps[tied].tolist(), strict=True))
    for at, (_, text) in zip(tied, runs, strict=True):
        texts[at] = text
    return texts, steps


def _cells(
    grid: Grid, counts: Sequence[int], labels: Sequence[tuple[Number, int]], kind: np.dtype[np.generic]
) -> list[Keys]:
    """The starts of the intervals that are there whatever the numbers are, per level."""
    cells: list[Keys] = []
    for level, (width, count) in enumerate(zip(grid.widths, counts, strict=True)):
        whole: Keys = np.arange(count).astype(kind) * width + (grid.low or 0)
        named = [int(start * 10**grid.decimals) for start, at in labels if at == level]
        cells.append(np.concatenate([grid.starts(whole, level), np.array(named, dtype=kind)]))
    return cells
