"""Value loss: how much more general the published values are than those the records held.

What is averaged are the different labels of the *released* records, all records together. A label counts with
(leaves under it - 1) / (leaves of its class - 1), or with 0 where the record held just that label and nothing else is
published as it. A value of which nothing is published (its person is suppressed, its class withheld, or the record
says no more than `*`) counts like a label with loss 1.

Values that become equal count once. Under subtree recoding more general never loses less; with sibling recoding it
may: a middling label merged into the general one beside it takes a label away that was above the mean.

What single labels are worth: numbers for every label of a forest's classes.

RPD, the reverse path domain of a collection, is lower where paths are longer and their labels more exact. RPDa, the
heuristic of TREE's searches, is that of a synopsis instead of every record. (O. Gkountouna and M. Terrovitis,
"Anonymizing collections of tree-structured data", IEEE TKDE 2015, Section II-E, Equations 7 and 8.)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from treeanon.arrays import Flags, Floats, Ints, Longs
from treeanon.errors import UsageError
from treeanon.forest import Classes, Forest
from treeanon.forest.synopsis import Synopsis
from treeanon.kernels.tree.losses import count_published, count_records_with, path_losses
from treeanon.kernels.tree.synopsis import path_cost

Scope = Literal["class", "hierarchy"]


def label_parents(classes: Classes) -> Ints:
    """Return the label above every label; 0 above the class roots, -1 above `*`."""
    out = np.full(len(classes), -1, np.int32)
    for first, hierarchy in zip(classes.first.tolist(), classes.hierarchies, strict=False):
        out[first : first + len(hierarchy)] = np.where(hierarchy.parent < 0, 0, hierarchy.parent + first)
    return out


def label_ends(classes: Classes) -> Ints:
    """Return the end of the labels under every label; 0 for `*`, which is above them all."""
    ends = [first + hierarchy.end for first, hierarchy in zip(classes.first, classes.hierarchies, strict=False)]
    return np.concatenate([np.zeros(1, np.int32), *ends])


def label_depths(classes: Classes) -> Ints:
    """Return the steps from every label up to its class root; -1 for `*`, one level above them all."""
    return np.concatenate([[-1], *(hierarchy.depth for hierarchy in classes.hierarchies)]).astype(np.int32)


def label_losses(classes: Classes) -> Floats:
    """Return how general every label is, from 0 (one leaf) to 1 (its class root, or `*`).

    It is (leaves under the label - 1) / (leaves of the class - 1), and 0 for all labels of a class with one leaf.

    >>> from treeanon.hierarchy import Hierarchy
    >>> lung = Hierarchy.from_parents({"flu": "lung", "asthma": "lung", "lung": "any", "acne": "any"})
    >>> label_losses(Classes(("disease",), (-1,), (lung,))).tolist()
    [1.0, 1.0, 0.5, 0.0, 0.0, 0.0]
    """
    parts = [np.ones(1)]
    for hierarchy in classes.hierarchies:
        parts.append((hierarchy.leaf_count - 1) / max(int(hierarchy.leaf_count[0]) - 1, 1))
    return np.concatenate(parts)


def level_sizes(classes: Classes, scope: Scope = "class") -> Ints:
    """Return the number of hierarchy nodes on every label's level, of its class or of all hierarchies."""
    if scope not in get_args(Scope):
        raise UsageError(f"the scope of a level must be one of {', '.join(get_args(Scope))}")
    if scope == "hierarchy":
        depth = label_depths(classes) + 1
        return np.bincount(depth)[depth].astype(np.int32)
    parts = [np.ones(1, np.int32)]
    for hierarchy in classes.hierarchies:
        parts.append(np.bincount(hierarchy.depth).astype(np.int32)[hierarchy.depth])
    return np.concatenate(parts)


def released_as(before: Forest, after: Forest, kept: Longs | None) -> Longs:
    """Return, for every record of `before`, its record of `after` (-1: none); UsageError if they do not fit."""
    ours, theirs = before.classes, after.classes
    if ours is not theirs and (ours.tree != theirs.tree or ours.hierarchies != theirs.hierarchies):
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


Weights = Mapping[str, float]


@dataclass(frozen=True)
class ValueLoss:
    """Mean loss of the published labels, in total and by class; classes without any values are left out."""

    total: float
    by_class: Mapping[str, float]


def class_weights(classes: Classes, weights: Weights | None) -> Floats:
    """Return the weight of each class in a total; 1 where `weights` has none, 0 for types of objects."""
    out = np.ones(len(classes.names))
    out[: classes.types] = 0
    for name, weight in (weights or {}).items():
        if not 0 <= weight < float("inf"):
            raise UsageError(f"the weight of class {name!r} must be a number that is not negative")
        out[classes.index(name)] = weight
    return out


def loss_of_counts(
    classes: Classes, general: Longs, same: Longs, lost: Longs | Floats, weights: Weights | None = None
) -> ValueLoss:
    """Return the value loss from counts of labels generalized, published unchanged, and lost."""
    of_class = classes.class_of[1:]
    size = len(classes.names)
    counts = np.bincount(of_class, (general + same + lost)[1:], size)
    sums = np.bincount(of_class, (general * label_losses(classes) + lost)[1:], size)
    weight = class_weights(classes, weights)
    # `*` stands for a label of any class, so it weighs what a class without a weight does
    whole, part = float(weight @ counts) + int(general[0]), float(weight @ sums) + int(general[0])
    by_class = {
        name: float(sums[i] / counts[i]) for i, name in enumerate(classes.names) if counts[i] and i >= classes.types
    }
    return ValueLoss(part / whole if whole else 0.0, by_class)


