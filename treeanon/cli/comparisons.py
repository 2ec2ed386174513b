"""Comparisons of releases of tables, and of trees, with `treeanon compare`."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from treeanon.cli.compared import Compared, Uses
from treeanon.cli.printing import progress_bar
from treeanon.cli.reading import OF_SCHEMAS, Reading, read_as_table, read_both, read_records
from treeanon.cli.request import COUNTED_WHOLE

if TYPE_CHECKING:
    from treeanon.metrics import MiningLoss
    from treeanon.metrics.table import FlatLosses, QueryLoss
    from treeanon.metrics.values import Scope
    from treeanon.privacy import Guarantee
    from treeanon.schema import Schema
    from treeanon.table import Table
    from treeanon.table.permuted import Permuted


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
    from treeanon.metrics.table import groups

    found = (
        groups.mean_extent(published, weights),
        groups.largest_extent(published, weights),
        groups.average_ncp(published, weights=weights),
        groups.weighted_maximum_ncp(published, weights=weights),
        groups.weighted_maximum_share(published, weights=weights),
        groups.weighted_average_volume(published),
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
    from treeanon.metrics.table.measure import measure_permuted_tables
    from treeanon.reports import permuted_losses_text
    from treeanon.table.compared import schema_as_published

    original = read_as_table(before, schema, reductions, reading, quiet=quiet)
    # The files of a permuted release have their formats in their names.
    options: Any = {name: one for name, one in reading.items() if name not in ("format", "delimiter", *OF_SCHEMAS)}
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


_WIDTH = 79


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
    import numpy as np

    from treeanon.io.compared import refuse_more
    from treeanon.metrics import ml2
    from treeanon.metrics.measure import compared_trees
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
