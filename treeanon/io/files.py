"""Several files of one person, read and written: a folder, glob or zip of NDJSON, JSON, CSV or nested Parquet files."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

from treeanon.arrays import Longs
from treeanon.errors import DataError, UsageError
from treeanon.forest import Batch, Forest, ReadReport
from treeanon.forest.files import FilesBuilder
from treeanon.forest.persons import builder_of
from treeanon.formats import NESTED, Format
from treeanon.io.interface import ReadOptions, format_of_name, reader_of, writer_of
from treeanon.io.output import Check, open_folder
from treeanon.io.persons import List, as_files, lists_of, prefixes_of
from treeanon.io.profiles.seam import decoded, document_of
from treeanon.io.sources import Source, Sources, find_sources, plain_name
from treeanon.progress import Progress
from treeanon.schema import Schema
from treeanon.schema.model import FileSpec
from treeanon.schema.persons import Part, parts_of

if TYPE_CHECKING:
    from treeanon.io.columns.row_files import OneFile

_AT_ONCE = 20_000


def read_files(
    source: str | Path,
    schema: Schema,
    form: Format,
    options: ReadOptions,
    *,
    called: str | None = None,
    show_values: bool = False,
) -> Forest:
    """Return the forest of persons of whom several files hold rows."""
    found = find_sources(source, form.endings, called=called)
    builder = FilesBuilder(schema, skip=options.on_error == "skip")
    kinds = _kinds_of(found, [part.spec for part in builder.parts], form)
    for part, items in zip(builder.parts, kinds, strict=True):
        if not items:
            raise DataError(f"holds no {form.name} file of {part.spec.name}", source=called or str(source))
    builder.report.files = sum(map(len, kinds))
    builder.report.ignored_files = found.ignored + len(found.items) - builder.report.files
    for at, items in enumerate(kinds):
        read = decoded(items, schema, form)
        for batch in _batches(read, builder.reads_of[at], form, options, builder.report):
            builder.add_rows(at, batch)
    if not builder.records:
        raise DataError("holds no record", source=called or str(source))
    return builder.finish(show_values=show_values, jobs=options.jobs)


@dataclass(frozen=True)
class Kind:
    """The files of one kind, and their rows as records of their own, with their keys as classes.

    `prefix` stands before the number of a person, `prefix_above` before that of what a key leads to, and that of each
    of `lists` before those of what it names. `broken` are the rows that were not read.
    """

    part: Part
    items: Sequence[Source]
    rows: Forest
    prefix: str
    prefix_above: str
    broken: frozenset[tuple[str, str]]
    lists: tuple[List, ...]


def rows_of_files(source: str | Path, schema: Schema, form: Format, options: ReadOptions) -> Iterator[Kind]:
    """Yield each kind of files, that of the persons first."""
    found = find_sources(source, form.endings)
    parts = [part for part in parts_of(schema, "integer") if part.container >= 0]
    kinds = _kinds_of(found, [part.spec for part in parts], form)
    for part, items, own, lists in zip(parts, kinds, prefixes_of(parts), lists_of(parts), strict=True):
        builder = builder_of(part.schema)
        for batch in _batches(decoded(items, schema, form), builder.reads, form, options, builder.report):
            builder.add(batch)
        yield Kind(part, items, builder.finish(), *own, frozenset(builder.report.broken), lists)


def _kinds_of(found: Sources, specs: Sequence[FileSpec], form: Format) -> list[list[Source]]:
    """Return the files of each kind: those that its pattern, or its name with numbers around it, matches."""
    kinds: list[list[Source]] = [[] for _ in specs]
    kind_of = kinds_of_names((item.name for item in found.items), specs, form)
    for item in found.items:
        if item.name in kind_of:
            kinds[kind_of[item.name]].append(item)
    return kinds


def kinds_of_names(names: Iterable[str], specs: Sequence[FileSpec], form: Format) -> dict[str, int]:
    """Return which kind each file is of; those of none are left out."""
    kinds = {}
    for name in names:
        own = [at for at, spec in enumerate(specs) if _matches(name, spec, form)]
        if len(own) > 1:
            both = " and ".join(repr(specs[at].name) for at in own)
            raise UsageError(f"files {both} are found by the same name of a file; give each a pattern (files = …)")
        if own:
            kinds[name] = own[0]
    return kinds


def _matches(path: str, spec: FileSpec, form: Format) -> bool:
    name = re.split(r"[/\\:]", path)[-1]
    if spec.pattern:
        return fnmatch.fnmatch(name.lower(), spec.pattern.lower())
    stem = plain_name(name)
    for ending in form.endings:
        stem = stem.removesuffix(ending)
    return _around(spec.name.lower()).fullmatch(stem) is not None


def _around(name: str) -> re.Pattern[str]:
    """Return a pattern of a name with numbers around it, which do not run into numbers of its own.

    >>> [bool(_around("visit1").fullmatch(stem)) for stem in ("visit1", "03-visit1_002", "visit10", "visit2")]
    [True, True, False, False]
    """
    before = r"(?:[\W\d_]*[\W_])?" if name[:1].isdigit() else r"[\W\d_]*"
    after = r"(?:[\W_][\W\d_]*)?" if name[-1:].isdigit() else r"[\W\d_]*"
    return re.compile(before + re.escape(name) + after)


def written_names(spec: FileSpec, form: Format, count: int) -> list[str] | None:
    """Return the names of so many files of a kind; None if the schema would not find them by numbers again.

    >>> from treeanon.formats import FORMATS
    >>> from treeanon.schema.paths import parse_path
    >>> written_names(FileSpec("Visit", parse_path("id", slashed=False)), FORMATS["ndjson"], 2)
    ['Visit.00001.ndjson', 'Visit.00002.ndjson']
    """
    name = written_name(spec, form)
    if count == 1:
        return [name]
    stem, ending = name[: -len(form.endings[0])], form.endings[0]
    names = [f"{stem}.{number:05}{ending}" for number in range(1, count + 1)]
    return names if all(_matches(name, spec, form) for name in names) else None


def is_written_name(name: str, spec: FileSpec, form: Format) -> bool:
    """Return whether the file of a kind, or one of several, is named so, in letters of any case."""
    written = written_name(spec, form).lower()
    return written in (name.lower(), re.sub(r"\.[0-9]{5}(?=\.[a-z]+$)", "", name.lower()))


def written_name(spec: FileSpec, form: Format) -> str:
    """Return the name of the file of a kind, which the schema finds again."""
    names = (f"{spec.name}{form.endings[0]}", spec.pattern.replace("*", "").replace("?", "1"))
    found = next((name for name in names if name and _matches(name, spec, form) and name.endswith(form.endings)), None)
    if found is None:
        raise UsageError(f"file {spec.name!r}: no name for it follows from the pattern {spec.pattern!r}; simplify it")
    return found


def _batches(
    items: Sequence[Source], schema: Schema, form: Format, options: ReadOptions, report: ReadReport
) -> Iterator[Batch]:
    """Yield the rows of files of one kind."""
    if form.is_document:
        yield from reader_of(form.name)(items, schema, options, report)
        return
    for item in items:
        if form.delimited:
            from treeanon.io.columns.row_files import read_rows

            with opened_rows(item, form, options) as file:
                yield read_rows(file, schema, options, report)
        else:
            for part in lines_of_parquet(item):
                yield from reader_of(NESTED)([part], as_lines(schema), options, report)


@contextmanager
def opened_rows(item: Source, form: Format, options: ReadOptions) -> Iterator[OneFile]:
    """Open a file of rows, which may be packed, or in a zip."""
    from treeanon.io.columns.row_files import OneFile
    from treeanon.io.relational.file_store import Copies

    copies = Copies()
    try:
        path = Path(item.name) if Path(item.name).is_file() else copies.of(item)
        with closing(OneFile(path, form, options.advance, called=item.name, delimiter=options.delimiter)) as file:
            yield file
    finally:
        copies.close()


def as_lines(schema: Schema) -> Schema:
    """Return the schema by which nested rows are read and written that are in no file of lines."""
    return replace(schema, input=replace(schema.input, format=NESTED, record=None, delimiter=""))


def lines_of_parquet(item: Source) -> Iterator[Source]:
    """Yield the rows of a Parquet file as sources of lines, some at a time."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from treeanon.io.memory import json_line, without_nulls

    with item.open() as stream:
        data = cast(BinaryIO, BytesIO(stream.read())) if not Path(item.name).is_file() else item.name
    number = 0
    try:
        with pq.ParquetFile(data) as file:
            for batch in file.iter_batches(_AT_ONCE):
                rows = enumerate(batch.to_pylist(), start=number + 1)
                lines = b"\n".join(json_line(without_nulls(row), item.name, at) for at, row in rows)
                number += batch.num_rows
                yield Source(item.name, len(lines), partial(_opened, lines))
    except (pa.ArrowException, OSError):
        raise DataError("is damaged, ends too early, or is not a Parquet file", source=item.name) from None


