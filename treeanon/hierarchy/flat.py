"""Hierarchies of one level: the value itself, or any value."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from treeanon.hierarchy.model import Hierarchy


@dataclass(frozen=True)
class Flat:
    """Builder: every value lies under `*`.

    >>> Flat().build(["b", "a", "*"]).texts
    ('*', 'a', 'b')
    """

    def build(self, values: Iterable[str]) -> Hierarchy:
        """The hierarchy of the values, sorted.

        >>> Flat().build([]).texts
        ('*',)
        """
        return Hierarchy.flat(sorted(set(values) - {""}))


def parse_flat(spec: Mapping[str, object], value_type: str) -> tuple[Flat | None, list[tuple[str, str]]]:
    """The builder of `{flat = true}`, and all that is wrong with it.

    >>> parse_flat({"flat": 1}, "text")
    (None, [('flat', 'must be true')])
    """
    return (Flat(), []) if spec["flat"] is True else (None, [("flat", "must be true")])
