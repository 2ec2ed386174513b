"""What an attacker may know of every person, taken from a forest: items, relations and sensitive values per person.

O. Gkountouna and M. Terrovitis, "Anonymizing collections of tree-structured data" (IEEE TKDE 2015): Section II-B, and
III-G for what a person is known not to have.

Also traces of what was moved: what still tells, in published trees, that a node once stood below another.

A node b beside a node a of a class above its own is the trace `a ⋯ b`: if nodes b were moved out from below
nodes a, it stands for the relation that was ended. A check of what is known of the original counts traces as relations.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from treeanon.arrays import Flags, Ints, Longs, unique_values
from treeanon.errors import DataError
from treeanon.forest import Classes, Forest
from treeanon.kernels.verify import knowledge as kernels
from treeanon.privacy.guarantee import Guarantee, Roles

ABSENT = 1 << 15


@dataclass(frozen=True, eq=False)
class Rows:
    """Weighted distinct persons; items are numbered from the rarest label on.

    Equal persons are one row, and `weight` counts them.

    Row r owns item[start[r]:start[r + 1]], of which the first known[r] are labels and the rest absences (numbered from
    `labels` on), the relation words rel[rel_start[r]:…] (see kernels/verify_rows.py) and the sensitive values
    held[held_start[r]:…]. `several` says that a label stands at more than one node of the person; `record` is one
    such person of the forest. `group` is the class of an item, counted from 1 (`*` is 0), plus ABSENT for an absence;
    `side` is 0 for absences. deniable[a, b] says that an attacker may know that no label of class b is below one of
    class a, or, where objects stay whole, that no object of a type holds both; it is empty where no class is negative.
    """

    start: Longs
    item: Ints
    known: Ints
    rel_start: Longs
    rel: Longs
    held_start: Longs
    held: Ints
    several: Flags
    weight: Ints
    record: Longs
    code: Ints
    labels: int
    group: Ints
    held_class: Ints
    side: Ints
    deniable: Flags
    kinds: int = 1

    def __len__(self) -> int:
        return len(self.known)

    @property
    def items(self) -> int:
        """Return the number of labels and absences that an attacker may know."""
        return len(self.group)


def rows_of(forest: Forest, guarantee: Guarantee, roles: Roles, *, apart: bool, kinds: int | None = None) -> Rows:
    """Return the rows of a forest; with `apart`, persons with a label at several nodes are not merged with others."""
    code, order = _numbered(forest, roles.known)
    group = forest.classes.class_of + 1
    sizes, _ = kernels.row_sizes(forest.offsets, forest.label, code, len(order))
    absent = np.flatnonzero(np.isin(group[order] - 1, roles.negative)).astype(np.int32)
    missing = _missing(forest, code, len(order), absent)
    start = starts_of(sizes.astype(np.int64) + missing)
    item = kernels.distinct_items(forest.offsets, forest.label, code, len(order), start, absent)
    kinds = forest.classes.kinds if kinds is None else kinds
    rel_start = starts_of(kinds * sizes * ((sizes.astype(np.int64) + 63) // 64))
    trees = forest.offsets, forest.parent, forest.label, code, len(order), start, item, sizes, rel_start, group
    above = above_of(forest.classes)
    if forest.classes.types:
        holder = np.array([0, *(parent + 1 for parent in forest.classes.parents)], np.int32)
        rel, kept = kernels.object_relations(*trees, holder, forest.classes.types, kinds)
        # Two objects can witness what no single one does, even if each label stands at one node.
        several = np.ones(len(forest), bool)
    else:
        rel, several, kept = kernels.relations(*trees, above)
    if not kept:
        raise DataError("the trees do not follow the class tree: a class lies below itself or a class not above it")
    wanted = roles.sensitive if guarantee.l > 1 else ()
    held_start, held, held_class = _sensitive(forest, wanted)
    item_group = np.concatenate([group[order], group[order[absent]] + ABSENT]).astype(np.int32)
    rows = Rows(
        start,
        item,
        sizes,
        rel_start,
        rel,
        held_start,
        held,
        several,
        np.ones(len(forest), np.int32),
        np.arange(len(forest), dtype=np.int64),
        code,
        len(order),
        item_group,
        held_class,
        np.where(item_group < ABSENT, item_group, 0).astype(np.int32),
        deniable_with(above, roles.negative) if forest.classes.types else deniable_below(above, roles.negative),
        kinds,
    )
    return _merged(rows, several if apart else np.zeros(len(forest), bool))


_MOST_CELLS = 1 << 22
"""Pairs of so many labels are counted in a table of all."""


def are_few_pairs(labels: int, kinds: int, m: int, n: int) -> bool:
    """Return whether all that is to be counted are pairs of few labels, with one relation at most."""
    return m <= 2 and (n <= 1 or kinds == 1) and labels**2 * (1 + kinds) <= _MOST_CELLS


def starts_of(sizes: Longs | Ints) -> Longs:
    """Return where stretches of these sizes start, and where the last one ends."""
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def _numbered(forest: Forest, classes: tuple[int, ...]) -> tuple[Ints, Ints]:
    """Return the item of every label and the label of every item, the rarest first to spread the work."""
    counts = np.bincount(forest.label, minlength=len(forest.classes))
    # The node `*` stands for everything that is known.
    counted = np.isin(forest.classes.class_of, [-1, *classes]) & (counts > 0)
    order = np.flatnonzero(counted)
    order = order[np.argsort(counts[order], kind="stable")]
    code = np.full(len(forest.classes), -1, np.int32)
    code[order] = np.arange(len(order), dtype=np.int32)
    return code, order.astype(np.int32)


def _missing(forest: Forest, code: Ints, items: int, absent: Ints) -> Longs:
    """Return the number of absent items that every record lacks."""
    only = np.full(items + 1, -1, np.int32)
    only[absent] = np.arange(len(absent), dtype=np.int32)
    sizes, _ = kernels.row_sizes(forest.offsets, forest.label, only[code], len(absent))
    return len(absent) - sizes.astype(np.int64)


def above_of(classes: Classes) -> Flags:
    """Return whether one class lies above another, both counted from 1; 0 is `*`, above all."""
    parents = classes.parents
    above = np.zeros((len(parents) + 1, len(parents) + 1), bool)
    above[0, 1:] = True
    for index, parent in enumerate(parents):
        while parent >= 0:
            above[parent + 1, index + 1] = True
            parent = parents[parent]
    return above


def deniable_below(above: Flags, negative: tuple[int, ...]) -> Flags:
    """Return of which classes it may be known that none of their labels is below one of another (counted from 1).

    >>> above = np.array([[0, 1, 1], [0, 0, 1], [0, 0, 0]], bool)
    >>> deniable_below(above, (1,)).astype(int).tolist()
    [[0, 0, 0], [0, 0, 1], [0, 0, 0]]
    """
    if not negative:
        return np.zeros((0, 0), bool)
    found = np.zeros_like(above)
    classes = [1 + index for index in negative]
    found[1:, classes] = above[1:, classes]
    return found


def deniable_with(above: Flags, negative: tuple[int, ...]) -> Flags:
    """Return of which classes it may be known that no object holds labels of both: one of them is negative.

    >>> deniable_with(np.zeros((4, 4), bool), (1,)).astype(int).tolist()
    [[0, 0, 0, 0], [0, 0, 1, 0], [0, 1, 1, 1], [0, 0, 1, 0]]
    """
    found = np.zeros_like(above) if negative else np.zeros((0, 0), bool)
    for index in negative:
        found[1 + index, 1:] = found[1:, 1 + index] = True
    return found


def _sensitive(forest: Forest, classes: tuple[int, ...]) -> tuple[Longs, Ints, Ints]:
    """Return the distinct sensitive values of every record, and the class (place in `classes`) of each."""
    code, order = _numbered(forest, classes)
    if forest.classes.class_of[order].min(initial=0) < 0:
        order = order[order != 0]
        code = np.full(len(forest.classes), -1, np.int32)
        code[order] = np.arange(len(order), dtype=np.int32)
    sizes, _ = kernels.row_sizes(forest.offsets, forest.label, code, len(order))
    start = starts_of(sizes)
    nothing = np.empty(0, np.int32)
    held = kernels.distinct_items(forest.offsets, forest.label, code, len(order), start, nothing)
    place = {name: number for number, name in enumerate(classes)}
    return start, held, np.array([place[int(c)] for c in forest.classes.class_of[order]], np.int32)


def _merged(rows: Rows, apart: Flags) -> Rows:
    """Return the rows with equal ones merged, where enough are equal."""
    hashes = kernels.row_hashes(rows.start, rows.item, rows.rel_start, rows.rel, rows.held_start, rows.held)
    order = np.argsort(hashes, kind="stable")
    chosen, weight = kernels.equal_rows(
        order, hashes, rows.start, rows.item, rows.rel_start, rows.rel, rows.held_start, rows.held, apart
    )
    if len(chosen) > 0.9 * len(rows):
        return rows
    start, item = kernels.stretches(rows.start, rows.item, chosen)
    rel_start, rel = kernels.stretches(rows.rel_start, rows.rel, chosen)
    held_start, held = kernels.stretches(rows.held_start, rows.held, chosen)
    return replace(
        rows,
        start=start,
        item=item,
        known=rows.known[chosen],
        rel_start=rel_start,
        rel=rel,
        held_start=held_start,
        held=held,
        several=rows.several[chosen],
        weight=weight,
        record=rows.record[chosen],
    )


_AT_ONCE = 8192
"""Records whose nodes fit into the processor's cache."""


