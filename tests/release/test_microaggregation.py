"""Microaggregation: groups published as means or medians, by Python's own, checked from the release, and refused."""

from __future__ import annotations

import statistics
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

import treeanon as ta
from treeanon.cli.main import main
from treeanon.errors import GuaranteeError, SchemaError, UsageError
from treeanon.hierarchy import Hierarchy
from treeanon.metrics.table import measure
from treeanon.privacy.models import KMap
from treeanon.release.table import check_recoding
from treeanon.schema.controls import Controls
from treeanon.table import Table
from treeanon.verifier.table import holds_aggregates

SCHEMA = """version = 1
[input]
format = "csv"
[[class]]
name = "age"
path = "age"
type = "integer"
hierarchy = { intervals = [5, 10, 20], min = 0, max = 99 }
microaggregate = "mean"
[[class]]
name = "sex"
path = "sex"
"""
ROWS = [(31, "f"), (34, "f"), (38, "f"), (61, "m"), (62, "m"), (69, "m"), (21, "f"), (24, "f"), (29, "f")]


def table_of(folder: Path, rows: list[tuple[object, str]], how: str = "mean") -> Table:
    path = folder / "in.csv"
    path.write_text("age,sex\n" + "".join(f"{age},{sex}\n" for age, sex in rows))
    return ta.read_table(path, ta.Schema.loads(SCHEMA.replace('"mean"', f'"{how}"')))


@settings(max_examples=25)
@given(
    st.lists(st.tuples(st.one_of(st.integers(0, 99), st.just("")), st.sampled_from("fm")), min_size=3, max_size=12),
    st.sampled_from(["mean", "median"]),
    st.sampled_from(["local", "optimal", "mondrian"]),
)
def test_groups_have_their_mean_or_median(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[object, str]], how: str, algorithm: str
) -> None:
    table = table_of(tmp_path_factory.mktemp("m"), rows, how)
    release = ta.anonymize(table, k=3, algorithm=algorithm)
    recoded, kept = release.recoded(table)
    before, after = list(table.take(kept).rows()), list(recoded.rows())
    for row in set(after):
        own = [Fraction(age) for (age, _), made in zip(before, after, strict=True) if made == row and age is not None]
        if not own:
            assert row[0] is None
            continue
        assert row[0] is not None
        middle = statistics.median(own) if how == "median" else statistics.mean(own)
        assert abs(Fraction(row[0]) - middle) <= Fraction(1, 200)
        assert after.count(row) >= 3
    assert sorted(release.table.rows(), key=str) == sorted(after, key=str)


def test_by_hand_and_written(tmp_path: Path) -> None:
    table = table_of(tmp_path, ROWS)
    release = ta.anonymize(table, k=3, algorithm="optimal")
    assert {row[0] for row in release.table.rows()} == {"34.33", "64", "24.67"}
    for name in ("out.csv", "out.parquet"):
        assert release.write(tmp_path / name).holds
        assert ta.verify(tmp_path / name, schema=SCHEMA, k=3).holds
        assert not ta.verify(tmp_path / name, schema=SCHEMA, k=4).holds
    # Of the squares of deviations what lies between the groups is left.
    ages, means = [age for age, _ in ROWS], [34.33] * 3 + [64] * 3 + [24.67] * 3
    lost = 1 - statistics.pvariance(means) / statistics.pvariance(ages)
    assert release.loss.ncp_taxonomy["age"] == pytest.approx(lost, abs=1e-9)
    assert measure(table, release.table).gcp_set == pytest.approx(lost / 2, abs=1e-9)


def test_what_is_not_the_mean_is_not_published(tmp_path: Path) -> None:
    table = table_of(tmp_path, ROWS)
    recoded, rows = ta.anonymize(table, k=3, algorithm="optimal").recoded(table)
    check_recoding(table, recoded, rows, 0)
    assert holds_aggregates(table.take(rows), recoded, "age")
    column = recoded.column("age")
    other = Hierarchy.flat(["34.35", "64", "24.67"])
    forged = replace(column, hierarchy=other, codes=column.codes)
    wrong = replace(recoded, columns=(forged, recoded.column("sex")))
    assert not holds_aggregates(table.take(rows), wrong, "age")
    with pytest.raises(GuaranteeError, match="not those of the input"):
        check_recoding(table, wrong, rows, 0)
    swapped = recoded.take(np.array([3, 1, 2, 0, *range(4, 9)]))
    assert not holds_aggregates(table.take(rows), swapped, "age")


def test_solutions_comparisons_and_previews(tmp_path: Path) -> None:
    table_of(tmp_path, ROWS)
    (tmp_path / "s.toml").write_text(SCHEMA)
    source, out, solution = (str(tmp_path / name) for name in ("in.csv", "out.csv", "solution.json"))
    schema = ["-s", str(tmp_path / "s.toml")]

    def run(*line: str) -> str:
        done = CliRunner().invoke(main, [*line, *schema])
        assert done.exit_code == 0, (done.output, done.exception)
        return done.output

    run("anonymize", source, "-k", "3", "-a", "optimal", "-o", out, "--solution", solution)
    assert "3-anonymity holds" in run("verify", out, "-k", "3")
    told = run("compare", source, out, "-k", "3", "--statistics")
    assert "3-anonymity holds" in told
    assert "warning" not in told
    run("apply", solution, source, "-o", str(tmp_path / "again.csv"))
    assert "34.33" in (tmp_path / "again.csv").read_text()
    assert "34.33" in run("preview", source, "-k", "3", "-a", "optimal", "--record", "1")


def test_refused(tmp_path: Path) -> None:
    table = table_of(tmp_path, ROWS)
    for algorithm in ("freeform", "koptimize", "suppress-cells", "suppress-tuples"):
        with pytest.raises(UsageError, match="does not honor microaggregate"):
            ta.anonymize(table, k=3, algorithm=algorithm)
    with pytest.raises(UsageError, match="does not go with 2-map"):
        ta.anonymize(table, models=[KMap(table, k=2)], algorithm="optimal")
    with pytest.raises(UsageError, match="does not go with suppressed=other_columns"):
        ta.anonymize(table, k=3, algorithm="samarati", parameters={"suppressed": "other_columns"}, max_suppressed=1)
    for wrong in (SCHEMA.replace('"mean"', '"mode"'), SCHEMA.replace('type = "integer"', 'type = "text"')):
        with pytest.raises(SchemaError, match="microaggregate"):
            ta.Schema.loads(wrong.replace("hierarchy = { intervals = [5, 10, 20], min = 0, max = 99 }\n", ""))
    assert Controls(microaggregate="median", min_level=1).of_means == Controls(microaggregate="median")
