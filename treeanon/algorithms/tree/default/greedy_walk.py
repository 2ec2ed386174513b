"""One walk of the default search: from class roots down to a set of labels to which none can be added."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from treeanon.algorithms.tree.default.indexed_forest import IndexedForest
from treeanon.algorithms.tree.default.published_labels import PublishedLabels
from treeanon.algorithms.tree.default.shared_state import RefusedSet, WalkState
from treeanon.arrays import Flags, Floats, Ints, Longs
from treeanon.forest import Forest

_NOISE = 0.3


@dataclass(frozen=True)
class Order:
    """In which order a walk tries labels: what a class's values are worth, and whether whole sets of siblings go first.

    `split` replaces a label by all of its children at once, as cuts do; `let_out` publishes one value beside the more
    general label of its siblings. `again` tries labels that failed once more at the end, until none can be added:
    with two or more relations one that failed may be safe later. `price` is how many relations of records one unit of
    gain may cost, for the labels of `dear`. `noise` seeds random factors on the gains of single labels, one set of
    factors a seed.
    """

    weights: tuple[float, ...]
    split: bool = True
    let_out: bool = True
    again: bool = False
    price: float = 0.0
    dear: frozenset[int] = frozenset()
    blame: bool = False
    noise: tuple[int, ...] = ()


@dataclass(frozen=True)
class WalkResult:
    """Where a walk ended: the nodes of the cut, the label that every known label is published as, and what that costs.

    mapping[x] is -1 where nothing is published; `price` is how many relations of records were ended on the way;
    `refused` has the labels that were not published, and what they would have gained. `blame` says for every record
    how much gain was refused because of it, if the order asks for that.
    """

    order: Order
    cut: tuple[int, ...]
    mapping: Ints
    refused_roots: tuple[int, ...]
    supports: Longs
    relations: int
    price: int = 0
    refused: tuple[tuple[float, int], ...] = ()
    learned: tuple[RefusedSet, ...] = ()
    blame: Floats | None = None

    def withheld(self, forest: Forest) -> tuple[str, ...]:
        """Return the classes of which nothing can be published, not even that a record has a value."""
        return tuple(forest.classes.names[forest.classes.class_of[root]] for root in sorted(self.refused_roots))

    def release(self, forest: Forest) -> Forest:
        """Return the trees that are published, before relations that were ended are disassociated."""
        return forest.without(self.withheld(forest)).relabel(self.published_as)

    @property
    def published_as(self) -> Ints:
        """For every label the one it is published as; itself where the walk has nothing to say of it."""
        return np.where(self.mapping < 0, np.arange(len(self.mapping), dtype=np.int32), self.mapping)


class Tree:
    """The hierarchies as a walk goes through them: children that hold values, and what a label loses.

    Labels that fewer than k persons hold can never be published, nor what lies below them, which fewer still hold: no
    walk is offered any of it.
    """

    def __init__(self, indexed: IndexedForest, loss: Floats, class_of: Ints, k: int) -> None:
        self.indexed, self.loss, self.class_of = indexed, loss, class_of
        above, held = indexed.above, indexed.held
        self.roots: list[int] = np.flatnonzero((above < 0) & (held > 0)).tolist()
        self._siblings = _Below(above, above >= 0)
        self._frequent = _Below(above, (above >= 0) & (held >= k))
        rare = above[(above >= 0) & (held > 0) & (held < k)]
        self.splits = np.zeros(len(above), bool)
        """Which labels have children, of which none is rare."""
        self.splits[above[(above >= 0) & (held >= k)]] = True
        self.splits[rare] = False

    def siblings(self, parent: int) -> list[int]:
        """Return the children of a label, held or not."""
        return self._siblings.of(parent)

    def children(self, parent: int) -> list[int]:
        """Return the children of a label that k persons hold."""
        return self._frequent.of(parent)

    def gain(self, label: int, general: int) -> float:
        """Return what is won if the values under a label are published as it and not as the more general one."""
        return float(self.indexed.held[label] * (self.loss[general] - self.loss[label]))


class _Below:
    """The labels below each label that are chosen, ascending."""

    def __init__(self, above: Ints, chosen: Flags) -> None:
        labels = np.flatnonzero(chosen)
        self._labels = labels[np.argsort(above[labels], kind="stable")]
        self._starts = np.searchsorted(above[self._labels], np.arange(len(above) + 1))

    def of(self, parent: int) -> list[int]:
        below: list[int] = self._labels[self._starts[parent] : self._starts[parent + 1]].tolist()
        return below


class Walk:
    """A walk by a given order: greedy, and each label is tried once, as what fails now fails for good."""

    def __init__(
        self, state: WalkState, tree: Tree, order: Order, cost: Callable[[PublishedLabels], float] | None = None
    ) -> None:
        self.state, self.tree, self.order, self.cost = state, tree, order, cost
        self.steps = self.best_steps = 0
        self.most_steps = math.inf
        self.least_cost = math.inf
        self.partition = PublishedLabels(state, certain=order.again)
        self.partition.blaming = order.blame
        self.cut: set[int] = set()
        self.refused: list[tuple[float, int]] = []
        self.factors = np.ones(len(tree.loss))
        for seed in order.noise:
            self.factors *= 10 ** np.random.default_rng(seed).normal(0, _NOISE, len(tree.loss))
        self.blame = np.zeros(len(tree.indexed)) if order.blame else None

    def run(self, start: list[int] | None = None) -> WalkResult:
        """Return where the walk was cheapest: at its end as a rule, as finer is seldom dearer.

        It begins with the cut `start`, which must be safe, or with class roots.
        """
        walked = self._walk(start)
        if self.cost is None or self.best_steps == self.steps:
            return walked
        again = Walk(self.state, self.tree, self.order)
        again.most_steps = self.best_steps
        return replace(again._walk(start), refused=walked.refused, learned=walked.learned, blame=walked.blame)

    def _walk(self, start: list[int] | None) -> WalkResult:
        if start is None:
            self._publish_roots()
        else:
            self._place(start)
        self._step()
        if self.order.split:
            self._split_down()
        if self.order.let_out:
            self._let_out_down()
        return self._end()

    def _step(self) -> None:
        """Note what is published now, if it is the cheapest so far."""
        self.steps += 1
        if self.cost is not None:
            cost = self.cost(self.partition)
            if cost <= self.least_cost:  # of equals the finest
                self.least_cost, self.best_steps = cost, self.steps

    def _publish_roots(self) -> None:
        partition, tree = self.partition, self.tree
        weight = self.order.weights
        # A class of which not even the root is safe stays out; the dearest classes come first.
        for root in sorted(tree.roots, key=lambda r: (-weight[tree.class_of[r]] * tree.indexed.held[r], r)):
            if partition.let_out(root):
                self.cut.add(root)

    def _place(self, cut: list[int]) -> None:
        indexed, partition = self.tree.indexed, self.partition
        for label in cut:
            self.cut.add(label)
            if indexed.held[label]:
                partition.place(label)
        classes = {int(self.tree.class_of[label]) for label in cut}
        for label in np.flatnonzero(np.diff(indexed.starts)).tolist():
            if partition.slot[label] < 0 and int(self.tree.class_of[label]) in classes:
                partition.place_own(label)

    def _end(self) -> WalkResult:
        partition = self.partition
        walked = WalkResult(
            self.order,
            tuple(sorted(self.cut)),
            partition.mapping(),
            tuple(root for root in self.tree.roots if partition.slot[root] < 0 and not self._is_split(root)),
            partition.published_supports(),
            partition.relations_total,
            partition.price,
            tuple(self.refused),
            tuple(partition.learned),
            self.blame,
        )
        partition.close()
        return walked

    def _is_split(self, root: int) -> bool:
        return any(self.partition.is_published[root : self.tree.indexed.end[root]])

    def _note(self, gain: float, label: int) -> None:
        """Note that a label was refused, and for which records."""
        self.refused.append((gain, label))
        rare = self.partition.rare
        if self.blame is not None and rare is not None:
            records = self.partition.holders(rare, label)
            if len(records):
                # Few records that each stand in the way of much are the ones to leave out.
                self.blame[records] += gain / len(records) ** 2

    def _urgency(self, label: int, gain: float) -> float:
        """Return how early a label is tried; at once if there is nothing to win by it but what lies below."""
        return gain * self.order.weights[self.tree.class_of[label]] * self.factors[label] if gain > 0 else math.inf

    def _split_down(self) -> None:
        """Replace labels by all of their children, the greatest gain first, until no label can be."""
        tree = self.tree
        waiting: list[tuple[float, int, float]] = []

        def offer(label: int) -> None:
            if tree.splits[label]:
                gain = sum(tree.gain(child, label) for child in tree.children(label))
                heapq.heappush(waiting, (-self._urgency(label, gain), label, gain))

        for label in sorted(self.cut):
            if self.partition.is_plain[label]:
                offer(label)
        while waiting and self.steps < self.most_steps:
            _, label, gain = heapq.heappop(waiting)
            if self.partition.split(label, tree.children(label)):
                self.cut.discard(label)
                self.cut.update(tree.siblings(label))
                self._step()
                for child in tree.children(label):
                    offer(child)
            else:
                self._note(gain, label)

    def _let_out_down(self) -> None:
        """Publish labels beside what is published, the greatest gain first; those below a label come after it."""
        tree, partition = self.tree, self.partition
        waiting: list[tuple[float, int, float]] = []

        def offer(label: int) -> None:
            slot = partition.slot[label]
            if slot >= 0:
                gain = tree.gain(label, partition.node[slot])
                heapq.heappush(waiting, (-self._urgency(label, gain), label, gain))

        for label in partition.published():
            for child in tree.children(label):
                if partition.node[partition.slot[child]] == label:
                    offer(child)
        failed: list[int] = []
        while waiting and self.steps < self.most_steps:
            _, label, gain = heapq.heappop(waiting)
            price = self.order.price if label in self.order.dear else 0.0
            if partition.let_out(label, int(gain * price)):
                self.cut.add(label)
                self._step()
            else:
                failed.append(label)
                self._note(gain, label)
            for child in tree.children(label):
                offer(child)
        if self.order.again:
            refused = [root for root in tree.roots if partition.slot[root] < 0 and not self._is_split(root)]
            self._try_again(refused + failed)

    def _try_again(self, failed: list[int]) -> None:
        """Publish what was refused, until none of it can be."""
        partition, end = self.partition, self.tree.indexed.end
        tried: list[int] = []
        while len(failed) != len(tried) and self.steps < self.most_steps:
            tried, failed = failed, []
            for label in tried:
                if not any(partition.is_published[label : end[label]]) and partition.let_out(label):
                    self.cut.add(label)
                    self._step()
                else:
                    failed.append(label)


def random_weights(rng: np.random.Generator, own: Floats) -> tuple[float, ...]:
    """Return class weights drawn over one to four decades, times the user's own."""
    wide = rng.choice([0.5, 1, 2])
    return tuple((own * 10 ** rng.uniform(-wide, wide, len(own))).tolist())


def near_weights(rng: np.random.Generator, weights: tuple[float, ...]) -> tuple[float, ...]:
    """Return class weights in the neighborhood of given ones."""
    return tuple((np.array(weights) * 10 ** rng.normal(0, 0.5, len(weights))).tolist())


def different_walks(tried: list[tuple[float, WalkResult]]) -> list[WalkResult]:
    """Return the walks that ended in different places, the cheapest first."""
    seen: dict[tuple[int, ...], WalkResult] = {}
    for _, walked in sorted(tried, key=lambda item: item[0]):
        seen.setdefault(walked.cut, walked)
    return list(seen.values())
