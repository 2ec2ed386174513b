"""The checks of a candidate cut, and its repair: ValueCheck, StructureCheck and FixStructure.

After O. Gkountouna and M. Terrovitis, "Anonymizing collections of tree-structured data" (IEEE TKDE 2015): Algorithms 1
and 2 are in Section III-B, Algorithm 3 in Section III-C; short: the paper.

`value_check` is ValueCheck (Algorithm 1): no up to m labels of a cut may be held together by some records but fewer
than k. Where we differ: the paper's checks sets of exactly m labels; sizes below m count too, as a person may have
fewer values. A cut whose parent has passed is only checked for sets with one of its new labels: the others are the
parent's. Rare labels come first, and counting stops at k records.

`StructureCheck` goes through the combinations as lines 2 to 4 of Algorithm 3 do; what is asked of each, whether some
records hold it, but fewer than k, is StructureCheck (Algorithm 2), the kernel `broken`. Where we differ: labels that no
relation speaks of count too, which Algorithm 2 forgets. Only combinations that can fail are counted, and counting stops
at k records. With the joint attacker the records in which one and the same nodes witness all relations are counted as
well.

`fix_structure` is FixStructure (Algorithm 3): it disassociates what StructureCheck finds until it finds nothing. Where
we differ: Algorithm 3 passes over the combinations once, although a disassociation can lower the support of relations
that were safe before; we repeat until a whole pass changes nothing. It checks only sets of m labels, we check 2, 3, …,
m. Of the relations of a failing combination the one with the least support goes, as in the paper.

The synopsis tree projected to a cut (Section III-A), with the records of every relation, and structural disassociation
on it (Section II-D).
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

import numpy as np

from treeanon.algorithms.tree.record_sets import SetStack, list_room
from treeanon.arrays import Flags, Ints, Longs, SetArrays
from treeanon.errors import UsageError
from treeanon.forest.synopsis import Synopsis
from treeanon.kernels.jit import read_only
from treeanon.kernels.tree.embeddings import Places
from treeanon.kernels.tree.forest import list_children
from treeanon.kernels.tree.structure_check import Asked, Published, broken, next_broken, rare_values
from treeanon.kernels.tree.synopsis import (
    Table,
    group,
    merge_paths,
    merged_lists,
    relation_groups,
    touched_nodes,
    union_sets,
)
from treeanon.kernels.tree.synopsis_moves import (
    below,
    ended_relations,
    mean_path_loss,
    merged_support,
    move_nodes,
    records_of,
    update_relations,
)
from treeanon.metrics.values import cost_of, rounded
from treeanon.privacy import Guarantee

_MOST_LABELS = 10_000


@dataclass(frozen=True, eq=False)
class Base:
    """A synopsis with the way from the forest's nodes to its own, and the class of every label."""

    synopsis: Synopsis
    offsets: Longs
    nodes: Ints
    class_of: Ints


