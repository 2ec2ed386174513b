"""Reads texts of records on the workers, with the same readers and checks as the local engine, into columnar form.

Texts are parsed once: that finds errors, dropped paths and the values of every class, from which the driver builds the
hierarchies. What was parsed is kept on the workers, and then encoded in labels that all partitions share.

A recipe is a solution in the labels that all workers share, small enough to be broadcast.
"""

from __future__ import annotations

import io
import pickle
import re
from base64 import b64decode, b64encode
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol, cast

import numpy as np
import pyarrow as pa

from treeanon.errors import DataError
from treeanon.forest import Batch, Classes, Forest, ForestBuilder, ReadReport
from treeanon.forest.build import hierarchy_for
from treeanon.forest.files import FilesBuilder
from treeanon.forest.persons import PersonBuilder
from treeanon.forest.report import Dropped
from treeanon.formats import FORMATS
from treeanon.hierarchy import Hierarchy
from treeanon.hierarchy.builders import Flat
from treeanon.hierarchy.intervals import Intervals
from treeanon.hierarchy.numbers import NumberTexts
from treeanon.io.interface import MAX_RECORD_BYTES, ReadOptions, reader_of
from treeanon.io.reading import nothing_found
from treeanon.io.sources import Source
from treeanon.schema import Schema
from treeanon.spark.lines import Lines
from treeanon.spark.records import (
    BLOCKS,
    Batches,
    bare_classes,
    batch_of,
    forests_of,
    map_batches,
    of_few_values,
    to_block,
    to_forest,
    unpersist,
)
from treeanon.spark.session import spark_failures
from treeanon.spark.xml_files import few_at_once, read_pieces

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


from treeanon.algorithms.tree.solution import Label, Solution
from treeanon.arrays import Flags, Ints, Longs, unique_values
from treeanon.forest.classes import STAR
from treeanon.spark.spread import Outliers

FOUND = "held int, text string, times long"
"""How often a class (by number) has a value; class -1 holds the report of a partition."""
_READ = f"{FOUND}, block binary"
"""The same, and blocks: of a class different numbers that it has, of class -2 container tables of some records."""
_TABLES = -2
_NUMBERS = 100_000
"""Numbers in a block."""
_PERSONS = 10_000
"""Persons in a block, where rows of persons were put together."""

LINE_NUMBER = re.compile(r"\d+")
_MERGED = (
    'nodes have moved: these are the records of a release of merged trees; use objects = "merged" in [input], or'
    " --objects merged"
)


@dataclass(frozen=True)
class Dataset:
    """Records on the workers: rows of BLOCKS with the labels of `classes`; `schema` holds the hierarchies as built.

    `shared` is the broadcast schema, `report` what reading left out; `kept` are frames that are kept for the rows.
    """

    frame: DataFrame
    schema: Schema
    classes: Classes
    records: int
    report: ReadReport
    shared: Any
    kept: Sequence[DataFrame] = ()

    @cached_property
    def shapes(self) -> Any:
        """The broadcast classes without their texts, which most work on the workers does not need."""
        return self.frame.sparkSession.sparkContext.broadcast(
            (without_hierarchies(self.schema), bare_classes(self.classes))
        )

    @cached_property
    def held(self) -> Longs:
        """How many nodes have each label."""
        work = partial(_held, shapes=self.shapes)
        found = map_batches(self.frame, work, "label binary, times binary").toArrow()
        held = np.zeros(len(self.classes), np.int64)
        for label, times in zip(*found.columns, strict=True):
            held[np.frombuffer(label.as_buffer(), np.int32)] += np.frombuffer(times.as_buffer(), np.int32)
        return held

    def forest(self, table: pa.Table) -> Forest:
        """Return the forest of some rows."""
        return to_forest(table, self.schema, self.classes)


@dataclass
class PartitionReport:
    """The report of a partition: the number of records, what was left out, and the first error with its place.

    `moved` says that nodes have moved where the schema leaves open what objects are.
    """

    report: ReadReport
    records: int = 0
    moved: bool = False
    wrong: tuple[int, int, int, str, str, str] | None = None