def _opened(lines: bytes) -> BinaryIO:
    return cast(BinaryIO, BytesIO(lines))


def write_files(
    forest: Forest,
    schema: Schema,
    target: str | Path,
    form: Format,
    orders: Callable[[int], Longs],
    *,
    force: bool,
    progress: Progress | None,
    check: Check | None,
) -> None:
    """Write the rows of persons as the same kinds of files, each in random order, with fresh references.

    `schema` is that of the forest before its facets became nodes.
    """
    if str(target) == "-" or format_of_name(target) is not None:
        raise UsageError(f"{target}: several files go to a folder or a .zip; name it, with / at the end")
    with open_folder(target, force=force, check=check) as folder:
        for spec, rows in as_files(forest, orders, schema):
            with folder.open(written_name(spec, form)) as stream:
                _write(rows, form, orders, stream, spec.name)
            if progress is not None:
                progress(len(rows), None)


def _write(rows: Forest, form: Format, orders: Callable[[int], Longs], stream: BinaryIO, kind: str) -> None:
    from treeanon.io.columns.row_files import make_rows
    from treeanon.io.columns.write_table import write_rows
    from treeanon.io.memory import nested_of_forest
    from treeanon.io.writing import lines_of, write_document

    if form.delimited:
        write_rows(make_rows(rows, rows.schema, orders), form.name, rows.schema.input.delimiter or ",", stream)
        return
    order = orders(len(rows))
    if not form.is_document:
        import pyarrow as pa
        import pyarrow.parquet as pq

        lines = rows.take(order)
        schema = as_lines(rows.schema)
        nested = replace(lines, schema=schema)
        pq.write_table(nested_of_forest(nested, pa.table({}), shuffle=False), stream)
        return
    writer = writer_of(form.name)
    texts, document = writer.texts(rows, rows.schema), document_of(rows.schema, form, kind)
    parts = range(0, len(order), _AT_ONCE)
    chunks = (lines_of(texts, document, rows, order[start : start + _AT_ONCE], start) for start in parts)
    write_document(stream.write, document, chunks)
