"""A DuckDB file as tables, opened for reading only and without access to anything else; released tables as such a file.

Tables and views of the schema `main` are read.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NoReturn

import pyarrow as pa

from treeanon.errors import DataError, FileError, TreeanonError, UsageError
from treeanon.io.columns.arrow import check_kind, plain_column
from treeanon.io.columns.python_values import check_columns_exist, row_errors
from treeanon.io.relational.arrow_tables import TableOut
from treeanon.io.relational.file_store import Copies, is_plain_file
from treeanon.io.relational.source import MOST_ROWS, DeclaredKeys, Place, TableInfo, ascii_lower, quoted
from treeanon.io.relational.urls import shown
from treeanon.io.relational.write_sql import check_apart, definition
from treeanon.io.sources import STDIN, find_sources
from treeanon.schema.keys import ForeignKey

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

ENDINGS = (".duckdb", ".ddb")
_ALONE = {
    "enable_external_access": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
    "lock_configuration": "true",
}
_REASONS = {
    "OutOfMemoryException": "there is not enough memory to read it",
    "PermissionException": "looks outside of the file, which is not allowed",
    "InterruptException": "was interrupted",
}
_TYPES = {"integer": "BIGINT", "number": "DOUBLE", "text": "VARCHAR"}


def _connect(path: Path, name: str) -> DuckDBPyConnection:
    """Return a connection to a file, which nothing in it can lead out of."""
    try:
        import duckdb
    except ImportError:
        raise UsageError(
            f"{name}: DuckDB files are read by duckdb, which is not installed; pip install 'treeanon[duckdb]'"
        ) from None
    return duckdb.connect(str(path), read_only=True, config=dict(_ALONE))


@contextmanager
def _plainly(name: str, place: str = "") -> Iterator[None]:
    """Translate DuckDB's errors: its messages can hold data."""
    try:
        yield
    except (TreeanonError, MemoryError, OSError):
        raise
    except Exception as problem:
        _refuse(problem, name, place)


def _refuse(problem: Exception, name: str, place: str) -> NoReturn:
    kind = type(problem).__name__
    if kind in _REASONS:
        raise FileError(f"{name}{', ' + place if place else ''}: {_REASONS[kind]}") from None
    if kind in ("IOException", "ConnectionException") and not place:
        text = str(problem).lower()
        if "lock" in text:
            raise FileError(f"{name}: is locked by another program; close it, or read a copy") from None
        if "permission" in text:
            raise FileError(f"{name}: there is no permission to read it") from None
        raise DataError("is not a DuckDB file, or is of another version of DuckDB", source=name) from None
    what = "is damaged, ends too early" if not place else "cannot be read"
    raise DataError(f"{what} or needs what DuckDB does not have here ({kind})", source=name, place=place) from None


