"""Reads texts of records on the workers, by the readers and checks of every input, into one columnar form.

Two passes: the first finds what is wrong, what is dropped, and the values of every class, of which the driver makes the
hierarchies; the second makes the trees, in labels that all partitions share.
"""

from __future__ import annotations

import io
import pickle
import re
from base64 import b64decode, b64encode
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, BinaryIO, cast

import numpy as np
import pyarrow as pa

from treeanon.errors import DataError
from treeanon.forest import Classes, Forest, ForestBuilder, ReadReport
from treeanon.forest.build import hierarchy_for
from treeanon.forest.report import Dropped
from treeanon.hierarchy import Hierarchy
from treeanon.hierarchy.builders import Flat
from treeanon.hierarchy.intervals import Intervals
from treeanon.hierarchy.number_texts import NumberTexts
from treeanon.io.options import MAX_RECORD_BYTES, ReadOptions
from treeanon.io.reading import nothing_found
from treeanon.io.registry import document_format
from treeanon.io.sources import Source
from treeanon.schema import Schema
from treeanon.spark.lines import Lines
from treeanon.spark.records import (
    BLOCKS,
    ROWS,
    Batches,
    bare_classes,
    batch_of,
    forests_of,
    map_batches,
    to_batch,
    to_block,
    to_forest,
)
from treeanon.spark.session import spark_failures
from treeanon.spark.xml_files import few_at_once, read_pieces

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

FOUND = "held int, text string, times long"
"""How often a class (by its number) has a value; a partition tells of itself as the value of class -1."""
_LINE = re.compile(r"\d+")


@dataclass(frozen=True)
class Dataset:
    """Records on the workers: rows of BLOCKS in the labels of `classes`; `schema` has the hierarchies as built.

    `shared` is the schema as the workers have it, `report` what reading left out.
    """

    frame: DataFrame
    schema: Schema
    classes: Classes
    records: int
    report: ReadReport
    shared: Any

    @cached_property
    def shapes(self) -> Any:
        """The classes without texts, as the workers have them: most work there needs no more."""
        return self.frame.sparkSession.sparkContext.broadcast(
            (without_hierarchies(self.schema), bare_classes(self.classes))
        )

    def rows(self) -> DataFrame:
        """Each record by itself: rows of ROWS."""
        return map_batches(self.frame, partial(_each, shapes=self.shapes), ROWS)

    def forest(self, table: pa.Table) -> Forest:
        """A forest of some of the rows."""
        return to_forest(table, self.schema, self.classes)


@dataclass
class PartitionReport:
    """What a partition tells of itself: its records, what was left out, and its first error and where."""

    report: ReadReport
    records: int = 0
    wrong: tuple[int, int, int, str, str, str] | None = None


def read_dataset(lines: Lines, schema: Schema, options: ReadOptions, *, show_values: bool = False) -> Dataset:
    """The records of texts, read by a schema; DataError for the first that is broken, if that is asked for."""
    table, builder, records = gather(lines, schema, partial(_scan, form=lines.form, schema=schema, options=options))
    schema = _with_hierarchies(schema, table, builder, show_values)
    shared = lines.frame.sparkSession.sparkContext.broadcast(schema)
    return Dataset(encode(lines, shared, options), schema, classes_of(schema), records, builder.report, shared)


def gather(
    lines: Lines, schema: Schema, scan: Callable[[Batches], Iterator[pa.RecordBatch]]
) -> tuple[pa.Table, ForestBuilder, int]:
    """What all partitions tell: the values of the classes, what was left out (as a builder has it), and the records."""
    from pyspark.sql import functions as f

    with spark_failures(lines.name):
        found = map_batches(lines.frame, scan, FOUND)
        table = found.groupBy("held", "text").agg(f.sum("times").alias("times")).toArrow()
        parts = partition_reports(table)
        refuse_broken(parts, lines)
    builder = ForestBuilder(schema)
    for part in parts:
        builder.report.add(part.report)
    if lines.report is not None:
        # What documents have beside values was put there by joining the tables, which told what it left out.
        builder.report.dropped = Dropped()
        builder.report.add(lines.report)
    builder.report.files = len(set(lines.files.values()))
    records = sum(part.records for part in parts)
    if not records:
        raise DataError(nothing_found(schema, lines.form), source=lines.name)
    return table, builder, records


def encode(lines: Lines, shared: Any, options: ReadOptions) -> DataFrame:
    """Rows of many records, read by a schema, which the workers have, whose hierarchies are all known."""
    return map_batches(lines.frame, partial(_encode, form=lines.form, schema=shared, options=options), BLOCKS)


def without_hierarchies(schema: Schema) -> Schema:
    """The schema, for code on the workers that asks it nothing: its hierarchies would be sent along for nothing."""
    return replace(schema, classes=tuple(replace(one, hierarchy=Flat()) for one in schema.classes))


def broadcast_schema(dataset: Dataset, schema: Schema) -> Any:
    """A schema as the workers have it; most often they have it already."""
    if schema == dataset.schema:
        return dataset.shared
    return dataset.frame.sparkSession.sparkContext.broadcast(schema)


def classes_of(schema: Schema) -> Classes:
    """The labels of a schema whose hierarchies are all known."""
    published = schema.layout.classes
    hierarchies = tuple(cast(Hierarchy, c.spec.hierarchy) for c in published)
    return Classes(tuple(c.name for c in published), tuple(c.parent for c in published), hierarchies)


