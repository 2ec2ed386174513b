"""What commands share that can write a page about a release: the options, the checks before, and the writing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from treeanon.cli.checks import check_solution_target, refuse_hierarchies
from treeanon.cli.printing import printable, progress_bar, say

if TYPE_CHECKING:
    from treeanon.cli.request import Asked
    from treeanon.forest import Forest
    from treeanon.release import TableRelease
    from treeanon.report.page.statement import AnyRelease
    from treeanon.risks import Risk
    from treeanon.table import Table

RECORDS = 4
"""So many records, or rows, are shown before and after."""

SECONDS = 10.0
"""For so long the risk of the input, and that of the release, is looked at; what does not fit in is sampled."""


@dataclass(frozen=True)
class PageAsked:
    """The page that is asked for: where to write it (None: nowhere), and for whom."""

    target: str | None = None
    audience: Literal["public", "internal"] = "public"


def page_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Options of commands that can write a page, which are given together, as `page`."""

    @wraps(command)
    def gathered(*args: Any, html: str | None, audience: Literal["public", "internal"] | None, **given: Any) -> Any:
        if audience is not None and html is None:
            raise click.UsageError("--audience is of the page that --html writes")
        return command(*args, page=PageAsked(html, audience or "public"), **given)

    for option in (
        click.option(
            "--audience",
            type=click.Choice(["public", "internal"]),
            help="Of the page: internal shows ORIGINAL records, and is not for publishing.  [default: public]",
        ),
        click.option("--html", metavar="FILE", help="Also write a page that shows the release and its guarantee."),
    ):
        gathered = option(gathered)
    return gathered


def check_page(asked: Asked) -> None:
    """Refuses, before any work, a place for the page that cannot be."""
    target = asked.page.target
    check_solution_target(target, asked.output, force=asked.force, option="--html")
    if target is not None:
        refuse_hierarchies(asked.schema, target)
        if asked.solution is not None and Path(target).resolve() == Path(asked.solution).resolve():
            raise click.UsageError("--html and --solution name the same file")


def write_page_of(asked: Asked, release: AnyRelease, data: Forest | Table) -> None:
    """Writes the page that is asked for, if any, about a release of these data."""
    page = asked.page
    if page.target is None:
        return
    from treeanon.report.page.page import write_page

    if page.audience == "public":
        write_page(release, page.target, force=asked.force, seed=asked.seed)
        say(f"page for the public written to {printable(page.target)}", quiet=asked.quiet)
        return
    shown = _originals(asked, release, data)
    write_page(release, page.target, force=asked.force, audience="internal", **shown)
    say(f"page with ORIGINAL data written to {printable(page.target)}: not for publishing", quiet=asked.quiet)


def _originals(asked: Asked, release: AnyRelease, data: Forest | Table) -> dict[str, Any]:
    """What an internal page shows beside the release."""
    from treeanon.forest import Forest
    from treeanon.previews.preview import preview_of
    from treeanon.release import DocumentsRelease

    shown: dict[str, Any] = {"before": data if isinstance(data, Forest) else None}
    if not isinstance(release, DocumentsRelease):
        shown["changes"] = preview_of(data, release, RECORDS).changes
    before, after = risks_of(release, data, asked.reading["jobs"], quiet=asked.quiet)
    return shown | {"risk_before": before, "risk_after": after}


def risks_of(release: AnyRelease, data: Forest | Table, jobs: int, *, quiet: bool) -> tuple[Risk | None, Risk | None]:
    """Who can be singled out in the input and in the release; None where that is not what the release is about."""
    from treeanon.release import Release, TableRelease
    from treeanon.risks import risk_of_table, risk_of_trees
    from treeanon.table import Table
    from treeanon.verifier.table import TableVerdict

    with progress_bar("looking at risks", quiet=quiet) as progress:
        if isinstance(release, Release) and not isinstance(data, Table):
            asked = release.solution.guarantee
            if asked.k > 1:
                size = {"k": asked.k, "m": min(4, max(3, asked.m)), "n": min(6, max(2, asked.n))}
                trees = [
                    risk_of_trees(one, seconds=SECONDS, jobs=jobs, progress=progress, **size)
                    for one in (data, release.forest)
                ]
                return trees[0], trees[1]
        if isinstance(release, TableRelease) and isinstance(data, Table) and (k := _crowd(release)) > 1:
            before = risk_of_table(data, k=k, seconds=SECONDS, progress=progress)
            # Rows of a freeform release need not look alike.
            if not isinstance(release.verdict, TableVerdict):
                return before, None
            return before, risk_of_table(release.table, k=k, seconds=SECONDS, progress=progress)
    return None, None


def _crowd(release: TableRelease) -> int:
    """Among how many persons everybody is hidden, by what was asked for; 1 if that was not."""
    from treeanon.privacy.models.model import largest_k

    return largest_k(release.models)
