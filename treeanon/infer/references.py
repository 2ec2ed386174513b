"""Ties between fields of a sample: ids of other objects of the same record, and fields of which each says the other."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from treeanon.arrays import Ints, Longs, unique_values
from treeanon.forest.references import identity, kind_named
from treeanon.infer.leaves import Holder, Leaf
from treeanon.infer.model import Findings
from treeanon.infer.secrets import names_id, words
from treeanon.schema.model import Reference

_ENOUGH = 5
"""Least number of references that are found."""

_FOUND = 0.8
"""Least share of the values of a field that are ids of one kind of object."""

_REFERRING = frozenset({"reference", "ref", "idref", "href"})
Named = frozenset[tuple[int, str]]
"""What is named: the object around, and the id."""


@dataclass(frozen=True)
class _Found:
    """A field that refers to objects of a kind: how often, and whether each of its objects does."""

    source: Leaf
    target: Leaf
    times: int
    every: bool


def with_references(findings: Findings, leaves: Sequence[Leaf], parents: Sequence[int]) -> Findings:
    """Return the findings with keys inside documents; fields that refer, or are referred to, are no classes."""
    published = {
        found.path.steps[:at]
        for found in findings.classes
        if found.published and found.path
        for at in range(1, len(found.path.steps) + 1)
    }
    able = [leaf for leaf in leaves if leaf.holder.parent is not None and leaf.holder.path.steps in published]
    keys = tuple(_chosen(_found(able, np.asarray(parents, np.int64))))
    if not keys:
        return findings
    ends = {path for key in keys for path in (key.path, key.target)}
    kept = tuple(found for found in findings.classes if not (found.published and found.path in ends))
    return replace(findings, classes=kept, references=keys) if any(found.published for found in kept) else findings


def _found(leaves: Sequence[Leaf], parents: Longs) -> Iterator[_Found]:
    """Yield the fields that refer to objects beside their own."""
    targets = [(leaf, named) for leaf in leaves if _may_name(leaf) and (named := _unique(leaf, parents)) is not None]
    for leaf in leaves:
        around = leaf.holder.parent
        beside = [
            (one, named) for one, named in targets if one.holder is not leaf.holder and one.holder.parent is around
        ]
        beside = [(one, named) for one, named in beside if _may_refer(leaf, one)]
        if not beside or len(leaf.values.rows) != leaf.values.occurrences:
            continue
        scope = _scopes(leaf, parents)
        for one, named in beside:
            times = sum(
                (row, identity(text)) in named and kind_named(text) in ("", one.holder.kind or kind_named(text))
                for row, text in zip(scope, leaf.values.texts, strict=True)
            )
            if times >= max(_ENOUGH, _FOUND * leaf.values.occurrences):
                yield _Found(leaf, one, times, times == leaf.holder.instances)


def _called(leaf: Leaf) -> str:
    """Return the name of a field; FHIR's XML has its values in attributes `value`."""
    labels = leaf.labels[:-1] if leaf.path.attribute == "value" and len(leaf.labels) > 1 else leaf.labels
    return labels[-1] if labels else ""


def _may_name(leaf: Leaf) -> bool:
    last = tuple(words(_called(leaf)))
    return _is_address(leaf) or (names_id(last) and last[-1] not in _REFERRING)


def _is_address(leaf: Leaf) -> bool:
    return _called(leaf).lower() == "fullurl"


def _may_refer(leaf: Leaf, target: Leaf) -> bool:
    last = tuple(words(_called(leaf)))
    if last == ("id",) or _is_address(leaf):
        return False
    named = {target.holder.kind or "", target.holder.path.steps[-1].name or ""}
    called = {name.lower() for name in named} | {name.lower().removesuffix("s") for name in named}
    return bool(last) and (last[-1] in _REFERRING or names_id(last) or "".join(last) in called)


def _unique(leaf: Leaf, parents: Longs) -> Named | None:
    """Return what a field names, if it names each object of a record by another value."""
    values = leaf.values
    if not values.occurrences or len(values.rows) != values.occurrences:
        return None
    pairs = list(zip(_scopes(leaf, parents), map(identity, values.texts), strict=True))
    return frozenset(pairs) if len(set(pairs)) == len(pairs) else None


def _scopes(leaf: Leaf, parents: Longs) -> list[int]:
    """Return for each value of a field the object around the one that holds it."""
    rows = np.asarray(leaf.values.rows, np.int64)
    depth, at = 0, parents[rows[:1]]
    while at[0] >= 0:
        depth, at = depth + 1, parents[at]
    outer: Holder | None = leaf.holder.parent
    for _ in range(depth - (len(outer.path.steps) if outer is not None else 0)):
        rows = parents[rows]
    found: list[int] = rows.tolist()
    return found


def _chosen(found: Iterator[_Found]) -> Iterator[Reference]:
    """Yield a key for each field that refers: objects lie in one other, and name what there is once in a record.

    What others lie in lies in nothing itself: who is whose is clear enough, and deeper trees have more relations.
    """
    fields: dict[Holder, Leaf] = {}
    inside: dict[Holder, Holder] = {}
    taken: set[Leaf] = set()
    for one in sorted(found, key=_order):
        source, target = one.source.holder, one.target.holder
        if one.source in taken or one.target in taken or one.source in fields.values():
            continue
        if fields.get(target, one.target) is not one.target:
            continue
        if target.most <= 1 and target.in_record:
            if one.every:
                taken.add(one.source)
                fields[target] = one.target
                yield Reference(one.source.path, one.target.path, inside=False)
        elif source not in inside and source not in inside.values() and target not in inside:
            inside[source] = target
            fields[target] = one.target
            taken.add(one.source)
            yield Reference(one.source.path, one.target.path)


def _order(one: _Found) -> tuple[bool, int, bool, str]:
    """Return a sort key: what repeats before what there is once, by the number of references, by addresses first."""
    name = one.source.path.text(slashed=False)
    return one.target.holder.most <= 1, -one.times, not _is_address(one.target), name


_FEWEST_RECORDS = 20
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
    if (
        not _TIMES * values.distinct <= values.occurrences
        or values.distinct < 2
        or values.occurrences < _FEWEST_RECORDS
    ):
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
    if np.count_nonzero(both) < max(_FEWEST_RECORDS, _PRESENT * len(both)):
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
