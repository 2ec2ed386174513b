"""Tables tied by keys, joined by Spark, are the persons that the reader of one machine finds."""

from __future__ import annotations

import json
import shutil
import traceback
import warnings
from pathlib import Path
from random import Random
from typing import Any

import pytest
from click.testing import CliRunner

import treeanon as ta
from tests.io.relational.test_round_trip import draw_release
from tests.reference.trees import multiset
from tests.support.paths import ROOT
from tests.support.spark_worlds import (
    Declared,
    DeclaredFolder,
    DeclaredSource,
    Drawn,
    by_spark,
    frames_of,
    local,
    said,
    write_folder,
)
from treeanon.cli.main import main
from treeanon.errors import DataError, TreeanonError, UsageError
from treeanon.io.interface import ReadOptions
from treeanon.io.relational.folder import FolderSource
from treeanon.io.relational.reading import resolved
from treeanon.schema.relational import nested
from treeanon.spark.engine import request_of
from treeanon.spark.interface import Job, engine_named
from treeanon.spark.relational_read.inputs import FolderTables, FrameTables

CLINIC = ROOT / "samples" / "clinic"
SECRET = "s3cret"


def check_world(spark: Any, folder: Path, seed: int) -> None:
    """Dataframes and a folder of one world are read as on one machine, with the same errors and counts."""
    rnd = Random(seed)
    drawn = Drawn.of(rnd)
    parts = write_folder(drawn.source, folder, rnd)
    inputs = [
        (drawn.source, Declared(frames_of(spark, drawn.source, rnd.randint(1, 5)), drawn.source)),
        (DeclaredSource(parts, drawn.source), DeclaredFolder(parts, drawn.source)),
    ]
    for source, tables in inputs:
        try:
            forest = local(source, drawn.schema)
        except TreeanonError as problem:
            with pytest.raises(type(problem)):
                by_spark(spark, tables, drawn.schema)
            continue
        if not len(forest):
            with pytest.raises(DataError, match="holds no row"):
                by_spark(spark, tables, drawn.schema)
            continue
        found, report = by_spark(spark, tables, drawn.schema)
        assert forest.report is not None
        assert multiset(found) == multiset(forest.records())
        assert said(report) == said(forest.report)


@pytest.mark.parametrize("seed", [3, 14, 18, 25])
def test_random_worlds(spark: Any, tmp_path: Path, seed: int) -> None:
    check_world(spark, tmp_path / "world", seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 250))
def test_many_random_worlds(spark: Any, tmp_path: Path, seed: int) -> None:
    check_world(spark, tmp_path / "world", seed)


# --- the clinic ------------------------------------------------------------------------------------------------------

CLASSES = {
    "born": "birth_year",
    "town": "doctor(gp_id).practice.town",
    "ward": "visit.ward.name",
    "part of": "visit.ward.ward(part_of).department",
    "code": "visit.diagnosis[certainty=confirmed].code",
    "supposed": "visit.diagnosis[certainty=suspected].code",
    "treatment": "visit.diagnosis[certainty=confirmed].treatment.name",
}
KEYS = [
    "visit.patient_id -> patient.patient_id",
    "diagnosis.visit_id -> visit.visit_id",
    "patient.gp_id -> doctor.doctor_id",
]


def toml_of(record: str, classes: dict[str, str], keys: list[str]) -> str:
    lines = ["version = 1", "[input]", 'format = "tables"', 'objects = "merged"']
    lines += [f'record = "{record}"', f"key = {json.dumps(keys)}"]
    for name, path in classes.items():
        lines += ["[[class]]", f"name = {json.dumps(name)}", f"path = {json.dumps(path)}"]
        lines += ["hierarchy = { groups = 3 }"]
    return "\n".join(lines)


def write_clinic(folder: Path, persons: int) -> Path:
    """The clinic with few patients; whose visits the others are is not known."""
    shutil.copytree(CLINIC, folder)
    patients = (CLINIC / "patient.csv").read_text().splitlines(keepends=True)
    (folder / "patient.csv").write_text("".join(patients[: persons + 1]))
    return folder


def test_the_clinic(spark: Any, tmp_path: Path) -> None:
    folder = write_clinic(tmp_path / "clinic", 50)
    schema = ta.Schema.loads(toml_of("patient", CLASSES, []))
    forest = ta.read(folder, schema)
    found, report = by_spark(spark, FolderTables(str(folder)), schema)
    assert forest.report is not None
    assert multiset(found) == multiset(forest.records())
    assert said(report) == said(forest.report)
    assert report.dangling and report.ownerless and report.dropped.places