def with_traces(forest: Forest, ended: Longs | None = None) -> Forest:
    """Return the forest with a copy of b below a for every trace a ⋯ b, so that counting relations counts traces.

    A pair of labels of which some record still holds the relation was not ended, so it leaves no trace. Where the
    forest is but a part of the records, `ended` has the pairs (see `pairs_in`) of which no record of any part does.
    """
    upper, lower = _traced(forest, ended)
    return forest.with_leaves(upper, forest.label[lower]) if len(upper) else forest


def readings(forest: Forest) -> tuple[Forest, ...]:
    """Return the forests by whose relations it is counted what is known of the original; none without traces.

    Children of a node that was moved stay behind: of a ⋯ b, what lies out of place below a, in classes below that of b,
    may have been b's. A second forest has that below the copies of b, where there is such. It has relations that may
    never have been, so that what is rare in either forest is rare.
    """
    upper, lower = _traced(forest, None)
    if not len(upper):
        return ()
    first = forest.with_leaves(upper, forest.label[lower])
    places, labels = _left_behind(forest, upper, forest.label[lower])
    if not len(places):
        return (first,)
    return first, forest.with_leaves(np.concatenate([upper, places]), np.concatenate([forest.label[lower], labels]))


def _left_behind(forest: Forest, upper: Longs, lower: Ints) -> tuple[Longs, Longs]:
    """Return the places and labels of copies below new leaves, one leaf of label `lower` below each node `upper`."""
    class_of, parents = forest.classes.class_of, _places(forest)
    order = np.argsort(parents, kind="stable")

    def children(nodes: Longs) -> tuple[Longs, Longs]:
        """The place among the nodes, and the node, of each child of these nodes."""
        first = np.searchsorted(parents[order], nodes, "left")
        count = np.searchsorted(parents[order], nodes, "right") - first
        steps = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
        return np.repeat(np.arange(len(nodes)), count), order[np.repeat(first, count) + steps]

    owner, node = children(upper)
    kept = _above(forest)[class_of[lower[owner]], class_of[forest.label[node]]]
    place, node = forest.nodes + owner[kept], node[kept]
    places, labels = [np.zeros(0, np.int64)], [np.zeros(0, forest.label.dtype)]
    number = forest.nodes + len(upper)
    while len(node):
        places.append(place)
        labels.append(forest.label[node])
        owner, below = children(node)
        place, number = number + owner, number + len(node)
        node = below
    return np.concatenate(places), np.concatenate(labels)


