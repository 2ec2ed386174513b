"""Scores of how much a release changed every record or row, computed on arrays to be fast for large inputs.

They select the records to show: typical ones, the most changed, or those in which a class changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from treeanon.arrays import Flags, Floats, Ints, Longs
from treeanon.errors import UsageError
from treeanon.forest import Forest
from treeanon.kernels.jit import read_only
from treeanon.kernels.tree.forest import depths, drop_nodes, move_disassociated
from treeanon.metrics.values import label_losses, released_as
from treeanon.previews.changes import GONE, MOVED, Recipe
from treeanon.release import Release

_MIX = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True)
class Scores:
    """For every record (or row): its change from 0 to 1, its size, and how many of its nodes changed in each class.

    `names` are the names of the classes (columns); `moved` says in which records a node has moved. With local recoding,
    `change` is an estimate, a class counts at most once in a record, and `moved` is unknown.
    """

    names: tuple[str, ...]
    change: Floats
    size: Longs
    changed: npt.NDArray[np.int32]
    moved: Flags | None = None


def forest_scores(before: Forest, release: Release) -> Scores:
    """Return the scores of all records of an input; `change` is that of `record_changes`, or an estimate of it for
    local recoding.
    """
    released = released_as(before, release.forest, release.kept)
    is_local = release.solution.cut is None
    change, changed, moved = (*_local(before, release.forest, released), None) if is_local else _global(before, release)
    sizes = np.diff(before.offsets)
    left_out = released < 0
    change[left_out] = 1.0
    changed[left_out] = _by_class(before, np.ones(before.nodes, np.bool_))[left_out]
    return Scores(before.classes.names, change, sizes, changed, moved)


def _global(before: Forest, release: Release) -> tuple[Floats, npt.NDArray[np.int32], Flags]:
    """Return the scores of a solution with a cut: exact, as every node can be followed."""
    recipe = Recipe.of(release.solution, before)
    published = recipe.published[before.label]
    gone, general = published == GONE, published != before.label
    moved = np.zeros(before.nodes, np.bool_)
    moved[~gone] = _moved(before, recipe, gone)
    kept = np.where(general, 1 - label_losses(before.classes)[published], 1.0) * np.where(moved, 1 - MOVED, 1.0)
    kept[gone | _left_out(before, release)] = 0.0
    sizes = np.maximum(np.diff(before.offsets), 1)
    change = np.bincount(_records(before), 1 - kept, len(before)) / sizes
    some = np.bincount(_records(before), moved, len(before)) > 0
    return change, _by_class(before, general | moved), some


def _left_out(before: Forest, release: Release) -> Flags:
    """Return which nodes are left out by rules: those whose label no node of the released record stands for."""
    solution = release.solution
    if not solution.left_out:
        return np.zeros(before.nodes, np.bool_)
    recipe = Recipe.of(solution, before)
    seen = recipe.published[before.label]
    released = released_as(before, release.forest, release.kept)
    size = len(before.classes)
    there = np.repeat(np.arange(len(release.forest)), np.diff(release.forest.offsets)) * size + release.forest.label
    gone: Flags = (seen != GONE) & ~np.isin(released[_records(before)] * size + seen, there)
    return gone


def _moved(before: Forest, recipe: Recipe, gone: Flags) -> Flags:
    """Return which of the remaining nodes have another parent than before."""
    offsets, parent, label = read_only(*drop_nodes(before.offsets, before.parent, before.label, gone))
    if not len(recipe.lower) or not recipe.published.any():
        return np.zeros(len(label), np.bool_)
    order = np.argsort(recipe.lower, kind="stable").astype(np.int32)
    starts = np.searchsorted(recipe.lower[order], np.arange(len(before.classes) + 1)).astype(np.int64)
    (seen,) = read_only(recipe.published[label])
    now = move_disassociated(offsets, parent, seen, starts, order, recipe.upper, recipe.lower)
    return np.asarray(now != parent)


def _local(before: Forest, after: Forest, released: Longs) -> tuple[Floats, npt.NDArray[np.int32]]:
    """Estimate the scores of local recoding: the loss of detail of a record, and which classes differ."""
    losses = label_losses(before.classes)
    detail = [np.bincount(_records(side), 1 - losses[side.label], len(side)) for side in (before, after)]
    there = np.append(detail[1], 0.0)[released]
    change = np.clip(1 - there / np.maximum(detail[0], 1e-9), 0.0, 1.0)
    change[detail[0] == 0] = 0.0
    fingerprints = [_fingerprints(side) for side in (before, after)]
    none = np.zeros((1, len(before.classes.names)), np.uint64)
    return change, (fingerprints[0] != np.concatenate([fingerprints[1], none])[released]).astype(np.int32)


def _records(forest: Forest) -> Longs:
    """Return the record of every node."""
    return np.repeat(np.arange(len(forest)), np.diff(forest.offsets))


def _by_class(forest: Forest, counted: Flags) -> npt.NDArray[np.int32]:
    """Return how many of the counted nodes each record has of each class."""
    kinds = len(forest.classes.names)
    own = counted & (forest.label > 0)
    keys = _records(forest)[own] * kinds + forest.classes.class_of[forest.label[own]]
    return np.bincount(keys, minlength=len(forest) * kinds).reshape(len(forest), kinds).astype(np.int32)


def _fingerprints(forest: Forest) -> npt.NDArray[np.uint64]:
    """Return a fingerprint of each record's values of each class and their depths."""
    kinds = len(forest.classes.names)
    depth: Ints = depths(forest.offsets, forest.parent)
    with np.errstate(over="ignore"):
        mixed = (forest.label.astype(np.uint64) * np.uint64(64) + depth.astype(np.uint64) + np.uint64(1)) * _MIX
        mixed ^= mixed >> np.uint64(29)
        mixed *= _MIX
    out = np.zeros((len(forest), kinds), np.uint64)
    own = forest.label > 0
    np.add.at(out, (_records(forest)[own], forest.classes.class_of[forest.label[own]]), mixed[own])
    return out


