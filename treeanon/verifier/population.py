"""Whom of a population the rows of a table may be: counted value by value, as anybody can who has both.
Models that judge a release as a whole, or by a population, are checked here.

The searches count otherwise, by rolling the population up (`treeanon.algorithms.table.lattice`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from treeanon.arrays import Flags, Ints, Longs
from treeanon.errors import UsageError
from treeanon.kernels.risk_patterns import count_fitting
from treeanon.privacy.models import AverageRisk, DeltaPresence, KMap, Model, PopulationUniqueness
from treeanon.privacy.models.model import exact
from treeanon.privacy.models.population import PopulationModel, WholeModel
from treeanon.privacy.uniqueness import unique_persons
from treeanon.table import Column, Table
from treeanon.table.covers import value_ranks
from treeanon.verifier.groups import number_keys

_MOST_CELLS = 1 << 28


def population_counts(table: Table, population: Table, weights: Longs | None = None) -> Longs:
    """Return, for every row of a table, the number of persons of the population that match it.

    Each row of the population is one person, or as many as `weights` says.

    One fits where each of the table's quasi values stands for the population's. A missing value stands for a missing
    one, and a root for a missing one too. Both tables must have the same hierarchies.

    >>> from treeanon.hierarchy import Hierarchy
    >>> ages = Hierarchy.from_paths([["34", "30-39", "*"], ["35", "30-39", "*"], ["41", "40-49", "*"]])
    >>> table = Table.of_texts({"age": (["30-39", "41"], ages)})
    >>> population_counts(table, Table.of_texts({"age": (["34", "34", "35", "41", None], ages)})).tolist()
    [3, 1]
    """
    found = _Matching.of(table, population)
    ones = np.ones(len(population), np.int64)
    return found.counted(ones if weights is None else weights)


def groups_fitting(table: Table, population: Table) -> Longs:
    """Return, for every row of the population, how many rows of a table match it.

    >>> from treeanon.hierarchy import Hierarchy
    >>> ages = Hierarchy.from_paths([["34", "30-39", "*"], ["35", "30-39", "*"], ["41", "40-49", "*"]])
    >>> table = Table.of_texts({"age": (["30-39", "34"], ages)})
    >>> groups_fitting(table, Table.of_texts({"age": (["34", "35", "41"], ages)})).tolist()
    [2, 1, 0]
    """
    return _Matching.of(table, population).reversed().counted(np.ones(len(table), np.int64))


@dataclass(frozen=True, eq=False)
class _Matching:
    """Rows and people as few different kinds: a number of what must be equal, and values of what may only fit."""

    kinds: Longs
    kind_of: Longs
    people: Longs
    person_of: Longs
    fits: list[Flags]

    @classmethod
    def of(cls, table: Table, population: Table) -> _Matching:
        pairs = [(column, population.column(column.name)) for column in table.quasi]
        for own, other in pairs:
            if own.hierarchy != other.hierarchy or other.covers is not None:
                raise UsageError(f"column {own.name!r}: a population has values of the same hierarchy as the table")
        matched = [_matched_column(*pair) for pair in pairs]
        exact = [one for one in matched if one.fits is None]
        loose = [one for one in matched if one.fits is not None]
        here, there = len(table), len(population)
        # Nobody fits a row where a value of theirs is part of none: these have numbers that no row has.
        keys = [np.concatenate([one.rows, one.people]) for one in exact]
        numbers = number_keys(keys, here + there)
        kinds, kind_of, _ = _distinct(numbers[:here], [one.rows for one in loose])
        people, person_of, _ = _distinct(numbers[here:], [one.people for one in loose])
        return cls(kinds, kind_of, people, person_of, [one.fits for one in loose if one.fits is not None])

    def reversed(self) -> _Matching:
        """Return the same with rows and people in each other's place."""
        fits = [np.ascontiguousarray(one.T) for one in self.fits]
        return _Matching(self.people, self.person_of, self.kinds, self.kind_of, fits)

    def counted(self, weights: Longs) -> Longs:
        """Return, for every row, how much the people who match it weigh together."""
        persons = np.zeros(len(self.people), np.int64)
        np.add.at(persons, self.person_of, weights)
        return count_fitting(
            np.searchsorted(self.people[:, 0], self.kinds[:, 0], "left"),
            np.searchsorted(self.people[:, 0], self.kinds[:, 0], "right"),
            self.kinds[:, 1:].astype(np.int32),
            self.people[:, 1:].astype(np.int32),
            persons,
            np.concatenate([np.zeros(0, np.bool_), *(one.ravel() for one in self.fits)]),
            np.cumsum([0, *(one.size for one in self.fits)])[:-1].astype(np.int64),
            np.array([one.shape[1] for one in self.fits], np.int64),
        )[self.kind_of]


@dataclass(frozen=True, eq=False)
class _MatchedColumn:
    """Values of one column as numbers that are equal where they match, or a matrix of matches."""

    rows: Ints
    people: Ints
    fits: Flags | None


