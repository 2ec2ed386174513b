"""The builders of hierarchies by the name that a schema calls them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from treeanon.hierarchy.dates import parse_dates
from treeanon.hierarchy.flat import parse_flat
from treeanon.hierarchy.groups import parse_groups
from treeanon.hierarchy.intervals import parse_intervals
from treeanon.hierarchy.model import Hierarchy
from treeanon.hierarchy.prefix import parse_prefix

Problems = list[tuple[str, str]]


class Builder(Protocol):
    """What makes a hierarchy out of the distinct values of a class.

    >>> from treeanon.hierarchy.flat import Flat
    >>> builder: Builder = Flat()
    >>> len(builder.build(["a", "b"]))
    3
    """

    def build(self, values: Iterable[str]) -> Hierarchy:
        """The hierarchy under `*`, without the values that have no place in it.

        >>> from treeanon.hierarchy.intervals import Intervals
        >>> Intervals((5,)).build(["7", "seven"]).encode(["7", "seven", "5-9"]).tolist()
        [2, -1, 1]
        """
        ...


@dataclass(frozen=True)
class _Kind:
    """One builder of the registry: its parser, and the keys it takes beside its own name."""

    parse: Callable[[Mapping[str, object], str], tuple[Builder | None, Problems]]
    options: tuple[str, ...] = ()


BUILDERS: Mapping[str, _Kind] = {
    "intervals": _Kind(parse_intervals, ("min", "max")),
    "dates": _Kind(parse_dates),
    "prefix": _Kind(parse_prefix),
    "groups": _Kind(parse_groups),
    "flat": _Kind(parse_flat),
}


def parse_builder(spec: Mapping[str, object], value_type: str) -> tuple[Builder | None, Problems]:
    """The builder that an inline table of a schema describes, and all problems as (key, what would be right).

    >>> parse_builder({"groups": 5}, "text")
    (Groups(fanout=5, numeric=False), [])
    >>> parse_builder({"flat": True, "depth": 2}, "text")
    (None, [('depth', 'unknown key: there is flat')])
    """
    names = [name for name in BUILDERS if name in spec]
    allowed = [key for name in names or BUILDERS for key in (name, *BUILDERS[name].options)]
    problems = [(key, f"unknown key: there is {', '.join(allowed)}") for key in spec if key not in allowed]
    if len(names) != 1:
        problems.append((", ".join(names), f"must be exactly one of {', '.join(BUILDERS)}"))
    builder = None
    for name in names:
        builder, found = BUILDERS[name].parse(spec, value_type)
        problems += found
    return (None, problems) if problems else (builder, [])