_NEAR = 64
"""Number of records near the median from which typical ones are chosen."""


def choose(scores: Scores, records: int, *, worst: bool = False, classes: Sequence[str] = ()) -> list[int]:
    """Return the numbers of typical records, or of the most changed ones, the most changed first.

    With `classes`, only records in which one of these changed are eligible. Typical records are near the median in
    change and size, and differ in what changed; if nodes moved in some record, the last one is an example. The choice
    is deterministic.

    >>> changed = np.array([[0], [1], [1], [2]], np.int32)
    >>> scores = Scores(("age",), np.array([0.0, 0.5, 0.4, 0.9]), np.array([1, 1, 1, 2]), changed)
    >>> choose(scores, 2), choose(scores, 2, worst=True), choose(scores, 9, classes=["age"], worst=True)
    ([1, 0], [3, 1], [3, 1, 2])
    """
    if records < 1:
        raise UsageError("records must be an integer of at least 1")
    wanted = _eligible(scores, classes)
    if worst:
        order = np.lexsort((wanted, -scores.change[wanted]))
        return [int(number) for number in wanted[order][:records]]
    chosen = _varied(scores, _near_middle(scores, wanted, max(records, _NEAR)), records)
    return _with_a_move(scores, wanted, chosen)


def check_classes(names: Sequence[str], classes: Sequence[str]) -> None:
    """Raise UsageError for an unknown class."""
    for name in classes:
        if name not in names:
            raise UsageError(f"unknown class {name!r}; choose from {', '.join(names)}")


def _eligible(scores: Scores, classes: Sequence[str]) -> Longs:
    check_classes(scores.names, classes)
    if not classes:
        return np.arange(len(scores.change))
    chosen = [scores.names.index(name) for name in classes]
    return np.flatnonzero(scores.changed[:, chosen].any(axis=1))


def _near_middle(scores: Scores, numbers: Longs, most: int) -> Longs:
    """Return the records nearest to the median change and the median size, the nearest first."""
    if not len(numbers):
        return numbers
    distance = np.zeros(len(numbers))
    for values in (scores.change[numbers], np.log1p(scores.size[numbers])):
        away = np.abs(values - np.median(values))
        distance += away / (np.median(away) or away.max() or 1.0)
    return numbers[np.argsort(distance, kind="stable")[:most]]


def _with_a_move(scores: Scores, numbers: Longs, chosen: list[int]) -> list[int]:
    """Return the chosen records; if no node moved in them, the last of several is replaced by one in which a node
    moved.
    """
    if scores.moved is None or len(chosen) < 2 or scores.moved[chosen].any() or not scores.moved[numbers].any():
        return chosen
    return [*chosen[:-1], int(_near_middle(scores, numbers[scores.moved[numbers]], 1)[0])]


def _varied(scores: Scores, numbers: Longs, records: int) -> list[int]:
    """Return the first of these records, then repeatedly the one that differs most from those chosen."""
    if not len(numbers):
        return []
    features = np.log1p(scores.changed[numbers].astype(np.float64))
    chosen = [0]
    nearest = np.abs(features - features[0]).sum(axis=1)
    while len(chosen) < min(records, len(numbers)):
        nearest[chosen] = -1.0
        chosen.append(int(nearest.argmax()))
        nearest = np.minimum(nearest, np.abs(features - features[chosen[-1]]).sum(axis=1))
    return [int(numbers[i]) for i in chosen]
