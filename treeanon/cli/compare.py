"""`treeanon compare`: what a published table has lost against the one that it was made of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from treeanon.cli.common import (
    Reading,
    printable,
    reading_options,
    result,
    say,
    schema_option,
    talking_options,
    told_reading,
)
from treeanon.cli.table_options import per_column, reduce_option, reductions_of
from treeanon.cli.tables import read_both, rows_format

if TYPE_CHECKING:
    from treeanon.loss.flat import FlatLosses, QueryLoss
    from treeanon.schema import Schema
    from treeanon.table import Table


@click.command()
@click.argument("before", metavar="BEFORE")
@click.argument("after", metavar="AFTER")
@schema_option
@click.option("-k", type=click.IntRange(1), default=1, metavar="N", help="Divides the rows in a group.  [default: 1]")
@click.option("--label", metavar="CLASS", help="Also: how often somebody would guess this class wrong (CM).")
@per_column("--weight", "weights", "What a class counts for in the GCP (1).", metavar="CLASS=N")
@click.option(
    "--queries",
    type=click.IntRange(1),
    metavar="N",
    help="Also: how wrong counts by N classes come out (KL divergence).",
)
@click.option(
    "--table", "as_table", is_flag=True, help="Compare records as rows, a row a person [so for CSV, Parquet]."
)
@reduce_option
@reading_options
@talking_options
def command(
    before: str,
    after: str,
    schema: str,
    k: int,
    label: str | None,
    weights: int | float | dict[str, float] | None,
    queries: int | None,
    as_table: bool,
    reduced: tuple[str, ...],
    reading: Reading,
    quiet: bool,
    as_json: bool,
) -> None:
    """Measure what the published table AFTER has lost against BEFORE, the table that it was made of.

    Both are read by the schema of BEFORE; whoever made AFTER, its values may be those of the hierarchies, ranges
    (20 … 34) and sets (["a","b"]). Which row was made of which is not asked: rows that AFTER lacks count as lost
    entirely. What AFTER says of nobody in BEFORE is counted and told by columns, never by values.

    Documents and tables with keys are compared as rows too (--table): those of `treeanon flatten`, by the same
    --reduce. AFTER may be a CSV or Parquet file that was made of them.

    \b
    treeanon compare people.csv out.csv -s schema.toml
    treeanon compare people.csv out.csv -s schema.toml -k 5 --label income --weight age=2 --json
    treeanon compare patients.xml out.csv -s schema.toml --reduce disease=mode
    """
    from treeanon.loss.flat import measure, query_loss
    from treeanon.schema import Schema

    if weights is not None and not isinstance(weights, dict):
        raise click.UsageError("--weight: write CLASS=N, such as age=2")
    loaded = Schema.load(schema)
    _check_forms(before, after, loaded, reading["format"], asked=as_table or bool(reduced))
    original, published, strange = read_both(before, after, loaded, reductions_of(reduced), reading, quiet=quiet)
    if len(published) > len(original):
        what = (
            f"{after} has {len(published):,} rows and {before} {len(original):,}, so it cannot have been made of that"
        )
        raise click.UsageError(what)
    losses = measure(original, published, label=label, k=k, weights=weights)
    extents = _of_groups(published, weights)
    answered = None if queries is None else query_loss(original, published, queries)
    if as_json:
        result(_as_dict(original, published, strange, losses, extents, answered), as_json=True)
    elif not quiet:
        click.echo("\n".join(map(printable, _told(losses, extents, answered))))
    if strange:
        say("values in the release that nobody in the input can have (is it a release of that?):", quiet=quiet)
        for name, rows in strange.items():
            say(f"  {rows:>9,} rows  {printable(name)}", quiet=quiet)
    for name, table in ((before, original), (after, published)):
        lines = told_reading({} if table.report is None else _left_out(table))
        if lines:
            say(printable(f"{name}:"), quiet=quiet)
            say("\n".join(lines), quiet=quiet)


def _check_forms(before: str, after: str, schema: Schema, format: str | None, *, asked: bool) -> None:
    """Refuses what cannot be compared."""
    rows = [rows_format(source, schema, format) is not None for source in (before, after)]
    if before == after == "-":
        raise click.UsageError("only one of BEFORE and AFTER can be standard input")
    if not any(rows) and not asked:
        raise click.UsageError(
            "records are compared as rows, a row a person: say so by --table, and by --reduce CLASS=HOW for each class"
            " that occurs several times in a record, as for treeanon flatten"
        )
    if rows[0] and not rows[1]:
        raise click.UsageError(f"{after}: what was made of rows is a CSV or Parquet file")


def _left_out(table: Table) -> dict[str, Any]:
    """What reading left out, but for fields that the schema does not name."""
    told = {} if table.report is None else table.report.as_dict()
    return {name: found for name, found in told.items() if name != "dropped"}


def _as_dict(
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
    from treeanon.loss.flat import il
    from treeanon.loss.flat.volume import weighted_average_volume

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
