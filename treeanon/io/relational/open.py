"""Openers of relational inputs (SQLite and DuckDB files, folders of tables, databases) and of single files of rows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, cast

from treeanon.errors import UsageError
from treeanon.formats import FORMATS, names_of
from treeanon.io.relational.source import TableSource

if TYPE_CHECKING:
    from treeanon.io.columns.row_files import RowFiles

Advance = Callable[[int], None]


class TablesReader(Protocol):
    """Opener of inputs of a format of tables; a format of rows gives `RowFiles`."""

    def __call__(
        self, given: str | Path, *, called: str | None, delimiter: str, advance: Advance | None
    ) -> TableSource:
        """Return the tables of an input, to be closed in the end."""


def open_tables(
    given: str | Path,
    format: str,
    *,
    called: str | None = None,
    delimiter: str = "",
    advance: Advance | None = None,
) -> TableSource:
    """Return the tables of an input of that format, to be closed in the end; `called` is another name for messages.

    `delimiter` is that of a CSV file, if its header is not to decide. `advance` is called with the number of bytes
    read of the stored files; not for databases, and SQLite files that are read in place.

    >>> import sqlite3, tempfile
    >>> path = Path(tempfile.mkdtemp(), "clinic.db")
    >>> made = sqlite3.connect(path)
    >>> _ = made.execute("CREATE TABLE patient (id INTEGER PRIMARY KEY, age)")
    >>> made.close()
    >>> source = open_tables(path, "sqlite")
    >>> source.tables()["patient"].columns, source.tables()["patient"].primary
    (('id', 'age'), ('id',))
    >>> source.close()
    """
    form = FORMATS.named(format)
    if form.is_document:
        known = ", ".join((*names_of("rows"), *names_of("relational")))
        raise UsageError(f"{format} is no format of tables; choose from {known}")
    reader = cast(TablesReader, form.function("reader"))
    return reader(given, called=called, delimiter=delimiter, advance=advance)


def open_rows(
    given: str | Path,
    format: str,
    advance: Advance | None = None,
    *,
    called: str | None = None,
    delimiter: str = "",
) -> RowFiles:
    """Return the rows of a file, or of a folder or zip whose files are parts of one table, to be closed in the end."""
    return cast("RowFiles", open_tables(given, format, called=called, delimiter=delimiter, advance=advance))


# Each needs libraries that the others do not.


def open_delimited(given: str | Path, *, called: str | None, delimiter: str, advance: Advance | None) -> TableSource:
    """Open CSV and TSV files as rows."""
    from treeanon.io.columns.row_files import open_files

    return open_files(given, FORMATS["csv"], advance, called=called, delimiter=delimiter)


def open_parquet(given: str | Path, *, called: str | None, delimiter: str, advance: Advance | None) -> TableSource:
    """Open Parquet files as rows."""
    from treeanon.io.columns.row_files import open_files

    return open_files(given, FORMATS["parquet"], advance, called=called, delimiter=delimiter)


def open_folder(given: str | Path, *, called: str | None, delimiter: str, advance: Advance | None) -> TableSource:
    """Open a folder or zip of tables."""
    from treeanon.io.relational.folder import FolderSource

    return FolderSource(given, advance, called=called)


def open_sqlite(given: str | Path, *, called: str | None, delimiter: str, advance: Advance | None) -> TableSource:
    """Open a SQLite file."""
    from treeanon.io.relational.sqlite import SqliteSource

    return SqliteSource(given, advance, called=called)


def open_duckdb(given: str | Path, *, called: str | None, delimiter: str, advance: Advance | None) -> TableSource:
    """Open a DuckDB file."""
    from treeanon.io.relational.duckdb_file import DuckdbSource

    return DuckdbSource(given, advance, called=called)


def open_database(given: str | Path, *, called: str | None, delimiter: str, advance: Advance | None) -> TableSource:
    """Open the database of a URL."""
    from treeanon.io.relational.database import DatabaseSource

    return DatabaseSource(str(given))
