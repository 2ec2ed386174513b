"""Small random relational worlds for the engine of Spark, as dataframes and as Parquet, and a reader of one machine."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tests.reference.relational import MemorySource, MemoryTable, schema_text
from tests.support.relational_worlds import draw_world
from treeanon.forest import Forest, ForestBuilder, ReadReport
from treeanon.io.interface import ReadOptions
from treeanon.io.relational.folder import FolderSource
from treeanon.io.relational.reading import read_tables, resolved
from treeanon.schema import Schema
from treeanon.spark.engine import prepared
from treeanon.spark.reading import read_dataset
from treeanon.spark.records import forests_of
from treeanon.spark.relational_read.inputs import FolderTables, FrameTables
from treeanon.spark.relational_read.reading import joined

SKIP = ReadOptions(on_error="skip")


@dataclass
class Drawn:
    """A world with types that dataframes of Spark have too, and its schema."""

    source: MemorySource
    schema: Schema

    @classmethod
    def of(cls, rnd: Random) -> Drawn:
        world = draw_world(rnd)
        for table in world.source.held.values():
            table.types = {name: _known(table, name) for name in table.columns}
        return cls(world.source, Schema.loads(schema_text(world, rnd)))


def _known(table: MemoryTable, name: str) -> pa.DataType:
    kind = table.types.get(name) or pa.array(table.columns[name]).type
    if pa.types.is_dictionary(kind) or pa.types.is_null(kind):
        return pa.string()
    if pa.types.is_uint64(kind):
        return pa.decimal128(38, 0)
    if pa.types.is_decimal(kind):
        return pa.decimal128(min(kind.precision, 38), min(kind.scale, 10))
    return pa.date32() if pa.types.is_date(kind) else kind


def local(source: Any, schema: Schema) -> Forest:
    """What the reader of one machine makes of it."""
    schema = resolved(schema, source)
    builder = ForestBuilder(schema)
    builder.add(read_tables(source, schema, SKIP, builder.report))
    return builder.finish()


def by_spark(spark: Any, tables: Any, schema: Schema, options: ReadOptions = SKIP) -> tuple[list[Any], ReadReport]:
    """What Spark makes of it: the records, and what was left out."""
    with prepared(spark):
        lines = joined(spark, tables, schema, options)
        assert lines.schema is not None
        dataset = read_dataset(lines, lines.schema, options)
        batches = list(dataset.frame.toArrow().to_batches())
        lines.close()
    forests = forests_of(batches, dataset.schema, dataset.classes)
    return [one for forest in forests for one in forest.records()], dataset.report


def frames_of(spark: Any, source: MemorySource, partitions: int) -> dict[str, Any]:
    """The tables of a source as dataframes of so many partitions."""
    tables = {name: source.read(name, list(table.columns)) for name, table in source.held.items()}
    return {name: spark.createDataFrame(table).repartition(partitions) for name, table in tables.items()}


class Declared(FrameTables):
    """Dataframes with the keys that a source declares."""

    def __init__(self, frames: dict[str, Any], source: MemorySource) -> None:
        super().__init__(frames)
        self._infos = dict(source.tables())
        self._keys = source.keys()

    def keys(self) -> Any:
        return self._keys


class DeclaredFolder(FolderTables):
    """A folder with the keys, and primary keys, that a source declares."""

    def __init__(self, folder: Path, source: MemorySource) -> None:
        super().__init__(str(folder))
        self._keys = source.keys()

    def keys(self) -> Any:
        return self._keys


class DeclaredSource(FolderSource):
    """The same for one machine."""

    def __init__(self, folder: Path, source: MemorySource) -> None:
        super().__init__(folder)
        self._keys = tuple(source.keys())


def write_folder(source: MemorySource, folder: Path, rnd: Random) -> Path:
    """The tables of a source as Parquet: files, or folders of parts."""
    folder.mkdir()
    for name, table in source.held.items():
        found = source.read(name, list(table.columns))
        parts = rnd.randint(1, 3)
        if parts > 1:
            (folder / name).mkdir()
        for part in range(parts):
            some = found.slice(part * 2, 2 if part < parts - 1 else None)
            path = folder / f"{name}.parquet" if parts == 1 else folder / name / f"{part}.parquet"
            pq.write_table(some, path, row_group_size=rnd.randint(1, 4))
    return folder


def said(report: ReadReport) -> dict[str, Any]:
    """All that a report says, without what is nought."""
    counts: dict[str, Any] = dict(report.as_dict())
    for name in ("unreached", "unmerged", "keys", "padded"):
        counts[name] = {key: times for key, times in getattr(report, name).items() if times}
    return counts
