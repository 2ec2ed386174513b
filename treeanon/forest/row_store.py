"""Rows of one kind in the order of their persons: sorted in runs, which are put aside where there are many.

A run is what has been read since the one before it, sorted by person. The rows of some persons stand side by side in
each run, so that they can be taken from all runs without looking at the others.

Also batches of rows put together, and rows left out of them.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import BinaryIO

import numpy as np

from treeanon.arrays import Ints, Longs, unique_values
from treeanon.errors import FileError
from treeanon.forest.tables import Batch, ContainerRows, MovedNodes, TextCodes
from treeanon.schema import Layout


def united(parts: Sequence[Batch], layout: Layout, keys: Collection[int]) -> Batch:
    """Return batches of rows as one; of the classes `keys` nothing is kept."""
    codes = [TextCodes() for _ in layout.classes]

    def common(part: Batch) -> Batch:
        maps = [_mapped(codes[at], () if at in keys else texts) for at, texts in enumerate(part.texts)]
        return recoded(part, maps, keys)

    return replace(chained([common(part) for part in parts], layout, keys), texts=tuple(c.texts for c in codes))


def _mapped(codes: TextCodes, texts: Sequence[str]) -> Ints:
    """Return the common code of each text, and -1 in the end."""
    return np.array([*(codes[text] for text in texts), -1], np.int32)


def recoded(rows: Batch, maps: Sequence[Ints], keys: Collection[int]) -> Batch:
    """Return a batch without texts whose codes are others: `maps` has those of each class, and -1 in the end.

    Of the classes `keys` nothing is kept.
    """
    tables = tuple(
        ContainerRows(table.owner, {held: maps[held][codes] for held, codes in table.codes.items() if held not in keys})
        for table in rows.tables
    )
    code = rows.moved.code.copy()
    for held in unique_values(rows.moved.held[rows.moved.held >= 0]).tolist():
        code[rows.moved.held == held] = maps[held][rows.moved.code[rows.moved.held == held]]
    return replace(rows, tables=tables, texts=(), moved=replace(rows.moved, code=code))


def chained(parts: Sequence[Batch], layout: Layout, keys: Collection[int]) -> Batch:
    """Return batches of the same codes as one, without texts."""
    starts = np.zeros((len(parts) + 1, len(layout.containers)), np.int64)
    sizes = [[len(table) for table in part.tables] for part in parts]
    starts[1:] = np.cumsum(np.array(sizes, np.int64).reshape(len(parts), len(layout.containers)), axis=0)
    tables = []
    for container in layout.containers:
        at = container.index
        owner = [part.tables[at].owner + (starts[i, container.parent] if at else 0) for i, part in enumerate(parts)]
        held = {
            number: _joined([part.tables[at].codes[number] for part in parts])
            for number in container.held
            if number not in keys
        }
        tables.append(ContainerRows(_joined(owner), held))
    return Batch(tuple(tables), (), _joined_moved(parts, layout, starts))


def _joined(columns: Sequence[Ints]) -> Ints:
    return np.concatenate([np.empty(0, np.int32), *columns]).astype(np.int32)


def _joined_moved(parts: Sequence[Batch], layout: Layout, starts: np.ndarray) -> MovedNodes:
    columns: list[tuple[Ints, ...]] = []
    count = 0
    for i, part in enumerate(parts):
        moved = part.moved
        row = moved.row.copy()
        for under in unique_values(moved.under).tolist():
            container = layout.classes[under].container if under >= 0 else 0
            row[moved.under == under] += starts[i, container]
        parent = np.where(moved.parent >= 0, moved.parent + count, -1)
        columns.append((moved.held, moved.code, parent, moved.under, row))
        count += len(moved.held)
    return MovedNodes(*map(_joined, zip(*columns, strict=True))) if columns else MovedNodes.none()


def without_rows(rows: Batch, layout: Layout, lost: np.ndarray) -> Batch:
    """Return a batch of rows without some of them, and without what these hold."""
    kept = [~lost]
    tables = []
    for container in layout.containers:
        table = rows.tables[container.index]
        if container.index:
            kept.append(kept[container.parent][table.owner])
        stays = kept[container.index]
        owner = table.owner[stays]
        if container.index:
            owner = (np.cumsum(kept[container.parent]) - 1)[owner].astype(np.int32)
        tables.append(ContainerRows(owner, {held: column[stays] for held, column in table.codes.items()}))
    return replace(rows, tables=tuple(tables), moved=_without_moved(rows.moved, layout, kept))


def _without_moved(moved: MovedNodes, layout: Layout, kept: Sequence[np.ndarray]) -> MovedNodes:
    stays = np.ones(len(moved.held), bool)
    row = moved.row.copy()
    for at, (above, under) in enumerate(zip(moved.parent.tolist(), moved.under.tolist(), strict=True)):
        container = layout.classes[under].container if under >= 0 else 0
        # Nodes come after the one above them.
        stays[at] = stays[above] if above >= 0 else kept[container][moved.row[at]]
        row[at] = np.count_nonzero(kept[container][: moved.row[at]])
    new = np.append(np.cumsum(stays) - 1, -1)
    columns = (moved.held, moved.code, new[moved.parent], moved.under, row)
    return MovedNodes(*(column[stays].astype(np.int32) for column in columns))


Slices = Callable[[int, int], np.ndarray]
"""Gives the entries of an array from one number to another."""


def in_memory(array: np.ndarray) -> Slices:
    """Return the slices of an array that stays in memory."""
    return lambda start, stop: array[start:stop]


class Spill:
    """A file without a name, which is gone when the program ends, however it ends; it is made when it is needed.

    >>> spill = Spill()
    >>> first, second = spill.put(np.arange(5)), spill.put(np.ones((3, 2)))
    >>> first(1, 3).tolist(), second(0, 3).shape
    ([1, 2], (3, 2))
    """

    def __init__(self) -> None:
        self.file: BinaryIO | None = None
        self.size = 0

    def put(self, array: np.ndarray) -> Slices:
        """Write an array, and return its slices, each of which is read from the file again."""
        start, kind, shape = self.size, array.dtype, array.shape[1:]
        width = kind.itemsize * int(np.prod(shape, dtype=np.int64))
        try:
            if self.file is None:
                self.file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 - as long as the slices
            left = array.tobytes()
            while left:
                left = left[self.file.write(left) :]
        except OSError as error:
            what = f"cannot put rows aside: {error.strerror}; TMPDIR names another folder for them"
            raise FileError(f"{tempfile.gettempdir()}: {what}") from None
        self.size += array.nbytes
        file = self.file

        def read(first: int, stop: int) -> np.ndarray:
            found = os.pread(file.fileno(), (stop - first) * width, start + first * width)
            return np.frombuffer(found, kind).reshape(-1, *shape)

        return read


Columns = tuple[np.ndarray, ...]
"""What is known of rows beside what they hold: an entry a row in each, their persons first."""


@dataclass(frozen=True)
class _Run:
    """Sorted rows: `starts` says for every container where each block of persons begins."""

    starts: tuple[Longs, ...]
    columns: tuple[Slices, ...]
    owners: tuple[Slices, ...]
    codes: tuple[dict[int, Slices], ...]
    moved: MovedNodes

    def rows(self, layout: Layout, first: int, stop: int) -> tuple[Batch, Columns]:
        """Return the rows of some blocks, and their columns."""
        bounds = [(int(own[min(first, len(own) - 1)]), int(own[min(stop, len(own) - 1)])) for own in self.starts]
        tables = []
        for container, (a, b) in zip(layout.containers, bounds, strict=True):
            before = bounds[container.parent][0] if container.index else a
            owner = (self.owners[container.index](a, b) - before).astype(np.int32)
            tables.append(ContainerRows(owner, {held: put(a, b) for held, put in self.codes[container.index].items()}))
        moved = _part_of(self.moved, layout, bounds)
        return Batch(tuple(tables), (), moved), tuple(column(*bounds[0]) for column in self.columns)


class RowStore:
    """The rows of one kind. Of the classes `keys` nothing is kept; texts are held once, however many rows have them.

    Runs know where the rows of each block of so many persons begin.
    """

    def __init__(self, layout: Layout, keys: Collection[int], block: int) -> None:
        self.layout, self.keys, self.block = layout, keys, block
        self.texts = [TextCodes() for _ in layout.classes]
        self.waiting: list[tuple[Batch, Columns]] = []
        self.runs: list[_Run] = []

    def add(self, rows: Batch, columns: Columns) -> None:
        """Take in rows with their columns, the first of which has the number of each row's person."""
        maps = []
        for at, texts in enumerate(rows.texts):
            found = np.full(len(texts) + 1, -1, np.int32)
            for code in () if at in self.keys else _used(rows, at):
                found[code] = self.texts[at][texts[code]]
            maps.append(found)
        self.waiting.append((recoded(rows, maps, self.keys), columns))

    @property
    def unsorted(self) -> int:
        """The number of rows that are in no run yet."""
        return sum(rows.records for rows, _ in self.waiting)

    def flush(self, put: Callable[[np.ndarray], Slices]) -> None:
        """Make a run of the rows that are in none; `put` takes its arrays."""
        if not self.waiting:
            return
        parts, self.waiting = self.waiting, []
        columns = [np.concatenate(each) for each in zip(*(columns for _, columns in parts), strict=True)]
        rows = chained([rows for rows, _ in parts], self.layout, self.keys)
        order = np.argsort(columns[0], kind="stable")
        rows, person = _in_order(rows, self.layout, order), columns[0][order]
        blocks = (
            np.arange(int(person[-1]) // self.block + 2, dtype=np.int64) * self.block if len(person) else np.zeros(1)
        )
        starts: list[Longs] = [np.searchsorted(person, blocks)]
        for container in self.layout.containers[1:]:
            starts.append(np.searchsorted(rows.tables[container.index].owner, starts[container.parent]))
        self.runs.append(
            _Run(
                tuple(starts),
                tuple(put(column[order]) for column in columns),
                tuple(put(table.owner) for table in rows.tables),
                tuple({held: put(column) for held, column in table.codes.items()} for table in rows.tables),
                rows.moved,
            )
        )

    def sizes(self, blocks: int) -> Longs:
        """Return how many rows each block of persons has in all runs."""
        found = np.zeros(blocks, np.int64)
        for run in self.runs:
            own = np.diff(run.starts[0])
            found[: len(own)] += own
        return found

    def rows(self, first: int, stop: int, none: Columns) -> tuple[Batch, Columns]:
        """Return the rows of some blocks of persons, with their texts, and their columns; `none` are empty ones."""
        parts = [run.rows(self.layout, first, stop) for run in self.runs]
        rows = chained([rows for rows, _ in parts], self.layout, self.keys)
        found = [np.concatenate(each) for each in zip(none, *(columns for _, columns in parts), strict=True)]
        texts: list[Sequence[str]] = []
        maps: list[Ints] = []
        for at, known in enumerate(self.texts):
            used = np.zeros(len(known.texts) + 1, bool)
            for column in _code_columns(rows, at):
                used[column] = True
            places = np.flatnonzero(used[:-1])
            texts.append([known.texts[code] for code in places.tolist()])
            own = np.full(len(used), -1, np.int32)
            own[places] = np.arange(len(places), dtype=np.int32)
            maps.append(own)
        return replace(recoded(rows, maps, self.keys), texts=tuple(texts)), tuple(found)


def _code_columns(rows: Batch, held: int) -> list[Ints]:
    """Return all columns of codes of a class."""
    tables = [table.codes[held] for table in rows.tables if held in table.codes]
    return [*tables, rows.moved.code[rows.moved.held == held]]


def _used(rows: Batch, held: int) -> list[int]:
    """Return the codes of a class that occur in rows, in ascending order."""
    found = unique_values(np.concatenate([np.empty(0, np.int32), *_code_columns(rows, held)]))
    return found[found >= 0].tolist()  # type: ignore[no-any-return]


def _in_order(rows: Batch, layout: Layout, order: Longs) -> Batch:
    """Return a batch with its rows in another order, and what they hold in the order of its owners."""
    orders, places, tables = [order], [_inverse(order)], []
    for container in layout.containers:
        table = rows.tables[container.index]
        owner = table.owner
        if container.index:
            owner = places[container.parent][owner]
            orders.append(np.argsort(owner, kind="stable"))
            places.append(_inverse(orders[-1]))
        own = orders[container.index]
        tables.append(ContainerRows(owner[own], {held: column[own] for held, column in table.codes.items()}))
    row = rows.moved.row.copy()
    for under, chosen in _tops(rows.moved):
        row[chosen] = places[_container(layout, under)][row[chosen]]
    return replace(rows, tables=tuple(tables), moved=replace(rows.moved, row=row))


def _inverse(order: Longs) -> Ints:
    found = np.empty(len(order), np.int32)
    found[order] = np.arange(len(order), dtype=np.int32)
    return found


def _container(layout: Layout, under: int) -> int:
    return layout.classes[under].container if under >= 0 else 0


def _tops(moved: MovedNodes) -> list[tuple[int, np.ndarray]]:
    """Return the moved nodes that hang on rows, by the class whose rows these are."""
    top = moved.parent < 0
    return [(under, top & (moved.under == under)) for under in unique_values(moved.under[top]).tolist()]


def _part_of(moved: MovedNodes, layout: Layout, bounds: Sequence[tuple[int, int]]) -> MovedNodes:
    """Return the moved nodes that hang on rows between bounds, which each container has, and those below them."""
    if not len(moved.held):
        return moved
    row, stays = moved.row.copy(), np.zeros(len(moved.held), bool)
    for under, chosen in _tops(moved):
        first, stop = bounds[_container(layout, under)]
        stays[chosen] = (row[chosen] >= first) & (row[chosen] < stop)
        row[chosen] -= first
    for at in np.flatnonzero(moved.parent >= 0).tolist():
        # Nodes come after the one above them.
        stays[at] = stays[moved.parent[at]]
    new = np.append(np.cumsum(stays) - 1, -1)
    columns = (moved.held, moved.code, new[moved.parent], moved.under, row)
    return MovedNodes(*(column[stays].astype(np.int32) for column in columns))


class PersonIndex:
    """The persons of the first file, numbered in the order of its rows; `total` counts those without a key, too."""

    def __init__(self) -> None:
        self.parts: list[tuple[np.ndarray, Ints]] = []
        self.total = 0
        self.high = self.low = np.empty(0, np.uint64)
        self.number: Ints = np.empty(0, np.int32)
        self.run = 0

    def add(self, codes: Ints, digests: np.ndarray) -> Ints:
        """Return the numbers of new persons, given the codes of their digests; -1: a person without a key."""
        found = self.fresh(len(codes))
        self.parts.append((digests[codes[codes >= 0]], found[codes >= 0]))
        return found

    def fresh(self, count: int) -> Ints:
        """Return numbers of persons who have no key."""
        self.total += count
        return np.arange(self.total - count, self.total, dtype=np.int32)

    def close(self) -> int:
        """Make the persons so far ready to be found; return the first whose key one before it has, -1: none."""
        digests = np.concatenate([np.empty((0, 2), np.uint64), *(digests for digests, _ in self.parts)])
        number = np.concatenate([np.empty(0, np.int32), *(number for _, number in self.parts)])
        self.parts = []
        order = np.lexsort((digests[:, 1], digests[:, 0]))
        self.high, self.low, self.number = digests[order, 0], digests[order, 1], number[order]
        same = self.high[1:] == self.high[:-1]
        # How many keys have the same first half, at most: nearly always one.
        edges = np.flatnonzero(np.concatenate([[True], ~same, [True]]))
        self.run = int(np.diff(edges).max(initial=0)) if len(self.high) else 0
        again = self.number[1:][same & (self.low[1:] == self.low[:-1])]
        return int(again.min(initial=np.iinfo(np.int32).max)) if len(again) else -1

    def find(self, digests: np.ndarray) -> Longs:
        """Return the number of the person of each digest, -1 for none."""
        found = np.full(len(digests), -1, np.int64)
        place = np.searchsorted(self.high, digests[:, 0])
        for step in range(self.run):
            at = np.minimum(place + step, len(self.high) - 1)
            fits = (self.high[at] == digests[:, 0]) & (self.low[at] == digests[:, 1])
            found[fits] = self.number[at[fits]]
        return found
