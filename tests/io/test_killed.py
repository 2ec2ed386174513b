"""What a run that is killed at any moment leaves: nothing of the input, nothing unchecked that others can read."""

from __future__ import annotations

import gzip
import io
import json
import os
import random
import signal
import sqlite3
import stat
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

SECRET = "CANARY-7f3a"
"""A field that is not published: where it is found, something of the input is."""

_PERSONS = 400
_ROWS: list[dict[str, Any]] = [
    {"id": number, "age": str(20 + number % 7), "name": f"{SECRET}-{number}"} for number in range(_PERSONS)
]
_CLASS = '[[class]]\nname = "age"\npath = "age"\n'


def _schema(form: str, record: str) -> str:
    lines = ["version = 1", "[input]", f'format = "{form}"', "one_per_person = true"]
    return "\n".join([*lines, *([f'record = "{record}"'] if record else []), _CLASS])


def _sqlite(folder: Path) -> bytes:
    made = sqlite3.connect(folder / "made.db")
    made.execute("CREATE TABLE person (id INTEGER PRIMARY KEY, age TEXT, name TEXT)")
    made.executemany("INSERT INTO person VALUES (:id, :age, :name)", _ROWS)
    made.commit()
    made.close()
    return (folder / "made.db").read_bytes()


def _duckdb(folder: Path) -> bytes:
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect(str(folder / "made.duckdb")) as made:
        made.execute("CREATE TABLE person (id INTEGER PRIMARY KEY, age TEXT, name TEXT)")
        made.register("rows", pa.Table.from_pylist(_ROWS))
        made.execute("INSERT INTO person SELECT id, age, name FROM rows")
    return (folder / "made.duckdb").read_bytes()


def _parquet() -> bytes:
    stream = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(_ROWS), stream)
    return stream.getvalue()


def _zip(name: str, data: bytes) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr(name, data)
    return stream.getvalue()


def _lines() -> bytes:
    return "".join(json.dumps(row) + "\n" for row in _ROWS).encode()


def _csv() -> bytes:
    return ("id,age,name\n" + "".join(f"{row['id']},{row['age']},{row['name']}\n" for row in _ROWS)).encode()


def _xml() -> bytes:
    rows = "".join(f"<p><age>{row['age']}</age><name>{row['name']}</name></p>" for row in _ROWS)
    return f"<all>{rows}</all>".encode()


CASES = {
    "sqlite": ("in.db.gz", "out.db", "person"),
    "duckdb": ("in.duckdb.gz", "out.duckdb", "person"),
    "tables": ("in.zip", "out/", "person"),
    "parquet": ("in.parquet.gz", "out.parquet", ""),
    "csv": ("in.csv.gz", "out.csv", ""),
    "xml": ("in.xml", "out.xml.gz", "all/p"),
    "json": ("in.json", "out.zip", "all[]"),
    "ndjson": ("-", "out/", ""),
}
"""Input, output and record by format."""


def _input(form: str, folder: Path) -> bytes:
    makers = {
        "sqlite": lambda: gzip.compress(_sqlite(folder)),
        "duckdb": lambda: gzip.compress(_duckdb(folder)),
        "tables": lambda: _zip("person.parquet", _parquet()),
        "parquet": lambda: gzip.compress(_parquet()),
        "csv": lambda: gzip.compress(_csv()),
        "xml": _xml,
        "json": lambda: json.dumps({"all": _ROWS}).encode(),
        "ndjson": _lines,
    }
    return makers[form]()


class Place:
    """A folder with an input, a folder for temporary files, and one for the output."""

    def __init__(self, form: str, folder: Path) -> None:
        source, target, record = CASES[form]
        self.folder, self.temp, self.out = folder, folder / "temp", folder / "out"
        for each in (self.temp, self.out):
            each.mkdir()
        (folder / "s.toml").write_text(_schema(form, record))
        self.data = _input(form, folder)
        if source != "-":
            (folder / source).write_bytes(self.data)
        flat = ["--algorithm", "mondrian"] if form in ("parquet", "csv") else ["-m", "1", "-n", "0"]
        self.arguments = ["anonymize", source, "-s", "s.toml", "-k", "3", *flat, "-o", f"out/{target}", "--force", "-q"]
        self.stdin = self.data if source == "-" else b""

    def run(self, seconds: float | None) -> int:
        """Run the command and kill it after some seconds; return its exit code."""
        own = os.environ | {"TMPDIR": str(self.temp)}
        command = [sys.executable, "-m", "treeanon", *self.arguments]
        with subprocess.Popen(command, cwd=self.folder, env=own, stdin=subprocess.PIPE) as work:
            assert work.stdin is not None
            work.stdin.write(self.stdin)
            work.stdin.close()
            if seconds is not None:
                try:
                    work.wait(seconds)
                except subprocess.TimeoutExpired:
                    work.send_signal(signal.SIGKILL)
            return work.wait()

    def left(self) -> Iterator[str]:
        """Yield what is wrong with what was left behind."""
        for path in self.temp.rglob("*"):
            if path.is_dir() and stat.S_IMODE(path.stat().st_mode) != 0o700:
                yield f"{path} can be opened by others"
            if path.is_file() and not _is_new_duckdb(path):
                yield f"{path} in the folder for temporary files"
        for path in self.out.rglob("*"):
            hidden = next((one for one in (path, *path.parents) if one.name.endswith(".treeanon")), None)
            if hidden is not None and hidden.is_dir() and stat.S_IMODE(hidden.stat().st_mode) != 0o700:
                yield f"{hidden} can be opened by others"
            if path.is_file() and SECRET.encode() in _unpacked(path.read_bytes()):
                yield f"{path} holds what is not published"


def _is_new_duckdb(path: Path) -> bool:
    """Tell whether a file is at most the headers of a DuckDB database: it loses its name before it has a table.

    A table takes a block of 256 kB.
    """
    return path.suffix == ".duckdb" and path.stat().st_size <= 3 * 4096


def _unpacked(data: bytes) -> bytes:
    if data.startswith(b"PK") and zipfile.is_zipfile(io.BytesIO(data)):
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return b"".join(map(archive.read, archive.namelist()))
    return gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data


@pytest.mark.parametrize("form", ["sqlite", "duckdb"])
def test_killed(form: str, tmp_path: Path) -> None:
    place = Place(form, tmp_path)
    place.run(1.5)
    assert not list(place.left())
    assert place.run(None) == 0
    assert not list(place.left()) and any(place.out.iterdir())


@pytest.mark.slow
def test_killed_at_200_moments(tmp_path: Path) -> None:
    chance, wrong, killed = random.Random(23), [], 0
    times: dict[str, tuple[Place, float]] = {}
    for form in CASES:
        (tmp_path / form).mkdir()
        place = Place(form, tmp_path / form)
        assert place.run(None) == 0, form
        begun = time.monotonic()
        assert place.run(None) == 0, form
        times[form] = place, time.monotonic() - begun
    for moment in range(500):
        place, whole = times[list(CASES)[moment % len(CASES)]]
        killed += place.run(whole * chance.uniform(0.2, 1)) == -signal.SIGKILL
        wrong += place.left()
        if killed == 200:
            break
    assert not wrong and killed == 200
