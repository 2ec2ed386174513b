"""Queries of trees: a condition asks whether a person has some value of a class, `under` if one lies below another.

Every published node stands for one or more of the original with a value of which its own is the published one, so that
what all of those values satisfy is surely there. What may be there and is not seen has three sources, each of which
widens the bounds: nodes that were left out by rules (with all that lay below them), nodes that were moved (what a
release has above a node the original had there, too, but not the other way round), and classes that are withheld. A
solution says which of them there are; without one all are possible, except for a class of which a record has one value
at most and shows it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from treeanon.arrays import Flags, Floats, Ints, Longs, unique_values
from treeanon.forest import Forest
from treeanon.forest.classes import STAR
from treeanon.queries.domains import Domain, Readings, domain_of
from treeanon.queries.grammar import Condition, Formula, QueryError, Under, conditions, fold, relations
from treeanon.queries.lines import ROOT
from treeanon.queries.rows import Counts


class Told(Protocol):
    """What a solution tells of what a release does not show."""

    @property
    def cut(self) -> Mapping[str, Any] | None:
        """The published nodes of each class; None where records were recoded separately."""

    @property
    def withheld(self) -> tuple[str, ...]:
        """The classes of which nothing is published."""

    @property
    def disassociated(self) -> tuple[Any, ...]:
        """The relations whose lower nodes were moved."""

    @property
    def left_out(self) -> tuple[tuple[Any, ...], ...]:
        """The rules of leaving out: trigger and label, each a class and a value."""


@dataclass(frozen=True)
class Known:
    """What is known of each record, or of each node: whether something surely holds, may hold, and how likely it is."""

    must: Flags
    can: Flags
    share: Floats

    def negated(self) -> Known:
        """Return the same of the opposite."""
        return Known(~self.can, ~self.must, 1.0 - self.share)

    def joined(self, how: str, other: Known) -> Known:
        """Return the same of both, or of one of both."""
        if how == "and":
            return Known(self.must & other.must, self.can & other.can, self.share * other.share)
        share = 1.0 - (1.0 - self.share) * (1.0 - other.share)
        return Known(self.must | other.must, self.can | other.can, share)


def count_trees(forest: Forest, formula: Formula, solution: Told | None = None) -> Counts:
    """Return how many persons of the original of a forest satisfy a formula.

    >>> import treeanon as ta
    >>> from treeanon.algorithms.tree.solution import Solution
    >>> from treeanon.queries.grammar import parse
    >>> schema = ta.Schema.loads('''
    ... version = 1
    ... [input]
    ... format = "trees"
    ... [[class]]
    ... name = "hospital"
    ... [[class]]
    ... name = "disease"
    ... under = "hospital"
    ... ''')
    >>> forest = ta.Forest.from_records(schema, [
    ...     [["hospital", "H1", [["disease", "Flu", []]]]],
    ...     [["hospital", "*", [["disease", "Acne", []]]]]])
    >>> whole = Solution(ta.Guarantee(2), "gcs", {"hospital": ("*",), "disease": ("*",)})
    >>> count_trees(forest, parse("disease = Flu under hospital = H1"), whole)
    (1.0, 1, 1)
    >>> count_trees(forest, parse("hospital = H1"), whole)[1:], count_trees(forest, parse("disease = Flu"))[1:]
    ((1, 2), (1, 2))
    """
    return counted(PublishedTrees(forest, solution, list(conditions(formula))), formula)


def counted(trees: PublishedTrees, formula: Formula) -> Counts:
    """Return how many persons of the original of trees satisfy a formula, whose conditions they were made for."""
    for relation in relations(formula):
        trees.check(relation)

    def leaf(part: Condition | Under) -> Known:
        return trees.relation(part) if isinstance(part, Under) else trees.condition(part)

    found = fold(formula, leaf, Known.negated, lambda how, a, b: a.joined(how, b))
    # Conditions need not be independent of each other: what is sure is not estimated.
    share = np.where(found.must, 1.0, np.where(found.can, found.share, 0.0))
    return float(share.sum()), int(found.must.sum()), int(found.can.sum())


class PublishedTrees:
    """A published forest, and what may have been in the records that it does not show, as far as is asked.

    Published values are read as those of the trees `like` others, if there are some: that need not be found out again.
    """

    def __init__(
        self,
        forest: Forest,
        solution: Told | None,
        asked: Sequence[Condition],
        like: PublishedTrees | None = None,
    ) -> None:
        self.forest, self.classes, self.solution = forest, forest.classes, solution
        self.record = np.repeat(np.arange(len(forest)), np.diff(forest.offsets))
        # The position of every parent among all nodes.
        start = forest.offsets[self.record]
        self.parent: Longs = np.where(forest.parent < 0, -1, forest.parent + start).astype(np.int64)
        self.of_class: Ints = self.classes.class_of[forest.label]
        self.domains: dict[Condition, tuple[int, Domain]] = {} if like is None else like.domains
        self._readings: dict[tuple[Condition, int], Readings] = {} if like is None else like._readings
        if like is None:
            self.ask(asked)

    def ask(self, asked: Iterable[Condition]) -> None:
        """Prepare for further conditions; UsageError for one that does not fit the classes."""
        forest = self.forest
        specs = {published.name: published for published in forest.schema.layout.classes if not published.is_object}
        for condition in dict.fromkeys(asked):
            if condition.name not in specs:
                known = ", ".join(specs)
                raise QueryError(condition.place, f"unknown class {condition.name!r}; choose from {known}")
            index = self.classes.index(condition.name)
            texts = self.classes.texts_of(index, unique_values(forest.label[self.of_class == index]))
            exists = Condition(condition.name, "in", (), condition.place)
            wanted = exists if condition.operator == "missing" else condition
            hierarchy = self.classes.hierarchies[index]
            self.domains[condition] = (index, domain_of(specs[condition.name].spec, [wanted], hierarchy, texts))

    def condition(self, condition: Condition) -> Known:
        """Return which records have a value that satisfies a condition; or none of the class."""
        if condition.operator == "missing":
            index = self.domains[condition][0]
            there = self.of_class == index
            return self._in_records(Known(there, there | (self.of_class < 0), there * 1.0), condition).negated()
        return self._in_records(self.nodes(condition), condition)

    def nodes(self, condition: Condition) -> Known:
        """Return which nodes stand for a value that satisfies a condition."""
        index = self.domains[condition][0]
        at = np.flatnonzero(self.of_class == index)
        labels, of_node = np.unique(self.forest.label[at], return_inverse=True)
        found = [self.readings(condition, label) for label in labels.tolist()]
        can, must = np.zeros(len(self.record), np.bool_), np.zeros(len(self.record), np.bool_)
        share = np.zeros(len(self.record))
        can[at] = np.array([1 in readings for readings in found], np.bool_)[of_node]
        must[at] = np.array([list(readings) == [1] for readings in found], np.bool_)[of_node]
        share[at] = np.array([readings.get(1, 0.0) for readings in found])[of_node]
        if any(constant.text == ROOT for constant in condition.constants):
            # A node is some value: a root does not stand for one that is missing, which would be no node.
            must[at] = True
        can[self.of_class < 0] = True
        share[self.of_class < 0] = 0.5
        return Known(must, can, share)

    def readings(self, condition: Condition, label: int) -> Readings:
        """Return what a label of the class of a condition may stand for."""
        if (condition, label) not in self._readings:
            text = self.classes.decode(label)[1]
            self._readings[condition, label] = self.domains[condition][1].readings(text)
        return self._readings[condition, label]

    def _in_records(self, nodes: Known, condition: Condition) -> Known:
        """Return in which records there is such a node, or may have been one that is not seen."""
        size = len(self.forest)
        must, can = (np.bincount(self.record, weights=some, minlength=size) > 0 for some in (nodes.must, nodes.can))
        with np.errstate(divide="ignore"):
            lacking = np.bincount(self.record, weights=np.log1p(-np.minimum(nodes.share, 1.0)), minlength=size)
        return Known(must, can | self.hidden(condition), 1.0 - np.exp(lacking))

    # --- relations ---------------------------------------------------------------------------------------------------

    def check(self, relation: Under) -> None:
        """Refuse a relation that no tree can have."""
        lower, upper = (self.domains[end][0] for end in (relation.lower, relation.upper))
        home = self.classes.parents[upper] if self.classes.types else upper
        if home < 0:
            what = "stands in the record itself, in which everything lies: use and"
            raise QueryError(relation.upper.place, f"{relation.upper.name} {what}")
        above = self.classes.parents[lower]
        while above >= 0 and above != home:
            above = self.classes.parents[above]
        if above < 0 or lower == upper:
            raise QueryError(relation.lower.place, f"{relation.lower.name} never lies under {relation.upper.name}")

    def relation(self, relation: Under) -> Known:
        """Return which records have a node of the lower condition below one of the upper.

        Where objects stay whole: in an object that has a value of the upper one, or in an object below it.
        """
        lower, upper = self.nodes(relation.lower), self.nodes(relation.upper)
        above = [self._greatest(marks) for marks in (upper.must, upper.can, upper.share)]
        both = Known(lower.must & above[0], lower.can & above[1], lower.share * above[2])
        found = self._in_records(both, relation.lower)
        in_records = [self._in_records(nodes, end) for nodes, end in ((lower, relation.lower), (upper, relation.upper))]
        anywhere = in_records[0].can & in_records[1].can
        # A node that stands for any value of any class has what was above and below it in itself.
        stars = np.bincount(self.record[self.of_class < 0], minlength=len(self.forest)) > 0
        apart = self.moves | stars | self.hidden(relation.lower) | self.hidden(relation.upper)
        seen = np.bincount(self.record, weights=both.can, minlength=len(self.forest)) > 0
        return Known(found.must, seen | (apart & anywhere), found.share)

    @property
    def moves(self) -> bool:
        """Whether nodes may stand higher than they stood."""
        if self.classes.types:
            return False
        return self.solution is None or bool(self.solution.disassociated) or self.solution.cut is None

    def _starts(self, marked: np.ndarray) -> np.ndarray:
        """Return the marks of nodes at what they are above: themselves, or the object that they are a field of."""
        if not self.classes.types:
            return marked
        out = np.zeros_like(marked)
        fields = np.flatnonzero(self.parent >= 0)
        np.maximum.at(out, self.parent[fields], marked[fields])
        return out

    def _greatest(self, marked: np.ndarray) -> np.ndarray:
        """Return the greatest mark above every node."""
        marks, out = self._starts(marked), np.zeros_like(marked)
        at = self.parent
        while (inside := at >= 0).any():
            out[inside] = np.maximum(out[inside], marks[at[inside]])
            at = np.where(inside, self.parent[np.maximum(at, 0)], -1)
        return out

    # --- what is not seen --------------------------------------------------------------------------------------------

    def hidden(self, condition: Condition) -> Flags:
        """Return the records that may have had a value which satisfies a condition, and do not show it."""
        index, domain = self.domains[condition]
        size = len(self.forest)
        there = np.bincount(self.record[self.of_class == index], minlength=size) > 0
        single = there if self._is_single(index) else np.zeros(size, np.bool_)
        if self.solution is None or self.solution.cut is None:
            return ~single
        if self.classes.names[index] in self.solution.withheld:
            return ~single
        fits = [self._may_hide(rule, index, condition, domain) for rule in self.solution.left_out]
        return self._active(np.array(fits, np.bool_)) & ~single if any(fits) else np.zeros(size, np.bool_)

    def _is_single(self, index: int) -> bool:
        """Return whether a record has one value of a class at most."""
        schema = self.forest.schema
        published = schema.layout.classes[index]
        path = published.spec.path
        one = path is not None and not any(step.repeated or step.predicate for step in path.steps)
        return bool(one and published.container == 0 and schema.input.person is None and not schema.files)

    def _may_hide(self, rule: tuple[Any, ...], index: int, condition: Condition, domain: Domain) -> bool:
        """Return whether what a rule leaves out may have a value that satisfies a condition."""
        if rule[1][0] == STAR or index in self._inside(self.classes.index(rule[1][0])):
            return True
        return self.classes.names[index] == rule[1][0] and (
            condition.operator == "missing" or 1 in domain.readings(rule[1][1])
        )

    def _inside(self, owner: int) -> set[int]:
        """Return the classes of which a left-out node of a class may take values with it."""
        # An object goes with all of its fields.
        top = self.classes.parents[owner] if self.classes.types else owner
        found: set[int] = set()
        for index, above in enumerate(self.classes.parents):
            if above in found or (above == top and top >= 0):
                found.add(index)
        return found

    @cached_property
    def _triggered(self) -> list[np.ndarray]:
        """Return, for every rule of leaving out, the records that hold its trigger, or may have held it."""
        assert self.solution is not None
        rules = self.solution.left_out
        size = len(self.forest)
        active = []
        for rule in rules:
            found = np.zeros(size, np.bool_)
            if self._is_known(rule[0]):
                found[self.record[self.forest.label == self.classes.label(*rule[0])]] = True
            active.append(found)
        # What one rule leaves out may have been, or have had below it, the trigger of another.
        for _ in rules:
            before = [int(found.sum()) for found in active]
            for first, rule in enumerate(rules):
                inside = self._inside(self.classes.index(rule[1][0])) if rule[1][0] != STAR else set()
                for second, other in enumerate(rules):
                    own = other[0][0] != STAR and self.classes.index(other[0][0]) in inside
                    if own or other[0] == rule[1]:
                        active[second] |= active[first]
            if before == [int(found.sum()) for found in active]:
                break
        return active

    def _is_known(self, label: tuple[str, str]) -> bool:
        """Return whether the release can have a label."""
        name, text = label
        return name == STAR or self.classes.hierarchies[self.classes.index(name)].find(text) is not None

    def _active(self, fits: Flags) -> Flags:
        out = np.zeros(len(self.forest), np.bool_)
        for fit, found in zip(fits.tolist(), self._triggered, strict=True):
            if fit:
                out |= found
        return out