def read_dataset(lines: Lines, schema: Schema, options: ReadOptions, *, show_values: bool = False) -> Dataset:
    """Read texts by a schema into a dataset; DataError names the first invalid record unless these are skipped."""
    from pyspark import StorageLevel

    scan = partial(_scan, form=lines.form, schema=schema, options=options, kinds=lines.kinds)
    read = map_batches(lines.frame, scan, _READ).persist(StorageLevel.DISK_ONLY)
    try:
        table, builder, records = gather(lines, schema, read)
        schema = _with_hierarchies(schema, table, builder, show_values)
        shared = lines.frame.sparkSession.sparkContext.broadcast(schema)
        if are_rows(schema, lines.form):
            frame = encode(lines, shared, options)
        else:
            tables = read.where(f"held = {_TABLES}").select("block")
            frame = map_batches(tables, partial(_encode_tables, schema=shared), BLOCKS)
        return Dataset(frame, schema, classes_of(schema), records, builder.report, shared, (read,))
    except BaseException:
        unpersist([read])
        raise


def gather(lines: Lines, schema: Schema, found: DataFrame) -> tuple[pa.Table, ForestBuilder, int]:
    """Return what was found in all partitions: values and numbers of classes; a builder with the report; the number of
    records.
    """
    from pyspark.sql import functions as f

    with spark_failures(lines.name):
        texts, others = found, None
        if "block" in found.columns:
            texts = found.where("block is null")
            others = found.where("held >= 0 and block is not null")
        counted = texts.groupBy("held", "text").agg(f.sum("times").alias("times"))
        if others is not None:
            counted = counted.withColumn("block", f.lit(None).cast("binary")).unionByName(others)
        table = counted.toArrow()
        parts = partition_reports(table)
        refuse_broken(parts, lines)
    if any(part.moved for part in parts):
        raise DataError(_MERGED, source=lines.name)
    builder = ForestBuilder(schema)
    for part in parts:
        builder.report.add(part.report)
    if lines.report is not None:
        # Fields without a class come from joining the tables; what was left out there is in its own report.
        builder.report.dropped = Dropped()
        builder.report.add(lines.report)
    builder.report.files = len(set(lines.files.values()))
    builder.report.ignored_files = lines.ignored
    records = sum(part.records for part in parts)
    if not records:
        raise DataError(nothing_found(schema, lines.form), source=lines.name)
    return table, builder, records


def encode(lines: Lines, shared: Any, options: ReadOptions) -> DataFrame:
    """Return rows of many records, read by the broadcast schema `shared`, whose hierarchies are all known.

    Where few values are published (see `broadcast_published`), the rows have the labels of the dataset.
    """
    work = partial(_encode, form=lines.form, shared=shared, options=options, kinds=lines.kinds)
    return map_batches(lines.frame, work, BLOCKS)


def without_hierarchies(schema: Schema) -> Schema:
    """Return the schema without its hierarchies, for workers that do not use them: they are large to send."""
    return replace(schema, classes=tuple(replace(one, hierarchy=Flat()) for one in schema.classes))


def broadcast_published(dataset: Dataset, recipe: Recipe, schema: Schema) -> Any:
    """Return a schema with hierarchies of what is published alone, and its labels, broadcast to the workers.

    A value that is not published is an error to who reads by it.
    """
    withheld = [dataset.classes.index(name) for name in recipe.withheld]
    shown = unique_values(recipe.mapping)
    shown = shown[~np.isin(dataset.classes.class_of[shown], withheld)]
    schema, _, labels = of_few_values(schema, dataset.classes, shown)
    specs = tuple(replace(one, on_unknown="error") for one in schema.classes)
    found = replace(schema, classes=specs), labels.astype(np.int32)
    return dataset.frame.sparkSession.sparkContext.broadcast(found)


def classes_of(schema: Schema) -> Classes:
    """Return the labels of a schema whose hierarchies are all known."""
    published = schema.layout.classes
    hierarchies = tuple(cast(Hierarchy, c.spec.hierarchy) for c in published)
    names, parents = tuple(c.name for c in published), tuple(c.parent for c in published)
    return Classes(names, parents, hierarchies, schema.layout.types)


