"""What may be said of a single quasi column: its weight, its levels, its greatest span, and the style of its values.

A schema says it by keys of a class; commands and functions say it for one release by settings, which win over the
schema's keys.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from numbers import Integral, Real
from typing import Any

from treeanon.errors import UsageError
from treeanon.hierarchy.builders import height_of

VALUE_STYLES = ("ranges", "sets", "hierarchy")
AGGREGATES = ("mean", "median")

_LEVELS = re.compile(r"(?P<low>\d*)(?P<dots>\.\.)?(?P<high>\d*)")


@dataclass(frozen=True)
class Controls:
    """What is asked of a quasi column, whatever the search.

    `weight` says how much more than in others (1) a loss counts; it is w_i of the NCP formula. Every value is published
    on `min_level` of its hierarchy or above, and no higher than `max_level` (0: values as they are). No published value
    stands for more than `max_span`: of numbers the distance of its ends, of others a count of leaves. `style` is how
    groups are published. With `microaggregate` a group is published as the mean or median of its numbers.

    >>> Controls(weight=2, max_level=3).given
    ('weight', 'max_level')
    """

    weight: float = 1.0
    min_level: int = 0
    max_level: int | None = None
    max_span: float | None = None
    style: str | None = None
    microaggregate: str | None = None

    @property
    def given(self) -> tuple[str, ...]:
        """The names of what is asked: all that differs from the default."""
        return tuple(one.name for one in fields(self) if getattr(self, one.name) != one.default)

    def as_dict(self) -> dict[str, Any]:
        """Return what is asked as plain data."""
        return {name: getattr(self, name) for name in self.given}

    @property
    def of_means(self) -> Controls:
        """What is left to ask of a column once it has means or medians, which no level bounds."""
        return Controls(weight=self.weight, microaggregate=self.microaggregate)

    def wrong_levels(self, height: int | None = None) -> str:
        """Return what is wrong with the levels, for a hierarchy of this height if it is known; else an empty text.

        >>> Controls(min_level=2, max_level=1).wrong_levels(), Controls(max_level=2).wrong_levels(2)
        ('min_level 2 is above max_level 1', '')
        """
        if self.max_level is not None and self.min_level > self.max_level:
            return f"min_level {self.min_level} is above max_level {self.max_level}"
        for name in ("min_level", "max_level"):
            level = getattr(self, name)
            if height is not None and level is not None and level > height:
                return f"{name} {level} is above the last level of its hierarchy: {height}"
        return ""


def unfixed_levels(controls: Controls, source: object) -> str:
    """Return what is wrong with levels of a hierarchy that is built from the values alone; else an empty text."""
    asked = [name for name in controls.given if name in ("min_level", "max_level")]
    if not asked or height_of(source) is not None:
        return ""
    return f"{asked[0]} needs a hierarchy whose levels do not depend on the values: a file, or another builder"


CONTROL_KEYS = tuple(one.name for one in fields(Controls))
"""The keys of a class that are its controls."""

EXPECTED = {
    "weight": "a number from 0",
    "min_level": "a whole number from 0",
    "max_level": "a whole number from 0",
    "max_span": "a number above 0",
    "style": f"one of {', '.join(VALUE_STYLES)}",
    "microaggregate": f"one of {', '.join(AGGREGATES)}",
}


def is_control(key: str, value: object) -> bool:
    """Return whether a value is one of a key's.

    >>> is_control("weight", 0.5), is_control("min_level", -1), is_control("style", "sets")
    (True, False, True)
    """
    if key == "style":
        return value in VALUE_STYLES
    if key == "microaggregate":
        return value in AGGREGATES
    if isinstance(value, bool) or not isinstance(value, Real):
        return False
    if key in ("min_level", "max_level"):
        return isinstance(value, Integral) and int(value) >= 0
    number = float(value)
    return math.isfinite(number) and (number > 0 if key == "max_span" else number >= 0)


Values = Mapping[str, Any]
"""Values of keys of `Controls`."""


@dataclass(frozen=True)
class Setting:
    """What sets controls of columns for one release: a parameter of functions, and an option CLASS=VALUE of commands.

    `read` gives the keys' values of what is said of a column: of a text as commands have it, or of a Python value. It
    raises ValueError for what is none.
    """

    name: str
    flag: str
    form: str
    expected: str
    example: str
    read: Callable[[Any], Values]


def _read_number(key: str) -> Callable[[Any], Values]:
    def read(value: Any) -> Values:
        number = float(value) if isinstance(value, str) else value
        if not is_control(key, number):
            raise ValueError
        return {key: number}

    return read


def read_levels(value: Any) -> Values:
    """Return the least and the highest level that are meant; ValueError for what means none.

    >>> read_levels("1..3"), read_levels("..3"), read_levels("2"), read_levels((1, None))
    ({'min_level': 1, 'max_level': 3}, {'max_level': 3}, {'min_level': 2, 'max_level': 2}, {'min_level': 1})
    """
    if isinstance(value, str):
        found = _LEVELS.fullmatch(value.strip())
        if found is None or not (found["low"] or found["high"]):
            raise ValueError
        low, high = (int(found[name]) if found[name] else None for name in ("low", "high"))
        value = (low, high if found["dots"] else low)
    ends = (value, value) if isinstance(value, Integral) else value
    if not isinstance(ends, tuple | list) or len(ends) != 2:
        raise ValueError
    told = {key: end for key, end in zip(("min_level", "max_level"), ends, strict=True) if end is not None}
    if not told or not all(is_control(key, end) for key, end in told.items()):
        raise ValueError
    if Controls(**told).wrong_levels():
        raise ValueError
    return told


def _read_style(value: Any) -> Values:
    if not is_control("style", value):
        raise ValueError
    return {"style": value}


SETTINGS: tuple[Setting, ...] = (
    Setting("weights", "--weight", "NUMBER", EXPECTED["weight"], "diagnosis=5", _read_number("weight")),
    Setting("levels", "--level", "LEVELS", "levels such as 1..3, ..2 or 1", "age=1..3", read_levels),
    Setting("styles", "--style", "STYLE", EXPECTED["style"], "city=sets", _read_style),
    Setting("spans", "--max-span", "NUMBER", EXPECTED["max_span"], "age=10", _read_number("max_span")),
)
"""Every setting; a new one is an entry here, a parameter of the functions, and an option of the commands."""


def setting_named(name: str) -> Setting:
    """Return the setting of that name."""
    return next(one for one in SETTINGS if one.name == name)


def controls_of(given: Mapping[str, Mapping[str, Any] | None]) -> dict[str, dict[str, Any]]:
    """Return what settings say of each column, by keys of `Controls`; UsageError for values that are none.

    >>> controls_of({"weights": {"age": 2}, "levels": {"age": "1.."}})
    {'age': {'weight': 2, 'min_level': 1}}
    """
    found: dict[str, dict[str, Any]] = {}
    for name, values in given.items():
        setting = setting_named(name)
        if values is None:
            continue
        if not isinstance(values, Mapping):
            raise UsageError(f"{name} must be a mapping of classes to values")
        for column, value in values.items():
            try:
                read = setting.read(value)
            except (ValueError, TypeError):
                raise UsageError(f"{name}: {column!r}: must be {setting.expected}") from None
            found.setdefault(column, {}).update(read)
    return found


def refuse_controls(specs: Iterable[Any], what: str, able: Iterable[str] = ()) -> None:
    """Raise UsageError for controls of classes, but those named `able`, that `what` does not honor.

    >>> from treeanon.schema.model import ClassSpec
    >>> refuse_controls([ClassSpec("age", controls=Controls(min_level=1))], "engine spark")
    Traceback (most recent call last):
    treeanon.errors.UsageError: engine spark does not honor min_level (class 'age')
    """
    for spec in specs:
        if strange := [name for name in spec.controls.given if name not in able]:
            raise UsageError(f"{what} does not honor {' and '.join(strange)} (class {spec.name!r})")
