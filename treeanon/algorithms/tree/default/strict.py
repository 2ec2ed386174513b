"""The default search's own check of extended guarantees: joint attackers, l-diversity, negative knowledge.

l-diversity is that of Section III-F, negative knowledge that of Section III-G of
O. Gkountouna and M. Terrovitis, "Anonymizing collections of tree-structured data" (IEEE TKDE 2015).

It lists the persons of every combination that letting a label out can have changed. Nothing of it is shared with the
verifier.
"""

from __future__ import annotations

import numpy as np

from treeanon.algorithms.tree.default.indexed_forest import IndexedForest
from treeanon.algorithms.tree.default.pair_support import PairSupports
from treeanon.algorithms.tree.default.published_labels import PublishedLabels
from treeanon.algorithms.tree.default.shared_state import WalkState
from treeanon.arrays import Flags, Ints, Longs, unique_values
from treeanon.forest import Classes, Forest
from treeanon.kernels.tree.published_records import Table, Trees, parted_by
from treeanon.kernels.tree.strict_sets import Values, breaks, members
from treeanon.privacy import Guarantee
from treeanon.privacy.guarantee import roles_of


def needed(guarantee: Guarantee) -> bool:
    """Return whether a guarantee asks for more than supports.

    The same nodes can witness two relations or not from three labels on.

    >>> needed(Guarantee(5, m=3, n=2)), needed(Guarantee(5, m=3, n=2, attacker="joint"))
    (False, True)
    """
    return _is_joint(guarantee) or guarantee.l > 1 or bool(guarantee.negative)


def _is_joint(guarantee: Guarantee) -> bool:
    enough = guarantee.m > 2 and guarantee.n > 1
    if guarantee.negative:
        # What is not below one node may be below another of its label.
        enough = guarantee.m > 1 and guarantee.n > 0
    return guarantee.attacker == "joint" and enough


