"""Pairs the nodes of an original record with those of the published one, line by line, and fits texts to cells.

Cells have an exact width in a terminal, whatever characters a value holds.

Characters that could control a terminal, be invisible or have an unknown width are escaped: control, bidirectional and
zero-width characters, variation selectors, joined letters and flags.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, get_args

from treeanon.previews.model import Change, Node, NodeChange, RecordChange, RowChange

Style = Literal["", "title", "faint", "generalized", "moved", "merged", "dropped", "left-out"]

DOTS = "…"
_MARKS = 2
"""Maximum number of combining marks on a letter: more would cover other lines."""
_KEEP_ORDER = "\u200e"
"""Encloses right-to-left text, so that it does not reorder the neighboring cells."""
_UNSURE = (
    (0x115F, 0x11FF), (0x17B4, 0x17B5), (0x180B, 0x180F), (0x2800, 0x2800), (0x3164, 0x3164), (0xD7B0, 0xD7FF),
    (0xFE00, 0xFE0F), (0xFFA0, 0xFFA0), (0x1F1E6, 0x1F1FF), (0x1F3FB, 0x1F3FF), (0xE0000, 0xE0FFF),
)  # fmt: skip
"""Characters that count as printable but are blank, or that some terminals join with their neighbors."""


@dataclass(frozen=True)
class Span:
    """A piece of a line: printable text of a known width, and its style if colors are used."""

    text: str
    style: Style = ""


Line = tuple[Span, ...]


def width_of(character: str) -> int:
    """Return the width of a character in columns: 0 for combining marks, 2 for wide East Asian characters and emoji."""
    if unicodedata.category(character) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def cut(text: str, width: int) -> str:
    """Return the text, safe to print, in at most `width` columns; a text that is cut ends with dots.

    >>> cut("café", 4), cut("a long value", 6), cut("\\x1b[31m", 20), cut("東京都庁", 5), cut("line\\nbreak", 20)
    ('café', 'a lon…', '\\\\x1b[31m', '東京…', 'line\\\\nbreak')
    """
    pieces, used = _begin(text, width)
    if used <= width:
        return "".join(piece for piece, _ in pieces)
    while pieces and used > width - 1:
        used -= pieces.pop()[1]
    return "".join(piece for piece, _ in pieces) + DOTS[:width]


def fits(text: str, width: int) -> bool:
    """Return whether `cut` would keep the whole text.

    >>> fits("東京", 4), fits("東京", 3)
    (True, False)
    """
    return _begin(text, width)[1] <= width


def _begin(text: str, width: int) -> tuple[list[tuple[str, int]], int]:
    """Return the first pieces of a text, until they exceed the width, and the columns that they take."""
    pieces: list[tuple[str, int]] = []
    used = 0
    # Every character takes at least one column, except for combining marks.
    for piece, taken in _pieces(text[: (width + 1) * (_MARKS + 1)]):
        pieces.append((piece, taken))
        used += taken
        if used > width:
            break
    return pieces, used


def _pieces(text: str) -> list[tuple[str, int]]:
    """Return the indivisible pieces of a text (letters with combining marks, escapes) with their widths."""
    out: list[tuple[str, int]] = []
    marks = _MARKS
    for character in text:
        shown = character.isprintable() and not any(low <= ord(character) <= high for low, high in _UNSURE)
        taken = width_of(character) if shown else 0
        if not shown or (taken == 0 and marks >= _MARKS):
            escape = character.encode("unicode_escape", "surrogatepass").decode("ascii")
            out.append((escape, len(escape)))
            marks = _MARKS
        elif taken == 0:
            out[-1] = (out[-1][0] + character, out[-1][1])
            marks += 1
        else:
            out.append((character, taken))
            marks = 0
    return out


def columns(text: str) -> int:
    """Return the width of a text returned by `cut`."""
    return sum(map(width_of, text))


def cell(text: str, width: int) -> str:
    """Return the text in exactly `width` columns.

    >>> cell("ab", 4) + "|", cell("abcdef", 4) + "|"
    ('ab  |', 'abc…|')
    """
    found = cut(text, width)
    turned = any(unicodedata.bidirectional(character) in ("R", "AL", "AN") for character in found)
    left = " " * (width - columns(found))
    return (f"{_KEEP_ORDER}{found}{_KEEP_ORDER}" if turned else found) + left


def folded(text: str, width: int) -> list[str]:
    """Return a sentence as lines of at most `width` columns, wrapped between words if possible.

    >>> folded("one two three", 8)
    ['one two', 'three']
    """
    lines = [""]
    for word in text.split():
        word = cut(word, width)
        if lines[-1] and columns(lines[-1]) + 1 + columns(word) > width:
            lines.append("")
        lines[-1] += (" " if lines[-1] else "") + word
    return lines


MAX_LINES = 4


def wrapped(text: str, width: int) -> list[str]:
    """Return a value as a few lines of at most `width` columns, wrapped between words, or as one line if a word is too
    long.

    >>> wrapped("a long value", 8), wrapped("incomprehensibilities", 8), wrapped("a b", 8)
    (['a long', 'value'], ['incompr…'], ['a b'])
    """
    if fits(text, width):
        return [cut(text, width)]
    words = cut(text, MAX_LINES * width).split(" ")
    if width < 1 or not all(fits(word, width) for word in words):
        return [cut(text, width)]
    lines = folded(" ".join(words), width)
    if len(lines) <= MAX_LINES:
        return lines
    return [*lines[: MAX_LINES - 1], cut(" ".join(lines[MAX_LINES - 1 :]), width)]


_CODES: dict[Style, str] = {
    "title": "1",
    "faint": "2",
    "generalized": "33",
    "moved": "34",
    "merged": "36",
    "dropped": "31",
    "left-out": "31",
}


def in_colors(line: Line) -> str:
    """Return the line with ANSI color codes.

    >>> in_colors((Span("a "), Span("b", "title")))
    'a \\x1b[1mb\\x1b[0m'
    """
    return "".join(f"\x1b[{_CODES[span.style]}m{span.text}\x1b[0m" if span.style else span.text for span in line)


def plain(line: Line) -> str:
    """Return the line without colors and trailing blanks."""
    return "".join(span.text for span in line).rstrip(" ")


def first(lines: list[Line], most: int, width: int) -> list[Line]:
    """Return the first lines, and a line with the number of further ones."""
    if len(lines) <= most:
        return lines
    return [*lines[:most], (Span(cut(f"{DOTS} and {len(lines) - most:,} more lines", width), "faint"),)]


@dataclass(frozen=True)
class Side:
    """One side of a line: a node with its depth."""

    text: str
    depth: int = 0


@dataclass(frozen=True)
class Remark:
    """A remark on a published node or in its place; `short` is used if there is no room for `text`."""

    text: str
    short: str = ""


@dataclass(frozen=True)
class Pair:
    """The content of one line: an original node, a published node, or both."""

    before: Side | None
    after: Side | None
    changes: frozenset[Change] = frozenset()
    remarks: tuple[Remark, ...] = ()


_GONE = Remark("not published")


def pairs_of(change: RecordChange | RowChange) -> list[Pair]:
    """Return the pairs of a record, or of a row, from top to bottom."""
    return list(_of_row(change) if isinstance(change, RowChange) else _of_record(change))


def counts_of(change: RecordChange | RowChange) -> dict[Change | None, int]:
    """Return the number of nodes (or values) with each change; None counts the unchanged ones."""
    happened = [pair.changes for pair in pairs_of(change)] if isinstance(change, RowChange) else []
    if isinstance(change, RecordChange):
        happened = [fate.changes for fate in change.fates]
    counts: dict[Change | None, int] = {kind: sum(kind in one for one in happened) for kind in get_args(Change)}
    counts[None] = sum(not one for one in happened)
    return counts


def _of_row(change: RowChange) -> Iterator[Pair]:
    after = change.after or (None,) * len(change.columns)
    for name, own, published in zip(change.columns, change.before, after, strict=True):
        if change.after is None:
            yield Pair(_value(name, own), None, frozenset({"dropped"}), (_GONE,))
        else:
            changes: frozenset[Change] = frozenset({"generalized"} if own != published else ())
            yield Pair(_value(name, own), _value(name, published), changes)


def _value(name: str, text: str | None) -> Side:
    return Side(f"{name}: (missing)" if text is None else f"{name}: {text}")


def _of_record(change: RecordChange) -> Iterator[Pair]:
    """Yield the pairs of a record: both trees in order, nodes beside what they became wherever the orders allow."""
    drawing = _Drawing(change)
    after = 0
    for fate in change.fates:
        if fate.before in drawing.beside:
            yield from drawing.arrived(range(after, drawing.beside[fate.before]))
            after = drawing.beside[fate.before] + 1
        yield drawing.pair(fate, after)
    yield from drawing.arrived(range(after, len(drawing.after)))


class _Drawing:
    """A change with its nodes by number, and the nodes of both sides that are on one line."""

    def __init__(self, change: RecordChange) -> None:
        self.fates = change.fates
        self.before, depths = _listed(change.before)
        self.depth_before = depths
        self.after, self.depth_after = _listed(change.after or ())
        self.parent_after = _parents(change.after or ())
        self.firsts: dict[int, NodeChange] = {}
        for fate in self.fates:
            if fate.after is not None:
                self.firsts.setdefault(fate.after, fate)
        self.beside = _in_both_orders([(fate.before, place) for place, fate in self._first_by_before()])

    def _first_by_before(self) -> list[tuple[int, NodeChange]]:
        return sorted(self.firsts.items(), key=lambda item: item[1].before)

    def pair(self, fate: NodeChange, shown: int) -> Pair:
        """Return the pair of an original node, after the published nodes before number `shown`."""
        own = Side(_label(self.before[fate.before]), self.depth_before[fate.before])
        place = self.beside.get(fate.before)
        if place is None:
            return Pair(own, None, fate.changes, (self._elsewhere(fate, shown),))
        return Pair(own, self._side(place), fate.changes, self._origin(fate))

    def arrived(self, places: Iterable[int]) -> Iterator[Pair]:
        """Yield the published nodes without an original node on their line."""
        for place in places:
            fate = self.firsts.get(place)
            if fate is None:
                yield Pair(None, self._side(place))
                continue
            # The original value is on another line, or cannot be distinguished from others.
            was = (_remark("was", self.before[fate.before]),) if "generalized" in fate.changes else ()
            yield Pair(None, self._side(place), fate.changes, was + self._origin(fate))

    def _side(self, place: int) -> Side:
        return Side(_label(self.after[place]), self.depth_after[place])

    def _origin(self, fate: NodeChange) -> tuple[Remark, ...]:
        """Return a remark on where a moved node came from."""
        return () if fate.moved_from is None else (_remark("moved from", self.before[fate.moved_from]),)

    def _elsewhere(self, fate: NodeChange, shown: int) -> Remark:
        """Return a remark on what became of a node."""
        if fate.after is None:
            return _GONE
        if self.firsts[fate.after] is not fate:
            return _remark("merged with", self.after[fate.after])
        if fate.moved_from is None:
            return Remark("further up" if fate.after < shown else "further down")
        above = self.parent_after.get(fate.after)
        return Remark("now under the record") if above is None else _remark("now under", self.after[above])


def _remark(words: str, node: Node) -> Remark:
    return Remark(f"{words} {_label(node)}", f"{words} {_object(node) or node.value}")


def _label(node: Node) -> str:
    return _object(node) or f"{node.cls}: {node.value}"


_LAST_STEP = re.compile(r"[^.\[\]]+(\[[^\]]*\])+$")


def _object(node: Node) -> str:
    """Return the last step of an object's type, such as `diagnosis[]`; an empty text for a value."""
    found = _LAST_STEP.search(node.cls) if node.value == "*" else None
    return "" if found is None else found[0]


def _listed(nodes: tuple[Node, ...]) -> tuple[dict[int, Node], dict[int, int]]:
    """Return all nodes and their depths by number."""
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
    """Return the longest subsequence of these pairs, which ascend on the left, that ascends on the right too.

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
