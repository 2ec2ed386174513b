"""Several files of one person (`[[file]]`) on Spark: read, released and checked as on one machine."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

import treeanon as ta
from tests.io.test_files import KEY, MERGED, WHOLE, Rows, bulk, last, put, schema_of
from treeanon.errors import DataError, FileError, UsageError
from treeanon.io.interface import ReadOptions
from treeanon.release.tree_request import request_of
from treeanon.schema import Schema
from treeanon.spark import writing
from treeanon.spark.engine import kept
from treeanon.spark.interface import Job, engine_named
from treeanon.spark.lines import lines_of_kinds
from treeanon.spark.persons import with_persons_together
from treeanon.spark.reading import read_dataset
from treeanon.spark.records import forests_of, joined

LISTS = KEY.replace("Condition.encounter.reference", "Encounter.found[].reference").replace(
    "Encounter.id", "Condition.id"
)


def listed(rows: Rows) -> Rows:
    """The same rows, where an encounter lists its conditions, one of them also what is not there."""
    for number, row in enumerate(rows["Condition"]):
        row["id"] = f"c-{number}"
    for at, row in enumerate(rows["Encounter"]):
        own = [
            each
            for each in rows["Condition"]
            if last(each.get("encounter", {"reference": ""})["reference"]) == row["id"]
        ]
        row["found"] = [{"reference": f"Condition/{each['id']}"} for each in own] + [{"reference": "x"}] * (at == 3)
    return rows


def records(forest: ta.Forest) -> list[str]:
    return sorted(map(str, forest.records()))


def read(
    spark: Any, source: Path, schema: Schema, options: ReadOptions, parts: int = 0
) -> tuple[list[str], dict[str, Any]]:
    """The records and the report of files that are read by Spark."""
    lines = lines_of_kinds(spark, str(source), schema, "ndjson")
    if parts:
        lines = replace(lines, frame=lines.frame.repartition(parts))
    with (
        closing(with_persons_together(lines, schema, options)) as together,
        kept(read_dataset(together, schema, options)) as dataset,
    ):
        table = dataset.frame.toArrow()
        found = joined([*forests_of(table.to_batches(), dataset.schema, dataset.classes)])
        assert len(found) == dataset.records
        return records(found), dict(dataset.report.as_dict())


def publish(source: Path, schema: Schema, out: Path, **asked: Any) -> Any:
    job = Job(str(source), schema, str(out), force=True)
    return engine_named("spark").publish(job, request_of(k=3, seed=1, **asked))


@pytest.mark.parametrize(("more", "key"), [(MERGED, ""), (WHOLE, KEY), (MERGED, LISTS)])
def test_rows_find_their_persons_and_objects(spark: Any, tmp_path: Path, more: str, key: str) -> None:
    """Rows of a kind that are nobody's, or that name what is not there, are counted as on one machine."""
    schema, rows = schema_of(key=key, more=more), listed(bulk(20))
    rows["Condition"][2]["encounter"] = {"reference": "Encounter/e-none"}
    source = put(rows, tmp_path / "in")
    (source / "Observation.ndjson").write_text("{}\n")
    forest = ta.read(source, schema)
    assert forest.report is not None and (forest.report.dangling or not key)
    assert read(spark, source, schema, ReadOptions(), 4) == (records(forest), forest.report.as_dict())
    rows["Condition"][5].pop("subject")
    rows["Encounter"][5]["subject"] = {"reference": "Patient/x"}
    put(rows, source)
    forest = ta.read(source, schema, on_error="skip")
    assert forest.report is not None and forest.report.skipped == 2
    found = read(spark, source, schema, ReadOptions(on_error="skip"), 4)
    assert found == (records(forest), forest.report.as_dict())


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize(("more", "key", "most"), [(MERGED, KEY, 100), (WHOLE, LISTS, 15)])
def test_files_of_persons_are_released_as_on_one_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: str, key: str, most: int
) -> None:
    """Where rows are more than fit a file, a kind has several, with numbers in their names."""
    monkeypatch.setattr(writing, "_RECORDS_A_FILE", most)
    schema, source, out = schema_of(key=key, more=more), put(listed(bulk(40)), tmp_path / "in"), tmp_path / "out"
    forest = ta.read(source, schema)
    release = publish(source, schema, out)
    assert release.counts["records"] == len(forest) == 40 and release.counts["files"] == 6
    names = {path.name for path in out.iterdir()}
    many = {"Patient.00001.ndjson", "Patient.00003.ndjson", "Condition.00001.ndjson"}
    assert {"Patient.ndjson", "Encounter.ndjson"} <= names if most == 100 else many <= names
    assert records(ta.read(out, schema)) == records(release.solution.apply(forest))
    verdict = ta.verify(out, schema=schema, k=3)
    assert verdict.holds and not verdict.beyond and verdict.largest_k == release.verdict.largest_k
    assert fewest_persons(out, key) >= 3
    (out / "mine.ndjson").write_text("{}\n")
    with pytest.raises(FileError, match="not from treeanon"):
        publish(source, schema, out)


