"""What `treeanon compare` prints: the result of a comparison, what its release is of use for, and notes beside it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from treeanon.cli.checks import check_extra_output, refuse_own_input
from treeanon.cli.printing import print_result, printable, progress_bar, reading_notes, say
from treeanon.cli.reading import Reading

if TYPE_CHECKING:
    from treeanon.forest import Forest, ReadReport
    from treeanon.metrics.table import Accuracy, Statistics
    from treeanon.reports.page.comparison import Side
    from treeanon.table import Table


@dataclass(frozen=True)
class Compared:
    """The result of a comparison as plain data and as lines, with notes beside it.

    `strange` has by class how many `things` (rows, nodes) of the release nobody in the input can have; `reports` what
    reading both inputs has left out, by their names. `both` are the input and the release, where they have risks.
    """

    data: Mapping[str, Any]
    lines: Sequence[str]
    things: str
    strange: Mapping[str, int]
    reports: Sequence[tuple[str, ReadReport | None]]
    both: tuple[Forest | Table, Forest | Table] | None = None

    def show(self, *, quiet: bool, as_json: bool) -> None:
        """Print the result, and on standard error the notes."""
        if as_json:
            print_result(self.data, as_json=True)
        elif not quiet:
            click.echo("\n".join(printable(line) for line in self.lines))
        self.show_notes(quiet=quiet)

    def show_notes(self, *, quiet: bool) -> None:
        """Print the notes alone, on standard error."""
        if self.strange:
            after = printable(self.reports[1][0])
            say(f"warning: {after} has values that nobody in BEFORE can have; is it a release of it?", quiet=quiet)
            for name, times in self.strange.items():
                say(f"  {times:>9,} {self.things}  {printable(name)}", quiet=quiet)
        for source, report in self.reports:
            lines = [] if report is None else reading_notes(_left_out(report))
            if lines:
                say(printable(f"{source}:"), quiet=quiet)
                say("\n".join(lines), quiet=quiet)


def check_page_of(
    html: str | None, before: str, afters: Sequence[str], schema: str, *, as_json: bool, force: bool
) -> None:
    """Refuse a page that cannot be written, and several releases without one."""
    if html is None:
        if len(afters) > 1 and not as_json:
            raise click.UsageError("several releases are compared on a page (--html FILE), or with --json")
        return
    refuse_own_input([before, *afters, schema], [html])
    check_extra_output(html, afters[0], force=force, option="--html")


def show_all(
    before: str,
    afters: Sequence[str],
    compared: Callable[[str], Compared],
    html: str | None,
    k: int,
    reading: Reading,
    *,
    force: bool,
    quiet: bool,
    as_json: bool,
) -> None:
    """Compare releases, and print the result or write the page of all of them."""
    found: list[Compared] = []
    sides: list[Side] = []
    risk = None
    names = _short_names(afters)
    for after, name in zip(afters, names, strict=True):
        one = compared(after)
        found.append(replace(one, both=None))
        if html is not None:
            from treeanon.reports.page.comparison import Side

            if risk is None:
                risk = _risk_of(one, 0, k, reading, quiet=quiet)[0]
            sides.append(Side(name, one.data, *_risk_of(one, 1, k, reading, quiet=quiet)))
    if len(found) == 1:
        found[0].show(quiet=quiet, as_json=as_json)
    else:
        for one in found:
            one.show_notes(quiet=quiet)
        print_result({name: one.data for name, one in zip(names, found, strict=True)}, as_json=as_json)
    if html is not None:
        from treeanon.reports.page.comparison import write_comparison

        write_comparison(html, Path(before).name, sides, risk, force=force)
        say(f"Page with counts of the original written to {printable(html)}; not for publishing", quiet=quiet)


def _short_names(paths: Sequence[str]) -> list[str]:
    """Return the names of files without their folders, unless two would be the same."""
    names = [Path(path).name for path in paths]
    return names if len(set(names)) == len(names) else list(paths)


SECONDS = 10.0
"""Time limit of each risk on the page."""


def _risk_of(
    one: Compared, which: int, k: int, reading: Reading, *, quiet: bool
) -> tuple[dict[str, Any] | None, list[int] | None]:
    """Return the risk of the input (0) or of the release (1) as plain data, and of rows the sizes of groups."""
    from treeanon.reports.page.charts import sizes_of
    from treeanon.risks import risk_of_table, risk_of_trees
    from treeanon.table import Table

    if one.both is None:
        return None, None
    data = one.both[which]
    with progress_bar("measuring risks", quiet=quiet) as progress:
        if isinstance(data, Table):
            return risk_of_table(data, k=max(k, 2), seconds=SECONDS, progress=progress).as_dict(), sizes_of(data)
        asked = {"k": max(k, 2), "m": 3, "n": 2}
        return risk_of_trees(data, seconds=SECONDS, jobs=reading["jobs"], progress=progress, **asked).as_dict(), None


def _left_out(report: ReadReport) -> dict[str, Any]:
    """Return what reading left out, without fields that the schema does not name."""
    return {name: found for name, found in report.as_dict().items() if name != "dropped"}


@dataclass(frozen=True)
class Uses:
    """What else is asked of a comparison of rows: statistics of numbers, and a target to be guessed (None: none)."""

    statistics: bool = False
    target: str | None = None

    def found(self, original: Table, published: Table) -> tuple[dict[str, Any], list[str]]:
        """Return what is asked for as plain data and as lines."""
        from treeanon.metrics.table import classifier_accuracy, statistics

        data: dict[str, Any] = {}
        lines: list[str] = []
        if self.statistics:
            numbers = statistics(original, published)
            data["statistics"] = numbers.as_dict()
            lines += ["", *_statistics_lines(numbers)]
        if self.target is not None:
            accuracy = classifier_accuracy(original, published, self.target)
            data["classifier"] = accuracy.as_dict()
            lines += ["", *_accuracy_lines(accuracy)]
        return data, lines


_NAME = 30


def _statistics_lines(found: Statistics) -> list[str]:
    lines = [f"{'numbers':{_NAME}}{'before':>16}{'after':>16}"]
    for one in found.columns:
        lines.append(f"{'mean of ' + one.column:{_NAME}}{_number(one.mean_before)}{_number(one.mean_after)}")
        lines.append(
            f"{'variance of ' + one.column:{_NAME}}{_number(one.variance_before)}{_number(one.variance_after)}"
        )
    for pair in found.correlations:
        name = "correlation of " + " and ".join(pair.columns)
        lines.append(f"{name:{_NAME}}{_number(pair.before)}{_number(pair.after)}")
    return lines if found.columns else ["no column is of type integer or number"]


def _accuracy_lines(found: Accuracy) -> list[str]:
    return [
        f"accuracy of guesses of {found.target} (logistic regression, five folds)",
        f"{'trained on the original':{_NAME}}{100 * found.before:>15.2f} %",
        f"{'trained on the release':{_NAME}}{100 * found.after:>15.2f} %",
        f"{'its most frequent value':{_NAME}}{100 * found.baseline:>15.2f} %",
    ]


def _number(value: float | None) -> str:
    return f"{'-':>16}" if value is None else f"{value:>16.6g}"
