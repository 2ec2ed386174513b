"""Makes a solution found in a sample safe for all records: rare sets are generalized, disassociated or left out.

The rare sets come from exact counts over all partitions. Generalizing one of its labels or leaving out the lower end
of one of its relations resolves a rare set. The action that resolves most sets per loss comes first, by the objective
of the default search: value loss plus the share of relations lost.

Witnesses are a few records that represent all: a number of holders of every set of labels, or all if there are fewer.

A search in the witnesses, with labels no finer than those counted, meets the same rare sets as in all records: exactly
so for two labels and one relation; larger sets and disassociated relations are counted afterwards.

If there are more sets than a worker's memory can hold, there are no witnesses; the solution found before stays safe.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa

from treeanon.algorithms.tree.default.object_rules import leaving_kinds
from treeanon.algorithms.tree.solution import Solution
from treeanon.arrays import Flags, Floats, Ints
from treeanon.forest import Classes, Forest
from treeanon.forest.forest import nearest_above
from treeanon.metrics import label_losses
from treeanon.metrics.values import class_weights, label_ends, label_parents
from treeanon.spark.counting import RareSet
from treeanon.spark.reading import Dataset, Recipe
from treeanon.spark.records import ROWS, Batches, fingerprints, forests_of, joined, map_batches, to_batch, to_forest
from treeanon.spark.spread import Relation, Spread, SpreadCounter

Action = tuple[str, int, int] | tuple[str, int, int, int]
"""("up", label, target): generalize; ("in", label, descendant): absorb; ("out", class root, class): withhold; ("end",
upper, lower): end a relation, by moving the lower label or leaving it out. Where objects stay whole: ("end", trigger,
label, type), all as labels.
"""

_ROOT_ALONE = 2.0
"""A withheld class loses both its values and its relations."""


@dataclass(frozen=True)
class CostModel:
    """The labels and relations of the input that losses are relative to, and the weights of the classes."""

    labels: int
    relations: int
    weights: Mapping[str, float] | None = None


class Repair:
    """A solution being made safe: its published labels, ended relations and withheld classes."""

    def __init__(
        self,
        solution: Solution,
        classes: Classes,
        worth: CostModel,
        *,
        sibling: bool,
        bound: frozenset[int] = frozenset(),
    ) -> None:
        """Start from a solution; of the `bound` classes nothing is left out, as its absence would tell."""
        self.bound = bound
        self.solution, self.classes, self.worth, self.sibling = solution, classes, worth, sibling
        self.above: Ints = label_parents(classes)
        # By class; the last is that of `*`.
        self.weight = np.append(class_weights(classes, worth.weights), 1.0)
        self.published: Flags = np.zeros(len(classes), bool)
        for name, texts in (solution.cut or {}).items():
            self.published[[classes.label(name, text) for text in texts]] = True
        # As published, relations are ended by moving; else by leaving out.
        self.moves = solution.guarantee.as_published
        self.whole = classes.types > 0
        ended = solution.disassociated if self.moves and not self.whole else solution.left_out
        self.ended: list[tuple[int, ...]] = [self._rule(rule) for rule in ended]
        self.withheld = list(solution.withheld)

    @cached_property
    def loss(self) -> Floats:
        """How general every label is."""
        return label_losses(self.classes)

    @cached_property
    def end(self) -> Ints:
        """The end of the labels under every label."""
        return label_ends(self.classes)

    def cover(self) -> None:
        """Publish the highest free nodes above the leaves that the solution of a sample does not cover."""
        for name in self.solution.cut or {}:
            if name in self.withheld or name not in self.classes.names:
                continue
            index = self.classes.index(name)
            first, hierarchy = int(self.classes.first[index]), self.classes.hierarchies[index]
            mine = self.published[first : first + len(hierarchy)]
            covered = nearest_above(hierarchy, mine) >= 0
            if self.sibling:
                if not covered[hierarchy.leaf_nodes].all():
                    mine[0] = True
                continue
            before = np.concatenate([[0], np.cumsum(mine)])
            below = before[hierarchy.end] > before[:-1]
            up = hierarchy.parent
            mine |= ~covered & ~below & ((up < 0) | below[up])

    def publish(self, labels: Iterable[int]) -> None:
        """Publish labels besides the present ones; what is left out for those stays so for the new ones."""
        for label in labels:
            home = self._target(label)
            self.published[label] = True
            self.ended += [(label, *rest) for up, *rest in self.ended if up == home]
            self.ended += [(up, label, *rest) for up, low, *rest in self.ended if low == home]

    def run(
        self,
        rare: Iterable[RareSet],
        held: Mapping[int, int],
        spare: int = 0,
        holders: Mapping[RareSet, Sequence[int]] | None = None,
    ) -> int:
        """Resolve every rare set; return the number of changes.

        Up to `spare` persons may be left out: the sets that are dearest to resolve become `outliers` instead, as soon
        as their `holders` are so few. A set without these has to be resolved.
        """
        self.held = held
        self.outliers: list[RareSet] = []
        self._publish_inner(held)
        if self.whole:
            self.place = self._places()
        sets = _least(rare)
        ended_by: dict[Action, list[int]] = {}
        for number, one in enumerate(sets):
            for action in self._actions(one):
                ended_by.setdefault(action, []).append(number)
        cost = {action: self._cost(action, [sets[i] for i in ended]) for action, ended in ended_by.items()}
        waiting = [(-len(ended) / cost[action], action) for action, ended in ended_by.items()]
        heapq.heapify(waiting)
        open_sets, done = set(range(len(sets))), 0
        told = {number: (holders or {}).get(one) for number, one in enumerate(sets)}
        persons = Counter(person for own in told.values() for person in own or ())
        while open_sets and waiting:
            if 0 < len(persons) <= spare and all(told[number] for number in open_sets):
                self.outliers = [sets[number] for number in sorted(open_sets)]
                break
            rank, action = heapq.heappop(waiting)
            left = [number for number in ended_by[action] if number in open_sets]
            if not left or not self._possible(action):
                continue
            now = -len(left) / cost[action]
            if now > rank and waiting and now > waiting[0][0]:
                ended_by[action] = left
                heapq.heappush(waiting, (now, action))
                continue
            self._do(action)
            done += 1
            open_sets.difference_update(left)
            persons.subtract(person for number in left for person in told[number] or ())
            persons = +persons
        if self.whole:
            self.ended.sort(key=lambda rule: (*self._rank(rule[0]), *self._rank(rule[1]), rule[2]))
        return done

    def _rule(self, rule: Any) -> tuple[int, ...]:
        """Return a pair, or a rule with the type of its objects, as labels."""
        classes = self.classes
        return classes.label(*rule[0]), classes.label(*rule[1]), *(classes.type_label(name) for name in rule[2:])

    def _places(self) -> np.ndarray:
        """Return the place of every label in one order of all labels, by which rules have no circle.

        Of two labels the first triggers the rule that leaves out the second: first those of classes of which nothing
        may be left out, then those that more persons hold; but where rules are there already, these say so.
        """
        classes = self.classes
        bound = [i for i in range(len(classes.names)) if i in self.bound or not leaving_kinds(classes, i)]
        held = np.zeros(len(classes), np.int64)
        held[list(self.held)] = list(self.held.values())
        is_free = ~np.isin(classes.class_of, bound)
        place = np.empty(len(classes))
        place[np.lexsort((np.arange(len(classes)), -held, is_free))] = np.arange(len(classes))
        # In the order of rules a trigger's place is final: what leaves it out came before.
        for trigger, label, _ in self.ended:
            if place[label] <= place[trigger]:
                place[label] = np.nextafter(place[trigger], np.inf)
        return place

    def _rank(self, label: int) -> tuple[float, int]:
        return float(self.place[label]), label

    def _publish_inner(self, held: Mapping[int, int]) -> None:
        """Publish inner nodes that occur as values above the cut."""
        for label in sorted(held, reverse=True):
            if label and not self.published[label]:
                if not self.sibling:
                    self.published[self._below(label)] = False
                self.published[label] = True

    def result(self) -> Solution:
        """Return the repaired solution."""
        classes, cut = self.classes, {}
        for name in self.solution.cut or {}:
            if name in self.withheld:
                continue
            index = classes.index(name)
            labels = np.flatnonzero(self.published[classes.first[index] : classes.first[index + 1]])
            cut[name] = tuple(classes.hierarchies[index].texts[node] for node in labels.tolist())
        there = [rule for rule in dict.fromkeys(self.ended) if self.published[rule[0]] and self.published[rule[1]]]
        repaired = replace(self.solution, cut=cut, withheld=tuple(self.withheld))
        if self.whole:
            decode = classes.decode
            return replace(repaired, left_out=tuple((decode(a), decode(b), decode(t)[0]) for a, b, t in there))
        pairs = tuple((classes.decode(a), classes.decode(b)) for a, b in there)
        return replace(repaired, disassociated=pairs) if self.moves else replace(repaired, left_out=pairs)

    def _actions(self, one: RareSet) -> Iterable[Action]:
        """Return the actions that would resolve a set."""
        for relation in one.relations:
            yield from self._endings(*relation)
        for label in one.labels:
            below = self._cheapest_below(label)
            if self.above[label] > 0:
                yield "up", label, self._target(label)
            elif below < 0:
                yield "out", label, int(self.classes.class_of[label])
            if below >= 0:
                yield "in", label, below

    def _endings(self, a: int, b: int, kind: int) -> Iterator[Action]:
        """Yield the action that ends a relation, where that may be."""
        if self.solution.options.get("taking_apart") == "none":
            return
        guarantee = self.solution.guarantee
        if (guarantee.l > 1 or guarantee.negative) and not guarantee.as_published:
            # As the search of one machine, which ends no relation for these.
            return
        if not self.whole:
            # Upper classes of the class tree have the smaller labels.
            upper, lower = (a, b) if a < b else (b, a)
            if self.moves or int(self.classes.class_of[lower]) not in self.bound:
                yield "end", upper, lower
            return
        trigger, label = (a, b) if self._rank(a) < self._rank(b) else (b, a)
        own = int(self.classes.class_of[label])
        if own in self.bound or kind not in leaving_kinds(self.classes, own):
            return
        yield "end", trigger, label, int(self.classes.first[self.classes.type_of(own, kind)])

    def _target(self, label: int) -> int:
        """Return the label that values are generalized to when theirs is no longer published."""
        up = int(self.above[label])
        while up > 0 and not self.published[up]:
            up = int(self.above[up])
        return up if up > 0 else int(self.above[label])

    def _below(self, label: int) -> list[int]:
        """Return the other published labels under a label."""
        return (label + 1 + np.flatnonzero(self.published[label + 1 : self.end[label]])).tolist()

    def _cheapest_below(self, label: int, but: int = -1) -> int:
        others = [other for other in self._below(label) if other != but and self.held.get(other)]
        return min(others, key=lambda other: (self._merging(other, label), other), default=-1)

    def _weight(self, label: int) -> float:
        return float(self.weight[self.classes.class_of[label]])

    def _merging(self, label: int, target: int) -> float:
        """Return the value loss of publishing a label as another."""
        more = max(float(self.loss[target] - self.loss[label]), 0.0)
        return self.held.get(label, 0) * more * self._weight(label) / max(self.worth.labels, 1)

    def _cost(self, action: Action, sets: Sequence[RareSet]) -> float:
        kind, label, other = action[:3]
        if kind == "end":
            # For larger sets, only the support of the set is known, which bounds that of the relation from below.
            persons = max(one.persons for one in sets)
            lost = (
                0.0
                if self.moves and not self.whole
                else float(1 - self.loss[other]) * self._weight(other) / max(self.worth.labels, 1)
            )
            cost = persons * (1 / max(self.worth.relations, 1) + lost)
        elif kind == "out":
            cost = _ROOT_ALONE * self.held.get(label, 1) / max(self.worth.labels, 1)
        elif kind == "in":
            cost = self._merging(other, label)
        elif self.published[other]:
            cost = self._merging(label, other)
        else:
            cost = sum(self._merging(one, other) for one in self._joining(label, other))
        return max(cost, 1e-12)

    def _joining(self, label: int, target: int) -> list[int]:
        """Return the labels to generalize to a target that is not published yet; a single one would stay as rare."""
        if not self.sibling:
            return self._below(target)
        other = self._cheapest_below(target, but=label)
        return [label] if other < 0 else [label, other]

    def _possible(self, action: Action) -> bool:
        kind, label, other = action[:3]
        if kind == "end":
            return bool(self.published[label] and self.published[other])
        return bool(self.published[label]) and (kind != "in" or bool(self.published[other]))

    def _do(self, action: Action) -> None:
        kind, label, other = action[:3]
        if kind == "end":
            self.ended.append(action[1:])
        elif kind == "out":
            self.withheld.append(self.classes.names[other])
            self.published[self.classes.first[other] : self.classes.first[other + 1]] = False
        elif kind == "in":
            self.published[other] = False
        elif self.published[other]:
            self.published[label] = False
        else:
            self.published[self._joining(label, other)] = False
            self.published[other] = True


def _least(rare: Iterable[RareSet]) -> list[RareSet]:
    """Return the minimal rare sets; resolving these resolves all."""
    found: set[tuple[tuple[int, ...], tuple[Relation, ...]]] = set()
    out = []
    for one in sorted(rare, key=lambda r: (len(r.labels), len(r.relations), r.labels, r.relations)):
        if not any(part in found for part in _parts(one)):
            found.add((one.labels, one.relations))
            out.append(one)
    return out


def _parts(one: RareSet) -> Iterable[tuple[tuple[int, ...], tuple[Relation, ...]]]:
    """Yield the subsets of a set, itself included."""
    for size in range(1, len(one.labels) + 1):
        for labels in combinations(one.labels, size):
            inside = tuple(related for related in one.relations if related[0] in labels and related[1] in labels)
            for many in range(len(inside) + 1):
                yield from ((labels, some) for some in combinations(inside, many))


_TOGETHER = 16
"""Number of partial results that are thinned together at a time."""

_AT_ONCE = 20_000
"""Number of records that are looked at before it is looked how many sets there are."""

MAX_SETS = 1 << 23
"""Maximum number of sets in a worker's memory (600 MB). Whether it is exceeded does not depend on the partitions."""

