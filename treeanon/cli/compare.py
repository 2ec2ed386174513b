"""`treeanon compare`: what published records or rows have lost against those that they were made of.

What `treeanon compare` measures of trees that were published.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from treeanon.cli.compare_rows import Compared, refuse_more
from treeanon.cli.shared import Reading, progress_bar, read_records, reading_options, schema_option, talking_options
from treeanon.cli.table_io import rows_format
from treeanon.cli.table_options import per_column, reduce_option, reductions_of

if TYPE_CHECKING:
    from treeanon.metrics import MiningLoss
    from treeanon.schema import Schema


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
        from treeanon.cli.compare_rows import compare_permuted

        _refuse("a permuted release", {**of_trees, **of_rows, "--weight": weights is not None, "-k": k is not None})
        found = compare_permuted(before, after, loaded, reductions, reading, quiet=quiet)
    elif any(rows) or as_table or reduced:
        from treeanon.cli.compare_rows import compare_rows

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
