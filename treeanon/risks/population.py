"""How many persons of a population each row of a table may be of: who of them has values that it stands for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from treeanon.errors import UsageError
from treeanon.hierarchy import Hierarchy
from treeanon.kernels.flat_losses import group_numbers
from treeanon.kernels.risk_population import count_fitting
from treeanon.kernels.trees import Flags, Ints, Longs
from treeanon.table import Column, Table
from treeanon.table.covers import value_ranks

_MOST_CELLS = 1 << 28


def people_behind(table: Table, population: Table) -> Longs:
    """For every row of a table the rows of the population that it may be of.

    One fits where each of the table's quasi values stands for all that the population's may be. A missing value
    stands for a missing one, and a root for a missing one too. Both tables must have the same hierarchies.

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
    held = [_held(own, int(code)) for code in used]
    wanted = [_held(other, int(code), alone=True) for code in theirs]
    owner = np.full(len(own.hierarchy.leaf_nodes) + 1, -1, np.int32)
    apart = True
    for number, ranks in enumerate(held):
        apart = apart and bool((owner[ranks] < 0).all())
        owner[ranks] = number
    if apart:
        found = [_only(owner[ranks]) for ranks in wanted]
        number_of = np.where(np.array(found, np.int64) < 0, len(used), found)
        return _Fitted(rows.astype(np.int32), number_of[people].astype(np.int32), None)
    if max(len(used), len(theirs)) * max(len(owner), len(used)) > _MOST_CELLS:
        raise UsageError(f"column {own.name!r}: too many different values that overlap to compare with a population")
    covers = np.zeros((len(used), len(owner)), np.bool_)
    for number, ranks in enumerate(held):
        covers[number, ranks] = True
    fits = np.zeros((len(used), len(theirs)), np.bool_)
    for number, ranks in enumerate(wanted):
        fits[:, number] = covers[:, ranks].all(axis=1)
    return _Fitted(rows.astype(np.int32), people.astype(np.int32), fits)


def _only(owners: Ints) -> int:
    """The one owner of all, -1 if there is none."""
    return int(owners[0]) if len(owners) and (owners == owners[0]).all() else -1


def _held(column: Column, code: int, *, alone: bool = False) -> Longs:
    """The ranks of the values that a code may stand for, the number of leaves for a missing one.

    With `alone` the root stands for its leaves only: it is somebody's value, though nobody knows which.
    """
    hierarchy, covers = column.hierarchy, column.covers
    nothing = len(hierarchy.leaf_nodes)
    if code < 0:
        return np.array([nothing], np.int64)
    if covers is None:
        ranks, missing = _leaf_ranks(hierarchy, code), code == 0 and not alone
    elif covers.starts[code] < covers.starts[code + 1]:
        ranks = covers.members[covers.starts[code] : covers.starts[code + 1]].astype(np.int64)
        missing = bool(covers.missing[code])
    else:
        ranks = np.arange(covers.low[code], covers.high[code] + 1, dtype=np.int64)
        missing = bool(covers.missing[code])
    return np.append(ranks, nothing) if missing else ranks


def _leaf_ranks(hierarchy: Hierarchy, node: int) -> Longs:
    """The ranks of the leaves under a node."""
    start, count = int(hierarchy.leaf_start[node]), int(hierarchy.leaf_count[node])
    return value_ranks(hierarchy)[hierarchy.leaf_nodes[start : start + count]].astype(np.int64)


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
