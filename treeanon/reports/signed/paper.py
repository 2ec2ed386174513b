"""The page of a report: made of its facts alone, so that the same facts always give the same page.

Also reports as PDF, by WeasyPrint (extra `report`): the page, with its facts attached as a file of JSON.
"""

from __future__ import annotations

import json
import logging
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from typing import Any

from treeanon.errors import UsageError
from treeanon.reports.page.charts import by_attacker, by_size, of_whole
from treeanon.reports.page.elements import (
    Cell,
    Content,
    Element,
    Section,
    bar,
    el,
    more,
    percent,
    shown,
    table,
    tiles,
    value,
)
from treeanon.reports.page.page import document_of
from treeanon.reports.page.statement import Audience, as_they_are, left_out, statement
from treeanon.reports.signed.law import OPINION

TITLE = "Report on an anonymized release"

WORDS: Mapping[Audience, str] = {
    "internal": (
        "This report has counts of the original data and the SHA-256 of its files, but no original value: it is for"
        " those who answer for the release, not for publishing."
    ),
    "public": "This report was made from the release, its schema and what is promised alone.",
}

_ROLES = {
    "release": "Release",
    "schema": "Schema",
    "hierarchy": "Hierarchy of the schema",
    "input": "Input (original data)",
    "solution": "Solution",
}


def paper(facts: Mapping[str, Any]) -> str:
    """Return the page of a report as HTML."""
    audience: Audience = "public" if facts["audience"] == "public" else "internal"
    sections = [one for one in _sections(facts) if one is not None]
    verdict = facts["verdict"]
    first: list[Content] = [
        el("p", f"Made on {_day(facts['made'])} by treeanon {facts['software']['treeanon']}.", class_="note"),
        _warning(facts),
        statement([facts["sentence"]], [(verdict["holds"], verdict["sentence"])]),
        el("p", facts["one_more_value"], class_="beyond") if facts["one_more_value"] else None,
        tiles(_tiles(facts)),
        as_they_are(facts["published_as_they_are"]),
    ]
    last = (
        "Whether files, verdict and page still agree with this report is told by: treeanon report --check FILE. "
        "The facts of this report are in it as JSON."
    )
    return document_of(TITLE, audience, WORDS[audience], first, sections, last, [_data(facts)])


def _day(made: str) -> str:
    return made.replace("T", ", ").replace("Z", " UTC")


def _data(facts: Mapping[str, Any]) -> Element:
    """Return the facts as a block of data, which is no script: nothing in it can end the block."""
    text = json.dumps(facts, ensure_ascii=True, separators=(",", ":"))
    made = el("script", type="application/json", id="facts")
    made.text = text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
    return made


def _warning(facts: Mapping[str, Any]) -> Element | None:
    strange = facts.get("strange")
    if not strange:
        return None
    told = ", ".join(f"{name} ({times:,})" for name, times in strange.items())
    words = f"The release has values that nobody in the input can have: {told}. Is it a release of this input?"
    return el("p", el("b", "Warning: "), words, class_="beyond")


def _tiles(facts: Mapping[str, Any]) -> list[tuple[str, str]]:
    had = facts.get("input") or {}
    found = [
        (f"{name} published", f"{number:,}" + (f" of {had[name]:,}" if name in had and name != "columns" else ""))
        for name, number in facts["published"].items()
    ]
    losses = facts.get("losses") or {}
    for name, words, form in _TOTALS:
        if name in losses:
            found.append((words, percent(losses[name]) if form == "%" else f"{losses[name]:.3f}"))
    return found


_TOTALS = (("value_loss", "value loss", ""), ("relations_kept", "relations kept", "%"), ("gcp_taxonomy", "GCP", ""))


def _sections(facts: Mapping[str, Any]) -> Iterator[Section | None]:
    yield _signature(facts)
    yield _law(facts)
    yield _unprotected(facts)
    yield _risk(facts)
    if facts["audience"] != "public":
        yield _lost(facts)
        suppressed = _suppressed(facts)
        yield left_out(facts["counts"], suppressed=suppressed)
        yield _parameters(facts)
    yield _files(facts)