def partition_reports(table: pa.Table) -> list[PartitionReport]:
    """Return the reports of the partitions."""
    chosen = table.filter(pa.compute.equal(table["held"], -1))
    reports = zip(chosen["text"].to_pylist(), chosen["times"].to_pylist(), strict=True)
    return [pickle.loads(b64decode(text)) for text, times in reports for _ in range(times)]


def refuse_broken(parts: list[PartitionReport], lines: Lines) -> None:
    """Raise DataError for the first invalid record by file, block and line, if there is one."""
    wrong = [part.wrong for part in parts if part.wrong is not None]
    if not wrong:
        return
    file, start, line, message, path, reports = min(wrong, key=lambda one: (lines.files.get(one[0], ""), one[1:]))
    source, place = lines.place(file, start, line, reports)
    raise DataError(message, source=source, place=place, path=path)


def _with_hierarchies(schema: Schema, table: pa.Table, builder: ForestBuilder, show_values: bool) -> Schema:
    """Return the schema with hierarchies built from all values; handle values that given hierarchies do not know."""
    made = {}
    for index, published in enumerate(schema.layout.classes):
        held = table.filter(pa.compute.equal(table["held"], index))
        known = published.spec.hierarchy
        if isinstance(known, Hierarchy):
            counts = Counter(dict(zip(held["text"].to_pylist(), held["times"].to_pylist(), strict=True)))
            if counts:
                builder.handle_unknown(published.spec, counts, show_values=show_values)
            made[published.name] = known
        else:
            made[published.name] = hierarchy_for(published.spec, _values(held, known))
    classes = (replace(c, hierarchy=made[c.name]) if c.name in made else c for c in schema.classes)
    return replace(schema, classes=tuple(classes))


def _values(held: pa.Table, known: Any) -> list[Sequence[str]]:
    """Return the values that were found of a class, of which numbers have come in blocks."""
    texts = held.filter(pa.compute.is_valid(held["text"]))["text"]
    numbers = NumberTexts.read(texts) if isinstance(known, Intervals) else None
    blocks = held["block"].drop_null()
    return [numbers or sorted(texts.to_pylist()), *(pickle.loads(block.as_buffer()) for block in blocks)]


def _scan(
    batches: Batches, form: str, schema: Schema, options: ReadOptions, kinds: Mapping[int, int]
) -> Iterator[pa.RecordBatch]:
    """Yield what was parsed, how often each class has each value that its hierarchy needs, and the partition's report.

    Of rows of persons, which are parsed again when all of a person are together, no tables are kept.
    """
    part = PartitionReport(ReadReport())
    held: list[Counter[str]] = [Counter() for _ in schema.layout.classes]
    numbers: dict[int, list[NumberTexts]] = {}
    if are_rows(schema, form):
        rows = RowsOfPersons(schema, form, options, kinds)
        try:
            part.records = rows.builder.gather() if rows.read(batches) else 0
        except DataError as problem:
            part.wrong = rows.wrong(problem)
        else:
            # Also of rows that were all left out.
            _note(rows.builder, part, held, numbers)
        yield from _with_blocks(part, held, numbers)
        return
    before: Counter[tuple[int, int]] = Counter()
    for batch in batches:
        for file, start, texts in blocks_of_batch(batch):
            builder = ForestBuilder(schema)
            try:
                read_texts(builder, texts, form, options)
            except DataError as problem:
                found = LINE_NUMBER.search(problem.place)
                line = before[file, start] + (int(found.group()) if found else 1)
                part.wrong = part.wrong or (file, start, line, problem.message, problem.path, problem.place)
                break
            before[file, start] += len(texts)
            part.records += builder.records
            _note(builder, part, held, numbers)
            if builder.records:
                yield batch_of(_READ, [_TABLES], [None], [0], [pickle.dumps(builder.batches)])
        if part.wrong:
            break
    yield from _with_blocks(part, held, numbers)


