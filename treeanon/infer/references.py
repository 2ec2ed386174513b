"""References inside documents, from a sample: fields whose values are ids of other objects of the same record."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from treeanon.arrays import Longs
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
