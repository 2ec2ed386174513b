"""Reads any input into a forest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Literal

from treeanon.errors import DataError
from treeanon.forest import Batch, Forest, ForestBuilder, ReadReport
from treeanon.forest.persons import builder_of
from treeanon.forest.report import Origin
from treeanon.formats import FORMATS, Format
from treeanon.io.columns.csv_dialect import given_delimiter
from treeanon.io.interface import ReadOptions, format_of_name, reader_of
from treeanon.io.output import Written
from treeanon.io.profiles.seam import decoded
from treeanon.io.relational.source import TableSource
from treeanon.io.relational.urls import is_remote, refuse_other_urls, shown
from treeanon.io.sources import Source, Sources, find_sources, follows_links, forget_archives
from treeanon.progress import Progress
from treeanon.schema import Schema
from treeanon.schema.load import SchemaLike, schema_of

_MANY_FILES = 1000
_FILES_AT_ONCE = 250


def input_format(source: str | Path, schema: Schema, format: str | None = None) -> Format:
    """Return the format of an input: the requested one, that of a trees file's name, or the schema's."""
    if format is not None:
        return FORMATS.named(format)
    by_name, own = format_of_name(source), schema.input.form
    if by_name is None:
        return own
    are_kin = by_name.kind == own.kind and not own.is_document
    return by_name if are_kin or by_name.names_classes else own


def holds_rows(source: str | Path, schema: Schema, format: str | None = None) -> bool:
    """Return whether an input is a table of which each row is one person, and not of persons with rows."""
    return input_format(source, schema, format).is_rows and schema.input.person is None and not schema.files


@follows_links
def read(
    source: str | Path,
    schema: SchemaLike,
    *,
    format: str | None = None,
    delimiter: str = "",
    on_error: Literal["error", "skip"] = "error",
    strict: bool = False,
    show_values: bool = False,
    jobs: int = 1,
    progress: Progress | None = None,
    called: str | None = None,
) -> Forest:
    """Return the forest of a file, folder, glob, zip, database (its URL) or standard input (`-`), read by a schema.

    `format` overrides the schema's; `delimiter` is that of a CSV file, if its header is not to decide. With
    `on_error="skip"` broken records are counted and left out; `strict` makes repeated JSON keys errors. `jobs` is the
    number of cores to use: many files are read in several processes, so a script that asks for it needs the usual
    `if __name__ == "__main__"`. `progress(done, size)` is called with the bytes read. `called` is the input's name, if
    that is to be another. `forest.report` counts what was left out.

    >>> import tempfile, pathlib, treeanon as ta
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "people.ndjson"
    >>> _ = path.write_text('{"age": 34, "note": "x"}\\n{"age": 35}\\n')
    >>> schema = ta.Schema.loads('version = 1\\n[input]\\nformat = "ndjson"\\n[[class]]\\nname = "age"\\npath = "age"')
    >>> forest = ta.read(path, schema)
    >>> list(forest.records()), forest.report.dropped.paths()
    ([[['age', '34', []]], [['age', '35', []]]], {'note': 1})
    """
    schema = schema_of(schema)
    refuse_other_urls(str(source))
    called = called or (shown(str(source)) if is_remote(str(source)) else None)
    form = input_format(source, schema, format)
    delimiter = given_delimiter(delimiter, form.name)
    schema = schema.for_format(form.name)
    if schema.files and not form.names_classes:
        from treeanon.io.files import read_files

        options = ReadOptions(on_error, strict, jobs, delimiter, collection=True)
        forest = read_files(source, schema, form, options, called=called, show_values=show_values)
    elif not form.is_document:
        options = ReadOptions(on_error, strict, jobs, delimiter)
        forest = _read_relational(
            source, form, schema, options, called=called, show_values=show_values, progress=progress
        )
    else:
        found = _found(source, form, schema, called)
        options = ReadOptions(on_error, strict, jobs, collection=found.collection, advance=_advance(found, progress))
        forest = _read_found(found, form, schema, options, show_values, called or str(source))
    assert forest.report is not None
    forest.report.origin = Origin(str(source), schema, delimiter, on_error == "skip", len(forest), jobs)
    return forest


def read_back(written: Written, name: str | Path, schema: Schema, format: str, *, jobs: int = 1) -> Forest:
    """Return the forest of a written output, by its format; `name` stands for it in messages and decides its
    compression.
    """
    from treeanon.io.columns.write_table import delimiter_for

    form = FORMATS.named(format)
    called = "standard output" if str(name) == "-" else str(name)
    if schema.files and form is schema.input.form:
        from treeanon.io.files import read_files

        assert isinstance(written, Path)
        return read_files(written, schema, form, ReadOptions(jobs=jobs), called=called)
    if not form.is_document:
        # What was written must itself say which keys there are, unless the schema does.
        schema = schema.for_format(form.name)
        schema = replace(schema, input=replace(schema.input, relations=None))
        delimiter = delimiter_for(name, schema.input.delimiter) if form.delimited else ""
        options = ReadOptions(jobs=jobs, delimiter=delimiter)
        return _read_relational(written, form, schema, options, called=called)
    if not isinstance(written, Path):
        raise TypeError("documents are read from files")
    path = written
    found = _found(path, form, schema, called)
    options = ReadOptions(jobs=jobs, collection=found.collection)
    try:
        return _read_found(found, form, schema.for_format(form.name), options, False, called)
    finally:
        forget_archives()


def _found(source: str | Path, form: Format, schema: Schema, called: str | None) -> Sources:
    found = find_sources(source, form.endings, called=called)
    return replace(found, items=decoded(found.items, schema, form))


def _read_relational(
    source: str | Path | TableSource,
    form: Format,
    schema: Schema,
    options: ReadOptions,
    *,
    called: str | None = None,
    show_values: bool = False,
    progress: Progress | None = None,
) -> Forest:
    from treeanon.io.columns.row_files import RowFiles, read_rows
    from treeanon.io.relational.reading import read_tables, resolved
    from treeanon.io.relational.source import open_tables

    done = 0

    def advance(count: int) -> None:
        nonlocal done
        done += count
        if progress is not None:
            progress(done, None)

    if isinstance(source, str | Path):
        source = open_tables(source, form.name, called=called, delimiter=options.delimiter, advance=advance)
    with closing(source) as tables:
        name = tables.name
        if isinstance(tables, RowFiles):
            schema = replace(schema, input=replace(schema.input, delimiter=tables.delimiter))
            builder = builder_of(schema, skip=options.on_error == "skip")
            builder.add(read_rows(tables, builder.reads, options, builder.report))
        else:
            schema = resolved(schema, tables)
            builder = builder_of(schema, skip=options.on_error == "skip")
            builder.add(read_tables(tables, builder.reads, options, builder.report))
    if not builder.records:
        raise DataError(nothing_found(schema, form.name), source=name)
    return builder.finish(show_values=show_values, jobs=options.jobs)


def _read_found(
    found: Sources, form: Format, schema: Schema, options: ReadOptions, show_values: bool, name: str
) -> Forest:
    # Files that name the classes themselves have the trees of whole persons.
    builder = ForestBuilder(schema) if form.names_classes else builder_of(schema, skip=options.on_error == "skip")
    builder.report.files = len(found.items)
    builder.report.ignored_files = found.ignored
    if options.jobs > 1 and len(found.items) >= _MANY_FILES:
        _read_in_processes(found, form, builder.reads, options, builder)
    else:
        for batch in reader_of(form.name)(found.items, builder.reads, options, builder.report):
            builder.add(batch)
    if not builder.records:
        raise DataError(nothing_found(schema, form.name), source=name)
    return builder.finish(show_values=show_values, jobs=options.jobs)


def _advance(found: Sources, progress: Progress | None) -> Callable[[int], None] | None:
    if progress is None:
        return None
    done = 0

    def advance(count: int) -> None:
        nonlocal done
        done += count
        progress(done, found.size)

    return advance


def _read_in_processes(
    found: Sources, form: Format, schema: Schema, options: ReadOptions, builder: ForestBuilder
) -> None:
    """Read many files, some at a time in each process; the order of records is that of the files."""
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    groups = [found.items[i : i + _FILES_AT_ONCE] for i in range(0, len(found.items), _FILES_AT_ONCE)]
    advance, alone = options.advance, replace(options, jobs=1, advance=None)
    with ProcessPoolExecutor(options.jobs, get_context("spawn")) as pool:
        work = partial(_read_group, form_name=form.name, schema=schema, options=alone)
        try:
            for group, (batches, report) in zip(groups, pool.map(work, groups), strict=True):
                builder.report.add(report)
                for batch in batches:
                    builder.add(batch)
                if advance is not None:
                    advance(sum(item.size or 0 for item in group))
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def _read_group(
    group: Sequence[Source], form_name: str, schema: Schema, options: ReadOptions
) -> tuple[list[Batch], ReadReport]:
    report = ReadReport()
    return list(reader_of(form_name)(group, schema, options, report)), report


def nothing_found(schema: Schema, form: str) -> str:
    """Return the message for an input of a format that holds no record."""
    record = schema.input.record
    if schema.input.is_relational:
        return f"holds no row in its table {record.names[0] if record else ''!r}, of which each row is one person"
    if schema.input.is_flat:
        return "holds no row"
    read = FORMATS.named(form)
    if not read.has_record_path or record is None or record.whole_file:
        return "holds no record"
    joint = "/" if read.slashed else "."
    return f"holds no record at {joint.join(record.names) or 'the top'}; check the record path of the schema"
