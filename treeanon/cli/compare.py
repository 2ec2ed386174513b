"""`treeanon compare`: what published records or rows have lost against those that they were made of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from treeanon.cli.options import per_column, reduce_option, schema_option, talking_options
from treeanon.cli.printing import printable, progress_bar, result, say, told_reading
from treeanon.cli.reading import (
    Reading,
    read_as_table,
    read_both,
    read_records,
    reading_options,
    reductions_of,
    rows_format,
)

if TYPE_CHECKING:
    from treeanon.forest import ReadReport
    from treeanon.metrics import MiningLoss
    from treeanon.metrics.table import FlatLosses, QueryLoss
    from treeanon.schema import Schema
    from treeanon.table import Table
    from treeanon.table.permuted import Permuted


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


_MOST_PAIRED = 20_000
"""Up to so many rows are checked as a freeform release unasked: every one is held against every other."""


def compare_rows(
    before: str,
    after: str,
    schema: Schema,
    reductions: Mapping[str, str],
    k: int | None,
    label: str | None,
    weights: Mapping[str, float] | None,
    queries: int | None,
    reading: Reading,
    *,
    quiet: bool,
) -> Compared:
    """The losses of the rows of AFTER, and with k whether they keep it."""
    from treeanon.metrics.table import measure, query_loss

    original, published, strange = read_both(before, after, schema, reductions, reading, quiet=quiet)
    refuse_more(before, len(original), after, len(published))
    losses = measure(original, published, label=label, k=k or 1, weights=weights)
    extents = _of_groups(published, weights)
    answered = None if queries is None else query_loss(original, published, queries)
    data = _rows_as_dict(original, published, strange, losses, extents, answered)
    lines = _told(losses, extents, answered)
    if k is not None:
        checked, sentences = _checked(original, published, k, strange)
        data |= checked
        lines += ["", *sentences]
    return Compared(data, lines, "rows", strange, ((before, original.report), (after, published.report)))


def _checked(original: Table, published: Table, k: int, strange: Mapping[str, int]) -> tuple[dict[str, Any], list[str]]:
    """Whether the rows are k-anonymous; where they are not, whether they are as a freeform release is."""
    from treeanon.privacy.models import KAnonymity
    from treeanon.verifier.freeform import verify_freeform
    from treeanon.verifier.table import verify_table

    verdict = verify_table(published, [KAnonymity(k)])
    data: dict[str, Any] = {"verification": verdict.as_dict()}
    lines = [verdict.sentence]
    # A freeform release has every row of its input, and says nothing that the input has not.
    if verdict.holds or strange or len(published) != len(original) or original.person is not None:
        return data, lines
    if len(original) > _MOST_PAIRED:
        lines.append("As a freeform release it was not checked, which takes long: treeanon verify --original does it.")
    else:
        freeform = verify_freeform(original, published, k)
        data["as_freeform"] = freeform.as_dict()
        lines.append(f"As a freeform release, in which rows need not look alike: {freeform.sentence}")
    return data, lines


def _rows_as_dict(
    original: Table,
    published: Table,
    strange: Mapping[str, int],
    losses: FlatLosses,
    extents: Mapping[str, float],
    answered: QueryLoss | None,
) -> dict[str, Any]:
    """All there is to tell, as plain data."""
    made: dict[str, Any] = {
        "rows": len(original),
        "published_rows": len(published),
        "strange_rows": dict(strange),
        "losses": losses.as_dict(),
        "of_published_rows": dict(extents),
    }
    if answered is not None:
        kinds = {" + ".join(names): loss for names, loss in answered.divergences.items()}
        made["queries"] = {"level": answered.level, "kl_divergence": answered.mean, "by_classes": kinds}
    return made


_EXTENTS = {
    "il_1": "mean extent (IL1)",
    "il_infinity": "largest extent (IL inf.)",
    "average_ncp": "NCP of a group, mean",
    "weighted_maximum_ncp": "NCP x share, largest group",
    "average_volume": "volume, mean",
}


def _of_groups(published: Table, weights: Mapping[str, float] | None) -> dict[str, float]:
    """The losses that are of groups of published rows, whatever is left out."""
    from treeanon.metrics.table import il
    from treeanon.metrics.table.il import weighted_average_volume

    found = (
        il.mean_extent(published, weights),
        il.largest_extent(published, weights),
        il.average_ncp(published, weights=weights),
        il.weighted_maximum_ncp(published, weights=weights),
        weighted_average_volume(published),
    )
    return dict(zip(_EXTENTS, found, strict=True))


def _told(losses: FlatLosses, extents: Mapping[str, float], answered: QueryLoss | None) -> list[str]:
    from treeanon.report import flat_losses_text

    lines = [*flat_losses_text(losses).splitlines(), "", "of the rows published:"]
    lines += [f"{words:30}{extents[name]:>10.5f}" for name, words in _EXTENTS.items()]
    if answered is not None:
        many = f"{answered.level} class{'' if answered.level == 1 else 'es'}"
        lines += ["", f"{'counts by ' + many:30}{answered.mean:>10.5f}  KL divergence, 0: exact"]
    return lines


def compare_permuted(
    before: str, after: str, schema: Schema, reductions: Mapping[str, str], reading: Reading, *, quiet: bool
) -> Compared:
    """The losses of the two tables of AFTER, which say of no value of the sensitive column whose it is."""
    from treeanon.io.columns.permuted_files import read_permuted, report_of
    from treeanon.io.columns.write_table import table_schema
    from treeanon.metrics.table.permuted import measure_permuted_tables
    from treeanon.report import permuted_losses_text
    from treeanon.table.compared import as_they_are

    original = read_as_table(before, schema, reductions, reading, quiet=quiet)
    # A permuted release tells the formats of its files by their names.
    options: Any = {name: one for name, one in reading.items() if name not in ("format", "delimiter")}
    made = read_permuted(after, as_they_are(table_schema(original, "csv")), **options)
    refuse_more(before, len(original), after, len(made.records))
    told, strange = _in_terms_of(original, made)
    # What nobody in the input can have is in no query about it.
    losses = measure_permuted_tables(original, told, **({"levels": 0} if strange else {}))
    data = {
        "rows": len(original),
        "published_rows": len(made.records),
        "strange_rows": dict(strange),
        "losses": losses.as_dict(),
    }
    reports = ((before, original.report), (after, report_of(made)))
    return Compared(data, permuted_losses_text(losses).splitlines(), "rows", strange, reports)


def _in_terms_of(original: Table, made: Permuted) -> tuple[Permuted, Mapping[str, int]]:
    """The two tables with the hierarchies of the original, if nothing is strange; and the strange rows."""
    from treeanon.table.compared import in_terms_of
    from treeanon.table.table import Table

    open_ones = Table(tuple(column for column in original.columns if column.role != "sensitive"))
    records, strange = in_terms_of(open_ones, made.records)
    hidden, odd = in_terms_of(Table(original.sensitive), Table((made.sensitive,)))
    found = Counter(strange) + Counter(odd)
    if found:
        return made, found
    groups = made.records.column(made.group)
    values = tuple(hidden.column(c.name) if c.role == "sensitive" else c for c in made.values.columns)
    records = replace(records, columns=(*records.columns, groups))
    return replace(made, records=records, values=replace(made.values, columns=values)), found


def compare_trees(
    before: str,
    after: str,
    schema: Schema,
    asked: tuple[int | None, int, int],
    weights: Mapping[str, float] | None,
    reading: Reading,
    *,
    mining: bool,
    in_order: bool,
    quiet: bool,
) -> Compared:
    """The losses of the records of AFTER; `asked` is k (None: no verdict), m and n."""
    from treeanon.forest.compared import in_terms_of
    from treeanon.metrics import measure, measure_unmatched, ml2
    from treeanon.report import losses_text
    from treeanon.table.compared import as_they_are
    from treeanon.verifier.tree import verify

    original = read_records(before, schema, reading, quiet=quiet)
    raw = read_records(after, as_they_are(schema), reading, quiet=quiet)
    refuse_more(before, len(original), after, len(raw), "records")
    published, strange = in_terms_of(original, raw)
    losses = (measure if in_order else measure_unmatched)(original, published, weights=weights)
    mined = ml2(original, published, np.arange(len(published))) if mining else None
    data: dict[str, Any] = {
        "records": len(original),
        "published_records": len(published),
        "matched": in_order,
        "strange_nodes": dict(strange),
        "losses": losses.as_dict() | ({} if mined is None else {"mining": _mining(mined, matched=in_order)}),
    }
    lines = losses_text(losses, mined, matched=in_order).splitlines()
    k, m, n = asked
    if k is not None:
        with progress_bar("checking", quiet=quiet) as progress:
            # What was read is checked, not what it was taken for.
            verdict = verify(raw, k=k, m=m, n=n, jobs=reading["jobs"], progress=progress)
        data["verification"] = verdict.as_dict()
        lines += ["", verdict.sentence]
    return Compared(data, lines, "nodes", strange, ((before, original.report), (after, raw.report)))


def _mining(mined: MiningLoss, *, matched: bool) -> dict[str, Any]:
    """The mining losses as plain data, without those that compare each record with what became of it, if unmatched."""
    told = mined.as_dict()
    if not matched:
        del told["dml2"]
        for level in told["levels"]:
            del level["distance"]
    return told


@click.command()
@click.argument("before", metavar="BEFORE")
@click.argument("after", metavar="AFTER")
@schema_option
@click.option("-k", type=click.IntRange(1), metavar="N", help="Also: whether AFTER hides everybody among so many.")
@click.option("-m", type=click.IntRange(1, 8), metavar="N", help="By how many values known, with -k (2; of trees).")
@click.option("-n", type=click.IntRange(0, 64), metavar="N", help="And relations between them, with -k (1; of trees).")
@per_column("--weight", "weights", "What a class counts for in the value loss, or the GCP (1).", metavar="CLASS=N")
@click.option("--mining", is_flag=True, help="Also: which frequent subtrees are lost (ML2; of trees).")
@click.option(
    "--in-order", is_flag=True, help="Record i of AFTER was made of record i of BEFORE: measured so (of trees)."
)
@click.option("--label", metavar="CLASS", help="Also: how often somebody would guess this class wrong (CM; of rows).")
@click.option(
    "--queries",
    type=click.IntRange(1),
    metavar="N",
    help="Also: how wrong counts by N classes come out (KL divergence; of rows).",
)
@click.option(
    "--table", "as_table", is_flag=True, help="Compare records as rows, a row a person [so for CSV, Parquet]."
)
@click.option("--permuted", is_flag=True, help="AFTER is a permuted release: a folder or zip of records and values.")
@reduce_option
@reading_options
@talking_options
def command(
    before: str,
    after: str,
    schema: str,
    k: int | None,
    m: int | None,
    n: int | None,
    weights: int | float | dict[str, float] | None,
    mining: bool,
    in_order: bool,
    label: str | None,
    queries: int | None,
    as_table: bool,
    permuted: bool,
    reduced: tuple[str, ...],
    reading: Reading,
    quiet: bool,
    as_json: bool,
) -> None:
    """Measure what the published AFTER has lost against BEFORE, what it was made of.

    Both are read by the schema of BEFORE; whoever made AFTER, its values may be those of the hierarchies. What AFTER
    says of nobody in BEFORE is counted and told by classes, never by values.

    Which record was made of which is not asked (but --in-order): persons that AFTER lacks count as lost entirely, and
    in the value loss of trees they count as the mean person; relations kept, RPD and ML2 are of totals, and the value
    loss is that of the release where nobody is left out and BEFORE has no general values of its own.

    Rows (CSV, Parquet) may also have ranges (20 … 34) and sets (["a","b"]). Documents and tables with keys are compared
    as rows with --table: those of `treeanon flatten`, by the same --reduce. AFTER may be a CSV or Parquet file
    that was made of them. With -k, what the schema names of AFTER is checked too (treeanon verify says more); rows that
    do not look alike are also checked as a freeform release is.

    \b
    treeanon compare patients.xml out.xml -s schema.toml -k 5 -m 2 -n 1
    treeanon compare people.csv out.csv -s schema.toml --label income --weight age=2 --json
    treeanon compare patients.xml out.csv -s schema.toml --reduce disease=mode
    treeanon compare people.csv out/ -s schema.toml --permuted
    """
    from treeanon.schema import Schema

    if weights is not None and not isinstance(weights, dict):
        raise click.UsageError("--weight: write CLASS=N, such as age=2")
    if before == after == "-":
        raise click.UsageError("only one of BEFORE and AFTER can be standard input")
    loaded = Schema.load(schema)
    rows = [rows_format(source, loaded, reading["format"]) is not None for source in (before, after)]
    of_trees = {"-m": m is not None, "-n": n is not None, "--mining": mining, "--in-order": in_order}
    of_rows = {"--label": label is not None, "--queries": queries is not None}
    reductions = reductions_of(reduced)
    if permuted:
        from treeanon.cli.compare import compare_permuted

        _refuse("a permuted release", {**of_trees, **of_rows, "--weight": weights is not None, "-k": k is not None})
        found = compare_permuted(before, after, loaded, reductions, reading, quiet=quiet)
    elif any(rows) or as_table or reduced:
        from treeanon.cli.compare import compare_rows

        _refuse("rows", of_trees)
        if rows[0] and not rows[1]:
            raise click.UsageError(f"{after}: what was made of rows is a CSV or Parquet file (or --permuted)")
        found = compare_rows(before, after, loaded, reductions, k, label, weights, queries, reading, quiet=quiet)
    else:
        _refuse("trees (rows are compared with --table)", of_rows)
        if k is None and (m is not None or n is not None):
            raise click.UsageError("-m and -n say what is known to whom -k hides everybody: give -k too")
        asked = (k, 2 if m is None else m, 1 if n is None else n)
        found = compare_trees(
            before, after, loaded, asked, weights, reading, mining=mining, in_order=in_order, quiet=quiet
        )
    found.tell(quiet=quiet, as_json=as_json)


def _refuse(what: str, given: dict[str, bool]) -> None:
    """Refuses options that say nothing of this kind of release."""
    if names := [name for name, there in given.items() if there]:
        raise click.UsageError(f"{', '.join(names)}: not of {what}")
