"""Trees laid out in the rows of their document: the inverse of building a forest."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from treeanon.forest import Forest
from treeanon.kernels.tree.forest import Ints
from treeanon.kernels.tree.layout import MOVED, place_nodes
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
    """The rows of every container for some records, and the nodes that go under the reserved name.

    `moved[c]` maps rows of container c to the nodes hung on them.
    """

    forest: Forest
    tables: tuple[PlacedRows, ...]
    moved: tuple[dict[int, list[int]], ...]


def place(forest: Forest, layout: Layout, writable: np.ndarray) -> Placed:
    """The layout of a forest in its document; labels that are not `writable` go under the reserved name."""
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
    """The place of each row within its container, rows of one owner side by side; and the owners in that order."""
    local = np.empty(len(row_container), np.int32)
    owners: list[Ints] = []
    for container in range(containers):
        rows = np.flatnonzero(row_container == container)
        owner = local[row_owner[rows]] if container else np.zeros(len(rows), np.int32)
        order = np.argsort(owner, kind="stable")
        local[rows[order]] = np.arange(len(rows), dtype=np.int32)
        owners.append(owner[order])
    return local, owners
