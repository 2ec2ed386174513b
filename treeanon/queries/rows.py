"""Queries of tables: of generalized ones, row by row, and of permuted ones, group by group.

The bounds of a generalized table are sharp: there is an original that satisfies the query in no more (or no fewer) rows
than that and that could have been published so. For a permuted one, too: within a group any row may have any of its
sensitive values, so that the most rows that can satisfy a query are a largest matching of rows and values.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from treeanon.arrays import Flags, Floats, Longs, unique_values
from treeanon.errors import UsageError
from treeanon.queries.domains import Domain, Readings, domain_of
from treeanon.queries.grammar import Condition, Formula, QueryError, conditions, fold, relations
from treeanon.table import Column, Table
from treeanon.table.permuted import Permuted

MOST_CASES = 20_000
MOST_VALUES = 12
Counts = tuple[float, int, int]
"""An estimate, and the least and most."""


def count_rows(table: Table, formula: Formula) -> Counts:
    """Return how many rows of the original of a table satisfy a formula.

    >>> from treeanon.hierarchy import Hierarchy
    >>> from treeanon.queries.grammar import parse
    >>> ages = Hierarchy.from_paths([["31", "30-39", "*"], ["36", "30-39", "*"], ["41", "40-49", "*"]])
    >>> table = Table.of_texts({"age": (["30-39", "30-39", "41"], ages)})
    >>> count_rows(table, parse("age < 35 or age = 41"))
    (2.0, 1, 3)
    """
    return _Rows(table, formula).counts()


def _refuse_relations(formula: Formula) -> None:
    for found in relations(formula):
        raise QueryError(found.lower.place, "'under' is for trees, and these are rows: use and")


class _Asked:
    """The conditions of a formula by their classes, and whether it holds for a reading of each class."""

    def __init__(self, formula: Formula, names: Sequence[str]) -> None:
        _refuse_relations(formula)
        self.formula = formula
        self.by_class: dict[str, list[Condition]] = {}
        for condition in dict.fromkeys(conditions(formula)):
            if condition.name not in names:
                known = ", ".join(names)
                raise QueryError(condition.place, f"unknown class {condition.name!r}; choose from {known}")
            self.by_class.setdefault(condition.name, []).append(condition)
        self.names = list(self.by_class)

    def holds(self, readings: Sequence[int]) -> bool:
        """Return whether the formula holds where each class has the reading given, in the order of `names`."""
        of_class = dict(zip(self.names, readings, strict=True))

        def satisfied(leaf: object) -> bool:
            assert isinstance(leaf, Condition)
            return bool(of_class[leaf.name] >> self.by_class[leaf.name].index(leaf) & 1)

        return fold(
            self.formula, satisfied, lambda part: not part, lambda how, a, b: a and b if how == "and" else a or b
        )


@dataclass(frozen=True)
class _Cells:
    """The readings of a column: for every value (the missing one last) whether each is possible, and its weight."""

    of_row: Longs
    kinds: tuple[int, ...]
    possible: Flags
    weights: Floats

    @classmethod
    def of(cls, column: Column, domain: Domain) -> _Cells:
        values, of_row = np.unique(column.codes, return_inverse=True)
        found: list[Readings] = [domain.readings(None if v < 0 else column.values[v]) for v in values.tolist()]
        kinds = tuple(dict.fromkeys(kind for readings in found for kind in readings))
        weights = np.array([[readings.get(kind, 0.0) for kind in kinds] for readings in found]).reshape(len(found), -1)
        possible = np.array([[kind in readings for kind in kinds] for readings in found], np.bool_)
        return cls(of_row.astype(np.int64), kinds, possible.reshape(len(found), -1), weights)


def _domain(column: Column, asked: Sequence[Condition]) -> Domain:
    used = unique_values(column.codes[column.codes >= 0])
    return domain_of(column.spec, asked, column.hierarchy, [column.values[code] for code in used.tolist()])


class _Rows:
    """The different rows of the columns that a query is about, each with its readings."""

    def __init__(self, table: Table, formula: Formula) -> None:
        self.asked = _Asked(formula, [column.name for column in table.columns])
        self.cells = [
            _Cells.of(table.column(name), _domain(table.column(name), asked))
            for name, asked in self.asked.by_class.items()
        ]
        lines = np.stack([cells.of_row for cells in self.cells], axis=1)
        self.lines, self.times = np.unique(lines, axis=0, return_counts=True)

    def cases(self) -> Iterator[tuple[bool, Flags, Floats]]:
        """Return for every case of readings whether the formula holds, which rows may be it, and their weights."""
        if np.prod([float(len(cells.kinds)) for cells in self.cells]) > MOST_CASES:
            raise UsageError("the query has too many conditions: ask for fewer at once")
        for chosen in product(*(range(len(cells.kinds)) for cells in self.cells)):
            possible = np.ones(len(self.lines), np.bool_)
            weights = np.ones(len(self.lines))
            for at, (kind, cells) in enumerate(zip(chosen, self.cells, strict=True)):
                possible &= cells.possible[self.lines[:, at], kind]
                weights *= cells.weights[self.lines[:, at], kind]
            readings = [cells.kinds[kind] for kind, cells in zip(chosen, self.cells, strict=True)]
            yield self.asked.holds(readings), possible, weights

    def counts(self) -> Counts:
        can, cannot = np.zeros(len(self.lines), np.bool_), np.zeros(len(self.lines), np.bool_)
        share = np.zeros(len(self.lines))
        for holds, possible, weights in self.cases():
            if holds:
                can |= possible
                share += weights
            else:
                cannot |= possible
        return float(share @ self.times), int(self.times[~cannot].sum()), int(self.times[can].sum())


def count_permuted(made: Permuted, formula: Formula) -> Counts:
    """Return how many rows of the original of a permuted release satisfy a formula.

    >>> from treeanon.hierarchy import Hierarchy
    >>> from treeanon.queries.grammar import parse
    >>> from treeanon.table.permuted import permuted
    >>> columns = {"sex": (["f", "m"], Hierarchy.flat("fm")), "ill": (["flu", "acne"], Hierarchy.flat(["flu", "acne"]))}
    >>> made = permuted(Table.of_texts(columns, {"ill": "sensitive"}), np.array([0, 0]))
    >>> count_permuted(made, parse("sex = f and ill = flu")), count_permuted(made, parse("sex = f or ill = flu"))
    ((0.5, 0, 1), (1.5, 1, 2))
    """
    hidden = made.sensitive
    known = [column for column in made.records.columns if column.name != made.group]
    asked = _Asked(formula, [*(column.name for column in known), hidden.name])
    if hidden.name not in asked.by_class:
        return count_rows(made.records, formula)
    groups = made.groups()
    number, _ = made.numbers()
    values = _values(hidden, asked.by_class[hidden.name])
    kinds = tuple(dict.fromkeys(values.values()))
    if len(kinds) > MOST_VALUES:
        raise UsageError(f"the query has too many conditions on {hidden.name}: ask for fewer at once")
    of_group = np.zeros((len(groups), len(kinds)), np.int64)
    listed = groups.sensitive[0]
    owner = np.repeat(np.arange(len(groups)), np.diff(listed.starts))
    kind = np.array([kinds.index(values[code]) for code in listed.values.tolist()], np.int64)
    np.add.at(of_group, (owner, kind), listed.counts)
    return _matched(asked, known, number, hidden.name, kinds, of_group)


def _values(hidden: Column, asked: Sequence[Condition]) -> Mapping[int, int]:
    """Return the reading of every sensitive value, by its code; the missing one is after all others."""
    domain = _domain(hidden, asked)
    found: dict[int, int] = {}
    for code in unique_values(hidden.places).tolist():
        readings = domain.readings(hidden.values[code] if code < hidden.size else None)
        if len(readings) > 1:
            raise UsageError(f"{hidden.name} has values that stand for several, of which a permuted release has none")
        found[code] = next(iter(readings))
    return found


def _matched(
    asked: _Asked, known: Sequence[Column], number: Longs, hidden: str, kinds: Sequence[int], of_group: Longs
) -> Counts:
    """Return the sum over all groups, from the rows and from how many values of each reading a group has."""
    names = [name for name in asked.names if name != hidden]
    by_name = {column.name: column for column in known}
    cells = [_Cells.of(by_name[name], _domain(by_name[name], asked.by_class[name])) for name in names]
    if any((one.possible.sum(axis=1) != 1).any() for one in cells):
        raise UsageError("the records of a permuted release have values that stand for several")
    shapes = np.stack([number, *(one.possible.argmax(axis=1)[one.of_row] for one in cells)], axis=1)
    lines, times = np.unique(shapes, axis=0, return_counts=True)
    # The set of readings of the hidden value with which a row satisfies the formula, as bits.
    sets = np.zeros(len(lines), np.int64)
    own, which = np.unique(lines[:, 1:], axis=0, return_inverse=True)
    for at, line in enumerate(own.tolist()):
        fixed = {name: one.kinds[kind] for name, one, kind in zip(names, cells, line, strict=True)}
        fits = [asked.holds([fixed.get(name, kind) for name in asked.names]) for kind in kinds]
        sets[which.ravel() == at] = sum(1 << bit for bit, fit in enumerate(fits) if fit)
    sizes = of_group.sum(axis=1)
    bits = (sets[:, None] >> np.arange(len(kinds)) & 1).astype(np.float64)
    share = (bits * of_group[lines[:, 0]]).sum(axis=1) / sizes[lines[:, 0]]
    most = _largest_matching(lines[:, 0], sets, times, of_group)
    against = _largest_matching(lines[:, 0], (1 << len(kinds)) - 1 - sets, times, of_group)
    return float(share @ times), int((sizes - against).sum()), int(most.sum())


def _largest_matching(group: Longs, sets: Longs, times: Longs, of_group: Longs) -> Longs:
    """Return how many rows of each group can have a value of their set, every value being given out once.

    By König's theorem that is the least, over sets T of values, of the values in T and the rows that want others, too.
    """
    best: Longs = of_group.sum(axis=1)
    for chosen in range(1 << of_group.shape[1]):
        inside = (chosen >> np.arange(of_group.shape[1]) & 1).astype(bool)
        others = np.bincount(group, weights=times * ((sets & ~chosen) != 0), minlength=len(of_group)).astype(np.int64)
        best = np.minimum(best, of_group[:, inside].sum(axis=1) + others)
    return best
