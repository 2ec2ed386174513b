"""Documents as a Spark dataset of record texts, each with its place in the input for error messages.

Dataframes and Parquet files hold records as rows with nested columns, which become JSON texts.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa

from treeanon.errors import DataError, UsageError
from treeanon.forest import ReadReport
from treeanon.formats import FORMATS, NESTED
from treeanon.io.memory import nested_type
from treeanon.schema import Schema
from treeanon.schema.layout import MOVED
from treeanon.schema.persons import parts_of
from treeanon.spark.records import Batches, batch_of, map_batches, unpersist
from treeanon.spark.session import spark_failures

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import DataType


LINES = "file long, start long, line binary"
"""A record's text, the number of its file, and the offset of the block that it was read from."""


class Rows(Protocol):
    """Makes texts of the rows of tables, on the workers."""

    def blocks(self, batches: Batches) -> Iterator[tuple[int, int, int, list[bytes] | DataError]]:
        """Yield the texts of rows by file and block, with the lines before them; last what is wrong with a row."""


@dataclass(frozen=True)
class Lines:
    """The texts of records in a format that a reader takes; those of XML are ranges of files.

    Texts joined from tables have the `schema` by which they are read, the schema of the `tables` with its keys, and the
    `report` of what was left out; `close` unpersists the frames in `kept`. Tables of rows of persons have `rows`, which
    makes the texts. Of several files of one person `kinds` has the kind of each; `ignored` are files of no kind.
    """

    frame: DataFrame
    name: str
    form: str
    files: dict[int, str] = field(default_factory=dict)
    schema: Schema | None = None
    tables: Schema | None = None
    report: ReadReport | None = None
    kept: Sequence[DataFrame] = ()
    rows: Rows | None = None
    kinds: Mapping[int, int] = field(default_factory=dict)
    ignored: int = 0

    def close(self) -> None:
        """Unpersist the frames that are kept for the texts."""
        unpersist(self.kept)

    def place(self, file: int, start: int, line: int, place: str) -> tuple[str, str]:
        """Return source and place of a record for an error: the line of its file, or the row of its partition."""
        if FORMATS[self.form].spark == "ranges":
            return self.files[file], place
        if file not in self.files:
            return self.name, f"partition {start + 1}, record {line}"
        if start:
            from pyspark.sql import functions as f

            before = self.frame.where((f.col("file") == file) & (f.col("start") < start))
            line += before.count()
        return self.files[file], f"line {line}"


def lines_of_files(spark: SparkSession, source: str, form: str) -> Lines:
    """Return the lines of a file, a folder or a glob."""
    from pyspark.sql import functions as f

    reader = spark.read.option("lineSep", "\n").option("recursiveFileLookup", "true")
    if is_folder(spark, source):
        reader = reader.option("pathGlobFilter", f"*.{_endings(form)}{{,.gz,.zst}}")
    with spark_failures(source):
        texts = reader.text(source)
        names = texts.inputFiles()
        if not names:
            raise UsageError(f"{source}: no file in it ends in {_endings(form)} (optionally followed by .gz or .zst)")
        frame = texts.select(
            f.xxhash64(f.col("_metadata.file_path")).alias("file"),
            f.col("_metadata.file_block_start").alias("start"),
            f.col("value").cast("binary").alias("line"),
        )
        # Spark spells the name of a local file in two ways.
        known = {spelt for name in names for spelt in (name, name.replace("file:///", "file:/", 1))}
        # Of an Arrow table Spark makes rows without starting any worker.
        paths = spark.createDataFrame(pa.table({"name": sorted(known)}))
        numbered = paths.select(f.xxhash64("name").alias("file"), "name").collect()
    return Lines(frame, source, form, {row["file"]: _plain(row["name"]) for row in numbered})


