"""Columns of Arrow in the few types that sources give, after a look at their values: from Parquet files or from memory.

In memory it is whatever gives an Arrow C stream (pandas, polars, pyarrow, DuckDB), and dicts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pyarrow.types as of

from treeanon.errors import DataError, FileError, UsageError
from treeanon.io.columns.python_values import (
    DICTIONARY,
    NO_TEXT,
    GrowingColumn,
    Wrong,
    check_columns_exist,
    check_names,
    check_numbers,
    check_texts,
    row_errors,
)
from treeanon.io.relational.source import OneTable, Place, listed


class ArrowFrame(Protocol):
    """A frame of pandas (2.2 or later), polars, pyarrow or DuckDB: whatever has an Arrow C stream."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return the capsule that holds the stream."""


def is_text(kind: pa.DataType) -> bool:
    """Return whether values of a type are texts, or bytes that should be."""
    kind = kind.value_type if of.is_dictionary(kind) else kind
    checks = (of.is_string, of.is_large_string, of.is_string_view, of.is_binary, of.is_large_binary, of.is_binary_view)
    return any(check(kind) for check in checks)


def check_kind(name: str, kind: pa.DataType, wrong: Wrong) -> None:
    """Refuse a column of a type that no class can have."""
    kind = kind.value_type if of.is_dictionary(kind) else kind
    known = (of.is_integer, of.is_floating, of.is_decimal, of.is_boolean, of.is_date, of.is_time, of.is_timestamp)
    if not any(check(kind) for check in (*known, of.is_null, is_text)):
        raise wrong(name, -1, f"values of the kind {kind} are not supported")


def plain_column(name: str, column: pa.ChunkedArray, wrong: Wrong) -> pa.ChunkedArray:
    """Return a column with one of the types that sources have, after a check of its values."""
    kind = column.type
    if of.is_dictionary(kind) and not is_text(kind.value_type):
        column = column.cast(kind.value_type)
        kind = column.type
    if of.is_dictionary(kind) or is_text(kind):
        return _texts(name, column, wrong)
    if of.is_floating(kind):
        column = column.cast(pa.float32()) if of.is_float16(kind) else column
        _each(name, column, check_numbers, wrong)
    elif of.is_uint64(kind):
        largest = pc.max(column).as_py()
        column = column.cast(pa.int64() if (largest or 0) < 1 << 63 else pa.string())
    elif of.is_null(kind) or of.is_time(kind):
        column = column.cast(pa.string())
    return column


def _each(name: str, column: pa.ChunkedArray, check: Callable[[str, pa.Array, int, Wrong], None], wrong: Wrong) -> None:
    start = 0
    for chunk in column.chunks:
        check(name, chunk, start, wrong)
        start += len(chunk)


def _texts(name: str, column: pa.ChunkedArray, wrong: Wrong) -> pa.ChunkedArray:
    # Neither Parquet nor a stream guarantees that string columns are UTF-8; bytes are checked as texts.
    bytes_kind = pa.dictionary(pa.int32(), pa.binary()) if of.is_dictionary(column.type) else pa.binary()
    wanted = DICTIONARY if of.is_dictionary(column.type) else pa.string()
    chunks, start = [], 0
    for chunk in column.chunks:
        try:
            plain = chunk if chunk.type == wanted else chunk.cast(wanted)
        except pa.ArrowInvalid:
            raise _not_text(name, chunk.cast(bytes_kind), start, wrong) from None
        check_texts(name, plain, start, wrong)
        chunks.append(plain)
        start += len(chunk)
    return pa.chunked_array(chunks, wanted)


def _not_text(name: str, chunk: pa.Array, start: int, wrong: Wrong) -> DataError:
    for row, value in enumerate(chunk.to_pylist()):
        try:
            (value or b"").decode()
        except UnicodeDecodeError:
            return wrong(name, start + row, NO_TEXT)
    return wrong(name, start, NO_TEXT)


