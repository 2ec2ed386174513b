"""One walk of the default search: from class roots down to a set of labels to which none can be added."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from treeanon.algorithms.tree.default.indexed_forest import IndexedForest
from treeanon.algorithms.tree.default.published_labels import PublishedLabels
from treeanon.algorithms.tree.default.shared_state import RefusedSet, WalkState
from treeanon.arrays import Floats, Ints, Longs, unique_values
from treeanon.forest import Forest
from treeanon.kernels.tree import walk as kernel

_NOISE = 0.3


@dataclass(frozen=True)
class Order:
    """In which order a walk tries labels: what a class's values are worth, and whether whole sets of siblings go first.

    `split` replaces a label by all of its children at once, as cuts do; `let_out` publishes one value beside the more
    general label of its siblings. `again` tries labels that failed once more at the end, until none can be added:
    with two or more relations one that failed may be safe later. `price` is how many relations of records one unit of
    gain may cost, for the labels of `dear`; with `asks` none is spent, and the walk says for which label any would be.
    `noise` seeds random factors on the gains of single labels, one set of factors a seed.
    """

    weights: tuple[float, ...]
    split: bool = True
    let_out: bool = True
    again: bool = False
    price: float = 0.0
    dear: frozenset[int] = frozenset()
    blame: bool = False
    noise: tuple[int, ...] = ()
    asks: bool = False


@dataclass(frozen=True)
class WalkResult:
    """Where a walk ended: the nodes of the cut, the label that every known label is published as, and what that costs.

    `cut` and `refused_roots` are labels of the forest; all else is by the numbers of its index. published[x] is -1
    where nothing is published; `price` is how many relations of records were ended on the way; `refused` has the labels
    that were not published, and what they would have gained. `blame` says for every record how much gain was refused
    because of it, if the order asks for that. `buys` has the dear labels for which relations would be ended, each if it
    alone was dear.
    """

    order: Order
    indexed: IndexedForest
    cut: tuple[int, ...]
    published: Ints
    refused_roots: tuple[int, ...]
    held: Longs
    relations: int
    price: int = 0
    refused: tuple[tuple[float, int], ...] = ()
    learned: tuple[RefusedSet, ...] = ()
    blame: Floats | None = None
    buys: tuple[int, ...] = ()

    def withheld(self, forest: Forest) -> tuple[str, ...]:
        """Return the classes of which nothing can be published, not even that a record has a value."""
        return tuple(forest.classes.names[forest.classes.class_of[root]] for root in sorted(self.refused_roots))

    def release(self, forest: Forest) -> Forest:
        """Return the trees that are published, before relations that were ended are disassociated."""
        return forest.without(self.withheld(forest)).relabel(self.published_as)

    @cached_property
    def mapping(self) -> Ints:
        """For every label of the forest the one it is published as; -1 where nothing is."""
        found = np.where(self.published < 0, -1, self.indexed.labels[self.published])[self.indexed.number_of]
        return found.astype(np.int32)

    @property
    def published_as(self) -> Ints:
        """For every label the one it is published as; itself where the walk has nothing to say of it."""
        return np.where(self.mapping < 0, np.arange(len(self.mapping), dtype=np.int32), self.mapping)

    @property
    def supports(self) -> tuple[Longs, Longs]:
        """The labels of the forest that records publish, ascending, and how many publish each."""
        there = np.flatnonzero(self.held)
        return self.indexed.labels[there], self.held[there]


class Tree:
    """The hierarchies as a walk goes through them: children that k persons hold, and what a label loses.

    `loss`, `class_of` and `step_cost` (what a label counts in a record that publishes it, and what of that is lost; and
    the relations there are) are of the forest's labels.
    """

    def __init__(
        self,
        indexed: IndexedForest,
        loss: Floats,
        class_of: Ints,
        k: int,
        step_cost: tuple[Floats, Floats, int] | None = None,
    ) -> None:
        self.indexed, self.class_of = indexed, class_of[indexed.labels]
        loss = loss[indexed.labels].astype(np.float64)
        above, held = indexed.above, indexed.held
        self.roots: list[int] = np.flatnonzero((above < 0) & (held > 0)).tolist()
        children = np.flatnonzero((above >= 0) & (held >= k)).astype(np.int32)
        children = children[np.argsort(above[children], kind="stable")]
        starts = np.searchsorted(above[children], np.arange(len(above) + 1)).astype(np.int64)
        # Labels that fewer hold can never be published, nor a set of siblings that has one.
        splits = np.diff(starts) > 0
        rare = (indexed.all_above >= 0) & (indexed.all_held > 0) & (indexed.all_held < max(k, indexed.least))
        splits[indexed.number_of[indexed.all_above[rare]]] = False
        own = np.diff(indexed.starts) > 0
        self.arrays: kernel.Hierarchies = (indexed.end, held, starts, children, splits, own, loss)
        of_label, lost, relations = step_cost or (np.zeros(0), np.zeros(0), 0)
        chosen = indexed.labels[: len(of_label)]
        self.step_cost: kernel.Cost = of_label[chosen], lost[chosen], relations

    @cached_property
    def _siblings(self) -> tuple[Longs, Longs]:
        """All labels of the forest by the label above them, and where each one's begin."""
        above = self.indexed.all_above
        order = np.argsort(above, kind="stable")
        return order, np.searchsorted(above[order], np.arange(len(above) + 1))

    def siblings(self, parents: Longs) -> list[int]:
        """Return the children of labels of the forest, held or not."""
        order, starts = self._siblings
        return [label for up in parents.tolist() for label in order[starts[up] : starts[up + 1]].tolist()]

    def children(self, parent: int) -> list[int]:
        """Return the children of a label that k persons hold."""
        starts, children = self.arrays[2:4]
        below: list[int] = children[starts[parent] : starts[parent + 1]].tolist()
        return below


