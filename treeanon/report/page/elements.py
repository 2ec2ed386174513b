"""Elements of a page: whatever text goes in comes out as visible text, never as markup or as something unseen.

The style of pages, and of drawings wherever they are shown.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from importlib import resources
from typing import TypeAlias

from lxml import etree

from treeanon.hierarchy.show import printable

Element = etree._Element
Content: TypeAlias = "str | Element | Iterable[Content] | None"

MOST = 300
"""A longer text is cut: nobody reads on, and a page of megabytes helps nobody."""


def el(tag: str, *content: Content, **attributes: str | float | None) -> Element:
    """An element with its content and attributes; None is left out, `class_` is class, `stroke_width` stroke-width.

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
        # An element can be iterated over as well, but is one thing here.
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
    """The text in at most so many characters, with control characters, marks of direction and the like made visible.

    >>> shown("a" * 10, 5), shown("\\u202eabc")
    ('aaaa…', '\\\\u202eabc')
    """
    return printable(text if len(text) <= most else text[: most - 1] + "…")


def value(text: str | None, most: int = MOST) -> Element:
    """A value of the data as an element of its own, whose direction does not touch the text around; None is missing.

    >>> text_of(value("<script>")), text_of(value(None))
    ('<bdi class="value">&lt;script&gt;</bdi>', '<i class="missing">missing</i>')
    """
    return el("i", "missing", class_="missing") if text is None else el("bdi", shown(text, most), class_="value")


def text_of(element: Element) -> str:
    """The element as HTML."""
    return etree.tostring(element, encoding="unicode", method="html", with_tail=False)


@cache
def style() -> str:
    """The style sheet: it loads nothing from anywhere.

    >>> "url(" in style() or "@import" in style()
    False
    """
    return (resources.files(__package__) / "style.css").read_text(encoding="utf-8")
