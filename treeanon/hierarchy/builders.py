"""The builders of hierarchies by the name that a schema calls them.

Hierarchies of one level: the value itself, or any value.

Hierarchies of texts cut to their first characters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import compress, pairwise
from operator import ne
from typing import Protocol

import numpy as np

from treeanon.errors import HierarchyError
from treeanon.hierarchy.dates import parse_dates
from treeanon.hierarchy.groups import parse_groups
from treeanon.hierarchy.intervals import parse_intervals
from treeanon.hierarchy.links import ROOT, Nodes
from treeanon.hierarchy.model import Hierarchy


@dataclass(frozen=True)
class Flat:
    """Builder: every value lies under `*`.

    >>> Flat().build(["b", "a", "*"]).texts
    ('*', 'a', 'b')
    """

    def build(self, values: Iterable[str]) -> Hierarchy:
        """Return the hierarchy of the values, sorted.

        >>> Flat().build([]).texts
        ('*',)
        """
        return Hierarchy.flat(sorted(set(values) - {""}))


def parse_flat(spec: Mapping[str, object], value_type: str) -> tuple[Flat | None, list[tuple[str, str]]]:
    """Return the builder of `{flat = true}`, and its problems.

    >>> parse_flat({"flat": 1}, "text")
    (None, [('flat', 'must be true')])
    """
    return (Flat(), []) if spec["flat"] is True else (None, [("flat", "must be true")])


Problems = list[tuple[str, str]]


@dataclass(frozen=True)
class Prefix:
    """Builder: a value lies under its first characters and a star, as many as each level keeps.

    >>> Prefix((3, 1)).build(["12103", "12199"]).texts
    ('*', '1*', '121*', '12103', '12199')
    """

    keep: tuple[int, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "keep", tuple(self.keep))
        problem = _keep_problem(self.keep)
        if problem:
            raise HierarchyError(f"prefix: {problem}")

    def build(self, values: Iterable[str]) -> Hierarchy:
        """Return the hierarchy of the values; one that is a level's label is that level's node.

        >>> Prefix((3, 2)).build(["12103", "12*", "9"]).texts
        ('*', '12*', '121*', '12103', '9')
        """
        texts = sorted(set(values) - {"", ROOT})
        lengths = np.fromiter(map(len, texts), dtype=np.int64, count=len(texts))
        nodes = Nodes()
        up = np.zeros(len(texts), dtype=np.intp)
        for kept in reversed(self.keep):
            within = np.flatnonzero(lengths > kept)
            starts = [texts[at][:kept] for at in within.tolist()]
            is_first = np.array([True, *map(ne, starts[1:], starts)][: len(starts)], dtype=np.bool_)
            first = within[is_first]
            # the first text beyond a prefix takes its label's place, and is added after it
            own = nodes.add([f"{start}*" for start in compress(starts, is_first)], first, up[first])
            up[within] = own[np.cumsum(is_first) - 1]
        is_leaf = np.fromiter(map(self._is_leaf, texts), dtype=np.bool_, count=len(texts))
        nodes.add(list(compress(texts, is_leaf)), np.flatnonzero(is_leaf), up[is_leaf])
        return Hierarchy(*nodes.tree())

    def _is_leaf(self, text: str) -> bool:
        """Return whether the text is no label; a label, as a text among the others, makes its own node."""
        return text[-1] != "*" or len(text) - 1 not in self.keep


def parse_prefix(spec: Mapping[str, object], value_type: str) -> tuple[Prefix | None, Problems]:
    """Return the builder of `{prefix = [3, 2, 1]}`, and its problems.

    >>> parse_prefix({"prefix": [1, 2]}, "text")
    (None, [('prefix', 'numbers of characters must descend')])
    """
    keep = spec["prefix"]
    message = _keep_problem(keep)
    if message or not isinstance(keep, (list, tuple)):
        return None, [("prefix", message or "")]
    return Prefix(tuple(keep)), []


def _keep_problem(keep: object) -> str | None:
    if not isinstance(keep, (list, tuple)) or not keep:
        return "must be a list of numbers of characters such as [3, 2, 1]"
    if not all(isinstance(kept, int) and not isinstance(kept, bool) and kept > 0 for kept in keep):
        return "every number of characters must be a positive whole number"
    if any(lower <= upper for lower, upper in pairwise(keep)):
        return "numbers of characters must descend"
    return None


class Builder(Protocol):
    """What makes a hierarchy out of the distinct values of a class.

    >>> from treeanon.hierarchy.builders import Flat
    >>> builder: Builder = Flat()
    >>> len(builder.build(["a", "b"]))
    3
    """

    def build(self, values: Iterable[str]) -> Hierarchy:
        """Return the hierarchy under `*`, without the values that have no place in it.

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
    """Return the builder that an inline table of a schema describes, and all problems as (key, message).

    >>> parse_builder({"groups": 5}, "text")
    (Groups(fanout=5, numeric=False), [])
    >>> parse_builder({"flat": True, "depth": 2}, "text")
    (None, [('depth', 'unknown key; choose from flat')])
    """
    names = [name for name in BUILDERS if name in spec]
    allowed = [key for name in names or BUILDERS for key in (name, *BUILDERS[name].options)]
    problems = [(key, f"unknown key; choose from {', '.join(allowed)}") for key in spec if key not in allowed]
    if len(names) != 1:
        problems.append((", ".join(names), f"must be exactly one of {', '.join(BUILDERS)}"))
    builder = None
    for name in names:
        builder, found = BUILDERS[name].parse(spec, value_type)
        problems += found
    return (None, problems) if problems else (builder, [])