def value_loss(
    before: Forest, after: Forest, kept: Longs | None = None, *, weights: Weights | None = None
) -> ValueLoss:
    """Return the value loss of a release; record i of `after` is record kept[i] of `before` (None: i).

    >>> import treeanon as ta
    >>> schema = ta.Schema.loads('version = 1\\n[input]\\nformat = "trees"\\n[[class]]\\nname = "sex"\\n'
    ...     '[[class]]\\nname = "disease"\\nunder = "/"')
    >>> forest = ta.Forest.from_records(schema, [[["sex", "F", []], ["disease", "flu", []]],
    ...     [["sex", "M", []], ["disease", "acne", []]]])
    >>> value_loss(forest, forest.project({"sex": ["*"]}))
    ValueLoss(total=0.5, by_class={'sex': 1.0, 'disease': 0.0})
    >>> value_loss(forest, forest.take([1]), np.array([1])).total
    0.5
    """
    released = released_as(before, after, kept)
    columns = (before.offsets, before.label, after.offsets, after.label)
    counts = count_published(*columns, released, label_parents(before.classes))
    return loss_of_counts(before.classes, *counts, weights)


def value_loss_of_supports(classes: Classes, supports: Longs, *, weights: Weights | None = None) -> ValueLoss:
    """Return the value loss of a release from nothing but the support of each label.

    Equal to `value_loss` where all records are published and hold leaves only. So a search needs no forest for it, and
    disassociations, which move labels only, do not change it.
    """
    nothing = np.zeros(len(classes), np.int64)
    return loss_of_counts(classes, np.asarray(supports, np.int64), nothing, nothing, weights)


def value_loss_alone(after: Forest, *, weights: Weights | None = None) -> ValueLoss:
    """Return the value loss of a release without its input, as if each record had held leaves."""
    supports = count_records_with(after.offsets, after.label, len(after.classes))
    return value_loss_of_supports(after.classes, supports, weights=weights)


def rpd_of_records(forest: Forest, scope: Scope = "class") -> Floats:
    """Return the RPD of every record: the mean over its root-to-leaf paths of 1 / Π d(u)·|C(u)|.

    d is the depth of a node (children of the pseudo-root have 1), |C(u)| the number of hierarchy nodes on its label's
    level, in the hierarchy of its class or (`scope="hierarchy"`) in all of them. A record without nodes has 0.
    """
    return path_losses(forest.offsets, forest.parent, forest.label, level_sizes(forest.classes, scope))


def rpd(forest: Forest, scope: Scope = "class") -> float:
    """Return the mean RPD of the records of a collection; 0 if there are none.

    >>> import treeanon as ta
    >>> schema = ta.Schema.loads('version = 1\\n[input]\\nformat = "trees"\\n[[class]]\\nname = "disease"')
    >>> forest = ta.Forest.from_records(schema, [[["disease", "flu", []]], [["disease", "acne", []]]])
    >>> rpd(forest), rpd(forest.project({"disease": ["*"]}))
    (0.5, 1.0)
    """
    return float(np.mean(rpd_of_records(forest, scope))) if len(forest) else 0.0


_DIGITS = 12


def rpda(forest: Forest, scope: Scope = "class") -> float:
    """Return the RPDa: (1/nodes)·(1/leaves)·Σ_p RPDa(p) over the paths p of the synopsis (TREE Eq. 7, 8).

    RPDa(p) = Σ support(u) / Π d(u)·|C(u)| over the nodes u of p; the root of the synopsis is none of them. As in
    `rpd`, d is a node's depth (1 at the top) and |C(u)| the number of hierarchy nodes on its label's level.

    >>> import treeanon as ta
    >>> schema = ta.Schema.loads('version = 1\\n[input]\\nformat = "trees"\\n[[class]]\\nname = "disease"')
    >>> forest = ta.Forest.from_records(schema, [[["disease", "flu", []]], [["disease", "acne", []]]])
    >>> rpda(forest), rpda(forest.project("*"))
    (0.25, 2.0)
    """
    synopsis = Synopsis.of(forest)
    level = level_sizes(forest.classes, scope)[synopsis.label]
    dead = np.zeros(len(synopsis), np.bool_)
    return cost_of(synopsis.parent, synopsis.support.astype(np.int32), level, dead)


def cost_of(parent: Ints, support: Ints, level: Ints, dead: Flags) -> float:
    """Return the RPDa of a synopsis tree without the nodes marked dead.

    It is rounded to 12 digits, so that equal costs are equal however they were added up: searches compare them.
    """
    return rounded(path_cost(parent, support, level, dead))


def rounded(cost: float) -> float:
    """Return a cost to so many digits that sums of the same numbers are equal in whichever order they were added."""
    return float(f"{cost:.{_DIGITS}g}")
