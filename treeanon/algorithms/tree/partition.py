"""The published labels while a search walks: their supports and relations, and what letting one more value out breaks.

The values of a class are parted among the published labels: each value belongs to its nearest published ancestor. A
search lets hierarchy nodes out one by one. Only combinations that touch the new label, or what is left of the label it
came from, change their support; only these are counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from treeanon.algorithms.tree.record_sets import LastingSets, RecordSets
from treeanon.forest import Forest
from treeanon.kernels.parts import count_part, fill_pairs, fill_part, pair_supports, supports
from treeanon.kernels.rare_sets import Table, rare_with
from treeanon.kernels.record_sets import Words, distinct_records
from treeanon.kernels.trees import Flags, Ints, Longs
from treeanon.privacy import Guarantee
from treeanon.privacy.guarantee import roles_of

MOST_SLOTS = 4096
"""The most labels that are published when pairs of them matter: two tables of their pairs are held per walk."""


_MANY = 1000
"""So many rare combinations are looked at to find the relations to blame."""

MOST_BYTES = 1 << 30
"""The memory for record sets that all walks share."""


@dataclass(frozen=True)
class Indexed:
    """A forest of the known classes, with the places of every value: shared by all walks, never changed."""

    offsets: Longs
    parent: Ints
    label: Ints
    record: Ints
    order: Longs
    starts: Longs
    above: Ints
    end: Ints
    held: Ints
    nodes: Longs

    @classmethod
    def of(cls, forest: Forest, guarantee: Guarantee) -> Indexed:
        """The index of a forest; nodes of classes that an attacker is not taken to know are passed over."""
        return cls._of(forest, guarantee, generalize=True)

    @classmethod
    def as_is(cls, forest: Forest, guarantee: Guarantee) -> Indexed:
        """The index of a forest whose labels are taken as they are, with nothing above or below them."""
        return cls._of(forest, guarantee, generalize=False)

    @classmethod
    def _of(cls, forest: Forest, guarantee: Guarantee, *, generalize: bool) -> Indexed:
        known = roles_of(forest, guarantee).known
        forest = forest.without([name for i, name in enumerate(forest.classes.names) if i not in known])
        above, end = label_tree(forest)
        if not generalize:
            above, end = np.full_like(above, -1), np.arange(1, len(above) + 1, dtype=np.int32)
        held, nodes = supports(forest.offsets, forest.label, above)
        record = np.repeat(np.arange(len(forest), dtype=np.int32), np.diff(forest.offsets))
        order = np.argsort(forest.label, kind="stable")
        starts = np.searchsorted(forest.label[order], np.arange(len(above) + 1))
        return cls(forest.offsets, forest.parent, forest.label, record, order, starts, above, end, held, nodes)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def records_of(self, label: int, marks: Words) -> Ints:
        """The records that hold a label or something below it, ascending."""
        nodes = self.order[self.starts[label] : self.starts[self.end[label]]]
        return distinct_records(self.record[nodes], marks)


def label_tree(forest: Forest) -> tuple[Ints, Ints]:
    """For every label its parent in the hierarchy (-1: a class root, or `*`) and the end of its subtree."""
    above, end = np.full(len(forest.classes), -1, np.int32), np.arange(1, len(forest.classes) + 1, dtype=np.int32)
    for first, hierarchy in zip(forest.classes.first, forest.classes.hierarchies, strict=False):
        codes = slice(first, first + len(hierarchy))
        above[codes] = np.where(hierarchy.parent < 0, -1, hierarchy.parent + first)
        end[codes] = hierarchy.end + first
    return above, end


class Facts:
    """What holds of hierarchy nodes whatever else is published: which records hold two of them, or their relation.

    A walk need not look at the data for labels from which nothing was let out. Two nodes that fewer than k records
    hold together can never both be published: where they are parted further, the parts are rarer still.
    """

    def __init__(self, indexed: Indexed, guarantee: Guarantee, jobs: int = 1, *, deep: bool = False) -> None:
        """Counted by so many threads; the record sets are made too if the check goes `deep`."""
        frequent = np.flatnonzero(indexed.held >= guarantee.k)
        self.number = np.full(len(indexed.above), -1, np.int32)
        self.number[frequent] = np.arange(len(frequent), dtype=np.int32)
        trees = indexed.offsets, indexed.parent, indexed.label, indexed.above, self.number
        bounds = [len(indexed) * i // jobs & ~63 for i in range(jobs)] + [len(indexed)]
        with ThreadPoolExecutor(jobs) as pool:
            parts = list(
                pool.map(lambda i: pair_supports(*trees, len(frequent), True, bounds[i], bounds[i + 1]), range(jobs))
            )
            self.shared: Table = np.sum([shared for shared, _ in parts], axis=0, dtype=np.int32)
            self.related: Table = np.sum([related for _, related in parts], axis=0, dtype=np.int32)
            self.label_conflict: Flags = (self.shared > 0) & (self.shared < guarantee.k)
            self.conflict = self.label_conflict
            if guarantee.n > 0:
                self.conflict = self.label_conflict | ((self.related > 0) & (self.related < guarantee.k))
            self.lasting: LastingSets | None = None
            self.set_of = np.full((len(frequent),) * 2 if deep else (0, 0), -1, np.int32)
            if deep:
                self._make_sets(trees, parts, bounds, pool, len(indexed), jobs)

    def _make_sets(
        self,
        trees: tuple[Longs, Ints, Ints, Ints, Ints],
        parts: list[tuple[Table, Table]],
        bounds: list[int],
        pool: ThreadPoolExecutor,
        records: int,
        jobs: int,
    ) -> None:
        """Makes the record sets of labels and of relations that can be published, as long as they fit in memory."""
        wanted = np.triu(self.related * ~self.conflict).astype(np.int64)
        np.fill_diagonal(wanted, self.shared.diagonal())
        if LastingSets.bytes_for(records, wanted[wanted > 0]) > MOST_BYTES:
            wanted *= np.eye(len(wanted), dtype=bool)
        rows, columns = np.nonzero(wanted)
        self.set_of[rows, columns] = self.set_of[columns, rows] = np.arange(len(rows), dtype=np.int32)
        sets = self.lasting = LastingSets(records, wanted[rows, columns], jobs)
        # Where each thread begins in a list: after what the threads before it will put there.
        begins, filled = [], np.zeros(len(rows), np.int64)
        for shared, related in parts:
            begins.append(filled.copy())
            filled += np.where(rows == columns, shared[rows, columns], related[rows, columns])
        arrays = self.set_of, sets.kind, sets.at, sets.rows, sets.lists
        list(pool.map(lambda i: fill_pairs(*trees, *arrays, begins[i], bounds[i], bounds[i + 1]), range(jobs)))

    @staticmethod
    def fit(indexed: Indexed, guarantee: Guarantee) -> bool:
        """Whether tables of all pairs of frequent labels are worth their memory."""
        return guarantee.m > 1 and int((indexed.held >= guarantee.k).sum()) <= MOST_SLOTS

    def record_set(self, a: int, b: int) -> int:
        """The number of the records where nodes a and b stand in a relation (a = b: that hold a); -1 if not made."""
        if not len(self.set_of):
            return -1
        return int(self.set_of[self.number[a], self.number[b]])


class Strict(Protocol):
    """A check beyond supports: joint attackers, l-diversity, negative knowledge."""

    def safe(self, partition: Partition, part: int, rest: int) -> bool:
        """Whether all combinations that hold slot `part`, or `rest` (-1: none), are as they must be."""


def blamed(partition: Partition, combinations: list[tuple[tuple[int, int], ...]]) -> list[tuple[int, int]] | None:
    """Relations of slots that together end all rare combinations; None if one has no relation.

    The relation that ends most of them per record that holds it comes first.
    """
    waiting = [[(min(pair), max(pair)) for pair in combination] for combination in combinations]
    if not all(waiting):
        return None
    chosen = []
    while waiting:
        hits = Counter(pair for combination in waiting for pair in combination)
        best = max(hits, key=lambda pair: (hits[pair] / int(partition.related[pair]), pair))
        chosen.append(best)
        waiting = [combination for combination in waiting if best not in combination]
    return chosen


Lesson = tuple[tuple[int, ...], bool]
"""Plain hierarchy nodes that are rare together; and whether they are whatever else is published.

