"""The command line that the explorer writes: a shell runs it, and it publishes by the settings that were moved."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import treeanon as ta
from tests.support.explorers import hospital, rows_ground, start_of
from treeanon.explore.server import command_line, output_name
from treeanon.explore.settings import ExploredData, Settings, explored_data
from treeanon.release import SolutionFile

NASTY = ["it's $HOME `x`; echo.ndjson", "-k.ndjson", 'a "b"\n*.ndjson', "ünï çödé.ndjson"]


def explored(folder: Path, name: str = "in.ndjson", schema: str = "s.toml", **reading: object) -> ExploredData:
    hospital(folder)
    (folder / "in.ndjson").rename(folder / name)
    forest = ta.read(folder / name, ta.Schema.load(folder / "s.toml"))
    return explored_data(forest, 1000, source=name, schema=schema, reading=reading)


def run(line: str, folder: Path, *more: str) -> subprocess.CompletedProcess[str]:
    """Runs a line in a shell for which `treeanon` is this one."""
    itself = f'treeanon() {{ {shlex.quote(sys.executable)} -m treeanon "$@" {shlex.join(more)}; }}\n'
    return subprocess.run(["sh", "-c", itself + line], cwd=folder, capture_output=True, text=True)


@pytest.mark.parametrize("name", NASTY)
def test_any_name_of_the_input(name: str, tmp_path: Path) -> None:
    here = explored(tmp_path / "place", name)
    line = command_line(start_of(here, k=3, algorithm="gcs"), here)
    done = run(line, tmp_path / "place")
    assert done.returncode == 0, done.stderr
    written = tmp_path / "place" / output_name(name)
    assert written.is_file() and ta.verify(ta.read(written, here.data.schema), k=3).holds  # type: ignore[union-attr]


def test_it_publishes_what_was_looked_at(tmp_path: Path) -> None:
    folder = tmp_path / "place"
    here = explored(folder)
    settings = Settings(
        "trees", k=4, m=1, n=0, attacker="joint", weights=(("diagnosis", 5.0), ("sex", 0.5)), max_suppressed="5%",
        effort="1",
    )  # fmt: skip
    line = command_line(settings, here)
    done = run(line + " --solution s.json --seed 1 --json", folder)
    assert done.returncode == 0, done.stderr
    solution = SolutionFile.load(folder / "s.json").solution
    guarantee = solution.guarantee
    assert (guarantee.k, guarantee.m, guarantee.n, guarantee.attacker) == (4, 1, 0, "joint")
    told = json.loads(done.stdout)
    assert solution.algorithm == "maximal"
    weights = solution.options["weights"]
    assert weights == {"diagnosis": 5.0, "sex": 0.5}
    release = ta.anonymize(
        here.data, k=4, m=1, n=0, attacker="joint", weights=weights, max_suppressed="5%", effort=1, seed=1
    )
    assert told["losses"]["value_loss"] == pytest.approx(release.loss.value_loss)


def test_a_quick_look_is_a_usual_search() -> None:
    here = rows_ground()
    assert "effort" not in command_line(Settings("trees", k=2), here)
    assert "--effort 4" in command_line(Settings("trees", k=2, effort="4"), here)
    # What a search does not take is not written.
    plain = Settings("trees", k=2, algorithm="gcs", weights=(("age", 2.0),), max_suppressed="1%", effort="4")
    assert command_line(plain, here) == command_line(Settings("trees", k=2, algorithm="gcs"), here)


def test_rows(tmp_path: Path) -> None:
    here = rows_ground()
    assert isinstance(here.data, ta.Table)
    here.data.write(tmp_path / "rows.csv")
    text = '[[class]]\nname = "{0}"\npath = "{0}"\nrole = "{1}"\nhierarchy = {{ {2} }}\n'
    (tmp_path / "s.toml").write_text(
        'version = 1\n[input]\nformat = "csv"\n'
        + text.format("age", "quasi", "prefix = [1]")
        + text.format("sex", "quasi", "flat = true")
        + text.format("ill", "sensitive", "flat = true")
    )
    here = replace(here, source="rows.csv", schema="s.toml")
    settings = Settings("table", k=3, l=2, algorithm="optimal", weights=(("sex", 9.0),), max_suppressed="2%")
    line = command_line(settings, here)
    assert "--weight sex=9" in line and "--l 2" in line and " -m " not in line
    done = run(line, tmp_path)
    assert done.returncode == 0, done.stderr
    schema = ta.Schema.load(tmp_path / "s.toml")
    assert ta.verify(ta.read_table(tmp_path / "rows-release.csv", schema, published=True), k=3, l=2).holds


def test_options_of_reading_go_with_it(tmp_path: Path) -> None:
    here = explored(
        tmp_path / "x", format="ndjson", on_error="skip", strict=True, delimiter="", show_values=True, jobs=2
    )
    line = command_line(start_of(here), here)
    assert "--from ndjson --on-error skip --strict -o" in line
    assert "show-values" not in line and "jobs" not in line and "delimiter" not in line
    rows = replace(here, reading={"delimiter": ";", "reduced": ("a b=set", "c=min"), "on_error": "error"})
    assert "--reduce 'a b=set' --reduce c=min --delimiter ';' -o" in command_line(start_of(here), rows)


def test_passwords_stay_out(tmp_path: Path) -> None:
    here = replace(explored(tmp_path / "x"), source="postgresql://ann:secret@db/clinic")
    line = command_line(start_of(here), here)
    assert "secret" not in line and line.endswith("-o release")
