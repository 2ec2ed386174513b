"""Objects kept whole: of each type how many objects there were and are, and how many still say all that they said."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from treeanon.arrays import Longs
from treeanon.forest import Forest
from treeanon.kernels.tree.objects import count_objects_kept
from treeanon.metrics.values import label_parents, released_as


@dataclass(frozen=True)
class ObjectsKept:
    """The objects of a type in the input and in the release, and the share of the input's that are still whole.

    `whole` is None where nobody knows which record of the release comes from which of the input.
    """

    before: int
    after: int
    whole: float | None


def objects_kept(before: Forest, after: Forest, kept: Longs | None = None) -> Mapping[str, ObjectsKept]:
    """Return by type what became of the objects of the input; nothing for merged trees.

    An object is whole if it still has a value, however general, of every class that it had one of. Equal objects of one
    parent count once, before and after; record i of `after` is record kept[i] of `before` (None: i).

    >>> import json, treeanon as ta
    >>> lines = ['version = 1', '[input]', 'format = "ndjson"', 'objects = "whole"']
    >>> for name in ("ward", "ill"):
    ...     lines += ["[[class]]", f'name = "{name}"', f'path = "stays[].{name}"']
    >>> stay = ["stays[]", "*", [["ward", "A", []], ["ill", "Flu", []]]]
    >>> forest = ta.Forest.from_records(ta.Schema.loads("\\n".join(lines)), [[stay], [stay]])
    >>> objects_kept(forest, forest.project({"ill": ["*"]}))
    {'stays[]': ObjectsKept(before=2, after=2, whole=1.0)}
    >>> objects_kept(forest, forest.without(["ill"]))["stays[]"].whole
    0.0
    """
    released = released_as(before, after, kept)
    trees = before.offsets, before.parent, before.label, after.offsets, after.parent, after.label
    types = before.classes.types
    if not types:
        return {}
    counts = count_objects_kept(*trees, released, label_parents(before.classes), types)
    return {
        name: ObjectsKept(had, has, whole / had)
        for name, had, has, whole in zip(before.classes.names, *counts[:, 1:].tolist(), strict=False)
        if had
    }


def objects_counted(before: Forest, after: Forest) -> Mapping[str, ObjectsKept]:
    """Return by type the objects before and after, where records stand in another order than those of the input."""
    types = before.classes.types
    had, has = (np.bincount(one.label, minlength=types + 1)[1 : types + 1].tolist() for one in (before, after))
    return {
        name: ObjectsKept(there, here, None)
        for name, there, here in zip(before.classes.names, had, has, strict=False)
        if there
    }