With one relation at most they can never all be published. With several, two nodes that witness the relations of one
label may part when it does (SPEC's remark on n >= 2), so that a finer cut may be safe: hardly ever is it.
"""


class Lessons:
    """What earlier walks were refused. A walk reads only what was learned before it began, so that it ends the same way
    however many walks go on beside it."""

    def __init__(self) -> None:
        self._of: dict[int, list[Lesson]] = {}
        self._all: set[Lesson] = set()

    def add(self, lessons: Iterable[Lesson]) -> None:
        """Takes in what walks have learned."""
        new = sorted(set(lessons) - self._all)
        self._all.update(new)
        for lesson in new:
            for node in lesson[0]:
                self._of.setdefault(node, []).append(lesson)

    def against(self, label: int, is_published: Flags, *, certain: bool) -> tuple[int, ...] | None:
        """Published nodes that a lesson forbids beside the label, itself among them; only certain ones if asked."""
        for nodes, always in self._of.get(label, ()):
            if (always or not certain) and all(node == label or is_published[node] for node in nodes):
                return nodes
        return None


class Workshop:
    """What the walks of one thread share: the record sets, and those of plain hierarchy nodes once they are made."""

    def __init__(
        self,
        indexed: Indexed,
        guarantee: Guarantee,
        facts: Facts | None = None,
        strict: Strict | None = None,
        lessons: Lessons | None = None,
        bench: int = 0,
    ) -> None:
        self.indexed, self.guarantee, self.facts, self.strict = indexed, guarantee, facts, strict
        self.lessons = Lessons() if lessons is None else lessons
        self.sets = RecordSets(len(indexed), None if facts is None else facts.lasting, bench)
        self.marks = np.zeros((len(indexed) + 63) // 64, np.uint64)


@dataclass
class Rare:
    """Why a label cannot be let out: slots of labels that too few records hold together, and their relations.

    The label itself has slot -1 once it was refused.
    """

    labels: tuple[int, ...]
    relations: tuple[tuple[int, int], ...] = ()


class Partition:
    """The published labels and the supports of their combinations, for one walk of a search."""

    def __init__(self, workshop: Workshop, *, certain: bool = False) -> None:
        self.workshop, self.certain = workshop, certain
        self.learned: list[Lesson] = []
        self.indexed, self.facts, self.sets = workshop.indexed, workshop.facts, workshop.sets
        guarantee = workshop.guarantee
        self.k, self.m, self.n = guarantee.k, guarantee.m, guarantee.n if guarantee.m > 1 else 0
        self.most_slots = MOST_SLOTS if self.m > 1 else len(self.indexed.above)
        self.slot = np.full(len(self.indexed.above), -1, np.int32)
        self.node: list[int] = []
        self._free: list[int] = []
        room = 64
        self.held = np.zeros(room, np.int64)
        self.shared = np.zeros((room, room), np.int32)
        self.related = np.zeros((room, room), np.int32)
        self.label_set = np.full(room, -1, np.int32)
        self.relation_set = np.full((room, room), -1, np.int32)
        self.is_published = np.zeros(len(self.indexed.above), bool)
        self.is_plain = np.zeros(len(self.indexed.above), bool)
        self.rare: Rare | None = None
        self.price = 0
        self.relations_total = 0
        """The different relations of published labels, summed over the records; ended ones are not counted."""
        self.strict = workshop.strict

    @property
    def apart(self) -> bool:
        """Whether relations were ended."""
        return self.price > 0

    def close(self) -> None:
        """Gives back the record sets; nothing else may be asked of it afterwards."""
        for slot, node in enumerate(self.node):
            if node >= 0:
                self.forget(slot)

    @property
    def deep(self) -> bool:
        """Whether the records of combinations matter, not only numbers: for more than two labels."""
        return self.m > 2 or self.strict is not None

    def published(self) -> list[int]:
        """The labels that are published."""
        return [node for node in self.node if node >= 0]

    def mapping(self) -> Ints:
        """For every label the label it is published as; -1 where nothing is."""
        node = np.array([*self.node, -1], np.int32)
        return node[self.slot]

    def published_supports(self) -> Longs:
        """For every label the records that publish it."""
        out = np.zeros(len(self.slot), np.int64)
        for slot, node in enumerate(self.node):
            if node >= 0:
                out[node] = self.held[slot]
        return out

    def labels_held(self) -> tuple[Longs, Longs]:
        """The published labels, and how many records publish each."""
        nodes = np.array(self.node, np.int64)
        there = nodes >= 0
        return nodes[there], self.held[: len(nodes)][there]

    def let_out(self, label: int, price: int = 0) -> bool:
        """Whether `label` can be published beside what is; if so it is from now on.

        Nothing below it may be published yet. What is left of the label that its values were published as must be
        safe too. Relations that stand in the way may be ended, if no more than `price` records hold one; then the
        published trees have to be disassociated and checked anew, as that moves what hangs below.
        """
        self.rare = None
        if self.indexed.held[label] < self.k or len(self.node) - len(self._free) >= self.most_slots:
            return False
        rest = int(self.slot[label])
        if not _Step(self, label, rest, price=price).try_out():
            return False
        if rest >= 0 and self.node[rest] >= 0:
            self.is_plain[self.node[rest]] = False
        return True

    def place(self, label: int) -> None:
        """Publishes a label of which nothing above or below is published, safe or not."""
        _Step(self, label, -1).try_out(checked=False)

    def place_own(self, label: int) -> None:
        """Publishes the values that are just this label, whatever is published below it."""
        _Step(self, label, -1, only_own=True).try_out(checked=False)

    def split(self, label: int, children: list[int]) -> bool:
        """Whether a published label can be replaced by these children (that hold values); if so it is.

        Values of the label itself, if there are any, stay published as it.
        """
        whole = int(self.slot[label])
        stop = self.indexed.end[label]
        own = self.indexed.starts[label + 1] > self.indexed.starts[label]
        parts = [*children, label] if own else children
        self.rare = None
        if any(self.indexed.held[child] < self.k for child in children):
            return False
        if len(self.node) - len(self._free) + len(parts) > self.most_slots:
            return False
        assert self.is_plain[label], "a label is split before anything is let out of it"
        self.slot[label:stop] = -1
        self._hide(whole)
        done: list[_Step] = []
        for part in parts:
            step = _Step(self, part, -1, only_own=part == label)
            if not step.try_out():
                rare = self.rare
                for earlier in reversed(done):
                    earlier.undo()
                self.slot[label:stop] = whole
                self.node[whole] = label
                self.is_published[label] = self.is_plain[label] = True
                self.rare = rare
                return False
            done.append(step)
        self.forget(whole)
        if own:
            self.is_published[label] = True
        return True

    def _hide(self, slot: int) -> None:
        node = self.node[slot]
        self.is_published[node] = self.is_plain[node] = False
        self.node[slot] = -1

    def rare_sets(self, slot: int, others: Ints, most: int = 1) -> list[Rare]:
        """Combinations of 3 to m labels that too few records hold, at most so many: a slot and some of the others."""
        others = others[np.argsort(self.shared[slot, others], kind="stable")]
        sets, out = self.sets, np.zeros(most * (2 + self.m + 2 * self.n), np.int32)
        count = rare_with(
            slot, others, self.shared, self.related, self.label_set, self.relation_set, sets.kind, sets.at, sets.size,
            sets.rows, sets.lists, self.m, self.n, self.k, most, out,
        )  # fmt: skip
        found, at = [], 0
        plain = out.tolist()
        for _ in range(count):
            labels, relations = plain[at : at + 2]
            ends = at + 2 + labels
            stop = ends + 2 * relations
            found.append(
                Rare(
                    tuple(plain[at + 2 : ends]), tuple(zip(plain[ends:stop:2], plain[ends + 1 : stop : 2], strict=True))
                )
            )
            at = stop
        return found

    def holders(self, rare: Rare, label: int) -> Ints:
        """The records that held the labels of a rare combination when `label` was refused (their relations aside)."""
        indexed = self.indexed
        under = np.arange(len(self.slot))
        own = (under >= label) & (under < indexed.end[label])
        records: Ints | None = None
        for slot in rare.labels:
            refused = slot < 0 or self.node[slot] < 0
            chosen = own if refused else (self.slot == slot) & ~own
            found = np.unique(indexed.record[chosen[indexed.label]])
            records = found if records is None else np.intersect1d(records, found, assume_unique=True)
        return np.zeros(0, np.int32) if records is None else records

    # --- slots ---------------------------------------------------------------------------------------------------

    def new_slot(self, label: int) -> int:
        """A slot for a label that is published now."""
        if self._free:
            slot = self._free.pop()
            self.node[slot] = label
        else:
            slot = len(self.node)
            self.node.append(label)
            if len(self.node) > len(self.held):
                self._grow()
        self.is_published[label] = self.is_plain[label] = True
        return slot

    def conflicts(self, label: int, rest: int, *, relations: bool) -> bool:
        """Whether facts alone tell that the label cannot be published beside what is; relations may be passed over."""
        if self.facts is None:
            return False
        conflict = self.facts.conflict if relations else self.facts.label_conflict
        lessons = self.workshop.lessons
        if relations and (nodes := lessons.against(label, self.is_published, certain=self.certain)):
            self.rare = Rare(tuple(-1 if node == label else int(self.slot_of(node)) for node in nodes))
            return True
        number = self.facts.number
        slots = [s for s, node in enumerate(self.node) if node >= 0 and s != rest]
        against = conflict[number[label], number[[self.node[s] for s in slots]]]
        if not against.any():
            return False
        self.rare = Rare((-1, slots[int(against.argmax())]))
        return True

    def slot_of(self, node: int) -> int:
        """The slot of a published node."""
        return self.node.index(node)

    def forget(self, slot: int) -> None:
        """Gives a slot up, and all that is known of it."""
        if self.node[slot] >= 0:
            self._hide(slot)
        self._free.append(slot)
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
            out = np.full((room,) * table.ndim, fill, table.dtype)
            out[tuple(slice(0, size) for size in table.shape)] = table
            return out

        self.held = larger(self.held, 0)
        if self.m > 1:
            self.shared, self.related = larger(self.shared, 0), larger(self.related, 0)
        if self.deep:
            self.label_set, self.relation_set = larger(self.label_set, -1), larger(self.relation_set, -1)


@dataclass
class _Step:
    """One label let out of another: first counted, then kept or taken back."""

    partition: Partition
    label: int
    rest: int
    only_own: bool = False
    price: int = 0
    part: int = -1
    ended: list[tuple[int, int, int, int]] = field(default_factory=list)
    saved: list[tuple[int, int, int, Ints]] = field(default_factory=list)
    lost: Ints = field(default_factory=lambda: np.zeros(0, np.int32))
    relations: list[np.ndarray] = field(default_factory=list)

    def try_out(self, *, checked: bool = True) -> bool:
        """Publishes the label if that is safe, or in any case if it is not to be checked."""
        p, indexed = self.partition, self.partition.indexed
        self.stop = self.label + 1 if self.only_own else int(indexed.end[self.label])
        if checked and not self.only_own and p.conflicts(self.label, self.rest, relations=not self.price):
            return False
        known = not self.only_own and self.rest < 0 and self._facts_suffice()
        records = None if known else self._records()
        if checked and records is not None and len(records) < p.k:
            return False
        self.part = part = p.new_slot(self.label)
        p.is_plain[self.label] = not self.only_own
        p.slot[self.label : self.stop] = part
        if records is None:
            counts, size = self._counts_of_facts(), int(indexed.held[self.label])
        else:
            counts, size = self._count(records), len(records)
            if p.apart:
                self._pass_over_ended(counts)
        lost = len(self.lost)
        ended = self._rare_pairs(counts, lost) if checked else []
        if ended is None or sum(count for _, _, count in ended) > self.price:
            self._withdraw()
            return False
        self._enter(counts, lost, size)
        for a, b, _ in ended:
            self._end_relation(a, b)
        if p.deep:
            self._fill(records, counts)
            if checked and not self._larger_sets_are_safe(counts):
                self.undo()
                return False
        self._keep()
        return True

    def _keep(self) -> None:
        p = self.partition
        p.price += sum(count for _, _, count, _ in self.ended)
        for _, _, _, number in self.ended:
            if number >= 0:
                p.sets.drop(number)
        for _, number, smaller, _ in self.saved:
            if number != smaller:
                p.sets.drop(number)
        if self.rest >= 0 and p.held[self.rest] == 0:
            p.forget(self.rest)

    def _end_relation(self, a: int, b: int) -> None:
        """From now on takes a relation of two slots for disassociated."""
        p = self.partition
        number = int(p.relation_set[a, b]) if p.deep else -1
        self.ended.append((a, b, int(p.related[a, b]), number))
        p.relations_total -= int(p.related[a, b])
        p.related[a, b] = p.related[b, a] = 0
        if p.deep:
            p.relation_set[a, b] = p.relation_set[b, a] = -1

    def _count(self, records: Ints) -> np.ndarray:
        p, indexed = self.partition, self.partition.indexed
        trees = indexed.offsets, indexed.parent, indexed.label, p.slot
        counts, self.lost, *self.relations = count_part(
            *trees, len(p.node), records, self.part, self.rest, p.m > 1, p.deep and p.n > 0
        )
        return counts

    def _pass_over_ended(self, counts: np.ndarray) -> None:
        """Takes relations that were ended for the more general label as ended for the new one."""
        ended = (counts[1] > 0) & (self.partition.related[self.rest, : counts.shape[1]] == 0)
        counts[1, ended] = counts[3, ended] = 0
        if self.partition.deep and self.partition.n:
            _, at_slot, is_lost = self.relations
            is_lost &= ~ended[at_slot]

    def _records(self) -> Ints:
        indexed = self.partition.indexed
        if self.only_own:
            nodes = indexed.order[indexed.starts[self.label] : indexed.starts[self.stop]]
            return distinct_records(indexed.record[nodes], self.partition.workshop.marks)
        return indexed.records_of(self.label, self.partition.workshop.marks)

    def _facts_suffice(self) -> bool:
        """Whether all published labels that the new one meets are plain hierarchy nodes."""
        p = self.partition
        if p.facts is None:
            return False
        number = p.facts.number
        row = p.facts.shared[number[self.label]]
        return all(p.is_plain[node] or row[number[node]] == 0 for node in p.node if node >= 0)

    def _counts_of_facts(self) -> np.ndarray:
        p = self.partition
        assert p.facts is not None
        counts = np.zeros((5, len(p.node)), np.int32)
        slots = np.array([s for s, node in enumerate(p.node) if node >= 0 and s != self.part], np.int64)
        numbers = p.facts.number[[p.node[s] for s in slots]]
        own = p.facts.number[self.label]
        counts[0, slots] = p.facts.shared[own, numbers]
        counts[1, slots] = p.facts.related[own, numbers]
        return counts

    def _rare_pairs(self, counts: np.ndarray, lost: int) -> list[tuple[int, int, int]] | None:
        """Relations that would be rare (slots, records); None if labels would be, alone or two of them."""
        p, k, part, rest = self.partition, self.partition.k, self.part, self.rest
        left = int(p.held[rest]) - lost if rest >= 0 else 0
        if 0 < left < k:
            p.rare = Rare((rest,))
            return None
        if p.m < 2:
            return []
        slots = counts.shape[1]
        labels = [(part, counts[0]), (rest, p.shared[rest, :slots] - counts[2])]
        relations = [(part, counts[1]), (rest, p.related[rest, :slots] - counts[3])]
        if not left:
            labels, relations = labels[:1], relations[:1]
        for slot, row in labels:
            rare = np.flatnonzero((row > 0) & (row < k))
            rare = rare[rare != slot]
            if len(rare):
                p.rare = Rare((slot, int(rare[0])))
                return None
        if not p.n:
            return []
        found = [
            (slot, y, int(row[y])) for slot, row in relations for y in np.flatnonzero((row > 0) & (row < k)).tolist()
        ]
        if found:
            p.rare = Rare(found[0][:2], (found[0][:2],))
        return found

    def _enter(self, counts: np.ndarray, lost: int, size: int) -> None:
        """Enters the new counts into the tables."""
        p, part, rest = self.partition, self.part, self.rest
        slots = counts.shape[1]
        self.counts = counts
        p.held[part] = size
        if rest >= 0:
            p.held[rest] -= lost
        if p.m < 2:
            return
        p.shared[part, :slots] = counts[0]
        p.shared[:slots, part] = counts[0]
        p.related[part, :slots] = counts[1]
        p.related[:slots, part] = counts[1]
        p.relations_total += int(counts[1].sum(dtype=np.int64)) - int(counts[3].sum(dtype=np.int64))
        if rest >= 0:
            p.shared[rest, :slots] -= counts[2]
            p.shared[:slots, rest] = p.shared[rest, :slots]
            p.related[rest, :slots] -= counts[3]
            p.related[:slots, rest] = p.related[rest, :slots]

    def _fill(self, records: Ints | None, counts: np.ndarray) -> None:
        """Makes the record sets of the new label, and lessens those of what it came from."""
        p, part, rest = self.partition, self.part, self.rest
        slots = counts.shape[1]
        facts = p.facts
        set_of, missing = np.full(slots, -1, np.int32), np.full(slots, -1, np.int32)
        plain = bool(p.is_plain[self.label])
        if p.n:
            for y in np.flatnonzero(counts[1]).tolist():
                number = -1
                if facts is not None and plain and p.is_plain[p.node[y]]:
                    number = facts.record_set(self.label, p.node[y])
                if number < 0:
                    number = missing[y] = p.sets.new(int(counts[1, y]))
                set_of[y] = number
        own = facts.record_set(self.label, self.label) if facts is not None and plain else -1
        if records is None and (own < 0 or (missing >= 0).any()):
            records = self._records()
            self._count(records)
        if own < 0:
            assert records is not None
            own = p.sets.add(records)
        p.label_set[part] = own
        p.relation_set[part, :slots] = set_of
        p.relation_set[:slots, part] = set_of
        losses = np.zeros(slots, np.int64)
        if rest >= 0 and p.n and self.relations:
            _, at_slot, is_lost = self.relations
            there = p.relation_set[rest, :slots] >= 0  # the others have just been ended
            losses[there] = counts[3, there]
            is_lost &= there[at_slot]
        if losses.any() or (missing >= 0).any():
            gone_at = np.concatenate([[0], np.cumsum(losses)])
            gone = np.empty(int(gone_at[-1]), np.int32)
            sets = p.sets
            at_record, at_slot, is_lost = self.relations
            fill_part(at_record, at_slot, is_lost, missing, sets.kind, sets.at, sets.rows, sets.lists, gone, gone_at)
            for y in np.flatnonzero(losses).tolist():
                number = int(p.relation_set[rest, y])
                leaving = gone[gone_at[y] : gone_at[y + 1]]
                smaller = p.sets.lessen(number, leaving)
                self.saved.append((y, number, smaller, leaving))
                p.relation_set[rest, y] = p.relation_set[y, rest] = smaller
        if len(self.lost):
            number = int(p.label_set[rest])
            smaller = p.sets.lessen(number, self.lost)
            self.saved.append((rest, number, smaller, self.lost))
            p.label_set[rest] = smaller

    def _larger_sets_are_safe(self, counts: np.ndarray) -> bool:
        p = self.partition
        if p.strict is not None:
            return p.strict.safe(p, self.part, self.rest)
        if not self._no_rare_set(self.part, counts[0]):
            return False
        if self.rest < 0 or p.held[self.rest] == 0:
            return True
        touched = counts[4].copy()
        touched[[self.part, self.rest]] = 0
        touched[p.shared[self.rest, : len(touched)] == 0] = 0
        return self._no_rare_set(self.rest, touched)

    def _no_rare_set(self, slot: int, counts: Ints) -> bool:
        """Whether a slot is in no rare combination, once relations that cost less than the price are ended."""
        p = self.partition
        others = np.flatnonzero(counts).astype(np.int32)
        while found := p.rare_sets(slot, others, 1 if not self.price else _MANY):
            p.rare = found[0]
            ended = blamed(p, [rare.relations for rare in found]) if self.price else None
            spent = sum(count for _, _, count, _ in self.ended)
            if ended is None or spent + sum(int(p.related[pair]) for pair in ended) > self.price:
                break
            for pair in ended:
                self._end_relation(*pair)
        else:
            return True
        nodes = tuple(p.node[s] for s in found[0].labels)
        if p.facts is not None and not p.apart and p.is_plain[list(nodes)].all():
            p.learned.append((tuple(sorted(nodes)), len(found[0].relations) < 2))
        return False

    def undo(self) -> None:
        """Takes back a step that was entered."""
        p, rest = self.partition, self.rest
        for a, b, count, relation in self.ended:
            p.related[a, b] = p.related[b, a] = count
            p.relations_total += count
            if p.deep:
                p.relation_set[a, b] = p.relation_set[b, a] = relation
        for y, number, smaller, leaving in self.saved:
            p.sets.restore(number, smaller, leaving)
            if y == rest:
                p.label_set[rest] = number
            else:
                p.relation_set[rest, y] = p.relation_set[y, rest] = number
        if rest >= 0:
            p.held[rest] += len(self.lost)
        if rest >= 0 and p.m > 1:
            slots = self.counts.shape[1]
            p.shared[rest, :slots] += self.counts[2]
            p.shared[:slots, rest] = p.shared[rest, :slots]
            p.related[rest, :slots] += self.counts[3]
            p.relations_total += int(self.counts[3].sum(dtype=np.int64))
            p.related[:slots, rest] = p.related[rest, :slots]
        self._withdraw()

    def _withdraw(self) -> None:
        p = self.partition
        p.forget(self.part)
        p.slot[self.label : self.stop] = self.rest
