"""Parquet files: the columns asked for, texts as dictionaries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pyarrow.types as of

from treeanon.errors import DataError, FileError
from treeanon.io.tables.checks import DICTIONARY, NO_TEXT, Wrong, check_numbers, check_texts, listed
from treeanon.io.tables.source import Place

_LONGEST_FOOTER_TEXT = 64 << 20


@contextmanager
def _plainly(name: str) -> Iterator[None]:
    """Turns the library's errors into ours: its messages may show what was read."""
    try:
        yield
    except MemoryError:
        raise
    except OSError as problem:
        if problem.errno is not None:
            why = problem.strerror or type(problem).__name__
            raise FileError(f"{name}: cannot be read: {why if problem.filename else type(problem).__name__}") from None
        raise DataError("is damaged, ends too early, or is no Parquet file", source=name) from None
    except (pa.ArrowException, ValueError, TypeError, IndexError, KeyError, UnicodeError):
        raise DataError("is damaged, ends too early, or is no Parquet file", source=name) from None


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
        twice = sorted(name for name, times in Counter(self.columns).items() if times > 1)
        if twice or "" in self.columns:
            raise DataError(f"names columns twice or not at all: {listed(twice or [''])}", source=self.name)
        missing = [name for name in fields or () if name not in self.columns]
        if missing:
            message = f"has no column {listed(missing)} as in datapackage.json; it has: {listed(self.columns)}"
            raise DataError(message, source=self.name)

    def read(
        self, columns: Sequence[str], most: int | None = None, advance: Callable[[int], None] | None = None
    ) -> pa.Table:
        """These columns; what no value can be is refused by column and row."""
        for name in columns:
            self._check_kind(name, self.schema.field(name).type)
        texts = [name for name in columns if _is_text(self.schema.field(name).type)]
        with _plainly(self.name), self._opened(texts) as file:
            groups = self._groups(file, most)
            table = file.read_row_groups(groups, columns=list(columns)).select(list(columns))
            if not columns:
                rows = sum(file.metadata.row_group(group).num_rows for group in groups)
                return pa.table({"": pa.nulls(rows if most is None else min(rows, most))}).select([])
            if advance is not None:
                advance(_stored(file, groups, set(columns)))
        table = table if most is None else table.slice(0, most)
        plain = [self._plain(name, table[name]) for name in columns]
        return pa.table(plain, names=list(columns)).unify_dictionaries() if columns else table

    def _groups(self, file: pq.ParquetFile, most: int | None) -> list[int]:
        """The row groups that hold the first rows."""
        groups, rows = [], 0
        for group in range(file.metadata.num_row_groups):
            if most is not None and rows >= most:
                break
            groups.append(group)
            rows += file.metadata.row_group(group).num_rows
        return groups

    def _check_kind(self, name: str, kind: pa.DataType) -> None:
        kind = kind.value_type if of.is_dictionary(kind) else kind
        known = (of.is_integer, of.is_floating, of.is_decimal, of.is_boolean, of.is_date, of.is_time, of.is_timestamp)
        if not any(check(kind) for check in (*known, of.is_null, _is_text)):
            raise DataError(f"values of the kind {kind} are not supported", source=self.name, path=name)

    def _wrong(self) -> Wrong:
        def wrong(column: str, row: int, message: str) -> DataError:
            return DataError(message, source=self.name, place=f"row {row + 1}", path=column)

        return wrong

    def _plain(self, name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
        """A column with one of the types that sources have, after a check of its values."""
        kind = column.type
        if of.is_dictionary(kind) and not _is_text(kind.value_type):
            with _plainly(self.name):
                column = column.cast(kind.value_type)
            kind = column.type
        if of.is_dictionary(kind) or _is_text(kind):
            return self._texts(name, column)
        if of.is_floating(kind):
            column = column.cast(pa.float32()) if of.is_float16(kind) else column
            self._each(name, column, check_numbers)
        elif of.is_uint64(kind):
            largest = pc.max(column).as_py()
            column = column.cast(pa.int64() if (largest or 0) < 1 << 63 else pa.string())
        elif of.is_null(kind) or of.is_time(kind):
            column = column.cast(pa.string())
        return column

    def _each(self, name: str, column: pa.ChunkedArray, check: Callable[[str, pa.Array, int, Wrong], None]) -> None:
        start = 0
        for chunk in column.chunks:
            check(name, chunk, start, self._wrong())
            start += len(chunk)

    def _texts(self, name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
        # Parquet does not promise that what it calls texts are texts; bytes are looked at as texts.
        bytes_kind = pa.dictionary(pa.int32(), pa.binary()) if of.is_dictionary(column.type) else pa.binary()
        wanted = DICTIONARY if of.is_dictionary(column.type) else pa.string()
        chunks, start = [], 0
        for chunk in column.chunks:
            try:
                plain = chunk if chunk.type == wanted else chunk.cast(wanted)
            except pa.ArrowInvalid:
                raise self._not_text(name, chunk.cast(bytes_kind), start) from None
            check_texts(name, plain, start, self._wrong())
            chunks.append(plain)
            start += len(chunk)
        return pa.chunked_array(chunks, wanted)

    def _not_text(self, name: str, chunk: pa.Array, start: int) -> DataError:
        values = chunk.to_pylist()
        for row, value in enumerate(values):
            try:
                (value or b"").decode()
            except UnicodeDecodeError:
                return self._wrong()(name, start + row, NO_TEXT)
        return self._wrong()(name, start, NO_TEXT)

    def place(self, row: int) -> Place:
        """Where a row is."""
        return Place(self.name, f"row {row + 1}")


def _is_text(kind: pa.DataType) -> bool:
    kind = kind.value_type if of.is_dictionary(kind) else kind
    strings = of.is_string(kind) or of.is_large_string(kind) or of.is_string_view(kind)
    return bool(strings or of.is_binary(kind) or of.is_large_binary(kind))


def _stored(file: pq.ParquetFile, groups: Sequence[int], columns: set[str]) -> int:
    """The bytes that the columns take up in the file."""
    size = 0
    for group in groups:
        row_group = file.metadata.row_group(group)
        parts = (row_group.column(i) for i in range(row_group.num_columns))
        size += sum(part.total_compressed_size for part in parts if part.path_in_schema in columns)
    return size
