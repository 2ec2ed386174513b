"""The cuts of a forest: which nodes a cut has, what specializing one of them gives, and what they publish.

After O. Gkountouna and M. Terrovitis, "Anonymizing collections of tree-structured data" (IEEE TKDE 2015), Section II-A
(hierarchies and cuts) and III-A (projecting to a cut).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from treeanon.arrays import Flags, Ints, unique_values
from treeanon.forest import Forest
from treeanon.forest.classes import STAR, Classes
from treeanon.privacy.guarantee import Roles

Cut = tuple[int, ...]
"""Nodes, ascending: 2·label for a label with all that lies below it, 2·label + 1 for just the label itself."""

WHOLE: Cut = (0,)
"""The cut {*}."""


@dataclass(frozen=True, eq=False)
class CutSpace:
    """The cuts of a forest, from {*} down.

    Where data has a general value (an inner node of a hierarchy) among finer ones, that value stays beside them when
    its node is specialized. So a label x is two nodes: 2x is x with all that lies below it, 2x + 1 is x alone, which
    is a leaf. Classes that no attacker knows are never generalized, but in {*}: their labels are in no cut.
    """

    classes: Classes
    known: tuple[int, ...]
    present: Flags

    @classmethod
    def of(cls, forest: Forest, roles: Roles) -> CutSpace:
        """Return the cuts of a forest whose classes have these roles."""
        present = np.zeros(len(forest.classes), np.bool_)
        present[unique_values(forest.label)] = True
        return cls(forest.classes, roles.known, present)

    @cached_property
    def counts(self) -> Flags:
        """Which labels an attacker may know: those of the known classes, and `*`."""
        return np.concatenate([[True], np.isin(self.classes.class_of[1:], self.known)])

    @cached_property
    def end(self) -> Ints:
        """The label after the last one at or below each label."""
        parts = [np.array([len(self.classes)])]
        for first, hierarchy in zip(self.classes.first.tolist(), self.classes.hierarchies, strict=False):
            parts.append(hierarchy.end + first)
        return np.concatenate(parts).astype(np.int32)

    @cached_property
    def _values_before(self) -> Ints:
        return np.concatenate([[0], np.cumsum(self.present & self.counts)]).astype(np.int32)

    def is_empty(self, node: int) -> bool:
        """Return whether no record has a value that the node stands for."""
        label, alone = divmod(node, 2)
        end = label + 1 if alone else int(self.end[label])
        return bool(self._values_before[label] == self._values_before[end])

    def kids(self, node: int) -> Cut:
        """Return the nodes that replace a node when it is specialized; none if it cannot be."""
        label, alone = divmod(node, 2)
        if alone:
            return ()
        if label == 0:
            below = [2 * int(self.classes.first[i]) for i in self.known]
        else:
            held = int(self.classes.class_of[label])
            first = int(self.classes.first[held])
            below = [2 * (first + child) for child in self.classes.hierarchies[held].children(label - first)]
        if not below:
            return ()
        return (node + 1, *below) if self.present[label] else tuple(below)

    def specialized(self, cut: Cut, node: int) -> Cut:
        """Return the cut with a node replaced by what is right below it."""
        return tuple(sorted({*cut, *self.kids(node)} - {node}))

    def publishes(self, cut: Cut) -> Ints:
        """Return for every label the node that it is published as."""
        if cut == WHOLE:
            return np.zeros(len(self.classes), np.int32)
        out = 2 * np.arange(len(self.classes), dtype=np.int32)
        return self.republished(out, cut)

    def republished(self, published: Ints, nodes: Cut) -> Ints:
        """Return the same with the values below the given nodes published as these."""
        out = published.copy()
        for node in nodes:
            label, alone = divmod(node, 2)
            out[label : label + 1 if alone else self.end[label]] = node
        return out

    def texts(self, cut: Cut) -> dict[str, tuple[str, ...]]:
        """Return the cut as a solution has it; classes that are not generalized with all their nodes."""
        if cut == WHOLE:
            return {STAR: (STAR,)}
        chosen: dict[str, tuple[str, ...]] = {}
        labels = np.array([node // 2 for node in cut if node % 2 == 0], np.int64)
        for i, name in enumerate(self.classes.names):
            first, after = (int(x) for x in self.classes.first[i : i + 2])
            own = labels[(labels >= first) & (labels < after)].tolist() if i in self.known else range(first, after)
            chosen[name] = tuple(self.classes.texts[label] for label in own)
        return chosen
