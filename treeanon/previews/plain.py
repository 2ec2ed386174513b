"""Changes of records as plain data, for JSON."""

from __future__ import annotations

from typing import Any

from treeanon.previews.model import Node, RecordChange, RowChange


def plain_change(change: RecordChange | RowChange) -> dict[str, Any]:
    """A change as plain data; records are counted from 1, as they are for people.

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
    """A node as plain data; trees are as deep as classes lie under each other, which schemas keep shallow."""
    below = [_plain_node(child) for child in node.children]
    return {"id": node.id, "class": node.cls, "value": node.value, "children": below}
