"""Local recoding over hierarchies: equal values may be published differently, in classes that each lose little.

The lattice of levels is walked by classes, not by vertices: of all sets of tuples that become alike at some vertex and
are large enough, the one that costs a row least is taken first, then the next among the tuples that are left. What is
left in the end goes where it costs least; then tuples move between classes that can spare them. Every class is
published with the lowest nodes that cover it.

What local recoding works on: the distinct tuples of a table, and a lattice of levels small enough to walk.

What becomes of the tuples that are in no class when a walk of local recoding ends: too few for one.

Also local recoding for models that look at sensitive values, and the end of every local recoding: all classes hold.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from math import prod

import numpy as np

from treeanon.algorithms.table.group_checker import GroupChecker, RowGroupChecker, Tuples
from treeanon.algorithms.table.problem import Problem
from treeanon.algorithms.table.registry import Style
from treeanon.algorithms.table.result import Partition, one_row_each
from treeanon.arrays import Flags, Floats, Ints, Longs
from treeanon.errors import GuaranteeError, UsageError
from treeanon.kernels.jit import for_rows
from treeanon.kernels.table.local import Vertices, add_sums, cheapest_first
from treeanon.kernels.table.local_moves import Classes, LocalTuples, described, dissolve, move, partners, place_rest
from treeanon.metrics.table.ncp import node_ncp
from treeanon.table.controls import allowed_levels, column_weights

EASE = 0.05
"""What classes cost is told apart by so much only: it saves half of the looks, and loses nothing to speak of."""

_GROWTH = 1.4


class ClassChecker:
    """Check classes of tuples for the models of a problem."""

    def __init__(self, problem: Problem, tuples: Tuples) -> None:
        self._checker = RowGroupChecker(problem)
        self._tuple_of = tuples.tuple_of
        self._tuples = len(tuples)

    def holds(self, class_of: Ints, count: int, chosen: Longs | None = None) -> Flags:
        """Return whether each class satisfies all models; what is empty does. `class_of` is of all tuples, or those
        chosen.
        """
        of = class_of
        if chosen is not None:
            of = np.full(self._tuples, -1, np.int32)
            of[chosen] = class_of
        of_row = of[self._tuple_of]
        rows = np.flatnonzero(of_row >= 0)
        used, numbers = np.unique(of_row[rows], return_inverse=True)
        flags = np.ones(count, np.bool_)
        if len(rows):
            flags[used] = self._checker.holds(numbers, len(used), None if len(rows) == len(of_row) else rows)
        return flags


def walk_with_models(
    data: LocalTuples, vertices: Vertices, chosen: Longs, checker: ClassChecker, least: int
) -> tuple[Ints, int, int]:
    """Return classes of these tuples that satisfy the models, as `cheapest_first` has them: -1 where none is found.

    The walk knows sizes only. Classes of it that fail are taken apart, and walked again for larger ones, which have
    more different values.
    """
    every = len(data.codes)
    class_of = np.full(every, -1, np.int32)
    count = looks = 0
    while True:
        left = class_of < 0
        rows = int(data.weights[left].sum())
        if rows < least:
            return class_of, count, looks
        found, classes, own_looks = cheapest_first(data.codes, data.weights, left, vertices, least, EASE, None)
        looks += own_looks
        number = np.where(checker.holds(found, classes, chosen), np.arange(classes), -1)
        kept = np.flatnonzero(number >= 0)
        number[kept] = np.arange(len(kept)) + count
        own = np.append(number, -1)[found]
        class_of = np.where(own >= 0, own, class_of).astype(np.int32)
        count += len(kept)
        least = max(least + 1, int(least * _GROWTH))


def settled(problem: Problem, tuples: Tuples, data: LocalTuples, class_of: Ints, count: int) -> Classes:
    """Return the classes, with all tuples in them that are not left out: all satisfy the models.

    What is in none goes where it costs least. What fails then is merged with what costs least, or left out where that
    costs less and may be.
    """
    rest = np.flatnonzero(class_of < 0).astype(np.int32)
    if not count:
        class_of, count, rest = np.zeros_like(class_of), 1, rest[:0]
    classes = described(class_of, count, data)
    for_rows(place_rest, len(data.codes))(rest, problem.max_suppressed, data, classes)
    checker = ClassChecker(problem, tuples)
    fallback: Classes | None = None
    while True:
        fails = np.flatnonzero(~checker.holds(classes.of, len(classes.sizes))).astype(np.int32)
        if not len(fails):
            return classes
        room = problem.max_suppressed - int(data.weights[classes.of < 0].sum())
        if fallback is None and classes.sizes[fails].sum() <= room:
            fallback = _without(classes, fails, data)
        if np.count_nonzero(classes.sizes) == 1:
            if fallback is None:
                names = ", ".join(model.name for model in problem.models)
                raise GuaranteeError(f"not even all rows together satisfy {names}")
            return fallback
        classes = _merged(classes, fails, room, data)


def _without(classes: Classes, gone: Ints, data: LocalTuples) -> Classes:
    """Return the classes when the tuples of some are left out."""
    class_of = np.where(np.isin(classes.of, gone), -1, classes.of).astype(np.int32)
    return described(class_of, len(classes.sizes), data)


def _merged(classes: Classes, fails: Ints, room: int, data: LocalTuples) -> Classes:
    """Return the classes after those that fail are merged, each with the cheapest other one, or left out.

    One that has got another already is as it is: it may hold now.
    """
    into = np.arange(len(classes.sizes), dtype=np.int32)
    has_changed = np.zeros(len(into), np.bool_)
    found, more = for_rows(partners, len(data.codes))(fails, data, classes)
    lost = classes.sizes * (data.codes.shape[1] - classes.costs)
    for g, other, cost in zip(fails.tolist(), found.tolist(), more.tolist(), strict=True):
        if has_changed[g]:
            continue
        while other >= 0 and into[other] != other:
            other = int(into[other])
        if cost > lost[g] and classes.sizes[g] <= room:
            into[g] = -1
            room -= int(classes.sizes[g])
        elif other >= 0:
            into[g] = other
            has_changed[other] = True
        has_changed[g] = True
    while True:
        following = np.append(into, -1)[into]
        if np.array_equal(following, into):
            break
        into = following
    return described(np.append(into, np.int32(-1))[classes.of], len(into), data)


VERTICES = 10_000
"""So many vertices are walked at most: beyond that levels between the lowest and the highest are left out."""

_COMBINED = 128
"""So many combinations of levels are summed up in advance for a part of the columns."""


def local_tuples_of(tuples: Tuples) -> LocalTuples:
    """Return the tuples, and the nodes of their columns with what each costs a row: its NCP times the column's weight.

    A missing value is a child of the root, after all nodes.
    """
    columns = tuples.columns
    parents, ends = [], []
    for column in columns:
        size = len(column.hierarchy)
        parents.append(np.append(np.maximum(column.hierarchy.parent, 0), 0))
        ends.append(np.append(column.hierarchy.end, size + 1))
        ends[-1][0] = size + 1
    return LocalTuples(
        np.stack([tuples.fields.unpack(tuples.keys, c) for c in range(len(columns))], axis=1),
        tuples.rows,
        np.append(0, np.cumsum([len(own) for own in parents])).astype(np.int64),
        np.concatenate(parents).astype(np.int32),
        np.concatenate(ends).astype(np.int32),
        np.concatenate([w * node_ncp(column) for w, column in zip(column_weights(columns), columns, strict=True)]),
    )


def part_of(data: LocalTuples, chosen: Longs) -> LocalTuples:
    """Return the data of these tuples alone."""
    return data._replace(codes=data.codes[chosen], weights=data.weights[chosen])


def vertices_of(tuples: Tuples, data: LocalTuples) -> Vertices:
    """Return the lattice for these tuples: what they become at each vertex, and at least lose there."""
    maps = [allowed_levels(column) for column in tuples.columns]
    costs = [data.costs[at + own] for at, own in zip(data.base[:-1], maps, strict=True)]
    least = [own[:, data.codes[:, c]].min(axis=1, initial=np.inf) for c, own in enumerate(costs)]
    weights = data.weights / max(data.weights.sum(), 1)
    means = [own[:, data.codes[:, c]] @ weights for c, own in enumerate(costs)]
    steps = level_steps(means)
    places = np.append(0, np.cumsum([own.size for own in maps])).astype(np.int64)
    # The same numbers in every run: so are the classes.
    rng = np.random.default_rng(1)
    numbers = [rng.integers(0, 2**63, own.shape[1:], dtype=np.int64) for own in maps]
    drawn = np.concatenate([own[nodes].ravel() for own, nodes in zip(numbers, maps, strict=True)])
    widths = np.array([own.shape[1] for own in maps], np.int64)
    sum_rows, sums = _sums(data.codes, steps, places, widths, drawn)
    due = np.sum([own[steps[:, c]] for c, own in enumerate(least)], axis=0)
    return Vertices(steps, sum_rows, sums, places, widths, np.concatenate([own.ravel() for own in costs]), due)


def level_steps(means: Sequence[Floats], limit: int = VERTICES) -> Longs:
    """Return the levels of each column at each vertex, from what every level costs in the mean; at most `limit`
    vertices.

    Of columns with the most levels those that cost little more than the one below are left out; where two are left
    everywhere, columns go up together.

    >>> level_steps([np.array([0, 0.2, 1]), np.array([0, 1.0])], 4).tolist()
    [[0, 0], [0, 1], [2, 0], [2, 1]]
    >>> level_steps([np.array([0, 1.0])] * 3, 4).tolist()
    [[0, 0, 0], [0, 1, 1], [1, 0, 0], [1, 1, 1]]
    """
    # What goes up together: some columns, and their levels at each step.
    bundles = [([c], np.arange(len(own)).reshape(-1, 1)) for c, own in enumerate(means)]
    while prod(len(levels) for _, levels in bundles) > limit:
        widest = max(range(len(bundles)), key=lambda b: len(bundles[b][1]))
        columns, levels = bundles[widest]
        if len(levels) > 2:
            more = np.diff(means[columns[0]][levels[:, 0]])
            bundles[widest] = columns, np.delete(levels, 1 + int(more[:-1].argmin()), axis=0)
        else:
            one, other = [b for b, (_, levels) in enumerate(bundles) if len(levels) == 2][-2:]
            ups, above = bundles.pop(other)
            bundles[one] = bundles[one][0] + ups, np.hstack([bundles[one][1], above])
    steps = np.indices([len(levels) for _, levels in bundles]).reshape(len(bundles), -1)
    out = np.empty((steps.shape[1], len(means)), np.int64)
    for (columns, levels), at in zip(bundles, steps, strict=True):
        out[:, columns] = levels[at]
    return out


def _sums(codes: Ints, steps: Longs, places: Longs, widths: Longs, drawn: Longs) -> tuple[Longs, Longs]:
    """Return which rows of the sums are a vertex's, and the sums: one row for the levels of some columns together."""
    parts: list[list[int]] = [[]]
    for c in range(steps.shape[1]):
        if parts[-1] and len(_distinct(steps, [*parts[-1], c])[0]) > _COMBINED:
            parts.append([])
        parts[-1].append(c)
    rows, sums, before = [], [], 0
    for part in parts:
        # The sums of the first columns are those of more columns, but for what these add.
        above = np.zeros((1, len(codes)), np.int64)
        of = np.zeros(len(steps), np.int64)
        for i, c in enumerate(part):
            first, following = _distinct(steps, part[: i + 1])
            out = np.empty((len(first), len(codes)), np.int64)
            for_rows(add_sums, len(codes))(
                above, of[first], codes, c, places[c] + steps[first, c] * widths[c], drawn, out
            )
            above, of = out, following
        rows.append(of + before)
        before += len(above)
        sums.append(above)
    return np.stack(rows, axis=1), np.concatenate(sums)


