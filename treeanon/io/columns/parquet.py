"""Parquet files: the requested columns, texts as dictionaries."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from treeanon.errors import DataError, FileError
from treeanon.io.columns.arrow_stream import check_kind, is_text, plain_column
from treeanon.io.columns.python_values import check_names, row_errors
from treeanon.io.relational.source import Place, listed

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
