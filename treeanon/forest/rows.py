"""Batches of rows put together, and rows left out of them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np

from treeanon.arrays import Ints
from treeanon.forest.tables import Batch, ContainerRows, MovedNodes, TextCodes
from treeanon.schema import Layout


def united(parts: Sequence[Batch], layout: Layout, keys: Collection[int]) -> Batch:
    """Return batches of rows as one; of the classes `keys` nothing is kept."""
    codes = [TextCodes() for _ in layout.classes]
    maps = [[_mapped(codes[at], () if at in keys else texts) for at, texts in enumerate(part.texts)] for part in parts]
    starts = np.zeros((len(parts) + 1, len(layout.containers)), np.int64)
    sizes = [[len(table) for table in part.tables] for part in parts]
    starts[1:] = np.cumsum(np.array(sizes, np.int64).reshape(len(parts), len(layout.containers)), axis=0)
    tables = []
    for container in layout.containers:
        at = container.index
        owner = [part.tables[at].owner + (starts[i, container.parent] if at else 0) for i, part in enumerate(parts)]
        held = {
            number: _chained([maps[i][number][part.tables[at].codes[number]] for i, part in enumerate(parts)])
            for number in container.held
            if number not in keys
        }
        tables.append(ContainerRows(_chained(owner), held))
    return Batch(tuple(tables), tuple(c.texts for c in codes), _joined_moved(parts, layout, maps, starts))


def _chained(columns: Sequence[Ints]) -> Ints:
    return np.concatenate([np.empty(0, np.int32), *columns]).astype(np.int32)


def _mapped(codes: TextCodes, texts: Sequence[str]) -> Ints:
    """Return the common code of each text, and -1 in the end."""
    return np.array([*(codes[text] for text in texts), -1], np.int32)


def _joined_moved(
    parts: Sequence[Batch], layout: Layout, maps: Sequence[Sequence[Ints]], starts: np.ndarray
) -> MovedNodes:
    columns: list[tuple[Ints, ...]] = []
    count = 0
    for i, part in enumerate(parts):
        moved = part.moved
        code, row = moved.code.copy(), moved.row.copy()
        for number in np.unique(moved.held[moved.held >= 0]).tolist():
            code[moved.held == number] = maps[i][number][moved.code[moved.held == number]]
        for under in np.unique(moved.under).tolist():
            container = layout.classes[under].container if under >= 0 else 0
            row[moved.under == under] += starts[i, container]
        parent = np.where(moved.parent >= 0, moved.parent + count, -1)
        columns.append((moved.held, code, parent, moved.under, row))
        count += len(moved.held)
    return MovedNodes(*map(_chained, zip(*columns, strict=True))) if columns else MovedNodes.none()


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
