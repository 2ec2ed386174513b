"""A column called `treeanon_record` is any column in a file of rows, and a mark only in tables tied by keys."""

from __future__ import annotations

from pathlib import Path

import pytest

import treeanon as ta
from treeanon.io.columns.read_table import read_table

CLASS = '[[class]]\nname = "{0}"\npath = "{0}"\n'
HEAD = 'version = 1\n[input]\nformat = "csv"\n'


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    (tmp_path / "in.csv").write_text("age,treeanon_record\n34,x\n34,y\n35,1\n35,0\n")
    return tmp_path / "in.csv"


def test_a_file_of_rows_may_have_such_a_column(rows: Path) -> None:
    schema = ta.Schema.loads(HEAD + CLASS.format("age") + CLASS.format("treeanon_record"))
    forest = ta.read(rows, schema)
    assert len(forest) == len(read_table(rows, schema)) == 4
    ta.anonymize(forest, k=2, m=1, n=0, effort=0.1).write(rows.with_name("trees.csv"))
    ta.anonymize(read_table(rows, schema), k=2).write(rows.with_name("out.csv"))
    for name in ("trees.csv", "out.csv"):
        assert rows.with_name(name).read_text().startswith('"age","treeanon_record"')


def test_one_that_the_schema_does_not_name_is_counted(rows: Path) -> None:
    schema = ta.Schema.loads(HEAD + CLASS.format("age"))
    for read in (ta.read(rows, schema), read_table(rows, schema)):
        assert read.report is not None and read.report.dropped.paths() == {"treeanon_record": 4}


def test_the_column_of_stars_keeps_its_meaning(rows: Path) -> None:
    schema = ta.Schema.loads(HEAD + CLASS.format("age") + CLASS.format("treeanon_any"))
    rows.write_text("age,treeanon_any\n34,x\n")
    with pytest.raises(ta.errors.TreeanonError):
        ta.read(rows, schema)
