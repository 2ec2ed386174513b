"""Hierarchies of nested numeric intervals."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from treeanon.errors import HierarchyError
from treeanon.hierarchy.interval_scale import Scale
from treeanon.hierarchy.interval_tree import interval_tree
from treeanon.hierarchy.interval_values import placed, placed_numbers
from treeanon.hierarchy.model import Hierarchy
from treeanon.hierarchy.number_hierarchy import NumberHierarchy
from treeanon.hierarchy.number_texts import NumberTexts
from treeanon.hierarchy.numbers import exact

Problems = list[tuple[str, str]]


@dataclass(frozen=True)
class Intervals:
    """Builder: a number lies in an interval of the first width, that in one of the next, up to `*`.

    >>> h = Intervals((5, 10)).build(["21", "27"])
    >>> h.texts
    ('*', '20-29', '20-24', '21', '25-29', '27')
    """

    widths: tuple[int | float, ...]
    min: int | float | None = None
    max: int | float | None = None
    integer: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "widths", tuple(self.widths))
        problems = _interval_problems(self.widths, self.min, self.max, self.integer)
        if problems:
            raise HierarchyError("; ".join(f"{key}: {message}" for key, message in problems))

    def build(self, values: Iterable[str]) -> Hierarchy:
        """The hierarchy of the values that are numbers in the range, or labels of its intervals.

        >>> Intervals((10,), min=0, max=20, integer=False).build(["20", "3.5", "x"]).texts
        ('*', '[0, 10)', '3.5', '[10, 20]', '20')
        """
        return Hierarchy(*interval_tree(*placed(self._scale(), values)))

    def build_numbers(self, values: NumberTexts) -> Hierarchy | None:
        """The same for texts that are not made yet, whose own texts are not made either; None where it must be.

        >>> import numpy as np
        >>> values = NumberTexts(np.array([35, 210]), 1, lambda: ["3.5", "21"])
        >>> h = Intervals((10,), min=0, max=20, integer=False).build_numbers(values)
        >>> h.encode(values).tolist(), tuple(h.texts)
        ([2, -1], ('*', '[0, 10)', '3.5', '[10, 20]'))
        """
        found = placed_numbers(self._scale(), values)
        return None if found is None else NumberHierarchy(*found)

    def _scale(self) -> Scale:
        low, high = (None if bound is None else exact(bound) for bound in (self.min, self.max))
        return Scale(tuple(exact(width) for width in self.widths), low, high, self.integer)


def parse_intervals(spec: Mapping[str, object], value_type: str) -> tuple[Intervals | None, Problems]:
    """The builder of `{intervals = [5, 10], min = 0, max = 120}`, and all that is wrong with it.

    >>> parse_intervals({"intervals": [5, 12]}, "integer")
    (None, [('intervals', 'each width must be a multiple of the one before')])
    """
    widths, low, high = spec["intervals"], spec.get("min"), spec.get("max")
    problems: Problems = []
    if value_type not in ("integer", "number"):
        problems.append(("intervals", 'needs a class of type = "integer" or "number"'))
    problems += _interval_problems(widths, low, high, value_type == "integer")
    if problems or not isinstance(widths, (list, tuple)):
        return None, problems
    low, high = (bound if isinstance(bound, (int, float)) else None for bound in (low, high))
    return Intervals(tuple(widths), low, high, value_type == "integer"), []


def _is_number(value: object, integer: bool) -> bool:
    if isinstance(value, bool) or not isinstance(value, int if integer else (int, float)):
        return False
    return math.isfinite(value)


def _interval_problems(widths: object, low: object, high: object, integer: bool) -> Problems:
    kind = "a whole number" if integer else "a finite number"
    problems = [
        (key, f"must be {kind}")
        for key, bound in (("min", low), ("max", high))
        if bound is not None and not _is_number(bound, integer)
    ]
    if not problems and low is not None and high is not None and low > high:  # type: ignore[operator]
        problems.append(("max", "must not be less than min"))
    message = _width_problem(widths, integer)
    return [("intervals", message), *problems] if message else problems


def _width_problem(widths: object, integer: bool) -> str | None:
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
