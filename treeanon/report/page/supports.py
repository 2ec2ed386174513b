"""How many persons had the relations that were taken apart."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from treeanon.forest import Forest
from treeanon.forest.forest import Label
from treeanon.kernels.trees import Longs


def relation_supports(forest: Forest, pairs: Sequence[tuple[Label, Label]]) -> list[int]:
    """For every (upper, lower) pair of labels the number of records in which the one stands above the other.

    >>> import treeanon as ta
    >>> schema = ta.Schema.loads('version = 1\\n[input]\\nformat = "trees"\\n[[class]]\\nname = "hospital"\\n'
    ...     '[[class]]\\nname = "disease"\\nunder = "hospital"')
    >>> forest = Forest.from_records(schema, [[["hospital", "H", [["disease", "flu", []]]]], [["disease", "flu", []]]])
    >>> relation_supports(forest, [(("hospital", "H"), ("disease", "flu"))])
    [1]
    """
    size = len(forest.classes)
    wanted = np.array([_code(forest, upper, lower) for upper, lower in pairs], np.int64)
    record = np.repeat(np.arange(len(forest), dtype=np.int64), np.diff(forest.offsets))
    label = forest.label.astype(np.int64)
    start = forest.offsets[:-1][record]
    above = np.where(forest.parent < 0, -1, forest.parent + start)
    found: list[Longs] = []
    node = np.flatnonzero(above >= 0)
    up = above[node]
    while len(node):
        code = label[up] * size + label[node]
        told = np.isin(code, wanted)
        found.append(np.stack([code[told], record[node[told]]], axis=1))
        up = above[up]
        node, up = node[up >= 0], up[up >= 0]
    every = np.unique(np.concatenate(found), axis=0)[:, 0] if found else np.zeros(0, np.int64)
    codes, counts = np.unique(every, return_counts=True)
    support = dict(zip(codes.tolist(), counts.tolist(), strict=True))
    return [support.get(code, 0) for code in wanted.tolist()]


def _code(forest: Forest, upper: Label, lower: Label) -> int:
    return forest.classes.label(*upper) * len(forest.classes) + forest.classes.label(*lower)
