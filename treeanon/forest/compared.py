"""Published trees mapped to the classes and hierarchies of their original, and the nodes that cannot stem from it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from treeanon.arrays import Ints
from treeanon.errors import UsageError
from treeanon.forest.forest import Forest


def in_terms_of(original: Forest, published: Forest) -> tuple[Forest, Mapping[str, int]]:
    """Return the published trees with the original's classes and hierarchies, and the strange nodes by class.

    `published` has its values as they stand. A node is strange where its value is neither one of the original's nor
    above one; one that the hierarchy does not know at all becomes the root. Classes without strange nodes are left out.

    >>> import treeanon as ta
    >>> text = 'version = 1\\n[input]\\nformat = "trees"\\n[[class]]\\nname = "age"\\n'
    >>> schema = ta.Schema.loads(text + "hierarchy = { prefix = [1] }")
    >>> forest, other = (ta.Forest.from_records(schema, [[["age", age, []] for age in held]]) for held in ("34", "9"))
    >>> in_terms_of(forest, other)[0].record(0), in_terms_of(forest, other)[1]
    ([['age', '*', []]], {'age': 1})
    """
    ours, theirs = original.classes, published.classes
    if ours.tree != theirs.tree:
        raise UsageError("a release has the classes of its input, each under the same class")
    mapping = np.zeros(len(theirs), np.int32)
    known = np.ones(len(theirs), np.bool_)
    for i, (hierarchy, other) in enumerate(zip(ours.hierarchies, theirs.hierarchies, strict=True)):
        codes = hierarchy.encode(other.texts)
        first, begin = int(theirs.first[i]), int(ours.first[i])
        mapping[first : first + len(other)] = begin + np.maximum(codes, 0)
        known[first : first + len(other)] = codes >= 0
    fine = known & _possible(original)[mapping]
    strange = theirs.class_of[published.label[~fine[published.label]]]
    counts = np.bincount(strange[strange >= 0], minlength=len(ours.names)).tolist()
    # Labels have other codes here, and by these siblings are sorted; those that are equal now are merged.
    trees = Forest(
        original.schema, ours, published.offsets, published.parent, mapping[published.label], published.report
    ).relabel(np.arange(len(ours), dtype=np.int32))
    return trees, {name: times for name, times in zip(ours.names, counts, strict=True) if times}


def _possible(original: Forest) -> np.ndarray:
    """Return whether each label may stand for one of the original: its own, and all above them; `*` always."""
    classes = original.classes
    fine = np.zeros(len(classes), np.bool_)
    fine[original.label] = fine[0] = True
    for first, hierarchy in zip(classes.first.tolist(), classes.hierarchies, strict=False):
        own = fine[first : first + len(hierarchy)]
        below: Ints = np.append(0, np.cumsum(own)).astype(np.int32)
        own |= below[hierarchy.end] > below[:-1]
    return fine
