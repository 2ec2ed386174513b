"""What `treeanon compare` measures of trees that were published."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from treeanon.cli.compared import Compared, refuse_more
from treeanon.cli.shared import Reading, progress_bar, read_records

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
