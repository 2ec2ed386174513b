"""A record before and after, with the change of each of its values: the model of all renderers.

It holds *original* values. Renderers for the public show only the `after` side, without `number`.

Changes can be converted to plain data for JSON.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

Change = Literal["generalized", "moved", "merged", "dropped", "left-out"]
"""Changes of a node: a more general value, another parent, one node with others, or not published."""


@dataclass(frozen=True)
class Node:
    """A node to draw; `id` numbers the nodes of one side (before or after) in preorder from 0."""

    id: int
    cls: str
    value: str
    children: tuple[Node, ...] = ()

    def walk(self) -> Iterator[Node]:
        """Yield the node and all below it, in preorder."""
        yield self
        for child in self.children:
            yield from child.walk()


@dataclass(frozen=True)
class NodeChange:
    """The change of one original node.

    `after` is the published node that it became part of (None: dropped), `moved_from` the uppermost former ancestor
    that it was moved away from (None: not moved), and `changes` the kinds of change.
    """

    before: int
    after: int | None
    changes: frozenset[Change] = frozenset()
    moved_from: int | None = None


@dataclass(frozen=True)
class RecordChange:
    """One record before and after. `number` counts the input's records from 0; `after` is None if suppressed.

    `fates` has one entry per node of `before`, in the order of their ids. `change` goes from 0 (unchanged) to 1
    (nothing left); `--worst` sorts by it.
    """

    number: int
    before: tuple[Node, ...]
    after: tuple[Node, ...] | None
    fates: tuple[NodeChange, ...]
    change: float


@dataclass(frozen=True)
class RowChange:
    """One row of a table before and after, a text per column (None: missing); `after` is None if suppressed.

    `alike` is the number of published rows with its quasi-identifiers, itself included.
    """

    number: int
    columns: tuple[str, ...]
    before: tuple[str | None, ...]
    after: tuple[str | None, ...] | None
    alike: int
    change: float


def plain_change(change: RecordChange | RowChange) -> dict[str, Any]:
    """Return a change as plain data; records are counted from 1, as in all output.

    >>> row = RowChange(0, ("age",), ("34",), ("30-39",), 2, 0.5)
    >>> plain_change(row)["after"]
    {'age': '30-39'}
    """
    common = {"record": change.number + 1, "change": round(change.change, 6)}
    if isinstance(change, RowChange):
        sides = {"before": change.before, "after": change.after}
        named = {
            name: None if row is None else dict(zip(change.columns, row, strict=True)) for name, row in sides.items()
        }
        return {**common, **named, "alike": change.alike}
    return {
        **common,
        "before": [_plain_node(node) for node in change.before],
        "after": None if change.after is None else [_plain_node(node) for node in change.after],
        "nodes": [
            {"before": fate.before, "after": fate.after, "changes": sorted(fate.changes), "moved_from": fate.moved_from}
            for fate in change.fates
        ],
    }


def _plain_node(node: Node) -> dict[str, Any]:
    """Return a node as plain data; the recursion is as deep as the class tree, which is shallow."""
    below = [_plain_node(child) for child in node.children]
    return {"id": node.id, "class": node.cls, "value": node.value, "children": below}
