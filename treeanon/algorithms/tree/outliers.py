"""Which persons stand in the way of finer values: those who hold what too few others hold."""

from __future__ import annotations

import numpy as np

from treeanon.algorithms.tree.partition import Indexed
from treeanon.algorithms.tree.walk import Tree
from treeanon.kernels.losses import Floats
from treeanon.kernels.record_sets import Words
from treeanon.kernels.trees import Longs


def blame(indexed: Indexed, tree: Tree, refused: list[tuple[float, tuple[int, ...]]]) -> Floats:
    """For every record how much gain was refused because of it.

    `refused` has gains with the hierarchy nodes that too few records hold together: the gain is shared among these.
    """
    out = np.zeros(len(indexed))
    marks: Words = np.zeros((len(indexed) + 63) // 64, np.uint64)
    for gain, nodes in refused:
        records = indexed.records_of(nodes[0], marks)
        for node in nodes[1:]:
            records = np.intersect1d(records, indexed.records_of(node, marks), assume_unique=True)
        if len(records):
            out[records] += gain / len(records) ** 2
    return out


def worst(score: Floats, most: int) -> Longs:
    """The records with the highest scores above 0, at most so many, ascending."""
    chosen = np.argsort(-score, kind="stable")[:most]
    return np.sort(chosen[score[chosen] > 0])