def test_files_in_parts(spark: Any, tmp_path: Path) -> None:
    folder = write_clinic(tmp_path / "clinic", 30)
    (folder / "datapackage.json").unlink()
    head, *lines = (folder / "visit.csv").read_text().splitlines(keepends=True)
    (folder / "visit.csv").unlink()
    (folder / "visit").mkdir()
    for part in range(3):
        (folder / "visit" / f"{part}.csv").write_text("".join([head, *lines[part::3]]))
    schema = ta.Schema.loads(toml_of("patient", {"born": "birth_year", "day": "visit.day"}, KEYS[:1]))
    forest = ta.read(folder, schema)
    found, report = by_spark(spark, FolderTables(str(folder)), schema)
    assert forest.report is not None
    assert multiset(found) == multiset(forest.records())
    assert said(report) == said(forest.report)


@pytest.mark.parametrize("form", ["parquet", "trees", "xml"])
def test_other_documents(spark: Any, tmp_path: Path, form: str) -> None:
    folder = write_tables(tmp_path / "tables", {"home": "name,Town,town\na,x,1\nb,y,2\n"})
    schema = ta.Schema.loads(toml_of("person", {"Town": "home.Town", "town": "home.town"}, TIES))
    target = f"{tmp_path / 'out'}{'.parquet' if form == 'parquet' else ''}"
    job = Job(str(folder), schema, target, target_format=form)
    published = engine_named("spark").publish(job, request_of(k=1, m=1, n=0, seed=1))
    assert published.verdict.holds and published.counts["records"] == 3
    if form != "parquet":
        written = ta.read(target, schema, format=form)
        assert multiset(written.records()) == multiset(ta.read(folder, schema).records())


def run(folder: Path, schema: Path, *more: str) -> Any:
    given = ["anonymize", str(folder), "-s", str(schema), "-k", "3", "-m", "1", "--engine", "spark", *more]
    return CliRunner().invoke(main, given)


def test_the_command_writes_documents(spark: Any, tmp_path: Path) -> None:
    folder = write_clinic(tmp_path / "clinic", 60)
    classes = {name: CLASSES[name] for name in ("born", "town", "part of")}
    path, solution, out = tmp_path / "s.toml", tmp_path / "out.solution.json", tmp_path / "out.ndjson"
    path.write_text(toml_of("patient", classes, []))
    done = run(folder, path, "-o", str(out), "--solution", str(solution), "--json")
    assert done.exit_code == 0, done.output
    counts = json.loads(done.stdout)["counts"]
    assert counts["records"] == 60
    schema = ta.Schema.load(path)
    again = ta.apply(solution, ta.read(folder, schema))
    written = ta.read(out, nested(resolved(schema, FolderSource(folder))))
    assert multiset(written.records()) == multiset(again.forest.records())
    assert ta.verify(written, k=3, m=1, n=0).holds
    assert sorted(one.name for one in tmp_path.iterdir()) == ["clinic", "out.ndjson", "out.solution.json", "s.toml"]


def to_json(frame: Any) -> list[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return list(frame.toJSON().collect())


def test_dataframes(spark: Any, tmp_path: Path) -> None:
    folder = write_clinic(tmp_path / "clinic", 40)
    frames = {
        name: spark.read.csv(str(folder / f"{name}.csv"), header=True, inferSchema=name != "diagnosis")
        for name in ("patient", "doctor", "visit")
    }
    classes = {"born": "birth_year", "specialty": "doctor(gp_id).specialty", "ward": "visit.ward_id"}
    schema = ta.Schema.loads(toml_of("patient", classes, KEYS))
    found = ta.anonymize(frames, schema=schema, k=3, m=2, n=0, seed=1)
    assert found.columns[:3] == ["birth_year", "doctor", "visit"]
    (tmp_path / "out.ndjson").write_text("".join(row + "\n" for row in to_json(found)))
    written = ta.read(tmp_path / "out.ndjson", schema.for_format("ndjson"))
    assert len(written) == 40 and ta.verify(written, k=3, m=2, n=0).holds
    with pytest.raises(UsageError, match="tied by keys"):
        ta.anonymize(frames, schema=schema, k=3, algorithm="mondrian")
    with pytest.raises(UsageError, match="tied by keys"):
        ta.anonymize(frames, schema=schema.for_format("ndjson"), k=3)


# --- releases --------------------------------------------------------------------------------------------------------


def check_release(spark: Any, folder: Path, seed: int) -> None:
    """What was published as tables, with what was moved, is read as on one machine."""
    rnd = Random(seed)
    found, forest = draw_release(rnd, rnd.choice(["csv", "parquet"]))
    ta.write(forest, folder)
    records, report = by_spark(spark, FolderTables(str(folder)), found.case.schema)
    expected = ta.read(folder, found.case.schema)
    assert expected.report is not None
    assert multiset(records) == multiset(expected.records())
    assert said(report) == said(expected.report)


@pytest.mark.parametrize("seed", [4, 20, 24])
def test_releases_are_read_again(spark: Any, tmp_path: Path, seed: int) -> None:
    check_release(spark, tmp_path / "tables", seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 250))