def _traced(forest: Forest, ended: Longs | None) -> tuple[Longs, Longs]:
    """Return the nodes a and b of all traces a ⋯ b of relations that were ended."""
    if _is_in_place(forest):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    parents = _places(forest)
    upper, lower = _traces(forest, parents)
    pairs = _pairs(forest, upper, lower)
    kept = ~np.isin(pairs, _related(forest, parents)) if ended is None else np.isin(pairs, ended)
    return upper[kept], lower[kept]


def _is_in_place(forest: Forest) -> bool:
    """Return whether every node lies under one of the class that the schema says: then there is no trace."""
    parts = (forest[at : at + _AT_ONCE] for at in range(0, len(forest), _AT_ONCE))
    return not any(len(_strays(part, _places(part))) for part in parts)


def pairs_in(forest: Forest, traced: bool) -> Longs:
    """Return a number for each pair of labels that is a trace in some record, or that is a relation in some."""
    parents = _places(forest)
    return unique_values(_pairs(forest, *_traces(forest, parents))) if traced else _related(forest, parents)


def _places(forest: Forest) -> Longs:
    """Return a number for every node that siblings share: their parent's place, or one of the record below 0."""
    records = np.repeat(np.arange(len(forest)), np.diff(forest.offsets))
    return np.where(forest.parent < 0, -1 - records, forest.offsets[records] + forest.parent)


