"""Rows of persons on Spark: read, put together, published as rows again, and checked as on one machine."""

from __future__ import annotations

import csv
import json
from collections import defaultdict
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

import treeanon as ta
from tests.reference.guarantee import holds
from treeanon.errors import DataError
from treeanon.io.interface import ReadOptions
from treeanon.release.tree_request import request_of
from treeanon.schema import Schema
from treeanon.schema.layout import MOVED
from treeanon.schema.persons import as_lines
from treeanon.spark.engine import kept
from treeanon.spark.interface import Job, engine_named
from treeanon.spark.lines import lines_of_files
from treeanon.spark.persons import with_persons_together
from treeanon.spark.reading import read_dataset
from treeanon.spark.records import forests_of, joined

SCHEMA = """version = 1
[input]
format = "ndjson"
person = "subject.reference"
objects = "OBJECTS"
[[class]]
name = "sex"
path = "sex"
under = "/"
[[class]]
name = "ward"
path = "ward"
[[class]]
name = "drug"
path = "drugs[].name"
"""


def schema_of(objects: str) -> Schema:
    schema = SCHEMA.replace("OBJECTS", objects)
    return Schema.loads(schema if objects == "merged" else schema.replace('under = "/"\n', ""))


def rows_of(seed: int, persons: int = 40) -> list[dict[str, Any]]:
    rnd = Random(seed)
    rows = []
    for number in range(persons):
        sex = rnd.choice("FM")
        for _ in range(rnd.randrange(1, 4)):
            drugs = [{"name": f"D{rnd.randrange(3)}"} for _ in range(rnd.randrange(3))]
            whose = number if number % 3 else f"P {number}"
            rows.append({"subject": {"reference": whose}, "sex": sex, "ward": f"W{rnd.randrange(2)}", "drugs": drugs})
    rnd.shuffle(rows)
    return rows


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def records(forest: ta.Forest) -> list[str]:
    return sorted(map(str, forest.records()))


@pytest.mark.parametrize(("seed", "objects"), [(1, "merged"), (2, "whole")])
def test_rows_of_persons_are_released_as_on_one_machine(spark: Any, tmp_path: Path, seed: int, objects: str) -> None:
    schema, source = schema_of(objects), write(tmp_path / "rows.ndjson", rows_of(seed))
    forest = ta.read(source, schema)
    job = Job(str(source), schema, str(tmp_path / "out"))
    release = engine_named("spark").publish(job, request_of(k=3, seed=1))
    assert release.counts["records"] == len(forest) == 40
    written = ta.read(tmp_path / "out", schema)
    assert records(written) == records(release.solution.apply(forest))
    verdict = ta.verify(written, k=3)
    assert verdict.holds and verdict.largest_k == release.verdict.largest_k
    if objects == "merged":
        assert holds(list(written.records()), 3, 2, 1)
    lines = "".join(path.read_text() for path in (tmp_path / "out").iterdir())
    assert "P " not in lines
    assert fewest_persons(lines.splitlines()) >= 3


def fewest_persons(lines: list[str]) -> int:
    """An attacker's script: the fewest persons who have two values, in rows of their own or in one row."""
    held, together = defaultdict(set), defaultdict(set)
    for row in map(json.loads, lines):
        who = row["subject"]["reference"]
        values = {(name, row[name]) for name in ("sex", "ward") if name in row}
        values |= {("drug", drug["name"]) for drug in row.get("drugs", ()) if "name" in drug}
        held[who] |= values
        together[who] |= {(a, b) for a in values for b in values if {a[0], b[0]} == {"ward", "drug"}}
    every = set().union(*held.values())
    counts = [sum({a, b} <= own for own in held.values()) for a in every for b in every]
    counts += [sum(pair in own for own in together.values()) for pair in set().union(*together.values())]
    return min(count for count in counts if count)


def test_rows_of_a_person_come_together_however_they_are_written(spark: Any, tmp_path: Path) -> None:
    schema = schema_of("merged")
    rows = rows_of(5, 60)
    for row in rows[1::3]:
        row[MOVED] = {"/": [["drug", "D1", []]]}
    texts = write(tmp_path / "rows.ndjson", rows).read_text().splitlines()
    # No fast reader reads escaped names or nodes that have moved.
    texts[::3] = [text.replace('"subject"', '"sub\\u006aect"') for text in texts[::3]]
    source = tmp_path / "rows.ndjson"
    source.write_text("".join(text + "\n" for text in texts))
    found = lines_of_files(spark, str(source), "ndjson")
    options = ReadOptions()
    with closing(with_persons_together(replace(found, frame=found.frame.repartition(4)), schema, options)) as lines:
        assert lines.frame.rdd.getNumPartitions() == 4
        with kept(read_dataset(lines, schema, options)) as dataset:
            table = dataset.frame.toArrow()
            read = joined([*forests_of(table.to_batches(), dataset.schema, dataset.classes)])
    assert records(read) == records(ta.read(source, schema))


def test_a_row_of_nobody_is_named_by_its_line(spark: Any, tmp_path: Path) -> None:
    rows = rows_of(3, 6)
    rows[4]["subject"] = {}
    source = write(tmp_path / "rows.ndjson", rows)
    job = Job(str(source), schema_of("merged"), str(tmp_path / "out"))
    with pytest.raises(DataError, match=r"rows\.ndjson.*line 5.*nobody knows whose"):
        engine_named("spark").publish(job, request_of(k=2))
    assert not (tmp_path / "out").exists()