def test_many_releases_are_read_again(spark: Any, tmp_path: Path, seed: int) -> None:
    check_release(spark, tmp_path / "tables", seed)


# --- what is refused -------------------------------------------------------------------------------------------------

TABLES = {
    "person": "id,boss,age,home\n1,,34,a\n2,1,35,b\n3,2,36,a\n",
    "home": "name,town\na,x\nb,y\n",
    "note": f"person,text\n1,{SECRET}\n2,fine\n",
}
TIES = ["person.boss -> person.id", "person.home -> home.name", "note.person -> person.id"]
PATHS = {"age": "age", "boss": "person(boss).age", "town": "home.town", "note": "note.text"}


def write_tables(folder: Path, tables: dict[str, str]) -> Path:
    folder.mkdir()
    for name, text in (TABLES | tables).items():
        (folder / f"{name}.csv").write_text(text)
    return folder


MOVED = [
    f"1,,note,note,{SECRET},1\n1,,note,note,{SECRET},1\n",
    f"1,,note,note,{SECRET},9\n",
    f"1,9,note,note,{SECRET},1\n",
    f"1,,note,note,{SECRET},1\n2,1,note,note,{SECRET},2\n",
    f"1,,note,note,{SECRET},1\n2,3,note,note,{SECRET},1\n3,2,note,note,{SECRET},1\n",
    f"1,,age,note,{SECRET},1\n",
]
BROKEN: list[dict[str, str]] = [
    {"home": f"name,town\na,x\n{SECRET},y\nb,y\n{SECRET},z\n"},
    {"person": f"id,boss,age,home\n1,3,34,a\n2,1,35,b\n3,2,{SECRET},a\n"},
    {"person": f"id,boss,age,home\n1,1,{SECRET},a\n"},
    {"note": f"person,text\n{SECRET},x\n"},
    {"note": f"person,text\n1,x\n2,{SECRET},y\n"},
    {"home": f"named,town\n{SECRET},y\n"},
    {"person": "id,boss,age,home\n"},
    *({"treeanon_moved_note": f"node,above,under,class,value,of_person\n{rows}"} for rows in MOVED),
]


@pytest.mark.parametrize("number", range(len(BROKEN)))
def test_what_is_wrong_is_said_as_by_the_reader(spark: Any, tmp_path: Path, number: int) -> None:
    folder = write_tables(tmp_path / "tables", BROKEN[number])
    schema = ta.Schema.loads(toml_of("person", PATHS, TIES))
    with pytest.raises(TreeanonError) as expected:
        ta.read(folder, schema, strict=True)
    with pytest.raises(type(expected.value)) as caught:
        by_spark(spark, FolderTables(str(folder)), schema, ReadOptions(strict=True))
    assert str(caught.value) == str(expected.value)
    assert SECRET not in "".join(traceback.format_exception(caught.value))


def test_keys_of_two_types_are_refused(spark: Any) -> None:
    frames = {
        "person": spark.createDataFrame([(1, 34)], "id long, age int"),
        "note": spark.createDataFrame([("1", SECRET)], "person string, text string"),
    }
    schema = ta.Schema.loads(toml_of("person", {"age": "age", "note": "note.text"}, ["note.person -> person.id"]))
    with pytest.raises(DataError, match=r"note\.person holds texts, but person\.id, which it refers to, integers"):
        by_spark(spark, FrameTables(frames), schema)
    frames["person"] = spark.createDataFrame([("1", [3])], "id string, age array<int>")
    with pytest.raises(DataError, match=r"table 'person', age: values of the kind .* are not supported"):
        by_spark(spark, FrameTables(frames), schema)
    frames["person"] = spark.createDataFrame([("1", 1.0), ("2", float("nan"))], "id string, age double").coalesce(1)
    with pytest.raises(DataError, match=r"table 'person', partition 1, row 2, age: is not a number"):
        by_spark(spark, FrameTables(frames), schema)


def test_inputs_that_the_engine_cannot_read(spark: Any, tmp_path: Path) -> None:
    schema = ta.Schema.loads(toml_of("person", PATHS, TIES))
    folder = write_tables(tmp_path / "tables", {})
    for source, words in ((f"{folder}.zip", "unpack the ZIP"), ("s3://bucket/tables", "as dataframes")):
        with pytest.raises(UsageError, match=words):
            FolderTables(source)
    with pytest.raises(UsageError, match="`treeanon convert`"):
        engine_named("spark").publish(
            Job(str(folder), schema.for_format("sqlite"), str(tmp_path / "out"), target_format="ndjson"),
            request_of(k=2),
        )
