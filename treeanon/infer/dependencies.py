"""Facets from a sample: fields of which each says the other, in both directions, wherever both stand."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from treeanon.arrays import Ints, Longs, unique_values
from treeanon.infer.leaves import Holder, Leaf

_ENOUGH = 20
"""Least number of objects that hold both fields."""

_TIMES = 2
"""Least mean number of objects with one value: where each value occurs once, anything tells anything."""

_PRESENT = 0.95
"""Least share of the objects with the value that hold the facet as well."""

_MOST = 80
"""Number of fields of one kind of object that are compared."""

_CODE = re.compile(r"(?=.*\d)[^\s]{1,20}")


@dataclass(frozen=True)
class _Column:
    """The values of a field by the rows of its holder: rows are instances of objects, in order of appearance."""

    leaf: Leaf
    rows: Longs
    codes: Ints
    distinct: int


def find_facets(
    leaves: Sequence[Leaf], parents: Sequence[int], *, around: bool, of_files: bool = False
) -> dict[Leaf, tuple[Leaf, ...]]:
    """Return for fields that may be classes the fields that say the same: in the same object or one `around`.

    Without `around`, in the same row of a table; `of_files`: in the same file, which the first step names.

    `parents` has for each object of the sample the one that holds it, -1 for records.
    """
    above = np.asarray(parents, np.int64)
    by_holder: dict[Holder, list[_Column]] = {}
    for leaf in leaves:
        column = _column(leaf, above)
        if column is not None and len(by_holder.setdefault(leaf.holder, [])) < _MOST:
            by_holder[leaf.holder].append(column)
    found: dict[Leaf, tuple[Leaf, ...]] = {}
    taken: set[Leaf] = set()
    for holder in sorted(by_holder, key=lambda each: -len(each.path.steps)):
        for column in sorted(by_holder[holder], key=_as_class):
            if column.leaf in taken:
                continue
            others = [c for outer in _chain(holder, around=around) for c in by_holder.get(outer, ())]
            if of_files:
                others = [c for c in others if c.leaf.path.steps[0] == column.leaf.path.steps[0]]
            if not around:
                others = [c for c in others if c.leaf.path.steps[:-1] == column.leaf.path.steps[:-1]]
            same = [c.leaf for c in others if c is not column and c.leaf not in taken and _is_same(column, c, above)]
            if same:
                found[column.leaf] = tuple(same)
                taken |= {column.leaf, *same}
    return found


def _chain(holder: Holder, *, around: bool) -> list[Holder]:
    """Return a holder and, if wanted, those around it."""
    chain = [holder]
    while around and (outer := chain[-1].parent) is not None:
        chain.append(outer)
    return chain


def _as_class(column: _Column) -> tuple[bool, bool, int]:
    """Return a sort key that puts first what makes the best class of fields that say the same: a code."""
    texts = column.leaf.values.counts
    is_code = all(map(_CODE.fullmatch, texts))
    called = bool(column.leaf.labels) and column.leaf.labels[-1].lower() == "code"
    return not is_code, not called, sum(map(len, texts))


def _column(leaf: Leaf, parents: Longs) -> _Column | None:
    """Return the values of a field by rows; None for one that cannot be or have a facet."""
    values = leaf.values
    steps = leaf.path.steps
    if not _TIMES * values.distinct <= values.occurrences or values.distinct < 2 or values.occurrences < _ENOUGH:
        return None
    if any(step.name is None for step in steps) or len(values.rows) != values.occurrences:
        return None
    rows = np.asarray(values.rows, np.int64)
    depth = _depth(rows[:1], parents)
    rows = _lifted(rows, depth - len(leaf.holder.path.steps), parents)
    if len(unique_values(rows)) != len(rows):
        return None
    number = {text: code for code, text in enumerate(values.counts)}
    codes = np.fromiter((number[text] for text in values.texts), np.int32, len(rows))
    return _Column(leaf, rows, codes, values.distinct)


def _depth(rows: Longs, parents: Longs) -> int:
    """Return how many objects enclose a row."""
    depth, at = 0, parents[rows]
    while at[0] >= 0:
        depth, at = depth + 1, parents[at]
    return depth


def _lifted(rows: Longs, steps: int, parents: Longs) -> Longs:
    for _ in range(steps):
        rows = parents[rows]
    return rows


def _is_same(value: _Column, facet: _Column, parents: Longs) -> bool:
    """Return whether each value stands with one facet only, and each facet with one value only."""
    if not 0.8 * value.distinct <= facet.distinct <= 1.25 * value.distinct:
        return False
    levels = len(value.leaf.holder.path.steps) - len(facet.leaf.holder.path.steps)
    told = np.full(len(parents), -1, np.int32)
    told[facet.rows] = facet.codes
    beside = told[_lifted(value.rows, levels, parents)]
    both = beside >= 0
    if np.count_nonzero(both) < max(_ENOUGH, _PRESENT * len(both)):
        return False
    pairs = len(np.unique(np.stack([value.codes[both], beside[both]]), axis=1).T)
    return pairs == len(unique_values(value.codes[both])) == len(unique_values(beside[both]))


def facet_names(leaves: Sequence[Leaf]) -> Mapping[str, Leaf]:
    """Return a name for each facet: the last of its path, longer where two would have the same."""
    named: dict[str, Leaf] = {}
    for leaf in leaves:
        parts = [part for part in leaf.labels if part] or ["facet"]
        choices = ["_".join(parts[-count:]) for count in range(1, len(parts) + 1)]
        name = next((each for each in choices if each not in named), f"{choices[-1]}_{len(named)}")
        named[name] = leaf
    return named