def _suppressed(facts: Mapping[str, Any]) -> int:
    had, has = facts["input"], facts["published"]
    name = "rows" if facts["kind"] == "rows" else "persons"
    return int(had[name] - has[name])


def _signature(facts: Mapping[str, Any]) -> Section:
    fields = facts["fields"]
    given = [
        el("div", el("dt", name.capitalize()), el("dd", fields.get(name) or None), class_=name)
        for name in ("purpose", "recipient", "reviewer")
    ]
    signed = [el("div", el("dt", name), el("dd"), class_="signature") for name in ("Place and date", "Signature")]
    return Section("release", "Approval of the release", [el("dl", given, signed, class_="fields")])


def _law(facts: Mapping[str, Any]) -> Section:
    words = el(
        "p",
        f"The three risks are those of the {OPINION}, section 3. Whether what remains is acceptable for the purpose and"
        " the recipient is for the reviewer to say.",
    )
    parts: list[Content] = [words]
    for one in facts["law"]:
        parts.append(el("h3", one["name"]))
        parts.append(el("p", f"“{one['meaning']}”", class_="note"))
        parts.append(
            el(
                "dl",
                el("div", el("dt", "What is addressed"), el("dd", one["addressed"])),
                el("div", el("dt", "What is not"), el("dd", one["open"])),
                class_="law",
            )
        )
    return Section("law", "In the words of the law", parts)


def _unprotected(facts: Mapping[str, Any]) -> Section:
    return Section("limits", "What is not protected", [el("ul", [el("li", one) for one in facts["not_protected"]])])


def _risk(facts: Mapping[str, Any]) -> Section | None:
    known = [(name, facts["risk"].get(key)) for name, key in (("Input", "before"), ("Release", "after"))]
    found = [(name, risk) for name, risk in known if risk is not None]
    if not found:
        return None
    k = found[0][1]["k"]
    guarantee = facts["promise"]["guarantee"]
    covered = None if guarantee is None else (guarantee["m"], guarantee["n"])
    parts: list[Content] = [
        el(
            "p",
            f"Each attacker knows that much about a person. Persons are singled out if nobody else, or fewer than"
            f" {k:,} persons, have some such knowledge in common.",
        ),
        by_attacker(found, k, covered),
    ]
    sizes = facts["group_sizes"]
    held = [(name, sizes.get(key)) for name, key in (("Input", "before"), ("Release", "after"))]
    counted = [(name, persons) for name, persons in held if persons is not None]
    if counted:
        parts.append(by_size(counted))
    whole = [(name, risk["all_columns"]) for name, risk in found if risk.get("all_columns") is not None]
    if whole:
        parts.append(of_whole(whole, k))
    return Section("risk", "Risk before and after" if len(found) > 1 else "Risk", parts)


def _lost(facts: Mapping[str, Any]) -> Section:
    losses = facts["losses"]
    if facts["kind"] == "rows":
        rows: list[Sequence[Cell]] = [
            [name, loss, bar(loss), losses["ncp_set"][name]] for name, loss in losses["ncp_taxonomy"].items()
        ]
        return Section("losses", "What was lost", [table("NCP by column", ["Column", "Taxonomy", "", "Set"], rows)])
    had, has = losses["before"]["values"], losses["after"]["values"]
    rows = [
        [name, loss, bar(loss), had.get(name, 0), has.get(name, 0)]
        for name, loss in losses["value_loss_by_class"].items()
    ]
    heads = ["Class", "Value loss", "", "Values in the input", "Values published"]
    pairs: list[Sequence[Cell]] = [
        [name, percent(kept), bar(1 - kept)] for name, kept in losses["relations_kept_by_pair"].items()
    ]
    whole: list[Sequence[Cell]] = [
        [name, one["before"], one["after"], "unknown" if one["whole"] is None else percent(one["whole"])]
        for name, one in losses.get("objects", {}).items()
    ]
    kinds = ["Type of object", "Input", "Release", "Kept whole"]
    parts = [
        table("Value loss by class, from 0 (unchanged) to 1 (any value, or none)", heads, rows),
        table("Objects kept whole", kinds, whole) if whole else None,
        more("Relations kept", table("Relations kept", ["Relation", "Kept", "Lost"], pairs)) if pairs else None,
    ]
    return Section("losses", "What was lost", parts)


