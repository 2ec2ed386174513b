"""Opens relational inputs: SQLite files, folders of tables, databases; and single files of rows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from treeanon.errors import UsageError
from treeanon.io.relational.source import TableSource
from treeanon.schema.model import FLAT, RELATIONAL


def open_tables(
    given: str | Path,
    format: str,
    *,
    called: str | None = None,
    delimiter: str = "",
    advance: Callable[[int], None] | None = None,
) -> TableSource:
    """The tables of an input of that format, to be closed in the end; `called` is its name, if that is to be another.

    `delimiter` is that of a CSV file, if its header is not to tell. `advance` is told how many bytes were read of the
    files stored; databases, and SQLite files that are read where they lie, do not tell.

    >>> import sqlite3, tempfile
    >>> path = Path(tempfile.mkdtemp(), "clinic.db")
    >>> made = sqlite3.connect(path)
    >>> _ = made.execute("CREATE TABLE patient (id INTEGER PRIMARY KEY, age)")
    >>> made.close()
    >>> source = open_tables(path, "sqlite")
    >>> source.tables()["patient"]
    TableInfo(columns=('id', 'age'), primary=('id',))
    >>> source.close()
    """
    # Each needs libraries that the others do not.
    if format == "sqlite":
        from treeanon.io.relational.sqlite import SqliteSource

        return SqliteSource(given, advance, called=called)
    if format in FLAT:
        from treeanon.io.columns.row_files import open_rows

        return open_rows(given, format, advance, called=called, delimiter=delimiter)
    if format == "tables":
        from treeanon.io.relational.folder import FolderSource

        return FolderSource(given, advance, called=called)
    if format == "database":
        from treeanon.io.relational.database import DatabaseSource

        return DatabaseSource(str(given))
    raise UsageError(f"there is no format {format!r} of tables; there is: {', '.join((*FLAT, *RELATIONAL))}")