def _distinct(steps: Longs, columns: Sequence[int]) -> tuple[Longs, Longs]:
    """Return the first vertex of each combination of levels of these columns, and which one every vertex has."""
    keys = np.zeros(len(steps), np.int64)
    for c in columns:
        keys = keys * (int(steps[:, c].max()) + 1) + steps[:, c]
    _, first, of = np.unique(keys, return_index=True, return_inverse=True)
    return first, of.reshape(-1)


def paid_by(data: LocalTuples, classes: Classes) -> Floats:
    """Return what each row of a tuple loses; one that is left out loses all of its columns."""
    return np.append(classes.costs, float(data.codes.shape[1]))[classes.of]


def with_rest(data: LocalTuples, class_of: Ints, count: int, least: int, room: int) -> Classes:
    """Return the classes with the rest in them, in the best of three ways; without classes the rest stays out.

    Each tuple goes where it costs least, or is left out if there is room and that costs less; or all of them go to one
    class; or they are one, filled up with tuples that others can spare.
    """
    rest = np.flatnonzero(class_of < 0).astype(np.int32)
    placed = described(class_of.copy(), count, data)
    if not count or not len(rest):
        return placed
    for_rows(place_rest, len(data.codes))(rest, room, data, placed)
    own = class_of.copy()
    own[rest] = count
    filled = described(own, count + 1, data)
    joined = own.copy()
    joined[rest] = for_rows(partners, len(data.codes))(np.array([count], np.int32), data, filled)[0][0]
    ways = [placed, described(joined, count, data)]
    if _fill(data, filled, count, least):
        ways.append(described(filled.of, count + 1, data))
    return min(ways, key=lambda way: float(data.weights @ paid_by(data, way)))