def lines_of_kinds(spark: SparkSession, source: str, schema: Schema, form: str) -> Lines:
    """Return the lines of several files of one person; DataError for a kind of which there is none."""
    from pyspark.sql import functions as f

    from treeanon.io.files import kinds_of_names

    if source.lower().endswith(".zip"):
        raise UsageError(f"{source}: engine spark reads several files of one person from a folder or a glob")
    found = lines_of_files(spark, source, form)
    parts = [part.spec for part in parts_of(schema) if part.container >= 0]
    kinds = kinds_of_names(found.files.values(), parts, FORMATS[form])
    for at, spec in enumerate(parts):
        if at not in kinds.values():
            raise DataError(f"holds no {form} file of {spec.name}", source=source)
    files = {file: name for file, name in found.files.items() if name in kinds}
    ignored = len(set(found.files.values())) - len(kinds)
    frame = found.frame if not ignored else found.frame.where(f.col("file").isin(list(files)))
    return replace(
        found, frame=frame, files=files, kinds={file: kinds[name] for file, name in files.items()}, ignored=ignored
    )


def _endings(form: str) -> str:
    """Return a pattern of the endings of a format's files."""
    endings = [ending.removeprefix(".") for ending in FORMATS[form].endings]
    return endings[0] if len(endings) == 1 else f"{{{','.join(endings)}}}"


def is_folder(spark: SparkSession, source: str) -> bool:
    """Return whether a name is that of a folder, in any file system that Spark reads."""
    jvm: Any = spark._jvm
    path = jvm.org.apache.hadoop.fs.Path(source)
    with spark_failures(source):
        system = path.getFileSystem(spark._jsc.hadoopConfiguration())
        return bool(system.exists(path) and system.getFileStatus(path).isDirectory())


def _plain(name: str) -> str:
    """Return the name of a file as users write it."""
    from urllib.parse import unquote

    return "/" + unquote(name.removeprefix("file:")).lstrip("/") if name.startswith("file:/") else name


def read_parquet(spark: SparkSession, source: str) -> DataFrame:
    """Return the rows of Parquet files with the columns of all of them: by itself Spark takes those of one file."""
    with spark_failures(source):
        return spark.read.option("mergeSchema", "true").parquet(source)


def lines_of_frame(frame: DataFrame, name: str = "the dataframe") -> Lines:
    """Return the rows of a dataframe as JSON texts; nested columns become objects and arrays."""
    from pyspark.sql import functions as f

    columns = [f.col("`" + column.replace("`", "``") + "`") for column in frame.columns]
    texts = frame.select(f.to_json(f.struct(*columns)).alias("text"))
    if f'"{MOVED}"' in frame.schema.json():
        texts = with_moved(texts)
    where = (f.lit(-1).cast("long").alias("file"), f.spark_partition_id().cast("long").alias("start"))
    return Lines(texts.select(*where, f.col("text").cast("binary").alias("line")), name, NESTED)


def with_moved(texts: DataFrame) -> DataFrame:
    """Return the JSON texts of published records with their disassociated nodes parsed, as records are read."""
    return map_batches(texts, _opened, "text string")


def _opened(batches: Batches) -> Iterator[pa.RecordBatch]:
    """Yield published records; disassociated nodes are JSON texts in columns, as no single type fits them."""
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
    """Return rows with the columns that the schema names, from JSON texts in the column `text`; all values are texts.

    Every type of column is published as text, because a value may be a range or a set.
    """
    from pyspark.sql import functions as f

    kind = row_type(schema)
    parsed = texts.select(f.from_json("text", kind, {"mode": "FAILFAST"}).alias("record"))
    return parsed.select("record.*")


def row_type(schema: Schema) -> Any:
    """Return the type of published rows: structs and arrays along the paths of the classes, with texts as leaves."""
    from pyspark.sql.types import ArrayType, StringType, StructField, StructType

    def struct(types: Mapping[str, DataType]) -> DataType:
        fields = [StructField(name, kind) for name, kind in types.items()]
        return StructType([*fields, StructField(MOVED, StringType())])

    text: DataType = StringType()
    return nested_type(schema, text, lambda kind: ArrayType(kind), struct)