_NOTHING = np.zeros((0, 0), np.int32), np.zeros((0, 0), bool), np.zeros((0, 0, 1), np.int32)


class Walk:
    """A walk by a given order: greedy, and each label is tried once, as what fails now fails for good.

    A compiled loop goes on while what is known of pairs of labels decides; what it does not is tried here.
    """

    def __init__(self, state: WalkState, tree: Tree, order: Order, *, priced: bool = False) -> None:
        """`priced`: what is published is priced on the way, and the walk ends where it was cheapest."""
        self.state, self.tree, self.order, self.priced = state, tree, order, priced
        labels = len(tree.class_of)
        self.most_steps = 1 << 40
        self.partition = PublishedLabels(state, certain=order.again)
        self.partition.blaming = order.blame
        self.factors = np.ones(labels)
        for seed in order.noise:
            drawn = np.random.default_rng(seed).normal(0, _NOISE, len(tree.indexed.all_held))
            self.factors *= 10 ** drawn[tree.indexed.labels]
        self.blame = np.zeros(len(tree.indexed)) if order.blame else None
        self.least = np.full(1, np.inf)
        self.gain, self.in_cut, self.was_split = np.zeros(labels), np.zeros(labels, bool), np.zeros(labels, bool)
        refused = np.zeros(2 * labels, np.int32)
        self.way: kernel.Way = (
            np.zeros(labels), np.zeros(labels, np.int32), self.gain, self.in_cut, self.was_split, refused
        )  # fmt: skip
        self.refused: list[tuple[float, int]] = []
        self.buys: list[int] = []
        self.cut: list[int] = []
        """Labels of the forest that a given cut has and nobody holds."""

    def run(self, start: list[int] | None = None) -> WalkResult:
        """Return where the walk was cheapest: at its end as a rule, as finer is seldom dearer.

        It begins with the cut `start`, which must be safe, or with class roots.
        """
        walked = self._walk(start)
        steps, best = self.partition.tally[[kernel.STEPS, kernel.BEST]].tolist()
        if best == steps or self.order.asks:
            return walked
        again = Walk(self.state, self.tree, self.order)
        again.most_steps = best
        return replace(again._walk(start), refused=walked.refused, learned=walked.learned, blame=walked.blame)

    def _walk(self, start: list[int] | None) -> WalkResult:
        if start is None:
            self._publish_roots()
        else:
            self._place(start)
        answer = kernel.FIRST
        if self.order.split:
            self._descend(answer, splitting=True)
            answer = kernel.BEGIN
        if self.order.let_out:
            self._descend(answer, splitting=False)
            if self.order.again:
                self._try_again()
        return self._end()

    def _publish_roots(self) -> None:
        partition, tree = self.partition, self.tree
        weight = self.order.weights
        # A class of which not even the root is safe stays out; the dearest classes come first.
        for root in sorted(tree.roots, key=lambda r: (-weight[tree.class_of[r]] * tree.indexed.held[r], r)):
            if partition.let_out(root):
                self.in_cut[root] = True

    def _place(self, cut: list[int]) -> None:
        indexed, partition = self.tree.indexed, self.partition
        numbers = indexed.number_of[cut]
        there = indexed.labels[numbers] == cut
        self.cut = np.array(cut)[~there].tolist()
        for label in numbers[there].tolist():
            self.in_cut[label] = True
            if indexed.held[label]:
                partition.place(label)
        classes = unique_values(self.tree.class_of[numbers])
        for label in np.flatnonzero(self.tree.arrays[5] & np.isin(self.tree.class_of, classes)).tolist():
            if partition.slot[label] < 0:
                partition.place_own(label)

    def _descend(self, answer: int, *, splitting: bool) -> None:
        """Replace labels by all of their children, or publish labels beside others, until no label can be.

        The greatest gain comes first.
        """
        partition, order, tree = self.partition, self.order, self.tree
        state, waited = partition.tally, partition.blaming
        dear = np.zeros(len(tree.class_of), bool)
        dear[list(order.dear)] = True
        k, most, kinds = partition.k, partition.most_slots, tree.indexed.kinds
        asked: kernel.Asked = (
            np.array(order.weights)[tree.class_of], self.factors, dear, float(order.price), k, most, kinds,
            partition.certain, waited, partition.deep, self.most_steps,
        )  # fmt: skip
        begun = int(state[kernel.REFUSED])
        given = tree.arrays, self._known, self.state.refused_sets.arrays, asked
        ways = self.cost, self.way, state, self.least
        while kernel.walk_on(splitting, answer, *given, partition.arrays, *ways) == kernel.ASK:
            label = int(state[kernel.LABEL])
            gain = float(self.gain[label])
            if splitting:
                safe = partition.split(label, tree.children(label))
            else:
                price = int(gain * order.price) if label in order.dear else 0
                safe = partition.let_out(label, 0 if order.asks else price)
                if order.asks and not safe and price and partition.could_let_out(label, price):
                    self.buys.append(label)
            if not safe:
                self._blame(gain, label)
            answer = kernel.YES if safe else kernel.NO
        refused = self.way[5][begun : state[kernel.REFUSED]]
        self.refused += zip(self.gain[refused].tolist(), refused.tolist(), strict=True)
        self.failed: list[int] = refused.tolist()

    @property
    def cost(self) -> kernel.Cost:
        """What labels cost, where what is published is to be priced."""
        return self.tree.step_cost if self.priced else (np.zeros(0), np.zeros(0), 0)

    @property
    def _known(self) -> kernel.Known:
        """What is known of pairs of labels, as the kernel reads it."""
        facts = self.state.pair_supports
        if facts is None:
            return np.zeros(0, np.int32), _NOTHING[1], _NOTHING[1], _NOTHING[0], _NOTHING[2]
        return facts.number, facts.conflict, facts.label_conflict, facts.shared, facts.related

    def _try_again(self) -> None:
        """Publish what was refused, until none of it can be."""
        partition, end = self.partition, self.tree.indexed.end
        failed, tried = self._refused_roots() + self.failed, list[int]()
        while len(failed) != len(tried) and partition.tally[kernel.STEPS] < self.most_steps:
            tried, failed = failed, []
            for label in tried:
                if not any(partition.is_published[label : end[label]]) and partition.let_out(label):
                    self.in_cut[label] = True
                    kernel.note_step(partition.arrays, self.cost, partition.tally, self.least)
                else:
                    failed.append(label)

    def _refused_roots(self) -> list[int]:
        """Return the roots of which nothing is published."""
        partition, end = self.partition, self.tree.indexed.end
        out = [root for root in self.tree.roots if partition.slot[root] < 0]
        return [root for root in out if not any(partition.is_published[root : end[root]])]

    def _end(self) -> WalkResult:
        partition, labels = self.partition, self.tree.indexed.labels
        cut = {*labels[self.in_cut].tolist(), *self.cut}
        if self.was_split.any():
            beside = self.tree.siblings(labels[self.was_split])
            numbers = self.tree.indexed.number_of[beside]
            # Siblings that nobody holds, and those that walks do not know.
            cut.update(np.array(beside)[(labels[numbers] != beside) | (self.tree.indexed.held[numbers] == 0)].tolist())
        walked = WalkResult(
            self.order,
            self.tree.indexed,
            tuple(sorted(cut)),
            partition.mapping(),
            tuple(labels[self._refused_roots()].tolist()),
            partition.published_supports(),
            partition.relations_total,
            partition.price,
            tuple(self.refused),
            tuple(partition.learned),
            self.blame,
            tuple(self.buys),
        )
        partition.close()
        return walked

    def _blame(self, gain: float, label: int) -> None:
        """Note for which records a label was refused."""
        rare = self.partition.rare
        if self.blame is not None and rare is not None:
            records = self.partition.holders(rare, label)
            if len(records):
                # Few records that each stand in the way of much are the ones to leave out.
                self.blame[records] += gain / len(records) ** 2


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
