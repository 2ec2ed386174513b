"""The synopsis as people see it: supports counted by hand, what is rare or not shown, record numbers, and releases."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import pytest
from click.testing import CliRunner

import treeanon as ta
from tests.support.paths import ROOT
from tests.support.search_strategies import random_forest
from treeanon.cli.main import main
from treeanon.errors import FileError
from treeanon.forest.planting import merged
from treeanon.reports.synopsis import synopsis_lines, synopsis_page, synopsis_view

XML, SCHEMA = ROOT / "samples/patients.xml", ROOT / "schemas/hospital-xml.toml"


def paths_of(trees, above=()):
    for name, value, below in trees:
        yield (*above, (name, value))
        yield from paths_of(below, (*above, (name, value)))


@pytest.mark.parametrize("seed", range(6))
def test_supports_are_those_of_paths_in_records(seed: int) -> None:
    forest, _ = random_forest(Random(seed))
    held: dict[tuple[tuple[str, str], ...], list[int]] = {}
    for number, record in enumerate(forest.records(), start=1):
        for path in sorted(set(paths_of(record))):
            held.setdefault(path, []).append(number)
    for most in (None, 1, 3):
        view = synopsis_view(forest, 2, most, ids=True)
        shown: list[tuple[tuple[str, str], ...]] = []
        for node in view.nodes:
            shown.append((*(shown[node.up] if node.up >= 0 else ()), (node.name, node.value)))
            assert list(node.ids) == held[shown[-1]] and node.support == len(node.ids)
            assert node.is_rare == (node.support < 2)
        assert len(set(shown)) == len(shown) == min(len(held), most or len(held))
        assert view.size == len(held) and view.rare == sum(len(ids) < 2 for ids in held.values())
        # what is not shown is told where it hangs
        for node, path in zip(view.nodes, shown, strict=True):
            missing = [other for other in held if other[:-1] == path and other not in shown]
            assert (node.hidden, node.hidden_rare) == (len(missing), sum(len(held[other]) < 2 for other in missing))


def test_lines_and_page() -> None:
    schema = ta.Schema.loads(
        'version = 1\n[input]\nformat = "trees"\n[[class]]\nname = "a"\n[[class]]\nname = "b"\nunder = "a"'
    )
    records = [[["a", "<x>", [["b", "1", []]]]], [["a", "<x>", [["b", "2", []]]]], [["a", "y", []]]]
    view = synopsis_view(ta.Forest.from_records(schema, records), 2, 2, ids=True)
    assert synopsis_lines(view) == [
        "3 records, 4 nodes in the synopsis; 3 of them with fewer than 2 records",
        "a: <x>  2  {1, 2}",
        "  b: 1  1  {1}  rare",
        "  … 1 more, 1 of them rare",
        "… 1 more, 1 of them rare",
    ]
    page = synopsis_page(view, "Synopsis")
    assert "&lt;x&gt;" in page and "<x>" not in page and "http" not in page.replace("http-equiv", "")


def test_the_command(tmp_path: Path) -> None:
    page, solution = tmp_path / "s.html", tmp_path / "s.json"
    asked = ["synopsis", str(XML), "-s", str(SCHEMA), "-k", "5", "--nodes", "10"]
    done = CliRunner().invoke(main, [*asked, "--html", str(page)])
    assert done.exit_code == 0 and "1,000 records" in done.stdout.splitlines()[0] and "<svg" in page.read_text()
    whole = ta.read(XML, ta.Schema.load(SCHEMA))[:200]
    assert whole.classes.types
    for objects, data in (("merged", merged(whole)), ("whole", whole)):
        release = ta.anonymize(
            data, k=5, algorithm="gcs" if objects == "merged" else None, effort=0.1 if data is whole else None
        )
        release.write_solution(solution, force=True)
        told = json.loads(CliRunner().invoke(main, [*asked, "--solution", str(solution), "--json"]).stdout)
        assert told["records"] == 1000 and len(told["shown"]) == 10 and told["nodes"] < 2653
    again = CliRunner().invoke(main, [*asked, "--html", str(page)])
    assert isinstance(again.exception, FileError) and "exists already" in str(again.exception)
