"""Records as rows with nested columns: as dataframes have them, and files of Parquet."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from treeanon.schema import Schema
from treeanon.schema.layout import MOVED
from treeanon.schema.paths import Step
from treeanon.spark.lines import Lines
from treeanon.spark.records import Batches, batch_of, map_batches

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import DataType


def lines_of_frame(frame: DataFrame, name: str = "the dataframe") -> Lines:
    """The rows of a dataframe as JSON texts; nested columns become objects and arrays."""
    from pyspark.sql import functions as f

    columns = [f.col("`" + column.replace("`", "``") + "`") for column in frame.columns]
    texts = frame.select(f.to_json(f.struct(*columns)).alias("text"))
    if f'"{MOVED}"' in frame.schema.json():
        texts = with_moved(texts)
    where = (f.lit(-1).cast("long").alias("file"), f.spark_partition_id().cast("long").alias("start"))
    return Lines(texts.select(*where, f.col("text").cast("binary").alias("line")), name, "ndjson")


def with_moved(texts: DataFrame) -> DataFrame:
    """The JSON texts of published records, in which what was moved is a text itself, as records are read."""
    return map_batches(texts, _opened, "text string")


def _opened(batches: Batches) -> Iterator[pa.RecordBatch]:
    """Published records, of which columns hold what was moved as JSON texts: there is no one type for it."""
    for batch in batches:
        found = [json.dumps(_open(json.loads(text)), ensure_ascii=False) for text in batch.column(0).to_pylist()]
        yield batch_of("text string", found)


def _open(value: Any) -> Any:
    if isinstance(value, list):
        return [_open(item) for item in value]
    if isinstance(value, dict):
        return {key: json.loads(item) if key == MOVED else _open(item) for key, item in value.items()}
    return value


def frame_of_lines(texts: DataFrame, schema: Schema) -> DataFrame:
    """Rows with the columns that the schema names, of JSON texts in the column `text`; every value is a text.

    A published value may be a range or a group, whatever the type of its column was.
    """
    from pyspark.sql import functions as f

    kind = row_type(schema)
    parsed = texts.select(f.from_json("text", kind, {"mode": "FAILFAST"}).alias("record"))
    return parsed.select("record.*")


def row_type(schema: Schema) -> Any:
    """The type of published rows: structs and arrays as the paths of the classes go, texts at their ends."""
    paths = []
    for published in schema.layout.classes:
        if published.spec.path is not None:
            paths.append(published.spec.path.steps)
            paths += _constants(published.spec.path.steps)
    return _type(list(dict.fromkeys(paths)))


def _constants(steps: Sequence[Step]) -> list[tuple[Step, ...]]:
    """The paths of the constants that items of mixed arrays are chosen by."""
    out = []
    for place, step in enumerate(steps, start=1):
        if step.predicate is not None:
            out.append((*steps[:place], *(Step(name) for name in step.predicate.names)))
    return out


def _type(paths: Sequence[Sequence[Step]]) -> DataType:
    from pyspark.sql.types import ArrayType, StringType, StructField, StructType

    paths = [path for path in paths if path]
    if not paths:
        return StringType()
    if paths[0][0].name is None:
        return ArrayType(_type([path[1:] for path in paths]))
    fields: list[StructField] = []
    for name in dict.fromkeys(path[0].name for path in paths):
        mine = [path for path in paths if path[0].name == name]
        inner = _type([path[1:] for path in mine])
        repeated = any(path[0].repeated or path[0].predicate is not None for path in mine)
        fields.append(StructField(str(name), ArrayType(inner) if repeated else inner))
    return StructType([*fields, StructField(MOVED, StringType())])
