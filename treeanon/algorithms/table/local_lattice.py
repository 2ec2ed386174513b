"""What local recoding works on: the distinct tuples of a table, and a lattice of levels small enough to walk."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from treeanon.algorithms.table.tuples import Tuples
from treeanon.kernels.table.local import Floats, Vertices, add_sums
from treeanon.kernels.table.local_moves import Ground
from treeanon.kernels.tree.forest import Ints, Longs
from treeanon.metrics.table.ncp import node_ncp
from treeanon.table.levels import level_maps

VERTICES = 10_000
"""So many vertices are walked at most: beyond that levels between the lowest and the highest are left out."""

_COMBINED = 128
"""So many combinations of levels are summed up in advance for a part of the columns."""


def ground_of(tuples: Tuples) -> Ground:
    """The tuples, and the nodes of their columns with what each costs a row: its NCP.

    A missing value is a child of the root, after all nodes.
    """
    columns = tuples.columns
    parents, ends = [], []
    for column in columns:
        size = len(column.hierarchy)
        parents.append(np.append(np.maximum(column.hierarchy.parent, 0), 0))
        ends.append(np.append(column.hierarchy.end, size + 1))
        ends[-1][0] = size + 1
    return Ground(
        np.stack([tuples.fields.unpack(tuples.keys, c) for c in range(len(columns))], axis=1),
        tuples.rows,
        np.append(0, np.cumsum([len(own) for own in parents])).astype(np.int64),
        np.concatenate(parents).astype(np.int32),
        np.concatenate(ends).astype(np.int32),
        np.concatenate([node_ncp(column) for column in columns]),
    )


def part_of(ground: Ground, chosen: Longs) -> Ground:
    """The ground of these tuples alone."""
    return ground._replace(codes=ground.codes[chosen], weights=ground.weights[chosen])


def vertices_of(tuples: Tuples, ground: Ground) -> Vertices:
    """The lattice for these tuples: what they become at each vertex, and at least lose there."""
    maps = [level_maps(column.hierarchy) for column in tuples.columns]
    costs = [ground.costs[at + own] for at, own in zip(ground.base[:-1], maps, strict=True)]
    least = [own[:, ground.codes[:, c]].min(axis=1, initial=np.inf) for c, own in enumerate(costs)]
    weights = ground.weights / max(ground.weights.sum(), 1)
    means = [own[:, ground.codes[:, c]] @ weights for c, own in enumerate(costs)]
    steps = level_steps(means)
    places = np.append(0, np.cumsum([own.size for own in maps])).astype(np.int64)
    # The same numbers in every run: so are the classes.
    rng = np.random.default_rng(1)
    numbers = [rng.integers(0, 2**63, own.shape[1:], dtype=np.int64) for own in maps]
    drawn = np.concatenate([own[nodes].ravel() for own, nodes in zip(numbers, maps, strict=True)])
    widths = np.array([own.shape[1] for own in maps], np.int64)
    sum_rows, sums = _sums(ground.codes, steps, places, widths, drawn)
    due = np.sum([own[steps[:, c]] for c, own in enumerate(least)], axis=0)
    return Vertices(steps, sum_rows, sums, places, widths, np.concatenate([own.ravel() for own in costs]), due)


def level_steps(means: Sequence[Floats], limit: int = VERTICES) -> Longs:
    """The levels of each column at each vertex, from what every level costs in the mean; at most `limit` vertices.

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
    """Which rows of the sums are a vertex's, and the sums: one row for the levels of some columns together."""
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
            add_sums(above, of[first], codes, c, places[c] + steps[first, c] * widths[c], drawn, out)
            above, of = out, following
        rows.append(of + before)
        before += len(above)
        sums.append(above)
    return np.stack(rows, axis=1), np.concatenate(sums)


def _distinct(steps: Longs, columns: Sequence[int]) -> tuple[Longs, Longs]:
    """The first vertex of each combination of levels of these columns, and which one every vertex has."""
    keys = np.zeros(len(steps), np.int64)
    for c in columns:
        keys = keys * (int(steps[:, c].max()) + 1) + steps[:, c]
    _, first, of = np.unique(keys, return_index=True, return_inverse=True)
    return first, of.reshape(-1)
