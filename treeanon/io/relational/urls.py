"""URLs of databases and object stores, and what messages show of them: no passwords, even if the URL is malformed."""

from __future__ import annotations

import os
import re
from urllib.parse import unquote

from treeanon.errors import UsageError

ENVIRONMENT = "env:"
NO_URL = "(a text that is no database URL)"

_URL = re.compile(
    r"(?!(?:https?|ftps?|file|s3|gs|gcs|az|abfss?|data|zip)://)[A-Za-z][A-Za-z0-9_]+(?:\+[A-Za-z0-9_]+)?://",
    re.IGNORECASE,
)
_REMOTE = re.compile(r"(?:s3|gs|gcs|az|abfs|abfss|https)://[^/]", re.IGNORECASE)
_OTHER = re.compile(r"[A-Za-z][A-Za-z0-9_+.-]+:(?=/)")
_NAMED = re.compile(r"env:[A-Za-z_][A-Za-z0-9_]*")
_PORT = re.compile(r"[0-9]{1,5}")


def is_database(url: str) -> bool:
    """Return whether a text looks like the URL of a database, or names an environment variable that holds one.

    >>> [is_database(text) for text in ("postgresql+psycopg://db/x", "sqlite:///x.db", "env:DB", "x.db", "C:/x", "C://x")]
    [True, True, True, False, False, False]
    """
    return bool(_URL.match(url) or _NAMED.fullmatch(url))


def redacted(url: str) -> str:
    """Return a database's URL without its password and without its options.

    A URL that cannot be parsed is cut down further rather than shown: what may be a password is always left out.

    >>> redacted("postgresql://ann:s%40e@db.example:5432/clinic?password=secret")
    'postgresql://ann:***@db.example:5432/clinic?***'
    >>> redacted("postgresql://ann:se/c?r@t@db/clinic"), redacted("env:CLINIC"), redacted("ann:secret@db")
    ('postgresql://ann:***@db/clinic', 'env:CLINIC', '(a text that is no database URL)')
    """
    if _NAMED.fullmatch(url):
        return url
    scheme, mark, rest = url.partition("://")
    if not mark or not re.fullmatch(r"[A-Za-z][A-Za-z0-9_+]*", scheme):
        return NO_URL
    # SQLite has no passwords, but paths with all characters.
    shown = f"{scheme}://{_place(rest) if scheme != 'sqlite' else rest.partition('?')[0]}"
    return "".join(c if c.isprintable() else "?" for c in shown)


def refuse_other_urls(name: str) -> None:
    """Raise a UsageError for a URL that is not that of a database; it may hold a password all the same.

    >>> refuse_other_urls("ftp://ann:secret@db/x")
    Traceback (most recent call last):
    treeanon.errors.UsageError: 'ftp:…' is no file, and no URL such as postgresql://user@host/database or s3://bucket/file
    """
    found = _OTHER.match(name)
    if found is not None and not is_database(name) and not is_remote(name):
        examples = "postgresql://user@host/database or s3://bucket/file"
        raise UsageError(f"'{found[0]}…' is no file, and no URL such as {examples}")


def is_remote(name: str) -> bool:
    """Return whether a name is the URL of a file in an object store or on a web server.

    >>> [is_remote(name) for name in ("s3://bucket/a.csv", "https://host/a.csv", "http://host/a.csv", "s3:/x", "a.csv")]
    [True, True, False, False, False]
    """
    return bool(_REMOTE.match(name))


def file_of(name: str) -> str:
    """Return the file that a name stands for: that of a SQLite URL, else the name itself.

    >>> file_of("sqlite:///data/a%20b.db?mode=ro"), file_of("sqlite+pysqlite:////tmp/a.db"), file_of("a.db")
    ('data/a b.db', '/tmp/a.db', 'a.db')
    """
    if name.startswith(ENVIRONMENT):
        name = os.environ.get(name.removeprefix(ENVIRONMENT), "")
    found = re.match(r"sqlite(?:\+\w+)?:///(?:file:)?([^?]*)", name)
    return unquote(found[1]) if found is not None else name


def without_secrets(text: str) -> str:
    """Return a message without possible passwords: those in URLs, malformed ones too.

    >>> without_secrets("postgresql:/ann:secret@db/x: there is no such file"), without_secrets("line 3: wrong")
    ('postgresql:***@db/x: there is no such file', 'line 3: wrong')
    >>> without_secrets("postgresql://ann:***@db/x: is away")
    'postgresql://ann:***@db/x: is away'
    """
    # What is redacted already stays as it is.
    return re.sub(r":(?![^\s@]*:\*\*\*@)[^\s@]+@(?=\S)", ":***@", text)


def shown(name: str) -> str:
    """Return a source or target for messages: the URL of a database without its password.

    >>> shown("postgresql://ann:secret@db/clinic"), shown("clinic.sqlite"), shown("https://ann:pw@host/a.csv?token=x")
    ('postgresql://ann:***@db/clinic', 'clinic.sqlite', 'https://host/a.csv')
    """
    if is_remote(name):
        scheme, _, rest = name.partition("://")
        place = rest.partition("?")[0].partition("#")[0] if scheme.lower() == "https" else rest
        host, slash, path = place.partition("/")
        return f"{scheme}://{host.rpartition('@')[2]}{slash}{path}"
    return redacted(name) if is_database(name) else name


def _place(rest: str) -> str:
    """Return user, host and database; the last `@` of all ends the password, which may hold anything."""
    user, at, place = rest.rpartition("@")
    place, mark, _ = place.partition("?")
    if not at:
        host, slash, path = place.partition("/")
        name, colon, port = host.rpartition(":")
        # A user and password without a host look like a host and port.
        if colon and not _PORT.fullmatch(port) and not port.endswith("]"):
            host = f"{name.partition(':')[0]}:***"
        place = host + slash + path
    name = re.split("[:/?#]", user, maxsplit=1)[0]
    # Drivers take secrets in many options, and the rest of a password that is not encoded looks like another one.
    return f"{name}{':***' if name != user else ''}{at}{place}{'?***' if mark else ''}"
