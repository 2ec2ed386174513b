"""Temporary files without a name: they are gone when the program ends, however it ends, and nobody can find them."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import BinaryIO, cast

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
