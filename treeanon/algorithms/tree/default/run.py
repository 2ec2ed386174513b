"""One run of the default search: its walks, on all cores, and the best release so far."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from dataclasses import replace
from queue import SimpleQueue

import numpy as np

from treeanon.algorithms.tree.default.greedy_walk import (
    Order,
    Tree,
    Walk,
    WalkResult,
    different_walks,
    near_weights,
    random_weights,
)
from treeanon.algorithms.tree.default.indexed_forest import IndexedForest
from treeanon.algorithms.tree.default.leaving_out import Ending
from treeanon.algorithms.tree.default.objective import Draft, Effort, Objective
from treeanon.algorithms.tree.default.pair_support import PairSupports
from treeanon.algorithms.tree.default.shared_state import Helpers, RefusedSets, Tried, WalkState
from treeanon.algorithms.tree.default.strict import ExtendedCheck
from treeanon.algorithms.tree.default.strict import needed as strictly
from treeanon.algorithms.tree.default.traces import Places
from treeanon.algorithms.tree.solution import LabelPair, Solution
from treeanon.arrays import Ints, unique_values
from treeanon.errors import GuaranteeError, UsageError
from treeanon.forest import Forest
from treeanon.forest.classes import STAR
from treeanon.privacy import Guarantee
from treeanon.privacy.guarantee import roles_of
from treeanon.progress import Progress

# Walks at the usual effort: by whole sets of siblings from random weights; value by value from the best of these; near
# the weights of the best; and, in rounds, with random factors on the gains of the best.
_SPLITS, _FINER, _NEAR, _NOISY, _ROUNDS = 16, 2, 8, 4, 4

_FIRST_NEAR = 2
"""So many walks near the best are made before the others, where all starts end in one place."""

_DEAR = 12
"""For so many refused labels, those with the greatest gains, relations may be ended."""

# Below _USUAL_NODES nodes more walks are made, as they cost little; above _MANY_NODES fewer value by value.
_USUAL_NODES, _MANY_NODES = 40_000, 400_000

_PRICE = 0.7
"""What ended relations may cost at most, as a share of what they buy: moving nodes costs more than the ended ones."""


class Run:
    """One search: its walks, on all cores, and the best release so far."""

    def __init__(
        self,
        forest: Forest,
        guarantee: Guarantee,
        goal: Objective,
        recoding: str,
        ending: Ending,
        effort: Effort,
        seed: int,
        jobs: int,
        progress: Progress | None,
        indexed: IndexedForest | None = None,
    ) -> None:
        self.forest, self.guarantee, self.goal = forest, guarantee, goal
        self.recoding, self.sibling = recoding, recoding == "sibling"
        self.ending = ending
        self.effort, self.seed, self.jobs, self.progress = effort, seed, jobs, progress
        self.share = effort.first_share
        """How many of the usual walks a round has."""
        # Objects that stay whole are nodes that no walk has to decide on.
        types = forest.classes.types
        objects = int(np.count_nonzero((forest.label > 0) & (forest.label <= types))) if types else 0
        self.values = forest.nodes - objects
        self.walks = 0
        self.gained = 0.0
        """How much less the best release costs than that of the first round."""
        self.until = math.inf if effort.seconds is None else time.monotonic() + effort.seconds
        self.stops_at = math.inf
        """When no further walk begins."""
        self._index(forest, self.index_of(forest, guarantee) if indexed is None else indexed)

    @staticmethod
    def index_of(forest: Forest, guarantee: Guarantee) -> IndexedForest:
        """Return the index of the input, as walks read it."""
        return IndexedForest.of(forest, guarantee, condensed=not strictly(guarantee))

    def _index(self, forest: Forest, indexed: IndexedForest) -> None:
        """Count what does not depend on a walk, in these trees: those of the input, with nodes moved or not."""
        self.indexed = indexed
        strict = ExtendedCheck(forest, indexed, self.guarantee) if strictly(self.guarantee) else None
        deep = self.guarantee.m > 2 or strict is not None
        pair_supports = (
            PairSupports(indexed, self.guarantee, self.jobs, deep=deep)
            if PairSupports.fit(indexed, self.guarantee)
            else None
        )
        prices, class_of = self.goal.prices(indexed.all_held), forest.classes.class_of
        self.tree = Tree(indexed, prices, class_of, self.guarantee.k, self.goal.of_step)
        self.refused_sets = RefusedSets(len(indexed.above))
        self._workshops: SimpleQueue[WalkState] = SimpleQueue()
        helpers = Helpers(self.jobs) if self.jobs > 1 and self.large else None
        tried = Tried()
        for thread in range(self.jobs):
            state = WalkState(indexed, self.guarantee, pair_supports, strict, self.refused_sets, thread, tried)
            state.helpers = helpers
            self._workshops.put(state)

    def _times(self, usual: int) -> int:
        """Return the number of walks of a kind in a round: more where data are small and walks cost little."""
        small = min(4.0, max(1.0, _USUAL_NODES / max(self.values, 1)))
        return max(1, round(usual * self.share * small))

    def _planned(self) -> int | None:
        """Return how many walks there will be, as far as is known."""
        if self.effort.seconds is not None:
            return None
        finer = 3 * self._finer + 1 if self.sibling else 0
        noisy = self._rounds * self._times(_NOISY)
        of_round = self._times(_SPLITS) + self._times(_NEAR) + finer + noisy
        return max(self.walks, of_round * self.effort.rounds)

    @property
    def _rounds(self) -> int:
        """How often the best is varied label by label; more where larger combinations make for more dead ends."""
        return 0 if self.large or not self.sibling else _ROUNDS * min(self.guarantee.m - 1, 2)

    @property
    def _finer(self) -> int:
        return 1 if self.large else self._times(_FINER)

    @property
    def large(self) -> bool:
        """Whether the data are so many that a walk value by value is not done lightly."""
        return self.forest.nodes > _MANY_NODES

    def best(self) -> Draft:
        """Return the best release of all walks."""
        rng = np.random.default_rng(self.seed)
        own = self.goal.weights
        if self.guarantee.m == 1 and not strictly(self.guarantee):
            # Single labels: what is safe depends little on what else is published, so two ways to walk are enough.
            plain = Order(tuple(own.tolist()), let_out=self.sibling)
            tried = self.walk_all([plain, replace(plain, split=not self.sibling)])
            found = self._released(min(tried, key=lambda item: item[0])[1])
            assert found is not None, "no relation is ended for single labels"
            return found
        # What a round does depends on those before it alone: a larger effort does all that a smaller one does.
        first, walked = self._round(rng, [])
        best, number = first, 1
        self.share = min(self.effort.factor, 1.0)
        self.stops_at = self.until
        while number < self.effort.rounds and time.monotonic() < self.until:
            best, walked = self._round(rng, [walked], best)
            number += 1
        self.stops_at = math.inf
        self.gained = first.cost - best.cost
        return best

    def _round(
        self, rng: np.random.Generator, tried: list[tuple[float, WalkResult]], known: Draft | None = None
    ) -> tuple[Draft, tuple[float, WalkResult]]:
        """Return the best release of a round of walks, or the one that is known, and the best walk.

        It begins from class weights at random, and with the best walk of earlier rounds.
        """
        own, count = self.goal.weights, self._times(_SPLITS)
        orders = [Order(random_weights(rng, own), let_out=False) for _ in range(count - (not tried))]
        tried = tried + self.walk_all(orders if tried else [Order(tuple(own.tolist()), let_out=False), *orders])
        for orders in self._refinements(rng, own, tried):
            tried += self.walk_all(orders)
        if self.sibling:
            tried += self._last_walks(tried)
        best = self._best_of(tried, known)
        if best is None:
            best = self._of_fewer_classes(min(tried, key=lambda item: item[0])[1])
        usual = [item for item in tried if not item[1].order.price and not item[1].order.again]
        return best, min(usual, key=lambda item: item[0])

    def _best_of(self, tried: list[tuple[float, WalkResult]], best: Draft | None) -> Draft | None:
        """Return the best release of walks, or the one that is known; None if there is none."""
        seen: set[bytes] = set()
        for cost, walked in sorted(tried, key=lambda item: item[0]):
            # Only a walk that ended relations may cost more than it thinks.
            if best is not None and best.cost <= cost:
                break
            # Many walks end in the same place, where they cost the same but for rounding.
            where = walked.published.tobytes()
            if not walked.price and where in seen:
                continue
            if not walked.price:
                seen.add(where)
            found = self._released(walked)
            if found is not None and (best is None or found.cost < best.cost):
                best = found
        return best

    def _of_fewer_classes(self, walked: WalkResult) -> Draft:
        """Return a walk's release without classes whose nodes stand out of place, of `*` alone if that is not enough.

        Where upper nodes are missing in the input, what stands at the top can point to somebody and cannot be left out.
        """
        own = self.forest.classes.class_of
        stray = unique_values(own[self.forest.label[Places(self.forest).traces()[1]]])
        for index in stray[::-1].tolist():
            root = self.forest.classes.first[index]
            walked = replace(
                walked,
                cut=tuple(label for label in walked.cut if own[label] != index),
                published=np.where(own[walked.indexed.labels] == index, -1, walked.published).astype(np.int32),
                refused_roots=tuple(sorted({*walked.refused_roots, int(root)})),
            )
            found = self._released(walked) if any(own[label] >= 0 for label in walked.cut) else None
            if found is not None:
                return found
        return self._all_one()

    def _last_walks(self, tried: list[tuple[float, WalkResult]]) -> list[tuple[float, WalkResult]]:
        """Walks that end relations, and one that tries again what was refused."""
        walked_by = {walked.order for _, walked in tried}
        dearer = self._dearer(tried)
        orders = [order for order in dearer if order not in walked_by]
        if (self.guarantee.n > 1 and not self.large) or strictly(self.guarantee):
            walked = min(tried, key=lambda item: item[0])[1]
            orders.append(replace(walked.order, let_out=True, again=True))
        found = self.walk_all(orders)
        if self.ending.how == "leave-out" and self.forest.nodes <= _USUAL_NODES:
            for order in dearer:
                found += self._single_labels(order, min(cost for cost, _ in tried))
        return found

    def _single_labels(self, order: Order, usual: float) -> list[tuple[float, WalkResult]]:
        """Walks that end relations for one label each, and for all of those for which that pays together.

        What is left out makes other combinations rare, which no walk knows of: so each label is judged by its release.
        """
        labels = order.dear
        if self.guarantee.m < 3:
            # Up to the label all these walks are one, which tells for which labels any relation would be ended.
            asked = self.walk_all([replace(order, asks=True)])
            labels = frozenset[int]().union(*(walked.buys for _, walked in asked))
        alone = self.walk_all([replace(order, dear=frozenset((label,))) for label in sorted(labels)])
        worth = [walked for cost, walked in alone if walked.price and cost < usual]
        with ThreadPoolExecutor(self.jobs) as pool:
            releases = list(pool.map(self._released, worth))
        paying = [
            (found.cost, walked)
            for found, walked in zip(releases, worth, strict=True)
            if found is not None and found.cost < usual
        ]
        union = frozenset[int]().union(*(walked.order.dear for _, walked in paying))
        return paying + (self.walk_all([replace(order, dear=union)]) if len(paying) > 1 else [])

    def _refinements(
        self, rng: np.random.Generator, own: np.ndarray, tried: list[tuple[float, WalkResult]]
    ) -> Iterator[list[Order]]:
        """Return batches of further walks: from the best so far on, value by value, and near the best weights."""
        count, near = self._finer, self._times(_NEAR)
        alike = len({walked.published.tobytes() for _, walked in tried if not walked.order.let_out}) == 1
        orders = [walked.order for walked in different_walks(tried)[:count]]
        if self.sibling:
            finer, apart = ([replace(order, split=split, let_out=True) for order in orders] for split in (True, False))
            # The second batch learns from the first, but a batch of one would leave cores idle.
            yield from [finer + apart] if self.large else [finer, apart]
        top = min(tried, key=lambda item: item[0])[1].order
        around = [replace(top, weights=near_weights(rng, top.weights)) for _ in range(near)]
        if self.large and top.split and top.let_out:
            # A walk value by value takes long there, by whole sets of siblings does not.
            yield [replace(order, let_out=False) for order in around]
            around = _to_new_places(around, tried)
            # Few are left, and cores idle: so what would come after them from the best so far goes beside them.
            yield [*around, *self._dearer(tried)]
            return
        elif self.large and alike:
            # Where no start led elsewhere, nor the first ones near the best, the others hardly would.
            yield around[:_FIRST_NEAR]
            if len({walked.published.tobytes() for _, walked in tried[-_FIRST_NEAR:]} | {_best_place(tried)}) == 1:
                return
            around = around[_FIRST_NEAR:]
        yield around
        for _ in range(self._rounds):
            top = min(tried, key=lambda item: item[0])[1].order
            seeds = rng.integers(1, 2**31, self._times(_NOISY)).tolist()
            yield [replace(top, noise=(*top.noise, seed)) for seed in seeds]

    def walk_all(self, orders: list[Order], start: list[int] | None = None) -> list[tuple[float, WalkResult]]:
        """Return where walks by these orders end, and what that costs."""

        def one(order: Order) -> tuple[float, WalkResult] | None:
            if time.monotonic() > self.stops_at:
                return None
            state = self._workshops.get()
            try:
                priced = self.guarantee.m > 1 and self.goal.of_step is not None
                walked = Walk(state, self.tree, order, priced=priced).run(start)
            finally:
                self._workshops.put(state)
            self.walks += 1
            if self.progress is not None:
                self.progress(self.walks, self._planned())
            return self.goal.of_walk(walked), walked

        orders = list(dict.fromkeys(orders))
        with ThreadPoolExecutor(self.jobs) as pool:
            ended = [item for item in pool.map(one, orders) if item is not None]
        self.refused_sets.add(lesson for _, walked in ended for lesson in walked.learned)
        return ended

    def _dearer(self, tried: list[tuple[float, WalkResult]]) -> list[Order]:
        """Return orders that end relations for refused labels of the best walks, if these judge that to be worth it."""
        if not self.guarantee.n or self.guarantee.m < 2 or strictly(self.guarantee) or self.ending.how == "none":
            return []
        most, count = self._finer, self._times(_DEAR)
        orders = []
        usual = [item for item in tried if item[1].order.let_out and not item[1].order.price]
        for walked in different_walks(usual)[:most]:
            refused = sorted(walked.refused, key=lambda item: -item[0])[:count]
            dear = frozenset(label for _, label in refused)
            unit = _PRICE * self.goal.relations_per_gain(walked, with_nodes=self.ending.how == "leave-out")
            if dear:
                orders.append(replace(walked.order, again=False, price=unit, dear=dear))
        return orders

    def _released(self, walked: WalkResult, given: Sequence[LabelPair] = (), *, rare: bool = False) -> Draft | None:
        """Return the release of a walk, given and rare relations ended; None if that fails.

        `rare` says that relations may be rare although the walk ended none.
        """
        if 0 in walked.refused_roots:
            return self._all_one()
        label = self.forest.classes.label
        pairs = [(label(*upper), label(*lower)) for upper, lower in given]
        projected = self.forest.without(walked.withheld(self.forest)).relabel(walked.published_as)
        ended = self.ending.end(projected, pairs, rare=bool(walked.price or given or rare))
        if ended is None:
            return None
        return Draft(self.goal.of_release(ended.forest), walked, ended.forest, ended.disassociated, ended.left_out)

    def untouched(self) -> Draft:
        """Return the release of everything as it is, for whom nobody need be hidden (k = 1)."""
        classes = self.forest.classes
        names = [classes.names[i] for i in roles_of(self.forest, self.guarantee).known]
        leaves = {name: classes.hierarchies[classes.index(name)].leaf_nodes.tolist() for name in names}
        cut = {name: tuple(classes.texts[classes.root(name) + leaf] for leaf in leaves[name]) for name in names}
        return Draft(self.goal.of_release(self.forest), None, self.forest, given=cut)

    def _all_one(self) -> Draft:
        """Return the release that says of every person no more than that there is something: the cut {*}."""
        forest = self.forest.project(STAR)
        if 0 < forest.nodes < self.guarantee.k:
            raise GuaranteeError(f"only {forest.nodes} records have any value, fewer than k = {self.guarantee.k}")
        return Draft(self.goal.of_release(forest), None, forest, given={STAR: (STAR,)})

    def taken_over(self, given: Solution) -> Draft | None:
        """Return the release by another search's solution, relations ended as here; None if that fails."""
        assert given.cut is not None
        if STAR in given.cut:
            return self._all_one()
        label = self.forest.classes.label
        pairs = [(label(*upper), label(*lower)) for upper, lower in given.disassociated]
        ended = self.ending.end(self.forest.project(given.cut), pairs, rare=True)
        if ended is None:
            return None
        cost = self.goal.of_release(ended.forest)
        return Draft(cost, None, ended.forest, ended.disassociated, ended.left_out, given=given.cut)

    def carry_on(self, start: Solution) -> Draft:
        """Return the best release that refines the cut of a solution, whose relations stay ended."""
        found = self.carried_on(start)
        if found is None:
            raise GuaranteeError("the solution to carry on from does not hold for these data")
        return found

    def carried_on(self, start: Solution) -> Draft | None:
        """Return the same; None where what was moved cannot be made safe."""
        if start.cut is None:
            raise UsageError("a local recoding has no cut to be carried on from")
        if STAR in start.cut:
            return self.best()
        classes = self.forest.classes
        roles = roles_of(self.forest, self.guarantee)
        names = [classes.names[i] for i in roles.known if classes.names[i] not in start.withheld]
        cut = [classes.label(name, text) for name in names for text in start.cut[name]]
        mapping = self.forest.cut_map({name: start.cut[name] for name in names})
        # Walks of a run of its own see the values where the given pairs have moved them.
        moved = copy(self)
        # A given cut may publish what is rare here: the walks see all labels.
        trees = self.forest.disassociate(start.disassociated, seen_as=mapping)
        moved._index(trees, IndexedForest.of(trees, self.guarantee, condensed=False))
        rng = np.random.default_rng(self.seed)
        own = self.goal.weights
        orders = [tuple(own.tolist()), *(random_weights(rng, own) for _ in range(self._times(_SPLITS)))]
        tried = moved.walk_all([Order(weights, let_out=self.sibling) for weights in orders], sorted(cut))
        self.walks = moved.walks
        walked = min(tried, key=lambda item: item[0])[1]
        given = finer_pairs(self.forest, mapping, walked.mapping, start.disassociated)
        # Where the solution leaves nodes out, its cut alone does not hold.
        return self._released(walked, given, rare=bool(start.left_out))