def _note(
    builder: ForestBuilder, part: PartitionReport, held: list[Counter[str]], numbers: dict[int, list[NumberTexts]]
) -> None:
    """Add what was read to the report of the partition, and to the values and numbers that hierarchies need."""
    schema = builder.schema
    part.report.add(builder.report)
    is_open = schema.layout.types > 0 and schema.input.objects_open
    part.moved |= is_open and builder.any_moved
    for index, published in enumerate(schema.layout.classes):
        known = published.spec.hierarchy
        if isinstance(known, Hierarchy):
            found = builder.occurrences(index).items()
            held[index].update({text: times for text, times in found if known.find(text) is None})
        elif isinstance(known, Intervals) and (own := builder.distinct_numbers(index)) is not None:
            numbers.setdefault(index, []).append(own)
        else:
            held[index].update(dict.fromkeys(builder.distinct_texts(index), 0))


def are_rows(schema: Schema, form: str) -> bool:
    """Return whether records of a format are rows of persons; trees files have whole persons."""
    return (schema.input.person is not None or bool(schema.files)) and not FORMATS[form].names_classes


class RowsOfPersons:
    """The rows of a partition, which holds all rows of each of its persons: of several files in the order of these.

    `kinds` has of several files the kind of each.
    """

    def __init__(self, schema: Schema, form: str, options: ReadOptions, kinds: Mapping[int, int]) -> None:
        skip = options.on_error == "skip"
        self.builder = FilesBuilder(schema, skip=skip) if schema.files else PersonBuilder(schema, skip=skip)
        self.form, self.options, self.kinds = form, options, kinds
        self.places: dict[int, list[pa.RecordBatch]] = {}

    def read(self, batches: Batches) -> bool:
        """Take in the rows, and return whether there are any."""
        for batch in batches:
            at = 0
            for file, _, texts in blocks_of_batch(batch):
                if isinstance(self.builder, FilesBuilder):
                    kind = self.kinds[file]
                    read = self._left(RowsOfKind(self.builder, kind), texts)
                    # Without the texts.
                    own = batch.slice(at, len(texts)).select([0, 1, 3]).filter(pa.array(read))
                    self.places.setdefault(kind, []).append(own)
                else:
                    read_texts(self.builder, texts, self.form, self.options)
                at += len(texts)
        return self.builder.records > 0

    def _left(self, taking: RowsOfKind, texts: list[bytes]) -> Flags:
        """Have rows taken in, and return which were no broken records that are left out."""
        report = taking.report
        before, report.broken = report.broken, set()
        read_texts(taking, texts, self.form, self.options)
        left = np.ones(len(texts), bool)
        for _, place in report.broken:
            left[int(place.split()[-1]) - 1] = False
        report.broken |= before
        return left

    def wrong(self, problem: DataError) -> tuple[int, int, int, str, str, str]:
        """Return an error of a row, which says its kind and its place among the rows of that, with where it was read.

        How many rows have the same error is known of this partition alone.
        """
        assert isinstance(self.builder, FilesBuilder)
        kind = [part.spec.name for part in self.builder.parts].index(problem.source)
        found = LINE_NUMBER.search(problem.place)
        row = int(found.group()) - 1 if found else 0
        file, start, line = (column[row].as_py() for column in pa.Table.from_batches(self.places[kind]).columns)
        return file, start, line, problem.message.partition(" (")[0], problem.path, ""


class Taking(Protocol):
    """What takes in batches of records that are read by a schema."""

    @property
    def reads(self) -> Schema:
        """Return the schema to read by."""

    @property
    def report(self) -> ReadReport:
        """Return the report of what is left out."""

    def add(self, batch: Batch) -> None:
        """Take in a batch."""


@dataclass(frozen=True)
class RowsOfKind:
    """Takes in the rows of one kind of several files."""

    builder: FilesBuilder
    kind: int

    @property
    def reads(self) -> Schema:
        """Return the schema of rows of the kind."""
        return self.builder.reads_of[self.kind]

    @property
    def report(self) -> ReadReport:
        """Return the report of all kinds."""
        return self.builder.report

    def add(self, batch: Batch) -> None:
        """Take in a batch of the kind."""
        self.builder.add_rows(self.kind, batch)


