"""Disassociates until no combination of relations is rare: what FixStructure of TREE does, by this search's counting.

TREE's Algorithm 3 takes one combination at a time and breaks its rarest relation. Here all rare combinations are
gathered first, and the relations that end most of them for the fewest records are broken, from the top of the class
tree down; as that can lower other supports (SPEC: repeat to a fixpoint), everything is counted anew until none is rare.
"""

from __future__ import annotations

from typing import TypeVar

from treeanon.algorithms.tree.counting import Counting, Pair
from treeanon.privacy import Guarantee

Records = TypeVar("Records", bound=Counting)


def repair(records: Records, guarantee: Guarantee) -> tuple[list[Pair], Records] | None:
    """The ordered pairs of labels to disassociate so that no relation singles anyone out, and the records after it.

    None if labels alone do.
    """
    pairs: list[Pair] = []
    while True:
        chosen = records.count(guarantee)
        if chosen is None:
            return None
        if not chosen:
            return pairs, records
        # Labels of a class tree's upper classes have the smaller numbers: this order keeps more.
        new = sorted(chosen)
        pairs += new
        records = records.move(new)
