"""A release in the making: the trees, what they cost, and the recipe that makes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from treeanon.algorithms.tree.greedy_walk import Walked
from treeanon.algorithms.tree.solution import Label, Solution
from treeanon.forest import Forest
from treeanon.forest.classes import STAR
from treeanon.kernels.tree.forest import Longs
from treeanon.privacy import Guarantee
from treeanon.privacy.guarantee import roles_of

LabelPair = tuple[Label, Label]


@dataclass(frozen=True, repr=False)
class Draft:
    """A release that satisfies the guarantee, with what it costs."""

    cost: float
    walked: Walked | None
    forest: Forest
    disassociated: tuple[LabelPair, ...] = ()
    kept: Longs | None = None
    given: Mapping[str, tuple[str, ...]] | None = None

    def solution(self, guarantee: Guarantee, options: Mapping[str, Any], persons: int) -> Solution:
        """The recipe of the release."""
        suppressed = 0 if self.kept is None else persons - len(self.kept)
        if self.walked is None:
            return Solution(guarantee, "maximal", self.given, self.disassociated, (), suppressed, options)
        classes = self.forest.classes
        known = roles_of(self.forest, guarantee).known
        cut: dict[str, list[str]] = {classes.names[i]: [] for i in known}
        for label in self.walked.cut:
            name, text = classes.decode(label)
            if name != STAR:  # which stays what it is in every cut
                cut[name].append(text)
        withheld = self.walked.withheld(self.forest)
        plain = {name: tuple(texts or [classes.texts[classes.root(name)]]) for name, texts in cut.items()}
        return Solution(guarantee, "maximal", plain, self.disassociated, withheld, suppressed, options)
