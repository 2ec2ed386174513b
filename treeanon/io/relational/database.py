"""A database, by its SQLAlchemy URL, as tables: one read-only snapshot, its keys by reflection."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from treeanon.errors import FileError, UsageError
from treeanon.io.columns.python_values import GrowingColumn, check_columns_exist, row_errors
from treeanon.io.relational.engines import SCHEMA, Secret, open_engine, plainly
from treeanon.io.relational.source import MOST_ROWS, DeclaredKeys, Place, TableInfo, ascii_lower
from treeanon.io.relational.urls import ENVIRONMENT
from treeanon.schema.keys import ForeignKey

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine, Inspector, Select

CHUNK = 50_000
"""Rows that are Python values at once."""

_SNAPSHOT = ("REPEATABLE READ", "SNAPSHOT", "SERIALIZABLE")


class DatabaseSource:
    """The tables and views of the schemas that the URL names, else of the default one; `left_out` says which declared
    keys lead nowhere.

    The rows of one `read` belong together; another one may give them in another order.
    """

    files = ""
    by_column = False

    def __init__(self, given: str) -> None:
        secret = Secret(given)
        self.name = given if given.startswith(ENVIRONMENT) else repr(secret)
        opened = open_engine(secret, self.name)
        self._engine: Engine | None = opened.engine
        self._connection: Connection | None = None
        try:
            with plainly(self.name):
                self._connection = self._engine.connect()
                _freeze(self._connection)
                self._reflect(self._connection, opened.schemas)
        except BaseException:
            self.close()
            raise

    @classmethod
    def on(cls, connection: Connection, name: str, schemas: Sequence[str]) -> DatabaseSource:
        """Return the tables visible to a connection in its transaction, which goes on."""
        source = cls.__new__(cls)
        source.name, source._engine, source._connection = name, None, connection
        source._reflect(connection, schemas)
        return source

    def __repr__(self) -> str:
        return f"DatabaseSource({self.name!r})"

    def _reflect(self, connection: Connection, schemas: Sequence[str]) -> None:
        import sqlalchemy

        inspector = sqlalchemy.inspect(connection)
        refuse_schemas(inspector, schemas, self.name)
        self._schemas: dict[str, str | None] = {}
        self._tables: dict[str, TableInfo] = {}
        for schema in schemas or (None,):
            found = _described(inspector, schema, _partitions(connection, schema or inspector.default_schema_name))
            for table in found:
                if table in self._tables:
                    what = f"table {table!r} is in two of the schemas that the URL names; name one of them"
                    raise UsageError(f"{self.name}: {what}")
                self._schemas[table] = schema
            self._tables |= found
        stated = DeclaredKeys(self._tables, _FOLDS.get(connection.dialect.name, str))
        for schema in schemas or (None,):
            self._state_keys(inspector, schema, stated)
        self._keys, self.left_out = stated.keys, tuple(stated.left_out)

    def _state_keys(self, inspector: Inspector, schema: str | None, stated: DeclaredKeys) -> None:
        """Add the keys of the tables of a schema."""
        from sqlalchemy.engine.reflection import ObjectKind

        default = inspector.default_schema_name
        read = {each or default for each in self._schemas.values()}
        foreign = inspector.get_multi_foreign_keys(schema, kind=ObjectKind.TABLE)
        for (_, table), keys in sorted(foreign.items(), key=lambda item: item[0][1]):
            for key in keys:
                if table in self._tables and (key["referred_schema"] or default) in read:
                    stated.add(table, key["constrained_columns"], key["referred_table"], key["referred_columns"])
                else:
                    stated.left_out.append(f"a key of table {table!r} refers to a table in another schema")

    def tables(self) -> Mapping[str, TableInfo]:
        """Return all tables and views by name."""
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
                if self._tables[table].view and growing[0].rows > MOST_ROWS:
                    raise wrong("", -1, f"is a view of more than {MOST_ROWS:,} rows")
        read = pa.table([column.finish() for column in growing], names=[column.name for column in growing])
        return read if columns else read.select([])

    def _rows(
        self, connection: Connection, table: str, columns: Sequence[str], most: int | None
    ) -> Iterator[Sequence[Any]]:
        """Yield the rows in chunks, by a server-side cursor."""
        import sqlalchemy

        # Columns without a type: the driver's own values, without SQLAlchemy's conversions of each.
        named: list[Any] = [sqlalchemy.column(column) for column in columns] or [sqlalchemy.literal_column("1")]
        query = sqlalchemy.select(*named).select_from(sqlalchemy.table(table, schema=self._schemas[table]))
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


_FOLDS = {"sqlite": ascii_lower, "mysql": str.lower, "mariadb": str.lower}
"""How databases compare names; elsewhere as they are written."""


def refuse_schemas(inspector: Inspector, schemas: Sequence[str], name: str) -> None:
    """Check that a database has these schemas, or else a default one."""
    known = inspector.get_schema_names() if schemas else ()
    for schema in schemas:
        if schema not in known:
            raise FileError(f"{name}: there is no schema of the name that the URL has for {SCHEMA!r}")
    if not schemas and inspector.default_schema_name is None and inspector.dialect.name != "sqlite":
        raise UsageError(f"{name}: the URL names no database, or one without a default schema")


def _described(inspector: Inspector, schema: str | None, parts: Mapping[str, str]) -> dict[str, TableInfo]:
    """Return the tables and views of a schema, by name."""
    from sqlalchemy.engine.reflection import ObjectKind

    with warnings.catch_warnings():
        # Types that SQLAlchemy does not know do not matter: values are taken as the driver gives them.
        warnings.simplefilter("ignore")
        columns = inspector.get_multi_columns(schema, kind=ObjectKind.ANY)
        primary = inspector.get_multi_pk_constraint(schema, kind=ObjectKind.TABLE)
        views = {name for _, name in inspector.get_multi_columns(schema, kind=ObjectKind.ANY_VIEW)}
    tables: dict[str, TableInfo] = {}
    for place in sorted(columns, key=lambda place: place[1]):
        key, name = primary.get(place), place[1]
        names = tuple(str(column["name"]) for column in columns[place])
        if names:
            own = tuple(key["constrained_columns"]) if key else ()
            tables[name] = TableInfo(names, own, name in views, parts.get(name, ""))
    return tables


_PARTITIONS = """
SELECT part.relname, whole.relname FROM pg_catalog.pg_inherits
JOIN pg_catalog.pg_class part ON part.oid = inhrelid JOIN pg_catalog.pg_class whole ON whole.oid = inhparent
JOIN pg_catalog.pg_namespace own ON own.oid = part.relnamespace
WHERE part.relispartition AND own.nspname = %(own)s"""


def _partitions(connection: Connection, schema: str | None) -> dict[str, str]:
    """Return the table of which each partition is a part, where partitions can be read as tables."""
    if connection.dialect.name != "postgresql":
        return {}
    return {str(part): str(whole) for part, whole in connection.exec_driver_sql(_PARTITIONS, {"own": schema})}


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
