"""The synopsis tree of a collection for people: which paths of values there are, in how many records, what is rare.

O. Gkountouna and M. Terrovitis, "Anonymizing collections of tree-structured data" (IEEE TKDE 2015), Section III-A,
Figure 11. What is shown are values of the data, for those who have access to them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from treeanon.forest import Forest
from treeanon.forest.synopsis import Synopsis
from treeanon.reports.page.elements import Element, Section, counted, el, text_of
from treeanon.reports.page.page import head
from treeanon.reports.page.statement import banner
from treeanon.reports.page.trees import Box, drawn, place


@dataclass(frozen=True)
class Node:
    """A node of the synopsis: class and value, the records that have its path, and how many nodes below are not shown.

    `up` is the number of the node above among those shown, -1 at the top; `ids` are records, counted from 1, where
    these are wanted.
    """

    up: int
    name: str
    value: str
    support: int
    is_rare: bool
    hidden: int
    hidden_rare: int
    ids: tuple[int, ...] = ()


@dataclass(frozen=True)
class SynopsisView:
    """The nodes of a synopsis with the most records, those above before those below, and what there is in all.

    `hidden` and `hidden_rare` count the nodes at the top that are not shown.
    """

    nodes: Sequence[Node]
    records: int
    size: int
    rare: int
    k: int
    hidden: int
    hidden_rare: int

    @property
    def sentence(self) -> str:
        """What there is in all."""
        return (
            f"{counted(self.records, 'record')}, {counted(self.size, 'node')} in the synopsis; {self.rare:,} of them"
            f" with fewer than {self.k:,} records"
        )

    def as_dict(self) -> dict[str, Any]:
        """Return the same as plain data."""
        nodes = [
            {
                "up": None if node.up < 0 else node.up,
                "class": node.name,
                "value": node.value,
                "support": node.support,
                "rare": node.is_rare,
                "not_shown_below": node.hidden,
                **({"records": list(node.ids)} if node.ids else {}),
            }
            for node in self.nodes
        ]
        return {"records": self.records, "nodes": self.size, "k": self.k, "rare": self.rare, "shown": nodes}


def synopsis_view(forest: Forest, k: int, most: int | None = 60, *, ids: bool = False) -> SynopsisView:
    """Return the `most` nodes (None: all) of the synopsis that most records have; rare are those of fewer than k.

    >>> import treeanon as ta
    >>> schema = ta.Schema.loads('version = 1\\n[input]\\nformat = "trees"\\n[[class]]\\nname = "disease"')
    >>> forest = ta.Forest.from_records(schema, [[["disease", "flu", []]]] * 2 + [[["disease", "acne", []]]])
    >>> print("\\n".join(synopsis_lines(synopsis_view(forest, 2))))
    3 records, 2 nodes in the synopsis; 1 of them with fewer than 2 records
    disease: flu  2
    disease: acne  1  rare
    """
    synopsis = Synopsis.of(forest)
    support, decode = synopsis.support, forest.classes.decode
    # A node has no more records than the one above it, and comes after it: the first so many are closed upwards.
    order = np.argsort(-support, kind="stable")[:most]
    is_shown = np.zeros(len(synopsis), np.bool_)
    is_shown[order] = True
    is_rare = support < k
    above = synopsis.parent + 1
    hidden = np.bincount(above[~is_shown], minlength=len(synopsis) + 1)
    hidden_rare = np.bincount(above[~is_shown & is_rare], minlength=len(synopsis) + 1)
    place_of: dict[int, int] = {-1: -1}
    nodes: list[Node] = []
    for v in _preorder(synopsis, is_shown):
        place_of[v] = len(nodes)
        held = synopsis.records[synopsis.starts[v] : synopsis.starts[v + 1]] + 1 if ids else ()
        name, value = decode(int(synopsis.label[v]))
        up = place_of[int(synopsis.parent[v])]
        counts = (int(support[v]), bool(is_rare[v]), int(hidden[v + 1]), int(hidden_rare[v + 1]))
        nodes.append(Node(up, name, value, *counts, tuple(map(int, held))))
    rare = int(np.count_nonzero(is_rare))
    return SynopsisView(nodes, len(forest), len(synopsis), rare, k, int(hidden[0]), int(hidden_rare[0]))


def _preorder(synopsis: Synopsis, is_shown: np.ndarray) -> Iterator[int]:
    """Yield the nodes that are shown, those with more records first among siblings."""
    below: dict[int, list[int]] = {}
    for v in np.flatnonzero(is_shown).tolist():
        below.setdefault(int(synopsis.parent[v]), []).append(v)
    support = synopsis.support
    stack = sorted(below.get(-1, []), key=lambda v: int(support[v]))
    while stack:
        v = stack.pop()
        yield v
        stack += sorted(below.get(v, []), key=lambda v: int(support[v]))


def synopsis_lines(view: SynopsisView) -> list[str]:
    """Return the view as indented lines."""
    depth: list[int] = []
    open_ends: list[tuple[int, Node]] = []
    lines = [view.sentence]
    for node in view.nodes:
        deep = 0 if node.up < 0 else depth[node.up] + 1
        lines += _ended(open_ends, deep)
        depth.append(deep)
        ids = f"  {{{', '.join(map(str, node.ids))}}}" if node.ids else ""
        lines.append(f"{'  ' * deep}{node.name}: {node.value}  {node.support:,}{ids}{'  rare' if node.is_rare else ''}")
        open_ends.append((deep, node))
    lines += _ended(open_ends, 0)
    return [*lines, *_more(0, view.hidden, view.hidden_rare)]


def _ended(open_ends: list[tuple[int, Node]], deep: int) -> list[str]:
    """Return what is to be said below nodes that have ended: those as deep as the next one, or deeper."""
    lines = []
    while open_ends and open_ends[-1][0] >= deep:
        at, node = open_ends.pop()
        lines += _more(at + 1, node.hidden, node.hidden_rare)
    return lines


def _more(deep: int, hidden: int, rare: int) -> list[str]:
    return [f"{'  ' * deep}… {hidden:,} more, {rare:,} of them rare"] if hidden else []


_MOST_IDS = 8
"""The numbers of more records than these are a tooltip only."""


def synopsis_drawing(view: SynopsisView) -> Element:
    """Return the view as a drawing; a node has the numbers of its records where these are wanted, else how many."""
    boxes = []
    for node in view.nodes:
        few = f"{{{', '.join(map(str, node.ids))}}}" if 0 < len(node.ids) <= _MOST_IDS else f"{node.support:,}"
        box = Box(node.value, node.name, "dropped" if node.is_rare else "", few)
        box.hint = f"records {', '.join(map(str, node.ids))}" if node.ids else counted(node.support, "record")
        boxes.append(box)
        if node.up >= 0:
            boxes[node.up].children.append(box)
    for node, box in zip(view.nodes, boxes, strict=True):
        if node.hidden:
            box.children.append(Box(f"{node.hidden:,} more", "", "more", edge="more", bare=True))
    return drawn(place([box for node, box in zip(view.nodes, boxes, strict=True) if node.up < 0]), "Synopsis tree")


def synopsis_page(view: SynopsisView, title: str) -> str:
    """Return the view as a page that loads nothing; it shows values of the data."""
    notes = [view.sentence, f"Crossed out: fewer than {view.k:,} records have this path of values."]
    if view.hidden:
        notes.append(f"{view.hidden:,} more at the top, {view.hidden_rare:,} of them rare, are not shown.")
    picture = el("div", synopsis_drawing(view), class_="scroll")
    inner = el(
        "div",
        el("header", el("h1", title), [el("p", note, class_="note") for note in notes]),
        el("main", Section("synopsis", "Synopsis tree", [picture]).element(), id="content"),
        class_="paper",
    )
    body: Element = el("body", banner("internal"), inner, class_="internal")
    return "<!DOCTYPE html>\n" + text_of(el("html", head(title, "internal"), body, lang="en")) + "\n"
