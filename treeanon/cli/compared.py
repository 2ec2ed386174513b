"""What `treeanon compare` prints: the result of a comparison, what its release is of use for, and notes beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from treeanon.cli.printing import print_result, printable, reading_notes, say

if TYPE_CHECKING:
    from treeanon.forest import ReadReport
    from treeanon.metrics.table import Accuracy, Statistics
    from treeanon.table import Table


@dataclass(frozen=True)
class Compared:
    """The result of a comparison as plain data and as lines, with notes beside it.

    `strange` has by class how many `things` (rows, nodes) of the release nobody in the input can have; `reports` what
    reading both inputs has left out, by their names.
    """

    data: Mapping[str, Any]
    lines: Sequence[str]
    things: str
    strange: Mapping[str, int]
    reports: Sequence[tuple[str, ReadReport | None]]

    def show(self, *, quiet: bool, as_json: bool) -> None:
        """Print the result, and on standard error the notes."""
        if as_json:
            print_result(self.data, as_json=True)
        elif not quiet:
            click.echo("\n".join(printable(line) for line in self.lines))
        if self.strange:
            say("warning: AFTER has values that nobody in BEFORE can have; is it a release of BEFORE?", quiet=quiet)
            for name, times in self.strange.items():
                say(f"  {times:>9,} {self.things}  {printable(name)}", quiet=quiet)
        for source, report in self.reports:
            lines = [] if report is None else reading_notes(_left_out(report))
            if lines:
                say(printable(f"{source}:"), quiet=quiet)
                say("\n".join(lines), quiet=quiet)


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
