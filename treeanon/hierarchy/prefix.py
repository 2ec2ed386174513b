"""Hierarchies of texts cut to their first characters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise

from treeanon.errors import HierarchyError
from treeanon.hierarchy.links import ROOT, ordered_tree
from treeanon.hierarchy.model import Hierarchy

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
        """The hierarchy of the values; one that is a level's label is that level's node.

        >>> Prefix((3, 2)).build(["12103", "12*", "9"]).texts
        ('*', '12*', '121*', '12103', '9')
        """
        parent: dict[str, str] = {}
        for value in values:
            if value not in ("", ROOT):
                for child, above in pairwise([value, *self._labels(value), ROOT]):
                    parent[child] = above
        return Hierarchy(*ordered_tree(parent, sorted(parent)))

    def _labels(self, value: str) -> list[str]:
        """The labels above the value, lowest first."""
        is_label = value.endswith("*") and len(value) - 1 in self.keep
        length = len(value) - is_label
        return [value[:kept] + "*" for kept in self.keep if kept < length]


def parse_prefix(spec: Mapping[str, object], value_type: str) -> tuple[Prefix | None, Problems]:
    """The builder of `{prefix = [3, 2, 1]}`, and all that is wrong with it.

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
