"""A SQLite file as tables: opened for reading only, its keys as it declares them, its values as they are."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NoReturn

import pyarrow as pa

from treeanon.errors import DataError, FileError, UsageError
from treeanon.io.columns.python_values import NO_TEXT, GrowingColumn, Wrong, check_columns_exist, row_errors
from treeanon.io.relational.file_store import fill_sqlite, is_plain_file
from treeanon.io.relational.source import DeclaredKeys, Place, TableInfo, ascii_lower, quoted
from treeanon.io.relational.urls import shown
from treeanon.io.sources import STDIN, find_sources
from treeanon.schema.keys import ForeignKey

ENDINGS = (".sqlite", ".sqlite3", ".db")
CHUNK = 50_000
"""Rows that are Python values at once."""

_LONGEST = 10_000_000
_WAIT = 5.0
_DAMAGED = "the database is damaged or ends too early"
_DATA = {
    "SQLITE_NOTADB": "is not a SQLite database, or is encrypted",
    "SQLITE_CORRUPT": _DAMAGED,
    "SQLITE_FORMAT": _DAMAGED,
    "SQLITE_SCHEMA": "the database changed while it was read",
    "SQLITE_TOOBIG": f"a value is longer than {_LONGEST:,} bytes",
}
_FILE = {
    "SQLITE_BUSY": "is locked by another program; close it, or read a copy",
    "SQLITE_LOCKED": "is locked by another program; close it, or read a copy",
    "SQLITE_CANTOPEN": "cannot be opened: there must be permission for it and, if it has a write-ahead log, its folder",
    "SQLITE_READONLY": "has unfinished changes that cannot be rolled back without permission to write",
    "SQLITE_PERM": "there is no permission to read it",
    "SQLITE_AUTH": "there is no permission to read it",
    "SQLITE_IOERR": "cannot be read from disk",
    "SQLITE_NOMEM": "there is not enough memory to read it",
}


class _Text(bytes):
    """A text whose bytes may be anything; a blob would be `bytes`."""


@contextmanager
def _plainly(name: str, place: str = "") -> Iterator[None]:
    """Translate SQLite's errors: its messages can hold data."""
    try:
        yield
    except (sqlite3.Error, UnicodeError) as problem:
        _refuse(problem, name, place)


def _refuse(problem: Exception, name: str, place: str) -> NoReturn:
    code = getattr(problem, "sqlite_errorname", "") or ""
    # Extended codes continue the plain ones: SQLITE_CORRUPT_INDEX.
    family = "_".join(code.split("_")[:2])
    if family in _FILE:
        raise FileError(f"{name}: {_FILE[family]}") from None
    if isinstance(problem, UnicodeError) or (not code and "decode" in str(problem)):
        # Names in the file, and messages of SQLite that hold them.
        raise DataError(_DAMAGED, source=name, place=place) from None
    message = _DATA.get(family, f"cannot be read by SQLite ({code or type(problem).__name__})")
    raise DataError(message, source=name, place=place) from None


