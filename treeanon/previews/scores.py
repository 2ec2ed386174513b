"""How much a release changed every record or row, by columns: to choose from a hundred thousand in a moment."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from treeanon.forest import Forest
from treeanon.kernels.tree.forest import Flags, Ints, Longs, depths, drop_nodes, move_disassociated
from treeanon.kernels.tree.losses import Floats
from treeanon.metrics.labels import label_losses, released_as
from treeanon.previews.changes import MOVED
from treeanon.previews.replay import GONE, Recipe
from treeanon.release import Release

_MIX = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True)
class Scores:
    """For every record (or row) its change from 0 to 1, its size, and in how many places each class (column) changed.

    `names` are those of the classes; `moved` says in which records a value stands elsewhere than before. Where recoding
    is local, `change` is estimated, a class counts once for a record that it changed in, and `moved` is not known.
    """

    names: tuple[str, ...]
    change: Floats
    size: Longs
    changed: npt.NDArray[np.int32]
    moved: Flags | None = None


def forest_scores(before: Forest, release: Release) -> Scores:
    """The scores of all records of an input; `change` is that of `record_changes`, or near it for local recoding."""
    released = released_as(before, release.forest, release.kept)
    is_local = release.solution.cut is None
    change, changed, moved = (*_local(before, release.forest, released), None) if is_local else _global(before, release)
    sizes = np.diff(before.offsets)
    left_out = released < 0
    change[left_out] = 1.0
    changed[left_out] = _by_class(before, np.ones(before.nodes, np.bool_))[left_out]
    return Scores(before.classes.names, change, sizes, changed, moved)


def _global(before: Forest, release: Release) -> tuple[Floats, npt.NDArray[np.int32], Flags]:
    """Of a solution with a cut: exact, as every node can be followed."""
    recipe = Recipe.of(release.solution, before)
    published = recipe.published[before.label]
    gone, general = published == GONE, published != before.label
    moved = np.zeros(before.nodes, np.bool_)
    moved[~gone] = _moved(before, recipe, gone)
    kept = np.where(general, 1 - label_losses(before.classes)[published], 1.0) * np.where(moved, 1 - MOVED, 1.0)
    kept[gone] = 0.0
    sizes = np.maximum(np.diff(before.offsets), 1)
    change = np.bincount(_records(before), 1 - kept, len(before)) / sizes
    some = np.bincount(_records(before), moved, len(before)) > 0
    return change, _by_class(before, general | moved), some


def _moved(before: Forest, recipe: Recipe, gone: Flags) -> Flags:
    """Which of the nodes that are left hang under another than before."""
    offsets, parent, label = drop_nodes(before.offsets, before.parent, before.label, gone)
    if not len(recipe.lower) or not recipe.published.any():
        return np.zeros(len(label), np.bool_)
    order = np.argsort(recipe.lower, kind="stable").astype(np.int32)
    starts = np.searchsorted(recipe.lower[order], np.arange(len(before.classes) + 1)).astype(np.int64)
    seen = recipe.published[label]
    now = move_disassociated(offsets, parent, seen, starts, order, recipe.upper, recipe.lower)
    return np.asarray(now != parent)


def _local(before: Forest, after: Forest, released: Longs) -> tuple[Floats, npt.NDArray[np.int32]]:
    """Of local recoding: how much less detail all values of a record have, and whether those of a class are others."""
    losses = label_losses(before.classes)
    detail = [np.bincount(_records(side), 1 - losses[side.label], len(side)) for side in (before, after)]
    there = np.append(detail[1], 0.0)[released]
    change = np.clip(1 - there / np.maximum(detail[0], 1e-9), 0.0, 1.0)
    change[detail[0] == 0] = 0.0
    told = [_told(side) for side in (before, after)]
    none = np.zeros((1, len(before.classes.names)), np.uint64)
    return change, (told[0] != np.concatenate([told[1], none])[released]).astype(np.int32)


def _records(forest: Forest) -> Longs:
    """The record of every node."""
    return np.repeat(np.arange(len(forest)), np.diff(forest.offsets))


def _by_class(forest: Forest, counted: Flags) -> npt.NDArray[np.int32]:
    """How many of the counted nodes each record has of each class."""
    kinds = len(forest.classes.names)
    own = counted & (forest.label > 0)
    keys = _records(forest)[own] * kinds + forest.classes.class_of[forest.label[own]]
    return np.bincount(keys, minlength=len(forest) * kinds).reshape(len(forest), kinds).astype(np.int32)


def _told(forest: Forest) -> npt.NDArray[np.uint64]:
    """A number for what each record says of each class: which values, and how deep in the tree."""
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
