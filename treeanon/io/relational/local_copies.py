"""Copies of inputs that must lie on disk as they are: what is compressed, in a zip, or comes through a pipe."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from treeanon.errors import FileError
from treeanon.io.sources import COMPRESSED, Source

_BLOCK = 1 << 20
_DESCRIPTOR = re.compile(r"/proc/[^/]+/fd/\d+|/dev/(?:fd/\d+|stdin)")


def lies_plain(path: Path) -> bool:
    """Whether a path is that of an uncompressed ordinary file, which libraries can open by its name."""
    if path.name.lower().endswith(COMPRESSED) or _DESCRIPTOR.fullmatch(str(path)):
        return False
    return path.is_file()


class Copies:
    """Decompressed copies in a folder that only this user can read; they go with `close`."""

    def __init__(self) -> None:
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._made = 0

    def of(self, source: Source, advance: Callable[[int], None] | None = None) -> Path:
        """The path of a copy of what a source holds, decompressed."""
        with source.open(advance) as stream:
            try:
                if self._folder is None:
                    self._folder = tempfile.TemporaryDirectory(prefix="treeanon-")
                path = Path(self._folder.name, str(self._made))
                self._made += 1
                with path.open("xb") as copy:
                    shutil.copyfileobj(stream, copy, _BLOCK)
            except OSError as problem:
                why = problem.strerror or type(problem).__name__
                raise FileError(f"the temporary copy of {source.name}: cannot be written: {why}") from None
        return path

    def close(self) -> None:
        """Deletes all copies."""
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None