def report_rows(part: PartitionReport, held: Sequence[Counter[str]]) -> Iterator[pa.RecordBatch]:
    """Yield rows of FOUND: how often each class has each value, and the report of the partition."""
    for index, counts in enumerate(held):
        texts, times = list(counts), list(counts.values())
        for i in range(0, len(texts), 20_000):
            some = slice(i, i + 20_000)
            yield batch_of(FOUND, np.full(len(texts[some]), index), texts[some], times[some])
    yield batch_of(FOUND, [-1], [b64encode(pickle.dumps(part)).decode()], [1])


def _with_blocks(
    part: PartitionReport, held: list[Counter[str]], numbers: dict[int, list[NumberTexts]]
) -> Iterator[pa.RecordBatch]:
    """Yield rows of _READ: numbers of classes, how often each class has each value, and the report of the partition."""
    for index, parts in numbers.items():
        together = NumberTexts.together(parts)
        if together is None:
            held[index].update(dict.fromkeys((text for own in parts for text in own.texts()), 0))
            continue
        for i in range(0, len(together), _NUMBERS):
            block = NumberTexts(together.steps[i : i + _NUMBERS], together.decimals)
            yield batch_of(_READ, [index], [None], [0], [pickle.dumps(block)])
    for batch in report_rows(part, held):
        yield batch_of(_READ, *batch.columns, pa.nulls(batch.num_rows, pa.binary()))


def _encode_tables(batches: Batches, schema: Any) -> Iterator[pa.RecordBatch]:
    """Yield the records of container tables as rows of BLOCKS."""
    for batch in batches:
        for block in batch.column(0):
            builder = ForestBuilder(schema.value)
            builder.batches = pickle.loads(block.as_buffer())
            yield to_block(_finished(builder))


def _encode(
    batches: Batches, form: str, shared: Any, options: ReadOptions, kinds: Mapping[int, int]
) -> Iterator[pa.RecordBatch]:
    """Yield the records of a partition as rows of BLOCKS."""
    schema, labels = shared.value if isinstance(shared.value, tuple) else (shared.value, None)

    def block(forest: Forest) -> pa.RecordBatch:
        return to_block(forest, None if labels is None else labels[forest.label])

    if are_rows(schema, form):
        rows = RowsOfPersons(schema, form, options, kinds)
        if rows.read(batches):
            whole = _finished(rows.builder)
            yield from (block(whole[start : start + _PERSONS]) for start in range(0, len(whole), _PERSONS))
        return
    for batch in few_at_once(batches) if FORMATS[form].spark == "ranges" else batches:
        builder = ForestBuilder(schema)
        for _, _, texts in blocks_of_batch(batch):
            read_texts(builder, texts, form, options)
        if builder.records:
            yield block(_finished(builder))


def _finished(builder: ForestBuilder) -> Forest:
    """Return the records of a builder; DataError for merged trees where the schema leaves open what objects are."""
    forest = builder.finish()
    # One part of the records cannot decide for all how they are to be read.
    if forest.classes.types != builder.layout.types:
        raise DataError(_MERGED)
    return forest


def _held(batches: Batches, shapes: Any) -> Iterator[pa.RecordBatch]:
    """Yield the labels of a partition's nodes and how many have each, as one row."""
    _, classes = shapes.value
    held = np.zeros(len(classes), np.int32)
    for forest in forests_of(batches, *shapes.value):
        # Of very many labels some records hold few.
        there, times = np.unique(forest.label, return_counts=True)
        held[there] += times.astype(np.int32)
    labels = np.flatnonzero(held).astype(np.int32)
    yield batch_of("label binary, times binary", [labels.tobytes()], [held[labels].tobytes()])


def blocks_of_batch(batch: pa.RecordBatch) -> Iterator[tuple[int, int, list[bytes]]]:
    """Yield the texts of a batch by file and block."""
    files, starts = (batch.column(i).to_numpy(zero_copy_only=False) for i in (0, 1))
    texts = batch.column(2).to_pylist()
    if not texts:
        return
    ends = np.flatnonzero((np.diff(files) != 0) | (np.diff(starts) != 0)) + 1
    for a, b in zip([0, *ends.tolist()], [*ends.tolist(), len(texts)], strict=True):
        yield int(files[a]), int(starts[a]), texts[a:b]


