"""Batches of rows put together, and rows left out of them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np

from treeanon.arrays import Ints, unique_values
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
