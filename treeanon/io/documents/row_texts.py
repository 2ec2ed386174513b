"""Writes placed rows as text: fragments per label made once, rows joined from the innermost container outwards.

What differs between formats is a `Dialect`; like the readers, its row functions are compiled from the layout.

Trees laid out in the rows of their document: the inverse of building a forest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, repeat
from typing import Any, Protocol

import numpy as np

from treeanon.arrays import Ints
from treeanon.forest import Forest
from treeanon.forest.classes import written
from treeanon.kernels.tree.build import MOVED, place_nodes
from treeanon.schema import Layout


@dataclass(frozen=True)
class PlacedRows:
    """The rows of one container, those of one owner side by side: owner row, and a label (or -1) per class."""

    owner: Ints
    labels: dict[int, Ints]

    def __len__(self) -> int:
        return len(self.owner)


@dataclass(frozen=True)
class Placed:
    """The rows of every container for some records, and the nodes that are written under the reserved name.

    `moved[c]` maps rows of container c to the nodes hung on them.
    """

    forest: Forest
    tables: tuple[PlacedRows, ...]
    moved: tuple[dict[int, list[int]], ...]


def place(forest: Forest, layout: Layout, writable: np.ndarray) -> Placed:
    """Return the layout of a forest in its document; labels that are not `writable` go under the reserved name."""
    class_of = forest.classes.class_of
    row_container, row_owner, node_row, moved_row, copy_row, copy_node = place_nodes(
        forest.offsets,
        forest.parent,
        forest.label,
        class_of,
        writable,
        np.array([c.parent for c in layout.classes], np.int32),
        np.array([c.container for c in layout.classes], np.int32),
        np.array([c.parent for c in layout.containers], np.int32),
    )
    local, owners = _order_rows(row_container, row_owner, len(layout.containers))
    held = class_of[forest.label]
    tables = []
    for container in layout.containers:
        labels = {}
        for number in container.held:
            column = np.full(len(owners[container.index]), -1, np.int32)
            nodes = np.flatnonzero((held == number) & (node_row >= 0))
            column[local[node_row[nodes]]] = forest.label[nodes]
            copies = held[copy_node] == number
            column[local[copy_row[copies]]] = forest.label[copy_node[copies]]
            labels[number] = column
        tables.append(PlacedRows(owners[container.index], labels))
    moved: tuple[dict[int, list[int]], ...] = tuple({} for _ in layout.containers)
    for node in np.flatnonzero(node_row == MOVED).tolist():
        row = int(moved_row[node])
        moved[row_container[row]].setdefault(int(local[row]), []).append(node)
    return Placed(forest, tuple(tables), moved)


def _order_rows(row_container: Ints, row_owner: Ints, containers: int) -> tuple[Ints, list[Ints]]:
    """Return the place of each row within its container, rows of one owner side by side; and the owners in that
    order.
    """
    local = np.empty(len(row_container), np.int32)
    owners: list[Ints] = []
    for container in range(containers):
        rows = np.flatnonzero(row_container == container)
        owner = local[row_owner[rows]] if container else np.zeros(len(rows), np.int32)
        order = np.argsort(owner, kind="stable")
        local[rows[order]] = np.arange(len(rows), dtype=np.int32)
        owners.append(owner[order])
    return local, owners


_MANY = 4
"""Where one label in so many is written, an array of all labels is quickest."""

RowFunction = Callable[..., list[str]]


class Dialect(Protocol):
    """Protocol for how a format writes rows."""

    def writable(self, text: str) -> bool:
        """Return whether a value can stand in place (else its node goes under the reserved name)."""

    def fragments(self, held: int, texts: Sequence[str]) -> list[str]:
        """Return what a row writes for each of these values of a class."""

    def row_function(self, container: int) -> RowFunction:
        """Return a function of columns of fragments, children's texts and moved texts that gives row texts."""

    def moved(self, groups: Sequence[tuple[str, Sequence[str]]]) -> str:
        """Return what a row writes for moved nodes, grouped by the class they lie under ("/": the record)."""

    def node(self, name: str, value: str, children: Sequence[str]) -> str:
        """Return the text of a moved node with its descendants."""


