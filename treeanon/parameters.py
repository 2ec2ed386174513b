"""Parameters of searches, privacy models and builders, declared once: name, type, range, default, a line of help.

From the declaration follow the checks of what is given in Python, the reading of `--param NAME=VALUE` and of
`--model NAME:PARAMETER=VALUE`, the listing of `treeanon algorithms NAME`, the fields of the explorer and the
documentation.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from pathlib import PurePath
from typing import Literal

from treeanon.errors import UsageError

Kind = Literal[
    "int", "float", "choice", "text", "flag", "class", "classes", "weights", "effort", "queries",
    "number", "numbers", "ints", "names", "pairs", "file", "files", "day",
]  # fmt: skip
"""`class` is the name of one class, `classes` a list of names, `weights` a number from 0 for each class named, and
`effort` a factor above 0, or a time such as 30s; `queries` are the path of a file of queries, or a list of them.
`number` stays whole where it is written so; `numbers` and `ints` are lists of numbers, `names` a list of choices,
`pairs` texts by names, `file` the path of a file and `files` that of one or a list of several, and `day` is a day such
as 2024-01-31."""

_LISTS = ("numbers", "ints", "names", "files", "classes")
_WHOLE = re.compile(r"[+-]?[0-9]{1,300}")
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")

_FLAGS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


@dataclass(frozen=True)
class Parameter:
    """One parameter of a search, a privacy model or a builder; `aliases` are former names, which are still understood.

    `title` is what a field for it is called.

    `shared` marks what several searches take, of trees and of tables: front doors have a name of their own for it,
    the command line an option. All others are given as `--param NAME=VALUE`.
    """

    name: str
    kind: Kind
    help: str
    default: object = None
    choices: tuple[str, ...] = ()
    minimum: float | None = None
    maximum: float | None = None
    required: bool = False
    shared: bool = False
    aliases: tuple[str, ...] = ()
    title: str = ""
    example: object = None

    @property
    def expected(self) -> str:
        """Return what values the parameter takes, in words.

        >>> Parameter("g", "int", "", 2, minimum=1).expected
        'a whole number from 1'
        """
        if self.kind == "choice":
            return f"one of {', '.join(self.choices)}"
        return {
            "int": "a whole number" + self._range,
            "float": "a number" + self._range,
            "text": "a text",
            "flag": "true or false",
            "class": "the name of a class",
            "classes": "names of classes, separated by commas",
            "weights": "CLASS=NUMBER, separated by commas, with numbers from 0",
            "queries": "the path of a file of queries, one a line, or a list of queries",
            "effort": "a number above 0 (1 is usual) or a time such as 30s",
            "number": "a number",
            "numbers": "numbers, separated by commas",
            "ints": "whole numbers, separated by commas",
            "names": f"names out of {', '.join(self.choices)}, separated by commas",
            "pairs": "NAME=TEXT, separated by commas",
            "file": "the path of a file",
            "files": "the path of a file, or several, separated by commas",
            "day": "a day such as 2024-01-31",
        }[self.kind]

    @property
    def _range(self) -> str:
        low = "" if self.minimum is None else f" from {self.minimum:g}"
        return low if self.maximum is None else f"{low} to {self.maximum:g}"

    def takes(self, value: object) -> bool:
        """Return whether a value is of the parameter's type and range; None stands for the default.

        >>> seconds = Parameter("seconds", "float", "", 60.0, minimum=0)
        >>> seconds.takes(2), seconds.takes(-1), seconds.takes("2")
        (True, False, False)
        """
        if value is None:
            return not self.required
        if self.kind == "int":
            return isinstance(value, Integral) and not isinstance(value, bool) and self._is_within(int(value))
        if self.kind == "float":
            return isinstance(value, Real) and not isinstance(value, bool) and self._is_within(float(value))
        if self.kind == "choice":
            return isinstance(value, str) and value in self.choices
        if self.kind == "flag":
            return isinstance(value, bool)
        if self.kind == "weights":
            return isinstance(value, Mapping) and all(map(_is_weight, value.items()))
        if self.kind == "queries":
            return isinstance(value, str | PurePath) or (_is_names(value) and len(value) > 0)  # type: ignore[arg-type]
        if self.kind == "effort":
            return isinstance(value, str) or (_is_number(value) and value > 0)  # type: ignore[operator]
        if self.kind == "number":
            return _is_number(value)
        if self.kind == "pairs":
            return isinstance(value, Mapping) and all(isinstance(one, str) for pair in value.items() for one in pair)
        if self.kind in _LISTS and self.kind != "classes":
            return self._takes_list([value] if self.kind == "files" and isinstance(value, str) else value)
        if self.kind == "day":
            return isinstance(value, str) and _DAY.fullmatch(value) is not None
        return isinstance(value, str) or (self.kind == "classes" and _is_names(value))

    def _takes_list(self, value: object) -> bool:
        if not isinstance(value, list | tuple) or not value:
            return False
        if self.kind in ("numbers", "ints"):
            whole = self.kind == "ints"
            return all(_is_number(one) and (not whole or isinstance(one, Integral)) for one in value)
        return all(isinstance(one, str) and (self.kind == "files" or one in self.choices) for one in value)

    def _is_within(self, number: float) -> bool:
        low, high = self.minimum, self.maximum
        return not math.isnan(number) and (low is None or number >= low) and (high is None or number <= high)

    def parse(self, text: str) -> object:
        """Return the value that a text means; ValueError if it means none that the parameter takes.

        >>> Parameter("weights", "weights", "").parse("age=2, sex=0.5")
        {'age': 2.0, 'sex': 0.5}
        """
        value = self._read(text if self.kind == "text" else text.strip())
        if value is None or not self.takes(value):
            raise ValueError(f"must be {self.expected}")
        return value

    def _read(self, text: str) -> object:
        if self.kind == "int":
            return int(text)
        if self.kind == "float":
            return float(text)
        if self.kind == "flag":
            return _FLAGS.get(text.lower())
        if self.kind == "weights":
            pairs = [part.rpartition("=") for part in text.split(",")]
            return {name.strip(): float(number) for name, _, number in pairs}
        if self.kind == "number":
            return _number(text)
        if self.kind == "pairs":
            return {name.strip(): rest.strip() for name, _, rest in (part.partition("=") for part in text.split(","))}
        if self.kind in _LISTS:
            parts = [part.strip() for part in text.split(",")]
            if self.kind == "files" and len(parts) == 1:
                return parts[0]
            return [_number(part) for part in parts] if self.kind in ("numbers", "ints") else parts
        return text

    def text_of(self, value: object) -> str:
        """Return the text that means a value, for fields; `parse` reads it.

        >>> Parameter("w", "numbers", "").text_of([5, 2.5]), Parameter("f", "flag", "").text_of(False)
        ('5, 2.5', 'false')
        """
        if isinstance(value, Mapping):
            return ", ".join(f"{name}={one}" for name, one in value.items())
        if isinstance(value, list | tuple):
            return ", ".join(map(str, value))
        if isinstance(value, bool):
            # A required choice that is given as true is its default.
            return str(self.default) if self.kind == "choice" else str(value).lower()
        return "" if value is None else str(value)

    def as_dict(self) -> dict[str, object]:
        """Return the declaration as plain data, for listings."""
        ranges = {"choices": list(self.choices) or None, "minimum": self.minimum, "maximum": self.maximum}
        plain = {"name": self.name, "type": self.kind, **ranges, "default": self.default, "help": self.help}
        return {name: value for name, value in plain.items() if value is not None} | {"required": self.required}


def _number(text: str) -> int | float:
    return int(text) if _WHOLE.fullmatch(text) else float(text)


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(float(value))


def _is_weight(pair: tuple[object, object]) -> bool:
    name, weight = pair
    return isinstance(name, str) and name != "" and _is_number(weight) and weight >= 0  # type: ignore[operator]


def _is_names(value: object) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(name, str) for name in value)


def checked_parameters(owner: str, declared: tuple[Parameter, ...], given: Mapping[str, object]) -> dict[str, object]:
    """Return what is given by the declared names; UsageError for an unknown name, a wrong value or a missing one.

    >>> declared = (Parameter("g", "int", "", 2, minimum=1),)
    >>> checked_parameters("gcs", declared, {"g": 0})
    Traceback (most recent call last):
    treeanon.errors.UsageError: algorithm 'gcs': g must be a whole number from 1
    """
    found = {}
    for name, value in given.items():
        parameter = named_parameter(owner, declared, name)
        if parameter.name in found:
            raise UsageError(f"algorithm {owner!r}: {parameter.name} is given twice")
        if not parameter.takes(value):
            raise UsageError(f"algorithm {owner!r}: {parameter.name} must be {parameter.expected}")
        found[parameter.name] = value
    for parameter in declared:
        if parameter.required and parameter.name not in found:
            raise UsageError(f"algorithm {owner!r} needs the parameter {parameter.name!r}: {parameter.expected}")
    return found


def named_parameter(owner: str, declared: tuple[Parameter, ...], name: str) -> Parameter:
    """Return the declared parameter of that name, or once of that name; UsageError lists what there is."""
    for parameter in declared:
        if name == parameter.name or name in parameter.aliases:
            return parameter
    own = ", ".join(parameter.name for parameter in declared) or "none"
    raise UsageError(f"algorithm {owner!r} has no parameter {name!r}; its parameters: {own}")