class ExtendedCheck:
    """Tells whether all combinations that a step of a walk can have changed keep the guarantee.

    It holds no state of a walk, so that walks of several threads can share it.
    """

    def __init__(self, forest: Forest, indexed: IndexedForest, guarantee: Guarantee) -> None:
        """Of the whole forest, sensitive classes too, and of the index of its known classes, record by record."""
        roles = roles_of(forest, guarantee)
        if len(forest) != len(indexed):
            raise ValueError("the index must be of the same records")
        if len(indexed.labels) != len(forest.classes):
            raise ValueError("the index must have all labels")
        self.guarantee, self.joint = guarantee, _is_joint(guarantee)
        self.class_of = forest.classes.class_of
        known = np.isin(self.class_of, roles.known)
        self.trees: Trees = (forest.offsets, forest.parent, forest.label, known)
        self.negative = np.isin(self.class_of, roles.negative)
        self.deniable = _deniable(forest, roles.negative)
        self.home = _homes(forest.classes)
        self.values = sensitive_values(forest, roles.sensitive if guarantee.l > 1 else ())

    def safe(self, partition: PublishedLabels, part: int, rest: int) -> bool:
        """Return whether all combinations that hold slot `part`, or `rest` (-1: none), are as they must be.

        For a joint attacker also those that hold neither: labels below the new one may have been one node until now.
        """
        if self.joint and self.guarantee.negative:
            # Any node below a new one may have become two, of which one lacks what the other has below it.
            return self.safe_throughout(partition)
        p, slots = partition, partition.slots
        node, is_published = _published(p)
        touched = [part] if rest < 0 or not is_published[rest] else [part, rest]
        # What shares no record with the new label has changed with nothing.
        others, absent = np.empty(0, np.int64), np.flatnonzero(is_published & self.negative[node]) + slots
        if p.m > 1:
            others = np.concatenate([np.flatnonzero(is_published & (p.shared[part, :slots] > 0)), absent])
        prefixes = touched + [slot + slots for slot in touched if self.negative[node[slot]]]
        if self._breaks(p, np.array(prefixes, np.int32)[:, None], others, parted=False):
            return False
        # An object is neither parted nor merged by what its values are published as.
        if not self.joint or len(self.home):
            return True
        triples = self._parted(p, part, rest)
        others = others[~np.isin(others % slots, [part, rest])]
        return not (len(triples) and self._breaks(p, triples, others, parted=True))

    def safe_throughout(self, partition: PublishedLabels) -> bool:
        """Return whether all combinations of published labels are as they must be."""
        p, slots = partition, partition.slots
        node, is_published = _published(p)
        absent = np.flatnonzero(is_published & self.negative[node]) + slots
        elements = np.concatenate([np.flatnonzero(is_published), absent])
        return not any(
            self._breaks(p, elements[i : i + 1, None].astype(np.int32), elements[i + 1 :], parted=False)
            for i in range(len(elements))
        )

    def _breaks(self, p: PublishedLabels, prefixes: Table, others: Longs, *, parted: bool) -> bool:
        g = self.guarantee
        own = self.class_of[p.node[: p.slots]]
        side, home = (own + 1).astype(np.int32), self.home[own] if len(self.home) else self.home
        others = others if p.m > 1 else others[:0]
        labels = (p.label_set, p.relation_set, p.shared, p.slot)
        asked = (p.k, p.m, p.n, g.l, g.diversity == "frequency", self.joint)
        sides = (home, side, self.deniable)
        given = (labels, sides, p.sets.arrays, self.trees, self.values, asked)
        return breaks(prefixes, parted, others.astype(np.int32), p.slots, *given)

    def _parted(self, p: PublishedLabels, part: int, rest: int) -> Table:
        """Return slots y, c, d: in some record one node y was above c and d until the step."""
        slots, number = p.slots, int(p.label_set[part])
        records = np.empty(p.sets.size[number], np.int32)
        members(p.sets.arrays, number, True, p.sets.records, records)
        found = unique_values(parted_by(records, part, rest, slots, p.n > 2, self.trees, p.slot))
        return np.stack([found // slots**2, found // slots % slots, found % slots], axis=1).astype(np.int32)


def keeps_extensions(forest: Forest, guarantee: Guarantee) -> bool:
    """Return whether published trees keep what a guarantee asks for, with its labels taken as they are."""
    indexed = IndexedForest.as_is(forest, guarantee)
    if ((indexed.held > 0) & (indexed.held < guarantee.k)).any():
        return False
    check = ExtendedCheck(forest, indexed, guarantee)
    supports = PairSupports(indexed, guarantee, 1, deep=True) if PairSupports.fit(indexed, guarantee) else None
    partition = PublishedLabels(WalkState(indexed, guarantee, supports, check))
    for label in np.flatnonzero(indexed.held).tolist():
        partition.place(label)
    return check.safe_throughout(partition)


def _published(p: PublishedLabels) -> tuple[Longs, Flags]:
    """Return the node of every slot, and whether somebody holds it."""
    node = p.node[: p.slots].astype(np.int64)
    return node, (node >= 0) & (p.held[: p.slots] > 0)


def _deniable(forest: Forest, negative: tuple[int, ...]) -> Flags:
    """Return of which classes it may be known that none of their labels is below one of another (counted from 1).

    Where objects stay whole, a relation has no lower side: an object holds the value with another, or does not. There
    one entry of each two classes says so.
    """
    classes = forest.classes
    found = np.zeros((len(classes.names) + 1,) * 2 if negative else (0, 0), bool)
    for index in negative:
        if classes.types:
            for other in range(classes.types, len(classes.names)):
                found[max(other, index) + 1, min(other, index) + 1] = True
            continue
        above = classes.parents[index]
        while above >= 0:
            found[above + 1, index + 1] = True
            above = classes.parents[above]
    return found


def _homes(classes: Classes) -> Table:
    """Return for every class and kind the label of the type of objects that its relations speak of (-1: none).

    Empty for merged trees.
    """
    if not classes.types:
        return np.empty((0, 0), np.int32)
    found = [
        [classes.type_of(own, kind) + 1 or -1 for kind in range(classes.kinds)] for own in range(len(classes.names))
    ]
    return np.array(found, np.int32)


def sensitive_values(forest: Forest, classes: tuple[int, ...]) -> Values:
    """Return the distinct values of sensitive classes by record: where each record's start, their numbers and
    classes.
    """
    class_of = forest.classes.class_of
    wanted = np.flatnonzero(np.isin(class_of[forest.label], classes)) if classes else np.empty(0, np.int64)
    record = np.searchsorted(forest.offsets, wanted, side="right") - 1
    number_of = np.cumsum(np.isin(class_of, classes)) - 1
    pairs = unique_values(record * np.int64(len(class_of)) + forest.label[wanted])
    record, label = pairs // len(class_of), pairs % len(class_of)
    starts = np.searchsorted(record, np.arange(len(forest) + 1)).astype(np.int64)
    kinds = np.searchsorted(np.array(sorted(classes), np.int64), class_of[np.isin(class_of, classes)])
    codes: Ints = number_of[label].astype(np.int32)
    return starts, codes, kinds.astype(np.int32), len(classes)