class Projected:
    """The synopsis tree projected to a cut (Section III-A of the paper).

    Nodes have `parent`, `item` (what their label is published as), `place` (the number of that item among the labels
    that count, else -1) and `support`; members[groups[v] : groups[v + 1]] are the nodes of the synopsis that became
    node v. `relation_set` has the number of every relation's record set, -1 if no record has it.
    """

    def __init__(self, base: Base, published: Ints, labels: Ints) -> None:
        self.base = base
        self.labels = labels
        self.class_of: Ints = base.class_of[labels >> 1]
        above, (item,) = base.synopsis.parent, read_only(published[base.synopsis.label])
        self.node_of, self.parent, self.item = merge_paths(above, item, 2 * base.synopsis.labels)
        self.groups, self.members = group(self.node_of, len(self.parent))
        if len(labels) > _MOST_LABELS:
            raise UsageError(f"this search keeps a table of all pairs of labels, at most {_MOST_LABELS:,}: use another")
        place_of = np.full(2 * base.synopsis.labels, -1, np.int32)
        place_of[labels] = np.arange(len(labels))
        self.place: Ints = place_of[self.item]
        self.into = np.full(len(self.parent), -1, np.int32)
        self.moves: list[tuple[int, int]] = []
        self.support: Ints = np.zeros(len(self.parent), np.int32)
        self.relation_set: Table = np.full((len(labels), len(labels)), -1, np.int32)
        self.changed: Table = np.zeros((len(labels), len(labels)), np.int32)

    def count(self, fresh: Flags, known: Projected | None) -> None:
        """Find the supports.

        `fresh` tells for every label whether it is not one of `known`, the projection to the cut before: what lies on
        no path with a fresh label is as it was there.
        """
        synopsis = self.base.synopsis
        self._touched = np.ones(len(self.parent), np.bool_)
        if known is not None:
            self._touched = touched_nodes(self.parent, np.append(fresh, False)[self.place])
        self._lists = merged_lists(
            self.groups, self.members, self._touched, synopsis.starts, synopsis.records, synopsis.count
        )
        self.support = np.diff(self._lists[0]).astype(np.int32)
        if known is not None:
            before = known.support[known.node_of[self.members[self.groups[:-1]]]]
            self.support = np.where(self._touched, self.support, before)

    def relations(self, fresh: Flags, known: Projected | None, first: int) -> SetArrays:
        """Return the record sets of the relations with a fresh end, which get the numbers from `first` on; after
        `count`.
        """
        if known is not None:
            held = np.isin(self.labels, known.labels)
            there = np.searchsorted(known.labels, self.labels[held])
            self.relation_set[np.ix_(held, held)] = known.relation_set[np.ix_(there, there)]
        groups, members = relation_groups(self.parent, self.place, self._touched, fresh, self.relation_set, first)
        count = self.base.synopsis.count
        return union_sets(groups, members, *self._lists, count, list_room(count))

    def doubt(self, pairs: Collection[tuple[int, int]]) -> None:
        """Mark relations between these items as changed before the first disassociation."""
        for pair in pairs:
            places = np.searchsorted(self.labels, pair)
            if np.all(places < len(self.labels)) and np.array_equal(self.labels[places], pair):
                self.changed[tuple(places)] = 1

    def doubted(self) -> frozenset[tuple[int, int]]:
        """Return the items of all relations that changed."""
        upper, lower = np.nonzero(self.changed)
        return frozenset(zip(self.labels[upper].tolist(), self.labels[lower].tolist(), strict=True))

    def moved_items(self) -> tuple[tuple[int, int], ...]:
        """Return the disassociations as pairs of items, in order."""
        return tuple((int(self.labels[upper]), int(self.labels[lower])) for upper, lower in self.moves)

    def cost(self, level: Ints) -> float:
        """Return the RPDa of the tree as it is; `level` is |C(u)| of every label."""
        support = self.support
        if self.moves:
            synopsis = self.base.synopsis
            support = merged_support(
                support,
                self.into,
                self._chain,
                self.groups,
                self.members,
                synopsis.starts,
                synopsis.records,
                synopsis.count,
            )
        return cost_of(self.parent, support, level[self.item >> 1], self.into >= 0)

    def record_cost(self, level: Ints) -> float:
        """Return the RPD of the records that the tree stands for, published as it is; `level` is |C(u)| of every label.

        It is rounded as RPDa is, so that equal releases are equally good however they were added up.
        """
        base = self.base
        places = (base.offsets, base.nodes, self.node_of, self.into, self.parent)
        return rounded(mean_path_loss(*places, level[self.item >> 1]))

    def _link(self) -> None:
        """What moving needs: the children of every node, and room for chains of merged nodes."""
        size = len(self.parent)
        self._first_child, self._next_sibling = np.empty(size + 1, np.int32), np.empty(size, np.int32)
        list_children(self.parent, 0, size, self._first_child, self._next_sibling)
        self._chain, self._chain_end = np.full(size, -1, np.int32), np.arange(size, dtype=np.int32)
        self._marks = np.zeros(self.base.synopsis.count, np.bool_)

    def disassociate(self, upper: int, lower: int, space: SetStack, lasting: int) -> None:
        """Disassociate two labels, given by their places: every lower one below an upper one becomes a leaf beside it.

        Sets numbered below `lasting` belong to others as well: where they change, a copy takes their place.
        """
        if not self.moves:
            self._link()
        self.moves.append((upper, lower))
        base, synopsis = self.base, self.base.synopsis
        top = int(self.labels[upper])
        links = np.flatnonzero(self.place == lower).astype(np.int32)
        moved = below(links, self.into, self.parent, self.item, top)
        above, under = ended_relations(
            moved, self.parent, self._first_child, self._next_sibling, self.item, self.place, top, len(self.labels)
        )
        touched = records_of(
            moved, self._chain, self.groups, self.members, synopsis.starts, synopsis.records, self._marks
        )
        move_nodes(
            moved,
            top,
            self.parent,
            self._first_child,
            self._next_sibling,
            self.item,
            self.into,
            self._chain,
            self._chain_end,
        )
        pairs = [(x, lower) for x in np.flatnonzero(above).tolist()]
        pairs += [(lower, y) for y in np.flatnonzero(under).tolist()]
        for pair in pairs:
            self.changed[pair] = len(self.moves) + 1
            if self.relation_set[pair] < lasting:
                self.relation_set[pair] = space.copy(int(self.relation_set[pair]))
        update_relations(
            *space.arrays,
            self.relation_set,
            lower,
            above,
            under,
            touched,
            base.offsets,
            base.nodes,
            self.node_of,
            self.into,
            self.parent,
            self.place,
            self._marks,
        )


