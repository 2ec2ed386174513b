"""Reads any input into a forest."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Literal

from treeanon.errors import DataError
from treeanon.forest import Forest, ForestBuilder
from treeanon.io.options import ReadOptions
from treeanon.io.registry import Format, format_named, format_of_name
from treeanon.io.sources import Source, Sources, find_sources
from treeanon.schema import Schema


def input_format(source: str | Path, schema: Schema, format: str | None = None) -> Format:
    """The format of an input: the one asked for, a trees file by its name, or what the schema says."""
    if format is not None:
        return format_named(format)
    by_name = format_of_name(source)
    return by_name if by_name is not None and by_name.name == "trees" else format_named(schema.input.format)


def read(
    source: str | Path,
    schema: Schema,
    *,
    format: str | None = None,
    on_error: Literal["error", "skip"] = "error",
    strict: bool = False,
    show_values: bool = False,
    jobs: int = 1,
    progress: Callable[[int, int | None], None] | None = None,
) -> Forest:
    """The forest of a file, folder, glob or zip (`-`: standard input), read by a schema.

    `format` overrides the schema's. With `on_error="skip"` broken records are counted and left out; `strict` makes
    repeated JSON keys errors. `progress(done, size)` is told the bytes read. What was left out is in `forest.report`.

    >>> import tempfile, pathlib, treeanon as ta
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "people.ndjson"
    >>> _ = path.write_text('{"age": 34, "note": "x"}\\n{"age": 35}\\n')
    >>> schema = ta.Schema.loads('version = 1\\n[input]\\nformat = "ndjson"\\n[[class]]\\nname = "age"\\npath = "age"')
    >>> forest = ta.read(path, schema)
    >>> list(forest.records()), forest.report.dropped.paths()
    ([[['age', '34', []]], [['age', '35', []]]], {'note': 1})
    """
    form = input_format(source, schema, format)
    schema = schema.for_format(form.name)
    found = find_sources(source, form.endings)
    builder = ForestBuilder(schema)
    builder.report.files = len(found.items)
    builder.report.ignored_files = found.ignored
    options = ReadOptions(on_error=on_error, strict=strict, jobs=jobs, advance=_advance(found, progress))
    for item in found.items:
        _read_source(item, form, schema, options, builder, collection=found.collection)
    if not builder.records:
        raise DataError(_nothing(schema, form), source=str(source))
    return builder.finish(show_values=show_values)


def _advance(found: Sources, progress: Callable[[int, int | None], None] | None) -> Callable[[int], None] | None:
    if progress is None:
        return None
    done = 0

    def advance(count: int) -> None:
        nonlocal done
        done += count
        progress(done, found.size)

    return advance


def _read_source(
    item: Source, form: Format, schema: Schema, options: ReadOptions, builder: ForestBuilder, *, collection: bool
) -> None:
    try:
        for batch in form.read(item, schema, options, builder.report):
            builder.add(batch)
    except DataError:
        # A file of a collection that is no document at all is a broken record too.
        if not collection or options.on_error == "error":
            raise
        builder.report.skipped += 1


def _nothing(schema: Schema, form: Format) -> str:
    record = schema.input.record
    if form.name in ("ndjson", "trees") or record is None or record.whole_file:
        return "holds no record"
    joint = "/" if form.name == "xml" else "."
    return f"holds no record at {joint.join(record.names) or 'the top'}; check the record path of the schema"
