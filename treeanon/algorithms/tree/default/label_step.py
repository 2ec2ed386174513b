"""One step of a walk: a label is let out of another, counted, and kept or taken back."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from treeanon.algorithms.tree.default.pair_support import Rare, Relation, blamed
from treeanon.arrays import Ints
from treeanon.kernels.tree.label_splits import count_part, fill_part
from treeanon.kernels.tree.object_relations import count_object_part
from treeanon.kernels.tree.record_sets import Relations, distinct_records

if TYPE_CHECKING:
    from treeanon.algorithms.tree.default.published_labels import PublishedLabels

_MANY = 1000
"""So many rare combinations are looked at to find the relations to blame."""


@dataclass(frozen=True)
class Counts:
    """What a label that is let out shares with the labels of every slot, in records, and what `rest` loses of it.

    Relations have a second axis for their kinds; `touched` are records in which `rest` loses anything.
    """

    shared: Ints
    lost: Ints
    touched: Ints
    related: Relations
    relations_lost: Relations

    @classmethod
    def none(cls, slots: int, kinds: int) -> Counts:
        """Return counts of nothing."""
        labels, relations = np.zeros((3, slots), np.int32), np.zeros((2, slots, kinds), np.int32)
        return cls(*labels, *relations)


@dataclass(frozen=True)
class Counted:
    """What was counted when a label was published: of the labels of every slot then, the label itself among them."""

    nodes: Ints
    counts: Counts
    lost: int
    size: int

    @property
    def numbers(self) -> int:
        """How many numbers it consists of."""
        return len(self.nodes) + sum(len(table.ravel()) for table in vars(self.counts).values())

    def at(self, nodes: Ints) -> Counts:
        """Return the counts where the labels have other slots."""
        if np.array_equal(nodes, self.nodes):
            return self.counts
        there = np.count_nonzero(nodes >= 0)
        new, old = np.argsort(nodes)[-there:], np.argsort(self.nodes)[-there:]
        counts = Counts.none(len(nodes), self.counts.related.shape[1])
        for name, table in vars(counts).items():
            table[new] = getattr(self.counts, name)[old]
        return counts


def _together(parts: list[tuple[np.ndarray, ...]], tables: int) -> tuple[np.ndarray, ...]:
    """Return what was counted of parts of the records as of all: sums of tables, and lists one after another."""
    if len(parts) == 1:
        return parts[0]
    both = list(zip(*parts, strict=True))
    sums: list[np.ndarray] = [np.add.reduce(np.stack(each), dtype=np.int32) for each in both[:tables]]
    return *sums, *map(np.concatenate, both[tables:])


@dataclass
class Step:
    """One label let out of another: first counted, then kept or taken back."""

    partition: PublishedLabels
    label: int
    rest: int
    only_own: bool = False
    price: int = 0
    told: Counted | None = None
    """What another walk has counted here."""
    part: int = -1
    ended: list[tuple[Relation, int, int]] = field(default_factory=list)
    saved: list[tuple[int, int, int, int, Ints]] = field(default_factory=list)
    lost: Ints = field(default_factory=lambda: np.zeros(0, np.int32))
    relations: list[np.ndarray] = field(default_factory=list)

    def try_out(self, *, checked: bool = True, stays: bool = True) -> bool:
        """Return whether the label may be published, and do so; without a check it may in any case."""
        p, indexed = self.partition, self.partition.indexed
        self.stop = self.label + 1 if self.only_own else int(indexed.end[self.label])
        if checked and not self.only_own and p.conflicts(self.label, relations=not self.price):
            return False
        known = not self.only_own and self.rest < 0 and self._facts_suffice()
        if checked and not known and self.told is None and self._rare_among_plain():
            return False
        records = None if known or self.told is not None else self._records()
        if checked and records is not None and len(records) < p.k:
            return False
        self.part = part = p.new_slot(self.label)
        p.is_plain[self.label] = not self.only_own
        p.slot[self.label : self.stop] = part
        size = int(indexed.held[self.label]) if records is None else len(records)
        if known:
            counts, lost = self._counts_of_facts(), 0
        elif records is None:
            assert self.told is not None
            counts, lost = self.told.at(p.node[: p.slots]), self.told.lost
        else:
            counts = self._count(records)
            lost = len(self.lost)
        if p.apart and not known:
            counts = self._without_ended(counts)
        ended = self._rare_pairs(counts, lost) if checked else []
        if ended is None or sum(count for _, count in ended) > self.price:
            self._withdraw()
            return False
        if not stays:
            self._withdraw()
            return True
        self.counted = Counted(p.node[: p.slots].copy(), counts, lost, size)
        self._enter(counts, lost, size)
        for relation, _ in ended:
            self._end_relation(relation)
        if p.deep:
            self._fill(records, counts)
            if checked and not self._larger_sets_are_safe(counts):
                self.undo()
                return False
        self._keep()
        return True

    def repeat(self, counted: Counted) -> None:
        """Publish the label, of which that is known to be safe, by what was counted then."""
        p = self.partition
        self.part = part = p.new_slot(self.label)
        p.is_plain[self.label] = True
        p.slot[self.label : p.indexed.end[self.label]] = part
        self._enter(counted.at(p.node[: p.slots]), counted.lost, counted.size)
        self._keep()

    def _keep(self) -> None:
        p = self.partition
        p.price += sum(count for _, count, _ in self.ended)
        for _, _, number in self.ended:
            if number >= 0:
                p.sets.drop(number)
        for _, _, number, smaller, _ in self.saved:
            if number != smaller:
                p.sets.drop(number)
        if self.rest >= 0 and p.held[self.rest] == 0:
            p.slot[p.slot == self.rest] = -1  # labels that no record holds
            p.forget(self.rest)

    def _end_relation(self, relation: Relation) -> None:
        """From now on takes a relation of two slots for ended."""
        p, (a, b, d) = self.partition, relation
        number = int(p.relation_set[relation]) if p.deep else -1
        self.ended.append((relation, int(p.related[relation]), number))
        p.relations_total -= int(p.related[relation])
        p.related[a, b, d] = p.related[b, a, d] = 0
        if p.deep:
            p.relation_set[a, b, d] = p.relation_set[b, a, d] = -1

    def _count(self, records: Ints) -> Counts:
        p, indexed = self.partition, self.partition.indexed
        arrays = indexed.offsets, indexed.parent, indexed.label, p.slot
        slots, part, rest, listed = p.slots, self.part, self.rest, p.deep and p.n > 0

        def count(some: Ints) -> tuple[np.ndarray, ...]:
            if indexed.types:
                kinds = indexed.types, indexed.kinds
                return count_object_part(*arrays, slots, some, part, rest, p.m > 1, listed, *kinds)
            return count_part(*arrays, slots, some, part, rest, p.m > 1, listed)

        tables, helpers = 2 if indexed.types else 1, p.state.helpers
        found = count(records) if helpers is None else _together(helpers.in_parts(count, records), tables)
        self.lost, *self.relations = found[tables:]
        if indexed.types:
            return Counts(*found[0], *found[1])
        rows = found[0]
        return Counts(rows[0], rows[2], rows[4], rows[1][:, None], rows[3][:, None])

    def _without_ended(self, counts: Counts) -> Counts:
        """Return the counts with relations that were ended for the more general label ended for the new one, too."""
        ended = (counts.related > 0) & (self.partition.related[self.rest, : len(counts.shared)] == 0)
        if self.partition.deep and self.partition.n:
            _, at_slot, is_lost = self.relations
            is_lost &= ~ended.ravel()[at_slot]
        related, lost = (np.where(ended, 0, table) for table in (counts.related, counts.relations_lost))
        return replace(counts, related=related, relations_lost=lost)

    def _records(self) -> Ints:
        indexed = self.partition.indexed
        if self.only_own:
            holders = indexed.holders[indexed.starts[self.label] : indexed.starts[self.stop]]
            return distinct_records(holders, self.partition.state.marks)
        return indexed.records_of(self.label, self.partition.state.marks)

    def _facts_suffice(self) -> bool:
        """Return whether all published labels that the new one meets are plain hierarchy nodes."""
        p = self.partition
        if p.pair_supports is None:
            return False
        number = p.pair_supports.number
        row = p.pair_supports.shared[number[self.label]]
        nodes = p.node[p.node >= 0]
        return bool((p.is_plain[nodes] | (row[number[nodes]] == 0)).all())

    def _rare_among_plain(self) -> bool:
        """Return whether the label is in a rare combination with plain hierarchy nodes; false if it is not known.

        The records of these are known. So most labels that larger combinations refuse need not be counted.
        """
        p, facts = self.partition, self.partition.pair_supports
        if facts is None or not p.deep or p.strict is not None or self.only_own or self.price or p.apart:
            return False
        label_set = facts.record_set(self.label, self.label)
        if label_set < 0:
            return False
        nodes = p.node[: p.slots]
        others = np.flatnonzero((nodes >= 0) & p.is_plain[nodes] & (np.arange(p.slots) != self.rest)).astype(np.int32)
        own, numbers = facts.number[self.label], facts.number[nodes[others]]
        related, sets = facts.related[own, numbers], facts.set_of[own, numbers]
        known = (facts.shared[own, numbers] > 0) & ((related == 0) | (sets >= 0)).all(axis=1)
        others, numbers, related, sets = others[known], numbers[known], related[known], sets[known]
        part = p.new_slot(self.label)
        p.shared[part, others], p.related[part, others] = facts.shared[own, numbers], related
        p.label_set[part], p.relation_set[part, others] = label_set, sets
        found = p.rare_sets(part, others, rest=self.rest)
        if found:
            p.learn(found[0])
        p.shared[part], p.related[part], p.label_set[part], p.relation_set[part] = 0, 0, -1, -1
        p.forget(part)
        return bool(found)

    def _counts_of_facts(self) -> Counts:
        p = self.partition
        assert p.pair_supports is not None
        counts = Counts.none(p.slots, p.indexed.kinds)
        nodes = p.node[: p.slots].astype(np.int64)
        nodes[self.part] = -1
        slots = np.flatnonzero(nodes >= 0)
        numbers = p.pair_supports.number[nodes[slots]]
        own = p.pair_supports.number[self.label]
        counts.shared[slots] = p.pair_supports.shared[own, numbers]
        counts.related[slots] = p.pair_supports.related[own, numbers]
        return counts

    def _rare_pairs(self, counts: Counts, lost: int) -> list[tuple[Relation, int]] | None:
        """Return relations that would be rare, with their records; None if labels would be, alone or two of them."""
        p, k, part, rest = self.partition, self.partition.k, self.part, self.rest
        left = int(p.held[rest]) - lost if rest >= 0 else 0
        if 0 < left < k:
            p.rare = Rare((rest,))
            return None
        if p.m < 2:
            return []
        slots = len(counts.shared)
        labels = [(part, counts.shared), (rest, p.shared[rest, :slots] - counts.lost)]
        relations = [(part, counts.related), (rest, p.related[rest, :slots] - counts.relations_lost)]
        if not left:
            labels, relations = labels[:1], relations[:1]
        for slot, row in labels:
            rare = (row > 0) & (row < k)
            rare[slot] = False
            if rare.any():
                p.rare = Rare((slot, int(rare.argmax())))
                return None
        if not p.n:
            return []
        found: list[tuple[Relation, int]] = []
        for slot, row in relations:
            rare = (row > 0) & (row < k)
            if rare.any():
                found += [((slot, y, d), int(row[y, d])) for y, d in np.argwhere(rare).tolist()]
        if found:
            p.rare = Rare(found[0][0][:2], (found[0][0],))
        return found

    def _enter(self, counts: Counts, lost: int, size: int) -> None:
        """Enter the new counts into the tables."""
        p, part, rest = self.partition, self.part, self.rest
        slots = len(counts.shared)
        self.counts = counts
        p.held[part] = size
        if rest >= 0:
            p.held[rest] -= lost
        if p.m < 2:
            return
        p.shared[part, :slots] = counts.shared
        p.shared[:slots, part] = counts.shared
        p.related[part, :slots] = counts.related
        p.related[:slots, part] = counts.related
        p.relations_total += int(counts.related.sum(dtype=np.int64)) - int(counts.relations_lost.sum(dtype=np.int64))
        if rest >= 0:
            p.shared[rest, :slots] -= counts.lost
            p.shared[:slots, rest] = p.shared[rest, :slots]
            p.related[rest, :slots] -= counts.relations_lost
            p.related[:slots, rest] = p.related[rest, :slots]

    def _fill(self, records: Ints | None, counts: Counts) -> None:
        """Make the record sets of the new label, and lessens those of what it came from."""
        p, part, rest = self.partition, self.part, self.rest
        slots = len(counts.shared)
        pair_supports = p.pair_supports
        set_of, missing = np.full_like(counts.related, -1), np.full_like(counts.related, -1)
        plain = bool(p.is_plain[self.label])
        if p.n:
            for y, d in np.argwhere(counts.related).tolist():
                number = -1
                if pair_supports is not None and plain and p.is_plain[p.node[y]]:
                    number = pair_supports.record_set(self.label, p.node[y], d)
                if number < 0:
                    number = missing[y, d] = p.sets.new(int(counts.related[y, d]))
                set_of[y, d] = number
        own = pair_supports.record_set(self.label, self.label) if pair_supports is not None and plain else -1
        if records is None and (own < 0 or (missing >= 0).any()):
            records = self._records()
            self._count(records)
        if own < 0:
            assert records is not None
            own = p.sets.add(records)
        p.label_set[part] = own
        p.relation_set[part, :slots] = set_of
        p.relation_set[:slots, part] = set_of
        losses = np.zeros(missing.size, np.int64)
        if rest >= 0 and p.n and self.relations:
            _, at_slot, is_lost = self.relations
            there = (p.relation_set[rest, :slots] >= 0).ravel()  # the others have just been ended
            losses[there] = counts.relations_lost.ravel()[there]
            is_lost &= there[at_slot]
        if losses.any() or (missing >= 0).any():
            gone_at = np.concatenate([[0], np.cumsum(losses)])
            gone = np.empty(int(gone_at[-1]), np.int32)
            sets = p.sets
            at_record, at_slot, is_lost = self.relations
            new = missing.ravel()
            fill_part(at_record, at_slot, is_lost, new, sets.kind, sets.at, sets.rows, sets.lists, gone, gone_at)
            for place in np.flatnonzero(losses).tolist():
                y, d = divmod(place, missing.shape[1])
                number = int(p.relation_set[rest, y, d])
                leaving = gone[gone_at[place] : gone_at[place + 1]]
                smaller = p.sets.lessen(number, leaving)
                self.saved.append((y, d, number, smaller, leaving))
                p.relation_set[rest, y, d] = p.relation_set[y, rest, d] = smaller
        if len(self.lost):
            number = int(p.label_set[rest])
            smaller = p.sets.lessen(number, self.lost)
            self.saved.append((rest, 0, number, smaller, self.lost))
            p.label_set[rest] = smaller

    def _larger_sets_are_safe(self, counts: Counts) -> bool:
        p = self.partition
        if p.strict is not None:
            return p.strict.safe(p, self.part, self.rest)
        if not self._no_rare_set(self.part, counts.shared):
            return False
        if self.rest < 0 or p.held[self.rest] == 0:
            return True
        touched = counts.touched.copy()
        touched[[self.part, self.rest]] = 0
        touched[p.shared[self.rest, : len(touched)] == 0] = 0
        return self._no_rare_set(self.rest, touched)

    def _no_rare_set(self, slot: int, counts: Ints) -> bool:
        """Return whether a slot is in no rare combination, once relations that cost less than the price are ended."""
        p = self.partition
        others = np.flatnonzero(counts).astype(np.int32)
        most, rest = (_MANY, None) if self.price else (1, self.rest)
        while found := p.rare_sets(slot, others, most, rest=rest):
            p.rare = found[0]
            ended = blamed(p.related, [rare.relations for rare in found]) if self.price else None
            spent = sum(count for _, count, _ in self.ended)
            if ended is None or spent + sum(int(p.related[relation]) for relation in ended) > self.price:
                break
            for relation in ended:
                self._end_relation(relation)
        else:
            return True
        # What is left of `rest` is no plain node any more, though it still passes for one.
        if p.pair_supports is not None and not p.apart and self.rest not in found[0].labels:
            p.learn(found[0])
        return False

    def undo(self) -> None:
        """Take back a step that was entered."""
        p, rest = self.partition, self.rest
        for (a, b, d), count, ended in self.ended:
            p.related[a, b, d] = p.related[b, a, d] = count
            p.relations_total += count
            if p.deep:
                p.relation_set[a, b, d] = p.relation_set[b, a, d] = ended
        for y, d, number, smaller, leaving in self.saved:
            p.sets.restore(number, smaller, leaving)
            if y == rest:
                p.label_set[rest] = number
            else:
                p.relation_set[rest, y, d] = p.relation_set[y, rest, d] = number
        if rest >= 0:
            p.held[rest] += len(self.lost)
        if rest >= 0 and p.m > 1:
            slots = len(self.counts.shared)
            p.shared[rest, :slots] += self.counts.lost
            p.shared[:slots, rest] = p.shared[rest, :slots]
            p.related[rest, :slots] += self.counts.relations_lost
            p.relations_total += int(self.counts.relations_lost.sum(dtype=np.int64))
            p.related[:slots, rest] = p.related[rest, :slots]
        self._withdraw()

    def _withdraw(self) -> None:
        p = self.partition
        p.forget(self.part)
        p.slot[self.label : self.stop] = self.rest
