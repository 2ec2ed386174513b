"""Output that appears whole or not at all: written to a temporary place, then renamed.

Temporary files have no name where the system has such; two folders exchange their names in one step where it can.
"""

from __future__ import annotations

import ctypes
import errno
import gzip
import os
import re
import secrets
import shutil
import stat
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO, cast

from treeanon.errors import FileError, UsageError
from treeanon.io.relational.source import TableSource
from treeanon.io.relational.urls import is_remote, shown

_HERE = -100
_EXCHANGE = 2
_UNKNOWN = (errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP)


@cache
def _renameat2() -> Any:
    """Return Linux's function of that name; None elsewhere."""
    try:
        found: Any = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError, TypeError):
        return None
    found.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint)
    return found


def exchange(new: Path, old: Path) -> None:
    """Give what is at the path `new` the name `old`, and the other way round: nobody finds nothing there meanwhile.

    Where the system cannot do that, `old` is away for an instant, and is back if the new one cannot take its place.
    """
    rename = _renameat2()
    if rename is not None and rename(_HERE, os.fsencode(new), _HERE, os.fsencode(old), _EXCHANGE) == 0:
        return
    if rename is not None and (code := ctypes.get_errno()) not in _UNKNOWN:
        raise OSError(code, os.strerror(code), str(old))
    away = new.with_name(f".{new.name[:100]}.away")
    old.rename(away)
    try:
        new.rename(old)
    except BaseException:
        away.rename(old)
        raise
    away.rename(new)


_OPEN_FILES = Path("/proc/self/fd")


def unnamed_file() -> tuple[BinaryIO, Path]:
    """Return a new temporary file, to be closed, and a path to it for those who open files by path.

    Where the system has no paths to open files, the file has a name until it is closed, which only this user can open.

    >>> file, path = unnamed_file()
    >>> _ = file.write(b"x"), file.flush()
    >>> path.read_bytes(), os.fstat(file.fileno()).st_mode & 0o77
    (b'x', 0)
    >>> file.close()
    """
    if _OPEN_FILES.is_dir():
        file = cast(BinaryIO, tempfile.TemporaryFile())  # noqa: SIM115 - the caller closes it
        return file, path_of_open(file.fileno())
    named = tempfile.NamedTemporaryFile(prefix="treeanon-")  # noqa: SIM115 - the caller closes it
    return cast(BinaryIO, named), Path(named.name)


def path_of_open(handle: int) -> Path:
    """Return a path to an open file without a name, for our other processes too."""
    return Path(f"/proc/{os.getpid()}/fd/{handle}")


def is_unnamed(path: Path) -> bool:
    """Return whether a path is that of an open file of this process."""
    return path.parent == Path(f"/proc/{os.getpid()}/fd") and path.is_file()


STDOUT = "-"
_OURS = re.compile(r"(record|part)-[0-9]+\.[a-z.]+")

Written = Path | TableSource
"""Finished output that can be read before it appears: by a path, or as the open tables of a database."""

Check = Callable[[Written], None]
"""Is given the finished output before it appears; it does not, if this raises."""


@contextmanager
def naming(name: str) -> Iterator[None]:
    """Add the name of the target to failures to write."""
    try:
        yield
    except FileExistsError:
        raise FileError(f"{name}: exists already; use --force to replace it") from None
    except OSError as problem:
        raise FileError(f"{name}: cannot be written: {problem.strerror or type(problem).__name__}") from None


def refuse_existing(target: str | Path, *, force: bool) -> None:
    """Check that a target is no file and no folder with something in it, unless `force`."""
    if not str(target):
        raise UsageError("the name of the output is empty")
    path = Path(target)
    if is_remote(str(target)):
        from treeanon.io.remote import refuse_existing_remote

        return refuse_existing_remote(str(target), force=force)
    with naming(str(target)):
        if str(target) == STDOUT or force or not (path.is_file() or path.is_dir()):
            return
        if path.is_dir() and not any(path.iterdir()):
            return
    raise FileError(f"{target}: exists already; use --force to replace it")


