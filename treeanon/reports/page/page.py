"""The page: one HTML file without scripts or external resources, to be read, printed and archived."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypedDict, Unpack

from treeanon.algorithms.table.lattice import FullDomainResult
from treeanon.errors import UsageError
from treeanon.forest import Forest
from treeanon.io.output import open_output
from treeanon.metrics import ObjectsKept, share_whole
from treeanon.previews.model import RecordChange, RowChange
from treeanon.release import DocumentsRelease, PermutedRelease, Release, TableRelease
from treeanon.release.solution_file import version
from treeanon.release.tree_release import unprotected_classes
from treeanon.reports.page import internal, public, rows
from treeanon.reports.page.elements import Content, Element, Section, counted, el, percent, style, text_of, tiles
from treeanon.reports.page.rows import lattice_section
from treeanon.reports.page.statement import (
    NOT_ALIKE,
    AnyRelease,
    Audience,
    as_they_are,
    banner,
    guarantees,
    left_out,
    risks,
    statement,
    verdicts,
)
from treeanon.risks.model import Risk
from treeanon.verifier.freeform import FreeformVerdict

Changes = Sequence[RecordChange] | Sequence[RowChange]


def page(
    release: AnyRelease,
    *,
    before: Forest | None = None,
    changes: Changes = (),
    risk_before: Risk | None = None,
    risk_after: Risk | None = None,
    audience: Audience = "public",
    title: str = "Anonymized release",
    notes: Sequence[str] = (),
    seed: int | None = None,
) -> str:
    """Return the page of a release as HTML; `notes` come first.

    A public page is made from the published records and the guarantee alone; `before`, `changes` and `risk_before` are
    refused, as only internal pages show original data. `risk_after` must be the risk of the release. `seed` makes the
    random choice of records on a public page reproducible, for tests.

    >>> import treeanon as ta
    >>> schema = ta.Schema.loads('version = 1\\n[input]\\nformat = "ndjson"\\n[[class]]\\nname = "at"\\npath = "at"')
    >>> forest = ta.Forest.from_records(schema, [[["at", "Rome", []]], [["at", "Rome", []]], [["at", "Kyiv", []]]])
    >>> shown = page(ta.anonymize(forest, k=3))
    >>> "Public" in shown, "Rome" in shown
    (True, False)
    """
    if audience == "public" and (before is not None or changes or risk_before is not None):
        raise UsageError("a public page shows the release alone: pass no input, no changes and no risk of the input")
    if audience == "public":
        sections = [*_public(release, seed), risks(None, risk_after, _promised(release))]
    else:
        sections = [
            *internal_sections(release, before, changes),
            risks(risk_before, risk_after, _promised(release)),
            _left_out(release),
        ]
    return _document(release, [one for one in sections if one is not None], audience, title, notes)


class PageParameters(TypedDict, total=False):
    """The parameters of a page."""

    before: Forest | None
    changes: Changes
    risk_before: Risk | None
    risk_after: Risk | None
    audience: Audience
    title: str
    notes: Sequence[str]
    seed: int | None


def write_page(
    release: AnyRelease, target: str | Path, *, force: bool = False, **parameters: Unpack[PageParameters]
) -> None:
    """Write the page of a release as HTML, whole or not at all.

    Parameters
        release: the result of `treeanon.anonymize`.
        target: the path of the file.
        force: replace an existing file.
        audience: "public" (default), made from the published records alone, or "internal", which may show originals:
            only this user can read it.
        before: the input, for internal pages of trees.
        changes: records before and after, of a `treeanon.preview`, for internal pages.
        risk_before: the risk of the input (`treeanon.risk`), for internal pages.
        risk_after: the risk of the release.
        title: the title of the page.
        notes: sentences to show first.
        seed: makes the random choice of records reproducible, for tests.
    """
    text = page(release, **parameters)
    private = parameters.get("audience") == "internal"
    with open_output(target, force=force, private=private) as stream:
        stream.write(text.encode())


def _public(release: AnyRelease, seed: int | None) -> Iterator[Section]:
    if isinstance(release, Release | DocumentsRelease):
        nearest = isinstance(release, Release) and release.solution.cut is not None
        yield from public.tree_sections(release.forest, seed, nearest=nearest)
    elif isinstance(release, PermutedRelease):
        yield from public.row_sections(
            [("the table of records", release.records), ("the table of values", release.values)], seed
        )
    else:
        yield from public.row_sections([("the table", release.table)], seed)


def internal_sections(release: AnyRelease, before: Forest | None, changes: Changes) -> Iterator[Section | None]:
    """Yield the sections of internal pages: they show original data."""
    schema = release.forest.schema if isinstance(release, Release) else None
    yield internal.records([one for one in changes if isinstance(one, RecordChange)], schema)
    yield rows.rows([one for one in changes if isinstance(one, RowChange)])
    if isinstance(release, Release):
        yield internal.hierarchies(release)
        yield internal.relations(release, before)
        yield internal.losses(release.loss)
    elif isinstance(release, DocumentsRelease):
        yield rows.hierarchies(release.rows.table, _levels(release.rows))
        if isinstance(release.rows.found, FullDomainResult):
            yield lattice_section(release.rows.table, release.rows.found)
        yield internal.losses(release.loss)
    elif isinstance(release, TableRelease):
        yield rows.hierarchies(release.table, _levels(release))
        if isinstance(release.found, FullDomainResult):
            yield lattice_section(release.table, release.found)
        yield rows.losses(release.loss, alike=not isinstance(release.verdict, FreeformVerdict))
    else:
        yield rows.permuted_losses(release.loss)


def _promised(release: AnyRelease) -> str:
    """Return the limits of the guarantee: how much attacker knowledge it covers."""
    if isinstance(release, TableRelease) and isinstance(release.verdict, FreeformVerdict):
        return NOT_ALIKE
    if not isinstance(release, Release):
        return ""
    guarantee = release.solution.guarantee
    known = f"{counted(guarantee.m, 'value')} and {counted(guarantee.n, 'relation')}"
    return f"The guarantee covers knowledge of up to {known}."


def _levels(release: TableRelease) -> dict[str, int]:
    levels = release.found.as_dict().get("levels", {})
    return {name: int(level) for name, level in levels.items()}


def _left_out(release: AnyRelease) -> Section:
    if isinstance(release, Release):
        solution = release.solution
        return left_out(release.counts, suppressed=solution.suppressed, withheld=solution.withheld)
    suppressed = release.rows.found.suppressed if isinstance(release, DocumentsRelease) else release.found.suppressed
    return left_out(release.counts, suppressed=suppressed)


def _document(
    release: AnyRelease, sections: Sequence[Section], audience: Audience, title: str, notes: Sequence[str]
) -> str:
    first: Content = [[el("p", note, class_="note") for note in notes], _first(release, audience)]
    return document_of(
        title, audience, "", first, sections, f"Made by treeanon {version()}. {_made_by(release, audience)}"
    )


def document_of(
    title: str,
    audience: Audience,
    words: str,
    first: Content,
    sections: Sequence[Section],
    last: str,
    data: Sequence[Element] = (),
) -> str:
    """Return a page as HTML: its banner, what comes first, sections with their contents, and what comes last.

    `words` stand in the banner, if others than those of pages; `data` are blocks that nobody sees.
    """
    links = el("ul", [el("li", el("a", one.title, href=f"#{one.key}")) for one in sections])
    inner = el(
        "div",
        el("header", el("h1", title), first),
        el("nav", links, aria_label="Contents"),
        el("main", [one.element() for one in sections], id="content"),
        el("footer", el("p", last)),
        class_="paper",
    )
    skip = el("a", "Skip to content", href="#content", class_="skip")
    body = el("body", skip, banner(audience, words), inner, data, class_=audience)
    return "<!DOCTYPE html>\n" + text_of(el("html", head(title, audience), body, lang="en")) + "\n"


def head(title: str, audience: Audience) -> Element:
    """Return the head of a page, which may load nothing, and whose style sheet is its own."""
    css = style()
    digest = base64.b64encode(hashlib.sha256(css.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    sheet = el("style")
    # The style sheet is not data: it must stay unescaped to match its hash.
    sheet.text = css
    return el(
        "head",
        el("meta", charset="utf-8"),
        _meta("Content-Security-Policy", policy),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("meta", name="referrer", content="no-referrer"),
        el("meta", name="robots", content="noindex") if audience == "internal" else None,
        el("title", f"{title} ({audience})"),
        sheet,
    )


def _meta(name: str, content: str) -> Element:
    made = el("meta", content=content)
    made.set("http-equiv", name)
    return made


def _first(release: AnyRelease, audience: Audience) -> list[Element | None]:
    """Return the guarantee, the verdict, and key numbers."""
    table = release.table if isinstance(release, TableRelease) else None
    is_public = audience == "public"
    found = [(one.holds, public.sentence(one, table) if is_public else one.sentence) for one in verdicts(release)]
    facts = _public_facts(release) if is_public else _facts(release)
    beyond = release.one_more if isinstance(release, Release) else None
    more = None if beyond is None else el("p", beyond.sentence, class_="beyond")
    return [statement(guarantees(release), found), more, tiles(facts), as_they_are(_unprotected(release))]


def _unprotected(release: AnyRelease) -> dict[str, list[str]]:
    if isinstance(release, DocumentsRelease):
        return unprotected_classes(release.forest)
    return release.unprotected()


def _public_facts(release: AnyRelease) -> list[tuple[str, str]]:
    if isinstance(release, Release | DocumentsRelease):
        return [("persons published", f"{len(release.forest):,}"), ("values published", f"{release.forest.nodes:,}")]
    table = release.records if isinstance(release, PermutedRelease) else release.table
    return [("rows published", f"{len(table):,}"), ("columns", f"{len(table.columns):,}")]


_MOST_TYPES = 3
"""Types of objects that have a fact of their own; of more it is that of all objects."""


def _whole(objects: Mapping[str, ObjectsKept]) -> list[tuple[str, str]]:
    known = {name: of.whole for name, of in objects.items() if of.whole is not None}
    if len(known) <= _MOST_TYPES:
        return [(f"{name} kept whole", percent(whole)) for name, whole in known.items()]
    every = share_whole(objects)
    return [] if every is None else [("objects kept whole", percent(every))]


def _facts(release: AnyRelease) -> list[tuple[str, str]]:
    counts = release.counts
    if isinstance(release, Release | DocumentsRelease):
        return [
            ("persons published", f"{counts['published_records']:,} of {counts['records']:,}"),
            ("values published", f"{counts['published_nodes']:,} of {counts['nodes']:,}"),
            ("value loss", f"{release.loss.value_loss:.3f}"),
            ("relations kept", percent(release.loss.relations_kept)),
            *_whole(release.loss.objects),
        ]
    rows_published = ("rows published", f"{counts['published_rows']:,} of {counts['rows']:,}")
    if isinstance(release, PermutedRelease):
        return [rows_published, ("groups", f"{release.loss.groups:,}")]
    return [
        rows_published,
        ("GCP (taxonomy)", f"{release.loss.gcp_taxonomy:.3f}"),
        ("GCP (set)", f"{release.loss.gcp_set:.3f}"),
    ]


def _made_by(release: AnyRelease, audience: Audience) -> str:
    """Return a note on how the release was made; on a public page, on the limits of the guarantee."""
    if audience == "public":
        return "The guarantee covers the stated attacker knowledge, and nothing beyond it."
    if isinstance(release, Release):
        return f"Algorithm: {release.solution.algorithm}."
    if isinstance(release, DocumentsRelease):
        return f"Algorithm (rows): {release.rows.found.algorithm}."
    return f"Algorithm: {release.found.algorithm}."