def value_check(space: SetStack, label_set: Ints, fresh: Flags, k: int, m: int) -> bool:
    """Return whether a cut passes, given the record sets of its labels, and which of them its parent did not have.

    A cut that fails is dead, and so is every specialization of it: some part of the rare records' values stays rare.
    """
    order = np.argsort(space.size[label_set], kind="stable")
    new = fresh[order]
    chosen = label_set[np.concatenate([order[new], order[~new]])]
    return not rare_values(space.arrays, space.room, chosen, int(fresh.sum()), k, m)


Relation = tuple[int, int]


@dataclass(frozen=True)
class Combination:
    """Labels, and relations between them, by the places of the labels in the cut."""

    labels: tuple[int, ...]
    relations: tuple[Relation, ...]


class StructureCheck:
    """Goes through all combinations of up to m labels and 1 to n relations of a projected synopsis, in a fixed order.

    The order is that of Algorithm 3, for 2, 3, …, m labels. A pass leaves out what is known to hold: combinations
    without a label that is new in this cut (`fresh`) and without a relation that changed since they were last counted.
    The joint attacker's supports depend on how the whole tree is merged: there nothing is known from before.
    """

    def __init__(self, tree: Projected, space: SetStack, label_set: Ints, fresh: Flags, guarantee: Guarantee) -> None:
        self.tree, self.space, self.label_set, self.guarantee = tree, space, label_set, guarantee
        self.joint = guarantee.attacker == "joint"
        self._fresh = np.ones_like(fresh) if self.joint else fresh
        self._since = 1
        most = max(guarantee.n, 1)
        self._state = np.zeros(guarantee.m + 2, np.int32)
        self._upper, self._lower = np.zeros(most, np.int32), np.zeros(most, np.int32)
        self._chosen = np.empty(guarantee.m + most, np.int32)
        base = tree.base
        # These arrays are changed in place; those of the store may be moved to larger ones.
        self._published: Published = (label_set, tree.relation_set, tree.changed)
        self._places: Places = (
            base.offsets, base.nodes, tree.node_of, tree.into, tree.parent, tree.place, tree.class_of
        )  # fmt: skip
        self._asked: Asked = (guarantee.k, guarantee.m, guarantee.n, self.joint)

    def new_pass(self, since: int) -> None:
        """Start again from the first combination, for those whose relations changed with disassociation `since` on."""
        self._state[:] = 0
        self._since = since + 1
        if not self.joint:
            self._fresh = np.zeros_like(self._fresh)

    def next(self) -> Combination | None:
        """Return the next combination that fails; None when the pass is over."""
        given = self.guarantee
        if given.m < 2 or given.n < 1:
            return None
        count = next_broken(
            self.space.arrays,
            self.space.room,
            self._published,
            self._places,
            self._asked,
            self._since,
            self._fresh,
            self._state,
            self._upper,
            self._lower,
        )
        if not count:
            return None
        labels = tuple(self._state[1 : 1 + self._state[0]].tolist())
        ends = zip(self._upper[:count].tolist(), self._lower[:count].tolist(), strict=True)
        return Combination(labels, tuple((labels[upper], labels[lower]) for upper, lower in ends))

    def fails(self, combination: Combination) -> bool:
        """Return whether some records, but fewer than k, hold a combination."""
        labels = combination.labels
        upper = np.array([labels.index(upper) for upper, _ in combination.relations], np.int32)
        lower = np.array([labels.index(lower) for _, lower in combination.relations], np.int32)
        given = (np.array(labels, np.int32), len(labels), upper, lower, len(upper), self._chosen)
        return bool(broken(self.space.arrays, self._published, self._places, self._asked, *given))

    def support(self, relation: Relation) -> int:
        """Return the number of records that hold a relation."""
        number = self.tree.relation_set[relation]
        return int(self.space.size[number]) if number >= 0 else 0


def fix_structure(check: StructureCheck, lasting: int) -> int:
    """Disassociate until the tree of the check satisfies the guarantee; the number of passes that this took.

    The list of disassociations is `check.tree.moves`. Record sets numbered below `lasting` are not changed.
    """
    tree = check.tree
    passes = 0
    while True:
        start = len(tree.moves)
        passes += 1
        while failing := check.next():
            # Every relation goes once at most, so this ends; the tree without relations holds by ValueCheck.
            while failing.relations and check.fails(failing):
                rarest = min((r for r in failing.relations if check.support(r)), key=check.support)
                tree.disassociate(*rarest, check.space, lasting)
                failing = replace(failing, relations=tuple(r for r in failing.relations if r != rarest))
        if len(tree.moves) == start:
            return passes
        # What this pass counted before its last disassociation may have changed since.
        check.new_pass(start + 1)
