"""Local recoding over hierarchies: equal values may be published differently, in classes that each lose little.

The lattice of levels is walked by classes, not by vertices: of all sets of tuples that become alike at some vertex and
are large enough, the one that costs a row least is taken first, then the next among the tuples that are left. What is
left in the end goes where it costs least; then tuples move between classes that can spare them. Every class is
published with the lowest nodes that cover it.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from treeanon.algorithms.table.group_checker import Judge
from treeanon.algorithms.table.local_lattice import ground_of, part_of, vertices_of
from treeanon.algorithms.table.local_models import EASE, Asked, settled, walk_asking
from treeanon.algorithms.table.local_remainder import paid_by, with_rest
from treeanon.algorithms.table.options import Style
from treeanon.algorithms.table.partition import Partition
from treeanon.algorithms.table.problem import Problem
from treeanon.algorithms.table.suppression import one_row_each
from treeanon.algorithms.table.tuples import Tuples
from treeanon.errors import UsageError
from treeanon.kernels.table.local import Floats, Vertices, cheapest_first
from treeanon.kernels.table.local_moves import Classes, Ground, dissolve, move
from treeanon.kernels.tree.forest import Ints, Longs

BLOCK = 30_000
"""About so many tuples are recoded together: none of others come into their classes."""

_WORK = 5_000_000
_LITTLE = 5_000_000

_Walked = tuple[Ints, int, int]
"""The class of each tuple, how many classes there are, and the looks taken."""


def search(problem: Problem, *, effort: int | None = None, style: Style = "hierarchy") -> Partition:
    """Classes that satisfy all models and lose little GCP (taxonomy).

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
    ground = ground_of(tuples)
    judge = Judge(problem)
    least = max(judge.least or 1, 1)
    asked = Asked(problem, tuples) if judge.least is None or judge.columns else None

    def recoded(block: Longs) -> _Walked:
        own = part_of(ground, block)
        vertices = vertices_of(tuples, own)
        if asked is not None:
            return walk_asking(own, vertices, block, asked, least)
        room = problem.max_suppressed * int(own.weights.sum()) // max(len(problem.table), 1)
        return _best_walk(own, vertices, least, effort, room)

    class_of, count, looks = _in_blocks(problem, blocks_of(ground), recoded)
    classes = settled(problem, tuples, ground, class_of, count)
    group = np.append(classes.of, -1)[tuples.tuple_of].astype(np.int64)
    return Partition("local", problem.models, group, int((group < 0).sum()), {"looks": looks}, style)


def _in_blocks(problem: Problem, blocks: list[Longs], recoded: Callable[[Longs], _Walked]) -> _Walked:
    """What comes of all blocks, each for itself: the class of each tuple, how many there are, and the looks taken."""
    class_of = np.full(sum(map(len, blocks)), -1, np.int32)
    count = looks = 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for done, (block, part) in enumerate(zip(blocks, pool.map(recoded, blocks), strict=True), start=1):
            own, found, own_looks = part
            class_of[block] = np.where(own < 0, -1, own + count)
            count, looks = count + found, looks + own_looks
            problem.tell(done, len(blocks))
    return class_of, count, looks


def blocks_of(ground: Ground) -> list[Longs]:
    """The tuples in parts of about that size, of which each has what is near in the hierarchies."""
    count = len(ground.codes)
    parts = max(round(count / BLOCK), 1)
    if parts == 1:
        return [np.arange(count)]
    # The columns with few nodes come first in the order: to cross the border of their subtrees costs most.
    few_first = np.argsort(np.diff(ground.base), kind="stable")
    order = np.lexsort([ground.codes[:, c] for c in few_first[::-1]])
    return [np.sort(part) for part in np.array_split(order, parts)]


def _best_walk(ground: Ground, vertices: Vertices, least: int, effort: int | None, room: int) -> _Walked:
    """The classes of the best of so many walks, their number, and the looks of all."""
    if effort is None:
        effort = 2 if vertices.steps.shape[0] * len(ground.codes) <= _LITTLE else 1
    tuples = len(ground.codes)
    every = np.ones(tuples, np.bool_)
    prices: Floats | None = None
    best, least_loss = np.full(tuples, -1, np.int32), np.inf
    count = total = 0
    for _ in range(max(effort, 1)):
        class_of, found, looks = cheapest_first(ground.codes, ground.weights, every, vertices, least, EASE, prices)
        total += looks
        classes = with_rest(ground, class_of, found, least, room)
        if found and effort:
            _improve(ground, classes, least, room, effort)
        paid = paid_by(ground, classes)
        loss = float(ground.weights @ paid)
        if loss < least_loss:
            best, least_loss, count = classes.of, loss, len(classes.sizes)
        prices = paid if prices is None else (prices + paid) / 2
    return best, count, total


def _improve(ground: Ground, classes: Classes, least: int, room: int, effort: int) -> None:
    """Moves tuples, from those that cost most on, while there is work left; with more effort whole classes go too."""
    work = _WORK * effort
    room -= int(ground.weights[classes.of < 0].sum())
    by_tuple = np.argsort(-classes.costs[classes.of], kind="stable").astype(np.int32)
    move(by_tuple, least, room, work, ground, classes)
    if effort > 1:
        by_class = np.argsort(-classes.costs * classes.sizes, kind="stable").astype(np.int32)
        dissolve(by_class, work, ground, classes)
