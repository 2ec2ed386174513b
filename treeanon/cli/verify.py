"""`treeanon verify`: whether published trees keep a guarantee, whoever made them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import click

from treeanon.cli.options import model_options, reduce_option, schema_option, talking_options
from treeanon.cli.printing import printable, progress_bar, result, say, told_dropped
from treeanon.cli.reading import Reading, read_as_table, read_both, read_records, reading_options, reductions_of
from treeanon.cli.request import asks_for_table, models_of_options
from treeanon.cli.summaries import told_general
from treeanon.progress import run_interruptibly

if TYPE_CHECKING:
    from treeanon.forest import ReadReport
    from treeanon.schema import Schema
    from treeanon.verifier.freeform import FreeformVerdict
    from treeanon.verifier.permuted import PermutedVerdict
    from treeanon.verifier.table import TableVerdict
    from treeanon.verifier.verdict import Verdict

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
    trees = {"-m": m, "-n": n, "--attacker": None if attacker == "independent" else attacker, "--negative": negative}
    asked = _Asked(release, loaded, k, trees, given, reductions_of(reduced), reading, quiet)
    verdict: Any
    report: ReadReport | None
    if permuted:
        if reduced or as_table:
            raise click.UsageError("--permuted is of two tables that are as they are: it takes no --table and --reduce")
        verdict, report = _of_permuted(asked)
    elif original is not None:
        verdict, report = _of_freeform(asked, original)
    elif as_table or reduced or asks_for_table(given) or asked.has_rows:
        verdict, report = _of_rows(asked)
    else:
        verdict, report = _of_trees(asked)
    read = _Read.of(report)
    if as_json:
        known = {"holds": False} if read.unknown else {}
        result({**verdict.as_dict(), **known, "declared_safe": kept, **read.as_dict()}, as_json=True)
    elif not quiet:
        cannot = [f"cannot say: {printable(line)}" for line in read.told_unknown()]
        # What was read with other values in their place may fail, but cannot be said to hold.
        click.echo("\n".join(cannot if cannot and verdict.holds else [*_told(verdict), *cannot]))
    if kept:
        say(f"not checked, declared safe by the schema: {printable(', '.join(kept))}", quiet=quiet)
    for line in read.told(ignored=ignore_unnamed):
        say(line, quiet=quiet)
    return 0 if verdict.holds and not read.unknown and (ignore_unnamed or not read.is_more) else 1


@dataclass(frozen=True)
class _Asked:
    """What is to be checked, and for what; `trees` has by their flags the options that only trees have."""

    release: str
    schema: Schema
    k: int | None
    trees: Mapping[str, Any]
    given: Mapping[str, Any]
    reductions: Mapping[str, str]
    reading: Reading
    quiet: bool

    @property
    def has_rows(self) -> bool:
        """Whether the file is one of rows, of which no option asks to be seen as trees."""
        from treeanon.io.reading import input_format
        from treeanon.schema.model import FLAT

        as_trees = self.trees["-m"] is not None or self.trees["-n"] is not None or self.trees["--negative"]
        return not as_trees and input_format(self.release, self.schema, self.reading["format"]).name in FLAT

    def refuse_trees(self) -> None:
        """Refuses what is asked of trees alone."""
        flags = [flag for flag, value in self.trees.items() if value is not None and value != ()]
        if flags:
            words = f"{' and '.join(flags)} {'is' if len(flags) == 1 else 'are'} of trees"
            raise click.UsageError(f"{words}: of a row all quasi columns count as known")


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


def _of_trees(asked: _Asked) -> tuple[Verdict, ReadReport | None]:
    from treeanon.privacy import Guarantee
    from treeanon.verifier.tree import verify

    if asked.k is None:
        raise click.UsageError("Missing option '-k': the least number of persons behind what is known.")
    m, n, attacker, negative = asked.trees.values()
    l = 1 if asked.given["l"] is None else asked.given["l"]  # noqa: E741
    guarantee = Guarantee(
        asked.k, 2 if m is None else m, 1 if n is None else n, attacker or "independent", l, asked.given["diversity"],
        negative,
    )  # fmt: skip
    forest = read_records(asked.release, asked.schema, asked.reading, quiet=asked.quiet)
    with progress_bar("checking", quiet=asked.quiet) as progress:
        return verify(forest, guarantee, jobs=asked.reading["jobs"], progress=progress), forest.report


def _of_rows(asked: _Asked) -> tuple[TableVerdict, ReadReport | None]:
    from treeanon.verifier.table import verify_table

    asked.refuse_trees()
    models = models_of_options(asked.k, asked.given)
    table = read_as_table(
        asked.release, asked.schema, asked.reductions, asked.reading, quiet=asked.quiet, published=True
    )
    if any(model.sensitive is not None for model in models):
        for line in told_general(table):
            say(printable(line), quiet=asked.quiet)
    with progress_bar("checking", quiet=asked.quiet) as progress:
        return run_interruptibly(lambda _: verify_table(table, models), progress), table.report


def _of_freeform(asked: _Asked, original: str) -> tuple[FreeformVerdict, ReadReport | None]:
    from treeanon.verifier.freeform import verify_freeform

    asked.refuse_trees()
    if asked.k is None or models_of_options(None, asked.given):
        raise click.UsageError(
            "--original checks -k alone: whose sensitive values a row can have is known to those who drew them"
        )
    before, after, strange = read_both(
        original, asked.release, asked.schema, asked.reductions, asked.reading, quiet=asked.quiet
    )
    if strange:
        raise click.UsageError(f"{asked.release}: has values that stand for none that {original} has")
    k = asked.k
    with progress_bar("checking", quiet=asked.quiet) as progress:
        return run_interruptibly(lambda _: verify_freeform(before, after, k), progress), after.report


def _of_permuted(asked: _Asked) -> tuple[PermutedVerdict, ReadReport]:
    from treeanon.io.columns.permuted_files import read_permuted, report_of
    from treeanon.verifier.permuted import verify_permuted

    asked.refuse_trees()
    if asked.reading["format"] is not None:
        raise click.UsageError("--from: the files of a permuted release tell their formats by their names")
    if asked.reading["delimiter"]:
        raise click.UsageError("--delimiter: datapackage.json says how the files of a permuted release are written")
    models = models_of_options(asked.k, asked.given)
    options: dict[str, Any] = {**asked.reading}
    del options["format"], options["delimiter"]
    made = read_permuted(asked.release, asked.schema, **options)
    return verify_permuted(made, models), report_of(made)


def _told(verdict: Any) -> list[str]:
    """The verdict as lines for people."""
    from treeanon.verifier.verdict import Verdict

    if not isinstance(verdict, Verdict):
        return [printable(verdict.sentence), f"{verdict.rows:,} rows looked at."]
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
