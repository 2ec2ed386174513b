"""Standard streams that may be closed, full or without a reader: a lost log is no failure, a lost result is one."""

from __future__ import annotations

import io
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any, TextIO, cast

from treeanon.errors import FileError

LOST = "standard output: cannot be written"


class _Log(io.FileIO):
    """Standard error: what it cannot take is lost, and nothing else is."""

    def write(self, text: Any, /) -> int:
        try:
            return super().write(text)
        except OSError:
            return len(text)


class _Result(io.FileIO):
    """Standard output; click would end with code 1 where it met an OSError of it."""

    def write(self, text: Any, /) -> int:
        try:
            return super().write(text)
        except OSError as problem:
            raise FileError(f"{LOST}: {problem.strerror}") from None


def guard_streams() -> None:
    """Have standard output fail by a FileError and standard error not at all; streams of a test stay as they are."""
    _fill_descriptors()
    out, log = sys.stdout, sys.stderr
    if cast("TextIO | None", log) is None:
        # Nobody reads it: not even what is wrong with the terminal may end the work.
        sys.stderr = Path(os.devnull).open("w", encoding="utf-8", errors="backslashreplace")  # noqa: SIM115
    elif isinstance(log, io.TextIOWrapper) and log is sys.__stderr__:
        sys.stderr = _text(_Log(log.fileno(), "wb", closefd=False), log, True)
    if isinstance(out, io.TextIOWrapper) and out is sys.__stdout__:
        sys.stdout = _text(_Result(out.fileno(), "wb", closefd=False), out, out.line_buffering)


def _text(raw: io.FileIO, old: io.TextIOWrapper, line_buffering: bool) -> io.TextIOWrapper:
    return io.TextIOWrapper(
        io.BufferedWriter(raw), encoding=old.encoding, errors=old.errors, line_buffering=line_buffering
    )


def _fill_descriptors() -> None:
    """Take the places of closed streams, so that no file is opened there that a library then prints into."""
    with suppress(OSError):
        while (opened := os.open(os.devnull, os.O_RDWR)) <= 2:
            os.set_inheritable(opened, True)
        os.close(opened)


def finish_output() -> FileError | None:
    """Write what standard output still holds; return why that failed. What is left then cannot fail again at exit."""
    if sys.stdout is None:
        return None
    try:
        sys.stdout.flush()
    except FileError as problem:
        found = problem
    except OSError as problem:
        found = FileError(f"{LOST}: {problem.strerror}")
    except ValueError:
        return None
    else:
        return None
    with suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return found
