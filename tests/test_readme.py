"""What the README shows runs, and says what it says."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import jsonschema
import pytest

from tests.support.paths import ROOT
from treeanon.cli.main import COMMANDS
from treeanon.schema import Schema

README = (ROOT / "README.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def test_python_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("samples", "schemas"):
        (tmp_path / name).symlink_to(ROOT / name)
    monkeypatch.chdir(tmp_path)
    scope: dict[str, object] = {}
    for code in blocks("python"):
        exec(compile(code, "README.md", "exec"), scope)
    assert (tmp_path / "out.xml").stat().st_size > 100_000


def test_the_schema_example_is_valid(tmp_path: Path) -> None:
    (text,) = (code for code in blocks("toml") if "[input]" in code)
    (tmp_path / "hierarchies").mkdir()
    (tmp_path / "hierarchies" / "hospital.csv").write_text("H1;general;*\nH2;general;*\n")
    schema = Schema.loads(text, folder=tmp_path)
    assert [c.name for c in schema.layout.classes if not c.is_object] == ["age", "hospital", "disease"]
    jsonschema.validate(tomllib.loads(text), json.loads((ROOT / "schemas" / "treeanon.schema.json").read_text()))


def test_the_two_commands_are_there() -> None:
    assert len(re.findall(r"```sh setup\n[^\n]+\n```", README)) == 2


def test_the_shell_examples_run(tmp_path: Path) -> None:
    run = [sys.executable, "-m", "treeanon"]
    subprocess.run([*run, "demo", "hospital", "--quiet"], cwd=tmp_path, check=True)
    for line in "\n".join(blocks("sh")).splitlines():
        if line.startswith("treeanon "):
            arguments = line.replace("schemas/", "").split()[1:]
            done = subprocess.run([*run, *arguments], cwd=tmp_path / "hospital", capture_output=True, text=True)
            assert done.returncode == 0, (line, done.stderr)


def test_every_command_is_named() -> None:
    for name in COMMANDS:
        assert f"treeanon {name}" in README


def test_it_is_short() -> None:
    assert len(README.split()) <= 1500


def test_pages_that_it_names_are_there() -> None:
    for name in re.findall(r"\]\(([\w./-]+)\)", README):
        assert (ROOT / name).exists(), name
