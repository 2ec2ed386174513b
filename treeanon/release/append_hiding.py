"""Who of some persons can be published as a batch of their own: the largest part of them that hides everybody in it.

Everything that is known of somebody in the batch must fit k of the batch. What a person can be known by is the person's
alone, so that two batches in which everybody is hidden make a third: there is one largest, and whoever holds something
too rare in all that is left cannot be in it. They are taken out until nothing is rare.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from treeanon.algorithms.tree.default.combinations import Combination, rare_combinations
from treeanon.algorithms.tree.default.leaving_out import bound_classes
from treeanon.algorithms.tree.default.object_rules import enclosing_objects
from treeanon.algorithms.tree.default.strict import needed as is_extended
from treeanon.algorithms.tree.default.traces import Places, with_left_behind, with_traces
from treeanon.algorithms.tree.solution import Solution
from treeanon.arrays import Flags, Longs, unique_values
from treeanon.errors import GuaranteeError
from treeanon.forest import Forest
from treeanon.privacy import Guarantee
from treeanon.release.tree import refuse_uniform
from treeanon.verifier.tree import verify


def hidden_by(solution: Solution, forest: Forest) -> tuple[Longs, Forest]:
    """Return which persons of a forest are hidden in a batch that the solution makes of them, and that batch.

    Of all batches in which everybody is hidden it is the largest; it may be empty. For l-diversity, negative knowledge
    and what is known of the same nodes it is not worked out who stands in the way: where the largest batch for the rest
    of the guarantee does not keep them, nobody is hidden.
    """
    kept = np.flatnonzero(_is_traced(solution, forest))
    published, guarantee = solution.apply(forest), solution.guarantee
    while len(kept) >= guarantee.k:
        rest = published.take(kept)
        singled = _holders_of_rare(rest, guarantee) | _told_by_absence(solution, forest.take(kept))
        if not singled.any():
            if is_extended(guarantee) and not _keeps_extensions(rest, guarantee):
                break
            return kept, rest
        kept = kept[~singled]
    nobody = np.zeros(0, np.int64)
    return nobody, published.take(nobody)


def _keeps_extensions(batch: Forest, guarantee: Guarantee) -> bool:
    """Return whether a batch keeps all of a guarantee."""
    try:
        refuse_uniform(batch, guarantee)
    except GuaranteeError:
        return False
    return verify(batch, guarantee, patterns=False).holds


def _is_traced(solution: Solution, forest: Forest) -> Flags:
    """Return of whom all relations that moving ends are traces afterwards, or still there.

    The proof needs it (docs/guarantee.md); the search has seen to it for the persons it knew.
    """
    if not solution.disassociated or solution.guarantee.as_published:
        return np.ones(len(forest), bool)
    before = Places(replace(solution, disassociated=(), left_out=()).apply(forest))
    after = Places(replace(solution, left_out=()).apply(forest))
    lost = np.setdiff1d(before.relations(), np.concatenate([after.relations(), after.keys(*after.traces())]))
    traced = np.ones(len(forest), bool)
    traced[lost // len(forest.classes) ** 2] = False
    return traced


def _told_by_absence(solution: Solution, forest: Forest) -> Flags:
    """Return from whom a node is left out of a class that all others have exactly one of, so that it is missed."""
    told = np.zeros(len(forest), bool)
    bound = bound_classes(forest) if solution.left_out else frozenset()
    names = {forest.classes.names[index] for index in bound}
    rules = tuple(rule for rule in solution.left_out if rule[1][0] in names)
    if rules:
        before = replace(solution, left_out=()).apply(forest)
        told = np.diff(before.offsets) != np.diff(before.leave_out(rules).offsets)
    return told


def _holders_of_rare(forest: Forest, guarantee: Guarantee) -> Flags:
    """Return who holds something that fewer than k persons do, in any reading of what is known of the original."""
    read = [forest] if guarantee.as_published or forest.classes.types else _readings(forest)
    found = np.zeros(len(forest), bool)
    # Nodes `*` are no label that could be rare with others: they are all that is left of a record.
    starred = unique_values(np.searchsorted(forest.offsets, np.flatnonzero(forest.label == 0), side="right") - 1)
    found[starred] = len(starred) < guarantee.k
    for each in read:
        found |= _Holders(each).of(rare_combinations(each, guarantee))
    return found


def _readings(forest: Forest) -> list[Forest]:
    behind = with_left_behind(forest)
    return [with_traces(forest), *([] if behind is None else [behind[0]])]


class _Holders:
    """The records of a forest that hold labels and relations."""

    def __init__(self, forest: Forest) -> None:
        self.forest, size = forest, len(forest.classes)
        self.record = np.repeat(np.arange(len(forest)), np.diff(forest.offsets))
        pairs = unique_values(forest.label.astype(np.int64) * len(forest) + self.record)
        self.records = pairs % max(len(forest), 1)
        self.starts = np.searchsorted(pairs // max(len(forest), 1), np.arange(size + 1))
        self.related: dict[tuple[int, int, int], Longs] = {}

    def of(self, combinations: Iterable[Combination]) -> Flags:
        """Return who holds any of these combinations."""
        found, combinations = np.zeros(len(self.forest), bool), list(combinations)
        self.related = self._related({one for each in combinations for one in each.relations})
        for each in combinations:
            held = [self.records[self.starts[label] : self.starts[label + 1]] for label in each.labels]
            held += [self.related[one] for one in each.relations]
            held.sort(key=len)
            records = held[0]
            for more in held[1:]:
                records = np.intersect1d(records, more, assume_unique=True)
            found[records] = True
        return found

    def _related(self, wanted: set[tuple[int, int, int]]) -> dict[tuple[int, int, int], Longs]:
        """Return the records that hold each of these relations."""
        if self.forest.classes.types:
            return {one: self._in_one_object(one) for one in wanted}
        size = len(self.forest.classes)
        keys = Places(self.forest).relations() if wanted else np.zeros(0, np.int64)
        order = np.argsort(keys % size**2, kind="stable")
        pairs = keys[order] % size**2
        out = {}
        for a, b, kind in wanted:
            spans = [np.searchsorted(pairs, [x * size + y, x * size + y + 1]) for x, y in ((a, b), (b, a))]
            out[a, b, kind] = unique_values(np.concatenate([keys[order[slice(*span)]] // size**2 for span in spans]))
        return out

    def _in_one_object(self, relation: tuple[int, int, int]) -> Longs:
        """Return the records in which one object holds both labels."""
        a, b, kind = relation
        objects = enclosing_objects(self.forest)[kind]
        of_a, of_b = (unique_values(objects[self.forest.label == label]) for label in (a, b))
        both = np.intersect1d(of_a, of_b, assume_unique=True)
        return unique_values(self.record[both[both >= 0]])
