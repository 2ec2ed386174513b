"""Reads rows on the workers into codes that all partitions share, with the readers and checks of the local engine.

Quasi-identifiers and sensitive columns become codes of hierarchies that the driver builds from their distinct values;
columns that are published unchanged stay texts.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from treeanon.arrays import Ints, unique_values
from treeanon.errors import DataError
from treeanon.forest import ForestBuilder, ReadReport
from treeanon.forest.build import hierarchy_for
from treeanon.hierarchy import Hierarchy
from treeanon.io.columns.read_table import table_of_rows
from treeanon.io.columns.row_files import read_rows
from treeanon.io.interface import ReadOptions
from treeanon.randomness import secret_of, words_of
from treeanon.schema import Schema
from treeanon.spark.reading import FOUND, PartitionReport, gather, report_rows
from treeanon.spark.records import Batches, batch_of, map_batches
from treeanon.spark.table.inputs import Input, Pieces
from treeanon.table import Column, Table
from treeanon.table.reductions import in_one_spelling

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_LINE = re.compile(r"\d+")
CODED = ("quasi", "sensitive")


@dataclass(frozen=True)
class Rows:
    """Rows on the workers, each with a random `place` in the published order.

    `columns` are the published columns. Those with a role of CODED hold their distinct values as codes and are columns
    c0, c1, … of the frame, numbered among all columns; the others are texts t0, t1, …
    """

    frame: DataFrame
    columns: tuple[Column, ...]
    rows: int
    report: ReadReport
    name: str

    @property
    def coded(self) -> list[str]:
        """The columns of the frame that hold codes."""
        return [name for name in self.names if name[0] == "c"]

    @property
    def names(self) -> list[str]:
        """The columns of the frame except `place`."""
        return names_of(self.columns)

    def of_role(self, role: str) -> list[Column]:
        """Return the columns of a role."""
        return [column for column in self.columns if column.role == role]

    def table(self, codes: Mapping[str, Any]) -> Table:
        """Return the table of codes, given by column of the frame, without other columns."""
        found = zip(self.names, self.columns, strict=True)
        return Table(
            tuple(replace(c, codes=np.asarray(codes[n], np.int32)) for n, c in found if n[0] == "c"), None, self.report
        )


def names_of(columns: tuple[Column, ...]) -> list[str]:
    """Return the names of columns in frames: c and a number for codes, t and a number for texts."""
    return [f"{'c' if column.role in CODED else 't'}{i}" for i, column in enumerate(columns)]


def kinds_of(names: list[str]) -> str:
    """Return the Spark type of rows with these columns."""
    return ", ".join(["place long", *(f"{name} {'int' if name[0] == 'c' else 'string'}" for name in names)])


def read_coded_rows(given: Input, options: ReadOptions, seed: int | None, *, show_values: bool = False) -> Rows:
    """Read the rows of an input into codes; DataError names the first invalid row."""
    scan = partial(_scan, pieces=given.pieces, schema=given.schema, options=options)
    found = map_batches(given.lines.frame, scan, FOUND)
    table, builder, rows = gather(given.lines, given.schema, found)
    builder.report.delimiter = given.delimiter
    schema, columns = _columns(given.schema, table, builder, show_values)
    secret = secret_of(seed)
    spelling = {i: _spelling(column) for i, column in enumerate(columns) if column.role == "sensitive"}
    shared = given.lines.frame.sparkSession.sparkContext.broadcast((schema, spelling, secret))
    work = partial(_encode, pieces=given.pieces, options=options, shared=shared)
    frame = map_batches(given.lines.frame, work, kinds_of(names_of(columns)))
    return Rows(frame, columns, rows, builder.report, given.lines.name)


def _scan(batches: Batches, pieces: Pieces, schema: Schema, options: ReadOptions) -> Iterator[pa.RecordBatch]:
    """Yield how often each coded column has each value, and the report of the partition."""
    part = PartitionReport(ReadReport())
    held: list[Counter[str]] = [Counter() for _ in schema.layout.classes]
    for piece in pieces.of(batches):
        builder = ForestBuilder(schema)
        try:
            builder.add(read_rows(piece.open(), schema, options, builder.report))
        except DataError as problem:
            found = _LINE.search(problem.place)
            line = piece.before + (int(found.group()) if found else 1)
            part.wrong = (piece.file, piece.start, line, problem.message, problem.path, problem.place)
            break
        part.report.add(builder.report)
        part.records += builder.records
        for index, published in enumerate(schema.layout.classes):
            if published.spec.role in CODED:
                held[index].update(builder.occurrences(index))
            elif isinstance(known := published.spec.hierarchy, Hierarchy):
                strange = {
                    text: times for text, times in builder.occurrences(index).items() if known.find(text) is None
                }
                held[index].update(strange)
    yield from report_rows(part, held)


def _columns(
    schema: Schema, table: pa.Table, builder: ForestBuilder, show_values: bool
) -> tuple[Schema, tuple[Column, ...]]:
    """Return the schema with the hierarchies of the coded columns, and the columns with their occurring codes."""
    made: dict[str, Hierarchy] = {}
    columns = []
    for index, published in enumerate(schema.layout.classes):
        spec = published.spec
        of_class = table.filter(pa.compute.equal(table["held"], index))
        counts = Counter(dict(zip(of_class["text"].to_pylist(), of_class["times"].to_pylist(), strict=True)))
        if spec.role not in CODED:
            if counts:
                builder.handle_unknown(spec, counts, show_values=show_values)
            columns.append(Column(spec, Hierarchy.flat([]), np.zeros(0, np.int32)))
            continue
        texts = sorted(counts)
        made[spec.name] = hierarchy = hierarchy_for(spec, [texts])
        codes = hierarchy.encode(texts)
        unknown = {text: counts[text] for text, code in zip(texts, codes.tolist(), strict=True) if code < 0}
        if unknown:
            builder.handle_unknown(spec, Counter(unknown), show_values=show_values)
            codes = np.where(codes < 0, 0, codes)
        columns.append(Column(spec, hierarchy, unique_values(codes).astype(np.int32)))
    known = (replace(c, hierarchy=made[c.name]) if c.name in made else c for c in schema.classes)
    return replace(schema, classes=tuple(known)), tuple(columns)


def _spelling(column: Column) -> Ints:
    """Return the published code for each sensitive code, one spelling for each number; the last is missing."""
    own = np.append(np.arange(len(column.hierarchy), dtype=np.int32), -1).astype(np.int32)
    own[column.codes] = in_one_spelling(column).codes
    return own


def _encode(batches: Batches, pieces: Pieces, options: ReadOptions, shared: Any) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a partition as codes, each with its place.

    Places derive from a secret that is the same for every attempt at a task. A row whose task is repeated keeps its
    place, so that none is lost or written twice.
    """
    from pyspark import TaskContext

    schema, spelling, secret = shared.value
    context = TaskContext.get()
    part = context.partitionId() if context else 0
    for number, piece in enumerate(pieces.of(batches)):
        source = piece.open()
        (some,) = source.tables().values()
        if not source.read(source.table, some.columns[:1], 1).num_rows:
            continue
        table = table_of_rows(source, schema, options)
        places = words_of(secret, b"%d %d" % (part, number), len(table)).view(np.int64)
        names = names_of(table.columns)
        values = [_values(column, spelling.get(i)) for i, column in enumerate(table.columns)]
        yield batch_of(kinds_of(names), places, *values)


def _values(column: Column, spelling: Ints | None) -> Any:
    """Return the codes of a coded column, the texts of another."""
    if column.role not in CODED:
        return column.texts()
    return column.codes if spelling is None else spelling[column.codes]
