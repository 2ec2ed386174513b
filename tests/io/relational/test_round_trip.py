"""What is written as tables is read again, and its own keys hold."""

from __future__ import annotations

import shutil
import zipfile
from pathlib import Path
from random import Random
from unittest.mock import patch

import treeanon as ta
from tests.reference.relational_releases import check_package, check_sqlite, draw_release
from tests.support.paths import new_path
from tests.support.strategies import properties
from treeanon.io.relational import layout as released_rows

KINDS = ["sqlite", "csv", "tsv", "parquet", "zip"]


def fresh(ending: str) -> Path:
    return new_path("tables", ending)


def check_files(path: Path, kind: str) -> None:
    if kind == "sqlite":
        check_sqlite(path)
    elif kind == "zip":
        folder = fresh("")
        with zipfile.ZipFile(path) as archive:
            archive.extractall(folder)
        check_package(folder)
        shutil.rmtree(folder)
    else:
        check_package(path)


def check_round_trip(rnd: Random) -> None:
    kind = rnd.choice(KINDS)
    found, forest = draw_release(rnd, kind)
    target = fresh({"sqlite": ".sqlite", "zip": ".zip"}.get(kind, ""))
    try:
        with patch.object(released_rows, "_AT_ONCE", rnd.choice([1, 2, 20_000])):
            ta.write(forest, target)
        for schema in (forest.schema, found.case.schema):
            again = ta.read(target, schema)
            assert again == forest, (found.case.toml, list(forest.records()), list(again.records()))
            assert again.report is not None
            # What `verify` would call more than the trees.
            told = again.report
            assert not told.strays() and not told.keys and not told.dropped.paths(), (found.case.toml, told.as_dict())
        check_files(target, kind)
    finally:
        shutil.rmtree(target) if target.is_dir() else target.unlink(missing_ok=True)


test_round_trip, test_round_trip_thoroughly = properties(check_round_trip, 40)
