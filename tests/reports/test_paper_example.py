"""The walk through the running example of the paper: its figures by brute force, its text, page and pictures."""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.reference import trees as slow
from tests.reference.guarantee import holds
from tests.support.paths import ROOT
from treeanon.cli.main import main
from treeanon.reports.paper_example import CUT, Step, example, paper_lines, paper_page, steps

VECTORS = json.loads((ROOT / "tests/vectors/trees.json").read_text())
PAGE = (ROOT / "docs/paper-example.md").read_text()


@pytest.fixture(scope="module")
def found() -> list[Step]:
    return list(steps())


def test_the_sample_is_the_collection_of_figure_10() -> None:
    forest = example()
    assert list(forest.records()) == [slow.merged(record) for record in VECTORS["database_figure_10"]["records"]]
    figure = VECTORS["projection_to_cut_of_figure_13"]["cut"]
    assert {name: set(nodes) for name, nodes in CUT.items()} == {name: set(nodes) for name, nodes in figure.items()}
    for name, hierarchy in zip(forest.classes.names, forest.classes.hierarchies, strict=True):
        above = {
            hierarchy.texts[node]: hierarchy.texts[parent]
            for node, parent in enumerate(hierarchy.parent.tolist())
            if parent >= 0
        }
        assert above == VECTORS["hierarchy_figure_4"][name]


def test_what_the_steps_tell_is_so(found: list[Step]) -> None:
    projected = [slow.merged(record) for record in VECTORS["projection_to_cut_of_figure_13"]["records"]]
    values, structure, repair, search, release = found[4:]
    assert holds(projected, 2, 2, 0) and not holds(projected, 3, 2, 0) and not holds(projected, 2, 2, 1)
    assert "k = 2 the cut passes" in values.words and "k = 3 it fails: {Hospital2, Gastritis} is in 2" in values.words
    assert [row[0] for row in structure.rows if row[3] == "fails"] == ["Gastritis ⇝ Medicine"]
    assert "is Gastritis ⇝ Medicine" in structure.words and "here the second" in repair.words
    assert search.rows[0][:2] == ("ACS", "126")
    assert [" not " in sentence for _, sentence in release.rows] == [False, True, True, False]
    for number, support, who in ((row[0].count(",") + 1, *row[1:]) for row in values.rows):
        assert number <= 2 and int(support) == len(re.findall(r"\d+", who))


def test_the_command_shows_all_steps(tmp_path: Path, found: list[Step]) -> None:
    target = tmp_path / "paper.html"
    done = CliRunner().invoke(main, ["demo", "--paper", "--html", str(target)])
    assert done.exit_code == 0 and done.output.splitlines() == list(paper_lines(found))
    assert max(map(len, done.output.splitlines())) <= 130
    assert target.read_text() == paper_page(found)
    assert not re.search(r"<script|<link|src=|http", target.read_text().replace("http-equiv", ""))
    assert all(title in target.read_text() for title in ("ValueCheck", "FixStructure", "The synopsis tree"))
    plain = json.loads(CliRunner().invoke(main, ["demo", "--paper", "--json"]).output)
    assert [step["title"] for step in plain["steps"]] == [step.title for step in found]


@pytest.mark.parametrize("given", [["folder", "--paper"], ["--paper", "--health", "2"], ["--html", "page.html"]])
def test_what_does_not_go_together(given: list[str]) -> None:
    assert CliRunner().invoke(main, ["demo", *given]).exit_code == 2


def test_the_page_of_the_documentation_shows_what_is_so(found: list[Step]) -> None:
    there = {line.strip() for line in paper_lines(found)}
    for text in re.findall(r"^```text\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE):
        assert set(text.splitlines()) <= there
    headings = [re.sub(r"^## \d+\. ", "", line) for line in PAGE.splitlines() if line.startswith("## ")]
    assert len(headings) == len(found)


def test_its_pictures_are_those_of_the_steps() -> None:
    script = ROOT / "samples/make_paper_pictures.py"
    spec = importlib.util.spec_from_file_location("make_paper_pictures", script)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    made = dict(module.pictures())
    home = ROOT / "docs/assets/paper"
    assert sorted(made) == sorted(path.name for path in home.iterdir())
    for name, text in made.items():
        assert (home / name).read_text() == text, name
        assert f"(assets/paper/{name})" in PAGE, name
