"""What the README shows runs, and says what it says."""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from pathlib import Path

import jsonschema
import pytest

from tests.support.command_line import treeanon
from tests.support.paths import ROOT
from treeanon.algorithms.tree.default.objective import Effort
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


def test_the_shell_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    # Whether a command runs is seen without a long search.
    monkeypatch.setattr(Effort, "of", lambda _: Effort(0.1))
    lines = "\n".join(blocks("sh")).replace("schemas/", "").splitlines()
    for line in ("treeanon demo hospital --quiet", *lines):
        if line.startswith("treeanon "):
            done = treeanon(*shlex.split(line)[1:])
            assert done.returncode == 0, (line, done.stderr)
            monkeypatch.chdir(tmp_path / "hospital")


def test_every_command_is_named() -> None:
    for name in COMMANDS:
        assert f"treeanon {name}" in README


def test_it_is_short() -> None:
    assert len(README.split()) <= 1500


def test_pages_that_it_names_are_there() -> None:
    for name in re.findall(r"\]\(([\w./-]+)\)", README):
        assert (ROOT / name).exists(), name
