"""The paper's checks on one cut that is given, step by step: what a search does with each cut that it comes to.

After O. Gkountouna and M. Terrovitis, "Anonymizing collections of tree-structured data" (IEEE TKDE 2015), Sections
III-A to III-C.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from treeanon.algorithms.tree.published.candidate_check import StructureCheck, fix_structure, value_check
from treeanon.algorithms.tree.published.candidates import Candidates
from treeanon.algorithms.tree.published.projected import Projected
from treeanon.algorithms.tree.solution import Label, LabelPair
from treeanon.forest import Forest
from treeanon.privacy import Guarantee


class OneCut:
    """A forest projected to a cut: whether its values pass, what fails in its structure, and its repair."""

    def __init__(self, forest: Forest, guarantee: Guarantee, cut: Mapping[str, Sequence[str]]) -> None:
        classes = forest.classes
        nodes = tuple(sorted(2 * classes.label(name, text) for name, texts in cut.items() for text in texts))
        self.candidates = Candidates(forest, guarantee)
        self.space = self.candidates.workspace()
        labels = self.candidates.labels(nodes)
        label_set, fresh = self.candidates.label_set[labels], np.ones(len(labels), np.bool_)
        self.values_pass = value_check(self.space, label_set, fresh, guarantee.k, guarantee.m)
        """Whether the cut passes ValueCheck (Algorithm 1)."""
        self.tree = Projected(self.candidates.base, self.candidates.space.publishes(nodes), labels)
        self.tree.count(fresh, None)
        self._lasting = self.space.mark[0]
        self.space.extend(self.tree.relations(fresh, None, self._lasting))
        self._given = (label_set, fresh, guarantee)
        self._check = StructureCheck(self.tree, self.space, *self._given)
        self._decode = classes.decode

    def failing(self) -> tuple[tuple[Label, ...], tuple[LabelPair, ...]] | None:
        """Return the next labels and relations that fail StructureCheck (Algorithm 2); None if all pass."""
        found = self._check.next()
        if found is None:
            return None
        label = [self._label(int(node)) for node in self.tree.labels]
        pairs = tuple((label[upper], label[lower]) for upper, lower in found.relations)
        return tuple(label[place] for place in found.labels), pairs

    def fix(self) -> int:
        """Disassociate until StructureCheck finds nothing (FixStructure, Algorithm 3); the number of passes."""
        return fix_structure(StructureCheck(self.tree, self.space, *self._given), self._lasting)

    @property
    def moves(self) -> tuple[LabelPair, ...]:
        """The disassociations so far, in their order."""
        return tuple((self._label(upper), self._label(lower)) for upper, lower in self.tree.moved_items())

    @property
    def cost(self) -> float:
        """The RPDa of the tree as it is now."""
        return self.tree.cost(self.candidates.level)

    def _label(self, node: int) -> Label:
        return self._decode(node // 2)
