"""Hierarchies of nested numeric intervals: exact arithmetic, and texts sorted on a decimal grid."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treeanon.errors import HierarchyError
from treeanon.hierarchy.links import Keys
from treeanon.hierarchy.model import Hierarchy
from treeanon.hierarchy.number_hierarchy import Grid, NumberHierarchy, OpenClasses, interval_tree
from treeanon.hierarchy.numbers import (
    DECIMAL,
    INTEGER,
    MOST_DIGITS,
    SAFE,
    Number,
    NumberTexts,
    PlainNumbers,
    decimals_of,
    exact,
    parse_number,
    shortest,
)

BOUNDS = ("min", "max", "min_open", "max_open")
BOUNDS_IN_ORDER = ("min", "min_open", "max_open", "max")
MOST_INTERVALS = 100_000
MOST_LEAVES = 10_000
_INTEGER_LABEL = re.compile(f"({INTEGER})-{INTEGER}")
_DECIMAL_LABEL = re.compile(rf"\[({DECIMAL}), {DECIMAL}[)\]]")


@dataclass(frozen=True)
class Scale:
    """The widths and bounds of nested intervals, and what follows from them.

    `below` and `above` say that there are classes of what lies beyond the bounds: then those are not all of the range,
    and a class above holds the greatest number itself.

    >>> Scale((5,), 0, 99, True).holds(100)
    False
    """

    widths: tuple[Number, ...]
    low: Number | None
    high: Number | None
    integer: bool
    below: bool = False
    above: bool = False

    def numbers(self) -> Iterator[Number]:
        """Return the widths and bounds.

        >>> list(Scale((5,), None, 99, True).numbers())
        [5, 99]
        """
        yield from self.widths
        yield from (bound for bound in (self.low, self.high) if bound is not None)

    def holds(self, number: Number) -> bool:
        """Return whether the number is in the range.

        >>> Scale((5,), 0, None, True).holds(10**9)
        True
        """
        return (self.low is None or self.low <= number) and (self.high is None or number <= self.high)

    def labeled(self, text: str) -> tuple[Number, int] | None:
        """Return the start and level of the interval that has this text as its label.

        >>> scale = Scale((5, 10), None, None, True)
        >>> scale.labeled("10-19"), scale.labeled("10-12")
        ((10, 1), None)
        """
        match = (_INTEGER_LABEL if self.integer else _DECIMAL_LABEL).fullmatch(text)
        start = parse_number(match[1], self.integer) if match else None
        if start is None or not self.holds(start):
            return None
        levels = (at for at, width in enumerate(self.widths) if self._label(start, width) == text)
        level = next(levels, None)
        return None if level is None else (start, level)

    def _label(self, number: Number, width: Number) -> str | None:
        """Return the label of the interval around the number, None if it would say nothing new."""
        origin = self.low or 0
        start = origin + (number - origin) // width * width
        if not self.integer and start == self.high != self.low:
            start -= width  # the last interval is closed: it holds the maximum too
        stop = start + width - self.integer
        if self.high is not None:
            stop = min(stop, self.high)
        is_all = (start, stop) == (self.low, self.high) and not (self.below or self.above)
        if is_all or start == stop:
            return None
        if self.integer:
            return f"{start}-{stop}"
        return f"[{shortest(start)}, {shortest(stop)}{']' if stop == self.high and not self.above else ')'}"

    def whole_range(self) -> tuple[list[int], range]:
        """Return how many intervals of each width, and which integers, are always nodes: none in long ranges.

        >>> Scale((5,), 0, 9, True).whole_range(), Scale((5,), None, 9, True).whole_range()
        (([2], range(0, 10)), ([0], range(0, 0)))
        """
        none = [0] * len(self.widths)
        if self.low is None or self.high is None:
            return none, range(0)
        span = self.high - self.low
        counts = [int(span // width) + 1 for width in self.widths]
        is_listed = self.integer and span < MOST_LEAVES
        integers = range(int(self.low), int(self.high) + 1) if is_listed else range(0)
        return (counts if sum(counts) <= MOST_INTERVALS else none), integers


Placed = tuple[Grid, list[Keys], list[str], Keys]
_POWERS = 10 ** np.arange(MOST_DIGITS + 1, dtype=np.int64)
_FEW = 20
"""Texts are read one by one if they are at most one in this many."""


def placed(scale: Scale, values: Iterable[str]) -> Placed:
    """Return the parts of the tree: the grid, the starts of intervals per level, the sorted leaves and their numbers.

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
    """Return the same for numbers, whose texts are not made; None if they, or the range, are not for 64 bits.

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
    # Avoids a copy of very many numbers.
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
    """Return enough decimals for widths and bounds, and for the numbers unless a few finer ones do not fit."""
    least = max(map(decimals_of, scale.numbers()))
    most = max(least, int(plain.decimals.max(initial=0)))
    fitting = most
    while fitting > least and not _is_small(wholes, fitting):
        fitting -= 1
    are_few = np.count_nonzero(plain.decimals > fitting) * _FEW <= len(plain.decimals)
    return fitting if are_few else most


def _is_small(wholes: NDArray[np.int64], decimals: int) -> bool:
    """Return whether numbers with these whole parts fit into 64 bits, counted in steps."""
    largest = max(int(wholes.max(initial=0)), -int(wholes.min(initial=0))) + 1
    return bool(largest * 10**decimals < SAFE)


def _grid(scale: Scale, decimals: int) -> Grid:
    widths = tuple(int(width * 10**decimals) for width in scale.widths)
    low, high = (None if bound is None else int(bound * 10**decimals) for bound in (scale.low, scale.high))
    return Grid(widths, low, high, scale.integer, decimals, scale.below, scale.above)


def _one_by_one(scale: Scale, texts: Iterable[str]) -> tuple[dict[str, Number], list[tuple[Number, int]]]:
    """Return the numbers in the range by their texts, and the starts and levels of labels of intervals."""
    numbers: dict[str, Number] = {}
    labels: list[tuple[Number, int]] = []
    for text in texts:
        number = parse_number(text, scale.integer)
        if number is None:
            found = scale.labeled(text)
            labels += [] if found is None else [found]
        elif scale.holds(number):
            numbers[text] = number
    return numbers, labels


def _steps(plain: PlainNumbers, decimals: int, kind: np.dtype[np.generic]) -> Keys:
    if kind == np.int64:
        return plain.digits * _POWERS[decimals - plain.decimals]
    # beyond 64 bits numpy uses Python's numbers: slower, but as exact
    powers = np.array([10**power for power in range(decimals + 1)], dtype=object)
    steps: Keys = plain.digits.astype(object) * powers[decimals - plain.decimals]
    return steps


def _sorted(texts: list[str], steps: Keys, exact: dict[str, Fraction]) -> tuple[list[str], Keys]:
    """Return the texts by their numbers, then by themselves, where `exact` knows those that the grid rounds down."""
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
    """Return the starts of the intervals that are there whatever the numbers are, per level."""
    cells: list[Keys] = []
    for level, (width, count) in enumerate(zip(grid.widths, counts, strict=True)):
        whole: Keys = np.arange(count).astype(kind) * width + (grid.low or 0)
        named = [int(start * 10**grid.decimals) for start, at in labels if at == level]
        cells.append(np.concatenate([grid.starts(whole, level), np.array(named, dtype=kind)]))
    return cells


Problems = list[tuple[str, str]]


@dataclass(frozen=True)
class Intervals:
    """Builder: a number lies in an interval of the first width, that in one of the next, up to `*`.

    Numbers below `min_open`, and those from `max_open` on, lie in a class of their own, below `*`; `min` and `max` then
    bound these.

    >>> h = Intervals((5, 10)).build(["21", "27"])
    >>> h.texts
    ('*', '20-29', '20-24', '21', '25-29', '27')
    """

    widths: tuple[int | float, ...]
    min: int | float | None = None
    max: int | float | None = None
    integer: bool = True
    min_open: int | float | None = None
    max_open: int | float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "widths", tuple(self.widths))
        bounds = {"min": self.min, "max": self.max, "min_open": self.min_open, "max_open": self.max_open}
        problems = _interval_problems(self.widths, bounds, self.integer)
        if problems:
            raise HierarchyError("; ".join(f"{key}: {message}" for key, message in problems))

    def build(self, values: Iterable[str]) -> Hierarchy:
        """Return the hierarchy of the values that are numbers in the range, or labels of its intervals.

        >>> Intervals((10,), min=0, max=20, integer=False).build(["20", "3.5", "x"]).texts
        ('*', '[0, 10)', '3.5', '[10, 20]', '20')
        """
        if self.open_classes is None:
            return Hierarchy(*interval_tree(*placed(self._scale(), values)))
        listed = list(values)
        inside = [text for text in listed if not self.open_classes.holds(text)]
        return Hierarchy(*self.open_classes.around(interval_tree(*placed(self._scale(), inside)), listed))

    def build_numbers(self, values: NumberTexts) -> Hierarchy | None:
        """Return the same for texts that are not made yet, whose own texts are not made either; None where it must be.

        >>> import numpy as np
        >>> values = NumberTexts(np.array([35, 210]), 1, lambda: ["3.5", "21"])
        >>> h = Intervals((10,), min=0, max=20, integer=False).build_numbers(values)
        >>> h.encode(values).tolist(), tuple(h.texts)
        ([2, -1], ('*', '[0, 10)', '3.5', '[10, 20]'))
        """
        found = None if self.open_classes else placed_numbers(self._scale(), values)
        return None if found is None else NumberHierarchy(*found)

    @property
    def open_classes(self) -> OpenClasses | None:
        """Return the open classes, if there are any."""
        if self.min_open is None and self.max_open is None:
            return None
        bounds = (self.min_open, self.max_open, self.min, self.max)
        low, high, least, most = (None if bound is None else exact(bound) for bound in bounds)
        return OpenClasses(low, high, least, most, self.integer)

    def _scale(self) -> Scale:
        low, high = (None if bound is None else exact(bound) for bound in (self.min, self.max))
        if self.min_open is not None:
            low = exact(self.min_open)
        if self.max_open is not None:
            high = exact(self.max_open) - self.integer
        below, above = self.min_open is not None, self.max_open is not None
        return Scale(tuple(exact(width) for width in self.widths), low, high, self.integer, below, above)


def parse_intervals(spec: Mapping[str, object], value_type: str) -> tuple[Intervals | None, Problems]:
    """Return the builder of `{intervals = [5, 10], min = 0, max = 120}`, and its problems.

    >>> parse_intervals({"intervals": [5, 12]}, "integer")
    (None, [('intervals', 'each width must be a multiple of the one before')])
    """
    widths, bounds = spec["intervals"], {name: spec.get(name) for name in BOUNDS}
    problems: Problems = []
    if value_type not in ("integer", "number"):
        problems.append(("intervals", 'needs a class of type = "integer" or "number"'))
    problems += _interval_problems(widths, bounds, value_type == "integer")
    if problems or not isinstance(widths, (list, tuple)):
        return None, problems
    known = {name: bound for name, bound in bounds.items() if isinstance(bound, (int, float))}
    return Intervals(tuple(widths), integer=value_type == "integer", **known), []


def _is_number(value: object, integer: bool) -> bool:
    if isinstance(value, bool) or not isinstance(value, int if integer else (int, float)):
        return False
    return math.isfinite(value)


def _interval_problems(widths: object, bounds: Mapping[str, object], integer: bool) -> Problems:
    kind = "a whole number" if integer else "a finite number"
    problems = [
        (key, f"must be {kind}")
        for key, bound in bounds.items()
        if bound is not None and not _is_number(bound, integer)
    ]
    if not problems:
        problems += _disordered({key: bound for key, bound in bounds.items() if bound is not None})
    message = width_problem(widths, integer)
    return [("intervals", message), *problems] if message else problems


def _disordered(bounds: Mapping[str, Any]) -> Problems:
    """Return the bounds that are not in their order: min, min_open, max_open, max."""
    found: Problems = []
    for (first, low), (second, high) in pairwise((key, bounds[key]) for key in BOUNDS_IN_ORDER if key in bounds):
        closed = (first, second) == ("min", "max")
        if low > high or (low == high and not closed):
            found.append((second, f"must {'not be less than' if closed else 'be above'} {first}"))
    return found


def width_problem(widths: object, integer: bool) -> str | None:
    """Return what is wrong with a list of widths, None where they nest.

    >>> width_problem([5, 12], integer=True)
    'each width must be a multiple of the one before'
    """
    if not isinstance(widths, (list, tuple)) or not widths:
        return "must be a list of widths such as [5, 10]"
    if not all(_is_number(width, integer) and width > 0 for width in widths):
        return f"every width must be a positive {'whole' if integer else 'finite'} number"
    fractions = [Fraction(exact(width)) for width in widths]
    if any(lower >= upper for lower, upper in pairwise(fractions)):
        return "widths must ascend"
    if any(upper % lower for lower, upper in pairwise(fractions)):
        return "each width must be a multiple of the one before"
    return None
