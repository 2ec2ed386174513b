"""Tables tied by keys, written by Spark: what one machine publishes, whole or not at all, the same at every attempt."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import treeanon as ta
from tests.support.paths import ROOT
from tests.support.spark_relational import dataset_of, read_tables, rows_of_files, write_orders
from treeanon.algorithms.tree.solution import Solution
from treeanon.cli.main import main
from treeanon.errors import FileError, GuaranteeError, UsageError
from treeanon.forest import Forest
from treeanon.schema import Schema
from treeanon.spark.engine import prepared, request_of
from treeanon.spark.interface import Job, engine_named
from treeanon.spark.reading import Recipe
from treeanon.spark.relational_write import tables as relations
from treeanon.spark.relational_write.parts import Work
from treeanon.spark.relational_write.publishing import TablesTarget
from treeanon.spark.relational_write.tables import distributed_tables

K = 4


class Case:
    """Tables, what is published of them by one machine, and how Spark is to publish it."""

    def __init__(self, schema: Path, folder: Path) -> None:
        # Nodes move in merged trees alone.
        self.schema = ta.Schema.load(schema).with_objects("merged")
        self.forest, self.tables = read_tables(folder, self.schema)
        # As published, for then nodes are moved.
        found = ta.anonymize(self.forest, k=K, m=2, n=1, seed=1, as_published=True)
        self.solution: Solution = found.solution
        self.published: Forest = found.forest

    def write(self, spark: Any, target: Path, *, files: str = "csv", parts: int = 3, **more: Any) -> None:
        check = more.pop("check", lambda place: None)
        with prepared(spark):
            dataset = dataset_of(spark, self.forest, self.tables, more.pop("partitions", 2))
            recipe = Recipe.of(self.solution, dataset)
            place = TablesTarget(spark, str(target), files, force=more.pop("force", False))
            with distributed_tables(dataset, recipe, self.tables, more.pop("seed", 1), parts) as spread:
                place.write_tables(spread, check)

    def check(self, folder: Path, schema: Schema | None = None) -> None:
        """What was written is what one machine publishes, and says no more than these trees."""
        again = ta.read(folder, schema or self.schema)
        assert again == self.published
        assert again.report is not None
        assert not again.report.strays() and not again.report.keys and not again.report.dropped.paths()
        assert ta.verify(again, k=K, m=2, n=1, as_published=True).holds


@pytest.fixture(scope="module")
def clinic() -> Case:
    return Case(ROOT / "schemas" / "clinic.toml", ROOT / "samples" / "clinic")


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Case:
    return Case(ROOT / "schemas" / "tpch.toml", write_orders(tmp_path_factory.mktemp("shop") / "in", 3, 60))


@pytest.mark.parametrize(("files", "parts", "partitions"), [("csv", 1, 3), ("parquet", 5, 1), ("tsv", 3, 2)])
def test_a_clinic_is_what_one_machine_publishes(
    spark: Any, tmp_path: Path, clinic: Case, files: str, parts: int, partitions: int
) -> None:
    assert clinic.solution.disassociated
    clinic.write(spark, tmp_path / "out", files=files, parts=parts, partitions=partitions)
    clinic.check(tmp_path / "out")
    clinic.check(tmp_path / "out", clinic.tables)
    names = {path.name for path in (tmp_path / "out").rglob("*") if path.is_file()}
    assert "datapackage.json" in names
    assert names <= {"datapackage.json", *(f"part-{n:05}.{files}" for n in range(1, 6))}
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize("parts", [2, 7])
def test_orders_are_what_one_machine_publishes(spark: Any, tmp_path: Path, shop: Case, parts: int) -> None:
    shop.write(spark, tmp_path / "out", parts=parts)
    shop.check(tmp_path / "out")


ODD = """
version = 1
[input]
format = "tables"
objects = "merged"
record = "per/son"
key = ["'x, y'.p -> per/son.id", "per/son.'b oss' -> per/son.id"]
[[class]]
name = "age"
path = "per/son.age"
[[class]]
name = "AGE"
path = "AGE"
[[class]]
name = "boss"
path = "per/son('b oss').'ö;='"
[[class]]
name = "note"
path = "'x, y'.a"
"""


@pytest.mark.parametrize("files", ["csv", "parquet"])
def test_odd_names_and_rows_that_are_no_persons(spark: Any, tmp_path: Path, files: str) -> None:
    folder, schema = tmp_path / "in", tmp_path / "s.toml"
    schema.write_text(ODD.replace('path = "per/son.age"', 'path = "age"'))
    persons = [{"id": n, "b oss": n // 5 or None, "age": n % 2, "AGE": n % 3, "ö;=": f"é{n % 2}"} for n in range(60)]
    notes = [{"p": n % 50, "a": 'a,"b"\n' if n % 2 else "'"} for n in range(90)]
    folder.mkdir()
    for name, rows in (("per%2Fson", persons), ("x, y", notes)):
        pq.write_table(pa.Table.from_pylist(rows), folder / f"{name}.parquet")
    package = [{"name": name, "path": f"{file}.parquet"} for name, file in (("per/son", "per%2Fson"), ("x, y", "x, y"))]
    (folder / "datapackage.json").write_text(json.dumps({"resources": package}))
    case = Case(schema, folder)
    case.write(spark, tmp_path / "out", files=files)
    case.check(tmp_path / "out")
    (marked,) = (tmp_path / "out").glob("per%2Fson/part-00001.*")
    assert b"treeanon_record" in marked.read_bytes()


def test_no_two_rows_have_one_key_and_equal_looked_up_rows_are_one(spark: Any, tmp_path: Path, shop: Case) -> None:
    shop.write(spark, tmp_path / "out", parts=5)
    tables = rows_of_files(tmp_path / "out")
    for resource in json.loads((tmp_path / "out" / "datapackage.json").read_text())["resources"]:
        rows = tables[resource["name"]]
        for names in (n for n in [resource["schema"].get("primaryKey"), ["p_partkey"]] if n and n[0] in rows[0]):
            keys = [tuple(row[name] for name in names) for row in rows]
            assert len(set(keys)) == len(keys) == len(rows)
            assert sorted(int(key[-1]) for key in keys) == list(range(1, len(rows) + 1))
    parts = [(row["p_mfgr"], row["p_brand"]) for row in tables["part"]]
    assert len(set(parts)) == len(parts)


def test_seeds_repeat_and_nothing_else_does(spark: Any, tmp_path: Path, shop: Case) -> None:
    for name, seed in (("a", 1), ("b", 1), ("c", None), ("d", None)):
        shop.write(spark, tmp_path / name, seed=seed)
    found = {name: rows_of_files(tmp_path / name) for name in "abcd"}
    assert found["a"] == found["b"]
    lines = [str(found[name]["customer"]) for name in "acd"]
    assert len(set(lines)) == 3


class Deadly(Work):
    """Kills the worker, at its first attempts, in the middle of its work."""

    marks = ""

    def laid_out(self, part: pa.Table) -> Any:
        from pyspark import TaskContext

        context: Any = TaskContext.get()
        mark = Path(self.marks) / f"{context.stageId()}-{context.partitionId()}"
        if not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().laid_out(part)


@pytest.fixture
def deadly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Work that kills its workers, and the folder in which it marks where it did."""
    from pyspark import cloudpickle

    place = tmp_path / "marks"
    place.mkdir()
    here = sys.modules[__name__]
    cloudpickle.register_pickle_by_value(here)
    monkeypatch.setattr(relations, "Work", Deadly)
    monkeypatch.setattr(Deadly, "marks", str(place))
    yield place
    cloudpickle.unregister_pickle_by_value(here)


