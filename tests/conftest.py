"""Properties: always the same examples by default, random ones in the slow sweeps (`-m slow`).

`--hypothesis-profile=thorough` runs the quick tests of properties with random examples, too. A failure then prints a
`@reproduce_failure` that repeats it.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.support import profiles as profiles
from tests.support.paths import ROOT

# Some hundred tests start the command in a process of its own. What its modules compile to is kept for the next one,
# even on machines that are set to write no bytecode.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

LONGEST = (
    "tests/spark",
    "tests/algorithms/tree",
    "tests/algorithms/table",
    "tests/io",
    "tests/explore",
    "tests/reports",
)
"""What takes longest begins first, so that no worker is left alone with it at the end.

Trees beside tables: where no kernel is compiled yet, two workers compile different ones and keep them for the rest.
"""

SPREAD = "tests/cli"
"""Its tests need everything anyhow: each file may run anywhere."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep the tests of a package in one worker: it compiles and keeps the kernels of that package alone.

    So there is also one Spark, and not one for every worker.
    """
    for item in items:
        item.add_marker(pytest.mark.xdist_group(_group(item.path.relative_to(ROOT))))
    items.sort(key=lambda item: _place(item.path.relative_to(ROOT).as_posix()))


def _group(path: Path) -> str:
    if path.is_relative_to(SPREAD) or len(path.parts) < 3:
        return path.as_posix()
    return path.parent.as_posix()


def _place(path: str) -> int:
    return next((place for place, start in enumerate(LONGEST) if path.startswith(f"{start}/")), len(LONGEST))
