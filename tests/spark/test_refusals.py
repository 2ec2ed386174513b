"""What is refused before Spark is started, and what is said to be missing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

import treeanon as ta
from tests.support.hospital import folder_of, write_persons
from treeanon.cli.main import main
from treeanon.errors import UsageError
from treeanon.spark.interface import engine_named, is_dataframe


@pytest.fixture
def place(tmp_path: Path) -> Path:
    folder = folder_of(tmp_path / "c")
    write_persons(folder / "p.ndjson", 1)
    return folder


def run(place: Path, *more: str, source: str = "p.ndjson") -> str:
    arguments = ["anonymize", str(place / source), "-s", str(place / "s.toml"), "-o", str(place / "out"), *more]
    done = CliRunner().invoke(main, arguments)
    assert done.exit_code != 0
    return done.output + str(done.exception)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (("-k", "3", "--sample", "9"), "--sample applies to --engine spark only"),
        (("-k", "3", "--engine", "spark", "--mining"), "--mining"),
        (("-k", "3", "--engine", "spark", "-o", "-"), "cannot read standard input"),
    ],
)
def test_options_that_do_not_go_together(place: Path, more: tuple[str, ...], words: str) -> None:
    assert words in run(place, *more)


@pytest.mark.parametrize("source", ["p.ndjson", "*.ndjson"])
def test_persons_with_several_records_are_asked_about(place: Path, source: str) -> None:
    rows = [{"patient_id": f"p{i // 2}", "sex": "FM"[i % 2]} for i in range(40)]
    (place / "p.ndjson").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert "patient_id" in run(place, "-k", "3", "--engine", "spark", source=source)


def test_missing_java_is_named(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyspark", reason="PySpark is not installed: pip install '.[spark]'")
    monkeypatch.setattr("pyspark.sql.SparkSession.getActiveSession", lambda: None)
    monkeypatch.setattr("pyspark.SparkContext._active_spark_context", None)
    monkeypatch.setenv("JAVA_HOME", str(place / "nowhere"))
    assert "needs Java 17" in run(place, "-k", "3", "--engine", "spark")


def test_missing_pyspark_is_named(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("treeanon.spark.session.importlib.util.find_spec", lambda _: None)
    assert 'pip install "treeanon[spark]"' in run(place, "-k", "3", "--engine", "spark")


def test_dataframes_of_spark_connect_are_refused(place: Path) -> None:
    pytest.importorskip("pyspark", reason="PySpark is not installed: pip install '.[spark]'")
    kind = type("DataFrame", (), {"__module__": "pyspark.sql.connect.dataframe"})
    schema = ta.Schema.load(place / "s.toml")
    with pytest.raises(UsageError, match="Spark Connect"):
        ta.anonymize(kind(), schema=schema, k=2)


def test_engines_are_known_by_name() -> None:
    with pytest.raises(UsageError, match="choose from local, spark"):
        engine_named("cloud")
    assert not is_dataframe([1])
