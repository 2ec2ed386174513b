"""What published values may stand for, as far as a query asks: the readings of a value.

A reading says which of the query's conditions on a class a value of the original satisfies, as bits. A published value
has those readings that some value of the original has that may have been published so, each with a weight: the share
of such values, were all of them equally frequent. Nothing but the value and the schema is needed, so that the bounds
hold for releases by whomever.

- A hierarchy from a file is complete: a node stands for its leaves.
- Builders make hierarchies of the values that occur, so others may lie below a node, too. Numbers and dates lie on a
  line, where labels are intervals; of other values those that the query names are told from all others.
- A mean or median bounds no single value.
- The root may stand for a missing value. What cannot be understood may be anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from treeanon.arrays import Flags, Longs
from treeanon.forest.build import hierarchy_for
from treeanon.hierarchy import Hierarchy
from treeanon.hierarchy.builders import Flat, Groups
from treeanon.hierarchy.dates import Ages
from treeanon.hierarchy.levels import Levels
from treeanon.queries.grammar import Condition, Constant, QueryError
from treeanon.queries.lines import ROOT, Line, Place, number_or_day
from treeanon.schema.model import ClassSpec
from treeanon.table.covers import cover_of, parsed, ranked_nodes, value_ranks

Readings = Mapping[int, float]
"""The possible readings of a value, with their weights, which add up to 1."""

MOST_CONDITIONS = 40


class Domain(Protocol):
    """The values of a class, as far as some conditions tell them apart."""

    def readings(self, text: str | None) -> Readings:
        """Return the readings of a published value; None is a missing one."""


def domain_of(spec: ClassSpec, asked: Sequence[Condition], hierarchy: Hierarchy, published: Iterable[str]) -> Domain:
    """Return the domain of a class for the conditions on it; UsageError where they are not for its values.

    `hierarchy` is the one by which the release was read, `published` are the values that it has.

    >>> from treeanon.queries.grammar import conditions, parse
    >>> ages = Hierarchy.from_paths([["31", "30-39", "*"], ["36", "30-39", "*"], ["41", "40-49", "*"]])
    >>> asked = list(conditions(parse("age < 35")))
    >>> domain = domain_of(ClassSpec("age", hierarchy=ages), asked, ages, [])
    >>> domain.readings("30-39"), domain.readings("40-49"), domain.readings(None)
    ({0: 0.5, 1: 0.5}, {0: 1.0}, {0: 1.0})
    """
    _check(spec, asked)
    if spec.controls.microaggregate:
        return _Averaged(replace(spec, type="number", hierarchy=Flat()), asked, published)
    if isinstance(spec.hierarchy, Hierarchy):
        return _Closed(spec, asked, hierarchy)
    built = spec.hierarchy.builder if isinstance(spec.hierarchy, Levels) else spec.hierarchy
    if spec.type != "text" and not isinstance(built, Ages):
        return Line(spec, asked, published)
    plain = replace(spec, hierarchy=built)
    return _Open(plain, asked, published)


class _Averaged:
    """A class of numbers published as means or medians, of which each row may have had any number.

    The estimate takes them as they stand.
    """

    def __init__(self, spec: ClassSpec, asked: Sequence[Condition], published: Iterable[str]) -> None:
        self.line = Line(spec, asked, published)
        self.possible = dict.fromkeys([*self.line.readings(ROOT), absent(asked)], 0.0)

    def readings(self, text: str | None) -> Readings:
        """Return the readings of a published value; where it is missing, it was so in the whole group."""
        own = self.line.readings(text)
        return own if text is None else {**self.possible, **own}


def _check(spec: ClassSpec, asked: Sequence[Condition]) -> None:
    place = asked[0].place
    if spec.shift:
        raise QueryError(place, f"dates of {spec.name} were moved (shift), so that nothing is known of the original's")
    if spec.pseudonym:
        raise QueryError(place, f"{spec.name} is published as pseudonyms, which stand for no value that is known here")
    if len(asked) > MOST_CONDITIONS:
        raise QueryError(place, f"more than {MOST_CONDITIONS} conditions on one class")


def absent(asked: Sequence[Condition]) -> int:
    """Return the reading of a missing value: it satisfies nothing but that it is missing."""
    return sum(1 << bit for bit, condition in enumerate(asked) if condition.operator == "missing")


def united(parts: Sequence[tuple[Readings, float]]) -> Readings:
    """Return the readings of a value that stands for several others, each with its weight."""
    whole = sum(weight for _, weight in parts)
    found: dict[int, float] = {}
    for readings, weight in parts:
        for reading, share in readings.items():
            found[reading] = found.get(reading, 0.0) + share * weight / (whole or 1.0)
    return found


def anything(asked: Sequence[Condition]) -> Readings:
    """Return the readings of a value of which nothing is known: all that can be, if not of one value."""
    if len(asked) > 12:
        raise QueryError(asked[-1].place, f"too many conditions on {asked[0].name}, which has values unknown here")
    missing = absent(asked)
    bits = [1 << bit for bit, condition in enumerate(asked) if condition.operator != "missing"]
    sums = [0]
    for bit in bits:
        sums += [one + bit for one in sums]
    return {**dict.fromkeys(sums, 1.0 / len(sums)), **({missing: 0.0} if missing else {})}


class _Closed:
    """A class whose hierarchy has all of its values as leaves."""

    def __init__(self, spec: ClassSpec, asked: Sequence[Condition], hierarchy: Hierarchy) -> None:
        self.hierarchy, self.asked = hierarchy, asked
        self.absent, self.is_open = absent(asked), spec.on_unknown == "suppress"
        self.ranks = value_ranks(hierarchy)
        nodes = ranked_nodes(hierarchy)
        line = _places(spec, [hierarchy.texts[node] for node in nodes.tolist()], asked)
        self.by_rank: Longs = np.zeros(len(nodes), np.int64)
        for bit, condition in enumerate(asked):
            if condition.operator != "missing":
                self.by_rank |= _satisfied(hierarchy, self.ranks, condition, line).astype(np.int64) << bit
        self.known: dict[str | None, Readings] = {None: {self.absent: 1.0}}

    def readings(self, text: str | None) -> Readings:
        """Return the readings of a published value."""
        if text not in self.known:
            self.known[text] = self._readings(str(text))
        return self.known[text]

    def _readings(self, text: str) -> Readings:
        node = self.hierarchy.find(text)
        if node is not None:
            found = self._spread(self.ranks[self.hierarchy.leaves(node)])
            if node:
                return found
            # A root stands for a missing value too, and where the schema says so for one that is not known.
            others = anything(self.asked) if self.is_open else {self.absent: 0.0}
            return {**dict.fromkeys(others, 0.0), **found}
        said = parsed(text)
        cover = None if said is None else cover_of(self.hierarchy, self.ranks, said)
        if cover is None:
            return anything(self.asked)
        ranks = np.array(cover.ranks, np.int64)
        if cover.is_range:
            ranks = np.arange(cover.ranks[0], cover.ranks[-1] + 1)
        parts = [(self._spread(ranks), float(len(ranks)))] if len(ranks) else []
        return united([*parts, ({self.absent: 1.0}, 1.0)] if cover.missing else parts)

    def _spread(self, ranks: np.ndarray) -> dict[int, float]:
        found, times = np.unique(self.by_rank[ranks], return_counts=True)
        return dict(zip(found.tolist(), (times / max(len(ranks), 1)).tolist(), strict=True))


def _places(spec: ClassSpec, texts: Sequence[str], asked: Sequence[Condition]) -> list[Place] | None:
    """Return where the leaves lie on a line, where a condition needs that: numbers, or days."""
    compares = [one for one in asked if one.operator in ("<", "<=", ">", ">=") or any(c.span for c in one.constants)]
    if not compares:
        return None
    places = [number_or_day(text, is_date=spec.type == "date") for text in texts]
    if any(place is None or place[0] != place[1] for place in places):
        strict = next((one for one in compares if not _could_be_names(one)), None)
        if strict is None:
            return None
        kind = "days" if spec.type == "date" else "numbers"
        raise QueryError(strict.place, f"the values of {spec.name} are not all {kind}: only =, != and in are for them")
    return [place[0] for place in places if place is not None]


def _could_be_names(condition: Condition) -> bool:
    return condition.operator == "in" and not any(constant.is_range for constant in condition.constants)


def _satisfied(hierarchy: Hierarchy, ranks: np.ndarray, condition: Condition, line: list[Place] | None) -> Flags:
    """Return which leaves, by rank, satisfy a condition."""
    out = np.zeros(len(hierarchy.leaf_nodes), np.bool_)
    for constant in condition.constants:
        if condition.operator == "in" and not constant.is_range:
            node = hierarchy.find(constant.text)
            if node is not None:
                out[ranks[hierarchy.leaves(node)]] = True
                continue
        if line is None or (condition.operator == "in" and constant.span is None):
            raise QueryError(constant.place, f"the hierarchy of {condition.name} does not know this value")
        out |= _between(np.array(line, object), condition, constant)
    return out


def _between(line: np.ndarray, condition: Condition, constant: Constant) -> Flags:
    ends = constant.span if condition.operator == "in" and constant.span else (constant.text, constant.text)
    is_date = not all(number_or_day(end, is_date=False) for end in ends)
    low, high = (number_or_day(end, is_date=is_date) for end in ends)
    if low is None or high is None:
        raise QueryError(constant.place, "a number or a date is expected")
    found = {
        "in": (line >= low[0]) & (line <= high[1]),
        "<": line < low[0],
        "<=": line <= high[1],
        ">": line > high[1],
        ">=": line >= low[0],
    }[condition.operator]
    return np.asarray(found, np.bool_)


@dataclass
class _Named:
    """The constants of a class as nodes of its hierarchy, with the bits of the conditions that each satisfies."""

    nodes: list[int]
    bits: list[int]


class _Open:
    """A class whose hierarchy is built from the values that occur, so that it may have had more of them."""

    def __init__(self, spec: ClassSpec, asked: Sequence[Condition], published: Iterable[str]) -> None:
        self.asked, self.absent = asked, absent(asked)
        self.opaque = isinstance(spec.hierarchy, Groups)
        for condition in asked:
            if condition.operator not in ("in", "missing") or any(one.is_range for one in condition.constants):
                kind = "as ages" if isinstance(spec.hierarchy, Ages) else "as texts"
                what = f"values of {spec.name} are published {kind}: only =, != and in are for them"
                raise QueryError(
                    condition.place, what + ("" if kind == "as ages" else ' (type = "integer" is for numbers)')
                )
        constants = [one for condition in asked for one in condition.constants]
        held = dict.fromkeys(_singles(published))
        if self.opaque:
            spec = replace(spec, hierarchy=Flat())
        texts = [*held, *(one.text for one in constants if one.text != ROOT)]
        self.hierarchy = hierarchy_for(spec, [list(dict.fromkeys(texts))])
        self.named = self._named(constants)
        self.known: dict[str | None, Readings] = {None: {self.absent: 1.0}}

    def _named(self, constants: Sequence[Constant]) -> _Named:
        bits: dict[int, int] = {}
        for bit, condition in enumerate(self.asked):
            for one in condition.constants:
                node = 0 if one.text == ROOT else self.hierarchy.find(one.text)
                if node is None:
                    raise QueryError(one.place, f"the hierarchy of {condition.name} does not know this value")
                bits[node] = bits.get(node, 0) | 1 << bit
        return _Named(list(bits), list(bits.values()))

    def readings(self, text: str | None) -> Readings:
        """Return the readings of a published value."""
        if text not in self.known:
            self.known[text] = self._readings(str(text))
        return self.known[text]

    def _readings(self, text: str) -> Readings:
        node = self.hierarchy.find(text)
        if node is not None:
            return self._of_node(node)
        said = parsed(text)
        if said is None:
            return anything(self.asked)
        values, is_range, missing = said
        nodes = [self.hierarchy.find(value) for value in values]
        if any(node is None for node in nodes):
            return anything(self.asked)
        known = [node for node in nodes if node is not None]
        parts = [(self._of_range(known), 1.0)] if is_range else [(self._of_node(node), 1.0) for node in known]
        return united([*parts, ({self.absent: 1.0}, 1.0)] if missing else parts)

    def _above(self, node: int) -> int:
        """Return the bits of the constants that a node is, or lies below."""
        pairs = zip(self.named.nodes, self.named.bits, strict=True)
        return sum_bits(bits for named, bits in pairs if self.hierarchy.covers(named, node))

    def _of_node(self, node: int) -> Readings:
        """Return the readings of a node: those of the leaves below it, and of what the release does not show.

        Others than the leaves that are known count as one.
        """
        if self.opaque and "…" in self.hierarchy.texts[node]:
            return self._of_any(self._above(node), self.named.nodes)
        leaves = self.hierarchy.leaves(node).tolist()
        if leaves == [node]:
            return {self._above(node): 1.0}
        inside = [named for named in self.named.nodes if named != node and self.hierarchy.covers(node, named)]
        found = dict.fromkeys([self._above(each) for each in (node, *inside)], 0.0)
        for each in (node, *leaves):
            reading = self._above(each)
            found[reading] = found.get(reading, 0.0) + 1.0 / (1 + len(leaves))
        return found if node else {self.absent: 0.0, **found}

    def _of_range(self, ends: Sequence[int]) -> Readings:
        """Return the readings of a range of texts, in which every constant may lie that is not surely outside."""
        everything = self._above(0)
        ranks = value_ranks(self.hierarchy)
        low, high = ranks[self.hierarchy.leaves(ends[0])].min(), ranks[self.hierarchy.leaves(ends[-1])].max()
        mixed = not _all_numbers(self.hierarchy)
        inside = [
            named
            for named in self.named.nodes
            if mixed
            or self._overlaps(ranks, named, low, high)
            or min(ends) <= named < max(self.hierarchy.end[list(ends)])
        ]
        return self._of_any(everything, [*inside, *ends])

    def _overlaps(self, ranks: np.ndarray, node: int, low: int, high: int) -> bool:
        own = ranks[self.hierarchy.leaves(node)]
        return bool(((own >= low) & (own <= high)).any())

    def _of_any(self, base: int, nodes: Sequence[int]) -> Readings:
        found = list(dict.fromkeys([base, *(base | self._above(node) for node in nodes)]))
        return dict.fromkeys(found, 1.0 / len(found))


def _all_numbers(hierarchy: Hierarchy) -> bool:
    texts = hierarchy.texts
    return all(number_or_day(texts[leaf], is_date=False) is not None for leaf in hierarchy.leaf_nodes.tolist())


def sum_bits(bits: Iterable[int]) -> int:
    """Return the union of sets of bits."""
    out = 0
    for some in bits:
        out |= some
    return out


def _singles(published: Iterable[str]) -> Iterable[str]:
    """Return the values of published texts, members of sets and ends of ranges among them."""
    for text in published:
        said = parsed(text)
        yield from [text] if said is None else said[0]
