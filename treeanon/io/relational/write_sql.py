"""Writes released tables into a database in one transaction, committed after they were read again and verified.

Released tables as one SQLite file, with their keys as constraints.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from treeanon.errors import FileError, UsageError
from treeanon.io.relational.arrow_tables import TableOut
from treeanon.io.relational.database import DatabaseSource, refuse_schemas
from treeanon.io.relational.engines import Secret, open_engine, plainly
from treeanon.io.relational.source import TableSource, ascii_lower, quoted
from treeanon.io.relational.urls import ENVIRONMENT

if TYPE_CHECKING:
    from sqlalchemy import Connection, Table


_TYPES = {"integer": "INTEGER", "number": "REAL", "text": "TEXT"}
_AT_ONCE = 50_000


def check_names(tables: Sequence[TableOut]) -> None:
    """Check that SQLite can tell names apart and has not reserved them; else UsageError."""
    check_apart("SQLite", tables)
    for table in tables:
        if ascii_lower(table.name).startswith("sqlite_"):
            raise UsageError(
                f"SQLite does not allow {table.name!r} as a table name; write another format (--to tables)"
            )


def check_apart(database: str, tables: Sequence[TableOut]) -> None:
    """Check that names of tables, and of columns in one, differ in more than case; else UsageError."""
    _check_apart(database, "tables", [table.name for table in tables])
    for table in tables:
        _check_apart(database, f"columns of table {table.name!r}", table.data.column_names)


def _check_apart(database: str, what: str, names: Sequence[str]) -> None:
    folded: dict[str, str] = {}
    for name in names:
        other = folded.setdefault(ascii_lower(name), name)
        if other != name:
            raise UsageError(
                f"{database} does not distinguish the {what} {other!r} and {name!r}; write another format (--to tables)"
            )


def write_sqlite(tables: Sequence[TableOut], stream: BinaryIO) -> None:
    """Write a database file of these tables."""
    check_names(tables)
    handle, name = tempfile.mkstemp(prefix="treeanon-")
    with os.fdopen(handle, "rb") as made:
        try:
            _make(tables, Path(name))
        except sqlite3.Error as problem:
            # What sqlite says may quote data.
            raise FileError(f"the SQLite file cannot be made ({type(problem).__name__})") from None
        finally:
            Path(name).unlink(missing_ok=True)
        shutil.copyfileobj(made, stream)


def _make(tables: Sequence[TableOut], path: Path) -> None:
    with closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA journal_mode = OFF")
        database.execute("PRAGMA synchronous = OFF")
        # It is open, and empty: from here on nobody finds it, however the program ends.
        path.unlink()
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


def definition(table: TableOut, types: Mapping[str, str] = _TYPES) -> str:
    """Return the statement that creates an empty table, with its keys; `types` are those of the kinds of columns.

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
        f"{quoted(name)} {types[table.kinds[name]]}{' NOT NULL' if name in table.needed else ''}"
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


_COMMITS_TABLES = ("mysql", "mariadb")
"""Where each statement that makes a table commits what was written before it."""


def write_database(tables: Sequence[TableOut], url: str, check: Callable[[TableSource], None] | None) -> None:
    """Create these tables, with their keys, in a schema of a database that has none of their names there.

    Nobody else sees a row before all were read again and checked.
    """
    with _connected(url) as (connection, name, schema), _whole(connection) as made:
        _refuse_existing(connection, [table.name for table in tables], name, schema)
        _refuse_long(connection, tables, name)
        described = _described(tables, schema)
        early = connection.dialect.name in _COMMITS_TABLES
        if early:
            # The order of tables may be a circle: their keys are checked when all rows are there.
            connection.exec_driver_sql(
                "SET foreign_key_checks = 0, sql_mode = CONCAT(@@sql_mode, ',STRICT_ALL_TABLES')"
            )
        for table in tables:
            described[table.name].create(connection)
            made.append(described[table.name])
        if early:
            _constrain(connection, made)
        for table in tables:
            _fill_database(connection, described[table.name], table)
        if early:
            _check_keys(connection, made)
        else:
            _constrain(connection, made)
        if check is not None:
            check(DatabaseSource.on(connection, name, (schema,) if schema else ()))


def check_database(url: str, tables: Sequence[str]) -> None:
    """Check that a database can be reached and has none of these tables already."""
    with _connected(url) as (connection, name, schema):
        _refuse_existing(connection, tables, name, schema)


@contextmanager
def _connected(url: str) -> Iterator[tuple[Connection, str, str | None]]:
    """Yield a connection to a database, its name in messages, and the schema that the URL names, if any."""
    secret = Secret(url)
    name = url if url.startswith(ENVIRONMENT) else repr(secret)
    engine, schemas = open_engine(secret, name, writes=True)
    if len(schemas) > 1:
        raise UsageError(f"{name}: tables are written to one schema; the URL names {len(schemas)}")
    try:
        with plainly(name), engine.connect() as connection:
            yield connection, name, next(iter(schemas), None)
    finally:
        engine.dispose()


