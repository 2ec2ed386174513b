"""Writes records as lines of a trees file."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from treeanon.forest import Forest
from treeanon.io.documents.json_write import json_text
from treeanon.kernels.tree.forest import depths


class TreeTexts:
    """Gives the `[[class, value, [children…]], …]` text of records, children sorted by class and value."""

    def __init__(self, forest: Forest) -> None:
        classes = forest.classes
        used = np.zeros(len(classes), bool)
        used[forest.label] = True
        self.opening = [""] * len(classes)
        for label in np.flatnonzero(used).tolist():
            name, value = classes.decode(label)
            self.opening[label] = f"[{json_text(name)},{json_text(value)},["

    def records(self, forest: Forest) -> list[str]:
        """The texts of the records of a part of the forest."""
        forest = forest.in_text_order()
        depth = depths(forest.offsets, forest.parent)
        following = np.append(depth[1:], 0)
        last = forest.offsets[1:][np.diff(forest.offsets) > 0] - 1
        following[last] = 0
        closes = depth - following + 1
        ends = [("]]" * count) + "," for count in range(int(closes.max(initial=0)) + 1)]
        ends[0] = ""
        pieces = [
            self.opening[label] + ends[count]
            for label, count in zip(forest.label.tolist(), closes.tolist(), strict=True)
        ]
        bounds = forest.offsets.tolist()
        return ["[" + "".join(pieces[a:b])[:-1] + "]" for a, b in pairwise(bounds)]
