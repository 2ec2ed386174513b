"""Released tables in a database, all in one transaction: it commits when they have been read again and found right."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from treeanon.errors import FileError, UsageError
from treeanon.io.tables.database import DatabaseSource, plainly
from treeanon.io.tables.database_url import Secret, open_engine
from treeanon.io.tables.source import TableSource
from treeanon.io.tables.tables_out import TableOut
from treeanon.io.tables.urls import ENVIRONMENT

if TYPE_CHECKING:
    from sqlalchemy import Connection, Table

_AT_ONCE = 50_000


def write_database(tables: Sequence[TableOut], url: str, check: Callable[[TableSource], None] | None) -> None:
    """Makes these tables, with their keys, in the default schema of a database that has none of their names."""
    secret = Secret(url)
    name = url if url.startswith(ENVIRONMENT) else repr(secret)
    engine = open_engine(secret, name, writes=True)
    try:
        with plainly(name), engine.connect() as connection, _whole(connection, name) as made:
            _refuse_existing(connection, tables, name)
            for table in tables:
                made.append(_make(connection, table))
            for table in tables:
                _constrain(connection, table)
            if check is not None:
                check(DatabaseSource.on(connection, name))
    finally:
        engine.dispose()


@contextmanager
def _whole(connection: Connection, name: str) -> Iterator[list[Table]]:
    """Commits all or nothing; yields the list of tables that were made."""
    made: list[Table] = []
    try:
        yield made
        connection.commit()
    except BaseException:
        connection.rollback()
        if connection.dialect.name != "postgresql":
            # Elsewhere tables that were made stay when all else is taken back.
            for table in reversed(made):
                table.drop(connection, checkfirst=True)
            connection.commit()
        raise


def _refuse_existing(connection: Connection, tables: Sequence[TableOut], name: str) -> None:
    import sqlalchemy

    inspector = sqlalchemy.inspect(connection)
    there = {*inspector.get_table_names(), *inspector.get_view_names()}
    longest = connection.dialect.max_identifier_length
    for table in tables:
        if table.name in there:
            what = f"has a table {table.name!r} already, which is never replaced"
            raise FileError(f"{name}: {what}; name an empty database or schema")
        for each in (table.name, *table.data.column_names):
            if len(each.encode()) > longest:
                raise UsageError(f"{name}: the name {each!r} is too long for this database; write another format")


def _make(connection: Connection, table: TableOut) -> Table:
    """Makes one table and fills it."""
    made = _described(table)
    made.create(connection)
    if connection.dialect.driver == "psycopg":
        _copy(connection, made, table)
        return made
    for start in range(0, table.data.num_rows, _AT_ONCE):
        connection.execute(made.insert(), table.data.slice(start, _AT_ONCE).to_pylist())
    return made


def _described(table: TableOut) -> Table:
    import sqlalchemy as sql

    types: dict[str, Any] = {"integer": sql.BigInteger, "number": sql.Double, "text": sql.Text}
    columns = [
        sql.Column(name, types[table.kinds[name]], nullable=name not in table.needed, autoincrement=False)
        for name in table.data.column_names
    ]
    constraints: list[Any] = [sql.PrimaryKeyConstraint(*table.primary)] if table.primary else []
    constraints += [sql.UniqueConstraint(*names) for names in table.unique]
    return sql.Table(table.name, sql.MetaData(), *columns, *constraints)


def _constrain(connection: Connection, table: TableOut) -> None:
    """Adds the foreign keys of a table, when all tables are full."""
    quote = connection.dialect.identifier_preparer.quote
    for number, key in enumerate(table.foreign, start=1):
        own, target = (", ".join(map(quote, names)) for names in (key.columns, key.target_columns))
        name = quote(f"treeanon_{number}")
        statement = (
            f"ALTER TABLE {quote(table.name)} ADD CONSTRAINT {name}"
            f" FOREIGN KEY ({own}) REFERENCES {quote(key.target)} ({target})"
        )
        connection.exec_driver_sql(statement.replace("%", "%%"))


def _copy(connection: Connection, made: Table, table: TableOut) -> None:
    """Fills a table by what PostgreSQL has for that, as CSV in which only null is empty."""
    import io

    from pyarrow import csv

    quote = connection.dialect.identifier_preparer.quote
    names = ", ".join(map(quote, table.data.column_names))
    raw: Any = connection.connection.dbapi_connection
    options = csv.WriteOptions(include_header=False, quoting_style="all_valid")
    with raw.cursor() as cursor, cursor.copy(f"COPY {quote(made.name)} ({names}) FROM STDIN (FORMAT csv)") as copy:
        for start in range(0, table.data.num_rows, _AT_ONCE):
            text = io.BytesIO()
            csv.write_csv(table.data.slice(start, _AT_ONCE), text, options)
            copy.write(text.getvalue())
