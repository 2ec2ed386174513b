"""Tables that are made of parts, each by itself: together they are a release like one that was made at once."""

from __future__ import annotations

import pickle
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa

import treeanon as ta
from tests.reference.relational_releases import check_package, draw_release
from tests.reference.trees import multiset
from tests.support.paths import FOLDER, new_path
from tests.support.strategies import properties
from treeanon.forest import Forest
from treeanon.formats import TABLE_FILES
from treeanon.hierarchy import Hierarchy
from treeanon.io.columns.write_table import write_rows
from treeanon.io.relational.arrow_tables import TableOut
from treeanon.io.relational.folder import FolderSource
from treeanon.io.relational.writing import file_names, kept_primary, needs_of, package_of
from treeanon.schema import Schema
from treeanon.spark.reading import without_hierarchies
from treeanon.spark.records import batch_of
from treeanon.spark.relational_write.parts import PARTS, PartSummary, Work, overview
from treeanon.spark.relational_write.tables import made_part, shapes


def with_hierarchies(forest: Forest) -> Schema:
    """The schema with the hierarchies that the forest was built with, as a dataset has it."""
    built: dict[str, Hierarchy] = dict(zip(forest.classes.names, forest.classes.hierarchies, strict=True))
    classes = (replace(c, hierarchy=built[c.name]) if c.name in built else c for c in forest.schema.classes)
    return replace(forest.schema, classes=tuple(classes))


def in_parts(forest: Forest, rnd: Random, parts: int) -> dict[int, pa.Table]:
    """The records in random parts, those of each in some rows."""
    chosen: dict[int, list[int]] = {}
    for record in range(len(forest)):
        chosen.setdefault(rnd.randrange(parts), []).append(record)
    found = {}
    for part, records in chosen.items():
        some = [records[at : at + 2] for at in range(0, len(records), 2)]
        rnd.shuffle(some)
        found[part] = pa.Table.from_batches([_row(forest.take(few), part, rnd) for few in some])
    return found


def _row(forest: Forest, part: int, rnd: Random) -> pa.RecordBatch:
    places = np.array([rnd.getrandbits(64) for _ in range(len(forest))], np.uint64)
    columns = (forest.offsets, forest.parent, forest.label)
    return batch_of(PARTS, *([column.tobytes()] for column in columns), [part], [places.tobytes()])


def numbers_slowly(looked_up: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows with their numbers: all that are called the same have one, in the order of their names."""
    found = []
    for held in {row["held"] for row in looked_up}:
        here = [row for row in looked_up if row["held"] == held]
        names = sorted({row["name"] for row in here})
        for row in here:
            first = min(other["part"] for other in here if other["name"] == row["name"])
            number = names.index(row["name"]) + 1
            found.append({**row, "number": number, "mine": first == row["part"]})
    return found


def tables_of_parts(forest: Forest, rnd: Random, parts: int) -> tuple[list[TableOut], dict[str, list[pa.Table]]]:
    """The tables as the workers make them: what they are, and the rows that each part has."""
    schema = with_hierarchies(forest)
    plain = without_hierarchies(schema)
    work = Work(needs_of(plain), kept_primary(plain), b"secret", SimpleNamespace(value=schema))
    given = in_parts(forest, rnd, parts)
    rows = [row for part in given.values() for row in work.survey(part).to_pylist()]
    told: list[PartSummary] = [pickle.loads(row["name"]) for row in rows if row["held"] < 0]
    numbers = numbers_slowly([row for row in rows if row["held"] >= 0])
    merged = {work.tables[row["held"]]: row["number"] for row in sorted(numbers, key=lambda row: row["number"])}
    found = overview(told, merged)
    made: dict[str, list[pa.Table]] = {}
    kinds = {"part": pa.int32(), "held": pa.int32(), "row": pa.int32(), "name": pa.binary()}
    own_schema = pa.schema([*kinds.items(), ("number", pa.int64()), ("mine", pa.bool_())])
    for number, part in given.items():
        own = pa.Table.from_pylist([row for row in numbers if row["part"] == number], own_schema)
        for table in made_part(part, own, work, found):
            made.setdefault(table.name, []).append(table.data)
    return shapes(forest.schema, forest.classes, work, found), made


def write(tables: list[TableOut], rows: dict[str, list[pa.Table]], files: str, place: Path) -> None:
    """Writes the parts as they are."""
    paths = []
    for table, folder in zip(tables, file_names([table.name for table in tables], ""), strict=True):
        (place / folder).mkdir(parents=True)
        names = [f"{folder}/part-{number}.{files}" for number in range(len(rows[table.name]))]
        for name, data in zip(names, rows[table.name], strict=True):
            assert data.schema.equals(table.data.schema)
            with (place / name).open("wb") as stream:
                kind = TABLE_FILES[files]
                write_rows(replace(table, data=data), kind.format, kind.delimiter, stream)
        paths.append(names)
    (place / "datapackage.json").write_bytes(package_of(tables, paths, files))


def check_parts(rnd: Random) -> None:
    files = rnd.choice(["csv", "tsv", "parquet"])
    found, forest = draw_release(rnd, files, rnd.choice([1, 6, 15]))
    tables, rows = tables_of_parts(forest, rnd, rnd.choice([1, 2, 3, 5]))
    place = new_path("parts", "")
    at_once = FOLDER / f"{place.name}-at-once"
    try:
        write(tables, rows, files, place)
        for schema in (forest.schema, found.case.schema):
            again = ta.read(place, schema)
            assert multiset(again.records()) == multiset(forest.records()), found.case.toml
            assert again.report is not None
            # What `verify` would call more than the trees.
            told = again.report
            assert not told.strays() and not told.keys and not told.dropped.paths(), (found.case.toml, told.as_dict())
        check_package(place)
        ta.write(forest, at_once)
        assert sizes(place) == sizes(at_once)
    finally:
        shutil.rmtree(place, ignore_errors=True)
        shutil.rmtree(at_once, ignore_errors=True)


def sizes(place: Path) -> dict[str, int]:
    """How many rows each table has."""
    source = FolderSource(place)
    return {name: source.read(name, info.columns[:1]).num_rows for name, info in source.tables().items()}


test_tables_of_parts, test_tables_of_parts_thoroughly = properties(check_parts, 30)
