"""Elements of a page. Any text becomes visible text, never markup or invisible characters.

Also the style sheet of pages and drawings, and the common parts of pages: sections, tables, bars and matrices.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import TypeAlias

from lxml import etree

from treeanon.hierarchy.files import printable
from treeanon.shown import counted as counted
from treeanon.shown import percent as percent

Element = etree._Element
Content: TypeAlias = "str | Element | Iterable[Content] | None"

MOST = 300
"""Longer texts are cut, to limit the size of pages."""


def el(tag: str, *content: Content, **attributes: str | float | None) -> Element:
    """Return an element; content and attributes of None are omitted, `class_` is class, `stroke_width` stroke-width.

    >>> text_of(el("p", "a < b", el("b", "\\x1b[1m"), class_="x"))
    '<p class="x">a &lt; b<b>\\\\x1b[1m</b></p>'
    """
    made = etree.Element(tag)
    for name, value in attributes.items():
        if value is not None:
            text = f"{value:.4g}" if isinstance(value, float) else str(value)
            made.set(name.rstrip("_").replace("_", "-"), shown(text))
    for part in _flat(content):
        if isinstance(part, str):
            _append_text(made, shown(part))
        else:
            made.append(part)
    return made


def _flat(content: Iterable[Content]) -> Iterable[str | Element]:
    for part in content:
        if part is None:
            continue
        # An element is iterable as well, but counts as one item here.
        if isinstance(part, str) or etree.iselement(part):
            yield part
        else:
            yield from _flat(part)


def _append_text(made: Element, text: str) -> None:
    if len(made):
        made[-1].tail = (made[-1].tail or "") + text
    else:
        made.text = (made.text or "") + text


def shown(text: str, most: int = 4 * MOST) -> str:
    """Return the text in at most `most` characters, with control and other invisible characters escaped.

    >>> shown("a" * 10, 5), shown("\\u202eabc")
    ('aaaa…', '\\\\u202eabc')
    """
    return printable(text if len(text) <= most else text[: most - 1] + "…")


def value(text: str | None, most: int = MOST) -> Element:
    """Return a value of the data as an element with its own text direction; None is a missing value.

    >>> text_of(value("<script>")), text_of(value(None))
    ('<bdi class="value">&lt;script&gt;</bdi>', '<i class="missing">missing</i>')
    """
    return el("i", "missing", class_="missing") if text is None else el("bdi", shown(text, most), class_="value")


def text_of(element: Element) -> str:
    """Return the element as HTML."""
    return etree.tostring(element, encoding="unicode", method="html", with_tail=False)


@cache
def style() -> str:
    """Return the style sheet, which loads no external resources.

    >>> "url(" in style() or "@import" in style()
    False
    """
    return (resources.files(__package__) / "style.css").read_text(encoding="utf-8")


Cell = str | Element | int | float | None


@dataclass(frozen=True)
class Section:
    """A section of the page with its heading; `key` is the target of links."""

    key: str
    title: str
    content: Sequence[Content]

    def element(self) -> Element:
        """Return the section as an element."""
        heading = el("h2", self.title, id=f"h-{self.key}")
        return el("section", heading, self.content, id=self.key, aria_labelledby=f"h-{self.key}")


_NUMBER = re.compile("[<>]?[0-9][0-9.,]*( %)?( of [0-9,]+)?")


def _is_number(content: Cell) -> bool:
    """Return whether a cell holds a number, which is right-aligned."""
    return isinstance(content, (int, float)) or (isinstance(content, str) and bool(_NUMBER.fullmatch(content)))


def _content(content: Cell) -> str | Element | None:
    if isinstance(content, (int, float)):
        return f"{content:,}" if isinstance(content, int) else f"{content:.3f}"
    return content


def table(caption: str, heads: Sequence[str], rows: Iterable[Sequence[Cell]]) -> Element:
    """Return a table whose first column names the rows, in a region that scrolls if necessary."""
    found = list(rows)
    # A heading is aligned with its numbers, even if a word replaces one.
    numbers = [at > 0 and 2 * sum(_is_number(row[at]) for row in found) > len(found) for at in range(len(heads))]
    head = [
        el("th", one, scope="col", class_="number" if wide else None) for one, wide in zip(heads, numbers, strict=True)
    ]
    body = [el("tr", el("th", _content(row[0]), scope="row"), [_cell(one) for one in row[1:]]) for row in found]
    return scrolled(caption, el("table", el("caption", caption), el("thead", el("tr", head)), el("tbody", body)))


def _cell(content: Cell) -> Element:
    return el("td", _content(content), class_="number" if _is_number(content) else None)


def scrolled(name: str, content: Element, kind: str = "scroll") -> Element:
    """Return the content in a region that scrolls, also by keyboard."""
    return el("div", content, class_=kind, role="region", aria_label=name, tabindex=0)


def bar(share: float) -> Element:
    """Return a share as a bar, to be shown beside the number."""
    wide = round(100 * min(max(share, 0.0), 1.0))
    # Colors of their own, over which the style sheet wins: in PDF it does not reach into drawings.
    return el(
        "svg",
        el("rect", x=0, y=0, width=100, height=10, rx=2, fill="#e4e7eb", class_="rail"),
        el("rect", x=0, y=0, width=wide, height=10, rx=2, fill="#0b5cad", class_="fill") if wide else None,
        width=100, height=10, viewBox="0 0 100 10", class_="bar", aria_hidden="true",
    )  # fmt: skip


def matrix(
    caption: str, corner: str, rows: Sequence[str], columns: Sequence[str], cells: Mapping[tuple[int, int], Shaded]
) -> Element:
    """Return a table of shaded numbers by row and column; missing cells are empty."""
    head = el("tr", el("th", corner, scope="col"), [el("th", name, scope="col", class_="number") for name in columns])
    body = []
    for i, name in enumerate(rows):
        found = [cells.get((i, j)) for j in range(len(columns))]
        body.append(el("tr", el("th", name, scope="row"), [_shaded(one) for one in found]))
    inner = el("table", el("caption", caption), el("thead", head), el("tbody", body), class_="matrix")
    return scrolled(caption, inner)


@dataclass(frozen=True)
class Shaded:
    """The text of a matrix cell, and its darkness from 0 to 1."""

    text: str
    shade: float
    note: str = ""


def _shaded(one: Shaded | None) -> Element:
    if one is None:
        return el("td", class_="none")
    step = 0 if one.shade <= 0 else min(1 + int(one.shade * 9), 9)
    return el("td", one.text, el("small", one.note) if one.note else None, class_=f"number heat{step}")


def tiles(facts: Iterable[tuple[str, str]]) -> Element:
    """Return tiles with key numbers and their names."""
    return el("dl", [el("div", el("dt", name), el("dd", number)) for name, number in facts], class_="tiles")


def more(summary: str, *content: Content, opened: bool = False) -> Element:
    """Return content that can be collapsed."""
    return el("details", el("summary", summary), content, open="open" if opened else None)