def fewest_persons(folder: Path, key: str) -> int:
    """An attacker's script: the fewest persons who have two values, anywhere or together in one encounter."""
    rows = {
        name: [json.loads(line) for path in folder.glob(f"{name}*") for line in path.read_text().splitlines()]
        for name in ("Patient", "Encounter", "Condition")
    }
    assert sorted(row["id"] for row in rows["Patient"]) == list(range(1, len(rows["Patient"]) + 1))
    held, together = defaultdict(set), defaultdict(set)
    encounters: dict[str, tuple[str, set[Any]]] = {}
    lists: dict[str, str] = {}
    for row in rows["Patient"]:
        held[str(row["id"])] |= {
            ("sex", row.get("gender")),
            *(("city", one.get("city")) for one in row.get("address", [])),
        }
    for number, row in enumerate(rows["Encounter"]):
        name = str(row["id"]) if "id" in row else f"no {number}"
        encounters[name] = last(row["subject"]["reference"]), {("kind", row.get("class", {}).get("code"))}
        lists |= {last(one["reference"]): name for one in row.get("found", [])}
    for number, row in enumerate(rows["Condition"]):
        who = last(row["subject"]["reference"])
        name = last(row["encounter"]["reference"]) if "encounter" in row else f"own {number}"
        name = name if key == KEY else lists.get(str(row.get("id")), f"own {number}")
        whose, own = encounters.setdefault(name, (who, set()))
        assert whose == who
        own |= {
            ("status", row.get("status")),
            *(("code", one["code"]) for one in row.get("code", {}).get("coding", [])),
        }
    for who, own in encounters.values():
        held[who] |= own
    for who, own in [*held.items(), *encounters.values()]:
        for pair in combinations(sorted(one for one in own if one[1] is not None), 2):
            together[pair, own is held[who]].add(who)
    return min(map(len, together.values()))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            lambda rows: rows["Condition"][3].pop("subject"),
            r"Condition\.000\.ndjson, line 4, Condition\.subject.*nobody",
        ),
        (lambda rows: rows["Patient"].append(rows["Patient"][0]), r"Patient\.001\.ndjson, line 11, .*same person as"),
        (lambda rows: rows["Patient"].pop(), r"\.ndjson, line \d+, .*refers to no row of Patient$"),
        (
            lambda rows: rows["Encounter"].append(rows["Encounter"][0]),
            r"Encounter\.001\.ndjson, line 31, Encounter\.id: names this row like one before it",
        ),
        (lambda rows: rows["Encounter"][1].update({"class": [1]}), r"Encounter\.000\.ndjson, line 2, class"),
        (lambda rows: rows.pop("Encounter"), "holds no ndjson file of Encounter"),
    ],
)
def test_broken_rows_are_named_by_their_lines(
    spark: Any, tmp_path: Path, change: Callable[[Rows], Any], words: str
) -> None:
    rows = bulk(20)
    change(rows)
    source = put(rows, tmp_path / "in")
    with pytest.raises(DataError):
        ta.read(source, schema_of())
    with pytest.raises(DataError, match=words) as wrong:
        read(spark, source, schema_of(), ReadOptions())
    assert "secret" not in str(wrong.value)


def test_rows_are_named_by_their_lines_after_lines_that_are_left_out(spark: Any, tmp_path: Path) -> None:
    rows = bulk(20)
    rows["Encounter"].append(rows["Encounter"][0])
    source = put(rows, tmp_path / "in")
    path = source / "Encounter.001.ndjson"
    path.write_text(path.read_text().replace("{", "[", 1))
    with pytest.raises(DataError, match=r"Encounter\.001\.ndjson, line 31, Encounter\.id: names this row"):
        read(spark, source, schema_of(), ReadOptions(on_error="skip"))


def test_other_files_of_persons_are_refused(spark: Any, tmp_path: Path) -> None:
    rows = bulk(5)
    for form in ("json", "parquet"):
        with pytest.raises(UsageError, match=r"\[\[file\]\].*ndjson"):
            publish(put(rows, tmp_path / form, form), schema_of(form), tmp_path / "out")
    with pytest.raises(UsageError, match="a folder or a glob"):
        publish(tmp_path / "in.zip", schema_of(), tmp_path / "out")
    with pytest.raises(UsageError, match="name a folder"):
        publish(put(rows, tmp_path / "in"), schema_of(), tmp_path / "out.zip")
    with pytest.raises(UsageError, match="not dataframes"):
        ta.anonymize(spark.createDataFrame([(1,)], "id long"), schema=schema_of(), k=2)
