"""`treeanon compare`: measure the information loss of a release of trees, rows or permutations."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import click
import numpy as np

from treeanon.cli.compared import Compared, Uses, check_page_of, show_all
from treeanon.cli.options import Command, force_option, per_column, printing_options, reduce_option, schema_option
from treeanon.cli.printing import progress_bar
from treeanon.cli.reading import (
    Reading,
    load_schema,
    read_as_table,
    read_both,
    read_records,
    reading_options,
    reductions_of,
)
from treeanon.cli.request import COUNTED_WHOLE

if TYPE_CHECKING:
    from treeanon.metrics import MiningLoss
    from treeanon.metrics.table import FlatLosses, QueryLoss
    from treeanon.metrics.values import Scope
    from treeanon.privacy import Guarantee
    from treeanon.schema import Schema
    from treeanon.table import Table
    from treeanon.table.permuted import Permuted

_WIDTH = 79


_MOST_PAIRED = 20_000
"""Largest number of rows verified as a freeform release unasked: every row is compared with every other."""


def compare_rows(
    before: str,
    after: str,
    schema: Schema,
    reductions: Mapping[str, str],
    k: int | None,
    label: str | None,
    weights: Mapping[str, float] | None,
    queries: int | None,
    uses: Uses,
    reading: Reading,
    *,
    quiet: bool,
) -> Compared:
    """Measure the losses of the rows of AFTER, and with k verify them."""
    from treeanon.io.compared import refuse_more
    from treeanon.metrics.table import measure, query_loss

    original, published, strange = read_both(before, after, schema, reductions, reading, quiet=quiet)
    refuse_more(before, len(original), after, len(published))
    losses = measure(original, published, label=label, k=k or 1, weights=weights)
    extents = _of_groups(published, weights)
    answered = None if queries is None else query_loss(original, published, queries)
    data = _rows_as_dict(original, published, strange, losses, extents, answered)
    more, told = uses.found(original, published)
    data |= more
    lines = [*_loss_lines(losses, extents, answered), *told]
    if k is not None:
        checked, sentences = _checked(original, published, k, strange)
        data |= checked
        lines += ["", *sentences]
    reports = ((before, original.report), (after, published.report))
    return Compared(data, lines, "rows", strange, reports, (original, published))


def _checked(original: Table, published: Table, k: int, strange: Mapping[str, int]) -> tuple[dict[str, Any], list[str]]:
    """Verify that the rows are k-anonymous; if they are not, verify them as a freeform release."""
    from treeanon.privacy.models import KAnonymity
    from treeanon.verifier.freeform import verify_freeform
    from treeanon.verifier.table import verify_table

    verdict = verify_table(published, [KAnonymity(k)])
    data: dict[str, Any] = {"verification": verdict.as_dict()}
    lines = [verdict.sentence]
    # A freeform release has every row of its original, and no values that nobody in it can have.
    if verdict.holds or strange or len(published) != len(original) or original.person is not None:
        return data, lines
    if len(original) > _MOST_PAIRED:
        lines.append("Not verified as a freeform release, which takes long; use `treeanon verify --original`.")
    else:
        freeform = verify_freeform(original, published, k)
        data["as_freeform"] = freeform.as_dict()
        lines.append(f"As a freeform release: {freeform.sentence}")
    return data, lines


def _rows_as_dict(
    original: Table,
    published: Table,
    strange: Mapping[str, int],
    losses: FlatLosses,
    extents: Mapping[str, float],
    answered: QueryLoss | None,
) -> dict[str, Any]:
    """Return the comparison of rows as plain data."""
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
    "il_1": "mean extent of a group (IL1)",
    "il_infinity": "largest extent (IL inf.)",
    "average_ncp": "NCP of a group, mean",
    "weighted_maximum_ncp": "largest NCP x its rows",
    "weighted_maximum_share": "largest NCP x its share",
    "average_volume": "volume, mean",
}


def _of_groups(published: Table, weights: Mapping[str, float] | None) -> dict[str, float]:
    """Measure the losses of the groups of published rows, whatever is suppressed."""
    from treeanon.metrics.table import il

    found = (
        il.mean_extent(published, weights),
        il.largest_extent(published, weights),
        il.average_ncp(published, weights=weights),
        il.weighted_maximum_ncp(published, weights=weights),
        il.weighted_maximum_share(published, weights=weights),
        il.weighted_average_volume(published),
    )
    return dict(zip(_EXTENTS, found, strict=True))


def _loss_lines(losses: FlatLosses, extents: Mapping[str, float], answered: QueryLoss | None) -> list[str]:
    from treeanon.reports import flat_losses_text

    lines = [*flat_losses_text(losses).splitlines(), "", "of the published rows:"]
    lines += [f"{words:30}{extents[name]:>10.5f}" for name, words in _EXTENTS.items()]
    if answered is not None:
        many = f"{answered.level} class{'' if answered.level == 1 else 'es'}"
        lines += ["", f"{'counts by ' + many:30}{answered.mean:>10.5f}  KL divergence, 0: exact"]
    return lines


def compare_permuted(
    before: str,
    after: str,
    schema: Schema,
    reductions: Mapping[str, str],
    queries: int | None,
    reading: Reading,
    *,
    quiet: bool,
) -> Compared:
    """Measure the losses of a permuted release, whose sensitive values are published by group.

    Queries are by up to so many columns; None leaves it to the number of rows.
    """
    from treeanon.formats import ROWS
    from treeanon.io.columns.permuted_files import read_permuted, report_of
    from treeanon.io.columns.write_table import table_schema
    from treeanon.io.compared import refuse_more
    from treeanon.metrics.table.permuted import measure_permuted_tables
    from treeanon.reports import permuted_losses_text
    from treeanon.table.compared import schema_as_published

    original = read_as_table(before, schema, reductions, reading, quiet=quiet)
    # The files of a permuted release have their formats in their names.
    options: Any = {name: one for name, one in reading.items() if name not in ("format", "delimiter", "objects")}
    made = read_permuted(after, schema_as_published(table_schema(original, ROWS)), **options)
    refuse_more(before, len(original), after, len(made.records))
    matched, strange = _in_terms_of(original, made)
    # Queries about the original contain no value that nobody in it can have.
    losses = measure_permuted_tables(original, matched, levels=0 if strange else queries)
    data = {
        "rows": len(original),
        "published_rows": len(made.records),
        "strange_rows": dict(strange),
        "losses": losses.as_dict(),
    }
    reports = ((before, original.report), (after, report_of(made)))
    return Compared(data, permuted_losses_text(losses).splitlines(), "rows", strange, reports)


def _in_terms_of(original: Table, made: Permuted) -> tuple[Permuted, Mapping[str, int]]:
    """Return the release with the hierarchies of the original, if all rows are explained, and the unexplained rows."""
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


_RECOGNIZED = (
    "Compared as merged trees (--objects overrides the schema): AFTER relates values that are in no object of BEFORE "
    "together"
)


def compare_trees(
    before: str,
    after: str,
    schema: Schema,
    guarantee: Guarantee | None,
    weights: Mapping[str, float] | None,
    reading: Reading,
    *,
    mining: bool,
    in_order: bool,
    scope: Scope,
    asked: tuple[str, ...] | None,
    quiet: bool,
) -> Compared:
    """Measure the losses of the trees of AFTER, and verify the guarantee (None: do not)."""
    from treeanon.io.compared import refuse_more
    from treeanon.metrics import ml2
    from treeanon.metrics.compared import compared_trees
    from treeanon.metrics.values import rpda
    from treeanon.reports import losses_text, rpda_line
    from treeanon.table.compared import schema_as_published
    from treeanon.verifier.tree import verify

    original = read_records(before, schema, reading, quiet=quiet)
    raw = read_records(after, schema_as_published(schema), reading, quiet=quiet)
    refuse_more(before, len(original), after, len(raw), "records")
    measured = compared_trees(original, raw, weights=weights, scope=scope, in_order=in_order)
    original, published, losses, strange = measured.original, measured.published, measured.losses, measured.strange
    raw = measured.raw
    by_synopsis = rpda(published, scope)
    mined = ml2(original, published, np.arange(len(published))) if mining else None
    data: dict[str, Any] = {
        "records": len(original),
        "published_records": len(published),
        "matched": in_order,
        "objects": "whole" if original.classes.types else "merged",
        "strange_nodes": dict(strange),
        "scope": scope,
        "rpda": by_synopsis,
        "losses": losses.as_dict() | ({} if mined is None else {"mining": _mining(mined, matched=in_order)}),
    }
    lines = losses_text(losses, mined, matched=in_order).splitlines()
    lines.insert(lines.index("") + 4, rpda_line(by_synopsis, scope))
    if measured.recognized:
        lines[:0] = [*textwrap.wrap(_RECOGNIZED, _WIDTH), ""]
    if asked is not None:
        from treeanon.queries.workload import Workload

        data["queries"] = answers = Workload(original, asked).compared(published)
        lines += [
            "",
            f"{'mean error of queries':30}{answers['error']:>12.3f}",
            f"{'':30}{'before':>12}{'estimate':>12}",
        ]
        for number, one in enumerate(answers["queries"], 1):
            lines.append(f"{f'query {number}':30}{one['before']:>12,}{one['estimate']:>12,.1f}")
    if guarantee is not None:
        with progress_bar("verifying", quiet=quiet) as progress:
            # Verify what was read, not its interpretation in terms of the original.
            verdict = verify(raw, guarantee, jobs=reading["jobs"], progress=progress)
        data["verification"] = verdict.as_dict()
        lines += ["", *textwrap.wrap(verdict.sentence, _WIDTH)]
        if not verdict.holds and schema.input.objects_open and len(raw.schema.layout.containers) > 1:
            lines += textwrap.wrap(COUNTED_WHOLE, _WIDTH)
    reports = ((before, original.report), (after, raw.report))
    return Compared(data, lines, "nodes", strange, reports, (original, raw))


def _mining(mined: MiningLoss, *, matched: bool) -> dict[str, Any]:
    """Return the mining losses as plain data; those that compare records with their originals only if matched."""
    data = mined.as_dict()
    if not matched:
        del data["dml2"]
        for level in data["levels"]:
            del level["distance"]
    return data


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