def _best_place(tried: list[tuple[float, WalkResult]]) -> bytes:
    """Return where the best of some walks ended."""
    return min(tried, key=lambda item: item[0])[1].published.tobytes()


def _to_new_places(orders: list[Order], tried: list[tuple[float, WalkResult]]) -> list[Order]:
    """Return the orders that lead to other sets of siblings than those from which walks have gone on value by value.

    From the same sets they would hardly end elsewhere; from new ones the first order goes on.
    """
    sets = {walked.order.weights: walked.published.tobytes() for _, walked in tried if not walked.order.let_out}
    seen = {sets.get(walked.order.weights) for _, walked in tried if walked.order.let_out and walked.order.split}
    first: dict[bytes | None, Order] = {}
    for order in orders:
        first.setdefault(sets.get(order.weights), order)
    return [order for place, order in first.items() if place not in seen]


def finer_pairs(forest: Forest, before: Ints, after: Ints, pairs: Sequence[LabelPair]) -> tuple[LabelPair, ...]:
    """Return pairs of labels of a cut, in the labels of a finer one."""
    classes = forest.classes
    parts: dict[int, set[int]] = {}
    for label in unique_values(forest.label).tolist():
        if after[label] >= 0:
            parts.setdefault(int(before[label]), set()).add(int(after[label]))
    out: list[LabelPair] = []
    for pair in pairs:
        uppers, lowers = (sorted(parts.get(classes.label(*label), ())) for label in pair)
        out += [(classes.decode(upper), classes.decode(lower)) for upper in uppers for lower in lowers]
    return tuple(out)
