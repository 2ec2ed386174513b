"""Whoever publishes by a schema as init wrote it publishes no name, mail, password, id or tale of anybody."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.support import health_data, shop_data
from treeanon.cli.main import main

INPUTS = dict([*health_data.generators(), *shop_data.generators()])


def run(*args: object) -> Result:
    done = CliRunner().invoke(main, [*map(str, args)], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done


def everything(path: Path) -> str:
    """All texts of what was written: of a folder its files and their names, of a database its rows and its bytes."""
    if path.is_dir():
        return "\n".join(f"{each.name}\n{everything(each)}" for each in path.rglob("*") if each.is_file())
    text = path.read_bytes().decode("utf-8", "replace")
    if path.suffix == ".sqlite":
        with closing(sqlite3.connect(path)) as database:
            text += "\n".join(database.iterdump())
    return text


@pytest.mark.parametrize("name", INPUTS)
def test_nothing_planted_is_released_by_an_unedited_schema(tmp_path: Path, name: str) -> None:
    source, planted = INPUTS[name](tmp_path)
    schema, release = tmp_path / "schema.toml", tmp_path / f"release{source.suffix}"
    told = run("init", source, "-o", schema)
    assert not planted.found_in(schema.read_text() + told.output)
    page, solution = tmp_path / "page.html", tmp_path / "solution.json"
    # Searches of rows take another effort.
    asked = ["-k", 4] if name in ("register", "contacts") else ["-k", 4, "--effort", 0.1]
    done = run("anonymize", source, "-s", schema, *asked, "-o", release, "--solution", solution, "--html", page)
    public = "\n".join([everything(release), page.read_text(), solution.read_text(), done.output])
    assert len(planted.all) > 100 and not planted.found_in(public)


def test_the_planted_are_in_the_input(tmp_path: Path) -> None:
    """The list is of what is there: else the test above would find nothing in anything."""
    for name, make in INPUTS.items():
        folder = tmp_path / name
        folder.mkdir()
        source, planted = make(folder)
        found = planted.found_in(everything(source))
        assert len(found) > 0.9 * len(planted.all), name
