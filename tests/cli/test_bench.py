"""`treeanon bench`: figures as text, JSON, CSV and SVG; a census that its own schema reads."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import treeanon as ta
from tests.support.paths import ROOT
from treeanon.bench.figures import FIGURES
from treeanon.bench.invented import census
from treeanon.bench.output import write_figures
from treeanon.bench.run import FigureResult
from treeanon.cli.bench import command
from treeanon.errors import FileError, UsageError


def bench(*arguments: str) -> Result:
    return CliRunner().invoke(command, arguments, catch_exceptions=False)


def test_a_census_is_read_by_its_schema(tmp_path: Path) -> None:
    out = tmp_path / "c.csv"
    done = bench("census", "-n", "500", "-o", str(out), "--seed", "7", "--json")
    told = json.loads(done.stdout)
    assert told["rows"] == 500 and {Path(path).name for path in told["files"]} >= {"c.csv", "c.toml", "country.csv"}
    table = ta.read_table(out, ta.Schema.load(tmp_path / "c.toml"))
    assert table == census(500, 7)
    assert [column.name for column in table.sensitive] == ["occupation"]
    assert all(column.hierarchy == own.hierarchy for column, own in zip(table.columns, census(9).columns, strict=True))
    first = out.read_bytes()
    with pytest.raises(FileError, match="exists already"):
        bench("census", "-n", "500", "-o", str(out))
    bench("census", "-n", "500", "-o", str(out), "--seed", "7", "--sensitive", "salary_class", "--force", "-q")
    assert out.read_bytes() == first
    assert ta.read_table(out, ta.Schema.load(tmp_path / "c.toml")).sensitive[0].name == "salary_class"


def test_a_census_as_parquet(tmp_path: Path) -> None:
    done = bench("census", "-n", "50", "-o", str(tmp_path / "c.parquet"))
    assert "50 rows written" in done.stderr and not done.stdout
    assert ta.read_table(tmp_path / "c.parquet", ta.Schema.load(tmp_path / "c.toml")) == census(50)


def test_a_census_needs_a_table_file(tmp_path: Path) -> None:
    for name in ("-", str(tmp_path / "c.xml")):
        with pytest.raises(UsageError):
            bench("census", "-n", "5", "-o", name)
    assert not list(tmp_path.iterdir())


def test_figures(tmp_path: Path) -> None:
    folder = tmp_path / "figures"
    done = bench("flat", "-n", "100", "--figures", "22,30", "-o", str(folder))
    assert "Figure 22a." in done.stdout and "Figure 30b." in done.stdout and "4 panels written" in done.stderr
    assert "\n22a  GCP of Hilbert is not above that of Mondrian: " in done.stdout
    names = {path.name for path in folder.iterdir()}
    panels = {f"figure-{name}.{form}" for name in ("22a", "22b", "30a", "30b") for form in ("csv", "svg")}
    assert names == {*panels, "figures.txt"}
    assert (folder / "figures.txt").read_text() == done.stdout
    with pytest.raises(FileError, match="exists already"):
        bench("flat", "-n", "300", "--figures", "22", "-o", str(folder))
    more = "--loss", "volume", "--limit", "100", "--projections", "first"
    again = bench("flat", "-n", "100", "--figures", "22", "-o", str(folder), "--force", "--json", *more)
    told = json.loads(again.stdout)
    assert told["rows"] == 100 and [figure["panel"] for figure in told["figures"]] == ["a", "b"]
    assert told["figures"][0]["measure"] == "volume" and {claim["figure"] for claim in told["claims"]} == {"22a"}
    assert "figure-30a.csv" not in {path.name for path in folder.iterdir()}


def test_a_folder_of_other_files_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("dear")
    with pytest.raises(FileError, match="not from treeanon"):
        write_figures([FigureResult(FIGURES[22][0], [10], {"Hilbert": [0.5]})], str(tmp_path), force=True)
    assert [path.name for path in tmp_path.iterdir()] == ["letter.txt"]


def test_figures_that_are_not_there() -> None:
    with pytest.raises(UsageError, match="choose figures from 22 to 36"):
        bench("flat", "--figures", "21")


def test_the_sample_is_what_the_command_writes(tmp_path: Path) -> None:
    home = ROOT
    bench("census", "-n", "2000", "--seed", "1", "-o", str(tmp_path / "census.csv"))
    assert sorted((tmp_path / "census.csv").read_text().splitlines()) == sorted(
        (home / "samples" / "census.csv").read_text().splitlines()
    )
