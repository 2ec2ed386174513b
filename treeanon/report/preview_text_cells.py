"""Texts in cells of a terminal: as wide as they are said to be, whatever a value holds.

Every character that could steer a terminal, hide, or be wider or narrower than a program can know is written as its
escape: control characters, bidirectional and zero-width ones, variation selectors, joined letters and flags.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import Literal

Style = Literal["", "title", "faint", "generalised", "moved", "merged", "dropped"]

DOTS = "…"
_MARKS = 2
"""How many accents may stand on one letter: more would climb over other lines."""
_KEEP_ORDER = "\u200e"
"""Begins and ends a cell with letters that run from right to left, so that the cell beside it stays beside it."""
_UNSURE = (
    (0x115F, 0x11FF), (0x17B4, 0x17B5), (0x180B, 0x180F), (0x2800, 0x2800), (0x3164, 0x3164), (0xD7B0, 0xD7FF),
    (0xFE00, 0xFE0F), (0xFFA0, 0xFFA0), (0x1F1E6, 0x1F1FF), (0x1F3FB, 0x1F3FF), (0xE0000, 0xE0FFF),
)  # fmt: skip
"""Characters that are printable by name, but blank, or drawn together with their neighbours by some terminals."""


@dataclass(frozen=True)
class Span:
    """A piece of a line: printable text of a known width, and how it is shown where there are colours."""

    text: str
    style: Style = ""


Line = tuple[Span, ...]


def width_of(character: str) -> int:
    """How many columns a character takes: 0 for an accent, 2 for wide East Asian ones and emoji."""
    if unicodedata.category(character) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def cut(text: str, width: int) -> str:
    """The text in at most so many columns, safe to show; what is too long ends with dots.

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
    """Whether `cut` leaves the text whole.

    >>> fits("東京", 4), fits("東京", 3)
    (True, False)
    """
    return _begin(text, width)[1] <= width


def _begin(text: str, width: int) -> tuple[list[tuple[str, int]], int]:
    """The first pieces of a text, until they take more columns than there are, and the columns that they take."""
    pieces: list[tuple[str, int]] = []
    used = 0
    # A character takes a column at least, but for a few accents.
    for piece, taken in _pieces(text[: (width + 1) * (_MARKS + 1)]):
        pieces.append((piece, taken))
        used += taken
        if used > width:
            break
    return pieces, used


def _pieces(text: str) -> list[tuple[str, int]]:
    """The text in pieces that are shown whole: letters with their accents, and escapes; and their widths."""
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
    """How many columns a text takes that `cut` has made."""
    return sum(map(width_of, text))


def cell(text: str, width: int) -> str:
    """The text in exactly so many columns.

    >>> cell("ab", 4) + "|", cell("abcdef", 4) + "|"
    ('ab  |', 'abc…|')
    """
    found = cut(text, width)
    turned = any(unicodedata.bidirectional(character) in ("R", "AL", "AN") for character in found)
    left = " " * (width - columns(found))
    return (f"{_KEEP_ORDER}{found}{_KEEP_ORDER}" if turned else found) + left


def folded(text: str, width: int) -> list[str]:
    """A sentence as lines of at most so many columns, cut between words where that can be.

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


MOST_LINES = 4


def wrapped(text: str, width: int) -> list[str]:
    """A value as a few lines of at most so many columns, cut between words; as one line where some word has no room.

    >>> wrapped("a long value", 8), wrapped("incomprehensibilities", 8), wrapped("a b", 8)
    (['a long', 'value'], ['incompr…'], ['a b'])
    """
    if fits(text, width):
        return [cut(text, width)]
    words = cut(text, MOST_LINES * width).split(" ")
    if width < 1 or not all(fits(word, width) for word in words):
        return [cut(text, width)]
    lines = folded(" ".join(words), width)
    if len(lines) <= MOST_LINES:
        return lines
    return [*lines[: MOST_LINES - 1], cut(" ".join(lines[MOST_LINES - 1 :]), width)]


_CODES: dict[Style, str] = {
    "title": "1",
    "faint": "2",
    "generalised": "33",
    "moved": "34",
    "merged": "36",
    "dropped": "31",
}


def in_colours(line: Line) -> str:
    """The line with the codes that colour a terminal.

    >>> in_colours((Span("a "), Span("b", "title")))
    'a \\x1b[1mb\\x1b[0m'
    """
    return "".join(f"\x1b[{_CODES[span.style]}m{span.text}\x1b[0m" if span.style else span.text for span in line)


def plain(line: Line) -> str:
    """The line without colours, and without blanks at its end."""
    return "".join(span.text for span in line).rstrip(" ")


def first(lines: list[Line], most: int, width: int) -> list[Line]:
    """The first lines, and a line that tells how many more there are."""
    if len(lines) <= most:
        return lines
    return [*lines[:most], (Span(cut(f"{DOTS} and {len(lines) - most:,} more lines", width), "faint"),)]
