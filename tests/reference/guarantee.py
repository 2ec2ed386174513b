"""The guarantee of SPEC §1 on plain nested lists, counted in the most obvious way: every V, every R, every record.

Labels are (class, value), absences ("-" + class, value). A combination is (V, R) as frozensets; its persons are a set
of record numbers. A relation (a, absence of b) says that b, a label of V, is nowhere below a.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any

Tree = list[list[Any]]
Label = tuple[str, str]
Relation = tuple[Label, Label]
Combination = tuple[frozenset[Label], frozenset[Relation]]
Groups = dict[Combination, set[int]]


@dataclass(frozen=True)
class Violation:
    """A combination that somebody holds and fewer than k persons hold, independently or (`joint`) by the same nodes."""

    labels: frozenset[Label]
    relations: frozenset[Relation]
    support: int
    joint: bool = False


@dataclass(frozen=True)
class NotDiverse:
    """A group that an attacker can form and that is not l-diverse in a sensitive class."""

    labels: frozenset[Label]
    relations: frozenset[Relation]
    persons: int
    sensitive: str
    joint: bool = False


@dataclass(frozen=True)
class Node:
    """A node of one record: its number, its label, and the numbers of the nodes above it."""

    number: int
    label: Label
    above: frozenset[int]


def nodes_of(record: Tree) -> list[Node]:
    found: list[Node] = []

    def walk(nodes: Tree, above: frozenset[int]) -> None:
        for name, value, below in nodes:
            node = Node(len(found), (name, value), above)
            found.append(node)
            walk(below, above | {node.number})

    walk(record, frozenset())
    return found


def related(upper: Node, lower: Node) -> bool:
    return upper.number in lower.above


def count_labels(record: Tree) -> int:
    return len({node.label for node in nodes_of(record)})


def subsets(things: Iterable[Any], least: int, most: int) -> Iterator[frozenset[Any]]:
    listed = sorted(things)
    for size in range(least, min(most, len(listed)) + 1):
        yield from map(frozenset, combinations(listed, size))


def is_known(label: Label, known: Iterable[str] | None) -> bool:
    """`known` names the classes of labels that an attacker may know; None means all. `*` is always known."""
    return known is None or label[0] == "*" or label[0] in known


def values_by_class(records: Sequence[Tree]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = defaultdict(set)
    for record in records:
        for node in nodes_of(record):
            found[node.label[0]].add(node.label[1])
    return found


@dataclass(frozen=True)
class Denials:
    """What an attacker may know that a person lacks: labels of negative classes, and such labels below others.

    `labels` are all that somebody holds, by class; `below` has the pairs of classes of which one lies above the other.
    """

    labels: dict[str, set[str]]
    negative: Sequence[str]
    below: set[tuple[str, str]]

    @classmethod
    def of(cls, records: Sequence[Tree], negative: Sequence[str], under: Mapping[str, str | None] | None) -> Denials:
        """The denials of a collection; without the class tree `under` classes lie as some record has them."""
        below = set()
        for name in under or ():
            above = name
            while above := (under or {})[above]:
                below.add((above, name))
        if under is None:
            for nodes in map(nodes_of, records):
                below |= {(a.label[0], b.label[0]) for a in nodes for b in nodes if related(a, b)}
        return cls(values_by_class(records), negative, below)

    def absent(self, labels: Iterable[Label]) -> set[Label]:
        """The labels that a person with these lacks."""
        held = set(labels)
        return {("-" + name, u) for name in self.negative for u in self.labels[name] if (name, u) not in held}

    def pairs(self, labels: Iterable[Label]) -> list[Relation]:
        """The pairs of labels of which the lower may be known not to be below the upper."""
        held = [label for label in labels if not label[0].startswith("-")]
        return [(a, b) for a in held for b in held if b[0] in self.negative and (a[0], b[0]) in self.below]


def denied(pair: Relation) -> Relation:
    """The relation that says that a pair is not related."""
    return pair[0], ("-" + pair[1][0], pair[1][1])


def held_independently(record: Tree, m: int, n: int, known: Iterable[str] | None, denials: Denials) -> set[Combination]:
    """Every (V, R) that one record holds, each relation witnessed by nodes of its own."""
    nodes = [node for node in nodes_of(record) if is_known(node.label, known)]
    labels = {node.label for node in nodes}
    relations = {(a.label, b.label) for a in nodes for b in nodes if related(a, b)}
    found = set()
    for chosen in subsets(labels | denials.absent(labels), 1, m):
        inside = [(a, b) for a, b in relations if a in chosen and b in chosen]
        inside += [denied(pair) for pair in denials.pairs(chosen) if pair not in relations]
        found.update((chosen, some) for some in subsets(inside, 0, n))
    return found


def held_jointly(record: Tree, m: int, n: int, known: Iterable[str] | None, denials: Denials) -> set[Combination]:
    """Every (V, R) that one record holds with each label of V at one node."""
    nodes = [node for node in nodes_of(record) if is_known(node.label, known)]
    by_label: dict[Label, list[Node]] = defaultdict(list)
    for node in nodes:
        by_label[node.label].append(node)
    found = set()
    for chosen in subsets(set(by_label) | denials.absent(by_label), 1, m):
        for embedding in product(*(by_label[label] for label in chosen if label in by_label)):
            inside = {(a.label, b.label) for a in embedding for b in embedding if related(a, b)}
            at = {node.label: node for node in embedding}
            inside |= {
                denied((a, b)) for a, b in denials.pairs(chosen) if not any(related(at[a], low) for low in by_label[b])
            }
            found.update((chosen, some) for some in subsets(inside, 0, n))
    return found


def groups(
    records: Sequence[Tree],
    m: int,
    n: int,
    *,
    joint: bool = False,
    known: Iterable[str] | None = None,
    negative: Sequence[str] = (),
    under: Mapping[str, str | None] | None = None,
) -> Groups:
    """For every (V, R) that anybody holds the persons that hold it."""
    denials = Denials.of(records, negative, under)
    held_by = held_jointly if joint else held_independently
    found: Groups = defaultdict(set)
    for number, record in enumerate(records):
        for combination in held_by(record, m, n, known, denials):
            found[combination].add(number)
    return dict(found)


def all_groups(records: Sequence[Tree], m: int, n: int, attacker: str, **given: Any) -> Iterator[tuple[bool, Groups]]:
    """The groups that an attacker can form: the independent ones, and for the joint attacker the joint ones too."""
    yield False, groups(records, m, n, joint=False, **given)
    if attacker == "joint":
        yield True, groups(records, m, n, joint=True, **given)


def violations(
    records: Sequence[Tree],
    k: int,
    m: int,
    n: int,
    *,
    attacker: str = "independent",
    known: Iterable[str] | None = None,
    negative: Sequence[str] = (),
    under: Mapping[str, str | None] | None = None,
) -> list[Violation]:
    """Every combination with a support that is neither 0 nor at least k."""
    found = all_groups(records, m, n, attacker, known=known, negative=negative, under=under)
    return [
        Violation(labels, relations, len(persons), joint)
        for joint, formed in found
        for (labels, relations), persons in formed.items()
        if len(persons) < k
    ]


def values_held(record: Tree, name: str) -> set[str]:
    return {node.label[1] for node in nodes_of(record) if node.label[0] == name}


def diverse(records: Sequence[Tree], persons: Iterable[int], name: str, l: int, diversity: str) -> bool:  # noqa: E741
    """Whether a group is l-diverse in a class; one in which nobody has a value of it is."""
    persons = list(persons)
    counts = Counter(value for number in persons for value in values_held(records[number], name))
    if not counts:
        return True
    if diversity == "distinct":
        held = [values_held(records[number], name) for number in persons]
        return all(len(set().union(*(one for one in held if value not in one))) >= l for value in counts)
    return max(counts.values()) * l <= len(persons)


def not_diverse(
    records: Sequence[Tree],
    m: int,
    n: int,
    *,
    l: int,  # noqa: E741
    sensitive: Sequence[str],
    diversity: str = "distinct",
    attacker: str = "independent",
    known: Iterable[str] | None = None,
    negative: Sequence[str] = (),
    under: Mapping[str, str | None] | None = None,
) -> list[NotDiverse]:
    """Every group that an attacker can form and that is not l-diverse in some sensitive class."""
    found = all_groups(records, m, n, attacker, known=known, negative=negative, under=under)
    return [
        NotDiverse(labels, relations, len(persons), name, joint)
        for joint, formed in found
        for (labels, relations), persons in formed.items()
        for name in sensitive
        if not diverse(records, persons, name, l, diversity)
    ]


def holds(
    records: Sequence[Tree],
    k: int,
    m: int,
    n: int,
    *,
    attacker: str = "independent",
    known: Iterable[str] | None = None,
    negative: Sequence[str] = (),
    under: Mapping[str, str | None] | None = None,
    sensitive: Sequence[str] = (),
    l: int = 1,  # noqa: E741
    diversity: str = "distinct",
) -> bool:
    """Whether the records keep the whole guarantee."""
    given: dict[str, Any] = {"attacker": attacker, "known": known, "negative": negative, "under": under}
    if violations(records, k, m, n, **given):
        return False
    return l == 1 or not not_diverse(records, m, n, l=l, sensitive=sensitive, diversity=diversity, **given)


def largest_k(
    records: Sequence[Tree],
    m: int,
    n: int,
    *,
    attacker: str = "independent",
    known: Iterable[str] | None = None,
    negative: Sequence[str] = (),
    under: Mapping[str, str | None] | None = None,
) -> int | None:
    """The least support of anything that somebody holds; None if nobody holds anything."""
    found = all_groups(records, m, n, attacker, known=known, negative=negative, under=under)
    return min((len(persons) for _, formed in found for persons in formed.values()), default=None)
