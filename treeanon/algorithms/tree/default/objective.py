"""What a release costs, as one number that the default search makes small.

A release in the making: the trees, what they cost, and the recipe that makes them.

How long the default search looks.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from treeanon.algorithms.tree.default.greedy_walk import WalkResult
from treeanon.algorithms.tree.published.candidates import Choose
from treeanon.algorithms.tree.solution import LabelPair, LabelRule, Solution
from treeanon.arrays import Floats, Ints, Longs, unique_values
from treeanon.errors import UsageError
from treeanon.forest import Forest
from treeanon.forest.classes import STAR
from treeanon.kernels.tree.losses import count_records_with
from treeanon.metrics import label_losses, objects_kept, relation_counts, relations_kept, value_loss
from treeanon.metrics.values import Scope, class_weights, rpd, rpda
from treeanon.privacy import Guarantee
from treeanon.privacy.guarantee import roles_of

Guide = tuple[Scope, Choose]
"""Where RPDa counts the nodes of a level, and which of the cuts seen is taken."""


class Objective:
    """The cost of a walk's end, and of a release: its loss.

    That is the value loss, plus the share of relations lost, plus, where objects stay whole, the share of objects that
    do not; each of the three is from 0 to 1, and the last counts `objects_weight` times. Persons who are left out count
    as having lost everything.
    """

    guides: ClassVar[tuple[Guide, ...]] = ()
    """What the published searches are guided by, where they are tried beside, whatever the size of the data."""
    beside: ClassVar[bool] = False
    """Whether what has the least ordinary loss is a candidate, too."""

    def __init__(
        self,
        before: Forest,
        guarantee: Guarantee,
        weights: Mapping[str, float] | None = None,
        objects_weight: float = 1,
    ) -> None:
        self.before, self.guarantee, self.by_name = before, guarantee, weights
        self.objects_weight = objects_weight
        classes = before.classes
        self.weights = class_weights(classes, weights)
        self.related = relation_counts(before)
        self.relations = int(self.related.sum())
        self._label_weight = np.concatenate([[1.0], self.weights[classes.class_of[1:]]])
        self._label_loss = label_losses(classes)
        self._weighted_loss = self._label_weight * self._label_loss
        known = roles_of(before, guarantee).known
        self._known = np.isin(classes.class_of, known)
        self._held: Longs = count_records_with(before.offsets, before.label, len(classes))
        # An inner node of a hierarchy that is published as it was held loses nothing: only the trees tell where.
        self._inner = bool((self._label_loss * self._held)[1:].any())
        types = classes.types
        self._objects = int(np.count_nonzero((before.label > 0) & (before.label <= types))) if types else 0

    def of_others(self, before: Forest) -> Objective:
        """Return the same objective of other persons."""
        return Objective(before, self.guarantee, self.by_name, self.objects_weight)

    def told(self, after: Forest, usual: Forest | None, kept: Longs | None = None) -> dict[str, Any]:
        """Return what the search tells of its objective: in its release, and in that of the least ordinary loss."""
        return {}

    def prices(self, held: Ints) -> Floats:
        """Return for every label what publishing no more than it loses in a record, as walks look for gains.

        `held` has for every label the records that hold it or something below it.
        """
        return self._label_loss

    @property
    def of_step(self) -> tuple[Floats, Floats, int] | None:
        """What a label counts in a record that publishes it, what of that is lost, and the relations there are.

        None where the cost of what is published on a walk is not known without looking at the trees.
        """
        return None if self._inner else (self._label_weight, self._weighted_loss, self.relations)

    def of_walk(self, walked: WalkResult) -> float:
        """Return the cost of publishing what a walk ended with; relations that it ended are taken for lost."""
        if self._inner:
            return self.of_release(walked.release(self.before))
        labels, held = walked.supports
        weight = self._label_weight[labels]
        whole, part = float(weight @ held), float((weight * self._label_loss[labels]) @ held)
        objects = 0.0
        if walked.refused_roots:
            unpublished = self._known & (walked.mapping < 0)
            lost = float((self._label_weight * unpublished) @ self._held)
            whole, part, objects = whole + lost, part + lost, self._objects_without(unpublished)
        values = part / whole if whole else 0.0
        return values + self._relations_lost(walked.relations) + self.objects_weight * objects

    def _objects_without(self, lost: np.ndarray) -> float:
        """Return the share of objects that hold a value of labels that are not published."""
        before = self.before
        if not self._objects or not lost.any():
            return 0.0
        nodes = np.flatnonzero(lost[before.label])
        start = before.offsets[np.searchsorted(before.offsets, nodes, side="right") - 1]
        owners = (start + before.parent[nodes])[before.parent[nodes] >= 0]
        return len(unique_values(owners)) / self._objects

    def of_release(self, after: Forest, kept: Longs | None = None) -> float:
        """Return the cost of a release, whose record i comes from record kept[i] of the input (None: from i)."""
        with ThreadPoolExecutor(1) as beside:
            relations = beside.submit(relations_kept, self.before, after, kept, counted=self.related)
            values = value_loss(self.before, after, kept, weights=self.by_name).total
            objects = self._objects_lost(after, kept)
            return values + 1 - relations.result().total + self.objects_weight * objects

    def relations_per_gain(self, walked: WalkResult, *, with_nodes: bool = False) -> float:
        """Return how many relations of records cost as much as one unit of a walk's gain (records times loss).

        With nodes, each relation takes a whole value with it.
        """
        labels, held = walked.supports
        relations = self.relations / max(float(self._label_weight[labels] @ held), 1.0)
        return 1 / (1 / relations + 1) if with_nodes and relations else relations

    def _objects_lost(self, after: Forest, kept: Longs | None) -> float:
        """Return the share of objects that a release does not show whole; 0 for merged trees."""
        if not self._objects:
            return 0.0
        found = objects_kept(self.before, after, kept).values()
        return 1 - sum(of.before * (of.whole or 0) for of in found) / self._objects

    def _relations_lost(self, relations: int) -> float:
        return 1 - relations / self.relations if self.relations else 0.0


class RpdObjective(Objective):
    """The RPD of the published trees; 1 for persons who are left out."""

    guides: ClassVar[tuple[Guide, ...]] = (("class", "rpd"), ("hierarchy", "rpd"))

    def of_others(self, before: Forest) -> Objective:
        """Return the same objective of other persons."""
        return type(self)(before, self.guarantee, self.by_name)

    @property
    def of_step(self) -> None:
        """Only the trees tell it."""
        return None

    def of_walk(self, walked: WalkResult) -> float:
        """Return the cost of publishing what a walk ended with."""
        return self.of_release(walked.release(self.before))

    def of_release(self, after: Forest, kept: Longs | None = None) -> float:
        """Return the cost of a release."""
        share = len(after) / max(len(self.before), 1)
        return self._measured(after) * share + (1 - share)

    def _measured(self, after: Forest) -> float:
        return rpd(after)


class RpdaObjective(RpdObjective):
    """The RPDa of the published trees; 1 for persons who are left out."""

    guides = (("class", "rpda"),)

    def _measured(self, after: Forest) -> float:
        return rpda(after)


@dataclass(frozen=True, repr=False)
class Draft:
    """A release that satisfies the guarantee, with what it costs."""

    cost: float
    walked: WalkResult | None
    forest: Forest
    disassociated: tuple[LabelPair, ...] = ()
    left_out: tuple[LabelRule, ...] = ()
    kept: Longs | None = None
    given: Mapping[str, tuple[str, ...]] | None = None

    def solution(self, guarantee: Guarantee, options: Mapping[str, Any], persons: int) -> Solution:
        """Return the recipe of the release."""
        suppressed = 0 if self.kept is None else persons - len(self.kept)
        if self.walked is None:
            return self._solution(guarantee, self.given, (), suppressed, options)
        classes = self.forest.classes
        known = roles_of(self.forest, guarantee).known
        cut: dict[str, list[str]] = {classes.names[i]: [] for i in known}
        for label in self.walked.cut:
            name, text = classes.decode(label)
            if name != STAR:  # which stays what it is in every cut
                cut[name].append(text)
        withheld = self.walked.withheld(self.forest)
        plain = {name: tuple(texts or [classes.texts[classes.root(name)]]) for name, texts in cut.items()}
        return self._solution(guarantee, plain, withheld, suppressed, options)

    def _solution(
        self,
        guarantee: Guarantee,
        cut: Mapping[str, tuple[str, ...]] | None,
        withheld: tuple[str, ...],
        suppressed: int,
        options: Mapping[str, Any],
    ) -> Solution:
        apart = self.disassociated
        return Solution(guarantee, "maximal", cut, apart, withheld, suppressed, options, self.left_out)


_QUICK = 0.1


@dataclass(frozen=True)
class Effort:
    """How long to look: so many rounds of the usual number of walks, a part of one, or for so many seconds.

    For one seed more rounds never end with a higher cost. What ends with the clock is not repeatable.
    """

    factor: float = 1.0
    seconds: float | None = None

    @property
    def rounds(self) -> int:
        """How many rounds of walks there are at most: each takes about as long as the usual search."""
        return sys.maxsize if self.seconds is not None else max(1, round(self.factor))

    @property
    def first_share(self) -> float:
        """How many of the usual walks the first round has; few where it must end in time."""
        return _QUICK if self.seconds is not None else min(self.factor, 1.0)

    @classmethod
    def of(cls, text: str | float) -> Effort:
        """Return the effort that a number ("2") or a time ("30s") means.

        >>> Effort.of("2"), Effort.of("30s")
        (Effort(factor=2.0, seconds=None), Effort(factor=1.0, seconds=30.0))
        """
        try:
            if isinstance(text, str) and text.endswith("s"):
                effort = cls(seconds=float(text[:-1]))
            else:
                effort = cls(factor=float(text))
        except ValueError:
            effort = cls(factor=-1.0)
        if not (0 < effort.factor < 1e6 and (effort.seconds is None or 0 < effort.seconds < 1e6)):
            raise UsageError("effort must be a number above 0 (1 is usual) or a time such as 30s")
        return effort
