"""What a page says first: for whom it is, what is guaranteed, and what the check found."""

from __future__ import annotations

from typing import Literal

from treeanon.release import DocumentsRelease, PermutedRelease, Release, TableRelease
from treeanon.report.page.elements import Element, el
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
    """The guarantee, and the verdict with a sign for whether it holds."""
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
