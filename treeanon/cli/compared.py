"""What a comparison found, however the release was made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from treeanon.cli.shared import printable, result, say, told_reading

if TYPE_CHECKING:
    from treeanon.forest import ReadReport


@dataclass(frozen=True)
class Compared:
    """The result as plain data and as lines, and what is told beside it.

    `strange` has by class how many `things` (rows, nodes) of the release nobody in the input can have; `reports` what
    reading both inputs has left out, by their names.
    """

    data: Mapping[str, Any]
    lines: Sequence[str]
    things: str
    strange: Mapping[str, int]
    reports: Sequence[tuple[str, ReadReport | None]]

    def tell(self, *, quiet: bool, as_json: bool) -> None:
        """Prints the result, and on standard error what it does not speak of."""
        if as_json:
            result(self.data, as_json=True)
        elif not quiet:
            click.echo("\n".join(printable(line) for line in self.lines))
        if self.strange:
            say("values in the release that nobody in the input can have (is it a release of that?):", quiet=quiet)
            for name, times in self.strange.items():
                say(f"  {times:>9,} {self.things}  {printable(name)}", quiet=quiet)
        for source, report in self.reports:
            lines = [] if report is None else told_reading(_left_out(report))
            if lines:
                say(printable(f"{source}:"), quiet=quiet)
                say("\n".join(lines), quiet=quiet)


def _left_out(report: ReadReport) -> dict[str, Any]:
    """What reading left out, but for fields that the schema does not name."""
    return {name: found for name, found in report.as_dict().items() if name != "dropped"}


def refuse_more(before: str, had: int, after: str, has: int, things: str = "rows") -> None:
    """Refuses what has more records than it can have been made of."""
    if has > had:
        raise click.UsageError(
            f"{after} has {has:,} {things} and {before} {had:,}, so it cannot have been made of that"
        )
