"""URLs of databases: what is one, and that no password is ever shown."""

from __future__ import annotations

import subprocess
import sys
import traceback
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treeanon.errors import FileError, TreeanonError, UsageError
from treeanon.io.relational.source import open_tables
from treeanon.io.relational.urls import is_database, redacted

SECRET = "Zwischenfall"


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://u:p@h/d", "postgresql://u:***@h/d"),
        ("postgresql+psycopg://u:p@h:5432/d", "postgresql+psycopg://u:***@h:5432/d"),
        ("postgresql://u@h/d", "postgresql://u@h/d"),
        ("postgresql://h:5432/d", "postgresql://h:5432/d"),
        ("postgresql://[::1]:5432/d", "postgresql://[::1]:5432/d"),
        ("postgresql://u:a:b@c@h/d", "postgresql://u:***@h/d"),
        ("postgresql://u:a/b?c#d@h/d?x=1&password=z", "postgresql://u:***@h/d?***"),
        ("postgresql:///d?host=h&user=u&password=z", "postgresql:///d?***"),
        ("postgresql://u:secret", "postgresql://u:***"),
        ("postgresql://u:secret/d", "postgresql://u:***/d"),
        ("sqlite:////home/x:y@z/y.db?mode=ro", "sqlite:////home/x:y@z/y.db"),
        ("postgresql://h/d?password=a:b@c@d", "postgresql://h:***@d"),
        ("mssql+pyodbc://?odbc_connect=DRIVER%3DPWD%3Dz", "mssql+pyodbc://?***"),
        ("postgresql://h/d?password=sec&ret=x", "postgresql://h/d?***"),
        ("postgresql://u\n\x1b[1m@h/d", "postgresql://u??[1m@h/d"),
        ("env:CLINIC", "env:CLINIC"),
        ("postgresql:/u:p@h/d", "(a text that is no database URL)"),
        ("hunter2", "(a text that is no database URL)"),
        ("a b://u:p@h", "(a text that is no database URL)"),
    ],
)
def test_redacted(url: str, shown: str) -> None:
    assert redacted(url) == shown


@given(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
    st.sampled_from(
        ["{0}://u:{1}@h/d", "{0}://u:{1}@h/d?x=y@z", "{0}://h/d?password={1}", "{0}://u:{1}@", "{0}://u:{1}@?"]
    ),
    st.booleans(),
)
def test_no_password_is_shown(more: str, form: str, encoded: bool) -> None:
    password = more + SECRET + more[::-1]
    assert SECRET not in redacted(form.format("postgresql", quote(password, safe="") if encoded else password))


@pytest.mark.parametrize(
    "text", ["postgresql://h", "mysql+pymysql://u@h/d", "sqlite:///x.db", "duckdb:///x", "env:A_1"]
)
def test_databases(text: str) -> None:
    assert is_database(text)


@pytest.mark.parametrize(
    "text", ["x.db", "C://x", "C:\\x", "env:", "env:a b", "http://h/x", "file:///x", "a/b://c", ""]
)
def test_no_databases(text: str) -> None:
    assert not is_database(text)


def problem_of(url: str, kind: type[TreeanonError]) -> str:
    with pytest.raises(kind) as caught:
        open_tables(url, "database")
    message = "".join(traceback.format_exception(caught.value))
    assert SECRET not in message and SECRET not in repr(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("url", "words", "kind"),
    [
        (f"nothing://u:{SECRET}@h/d", "no database of the kind 'nothing'", UsageError),
        (f"postgresql+nothing://u:{SECRET}@h/d", "no database of the kind 'postgresql+nothing'", UsageError),
        (f"mysql+mysqldb://u:{SECRET}@h/d", "the driver for 'mysql+mysqldb' is not installed: MySQLdb", UsageError),
        (f"postgresql://u:{SECRET}@h:port/d", "cannot be parsed", UsageError),
        (f"postgresql:u:{SECRET}@h/d", "is not the URL of a database", UsageError),
        (SECRET, "is not the URL of a database", UsageError),
        ("env:TREEANON_NOTHING_THERE", "'TREEANON_NOTHING_THERE' is not set", UsageError),
        (f"postgresql://u:{SECRET}@127.0.0.1:1/d", "connection is refused", FileError),
        (f"postgresql://127.0.0.1:1/d?password={SECRET}&user=u", "connection is refused", FileError),
        (f"postgresql://u:{SECRET}@nowhere.invalid/d", "host is not known", FileError),
        ("sqlite://", "names no file", UsageError),
        (f"sqlite:////nothing/{SECRET[:3]}.db", "there is no such file", FileError),
    ],
)
def test_urls_that_lead_nowhere(url: str, words: str, kind: type[TreeanonError]) -> None:
    pytest.importorskip("sqlalchemy")
    assert words in problem_of(url, kind)


def test_urls_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("sqlalchemy")
    monkeypatch.setenv("CLINIC", f"postgresql://u:{SECRET}@127.0.0.1:1/d")
    assert problem_of("env:CLINIC", FileError).startswith("env:CLINIC: ")
    monkeypatch.setenv("CLINIC", SECRET)
    assert problem_of("env:CLINIC", UsageError).startswith("env:CLINIC: ")


def test_without_sqlalchemy() -> None:
    code = (
        "import sys; sys.modules['sqlalchemy'] = None\n"
        "from treeanon.io.relational.source import open_tables\n"
        "try:\n    open_tables('postgresql://u:Zwischenfall@h/d', 'database')\n"
        "except Exception as problem:\n    print(type(problem).__name__, problem)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("UsageError") and "pip install 'treeanon[db]'" in done.stdout
    assert SECRET not in done.stdout + done.stderr


def test_sources_load_only_what_they_need() -> None:
    code = (
        "import treeanon.io.relational.source, treeanon.io.relational.urls, sys\n"
        "print([n for n in ('pyarrow', 'sqlalchemy', 'orjson') if n in sys.modules])\n"
        "import treeanon.io.relational.database, treeanon.io.relational.folder, treeanon.io.relational.sqlite\n"
        "print([n for n in ('sqlalchemy', 'psycopg') if n in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "sqlalchemy" not in done.stdout and "pyarrow" not in done.stdout.splitlines()[0]
