"""What objects show of themselves in notebooks and in a line: classes, counts and shares, no value of the data."""

from __future__ import annotations

from typing import Any

import pytest
from lxml import html as reader

import treeanon as ta
from tests.support.hospital import folder_of, write_persons
from treeanon.progress import Bar
from treeanon.shown import Grid, Summary

TABLE = """
version = 1
[input]
format = "csv"
[[class]]
name = "age"
path = "age"
type = "integer"
hierarchy = { intervals = [5, 10, 20, 40], min = 0, max = 99 }
[[class]]
name = "town"
path = "town"
[[class]]
name = "illness"
path = "illness"
role = "sensitive"
"""
CANARIES = ("CANARY", "Ulm", "Bonn", "flu", "gout")


@pytest.fixture(scope="module")
def objects(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = folder_of(tmp_path_factory.mktemp("shown"))
    write_persons(folder / "in.ndjson", 1)
    schema = ta.Schema.load(folder / "s.toml")
    forest = ta.read(folder / "in.ndjson", schema)
    release = ta.anonymize(forest, k=3, effort=0.1)
    rows = [f"{20 + i % 9},{'Ulm' if i % 2 else 'Bonn'},{'flu' if i % 3 else 'gout'}" for i in range(40)]
    (folder / "people.csv").write_text("\n".join(["age,town,illness", *rows]) + "\n")
    columns = ta.Schema.loads(TABLE)
    table = ta.read_table(folder / "people.csv", columns)
    flat = ta.anonymize(table, k=2, l=1)
    permuted = ta.anonymize(table, publish="permuted", l=2)
    return {
        "Forest": forest, "Schema": schema, "Hierarchy": forest.classes.hierarchies[-1], "Release": release,
        "Verdict": release.verdict, "Losses": release.loss, "Risk": ta.risk(forest, k=3, m=2, n=1),
        "Preview": ta.preview(forest, k=3, effort=0.1, records=2), "Table": table, "TableRelease": flat,
        "TableVerdict": flat.verdict, "FlatLosses": flat.loss, "PermutedRelease": permuted,
        "PermutedVerdict": permuted.verdict, "PermutedLosses": permuted.loss, "Rows": ta.risk(table, k=3),
        "RowPreview": ta.preview(table, k=2, l=1, records=2),
        "FreeformVerdict": ta.verify(table, k=1, original=table),
        "Failing": ta.verify(forest, k=30),
    }  # fmt: skip


def test_lines_and_tables_have_no_value_of_the_data(objects: dict[str, Any]) -> None:
    for name, one in objects.items():
        shown = one._repr_html_()
        for canary in CANARIES:
            assert canary not in repr(one) and canary not in shown, (name, canary)
        assert len(repr(one)) < 300 and repr(one).startswith("<"), name
        assert reader.fragment_fromstring(shown).tag == "div"


def test_tables_say_what_is_there(objects: dict[str, Any]) -> None:
    forest, release, risk = objects["Forest"], objects["Release"], objects["Risk"]
    shown = cells(forest)
    assert ["hospital", "quasi"] in [row[:2] for row in shown] and repr(forest) == (
        f"<Forest: {len(forest):,} records, {forest.nodes:,} nodes, {len(forest.classes.names)} classes>"
    )
    assert sum(int(row[3].replace(",", "")) for row in shown) == forest.nodes
    losses = {row[0]: row[1] for row in cells(release)}
    assert losses["hospital"] == f"{release.loss.value_loss_by_class['hospital']:.3f}"
    assert cells(risk)[0][1] == f"{100 * risk.at(1, 0).share:.1f} %"
    assert release.verdict.sentence in release._repr_html_()
    failing = cells(objects["Failing"])
    assert [row[0] for row in failing[:2]] == [one.pattern for one in objects["Failing"].failures[:2]]


def cells(one: Any) -> list[list[str]]:
    table = next(reader.fragment_fromstring(one._repr_html_()).iter("table"))
    return [[cell.text_content() for cell in row] for row in table.iter("tr")][1:]


def test_nothing_shown_is_markup() -> None:
    hostile = "<img src=x onerror=alert(1)>\x1b"
    shown = Summary(hostile, hostile, [(hostile, hostile)], [Grid(hostile, [hostile], [[hostile]])], hostile).html
    assert "<img" not in shown and "\x1b" not in shown


def test_long_tables_are_cut() -> None:
    shown = Summary("x", "y", grids=[Grid("", ["a"], [[i] for i in range(100)])]).html
    assert shown.count("<tr>") == 41 and "and 60 more" in shown


def test_a_bar_draws_where_it_is_told_and_ends_empty() -> None:
    lines: list[str] = []
    with Bar("searching", draw=lines.append) as bar:
        bar.started -= 1
        bar(1, 2)
        bar.stage("writing")
    assert lines == ["searching [##########..........]  50%", "writing: 0 s", ""]


def test_a_bar_draws_nothing_where_nobody_looks(capsys: pytest.CaptureFixture[str]) -> None:
    with Bar() as bar:
        bar.started -= 1
        bar(1, None)
    assert capsys.readouterr() == ("", "")