class Apart(Protocol):
    """Protocol for what makes rows of documents of those of records, where objects lie in others that they refer to."""

    @property
    def layout(self) -> Layout:
        """The layout of documents, whose last classes are those of keys."""

    def rows(self, placed: Placed) -> tuple[Placed, Mapping[int, Sequence[str]]]:
        """Return the rows, and the texts of each class of a key."""


class RowWriter:
    """Writer of the text of every record of a forest in one dialect."""

    def __init__(self, layout: Layout, forest: Forest, dialect: Dialect, apart: Apart | None = None) -> None:
        self.layout, self.dialect, self.apart = layout, dialect, apart
        self.classes = classes = forest.classes
        used = np.zeros(len(classes), bool)
        used[forest.used_labels()] = True
        self.rank = forest.text_rank()
        # Of objects that stand beside what they lie in, the rows are those of documents.
        self.written = layout if apart is None else apart.layout
        self.functions = [dialect.row_function(container.index) for container in self.written.containers]
        self.writable = np.ones(len(classes), bool)
        # For the labels of a class that are written their fragments, and where each has its own; the last is for none.
        self.fragments: list[np.ndarray] = []
        self.places: list[Callable[[Ints], Ints]] = []
        for held, published in enumerate(layout.classes):
            # An object is its row: only what it holds is written.
            wanted = used & (not published.is_object)
            labels, fragments = self._fragments(held, wanted)
            self.fragments.append(np.array([*fragments, ""], dtype=object))
            self.places.append(_places(labels, int(classes.first[held + 1])))

    def _fragments(self, held: int, used: np.ndarray) -> tuple[Ints, list[str]]:
        """Return the labels of a class that are used and can be written in place, and their fragments."""
        first, stop = self.classes.first[held], self.classes.first[held + 1]
        labels = (np.flatnonzero(used[first:stop]) + first).astype(np.int32)
        texts = list(map(written, self.classes.texts_of(held, labels)))
        good = np.array([self.dialect.writable(text) for text in texts], bool)
        self.writable[labels] = good
        said = good & np.array([text != "" for text in texts], bool)
        kept = [text for text, one in zip(texts, said, strict=True) if one]
        return labels[said], self.dialect.fragments(held, kept) if kept else []

    def records(self, forest: Forest) -> list[str]:
        """Return the texts of the records of a part of the forest."""
        # The order of siblings must not depend on the values of others, which a release has no more.
        placed = place(forest.in_text_order(self.rank), self.layout, self.writable)
        keys: Mapping[int, Sequence[str]] = {}
        if self.apart is not None:
            placed, keys = self.apart.rows(placed)
        joined: dict[int, list[str]] = {}
        texts: list[str] = []
        for container in reversed(self.written.containers):
            table = placed.tables[container.index]
            columns: list[Any] = [
                self._key_column(held, keys[held]) if held in keys else self._column(held, table.labels[held])
                for held in container.held
            ]
            inner = [c.index for c in self.written.containers if c.parent == container.index]
            columns.extend(joined[index] for index in inner)
            columns.append(self._moved(placed, container.index, len(table)))
            texts = self.functions[container.index](*columns)
            if container.index:
                owners = len(placed.tables[container.parent])
                joined[container.index] = _join_by_owner(texts, table.owner, owners)
        return texts

    def _column(self, held: int, labels: Ints) -> list[str]:
        texts: list[str] = self.fragments[held][self.places[held](labels)].tolist()
        return texts

    def _key_column(self, held: int, texts: Sequence[str]) -> list[str]:
        """Return what rows write for the texts of a key; nothing for an empty one."""
        said = iter(self.dialect.fragments(held, [text for text in texts if text]))
        return [next(said) if text else "" for text in texts]

    def _moved(self, placed: Placed, container: int, size: int) -> Any:
        """Return the texts of moved nodes of every row; an endless "" when there are none."""
        if not placed.moved[container]:
            return repeat("", size)
        out = [""] * size
        for row, nodes in placed.moved[container].items():
            out[row] = self._moved_text(placed.forest, nodes)
        return out

    def _moved_text(self, forest: Forest, nodes: list[int]) -> str:
        record = int(np.searchsorted(forest.offsets, nodes[0], side="right")) - 1
        base, stop = int(forest.offsets[record]), int(forest.offsets[record + 1])
        parents = forest.parent[base:stop].tolist()
        groups: dict[str, list[str]] = {}
        for node in nodes:
            above = parents[node - base]
            under = "/"
            if above >= 0:
                under = self.layout.classes[int(self.classes.class_of[forest.label[base + above]])].name
            groups.setdefault(under, []).append(self._subtree(forest, base, parents, node - base))
        return self.dialect.moved(sorted((under, sorted(texts)) for under, texts in groups.items()))

    def _subtree(self, forest: Forest, base: int, parents: list[int], top: int) -> str:
        """Return the text of a node and its descendants: in preorder, the nodes after it whose parent is not before
        it.
        """
        stop = top + 1
        while stop < len(parents) and parents[stop] >= top:
            stop += 1
        below: list[list[str]] = [[] for _ in range(top, stop)]
        text = ""
        for node in range(stop - 1, top - 1, -1):
            name, value = self.classes.decode(int(forest.label[base + node]))
            text = self.dialect.node(name, value, below[node - top][::-1])
            if node > top:
                below[parents[node] - top].append(text)
        return text


