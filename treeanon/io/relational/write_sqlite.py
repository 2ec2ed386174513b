"""Released tables as one SQLite file, with their keys as constraints."""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import BinaryIO

from treeanon.errors import FileError, UsageError
from treeanon.io.relational.arrow_tables import TableOut
from treeanon.io.relational.sql_names import ascii_lower, quoted

_TYPES = {"integer": "INTEGER", "number": "REAL", "text": "TEXT"}
_AT_ONCE = 50_000


def check_names(tables: Sequence[TableOut]) -> None:
    """UsageError where SQLite could not tell names apart, or keeps them for itself."""
    names = [table.name for table in tables]
    _check_apart("tables", names)
    for table in tables:
        _check_apart(f"columns of table {table.name!r}", table.data.column_names)
        if ascii_lower(table.name).startswith("sqlite_"):
            raise UsageError(
                f"SQLite does not take {table.name!r} as a table's name; write another format (--to tables)"
            )


def _check_apart(what: str, names: Sequence[str]) -> None:
    folded: dict[str, str] = {}
    for name in names:
        other = folded.setdefault(ascii_lower(name), name)
        if other != name:
            raise UsageError(
                f"SQLite takes the {what} {other!r} and {name!r} for one; write another format (--to tables)"
            )


def write_sqlite(tables: Sequence[TableOut], stream: BinaryIO) -> None:
    """Writes a database of these tables."""
    check_names(tables)
    with tempfile.TemporaryDirectory(prefix="treeanon-") as folder:
        path = Path(folder) / "release.sqlite"
        try:
            _make(tables, path)
        except sqlite3.Error as problem:
            # What sqlite says may quote data.
            raise FileError(f"the SQLite file cannot be made ({type(problem).__name__})") from None
        with path.open("rb") as made:
            shutil.copyfileobj(made, stream)


def _make(tables: Sequence[TableOut], path: Path) -> None:
    with closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA journal_mode = OFF")
        database.execute("PRAGMA synchronous = OFF")
        for table in tables:
            database.execute(definition(table))
        for table in tables:
            _fill(database, table)
        database.commit()
        if database.execute("PRAGMA foreign_key_check").fetchone() is not None:
            raise FileError("the released tables do not hold their own keys; nothing is written")


def _fill(database: sqlite3.Connection, table: TableOut) -> None:
    names = ", ".join(map(quoted, table.data.column_names))
    marks = ", ".join("?" * table.data.num_columns)
    insert = f"INSERT INTO {quoted(table.name)} ({names}) VALUES ({marks})"
    for start in range(0, table.data.num_rows, _AT_ONCE):
        part = table.data.slice(start, _AT_ONCE)
        database.executemany(insert, zip(*(column.to_pylist() for column in part.columns), strict=True))


def definition(table: TableOut) -> str:
    """The statement that makes an empty table, with its keys.

    >>> import pyarrow as pa
    >>> data = pa.table({"id": [1], "age": ["30-39"]})
    >>> print(definition(TableOut("person", data, {"id": "integer", "age": "text"}, ("id",), (), ())))
    CREATE TABLE "person" (
      "id" INTEGER NOT NULL,
      "age" TEXT,
      PRIMARY KEY ("id")
    )
    """
    lines = [
        f"{quoted(name)} {_TYPES[table.kinds[name]]}{' NOT NULL' if name in table.needed else ''}"
        for name in table.data.column_names
    ]
    if table.primary:
        lines.append(f"PRIMARY KEY ({_listed(table.primary)})")
    lines += [f"UNIQUE ({_listed(columns)})" for columns in table.unique]
    lines += [
        f"FOREIGN KEY ({_listed(key.columns)}) REFERENCES {quoted(key.target)} ({_listed(key.target_columns)})"
        for key in table.foreign
    ]
    return f"CREATE TABLE {quoted(table.name)} (\n  " + ",\n  ".join(lines) + "\n)"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(quoted, names))
