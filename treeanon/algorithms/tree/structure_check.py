"""StructureCheck (TREE, Algorithm 2): labels and relations that some records hold together, but fewer than k.

Where we differ. Labels that no relation speaks of count too, which Algorithm 2 forgets. Only combinations that can fail
are counted (see `StructureCheck`), and counting stops at k records. With the joint attacker the records in which one
and the same nodes witness all relations are counted as well.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from treeanon.algorithms.tree.projected import Projected
from treeanon.algorithms.tree.workspace import Workspace
from treeanon.kernels.tree.forest import Ints
from treeanon.kernels.tree.structure_check import broken, next_broken
from treeanon.kernels.tree.synopsis import Flags
from treeanon.privacy import Guarantee

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

    def __init__(self, tree: Projected, space: Workspace, label_set: Ints, fresh: Flags, guarantee: Guarantee) -> None:
        self.tree, self.space, self.label_set, self.guarantee = tree, space, label_set, guarantee
        self.joint = guarantee.attacker == "joint"
        self._fresh = np.ones_like(fresh) if self.joint else fresh
        self._since = 1
        most = max(guarantee.n, 1)
        self._state = np.zeros(guarantee.m + 2, np.int32)
        self._upper, self._lower = np.zeros(most, np.int32), np.zeros(most, np.int32)
        self._chosen = np.empty(guarantee.m + most, np.int32)

    def new_pass(self, since: int) -> None:
        """Starts again from the first combination, for those whose relations changed with disassociation `since` on."""
        self._state[:] = 0
        self._since = since + 1
        if not self.joint:
            self._fresh = np.zeros_like(self._fresh)

    def next(self) -> Combination | None:
        """The next combination that fails; None when the pass is over."""
        given, tree = self.guarantee, self.tree
        if given.m < 2 or given.n < 1:
            return None
        count = next_broken(
            *self.space.arrays,
            self.space.room,
            self.label_set,
            tree.relation_set,
            tree.changed,
            self._since,
            self._fresh,
            given.k,
            given.m,
            given.n,
            self.joint,
            tree.base.offsets,
            tree.base.nodes,
            tree.node_of,
            tree.into,
            tree.parent,
            tree.place,
            tree.class_of,
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
        """Whether some records, but fewer than k, hold a combination."""
        labels, tree = combination.labels, self.tree
        return bool(
            broken(
                *self.space.arrays,
                self.label_set,
                tree.relation_set,
                np.array(labels, np.int32),
                len(labels),
                np.array([labels.index(upper) for upper, _ in combination.relations], np.int32),
                np.array([labels.index(lower) for _, lower in combination.relations], np.int32),
                len(combination.relations),
                self.guarantee.k,
                self.joint,
                tree.base.offsets,
                tree.base.nodes,
                tree.node_of,
                tree.into,
                tree.parent,
                tree.place,
                tree.class_of,
                self._chosen,
            )
        )

    def support(self, relation: Relation) -> int:
        """The number of records that hold a relation."""
        number = self.tree.relation_set[relation]
        return int(self.space.size[number]) if number >= 0 else 0
