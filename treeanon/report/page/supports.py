"""How many persons had the relations that were taken apart, and how few had them together with more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from treeanon.arrays import Flags, Longs
from treeanon.forest import Forest
from treeanon.forest.forest import Label
from treeanon.kernels.tree.losses import count_records_with
from treeanon.privacy import Guarantee


@dataclass(frozen=True)
class Support:
    """How many persons have a relation; and how many have it with that value or relation more which fewest have.

    `with_more` is None where nothing more may be known, or nobody who has the relation has more to know.
    """

    persons: int
    with_more: int | None


def relation_supports(forest: Forest, pairs: Sequence[tuple[Label, Label]], guarantee: Guarantee) -> list[Support]:
    """For every (upper, lower) pair of labels how many records have the one above the other.

    >>> import treeanon as ta
    >>> schema = ta.Schema.loads('version = 1\\n[input]\\nformat = "trees"\\n[[class]]\\nname = "hospital"\\n'
    ...     '[[class]]\\nname = "disease"\\nunder = "hospital"')
    >>> flu, acne = ["disease", "flu", []], ["disease", "acne", []]
    >>> forest = Forest.from_records(schema, [[["hospital", "H", [flu]]], [["hospital", "H", [flu, acne]]], [flu]])
    >>> relation_supports(forest, [(("hospital", "H"), ("disease", "flu"))], Guarantee(2, m=3, n=1))
    [Support(persons=2, with_more=1)]
    """
    size, label = len(forest.classes), forest.classes.label
    ends = [(label(*upper), label(*lower)) for upper, lower in pairs]
    held = _relations(forest, np.array([above * size + below for above, below in ends], np.int64))
    found = []
    for above, below in ends:
        start, stop = np.searchsorted(held[:, 0], [above * size + below, above * size + below + 1])
        records = held[start:stop, 1]
        found.append(Support(len(records), _with_more(forest.take(records), above, below, guarantee)))
    return found


def _relations(forest: Forest, wanted: Longs | None = None) -> Longs:
    """Every relation of every record, once: upper label x number of labels + lower label, and the record.

    They are in ascending order; only those `wanted`, if that is given.
    """
    record = np.repeat(np.arange(len(forest), dtype=np.int64), np.diff(forest.offsets))
    label = forest.label.astype(np.int64)
    above = np.where(forest.parent < 0, -1, forest.parent + forest.offsets[:-1][record])
    node = np.flatnonzero(above >= 0)
    up = above[node]
    found = [np.zeros((0, 2), np.int64)]
    while len(node):
        code = label[up] * len(forest.classes) + label[node]
        told = slice(None) if wanted is None else np.isin(code, wanted)
        found.append(np.stack([code[told], record[node[told]]], axis=1))
        up = above[up]
        node, up = node[up >= 0], up[up >= 0]
    return np.unique(np.concatenate(found), axis=0)


def _with_more(forest: Forest, above: int, below: int, guarantee: Guarantee) -> int | None:
    """How many of these records, which all have the relation, have the one thing more that fewest of them have."""
    if guarantee.m < 3 or not len(forest):
        return None
    size, known = len(forest.classes), _known(forest)
    support = count_records_with(forest.offsets, forest.label, size)
    support[[above, below]] = 0
    counts = [support[known]]
    if guarantee.n >= 2:
        codes, times = np.unique(_relations(forest)[:, 0], return_counts=True)
        ends = np.stack([codes // size, codes % size])
        usual = known[ends].all(axis=0) & (codes != above * size + below)
        if guarantee.m == 3:
            # With a third value, one end of another relation is an end of this one.
            usual &= ((ends == above) | (ends == below)).any(axis=0)
        counts.append(times[usual])
    every = np.concatenate(counts)
    every = every[every > 0]
    return int(every.min()) if len(every) else None


def _known(forest: Forest) -> Flags:
    """For every label whether an attacker is taken to know it."""
    roles = {spec.name: spec.role for spec in forest.schema.classes}
    quasi = [roles.get(name, "quasi") == "quasi" for name in forest.classes.names]
    return np.array([*quasi, False])[forest.classes.class_of]