def _fill(data: LocalTuples, classes: Classes, g: int, least: int) -> bool:
    """Give a class the tuples that cost most of those that others can spare; whether it then is large enough."""
    of = classes.of
    sizes = classes.sizes.copy()
    spare = np.flatnonzero((of != g) & (sizes[of] - data.weights >= least))
    for t in spare[np.argsort(-classes.costs[of[spare]], kind="stable")].tolist():
        if sizes[g] >= least:
            break
        weight = data.weights[t]
        if sizes[of[t]] - weight >= least:
            sizes[of[t]] -= weight
            sizes[g] += weight
            of[t] = g
    return bool(sizes[g] >= least)


BLOCK = 30_000
"""About so many tuples are recoded together: none of others come into their classes."""

_WORK = 5_000_000
_LITTLE = 5_000_000

_WalkResult = tuple[Ints, int, int]
"""The class of each tuple, how many classes there are, and the looks taken."""


def search(problem: Problem, *, effort: int | None = None, style: Style = "hierarchy") -> Partition:
    """Return classes that satisfy all models and lose little GCP (taxonomy).

    `effort` is how many walks are taken, each of which has what those before have cost to compare with; the best is
    kept. With 0 no tuple moves after the walk. It is 2 for what takes little time, else 1, if not given. Where models
    look at sensitive values, one walk without moves is all.

    >>> from treeanon.hierarchy import Hierarchy
    >>> from treeanon.privacy.models import KAnonymity
    >>> from treeanon.table import Table
    >>> ages = Hierarchy.from_paths([["31", "30-39", "*"], ["34", "30-39", "*"], ["41", "40-49", "*"]])
    >>> table = Table.of_texts({"age": (["31", "41", "34", "41"], ages)})
    >>> found = search(Problem(table, (KAnonymity(2),)))
    >>> list(found.recoded(table)[0].rows())
    [('30-39',), ('41',), ('30-39',), ('41',)]
    """
    one_row_each(problem.table, "local recoding")
    if effort is not None and effort < 0:
        raise UsageError("the effort of local recoding must be a whole number from 0")
    tuples = Tuples.of(problem.table)
    data = local_tuples_of(tuples)
    checker = GroupChecker(problem)
    least = max(checker.least or 1, 1)
    asked = ClassChecker(problem, tuples) if checker.least is None or checker.columns else None

    def recoded(block: Longs) -> _WalkResult:
        own = part_of(data, block)
        vertices = vertices_of(tuples, own)
        if asked is not None:
            return walk_with_models(own, vertices, block, asked, least)
        room = problem.max_suppressed * int(own.weights.sum()) // max(len(problem.table), 1)
        return _best_walk(own, vertices, least, effort, room)

    class_of, count, looks = _in_blocks(problem, blocks_of(data), recoded)
    classes = _settled(problem, tuples, data, class_of, count)
    group = np.append(classes.of, -1)[tuples.tuple_of].astype(np.int64)
    return Partition("local", problem.models, group, int((group < 0).sum()), {"looks": looks}, style)


