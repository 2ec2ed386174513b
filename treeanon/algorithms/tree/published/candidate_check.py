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
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from treeanon.algorithms.tree.published.projected import Projected
from treeanon.algorithms.tree.record_sets import SetStack
from treeanon.arrays import Flags, Ints
from treeanon.kernels.tree.embeddings import Places
from treeanon.kernels.tree.structure_check import Asked, Published, broken, next_broken, rare_values
from treeanon.privacy import Guarantee


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
