"""A database, by its SQLAlchemy URL, as tables: one read-only snapshot, its keys by reflection.

Connections use the installed driver, with a time limit.
"""

from __future__ import annotations

import importlib.util
import os
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pyarrow as pa

from treeanon.errors import DataError, FileError, TreeanonError, UsageError
from treeanon.io.columns.python_values import NO_TEXT, GrowingColumn, check_columns_exist, row_errors
from treeanon.io.relational.source import DeclaredKeys, Place, TableInfo, ascii_lower
from treeanon.io.relational.urls import ENVIRONMENT, NO_URL, is_database, redacted
from treeanon.schema.keys import ForeignKey

if TYPE_CHECKING:
    from sqlalchemy import URL, Connection, Engine, Select


EXTRA = "pip install 'treeanon[db]'"
_WAIT = 10
_WAITING = {"psycopg", "psycopg2", "pymysql", "mysqldb", "mysqlclient"}


class Secret:
    """A database's URL, which no repr shows."""

    __slots__ = ("_url",)

    def __init__(self, given: str) -> None:
        self._url = _of_environment(given) if given.startswith(ENVIRONMENT) else given

    def __repr__(self) -> str:
        return redacted(self._url)

    def reveal(self) -> str:
        """Return the URL."""
        return self._url


def _of_environment(given: str) -> str:
    name = given.removeprefix(ENVIRONMENT)
    if not os.environ.get(name):
        raise UsageError(f"the environment variable {name!r} is not set; it should hold the URL of a database")
    return os.environ[name]


def open_engine(secret: Secret, name: str, *, writes: bool = False) -> Engine:
    """Return an engine for the URL, which has not connected yet; UsageError says what is missing or wrong."""
    try:
        import sqlalchemy
    except ImportError:
        raise UsageError(f"databases are read by SQLAlchemy, which is not installed; {EXTRA}") from None
    url = _parsed(secret, name)
    url = _of_sqlite(url, name, writes) if url.get_backend_name() == "sqlite" else _with_driver(url, name)
    driver = ""
    try:
        driver = url.get_driver_name()
        options: dict[str, Any] = {"hide_parameters": True, "poolclass": sqlalchemy.NullPool}
        if driver in _WAITING and "connect_timeout" not in url.query:
            options["connect_args"] = {"connect_timeout": _WAIT}
        return sqlalchemy.create_engine(url, **options)
    except sqlalchemy.exc.NoSuchModuleError:
        raise UsageError(f"{name}: SQLAlchemy supports no database of the kind {url.drivername!r}") from None
    except ImportError as problem:
        missing = problem.name or driver
        raise UsageError(f"{name}: the driver for {url.drivername!r} is not installed: {missing}") from None
    except Exception:
        raise UsageError(f"{name}: the URL of the database has options that cannot be used") from None


def _parsed(secret: Secret, name: str) -> URL:
    from sqlalchemy.engine import make_url

    if redacted(secret.reveal()) == NO_URL:
        raise UsageError(f"{name}: is not the URL of a database, such as postgresql://user@host/database")
    try:
        return make_url(secret.reveal())
    except Exception:
        raise UsageError(f"{name}: the URL of the database cannot be parsed; are its parts percent-encoded?") from None


def _with_driver(url: URL, name: str) -> URL:
    """Return the URL with the installed driver, if it is of PostgreSQL and names none."""
    if url.drivername not in ("postgresql", "postgres"):
        return url
    for driver in ("psycopg", "psycopg2"):
        if importlib.util.find_spec(driver) is not None:
            return url.set(drivername=f"postgresql+{driver}")
    raise UsageError(f"{name}: the driver for PostgreSQL is not installed: psycopg; {EXTRA}")


def _of_sqlite(url: URL, name: str, writes: bool) -> URL:
    """Return the URL of a SQLite file opened for reading, unless it is to be written: else a missing file would be
    made.
    """
    path = url.database or ""
    if path in ("", ":memory:"):
        raise UsageError(f"{name}: names no file")
    if writes:
        raise UsageError(f"{name}: a SQLite file is written by its name, such as release.sqlite")
    if path.startswith("file:"):
        return url.update_query_dict({"mode": "ro", "uri": "true"})
    if not os.path.isfile(path):  # noqa: PTH113
        raise FileError(f"{name}: there is no such file")
    address = f"file:{quote(os.path.abspath(path))}"  # noqa: PTH100
    return url.set(database=address).update_query_dict({"mode": "ro", "uri": "true"})


_STATES = {
    "28": "the user or password is not accepted",
    "3D": "there is no database of that name",
    "42501": "the user has no permission to read it",
    "53": "the server has no room for another connection, or no memory or disk left",
    "57014": "the server canceled the query: it took too long",
    "57": "the server is shutting down or starting up",
    "55": "it is locked",
    "40": "the server gave up the transaction, which stood in the way of another one",
    "25P02": "an earlier read of it failed; open it anew",
    "22": "holds a value that cannot be read, such as a date out of range",
}
_WORDS = {
    r"password|authentication|no pg_hba|access denied|role .* does not exist": _STATES["28"],
    r"database .* does not exist|unknown database": _STATES["3D"],
    r"refused|no such file or directory": "nothing answers there: the connection is refused",
    r"time[d]? ?out|timeout": "does not answer in time",
    r"translate host|resolve|name or service|getaddrinfo|nodename": "the host is not known",
    r"not a database|malformed|encrypted": "is not a SQLite database, or is damaged or encrypted",
    r"unable to open": "cannot be opened",
    r"locked": "is locked by another program",
    r"closed|terminat|lost connection|gone away|eof detected|broken pipe|reset": "the connection broke off",
    r"permission denied": _STATES["42501"],
    r"connection option|invalid .*value": "an option of the URL cannot be used",
}


