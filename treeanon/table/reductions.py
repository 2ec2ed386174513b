"""Reductions: one value for all that a class has in a record.

Flat views of trees: one row a person, one column a class, several values made one by a named reduction.

Sensitive numbers have one spelling each: "1" and "1.0" are not two values.

Also columns of sets: what the reduction `set` makes of a class that a person has several values of.

A value is the text of a JSON array, of which a person holds every member: `["Flu","HIV"]` says Flu and HIV.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np
import orjson

from treeanon.arrays import Ints, Longs, unique_values
from treeanon.errors import UsageError
from treeanon.forest import Forest
from treeanon.hierarchy import Builder, Flat, Hierarchy, Intervals
from treeanon.hierarchy.dates import read_periods
from treeanon.hierarchy.numbers import Number, decimals_of, is_shortest, number_text, parse_number
from treeanon.schema.model import ClassSpec, ValueType
from treeanon.schema.paths import FieldPath, Step
from treeanon.table.table import MISSING, Column, Table

_NUMBERS = ("integer", "number")


def in_one_spelling(column: Column) -> Column:
    """Return a sensitive numeric column with one spelling for each number; any other column unchanged.

    Of the spellings that a number has in the column, that is the shortest form, or else the first by code. Inner nodes
    of the hierarchy stay: a name of a group may look like a number.

    >>> from treeanon.hierarchy import Hierarchy
    >>> from treeanon.schema.model import ClassSpec
    >>> codes = np.array([1, 2, 3, 4, -1], np.int32)
    >>> column = Column(
    ...     ClassSpec("pay", type="number", role="sensitive"), Hierarchy.flat(["01", "1", "1e0", "002"]), codes
    ... )
    >>> in_one_spelling(column).texts()
    ['1', '1', '1', '002', None]
    """
    if column.role != "sensitive" or column.spec.type not in _NUMBERS or column.covers is not None:
        return column
    texts, hierarchy = column.values, column.hierarchy
    chosen: dict[Number, int] = {}
    same = np.append(np.arange(len(texts), dtype=np.int32), -1).astype(np.int32)
    used = [code for code in unique_values(column.codes).tolist() if code >= 0 and hierarchy.is_leaf(code)]
    for code in sorted(used, key=lambda code: (is_shortest(texts[code]) is None, code)):
        number = parse_number(texts[code], integer=False)
        if number is not None:
            same[code] = chosen.setdefault(number, code)
    return column if (same[used] == used).all() else replace(column, codes=same[column.codes])


def general_columns(table: Table) -> list[str]:
    """Return the names of the sensitive columns that hold inner nodes of their hierarchies.

    >>> from treeanon.hierarchy import Hierarchy
    >>> ills = Hierarchy.from_paths([["flu", "lung", "*"], ["asthma", "lung", "*"]])
    >>> general_columns(Table.of_texts({"ill": (["flu", "lung"], ills)}, {"ill": "sensitive"}))
    ['ill']
    """
    return [
        column.name
        for column in table.sensitive
        if any(code >= 0 and not column.hierarchy.is_leaf(code) for code in unique_values(column.codes).tolist())
    ]


_FEW = 8
"""So many different numbers need no intervals."""

_SAFE = 2**62


@dataclass(frozen=True)
class Occurrences:
    """Nodes of one class: the record of each, in ascending order, and its code in the hierarchy."""

    spec: ClassSpec
    hierarchy: Hierarchy
    record: Longs
    code: Ints
    records: int

    @cached_property
    def counts(self) -> Longs:
        """Return the number of nodes in each record."""
        return np.bincount(self.record, minlength=self.records).astype(np.int64)

    @property
    def repeats(self) -> bool:
        """Return whether a record has several."""
        return bool((self.counts > 1).any())

    @cached_property
    def used(self) -> Ints:
        """Return the codes that occur, ascending."""
        return unique_values(self.code)

    def texts(self) -> list[str]:
        """Return the texts of `used`."""
        texts = self.hierarchy.texts
        return [texts[code] for code in self.used.tolist()]


@dataclass(frozen=True)
class Reduction:
    """One reduction: the types of classes that it fits, and its function."""

    types: tuple[ValueType, ...]
    reduce: Callable[[Occurrences], Column]


def fitting(kind: ValueType) -> list[str]:
    """Return the names of the reductions that fit a type.

    >>> fitting("text"), fitting("date")
    (['count', 'mode', 'set'], ['count', 'min', 'max', 'mode', 'set'])
    """
    return [name for name, reduction in REDUCTIONS.items() if kind in reduction.types]


def _count(found: Occurrences) -> Column:
    """Return the number of nodes of each record; 0 is a value."""
    values, codes = np.unique(found.counts, return_inverse=True)
    return _numbers(found.spec, [str(value) for value in values.tolist()], codes, is_integer=True)


def _mean(found: Occurrences) -> Column:
    """Return the mean of the numbers with their multiplicity, as the nearest float."""
    numbers = _parsed(found)
    decimals = max(map(decimals_of, numbers), default=0)
    steps = [int(number * 10**decimals) for number in numbers]
    most = int(found.counts.max(initial=0))
    is_safe = max(map(abs, steps), default=0) * max(most, 1) < _SAFE
    of_node = np.array(steps, np.int64 if is_safe else object)[np.searchsorted(found.used, found.code)]
    sums = np.zeros(found.records, of_node.dtype)
    np.add.at(sums, found.record, of_node)
    means: dict[tuple[int, int], float] = {}
    there = np.flatnonzero(found.counts)
    pairs = list(zip(sums[there].tolist(), found.counts[there].tolist(), strict=True))
    for total, count in set(pairs):
        try:
            means[total, count] = float(Fraction(total, count * 10**decimals))
        except OverflowError:
            raise UsageError(f"class {found.spec.name!r}: its mean is too large for a number") from None
    values = sorted(set(means.values()))
    place = {value: at for at, value in enumerate(values)}
    codes = np.full(found.records, MISSING, np.int64)
    codes[there] = [place[means[pair]] for pair in pairs]
    return _numbers(found.spec, [number_text(value) for value in values], codes, is_integer=False)


def _extreme(sign: int) -> Callable[[Occurrences], Column]:
    def reduce(found: Occurrences) -> Column:
        """Return the least or the largest; of equal ones written in several ways the first of the hierarchy."""
        rank = _ranks(found)[np.searchsorted(found.used, found.code)]
        return _first(found, np.lexsort((found.code, sign * rank, found.record)))

    return reduce


def _mode(found: Occurrences) -> Column:
    """Return the most frequent value; among equals the first of the hierarchy."""
    size = len(found.hierarchy)
    pairs, times = np.unique(found.record * size + found.code, return_counts=True)
    record, code = pairs // size, (pairs % size).astype(np.int32)
    once = replace(found, record=record, code=code)
    return _first(once, np.lexsort((code, -times, record)))


def _first(found: Occurrences, order: Longs) -> Column:
    """Return the first of each record in an order that is sorted by records."""
    record, code = found.record[order], found.code[order]
    is_first = np.append(True, record[1:] != record[:-1])[: len(record)]
    codes = np.full(found.records, MISSING, np.int32)
    codes[record[is_first]] = code[is_first]
    return Column(found.spec, found.hierarchy, codes)


def _set(found: Occurrences) -> Column:
    """Return the distinct values as a JSON array of ascending texts; missing if there are none."""
    size = len(found.hierarchy)
    pairs = unique_values(found.record * size + found.code)
    record, code = pairs // size, (pairs % size).astype(np.int32)
    there, starts = np.unique(record, return_index=True)
    sets = [tuple(part.tolist()) for part in np.split(code, starts[1:])] if len(there) else []
    hierarchy, place = set_hierarchy(found.hierarchy, set(sets))
    codes = np.full(found.records, MISSING, np.int32)
    codes[there] = [place[one] for one in sets]
    return Column(replace(found.spec, type="text", hierarchy=hierarchy, hierarchy_source=None), hierarchy, codes)


def set_hierarchy(hierarchy: Hierarchy, sets: set[tuple[int, ...]]) -> tuple[Hierarchy, dict[tuple[int, ...], int]]:
    """Return the hierarchy of sets of nodes, and the code of each of them in it.

    One step up, the deepest members of a set become their parents; the root alone is the root, by its own text.

    >>> ills = Hierarchy.from_paths([["flu", "lung", "any"], ["cold", "lung", "any"], ["acne", "skin", "any"]])
    >>> made, place = set_hierarchy(ills, {(2, 5), (2, 3)})
    >>> made.texts
    ('any', '["lung"]', '["cold","flu"]', '["lung","skin"]', '["acne","flu"]')
    """
    depth, parent = hierarchy.depth.tolist(), hierarchy.parent.tolist()
    above: dict[tuple[int, ...], tuple[int, ...]] = {}
    for one in sorted(sets):
        while one != (0,) and one not in above:
            deepest = max(depth[node] for node in one)
            above[one] = tuple(sorted({parent[node] if depth[node] == deepest else node for node in one}))
            one = above[one]
    texts = {one: orjson.dumps(sorted(hierarchy.texts[node] for node in one)).decode() for one in above}
    root = hierarchy.root
    while root in texts.values():
        root += " "
    texts[0,] = root
    made = (
        Hierarchy.from_parents({texts[one]: texts[up] for one, up in above.items()}, root=root)
        if above
        else (Hierarchy.flat([], root))
    )
    return made, {one: made.code(text) for one, text in texts.items()}


def _numbers(spec: ClassSpec, texts: Sequence[str], codes: Longs, *, is_integer: bool) -> Column:
    """Return a column of new numbers, with a hierarchy that is made of them."""
    builder = number_builder(texts, is_integer=is_integer)
    hierarchy = builder.build(texts)
    nodes = np.append(hierarchy.encode(texts), MISSING)
    kind: ValueType = "integer" if is_integer else "number"
    source = {"intervals": list(builder.widths)} if isinstance(builder, Intervals) else None
    made = replace(spec, type=kind, hierarchy=builder, hierarchy_source=source, on_unknown="error")
    return Column(made, hierarchy, nodes[codes].astype(np.int32))


def number_builder(texts: Sequence[str], *, is_integer: bool) -> Builder:
    """Return intervals for numbers: few right under the root, many in about thirty, grouped by fours.

    >>> number_builder(["1", "2"], is_integer=True)
    Flat()
    >>> texts = [str(number) for number in range(100)]
    >>> hierarchy = number_builder(texts, is_integer=True).build(texts)
    >>> [hierarchy.texts[node] for node in hierarchy.ancestors(hierarchy.code("7"))]
    ['7', '5-9', '0-19', '0-79', '*']
    """
    numbers = [float(text) for text in texts]
    width = None if len(numbers) <= _FEW else _nice((max(numbers) - min(numbers)) / 32, is_integer=is_integer)
    if width is None:
        return Flat()
    builder = Intervals((width, 4 * width, 16 * width), integer=is_integer)
    # What finds no place in an interval, as a number of too many digits, would be lost.
    return builder if (builder.build(texts).encode(texts) >= 0).all() else Flat()


def _nice(least: float, *, is_integer: bool) -> int | float | None:
    """Return the least width of one digit 1, 2 or 5 that is no smaller; None if no float is exact."""
    exponent = 0
    if is_integer:
        width = 2
        while width < least:
            exponent += 1
            width = (1, 2, 5)[(exponent + 1) % 3] * 10 ** ((exponent + 1) // 3)
        return width
    if not 1e-9 < least < 1e12:
        return None
    steps = (digit * Fraction(10) ** power for power in range(-9, 14) for digit in (1, 2, 5))
    found = next(step for step in steps if step >= Fraction(least))
    return int(found) if found.denominator == 1 else float(found)


def _parsed(found: Occurrences) -> list[Fraction]:
    """Return the numbers of the codes that occur; UsageError if some are not numbers."""
    numbers = [parse_number(text, integer=False) for text in found.texts()]
    known = [Fraction(number) for number in numbers if number is not None]
    if len(known) < len(numbers):
        raise _no_order(found, len(numbers) - len(known), "numbers")
    return known


def _ranks(found: Occurrences) -> Longs:
    """Return the rank of each code that occurs, in the order of its type."""
    if found.spec.type == "date":
        texts = found.texts()
        days, starts, ranks = read_periods(texts)
        wrong = len(texts) - len(days) + int(np.count_nonzero(ranks > 0))
        if wrong:
            raise _no_order(found, wrong, "days")
        return starts.astype(np.int64)
    numbers = _parsed(found)
    place = {number: at for at, number in enumerate(sorted(set(numbers)))}
    return np.array([place[number] for number in numbers], np.int64)


def _no_order(found: Occurrences, wrong: int, what: str) -> UsageError:
    return UsageError(
        f"class {found.spec.name!r}: {wrong:,} of its {len(found.used):,} different values are no {what}, which this"
        " reduction needs; take count, mode or set"
    )


REDUCTIONS: dict[str, Reduction] = {
    "count": Reduction(("text", "integer", "number", "date"), _count),
    "min": Reduction(("integer", "number", "date"), _extreme(1)),
    "max": Reduction(("integer", "number", "date"), _extreme(-1)),
    "mean": Reduction(("integer", "number"), _mean),
    "mode": Reduction(("text", "integer", "number", "date"), _mode),
    "set": Reduction(("text", "integer", "number", "date"), _set),
}
"""The reductions by their names."""


def flatten(forest: Forest, reductions: Mapping[str, str] | None = None) -> Table:
    """Return the table of the records, in their order, with a column for every class.

    A class that occurs at most once in every record is a column of its values. One that occurs several times needs a
    reduction by its name in `reductions`: UsageError lists those that fit its type. What is counted are the nodes of
    the trees, in which equal siblings are one. Columns of values keep the hierarchy of their class.

    >>> import treeanon as ta
    >>> text = 'version = 1\\n[input]\\nformat = "ndjson"\\n[[class]]\\nname = "ill"\\npath = "ill[]"'
    >>> schema = ta.Schema.loads(text)
    >>> trees = [[["ill", "Flu", []], ["ill", "Gout", []]], [["ill", "Flu", []]], []]
    >>> forest = ta.Forest.from_records(schema, trees)
    >>> [list(flatten(forest, {"ill": how}).rows()) for how in ("count", "mode", "set")]
    [[('2',), ('1',), ('0',)], [('Flu',), ('Flu',), (None,)], [('["Flu","Gout"]',), ('["Flu"]',), (None,)]]
    """
    requested = dict(reductions or {})
    # Types of objects, where these stay whole, are no columns.
    valued = range(forest.classes.types, len(forest.classes.names))
    found = {forest.classes.names[index]: _occurrences(forest, index) for index in valued}
    _check(found, requested)
    columns = []
    for name, occurrences in found.items():
        if name in requested:
            columns.append(REDUCTIONS[requested[name]].reduce(occurrences))
        else:
            codes = np.full(len(forest), MISSING, np.int32)
            codes[occurrences.record] = occurrences.code
            columns.append(Column(occurrences.spec, occurrences.hierarchy, codes))
    return Table(tuple(map(_as_own_column, columns)), report=forest.report)


def _as_own_column(column: Column) -> Column:
    """Return the column as a file of rows has it: named as its class, in uniform spelling."""
    own = replace(column, spec=replace(column.spec, path=FieldPath((Step(column.name),)), under=None))
    return in_one_spelling(own)


def _occurrences(forest: Forest, index: int) -> Occurrences:
    """Return the nodes of one class, by record."""
    classes = forest.classes
    nodes = np.flatnonzero(classes.class_of[forest.label] == index)
    record = (np.searchsorted(forest.offsets, nodes, side="right") - 1).astype(np.int64)
    code: Ints = (forest.label[nodes] - classes.first[index]).astype(np.int32)
    spec = forest.schema.layout.classes[index].spec
    return Occurrences(spec, classes.hierarchies[index], record, code, len(forest))


def _check(found: Mapping[str, Occurrences], requested: Mapping[str, str]) -> None:
    """Raise UsageError for reductions that do not fit, and for repeated classes that have none."""
    if unknown := [name for name in requested if name not in found]:
        what = ", ".join(map(repr, unknown))
        raise UsageError(f"unknown class {what} to reduce; choose from {', '.join(found)}")
    for name, how in requested.items():
        kind = found[name].spec.type
        if how not in fitting(kind):
            fits = ", ".join(fitting(kind))
            raise UsageError(f"class {name!r}: {how!r} is no reduction of a class of type {kind}; choose from {fits}")
    several = [o for name, o in found.items() if name not in requested and o.repeats]
    if several:
        lines = [f"{o.spec.name} ({', '.join(fitting(o.spec.type))})" for o in several]
        raise UsageError(
            "these classes occur several times in a record, and a row has one value of each: name a reduction for"
            f" {'; for '.join(lines)}"
        )


_BEGINS = '["'


@dataclass(frozen=True, eq=False)
class Members:
    """The members of the sets of a column: the row of each, and a column that has it; a missing set is one row."""

    row: Longs
    column: Column


def members_of(column: Column) -> Members | None:
    """Return the members of a column whose values are sets; None for any other column.

    >>> ills = ['["Flu"]', '["Flu","HIV"]']
    >>> from treeanon.table import Table
    >>> table = Table.of_texts({"ill": ([ills[1], ills[0], None], Hierarchy.flat(ills))})
    >>> found = members_of(table.columns[0])
    >>> found.row.tolist(), found.column.texts()
    ([0, 0, 1, 2], ['Flu', 'HIV', 'Flu', None])
    """
    sets = None if column.covers is not None else _sets_of(column.hierarchy)
    if sets is None:
        return None
    texts = sorted({text for one in sets.values() for text in one})
    hierarchy = Hierarchy.flat(texts)
    place = dict(zip(texts, hierarchy.encode(texts).tolist(), strict=True))
    codes = [np.array([place[text] for text in sets.get(code, ())], np.int32) for code in range(len(column.hierarchy))]
    # The root, and whatever else is no set, says nothing of members: it is one value more, as a missing one is.
    codes = [*(one if len(one) else np.array([MISSING], np.int32) for one in codes), np.array([MISSING], np.int32)]
    sizes = np.array([len(one) for one in codes])
    row = np.repeat(np.arange(len(column.codes)), sizes[column.codes])
    own = np.concatenate([codes[code] for code in column.codes.tolist()] or [np.zeros(0, np.int32)])
    spec = replace(column.spec, type="text", hierarchy=hierarchy, hierarchy_source=None)
    return Members(row, Column(spec, hierarchy, own.astype(np.int32)))


def _sets_of(hierarchy: Hierarchy) -> dict[int, list[str]] | None:
    """Return the members of every node that is a set, if all leaves are."""
    texts = hierarchy.texts
    leaves = hierarchy.leaf_nodes.tolist()
    if not leaves or not all(texts[leaf].startswith(_BEGINS) for leaf in leaves):
        return None
    found: dict[int, list[str]] = {}
    for node, text in enumerate(texts):
        if text.startswith(_BEGINS):
            try:
                members = orjson.loads(text)
            except orjson.JSONDecodeError:
                members = None
            if isinstance(members, list) and all(isinstance(member, str) for member in members):
                found[node] = members
    return found if all(leaf in found for leaf in leaves) else None


def persons_of(person: Ints | Longs | None, rows: int) -> Longs:
    """Return the person of every row, where each row may be one."""
    return np.arange(rows) if person is None else np.asarray(person, np.int64)
