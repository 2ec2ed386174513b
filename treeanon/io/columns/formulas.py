"""Texts of CSV files that spreadsheets would take as formulas, and the apostrophe that keeps them from it.

A spreadsheet runs what begins with one of a few marks, whoever wrote it. With `csv_safe` such texts are written with an
apostrophe before them, which the reader takes off again. So that this is exact, texts get one more that begin with
apostrophes before such a mark.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from treeanon.shown import counted

if TYPE_CHECKING:
    import pyarrow as pa

    from treeanon.io.relational.arrow_tables import TableOut
    from treeanon.schema.model import ClassSpec

LOG = logging.getLogger("treeanon.warnings")

_NUMBER = r"[+-]?(?:[0-9]+(?:[.,][0-9]*)?|[.,][0-9]+)(?:[eE][+-]?[0-9]+)?"
_FORMULA = re.compile(rf"(?!{_NUMBER}\Z)[=+\-@\t\r\n＝＋－＠]")
_SHIELDED = re.compile(rf"'+{_FORMULA.pattern}")
_ANY = re.compile(rf"'*{_FORMULA.pattern}")


def is_formula(text: str) -> bool:
    """Return whether a spreadsheet may take a text as a formula; plain numbers are none.

    >>> [is_formula(text) for text in ("=1+1", "-5", "-5 … 3", "+49 170", "@x", "a=b", "'=1")]
    [True, False, True, True, True, False, False]
    """
    return _FORMULA.match(text) is not None


def shielded(text: str) -> str:
    """Return how a text is written so that no spreadsheet takes it as a formula.

    >>> print(shielded("=1+1"), shielded("'=1+1"), shielded("-5"), shielded("'a"))
    '=1+1 ''=1+1 -5 'a
    """
    return f"'{text}" if _ANY.match(text) else text


def unshielded(text: str) -> str:
    """Return the text that was written so.

    >>> all(unshielded(shielded(text)) == text for text in ("=1", "'=1", "''@", "-5", "'-5", "a", ""))
    True
    """
    return text[1:] if _SHIELDED.match(text) else text


def are_shielded(specs: Iterable[ClassSpec]) -> bool:
    """Return whether the values of a schema's classes are written so."""
    return any(spec.csv_safe for spec in specs)


def shield(data: pa.Table) -> pa.Table:
    """Return a table whose texts no spreadsheet takes as formulas."""
    import pyarrow as pa

    columns = []
    for column in data.columns:
        if pa.types.is_string(column.type):
            coded = column.combine_chunks().dictionary_encode()
            texts = coded.dictionary.to_pylist()
            if any(map(_ANY.match, texts)):
                column = pa.array(map(shielded, texts), pa.string()).take(coded.indices)
        columns.append(column)
    return pa.table(columns, names=data.column_names)


def warn_of_formulas(table: TableOut) -> None:
    """Log how many texts of which columns of a table a spreadsheet would take as formulas, if there are any."""
    import pyarrow as pa

    found = {}
    prefix = f"{table.name}." if table.primary or table.foreign else ""
    for column, values in zip(table.data.column_names, table.data.columns, strict=True):
        if pa.types.is_string(values.type):
            coded = values.combine_chunks().dictionary_encode()
            wrong = np.array([is_formula(text) for text in coded.dictionary.to_pylist()], bool)
            if wrong.any():
                found[prefix + column] = int(wrong[np.asarray(coded.indices.drop_null())].sum())
    if found:
        where = ", ".join(f"{column} ({times:,})" for column, times in found.items())
        LOG.warning(
            "a spreadsheet would take %s as formulas: %s; --csv-safe, or csv_safe = true in [output] of the schema,"
            " writes them so that it does not",
            counted(sum(found.values()), "text"),
            where,
        )