def partition_reports(table: pa.Table) -> list[PartitionReport]:
    """What the partitions tell of themselves."""
    chosen = table.filter(pa.compute.equal(table["held"], -1))
    reports = zip(chosen["text"].to_pylist(), chosen["times"].to_pylist(), strict=True)
    return [pickle.loads(b64decode(text)) for text, times in reports for _ in range(times)]


def refuse_broken(parts: list[PartitionReport], lines: Lines) -> None:
    """DataError for the first broken record: by file, block and line."""
    wrong = [part.wrong for part in parts if part.wrong is not None]
    if not wrong:
        return
    file, start, line, message, path, reports = min(wrong, key=lambda one: (lines.files.get(one[0], ""), one[1:]))
    source, place = lines.place(file, start, line, reports)
    raise DataError(message, source=source, place=place, path=path)


def _with_hierarchies(schema: Schema, table: pa.Table, builder: ForestBuilder, show_values: bool) -> Schema:
    """The schema with the hierarchies that its builders make of all values; values unknown to the others are met."""
    made = {}
    for index, published in enumerate(schema.layout.classes):
        held = table.filter(pa.compute.equal(table["held"], index))
        texts = held["text"].to_pylist()
        if isinstance(published.spec.hierarchy, Hierarchy):
            if texts:
                counts = Counter(dict(zip(texts, held["times"].to_pylist(), strict=True)))
                builder.meet_unknown(published.spec, counts, show_values=show_values)
            made[published.name] = published.spec.hierarchy
        else:
            numbers = NumberTexts.read(texts) if isinstance(published.spec.hierarchy, Intervals) else None
            made[published.name] = hierarchy_for(published.spec, [numbers or sorted(texts)])
    classes = (replace(c, hierarchy=made[c.name]) if c.name in made else c for c in schema.classes)
    return replace(schema, classes=tuple(classes))


def _scan(batches: Batches, form: str, schema: Schema, options: ReadOptions) -> Iterator[pa.RecordBatch]:
    """How often each class has each value that matters to its hierarchy, and what the partition tells of itself."""
    part = PartitionReport(ReadReport())
    held: list[Counter[str]] = [Counter() for _ in schema.layout.classes]
    before: Counter[tuple[int, int]] = Counter()
    for batch in batches:
        for file, start, texts in blocks_of_batch(batch):
            builder = ForestBuilder(schema)
            try:
                _read(builder, texts, form, options)
            except DataError as problem:
                found = _LINE.search(problem.place)
                line = before[file, start] + (int(found.group()) if found else 1)
                part.wrong = part.wrong or (file, start, line, problem.message, problem.path, problem.place)
                break
            before[file, start] += len(texts)
            part.report.add(builder.report)
            part.records += builder.records
            for index, published in enumerate(schema.layout.classes):
                known = published.spec.hierarchy
                if isinstance(known, Hierarchy):
                    strange = {text: times for text, times in builder.held(index).items() if known.find(text) is None}
                    held[index].update(strange)
                else:
                    held[index].update(dict.fromkeys(builder.different(index), 0))
        if part.wrong:
            break
    yield from report_rows(part, held)


def report_rows(part: PartitionReport, held: Sequence[Counter[str]]) -> Iterator[pa.RecordBatch]:
    """What a partition tells, as rows of FOUND: how often each class has each value, and the rest of it."""
    for index, counts in enumerate(held):
        texts, times = list(counts), list(counts.values())
        for i in range(0, len(texts), 20_000):
            some = slice(i, i + 20_000)
            yield batch_of(FOUND, np.full(len(texts[some]), index), texts[some], times[some])
    yield batch_of(FOUND, [-1], [b64encode(pickle.dumps(part)).decode()], [1])


def _encode(batches: Batches, form: str, schema: Any, options: ReadOptions) -> Iterator[pa.RecordBatch]:
    """The rows of the records of a partition."""
    for batch in few_at_once(batches) if form == "xml" else batches:
        builder = ForestBuilder(schema.value)
        for _, _, texts in blocks_of_batch(batch):
            _read(builder, texts, form, options)
        if builder.records:
            yield to_block(builder.finish())


def _each(batches: Batches, shapes: Any) -> Iterator[pa.RecordBatch]:
    """The records of a partition, each as a row."""
    for forest in forests_of(batches, *shapes.value):
        yield to_batch(forest)


def blocks_of_batch(batch: pa.RecordBatch) -> Iterator[tuple[int, int, list[bytes]]]:
    """The texts of a batch by file and block."""
    files, starts = (batch.column(i).to_numpy(zero_copy_only=False) for i in (0, 1))
    texts = batch.column(2).to_pylist()
    if not texts:
        return
    ends = np.flatnonzero((np.diff(files) != 0) | (np.diff(starts) != 0)) + 1
    for a, b in zip([0, *ends.tolist()], [*ends.tolist(), len(texts)], strict=True):
        yield int(files[a]), int(starts[a]), texts[a:b]


def _read(builder: ForestBuilder, texts: list[bytes], form: str, options: ReadOptions) -> None:
    """Reads lines as if they were a file, or ranges of files."""
    if form == "xml":
        read_pieces(builder, texts, options)
        return
    for number, text in enumerate(texts, start=1):
        if len(text) > MAX_RECORD_BYTES:
            raise DataError(f"a line is longer than {MAX_RECORD_BYTES >> 20} MB", place=f"line {number}")
    block = b"\n".join(texts) + b"\n"
    source = Source("lines", len(block), lambda: cast(BinaryIO, io.BytesIO(block)))
    for batch in document_format(form).read([source], builder.schema, options, builder.report):
        builder.add(batch)
