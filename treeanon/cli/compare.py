"""`treeanon compare`: measure the information loss of a release of trees, rows or permutations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal

import click

from treeanon.cli.compared import Compared, Uses, check_page_of, show_all
from treeanon.cli.comparisons import compare_permuted, compare_rows, compare_trees
from treeanon.cli.options import Command, force_option, per_column, printing_options, reduce_option, schema_option
from treeanon.cli.reading import Reading, load_schema, reading_options, reductions_of

if TYPE_CHECKING:
    from treeanon.metrics.values import Scope
    from treeanon.privacy import Guarantee


class _Queries(click.ParamType):  # type: ignore[type-arg]
    """How many classes queries of rows are by; or the queries of trees in a file."""

    name = "queries"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int | tuple[str, ...]:
        """Return the number, or the texts of the queries."""
        if isinstance(value, str) and not value.isdigit():
            from treeanon.queries.workload import queries_in

            return queries_in(value)
        number: int = click.IntRange(1).convert(value, param, ctx)
        return number


class _Compare(Command):
    """The command, whose help has the measures in a group of their own."""

    groups: ClassVar = {
        "Measures": ("weights", "mining", "in_order", "label", "queries", "statistics", "target", "html"),
        **Command.groups,
        "Tables": ("as_table", "permuted", "reduced"),
    }


@click.command(cls=_Compare)
@click.argument("before", metavar="BEFORE")
@click.argument("afters", metavar="AFTER...", nargs=-1, required=True)
@schema_option
@click.option("-k", type=click.IntRange(1), metavar="N", help="Also verify this minimum group size.")
@click.option("-m", type=click.IntRange(1, 8), metavar="N", help="Trees: known values, with -k [default: 2].")
@click.option("-n", type=click.IntRange(0, 64), metavar="N", help="Trees: relations between them [default: 1].")
@click.option(
    "--attacker",
    type=click.Choice(["independent", "joint"]),
    help="Trees: what relations are known to be of, with -k [default: independent].",
)
@click.option("--l", "l", type=click.IntRange(1), metavar="N", help="Trees: l-diversity of sensitive classes, with -k.")
@click.option("--negative", multiple=True, metavar="CLASS", help="Trees: absent values may be known, with -k.")
@click.option(
    "--scope",
    type=click.Choice(["class", "hierarchy"]),
    help="Trees: whose levels RPD and RPDa count, the class's or those of all hierarchies [default: class].",
)
@per_column("--weight", "weights", "Relative weight of a class (default 1).", metavar="CLASS=N")
@click.option("--mining", is_flag=True, help="Trees: also the loss of frequent subtrees (ML2).")
@click.option("--in-order", is_flag=True, help="Trees: record i of AFTER is record i of BEFORE.")
@click.option("--label", metavar="CLASS", help="Rows: target of the classification metric.")
@click.option(
    "--queries",
    type=_Queries(),
    metavar="N|FILE",
    help="Rows: KL divergence of counts by N classes. Trees: errors of the queries in FILE.",
)
@click.option("--statistics", is_flag=True, help="Rows: also means, variances and correlations of numbers.")
@click.option("--target", metavar="CLASS", help="Rows: also how well a classifier guesses CLASS.")
@click.option("--html", metavar="FILE", help="Write a page instead: releases side by side, with their risks.")
@force_option
@click.option("--table", "as_table", is_flag=True, help="Compare rows (always for CSV and Parquet).")
@click.option("--permuted", is_flag=True, help="AFTER is a permuted release (a folder or zip).")
@reduce_option
@reading_options
@printing_options
def command(
    before: str,
    afters: tuple[str, ...],
    schema: str,
    k: int | None,
    m: int | None,
    n: int | None,
    attacker: Literal["independent", "joint"] | None,
    l: int | None,  # noqa: E741 - its name in the literature
    negative: tuple[str, ...],
    scope: Scope | None,
    weights: int | float | dict[str, float] | None,
    mining: bool,
    in_order: bool,
    label: str | None,
    queries: int | tuple[str, ...] | None,
    statistics: bool,
    target: str | None,
    html: str | None,
    force: bool,
    as_table: bool,
    permuted: bool,
    reduced: tuple[str, ...],
    reading: Reading,
    quiet: bool,
    as_json: bool,
) -> None:
    """Measure the information loss of the release AFTER against its original BEFORE; of several, side by side.

    Both are read by the schema of BEFORE, whoever made AFTER; its values may be those of the hierarchies. Values of
    AFTER that nobody in BEFORE can have are counted by class, never shown.

    Records are not matched with each other, unless --in-order is given: persons missing from AFTER count as lost
    entirely; relations kept, RPD and ML2 compare totals. The value loss of trees is that of the release, if BEFORE has
    no general values; but where values or persons are left out, it is known how many, not whose, and they count as
    those of the mean record that has such values.

    Objects whose schema leaves it open are compared whole, unless AFTER relates values as merged trees do.

    Rows (CSV, Parquet) may have ranges (20 … 34) and sets (["a","b"]). With --table, documents and relational tables
    are compared as the rows of `treeanon flatten`, with the same --reduce; AFTER may then be a CSV or Parquet file.
    --statistics tells means of BEFORE, too; --target trains a classifier on either (extra `classify`).
    With -k, the classes of AFTER that the schema names are also verified (see `treeanon verify`), and rows that do not
    look alike are verified as a freeform release.

    --html writes a page with losses, whole objects and risks, for one release or several; it has counts of BEFORE, and
    only its owner can read it. The risks are those of `treeanon risk` with k (default 5) and 10 seconds each.

    \b
    treeanon compare patients.xml out.xml -s schema.toml -k 5 -m 2 -n 1
    treeanon compare people.csv out.csv -s schema.toml --label income --weight age=2 --json
    treeanon compare patients.xml out.csv -s schema.toml --reduce disease=mode
    treeanon compare people.csv out/ -s schema.toml --permuted
    treeanon compare people.csv one.csv two.csv -s schema.toml --html compared.html
    """

    if weights is not None and not isinstance(weights, dict):
        raise click.UsageError("--weight: must be CLASS=N, for example age=2")
    if [before, *afters].count("-") > 1:
        raise click.UsageError("only one of BEFORE and AFTER can be standard input")
    check_page_of(html, before, afters, schema, as_json=as_json, force=force)
    loaded = load_schema(schema, reading)
    stronger = {"-m": m is not None, "-n": n is not None, "--attacker": attacker is not None, "--l": l is not None}
    stronger["--negative"] = bool(negative)
    of_trees = {**stronger, "--mining": mining, "--in-order": in_order, "--scope": scope is not None}
    asked, by = (queries, None) if isinstance(queries, tuple) else (None, queries)
    of_trees["--queries FILE"] = asked is not None
    of_rows = {"--label": label is not None, "--queries": by is not None, "--statistics": statistics}
    of_rows["--target"] = target is not None
    reductions = reductions_of(reduced)

    def compared(after: str) -> Compared:
        from treeanon.io.compared import rows_format

        rows = [rows_format(source, loaded, reading["format"]) is not None for source in (before, after)]
        if permuted:
            others = {name: there for name, there in of_rows.items() if name != "--queries"}
            _refuse("a permuted release", {**of_trees, **others, "--weight": weights is not None, "-k": k is not None})
            return compare_permuted(before, after, loaded, reductions, by, reading, quiet=quiet)
        if any(rows) or as_table or reduced:
            _refuse("rows", of_trees)
            if rows[0] and not rows[1]:
                raise click.UsageError(f"{after}: a release of rows is a CSV or Parquet file (or --permuted)")
            uses = Uses(statistics, target)
            return compare_rows(before, after, loaded, reductions, k, label, weights, by, uses, reading, quiet=quiet)
        _refuse("trees; compare rows with --table", of_rows)
        guarantee = _guarantee(k, m, n, attacker, l, negative, stronger)
        return compare_trees(
            before, after, loaded, guarantee, weights, reading,
            mining=mining, in_order=in_order, scope=scope or "class", asked=asked, quiet=quiet,
        )  # fmt: skip

    show_all(before, afters, compared, html, k or 5, reading, force=force, quiet=quiet, as_json=as_json)


def _guarantee(
    k: int | None,
    m: int | None,
    n: int | None,
    attacker: Literal["independent", "joint"] | None,
    l: int | None,  # noqa: E741 - its name in the literature
    negative: tuple[str, ...],
    given: dict[str, bool],
) -> Guarantee | None:
    """Return the guarantee that is to be verified; None without k."""
    from treeanon.privacy import Guarantee

    if k is not None:
        asked = (2 if m is None else m, 1 if n is None else n, attacker or "independent", 1 if l is None else l)
        return Guarantee(k, *asked, negative=negative)
    if names := [name for name, there in given.items() if there]:
        verb = "requires" if len(names) == 1 else "require"
        raise click.UsageError(f"{' and '.join(names)} {verb} -k")
    return None


def _refuse(what: str, given: dict[str, bool]) -> None:
    """Refuse options that do not apply to this kind of release."""
    if names := [name for name, there in given.items() if there]:
        verb = "does" if len(names) == 1 else "do"
        raise click.UsageError(f"{' and '.join(names)} {verb} not apply to {what}")
