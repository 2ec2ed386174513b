"""Searches whose groups may not reach above a level: cell by cell, of rows that are alike on the highest levels.

A published value lies below a node of its column's highest level where all rows of its group do. So rows are put into
cells by these nodes, in all columns that have a highest level, and each cell is searched for itself. What a cell
cannot have for lack of rows is left out, where that many may be; else nothing can be published.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from treeanon.algorithms.table.freeform.graph import Freeform, Graph
from treeanon.algorithms.table.group_checker import RowGroupChecker
from treeanon.algorithms.table.partition import Partition
from treeanon.algorithms.table.problem import Problem
from treeanon.algorithms.table.registry import TableAlgorithm
from treeanon.algorithms.table.result import Result, one_row_each
from treeanon.arrays import Longs
from treeanon.errors import GuaranteeError
from treeanon.kernels.table.groups import group_numbers
from treeanon.privacy.models.model import asks_for_size, largest_k
from treeanon.table import Column, Table
from treeanon.table.controls import allowed_levels, is_bounded


def searched(algorithm: TableAlgorithm, problem: Problem, options: Mapping[str, Any]) -> Result:
    """Return what a search finds, in cells where columns have a highest level and the search does not know of it."""
    bounded = [column for column in problem.table.quasi if is_bounded(column)]
    if not algorithm.in_cells or not bounded or not len(problem.table):
        return algorithm.search(problem, **options)
    one_row_each(problem.table, f"{algorithm.name} with max_level")
    cells = cells_of(problem.table, bounded)
    if algorithm.freeform:
        return _joined_graphs(algorithm, problem, options, cells)
    return _joined_groups(algorithm, problem, options, cells)


def cells_of(table: Table, bounded: Sequence[Column]) -> list[Longs]:
    """Return the rows of each cell: those that are alike on the highest levels of these columns.

    >>> from treeanon.hierarchy import Hierarchy
    >>> from treeanon.table.controls import with_controls
    >>> ages = Hierarchy.from_paths([["31", "30-39", "*"], ["34", "30-39", "*"], ["41", "40-49", "*"]])
    >>> table = with_controls(Table.of_texts({"age": (["31", "41", "34"], ages)}), {"age": {"max_level": 1}})
    >>> [rows.tolist() for rows in cells_of(table, table.quasi)]
    [[0, 2], [1]]
    """
    above = [allowed_levels(column)[-1][column.codes] for column in bounded]
    sizes = [len(column.hierarchy) + 1 for column in bounded]
    number, count = group_numbers([np.ascontiguousarray(own, np.int32) for own in above], sizes, len(table))
    rows = np.argsort(number, kind="stable")
    return np.split(rows, np.cumsum(np.bincount(number, minlength=count))[:-1])


def _joined_groups(
    algorithm: TableAlgorithm, problem: Problem, options: Mapping[str, Any], cells: list[Longs]
) -> Partition:
    """Return the groups of all cells."""
    group = np.full(len(problem.table), -1, np.int64)
    counts: dict[str, Any] = {"cells": len(cells)}
    made: Partition | None = None
    groups = 0
    for done, (rows, room) in enumerate(_rooms(problem, cells), start=1):
        found = _groups_of(algorithm, problem, options, rows, room)
        problem.report_progress(done, len(cells))
        own = np.zeros(len(rows), np.int64) if found is None else found.group
        group[rows] = np.where(own >= 0, own + groups, -1)
        groups += int(own.max(initial=-1)) + 1
        made = found or made
    # What a search tells of one cell is not true of all but for what it was asked for.
    told = {name: value for name, value in made.counts.items() if isinstance(value, str)} if made else {}
    style = made.style if made else options.get("style", algorithm.style)
    suppressed = int((group < 0).sum())
    return Partition(algorithm.name, problem.models, group, suppressed, {**told, **counts, "groups": groups}, style)


def _groups_of(
    algorithm: TableAlgorithm, problem: Problem, options: Mapping[str, Any], rows: Longs, room: int
) -> Partition | None:
    """Return the groups of a cell; None if it is one group, without a search. All may be left out where there is room.

    GuaranteeError if there is not.
    """
    k = largest_k(problem.models)
    if room == 0 and k <= len(rows) < 2 * k and all(map(asks_for_size, problem.models)):
        return None
    part = replace(problem, table=problem.table.take(rows), max_suppressed=min(room, len(rows)), progress=None)
    try:
        found = algorithm.search(replace(part, whole=problem.whole or problem.table), **options)
        assert isinstance(found, Partition)
        return found
    except GuaranteeError:
        if len(rows) > room:
            raise _unreachable(problem) from None
        return Partition(algorithm.name, problem.models, np.full(len(rows), -1, np.int64), len(rows))


def _rooms(problem: Problem, cells: list[Longs]) -> list[tuple[Longs, int]]:
    """Return the cells, each with the number of rows that may be left out of it.

    Where a cell fails as a whole, something of it must go: the smallest of these come first. What is then left goes to
    the others by their sizes.
    """
    number = np.empty(len(problem.table), np.int64)
    for i, rows in enumerate(cells):
        number[rows] = i
    holds = RowGroupChecker(problem).holds(number, len(cells))
    failing = sorted((rows for rows, fits in zip(cells, holds.tolist(), strict=True) if not fits), key=len)
    others = [rows for rows, fits in zip(cells, holds.tolist(), strict=True) if fits]
    room, rooms = problem.max_suppressed, []
    for rows in failing:
        if not room:
            raise _unreachable(problem)
        rooms.append((rows, min(room, len(rows))))
        room -= min(room, len(rows))
    whole = sum(map(len, others))
    return rooms + [(rows, room * len(rows) // whole) for rows in others]


def _unreachable(problem: Problem) -> GuaranteeError:
    names = ", ".join(model.name for model in problem.models)
    columns = ", ".join(column.name for column in problem.table.quasi if is_bounded(column))
    return GuaranteeError(
        f"max_level of {columns} leaves rows together that do not satisfy {names}, with at most"
        f" {problem.max_suppressed:,} of {problem.table.persons:,} persons left out: allow a higher level, or leave"
        " out more"
    )


def _joined_graphs(
    algorithm: TableAlgorithm, problem: Problem, options: Mapping[str, Any], cells: list[Longs]
) -> Freeform:
    """Return the graph that the graphs of all cells are together."""
    found: list[Freeform] = []
    for rows in cells:
        part = replace(problem, table=problem.table.take(rows), progress=None)
        try:
            one = algorithm.search(part, **options)
        except GuaranteeError:
            raise _unreachable(problem) from None
        assert isinstance(one, Freeform)
        found.append(one)
        problem.report_progress(len(found), len(cells))
    edges = np.empty((len(problem.table), found[0].graph.k), np.int32)
    original = np.empty(len(problem.table), np.int32)
    for rows, one in zip(cells, found, strict=True):
        numbers = rows.astype(np.int32)
        edges[rows], original[rows] = numbers[one.graph.edges], numbers[one.original]
    return replace(found[0], graph=Graph(edges), original=original, counts={"cells": len(cells)})
