"""Comparisons of releases of trees, with `treeanon compare`."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from treeanon.cli.compared import Compared
from treeanon.cli.printing import progress_bar
from treeanon.cli.reading import Reading, read_records
from treeanon.cli.request import COUNTED_WHOLE

if TYPE_CHECKING:
    from treeanon.metrics import MiningLoss
    from treeanon.metrics.values import Scope
    from treeanon.privacy import Guarantee
    from treeanon.schema import Schema

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
