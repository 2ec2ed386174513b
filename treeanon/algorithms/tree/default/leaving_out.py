"""Leaves nodes out until no combination of labels and relations is rare: the default's way to end a relation.

A rule (a, b) leaves out every node b below a node a, with all that lies below it. Whoever knows of an original person
what a rule took away finds, in its place, every record with a node a: the rule says nothing else (docs/guarantee.md has
the theorem). TREE's disassociation moves such nodes instead, and where they then stand can point back.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from treeanon.algorithms.tree.default.combinations import Combination, rare_combinations
from treeanon.algorithms.tree.default.counting import LocalCounting, repair
from treeanon.algorithms.tree.default.object_rules import Rule as ObjectRule
from treeanon.algorithms.tree.default.object_rules import always_one, bound_types, leave_out_of_objects
from treeanon.algorithms.tree.default.strict import keeps_extensions
from treeanon.algorithms.tree.default.strict import needed as strictly
from treeanon.algorithms.tree.default.traces import has_traces, split_moves, with_left_behind, with_traces
from treeanon.algorithms.tree.solution import LabelPair, LabelRule, Result
from treeanon.arrays import Ints, Longs, unique_values
from treeanon.errors import GuaranteeError, UsageError
from treeanon.forest import Forest
from treeanon.forest.classes import STAR
from treeanon.privacy import Guarantee

Rule = tuple[int, int]
"""A trigger, and the label that is left out below it."""

TAKING_APART = ("leave-out", "move", "none")

_ROUNDS = 50


def leave_out_rare(
    forest: Forest, guarantee: Guarantee, bound: frozenset[int], given: Sequence[Rule] = ()
) -> tuple[list[Rule], Forest] | None:
    """Rules, and the forest without what they leave out, in which nothing is rare; None if rules cannot do it.

    Classes of `bound` are told of every node of another class: their absence would tell that something was left out.
    """
    rules: list[Rule] = []
    chosen = list(given)
    for _ in range(_ROUNDS):
        rules = sorted({*rules, *chosen})
        # Anew from the first, as a solution applies them: a later rule may belong before an earlier one.
        upper, lower = np.array(rules, np.int32).reshape(-1, 2).T
        rest = forest.leave_out_labels(np.ascontiguousarray(upper), np.ascontiguousarray(lower))
        found = rare_combinations(rest if guarantee.as_published else with_traces(rest), guarantee)
        if not found:
            return rules, rest
        more = _Chooser(rest, bound).choose(found)
        if more is None:
            return None
        chosen = more
    return None


@dataclass(frozen=True)
class Ended:
    """What has become of a forest whose rare relations were ended: pairs moved, in order, and rules of leaving out."""

    moves: list[Rule]
    rules: Sequence[Rule | ObjectRule]
    forest: Forest

    @property
    def disassociated(self) -> tuple[LabelPair, ...]:
        """The pairs moved, as classes and values."""
        decode = self.forest.classes.decode
        return tuple((decode(a), decode(b)) for a, b in self.moves)

    @property
    def left_out(self) -> tuple[LabelRule, ...]:
        """The rules, as classes and values, those of whole objects with the name of their type."""
        classes = self.forest.classes
        out: list[LabelRule] = []
        for rule in self.rules:
            trigger, label = classes.decode(rule[0]), classes.decode(rule[1])
            out.append((trigger, label, classes.decode(rule[2])[0]) if len(rule) == 3 else (trigger, label))
        return tuple(out)


@dataclass(frozen=True)
class Ending:
    """How relations are ended: by leaving nodes out, by moving them, or not at all.

    `bound` are classes of which no node may be left out (see `bound_classes`).
    """

    guarantee: Guarantee
    how: str
    bound: frozenset[int]

    @classmethod
    def of(cls, forest: Forest, guarantee: Guarantee, how: str | None = None) -> Ending:
        """The way to end relations of a collection."""
        if how is None:
            how = "move" if guarantee.as_published and not forest.classes.types else "leave-out"
        if how not in TAKING_APART:
            raise UsageError(f"taking_apart must be one of {', '.join(TAKING_APART)}")
        if how == "move" and forest.classes.types:
            raise UsageError("taking_apart = move is for merged trees: nothing moves out of an object that stays whole")
        return cls(guarantee, how, bound_classes(forest))

    def end(self, forest: Forest, pairs: Sequence[Rule] = (), *, rare: bool) -> Ended | None:
        """The projected forest with the relations of these pairs ended, and more if some are `rare`; None if it fails.

        Without rare relations only what stands out of place needs to be looked at.
        """
        if forest.classes.types:
            return self._of_objects(forest, rare=rare)
        moves = list(pairs)
        if self.how == "move" and rare:
            repaired = repair(LocalCounting(forest).move(moves), self.guarantee)
            if repaired is None:
                return None
            moves += repaired[0]
        if self.how == "move" and self.guarantee.as_published:
            return Ended(moves, [], LocalCounting(forest).move(moves).forest if moves else forest)
        if not (moves or rare or has_traces(forest)):
            return Ended([], [], forest)
        return self._safe(forest, moves)

    def _of_objects(self, forest: Forest, *, rare: bool) -> Ended | None:
        """Return the same where objects stay whole: nothing is out of place."""
        if not rare:
            return Ended([], [], forest)
        found = leave_out_of_objects(forest, self.guarantee, self.bound)
        return None if found is None else Ended([], *found)

    def _safe(self, forest: Forest, pairs: list[Rule]) -> Ended | None:
        moves, rules = split_moves(forest, pairs) if self.how == "move" else ([], pairs)
        while True:
            moved = LocalCounting(forest).move(moves).forest if moves else forest
            if rules and self.bound and _Chooser(moved, self.bound).all_of(rules) is None:
                return None
            found = leave_out_rare(moved, self.guarantee, self.bound, rules)
            if found is None or self.guarantee.as_published:
                return None if found is None else Ended(moves, *found)
            behind, left_behind = with_left_behind(found[1]) or (None, [])
            if self._keeps_all(found[1], behind):
                return Ended(moves, *found)
            # Where a moved node had others below it, what these have become tells of it: it is left out with them.
            more = [pair for pair in moves if pair in left_behind] or [p for p in left_behind if p not in rules]
            if not more:
                return None
            moves = [pair for pair in moves if pair not in more]
            rules = sorted({*rules, *more})

    def _keeps_all(self, forest: Forest, behind: Forest | None) -> bool:
        """Whether nothing is rare with what may have stayed behind, and no extension of the guarantee is broken."""
        if behind is not None and rare_combinations(behind, self.guarantee):
            return False
        if not strictly(self.guarantee):
            return True
        read = [with_traces(forest), *([] if behind is None else [behind])]
        return all(keeps_extensions(one, self.guarantee) for one in read)


def safe_result(forest: Forest, result: Result) -> Result:
    """The result of a search that moves nodes, safe for what is known of the original.

    GuaranteeError where leaving out what points to persons would tell of itself.
    """
    solution = result.solution
    if solution.guarantee.as_published or solution.cut is None or STAR in solution.cut or solution.left_out:
        return result
    if forest.classes.types:
        return result
    before = forest if result.kept is None else forest.take(result.kept)
    label = forest.classes.label
    pairs = [(label(*upper), label(*lower)) for upper, lower in solution.disassociated]
    projected = replace(solution, disassociated=()).apply(before)
    ended = Ending.of(before, solution.guarantee, "move").end(projected, pairs, rare=False)
    if ended is None:
        raise GuaranteeError(
            f"the release of {solution.algorithm} cannot be made safe for whoever knows the original: try the default"
            " search, or ask for the release as published"
        )
    solution = replace(solution, disassociated=ended.disassociated, left_out=ended.left_out)
    return replace(result, solution=solution, forest=ended.forest)


class _Chooser:
    """Chooses rules that end all of some combinations, those that leave out few nodes first."""

    def __init__(self, forest: Forest, bound: frozenset[int]) -> None:
        self.forest, self.bound = forest, bound
        self._held: dict[int, Longs] = {}
        self._costs: dict[Rule, int] = {}

    def choose(self, combinations: list[Combination]) -> list[Rule] | None:
        """Rules that end every combination; None if one has no label that a rule can leave out."""
        chosen: dict[Rule, None] = {}
        self._find({label for combination in combinations for label in combination.labels})
        for combination in combinations:
            ends: list[Rule] = [relation[:2] for relation in combination.relations]
            if any(rule in chosen for rule in ends):
                continue
            options = [[rule] for rule in ends if self._allowed(rule)]
            if not options:
                options = [rules for label in combination.labels if (rules := self._wherever(label, combination))]
            if not options:
                return None
            best = min(options, key=lambda rules: (sum(map(self._cost, rules)), rules))
            chosen.update(dict.fromkeys(best))
        return list(chosen)

    def all_of(self, rules: list[Rule]) -> list[Rule] | None:
        """These rules; None if one may not be."""
        self._find({lower for _, lower in rules})
        return rules if all(map(self._allowed, rules)) else None

    def _allowed(self, rule: Rule) -> bool:
        """Whether a rule takes nothing from below a node where its absence would tell."""
        bound = int(self.forest.classes.class_of[rule[1]]) in self.bound
        return not bound or not self._is_relation(rule)

    def _is_relation(self, rule: Rule) -> bool:
        """Whether some node of a rule's label is below one of its trigger."""
        nodes = self._nodes(rule[1])
        while len(nodes):
            above = self._above(nodes)
            nodes = above[above >= 0]
            if (self.forest.label[nodes] == rule[0]).any():
                return True
        return False

    def _records(self, nodes: Longs) -> Longs:
        return np.searchsorted(self.forest.offsets, nodes, side="right") - 1

    def _above(self, nodes: Longs) -> Longs:
        """The parents of nodes, -1 where there is none."""
        parent = self.forest.parent[nodes]
        return np.where(parent < 0, -1, self.forest.offsets[self._records(nodes)] + parent)

    def _find(self, labels: set[int]) -> None:
        """Looks for the nodes of some labels: usually a few of many nodes, which are gone through once."""
        wanted = np.zeros(len(self.forest.classes), bool)
        wanted[list(labels)] = True
        nodes = np.flatnonzero(wanted[self.forest.label])
        nodes = nodes[np.argsort(self.forest.label[nodes], kind="stable")]
        last = np.searchsorted(self.forest.label[nodes], sorted(labels), side="right")
        self._held = dict(zip(sorted(labels), np.split(nodes, last[:-1]), strict=True)) if labels else {}

    def _nodes(self, label: int) -> Longs:
        return self._held[label]

    def _holders(self, labels: Iterable[int]) -> Longs:
        """The records that hold all labels."""
        found: Longs | None = None
        for label in labels:
            records = unique_values(self._records(self._nodes(label)))
            found = records if found is None else np.intersect1d(found, records, assume_unique=True)
        assert found is not None
        return found

    def _parents(self, nodes: Longs) -> Ints:
        """The labels of the parents of nodes, -1 where there is none."""
        above = self._above(nodes)
        return np.where(above < 0, -1, self.forest.label[np.maximum(above, 0)]).astype(np.int32)

    def _wherever(self, label: int, combination: Combination) -> list[Rule]:
        """Rules that leave out a label in all records that hold a combination; none if it may not be left out."""
        nodes = self._nodes(label)
        nodes = nodes[np.isin(self._records(nodes), self._holders(combination.labels))]
        above = unique_values(self._parents(nodes))
        rules = [(trigger, label) for trigger in above.tolist()]
        return rules if all(trigger >= 0 and self._allowed((trigger, label)) for trigger, _ in rules) else []

    def _cost(self, rule: Rule) -> int:
        """The nodes that a rule leaves out, by their parents alone."""
        if rule not in self._costs:
            self._costs[rule] = int(np.count_nonzero(self._parents(self._nodes(rule[1])) == rule[0]))
        return self._costs[rule]


def bound_classes(forest: Forest) -> frozenset[int]:
    """The classes of which every node of the class above, or object, holds exactly one: absence would be told there."""
    classes = forest.classes
    if classes.types:
        return bound_types(forest)

    def held(index: int, own: Ints, above: Longs) -> Longs:
        below = above[(own == index) & (above >= 0)]
        below = below[own[below] == classes.parents[index]]
        counts: Longs = np.bincount(below, minlength=len(own))[own == classes.parents[index]]
        return counts

    return always_one(forest, [index for index, above in enumerate(classes.parents) if above >= 0], held)