def test_workers_that_die_change_nothing(spark: Any, tmp_path: Path, clinic: Case, deadly: Path) -> None:
    clinic.write(spark, tmp_path / "dead")
    assert len(list(deadly.iterdir())) >= 2
    for mark in deadly.iterdir():
        mark.unlink()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(relations, "Work", Work)
        clinic.write(spark, tmp_path / "alive")
    assert rows_of_files(tmp_path / "dead") == rows_of_files(tmp_path / "alive")


def test_what_does_not_pass_does_not_appear(spark: Any, tmp_path: Path, shop: Case) -> None:
    def lost(place: str) -> None:
        assert (Path(place.removeprefix("file:")) / "datapackage.json").is_file()
        raise GuaranteeError("not what was to be published")

    with pytest.raises(GuaranteeError, match="not what"):
        shop.write(spark, tmp_path / "out", check=lost)
    assert list(tmp_path.iterdir()) == []


def test_only_releases_of_tables_are_replaced(spark: Any, tmp_path: Path, shop: Case) -> None:
    out = tmp_path / "out"
    shop.write(spark, out, files="parquet", parts=2)
    with pytest.raises(FileError, match="exists already"):
        shop.write(spark, out)
    shop.write(spark, out, force=True)
    assert not list(out.rglob("*.parquet"))
    shop.check(out)
    ta.write(shop.published, out, force=True)
    assert not [path for path in out.iterdir() if path.is_dir()]
    shop.write(spark, out, force=True)
    for strange in (out / "notes.txt", out / "customer" / "notes.txt", out / "more" / "notes.txt"):
        strange.parent.mkdir(exist_ok=True)
        strange.write_text("mine")
        with pytest.raises(FileError, match="not from treeanon"):
            shop.write(spark, out, force=True)
        with pytest.raises(FileError, match="not from treeanon"):
            ta.write(shop.published, out, force=True)
        strange.unlink()
    (out / "more").rmdir()
    package = json.loads((out / "datapackage.json").read_text())
    (out / "datapackage.json").write_text(json.dumps({**package, "generator": "me"}))
    with pytest.raises(FileError, match="not from treeanon"):
        shop.write(spark, out, force=True)