_TOO_MANY = np.iinfo(np.int64).min
"""The fingerprint of a row that says there are too many sets."""


def add_witnesses(
    some: Forest, dataset: Dataset, recipe: Recipe, spread: Spread, least: int, most: int
) -> Forest | None:
    """Return some records with `least` holders of every set, at most `most` records; None for too many sets."""
    shared = dataset.frame.sparkSession.sparkContext.broadcast((spread, least, most))
    work = partial(_thin, broadcast=recipe.broadcast(dataset), shared=shared)
    parts = dataset.frame.rdd.getNumPartitions()
    frame = map_batches(dataset.frame, partial(_thin_blocks, work=work, shapes=dataset.shapes), ROWS)
    while parts > 1:
        parts = -(-parts // _TOGETHER)
        frame = _thinned(frame.repartition(parts, "hash"), work)
    found = frame.toArrow()
    if found.column("parent").null_count:
        return None
    ours = pa.Table.from_batches([to_batch(some)])
    return dataset.forest(_united(ours, found.cast(ours.schema)))


def _united(ours: pa.Table, found: pa.Table) -> pa.Table:
    """Return the union of both tables as multisets: equal records occur as often as where they occur most."""
    kinds, times = np.unique(ours.column("hash").to_numpy(), return_counts=True)
    found = found.sort_by("hash")
    hashes = found.column("hash").to_numpy()
    rank = np.arange(len(hashes)) - np.searchsorted(hashes, hashes)
    place = np.minimum(np.searchsorted(kinds, hashes), len(kinds) - 1)
    had = np.where(kinds[place] == hashes, times[place], 0) if len(kinds) else np.zeros(len(hashes), np.int64)
    return pa.concat_tables([ours, found.filter(pa.array(rank >= had))])


def _thinned(frame: Any, work: Any) -> Any:
    """Yield the records needed of every partition, in the order of their fingerprints."""
    return map_batches(frame.sortWithinPartitions("hash"), work, ROWS)


def _thin_blocks(batches: Batches, work: Any, shapes: Any) -> Iterator[pa.RecordBatch]:
    """Yield the records needed of a partition of rows of many records, which are sorted here."""
    parts = [*forests_of(batches, *shapes.value)]
    if parts:
        forest = joined(parts)
        order = np.argsort(fingerprints(forest), kind="stable")
        yield from work(to_batch(forest.take(order[i : i + _AT_ONCE])) for i in range(0, len(order), _AT_ONCE))


def _thin(batches: Batches, broadcast: Any, shared: Any) -> Iterator[pa.RecordBatch]:
    spread, least, most = shared.value
    recipe, (schema, classes) = broadcast.recipe.value, broadcast.shapes.value
    counter, left = SpreadCounter(spread), most
    for batch in batches:
        if not left:
            break
        if batch.column(1).null_count or counter.used > MAX_SETS:
            yield _without_rows(batch.schema)
            return
        seen = to_forest(batch, schema, classes).without(recipe.withheld).relabel(recipe.mapping)
        chosen = np.flatnonzero(counter.needed(seen, least))[:left]
        left -= len(chosen)
        yield batch.take(pa.array(chosen))


def _without_rows(schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([{"hash": _TOO_MANY, "parent": None, "label": None}], schema)
