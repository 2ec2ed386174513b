"""What a page says first: for whom it is, what is guaranteed, and what the check found.

What of the input is not published: dropped by the schema, left out in reading, withheld or suppressed.

Who can be singled out, before and after, as matrices.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from treeanon.release import DocumentsRelease, PermutedRelease, Release, TableRelease
from treeanon.report.page.elements import (
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
        "This page shows original data of persons. It is for those who may see the input: do not publish it.",
    ),
    "public": (
        "Public",
        "This page shows the guarantee, records of the release drawn at random, and counts over the release. It was"
        " made from the release alone, and holds nothing of the input beside it.",
    ),
}


def banner(audience: Audience) -> Element:
    """For whom the page is."""
    name, words = BANNERS[audience]
    return el("p", el("strong", name), " ", words, class_=f"banner {audience}", role="note")


def guarantees(release: AnyRelease) -> list[str]:
    """What is guaranteed, in sentences for people."""
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
            f"Only {hidden} is hidden. Who is in the table is not.",
        ]
    return [release.sentence]


def _models(release: TableRelease) -> str:
    return ", ".join(model.name for model in release.models)


def verdicts(release: AnyRelease) -> list[AnyVerdict]:
    """What the checks found."""
    if isinstance(release, DocumentsRelease):
        return [release.rows.verdict, *([] if release.trees is None else [release.trees.verdict])]
    return [release.verdict]


def statement(sentences: list[str], found: list[tuple[bool, str]]) -> Element:
    """Return the guarantee, and the verdict with a sign for whether it holds."""
    return el(
        "div",
        [el("p", sentence, class_="guarantee") for sentence in sentences],
        [_verdict(holds, words) for holds, words in found],
        class_="statement",
    )


def _verdict(holds: bool, words: str) -> Element:
    sign, told = ("✓", "Holds.") if holds else ("✗", "Does not hold.")
    css = f"verdict {'good' if holds else 'bad'}"
    return el(
        "p",
        el("span", sign, class_="check", aria_hidden="true"),
        el("b", told),
        f" Verified by counting: {words}",
        class_=css,
    )


MAX_PATHS = 100

_ROLES = {
    "keep": "declared safe by the schema",
    "sensitive": "sensitive",
    "pseudonym": "as keyed pseudonyms",
    "quasi": "quasi columns",
}


def left_out(counts: Mapping[str, Any], *, suppressed: int = 0, withheld: Sequence[str] = ()) -> Section:
    """What is not published, by path, and what reading and the search left out."""
    told: list[Sequence[Cell]] = [[words, number] for words, number in _counts(counts, suppressed) if number]
    parts: list[Content] = []
    if told:
        parts.append(table("Left out", ["What", "How many"], told))
    if withheld:
        parts.append(el("p", f"Withheld, as too rare to be published safely: {', '.join(withheld)}."))
    if tables := counts.get("tables_not_read"):
        parts.append(el("p", f"Tables that no path goes through: {', '.join(tables)}."))
    parts += [el("p", f"Left out: {what}.") for what in counts.get("left_out", ())]
    dropped = counts.get("dropped") or {}
    if dropped:
        rows: list[Sequence[Cell]] = [[value(path), times] for path, times in list(dropped.items())[:MAX_PATHS]]
        parts.append(table("Dropped: the schema does not name it, or withholds it", ["Where", "Fields"], rows))
        if len(dropped) > MAX_PATHS:
            parts.append(el("p", f"and {len(dropped) - MAX_PATHS:,} more paths"))
    return Section("left-out", "What is not published", parts or [el("p", "Nothing was dropped or left out.")])


def _counts(counts: Mapping[str, Any], suppressed: int) -> Iterator[tuple[str, int]]:
    yield "persons left out as outliers", suppressed
    yield "broken records skipped", counts.get("skipped_records", 0)
    yield "records that hold a JSON key twice; the last one counted", counts.get("records_with_duplicate_keys", 0)
    yield "files of other kinds", counts.get("ignored_files", 0)
    for key, rows in counts.get("dangling_keys", {}).items():
        yield f"rows that refer to a row that is not there, by {key}", rows
    for key, rows in counts.get("rows_in_circles", {}).items():
        yield f"rows that refer to each other in circles, by {key}", rows
    for name, rows in counts.get("rows_of_nobody", {}).items():
        yield f"rows of {name} that belong to nobody", rows
    for name, times in counts.get("unknown_values_suppressed", {}).items():
        yield f"values of {name} that its hierarchy does not know: published as its root", times


def as_they_are(roles: Mapping[str, Sequence[str]]) -> Element | None:
    """What is published as it was, which the guarantee does not change; None if there is nothing."""
    if not roles:
        return None
    named = [f"{', '.join(names)} ({_ROLES.get(role, role)})" for role, names in roles.items()]
    return el("p", "Published as they are: ", "; ".join(named), ".")


MAX_COMBINATIONS = 12
NOT_ALIKE = "In the release rows need not look alike: each can be that of as many persons as the guarantee says."
"""Said of freeform releases, in which whoever finds no row alike has singled out nobody."""


def risks(before: Risk | None, after: Risk | None, note: str = "") -> Section | None:
    """Return the risks of the input and of the release; None if neither is known. `note` says what was promised."""
    known = [(name, risk) for name, risk in (("Input", before), ("Release", after)) if risk is not None]
    if not known:
        return None
    k = known[0][1].k
    parts: list[Content] = [
        el(
            "p",
            f"The share of persons for whom some knowledge of that size is shared by fewer than {k:,} persons. {note}",
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
    return el("div", matrix(f"{name}: singled out from fewer than {risk.k:,} ({how})", "known", rows, columns, cells))


def _whole(found: Sequence[tuple[str, RowRisk]], k: int) -> Element:
    """What is risked where all quasi columns are known."""
    rows: list[Sequence[Cell]] = [
        ["groups of rows alike", *(risk.groups for _, risk in found)],
        ["smallest group", *(risk.smallest for _, risk in found)],
        [f"in groups of fewer than {k:,}", *(percent(risk.below_k.share) for _, risk in found)],
        ["alone in their group", *(percent(risk.unique.share) for _, risk in found)],
        ["found by a prosecutor, at most", *(percent(risk.prosecutor) for _, risk in found)],
        ["found by a journalist, at most", *(_journalist(risk) for _, risk in found)],
        ["found by a marketer, on average", *(percent(risk.marketer) for _, risk in found)],
    ]
    return table("Who knows all quasi columns", ["", *(name for name, _ in found)], rows)


def _journalist(risk: RowRisk) -> str:
    return "no more than a prosecutor" if risk.journalist is None else percent(risk.journalist)


def _combinations(found: Sequence[Combination]) -> Element:
    rows = [[one.text, percent(one.share)] for one in found[:MAX_COMBINATIONS]]
    return table("Singled out by these and by no part of them", ["Classes known", "Persons"], rows)
