"""Real servers of databases for tests: PostgreSQL and MariaDB, each skipped where its URL is not in the environment.

`tests/postgres.sh` and `tests/mariadb.sh` start them; both have the same password, with what URLs must encode.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from urllib.parse import quote

import pytest


@dataclass(frozen=True)
class Server:
    """One server: what it is called, and the variable that holds its URL."""

    name: str
    variable: str

    @property
    def url(self) -> str:
        return os.environ.get(self.variable, "")

    @property
    def user(self) -> str:
        return self.url.partition("://")[2].partition(":")[0]

    @property
    def host(self) -> str:
        """The host and its port."""
        return self.url.rpartition("@")[2].partition("/")[0]

    def at(self, user: str) -> str:
        """The URL without a database, of another user (and password)."""
        return f"{self.url.partition('://')[0]}://{user}@{self.host}"

    def required(self) -> Server:
        if not self.url:
            pytest.skip(f"{self.variable} names no server")
        return self

    @contextmanager
    def schema(self, title: str) -> Iterator[str]:
        """Make an empty schema, in which no name needs another before it; give its URL."""
        name = f'"{title} {os.getpid()}"'
        run(
            self.url,
            f"DROP SCHEMA IF EXISTS {name}{self._all}",
            f"CREATE SCHEMA {name}{'' if self is POSTGRES else ' CHARACTER SET utf8mb4'}",
        )
        try:
            yield self.at_schema(name.strip('"'))
        finally:
            run(self.url, f"DROP SCHEMA {name}{self._all}")

    @property
    def _all(self) -> str:
        return " CASCADE" if self is POSTGRES else ""

    def at_schema(self, name: str) -> str:
        if self is POSTGRES:
            path = f'-csearch_path="{name}"'.replace(" ", chr(92) + " ")
            return f"{self.url}?options={quote(path, safe='')}"
        return f"{self.url.rpartition('/')[0]}/{quote(name)}"

    def series(self, count: int) -> str:
        """A table of numbers from 1 in a column `i`."""
        return f"generate_series(1, {count}) i" if self is POSTGRES else f"(SELECT seq AS i FROM seq_1_to_{count}) s"


POSTGRES = Server("postgres", "TREEANON_TEST_POSTGRES")
MARIADB = Server("mariadb", "TREEANON_TEST_MARIADB")

both = pytest.mark.parametrize("server", [POSTGRES, MARIADB], ids=lambda server: server.name, indirect=True)
"""Runs a test, which has a fixture `server`, on each server."""


def run(url: str, *statements: str) -> list[tuple[object, ...]]:
    """Execute statements with names in double quotes; return the rows of the last."""
    if url.startswith("postgresql"):
        import psycopg

        with psycopg.connect(url, autocommit=True) as connection:
            rows = None
            for statement in statements:
                rows = connection.execute(statement)  # type: ignore[call-overload]
            return rows.fetchall() if rows is not None and rows.description else []
    import pymysql
    from sqlalchemy.engine import make_url

    place = make_url(url)
    with (
        closing(
            pymysql.connect(
                host=place.host,
                port=place.port or 0,
                user=place.username,
                password=str(place.password),
                database=place.database,
                autocommit=True,
            )
        ) as connection,
        connection.cursor() as cursor,
    ):
        cursor.execute("SET sql_mode = CONCAT(@@sql_mode, ',ANSI_QUOTES,PIPES_AS_CONCAT')")
        for statement in statements:
            cursor.execute(statement)
        return list(cursor.fetchall())
