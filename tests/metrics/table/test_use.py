"""Statistics of numbers and the accuracy of a classifier: against Python's own, by hand, and as printed."""

from __future__ import annotations

import json
import statistics as slow
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

import treeanon as ta
from treeanon.cli.main import main
from treeanon.errors import UsageError
from treeanon.hierarchy import Hierarchy
from treeanon.metrics.table import classifier_accuracy, statistics
from treeanon.table import Table

SCHEMA = """version = 1
[input]
format = "csv"
[[class]]
name = "age"
path = "age"
type = "integer"
hierarchy = { intervals = [5, 10], min = 0, max = 99 }
[[class]]
name = "weight"
path = "weight"
type = "number"
hierarchy = { intervals = [10], min = 0, max = 200 }
[[class]]
name = "smokes"
path = "smokes"
role = "sensitive"
"""


def read(folder: Path, name: str, rows: list[tuple[Any, Any, str]], *, published: bool = False) -> Table:
    (folder / name).write_text("age,weight,smokes\n" + "".join(f"{a},{w},{s}\n" for a, w, s in rows))
    return ta.read_table(folder / name, ta.Schema.loads(SCHEMA), published=published)


@settings(max_examples=20)
@given(st.lists(st.tuples(st.integers(0, 99), st.integers(0, 150)), min_size=3, max_size=12))
def test_statistics_are_those_of_python(tmp_path_factory: pytest.TempPathFactory, pairs: list[tuple[int, int]]) -> None:
    rows = [(age, weight, "no") for age, weight in pairs]
    table = read(tmp_path_factory.mktemp("s"), "in.csv", rows)
    found = statistics(table, table)
    ages, weights = [age for age, _ in pairs], [weight for _, weight in pairs]
    for one, numbers in zip(found.columns, (ages, weights), strict=True):
        assert one.mean_before == one.mean_after == pytest.approx(slow.mean(numbers))
        assert one.variance_before == one.variance_after == pytest.approx(slow.variance(numbers))
    (pair,) = found.correlations
    if len(set(ages)) == 1 or len(set(weights)) == 1:
        assert pair.before is None
    else:
        assert pair.before == pair.after == pytest.approx(slow.correlation(ages, weights), abs=1e-9)


def test_intervals_ranges_and_missing_values_by_hand(tmp_path: Path) -> None:
    rows = [("31", "50", "no"), ("38", "70", "yes"), ("", "90", "no"), ("52", "60", "no")]
    before = read(tmp_path, "in.csv", rows)
    after = before.with_codes({"age": before.column("age").hierarchy.encode(["30-39", "30-39", "*", "*"])})
    found = statistics(before, after).columns[0]
    # All whole numbers of the range are leaves: the middle of 30-39 is 34.5. A root and a missing value say nothing.
    assert (found.rows_before, found.rows_after) == (3, 2)
    assert (found.mean_before, found.mean_after) == (pytest.approx(121 / 3), 34.5)
    assert found.variance_after == 0
    release = ta.anonymize(
        read(tmp_path, "in.csv", rows * 3), k=3, l=1, algorithm="mondrian", parameters={"style": "ranges"}
    )
    again = statistics(read(tmp_path, "in.csv", rows * 3), release.table)
    assert all(one.mean_after is not None for one in again.columns)


def people(count: int) -> list[tuple[Any, Any, str]]:
    """Whoever is 50 or older smokes, but for one in ten."""
    random = np.random.default_rng(3)
    found: list[tuple[Any, Any, str]] = []
    for _ in range(count):
        age = int(random.integers(20, 80))
        found.append((age, int(random.integers(5, 10)) * 10, "yes" if (age >= 50) != (random.random() < 0.1) else "no"))
    return found


def test_a_release_that_keeps_what_tells_keeps_the_accuracy(tmp_path: Path) -> None:
    before = read(tmp_path, "in.csv", people(150))
    tree = before.column("age").hierarchy
    tens = [
        next(tree.texts[node] for node in tree.ancestors(code) if tree.texts[node].endswith("9"))
        for code in before.column("age").codes.tolist()
    ]
    kept = before.with_codes({"age": tree.encode(tens)})
    lost = before.with_codes({"age": np.zeros(len(before), np.int32), "weight": np.zeros(len(before), np.int32)})
    good, bad = (classifier_accuracy(before, one, "smokes") for one in (kept, lost))
    assert good.after > 0.8 > 0.65 > bad.after
    assert bad.after == pytest.approx(bad.baseline, abs=0.02)
    assert (good.before, good.baseline) == (bad.before, bad.baseline)
    assert good == classifier_accuracy(before, kept, "smokes")


def test_what_cannot_be_guessed_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = read(tmp_path, "in.csv", people(20))
    with pytest.raises(UsageError, match="unknown column"):
        classifier_accuracy(before, before, "income")
    root = before.with_codes({"age": np.zeros(len(before), np.int32)})
    with pytest.raises(UsageError, match="generalized in the release"):
        classifier_accuracy(before, root, "age")
    alone = Table.of_texts({"s": ("xyxyxy", Hierarchy.flat("xy"))}, {"s": "sensitive"})
    with pytest.raises(UsageError, match="no quasi column"):
        classifier_accuracy(alone, alone, "s")
    with pytest.raises(UsageError, match="at least two values"):
        classifier_accuracy(before.take(np.arange(3)), before.take(np.arange(3)), "smokes")
    monkeypatch.setitem(sys.modules, "sklearn.linear_model", None)
    with pytest.raises(UsageError, match=r"scikit-learn: pip install 'treeanon\[classify\]'"):
        classifier_accuracy(before, before, "smokes")


def test_compare_prints_them(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(SCHEMA)
    read(tmp_path, "in.csv", people(60))
    ta.anonymize(tmp_path / "in.csv", schema=tmp_path / "s.toml", k=3, l=1).write(tmp_path / "out.csv")
    line = ["compare", str(tmp_path / "in.csv"), str(tmp_path / "out.csv"), "-s", str(tmp_path / "s.toml")]
    done = CliRunner().invoke(main, [*line, "--statistics", "--target", "smokes"])
    assert done.exit_code == 0, done.output
    assert "variance of weight" in done.stdout
    assert "correlation of age and weight" in done.stdout
    assert "trained on the release" in done.stdout
    told = json.loads(CliRunner().invoke(main, [*line, "--statistics", "--target", "smokes", "--json"]).stdout)
    assert told["classifier"]["rows_after"] == 60
    assert told["statistics"]["columns"][0]["column"] == "age"
    assert CliRunner().invoke(main, [*line, "--permuted", "--statistics"]).exit_code == 2
    assert "statistics" not in json.loads(CliRunner().invoke(main, [*line, "--json"]).stdout)
