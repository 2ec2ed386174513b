"""Whose the placed rows of a container are, and which of them say nothing that another does not."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from treeanon.arrays import Ints, Longs
from treeanon.io.documents.row_texts import Placed
from treeanon.schema import Layout


def persons_of(placed: Placed, layout: Layout, container: int) -> Ints:
    """Return the person of each row of a container."""
    found = np.arange(len(placed.forest), dtype=np.int32)
    way = []
    while container:
        way.append(container)
        container = layout.containers[container].parent
    for at in reversed(way):
        found = found[placed.tables[at].owner]
    return found


def repeated_rows(owner: Ints, columns: Sequence[Ints]) -> Longs:
    """Return rows whose values another row of the same owner has too, in columns that lie above one another."""
    order = np.lexsort([*columns[::-1], owner])
    inside = owner[order][:-1] == owner[order][1:]
    for column in columns:
        here, following = column[order][:-1], column[order][1:]
        inside &= (here < 0) | (here == following)
    found: Longs = order[:-1][inside]
    return found


Moved = tuple[int, int, int]
"""A moved node: the container and row that it hangs on, and itself."""


def moved_by_kind(placed: Placed, layout: Layout, home: Sequence[int], kinds: int) -> list[list[Moved]]:
    """Return the moved nodes of each kind of rows; `home` has the kind that each container is part of."""
    found: list[list[Moved]] = [[] for _ in range(kinds)]
    class_of = placed.forest.classes.class_of
    for container, rows in enumerate(placed.moved):
        for row, nodes in rows.items():
            for node in nodes:
                held = int(class_of[placed.forest.label[node]])
                kind = home[layout.classes[held].container] if held >= 0 else 0
                found[max(kind, 0)].append((container, row, node))
    return found
