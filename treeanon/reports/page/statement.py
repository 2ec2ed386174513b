"""Statements on a page: its audience, the guarantee and the verdict.

Also what of the input is not published: dropped by the schema, left out in reading, withheld or suppressed.

Also the risks of singling persons out, before and after, as matrices.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from treeanon.forest.report import shift_lines
from treeanon.release import DocumentsRelease, PermutedRelease, Release, TableRelease
from treeanon.reports.page.elements import (
    Cell,
    Content,
    Element,
    Section,
    Shaded,
    el,
    matrix,
    more,
    percent,
    table,
    value,
)
from treeanon.risks.model import Combination, Risk, RowRisk
from treeanon.verifier.freeform import FreeformVerdict
from treeanon.verifier.permuted import PermutedVerdict, promise
from treeanon.verifier.table import TableVerdict
from treeanon.verifier.verdict import Verdict

Audience = Literal["internal", "public"]
AnyRelease = Release | DocumentsRelease | TableRelease | PermutedRelease
AnyVerdict = Verdict | TableVerdict | FreeformVerdict | PermutedVerdict

BANNERS: dict[Audience, tuple[str, str]] = {
    "internal": (
        "Internal",
        "This page shows original personal data, for those with access to the input: do not publish it.",
    ),
    "public": (
        "Public",
        "This page shows the guarantee, random records of the release, and counts over the release. It was made from"
        " the release alone and contains no other information on the input.",
    ),
}


def banner(audience: Audience, own: str = "") -> Element:
    """Return the banner that names the audience, with words of its own if there are any."""
    name, words = BANNERS[audience]
    words = own or words
    return el("p", el("strong", name), " ", words, class_=f"banner {audience}", role="note")


def guarantees(release: AnyRelease) -> list[str]:
    """Return the guarantee in sentences."""
    if isinstance(release, Release):
        return [release.solution.guarantee.sentence]
    if isinstance(release, DocumentsRelease):
        rest = [] if release.trees is None else [release.trees.solution.guarantee.sentence]
        known = ", ".join(column.name for column in release.rows.table.quasi)
        return [f"By {known}, each person looks like others of a group that satisfies: {_models(release.rows)}.", *rest]
    if isinstance(release, PermutedRelease):
        hidden = release.made.sensitive.name
        return [
            promise(hidden, release.models, release.verdict),
            f"Only {hidden} is protected. Who is in the table is not.",
        ]
    return [release.sentence]


def _models(release: TableRelease) -> str:
    return ", ".join(model.name for model in release.models)


def verdicts(release: AnyRelease) -> list[AnyVerdict]:
    """Return the verdicts of the checks."""
    if isinstance(release, DocumentsRelease):
        return [release.rows.verdict, *([] if release.trees is None else [release.trees.verdict])]
    return [release.verdict]


def statement(sentences: list[str], found: list[tuple[bool, str]]) -> Element:
    """Return the guarantee, and the verdict with a sign that says whether it holds."""
    return el(
        "div",
        [el("p", sentence, class_="guarantee") for sentence in sentences],
        [_verdict(holds, words) for holds, words in found],
        class_="statement",
    )


def _verdict(holds: bool, words: str) -> Element:
    sign, verdict_text = ("✓", "Holds.") if holds else ("✗", "Does not hold.")
    css = f"verdict {'good' if holds else 'bad'}"
    return el(
        "p",
        el("span", sign, class_="check", aria_hidden="true"),
        el("b", verdict_text),
        f" Verified by counting: {words}",
        class_=css,
    )


MAX_PATHS = 100

_ROLES = {
    "keep": "declared safe by the schema",
    "sensitive": "sensitive",
    "pseudonym": "as keyed pseudonyms",
    "quasi": "quasi-identifiers",
}


def left_out(counts: Mapping[str, Any], *, suppressed: int = 0, withheld: Sequence[str] = ()) -> Section:
    """Return the section of what is not published: dropped paths, and what reading and the search left out."""
    verdict_text: list[Sequence[Cell]] = [[words, number] for words, number in _counts(counts, suppressed) if number]
    parts: list[Content] = []
    if verdict_text:
        parts.append(table("Left out", ["What", "Number"], verdict_text))
    if withheld:
        parts.append(el("p", f"Withheld, as too rare to be published safely: {', '.join(withheld)}."))
    if tables := counts.get("tables_not_read"):
        parts.append(el("p", f"Tables without a path in the schema: {', '.join(tables)}."))
    parts += [el("p", f"Left out: {what}.") for what in counts.get("left_out", ())]
    parts += [el("p", line) for line in shift_lines(counts.get("shifted_dates", {}))]
    dropped = counts.get("dropped") or {}
    if dropped:
        rows: list[Sequence[Cell]] = [[value(path), times] for path, times in list(dropped.items())[:MAX_PATHS]]
        parts.append(table("Dropped: not in the schema, or withheld by it", ["Where", "Fields"], rows))
        if len(dropped) > MAX_PATHS:
            parts.append(el("p", f"and {len(dropped) - MAX_PATHS:,} more paths"))
    return Section("left-out", "What is not published", parts or [el("p", "Nothing was dropped or left out.")])


def _counts(counts: Mapping[str, Any], suppressed: int) -> Iterator[tuple[str, int]]:
    yield "persons suppressed", suppressed
    yield "invalid records skipped", counts.get("skipped_records", 0)
    yield "records with a duplicate JSON key; the last one was used", counts.get("records_with_duplicate_keys", 0)
    yield "files of other formats", counts.get("ignored_files", 0)
    for key, rows in counts.get("dangling_keys", {}).items():
        yield f"rows that refer to a missing row, by {key}", rows
    for key, objects in counts.get("dangling_references", {}).items():
        yield f"references to what is not in the document, or to one of several, by {key}", objects
    for key, objects in counts.get("references_not_written", {}).items():
        yield f"objects that do not refer by {key} to what they can only mean; not written", objects
    for key, objects in counts.get("listed_again", {}).items():
        yield f"references by {key} to what another list has, too; published in each of them", objects
    for key, rows in counts.get("rows_in_circles", {}).items():
        yield f"rows that refer to each other in cycles, by {key}", rows
    for name, rows in counts.get("rows_of_nobody", {}).items():
        yield f"rows of {name} without a person", rows
    for name, times in counts.get("unknown_values_suppressed", {}).items():
        yield f"values of {name} that are not in its hierarchy: published as its root", times


def as_they_are(roles: Mapping[str, Sequence[str]]) -> Element | None:
    """Return what is published unchanged; None if there is nothing."""
    if not roles:
        return None
    named = [f"{', '.join(names)} ({_ROLES.get(role, role)})" for role, names in roles.items()]
    return el("p", "Published unchanged: ", "; ".join(named), ".")


MAX_COMBINATIONS = 12
NOT_ALIKE = "Rows of this release need not be alike: each matches as many persons as the guarantee says."
"""A note for freeform releases, in which a unique row does not single out a person."""


def risks(before: Risk | None, after: Risk | None, note: str = "") -> Section | None:
    """Return the section of risks of the input and the release, if any is known; `note` states the limits of the
    guarantee.
    """
    known = [(name, risk) for name, risk in (("Input", before), ("Release", after)) if risk is not None]
    if not known:
        return None
    k = known[0][1].k
    parts: list[Content] = [
        el(
            "p",
            f"The share of persons with some combination of that size that fewer than {k:,} persons have. {note}",
        )
    ]
    parts.append(el("div", [_matrix(name, risk) for name, risk in known], class_="sides"))
    whole = [(name, risk.whole) for name, risk in known if risk.whole is not None]
    if whole:
        parts.append(_whole(whole, k))
    if before is not None and before.combinations:
        parts.append(
            more("The most dangerous combinations of classes in the input", _combinations(before.combinations))
        )
    return Section("risk", "Risk", parts)


def _matrix(name: str, risk: Risk) -> Element:
    rows = [f"{m} {'value' if m == 1 else 'values'}" for m in range(1, len(risk.below_k) + 1)]
    columns = [
        f"{n} {'relation' if n == 1 else 'relations'}" for n in range(len(risk.below_k[0]) if risk.below_k else 0)
    ]
    cells = {}
    for i, row in enumerate(risk.below_k):
        for j, share in enumerate(row):
            note = "" if share.low == share.high else f"{percent(share.low)} to {percent(share.high)}"
            cells[i, j] = Shaded(percent(share.share), share.share, note)
    how = "all persons" if risk.exactness == "exact" else f"{risk.decided:,} of {risk.persons:,} persons, 95 % bounds"
    if risk.kind == "table":
        columns = ["share"]
    return el("div", matrix(f"{name}: singled out among fewer than {risk.k:,} ({how})", "known", rows, columns, cells))


def _whole(found: Sequence[tuple[str, RowRisk]], k: int) -> Element:
    """Return the risks if all quasi-identifiers are known."""
    rows: list[Sequence[Cell]] = [
        ["groups", *(risk.groups for _, risk in found)],
        ["smallest group", *(risk.smallest for _, risk in found)],
        [f"in groups of fewer than {k:,}", *(percent(risk.below_k.share) for _, risk in found)],
        ["unique", *(percent(risk.unique.share) for _, risk in found)],
        ["prosecutor risk, at most", *(percent(risk.prosecutor) for _, risk in found)],
        ["journalist risk, at most", *(_journalist(risk) for _, risk in found)],
        ["marketer risk, on average", *(percent(risk.marketer) for _, risk in found)],
    ]
    return table("If all quasi-identifiers are known", ["", *(name for name, _ in found)], rows)


def _journalist(risk: RowRisk) -> str:
    return "at most the prosecutor risk" if risk.journalist is None else percent(risk.journalist)


def _combinations(found: Sequence[Combination]) -> Element:
    rows = [[one.text, percent(one.share)] for one in found[:MAX_COMBINATIONS]]
    return table("Minimal combinations that single persons out", ["Known classes", "Persons"], rows)
