"""Leaves labels out of whole objects until no combination is rare.

A rule (a, b, t) leaves every b out of each object of type t that holds an a, in itself or in objects below it. Whoever
knows of an original person what a rule took away finds, in its place, every record with such an object that holds a:
the rule says nothing else. Three conditions make that exact.

- Rules have no circle, and a rule whose trigger is b comes after all rules that leave b out. So all labels have one
  order: of two labels the first is the trigger, and rules go by their triggers. Labels that more persons hold come
  first; before them those of classes of which nothing may be left out.
- What is left out repeats within t, and goes without a trace: b is all that an object (or several, one in another)
  directly below t can hold. A field holds one value: were b left out of it, a record in which the field holds another
  value could not be meant, and one in which it is empty would be.
- It is not so that every object has just one value of b's class: there absence would tell.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from treeanon.algorithms.tree.default.combinations import Combination, rare_combinations
from treeanon.arrays import Ints, Longs, unique_values
from treeanon.forest import Classes, Forest
from treeanon.kernels.tree.losses import count_records_with
from treeanon.privacy import Guarantee
from treeanon.privacy.guarantee import roles_of

Rule = tuple[int, int, int]
"""A trigger, the label that is left out, and the type of the objects, all as labels."""

_ROUNDS = 50


def leave_out_of_objects(
    forest: Forest, guarantee: Guarantee, bound: frozenset[int]
) -> tuple[list[Rule], Forest] | None:
    """Return rules, and the forest without what they leave out, in which nothing is rare; None if rules cannot do it.

    Nothing is left out of the classes of `bound`, which every object that can hold them does: absence would tell.
    """
    bound |= {index for index in range(len(forest.classes.names)) if not leaving_kinds(forest.classes, index)}
    rank = label_ranks(forest, bound)
    rules: list[Rule] = []
    for _ in range(_ROUNDS):
        # Anew from the first, as a solution applies them: a later rule may belong before an earlier one.
        rest = forest.leave_out_labels(*np.array(rules, np.int32).reshape(-1, 3).T)
        found = rare_combinations(rest, guarantee)
        if not found:
            return rules, rest
        more = _Chooser(rest, guarantee, bound, rank).choose(found)
        if more is None:
            return None
        rules = sorted({*rules, *more}, key=lambda rule: (rank[rule[0]], rank[rule[1]], rule[2]))
    return None


def leaving_kinds(classes: Classes, index: int) -> tuple[int, ...]:
    """Return the kinds of relations that a rule may end by leaving out a value of a class.

    Of an object at such a depth the next object down to the value can hold values of this class alone.
    """
    holders = np.zeros(len(classes.names), np.int64)
    for owner in range(classes.types, len(classes.names)):
        above = classes.parents[owner]
        while above >= 0:
            holders[above] += 1
            above = classes.parents[above]
    inner = (classes.type_of(index, kind + 1) for kind in range(classes.kinds))
    return tuple(kind for kind, below in enumerate(inner) if below >= 0 and holders[below] == 1)


def label_ranks(forest: Forest, bound: frozenset[int]) -> Longs:
    """Return the place of every label in the order of labels, by what persons hold of a projected forest."""
    held = count_records_with(forest.offsets, forest.label, len(forest.classes))
    is_free = ~np.isin(forest.classes.class_of, sorted(bound))
    rank = np.empty(len(held), np.int64)
    rank[np.lexsort((np.arange(len(held)), -held, is_free))] = np.arange(len(held))
    return rank


class _Chooser:
    """Chooser of rules that end all of some combinations, those first that leave out few values."""

    def __init__(self, forest: Forest, guarantee: Guarantee, bound: frozenset[int], rank: Longs) -> None:
        self.forest, self.bound, self.rank = forest, bound, rank
        self.record = np.repeat(np.arange(len(forest)), np.diff(forest.offsets))
        self.order = np.argsort(forest.label, kind="stable")
        self.starts = np.searchsorted(forest.label[self.order], np.arange(len(forest.classes) + 1))
        self.objects = enclosing_objects(forest)
        known = np.isin(forest.classes.class_of[forest.label], roles_of(forest, guarantee).known)
        self.first = [self._first_labels(objects, known) for objects in self.objects]
        self._costs: dict[Rule, int] = {}

    def _first_labels(self, objects: Longs, known: np.ndarray) -> Longs:
        """Return for every object (and node) the place of the first known label that it holds."""
        first = np.full(self.forest.nodes, len(self.rank), np.int64)
        nodes = np.flatnonzero((objects >= 0) & known)
        np.minimum.at(first, objects[nodes], self.rank[self.forest.label[nodes]])
        return first

    def choose(self, combinations: list[Combination]) -> list[Rule] | None:
        """Return rules that end every combination; None if one has no label that a rule can leave out."""
        chosen: dict[Rule, None] = {}
        for combination in combinations:
            ends = [self._rule(*relation) for relation in combination.relations]
            if any(rule in chosen for rule in ends):
                continue
            options = [[rule] for rule in ends if self._allowed(rule[1], rule[2])]
            if not options:
                options = [rules for label in combination.labels if (rules := self._wherever(label, combination))]
            if not options:
                return None
            best = min(options, key=lambda rules: (sum(map(self._cost, rules)), rules))
            chosen.update(dict.fromkeys(best))
        return list(chosen)

    def _rule(self, a: int, b: int, kind: int) -> Rule:
        """Return the rule that ends a relation."""
        trigger, label = (a, b) if self.rank[a] < self.rank[b] else (b, a)
        return trigger, label, self._type(label, kind)

    def _type(self, label: int, kind: int) -> int:
        classes = self.forest.classes
        return int(classes.first[classes.type_of(int(classes.class_of[label]), kind)])

    def _allowed(self, label: int, home: int) -> bool:
        """Return whether a label may be left out of objects of a type."""
        classes = self.forest.classes
        own, kind = int(classes.class_of[label]), int(classes.depth[classes.class_of[home]])
        return own not in self.bound and kind in leaving_kinds(classes, own)

    def _nodes(self, label: int) -> Longs:
        return self.order[self.starts[label] : self.starts[label + 1]]

    def _holders(self, labels: Iterable[int]) -> Longs:
        """Return the records that hold all labels."""
        found = [unique_values(self.record[self._nodes(label)]) for label in labels]
        records = found[0]
        for more in found[1:]:
            records = np.intersect1d(records, more, assume_unique=True)
        return records

    def _wherever(self, label: int, combination: Combination) -> list[Rule]:
        """Return rules that leave out a label in all records that hold a combination; none if it may not be left out.

        Each takes for its trigger the first label of the smallest object around that holds one before this.
        """
        if int(self.forest.classes.class_of[label]) in self.bound:
            return []
        nodes = self._nodes(label)
        nodes = nodes[np.isin(self.record[nodes], self._holders(combination.labels))]
        by_rank = np.argsort(self.rank)
        rules = set()
        for kind in reversed(leaving_kinds(self.forest.classes, int(self.forest.classes.class_of[label]))):
            first = np.where(self.objects[kind][nodes] < 0, len(self.rank), self.first[kind][self.objects[kind][nodes]])
            done = first < self.rank[label]
            for place in unique_values(first[done]).tolist():
                rules.add((int(by_rank[place]), label, self._type(label, kind)))
            nodes = nodes[~done]
        return sorted(rules) if not len(nodes) else []

    def _cost(self, rule: Rule) -> int:
        """Return how many values a rule leaves out."""
        if rule not in self._costs:
            classes = self.forest.classes
            objects = self.objects[int(classes.depth[classes.class_of[rule[2]]])]
            inside = objects[self._nodes(rule[1])]
            self._costs[rule] = int(np.isin(inside[inside >= 0], objects[self._nodes(rule[0])]).sum())
        return self._costs[rule]


def enclosing_objects(forest: Forest) -> list[Longs]:
    """Return for each kind of relation the object at that depth that every node lies in (or is), as a place among all
    nodes; -1: none.
    """
    record = np.repeat(np.arange(len(forest)), np.diff(forest.offsets))
    above = np.where(forest.parent < 0, -1, forest.offsets[record] + forest.parent)
    classes = forest.classes
    depth = np.append(classes.depth, 0)[classes.class_of[forest.label]]
    is_object = (forest.label > 0) & (forest.label <= classes.types)
    out = []
    for kind in range(classes.kinds):
        at = np.arange(forest.nodes)
        while True:
            deeper = (at >= 0) & (depth[at] > kind)
            if not deeper.any():
                break
            at = np.where(deeper, above[at], at)
        out.append(np.where((at >= 0) & is_object[at] & (depth[at] == kind), at, -1))
    return out


def bound_types(forest: Forest) -> frozenset[int]:
    """Return the classes of which every object that can hold one holds just one: absence would be told there.

    Where a type of objects holds a class and nothing else, what is left out is the object: then the objects around it
    count.
    """
    classes = forest.classes
    below = np.bincount(np.array([up for up in classes.parents if up >= 0], int), minlength=len(classes.names))
    homes: dict[int, int] = {}
    for index in range(classes.types, len(classes.names)):
        home = classes.parents[index]
        while home >= 0 and below[home] == 1:
            home = classes.parents[home]
        if home >= 0:
            homes[index] = home

    def held(index: int, own: Ints, above: Longs) -> Longs:
        nodes, home = np.flatnonzero(own == index), homes[index]
        while len(nodes) and (own[nodes] != home).any():
            nodes = np.where(own[nodes] == home, nodes, above[nodes])
        counts: Longs = np.bincount(nodes, minlength=len(own))[own == home]
        return counts

    return always_one(forest, homes, held)


_FIRST_RECORDS, _PIECE = 1_000, 50_000


def always_one(forest: Forest, classes: Iterable[int], held: Callable[[int, Ints, Longs], Longs]) -> frozenset[int]:
    """Return the classes of which there is one each in all that can hold one.

    `held` tells how many there are in each, for a class, and the class and the parent (-1: none) of every node. It is
    asked piece by piece, and of what the pieces before leave open alone: a few records tell of most classes.
    """
    waiting, there = set(classes), set[int]()
    first = 0
    while first < len(forest) and waiting:
        last = first + (_PIECE if first else _FIRST_RECORDS)
        piece = forest[first:last]
        own = forest.classes.class_of[piece.label]
        start = np.repeat(piece.offsets[:-1], np.diff(piece.offsets))
        above = np.where(piece.parent < 0, -1, start + piece.parent)
        for index in sorted(waiting):
            counts = held(index, own, above)
            if len(counts):
                there.add(index)
            if (counts != 1).any():
                waiting.discard(index)
        first = last
    return frozenset(waiting & there)