def _matched_column(own: Column, other: Column) -> _MatchedColumn:
    used, rows = np.unique(own.codes, return_inverse=True)
    theirs, people = np.unique(other.codes, return_inverse=True)
    if own.covers is None and (value_ranks(own.hierarchy)[used[used >= 0]] >= 0).all():
        # Single values stand for themselves.
        place = np.searchsorted(used, theirs)
        same = np.append(used, len(own.hierarchy))[place] == theirs
        return _MatchedColumn(rows.astype(np.int32), np.where(same, place, len(used))[people].astype(np.int32), None)
    if len(used) * len(theirs) > _MOST_CELLS:
        raise UsageError(f"column {own.name!r}: too many different values to compare with a population")
    fits = stands_for(other, own, theirs, used)
    if (fits.sum(axis=0) > 1).any():
        return _MatchedColumn(rows.astype(np.int32), people.astype(np.int32), fits)
    number = (
        np.where(fits.any(axis=0), fits.argmax(axis=0), len(used)) if len(used) else np.zeros(len(theirs), np.int64)
    )
    return _MatchedColumn(rows.astype(np.int32), number[people].astype(np.int32), None)


def _distinct(numbers: Longs, columns: Sequence[Ints]) -> tuple[Longs, Longs, Longs]:
    """Return the distinct rows of numbers and columns, ascending; the place of each row; and the counts."""
    if not len(numbers):
        return np.zeros((0, len(columns) + 1), np.int64), np.zeros(0, np.int64), np.zeros(0, np.int64)
    alike = number_keys([numbers, *columns], len(numbers))
    groups = int(alike.max()) + 1
    example = np.zeros(groups, np.int64)
    example[alike] = np.arange(len(alike))
    rows = np.stack([numbers[example], *(column[example] for column in columns)], axis=1).astype(np.int64)
    return rows, alike, np.bincount(alike, minlength=groups).astype(np.int64)


def stands_for(before: Column, after: Column, own: Ints, published: Ints) -> Flags:
    """Return whether each of some published values stands for each of some values, missing or not."""
    tree = before.hierarchy
    out = np.zeros((len(published), len(own)), np.bool_)
    ranks = np.append(value_ranks(tree), -1)[own]
    for row, value in zip(out, published.tolist(), strict=True):
        if value < 0:
            row[:] = own < 0
        elif after.covers is None:
            # Anything may become the root, also what is missing.
            row[:] = ((own >= value) & (own < tree.end[value])) | ((own < 0) & (value == 0))
        else:
            covers = after.covers
            listed = covers.members[covers.starts[value] : covers.starts[value + 1]]
            inside = (ranks >= covers.low[value]) & (ranks <= covers.high[value])
            row[:] = (inside & np.isin(ranks, listed) if len(listed) else inside) & (own >= 0) & (ranks >= 0)
            row |= (own < 0) & covers.missing[value]
    return out


def failing_of_whole(table: Table, alike: Longs, persons: Longs, model: Model) -> Flags:
    """Return which groups fail a model of the whole: all of them, if it is of no single ones that it fails.

    `alike` has the number of the group of each row, and `persons` how many are in each.
    """
    if isinstance(model, WholeModel):
        return np.full(len(persons), not _together(model, persons), np.bool_)
    assert isinstance(model, PopulationModel), "the model is of a whole release"
    people = model.people(table.quasi)
    groups = table.take(np.unique(alike, return_index=True)[1])
    behind = population_counts(groups, people.table, people.weights)
    fails: Flags = np.array(
        [not _behind(model, *pair) for pair in zip(persons.tolist(), behind.tolist(), strict=True)], np.bool_
    )
    if isinstance(model, DeltaPresence):
        fitting = groups_fitting(groups, people.table)
        counted = people.weights > 0
        if (fitting[counted] > 1).any():
            raise UsageError(
                f"{model.name} is for releases whose groups do not overlap: here some of the population fit several"
            )
        if exact("min", model.min) > 0 and (fitting[counted] == 0).any():
            return np.ones(len(persons), np.bool_)
    return fails


def is_checked(model: Model) -> bool:
    """Return whether there is a check for a model of the whole."""
    return any(kind in _TOGETHER or kind in _BEHIND for kind in type(model).__mro__)


def _together(model: WholeModel, persons: Longs) -> bool:
    check = next(_TOGETHER[kind] for kind in type(model).__mro__ if kind in _TOGETHER)
    return check(model, persons)


def _behind(model: PopulationModel, persons: int, behind: int) -> bool:
    check = next(_BEHIND[kind] for kind in type(model).__mro__ if kind in _BEHIND)
    return check(model, persons, behind)


def _average(model: AverageRisk, persons: Longs) -> bool:
    limit = exact("share", model.share)
    return len(persons) * limit.denominator <= limit.numerator * int(persons.sum())


def _uniqueness(model: PopulationUniqueness, persons: Longs) -> bool:
    found = unique_persons(persons, model.population, model.estimator)
    return found is not None and found <= exact("share", model.share) * model.population


def _map(model: KMap, persons: int, behind: int) -> bool:
    return behind >= model.k


def _presence(model: DeltaPresence, persons: int, behind: int) -> bool:
    return exact("min", model.min) * behind <= persons <= exact("max", model.max) * behind


_TOGETHER: dict[type, Callable[[Any, Longs], bool]] = {
    AverageRisk: _average,
    PopulationUniqueness: _uniqueness,
}
_BEHIND: dict[type, Callable[[Any, int, int], bool]] = {KMap: _map, DeltaPresence: _presence}
