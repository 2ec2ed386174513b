"""No command writes over what it reads, not even with --force."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from treeanon.cli.main import main

ROWS = "age,town\n34,Ulm\n35,Bonn\n"
SCHEMA = 'version = 1\n[input]\nformat = "csv"\n[[class]]\nname = "age"\npath = "age"\n'
COMMANDS = (
    "init in.csv -o in.csv",
    "init . -o in.csv",
    "hierarchy build in.csv -s s.toml --class age -o in.csv",
    "hierarchy build in.csv -s s.toml --class age --to json -o s.toml",
    "hierarchy build --values values.csv --flat -o values.csv",
    "hierarchy convert h.csv -o h.csv",
    "hierarchy convert h.csv -o ./link.csv",
)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in {"in.csv": ROWS, "s.toml": SCHEMA, "values.csv": "a\nb\n", "h.csv": "a;*\nb;*\n"}.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "link.csv").symlink_to(tmp_path / "h.csv")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("line", COMMANDS)
def test_what_is_read_is_not_written(place: Path, line: str) -> None:
    before = {path.name: path.read_text() for path in place.iterdir()}
    done = CliRunner().invoke(main, [*line.split(), "--force"])
    assert done.exit_code == 2 and "choose another output" in done.output
    assert {path.name: path.read_text() for path in place.iterdir()} == before


def test_other_places_are_written(place: Path) -> None:
    for line in (
        "init in.csv -o other.toml",
        "init . --from tables -o new.toml",
        "hierarchy build in.csv -s s.toml --class age -o new.csv",
        "hierarchy convert h.csv -o h.json",
    ):
        done = CliRunner().invoke(main, [*line.split(), "--force"])
        assert done.exit_code == 0, (line, done.output, done.exception)
