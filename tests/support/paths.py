"""Where things are in the repository, and where tests of random data keep theirs."""

from __future__ import annotations

import tempfile
from itertools import count
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

_TEMPORARY = tempfile.TemporaryDirectory(prefix="treeanon-tests-")
FOLDER = Path(_TEMPORARY.name)
"""A folder for the hierarchies and documents of random tests."""

_NUMBERS = count()


def new_path(stem: str, ending: str) -> Path:
    """A path in `FOLDER` that nothing has yet: a drawn name would now and then be drawn twice."""
    return FOLDER / f"{stem}-{next(_NUMBERS)}{ending}"
