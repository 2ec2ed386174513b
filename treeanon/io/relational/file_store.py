"""Files of a folder or zip, found by their relative names; and temporary copies of inputs that must be plain files.

Copies are made of what is compressed, in a zip, or comes through a pipe.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import tempfile
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Protocol

from treeanon.errors import DataError, FileError, UsageError
from treeanon.io.output import unnamed_file
from treeanon.io.relational.urls import is_remote, shown
from treeanon.io.sources import COMPRESSED, STDIN, Source, find_sources, refuse_links

if TYPE_CHECKING:
    from sqlite3 import Connection

PACKAGE = "datapackage.json"
_TABLE = re.compile(r"(?P<stem>.+)\.(?P<kind>csv|tsv|parquet)(?:\.gz|\.zst)?", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True)
class Stored:
    """One file: its source, and its path if it is on disk."""

    source: Source
    path: Path | None


class FileStore(Protocol):
    """Files by their relative names, with `/` between folders."""

    name: str

    def find(self, name: str) -> Stored | None:
        """Return the file of that name."""

    def names(self) -> list[str]:
        """Return the files at the top and in its folders, sorted; hidden ones are left out."""


def table_name(name: str) -> tuple[str, str] | None:
    """Return the table that a file name stands for and the kind of file, or None.

    >>> table_name("Orders.CSV.gz"), table_name("orders.parquet"), table_name("notes.txt")
    (('Orders', 'csv'), ('orders', 'parquet'), None)
    """
    found = _TABLE.fullmatch(name)
    return (found["stem"], found["kind"].lower()) if found else None


class Folder:
    """The files of a folder."""

    def __init__(self, path: Path, name: str) -> None:
        self.path, self.name = path, name

    def find(self, name: str) -> Stored | None:
        """Return the file of that name, which is relative."""
        path = self.path / name
        try:
            if not path.is_file():
                return None
            refuse_links(self.path, [path], f"the folder {self.name}")
        except (OSError, ValueError):
            return None
        return Stored(Source(str(path), path.stat().st_size, partial(_open, path)), path)

    def names(self) -> list[str]:
        """Return the files at the top and in its folders."""
        try:
            inner = [path for folder in _shown(self.path) if folder.is_dir() for path in _shown(folder)]
            paths = [path for path in (*_shown(self.path), *inner) if path.is_file()]
        except OSError as problem:
            raise FileError(f"{self.name}: cannot be read: {problem.strerror}") from None
        return sorted(path.relative_to(self.path).as_posix() for path in paths)


def _open(path: Path) -> BinaryIO:
    return path.open("rb")


def _shown(folder: Path) -> list[Path]:
    return [path for path in folder.iterdir() if not path.name.startswith(".")]


class Zip:
    """The members of a zip; one folder that holds them all is left out of their names."""

    def __init__(self, path: str | Path, name: str) -> None:
        self.name = name
        called = name if name.lower().endswith(".zip") else f"{name}.zip"
        found = find_sources(path, ("",), called=called).items
        names = [source.name.removeprefix(f"{called}:").replace("\\", "/") for source in found]
        twice = [member for member, count in Counter(names).items() if count > 1]
        if twice:
            raise DataError(f"the zip holds {twice[0]!r} twice", source=name)
        kept = {m: s for m, s in zip(names, found, strict=True) if _is_shown(m)}
        tops = {member.partition("/")[0] for member in kept}
        cut = len(next(iter(tops))) + 1 if len(tops) == 1 and all("/" in member for member in kept) else 0
        self.members = {member[cut:]: source for member, source in kept.items()}

    def find(self, name: str) -> Stored | None:
        """Return the member of that name."""
        source = self.members.get(name)
        return Stored(source, None) if source else None

    def names(self) -> list[str]:
        """Return the members at the top and in its folders."""
        return sorted(member for member in self.members if member.count("/") <= 1)


def _is_shown(member: str) -> bool:
    parts = member.split("/")
    return not any(part.startswith(".") for part in parts) and parts[0] != "__MACOSX"


class Remote:
    """The files of a folder in an object store, as it was listed."""

    def __init__(self, url: str, name: str) -> None:
        self.name = name
        top = shown(url.rstrip("/") + "/")
        found = find_sources(top, ("",)).items
        self.members = {source.name.removeprefix(top): source for source in found}

    def find(self, name: str) -> Stored | None:
        """Return the file of that name."""
        source = self.members.get(name)
        return Stored(source, None) if source else None

    def names(self) -> list[str]:
        """Return the files at the top and in its folders."""
        return sorted(name for name in self.members if name.count("/") <= 1 and _is_shown(name))


def _remote_store(url: str, called: str | None) -> FileStore:
    name = called or shown(url)
    if url.lower().startswith("https:") or name.lower().endswith(".zip"):
        return Zip(url, name)
    return Remote(url.removesuffix(PACKAGE), name)


def open_file_store(given: str | Path, called: str | None = None) -> FileStore:
    """Return the files of a folder or a zip, or those beside a datapackage.json; `called` is the name in messages."""
    if is_remote(str(given)):
        return _remote_store(str(given), called)
    name, path = called or ("standard input" if str(given) == STDIN else str(given)), Path(given)
    try:
        if path.is_dir():
            return Folder(path, name)
        if path.name == PACKAGE and path.is_file():
            return Folder(path.parent, str(path.parent))
        if path.is_file() and zipfile.is_zipfile(path):
            return Zip(path, name)
        there = path.exists() or str(given) == STDIN
    except (OSError, ValueError) as problem:
        why = getattr(problem, "strerror", None) or "its name cannot be one of a file"
        raise FileError(f"{name}: cannot be read: {why}") from None
    if there:
        raise UsageError(f"{name}: tables are read from a folder, a zip or a {PACKAGE}")
    raise FileError(f"{name}: there is no such file or folder")


_BLOCK = 1 << 20
_DESCRIPTOR = re.compile(r"/proc/[^/]+/fd/\d+|/dev/(?:fd/\d+|stdin)")


def is_plain_file(path: Path) -> bool:
    """Return whether a path is that of an uncompressed regular file, which libraries can open by its name."""
    if path.name.lower().endswith(COMPRESSED) or _DESCRIPTOR.fullmatch(str(path)):
        return False
    return path.is_file()


class Copies:
    """Decompressed copies in temporary files without a name; `close` gives their room back."""

    def __init__(self) -> None:
        self._files: list[BinaryIO] = []

    def of(self, source: Source, advance: Callable[[int], None] | None = None) -> Path:
        """Return the path of a decompressed copy of a source."""
        with source.open(advance) as stream, _copying(source):
            file, path = _opened()
            self._files.append(file)
            shutil.copyfileobj(stream, file, _BLOCK)
            file.flush()
        return path

    def close(self) -> None:
        """Delete all copies."""
        while self._files:
            with suppress(OSError):
                self._files.pop().close()


@contextmanager
def _copying(source: Source) -> Iterator[None]:
    try:
        yield
    except OSError as problem:
        why = problem.strerror or type(problem).__name__
        raise FileError(f"the temporary copy of {source.name}: cannot be written: {why}") from None


def _opened() -> tuple[BinaryIO, Path]:
    """Return a new file; each copy stays open, and there may be more of them than files that may be open at first."""
    try:
        return unnamed_file()
    except OSError as problem:
        if problem.errno != errno.EMFILE:
            raise
    import resource

    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    return unnamed_file()


_SQLITE, _WAL = b"SQLite format 3\0", 18


def fill_sqlite(
    source: Source, connect: Callable[[Path], Connection], advance: Callable[[int], None] | None = None
) -> Connection:
    """Return a connection to a copy of a SQLite file, which has lost its name before its first byte is there.

    SQLite opens files by names of their own alone. A copy has no write-ahead log beside it, and does not ask for one.
    """
    with source.open(advance) as stream, _copying(source):
        handle, name = tempfile.mkstemp(prefix="treeanon-")
        with os.fdopen(handle, "wb") as copy:
            try:
                connection = connect(Path(name))
            finally:
                Path(name).unlink()
            try:
                head = stream.read(_WAL + 2)
                if head.startswith(_SQLITE):
                    head = head[:_WAL] + head[_WAL:].replace(b"\2", b"\1")
                copy.write(head)
                shutil.copyfileobj(stream, copy, _BLOCK)
            except BaseException:
                connection.close()
                raise
    return connection
