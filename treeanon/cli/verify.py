"""`treeanon verify`: verify the guarantee of a release, whoever made it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeVar

import click

from treeanon.cli.options import Command, model_options, printing_options, reduce_option, schema_option
from treeanon.cli.printing import counted, dropped_lines, print_result, printable, progress_bar, say
from treeanon.cli.reading import (
    OF_SCHEMAS,
    Reading,
    load_schema,
    read_as_table,
    read_both,
    read_records,
    reading_options,
    reductions_of,
    rereadable,
)
from treeanon.cli.request import (
    COUNTED_WHOLE,
    asks_for_table,
    models_of_options,
    refuse_table_models,
    refuse_tree_flags,
    setting_option,
)
from treeanon.cli.summaries import general_value_notes, order_notes, reached_lines
from treeanon.progress import run_interruptibly

if TYPE_CHECKING:
    from treeanon.forest import Forest, ReadReport
    from treeanon.io.beyond.findings import Finding, Findings
    from treeanon.privacy.guarantee import Guarantee
    from treeanon.schema import Schema
    from treeanon.table import Table
    from treeanon.verifier.freeform import FreeformVerdict
    from treeanon.verifier.permuted import PermutedVerdict
    from treeanon.verifier.table import TableVerdict
    from treeanon.verifier.verdict import Verdict

_MOST = 12
_UNNAMED = ("fields", "keys", "content", "white-space")
V = TypeVar("V")


class _Verify(Command):
    """The command, whose help has the options of daily use."""

    groups: ClassVar = {
        **Command.groups,
        "Tables": ("as_table", "original", "permuted", "reduced", "spans", "max_group_loss"),
    }
    rare: ClassVar = Command.rare | {"emd", "c", "spans", "max_group_loss"}


@click.command(cls=_Verify)
@click.argument("release", metavar="RELEASE")
@schema_option
@click.option("-k", type=click.IntRange(1), metavar="N", help="Minimum group size.")
@click.option("-m", type=click.IntRange(1, 8), metavar="N", help="Trees: values an attacker may know [default: 2].")
@click.option("-n", type=click.IntRange(0, 64), metavar="N", help="Trees: relations between them [default: 1].")
@click.option("--table", "as_table", is_flag=True, help="Verify rows (always for CSV and Parquet).")
@click.option("--original", metavar="FILE", help="Verify a freeform release against its original.")
@click.option("--permuted", is_flag=True, help="Verify a permuted release (a folder or zip).")
@reduce_option
@click.option(
    "--attacker",
    type=click.Choice(["independent", "joint"]),
    default="independent",
    metavar="KIND",
    help="Trees: independent [default] or joint relations.",
)
@model_options
@setting_option("--max-span", "spans", "Tables: greatest span of published values of a class.")
@click.option(
    "--max-group-loss", type=click.FloatRange(0, 1), metavar="X", help="Tables: largest loss (NCP) of any group."
)
@click.option("--negative", multiple=True, metavar="CLASS", help="Trees: absent values may be known as well.")
@click.option("--as-published", is_flag=True, help="Trees: TREE's own guarantee, of the release alone.")
@click.option(
    "--ignore", "ignored", multiple=True, metavar="KIND", help="Content of that kind does not matter (repeatable)."
)
@click.option("--ignore-unnamed", is_flag=True, hidden=True)
@reading_options
@printing_options
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
    spans: dict[str, str] | None,
    max_group_loss: float | None,
    attacker: Literal["independent", "joint"],
    negative: tuple[str, ...],
    reading: Reading,
    as_published: bool,
    ignored: tuple[str, ...],
    ignore_unnamed: bool,
    quiet: bool,
    as_json: bool,
    **models: Any,
) -> int:
    """Verify that trees are k^(m,n)-anonymous, or that rows satisfy privacy models.

    RELEASE is a file, folder, glob or zip of files, a URL, or `-`; any program may have made it. Every
    combination of up to M values and N relations that some person has is counted. Failures are reported by class,
    values are never shown. Exit code 0: the guarantee holds; 1: it does not, or the release has values that are missing
    in a hierarchy, or holds more than is counted, such as fields that the schema does not name, repeated keys,
    comments, nulls, repeats or other spellings (--ignore KIND, if a kind does not matter). What the
    places of moved nodes tell of the original counts, too; with --as-published only what is left in the release does.

    Tables (CSV and Parquet without -m and -n, or any records with --table): every group of rows with the same
    quasi-identifiers must satisfy all models.

    A freeform release is verified against its original (--original). In a permuted release (--permuted) every group
    must satisfy the models of the sensitive column and have at least K rows; who is in the table is not hidden.

    \b
    treeanon verify out.xml -s schema.toml -k 5
    treeanon verify out.xml -s schema.toml -k 20 -m 3 -n 2 --attacker joint --json
    treeanon verify out.csv -s schema.toml -k 5 --l 3 --diversity entropy
    treeanon verify out/ -s schema.toml --permuted --l 3 --diversity frequency
    """
    from treeanon.io.beyond.findings import check_kinds
    from treeanon.schema.derive import as_released

    if ignore_unnamed:
        say("hint: --ignore-unnamed is deprecated; use --ignore fields", quiet=quiet)
        ignored = (*ignored, *_UNNAMED)
    check_kinds(ignored)
    loaded = load_schema(schema, reading)
    kept = [spec.name for spec in loaded.classes if spec.published and spec.role not in ("quasi", "sensitive")]
    loaded = as_released(loaded)
    trees = {
        "-m": m,
        "-n": n,
        "--attacker": None if attacker == "independent" else attacker,
        "--negative": negative,
        "--as-published": as_published or None,
    }
    with rereadable(release) as (path, called):
        request = VerifyRequest(
            path,
            called,
            loaded,
            k,
            trees,
            models,
            reductions_of(reduced),
            reading,
            quiet,
            ignored,
            spans,
            max_group_loss,
        )
        verdict: Any
        report: ReadReport | None
        if permuted:
            if reduced or as_table:
                raise click.UsageError("--permuted excludes --table and --reduce")
            request.refuse_bounds("--permuted, which changes no value,")
            verdict, report = _of_permuted(request)
        elif original is not None:
            request.refuse_bounds("--original")
            verdict, report = _of_freeform(request, original)
        elif as_table or reduced or asks_for_table(models) or request.bounded or request.has_rows:
            verdict, report = _of_rows(request)
        else:
            verdict, report = _of_trees(request)
    read = _Notes.of(report)
    holds = bool(verdict.holds and not read.unknown)
    cannot = [f"Not verified: {printable(line)}" for line in read.unknown_lines()]
    # Unknown values were read as general ones: the guarantee may fail for them, but cannot be said to hold.
    lines = cannot if cannot and verdict.holds else [*_verdict_lines(verdict), *cannot]
    if as_json:
        told = {"verdict": lines[0], **verdict.as_dict(), "holds": holds, "declared_safe": kept, **read.as_dict()}
        print_result(told, as_json=True)
    elif not quiet:
        click.echo("\n".join(lines))
    moved = [spec.name for spec in loaded.classes if spec.shift and spec.published]
    if moved:
        say(
            f"Dates of {printable(', '.join(moved))} are counted as they are in the file, which cannot show whether"
            " they were moved (shift)",
            quiet=quiet,
        )
    if kept:
        say(f"Not verified (declared safe by the schema): {printable(', '.join(kept))}", quiet=quiet)
    for line in (*read.lines(ignored="fields" in ignored), *_beyond_lines(verdict)):
        say(line, quiet=quiet)
    return 0 if holds else 1


@dataclass(frozen=True)
class VerifyRequest:
    """What is to be verified; `trees` has the options that only trees have, by their flags.

    `called` is the name of the release in messages, if that is another, `ignored` the kinds of content that do not
    matter.
    """

    release: str
    called: str | None
    schema: Schema
    k: int | None
    trees: Mapping[str, Any]
    models: Mapping[str, Any]
    reductions: Mapping[str, str]
    reading: Reading
    quiet: bool
    ignored: tuple[str, ...]
    spans: Mapping[str, str] | None = None
    max_group_loss: float | None = None

    @property
    def bounded(self) -> bool:
        """Whether there are bounds of groups, which only rows have."""
        return self.spans is not None or self.max_group_loss is not None

    @property
    def has_rows(self) -> bool:
        """Whether the input has rows, and no option asks for trees."""
        from treeanon.io.reading import holds_rows
        from treeanon.release.parameters import is_of_rows

        asked = {name.lstrip("-"): value for name, value in self.trees.items()}
        form = self.reading["format"]
        return is_of_rows(None, asked, lambda: holds_rows(self.release, self.schema, form))

    def with_findings(self, verdict: V, data: Forest | Table) -> V:
        """Return the verdict with what the release holds beyond what was read of it."""
        from treeanon.io.beyond.findings import found_beyond
        from treeanon.io.beyond.look import look_beyond

        options = {name: self.reading[name] for name in ("format", "delimiter", "on_error")}
        found = look_beyond(self.release, self.schema, data, called=self.called, **options)  # type: ignore[arg-type]
        return found_beyond(verdict, _beyond(found, self.ignored))

    def refuse_bounds(self, what: str) -> None:
        """Raise UsageError for bounds of groups beside what excludes them."""
        if self.bounded:
            raise click.UsageError(f"{what} excludes --max-span and --max-group-loss")

    def refuse_trees(self) -> None:
        """Refuse options that only trees have."""
        refuse_tree_flags([flag for flag, value in self.trees.items() if value is not None and value != ()])


@dataclass(frozen=True)
class _Notes:
    """What reading a release found that the verdict does not cover."""

    skipped: int
    unread: Mapping[str, int]
    strays: Sequence[str]
    unknown: Mapping[str, int]
    padded: Mapping[str, int]

    @classmethod
    def of(cls, report: ReadReport | None) -> _Notes:
        """Return the notes of a report."""
        if report is None:
            return cls(0, {}, (), {}, {})
        unread = {**report.dropped.paths(), **report.keys}
        return cls(report.skipped, unread, report.strays(), dict(report.unknown), dict(report.padded))

    def as_dict(self) -> dict[str, Any]:
        """Return the notes as plain data."""
        return {
            "skipped_records": self.skipped,
            "not_looked_at": dict(self.unread),
            "strays": list(self.strays),
            "unknown_values": dict(self.unknown),
            "padded_values": dict(self.padded),
        }

    def unknown_lines(self) -> list[str]:
        """Return a line for each class with values that its hierarchy does not contain."""
        return [
            f"the hierarchy of class {name} does not contain {counted(times, 'value')}"
            for name, times in self.unknown.items()
        ]

    def lines(self, *, ignored: bool) -> Iterator[str]:
        """Return the other notes; `ignored` says that unnamed fields do not matter."""
        if self.skipped:
            yield f"warning: {counted(self.skipped, 'malformed record')} skipped, which the result does not cover"
        if self.unread:
            left = "not verified" if ignored else "so the release as a whole is not verified"
            yield f"Fields that the schema does not name or withholds, {left}:"
            yield "\n".join(dropped_lines(self.unread))
        if self.padded:
            yield "Values that differ only in surrounding white space, which the schema takes as equal:"
            yield "\n".join(dropped_lines(self.padded))
        if self.strays:
            yield "Content beside the records:"
            yield "\n".join(f"  {printable(line)}" for line in self.strays)


def _of_trees(request: VerifyRequest) -> tuple[Verdict, ReadReport | None]:
    from treeanon.privacy.guarantee import TREE_DIVERSITY, Guarantee
    from treeanon.verifier.tree import as_counted, verify

    if request.k is None:
        raise click.UsageError("-k is required")
    refuse_table_models(request.models)
    m, n, attacker, negative, as_published = request.trees.values()
    l = 1 if request.models["l"] is None else request.models["l"]  # noqa: E741
    guarantee = Guarantee(
        request.k, 2 if m is None else m, 1 if n is None else n, attacker or "independent", l,
        request.models["diversity"] or TREE_DIVERSITY, negative, bool(as_published),
    )  # fmt: skip
    forest = read_records(request.release, request.schema, request.reading, quiet=request.quiet, called=request.called)
    forest = as_counted(forest, guarantee)
    with progress_bar("verifying", quiet=request.quiet) as progress:
        verdict = verify(forest, guarantee, jobs=request.reading["jobs"], progress=progress)
    for line in _trees_lines(forest, guarantee, is_open=request.schema.input.objects_open, holds=verdict.holds):
        say(line, quiet=request.quiet)
    return request.with_findings(verdict, forest), forest.report


def _trees_lines(forest: Forest, guarantee: Guarantee, *, is_open: bool, holds: bool) -> Iterator[str]:
    """Return what to say of the trees that were counted, where the schema leaves it `is_open` what objects are."""
    # Of tables the schema alone does not know the keys.
    if not is_open or len(forest.schema.layout.containers) < 2:
        return
    if not forest.classes.types:
        why = guarantee.of_merged_trees or "nodes have moved in the release"
        yield f"Counted in merged trees (--objects overrides the schema): {why}"
    elif not holds:
        yield COUNTED_WHOLE


def _of_rows(request: VerifyRequest) -> tuple[TableVerdict, ReadReport | None]:
    from treeanon.schema.controls import controls_of
    from treeanon.table.controls import with_controls
    from treeanon.verifier.controls import GroupBound
    from treeanon.verifier.table import verify_table

    request.refuse_trees()
    models = models_of_options(request.k, request.models)
    table = read_as_table(
        request.release,
        request.schema,
        request.reductions,
        request.reading,
        quiet=request.quiet,
        published=True,
        called=request.called,
    )
    table = with_controls(table, controls_of({"spans": request.spans}))
    bound = None if request.max_group_loss is None else GroupBound(request.max_group_loss)
    if any(model.sensitive is not None for model in models):
        for line in (*general_value_notes(table), *order_notes(table, models)):
            say(printable(line), quiet=request.quiet)
    with progress_bar("verifying", quiet=request.quiet) as progress:
        verdict = run_interruptibly(lambda _: verify_table(table, models, measured=True, bound=bound), progress)
    return request.with_findings(verdict, table), table.report


def _of_freeform(request: VerifyRequest, original: str) -> tuple[FreeformVerdict, ReadReport | None]:
    from treeanon.verifier.freeform import verify_freeform

    request.refuse_trees()
    if request.k is None or models_of_options(None, request.models):
        raise click.UsageError(
            "--original verifies -k only; other models of a freeform release cannot be verified from outside"
        )
    before, after, strange = read_both(
        original, request.release, request.schema, request.reductions, request.reading, quiet=request.quiet
    )
    if strange:
        raise click.UsageError(f"{request.release}: has values that cover no value of {original}")
    k = request.k
    with progress_bar("verifying", quiet=request.quiet) as progress:
        verdict = run_interruptibly(lambda _: verify_freeform(before, after, k), progress)
    return request.with_findings(verdict, after), after.report


def _of_permuted(request: VerifyRequest) -> tuple[PermutedVerdict, ReadReport]:
    from treeanon.io.beyond.findings import Findings, found_beyond
    from treeanon.io.columns.permuted_files import read_permuted, report_of
    from treeanon.verifier.permuted import verify_permuted

    request.refuse_trees()
    if request.reading["format"] is not None:
        raise click.UsageError("--from does not apply to --permuted: the files have their formats in their names")
    if request.reading["delimiter"]:
        raise click.UsageError("--delimiter does not apply to --permuted: datapackage.json has the delimiter")
    models = models_of_options(request.k, request.models)
    options: dict[str, Any] = {**request.reading}
    for name in ("format", "delimiter", *OF_SCHEMAS):
        del options[name]
    made = read_permuted(request.release, request.schema, **options)
    report = report_of(made)
    found = Findings()
    found.add_report(report)
    return found_beyond(verify_permuted(made, models, measured=True), _beyond(found, request.ignored)), report


def _beyond(found: Findings, ignored: Sequence[str]) -> tuple[Finding, ...]:
    """Return the findings that matter; unknown values are told for themselves."""
    from treeanon.io.beyond.findings import UNKNOWN

    return tuple(one for one in found.without(ignored) if one.kind != UNKNOWN)


def _beyond_lines(verdict: Any) -> list[str]:
    """Return the lines about what a release holds beyond what was counted."""
    if not verdict.beyond:
        return []
    lines = "\n".join(f"  {found.sentence}" for found in verdict.beyond)
    return [f"Beyond what is counted (--ignore KIND, if it does not matter):\n{lines}"]


def _first_line(verdict: Any) -> str:
    """Return the sentence of a verdict; that it does not hold comes first, whichever of its parts does not."""
    sentence = printable(verdict.sentence)
    said = "does not hold" in sentence.partition(". ")[0].lower()
    return sentence if verdict.holds or said else f"Does not hold: {sentence}"


def _verdict_lines(verdict: Any) -> list[str]:
    """Return the lines of a verdict."""
    from treeanon.verifier.verdict import Verdict

    if not isinstance(verdict, Verdict):
        return [_first_line(verdict), f"Checked {counted(verdict.rows, 'row')}.", *reached_lines(verdict)]
    guarantee = verdict.guarantee
    lines = [_first_line(verdict), guarantee.sentence]
    if not verdict.holds:
        lines[1] = f"Required: {guarantee.sentence}"
    lines.append(f"Checked {counted(verdict.persons, 'person')} and {verdict.label_sets:,} combinations of values.")
    if verdict.failures:
        lines.append("Failures:")
        lines.extend(f"  {printable(failure.sentence)}" for failure in verdict.failures[:_MOST])
        if len(verdict.failures) > _MOST:
            lines.append(f"  … and {len(verdict.failures) - _MOST:,} more patterns (--json lists all)")
    return lines
