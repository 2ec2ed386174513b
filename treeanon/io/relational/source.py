"""Interface of relational inputs: named tables of columns, and the keys that they declare.

SQLite files, folders of tables and databases each implement `TableSource`; nothing above them knows which it is.

The keys that an input itself declares, put into the spelling of its tables; those that lead nowhere are left out.

Names as SQL writes them, and as SQLite compares them.

Also openers of relational inputs (SQLite and DuckDB files, folders of tables, databases) and of single files of rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, cast

from treeanon.errors import UsageError
from treeanon.formats import FORMATS, names_of
from treeanon.schema.keys import ForeignKey

if TYPE_CHECKING:
    import pyarrow as pa

    from treeanon.io.columns.row_files import RowFiles


MOST_ROWS = 200_000_000
"""The most rows that are read of a view, which may have no end."""


_LISTED = 40


def listed(names: Iterable[str]) -> str:
    """Return names in quotes for a message; of very many only the first.

    >>> listed(["a", "b c"]), listed([])
    ("'a', 'b c'", 'none')
    """
    names = list(names)
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return ", ".join(repr(name) for name in names[:_LISTED]) + more or "none"


@dataclass(frozen=True)
class TableInfo:
    """One table: its columns in order, and the columns of its primary key, if it declares one.

    `view` says that its rows are those of other tables, `part_of` names the table of which it is a partition.
    """

    columns: tuple[str, ...]
    primary: tuple[str, ...] = ()
    view: bool = False
    part_of: str = ""


@dataclass(frozen=True)
class Place:
    """Where a row of a table is, for messages: the file (or the input and table), and the line or row."""

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
        """Return all tables by name."""

    def keys(self) -> Sequence[ForeignKey]:
        """Return the foreign keys that the input itself declares between its tables."""


class TableSource(KeyedTables, Protocol):
    """Tables that can be read column by column.

    `by_column` says whether columns are as well read one after another, with rows in the same order.
    """

    by_column: bool

    def read(self, table: str, columns: Sequence[str], most: int | None = None) -> pa.Table:
        """Return these columns of a table, rows in stored order; only the first `most` rows if that is given.

        Columns keep the type that the input has for them: integers, decimals, floats, booleans, dates, timestamps,
        texts (as strings or dictionaries of strings); null is null. Whatever cannot be read is a DataError that names
        table and row, and never a value.
        """

    def place(self, table: str, row: int) -> Place:
        """Return where row number `row` (from 0) of a table is."""

    def close(self) -> None:
        """Close what is open."""


class OneTable:
    """Base of sources with a single table; `columns` are its columns."""

    left_out: tuple[str, ...] = ()

    def __init__(self, table: str, columns: Sequence[str]) -> None:
        self.table = table
        self._tables = {table: TableInfo(tuple(columns))}

    def tables(self) -> Mapping[str, TableInfo]:
        """Return the one table, without keys."""
        return self._tables

    def keys(self) -> Sequence[ForeignKey]:
        """Return no keys."""
        return ()

    def stars(self) -> pa.ChunkedArray | None:
        """Return the column that has `*` for persons of whom not even a class is published, if there is one."""
        return None


class DeclaredKeys:
    """Collector of declared keys; `left_out` says of each dangling key why it was left out."""

    def __init__(self, tables: Mapping[str, TableInfo], fold: Callable[[str], str] = str) -> None:
        self.tables, self.fold = tables, fold
        self.by_name = {fold(name): name for name in tables}
        self.keys: list[ForeignKey] = []
        self.left_out: list[str] = []

    def add(self, table: str, columns: Sequence[str], target: str, target_columns: Sequence[str] = ()) -> None:
        """Add one key; without columns of its target, it refers to the target's primary key."""
        found = target if target in self.tables else self.by_name.get(self.fold(target))
        own = f"a key of table {table!r}"
        if found is None:
            self.left_out.append(f"{own} refers to table {target!r}, which there is not")
            return
        from_columns = self._spelled(table, columns)
        to_columns = self._spelled(found, target_columns) if target_columns else self.tables[found].primary
        if from_columns is None or to_columns is None:
            self.left_out.append(f"{own} to table {found!r} names columns that there are not")
        elif not from_columns or len(from_columns) != len(to_columns):
            self.left_out.append(f"{own} to table {found!r} has another number of columns than what it refers to")
        elif (key := ForeignKey(table, from_columns, found, to_columns)) not in self.keys:
            self.keys.append(key)

    def _spelled(self, table: str, columns: Sequence[str]) -> tuple[str, ...] | None:
        known = {self.fold(column): column for column in self.tables[table].columns}
        known |= {column: column for column in self.tables[table].columns}
        spelled = tuple(known.get(column) or known.get(self.fold(column)) or "" for column in columns)
        return None if "" in spelled else spelled


def quoted(name: str) -> str:
    """Return a name quoted for SQL.

    >>> print(quoted('a "b" c'))
    "a ""b"" c"
    """
    return '"' + name.replace('"', '""') + '"'


def ascii_lower(name: str) -> str:
    """Return a name in the form in which SQLite compares names: only ASCII letters lose their case.

    >>> ascii_lower("Käse ÄRA")
    'käse Ära'
    """
    return name.encode("utf-8", "surrogatepass").lower().decode("utf-8", "surrogatepass")


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
