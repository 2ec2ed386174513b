"""A record as its document, folded, with what changed in its place: for internal pages, as it shows original data."""

from __future__ import annotations

from collections.abc import Sequence

from treeanon.previews.document import Part, Value, document_of
from treeanon.previews.model import RecordChange
from treeanon.reports.page.elements import Content, Element, counted, el, more, scrolled, value
from treeanon.reports.preview_text import WORDS
from treeanon.schema import Schema

MOST_PARTS = 6000
"""Parts of documents on a page; of larger documents those with changes are shown first, and the others are counted."""

LEAST_PARTS = 200
"""Parts of each document, however many there are."""


def document(change: RecordChange, schema: Schema, room: int = MOST_PARTS) -> Element | None:
    """Return the document of a record before its release, folded; None for formats without documents.

    `room` is how many of its parts are shown.
    """
    part = document_of(change, schema)
    if part is None:
        return None
    name = "XML" if schema.input.slashed else "JSON"
    shown: set[int] = set()
    _choose(part, max(room, LEAST_PARTS), shown)
    lines = el("div", _part(part, shown, top=True), class_="document")
    inner = scrolled(f"Record {change.number + 1:,} as {name}", lines)
    return more(f"The document ({name}), with what changed", inner, opened=True)


_WORTH = 12
"""With less room than this left, a part that does not fit is counted and not shown in part."""


def _choose(part: Part, room: int, shown: set[int]) -> int:
    """Note which parts to show, changed ones first, in so much room; return how much they take."""
    shown.add(id(part))
    used = 1
    sizes = [sum(1 for _ in one.walk()) for one in part.parts]
    for at in sorted(range(len(sizes)), key=lambda at: (not part.parts[at].changed, at)):
        if sizes[at] <= room - used or room - used >= _WORTH:
            used += _choose(part.parts[at], min(sizes[at], room - used), shown)
    return used


def _part(part: Part, shown: set[int], *, top: bool = False) -> Element:
    if not part.parts:
        return el("div", _line(part), class_="line")
    values = sum(one.value is not None and one.value.is_own for one in part.walk())
    told = [counted(values, "value")] if values else []
    if part.changed:
        told.append(f"{part.changed:,} changed")
    gone = "gone" if part.is_gone else None
    # What an item of a list is, is said by a constant of the schema: the kind of a resource.
    constants = (one.value.before for one in part.walk() if one.value is not None and not one.value.is_own)
    kind = next(constants, None) if part.lead == "{" and not top else None
    said = None if kind is None else el("span", value(kind), class_="constant")
    summary = el("summary", el("code", part.lead + " ", class_=gone), said, el("small", ", ".join(told)))
    inside = [_part(each, shown) for each in part.parts if id(each) in shown]
    inside += _left([each for each in part.parts if id(each) not in shown])
    inner = [el("div", inside, class_="inside"), el("code", part.trail, class_=gone)]
    return el("details", summary, inner, open="open" if top or part.changed else None)


def _left(parts: Sequence[Part]) -> list[Element]:
    """Return a line that counts parts that are not shown, if there are any."""
    if not parts:
        return []
    values = sum(one.value is not None and one.value.is_own for part in parts for one in part.walk())
    changed = sum(part.changed for part in parts)
    told = f"… {counted(len(parts), 'part')} more: {counted(values, 'value')}, {changed:,} changed"
    return [el("div", el("small", told), class_="line")]


def _line(part: Part) -> Content:
    own = part.value
    if own is None:
        return [el("code", part.lead + part.trail)]
    said = ", ".join(word for kind, word in WORDS.items() if kind in own.changes)
    trail = el("code", part.trail) if part.trail else None
    return [el("code", part.lead), _value(own), trail, el("small", said) if said else None]


def _value(own: Value) -> Content:
    if not own.changes:
        return el("span", value(own.before), class_="own" if own.is_own else "constant")
    if own.after is None:
        return el("del", value(own.before), class_="dropped")
    kind = next(kind for kind in ("generalized", "moved", "merged") if kind in own.changes)
    if own.after == own.before:
        return el("span", value(own.before), class_=kind)
    return [el("del", value(own.before), class_=kind), " ", el("ins", value(own.after), class_=kind)]
