"""A forest: one unordered attribute tree per person, in flat arrays.

The data of O. Gkountouna and M. Terrovitis, "Anonymizing collections of tree-structured data" (IEEE TKDE 2015), Section
II-A; structural disassociation is that of Section II-D, and trees are projected to cuts as in Section III-A.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from treeanon.arrays import Flags, Ints, Longs, unique_values
from treeanon.errors import UsageError
from treeanon.forest.classes import STAR, Classes
from treeanon.forest.report import ReadReport
from treeanon.hierarchy import Hierarchy
from treeanon.kernels.jit import read_only
from treeanon.kernels.tree.forest import (
    drop_nodes,
    gather,
    group_by_record,
    hash_records,
    move_disassociated,
)
from treeanon.kernels.tree.object_relations import left_out_of_objects
from treeanon.kernels.tree.objects import canonical_trees, left_out_nodes
from treeanon.schema import Schema
from treeanon.shown import Grid, Shown, Summary

_MANY = 100_000
"""Records from which on two collections are looked at side by side."""

if TYPE_CHECKING:
    import networkx as nx

Tree = list[list[Any]]
"""A record as plain nested lists: [[class, value, [children…]], …]."""

Cut = Mapping[str, Sequence[str]]
Label = tuple[str, str]


def _frozen(values: Any, kind: type) -> np.ndarray:
    array: np.ndarray = np.ascontiguousarray(values, dtype=kind).view()
    array.flags.writeable = False
    return array


def nearest_above(hierarchy: Hierarchy, chosen: Flags) -> Ints:
    """Return for every node of a hierarchy the nearest that is chosen, itself or above it; -1 if none is.

    >>> lung = Hierarchy.from_parents({"flu": "lung", "lung": "any", "acne": "any"})
    >>> lung.texts, nearest_above(lung, np.array([False, True, False, False])).tolist()
    (('any', 'lung', 'flu', 'acne'), [-1, 1, 1, -1])
    """
    nearest = np.full(len(hierarchy), -1, np.int32)
    is_leaf = hierarchy.end == np.arange(1, len(hierarchy) + 1)
    # Preorder: what lies below another comes after it.
    for node in np.flatnonzero(chosen & ~is_leaf).tolist():
        nearest[node : hierarchy.end[node]] = node
    leaves = np.flatnonzero(chosen & is_leaf)
    nearest[leaves] = leaves
    return nearest


def starts_of_labels(ordered: Ints, labels: int) -> Longs:
    """Return for every label, and at the end, how many of some ascending labels are less.

    >>> starts_of_labels(np.array([1, 1, 2]), 4).tolist()
    [0, 0, 2, 3, 3]
    """
    ends = np.concatenate([[-1], ordered, [labels]])
    return np.repeat(np.arange(len(ordered) + 1), np.diff(ends))


@dataclass(frozen=True, eq=False, repr=False)
class Forest(Shown):
    """The persons' trees as columns: 8 bytes a node, and 8 bytes a record.

    Record r owns the nodes offsets[r]:offsets[r + 1], in preorder, siblings in ascending label, no equal siblings;
    `parent` is a position inside the record (-1: a child of the pseudo-root), `label` a code of `classes`:

        patient 0: Hospital1 ─ Flu          label  [H1, Flu, H1, Flu, Asthma]
        patient 1: Hospital1 ─ Flu, Asthma  parent [-1,   0, -1,   0,      0]
                                            offsets [0, 2, 5]

    >>> import treeanon as ta
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
    >>> forest = Forest.from_records(schema, [
    ...     [["hospital", "H1", [["disease", "Flu", []]]]],
    ...     [["hospital", "H1", [["disease", "Flu", []], ["disease", "Asthma", []]]]]])
    >>> len(forest), forest.nodes
    (2, 5)
    >>> forest.disassociate([(("hospital", "H1"), ("disease", "Asthma"))]).record(1)
    [['disease', 'Asthma', []], ['hospital', 'H1', [['disease', 'Flu', []]]]]
    """

    schema: Schema
    classes: Classes
    offsets: Longs
    parent: Ints
    label: Ints
    report: ReadReport | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        for name, kind in (("offsets", np.int64), ("parent", np.int32), ("label", np.int32)):
            object.__setattr__(self, name, _frozen(getattr(self, name), kind))
        if len(self.offsets) < 1 or self.offsets[0] != 0 or np.any(np.diff(self.offsets) < 0):
            raise ValueError("offsets must ascend from 0 and hold one entry more than there are records")
        if not self.offsets[-1] == len(self.label) == len(self.parent):
            raise ValueError("the node arrays must have the length that offsets end with")
        if len(self.label) and not 0 <= self.label.min() <= self.label.max() < len(self.classes):
            raise ValueError("labels must be codes of the classes")

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        # Columns of a copy can be written to, and kernels would be compiled once more for such.
        for name, value in state.items():
            object.__setattr__(self, name, read_only(value)[0] if name in ("offsets", "parent", "label") else value)

    @classmethod
    def from_records(cls, schema: Schema, records: Sequence[Tree]) -> Forest:
        """Return the forest of plain nested lists (the form of a trees file), one per person."""
        from treeanon.forest.build import ForestBuilder
        from treeanon.forest.tables import nested_batch

        builder = ForestBuilder(schema)
        builder.add(nested_batch(schema.layout, records))
        return builder.finish()

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def _summary(self) -> Summary:
        classes = self.classes
        of = classes.class_of[self.label]
        nodes = np.bincount(of[of >= 0], minlength=len(classes.names)).tolist()
        used = np.bincount(self.label, minlength=len(classes))[1:] > 0
        values = np.bincount(classes.class_of[1:][used], minlength=len(classes.names)).tolist()
        roles = {spec.name: spec.role for spec in self.schema.classes}
        below = ["" if parent < 0 else classes.names[parent] for parent in classes.parents]
        rows = [
            [name, "object" if at < classes.types else roles.get(name, ""), below[at], nodes[at], values[at]]
            for at, name in enumerate(classes.names)
        ]
        line = f"{len(self):,} records, {self.nodes:,} nodes, {len(classes.names)} classes"
        return Summary("Forest", line, grids=[Grid("Classes", ["Class", "Role", "Below", "Nodes", "Values"], rows)])

    @property
    def nodes(self) -> int:
        """The number of nodes, pseudo-roots not counted."""
        return len(self.label)

    @property
    def nbytes(self) -> int:
        """The bytes that the columns take, dictionaries not counted."""
        return self.offsets.nbytes + self.parent.nbytes + self.label.nbytes

    def __getitem__(self, chosen: slice) -> Forest:
        """Return the records of a slice; without a step it is a view of the same arrays."""
        if not isinstance(chosen, slice):
            raise TypeError("a forest is cut by slices; record(i) gives one record")
        start, stop, step = chosen.indices(len(self))
        if step != 1:
            return self.take(np.arange(start, stop, step))
        offsets = self.offsets[start : max(start, stop) + 1]
        nodes = slice(int(offsets[0]), int(offsets[-1]))
        return self._with(offsets - offsets[0], self.parent[nodes], self.label[nodes])

    def take(self, chosen: Sequence[int] | Longs) -> Forest:
        """Return the chosen records, in the order chosen."""
        index = np.asarray(chosen, np.int64)
        if len(index) and not -len(self) <= index.min() <= index.max() < len(self):
            raise IndexError("a chosen record does not exist")
        return self._with(*gather(self.offsets, self.parent, self.label, index % max(len(self), 1)))

    def _with(self, offsets: Longs, parent: Ints, label: Ints) -> Forest:
        return Forest(self.schema, self.classes, offsets, parent, label, self.report)

    def _canonical(self, offsets: Longs, parent: Ints, label: Ints, rank: Ints | None = None) -> Forest:
        # An empty rank stands for the labels themselves.
        rank = np.empty(0, np.int32) if rank is None else rank
        return self._with(*canonical_trees(offsets, parent, label, rank, self.classes.types))

    def relabel(self, mapping: Ints) -> Forest:
        """Return the forest with every label x replaced by mapping[x], equal siblings merged.

        A mapping of everything to `*` leaves one node a record, as a node that gets its parent's label is merged
        into the parent.
        """
        mapping = np.ascontiguousarray(mapping, np.int32)
        if len(mapping) != len(self.classes):
            raise ValueError("a mapping must have one entry per label")
        label = mapping[self.label]
        parent = self.parent
        # `*` itself stands at the top already.
        if not mapping[1:].all():
            parent = np.where(label == 0, np.int32(-1), parent).astype(np.int32)
        return self._canonical(self.offsets, parent, label)

    def project(self, cut: Cut | str) -> Forest:
        """Return the forest with every value published as its nearest ancestor-or-self in `cut`, equal siblings merged.

        `cut` names hierarchy nodes by class; classes it leaves out stay as they are. `"*"` is the cut {*}. A node
        may stand beside some of its descendants (sibling recoding); every leaf must have an ancestor in the cut. A
        value above all nodes of the cut is published as it is.
        """
        return self.relabel(self.cut_map(cut))

    def without(self, classes: Sequence[str]) -> Forest:
        """Return the forest without the nodes of these classes; what hangs under them goes to their parents."""
        if not classes:
            return self
        dropped = np.isin(self.classes.class_of[self.label], [self.classes.index(name) for name in classes])
        return self._canonical(*drop_nodes(self.offsets, self.parent, self.label, dropped))

    def cut_map(self, cut: Cut | str) -> Ints:
        """Return for every label the label that `project` publishes it as."""
        if cut == STAR:
            return np.zeros(len(self.classes), np.int32)
        if isinstance(cut, str):
            raise UsageError('a cut is a mapping of classes to nodes, or "*"')
        mapping = np.arange(len(self.classes), dtype=np.int32)
        for name, texts in cut.items():
            if isinstance(texts, str):
                raise UsageError(f"the cut of class {name!r} must be a list of hierarchy nodes")
            hierarchy = self.classes.hierarchies[self.classes.index(name)]
            first = self.classes.root(name)
            chosen = np.zeros(len(hierarchy), bool)
            chosen[[self.classes.label(name, text) - first for text in texts]] = True
            nearest = nearest_above(hierarchy, chosen)
            leaves = hierarchy.end == np.arange(1, len(hierarchy) + 1)
            if np.any(nearest[leaves] < 0):
                raise UsageError(f"the cut does not cover every leaf of class {name!r}")
            own = np.arange(len(hierarchy), dtype=np.int32)
            mapping[first : first + len(hierarchy)] = first + np.where(nearest < 0, own, nearest)
        return mapping

    def disassociate(self, pairs: Sequence[tuple[Label, Label]], *, seen_as: Ints | None = None) -> Forest:
        """Return the forest after disassociating each (upper, lower) pair of labels, in order, in every record.

        Every node `lower` below a node `upper` becomes a leaf child of upper's parent, its children go to its own
        former parent, equal siblings merge. With `seen_as`, a node is moved for what its label x is published as,
        seen_as[x], but keeps x.
        """
        upper = np.array([self.classes.label(*pair[0]) for pair in pairs], np.int32)
        lower = np.array([self.classes.label(*pair[1]) for pair in pairs], np.int32)
        return self.disassociate_labels(upper, lower, seen_as=seen_as)

    def disassociate_labels(self, upper: Ints, lower: Ints, *, seen_as: Ints | None = None) -> Forest:
        """Return the same as `disassociate`, for arrays of labels."""
        if not len(upper):
            return self
        label = self.label if seen_as is None else read_only(seen_as[self.label])[0]
        order = np.argsort(lower, kind="stable").astype(np.int32)
        starts = starts_of_labels(lower[order], len(self.classes))
        parent = move_disassociated(self.offsets, self.parent, label, starts, order, upper, lower)
        return self._canonical(self.offsets, parent, self.label)

    def with_leaves(self, places: Longs, labels: Ints) -> Forest:
        """Return the forest with a leaf of each label below the node at each place, counted over all records.

        The new leaves are counted on from there, so that one can be put below another.
        """
        record = np.repeat(np.arange(len(self), dtype=np.int32), np.diff(self.offsets))
        parent = np.where(self.parent < 0, -1, self.offsets[record] + self.parent)
        own = places
        while (new := own >= self.nodes).any():
            own = np.where(new, places[np.where(new, own - self.nodes, 0)], own)
        trees = group_by_record(
            np.concatenate([record, record[own]]),
            np.concatenate([parent, places]).astype(np.int32),
            np.concatenate([self.label, labels]),
            len(self),
        )
        return self._canonical(*trees)

    def leave_out(self, rules: Sequence[tuple[Label, Label] | tuple[Label, Label, str]]) -> Forest:
        """Return the forest without every node `b` below or beside a node `a`, for each rule (a, b).

        What lies below a node that is left out goes with it. A node stands beside a node of a class above its own only
        where it is out of place. Rules are applied from the top of the class tree down, by their triggers `a`, so that
        what a rule leaves out triggers none.

        Where objects stay whole, a rule (a, b, t) leaves every b out of each object of type t that holds an a, in
        itself or in objects below it, and rules are applied one after another.
        """
        width = 3 if self.classes.types else 2
        if any(len(rule) != width for rule in rules):
            raise UsageError(
                "a rule of leaving out names the type of the objects where these stay whole, and only there"
            )
        label = self.classes.label
        columns = [[label(*rule[0]) for rule in rules], [label(*rule[1]) for rule in rules]]
        if self.classes.types:
            columns.append([self.classes.type_label(rule[2]) for rule in rules if len(rule) == 3])
        return self.leave_out_labels(*np.array(columns, np.int32))

    def leave_out_labels(self, upper: Ints, lower: Ints, types: Ints | None = None) -> Forest:
        """Return the same for arrays of labels, those of the types of objects among them where these stay whole."""
        if not len(upper):
            return self
        if types is not None:
            return self._leave_out_of_objects(upper, lower, types)
        trigger_class = self.classes.class_of[upper]
        rest = self
        for own in unique_values(trigger_class):
            rest = rest._leave_out(upper[trigger_class == own], lower[trigger_class == own])
        return rest

    def _leave_out_of_objects(self, upper: Ints, lower: Ints, types: Ints) -> Forest:
        label, starts, order, there, upper, lower = self._rules_by_label(upper, lower)
        rules = tuple(np.ascontiguousarray(column, np.int32) for column in (order, upper, lower, types[there]))
        dropped = left_out_of_objects(self.offsets, self.parent, label, self.classes.types, starts, *rules)
        return self._canonical(*drop_nodes(self.offsets, self.parent, self.label, dropped))

    def _leave_out(self, upper: Ints, lower: Ints) -> Forest:
        """Return the forest without what rules leave out whose triggers are of one class."""
        label, starts, order, _, upper, _ = self._rules_by_label(upper, lower)
        dropped = left_out_nodes(self.offsets, self.parent, label, starts, np.ascontiguousarray(upper[order]))
        return self._canonical(*drop_nodes(self.offsets, self.parent, self.label, dropped))

    def _rules_by_label(self, upper: Ints, lower: Ints) -> tuple[Ints, Longs, Longs, Flags, Ints, Ints]:
        """Return the nodes' labels, and rules by their lower labels, in numbers of their own: few of many labels occur.

        Of the rules, `order` has those of lower label x at starts[x]:starts[x + 1]. Then come which rules are of labels
        that occur, and their labels. Types of objects keep their numbers.
        """
        held = np.zeros(len(self.classes), bool)
        held[self.label] = True
        there = held[upper] & held[lower]
        held[: self.classes.types + 1] = True
        used = np.flatnonzero(held)
        # Only what occurs gets a number: the rest of this memory is never touched.
        number = np.empty(len(self.classes), np.int32)
        number[used] = np.arange(len(used), dtype=np.int32)
        upper, lower = number[upper[there]], number[lower[there]]
        order = np.argsort(lower, kind="stable")
        return read_only(number[self.label])[0], starts_of_labels(lower[order], len(used)), order, there, upper, lower

    def records(self) -> Iterator[Tree]:
        """Return every record as plain nested lists [class, value, [children…]], children sorted by these texts."""
        from treeanon.forest.tables import nested_records

        for start in range(0, len(self), 1000):
            yield from nested_records(self[start : start + 1000])

    def record(self, index: int) -> Tree:
        """Return one record as plain nested lists."""
        if not -len(self) <= index < len(self):
            raise IndexError("there is no such record")
        index %= len(self)
        return next(self[index : index + 1].records())

    def in_text_order(self, rank: Ints | None = None) -> Forest:
        """Return the same trees with siblings in the order of (class, value) as texts, as trees files have them.

        `rank` is that of a forest of which this is a part (`text_rank`), where it is known.
        """
        rank = self.text_rank() if rank is None else rank
        return self._canonical(self.offsets, self.parent, self.label, rank)

    def text_rank(self) -> Ints:
        """Return the place of every label that occurs in the order of (class, value) as texts."""
        return self.classes.text_rank(self.used_labels())

    def used_labels(self) -> Ints:
        """Return the labels that occur, ascending."""
        used = np.zeros(len(self.classes), bool)
        used[self.label] = True
        return np.flatnonzero(used).astype(np.int32)

    def equals(self, other: Forest) -> bool:
        """Return whether both hold the same trees over the same class tree, the order of records aside."""
        if len(self) != len(other) or self.nodes != other.nodes or self._class_tree() != other._class_tree():
            return False
        texts = self._used_texts()
        if texts != other._used_texts():
            return False
        code = {text: number for number, text in enumerate(texts, start=self.classes.types + 1)}
        with ThreadPoolExecutor(1 if len(self) < _MANY else 2) as pool:
            own, others = pool.map(lambda forest: forest._fingerprints(code), (self, other))
        return bool(np.array_equal(own, others))

    def __eq__(self, other: object) -> bool:
        return self.equals(other) if isinstance(other, Forest) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def _class_tree(self) -> dict[str | int, str | int]:
        tree = self.classes.tree
        return {name: tree[parent][0] if parent >= 0 else STAR for name, parent in tree}

    def _used_texts(self) -> list[Label]:
        """Return the labels that occur, in the order of their texts; types, which are labels 1 to `types`, aside."""
        used = self.used_labels()
        return sorted(self.classes.decoded(used[(used == 0) | (used > self.classes.types)]))

    def _fingerprints(self, code: dict[Label, int]) -> np.ndarray:
        """Return two 64-bit hashes of every record, over labels numbered by `code`, sorted."""
        types, used = self.classes.types, self.used_labels()
        mapping = np.zeros(len(self.classes), np.int32)
        mapping[used] = [code.get(text, 0) for text in self.classes.decoded(used)]
        mapping[1 : types + 1] = np.arange(1, types + 1)
        rank = np.arange(types + len(code) + 1, dtype=np.int32)
        trees = canonical_trees(self.offsets, self.parent, mapping[self.label], rank, types)
        hashes = np.stack([hash_records(*trees, seed) for seed in (1, 2)])
        return hashes[:, np.lexsort(hashes)]

    def flatten(self, reductions: Mapping[str, str] | None = None) -> Any:
        """Return the `Table` of the records, a column a class; `reductions` say how several values of one become one.

        See `treeanon.table.reductions.flatten`.
        """
        # Implemented by the layer above, which knows forests; this method delegates to it.
        return import_module("treeanon.table.reductions").flatten(self, reductions)

    def to_networkx(self, index: int) -> nx.DiGraph[int]:
        """Return one record as a directed graph from its pseudo-root -1; nodes carry `cls` and `value`."""
        import networkx as nx

        graph: nx.DiGraph[int] = nx.DiGraph()
        graph.add_node(-1)
        start, stop = self.offsets[index], self.offsets[index + 1]
        for node in range(stop - start):
            name, value = self.classes.decode(int(self.label[start + node]))
            graph.add_node(node, cls=name, value=value)
            graph.add_edge(int(self.parent[start + node]), node)
        return graph
