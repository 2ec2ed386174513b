"""Hierarchies of neighbours: values in order, so many to a group, groups in groups."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from itertools import takewhile

from treeanon.errors import HierarchyError
from treeanon.hierarchy.links import ROOT, ordered_tree
from treeanon.hierarchy.model import Hierarchy
from treeanon.hierarchy.numbers import DECIMAL, shortest

_RANGE = re.compile(rf"({DECIMAL})(?:…({DECIMAL})(?: \([0-9]+\))?)?")

Labeller = Callable[[int, int], str]
"""The label of the leaves from a first to a last, both by their place in the order."""


@dataclass(frozen=True)
class Groups:
    """Builder: values in order, `fanout` neighbours to a group, groups in groups, up to `*`.

    Groups depend on which values there are: a label that is read again is a value like the others.

    >>> Groups(2).build(["ant", "bee", "cat", "cow"]).texts
    ('*', 'a…b', 'ant', 'bee', 'c…c', 'cat', 'cow')
    """

    fanout: int
    numeric: bool = False

    def __post_init__(self) -> None:
        if _fanout_problem(self.fanout):
            raise HierarchyError(f"groups: {_fanout_problem(self.fanout)}")

    def build(self, values: Iterable[str]) -> Hierarchy:
        """The hierarchy of the values; the labels show as little of the values as tells groups apart.

        >>> Groups(2, numeric=True).build(["1204", "15", "17", "980"]).texts
        ('*', '10…20', '15', '17', '900…2000', '980', '1204')
        """
        leaves = sorted(set(values) - {"", ROOT})
        label: Labeller = _TextLabels(leaves)
        if self.numeric and all(_RANGE.fullmatch(leaf) for leaf in leaves):
            leaves.sort(key=lambda leaf: (*_bounds(leaf), leaf))
            label = _NumberLabels([_bounds(leaf) for leaf in leaves])
        forest = _Forest(leaves, label)
        while len(forest.layer) > self.fanout:
            forest.group(self.fanout)
        return forest.grown()


@dataclass
class _Forest:
    """Trees that grow together from below: each of `layer` is a root, its first and its last leaf."""

    leaves: Sequence[str]
    label: Labeller
    layer: list[tuple[str, int, int]] = field(init=False)
    parent: dict[str, str] = field(default_factory=dict)
    first: dict[str, int] = field(init=False)
    copies: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.layer = [(leaf, at, at) for at, leaf in enumerate(self.leaves)]
        self.first = {leaf: at for at, leaf in enumerate(self.leaves)}

    def group(self, fanout: int) -> None:
        """Nothing; the layer becomes the layer above it, where one left over stays as it is."""
        above = []
        for at in range(0, len(self.layer), fanout):
            members = self.layer[at : at + fanout]
            above.append(members[0] if len(members) == 1 else self._join(members))
        self.layer = above

    def _join(self, members: list[tuple[str, int, int]]) -> tuple[str, int, int]:
        first, last = members[0][1], members[-1][2]
        text = self._unique(self.label(first, last))
        self.first[text] = first
        self.parent.update((member, text) for member, _, _ in members)
        return text, first, last

    def _unique(self, base: str) -> str:
        text = base
        while text in self.first:
            self.copies[base] = self.copies.get(base, 1) + 1
            text = f"{base} ({self.copies[base]})"
        return text

    def grown(self) -> Hierarchy:
        """The hierarchy, with the layer under `*`."""
        self.parent.update((text, ROOT) for text, _, _ in self.layer)
        return Hierarchy(*ordered_tree(self.parent, sorted(self.first, key=self.first.__getitem__)))


class _TextLabels:
    """Labels of sorted texts: as much of the outer leaves as tells them from their neighbours."""

    def __init__(self, leaves: Sequence[str]) -> None:
        self.leaves, self.known = leaves, set(leaves)

    def __call__(self, first: int, last: int) -> str:
        before = self.leaves[first - 1] if first > 0 else ""
        after = self.leaves[last + 1] if last + 1 < len(self.leaves) else ""
        return f"{self._prefix(self.leaves[first], before)}…{self._prefix(self.leaves[last], after)}"

    def _prefix(self, leaf: str, neighbour: str) -> str:
        """The first characters that the neighbour does not share, less if they would show a whole value."""
        pairs = zip(leaf, neighbour, strict=False)
        common = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
        prefix = leaf[: common + 1]
        while len(prefix) > 1 and (prefix in self.known or prefix[-1].isspace()):
            prefix = prefix[:-1]
        return prefix


class _NumberLabels:
    """Labels of sorted numbers: the outer leaves rounded outward, as far as the neighbours allow."""

    def __init__(self, bounds: Sequence[tuple[Decimal, Decimal]]) -> None:
        self.bounds = bounds

    def __call__(self, first: int, last: int) -> str:
        below = self.bounds[first - 1][1] if first > 0 else Decimal("-Infinity")
        above = self.bounds[last + 1][0] if last + 1 < len(self.bounds) else Decimal("Infinity")
        low = _rounded(self.bounds[first][0], ROUND_FLOOR, lambda number: number > below)
        high = _rounded(self.bounds[last][1], ROUND_CEILING, lambda number: number < above)
        return f"{shortest(Fraction(low))}…{shortest(Fraction(high))}"


def _rounded(number: Decimal, rounding: str, separate: Callable[[Decimal], bool]) -> Decimal:
    for digits in range(1, len(number.as_tuple().digits)):
        candidate = Context(prec=digits, rounding=rounding).plus(number)
        if separate(candidate):
            return candidate
    return number


def _bounds(text: str) -> tuple[Decimal, Decimal]:
    """The least and greatest number of a text that is a number or a label of numbers."""
    match = _RANGE.fullmatch(text)
    assert match is not None
    return Decimal(match[1]), Decimal(match[2] or match[1])


def parse_groups(spec: Mapping[str, object], value_type: str) -> tuple[Groups | None, list[tuple[str, str]]]:
    """The builder of `{groups = 5}`, and all that is wrong with it.

    >>> parse_groups({"groups": 5}, "integer")
    (Groups(fanout=5, numeric=True), [])
    """
    fanout = spec["groups"]
    message = _fanout_problem(fanout)
    if message or not isinstance(fanout, int):
        return None, [("groups", message or "")]
    return Groups(fanout, numeric=value_type in ("integer", "number")), []


def _fanout_problem(fanout: object) -> str | None:
    if isinstance(fanout, bool) or not isinstance(fanout, int) or fanout < 2:
        return "must be a whole number of 2 or more: how many values make a group"
    return None