def arrow_of(frame: Any) -> pa.Table:
    """Return the Arrow table of a frame; UsageError if it has no Arrow C stream.

    >>> arrow_of(pa.table({"age": [34]})).column_names
    ['age']
    """
    if isinstance(frame, pa.Table):
        return frame
    if not hasattr(frame, "__arrow_c_stream__"):
        kind = f"{type(frame).__module__}.{type(frame).__qualname__}"
        raise UsageError(
            f"a {kind} has no Arrow C stream (__arrow_c_stream__), as frames of pandas, polars, pyarrow and DuckDB have"
        )
    try:
        return pa.RecordBatchReader.from_stream(frame).read_all()
    except MemoryError:
        raise
    except Exception:
        # The message may show a value.
        raise DataError("cannot be read as Arrow: does a column mix types?", source="the frame") from None


class FrameSource(OneTable):
    """An Arrow table as the only table of a source, for as long as it is read."""

    files = ""
    by_column = True

    def __init__(self, frame: Any, name: str = "the frame") -> None:
        self._data = arrow_of(frame)
        self.name = name
        check_names(self._data.column_names, self.name)
        super().__init__("frame", self._data.column_names)

    def read(self, table: str, columns: Sequence[str], most: int | None = None) -> pa.Table:
        """Return these columns of the table; see `TableSource`."""
        check_columns_exist(self.tables(), table, columns, self.name)
        data = self._data if most is None else self._data.slice(0, most)
        return pa.table({name: self._plain(name, data[name]) for name in columns}) if columns else data.select([])

    def _plain(self, name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
        wrong = row_errors(self.name)
        check_kind(name, column.type, wrong)
        try:
            return plain_column(name, column, wrong)
        except (pa.ArrowException, ValueError, TypeError):
            raise DataError("cannot be read", source=self.name, path=name) from None

    def place(self, table: str, row: int) -> Place:
        """Return where a row is."""
        return Place(self.name, f"row {row + 1}")

    def close(self) -> None:
        """Do nothing: nothing is open."""


class DictSource(OneTable):
    """Rows given as dicts, as the only table of a source; a column that a row lacks is null there.

    `further` are columns that the table has although no row names them.

    >>> DictSource([{"age": 34}, {"town": "Ulm"}]).read("rows", ["age", "town"]).to_pylist()
    [{'age': 34, 'town': None}, {'age': None, 'town': 'Ulm'}]
    """

    files = ""
    by_column = True

    def __init__(self, rows: Sequence[Mapping[str, Any]], name: str = "the rows", further: Sequence[str] = ()) -> None:
        self._rows, self.name = rows, name
        columns = list(dict.fromkeys([*(column for row in rows for column in row), *further]))
        if not all(isinstance(column, str) for column in columns):
            raise UsageError(f"{name}: the keys of rows are names of columns, so they must be texts")
        check_names(columns, name)
        super().__init__("rows", columns)

    def read(self, table: str, columns: Sequence[str], most: int | None = None) -> pa.Table:
        """Return these columns of the table; see `TableSource`."""
        check_columns_exist(self.tables(), table, columns, self.name)
        rows = self._rows if most is None else self._rows[:most]
        if not columns:
            return pa.table({"": pa.nulls(len(rows))}).select([])
        return pa.table({column: self._column(column, rows) for column in columns})

    def _column(self, name: str, rows: Sequence[Mapping[str, Any]]) -> pa.ChunkedArray:
        column = GrowingColumn(name, row_errors(self.name))
        column.add([row.get(name) for row in rows])
        return column.finish()

    def place(self, table: str, row: int) -> Place:
        """Return where a row is."""
        return Place(self.name, f"row {row + 1}")

    def close(self) -> None:
        """Do nothing: nothing is open."""


_LONGEST_FOOTER_TEXT = 64 << 20


@contextmanager
def _plainly(name: str) -> Iterator[None]:
    """Translate the library's errors: its messages may show data."""
    try:
        yield
    except MemoryError:
        raise
    except OSError as problem:
        if problem.errno is not None:
            why = problem.strerror or type(problem).__name__
            raise FileError(f"{name}: cannot be read: {why if problem.filename else type(problem).__name__}") from None
        raise DataError("is damaged, ends too early, or is not a Parquet file", source=name) from None
    except (pa.ArrowException, ValueError, TypeError, IndexError, KeyError, UnicodeError):
        raise DataError("is damaged, ends too early, or is not a Parquet file", source=name) from None


class ParquetFile:
    """One Parquet file at `path`, called `name`."""

    def __init__(self, path: Path, name: str, fields: Sequence[str] | None = None) -> None:
        self.path, self.name = path, name
        with _plainly(name), self._opened() as file:
            self.schema = file.schema_arrow
            self.rows = file.metadata.num_rows
        self.columns = tuple(self.schema.names)
        self._check_columns(fields)

    @contextmanager
    def _opened(self, dictionaries: Sequence[str] = ()) -> Iterator[pq.ParquetFile]:
        with pq.ParquetFile(
            self.path,
            read_dictionary=list(dictionaries) or None,
            thrift_string_size_limit=_LONGEST_FOOTER_TEXT,
            page_checksum_verification=True,
        ) as file:
            yield file

    def _check_columns(self, fields: Sequence[str] | None) -> None:
        if not self.columns:
            raise DataError("has no columns", source=self.name)
        check_names(self.columns, self.name)
        missing = [name for name in fields or () if name not in self.columns]
        if missing:
            message = f"has no column {listed(missing)} as in datapackage.json; it has: {listed(self.columns)}"
            raise DataError(message, source=self.name)

    def read(
        self, columns: Sequence[str], most: int | None = None, advance: Callable[[int], None] | None = None
    ) -> pa.Table:
        """Return the requested columns; invalid values are refused by column and row."""
        with self._columns(columns) as file:
            groups = self._groups(file, most)
            table = file.read_row_groups(groups, columns=list(columns)).select(list(columns))
            if not columns:
                rows = sum(file.metadata.row_group(group).num_rows for group in groups)
                return pa.table({"": pa.nulls(rows if most is None else min(rows, most))}).select([])
            if advance is not None:
                advance(_stored(file, groups, set(columns)))
        return self._plain(table if most is None else table.slice(0, most))

    def starts(self) -> list[int]:
        """Return the first row of every row group; a file without any has one that is empty."""
        with _plainly(self.name), self._opened() as file:
            sizes = [file.metadata.row_group(group).num_rows for group in range(file.metadata.num_row_groups)]
        return [sum(sizes[:group]) for group in range(len(sizes) or 1)]

    def read_group(self, group: int, start: int, columns: Sequence[str]) -> pa.Table:
        """Return one or more columns of the row group that begins at row `start`."""
        with self._columns(columns) as file:
            groups = [group] if group < file.metadata.num_row_groups else []
            table = file.read_row_groups(groups, columns=list(columns)).select(list(columns))
        return self._plain(table, start)

    @contextmanager
    def _columns(self, columns: Sequence[str]) -> Iterator[pq.ParquetFile]:
        """Return the file, opened for these columns."""
        for name in columns:
            check_kind(name, self.schema.field(name).type, row_errors(self.name))
        texts = [name for name in columns if is_text(self.schema.field(name).type)]
        with _plainly(self.name), self._opened(texts) as file:
            yield file

    def _plain(self, table: pa.Table, start: int = 0) -> pa.Table:
        """Return rows starting at `start`, with columns of the types that sources have."""
        wrong = row_errors(self.name, start=start)
        with _plainly(self.name):
            plain = [plain_column(name, table[name], wrong) for name in table.column_names]
        return pa.table(plain, names=table.column_names).unify_dictionaries()

    def _groups(self, file: pq.ParquetFile, most: int | None) -> list[int]:
        """Return the row groups that hold the first rows."""
        groups, rows = [], 0
        for group in range(file.metadata.num_row_groups):
            if most is not None and rows >= most:
                break
            groups.append(group)
            rows += file.metadata.row_group(group).num_rows
        return groups

    def place(self, row: int) -> Place:
        """Return where a row is."""
        return Place(self.name, f"row {row + 1}")


def _stored(file: pq.ParquetFile, groups: Sequence[int], columns: set[str]) -> int:
    """Return the number of bytes that the columns take up in the file."""
    size = 0
    for group in groups:
        row_group = file.metadata.row_group(group)
        parts = (row_group.column(i) for i in range(row_group.num_columns))
        size += sum(part.total_compressed_size for part in parts if part.path_in_schema in columns)
    return size
