"""Tables whose rows count for several persons each, by a column of numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from treeanon.arrays import Longs
from treeanon.errors import UsageError
from treeanon.hierarchy import Flat
from treeanon.schema import Schema
from treeanon.schema.controls import Controls
from treeanon.schema.model import ClassSpec, InputSpec
from treeanon.schema.paths import FieldPath, Step
from treeanon.table.table import Column

_MOST_DIGITS = 15


def counting_schema(columns: Sequence[Column], count: str) -> Schema:
    """Return the schema of a file of rows with these columns, as they stand in files, and one of counts (if named)."""
    specs = [
        replace(
            column.spec,
            path=FieldPath((Step(column.header),)),
            hierarchy=column.hierarchy,
            hierarchy_source=None,
            under=None,
            on_unknown="error",
            shift="",
            facets={},
            controls=Controls(),
        )
        for column in columns
    ]
    if count in [spec.name for spec in specs] or count in [column.header for column in columns]:
        raise UsageError(f"column {count!r} is a quasi-identifier, and cannot hold the counts of a population")
    if count:
        specs.append(ClassSpec(count, FieldPath((Step(count),)), role="keep", hierarchy=Flat()))
    return Schema(InputSpec("csv"), tuple(specs))


def numbers_in(column: Column) -> Longs | None:
    """Return the whole number in every row, 0 or more; None if there is anything else.

    >>> from treeanon.hierarchy import Hierarchy
    >>> from treeanon.table import Table
    >>> [numbers_in(Table.of_texts({"n": (t, Hierarchy.flat(t))}).columns[0]) for t in (["3", "10"], ["3", "-1"])]
    [array([ 3, 10]), None]
    """
    used, row = np.unique(column.codes, return_inverse=True)
    texts = ["" if code < 0 else column.values[code] for code in used.tolist()]
    if not all(text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS for text in texts):
        return None
    found: Longs = np.array([int(text) for text in texts], np.int64)[row]
    return found
