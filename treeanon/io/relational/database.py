"""A database behind a SQLAlchemy URL as tables: one read-only snapshot, its keys by reflection."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from treeanon.errors import DataError, FileError, TreeanonError
from treeanon.io.columns.column_checks import NO_TEXT, check_asked, wrong_row
from treeanon.io.columns.python_values import GrowingColumn
from treeanon.io.relational.database_url import Secret, open_engine, plain_reason
from treeanon.io.relational.declared_keys import StatedKeys
from treeanon.io.relational.source import Place, TableInfo
from treeanon.io.relational.sql_names import ascii_lower
from treeanon.io.relational.urls import ENVIRONMENT, is_database, redacted
from treeanon.schema.keys import ForeignKey

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine, Select

__all__ = ["DatabaseSource", "is_database", "redacted"]

CHUNK = 50_000
"""Rows that are Python values at once."""

_SNAPSHOT = ("REPEATABLE READ", "SNAPSHOT", "SERIALIZABLE")


@contextmanager
def plainly(name: str, place: str = "") -> Iterator[None]:
    """Turns errors of SQLAlchemy and of drivers into ours: theirs show values, and sometimes the URL."""
    try:
        yield
    except (TreeanonError, MemoryError):
        raise
    except UnicodeError:
        raise DataError(NO_TEXT, source=name, place=place) from None
    except Exception as problem:
        state = str(getattr(getattr(problem, "orig", None) or problem, "sqlstate", None) or "")
        reason = plain_reason(problem)
        if state.startswith("22") or type(getattr(problem, "orig", None) or problem).__name__ == "DataError":
            raise DataError(
                "holds a value that cannot be read, such as a date out of range", source=name, place=place
            ) from None
        raise FileError(f"{name}{', ' + place if place else ''}: {reason}") from None


class DatabaseSource:
    """The tables and views of a database's default schema; `left_out` says which declared keys lead nowhere.

    The rows of one `read` belong together; another one may give them in another order.
    """

    files = ""
    by_column = False

    def __init__(self, given: str) -> None:
        secret = Secret(given)
        self.name = given if given.startswith(ENVIRONMENT) else repr(secret)
        self._engine: Engine | None = open_engine(secret, self.name)
        self._connection: Connection | None = None
        try:
            with plainly(self.name):
                self._connection = self._engine.connect()
                _freeze(self._connection)
                self._reflect(self._connection)
        except BaseException:
            self.close()
            raise

    @classmethod
    def on(cls, connection: Connection, name: str) -> DatabaseSource:
        """The tables that a connection sees in its transaction, which goes on."""
        source = cls.__new__(cls)
        source.name, source._engine, source._connection = name, None, connection
        source._reflect(connection)
        return source

    def __repr__(self) -> str:
        return f"DatabaseSource({self.name!r})"

    def _reflect(self, connection: Connection) -> None:
        import sqlalchemy
        from sqlalchemy.engine.reflection import ObjectKind

        with warnings.catch_warnings():
            # Types that SQLAlchemy does not know do not matter: values are taken as the driver gives them.
            warnings.simplefilter("ignore")
            inspector = sqlalchemy.inspect(connection)
            columns = inspector.get_multi_columns(kind=ObjectKind.ANY)
            primary = inspector.get_multi_pk_constraint(kind=ObjectKind.TABLE)
            foreign = inspector.get_multi_foreign_keys(kind=ObjectKind.TABLE)
        self._tables: dict[str, TableInfo] = {}
        for place in sorted(columns, key=lambda place: place[1]):
            key = primary.get(place)
            names = tuple(str(column["name"]) for column in columns[place])
            if names:
                self._tables[place[1]] = TableInfo(names, tuple(key["constrained_columns"]) if key else ())
        fold = ascii_lower if connection.dialect.name == "sqlite" else str
        stated = StatedKeys(self._tables, fold)
        for (_, table), keys in sorted(foreign.items(), key=lambda item: item[0][1]):
            for stated_key in keys:
                if table in self._tables and stated_key["referred_schema"] in (None, inspector.default_schema_name):
                    goal = stated_key["referred_columns"]
                    stated.add(table, stated_key["constrained_columns"], stated_key["referred_table"], goal)
                else:
                    stated.left_out.append(f"a key of table {table!r} refers to a table in another schema")
        self._keys, self.left_out = stated.keys, tuple(stated.left_out)

    def tables(self) -> Mapping[str, TableInfo]:
        """All tables and views of the default schema by name."""
        return self._tables

    def keys(self) -> Sequence[ForeignKey]:
        """The foreign keys that the database has."""
        return self._keys

    def read(self, table: str, columns: Sequence[str], most: int | None = None) -> pa.Table:
        """These columns of a table; see `TableSource`."""
        check_asked(self._tables, table, columns, self.name)
        if self._connection is None:
            raise FileError(f"{self.name}: is closed")
        wrong = wrong_row(self.name, table)
        growing = [GrowingColumn(column, wrong) for column in columns or ("",)]
        with plainly(self.name, f"table {table}"):
            for rows in self._rows(self._connection, table, columns, most):
                for column, values in zip(growing, zip(*rows, strict=True), strict=True):
                    column.add(values)
        read = pa.table([column.finish() for column in growing], names=[column.name for column in growing])
        return read if columns else read.select([])

    def _rows(
        self, connection: Connection, table: str, columns: Sequence[str], most: int | None
    ) -> Iterator[Sequence[Any]]:
        """The rows in chunks, by a cursor of the server."""
        import sqlalchemy

        # Columns without a type: the driver's own values, without SQLAlchemy's conversions of each.
        named: list[Any] = [sqlalchemy.column(column) for column in columns] or [sqlalchemy.literal_column("1")]
        query = sqlalchemy.select(*named).select_from(sqlalchemy.table(table))
        query = query if most is None else query.limit(most)
        if connection.dialect.driver == "psycopg":
            yield from _psycopg_rows(connection, query)
            return
        with connection.execute(query, execution_options={"yield_per": CHUNK}) as result:
            yield from result.partitions(CHUNK)

    def place(self, table: str, row: int) -> Place:
        """Where row number `row` (from 0) of a table is."""
        return Place(f"{self.name}, table {table}", f"row {row + 1}")

    def close(self) -> None:
        """Ends the transaction and the connection, if they are its own."""
        connection, engine = self._connection, self._engine
        self._connection = self._engine = None
        if engine is None:
            return
        # What cannot be closed is gone.
        with suppress(Exception):
            if connection is not None:
                connection.close()
        engine.dispose()


def _psycopg_rows(connection: Connection, query: Select[Any]) -> Iterator[Sequence[Any]]:
    """Chunks of the driver's own rows: to make SQLAlchemy's of them takes nearly as long as to fetch them."""
    text = str(query.compile(connection, compile_kwargs={"literal_binds": True}))
    raw: Any = connection.connection.dbapi_connection
    with raw.cursor(name="treeanon") as cursor:
        # The text has each % of a name twice, as texts with parameters do: so there are some, if none.
        cursor.execute(text, ())
        while rows := cursor.fetchmany(CHUNK):
            yield rows


def _freeze(connection: Connection) -> None:
    """Begins the one transaction: it reads only, and sees one state of the database."""
    dialect = connection.dialect
    if dialect.name == "sqlite":
        for setting in ("query_only = ON", "trusted_schema = OFF", "cell_size_check = ON"):
            connection.exec_driver_sql(f"PRAGMA {setting}")
        connection.exec_driver_sql("BEGIN")
        return
    known = _isolation_levels(connection)
    level = next((level for level in _SNAPSHOT if level in known), None)
    options: dict[str, Any] = {"isolation_level": level} if level else {}
    if dialect.name == "postgresql":
        options["postgresql_readonly"] = True
    connection.execution_options(**options)
    if dialect.name == "postgresql":
        # Otherwise a scan may begin in the middle of a table, where another one is.
        connection.exec_driver_sql("SET LOCAL synchronize_seqscans = off")
    elif dialect.name in ("mysql", "mariadb"):
        connection.exec_driver_sql("START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY")


def _isolation_levels(connection: Connection) -> Sequence[str]:
    try:
        raw = connection.connection.dbapi_connection
        return list(connection.dialect.get_isolation_level_values(raw))  # type: ignore[arg-type]
    except NotImplementedError:
        return []
