"""Everything that a release of a table has lost, measured at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from treeanon.errors import UsageError
from treeanon.metrics.table.groups import (
    average_class_size,
    classification,
    discernibility,
    height,
    precision,
    row_counts,
)
from treeanon.metrics.table.ncp import Form, Weights, mean_of, ncp
from treeanon.metrics.table.statistics import lost_variance
from treeanon.shown import Grid, Shown, Summary
from treeanon.table import Column, Table


def _ncp(original: Table, column: Column, form: Form, gone: int) -> float:
    """Return the NCP of a column; of one of means, the share of the squares of its deviations that is gone."""
    if not column.spec.controls.microaggregate:
        return ncp(column, form, gone)
    rows = len(column.codes) + gone
    kept = lost_variance(original.column(column.name), column)
    return (kept * len(column.codes) + gone) / rows if rows else 0.0


@dataclass(frozen=True, repr=False)
class FlatLosses(Shown):
    """Utility losses of a release of a table compared with its input of `rows` rows.

    All but `precision` (1: nothing lost) are lower for better releases. `gcp_taxonomy` and `gcp_set` are the means over
    the quasi columns of what `ncp_taxonomy` and `ncp_set` say of each, from 0 to 1; `discernibility` (DM) adds up the
    rows that each row is confused with, `classification` (CM) is the share of rows whose label a reader would guess
    wrong (None: no label), `average_class_size` (C_avg) is of the `groups` published and has k divided out if k is
    given, `height` counts steps up the hierarchies.
    """

    gcp_taxonomy: float
    gcp_set: float
    ncp_taxonomy: Mapping[str, float]
    ncp_set: Mapping[str, float]
    discernibility: int
    classification: float | None
    average_class_size: float
    precision: float
    height: int
    groups: int
    rows: int
    suppressed: int

    def _summary(self) -> Summary:
        rows = [[name, loss, self.ncp_set[name]] for name, loss in self.ncp_taxonomy.items()]
        line = f"GCP {self.gcp_taxonomy:.3f} (taxonomy), {self.gcp_set:.3f} (set)"
        facts = [("rows left out", f"{self.suppressed:,} of {self.rows:,}"), ("groups", self.groups)]
        facts += [("precision", f"{self.precision:.3f}"), ("discernibility", self.discernibility)]
        return Summary("FlatLosses", line, facts, [Grid("NCP", ["Column", "Taxonomy", "Set"], rows)])

    def as_dict(self) -> dict[str, Any]:
        """Return the same as plain data, as `--json` has it."""
        return asdict(self)


def measure(
    original: Table,
    released: Table,
    suppressed: int | None = None,
    *,
    label: str | None = None,
    k: int = 1,
    weights: Weights | None = None,
) -> FlatLosses:
    """Return all losses of a release; rows of the original that it lacks count as suppressed.

    Losses speak of rows, whoever's they are, in whatever order. `suppressed` need not be told: it is checked. `label`
    is the column of the classification metric, `weights` what columns count for in the GCP.

    >>> from treeanon.hierarchy import Hierarchy
    >>> sexes = Hierarchy.flat(["f", "m"])
    >>> original, released = (Table.of_texts({"sex": (texts, sexes)}) for texts in (["f", "f", "m"], ["f", "f"]))
    >>> losses = measure(original, released)
    >>> losses.suppressed, losses.discernibility, round(losses.gcp_set, 3), losses.height
    (1, 7, 0.333, 0)
    """
    names = [[column.name for column in table.quasi] for table in (original, released)]
    if names[0] != names[1]:
        raise UsageError("a release must have the quasi columns of its input, in their order")
    gone = len(original) - len(released)
    if gone < 0 or suppressed not in (None, gone):
        raise UsageError(f"a release of {len(released):,} rows cannot lack {suppressed or 0:,} of {len(original):,}")
    taxonomy = {column.name: _ncp(original, column, "taxonomy", gone) for column in released.quasi}
    as_sets = {column.name: _ncp(original, column, "set", gone) for column in released.quasi}
    sizes = row_counts(released)
    return FlatLosses(
        mean_of(taxonomy, weights),
        mean_of(as_sets, weights),
        taxonomy,
        as_sets,
        discernibility(released, gone, sizes),
        None if label is None else classification(released, label, gone),
        average_class_size(released, k, sizes),
        precision(released, gone),
        height(released),
        len(sizes),
        len(original),
        gone,
    )
