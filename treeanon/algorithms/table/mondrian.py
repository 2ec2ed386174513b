"""Mondrian: rows as points in space, cut in two along one axis again and again while both halves satisfy the models.

After K. LeFevre, D. J. DeWitt and R. Ramakrishnan, "Mondrian multidimensional k-anonymity" (ICDE 2006). `strict` keeps
rows together that are equal in the column that is cut; `relaxed` may divide them evenly.

`median`, as published: the column that is widest as a share of its whole range, cut as near to the middle as is
allowed; the next widest if there is no such cut. `ncp`: the cut, of all in all columns, that leaves the halves the
least NCP; relaxed, equal values are divided only where nothing else can be cut.

Where we differ: categories are ordered too, by their hierarchy, so that halves may be made of anything side by side:
cuts between the children of the lowest node above a group would often not exist, as one child is too small. A median
cut of a column published as nodes still prefers these, because others leave that node to one of the halves.

Mondrian for any models: all groups of a level are cut at once, and the halves of all put before the checker.

Groups of rows are divided on all cores; quasi columns are ranks of ordered values, with what groups of these lose as
they are published; a kernel checks the models that it can.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import log2
from os import cpu_count
from typing import Literal

import numpy as np

from treeanon.algorithms.table.group_checker import RowGroupChecker
from treeanon.algorithms.table.problem import Problem
from treeanon.algorithms.table.registry import STYLES, Style
from treeanon.algorithms.table.result import Partition, style_of
from treeanon.arrays import Flags, Floats, Ints, Longs
from treeanon.errors import GuaranteeError, UsageError
from treeanon.kernels.jit import for_rows
from treeanon.kernels.table.mondrian import Rule
from treeanon.kernels.table.mondrian_columns import NODES, RANGES, SETS, UNIT, Shape
from treeanon.kernels.table.mondrian_walk import cut_all, cuts_of_groups, divide_all, sides_of
from treeanon.metrics.table.ncp import lowest_common, node_ncp, rank_places
from treeanon.privacy.models.model import asks_for_size
from treeanon.table import Column, Table
from treeanon.table.controls import column_weights
from treeanon.table.covers import value_ranks
from treeanon.table.reductions import members_of
from treeanon.table.table import MISSING


@dataclass(frozen=True)
class Ordered:
    """A column's values in their order: `codes` of those that occur, a missing one first, and the rank of every code.

    Numbers are in their own order where ranges or sets are published, all other values in that of the hierarchy, which
    puts together what lies below one node. `own` is what each value loses by itself (or, of ranges, where in the whole
    it lies), `between` what the node above it and the one before it loses.
    """

    kind: int
    codes: Ints
    rank_of: Ints
    own: Ints
    between: Ints
    steps: int

    @classmethod
    def of(cls, column: Column, style: Style, unit: int = UNIT) -> Ordered:
        """Return the values of a column that is published in a style; `unit` is what one loses that says nothing."""
        size = len(column.hierarchy)
        counts = np.bincount(column.codes + 1, minlength=size + 1)
        used = np.flatnonzero(counts).astype(np.int32) - 1
        style = style_of(Column(column.spec, column.hierarchy, used), style)
        kind = {"hierarchy": NODES, "ranges": RANGES, "sets": SETS}[style]
        if kind != NODES:
            ranks = np.append(value_ranks(column.hierarchy), -1)
            used = used[np.argsort(ranks[used], kind="stable")]
        rank_of = np.zeros(size + 1, np.int32)
        rank_of[used] = np.arange(len(used), dtype=np.int32)
        steps = max(int(column.hierarchy.leaf_count[0]) - 1, 1)
        own, between = np.zeros(len(used)), np.zeros(len(used))
        if kind == NODES and len(used):
            shares = node_ncp(column, "set")
            own = shares[used]
            above = lowest_common(column.hierarchy, np.maximum(used[:-1], 0), np.maximum(used[1:], 0))
            between[1:] = shares[np.where(used[:-1] == MISSING, 0, above)]
        elif kind == RANGES:
            places = rank_places(column)
            places = np.arange(steps + 1) / steps if places is None else places
            own = np.append(places, 0.0)[np.append(value_ranks(column.hierarchy), -1)[used]]
        return cls(kind, used, rank_of, _units(own, unit), _units(between, unit), steps)


def _units(shares: Floats, unit: int) -> Ints:
    units: Ints = np.rint(shares * unit).astype(np.int32)
    return units


def ordered_columns(table: Table, style: Style) -> tuple[list[Ordered], Shape]:
    """Return the quasi columns, and the same as kernels know it."""
    if style not in STYLES:
        raise UsageError(f"unknown style {style!r} of published values; choose from {', '.join(STYLES)}")
    weights = column_weights(table.quasi)
    # The greatest weight has the full unit: no sum can then be larger than without weights.
    units = np.rint(weights / weights.max(initial=1) * UNIT).astype(np.int64)
    found = [Ordered.of(column, style, unit) for column, unit in zip(table.quasi, units.tolist(), strict=True)]
    sizes = [len(one.codes) for one in found]
    offset = np.append(0, np.cumsum(sizes)).astype(np.int64)
    deepest = max([size for one, size in zip(found, sizes, strict=True) if one.kind == NODES], default=1)
    jump = np.zeros((max(deepest.bit_length(), 1), int(offset[-1])), np.int32)
    for one, at in zip(found, offset.tolist(), strict=False):
        if one.kind == NODES:
            _fill(jump[:, at : at + len(one.codes)], one.between)
    return found, Shape(
        np.array([one.kind for one in found], np.int32),
        offset,
        np.concatenate([one.own for one in found]).astype(np.int32),
        jump,
        np.array([one.steps for one in found], np.int64),
        np.array([MISSING in one.codes[:1] for one in found], np.bool_),
        units,
    )


def _fill(jump: Ints, between: Ints) -> None:
    """Write the greatest of each 2**b in a row of `between` to row b."""
    jump[0] = between
    for bit in range(1, len(jump)):
        half = 1 << (bit - 1)
        jump[bit] = jump[bit - 1]
        np.maximum(jump[bit, :-half], jump[bit - 1, half:], out=jump[bit, :-half])


def ranked_rows(table: Table, columns: list[Ordered], sensitive: Ints | None = None) -> Ints:
    """Return a line per row: its rank in each quasi column, that of its sensitive value (0: none), and its number."""
    data = np.zeros((len(table), len(columns) + 2), np.int32)
    for c, (column, ordered) in enumerate(zip(table.quasi, columns, strict=True)):
        data[:, c] = ordered.rank_of[column.codes]
    if sensitive is not None:
        data[:, -2] = sensitive
    data[:, -1] = np.arange(len(table), dtype=np.int32)
    return data


def numbered(data: Ints, starts: Flags) -> Longs:
    """Return the group of every row, where rows of a group lie side by side in `data` and `starts` says where one
    begins.
    """
    group = np.empty(len(data), np.int64)
    group[data[:, -1]] = np.cumsum(starts) - 1
    return group


_MOST = 1 << 30


def checked_whole(problem: Problem) -> None:
    """Nothing; an error if not even all rows together satisfy the models."""
    table = problem.table
    for model in problem.models:
        if asks_for_size(model) and 0 < table.persons < model.limits.persons:
            raise GuaranteeError(f"a table of {table.persons:,} persons cannot be {model.limits.persons:,}-anonymous")
    if all(map(asks_for_size, problem.models)) or not len(table):
        return
    if not RowGroupChecker(problem).holds(np.zeros(len(table), np.int64), 1).all():
        names = ", ".join(model.name for model in problem.models)
        raise GuaranteeError(f"not even the whole table as one group satisfies {names}")


def rule_of(problem: Problem, *, by_loss: bool = False, is_relaxed: bool = False) -> tuple[Rule, Ints | None]:
    """Return what a kernel is to check, and the rank of each row's sensitive value.

    None in place of these if it cannot check all: then the rule speaks of the rows that k needs, and no more.
    """
    table = problem.table
    limits = [model.limits for model in problem.models]
    least = max((one.persons for one in limits), default=1)
    distinct = max((one.values for one in limits), default=1)
    share = min((one.share for one in limits), default=Fraction(1))
    is_simple = all(one.is_all for one in limits) and (table.person is None or table.persons == len(table))
    asks = any(model.sensitive is not None for model in problem.models)
    is_simple &= share.denominator < _MOST and (not asks or len(table.sensitive) == 1)
    is_simple &= not asks or members_of(table.sensitive[0]) is None
    if not is_simple:
        return Rule(least, 1, 1, 1, 0, by_loss, is_relaxed), None
    values = np.zeros(len(table), np.int32)
    kinds = 0
    if asks:
        column = table.sensitive[0]
        used, kinds = column.codes, column.size + 1
        values = np.where(used < 0, column.size, used).astype(np.int32)
    return Rule(least, distinct, share.numerator, share.denominator, kinds, by_loss, is_relaxed), values


Divide = Callable[[int, int, int], None]
"""Divides rows, from a start to an end, and what comes of them, but nothing of less rows than the third number."""

SMALL = 10_000
"""Fewer rows are divided to the end in one go."""

_PARTS = 128
"""There are more than so many portions of work where there are many rows."""


def split_in_threads(problem: Problem, starts: Flags, divide: Divide, least: int) -> None:
    """Divide all rows; `starts`, which says where a group begins, becomes that of what cannot be divided any more.

    Groups of less than `least` rows are not looked at. A row is looked at each time that its group is divided: so the
    work left is told as the sum over all groups of their rows times how often these can be halved.
    """
    rows = len(starts)
    small = max(SMALL, rows // _PARTS)
    whole = left = _work(rows, least)
    with ThreadPoolExecutor(cpu_count()) as pool:
        running: dict[Future[None], tuple[int, int]] = {}

        def begin(start: int, end: int) -> None:
            size = end - start
            running[pool.submit(divide, start, end, least if size <= small else size)] = start, end

        begin(0, rows)
        try:
            while running:
                for ended in wait(running, return_when=FIRST_COMPLETED).done:
                    start, end = running.pop(ended)
                    ended.result()
                    left -= _work(end - start, least)
                    # What is small has been divided to the end.
                    for part in _parts(starts, start, end) if end - start > small else ():
                        left += _work(part[1] - part[0], least)
                        begin(*part)
                problem.report_progress(whole - left, whole)
        finally:
            for waiting in running:
                waiting.cancel()


def _parts(starts: Flags, start: int, end: int) -> list[tuple[int, int]]:
    """Return what a group was divided into; nothing if that could not be."""
    inner = start + 1 + np.flatnonzero(starts[start + 1 : end])
    return list(pairwise([start, *inner.tolist(), end])) if len(inner) else []


def _work(rows: int, least: int) -> int:
    return int(rows * log2(max(rows / max(least, 1), 1)))


def cut_by_levels(problem: Problem, data: Ints, starts: Flags, shape: Shape, rule: Rule) -> None:
    """Cut all rows while both halves satisfy the models; of each column only the best cut is tried."""
    checker = RowGroupChecker(problem)
    spare = np.empty_like(data)
    bounds = np.array([[0, len(data)]], np.int64)[: len(data)]
    while len(bounds):
        held, chosen = _chosen(checker, data, bounds, shape, rule)
        bounds = bounds[held]
        middles = divide_all(data, spare, bounds, chosen, starts)
        halves = np.stack([bounds[:, 0], middles, middles, bounds[:, 1]], axis=1)
        bounds = halves.reshape(-1, 2)
        problem.report_progress(int(starts.sum()))


def _chosen(checker: RowGroupChecker, data: Ints, bounds: Longs, shape: Shape, rule: Rule) -> tuple[Longs, Longs]:
    """Return the groups that can be cut, and the first cut of each of which both halves satisfy the models."""
    at, cuts = cuts_of_groups(data, bounds, shape, rule, int((bounds[:, 1] - bounds[:, 0]).max()))
    chosen = np.full(len(bounds), -1, np.int64)
    tried = at[:-1].copy()
    open_ = np.flatnonzero(tried < at[1:])
    while len(open_):
        own = np.ascontiguousarray(bounds[open_])
        rows = np.empty(int((own[:, 1] - own[:, 0]).sum()), np.int64)
        numbers = np.empty(len(rows), np.int64)
        sides_of(data, own, cuts[tried[open_]], rows, numbers)
        holds = checker.holds(numbers, 2 * len(open_), rows).reshape(-1, 2).all(axis=1)
        chosen[open_[holds]] = tried[open_[holds]]
        tried[open_] += 1
        open_ = open_[~holds & (tried[open_] < at[open_ + 1])]
    held = np.flatnonzero(chosen >= 0)
    return held, cuts[chosen[held]]


Mode = Literal["strict", "relaxed"]
Split = Literal["median", "ncp"]


def search(problem: Problem, *, mode: Mode = "strict", split: Split = "median", style: Style = "auto") -> Partition:
    """Return groups of rows that cannot be cut any more; no row is left out.

    >>> from treeanon.hierarchy import Hierarchy
    >>> from treeanon.privacy.models import KAnonymity
    >>> from treeanon.table import Table
    >>> ages = Hierarchy.flat(["20", "21", "30", "40", "41"])
    >>> table = Table.of_texts({"age": (["20", "41", "21", "40", "30"], ages)})
    >>> search(Problem(table, (KAnonymity(2),))).group.tolist()
    [0, 1, 0, 1, 1]
    """
    if mode not in ("strict", "relaxed"):
        raise UsageError("the mode of Mondrian must be strict or relaxed")
    if split not in ("median", "ncp"):
        raise UsageError("Mondrian splits by median or by ncp")
    table = problem.table
    checked_whole(problem)
    columns, shape = ordered_columns(table, style)
    rule, sensitive = rule_of(problem, by_loss=split == "ncp", is_relaxed=mode == "relaxed")
    data = ranked_rows(table, columns, sensitive)
    starts = np.zeros(len(table), np.bool_)
    starts[:1] = True
    if sensitive is None:
        cut_by_levels(problem, data, starts, shape, rule)
    else:
        spare = np.empty_like(data)

        def divide(start: int, end: int, smallest: int) -> None:
            for_rows(cut_all, len(data))(data, spare, start, end, shape, rule, smallest, starts)

        split_in_threads(problem, starts, divide, 2 * max(rule.rows, rule.distinct))
    group = numbered(data, starts)
    counts = {"groups": int(starts.sum()), "mode": mode, "split": split}
    return Partition("mondrian", problem.models, group, counts=counts, style=style)