def test_the_engine_publishes_tables_that_verify(spark: Any, tmp_path: Path) -> None:
    folder, schema = write_orders(tmp_path / "in", 4, 80), ROOT / "schemas" / "tpch.toml"
    asked = ["anonymize", str(folder), "-s", str(schema), "-k", "4", "--engine", "spark", "-o", str(tmp_path / "out")]
    done = CliRunner().invoke(main, [*asked, "--json"], standalone_mode=False)
    assert done.exception is None, done.exception
    assert json.loads(done.stdout)["counts"]["published_records"] == 80
    verified = ["verify", str(tmp_path / "out"), "-s", str(schema), "-k", "4"]
    assert CliRunner().invoke(main, verified, standalone_mode=False).return_value == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in", "out"]


def test_what_cannot_be_written_is_refused_before_any_work(spark: Any, tmp_path: Path) -> None:
    folder = write_orders(tmp_path / "in", 5, 10)
    schema = ta.Schema.load(ROOT / "schemas" / "tpch.toml")
    told: list[str] = []

    def publish(target: str, schema: Schema = schema, **more: Any) -> None:
        job = Job(str(folder), schema, str(tmp_path / target), **more)
        engine_named("spark").publish(job, request_of(k=2), told.append)

    for target in ("out.zip", "out.csv", "datapackage.json"):
        with pytest.raises(UsageError, match="folder"):
            publish(target)
    with pytest.raises(UsageError, match="reads and writes"):
        publish("out", target_format="sqlite")
    (folder / "treeanon_moved_orders.csv").write_text("a,b\n1,2\n")
    odd = (ROOT / "schemas" / "tpch.toml").read_text()
    odd = odd.replace("key = [", 'key = ["treeanon_moved_orders.a -> orders.o_orderkey",')
    odd += '[[class]]\nname = "b"\npath = "orders.treeanon_moved_orders.b"\n'
    with pytest.raises(UsageError, match="--to ndjson"):
        publish("out", ta.Schema.loads(odd, folder=ROOT / "schemas"))
    assert not told
    assert [path.name for path in tmp_path.iterdir()] == ["in"]
