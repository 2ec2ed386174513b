"""What a release made of single records: where every original node went.

A node is *generalized* if its published value differs, *moved* if its published parent is not what its own parent
became, *merged* if several nodes became one, *dropped* if its class or record is not published, and *left-out* if a
rule of the solution leaves it out, with all below it. Children of a dropped node attach to its parent and do not count
as moved.

With global recoding, the solution is replayed on single records, so that every original node can be followed into the
release. Nodes are merged at the very end: what a solution does to a node depends only on the labels of its path, which
merging does not change. So each original node stays one node to the end, and merging says with which others it became
one.

With local recoding, the persons of a group are made equal, each in its own way, and nodes are matched by class, value
and path. A published node stands for an original one of its class whose value is equal or lies under it; of several,
the nodes above and below decide. An original node without a match counts as merged if an equal node is published in its
place, and as dropped otherwise.

Records are plain lists here, as single records are small.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from treeanon.algorithms.tree.solution import Solution
from treeanon.arrays import Floats, Ints
from treeanon.errors import UsageError
from treeanon.forest import Classes, Forest
from treeanon.forest.classes import STAR
from treeanon.metrics.values import label_losses, label_parents, released_as
from treeanon.previews.model import Change, Node, NodeChange, RecordChange
from treeanon.release import Release


@dataclass(frozen=True)
class Record:
    """One tree in preorder: the number of the parent (-1: none) and the label of every node."""

    parent: list[int]
    label: list[int]

    @classmethod
    def of(cls, forest: Forest, number: int) -> Record:
        """Return the record of that number."""
        nodes = slice(int(forest.offsets[number]), int(forest.offsets[number + 1]))
        return cls(forest.parent[nodes].tolist(), forest.label[nodes].tolist())

    def __len__(self) -> int:
        return len(self.label)

    def above(self, node: int) -> Iterator[int]:
        """Yield the ancestors of a node, the nearest first."""
        node = self.parent[node]
        while node >= 0:
            yield node
            node = self.parent[node]

    def children(self) -> list[list[int]]:
        """Return the children of every node, in order; the last entry holds the roots."""
        out: list[list[int]] = [[] for _ in range(len(self) + 1)]
        for node, parent in enumerate(self.parent):
            out[parent].append(node)
        return out

    def nodes(self, classes: Classes) -> tuple[Node, ...]:
        """Return the record as nodes, with their numbers as `id`."""
        below = self.children()
        made: list[Node | None] = [None] * len(self)
        for number in reversed(range(len(self))):
            children = tuple(child for i in below[number] if (child := made[i]) is not None)
            made[number] = Node(number, *classes.decode(self.label[number]), children)
        return tuple(node for i in below[-1] if (node := made[i]) is not None)


GONE = -1
"""The published label of a withheld one."""


@dataclass(frozen=True)
class Recipe:
    """A solution with a cut, in the labels of one forest.

    `published` holds the published label of every label, or GONE. `upper` and `lower` are the disassociated labels in
    order, and `pairs` the numbers of the pairs by lower label. `left_out` holds the rules, from the top of the class
    tree down. Where objects stay whole there are `types` of them, and rules have one.
    """

    published: Ints
    upper: Ints
    lower: Ints
    pairs: dict[int, list[int]] = field(repr=False)
    left_out: tuple[tuple[int, int], ...] = field(default=(), repr=False)
    of_objects: tuple[tuple[int, int, int], ...] = field(default=(), repr=False)
    types: int = 0

    @classmethod
    def of(cls, solution: Solution, forest: Forest) -> Recipe:
        """Return the recipe of a solution that has a cut."""
        classes, cut = forest.classes, solution.cut
        assert cut is not None
        published = forest.cut_map(STAR if STAR in cut else cut)
        withheld = [classes.index(name) for name in solution.withheld]
        published = np.where(np.isin(classes.class_of, withheld), np.int32(GONE), published).astype(np.int32)
        ends = [[classes.label(*pair[side]) for pair in solution.disassociated] for side in (0, 1)]
        pairs: dict[int, list[int]] = defaultdict(list)
        for number, label in enumerate(ends[1]):
            pairs[label].append(number)
        upper, lower = (np.array(column, np.int32) for column in ends)
        rules = [(classes.label(*rule[0]), classes.label(*rule[1])) for rule in solution.left_out]
        if classes.types:
            types = [classes.type_label(rule[2]) for rule in solution.left_out if len(rule) == 3]
            of_objects = tuple((a, b, t) for (a, b), t in zip(rules, types, strict=True))
            return cls(published, upper, lower, dict(pairs), (), of_objects, classes.types)
        by_class = tuple(sorted(rules, key=lambda rule: int(classes.class_of[rule[0]])))
        return cls(published, upper, lower, dict(pairs), by_class)

    def replay(self, record: Record) -> tuple[Record, list[int | None]]:
        """Return the published record, and for every node the published node that it became part of (None: none)."""
        label = [int(self.published[own]) for own in record.label]
        parent = _without_gone(record, label)
        if self.types:
            _leave_out_of_objects(record, label, self.of_objects)
            return _alike_objects(parent, label, self.types)
        wanted = sorted({number for own in set(label) for number in self.pairs.get(own, ())})
        for number in wanted:
            _disassociate(parent, label, int(self.upper[number]), int(self.lower[number]))
        made, became = merged(parent, label)
        if self.left_out:
            gone = _left_out(made, self.left_out)
            if gone:
                # What lies below goes too, so nothing has to find another parent.
                made, places = merged(made.parent, [GONE if i in gone else own for i, own in enumerate(made.label)])
                became = [None if place is None else places[place] for place in became]
        return made, became


def _left_out(record: Record, rules: Iterable[tuple[int, int]]) -> set[int]:
    """Return the nodes that rules leave out: labels below or beside their triggers, and what lies below."""
    gone: set[int] = set()
    for trigger, label in rules:
        siblings = {record.parent[i] for i, own in enumerate(record.label) if own == trigger and i not in gone}
        for node, own in enumerate(record.label):
            above = list(record.above(node))
            near = record.parent[node] in siblings or any(record.label[up] == trigger for up in above)
            if gone.intersection(above) or (own == label and near):
                gone.add(node)
    return gone


def _leave_out_of_objects(record: Record, label: list[int], rules: Iterable[tuple[int, int, int]]) -> None:
    """Mark as gone, one rule after another, the nodes that rules leave out of objects."""
    for trigger, lower, kind in rules:
        if trigger not in label or lower not in label:
            continue
        held: dict[int, list[int]] = defaultdict(list)
        for node in range(len(record)):
            for up in record.above(node):
                if label[up] == kind:
                    held[up].append(node)
        for nodes in held.values():
            if any(label[node] == trigger for node in nodes):
                for node in nodes:
                    if label[node] == lower:
                        label[node] = GONE


def _alike_objects(parent: list[int], label: list[int], types: int) -> tuple[Record, list[int | None]]:
    """Return the record with equal objects and fields of one parent made one, and where each node went.

    Objects of which nothing is left are gone.
    """
    below: dict[int, list[int]] = defaultdict(list)
    for node, above in enumerate(parent):
        below[above].append(node)
    content: dict[int, tuple[int, tuple[Any, ...]]] = {}
    for node in reversed(range(len(label))):
        inner = sorted({content[child] for child in below[node] if child in content})
        if label[node] != GONE and (inner or not 0 < label[node] <= types):
            content[node] = label[node], tuple(inner)
    out, became = Record([], []), [None] * len(label)  # type: tuple[Record, list[int | None]]

    def put(nodes: list[int], above: int) -> None:
        alike: dict[tuple[int, tuple[Any, ...]], list[int]] = defaultdict(list)
        for node in nodes:
            if node in content:
                alike[content[node]].append(node)
        for own in sorted(alike):
            number = len(out)
            out.parent.append(above)
            out.label.append(own[0])
            for node in alike[own]:
                became[node] = number
            put([child for node in alike[own] for child in below[node]], number)

    put(below[-1], -1)
    return out, became


def _without_gone(record: Record, label: list[int]) -> list[int]:
    """Return the parents of the remaining nodes; `*` has none."""
    parent = []
    for node in range(len(record)):
        above = next((up for up in record.above(node) if label[up] != GONE), -1)
        parent.append(-1 if label[node] == 0 else above)
    return parent


def _disassociate(parent: list[int], label: list[int], upper: int, lower: int) -> None:
    """Make each node `lower` below a node `upper` a sibling of that node; its children go to its former parent."""
    former = list(parent)
    goals: dict[int, int] = {}
    for node, own in enumerate(label):
        if own != lower:
            continue
        above = former[node]
        while above >= 0 and label[above] != upper:
            above = former[above]
        if above >= 0:
            goals[node] = former[above]
    for node, above in enumerate(former):
        if above in goals:
            parent[node] = former[above]
    for node, goal in goals.items():
        parent[node] = goal


def merged(parent: list[int], label: list[int]) -> tuple[Record, list[int | None]]:
    """Return the record with equal siblings merged, in the order of forests, and where each node went.

    >>> merged([-1, -1, 0, 1], [7, 7, 9, 8])
    (Record(parent=[-1, 0, 0], label=[7, 8, 9]), [0, 0, 2, 1])
    """
    below: dict[int, list[int]] = defaultdict(list)
    for node, above in enumerate(parent):
        if label[node] != GONE:
            below[above].append(node)
    out, became = Record([], []), [None] * len(label)  # type: tuple[Record, list[int | None]]
    stack: list[tuple[int, int, list[int]]] = _alike(label, below[-1], -1)
    while stack:
        above, own, nodes = stack.pop()
        number = len(out)
        out.parent.append(above)
        out.label.append(own)
        for node in nodes:
            became[node] = number
        stack.extend(_alike(label, [child for node in nodes for child in below[node]], number))
    return out, became


def _alike(label: list[int], nodes: list[int], above: int) -> list[tuple[int, int, list[int]]]:
    """Return siblings grouped by label, the last label first, as a stack returns the last one first."""
    groups: dict[int, list[int]] = defaultdict(list)
    for node in nodes:
        groups[label[node]].append(node)
    return [(above, own, groups[own]) for own in sorted(groups, reverse=True)]


_NEVER = -1e9


def matched(before: Record, after: Record, label_parents: Ints) -> list[int | None]:
    """Return for every node of `before` the node of `after` that stands for it, or None."""
    return _Matching(before, after, label_parents).find()


class _Matching:
    def __init__(self, before: Record, after: Record, label_parents: Ints) -> None:
        self.before, self.after = before, after
        self.covers = [_general(own, label_parents) for own in before.label]
        self.below = _descendants(before)
        self.children = after.children()
        self.became: list[int | None] = [None] * len(before)
        self.worth = np.full((len(after), len(before)), _NEVER)
        for a in reversed(range(len(after))):
            for b in range(len(before)):
                if self._fits(b, a):
                    self.worth[a, b] = self._worth(b, a)

    def _fits(self, b: int, a: int) -> bool:
        return self.after.label[a] in self.covers[b]

    def _worth(self, b: int, a: int) -> float:
        """Return how well an original node fits: by how many of its descendants fit, then by how near its value is."""
        found = 1 - self.covers[b].index(self.after.label[a]) / 1e6
        return found + sum(worth for *_, worth in self._best(self.children[a], self.below[b], {b}))

    def _best(self, wanted: list[int], candidates: list[int], tops: set[int]) -> Iterator[tuple[int, int, float]]:
        """Yield the best assignment of original nodes below `tops` to published siblings, with scores."""
        if not wanted or not candidates:
            return
        between = [len(list(takewhile(lambda up: up not in tops, self.before.above(b)))) / 1e3 for b in candidates]
        worth = self.worth[np.ix_(wanted, candidates)] - between
        for row, column in zip(*linear_sum_assignment(worth, maximize=True), strict=True):
            if worth[row, column] > 0:
                yield wanted[row], candidates[column], float(worth[row, column])

    def find(self) -> list[int | None]:
        for above in (-1, *range(len(self.after))):
            tops = {b for b, a in enumerate(self.became) if a == above}
            pool = self.below[-1] if above < 0 else sorted({b for top in tops for b in self.below[top]})
            self._assign(self.children[above], pool, tops)
            # One level at a time: children of a merged node may be published under any of the merged nodes.
            self._merge([b for b in pool if self.before.parent[b] in (tops or {-1})])
        # Moved nodes can only be matched by value.
        matched_nodes = set(self.became)
        self._assign([a for a in range(len(self.after)) if a not in matched_nodes], self.below[-1], set())
        self._merge(self.below[-1])
        return self.became

    def _assign(self, wanted: list[int], candidates: list[int], tops: set[int]) -> None:
        for a, b, _ in self._best(wanted, [b for b in candidates if self.became[b] is None], tops):
            self.became[b] = a

    def _merge(self, nodes: list[int]) -> None:
        """Merge the remaining nodes with equal nodes that are published in their place, if any."""
        for b in nodes:
            if self.became[b] is not None:
                continue
            above = next((up for i in self.before.above(b) if (up := self.became[i]) is not None), -1)
            fitting = [a for a in self.children[above] if self._fits(b, a)]
            if fitting:
                self.became[b] = min(fitting, key=lambda a: self.covers[b].index(self.after.label[a]))


def _general(label: int, parents: Ints) -> list[int]:
    """Return the label and its ancestors, the nearest first, `*` included."""
    out = [label]
    while out[-1] > 0:
        out.append(int(parents[out[-1]]))
    return out


def _descendants(record: Record) -> list[list[int]]:
    """Return the descendants of every node; the last entry holds all nodes."""
    out: list[list[int]] = [[] for _ in range(len(record) + 1)]
    for node in range(len(record)):
        out[-1].append(node)
        for above in record.above(node):
            out[above].append(node)
    return out


MOVED = 0.5
"""The loss of a moved node, as a share of what its value loss leaves."""


def record_change(before: Forest, release: Release, number: int) -> RecordChange:
    """Return the change of one record of the input; `record_changes` is faster for several.

    >>> import treeanon as ta
    >>> schema = ta.Schema.loads('version = 1\\n[input]\\nformat = "ndjson"\\n[[class]]\\nname = "age"\\npath = "age"')
    >>> forest = ta.Forest.from_records(schema, [[["age", "34", []]], [["age", "34", []]], [["age", "35", []]]])
    >>> change = record_change(forest, ta.anonymize(forest, k=2), 2)
    >>> change.before[0].value, change.after[0].value, sorted(change.fates[0].changes), change.change
    ('35', '*', ['generalized'], 1.0)
    """
    return record_changes(before, release, [number])[0]


def record_changes(before: Forest, release: Release, numbers: Iterable[int]) -> list[RecordChange]:
    """Return the changes of these records of the input, in that order.

    The `change` of a record is the mean loss of its nodes: 1 for a dropped node; otherwise its value loss, and half of
    the rest if it moved. It is 1 for a suppressed record.
    """
    tracing = _Tracing(before, release)
    return [tracing.change(number) for number in numbers]


class _Tracing:
    """A release and its input, with what is computed once for all records."""

    def __init__(self, before: Forest, release: Release) -> None:
        self.before, self.after = before, release.forest
        self.released = released_as(before, release.forest, release.kept)
        self.recipe = None if release.solution.cut is None else Recipe.of(release.solution, before)
        self.label_parents = label_parents(before.classes)
        self.losses = label_losses(before.classes)

    def change(self, number: int) -> RecordChange:
        if not 0 <= number < len(self.before):
            raise UsageError(f"no record {number + 1:,}: the input has {len(self.before):,}")
        record = Record.of(self.before, number)
        nodes = record.nodes(self.before.classes)
        place = int(self.released[number])
        if place < 0:
            gone = tuple(NodeChange(node, None, frozenset({"dropped"})) for node in range(len(record)))
            return RecordChange(number, nodes, None, gone, 1.0)
        published = Record.of(self.after, place)
        became = self._became(record, published)
        fates = tuple(node_changes(record, published, became, self._withheld(record)))
        change = change_of(record, published, fates, self.losses)
        return RecordChange(number, nodes, published.nodes(self.after.classes), fates, change)

    def _withheld(self, record: Record) -> list[bool] | None:
        """Return which nodes are of withheld classes; None where a release has no rules."""
        if self.recipe is None or not self.recipe.left_out:
            return None
        return [bool(self.recipe.published[label] == GONE) for label in record.label]

    def _became(self, record: Record, published: Record) -> list[int | None]:
        if self.recipe is not None:
            made, became = self.recipe.replay(record)
            if made == published:
                return became
        return matched(record, published, self.label_parents)


def node_changes(
    before: Record, after: Record, became: list[int | None], withheld: list[bool] | None = None
) -> Iterable[NodeChange]:
    """Yield the change of every node, given where it went and, if nodes are left out by rules, which are withheld."""
    shares = Counter(became)
    for node, place in enumerate(became):
        if place is None:
            kind: Change = "dropped" if withheld is None or withheld[node] else "left-out"
            yield NodeChange(node, None, frozenset({kind}))
            continue
        left = _left(before, after, became, node, place)
        happened: dict[Change, bool] = {
            "generalized": before.label[node] != after.label[place],
            "moved": left is not None,
            "merged": shares[place] > 1,
        }
        yield NodeChange(node, place, frozenset(change for change, is_so in happened.items() if is_so), left)


def _left(before: Record, after: Record, became: list[int | None], node: int, place: int) -> int | None:
    """Return the uppermost former ancestor of a moved node; None if the node has not moved."""
    # A former ancestor that was merged with the node itself does not count.
    lines = [up for up in before.above(node) if became[up] is not None and became[up] != place]
    if not lines or became[lines[0]] == after.parent[place]:
        return None
    now = {*after.above(place)}
    return next((up for up in reversed(lines) if became[up] not in now), None)


def change_of(before: Record, after: Record, fates: Iterable[NodeChange], losses: Floats) -> float:
    """Return how much a record has changed, from 0 to 1, given its nodes' changes and the value losses of labels."""
    lost = 0.0
    for fate in fates:
        kept = 0.0
        if fate.after is not None:
            kept = 1 - float(losses[after.label[fate.after]]) if "generalized" in fate.changes else 1.0
        lost += 1 - kept * (1 - MOVED if "moved" in fate.changes else 1)
    return lost / len(before) if len(before) else 0.0