class DuckdbSource:
    """The tables and views of a DuckDB file; `left_out` says which declared keys lead nowhere, and what else it holds.

    `free` are the blocks that hold nothing any more, but may still have what was deleted.
    """

    files = ""
    by_column = False

    def __init__(
        self, given: str | Path, advance: Callable[[int], None] | None = None, *, called: str | None = None
    ) -> None:
        self.name = called or ("standard input" if str(given) == STDIN else shown(str(given)))
        self._copies = Copies()
        self._connection: DuckDBPyConnection | None = None
        try:
            path = self._path(given, advance, called)
            with _plainly(self.name):
                self._connection = _connect(path, self.name)
                # One snapshot for all that is read.
                self._connection.execute("BEGIN")
                self._tables = self._described()
                self._stated = self._declared()
                hidden = self._hidden()
                self.free = int(self._ask("SELECT free_blocks FROM pragma_database_size()")[0][0])
        except BaseException:
            self.close()
            raise
        self.left_out = (*self._stated.left_out, *hidden)

    def __repr__(self) -> str:
        return f"DuckdbSource({self.name!r})"

    def _path(self, given: str | Path, advance: Callable[[int], None] | None, called: str | None) -> Path:
        path = Path(given)
        if str(given) != STDIN and is_plain_file(path) and not path.name.lower().endswith(".zip"):
            return path
        if path.is_dir():
            raise UsageError(f"{self.name}: is a folder; a DuckDB file is expected")
        found = find_sources(given, ENDINGS, called=called).items
        if len(found) != 1:
            raise UsageError(f"{self.name}: holds {len(found)} files; one DuckDB file is expected")
        return self._copies.of(found[0], advance)

    @property
    def _open(self) -> DuckDBPyConnection:
        if self._connection is None:
            raise FileError(f"{self.name}: is closed")
        return self._connection

    def _ask(self, query: str) -> list[tuple[Any, ...]]:
        return self._open.execute(query).fetchall()

    def _described(self) -> dict[str, TableInfo]:
        views = {name for (name,) in self._ask(f"SELECT view_name FROM duckdb_views() WHERE {_MAIN}")}
        primary: dict[str, list[str]] = dict(
            self._ask(
                "SELECT table_name, constraint_column_names FROM duckdb_constraints()"
                f" WHERE constraint_type = 'PRIMARY KEY' AND {_OWN}"
            )
        )
        columns: dict[str, list[str]] = {}
        listed = f"SELECT table_name, column_name FROM duckdb_columns() WHERE {_MAIN} ORDER BY table_oid, column_index"
        for table, column in self._ask(listed):
            columns.setdefault(str(table), []).append(str(column))
        return {
            table: TableInfo(tuple(names), tuple(primary.get(table, ())), table in views)
            for table, names in columns.items()
        }

    def _declared(self) -> DeclaredKeys:
        stated = DeclaredKeys(self._tables, ascii_lower)
        for table, own, target, goals in self._ask(
            "SELECT table_name, constraint_column_names, referenced_table, referenced_column_names"
            f" FROM duckdb_constraints() WHERE constraint_type = 'FOREIGN KEY' AND {_OWN} ORDER BY table_oid, 2"
        ):
            stated.add(str(table), own, str(target), goals)
        return stated

    def _hidden(self) -> list[str]:
        """Return what else the file holds: what other schemas have, and what has a text of its own."""
        kinds = {
            "a table of another schema": f"SELECT table_name FROM duckdb_tables() WHERE {_ELSEWHERE}",
            "a view of another schema": f"SELECT view_name FROM duckdb_views() WHERE {_ELSEWHERE}",
            "macro": "SELECT DISTINCT function_name FROM duckdb_functions() WHERE NOT internal",
            "sequence": "SELECT sequence_name FROM duckdb_sequences()",
            "type": "SELECT type_name FROM duckdb_types() WHERE NOT internal",
            "the comment of table": f"SELECT table_name FROM duckdb_tables() WHERE {_MAIN} AND comment IS NOT NULL",
            "the comment of a column of": "SELECT DISTINCT table_name FROM duckdb_columns()"
            f" WHERE {_MAIN} AND comment IS NOT NULL",
        }
        return [f"{kind} {name!r} is not looked at" for kind, query in kinds.items() for (name,) in self._ask(query)]

    def tables(self) -> Mapping[str, TableInfo]:
        """Return all tables and views by name."""
        return self._tables

    def keys(self) -> Sequence[ForeignKey]:
        """Return the foreign keys that the file declares."""
        return self._stated.keys

    def read(self, table: str, columns: Sequence[str], most: int | None = None) -> pa.Table:
        """Return these columns of a table; see `TableSource`."""
        check_columns_exist(self._tables, table, columns, self.name)
        limit = MOST_ROWS + 1 if most is None else max(most, 0)
        limited = f" LIMIT {limit:d}" if most is not None or self._tables[table].view else ""
        wrong = row_errors(self.name, table)
        with _plainly(self.name, f"table {table}"):
            query = f"SELECT {', '.join(map(quoted, columns)) or '1'} FROM main.{quoted(table)}{limited}"
            found = self._open.sql(query).to_arrow_table()
        if most is None and found.num_rows > MOST_ROWS and limited:
            raise wrong("", -1, f"is a view of more than {MOST_ROWS:,} rows")
        for field in found.schema:
            check_kind(field.name, field.type, wrong)
        if not columns:
            return found.select([])
        plain = [plain_column(name, column, wrong) for name, column in zip(columns, found.columns, strict=True)]
        return pa.table(plain, names=list(columns)).unify_dictionaries()

    def place(self, table: str, row: int) -> Place:
        """Return where row number `row` (from 0) of a table is."""
        return Place(f"{self.name}, table {table}", f"row {row + 1}")

    def close(self) -> None:
        """Close the file; a copy of it is then gone."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        self._copies.close()


_OWN = "database_name = current_database() AND schema_name = 'main'"
_MAIN = f"NOT internal AND {_OWN}"
_ELSEWHERE = "NOT internal AND database_name = current_database() AND schema_name <> 'main'"


def write_duckdb(tables: Sequence[TableOut], stream: BinaryIO) -> None:
    """Write a DuckDB file of these tables."""
    check_duckdb(tables)
    try:
        made = _make(tables)
    except (TreeanonError, MemoryError, OSError):
        raise
    except Exception as problem:
        # What DuckDB says may quote data.
        raise FileError(f"the DuckDB file cannot be made ({type(problem).__name__})") from None
    with made:
        shutil.copyfileobj(made, stream)


def check_duckdb(tables: Sequence[TableOut]) -> None:
    """Check that DuckDB can tell names apart and that no keys go in a circle, which it cannot declare."""
    check_apart("DuckDB", tables)
    _in_order(tables)


def _in_order(tables: Sequence[TableOut]) -> list[TableOut]:
    """Return tables so that keys refer to those before."""
    by_name = {table.name: table for table in tables}
    goals = {table.name: {key.target for key in table.foreign if not key.of_itself} for table in tables}
    try:
        return [by_name[name] for name in TopologicalSorter(goals).static_order()]
    except CycleError:
        raise UsageError("DuckDB has no keys between tables in a circle; write another format (--to tables)") from None


def _make(tables: Sequence[TableOut]) -> BinaryIO:
    """Return a file of these tables, which lost its name, and its folder, before there was anything in it.

    All is one transaction, which goes into the file at once: there is no log beside it.
    """
    import duckdb

    settings: dict[str, str | bool | int | float | list[str]] = {
        "temp_directory": "",
        "checkpoint_threshold": "0b",
        "autoinstall_known_extensions": "false",
    }
    folder = Path(tempfile.mkdtemp(prefix="treeanon-"))
    path = folder / "release.duckdb"
    with ExitStack() as stack:
        try:
            database = stack.enter_context(duckdb.connect(str(path), config=settings))
            made = stack.enter_context(path.open("rb"))
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        database.execute("BEGIN")
        for table in _in_order(tables):
            database.execute(definition(table, _TYPES))
            for rows in _levels(table):
                database.register("treeanon rows", table.data if rows is None else table.data.take(rows))
                database.execute(f'INSERT INTO {quoted(table.name)} SELECT * FROM "treeanon rows"')
                database.unregister("treeanon rows")
        database.execute("COMMIT")
        database.execute("CHECKPOINT")
        database.close()
        stack.pop_all()
    return made


def _levels(table: TableOut) -> Iterator[list[int] | None]:
    """Yield the rows so that keys to the table itself lead to rows before; None for all at once."""
    own = [key for key in table.foreign if key.of_itself]
    if not own:
        yield None
        return
    above: dict[int, set[int]] = {row: set() for row in range(table.data.num_rows)}
    for key in own:
        places = {goal: row for row, goal in enumerate(_tuples(table, key.target_columns))}
        for row, goal in enumerate(_tuples(table, key.columns)):
            if None not in goal and goal in places:
                above[row].add(places[goal])
    order = TopologicalSorter(above)
    try:
        order.prepare()
    except CycleError:
        raise UsageError(
            f"DuckDB has no rows in a circle, as those of table {table.name!r}; write --to tables"
        ) from None
    while order.is_active():
        ready = order.get_ready()
        yield sorted(ready)
        order.done(*ready)


def _tuples(table: TableOut, columns: Sequence[str]) -> list[tuple[object, ...]]:
    return list(zip(*(table.data[name].to_pylist() for name in columns), strict=True))