class SqliteSource:
    """The tables and views of a SQLite file; `left_out` says which declared keys lead nowhere.

    `free` are the pages that hold nothing any more, but may still have what was deleted.
    """

    files = ""
    by_column = False

    def __init__(
        self, given: str | Path, advance: Callable[[int], None] | None = None, *, called: str | None = None
    ) -> None:
        self.name = called or ("standard input" if str(given) == STDIN else shown(str(given)))
        self._connection: sqlite3.Connection | None = None
        try:
            with _plainly(self.name):
                self._connection = self._connected(given, advance, called)
                _begin(self._connection)
                self._tables = self._described()
                self._stated = self._declared()
                hidden = self._hidden()
                self.free = int(self._connection.execute("PRAGMA freelist_count").fetchone()[0])
        except BaseException:
            self.close()
            raise
        self.left_out = (*self._stated.left_out, *hidden)

    def __repr__(self) -> str:
        return f"SqliteSource({self.name!r})"

    def _connected(
        self, given: str | Path, advance: Callable[[int], None] | None, called: str | None
    ) -> sqlite3.Connection:
        """Return a connection to the file, or to a temporary copy of what is packed or elsewhere."""
        path = Path(given)
        if str(path) != STDIN and is_plain_file(path) and not path.name.lower().endswith(".zip"):
            return _connect(path)
        if path.is_dir():
            raise UsageError(f"{self.name}: is a folder; a SQLite file is expected")
        found = find_sources(given, ENDINGS, called=called).items
        if len(found) != 1:
            raise UsageError(f"{self.name}: holds {len(found)} files; one SQLite file is expected")
        return fill_sqlite(found[0], partial(_connect, more="&nolock=1"), advance)

    @property
    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            raise FileError(f"{self.name}: is closed")
        return self._connection

    def _described(self) -> dict[str, TableInfo]:
        tables = {}
        listed = (
            "SELECT name, type FROM sqlite_master WHERE type IN ('table', 'view') AND sql NOT LIKE 'CREATE VIRTUAL%'"
        )
        for name, kind in self._open.execute(f"{listed} AND typeof(name) = 'text' ORDER BY rowid").fetchall():
            if not ascii_lower(name).startswith("sqlite_") and (info := self._info(name)):
                tables[name] = replace(info, view=kind == "view")
        return tables

    def _hidden(self) -> list[str]:
        """Return what else the file holds: triggers, and statistics that SQLite keeps of tables."""
        listed = (
            "SELECT type, name FROM sqlite_master WHERE type = 'trigger' OR (type = 'table' AND name LIKE 'sqlite_%')"
        )
        return [f"{kind} {name!r} is not looked at" for kind, name in self._open.execute(listed).fetchall()]

    def _info(self, name: str) -> TableInfo | None:
        """Return the columns of a table; None for a view that cannot be used any more."""
        columns = "SELECT name, pk FROM pragma_table_xinfo(?) WHERE hidden <> 1"
        try:
            rows = self._open.execute(columns, (name,)).fetchall()
        except sqlite3.OperationalError as problem:
            if getattr(problem, "sqlite_errorname", "") == "SQLITE_ERROR":
                return None
            raise
        primary = sorted((place, column) for column, place in rows if place)
        return TableInfo(tuple(column for column, _ in rows), tuple(column for _, column in primary)) if rows else None

    def _declared(self) -> DeclaredKeys:
        stated = DeclaredKeys(self._tables, ascii_lower)
        columns = 'SELECT id, "table", "from", "to" FROM pragma_foreign_key_list(?) ORDER BY id DESC, seq'
        for table in self._tables:
            parts: dict[int, list[tuple[str, str, str | None]]] = {}
            for number, *part in self._open.execute(columns, (table,)).fetchall():
                parts.setdefault(number, []).append((part[0], part[1], part[2]))
            for key in parts.values():
                goals = [goal for _, _, goal in key if goal is not None]
                stated.add(table, [own for _, own, _ in key], key[0][0], goals)
        return stated

    def tables(self) -> Mapping[str, TableInfo]:
        """Return all tables and views by name."""
        return self._tables

    def keys(self) -> Sequence[ForeignKey]:
        """Return the foreign keys that the file declares."""
        return self._stated.keys

    def read(self, table: str, columns: Sequence[str], most: int | None = None) -> pa.Table:
        """Return these columns of a table; see `TableSource`."""
        check_columns_exist(self._tables, table, columns, self.name)
        wrong = row_errors(self.name, table)
        # An index would give rows in an order of its own, another one for other columns.
        query = f"SELECT {', '.join(map(quoted, columns)) or '1'} FROM {quoted(table)} NOT INDEXED"
        query += "" if most is None else f" LIMIT {max(most, 0):d}"
        growing = [GrowingColumn(column, wrong) for column in columns or ("",)]
        try:
            cursor = self._open.execute(query)
            while rows := cursor.fetchmany(CHUNK):
                for column, values in zip(growing, zip(*rows, strict=True), strict=True):
                    column.add(values)
        except (sqlite3.Error, UnicodeError) as problem:
            if isinstance(problem, sqlite3.Error) and "decode to UTF-8" in str(problem):
                raise self._not_text(query, columns, wrong) from None
            _refuse(problem, self.name, f"table {table}")
        read = pa.table([column.finish() for column in growing], names=[column.name for column in growing])
        return read if columns else read.select([])

    def _not_text(self, query: str, columns: Sequence[str], wrong: Wrong) -> DataError:
        """Return the error for the text that is not UTF-8: SQLite's own error shows it."""
        connection = self._open
        connection.text_factory = _Text
        try:
            for number, row in enumerate(connection.execute(query)):
                for column, value in zip(columns, row, strict=True):
                    if isinstance(value, _Text) and not _decodes(value):
                        return wrong(column, number, NO_TEXT)
        finally:
            connection.text_factory = str
        return DataError(NO_TEXT, source=self.name)

    def place(self, table: str, row: int) -> Place:
        """Return where row number `row` (from 0) of a table is."""
        return Place(f"{self.name}, table {table}", f"row {row + 1}")

    def close(self) -> None:
        """Close the file; a copy of it is then gone."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _decodes(value: bytes) -> bool:
    try:
        value.decode()
    except UnicodeDecodeError:
        return False
    return True


def _connect(path: Path, more: str = "") -> sqlite3.Connection:
    """Return a connection that has opened a file and read nothing of it yet."""
    address = f"{path.absolute().as_uri()}?mode=ro{more}"
    return sqlite3.connect(address, uri=True, timeout=_WAIT, isolation_level=None)


def _begin(connection: sqlite3.Connection) -> None:
    """Begin to read one snapshot of a file, and trust nothing in it."""
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST)
    for setting in ("trusted_schema = OFF", "cell_size_check = ON", "query_only = ON"):
        connection.execute(f"PRAGMA {setting}")
    # Lets signals be heard during a query that gives no row.
    connection.set_progress_handler(lambda: 0, 1_000_000)
    connection.execute("BEGIN")
    connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
