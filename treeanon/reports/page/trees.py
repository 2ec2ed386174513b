"""Drawings of records before and after, with signs for the change of each value.

Trees are drawn as boxes from left to right, a row for every leaf, parents centered on their children.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from treeanon.previews.model import Change, Node, RecordChange
from treeanon.reports.page.elements import Element, el, shown
from treeanon.reports.preview_cells import columns, cut
from treeanon.reports.preview_text import SIGNS

LETTER = 7.3
"""The width of a letter of the fixed-width font at 12 pixels, with a margin."""

MAX_LETTERS = 32
ROW, HIGH = 46, 36
GAP = 34
LEFT = 28
BULGE = 44
WIDE, WIDER = 420, 620
"""Wider drawings may be scaled down."""


@dataclass
class Box:
    """A node to draw: `above` in small letters, `text` (a value of the data), `marks` in the corner, `hint` as a
    tooltip.

    `css` are classes of the style sheet. `bare` boxes have no border and stand for nodes that are not drawn. `edge` is
    the class of the line that leads to the box; `key` identifies the box in the drawing.
    """

    text: str
    above: str = ""
    css: str = ""
    marks: str = ""
    hint: str = ""
    edge: str = ""
    bare: bool = False
    key: int = -1
    children: list[Box] = field(default_factory=list)


@dataclass
class Placed:
    """A box with its position: the left edge, the vertical center, the width, and the depth."""

    box: Box
    up: Placed | None
    depth: int
    x: float = 0.0
    y: float = 0.0
    width: float = 0.0
    last: Placed | None = None

    @property
    def right(self) -> float:
        """The right edge."""
        return self.x + self.width


def place(roots: Sequence[Box], *, step: float = ROW) -> list[Placed]:
    """Return every box with its position, in preorder; leaves are `step` apart, and each depth is a column.

    >>> flu, acne = Box("flu"), Box("acne")
    >>> [(p.box.text, p.depth, p.y) for p in place([Box("any", children=[flu, acne])])]
    [('any', 0, 46.0), ('flu', 1, 23.0), ('acne', 1, 69.0)]
    """
    placed: list[Placed] = []
    stack: list[tuple[Box, Placed | None]] = [(box, None) for box in reversed(roots)]
    while stack:
        box, up = stack.pop()
        here = Placed(box, up, up.depth + 1 if up else 0)
        placed.append(here)
        stack += [(child, here) for child in reversed(box.children)]
    widths: dict[int, float] = {}
    for one in placed:
        widths[one.depth] = max(widths.get(one.depth, 0.0), _width(one.box))
    starts, at = [], float(LEFT)
    for depth in range(len(widths)):
        starts.append(at)
        at += widths[depth] + GAP
    row = step / 2
    for one in placed:
        one.x, one.width = starts[one.depth], widths[one.depth]
        if not one.box.children:
            one.y, row = row, row + step
    _center(placed)
    return placed


def _center(placed: list[Placed]) -> None:
    """Center every parent between its first and its last child."""
    for one in reversed(placed):
        if one.up is not None:
            # Backwards: children are placed before their parents.
            one.up.last = one.up.last or one
            one.up.y = (one.y + one.up.last.y) / 2


def _width(box: Box) -> float:
    text = columns(cut(box.text, MAX_LETTERS)) * LETTER
    marks = (columns(box.marks) + 1) * LETTER if box.marks else 0.0
    # Marks are beside the small letters, if there are any.
    wide = max(text, columns(cut(box.above, MAX_LETTERS)) * 6.2 + marks) if box.above else text + marks
    return max(wide, 40.0) + 16


def drawn(
    placed: Sequence[Placed], title: str, more: Sequence[Element] = (), *, room: float = 8, high: int = HIGH
) -> Element:
    """Return the drawing of placed boxes and the lines between them, as an SVG element.

    `more` is drawn behind the boxes, and may need `room` to the right of them; `high` is the height of boxes.
    """
    width = max((one.right for one in placed), default=0.0) + room
    height = max((one.y for one in placed), default=0.0) + high / 2 + 8
    roots = [one for one in placed if one.up is None]
    trunk = (roots[0].y + roots[-1].y) / 2 if roots else 0.0
    return el(
        "svg",
        el("title", title),
        el("circle", cx=5, cy=trunk, r=4, class_="root") if roots else None,
        [_line(one, trunk) for one in placed],
        more,
        [_box(one, high) for one in placed],
        role="img", width=round(width), height=round(height), viewBox=f"0 0 {round(width)} {round(height)}",
        class_="tree wide wider" if width > WIDER else "tree wide" if width > WIDE else "tree", aria_label=title,
    )  # fmt: skip


def _line(one: Placed, trunk: float) -> Element:
    x, y = (one.up.right, one.up.y) if one.up else (9, trunk)
    middle = (x + one.x) / 2
    path = f"M{x:.1f} {y:.1f}C{middle:.1f} {y:.1f} {middle:.1f} {one.y:.1f} {one.x:.1f} {one.y:.1f}"
    return el("path", d=path, class_=f"edge {one.box.edge}".strip())


def _box(one: Placed, high: int) -> Element:
    """Return a box as a nested drawing, which clips its content."""
    box, wide = one.box, round(one.width)
    lower = 27 if box.above else high / 2 + 4
    upper = 13 if box.above else lower
    return el(
        "svg",
        el("title", box.hint) if box.hint else None,
        None if box.bare else el("rect", x=1, y=1, width=wide - 2, height=high - 2, rx=6),
        el("text", cut(box.above, MAX_LETTERS), x=8, y=13, class_="above") if box.above else None,
        el("text", cut(box.text, MAX_LETTERS), x=8, y=lower, class_="value"),
        el("text", box.marks, x=wide - 7, y=upper, class_="marks") if box.marks else None,
        x=round(one.x), y=round(one.y - high / 2), width=wide, height=high, class_=f"node {box.css}".strip(),
    )  # fmt: skip


def arc(start: Placed, end: Placed) -> list[Element]:
    """Return an arrow that passes to the right of the boxes, from the former parent of a node to the node."""
    out = max(start.right, end.right) + BULGE * 0.9
    x, y = end.right, end.y
    path = f"M{start.right:.1f} {start.y:.1f}C{out:.1f} {start.y:.1f} {out:.1f} {y:.1f} {x + 7:.1f} {y:.1f}"
    head = f"M{x + 1:.1f} {y:.1f}l9 -5l0 10z"
    return [el("path", d=path, class_="edge from"), el("path", d=head, class_="arrow")]


Side = Literal["before", "after"]

MAX_NODES = 60
"""Maximum number of nodes drawn of a record; changed nodes come first, the others are counted."""


def record_svg(change: RecordChange, side: Side) -> Element:
    """Return one side of a record as an SVG element, with signs on changed nodes and lines to moved ones.

    Before, the line to a moved node is dashed. After, a dashed line leads to it from its former parent. The element
    uses the classes of `style.css`; `elements.text_of` converts it to text.
    """
    nodes = change.before if side == "before" else change.after or ()
    fates = _by_node(change, side)
    roots, left_out = _boxes(nodes, fates, side)
    moved = side == "after" and any("moved" in found for found in fates.values())
    placed = place(roots)
    lines = _moves(change, placed) if moved else []
    return drawn(placed, _title(change, side, left_out), lines, room=BULGE if lines else 8)


def tree_svg(nodes: Sequence[Node], title: str) -> Element:
    """Return a tree as an SVG element."""
    roots, left_out = _boxes(nodes, {}, "after")
    return drawn(place(roots), title + _uncounted(left_out))


def _by_node(change: RecordChange, side: Side) -> dict[int, list[Change]]:
    """Return the changes of each node of one side, in the order of the signs; merged nodes have the changes of all."""
    found: dict[int, set[Change]] = {}
    for fate in change.fates:
        node = fate.before if side == "before" else fate.after
        if node is not None and fate.changes:
            found.setdefault(node, set()).update(fate.changes)
    return {node: [change for change in SIGNS if change in what] for node, what in found.items()}


def _title(change: RecordChange, side: Side, left_out: int) -> str:
    if side == "after" and change.after is None:
        return "This record is suppressed: not in the release."
    nodes = change.before if side == "before" else change.after or ()
    count = sum(1 for root in nodes for _ in root.walk())
    words = "Original record" if side == "before" else "Published record"
    return f"{words}: {count:,} {'value' if count == 1 else 'values'}{_uncounted(left_out)}"


def _uncounted(left_out: int) -> str:
    return f", {left_out:,} of them not drawn" if left_out else ""


def _boxes(nodes: Sequence[Node], changes: Mapping[int, Sequence[Change]], side: Side) -> tuple[list[Box], int]:
    """Return the boxes of the nodes to draw, and the number of the others."""
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
            box = _record_box(node, changes.get(node.id, ()), side)
            into.append(box)
            stack.append((node.children, box.children))
        if hidden:
            into.append(Box(f"… {hidden:,} more", css="more", bare=True, edge="more"))
            missing += hidden
    return roots, missing


def _chosen(nodes: Sequence[Node], changes: Mapping[int, Sequence[Change]]) -> set[int]:
    """Return the numbers of the nodes to draw; the ancestors of a drawn node are drawn too."""
    every: list[Node] = []
    above: dict[int, int] = {}
    for root in nodes:
        for node in root.walk():
            every.append(node)
            above.update((child.id, node.id) for child in node.children)
    if len(every) <= MAX_NODES:
        return {node.id for node in every}
    chosen: set[int] = set()
    for node in sorted(every, key=lambda one: one.id not in changes):
        path, at = [], node.id
        while at not in chosen:
            path.append(at)
            if at not in above:
                break
            at = above[at]
        if len(chosen) + len(path) <= MAX_NODES:
            chosen.update(path)
    return chosen


def _record_box(node: Node, changes: Sequence[Change], side: Side) -> Box:
    edge = "gone" if side == "before" and {"moved", "dropped", "left-out"} & set(changes) else ""
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
    """Return lines from former parents to moved nodes."""
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
    """Return the legend of the signs in the drawings."""
    words: dict[Change, str] = {
        "generalized": "published as a more general value",
        "moved": "disassociated from its former parent, where the dashed line begins",
        "merged": "several equal values are published as one",
        "dropped": "not published",
        "left-out": "left out, with all below it, because its relation to a value above is rare",
    }
    rows = [
        el("li", el("span", SIGNS[name], class_=f"sign {name}"), " ", el("b", name), f": {text}")
        for name, text in words.items()
    ]
    rows.append(el("li", el("span", "*", class_="sign"), " stands for any value of its class"))
    return el("ul", rows, class_="legend")