def read_texts(builder: Taking, texts: list[bytes], form: str, options: ReadOptions) -> None:
    """Read lines as if they were a file, or ranges of files."""
    if FORMATS[form].spark == "ranges":
        read_pieces(builder, texts, form, options)
        return
    for number, text in enumerate(texts, start=1):
        if len(text) > MAX_RECORD_BYTES:
            raise DataError(f"a line is longer than {MAX_RECORD_BYTES >> 20} MB", place=f"line {number}")
    block = b"\n".join(texts) + b"\n"
    source = Source("lines", len(block), lambda: cast(BinaryIO, io.BytesIO(block)))
    for batch in reader_of(form)([source], builder.reads, options, builder.report):
        builder.add(batch)


@dataclass(frozen=True, eq=False)
class Recipe:
    """A solution as arrays: the published label for each label, relations to disassociate, rules of leaving out.

    `types` has for each rule the label of its type of objects; None where trees are merged. Persons whose published
    records are `outliers` are suppressed.
    """

    mapping: Ints
    upper: Ints
    lower: Ints
    triggers: Ints
    left_out: Ints
    types: Ints | None
    withheld: tuple[str, ...]
    outliers: Outliers | None = None

    @classmethod
    def of(cls, solution: Solution, dataset: Dataset) -> Recipe:
        """Return the recipe of a solution."""
        classes = dataset.classes
        nothing = np.empty(0, np.int32)
        empty = Forest(dataset.schema, classes, np.zeros(1, np.int64), nothing, nothing)
        cut: Any = STAR if STAR in (solution.cut or {}) else solution.cut

        def ends(pairs: Sequence[tuple[Label, Label]]) -> tuple[Ints, Ints]:
            labels = np.array([[classes.label(*label) for label in pair] for pair in pairs], np.int32).reshape(-1, 2)
            return np.ascontiguousarray(labels[:, 0]), np.ascontiguousarray(labels[:, 1])

        upper, lower = ends(solution.disassociated)
        triggers, left_out = ends([rule[:2] for rule in solution.left_out])
        named = [rule[2] for rule in solution.left_out if len(rule) == 3]
        types = np.array([classes.type_label(name) for name in named], np.int32) if classes.types else None
        return cls(empty.cut_map(cut), upper, lower, triggers, left_out, types, solution.withheld)

    def apply(self, forest: Forest) -> tuple[Forest, Longs | None]:
        """Return the published records of a forest, and which of its records they are (None: all)."""
        found = self._recoded(forest)
        if self.outliers is None:
            return found, None
        kept = np.flatnonzero(~self.outliers.among(found))
        return found.take(kept), kept

    def _recoded(self, forest: Forest) -> Forest:
        projected = forest.without(self.withheld).relabel(self.mapping)
        moved = projected.disassociate_labels(self.upper, self.lower)
        return moved.leave_out_labels(self.triggers, self.left_out, self.types)

    def broadcast(self, dataset: Dataset) -> BroadcastRecipe:
        """Return the recipe, broadcast to the workers."""
        return BroadcastRecipe(dataset.frame.sparkSession.sparkContext.broadcast(self), dataset.shapes)


@dataclass(frozen=True)
class BroadcastRecipe:
    """A broadcast recipe, with the schema and classes of its dataset."""

    recipe: Any
    shapes: Any

    def both(self, batches: Batches) -> Iterator[tuple[Forest, Forest, Longs | None]]:
        """Yield the records of rows, before and after, and which of them were published (None: all)."""
        for before in self.before(batches):
            yield before, *self.recipe.value.apply(before)

    def before(self, batches: Batches) -> Iterator[Forest]:
        """Yield the original records of rows."""
        yield from forests_of(batches, *self.shapes.value)

    def after(self, batches: Batches) -> Iterator[Forest]:
        """Yield the published records of rows."""
        for _, after, _ in self.both(batches):
            yield after
