"""Trees as drawings: boxes from left to right, a row for every leaf, parents in the middle of their children."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from treeanon.report.page.elements import Element, el
from treeanon.report.preview_text_cells import columns, cut

LETTER = 7.3
"""The width of a letter of the fixed-width font, at 12 pixels and a little more."""

MOST_LETTERS = 32
ROW, HIGH = 46, 36
GAP = 34
LEFT = 28
BULGE = 44
WIDE, WIDER = 420, 620
"""Drawings that are wider may be shown smaller where there is no room."""


@dataclass
class Box:
    """A node to draw: `above` in small letters, `text` (a value of the data), `marks` at its corner, `hint` in full.

    `css` are classes of the style. `bare` boxes have no border: they stand for what is not drawn. `edge` is the class
    of the line that leads to the box; `key` is for whoever needs the box's place later.
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
    """A box with its place: the left edge, the middle of its height, its width, and its depth."""

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
    """Every box with its place, in preorder; leaves are `step` apart, and each depth has a column of its own.

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
    _centre(placed)
    return placed


def _centre(placed: list[Placed]) -> None:
    """Puts every parent in the middle between its first and its last child."""
    for one in reversed(placed):
        if one.up is not None:
            # Backwards, so the last child comes first and the first one has the last word.
            one.up.last = one.up.last or one
            one.up.y = (one.y + one.up.last.y) / 2


def _width(box: Box) -> float:
    text = columns(cut(box.text, MOST_LETTERS)) * LETTER
    marks = (columns(box.marks) + 1) * LETTER if box.marks else 0.0
    # Marks stand beside what is in small letters, if there is that.
    wide = max(text, columns(cut(box.above, MOST_LETTERS)) * 6.2 + marks) if box.above else text + marks
    return max(wide, 40.0) + 16


def drawn(
    placed: Sequence[Placed], title: str, more: Sequence[Element] = (), *, room: float = 8, high: int = HIGH
) -> Element:
    """The drawing of placed boxes with the lines between them, as an SVG element.

    `more` is drawn under the boxes, and may need `room` to the right of them; boxes are so `high`.
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
    """A box as a drawing of its own, so that nothing in it can reach beyond it."""
    box, wide = one.box, round(one.width)
    lower = 27 if box.above else high / 2 + 4
    upper = 13 if box.above else lower
    return el(
        "svg",
        el("title", box.hint) if box.hint else None,
        None if box.bare else el("rect", x=1, y=1, width=wide - 2, height=high - 2, rx=6),
        el("text", cut(box.above, MOST_LETTERS), x=8, y=13, class_="above") if box.above else None,
        el("text", cut(box.text, MOST_LETTERS), x=8, y=lower, class_="value"),
        el("text", box.marks, x=wide - 7, y=upper, class_="marks") if box.marks else None,
        x=round(one.x), y=round(one.y - high / 2), width=wide, height=high, class_=f"node {box.css}".strip(),
    )  # fmt: skip


def arc(start: Placed, end: Placed) -> list[Element]:
    """A line around the right of the boxes, from where a node stood to where it stands, with an arrow at its end."""
    out = max(start.right, end.right) + BULGE * 0.9
    x, y = end.right, end.y
    path = f"M{start.right:.1f} {start.y:.1f}C{out:.1f} {start.y:.1f} {out:.1f} {y:.1f} {x + 7:.1f} {y:.1f}"
    head = f"M{x + 1:.1f} {y:.1f}l9 -5l0 10z"
    return [el("path", d=path, class_="edge from"), el("path", d=head, class_="arrow")]
