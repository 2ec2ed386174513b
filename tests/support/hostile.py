"""What the tests of hostile input share: canary values, schemas, and readings that must fail without a word of data."""

from __future__ import annotations

import io
import logging
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import treeanon as ta
from treeanon.errors import DataError, TreeanonError
from treeanon.forest import Forest
from treeanon.schema import Schema

WORD, NUMBER = "CANARY-7f3a", "99887766"
CANARIES = (WORD, NUMBER, "CANARY", "7f3a", "998877")


def a_schema(form: str, record: str | None, *classes: tuple[str, ...]) -> Schema:
    """A schema of classes given as (name, path, further TOML lines…)."""
    text = f'version = 1\n[input]\nformat = "{form}"\nobjects = "merged"\n' + (
        f'record = "{record}"\n' if record else ""
    )
    for name, path, *more in classes:
        text += "\n".join(["[[class]]", f'name = "{name}"', f'path = "{path}"', *more]) + "\n"
    return Schema.loads(text)


_FIELDS = (("age", "age"), ("n", "n", 'type = "number"'), ("hospital", "visits[].hospital"), ("dx", "visits[].dx[]"))
NDJSON = a_schema("ndjson", None, *_FIELDS, ("w", "w.x"))
JSON = a_schema("json", "patients[]", *_FIELDS)
DEEP_JSON = a_schema("json", "a.patients[]", *_FIELDS)
XML = a_schema("xml", "patients/patient", ("age", "age"), ("hospital", "visit[]/@hospital"), ("dx", "visit[]/dx[]"))


def put(path: Path, data: bytes | str) -> Path:
    """Writes a file of the test."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


@contextmanager
def logged() -> Iterator[io.StringIO]:
    """All that is logged meanwhile."""
    text = io.StringIO()
    handler, root = logging.StreamHandler(text), logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    try:
        yield text
    finally:
        root.removeHandler(handler)
        root.setLevel(level)


def no_canary(*texts: str) -> None:
    """Asserts that no text holds a value of the data."""
    for text in texts:
        for canary in CANARIES:
            assert canary not in text


def refused(
    source: Path | str, schema: Schema, error: type[TreeanonError] = DataError, names_file: bool = True, **options: Any
) -> str:
    """The message by which a reading fails: it names the file; it, its traceback and the log have no value in them."""
    with logged() as log, pytest.raises(error) as caught:
        ta.read(source, schema, **options)
    problem, folder = caught.value, str(Path(source).parent)
    message = str(problem).replace(folder, "")
    # The frames of this helper are the outermost, so no line of a test is quoted.
    no_canary(message, "".join(traceback.format_exception(problem)).replace(folder, ""), log.getvalue())
    if names_file:
        assert Path(source).name in message
    return message


def trees(source: Path | str, schema: Schema, **options: Any) -> list[Any]:
    """The records that are read, as nested lists, with nothing of the data logged."""
    with logged() as log:
        forest: Forest = ta.read(source, schema, **options)
    no_canary(log.getvalue())
    return list(forest.records())
