"""From a table to a permuted release: groups by a search, published as two tables, checked by other code."""

from __future__ import annotations

from collections import Counter

import numpy as np

from treeanon.algorithms.table.partition import Partition
from treeanon.errors import GuaranteeError
from treeanon.kernels.tree.forest import Longs
from treeanon.metrics.table.permuted import measure_permuted
from treeanon.progress import Progress, stage
from treeanon.release.permuted_release import PermutedRelease
from treeanon.release.table_request import TableRequest
from treeanon.release.table_search import only_closeness_fails, require, searches, table_counts
from treeanon.release.tree_request import persons
from treeanon.table import Table
from treeanon.table.permuted import Permuted, permuted
from treeanon.verifier.permuted import verify_permuted


def fulfil_permuted(
    request: TableRequest, table: Table, *, seed: int | None = None, progress: Progress | None = None
) -> PermutedRelease:
    """The permuted release of a table that a request asks for; `seed` orders its rows and groups, for tests."""
    for found, models in searches(request, table, progress, seed):
        stage(progress, "checking")
        assert isinstance(found, Partition)
        groups = found
        made = permuted(table, groups.group, seed)
        check_permuted(table, made, groups.group, persons(request.max_suppressed, table.persons))
        verdict = verify_permuted(made, models)
        if not only_closeness_fails(verdict, models):
            break
    if models != request.models:
        # What was reached is more than what was asked for, which the search need not be believed.
        require(verify_permuted(made, request.models), request.models)
    require(verdict, models)
    losses = measure_permuted(table, groups.group)
    counts = table_counts(table, made.records)
    return PermutedRelease(made, models, groups, losses, verdict, counts, dict(request.options), request.max_suppressed)


def check_permuted(table: Table, made: Permuted, group: Longs, most: int) -> None:
    """GuaranteeError unless the two tables are those of enough rows of the input, each with a group."""
    wrong = GuaranteeError("the tables found are not those of the rows of the input: please report it")
    kept = np.flatnonzero(group >= 0)
    rows = table.take(kept)
    known = Table(tuple(column for column in rows.columns if column.role != "sensitive"))
    if Table(tuple(column for column in made.records.columns if column.name != made.group)) != known:
        raise wrong
    listed: Counter[int] = Counter()
    for code, text in zip(made.sensitive.codes.tolist(), made.values.column(made.count).texts(), strict=True):
        listed[code] += int(text or 0)
    if listed != Counter(rows.sensitive[0].codes.tolist()):
        raise wrong
    if len(table) - len(kept) > most:
        raise GuaranteeError("more persons are left out than was allowed: please report it")