@contextmanager
def open_output(
    target: str | Path, *, force: bool = False, check: Check | None = None, private: bool = False
) -> Iterator[BinaryIO]:
    """Return a stream whose bytes become the file `target` when the block ends without an error; `-` is standard
    output.

    The endings `.gz` and `.zst` compress. Without `force` an existing file is left alone. `check` has the last word.
    A `private` file can be read and written by its owner alone.
    """
    name = str(target)
    path = Path(name)
    refuse_existing(target, force=force)
    if name == STDOUT:
        if sys.stdout is None:
            raise FileError("standard output is closed")
        with _spooled("standard output", sys.stdout.buffer, check) as stream:
            yield stream
    elif is_remote(name):
        with _uploaded(name, force=force, check=check, private=private) as raw, _compressed(raw, shown(name)) as stream:
            yield stream
    elif path.exists() and not path.is_file():
        if path.is_dir():
            raise FileError(f"{name}: is a folder")
        with naming(name), path.open("wb") as device, _spooled(name, device, check) as stream:
            yield stream
    else:
        with _new_file(path, name, force=force, check=check, private=private) as raw, _compressed(raw, name) as stream:
            yield stream


@contextmanager
def _spooled(name: str, goal: BinaryIO, check: Check | None) -> Iterator[BinaryIO]:
    with naming(f"the temporary file for {name}"):
        aside, path = unnamed_file()
    with aside, naming(f"the temporary file for {name}"):
        yield aside
        aside.flush()
        if check is not None:
            check(path)
        aside.seek(0)
        with naming(name):
            shutil.copyfileobj(aside, goal)
            goal.flush()


@contextmanager
def _uploaded(url: str, *, force: bool, check: Check | None, private: bool) -> Iterator[BinaryIO]:
    from treeanon.io.remote import put

    if private:
        raise UsageError(f"{shown(url)}: what only you may read is not put into an object store; name a local file")
    with naming(f"the temporary file for {shown(url)}"):
        aside, path = unnamed_file()
    with aside:
        yield aside
        with naming(f"the temporary file for {shown(url)}"):
            aside.flush()
        if check is not None:
            check(path)
        put(url, aside, path, force=force)


@contextmanager
def _compressed(raw: BinaryIO, name: str) -> Iterator[BinaryIO]:
    with naming(name):
        if name.lower().endswith(".gz"):
            # No name and no time: both would reveal where the file comes from.
            with gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0) as stream:
                yield cast(BinaryIO, stream)
        elif name.lower().endswith(".zst"):
            import zstandard

            with zstandard.ZstdCompressor().stream_writer(raw, closefd=False) as stream:
                yield cast(BinaryIO, stream)
        else:
            yield raw


@contextmanager
def _new_file(path: Path, name: str, *, force: bool, check: Check | None, private: bool) -> Iterator[BinaryIO]:
    mode = 0o600 if private else 0o666
    goal = Path(os.path.realpath(path))
    aside: Path | None = None
    with naming(name):
        try:
            # A file without a name leaves nothing behind, even when the process is killed.
            handle = os.open(goal.parent, os.O_TMPFILE | os.O_RDWR, mode)
        except (AttributeError, OSError):
            aside = _staging(goal) / goal.name
            handle = os.open(aside, os.O_CREAT | os.O_EXCL | os.O_RDWR, mode)
    stream = os.fdopen(handle, "w+b")
    try:
        yield cast(BinaryIO, stream)
        with naming(name):
            stream.flush()
            os.fsync(handle)
        if check is not None:
            check(aside or path_of_open(handle))
        with naming(name):
            _publish(handle, aside, goal, force=force, private=private)
    finally:
        # Closing writes what is left, which fails again where writing failed: the first error is reported.
        with suppress(OSError):
            stream.close()
        if aside is not None:
            shutil.rmtree(aside.parent, ignore_errors=True)


def _aside(goal: Path) -> Path:
    return goal.with_name(f".{goal.name[:100]}.{secrets.token_hex(6)}.treeanon")


def _staging(goal: Path) -> Path:
    """Return a new folder beside a target, in which nobody else can read what is not checked yet."""
    found = _aside(goal)
    found.mkdir(mode=0o700)
    return found