def plain_reason(problem: BaseException) -> str:
    """Return what a driver's error means in plain words; its own text may show values or the URL, and is never
    passed on.
    """
    original = getattr(problem, "orig", None) or problem
    state = str(getattr(original, "sqlstate", None) or getattr(original, "pgcode", None) or "")
    for size in (5, 2):
        if state[:size] in _STATES:
            return _STATES[state[:size]]
    # With an SQL state, the text may come from functions of the database, and so show values.
    text = "" if state else str(original).lower()
    for words, reason in _WORDS.items():
        if re.search(words, text):
            return reason
    return f"the database refuses ({type(original).__name__}{' ' + state if state else ''})"


__all__ = ["DatabaseSource", "is_database", "redacted"]

CHUNK = 50_000
"""Rows that are Python values at once."""

_SNAPSHOT = ("REPEATABLE READ", "SNAPSHOT", "SERIALIZABLE")


@contextmanager
def plainly(name: str, place: str = "") -> Iterator[None]:
    """Translate errors of SQLAlchemy and of drivers: theirs show values, and sometimes the URL."""
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
        """Return the tables visible to a connection in its transaction, which goes on."""
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
            views = {name for _, name in inspector.get_multi_columns(kind=ObjectKind.ANY_VIEW)}
        parts = _partitions(connection)
        self._tables: dict[str, TableInfo] = {}
        for place in sorted(columns, key=lambda place: place[1]):
            key = primary.get(place)
            names = tuple(str(column["name"]) for column in columns[place])
            if names:
                own = tuple(key["constrained_columns"]) if key else ()
                self._tables[place[1]] = TableInfo(names, own, place[1] in views, parts.get(place[1], ""))
        fold = ascii_lower if connection.dialect.name == "sqlite" else str
        stated = DeclaredKeys(self._tables, fold)
        for (_, table), keys in sorted(foreign.items(), key=lambda item: item[0][1]):
            for stated_key in keys:
                if table in self._tables and stated_key["referred_schema"] in (None, inspector.default_schema_name):
                    goal = stated_key["referred_columns"]
                    stated.add(table, stated_key["constrained_columns"], stated_key["referred_table"], goal)
                else:
                    stated.left_out.append(f"a key of table {table!r} refers to a table in another schema")
        self._keys, self.left_out = stated.keys, tuple(stated.left_out)

    def tables(self) -> Mapping[str, TableInfo]:
        """Return all tables and views of the default schema by name."""
        return self._tables

    def keys(self) -> Sequence[ForeignKey]:
        """Return the foreign keys that the database has."""
        return self._keys

    def read(self, table: str, columns: Sequence[str], most: int | None = None) -> pa.Table:
        """Return these columns of a table; see `TableSource`."""
        check_columns_exist(self._tables, table, columns, self.name)
        if self._connection is None:
            raise FileError(f"{self.name}: is closed")
        wrong = row_errors(self.name, table)
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
        """Yield the rows in chunks, by a server-side cursor."""
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
        """Return where row number `row` (from 0) of a table is."""
        return Place(f"{self.name}, table {table}", f"row {row + 1}")

    def close(self) -> None:
        """End the transaction and the connection, if they are its own."""
        connection, engine = self._connection, self._engine
        self._connection = self._engine = None
        if engine is None:
            return
        # A connection that cannot be closed is lost already.
        with suppress(Exception):
            if connection is not None:
                connection.close()
        engine.dispose()


_PARTITIONS = """
SELECT part.relname, whole.relname FROM pg_catalog.pg_inherits
JOIN pg_catalog.pg_class part ON part.oid = inhrelid JOIN pg_catalog.pg_class whole ON whole.oid = inhparent
WHERE part.relispartition AND pg_catalog.pg_table_is_visible(part.oid)"""


def _partitions(connection: Connection) -> dict[str, str]:
    """Return the table of which each partition is a part, where partitions can be read as tables."""
    if connection.dialect.name != "postgresql":
        return {}
    return {str(part): str(whole) for part, whole in connection.exec_driver_sql(_PARTITIONS)}


def _psycopg_rows(connection: Connection, query: Select[Any]) -> Iterator[Sequence[Any]]:
    """Yield chunks of the driver's own rows: converting them to SQLAlchemy's takes nearly as long as fetching them."""
    text = str(query.compile(connection, compile_kwargs={"literal_binds": True}))
    raw: Any = connection.connection.dbapi_connection
    with raw.cursor(name="treeanon") as cursor:
        # SQLAlchemy doubles each % of a name, as for a query with parameters: so an empty set of them is passed.
        cursor.execute(text, ())
        while rows := cursor.fetchmany(CHUNK):
            yield rows


def _freeze(connection: Connection) -> None:
    """Begin the one transaction: read-only, with one snapshot of the database."""
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
