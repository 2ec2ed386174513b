"""Figures of trees: numbers are those of the library, what varies is what they say, and claims are told as measured."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from treeanon.algorithms.tree.published.cut_searches import gcs
from treeanon.bench import tpch
from treeanon.bench.output import Claim, told
from treeanon.bench.run import FigureResult, chosen
from treeanon.bench.tree_figures import FIGURES, LINEAR, MIRACLE, Collection, Setting, run_trees
from treeanon.cli.bench import command
from treeanon.errors import UsageError
from treeanon.metrics import ml2
from treeanon.metrics.values import rpd
from treeanon.privacy import Guarantee


def test_the_invented_collection_has_the_shape_of_table_i() -> None:
    forest = tpch.trees(400)
    found = Collection.of(forest)
    assert (found.records, found.labels) == (400, 276)
    assert 8 < found.nodes / 400 < 16
    assert [len(hierarchy) for hierarchy in forest.classes.hierarchies] == [31, 115, 25, 6, 31, 68]
    # every draw is its seed's, and fewer persons are not the first ones of more
    assert tpch.trees(50, seed=3) == tpch.trees(50, seed=3) != tpch.trees(50, seed=4)


def test_numbers_are_those_of_the_library() -> None:
    figures = [replace(figure, values=(2,)) for figure in (FIGURES[15][0], FIGURES[19][1], FIGURES[20][1])]
    data, results = run_trees(figures, 200, seed=1)
    forest = tpch.trees(200, seed=1)
    assert data == Collection.of(forest)
    found = gcs(forest, Guarantee(20, 3, 2, as_published=True), g=2, scope="hierarchy")
    assert results[0].lines["GCS"] == [rpd(found.forest)]
    found = gcs(forest, Guarantee(20, 2, 2, as_published=True), scope="hierarchy")
    mined = ml2(forest, found.forest, np.arange(len(forest)))
    assert results[1].lines["GCS"] == [mined.ml2]
    assert results[2].lines["GCS"] == [mined.dml2]


def test_panels_vary_what_they_say_and_share_runs() -> None:
    panels = chosen("15-21", FIGURES)
    assert [figure.name for figure in panels][:4] == ["15", "16", "17", "18a"] and len(panels) == 19
    seen: list[int] = []
    small = replace(FIGURES[17][0], values=(0.5, 1.0), lines=(MIRACLE,), setting=Setting(k=3))
    _, [drawn] = run_trees([small], 60, progress=lambda done, total: seen.append(done))
    assert drawn.values == [30, 60] and seen == [1, 2]
    assert all(seconds is not None and seconds > 0 for seconds in drawn.lines["MiRaCle"])


def test_what_cannot_be_reached_is_noted() -> None:
    figure = replace(FIGURES[18][0], values=(10, 50), lines=(MIRACLE,))
    _, [drawn] = run_trees([figure], 30)
    assert drawn.lines["MiRaCle"][1] is None
    [note] = drawn.notes
    assert note.startswith("MiRaCle: ") and note.endswith("k = 50")
    with pytest.raises(UsageError, match="at least 1"):
        run_trees([], 0)


def test_claims_of_numbers_and_of_growth() -> None:
    over = FIGURES[17][0]
    drawn = FigureResult(over, [100, 200, 400], {"GCS": [1.0, 2.5, 3.0], "ACS": [2.0, 2.0, 9.0]})
    verdicts = {one.claim.other: one for one in told([drawn])}
    assert verdicts["ACS"].against == (200,)
    assert verdicts[LINEAR].against == (200,) and verdicts[LINEAR].measured == 3
    assert "growth in step with" in verdicts[LINEAR].sentence
    mined = FigureResult(FIGURES[20][1], [2, 3], {"GCS": [0.1, 0.2], "MiRaCle": [None, 0.3]})
    first, second = told([mined])
    assert first.claim == Claim(FIGURES[20][1], "GCS", 0.11) and first.against == (3,)
    assert second.measured == 1 and second.holds


def test_the_command(tmp_path: Path) -> None:
    folder = tmp_path / "figures"
    asked = ["trees", "-n", "60", "--figures", "15", "-o", str(folder)]
    done = CliRunner().invoke(command, asked, catch_exceptions=False)
    assert done.stdout.startswith("Table I. 60 records") and "15  RPD of GCS is not above that of ACS: " in done.stdout
    assert {path.name for path in folder.iterdir()} == {"figure-15.csv", "figure-15.svg", "figures.txt"}
    assert (folder / "figures.txt").read_text() == done.stdout
    plain = CliRunner().invoke(command, [*asked[:5], "--json"], catch_exceptions=False)
    told_of = json.loads(plain.stdout)
    assert told_of["data"]["records"] == 60 and told_of["figures"][0]["measure"] == "rpd"
    with pytest.raises(UsageError, match="from 15 to 21"):
        CliRunner().invoke(command, ["trees", "--figures", "22"], catch_exceptions=False)
