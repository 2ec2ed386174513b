"""The published labels while a search walks: their supports and relations, and what letting one more value out breaks.

The values of a class are parted among the published labels: each value belongs to its nearest published ancestor. A
search lets hierarchy nodes out one by one. Only combinations that touch the new label, or what is left of the label it
came from, change their support; only these are counted (step.py).
"""

from __future__ import annotations

import numpy as np

from treeanon.algorithms.tree.default.label_step import Step
from treeanon.algorithms.tree.default.pair_support import MOST_LABELS, Rare
from treeanon.algorithms.tree.default.shared_state import RefusedSet, WalkState
from treeanon.arrays import Ints, Longs, unique_values
from treeanon.kernels.tree.label_splits import is_rare_beside
from treeanon.kernels.tree.record_sets import rare_with
from treeanon.kernels.tree.walk import FREE, RELATIONS, SLOTS, Published

_FEW_NODES = 200
"""Of labels with so many nodes the records are looked at once before anything is counted, where no tables are."""

_NO_NUMBERS = np.zeros(0, np.int32), np.zeros(0, np.int64)


class PublishedLabels:
    """The published labels and the supports of their combinations, for one walk of a search."""

    def __init__(self, state: WalkState, *, certain: bool = False) -> None:
        self.state, self.certain = state, certain
        self.learned: list[RefusedSet] = []
        self.indexed, self.pair_supports, self.sets = state.indexed, state.pair_supports, state.sets
        guarantee = state.guarantee
        self.k, self.m, self.n = guarantee.k, guarantee.m, guarantee.n if guarantee.m > 1 else 0
        self.most_slots = MOST_LABELS if self.m > 1 or state.strict is not None else len(self.indexed.above)
        self.slot = np.full(len(self.indexed.above), -1, np.int32)
        room = 64
        self.tally = np.zeros(8, np.int64)
        """Numbers that the walk's kernel changes, too."""
        self.node, self.free = np.full(room, -1, np.int32), np.zeros(room, np.int32)
        self.held = np.zeros(room, np.int64)
        self.shared = np.zeros((room, room), np.int32)
        self.related = np.zeros((room, room, self.indexed.kinds), np.int32)
        self.label_set = np.full(room, -1, np.int32)
        self.relation_set = np.full((room, room, self.indexed.kinds), -1, np.int32)
        self.is_published = np.zeros(len(self.indexed.above), bool)
        self.is_plain = np.zeros(len(self.indexed.above), bool)
        self.there = np.zeros(0 if self.pair_supports is None else len(self.pair_supports.shared), bool)
        """Which of the labels that the pair_supports speak of are published."""
        self.rare: Rare | None = None
        self.blaming = False
        """Whether `rare` must be said also where pair_supports alone decide."""
        self.price = 0
        self.strict = state.strict

    @property
    def slots(self) -> int:
        """How many slots there are, those given up among them."""
        return int(self.tally[SLOTS])

    @property
    def used(self) -> int:
        """How many slots are in use."""
        return int(self.tally[SLOTS] - self.tally[FREE])

    @property
    def relations_total(self) -> int:
        """The different relations of published labels, summed over the records; ended ones are not counted."""
        return int(self.tally[RELATIONS])

    @relations_total.setter
    def relations_total(self, total: int) -> None:
        self.tally[RELATIONS] = total

    @property
    def apart(self) -> bool:
        """Whether relations were ended."""
        return self.price > 0

    @property
    def arrays(self) -> Published:
        """The arrays, as the walk's kernel takes them."""
        tables = self.held, self.shared, self.related
        return self.slot, self.node, self.free, *tables, self.is_published, self.is_plain, self.there

    def close(self) -> None:
        """Give back the record sets; nothing else may be asked of it afterwards."""
        if not self.deep:
            return
        for slot in np.flatnonzero(self.node >= 0).tolist():
            self.forget(slot)

    @property
    def deep(self) -> bool:
        """Whether the records of combinations matter, not only numbers: for more than two labels."""
        return self.m > 2 or self.strict is not None

    def mapping(self) -> Ints:
        """Return for every label the label it is published as; -1 where nothing is."""
        published: Ints = np.append(self.node, np.int32(-1))[self.slot]
        return published

    def published_supports(self) -> Longs:
        """Return for every label the records that publish it."""
        out = np.zeros(len(self.slot), np.int64)
        there = np.flatnonzero(self.node >= 0)
        out[self.node[there]] = self.held[there]
        return out

    def let_out(self, label: int, price: int = 0) -> bool:
        """Return whether `label` can be published beside what is; if so it is from now on.

        Nothing below it may be published yet. What is left of the label that its values were published as must be
        safe too. Relations that stand in the way may be ended, if no more than `price` records hold one; then the
        published trees have to be disassociated and checked anew, as that moves what hangs below.
        """
        self.rare = None
        if self.indexed.held[label] < self.k or self.used >= self.most_slots:
            return False
        if self._is_rare_beside(label):
            return False
        # Many walks come by the same place, where counting again would find the same. Not those that end relations, ask
        # whom to blame, or try again what others were refused for what they had learned.
        alone = price or self.price or self.blaming or self.certain
        rest = int(self.slot[label])
        if not (self._try(label, rest, price) if alone else self._try_once(label, rest)):
            return False
        if rest >= 0 and self.node[rest] >= 0:
            self.is_plain[self.node[rest]] = False
        return True

    def _is_rare_beside(self, label: int) -> bool:
        """Return whether a label of few nodes is too rare beside one that is published; false if tables tell that."""
        indexed, end = self.indexed, int(self.indexed.end[label])
        few = indexed.starts[end] - indexed.starts[label] <= _FEW_NODES
        if self.pair_supports is not None or self.m < 2 or self.blaming or not few:
            return False
        nodes = indexed.offsets, indexed.label, indexed.holders, indexed.starts
        return is_rare_beside(*nodes, self.slot, self.slots, label, end, self.k)

    def _try(self, label: int, rest: int, price: int) -> bool:
        """Return whether a label can be published at a price, and publish it if so."""
        tried = self.state.tried
        place = tried.place(label, self.is_published, self.is_plain)
        # What was counted does not depend on what has ended since; what is safe does.
        told = None if self.deep else tried.counted(place)
        return Step(self, label, rest, price=price, told=told).try_out()

    def _try_once(self, label: int, rest: int) -> bool:
        """Return the same at no price, as a walk found that has tried it here before."""
        tried = self.state.tried
        place = tried.place(label, self.is_published, self.is_plain)
        if tried.is_refused(place):
            return False
        step, counted = Step(self, label, rest), tried.counted(place)
        if counted is not None:
            step.repeat(counted)
            return True
        if not step.try_out():
            tried.refuse(place)
            return False
        if not self.deep:
            tried.publish(place, step.counted)
        return True

    def could_let_out(self, label: int, price: int) -> bool:
        """Return whether `label` could be published at a price; it is not. For two labels at most."""
        if self.indexed.held[label] < self.k or self.used >= self.most_slots:
            return False
        return Step(self, label, int(self.slot[label]), price=price).try_out(stays=False)

    def place(self, label: int) -> None:
        """Publish a label of which nothing above or below is published, safe or not."""
        Step(self, label, -1).try_out(checked=False)

    def place_own(self, label: int) -> None:
        """Publish the values that are just this label, whatever is published below it."""
        Step(self, label, -1, only_own=True).try_out(checked=False)

    def split(self, label: int, children: list[int]) -> bool:
        """Return whether a published label can be replaced by these children (that hold values); if so it is.

        Values of the label itself, if there are any, stay published as it.
        """
        whole = int(self.slot[label])
        stop = self.indexed.end[label]
        own = self.indexed.starts[label + 1] > self.indexed.starts[label]
        parts = [*children, label] if own else children
        self.rare = None
        if any(self.indexed.held[child] < self.k for child in children):
            return False
        if self.used + len(parts) > self.most_slots:
            return False
        assert self.is_plain[label], "a label is split before anything is let out of it"
        self.slot[label:stop] = -1
        self._hide(whole)
        done: list[Step] = []
        for part in parts:
            step = Step(self, part, -1, only_own=part == label)
            if not step.try_out():
                rare = self.rare
                for earlier in reversed(done):
                    earlier.undo()
                self.slot[label:stop] = whole
                self.node[whole] = label
                self._show(label)
                self.rare = rare
                return False
            done.append(step)
        self.forget(whole)
        if own:
            self._show(label, plain=False)
        return True

    def _hide(self, slot: int) -> None:
        node = self.node[slot]
        self.is_published[node] = self.is_plain[node] = False
        if self.pair_supports is not None and self.pair_supports.number[node] >= 0:
            self.there[self.pair_supports.number[node]] = False
        self.node[slot] = -1

    def rare_sets(self, slot: int, others: Ints, most: int = 1, *, rest: int | None = None) -> list[Rare]:
        """Return combinations of 3 to m labels that too few records hold, at most so many: a slot and some of the
        others.

        What is known to be safe of plain hierarchy nodes is not counted again if `rest` says which slot, if any (-1),
        is none any more though it still passes for one.
        """
        others = others[np.argsort(self.shared[slot, others], kind="stable")]
        sets, out = self.sets, np.zeros(most * (2 + self.m + 3 * self.n), np.int32)
        facts = self.pair_supports
        if facts is None or rest is None or self.apart:
            numbers, remembered = _NO_NUMBERS
        else:
            nodes, remembered = self.node[: self.slots], facts.remembered
            numbers = np.where((nodes >= 0) & self.is_plain[nodes], facts.number[nodes], np.int32(-1))
            if rest >= 0:
                numbers[rest] = -1
        count = rare_with(
            slot, others, self.shared, self.related, self.label_set, self.relation_set, sets.kind, sets.at, sets.size,
            sets.rows, sets.lists, self.m, self.n, self.k, most, out, numbers, remembered,
        )  # fmt: skip
        found, at = [], 0
        plain = out.tolist()
        for _ in range(count):
            labels, relations = plain[at : at + 2]
            ends = at + 2 + labels
            stop = ends + 3 * relations
            related = zip(plain[ends:stop:3], plain[ends + 1 : stop : 3], plain[ends + 2 : stop : 3], strict=True)
            found.append(Rare(tuple(plain[at + 2 : ends]), tuple(related)))
            at = stop
        return found

    def learn(self, rare: Rare) -> None:
        """Note a rare combination for later walks if it is one of plain hierarchy nodes."""
        self.rare = rare
        nodes = self.node[list(rare.labels)]
        if self.is_plain[nodes].all():
            self.learned.append((tuple(sorted(nodes.tolist())), len(rare.relations) < 2))

    def holders(self, rare: Rare, label: int) -> Ints:
        """Return the records that held the labels of a rare combination when `label` was refused (their relations
        aside).
        """
        indexed = self.indexed
        under = np.arange(len(self.slot))
        own = (under >= label) & (under < indexed.end[label])
        records: Ints | None = None
        for slot in rare.labels:
            refused = slot < 0 or self.node[slot] < 0
            chosen = own if refused else (self.slot == slot) & ~own
            nodes = np.flatnonzero(chosen[indexed.label])
            found = unique_values(np.searchsorted(indexed.offsets, nodes, "right").astype(np.int32) - np.int32(1))
            records = found if records is None else np.intersect1d(records, found, assume_unique=True)
        return np.zeros(0, np.int32) if records is None else records

    # --- slots ---------------------------------------------------------------------------------------------------

    def new_slot(self, label: int) -> int:
        """Return a slot for a label that is published now."""
        if self.tally[FREE]:
            self.tally[FREE] -= 1
            slot = int(self.free[self.tally[FREE]])
        else:
            slot = self.slots
            self.tally[SLOTS] += 1
            if slot == len(self.held):
                self._grow()
        self.node[slot] = label
        self._show(label)
        return slot

    def _show(self, label: int, *, plain: bool = True) -> None:
        self.is_published[label], self.is_plain[label] = True, plain
        if self.pair_supports is not None and self.pair_supports.number[label] >= 0:
            self.there[self.pair_supports.number[label]] = True

    def conflicts(self, label: int, *, relations: bool) -> bool:
        """Return whether supports of pairs alone rule the label out beside what is published; relations may be passed
        over.
        """
        if self.pair_supports is None:
            return False
        conflict = self.pair_supports.conflict if relations else self.pair_supports.label_conflict
        refused_sets = self.state.refused_sets
        if relations and (nodes := refused_sets.against(label, self.is_published, certain=self.certain)):
            if self.blaming:
                self.rare = Rare(tuple(-1 if node == label else self.slot_of(node) for node in nodes))
            return True
        # What the label is now published as is above it, so it holds k records of it: no conflict.
        row = conflict[self.pair_supports.number[label]]
        if not (row & self.there).any():
            return False
        if self.blaming:
            other = int(np.flatnonzero(self.pair_supports.number == int((row & self.there).argmax()))[0])
            self.rare = Rare((-1, self.slot_of(other)))
        return True

    def slot_of(self, node: int) -> int:
        """Return the slot of a published node."""
        return int(np.flatnonzero(self.node == node)[0])

    def forget(self, slot: int) -> None:
        """Give a slot up, and all that is known of it."""
        if self.node[slot] >= 0:
            self._hide(slot)
        self.free[self.tally[FREE]] = slot
        self.tally[FREE] += 1
        self.held[slot] = 0
        if self.m > 1:
            self.relations_total -= int(self.related[slot].sum(dtype=np.int64))
            self.shared[slot], self.shared[:, slot] = 0, 0
            self.related[slot], self.related[:, slot] = 0, 0
        if self.deep:
            used = self.relation_set[slot]
            for number in [*used[used >= 0].tolist(), int(self.label_set[slot])]:
                if number >= 0:
                    self.sets.drop(number)
            self.label_set[slot] = -1
            self.relation_set[slot], self.relation_set[:, slot] = -1, -1

    def _grow(self) -> None:
        room = 2 * len(self.held)

        def larger(table: np.ndarray, fill: int) -> np.ndarray:
            out = np.full((*(room for _ in table.shape[:2]), *table.shape[2:]), fill, table.dtype)
            out[tuple(slice(0, size) for size in table.shape)] = table
            return out

        self.node, self.free, self.held = larger(self.node, -1), larger(self.free, 0), larger(self.held, 0)
        if self.m > 1:
            self.shared, self.related = larger(self.shared, 0), larger(self.related, 0)
        if self.deep:
            self.label_set, self.relation_set = larger(self.label_set, -1), larger(self.relation_set, -1)
