"""Connections to databases by SQLAlchemy URLs: the installed driver, a time limit, and errors in plain words.

The parameter `schema` of a URL, which is ours and may be given several times, names the schemas to read.
"""

from __future__ import annotations

import importlib.util
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

from treeanon.errors import DataError, FileError, TreeanonError, UsageError
from treeanon.io.columns.python_values import NO_TEXT
from treeanon.io.relational.urls import ENVIRONMENT, NO_URL, redacted

if TYPE_CHECKING:
    from sqlalchemy import URL, Engine

EXTRA = "pip install 'treeanon[db]'"
SCHEMA = "schema"
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


class Opened(NamedTuple):
    """An engine that has not connected yet, and the schemas that the URL names, if any."""

    engine: Engine
    schemas: tuple[str, ...]


def open_engine(secret: Secret, name: str, *, writes: bool = False) -> Opened:
    """Return an engine for the URL; UsageError says what is missing or wrong."""
    try:
        import sqlalchemy
    except ImportError:
        raise UsageError(f"databases are read by SQLAlchemy, which is not installed; {EXTRA}") from None
    url, schemas = _without_schemas(_parsed(secret, name), name)
    url = _of_sqlite(url, name, writes) if url.get_backend_name() == "sqlite" else _with_driver(url, name)
    driver = ""
    try:
        driver = url.get_driver_name()
        options: dict[str, Any] = {"hide_parameters": True, "poolclass": sqlalchemy.NullPool}
        return Opened(sqlalchemy.create_engine(url, **options, connect_args=_arguments(url, driver)), schemas)
    except sqlalchemy.exc.NoSuchModuleError:
        raise UsageError(f"{name}: SQLAlchemy supports no database of the kind {url.drivername!r}") from None
    except ImportError as problem:
        missing = problem.name or driver
        raise UsageError(f"{name}: the driver for {url.drivername!r} is not installed: {missing}") from None
    except Exception:
        raise UsageError(f"{name}: the URL of the database has options that cannot be used") from None


def _arguments(url: URL, driver: str) -> dict[str, Any]:
    """Return what the driver is told beside the URL."""
    waits = driver in _WAITING and "connect_timeout" not in url.query
    found: dict[str, Any] = {"connect_timeout": _WAIT} if waits else {}
    if driver == "pymysql":
        from pymysql.constants import FIELD_TYPE
        from pymysql.converters import conversions

        # A time of day is a text, as it is of other databases, and not a span.
        found["conv"] = {**conversions, FIELD_TYPE.TIME: str}
    return found


def _parsed(secret: Secret, name: str) -> URL:
    from sqlalchemy.engine import make_url

    if redacted(secret.reveal()) == NO_URL:
        raise UsageError(f"{name}: is not the URL of a database, such as postgresql://user@host/database")
    if re.search(rf"[?&]{SCHEMA}=(?:&|$)", secret.reveal()):
        # Left out without a word by the parser: the default schema would be read.
        raise UsageError(f"{name}: the parameter {SCHEMA!r} of the URL is empty")
    try:
        return make_url(secret.reveal())
    except Exception:
        raise UsageError(f"{name}: the URL of the database cannot be parsed; are its parts percent-encoded?") from None


def _without_schemas(url: URL, name: str) -> tuple[URL, tuple[str, ...]]:
    """Return the URL without our own parameter, and the schemas that it names."""
    given = url.query.get(SCHEMA, ())
    schemas = (given,) if isinstance(given, str) else given
    if len(set(schemas)) < len(schemas):
        raise UsageError(f"{name}: the URL names a schema twice")
    if schemas and url.get_backend_name() == "sqlite":
        raise UsageError(f"{name}: SQLite has no schemas; leave the parameter {SCHEMA!r} out")
    return url.difference_update_query([SCHEMA]), schemas


_DRIVERS = {
    "postgresql": ("PostgreSQL", ("psycopg", "psycopg2")),
    "postgres": ("PostgreSQL", ("psycopg", "psycopg2")),
    "mysql": ("MySQL", ("pymysql",)),
    "mariadb": ("MariaDB", ("pymysql",)),
}


def _with_driver(url: URL, name: str) -> URL:
    """Return the URL with the installed driver, if it names none and is of a database that has one here."""
    if url.drivername not in _DRIVERS:
        return url
    title, drivers = _DRIVERS[url.drivername]
    for driver in drivers:
        if importlib.util.find_spec(driver) is not None:
            return url.set(drivername=f"{'postgresql' if title == 'PostgreSQL' else url.drivername}+{driver}")
    raise UsageError(f"{name}: the driver for {title} is not installed: {drivers[0]}; {EXTRA}")


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
    "08": "the connection broke off",
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
    r"closed|terminat|lost connection|gone away|eof detected|broken pipe|reset": _STATES["08"],
    r"permission denied": _STATES["42501"],
    r"connection option|invalid .*value": "an option of the URL cannot be used",
}
_NUMBERS = {
    **dict.fromkeys((1044, 1045, 1698), "28000"),
    1049: "3D000",
    **dict.fromkeys((1142, 1143, 1227, 1370), "42501"),
    **dict.fromkeys((1040, 1203, 1226, 1021, 1114), "53000"),
    **dict.fromkeys((1317, 1969, 3024), "57014"),
    **dict.fromkeys((1053, 1927), "57P01"),
    1205: "55P03",
    1213: "40001",
    **dict.fromkeys((0, 2006, 2013, 2014, 2055), "08000"),
}
"""What errors of MySQL and MariaDB mean, as SQL states; their own are those of errors of many kinds."""

_ITS_OWN = range(2000, 3000)
"""Numbers of the errors of MySQL's clients."""


def plain_reason(problem: BaseException) -> str:
    """Return what a driver's error means in plain words; its own text may show values or the URL, and is never
    passed on.
    """
    original = getattr(problem, "orig", None) or problem
    state = state_of(original)
    for size in (5, 2):
        if state[:size] in _STATES:
            return _STATES[state[:size]]
    # With an SQL state, the text may come from functions of the database, and so show values.
    text = "" if state else str(original).lower()
    for words, reason in _WORDS.items():
        if re.search(words, text):
            return reason
    return f"the database refuses ({type(original).__name__}{' ' + state if state else ''})"


def state_of(original: BaseException) -> str:
    """Return the SQL state of a driver's error; that of its number where states are too coarse."""
    number = original.args[0] if original.args and type(original).__module__.startswith("pymysql") else None
    if isinstance(number, int) and number in _NUMBERS:
        return _NUMBERS[number]
    if number in _ITS_OWN:
        return ""
    return str(getattr(original, "sqlstate", None) or getattr(original, "pgcode", None) or "")


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
        original = getattr(problem, "orig", None) or problem
        if state_of(original).startswith("22") or type(original).__name__ == "DataError":
            raise DataError(_STATES["22"], source=name, place=place) from None
        raise FileError(f"{name}{', ' + place if place else ''}: {plain_reason(problem)}") from None
