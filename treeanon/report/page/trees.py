"""A record before and after as two drawings, with signs for what became of each value."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from treeanon.previews.model import Change, Node, RecordChange
from treeanon.report.page.drawing import BULGE, Box, Placed, arc, drawn, place
from treeanon.report.page.elements import Element, el, shown
from treeanon.report.preview_text_lines import SIGNS

Side = Literal["before", "after"]

MOST_NODES = 60
"""A record is drawn with at most so many nodes: those that changed come first, the rest is counted."""


def record_svg(change: RecordChange, side: Side) -> Element:
    """One side of a record as an SVG element: what changed has a sign, and moved edges are drawn.

    Before, the line to a node that moves is dashed. After, a dashed line leads to it from what it stood under. The
    element's style is that of `style.css`; `elements.text_of` gives it as text.
    """
    nodes = change.before if side == "before" else change.after or ()
    fates = _by_node(change, side)
    roots, left_out = _boxes(nodes, fates, side)
    moved = side == "after" and any("moved" in found for found in fates.values())
    placed = place(roots)
    lines = _moves(change, placed) if moved else []
    return drawn(placed, _title(change, side, left_out), lines, room=BULGE if lines else 8)


def tree_svg(nodes: Sequence[Node], title: str) -> Element:
    """A tree by itself as an SVG element."""
    roots, left_out = _boxes(nodes, {}, "after")
    return drawn(place(roots), title + _uncounted(left_out))


def _by_node(change: RecordChange, side: Side) -> dict[int, list[Change]]:
    """What happened to each node of one side, in the order of the signs; of merged nodes what happened to any."""
    found: dict[int, set[Change]] = {}
    for fate in change.fates:
        node = fate.before if side == "before" else fate.after
        if node is not None and fate.changes:
            found.setdefault(node, set()).update(fate.changes)
    return {node: [change for change in SIGNS if change in what] for node, what in found.items()}


def _title(change: RecordChange, side: Side, left_out: int) -> str:
    if side == "after" and change.after is None:
        return "This record is left out of the release."
    nodes = change.before if side == "before" else change.after or ()
    count = sum(1 for root in nodes for _ in root.walk())
    words = "The record as it was" if side == "before" else "The record as it would be published"
    return f"{words}: {count:,} {'value' if count == 1 else 'values'}{_uncounted(left_out)}"


def _uncounted(left_out: int) -> str:
    return f", of which {left_out:,} are not drawn" if left_out else ""


def _boxes(nodes: Sequence[Node], changes: Mapping[int, Sequence[Change]], side: Side) -> tuple[list[Box], int]:
    """The boxes of the most telling nodes, and how many nodes are not drawn."""
    chosen = _chosen(nodes, changes)
    roots: list[Box] = []
    stack: list[tuple[Sequence[Node], list[Box]]] = [(nodes, roots)]
    missing = 0
    while stack:
        siblings, into = stack.pop()
        hidden = 0
        for node in siblings:
            if node.id not in chosen:
                hidden += sum(1 for _ in node.walk())
                continue
            box = _box(node, changes.get(node.id, ()), side)
            into.append(box)
            stack.append((node.children, box.children))
        if hidden:
            into.append(Box(f"… {hidden:,} more", css="more", bare=True, edge="more"))
            missing += hidden
    return roots, missing


def _chosen(nodes: Sequence[Node], changes: Mapping[int, Sequence[Change]]) -> set[int]:
    """The numbers of the nodes to draw: with a node goes all that it stands under."""
    every: list[Node] = []
    above: dict[int, int] = {}
    for root in nodes:
        for node in root.walk():
            every.append(node)
            above.update((child.id, node.id) for child in node.children)
    if len(every) <= MOST_NODES:
        return {node.id for node in every}
    chosen: set[int] = set()
    for node in sorted(every, key=lambda one: one.id not in changes):
        path, at = [], node.id
        while at not in chosen:
            path.append(at)
            if at not in above:
                break
            at = above[at]
        if len(chosen) + len(path) <= MOST_NODES:
            chosen.update(path)
    return chosen


def _box(node: Node, changes: Sequence[Change], side: Side) -> Box:
    edge = "gone" if side == "before" and {"moved", "dropped"} & set(changes) else ""
    edge = "moved" if side == "after" and "moved" in changes else edge
    words = f" ({', '.join(changes)})" if changes else ""
    return Box(
        node.value,
        above=node.cls,
        css=" ".join(changes),
        marks="".join(SIGNS[change] for change in changes),
        hint=f"{node.cls}: {shown(node.value, 200)}{words}",
        edge=edge,
        key=node.id,
    )


def _moves(change: RecordChange, placed: Iterable[Placed]) -> list[Element]:
    """Lines from what nodes stood under to where they stand now."""
    places = {one.box.key: one for one in placed if one.box.key >= 0}
    after = {fate.before: fate.after for fate in change.fates}
    pairs = {
        (after.get(fate.moved_from), fate.after)
        for fate in change.fates
        if fate.moved_from is not None and fate.after is not None
    }
    lines: list[Element] = []
    for start, end in sorted((a, b) for a, b in pairs if a is not None and b is not None):
        if start in places and end in places and start != end:
            lines += arc(places[start], places[end])
    return lines


def legend() -> Element:
    """What the signs in the drawings mean."""
    words: dict[Change, str] = {
        "generalised": "published as a more general value",
        "moved": "no longer under what it stood under; the dashed line shows from where",
        "merged": "several equal values became one",
        "dropped": "not published",
    }
    rows = [
        el("li", el("span", SIGNS[name], class_=f"sign {name}"), " ", el("b", name), f": {text}")
        for name, text in words.items()
    ]
    rows.append(el("li", el("span", "*", class_="sign"), " stands for any value of its class"))
    return el("ul", rows, class_="legend")
