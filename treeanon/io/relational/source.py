"""What a relational input is to those who join it: named tables of columns, and the keys it declares.

SQLite files, folders of tables and databases each implement `TableSource`; nothing above them knows which it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from treeanon.schema.keys import ForeignKey

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class TableInfo:
    """One table: its columns in order, and the columns of its primary key, if it declares one."""

    columns: tuple[str, ...]
    primary: tuple[str, ...] = ()


@dataclass(frozen=True)
class Place:
    """Where a row of a table is, as messages say it: the file (or the input and table), and the line or row."""

    source: str
    place: str


class KeyedTables(Protocol):
    """Tables and the keys between them. `name` is how messages call the whole input, without any secret.

    `files` says what kind of files hold the tables ("csv", "tsv", "parquet"; "" for one file or a database);
    `left_out` which declared keys lead nowhere, and which files hold no table, and why.
    """

    name: str
    files: str
    left_out: tuple[str, ...]

    def tables(self) -> Mapping[str, TableInfo]:
        """All tables by name."""

    def keys(self) -> Sequence[ForeignKey]:
        """The foreign keys that the input itself declares between its tables."""


class TableSource(KeyedTables, Protocol):
    """Tables that can be read column by column.

    `by_column` says whether columns are as well read one after another, with rows in the same order.
    """

    by_column: bool

    def read(self, table: str, columns: Sequence[str], most: int | None = None) -> pa.Table:
        """These columns of a table, rows in stored order; only the first `most` rows if that is given.

        Columns keep the type that the input has for them: integers, decimals, floats, booleans, dates, timestamps,
        texts (as strings or dictionaries of strings); null is null. Whatever cannot be read is a DataError that names
        table and row, and never a value.
        """

    def place(self, table: str, row: int) -> Place:
        """Where row number `row` (from 0) of a table is."""

    def close(self) -> None:
        """Gives up what is open."""


class OneTable:
    """What sources with a single table share; `columns` are its columns."""

    left_out: tuple[str, ...] = ()

    def __init__(self, table: str, columns: Sequence[str]) -> None:
        self.table = table
        self._tables = {table: TableInfo(tuple(columns))}

    def tables(self) -> Mapping[str, TableInfo]:
        """The one table, without keys."""
        return self._tables

    def keys(self) -> Sequence[ForeignKey]:
        """None."""
        return ()

    def stars(self) -> pa.ChunkedArray | None:
        """The column that has `*` for persons of whom not even a class is published, if there is one."""
        return None
