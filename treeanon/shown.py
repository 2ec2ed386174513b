"""What objects show of themselves: a short line, and in notebooks a few tables.

Both are made of a `Summary`, which has classes, counts and shares, and never a value of the data: notebooks are saved
with what they show, and sent to others.
"""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

_TABLE = "border-collapse:collapse;margin:.4em 0"
_CELL = "padding:.15em .7em;border-bottom:1px solid rgba(128,128,128,.35);vertical-align:top"
_MOST_ROWS = 40


@dataclass(frozen=True)
class Grid:
    """A table of a summary: its caption, heads, and rows of texts, numbers and None."""

    caption: str
    heads: Sequence[str]
    rows: Sequence[Sequence[object]]


@dataclass(frozen=True)
class Summary:
    """What an object shows: what it is, in one line; facts by name; tables; and a note."""

    kind: str
    line: str
    facts: Sequence[tuple[str, object]] = ()
    grids: Sequence[Grid] = field(default=())
    note: str = ""

    @property
    def text(self) -> str:
        """The summary as a line.

        >>> Summary("Forest", "2 records").text
        '<Forest: 2 records>'
        """
        return f"<{self.kind}: {self.line}>"

    @property
    def html(self) -> str:
        """The summary for notebooks.

        >>> Summary("Forest", "2 < 3", [("records", 2000)]).html
        '<div><p><b>Forest</b>: 2 &lt; 3<br>records: 2,000</p></div>'
        """
        facts = "<br>".join(f"{escaped(name)}: {_text(value)}" for name, value in self.facts)
        head = f"<p><b>{escaped(self.kind)}</b>: {escaped(self.line)}{'<br>' if facts else ''}{facts}</p>"
        note = f"<p><small>{escaped(self.note)}</small></p>" if self.note else ""
        return f"<div>{head}{''.join(map(_grid, self.grids))}{note}</div>"


class Shown:
    """Base of what shows itself by a summary."""

    def _summary(self) -> Summary:
        """Return what is shown."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return self._summary().text

    def _repr_html_(self) -> str:
        """Return the summary for notebooks."""
        return self._summary().html


def escaped(text: str) -> str:
    """Return text as HTML, in which nothing is markup and nothing invisible.

    >>> escaped("a<b\\x1b")
    'a&lt;b?'
    """
    return html.escape("".join(one if one.isprintable() else "?" for one in text))


def _text(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.3f}"
    return f"{value:,}" if isinstance(value, int) else escaped(str(value))


def _grid(grid: Grid) -> str:
    rows = [*grid.rows[:_MOST_ROWS]]
    left = len(grid.rows) - len(rows)
    more = f"<p><small>and {left:,} more</small></p>" if left else ""
    head = "".join(f'<th style="{_CELL};text-align:left">{escaped(name)}</th>' for name in grid.heads)
    body = "".join(f"<tr>{''.join(_cells(row))}</tr>" for row in rows)
    caption = f'<caption style="text-align:left">{escaped(grid.caption)}</caption>'
    return f'<table style="{_TABLE}">{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}'


def _cells(row: Sequence[object]) -> Iterator[str]:
    for at, value in enumerate(row):
        side = "left" if at == 0 or isinstance(value, str) or value is None else "right"
        yield f'<td style="{_CELL};text-align:{side}">{_text(value)}</td>'


def percent(share: float) -> str:
    """Return a share in percent, never rounded to nothing or to all.

    >>> percent(0.5), percent(0.00001), percent(0.99999)
    ('50.0 %', '<0.1 %', '>99.9 %')
    """
    if 0 < share < 0.0005:
        return "<0.1 %"
    return ">99.9 %" if 0.9995 <= share < 1 else f"{100 * share:.1f} %"


def counted(number: int, thing: str) -> str:
    """Return a number with its noun.

    >>> counted(1, "record"), counted(2000, "record")
    ('1 record', '2,000 records')
    """
    return f"{number:,} {thing}{'' if number == 1 else 's'}"
