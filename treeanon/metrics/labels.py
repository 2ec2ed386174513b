"""What single labels are worth: numbers for every label of a forest's classes."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np

from treeanon.errors import UsageError
from treeanon.forest import Classes, Forest
from treeanon.kernels.tree.forest import Ints, Longs
from treeanon.kernels.tree.losses import Floats

Scope = Literal["class", "hierarchy"]


def label_parents(classes: Classes) -> Ints:
    """The label above every label; 0 above the class roots, -1 above `*`."""
    out = np.full(len(classes), -1, np.int32)
    for first, hierarchy in zip(classes.first.tolist(), classes.hierarchies, strict=False):
        out[first : first + len(hierarchy)] = np.where(hierarchy.parent < 0, 0, hierarchy.parent + first)
    return out


def label_depths(classes: Classes) -> Ints:
    """The steps from every label up to its class root; -1 for `*`, one level above them all."""
    return np.concatenate([[-1], *(hierarchy.depth for hierarchy in classes.hierarchies)]).astype(np.int32)


def label_losses(classes: Classes) -> Floats:
    """How general every label is, from 0 (one leaf) to 1 (its class root, or `*`).

    It is (leaves under the label - 1) / (leaves of the class - 1), and 0 for all labels of a class with one leaf.

    >>> from treeanon.hierarchy import Hierarchy
    >>> lung = Hierarchy.from_parents({"flu": "lung", "asthma": "lung", "lung": "any", "acne": "any"})
    >>> label_losses(Classes(("disease",), (-1,), (lung,))).tolist()
    [1.0, 1.0, 0.5, 0.0, 0.0, 0.0]
    """
    parts = [np.ones(1)]
    for hierarchy in classes.hierarchies:
        parts.append((hierarchy.leaf_count - 1) / max(int(hierarchy.leaf_count[0]) - 1, 1))
    return np.concatenate(parts).astype(np.float64)


def level_sizes(classes: Classes, scope: Scope = "class") -> Ints:
    """The number of hierarchy nodes on every label's level: of its class, or of all hierarchies under `*`."""
    if scope not in get_args(Scope):
        raise UsageError(f"the scope of a level must be one of {', '.join(get_args(Scope))}")
    if scope == "hierarchy":
        depth = label_depths(classes) + 1
        return np.bincount(depth)[depth].astype(np.int32)
    parts = [np.ones(1, np.int64)]
    for hierarchy in classes.hierarchies:
        parts.append(np.bincount(hierarchy.depth)[hierarchy.depth])
    return np.concatenate(parts).astype(np.int32)


def released_as(before: Forest, after: Forest, kept: Longs | None) -> Longs:
    """For every record of `before` the record of `after` that it became, -1 if none; UsageError if they do not fit."""
    ours, theirs = before.classes, after.classes
    if ours is not theirs and (ours.names != theirs.names or ours.hierarchies != theirs.hierarchies):
        raise UsageError("a release and its input must have the same classes with the same hierarchies")
    if kept is None:
        if len(before) != len(after):
            raise UsageError("the release has not as many records as its input: say which ones were kept")
        return np.arange(len(before), dtype=np.int64)
    kept = np.asarray(kept, np.int64)
    out = np.full(len(before), -1, np.int64)
    if len(kept) != len(after) or (len(kept) and not 0 <= kept.min() <= kept.max() < len(before)):
        raise UsageError("the kept records must be records of the input, one for every record of the release")
    out[kept] = np.arange(len(kept))
    if np.count_nonzero(out >= 0) != len(kept):
        raise UsageError("no record can be kept twice")
    return out