def test_rows_without_numbers_and_rows_that_are_left_out(spark: Any, tmp_path: Path) -> None:
    """Also where a whole part of the input has no number, or nothing but rows of nobody."""
    schema = Schema.loads(
        SCHEMA.replace("OBJECTS", "merged") + '[[class]]\nname = "cost"\npath = "cost"\ntype = "number"\n'
        "hierarchy = { intervals = [5, 10] }\n"
    )
    rows = rows_of(6, 8)
    for number, row in enumerate(rows):
        row |= {"subject": {}} if number % 3 == 1 else {}
        row |= {"cost": number} if number < 1 else {}
    source = write(tmp_path / "rows.ndjson", rows)
    forest = ta.read(source, schema, on_error="skip")
    assert forest.report is not None and forest.report.skipped > 4
    options = ReadOptions(on_error="skip")
    given = lines_of_files(spark, str(source), "ndjson")
    given = replace(given, frame=given.frame.repartition(12))
    with (
        closing(with_persons_together(given, schema, options)) as lines,
        kept(read_dataset(lines, schema, options)) as dataset,
    ):
        read = joined([*forests_of(dataset.frame.toArrow().to_batches(), dataset.schema, dataset.classes)])
    assert records(read) == records(forest)
    assert dataset.report.as_dict() == forest.report.as_dict()


def test_persons_who_are_left_out_leave_no_gap_in_the_numbers(spark: Any, tmp_path: Path) -> None:
    rows = [{"subject": {"reference": n}, "sex": "FM"[n % 2], "ward": f"W{n % 2}"} for n in range(30)]
    rows[11]["ward"] = "W0"
    schema, source, out = schema_of("merged"), write(tmp_path / "rows.ndjson", rows), tmp_path / "out"
    release = engine_named("spark").publish(
        Job(str(source), schema, str(out)), request_of(k=3, max_suppressed=1, seed=1)
    )
    assert release.as_dict()["suppressed"] == 1
    written = [json.loads(line) for path in out.iterdir() for line in path.read_text().splitlines()]
    assert {row["subject"]["reference"] for row in written} == set(range(1, 30))
    assert not ta.verify(out, schema=schema, k=3).beyond


def flat_schema(form: str) -> Schema:
    text = SCHEMA.replace("ndjson", form).replace('objects = "OBJECTS"\n', "").replace("drugs[].name", "drug")
    return Schema.loads(text.replace('under = "/"\n', "").replace("subject.reference", "whose"))


def flat_rows(seed: int) -> list[dict[str, str | None]]:
    """Rows of one drug each, with a column that no class reads."""
    return [
        {"whose": f"P {row['subject']['reference']}", "sex": row["sex"], "note": "n", "ward": row["ward"], "drug": drug}
        for row in rows_of(seed)
        for drug in [*(one["name"] for one in row["drugs"]), None]
    ]


@pytest.mark.usefixtures("split")
@pytest.mark.parametrize(("ending", "written_as"), [("csv", "tsv"), ("parquet", "parquet")])
def test_tables_of_rows_of_persons_are_released_as_on_one_machine(
    spark: Any, tmp_path: Path, ending: str, written_as: str
) -> None:
    schema, source, out = flat_schema(ending), tmp_path / f"rows.{ending}", tmp_path / f"out.{written_as}"
    table = pa.Table.from_pylist(flat_rows(4))
    if ending == "parquet":
        pq.write_table(table, source)
    else:
        pa_csv.write_csv(table, source, pa_csv.WriteOptions(delimiter=";"))
    forest = ta.read(source, schema)
    release = engine_named("spark").publish(Job(str(source), schema, str(out)), request_of(k=3, seed=1))
    assert release.counts["records"] == len(forest) == 40
    assert release.counts["dropped"] == {"note": len(table)}
    (part,) = out.iterdir()
    assert part.suffix == f".{written_as}"
    if ending == "parquet":
        rows = pq.read_table(out).to_pylist()
    else:
        with part.open(newline="") as stream:
            rows = list(csv.DictReader(stream, delimiter="\t"))
    assert {int(row["whose"]) for row in rows} == set(range(1, 41))
    again = write(tmp_path / "again.ndjson", [{name: value for name, value in row.items() if value} for row in rows])
    written = ta.read(again, as_lines(schema))
    assert records(written) == records(release.solution.apply(forest))
    verdict = ta.verify(written, k=3)
    assert verdict.holds and verdict.largest_k == release.verdict.largest_k


def test_a_broken_row_of_a_table_is_named_by_its_line(spark: Any, tmp_path: Path) -> None:
    source = tmp_path / "rows.csv"
    for line, words in ((",F,W1,D1", "nobody knows whose"), ("1,F,W1,D1,CANARY", "fields|columns|values")):
        source.write_text("\n".join(["whose,sex,ward,drug", "1,F,W1,D1", "2,F,W1,D1", line, "3,F,W1,D1"]) + "\n")
        with pytest.raises(DataError, match=rf"rows\.csv, line 4.*({words})") as caught:
            engine_named("spark").publish(
                Job(str(source), flat_schema("csv"), str(tmp_path / "o.csv")), request_of(k=2)
            )
        assert "CANARY" not in str(caught.value)
