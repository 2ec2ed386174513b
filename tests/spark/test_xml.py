"""XML by Spark: long files cut in ranges, folders of files, and documents out that the local reader takes."""

from __future__ import annotations

import gzip
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import treeanon as ta
from tests.reference.guarantee import holds
from tests.reference.trees import multiset
from tests.support.hospital import WORD, folder_of, slow_release, write_persons
from treeanon.errors import DataError, FileError, UsageError
from treeanon.io.interface import ReadOptions
from treeanon.schema import RecordPath
from treeanon.spark import xml_files
from treeanon.spark.engine import request_of
from treeanon.spark.interface import DistributedRelease, Job, engine_named
from treeanon.spark.reading import Dataset, read_dataset
from treeanon.spark.records import forests_of

KNOWN = ["sex", "hospital", "diagnosis"]


class Case:
    """Persons as XML, in one file and in several of a folder."""

    def __init__(self, path: Path, seed: int, count: int = 40) -> None:
        self.folder = folder_of(path)
        schema = ta.Schema.load(self.folder / "s.toml")
        self.forest = ta.read(write_persons(self.folder / "p.ndjson", seed, count), schema)
        self.schema = schema.for_format("xml")
        self.source = self.folder / "p q%20.xml"
        ta.write(self.forest, self.source, format="xml")
        self.forest = ta.read(self.source, self.schema)
        parts = self.folder / "parts"
        (parts / "in").mkdir(parents=True)
        chosen = [list(range(0, 9)), [9], list(range(10, count))]
        for name, some in zip(("a.xml", "in/b.xml", "in/C.XML"), chosen, strict=True):
            ta.write(self.forest.take(some), parts / name, format="xml")
        (parts / "in/C.XML.gz").write_bytes(gzip.compress((parts / "in/C.XML").read_bytes()))
        (parts / "in/C.XML").unlink()
        (parts / "notes.txt").write_text("no XML")

    def publish(self, source: Path, *, told: Any = None, **more: Any) -> DistributedRelease:
        job = Job(str(source), self.schema, str(self.folder / "out"), force=True, **more)
        return engine_named("spark").publish(job, request_of(k=3, seed=1), told)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xml_files, "RANGE_BYTES", 300)


@pytest.mark.parametrize(("source", "target"), [("p q%20.xml", "xml"), ("parts", "trees")])
def test_releases_are_safe_and_what_their_solution_makes(
    spark: Any, small: None, tmp_path: Path, source: str, target: str
) -> None:
    case = Case(tmp_path / "c", 21)
    published = case.publish(case.folder / source, target_format=target)
    out = case.folder / "out"
    written = ta.read(out, case.schema, format=target)
    slow = slow_release(case.forest, published.solution)
    assert multiset(written.records()) == multiset(slow)
    assert holds(slow, 3, 2, 1, known=KNOWN)
    assert ta.verify(written, k=3, m=2, n=1).holds
    if target == "xml":
        assert sorted(path.name for path in out.iterdir()) == ["part-00001.xml"]
        lines = (out / "part-00001.xml").read_text().splitlines()
        assert lines[0] == '<?xml version="1.0" encoding="UTF-8"?>' and len(lines) == 43


@pytest.mark.parametrize("source", ["p q%20.xml", "parts"])
def test_the_records_are_those_of_the_reader(spark: Any, small: None, tmp_path: Path, source: str) -> None:
    case = Case(tmp_path / "c", 22)
    local = ta.read(case.folder / source, case.schema)
    for partitions in (1, 3, 7):
        dataset = read(spark, case, source, partitions)
        found = [
            one
            for forest in forests_of(batches_of(dataset), dataset.schema, dataset.classes)
            for one in forest.records()
        ]
        assert multiset(found) == multiset(local.records())
        assert local.report is not None
        assert (dataset.records, dataset.report.files) == (len(local), local.report.files)
        assert dataset.report.dropped.paths() == local.report.dropped.paths()


def read(spark: Any, case: Case, source: str, partitions: int, options: ReadOptions | None = None) -> Dataset:
    lines = xml_files.ranges_of_files(spark, str(case.folder / source), case.schema, "xml")
    lines = replace(lines, frame=lines.frame.repartition(partitions))
    return read_dataset(lines, case.schema, options or ReadOptions())


def batches_of(dataset: Dataset) -> list[Any]:
    return list(dataset.frame.toArrow().to_batches())


def test_what_is_wrong_is_said_as_by_the_reader(spark: Any, small: None, tmp_path: Path) -> None:
    case = Case(tmp_path / "c", 24)
    text = case.source.read_text()
    start = text.index("<record>", len(text) // 2)
    twice = f"<sex>{WORD}</sex>" * 2
    for broken in (
        f"{text[:start]}<record>{twice}</record>{text[start:]}",
        text[: start + 20],
        text.replace("<records>", "<!DOCTYPE records><records>"),
        "",
    ):
        case.source.write_text(broken)
        with pytest.raises(DataError) as local:
            ta.read(case.source, case.schema)
        with pytest.raises(DataError) as caught:
            case.publish(case.source)
        assert str(caught.value) == str(local.value)
        assert WORD not in str(caught.value)
    assert not (case.folder / "out").exists()


def test_broken_records_and_files_are_skipped(spark: Any, small: None, tmp_path: Path) -> None:
    case = Case(tmp_path / "c", 25)
    path = case.folder / "parts" / "a.xml"
    path.write_text(path.read_text().replace("<record>", "<record><sex>1</sex><sex>2</sex></record><record>", 1))
    (case.folder / "parts" / "z.xml").write_text("<records>")
    dataset = read(spark, case, "parts", 2, ReadOptions(on_error="skip"))
    assert (dataset.report.skipped, dataset.records) == (2, 40)


def test_what_cannot_be_is_refused(spark: Any, tmp_path: Path) -> None:
    case = Case(tmp_path / "c", 26, 12)
    with pytest.raises(FileError, match="no such file"):
        case.publish(case.folder / "none.xml")
    (case.folder / "empty").mkdir()
    with pytest.raises(UsageError, match=r"no file in it ends in \.xml"):
        case.publish(case.folder / "empty")
    with pytest.raises(UsageError, match="unpack the ZIP"):
        case.publish(case.folder / "p.zip")
    case.schema = replace(case.schema, input=replace(case.schema.input, record=RecordPath(("records",), False)))
    with pytest.raises(UsageError, match="one file per person"):
        case.publish(case.folder / "parts")