def _publish(handle: int, aside: Path | None, goal: Path, *, force: bool, private: bool) -> None:
    """Give the written file its name; an old file is replaced in one step or stays."""
    if force and goal.exists():
        os.fchmod(handle, 0o600 if private else stat.S_IMODE(goal.stat().st_mode))
        named = aside or _aside(goal)
        try:
            if aside is None:
                _link(handle, named)
            named.replace(goal)
        finally:
            named.unlink(missing_ok=True)
    elif aside is None:
        _link(handle, goal)
    else:
        # Where files without names are not known, links may not be either: rename, after a last look.
        if goal.exists():
            raise FileExistsError
        aside.replace(goal)


def _link(handle: int, goal: Path) -> None:
    """Give a file without a name this one."""
    handles = os.open("/proc/self/fd", os.O_RDONLY)
    try:
        # Python follows the link to the open file only if it is named relative to a folder.
        os.link(str(handle), goal, src_dir_fd=handles, follow_symlinks=True)
    finally:
        os.close(handles)


class Folder:
    """A folder (or zip) under construction; `add` puts one file into it, `open` gives a stream for one."""

    def __init__(self, path: Path | None, archive: zipfile.ZipFile | None) -> None:
        self.path, self.archive = path, archive

    def add(self, name: str, data: bytes) -> None:
        """Add one file."""
        if self.archive is not None:
            self.archive.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)
        elif self.path is not None:
            (self.path / name).write_bytes(data)

    @contextmanager
    def open(self, name: str) -> Iterator[BinaryIO]:
        """Return a stream whose bytes become one file."""
        if self.archive is not None:
            entry = zipfile.ZipInfo(name)
            entry.compress_type = zipfile.ZIP_DEFLATED
            with self.archive.open(entry, "w", force_zip64=True) as stream:
                yield cast(BinaryIO, stream)
        elif self.path is not None:
            with (self.path / name).open("wb") as stream:
                yield stream


def holds_parts(folder: Path) -> bool:
    """Return whether a folder holds nothing but files of records, as treeanon names them."""
    return all(is_part(path.name) for path in folder.iterdir())


def is_part(name: str) -> bool:
    """Return whether a file is named as treeanon names those of a folder."""
    return _OURS.fullmatch(name) is not None


@contextmanager
def open_folder(
    target: str | Path,
    *,
    force: bool = False,
    check: Check | None = None,
    is_ours: Callable[[Path], bool] = holds_parts,
) -> Iterator[Folder]:
    """Return a folder that appears as `target` when the block ends without an error; a name in `.zip` makes a zip.

    With `force` a folder is replaced only if it `is_ours`: holds nothing but files that treeanon names so. `check`
    has the last word.
    """
    name = str(target)
    if name.lower().endswith(".zip"):
        with open_output(target, force=force, check=check) as stream, zipfile.ZipFile(stream, "w") as archive:
            yield Folder(None, archive)
        return
    if is_remote(name):
        from treeanon.io.remote import refuse_remote_target

        refuse_remote_target(f"{name.rstrip('/')}/")
    if name == STDOUT:
        raise UsageError("several files cannot go to standard output; name a folder or a .zip")
    refuse_existing(target, force=force)
    goal = Path(os.path.realpath(name))
    if goal.exists() and not goal.is_dir():
        raise FileError(f"{name}: is no folder")
    if goal.is_dir() and any(goal.iterdir()) and not is_ours(goal):
        raise FileError(f"{name}: holds files that are not from treeanon; empty it or name another folder")
    with naming(name):
        staging = _staging(goal)
    try:
        with naming(name):
            made = staging / goal.name
            made.mkdir()
            if goal.exists():
                made.chmod(stat.S_IMODE(goal.stat().st_mode) | stat.S_IRWXU)
            yield Folder(made, None)
        if check is not None:
            check(made)
        with naming(name):
            if goal.exists():
                exchange(made, goal)
            else:
                made.rename(goal)
    finally:
        shutil.rmtree(staging, ignore_errors=True)