def _settled(problem: Problem, tuples: Tuples, data: LocalTuples, class_of: Ints, count: int) -> Classes:
    """Return the classes when all hold, the better of two ways: with what may be left out, and with nothing left out.

    To leave something out can end worse: what remains is merged by what it costs at the time.
    """
    found: list[Classes] = []
    failed: GuaranteeError | None = None
    for room in dict.fromkeys((problem.max_suppressed, 0)):
        try:
            found.append(settled(replace(problem, max_suppressed=room), tuples, data, class_of.copy(), count))
        except GuaranteeError as problem_found:
            failed = failed or problem_found
    if not found:
        assert failed is not None
        raise failed
    return min(found, key=lambda classes: float(data.weights @ paid_by(data, classes)))


def _in_blocks(problem: Problem, blocks: list[Longs], recoded: Callable[[Longs], _WalkResult]) -> _WalkResult:
    """Return what comes of all blocks, each for itself: the class of each tuple, how many there are, and the looks
    taken.
    """
    class_of = np.full(sum(map(len, blocks)), -1, np.int32)
    count = looks = 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for done, (block, part) in enumerate(zip(blocks, pool.map(recoded, blocks), strict=True), start=1):
            own, found, own_looks = part
            class_of[block] = np.where(own < 0, -1, own + count)
            count, looks = count + found, looks + own_looks
            problem.report_progress(done, len(blocks))
    return class_of, count, looks


