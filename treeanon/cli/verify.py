"""`treeanon verify`: whether published trees keep a guarantee, whoever made them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import click

from treeanon.cli.common import (
    Reading,
    printable,
    progress_bar,
    read_records,
    reading_options,
    result,
    say,
    schema_option,
    talking_options,
    told_dropped,
)
from treeanon.cli.table_options import asks_for_table, model_options, models_of_options, reduce_option, reductions_of
from treeanon.cli.tables import read_as_table, read_both, told_general

if TYPE_CHECKING:
    from treeanon.forest import ReadReport
    from treeanon.privacy import Guarantee, Verdict
    from treeanon.privacy.freeform_check import FreeformVerdict
    from treeanon.privacy.permuted_verdict import PermutedVerdict
    from treeanon.privacy.table_verdict import TableVerdict
    from treeanon.schema import Schema

_MOST = 12


@click.command()
@click.argument("release", metavar="RELEASE")
@schema_option
@click.option("-k", type=click.IntRange(1), help="The least number of persons behind what is known.")
@click.option("-m", type=click.IntRange(1, 8), help="How many values are known at most.  [default: 2]")
@click.option("-n", type=click.IntRange(0, 64), help="How many relations between them.  [default: 1]")
@click.option("--table", "as_table", is_flag=True, help="Check rows: all quasi columns together [so for CSV, Parquet].")
@click.option(
    "--original", metavar="FILE", help="Check a freeform release: who of this input can be behind which of its rows."
)
@click.option("--permuted", is_flag=True, help="Check a permuted release: a folder or zip of records and values.")
@reduce_option
@click.option(
    "--attacker",
    type=click.Choice(["independent", "joint"]),
    default="independent",
    show_default=True,
    help="joint: also knows that the relations speak of the same nodes.",
)
@model_options
@click.option("--negative", multiple=True, metavar="CLASS", help="It is also known which values of it are absent.")
@click.option("--ignore-unnamed", is_flag=True, help="Answer for the named fields alone, if there are others.")
@reading_options
@talking_options
def command(
    release: str,
    schema: str,
    k: int | None,
    m: int | None,
    n: int | None,
    as_table: bool,
    original: str | None,
    permuted: bool,
    reduced: tuple[str, ...],
    attacker: Literal["independent", "joint"],
    negative: tuple[str, ...],
    reading: Reading,
    ignore_unnamed: bool,
    quiet: bool,
    as_json: bool,
    **given: Any,
) -> int:
    """Check whether published trees are k^(m,n)-anonymous, or rows satisfy privacy models.

    RELEASE is a file, a folder, a glob or a zip of files, the URL of a database, or `-`, also one that treeanon did
    not make. Every combination of up to m values and n relations that anybody holds is counted. What fails is told by
    classes, never by values. Exit code 0: the guarantee holds; 1: it does not, or there are fields that the schema
    does not name (in tables: also keys that are more than numbers of rows), white space around typed values, or values
    that a hierarchy does not know.

    Of CSV and Parquet files (with -m or -n: as trees), and with --table of any records, all quasi columns of a row
    are known together, and every group of rows alike must satisfy each of the models asked for.

    A freeform release, in which no rows need look alike, is checked against its input (--original). Of a permuted
    release (--permuted) every group must satisfy the models of the sensitive column; -k is its size. Who
    is in such a table is not hidden.

    \b
    treeanon verify out.xml -s schema.toml -k 5
    treeanon verify out.xml -s schema.toml -k 20 -m 3 -n 2 --attacker joint --json
    treeanon verify out.csv -s schema.toml -k 5 --l 3 --diversity entropy
    treeanon verify out/ -s schema.toml --permuted --l 3 --diversity frequency
    """
    from treeanon.schema import Schema
    from treeanon.schema.derive import as_released

    loaded = Schema.load(schema)
    kept = [spec.name for spec in loaded.classes if spec.published and spec.role not in ("quasi", "sensitive")]
    loaded = as_released(loaded)
    verdict: Any
    report: ReadReport | None
    if permuted:
        if m is not None or n is not None or negative or reduced or as_table:
            raise click.UsageError(
                "--permuted is of two tables that are as they are: it goes with models of them alone"
            )
        verdict, report = _of_permuted(release, loaded, k, given, reading)
        told = [printable(verdict.sentence), f"{verdict.rows:,} rows looked at."]
    elif original is not None:
        verdict, report = _of_freeform(original, release, loaded, k, given, reduced, reading, quiet=quiet)
        told = [printable(verdict.sentence), f"{verdict.rows:,} rows looked at."]
    elif (
        as_table or asks_for_table(given) or reduced or _has_rows(release, loaded, reading["format"], (m, n, *negative))
    ):
        verdict, report = _of_rows(release, loaded, k, given, reduced, reading, quiet=quiet)
        told = [printable(verdict.sentence), f"{verdict.rows:,} rows looked at."]
    else:
        asked = _guarantee(k, m, n, attacker, negative, given)
        verdict, report = _of_trees(release, loaded, asked, reading, quiet=quiet)
        told = _told(verdict)
    read = _Read.of(report)
    if as_json:
        known = {"holds": False} if read.unknown else {}
        result({**verdict.as_dict(), **known, "declared_safe": kept, **read.as_dict()}, as_json=True)
    elif not quiet:
        cannot = [f"cannot say: {printable(line)}" for line in read.told_unknown()]
        # What was read with other values in their place may fail, but cannot be said to hold.
        click.echo("\n".join(cannot if cannot and verdict.holds else [*told, *cannot]))
    if kept:
        say(f"not checked, declared safe by the schema: {printable(', '.join(kept))}", quiet=quiet)
    for line in read.told(ignored=ignore_unnamed):
        say(line, quiet=quiet)
    return 0 if verdict.holds and not read.unknown and (ignore_unnamed or not read.is_more) else 1


@dataclass(frozen=True)
class _Read:
    """What reading a release has found beside what the verdict speaks of."""

    skipped: int
    unread: Mapping[str, int]
    strays: Sequence[str]
    unknown: Mapping[str, int]
    padded: Mapping[str, int]

    @classmethod
    def of(cls, report: ReadReport | None) -> _Read:
        """What a report says."""
        if report is None:
            return cls(0, {}, (), {}, {})
        unread = {**report.dropped.paths(), **report.keys}
        return cls(report.skipped, unread, report.strays(), dict(report.unknown), dict(report.padded))

    @property
    def is_more(self) -> bool:
        """Whether the file says more than the schema reads, so that nothing can be said of all that is in it."""
        return bool(self.unread or self.strays or self.padded)

    def as_dict(self) -> dict[str, Any]:
        """What was found, as plain data."""
        return {
            "skipped_records": self.skipped,
            "not_looked_at": dict(self.unread),
            "strays": list(self.strays),
            "unknown_values": dict(self.unknown),
            "padded_values": dict(self.padded),
        }

    def told_unknown(self) -> list[str]:
        """For each class whose hierarchy does not know all values, how many it does not know."""
        return [
            f"{times:,} value{'s' if times > 1 else ''} of class {name} {'are' if times > 1 else 'is'} unknown to its"
            " hierarchy"
            for name, times in self.unknown.items()
        ]

    def told(self, *, ignored: bool) -> Iterator[str]:
        """The rest, for people; `ignored` says that it is not to matter."""
        if self.skipped:
            yield f"warning: {self.skipped:,} broken records skipped, which the answer knows nothing of"
        if self.unread:
            left = "not looked at" if ignored else "not looked at, so that nothing can be said of the file"
            yield f"the file has fields that the schema does not name or withholds, {left}:"
            yield "\n".join(told_dropped(self.unread))
        if self.padded:
            yield "white space around values tells apart, for whoever reads the file, what the schema takes for equal:"
            yield "\n".join(told_dropped(self.padded))
        if self.strays:
            yield "beside the persons there are:"
            yield "\n".join(f"  {printable(line)}" for line in self.strays)


def _has_rows(release: str, schema: Schema, format: str | None, trees: tuple[Any, ...]) -> bool:
    from treeanon.io.reading import input_format
    from treeanon.schema.model import FLAT

    return all(one is None for one in trees) and input_format(release, schema, format).name in FLAT


def _guarantee(
    k: int | None, m: int | None, n: int | None, attacker: Any, negative: tuple[str, ...], given: dict[str, Any]
) -> Guarantee:
    """What is asked of trees."""
    from treeanon.privacy import Guarantee

    if k is None:
        raise click.UsageError("Missing option '-k': the least number of persons behind what is known.")
    l = 1 if given["l"] is None else given["l"]  # noqa: E741
    return Guarantee(k, 2 if m is None else m, 1 if n is None else n, attacker, l, given["diversity"], negative)


def _of_trees(
    release: str, schema: Schema, asked: Guarantee, reading: Reading, *, quiet: bool
) -> tuple[Verdict, ReadReport | None]:
    from treeanon.privacy import verify

    forest = read_records(release, schema, reading, quiet=quiet)
    with progress_bar("checking", quiet=quiet) as progress:
        return verify(forest, asked, jobs=reading["jobs"], progress=progress), forest.report


def _of_rows(
    release: str,
    schema: Schema,
    k: int | None,
    given: dict[str, Any],
    reduced: tuple[str, ...],
    reading: Reading,
    *,
    quiet: bool,
) -> tuple[TableVerdict, ReadReport | None]:
    from treeanon.privacy.table_verdict import verify_table

    models = models_of_options(k, given)
    table = read_as_table(release, schema, reductions_of(reduced), reading, quiet=quiet, published=True)
    if any(model.sensitive is not None for model in models):
        for line in told_general(table):
            say(printable(line), quiet=quiet)
    return verify_table(table, models), table.report


def _of_freeform(
    original: str,
    release: str,
    schema: Schema,
    k: int | None,
    given: dict[str, Any],
    reduced: tuple[str, ...],
    reading: Reading,
    *,
    quiet: bool,
) -> tuple[FreeformVerdict, ReadReport | None]:
    from treeanon.privacy.freeform_check import verify_freeform

    if k is None or models_of_options(None, given):
        raise click.UsageError(
            "--original checks -k alone: whose sensitive values a row can have is known to those who drew them"
        )
    before, after, strange = read_both(original, release, schema, reductions_of(reduced), reading, quiet=quiet)
    if any(strange.values()):
        raise click.UsageError(f"{release}: has values that stand for none that {original} has")
    return verify_freeform(before, after, k), after.report


def _of_permuted(
    release: str, schema: Schema, k: int | None, given: dict[str, Any], reading: Reading
) -> tuple[PermutedVerdict, ReadReport]:
    from treeanon.privacy.permuted_verdict import verify_permuted
    from treeanon.table.permuted_files import read_permuted, report_of

    if reading["format"] is not None:
        raise click.UsageError("--from: the files of a permuted release tell their formats by their names")
    if reading["delimiter"]:
        raise click.UsageError("--delimiter: datapackage.json says how the files of a permuted release are written")
    models = models_of_options(k, given)
    options: dict[str, Any] = {**reading}
    del options["format"], options["delimiter"]
    made = read_permuted(release, schema, **options)
    return verify_permuted(made, models), report_of(made)


def _told(verdict: Any) -> list[str]:
    """The verdict as lines for people."""
    asked = verdict.guarantee
    lines = [printable(verdict.sentence), asked.sentence]
    if not verdict.holds:
        lines[1] = f"Asked for: {asked.sentence}"
    lines.append(f"{verdict.persons:,} persons, {verdict.label_sets:,} sets of values looked at.")
    if verdict.failures:
        lines.append("What fails:")
        lines.extend(f"  {printable(failure.sentence)}" for failure in verdict.failures[:_MOST])
        if len(verdict.failures) > _MOST:
            lines.append(f"  … and {len(verdict.failures) - _MOST:,} more patterns (--json lists all)")
    return lines
