"""A walk of the default search, label by label, and what a label shares: slow twins of compiled loops."""

from __future__ import annotations

import heapq
import math

import numpy as np

from treeanon.algorithms.tree.default.greedy_walk import Order, Tree
from treeanon.algorithms.tree.default.published_labels import PublishedLabels
from treeanon.algorithms.tree.default.shared_state import WalkState
from treeanon.arrays import Floats, Ints
from treeanon.forest import Forest


class SlowWalk:
    """Every label is tried on what is published, by the heap of the standard library."""

    def __init__(self, state: WalkState, tree: Tree, order: Order, loss: Floats) -> None:
        self.tree, self.order, self.loss = tree, order, loss[tree.indexed.labels]
        self.published = PublishedLabels(state, certain=order.again)
        self.refused: list[int] = []

    def run(self) -> Ints:
        """Return what every label of the index is published as (-1: nothing)."""
        tree, held = self.tree, self.tree.indexed.held
        weight = np.array(self.order.weights)[tree.class_of]
        for root in sorted(tree.roots, key=lambda root: (-weight[root] * held[root], root)):
            self.published.let_out(root)
        if self.order.split:
            self._go(splitting=True)
        if self.order.let_out:
            failed = self._go(splitting=False)
            if self.order.again:
                self._again([root for root in tree.roots if not self._is_published_below(root)] + failed)
        return self.published.mapping()

    def _go(self, *, splitting: bool) -> list[int]:
        tree, published = self.tree, self.published
        waiting: list[tuple[float, int]] = []

        def offer(label: int) -> None:
            if splitting:
                if not tree.arrays[4][label]:
                    return
                gain = sum(self._gain(child, label) for child in tree.children(label))
            elif published.slot[label] < 0:
                return
            else:
                gain = self._gain(label, published.node[published.slot[label]])
            urgency = gain * self.order.weights[tree.class_of[label]] if gain > 0 else math.inf
            heapq.heappush(waiting, (-urgency, label))

        begin = [node for node in published.node.tolist() if node >= 0]
        for label in begin:
            if splitting:
                offer(label)
            for child in [] if splitting else tree.children(label):
                if published.slot[child] >= 0 and published.node[published.slot[child]] == label:
                    offer(child)
        failed = []
        while waiting:
            _, label = heapq.heappop(waiting)
            safe = published.split(label, tree.children(label)) if splitting else published.let_out(label)
            if not safe:
                failed.append(label)
            for child in tree.children(label) if safe or not splitting else []:
                offer(child)
        return failed

    def _gain(self, label: int, general: int) -> float:
        return float(self.tree.indexed.held[label] * (self.loss[general] - self.loss[label]))

    def _is_published_below(self, label: int) -> bool:
        return bool(self.published.slot[label] >= 0) or any(
            self.published.is_published[label : self.tree.indexed.end[label]]
        )

    def _again(self, failed: list[int]) -> None:
        tried: list[int] = []
        while len(failed) != len(tried):
            tried, failed = failed, []
            for label in tried:
                inside = self.published.is_published[label : self.tree.indexed.end[label]]
                if any(inside) or not self.published.let_out(label):
                    failed.append(label)


def shares(
    forest: Forest, slot: list[int], slots: int, records: list[int], part: int, rest: int
) -> tuple[list[list[int]], list[int]]:
    """Return by slot what `count_part` counts, and the records that lose the label of `rest`."""
    out = [[0] * slots for _ in range(5)]
    gone = []
    for r in records:
        first, last = int(forest.offsets[r]), int(forest.offsets[r + 1])
        own = [slot[x] for x in forest.label[first:last].tolist()]
        parent = forest.parent[first:last].tolist()
        related = set()
        for i in range(len(own)):
            up = parent[i]
            while up >= 0:
                related |= {(own[i], own[up]), (own[up], own[i])}
                up = parent[up]
        held = set(own) - {-1}
        lost = {y for y in held - {part, rest} if rest >= 0 and (part, y) in related and (rest, y) not in related}
        leaves = rest >= 0 and rest not in held
        gone += [r] * leaves
        for y in held:
            out[4][y] += bool(lost) or leaves
            if y != part:
                out[0][y] += 1
                out[1][y] += (part, y) in related
                out[2][y] += leaves and y != rest
                out[3][y] += y in lost
    return out, gone
