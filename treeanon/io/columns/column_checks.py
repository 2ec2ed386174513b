"""Checks of every column that is read: it exists, its texts are valid, its numbers are finite or null."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from treeanon.errors import DataError
from treeanon.io.relational.source import TableInfo

Wrong = Callable[[str, int, str], DataError]
"""The error to raise, given a column, a row (from 0) and what is wrong there."""

DICTIONARY = pa.dictionary(pa.int32(), pa.string())
NO_TEXT = "is not UTF-8"
NUL = "holds a NUL character"
NO_NUMBER = "is not a number (NaN) or infinite"
_LISTED = 40


def listed(names: Iterable[str]) -> str:
    """Return names in quotes for a message; of very many only the first.

    >>> listed(["a", "b c"]), listed([])
    ("'a', 'b c'", 'none')
    """
    names = list(names)
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return ", ".join(repr(name) for name in names[:_LISTED]) + more or "none"


def check_columns_exist(tables: Mapping[str, TableInfo], table: str, columns: Sequence[str], source: str) -> None:
    """Check that a table and columns exist; the error lists those that do."""
    if table not in tables:
        raise DataError(f"unknown table {table!r}; choose from {listed(tables)}", source=source)
    known = tables[table].columns
    missing = [column for column in columns if column not in known]
    if missing:
        message = f"unknown column {listed(missing)}; choose from {listed(known)}"
        raise DataError(message, source=source, place=f"table {table}")


def check_names(names: Sequence[str], source: str) -> None:
    """Check that every column has a name, and no two have the same."""
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice or "" in names:
        raise DataError(
            f"has columns without a name or with the same name: {listed(sorted(twice) or [''])}", source=source
        )


def row_errors(source: str, table: str = "", start: int = 0) -> Wrong:
    """Return a function that makes errors which name a row by its number (from 1), or no row for -1, and the table if
    there are several.

    `start` rows are before those that are looked at.
    """

    def wrong(column: str, row: int, message: str) -> DataError:
        place = [*([f"table {table}"] if table else ()), *([f"row {start + row + 1}"] if row >= 0 else ())]
        return DataError(message, source=source, place=", ".join(place), path=column)

    return wrong


def check_texts(column: str, array: pa.Array, start: int, wrong: Wrong) -> None:
    """Check that texts (or a dictionary of texts) are UTF-8 without NUL, which no other format could hold."""
    texts = array.dictionary if pa.types.is_dictionary(array.type) else array
    try:
        texts.validate(full=True)
        array.validate(full=True)
    except pa.ArrowInvalid:
        raise wrong(column, start + _first_broken(array), NO_TEXT) from None
    if _may_hold_nul(texts):
        held = pc.fill_null(pc.match_substring(texts, "\0"), False)
        if pa.types.is_dictionary(array.type):
            held = pc.fill_null(held.take(array.indices), False)
        found = held.index(True).as_py()
        if found >= 0:
            raise wrong(column, start + found, NUL)


def _may_hold_nul(texts: pa.Array) -> bool:
    """Return whether the bytes under an array of texts hold a NUL; those of a slice also hold what lies outside it."""
    content = texts.buffers()[2] if len(texts) else None
    return content is not None and not bool(np.frombuffer(content, np.uint8).all())


def _first_broken(array: pa.Array) -> int:
    """Return the first row whose text is not UTF-8 (0 if it is the array that is broken)."""
    if pa.types.is_dictionary(array.type):
        broken = _first_broken(array.dictionary)
        found: int = array.indices.index(pa.scalar(broken, array.indices.type)).as_py()
        return max(found, 0)
    large = pa.types.is_large_string(array.type)
    for row, value in enumerate(array.view(pa.large_binary() if large else pa.binary())):
        try:
            (value.as_py() or b"").decode()
        except UnicodeDecodeError:
            return row
    return 0


def check_numbers(column: str, array: pa.Array, start: int, wrong: Wrong) -> None:
    """Check that no floating-point number is NaN or infinite."""
    bad = pc.fill_null(pc.invert(pc.is_finite(array)), False)
    found = bad.index(True).as_py()
    if found >= 0:
        raise wrong(column, start + found, NO_NUMBER)


def same_types(tables: Sequence[pa.Table]) -> list[pa.Table]:
    """Return parts of one table with the same type for each column: where others are texts, dictionaries and
    integers become texts.
    """
    wanted = []
    for field in tables[0].schema:
        types = {part.schema.field(field.name).type for part in tables}
        if len(types) == 1 or types - {pa.string(), pa.int64(), DICTIONARY}:
            wanted.append(field)
        else:
            wanted.append(field.with_type(pa.string()))
    return [part if part.schema.equals(pa.schema(wanted)) else _cast(part, wanted) for part in tables]


def _cast(part: pa.Table, wanted: Sequence[pa.Field]) -> pa.Table:
    columns = [
        part[field.name].cast(pa.string()) if field.type == pa.string() else part[field.name] for field in wanted
    ]
    return pa.table(columns, names=[field.name for field in wanted])
