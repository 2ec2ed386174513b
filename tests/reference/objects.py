"""Whole objects by brute force: what persons hold, what a release says, and which records may be a person's.

A record is a pair of its own labels and of its objects; an object is (type, labels, objects), all in frozensets, so
that equal ones count once. Types are numbered; labels are (class, value). Nothing here shares code with the package.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any

Label = tuple[str, str]
Object = tuple[int, frozenset[Label], frozenset[Any]]
Record = tuple[frozenset[Label], frozenset[Object]]
Relation = tuple[Label, Label, int]
Knowledge = tuple[frozenset[Label], frozenset[Relation]]


def all_objects(objects: Iterable[Object]) -> Iterator[Object]:
    """Every object of some, and all below them."""
    for found in objects:
        yield found
        yield from all_objects(found[2])


def labels_in(found: Object) -> set[Label]:
    """The labels of an object, and of those below it."""
    return set(found[1]).union(*(labels_in(inner) for inner in found[2]))


def facts(record: Record) -> tuple[set[Label], set[Relation]]:
    """The labels of a record, and its relations: two labels, in order, that some object of a type holds both."""
    labels, relations = set(record[0]), set()
    for found in all_objects(record[1]):
        held = sorted(labels_in(found))
        labels.update(held)
        relations.update((a, b, found[0]) for a, b in combinations(held, 2))
    return labels, relations


def known(record: Record, m: int, n: int) -> Iterator[Knowledge]:
    """Everything that an attacker may know of a person: 1 to m labels, and up to n relations between them."""
    labels, relations = facts(record)
    for size in range(1, m + 1):
        for chosen in combinations(sorted(labels), size):
            inside = sorted(one for one in relations if one[0] in chosen and one[1] in chosen)
            for count in range(min(n, len(inside)) + 1):
                for related in combinations(inside, count):
                    yield frozenset(chosen), frozenset(related)


def holds_jointly(record: Record, knowledge: Knowledge) -> bool:
    """Whether, for each type, one object of it holds all that the relations of the type speak of."""
    chosen, relations = knowledge
    if not chosen <= facts(record)[0]:
        return False
    objects = list(all_objects(record[1]))
    for kind in {relation[2] for relation in relations}:
        ends = {end for a, b, of_kind in relations if of_kind == kind for end in (a, b)}
        if not any(found[0] == kind and ends <= labels_in(found) for found in objects):
            return False
    return True


def least_support(records: Sequence[Record], m: int, n: int, *, joint: bool) -> int | None:
    """The least persons behind a combination that somebody holds; None where nobody holds a label."""
    holders: dict[Knowledge, int] = {}
    for record in records:
        for knowledge in known(record, m, n):
            holders[knowledge] = holders.get(knowledge, 0) + 1
    least = min(holders.values(), default=None)
    if joint and least is not None:
        for knowledge in holders:
            together = sum(holds_jointly(record, knowledge) for record in records)
            least = min(least, together or least)
    return least


def signed_support(records: Sequence[Record], m: int, n: int, negative: Iterable[str]) -> int | None:
    """The least persons behind a combination that somebody holds, also of what persons do not have."""
    return min((len(group) for group in signed_groups(records, m, n, negative)), default=None)


def signed_groups(records: Sequence[Record], m: int, n: int, negative: Iterable[str]) -> Iterable[list[int]]:
    """The persons of every combination that somebody holds, also of what persons do not have.

    Of a negative class it may be known that a person lacks a value, and that no object of a type holds a value of it
    together with another that the person has. What nobody has nobody is known to lack.
    """
    told = [facts(record) for record in records]
    labels = set().union(*(held for held, _ in told))
    relations = set().union(*(related for _, related in told))
    held_by: dict[tuple[Any, Any], list[int]] = {}
    for number, (held, related) in enumerate(told):
        signed = [(label, True) for label in held]
        signed += [(label, False) for label in labels - held if label[0] in negative]
        for size in range(1, m + 1):
            for chosen in combinations(sorted(signed), size):
                there = {label for label, has in chosen if has}
                inside = [
                    (one, one in related)
                    for one in sorted(relations)
                    if {one[0], one[1]} <= there and (one in related or {one[0][0], one[1][0]} & set(negative))
                ]
                for count in range(min(n, len(inside)) + 1):
                    for some in combinations(inside, count):
                        held_by.setdefault((chosen, some), []).append(number)
    return held_by.values()


Rule = tuple[Label, Label, int]


@dataclass(frozen=True)
class Recipe:
    """A solution: what each label is published as, classes withheld, and rules of leaving out, in order."""

    published_as: Mapping[Label, Label]
    left_out: tuple[Rule, ...] = ()
    withheld: frozenset[str] = frozenset()

    def publish(self, record: Record) -> Record:
        """The record that is published for an original one."""
        objects = frozenset(map(self._projected, record[1]))
        for rule in self.left_out:
            objects = frozenset(_without(found, *rule) for found in objects)
        return self._labels(record[0]), _there(objects)

    def _labels(self, labels: Iterable[Label]) -> frozenset[Label]:
        return frozenset(self.published_as.get(label, label) for label in labels if label[0] not in self.withheld)

    def _projected(self, found: Object) -> Object:
        return found[0], self._labels(found[1]), frozenset(map(self._projected, found[2]))


def _without(found: Object, trigger: Label, label: Label, kind: int) -> Object:
    """An object after a rule: of the kind it holds the trigger and not the label any more."""
    if found[0] == kind and trigger in labels_in(found):
        return _stripped(found, label)
    return found[0], found[1], frozenset(_without(inner, trigger, label, kind) for inner in found[2])


def _stripped(found: Object, label: Label) -> Object:
    return found[0], found[1] - {label}, frozenset(_stripped(inner, label) for inner in found[2])


def _there(objects: Iterable[Object]) -> frozenset[Object]:
    """Objects without those that hold nothing."""
    kept = ((kind, labels, _there(inner)) for kind, labels, inner in objects)
    return frozenset(found for found in kept if found[1] or found[2])


def least_candidates(
    persons: list[Record], recipe: Recipe, objects: list[Object], m: int, n: int, *, joint: bool = False
) -> int:
    """The least number of released records that a person may be, over all that can be known of any person.

    `objects` are all that a record can have, in any number; it has no labels of its own. So of the records that would
    be published as one of the release, one has all objects that do: it holds whatever any of them holds. With `joint`
    also over what one object of each type witnesses of a person.
    """
    origins: dict[frozenset[Object], list[Object]] = {}
    for found in objects:
        origins.setdefault(recipe.publish((frozenset(), frozenset({found})))[1], []).append(found)
    released = [recipe.publish(record) for record in persons]
    full: dict[Record, Record] = {}
    for record in released:
        possible = origins.get(frozenset(), []) + [one for own in record[1] for one in origins[frozenset({own})]]
        full[record] = (frozenset(), frozenset(possible))
    may_be = {record: set(known(most, m, n)) for record, most in full.items()}
    wanted = set().union(*(set(known(record, m, n)) for record in persons))
    counts = [sum(knowledge in may_be[record] for record in released) for knowledge in wanted]
    if joint:
        known_jointly = (one for one in wanted if any(holds_jointly(record, one) for record in persons))
        counts += [sum(holds_jointly(full[record], one) for record in released) for one in known_jointly]
    return min(counts, default=len(persons))


def objects_over(kind: int, values: Mapping[str, Sequence[str]], inner: Sequence[Object] = ()) -> list[Object]:
    """All objects of a type with up to one value of each class, and any of some objects in them."""
    choices = [[None, *((name, value) for value in held)] for name, held in values.items()]
    below = [frozenset(some) for count in range(len(inner) + 1) for some in combinations(inner, count)]
    out = []
    for chosen in product(*choices):
        labels = frozenset(label for label in chosen if label is not None)
        out += [(kind, labels, some) for some in below if labels or some]
    return out