def _parameters(facts: Mapping[str, Any]) -> Section:
    known: dict[str, Any] = {**(facts["promise"]["guarantee"] or {})}
    for number, model in enumerate(facts["promise"]["models"], start=1):
        known[f"model {number}"] = ", ".join(f"{key} {one}" for key, one in model.items())
    known |= {f"reading: {name}": one for name, one in facts["reading"]["how"].items() if one}
    known |= facts.get("parameters", {})
    rows: list[Sequence[Cell]] = [[name, value(_text(one))] for name, one in known.items()]
    rows += [[f"version of {name}", value(one)] for name, one in facts["software"].items()]
    note = None
    if not facts.get("parameters"):
        note = el("p", "How the release was made is not known: no solution file was given.", class_="note")
    return Section("parameters", "Parameters", [note, table("All parameters", ["Name", "Value"], rows)])


def _text(one: Any) -> str:
    return one if isinstance(one, str) else json.dumps(one, ensure_ascii=False)


def _files(facts: Mapping[str, Any]) -> Section:
    parts = []
    for one in facts["files"]:
        size = "" if one["bytes"] is None else f"{one['bytes']:,} bytes"
        many = f" in {one['files']:,} files" if one["files"] > 1 else ""
        digest = one["sha256"] or "a database, which has no SHA-256"
        parts.append(
            el(
                "div",
                el("dt", _ROLES[one["role"]], el("small", size + many)),
                el("dd", value(shown(one["path"])), el("code", digest, class_="digest")),
            )
        )
    return Section("files", "Files and their SHA-256", [el("dl", parts, class_="files")])


NAME = "facts.json"
_ATTACHED = re.compile(rb"/Type\s*/EmbeddedFile\b")
_LENGTH = re.compile(rb"/Length (\d+)")
_MOST = 64 << 20


def require_pdf() -> None:
    """Raise UsageError with what to install, where PDF cannot be made."""
    if find_spec("weasyprint") is None:
        raise UsageError(
            "PDF requires WeasyPrint: pip install 'treeanon[report]'; or name a file .html, and print it in a browser"
        )


def pdf_of(html: str, facts: bytes) -> bytes:
    """Return a page as PDF with its facts attached; UsageError says what is missing."""
    require_pdf()
    logging.getLogger("weasyprint").setLevel(logging.ERROR)
    logging.getLogger("fontTools").setLevel(logging.ERROR)
    try:
        from weasyprint import HTML, Attachment
    except OSError:
        raise UsageError(
            "PDF requires the system library Pango (Debian: libpango-1.0-0, libpangoft2-1.0-0, libharfbuzz-subset0)"
        ) from None
    attached = Attachment(string=facts, name=NAME, description="Facts of the report", relationship="Data")
    made: bytes = HTML(string=html, url_fetcher=_nothing).write_pdf(attachments=[attached])
    return made


def _nothing(url: str, *_: Any, **__: Any) -> Any:
    raise ValueError("a report loads nothing")


def facts_in_pdf(content: bytes) -> bytes | None:
    """Return the attached facts of a PDF as `pdf_of` makes it; None where there are none.

    >>> facts_in_pdf(b"%PDF-1.7") is None
    True
    """
    for found in _ATTACHED.finditer(content):
        head = content.rfind(b" obj", 0, found.start())
        begin = content.find(b"stream", found.end())
        length = _LENGTH.search(content, head, begin)
        if head < 0 or begin < 0 or length is None:
            continue
        start = begin + len(b"stream") + (2 if content[begin + 6 : begin + 8] == b"\r\n" else 1)
        packed = content[start : start + int(length[1])]
        if b"/FlateDecode" not in content[head:begin]:
            return packed
        try:
            return zlib.decompressobj().decompress(packed, _MOST)
        except zlib.error:
            continue
    return None
