"""A record before and after as lines of a terminal: side by side, or one below the other where that is too narrow."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from typing import get_args

from treeanon.previews.model import Change, Fate, Node, RecordChange, RowChange
from treeanon.report.preview_text_cells import Line, Span, Style, cell, cut

SIGNS: dict[Change, str] = {"generalised": "~", "moved": ">", "merged": "=", "dropped": "x"}
WORDS: dict[Change, str] = {
    "generalised": "more general", "moved": "moved", "merged": "one with others", "dropped": "not published",
}  # fmt: skip

STACKED = 64
"""Below so many columns before and after stand one below the other."""
_MIDDLE = 5
_INDENT = 2
_DEEPEST = 6
"""From this depth on lines are not indented further."""


@dataclass(frozen=True)
class Side:
    """One side of a line: a node with its depth, or (`aside`) a remark in its place."""

    text: str
    depth: int = 0
    aside: bool = False


@dataclass(frozen=True)
class Pair:
    """What stands on one line: a node of the record as it was, one of the record as published, or both."""

    before: Side | None
    after: Side | None
    changes: frozenset[Change] = frozenset()


def record_lines(change: RecordChange | RowChange, width: int) -> list[Line]:
    """The lines of a record before and after, each at most so many columns wide."""
    pairs = _of_row(change) if isinstance(change, RowChange) else _of_record(change)
    return [line for pair in pairs for line in (_stacked(pair, width) if width < STACKED else [_beside(pair, width)])]


def heading(width: int) -> list[Line]:
    """The line that says which side is which."""
    if width < STACKED:
        return [(Span(cut("before, -> after", width), "title"),)]
    return [_beside(Pair(Side("before"), Side("after")), width, "title")]


def counts_of(change: RecordChange | RowChange) -> dict[Change | None, int]:
    """How many nodes (or values) of the record each change happened to; None for none of them."""
    happened = [pair.changes for pair in _of_row(change)] if isinstance(change, RowChange) else []
    if isinstance(change, RecordChange):
        happened = [fate.changes for fate in change.fates]
    counts: dict[Change | None, int] = {kind: sum(kind in one for one in happened) for kind in get_args(Change)}
    counts[None] = sum(not one for one in happened)
    return counts


def _style(changes: frozenset[Change]) -> Style:
    """The colour of a line: of what weighs most of all that happened."""
    order: tuple[Change, ...] = ("dropped", "moved", "generalised", "merged")
    return next((kind for kind in order if kind in changes), "")


def _signs(changes: frozenset[Change]) -> str:
    return "".join(sign for kind, sign in SIGNS.items() if kind in changes)


def _shown(side: Side | None) -> str:
    if side is None:
        return ""
    text = f"({side.text})" if side.aside else side.text
    return " " * (_INDENT * min(side.depth, _DEEPEST)) + text


def _beside(pair: Pair, width: int, style: Style = "") -> Line:
    left = (width - _MIDDLE) // 2
    style = style or _style(pair.changes)
    right = cut(_shown(pair.after), width - _MIDDLE - left)
    aside = pair.after is not None and pair.after.aside
    return (
        Span(cell(_shown(pair.before), left), style if style == "title" else ""),
        Span(_signs(pair.changes).center(_MIDDLE), style),
        Span(right, "faint" if aside and style != "title" else style),
    )


def _stacked(pair: Pair, width: int) -> Iterator[Line]:
    style, signs = _style(pair.changes), _signs(pair.changes).ljust(3) + " "
    if pair.before is not None:
        yield (Span(signs, style), Span(cut(_shown(pair.before), width - 4)))
    if pair.after is not None and (pair.before is None or pair.changes or pair.after.aside):
        lead = " " * 4 if pair.before is not None else signs
        text = cut(_shown(pair.after), width - 7)
        yield (Span(lead + "-> ", style), Span(text, "faint" if pair.after.aside else style))


def _of_row(change: RowChange) -> list[Pair]:
    pairs = []
    after = change.after or (None,) * len(change.columns)
    for name, own, published in zip(change.columns, change.before, after, strict=True):
        if change.after is None:
            pairs.append(Pair(_value(name, own), Side("not published", aside=True), frozenset({"dropped"})))
        else:
            changes: frozenset[Change] = frozenset({"generalised"} if own != published else ())
            pairs.append(Pair(_value(name, own), _value(name, published), changes))
    return pairs


def _value(name: str, text: str | None) -> Side:
    return Side(f"{name}: (missing)" if text is None else f"{name}: {text}")


def _of_record(change: RecordChange) -> Iterator[Pair]:
    """The pairs of a record: both trees in their order, a node beside the one it became wherever the orders allow."""
    drawing = _Drawing(change)
    after = 0
    for fate in change.fates:
        if fate.before in drawing.beside:
            yield from drawing.arrived(range(after, drawing.beside[fate.before]))
            after = drawing.beside[fate.before] + 1
        yield drawing.pair(fate, after)
    yield from drawing.arrived(range(after, len(drawing.after)))


class _Drawing:
    """A change with its nodes by number, and which of both sides stand beside each other."""

    def __init__(self, change: RecordChange) -> None:
        self.fates = change.fates
        self.before, depths = _listed(change.before)
        self.depth_before = depths
        self.after, self.depth_after = _listed(change.after or ())
        self.parent_after = _parents(change.after or ())
        self.firsts: dict[int, Fate] = {}
        for fate in self.fates:
            if fate.after is not None:
                self.firsts.setdefault(fate.after, fate)
        self.beside = _in_both_orders([(fate.before, place) for place, fate in self._first_by_before()])

    def _first_by_before(self) -> list[tuple[int, Fate]]:
        return sorted(self.firsts.items(), key=lambda item: item[1].before)

    def pair(self, fate: Fate, told: int) -> Pair:
        """The pair of an original node, when the published nodes before number `told` have been told."""
        own = Side(_label(self.before[fate.before]), self.depth_before[fate.before])
        place = self.beside.get(fate.before)
        if place is not None:
            return Pair(own, Side(self._told(place, fate), self.depth_after[place]), fate.changes)
        if fate.after is None:
            return Pair(own, Side("not published", aside=True), fate.changes)
        goal = _label(self.after[fate.after])
        if self.firsts[fate.after] is not fate:
            return Pair(own, Side(f"one with {goal}", aside=True), fate.changes)
        if fate.moved_from is not None:
            return Pair(own, Side(f"now {self._under(fate.after)}", aside=True), fate.changes)
        return Pair(own, Side(f"further {'up' if fate.after < told else 'down'}", aside=True), fate.changes)

    def arrived(self, places: range) -> Iterator[Pair]:
        """The published nodes that stand where no original one stood."""
        for place in places:
            fate = self.firsts.get(place)
            text = self._told(place, fate) if fate else _label(self.after[place])
            yield Pair(None, Side(text, self.depth_after[place]), fate.changes if fate else frozenset())

    def _told(self, place: int, fate: Fate) -> str:
        """The published node, and from where it came if it moved."""
        if fate.moved_from is None:
            return _label(self.after[place])
        return f"{_label(self.after[place])} (from under {_label(self.before[fate.moved_from])})"

    def _under(self, place: int) -> str:
        above = self.parent_after.get(place)
        return "under the record" if above is None else f"under {_label(self.after[above])}"


def _label(node: Node) -> str:
    return f"{node.cls}: {node.value}"


def _listed(nodes: tuple[Node, ...]) -> tuple[dict[int, Node], dict[int, int]]:
    """All nodes by number, and their depths."""
    found: dict[int, Node] = {}
    depths: dict[int, int] = {}
    stack = [(node, 0) for node in reversed(nodes)]
    while stack:
        node, depth = stack.pop()
        found[node.id], depths[node.id] = node, depth
        stack.extend((child, depth + 1) for child in reversed(node.children))
    return found, depths


def _parents(nodes: tuple[Node, ...]) -> dict[int, int]:
    return {child.id: node.id for top in nodes for node in top.walk() for child in node.children}


def _in_both_orders(pairs: list[tuple[int, int]]) -> dict[int, int]:
    """The most of these pairs, which ascend on the left, that ascend on the right too.

    >>> _in_both_orders([(0, 0), (1, 3), (2, 1), (3, 2)])
    {0: 0, 2: 1, 3: 2}
    """
    ends: list[int] = []
    last: list[int] = []
    back: list[int] = []
    for number, (_, right) in enumerate(pairs):
        at = bisect_left(ends, right)
        back.append(last[at - 1] if at else -1)
        ends[at : at + 1], last[at : at + 1] = [right], [number]
    chosen = []
    at = last[-1] if last else -1
    while at >= 0:
        chosen.append(pairs[at])
        at = back[at]
    return dict(reversed(chosen))
