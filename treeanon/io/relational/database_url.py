"""What is opened for a database's URL: the driver, and a way in that waits no longer than it should."""

from __future__ import annotations

import importlib.util
import os
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from treeanon.errors import FileError, UsageError
from treeanon.io.relational.urls import ENVIRONMENT, NO_URL, redacted

if TYPE_CHECKING:
    from sqlalchemy import URL, Engine

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
        """The URL."""
        return self._url


def _of_environment(given: str) -> str:
    name = given.removeprefix(ENVIRONMENT)
    if not os.environ.get(name):
        raise UsageError(f"the environment variable {name!r} is not set; it should hold the URL of a database")
    return os.environ[name]


def open_engine(secret: Secret, name: str, *, writes: bool = False) -> Engine:
    """An engine for the URL, which has not connected yet; UsageError says what is missing or wrong."""
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
        raise UsageError(f"{name}: SQLAlchemy knows no database of the kind {url.drivername!r}") from None
    except ImportError as problem:
        missing = problem.name or driver
        raise UsageError(f"{name}: the driver for {url.drivername!r} is not installed: {missing}") from None
    except Exception:
        raise UsageError(f"{name}: the URL of the database has options that cannot be used") from None


def _parsed(secret: Secret, name: str) -> URL:
    from sqlalchemy.engine import make_url

    if redacted(secret.reveal()) == NO_URL:
        raise UsageError(f"{name}: is no URL of a database; one looks like postgresql://user@host/database")
    try:
        return make_url(secret.reveal())
    except Exception:
        raise UsageError(f"{name}: the URL of the database cannot be parsed; are its parts percent-encoded?") from None


def _with_driver(url: URL, name: str) -> URL:
    """PostgreSQL without a driver named takes the one that is installed."""
    if url.drivername not in ("postgresql", "postgres"):
        return url
    for driver in ("psycopg", "psycopg2"):
        if importlib.util.find_spec(driver) is not None:
            return url.set(drivername=f"postgresql+{driver}")
    raise UsageError(f"{name}: the driver for PostgreSQL is not installed: psycopg; {EXTRA}")


def _of_sqlite(url: URL, name: str, writes: bool) -> URL:
    """A SQLite file is opened for reading, unless it is to be written: else one that is not there would be made."""
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
    "57014": "the server cancelled the query: it took too long",
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
    """What a driver's error means in plain words; its own text may show values or the URL, and is never passed on."""
    original = getattr(problem, "orig", None) or problem
    state = str(getattr(original, "sqlstate", None) or getattr(original, "pgcode", None) or "")
    for size in (5, 2):
        if state[:size] in _STATES:
            return _STATES[state[:size]]
    # Where there is a state, the text may be anybody's: functions of the database write it.
    text = "" if state else str(original).lower()
    for words, reason in _WORDS.items():
        if re.search(words, text):
            return reason
    return f"the database refuses ({type(original).__name__}{' ' + state if state else ''})"
