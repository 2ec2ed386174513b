"""Bounds that every published group keeps: the greatest span of a column, and the greatest loss of a group.

Whatever search has found groups, those that are above a bound are divided at medians until they keep it. Pieces that
satisfy the models stay. The rows of all others are put together and divided once more, then gathered around pieces,
then join groups in which there is room for them, and are left out if there is none.

A span is, of numbers, the distance of the ends of what is published; of other values, how many leaves that stands for.
What may also be missing among others stands for anything. The loss of a group is its NCP: the mean over the columns,
by their weights.

Also searches whose groups may not reach above a level: cell by cell, of rows that are alike on the highest levels.

A published value lies below a node of its column's highest level where all rows of its group do. So rows are put into
cells by these nodes, in all columns that have a highest level, and each cell is searched for itself. What a cell
cannot have for lack of rows is left out, where that many may be; else nothing can be published.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import Any

import numpy as np

from treeanon.algorithms.table.freeform.graph import Freeform, Graph
from treeanon.algorithms.table.group_checker import RowGroupChecker
from treeanon.algorithms.table.onedim.costs import ColumnCosts, scales_of, table_costs
from treeanon.algorithms.table.problem import Problem
from treeanon.algorithms.table.registry import Style, TableAlgorithm
from treeanon.algorithms.table.result import Partition, Result, left_out, one_row_each, style_of
from treeanon.arrays import Flags, Floats, Ints, Longs
from treeanon.errors import GuaranteeError
from treeanon.hierarchy import Intervals
from treeanon.kernels.table.group_bounds import fitting_groups, grown_group, join_groups, split_groups
from treeanon.kernels.table.groups import group_numbers
from treeanon.kernels.table.onedim_diversity_loss import Prices
from treeanon.kernels.table.orders import NODES, RANGES, SETS
from treeanon.metrics.table.ncp import Form, number_ends, rank_numbers
from treeanon.privacy.models.model import asks_for_size, largest_k
from treeanon.table import Column, Table
from treeanon.table.controls import allowed_levels, is_bounded
from treeanon.table.covers import value_ranks

_TINY = 1e-9
_WORK = 200_000_000
"""So many pairs of a row and a group are looked at where rows join groups."""


@dataclass(frozen=True, eq=False)
class Bounds:
    """What groups of rows cost in every column, and how much they may.

    The first `counted` columns are those of the table, whose prices are weighted NCP and may add up to `limit`; those
    after them are the spans and the highest levels of some, which each have one of `limits`.
    """

    cells: Ints
    prices: Prices
    limits: Floats
    counted: int
    limit: float

    @classmethod
    def of(cls, problem: Problem, style: Style, form: Form = "taxonomy") -> Bounds | None:
        """Return the bounds of a problem whose groups are published in a style; None where it has none.

        `form` is that of the NCP that no group may have more of.
        """
        columns = problem.table.quasi
        asked = [column for column in columns if _has_span(column)]
        if not asked and problem.max_group_loss is None:
            return None
        costs = table_costs(problem.table, form, style)
        spans = [_span_costs(column, style) for column in asked]
        spans += [_cell_costs(column) for column in columns if is_bounded(column)]
        values, scales = scales_of([*costs, *(one for one, _ in spans)])
        mixed = np.array([one.mixed for one in (*costs, *(one for one, _ in spans))])
        prices = Prices(scales.kinds, scales.starts, scales.shares, scales.parent, scales.end, mixed)
        limits = np.array([np.inf] * len(costs) + [limit + _TINY for _, limit in spans])
        most = np.inf if problem.max_group_loss is None else problem.max_group_loss * len(costs) + _TINY
        return cls(values, prices, limits, len(costs), float(most))

    def keep(self, offsets: Longs, members: Longs) -> Flags:
        """Return which groups keep the bounds; group g has the rows members[offsets[g]:offsets[g + 1]]."""
        return fitting_groups(self.cells, offsets, members, self.prices, self.limits, self.counted, self.limit)

    def divided(self, members: Longs) -> Longs:
        """Sort rows into groups that keep the bounds, as far as single values do; return where they begin."""
        return split_groups(self.cells, members, self.prices, self.limits, self.counted, self.limit)

    def grown(self, seed: Longs, others: Longs, need: int) -> Longs:
        """Return rows with the nearest of some others, as many as are needed and keep the bounds."""
        return grown_group(self.cells, seed, others, self.prices, self.limits, self.counted, self.limit, need)

    def joined(self, offsets: Longs, members: Longs, lost: Longs) -> Longs:
        """Return for each of the rows lost the group that has room for it; -1 for none."""
        return join_groups(self.cells, offsets, members, self.prices, self.limits, self.counted, self.limit, lost)


def _span_costs(column: Column, style: Style) -> tuple[ColumnCosts, float]:
    """Return what groups of a column span as published, and how much they may."""
    tree, most = column.hierarchy, column.spec.controls.max_span
    assert most is not None
    style, numbers = style_of(column, style), rank_numbers(column)
    if style == "hierarchy":
        return ColumnCosts(NODES, column.codes, node_spans(column), tree.parent, tree.end, np.inf), most
    ranks = np.append(value_ranks(tree), np.int32(-1))[column.codes]
    none = np.zeros(len(tree.leaf_nodes), np.int32)
    if numbers is not None:
        return ColumnCosts(RANGES, ranks, numbers, none, none, np.inf), most
    if style == "ranges":
        return ColumnCosts(RANGES, ranks, np.arange(len(none), dtype=np.float64), none, none, np.inf), most - 1
    return ColumnCosts(SETS, column.codes, np.ones(len(tree)), tree.parent, tree.end, np.inf), most - 1


def _cell_costs(column: Column) -> tuple[ColumnCosts, float]:
    """Return costs by which rows are never put together that are not alike on the highest level of a column."""
    above = np.append(allowed_levels(column)[-1][:-1], -1)[column.codes].astype(np.int32)
    none = np.zeros(len(column.hierarchy), np.int32)
    return ColumnCosts(RANGES, above, np.arange(len(none), dtype=np.float64), none, none, np.inf), 0.0


def node_spans(column: Column) -> Floats:
    """Return what each node of a column's hierarchy spans: the distance of its ends, or how many leaves it stands for.

    >>> from treeanon.hierarchy import Hierarchy
    >>> from treeanon.table import Table
    >>> ages = Hierarchy.from_paths([["34", "30-39", "*"], ["35", "30-39", "*"], ["41", "40-49", "*"]])
    >>> column = Table.of_texts({"age": (["34"], ages)}).columns[0]
    >>> node_spans(column).tolist()
    [3.0, 2.0, 0.0, 0.0, 0.0, 0.0]
    >>> node_spans(replace(column, spec=replace(column.spec, type="integer"))).tolist()
    [19.0, 9.0, 0.0, 0.0, 9.0, 0.0]
    """
    tree = column.hierarchy
    numbers = number_ends(column)
    if numbers is None:
        return np.where(tree.leaf_count > 1, tree.leaf_count, 0).astype(np.float64)
    low, high = numbers
    # Nodes come in preorder: from the last to the first, every node hands on what is below it.
    for node in range(len(tree) - 1, 0, -1):
        above = tree.parent[node]
        low[above], high[above] = min(low[above], low[node]), max(high[above], high[node])
    spans = np.maximum(high - low, 0.0)
    # A single value that is no number is no less exact than a number is; an open class is no single value.
    built = column.spec.hierarchy
    opened = built.open_classes if isinstance(built, Intervals) else None
    labels = () if opened is None else opened.labels
    alone = tree.leaf_nodes[np.isinf(spans[tree.leaf_nodes])]
    spans[[code for code in alone.tolist() if tree.texts[code] not in labels]] = 0.0
    return spans


def kept_bounds(problem: Problem, found: Partition, form: Form = "taxonomy") -> Partition:
    """Return the groups found, made to keep the bounds of a problem: more rows may be left out, as many as may be.

    GuaranteeError where more would have to be.

    >>> from treeanon.hierarchy import Hierarchy
    >>> from treeanon.privacy.models import KAnonymity
    >>> from treeanon.table import Table
    >>> from treeanon.table.controls import with_controls
    >>> table = Table.of_texts({"x": (list("abcd"), Hierarchy.flat("abcd"))})
    >>> problem = Problem(with_controls(table, {"x": {"max_span": 2}}), (KAnonymity(2),))
    >>> kept_bounds(problem, Partition("mine", problem.models, np.zeros(4, np.int64), style="sets")).group.tolist()
    [0, 0, 1, 1]
    """
    bounds = Bounds.of(problem, found.style, form)
    if bounds is None or not len(found.group):
        return found
    group = found.group.copy()
    checker = RowGroupChecker(replace(problem, models=found.models))
    offsets, members = _listed(group)
    wide = ~bounds.keep(offsets, members)
    if not wide.any():
        return found
    rows = members[np.repeat(wide, np.diff(offsets))]
    group[rows] = -1
    parts = [members[offsets[g] : offsets[g + 1]].copy() for g in np.flatnonzero(wide).tolist()]
    _keep(bounds, checker, group, parts)
    # What is left of several groups may make new ones together.
    while len(lost := rows[group[rows] < 0]) and _keep(bounds, checker, group, [lost]):
        pass
    _gather(bounds, checker, group, lost)
    _join(bounds, checker, group, rows[group[rows] < 0])
    gone = left_out(problem.table, group < 0)
    if gone > problem.max_suppressed:
        names = [f"max_span {c.spec.controls.max_span:g} of {c.name}" for c in problem.table.quasi if _has_span(c)]
        names += [] if problem.max_group_loss is None else [f"max_group_loss {problem.max_group_loss:g}"]
        raise GuaranteeError(
            f"{' and '.join(names)}: {found.algorithm} found no group that keeps this for {gone:,} persons; at most"
            f" {problem.max_suppressed:,} may be suppressed (--max-suppressed)"
        )
    numbers = np.unique(group, return_inverse=True)[1].astype(np.int64) - bool((group < 0).any())
    counts = {**found.counts, "groups": int(numbers.max(initial=-1)) + 1, "beyond_bounds": int((group < 0).sum())}
    counts.pop("gcp", None)
    return replace(found, group=numbers, suppressed=gone, counts=counts)


def _has_span(column: Column) -> bool:
    return column.spec.controls.max_span is not None


def _listed(group: Longs) -> tuple[Longs, Longs]:
    """Return the rows of all groups, one group after the other in the order of their numbers, and where each begins."""
    members = np.argsort(group, kind="stable")
    members = members[np.searchsorted(group[members], 0) :].astype(np.int64)
    starts = np.flatnonzero(np.diff(group[members], prepend=-1))
    return np.append(starts, len(members)).astype(np.int64), members


def _keep(bounds: Bounds, checker: RowGroupChecker, group: Longs, parts: list[Longs]) -> bool:
    """Divide rows that have no group; those pieces that keep everything become groups. Return whether any does."""
    pieces, count = [], 0
    for part in parts:
        starts = bounds.divided(part)
        pieces.append(np.repeat(np.arange(count, count + len(starts) - 1), np.diff(starts)))
        count += len(starts) - 1
    # Parts have been sorted in place.
    rows = np.concatenate(parts)
    numbers = np.concatenate(pieces)
    holds = checker.holds(numbers.astype(np.int64), count, rows)
    holds &= bounds.keep(np.append(np.flatnonzero(np.diff(numbers, prepend=-1)), len(rows)).astype(np.int64), rows)
    stay = holds[numbers]
    group[rows[stay]] = group.max(initial=-1) + 1 + numbers[stay]
    return bool(stay.any())


def _gather(bounds: Bounds, checker: RowGroupChecker, group: Longs, lost: Longs) -> None:
    """Make groups of rows near each other, each begun with a piece in which the rows already keep the bounds."""
    limits = [model.limits for model in checker.problem.models]
    need = max((max(one.persons, one.values, ceil(1 / one.share)) for one in limits), default=1)
    own = lost.copy()
    starts = bounds.divided(own)
    tries = max(1, _WORK // max(1, len(lost) * need))
    for piece in np.argsort(-np.diff(starts), kind="stable")[:tries].tolist():
        seed = own[starts[piece] : starts[piece + 1]]
        others = lost[group[lost] < 0]
        if group[seed].max(initial=-1) >= 0 or not bounds.keep(np.array([0, len(seed)]), seed)[0]:
            continue
        others = np.setdiff1d(others, seed)
        for wanted in (need, 2 * need, 4 * need):
            found = bounds.grown(seed, others, wanted)
            if checker.holds(np.zeros(len(found), np.int64), 1, found)[0]:
                group[found] = group.max(initial=-1) + 1
                break
            if len(found) < wanted:
                break


def _join(bounds: Bounds, checker: RowGroupChecker, group: Longs, lost: Longs) -> None:
    """Let rows join groups that have room; of groups that then satisfy the models no more, they leave again."""
    offsets, members = _listed(group)
    if not len(lost) or len(offsets) < 2:
        return
    first = group[members[offsets[:-1]]]
    # With very many of both, only some of the groups are asked; whether a set has a value is looked up row by row.
    pairs = len(lost) * (len(members) if (bounds.prices.kinds == SETS).any() else len(first))
    share = max(1, -(-pairs // _WORK))
    if share > 1:
        chosen = np.zeros(len(first), np.bool_)
        chosen[::share] = True
        members = members[np.repeat(chosen, np.diff(offsets))]
        offsets, first = np.append(0, np.cumsum(np.diff(offsets)[chosen])).astype(np.int64), first[chosen]
    into = bounds.joined(offsets, members, lost)
    joined = into >= 0
    group[lost[joined]] = first[into[joined]]
    known, numbers = np.unique(group, return_inverse=True)
    inside = np.flatnonzero(group >= 0)
    gaps = int(known[0] < 0)
    holds = checker.holds(numbers[inside].astype(np.int64) - gaps, len(known) - gaps, inside)
    back = lost[joined]
    group[back[~holds[numbers[back] - gaps]]] = -1


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
