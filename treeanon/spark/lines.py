"""Documents as a Spark dataset of the texts of records, each with where it stands, so that errors can say so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from treeanon.errors import UsageError
from treeanon.forest import ReadReport
from treeanon.schema import Schema
from treeanon.spark.records import unpersist
from treeanon.spark.session import spark_failures

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

LINES = "file long, start long, line binary"
"""A record's text; `file` is a number for its file's name and `start` where the block begins that it was read from."""

ENDINGS = {"ndjson": "{ndjson,jsonl}", "trees": "trees.jsonl", "csv": "{csv,tsv}"}


@dataclass(frozen=True)
class Lines:
    """The texts of records, in the form that a reader takes: `ndjson`, `trees`, or `xml` (ranges of files).

    Texts that were put together from tables have the `schema` by which they are read, that of the `tables` with its
    keys known, and the `report` of what was left out; frames that are `kept` for them are given up by `close`.
    """

    frame: DataFrame
    name: str
    form: str
    files: dict[int, str] = field(default_factory=dict)
    schema: Schema | None = None
    tables: Schema | None = None
    report: ReadReport | None = None
    kept: Sequence[DataFrame] = ()

    def close(self) -> None:
        """Gives up what is kept for them."""
        unpersist(self.kept)

    def place(self, file: int, start: int, line: int, place: str) -> tuple[str, str]:
        """Source and place of a record for an error: the line of its file, or the row of its partition."""
        if self.form == "xml":
            return self.files[file], place
        if file not in self.files:
            return self.name, f"partition {start + 1}, record {line}"
        if start:
            from pyspark.sql import functions as f

            before = self.frame.where((f.col("file") == file) & (f.col("start") < start))
            line += before.count()
        return self.files[file], f"line {line}"


def lines_of_files(spark: SparkSession, source: str, form: str) -> Lines:
    """The lines of a file, a folder or a glob."""
    from pyspark.sql import functions as f

    reader = spark.read.option("lineSep", "\n").option("recursiveFileLookup", "true")
    if is_folder(spark, source):
        reader = reader.option("pathGlobFilter", f"*.{ENDINGS[form]}{{,.gz,.zst}}")
    with spark_failures(source):
        texts = reader.text(source)
        names = texts.inputFiles()
        if not names:
            raise UsageError(f"{source}: no file in it ends in {ENDINGS[form]} (or these with .gz or .zst)")
        frame = texts.select(
            f.xxhash64(f.col("_metadata.file_path")).alias("file"),
            f.col("_metadata.file_block_start").alias("start"),
            f.col("value").cast("binary").alias("line"),
        )
        # Of a local file Spark writes the name in two ways.
        known = {spelt for name in names for spelt in (name, name.replace("file:///", "file:/", 1))}
        paths = spark.createDataFrame([(name,) for name in sorted(known)], "name string")
        numbered = paths.select(f.xxhash64("name").alias("file"), "name").collect()
    return Lines(frame, source, form, {row["file"]: _plain(row["name"]) for row in numbered})


def is_folder(spark: SparkSession, source: str) -> bool:
    """Whether a name is that of a folder, wherever Spark finds it."""
    jvm: Any = spark._jvm
    path = jvm.org.apache.hadoop.fs.Path(source)
    with spark_failures(source):
        system = path.getFileSystem(spark._jsc.hadoopConfiguration())
        return bool(system.exists(path) and system.getFileStatus(path).isDirectory())


def _plain(name: str) -> str:
    """The name of a file as people write it."""
    from urllib.parse import unquote

    return "/" + unquote(name.removeprefix("file:")).lstrip("/") if name.startswith("file:/") else name
