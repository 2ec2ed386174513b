"""A record as its document, folded, with what changed in its place: for internal pages, as it shows original data."""

from __future__ import annotations

from treeanon.previews.document import Part, Value, document_of
from treeanon.previews.model import RecordChange
from treeanon.reports.page.elements import Content, Element, counted, el, more, scrolled, value
from treeanon.reports.preview_text import WORDS
from treeanon.schema import Schema


def document(change: RecordChange, schema: Schema) -> Element | None:
    """Return the document of a record before its release, folded; None for formats without documents."""
    part = document_of(change, schema)
    if part is None:
        return None
    name = "XML" if schema.input.slashed else "JSON"
    inner = scrolled(f"Record {change.number + 1:,} as {name}", el("div", _part(part, top=True), class_="document"))
    return more(f"The document ({name}), with what changed", inner, opened=True)


def _part(part: Part, *, top: bool = False) -> Element:
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
    inner = [el("div", [_part(each) for each in part.parts], class_="inside"), el("code", part.trail, class_=gone)]
    return el("details", summary, inner, open="open" if top or part.changed else None)


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
