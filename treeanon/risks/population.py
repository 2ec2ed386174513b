"""How many persons of a population each row of a table may be of: who of them has values that it stands for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from treeanon.errors import UsageError
from treeanon.kernels.risk_population import count_fitting
from treeanon.kernels.table.groups import group_numbers
from treeanon.kernels.tree.forest import Flags, Ints, Longs
from treeanon.table import Column, Table
from treeanon.table.covers import value_ranks
from treeanon.verifier.freeform import stands_for

_MOST_CELLS = 1 << 28


def people_behind(table: Table, population: Table) -> Longs:
    """For every row of a table the rows of the population that it may be of.

    One fits where each of the table's quasi values stands for the population's. A missing value stands for a missing
    one, and a root for a missing one too. Both tables must have the same hierarchies.

    >>> from treeanon.hierarchy import Hierarchy
    >>> ages = Hierarchy.from_paths([["34", "30-39", "*"], ["35", "30-39", "*"], ["41", "40-49", "*"]])
    >>> table = Table.of_texts({"age": (["30-39", "41"], ages)})
    >>> people_behind(table, Table.of_texts({"age": (["34", "34", "35", "41", None], ages)})).tolist()
    [3, 1]
    """
    pairs = [(column, population.column(column.name)) for column in table.quasi]
    for own, other in pairs:
        if own.hierarchy != other.hierarchy or other.covers is not None:
            raise UsageError(f"column {own.name!r}: a population has values of the same hierarchy as the table")
    fitted = [_fitted(*pair) for pair in pairs]
    exact = [one for one in fitted if one.fits is None]
    loose = [one for one in fitted if one.fits is not None]
    here, there = len(table), len(population)
    # Nobody fits a row where a value of theirs is part of none: these have numbers that no row has.
    keys = [np.concatenate([one.rows, one.people]) for one in exact]
    numbers, _ = group_numbers(keys, [int(key.max(initial=0)) + 1 for key in keys], here + there)
    kinds, kind_of, _ = _distinct(numbers[:here], [one.rows for one in loose])
    people, _, persons = _distinct(numbers[here:], [one.people for one in loose])
    fits = [one.fits for one in loose if one.fits is not None]
    return count_fitting(
        np.searchsorted(people[:, 0], kinds[:, 0], "left"),
        np.searchsorted(people[:, 0], kinds[:, 0], "right"),
        kinds[:, 1:].astype(np.int32),
        people[:, 1:].astype(np.int32),
        persons,
        np.concatenate([np.zeros(0, np.bool_), *(one.ravel() for one in fits)]),
        np.cumsum([0, *(one.size for one in fits)])[:-1].astype(np.int64),
        np.array([one.shape[1] for one in fits], np.int64),
    )[kind_of]


@dataclass(frozen=True, eq=False)
class _Fitted:
    """The values of one column, as numbers that are equal where they fit; or a matrix that says which ones fit."""

    rows: Ints
    people: Ints
    fits: Flags | None


def _fitted(own: Column, other: Column) -> _Fitted:
    used, rows = np.unique(own.codes, return_inverse=True)
    theirs, people = np.unique(other.codes, return_inverse=True)
    if own.covers is None and (value_ranks(own.hierarchy)[used[used >= 0]] >= 0).all():
        # Single values stand for themselves.
        place = np.searchsorted(used, theirs)
        same = np.append(used, len(own.hierarchy))[place] == theirs
        return _Fitted(rows.astype(np.int32), np.where(same, place, len(used))[people].astype(np.int32), None)
    if len(used) * len(theirs) > _MOST_CELLS:
        raise UsageError(f"column {own.name!r}: too many different values to compare with a population")
    fits = stands_for(other, own, theirs, used)
    if (fits.sum(axis=0) > 1).any():
        return _Fitted(rows.astype(np.int32), people.astype(np.int32), fits)
    number = (
        np.where(fits.any(axis=0), fits.argmax(axis=0), len(used)) if len(used) else np.zeros(len(theirs), np.int64)
    )
    return _Fitted(rows.astype(np.int32), number[people].astype(np.int32), None)


def _distinct(numbers: Longs, columns: Sequence[Ints]) -> tuple[Longs, Longs, Longs]:
    """The different rows of numbers and columns, ascending; which one each row is; and how often each is there."""
    if not len(numbers):
        return np.zeros((0, len(columns) + 1), np.int64), np.zeros(0, np.int64), np.zeros(0, np.int64)
    sizes = [int(numbers.max()) + 1, *(int(column.max()) + 1 for column in columns)]
    alike, groups = group_numbers([numbers.astype(np.int32), *columns], sizes, len(numbers))
    example = np.zeros(groups, np.int64)
    example[alike] = np.arange(len(alike))
    rows = np.stack([numbers[example], *(column[example] for column in columns)], axis=1).astype(np.int64)
    return rows, alike, np.bincount(alike, minlength=groups).astype(np.int64)