@contextmanager
def _whole(connection: Connection) -> Iterator[list[Table]]:
    """Commit all or nothing; yield the list of tables that were created."""
    made: list[Table] = []
    try:
        yield made
        connection.commit()
    except BaseException:
        # Where the connection is lost, the server takes back what was not committed.
        with suppress(Exception):
            connection.rollback()
            if connection.dialect.name != "postgresql":
                # Elsewhere tables that were made stay when all else is taken back.
                for table in reversed(made):
                    table.drop(connection, checkfirst=True)
                connection.commit()
        raise


def _refuse_existing(connection: Connection, tables: Sequence[str], name: str, schema: str | None) -> None:
    import sqlalchemy

    inspector = sqlalchemy.inspect(connection)
    refuse_schemas(inspector, (schema,) if schema else (), name)
    there = {*inspector.get_table_names(schema), *inspector.get_view_names(schema)}
    for table in tables:
        if table in there:
            what = f"has a table {table!r} already, which is never replaced"
            raise FileError(f"{name}: {what}; name an empty database or schema")


def _refuse_long(connection: Connection, tables: Sequence[TableOut], name: str) -> None:
    counts_letters = connection.dialect.name in _COMMITS_TABLES
    longest = 64 if counts_letters else connection.dialect.max_identifier_length
    for table in tables:
        for each in (table.name, *table.data.column_names):
            if len(each if counts_letters else each.encode()) > longest:
                raise UsageError(f"{name}: the name {each!r} is too long for this database; write another format")


def _described(tables: Sequence[TableOut], schema: str | None) -> dict[str, Table]:
    """Return the tables as SQLAlchemy describes them; their foreign keys are added later."""
    import sqlalchemy as sql
    from sqlalchemy.dialects.mysql import LONGTEXT

    text = sql.Text().with_variant(LONGTEXT(), *_COMMITS_TABLES)
    types: dict[str, Any] = {"integer": sql.BigInteger(), "number": sql.Double(), "text": text}
    # Whatever the server's own defaults are: rows that can be taken back, and all texts.
    wanted = {"engine": "InnoDB", "charset": "utf8mb4", "collate": "utf8mb4_bin"}
    options: dict[str, Any] = {
        f"{dialect}_{key}": value for dialect in _COMMITS_TABLES for key, value in wanted.items()
    }
    metadata = sql.MetaData()
    found: dict[str, Table] = {}
    for table in tables:
        columns = [
            sql.Column(name, types[table.kinds[name]], nullable=name not in table.needed, autoincrement=False)
            for name in table.data.column_names
        ]
        keys: list[Any] = [sql.PrimaryKeyConstraint(*table.primary)] if table.primary else []
        keys += [sql.UniqueConstraint(*names) for names in table.unique]
        found[table.name] = sql.Table(table.name, metadata, *columns, *keys, schema=schema, **options)
    numbers = count(1)
    for table in tables:
        for key in table.foreign:
            # As columns, not as texts: names may hold dots.
            target = [found[key.target].c[name] for name in key.target_columns]
            name = f"treeanon_{next(numbers)}"
            found[table.name].append_constraint(
                sql.ForeignKeyConstraint(key.columns, target, name=name, use_alter=True)
            )
    return found


def _constrain(connection: Connection, tables: Sequence[Table]) -> None:
    """Add the foreign keys."""
    from sqlalchemy.schema import AddConstraint

    for table in tables:
        for constraint in table.foreign_key_constraints:
            connection.execute(AddConstraint(constraint))


def _check_keys(connection: Connection, tables: Sequence[Table]) -> None:
    """Check that every key leads to a row, where the database was told not to."""
    import sqlalchemy as sql

    for table in tables:
        for constraint in table.foreign_key_constraints:
            own, goal = table.alias("own"), constraint.referred_table.alias("goal")
            sides = [(own.c[each.parent.name], goal.c[each.column.name]) for each in constraint.elements]
            met = own.outerjoin(goal, sql.and_(*(mine == theirs for mine, theirs in sides)))
            lost = [sides[0][1].is_(None), *(mine.is_not(None) for mine, _ in sides)]
            if connection.execute(sql.select(sql.literal(1)).select_from(met).where(*lost).limit(1)).first():
                raise FileError("the released tables do not hold their own keys; nothing is written")


def _fill_database(connection: Connection, made: Table, table: TableOut) -> None:
    if connection.dialect.driver == "psycopg":
        _copy(connection, made, table)
        return
    for start in range(0, table.data.num_rows, _AT_ONCE):
        connection.execute(made.insert(), table.data.slice(start, _AT_ONCE).to_pylist())


def _copy(connection: Connection, made: Table, table: TableOut) -> None:
    """Fill a table by PostgreSQL's COPY, as CSV in which only null is empty."""
    import io

    from pyarrow import csv

    names = ", ".join(map(quoted, table.data.column_names))
    goal = ".".join(quoted(part) for part in (made.schema, made.name) if part)
    raw: Any = connection.connection.dbapi_connection
    options = csv.WriteOptions(include_header=False, quoting_style="all_valid")
    with raw.cursor() as cursor, cursor.copy(f"COPY {goal} ({names}) FROM STDIN (FORMAT csv)") as copy:
        for start in range(0, table.data.num_rows, _AT_ONCE):
            text = io.BytesIO()
            csv.write_csv(table.data.slice(start, _AT_ONCE), text, options)
            copy.write(text.getvalue())