def blocks_of(data: LocalTuples) -> list[Longs]:
    """Return the tuples in parts of about that size, of which each has what is near in the hierarchies."""
    count = len(data.codes)
    parts = max(round(count / BLOCK), 1)
    if parts == 1:
        return [np.arange(count)]
    # The columns with few nodes come first in the order: to cross the border of their subtrees costs most.
    few_first = np.argsort(np.diff(data.base), kind="stable")
    order = np.lexsort([data.codes[:, c] for c in few_first[::-1]])
    return [np.sort(part) for part in np.array_split(order, parts)]


def _best_walk(data: LocalTuples, vertices: Vertices, least: int, effort: int | None, room: int) -> _WalkResult:
    """Return the classes of the best of so many walks, their number, and the looks of all."""
    if effort is None:
        effort = 2 if vertices.steps.shape[0] * len(data.codes) <= _LITTLE else 1
    tuples = len(data.codes)
    every = np.ones(tuples, np.bool_)
    prices: Floats | None = None
    best, least_loss = np.full(tuples, -1, np.int32), np.inf
    count = total = 0
    for _ in range(max(effort, 1)):
        class_of, found, looks = cheapest_first(data.codes, data.weights, every, vertices, least, EASE, prices)
        total += looks
        for allowed in dict.fromkeys((0, room)):
            # To leave something out can end worse, as what remains is placed by what it costs at the time.
            classes = with_rest(data, class_of.copy(), found, least, allowed)
            if found and effort:
                _improve(data, classes, least, allowed, effort)
            paid = paid_by(data, classes)
            loss = float(data.weights @ paid)
            if loss < least_loss:
                best, least_loss, count = classes.of, loss, len(classes.sizes)
        prices = paid if prices is None else (prices + paid) / 2
    return best, count, total


def _improve(data: LocalTuples, classes: Classes, least: int, room: int, effort: int) -> None:
    """Move tuples, from those that cost most on, while there is work left; with more effort whole classes go too."""
    work = _WORK * effort
    room -= int(data.weights[classes.of < 0].sum())
    by_tuple = np.argsort(-classes.costs[classes.of], kind="stable").astype(np.int32)
    for_rows(move, len(data.codes))(by_tuple, least, room, work, data, classes)
    if effort > 1:
        by_class = np.argsort(-classes.costs * classes.sizes, kind="stable").astype(np.int32)
        for_rows(dissolve, len(data.codes))(by_class, work, data, classes)