_MOST_SUMMED = 500


def _places(labels: Ints, stop: int) -> Callable[[Ints], Ints]:
    """Return a function that finds the places of labels among sorted ones, all below `stop`; labels not among them
    have the place after all.
    """
    none = len(labels)
    first = int(labels[0]) if none else 0
    if none * _MANY > stop - first:
        place = np.full(stop - first + 1, none, np.int32)
        place[labels - first] = np.arange(none, dtype=np.int32)
        return lambda given: place[np.where(given < first, -1, given - first)]
    ends = np.append(labels, -1)

    def found(given: Ints) -> Ints:
        at = np.searchsorted(labels, given)
        return np.where(ends[at] == given, at, none).astype(np.int32)

    return found


def _join_by_owner(texts: list[str], owner: Ints, owners: int) -> list[str]:
    """Return for every owner row, the texts of its rows one after another."""
    bounds = np.searchsorted(owner, np.arange(owners + 1)).tolist()
    return ["".join(texts[a:b]) if b > a else "" for a, b in pairwise(bounds)]


def compile_rows(names: Sequence[str], body: Sequence[str]) -> RowFunction:
    """Return the function rows(*columns) that runs `body` for each row; `names` stand for a row's texts."""
    lines = [f"def rows({', '.join('all_' + name for name in names)}):", "    out = []"]
    joint = "".join(name + ", " for name in names)
    lines.append(f"    for {joint} in zip({', '.join('all_' + name for name in names)}):")
    lines.extend("        " + line for line in body)
    lines.append("    return out")
    scope: dict[str, Any] = {}
    # The only foreign texts in this code are names and constants out of the schema, as Python literals.
    exec(compile("\n".join(lines), "<compiled writer>", "exec"), scope)
    function: RowFunction = scope.pop("rows")
    return function


def joined(parts: Sequence[str]) -> str:
    """Return the expression of one text after another; the compiler takes no sum of thousands.

    >>> joined(["f1", "f2"]), joined([])
    ('f1 + f2', "''")
    """
    if len(parts) > _MOST_SUMMED:
        return f"''.join(({', '.join(parts)}))"
    return " + ".join(parts) or "''"


def row_names(layout: Layout, container: int) -> list[str]:
    """Return the names that stand for a row's texts: f{class}, k{inner container}, m (moved)."""
    held = [f"f{number}" for number in layout.containers[container].held]
    inner = [f"k{c.index}" for c in layout.containers if c.parent == container]
    return [*held, *inner, "m"]
