"""A record before and after as lines of a terminal: side by side, or one below the other where that is too narrow."""

from __future__ import annotations

from collections.abc import Iterator

from treeanon.previews.model import Change, RecordChange, RowChange
from treeanon.report.preview_text_cells import Line, Span, Style, cell, cut, fits, wrapped
from treeanon.report.preview_text_pairs import Pair, Remark, Side, pairs_of

SIGNS: dict[Change, str] = {"generalised": "~", "moved": ">", "merged": "=", "dropped": "x"}
WORDS: dict[Change, str] = {
    "generalised": "more general", "moved": "moved", "merged": "one with others", "dropped": "not published",
}  # fmt: skip

STACKED = 64
"""Below so many columns before and after stand one below the other."""
_MIDDLE = 5
_INDENT = 2


def record_lines(change: RecordChange | RowChange, width: int) -> list[Line]:
    """The lines of a record before and after, each at most so many columns wide."""
    drawn = _stacked if width < STACKED else _beside
    return [line for pair in pairs_of(change) for line in drawn(pair, width)]


def heading(width: int) -> list[Line]:
    """The line that says which side is which."""
    if width < STACKED:
        return [(Span(cut("before, -> after", width), "title"),)]
    return [(Span(cell("before", (width - _MIDDLE) // 2 + _MIDDLE), "title"), Span("after", "title"))]


def _style(changes: frozenset[Change]) -> Style:
    """The colour of a line: of what weighs most of all that happened."""
    order: tuple[Change, ...] = ("dropped", "moved", "generalised", "merged")
    return next((kind for kind in order if kind in changes), "")


def _signs(changes: frozenset[Change]) -> str:
    return "".join(sign for kind, sign in SIGNS.items() if kind in changes)


def _shown(side: Side, width: int) -> list[str]:
    """The lines of a side: more than one where its text has no room in that."""
    lead, text = " " * _indent(side, width), _text(side, width)
    whole = lead + text
    lines = [] if fits(whole, width) else wrapped(text, width - len(lead) - _INDENT)
    if len(lines) < 2:
        return [cut(whole, width)]
    # What goes on stands further in: it is no value of its own.
    return [lead + lines[0], *(lead + " " * _INDENT + line for line in lines[1:])]


def _indent(side: Side, width: int) -> int:
    return min(_INDENT * side.depth, width // 3)


def _text(side: Side, width: int) -> str:
    """The text, with its depth where it would have to stand further in than there is room."""
    return side.text if _INDENT * side.depth <= width // 3 else f"[{side.depth + 1}] {side.text}"


def _told(remark: Remark, width: int) -> str:
    """A remark in so many columns, shorter where it has to be."""
    text = f"({remark.text})"
    return cut(text if fits(text, width) or not remark.short else f"({remark.short})", width)


def _published(pair: Pair, width: int) -> Iterator[tuple[str, bool]]:
    """The lines of the published side, and whether each is a remark."""
    if pair.after is None:
        yield from ((_told(remark, width), True) for remark in pair.remarks)
        return
    whole = (
        f"{' ' * _indent(pair.after, width)}{_text(pair.after, width)} ({', '.join(one.text for one in pair.remarks)})"
    )
    if pair.remarks and fits(whole, width):
        yield cut(whole, width), False
        return
    yield from ((line, False) for line in _shown(pair.after, width))
    lead = " " * (_indent(pair.after, width) + _INDENT)
    yield from ((lead + _told(remark, width - len(lead)), True) for remark in pair.remarks)


def _beside(pair: Pair, width: int) -> Iterator[Line]:
    left = (width - _MIDDLE) // 2
    style, signs = _style(pair.changes), _signs(pair.changes)
    own = [] if pair.before is None else _shown(pair.before, left)
    published = list(_published(pair, width - _MIDDLE - left))
    for i in range(max(len(own), len(published))):
        text = own[i] if i < len(own) else ""
        right, is_remark = published[i] if i < len(published) else ("", False)
        sign = Span((signs if i == 0 else "").center(_MIDDLE), style)
        yield (Span(cell(text, left)), sign, Span(right, "faint" if is_remark else style))


def _stacked(pair: Pair, width: int) -> Iterator[Line]:
    style, signs = _style(pair.changes), _signs(pair.changes).ljust(3) + " "
    if pair.before is not None:
        for line in _shown(pair.before, width - 4):
            yield (Span(signs, style), Span(line))
            signs = " " * 4
    if pair.before is None or pair.changes or pair.remarks:
        lead = (signs if pair.before is None else " " * 4) + "-> "
        for text, is_remark in _published(pair, width - 7):
            yield (Span(lead, style), Span(text, "faint" if is_remark else style))
            lead = " " * 7
