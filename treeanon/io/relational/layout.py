"""A forest laid out in the rows of its tables: the rows of every stop, which own which, and what was moved.

Contents of looked-up rows find equal ones in parts of a release that are laid out apart.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from treeanon.arrays import Ints
from treeanon.forest import Forest
from treeanon.io.documents.row_texts import place
from treeanon.io.relational.key_constraints import Needs
from treeanon.io.relational.plan import Stop
from treeanon.progress import Progress
from treeanon.schema import Layout

_AT_ONCE = 20_000


@dataclass
class StopRows:
    """The rows of one stop: their number, the rows that they are linked to, and a label (-1: none) for each class.

    `link` has for each row that of the stop above that it refers to; in looked-up tables, for each row above, its row
    here (-1: none).
    """

    count: int
    link: Ints
    labels: dict[int, Ints]


@dataclass
class MovedRows:
    """What was disassociated from the rows of one container, node after node.

    Of each node: the row, the class that the topmost one lies under (-1: the person), the node above it (-1: none), and
    its label.
    """

    row: list[int] = field(default_factory=list)
    under: list[int] = field(default_factory=list)
    above: list[int] = field(default_factory=list)
    label: list[int] = field(default_factory=list)

    def add(self, row: int, under: int, above: int, label: int) -> None:
        """Add one node."""
        self.row.append(row)
        self.under.append(under)
        self.above.append(above)
        self.label.append(label)


@dataclass(frozen=True)
class Rows:
    """All rows of a forest: one entry per stop of its plan, and the moved nodes by container."""

    stops: tuple[StopRows, ...]
    moved: dict[int, MovedRows]


def lay_out(forest: Forest, needs: Needs, progress: Progress | None = None) -> Rows:
    """Return the rows of a forest, part by part: placing needs several times the memory of the trees."""
    homes = _homes(needs)
    layout = _without_single(needs.plan.layout, homes)
    owners: list[list[Ints]] = [[] for _ in layout.containers]
    labels: list[dict[int, list[Ints]]] = [{held: [] for held in c.held} for c in layout.containers]
    moved: dict[int, MovedRows] = {}
    counts = [0] * len(layout.containers)
    writable = np.ones(len(forest.classes), bool)
    for start in range(0, len(forest), _AT_ONCE):
        part = forest[start : start + _AT_ONCE]
        placed = place(part, layout, writable)
        for container, table in zip(layout.containers, placed.tables, strict=True):
            above = counts[container.parent] if container.index else 0
            owners[container.index].append(table.owner + np.int32(above))
            for held, column in table.labels.items():
                labels[container.index][held].append(column)
            for row, nodes in placed.moved[container.index].items():
                _add_moved(moved, needs.plan.layout, part, nodes, counts[container.index] + row)
        # Parents come before their containers: their counts grow only when all of a part is in.
        for container, table in zip(layout.containers, placed.tables, strict=True):
            counts[container.index] += len(table)
        if progress is not None:
            progress(start + len(part), len(forest))
    joined = {held: _joined(parts) for found in labels for held, parts in found.items()}
    stops = _StopRows(needs, homes, [_joined(parts) for parts in owners], joined, counts)
    return stops.rows(moved)


def _homes(needs: Needs) -> list[int]:
    """Return for every container the one whose rows it is laid out in: itself, unless it is a single row of
    another's.
    """
    homes = list(range(len(needs.plan.layout.containers)))
    single = {needs.plan.stops[index].container for index in needs.single}
    for container in needs.plan.layout.containers:
        if container.index in single:
            homes[container.index] = homes[container.parent]
    return homes


def _without_single(layout: Layout, homes: list[int]) -> Layout:
    """Return the layout by which nodes are placed: the contents of single rows belong to the rows that own these."""
    classes = tuple(replace(c, container=homes[c.container] if c.container >= 0 else -1) for c in layout.classes)
    containers = tuple(
        replace(
            container,
            parent=homes[container.parent] if container.index else -1,
            held=tuple(index for index, held in enumerate(classes) if held.container == container.index),
        )
        for container in layout.containers
    )
    return Layout(classes, containers)


def _joined(parts: list[Ints]) -> Ints:
    return np.concatenate([np.empty(0, np.int32), *parts])


def _add_moved(moved: dict[int, MovedRows], layout: Layout, forest: Forest, nodes: list[int], row: int) -> None:
    """Add the moved nodes of a row, each with its descendants, to those of their container."""
    class_of = forest.classes.class_of
    record = int(np.searchsorted(forest.offsets, nodes[0], side="right")) - 1
    first, stop = int(forest.offsets[record]), int(forest.offsets[record + 1])
    parents = forest.parent[first:stop].tolist()
    for top in nodes:
        above = parents[top - first]
        under = -1 if above < 0 else int(class_of[forest.label[first + above]])
        into = moved.setdefault(layout.classes[under].container if under >= 0 else 0, MovedRows())
        numbers: dict[int, int] = {}
        for node in range(top - first, stop - first):
            if node > top - first and parents[node] not in numbers:
                break
            into.add(row, under, numbers.get(parents[node], -1), int(forest.label[first + node]))
            numbers[node] = len(into.row) - 1


class _StopRows:
    """Finder of the rows of every stop among the rows of its home: those of the container that hold it."""

    def __init__(
        self, needs: Needs, homes: list[int], owners: list[Ints], labels: dict[int, Ints], counts: list[int]
    ) -> None:
        self.needs, self.stops = needs, needs.plan.stops
        self.homes, self.owners, self.labels, self.counts = homes, owners, labels, counts
        # For every stop the row here of each row of its home (-1: none), and one of the home's rows for each row here.
        self.row: dict[int, Ints] = {}
        self.at: dict[int, Ints] = {}

    def rows(self, moved: dict[int, MovedRows]) -> Rows:
        present = self.present()
        for stop in reversed(self.stops):
            self.number(stop, present[stop.index])
        found = tuple(
            StopRows(len(self.at[stop.index]), self.link(stop), {held: self.label(stop, held) for held in stop.columns})
            for stop in self.stops
        )
        for stop in self.stops:
            if stop.is_container and stop.container in moved:
                into = moved[stop.container]
                into.row = self.row[stop.index][into.row].tolist()
        return Rows(found, moved)

    def home(self, stop: Stop) -> int:
        return self.homes[stop.container]

    def is_base(self, stop: Stop) -> bool:
        """Return whether the rows of a stop are those of its home, one for one."""
        return stop.is_container and self.home(stop) == stop.container

    def present(self) -> list[np.ndarray]:
        """Return for every stop which rows of its home have a row here: for values, for what refers to it, or for
        its key.
        """
        found = [np.full(self.counts[self.home(stop)], self.is_base(stop)) for stop in self.stops]
        for stop in reversed(self.stops):
            here = found[stop.index]
            for held in stop.columns:
                here |= self.labels[held] >= 0
            if stop.link is None:
                continue
            if self.is_base(stop):
                found[stop.above][self.owners[stop.container]] = True
            else:
                found[stop.above] |= here
        for stop in self.stops:
            if stop.index in self.needs.filled:
                found[stop.index] |= found[stop.above]
        return found

    def number(self, stop: Stop, present: np.ndarray) -> None:
        """Number rows so that equal looked-up rows are one, except where rows of child tables refer to it, or a key
        needs it so.
        """
        chosen = np.flatnonzero(present)
        below = self.needs.plan.below(stop)
        number = first = np.arange(len(chosen))
        is_apart = stop.is_container or stop.index in self.needs.apart or any(other.is_container for other in below)
        if not is_apart:
            columns = [*(self.labels[held] for held in stop.columns), *(self.row[other.index] for other in below)]
            number, first = distinct_rows([column[chosen] for column in columns], len(chosen))
        row = np.full(len(present), -1, np.int32)
        row[chosen] = number.astype(np.int32)
        self.row[stop.index], self.at[stop.index] = row, chosen[first].astype(np.int32)

    def label(self, stop: Stop, held: int) -> Ints:
        """Return the labels of a class in the rows of its stop."""
        return self.labels[held] if self.is_base(stop) else self.labels[held][self.at[stop.index]]

    def link(self, stop: Stop) -> Ints:
        """Return the rows that rows of a stop refer to, or that rows above refer to here."""
        if stop.link is None:
            return self.owners[0]
        if not stop.link.down:
            return self.row[stop.index][self.at[stop.above]]
        if self.is_base(stop):
            return self.row[stop.above][self.owners[stop.container]]
        return self.row[stop.above][self.at[stop.index]]


def distinct_rows(columns: list[Ints], size: int) -> tuple[np.ndarray, np.ndarray]:
    """Return a number for every row, equal where all columns are, and a row for every number."""
    number = np.zeros(size, np.int64)
    first = np.arange(min(size, 1))
    for column in columns:
        pairs = number * (int(column.max(initial=-1)) + 2) + column + 1
        _, first, number = np.unique(pairs, return_index=True, return_inverse=True)
    return number, first


@dataclass(frozen=True)
class Contents:
    """The rows of a stop that would be one with equal rows, and for each what it and the rows it looks up hold."""

    rows: npt.NDArray[np.intp]
    held: Ints


def contents(needs: Needs, rows: Rows) -> dict[int, Contents]:
    """Return for every stop the contents of the looked-up rows that are merged where they are equal.

    Rows that stay apart, those that look such a row up, and those of child tables are not among them.
    """
    found: dict[int, tuple[np.ndarray, Ints]] = {}
    for stop in reversed(needs.plan.stops):
        found[stop.index] = _held(needs, rows, stop, found)
    return {
        index: Contents(np.flatnonzero(~own), held[~own])
        for index, (own, held) in found.items()
        if not needs.plan.stops[index].is_container
    }


def _held(needs: Needs, rows: Rows, stop: Stop, found: dict[int, tuple[np.ndarray, Ints]]) -> tuple[np.ndarray, Ints]:
    """Return which rows of a stop may be merged with others, and the labels in each and in what it looks up."""
    here, below = rows.stops[stop.index], needs.plan.below(stop)
    if stop.is_container or stop.index in needs.apart or any(other.is_container for other in below):
        return np.ones(here.count, bool), np.empty((here.count, 0), np.int32)
    own = np.zeros(here.count, bool)
    columns = [here.labels[held][:, None] for held in stop.columns]
    for other in below:
        link = rows.stops[other.index].link
        there = link >= 0
        is_apart, held = found[other.index]
        own[there] |= is_apart[link[there]]
        looked_up = np.full((here.count, held.shape[1] + 1), -1, np.int32)
        looked_up[there, 0] = 0
        looked_up[there, 1:] = held[link[there]]
        columns.append(looked_up)
    return own, np.hstack([np.empty((here.count, 0), np.int32), *columns])