def _traces(forest: Forest, parents: Longs) -> tuple[Longs, Longs]:
    """Return all pairs of siblings of which the first is of a class above the second's."""
    label, class_of = forest.label, forest.classes.class_of
    stray = _strays(forest, parents)
    if not len(stray):
        return stray, stray
    order = np.argsort(parents, kind="stable")
    first = np.searchsorted(parents[order], parents[stray], "left")
    count = np.searchsorted(parents[order], parents[stray], "right") - first
    lower = np.repeat(stray, count)
    steps = np.arange(len(lower)) - np.repeat(np.cumsum(count) - count, count)
    upper = order[np.repeat(first, count) + steps]
    traced = _above(forest)[class_of[label[upper]], class_of[label[lower]]]
    return upper[traced], lower[traced]


def _strays(forest: Forest, parents: Longs) -> Longs:
    """Return the nodes that do not lie under the class that the schema says."""
    label, class_of = forest.label, forest.classes.class_of
    own = np.array([*forest.classes.parents, -1], np.int32)[class_of[label]]
    return np.flatnonzero(own != np.where(parents < 0, -1, class_of[label[np.maximum(parents, 0)]]))


def _above(forest: Forest) -> np.ndarray:
    """Return whether one class lies above another; the node `*` (-1, the last row) above none."""
    parents = forest.classes.parents
    above = np.zeros((len(parents) + 1,) * 2, bool)
    for index in range(len(parents)):
        up = parents[index]
        while up >= 0:
            above[up, index] = True
            up = parents[up]
    return above


def _pairs(forest: Forest, upper: Longs, lower: Longs) -> Longs:
    """Return a number for the labels of each pair of nodes."""
    pairs: Longs = forest.label[upper].astype(np.int64) * len(forest.classes) + forest.label[lower]
    return pairs


def _related(forest: Forest, parents: Longs) -> Longs:
    """Return the pairs of labels that stand one above the other in some record."""
    found = [np.zeros(0, np.int64)]
    nodes = np.flatnonzero(parents >= 0)
    above = parents[nodes]
    while len(nodes):
        found.append(unique_values(_pairs(forest, above, nodes)))
        above = parents[above]
        nodes, above = nodes[above >= 0], above[above >= 0]
    return unique_values(np.concatenate(found))
