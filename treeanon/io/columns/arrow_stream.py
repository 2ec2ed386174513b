"""A table in memory as a source of rows: whatever gives an Arrow C stream (pandas, polars, pyarrow, DuckDB)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from treeanon.errors import DataError, UsageError
from treeanon.io.columns.column_checks import check_asked, check_names, wrong_row
from treeanon.io.columns.plain_columns import check_kind, plain_column
from treeanon.io.relational.source import OneTable, Place


def arrow_of(frame: Any) -> pa.Table:
    """The Arrow table of a frame; UsageError if it has no Arrow C stream.

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

    name = "the frame"
    files = ""
    by_column = True

    def __init__(self, frame: Any) -> None:
        self._data = arrow_of(frame)
        check_names(self._data.column_names, self.name)
        super().__init__("frame", self._data.column_names)

    def read(self, table: str, columns: Sequence[str], most: int | None = None) -> pa.Table:
        """These columns of the table; see `TableSource`."""
        check_asked(self.tables(), table, columns, self.name)
        data = self._data if most is None else self._data.slice(0, most)
        return pa.table({name: self._plain(name, data[name]) for name in columns}) if columns else data.select([])

    def _plain(self, name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
        wrong = wrong_row(self.name)
        check_kind(name, column.type, wrong)
        try:
            return plain_column(name, column, wrong)
        except (pa.ArrowException, ValueError, TypeError):
            raise DataError("cannot be read", source=self.name, path=name) from None

    def place(self, table: str, row: int) -> Place:
        """Where a row is."""
        return Place(self.name, f"row {row + 1}")

    def close(self) -> None:
        """Nothing is open."""
