"""Writes a forest as documents: shuffled records, sorted children, no ids."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

from treeanon.arrays import Longs
from treeanon.errors import DataError, UsageError
from treeanon.forest import Forest
from treeanon.forest.facets import with_facets
from treeanon.formats import FORMATS, Format, the_format
from treeanon.io.interface import MAX_RECORD_BYTES, Document, RecordTexts, format_of_name, writer_of
from treeanon.io.output import Check, open_folder, open_output
from treeanon.io.persons import in_rows
from treeanon.io.profiles.seam import document_of
from treeanon.io.relational.urls import refuse_other_urls
from treeanon.io.sources import plain_name
from treeanon.progress import Progress
from treeanon.randomness import random_orders
from treeanon.schema import Schema

_AT_ONCE = 20_000
_PART_RECORDS = 100_000


def output_format(target: str | Path, schema: Schema, format: str | None = None) -> Format:
    """Return the format of an output: the requested one, that of its name, or the input's."""
    refuse_other_urls(str(target))
    if format is not None:
        return FORMATS.named(format)
    if schema.input.is_relational:
        found = _relational_format(target, schema)
        if found is not None:
            return found
    found = format_of_name(target)
    if found is not None and found.endings == schema.input.form.endings:
        # Several formats may have the same endings.
        return schema.input.form
    if found is None and schema.input.is_flat and not schema.files and str(target).endswith(("/", ".zip")):
        raise UsageError(f"{target}: {schema.input.format} is one file; name it, such as out.csv")
    ending = Path(plain_name(str(target))).suffix
    whole_file = schema.input.record is not None and schema.input.record.whole_file
    if found is None and ending not in ("", ".zip") and not whole_file and not os.path.isdir(target):  # noqa: PTH112
        known = ", ".join(sorted({one for form in FORMATS.values() for one in form.endings if one.startswith(".")}))
        raise UsageError(f"{target}: no format has the ending {ending}; name one (--to), or end in {known}")
    return found or schema.input.form


def _relational_format(target: str | Path, schema: Schema) -> Format | None:
    """Return the format of a target where tables were read: a folder or zip of tables, a file like the input, a
    database.
    """
    named = format_of_name(target)
    if named is not None and named.is_rows:
        raise UsageError(
            f"{target}: several tables go to a folder (name it, with / at the end) or a .zip; `treeanon flatten` makes"
            " one table of them"
        )
    if named is not None:
        return named
    name = str(target)
    if name.endswith(("/", ".zip")) or os.path.isdir(name):  # noqa: PTH112 - which never raises
        return the_format("in_folder")
    if Path(plain_name(name)).suffix:
        return None
    read = schema.input.form
    return the_format("in_folder") if read.by_url or read.in_folder else read


def write(
    forest: Forest,
    target: str | Path,
    *,
    format: str | None = None,
    force: bool = False,
    seed: int | None = None,
    progress: Progress | None = None,
    check: Check | None = None,
) -> None:
    """Write the records in random order, in the format of the target's name (or `format`).

    Reading the result by the same schema (by `schema.for_format(…)` when the format changes) gives the same forest.
    Where the schema has one record per file the target is a folder or a `.zip`; so is one that ends in `/`. The
    target appears whole or not at all. `seed` makes the order repeatable, for tests: a published order should not be.
    `check` is given the path of what was written before it appears, and keeps it from appearing by raising.

    >>> import tempfile, pathlib, treeanon as ta
    >>> schema = ta.Schema.loads('version = 1\\n[input]\\nformat = "ndjson"\\n[[class]]\\nname = "age"\\npath = "age"')
    >>> forest = ta.Forest.from_records(schema, [[["age", "34", []]]])
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "people.ndjson"
    >>> ta.write(forest, path)
    >>> path.read_text()
    '{"age":"34"}\\n'
    """
    form = output_format(target, forest.schema, format)
    orders = random_orders(seed)
    if forest.schema.files and form is forest.schema.input.form:
        from treeanon.io.files import write_files

        whole = with_facets(forest)
        write_files(whole, forest.schema, target, form, orders, force=force, progress=progress, check=check)
        return
    if forest.schema.for_format(form.name).input.person is not None and not form.names_classes:
        forest = in_rows(forest, orders)
    elif not form.names_classes:
        forest = with_facets(forest)
    schema = forest.schema.for_format(form.name)
    if not form.is_document:
        if schema.input.is_flat:
            from treeanon.io.columns.row_files import write_forest as put
        else:
            from treeanon.io.relational.writing import write_tables as put
        put(forest, target, schema, orders, force=force, progress=progress, check=check)
        return
    writer = writer_of(form.name)
    texts, document = writer.texts(forest, schema), document_of(schema, form)
    order = orders(len(forest))

    def chunks() -> Iterator[list[str]]:
        for start in range(0, len(order), _AT_ONCE):
            chosen = order[start : start + _AT_ONCE]
            yield lines_of(texts, document, forest, chosen, start)
            if progress is not None:
                progress(start + len(chosen), len(order))

    ending = form.endings[0]
    # Trees files are written by the schema of the input, whose record path is not theirs.
    whole_file = form.has_record_path and schema.input.whole_file
    is_file = str(target) == "-" or _names_a_file(target, form)
    if whole_file and not (len(forest) == 1 and is_file):
        if format_of_name(target) is not None:
            raise UsageError(f"{target}: {len(forest)} records go to a file each; name a folder or a .zip")
        _write_files(target, ending, document, chunks(), force=force, check=check)
    elif whole_file:
        with open_output(target, force=force, check=check) as stream:
            for lines in chunks():
                stream.write(document.single(lines[0]).encode())
    elif is_file:
        with open_output(target, force=force, check=check) as stream:
            write_document(stream.write, document, chunks())
    else:
        _write_parts(target, ending, document, chunks(), force=force, check=check)


def _names_a_file(target: str | Path, form: Format) -> bool:
    name = str(target)
    if name.endswith(("/", ".zip")) or os.path.isdir(name):  # noqa: PTH112 - which never raises
        return False
    return format_of_name(name) is not None or bool(Path(name).suffix) or Path(name).exists()


def lines_of(texts: RecordTexts, document: Document, forest: Forest, chosen: Longs, start: int) -> list[str]:
    """Return the lines of chosen records, the first of which has the number after `start`."""
    found = texts.records(forest.take(chosen))
    longest = max(map(len, found), default=0)
    if longest > MAX_RECORD_BYTES // 4 and max(len(text.encode()) for text in found) > MAX_RECORD_BYTES:
        raise DataError(f"a record is longer than {MAX_RECORD_BYTES >> 20} MB, the limit of the readers")
    return [document.line(number, text) for number, text in enumerate(found, start=start + 1)]


def write_document(put: Callable[[bytes], object], document: Document, chunks: Iterator[list[str]]) -> None:
    """Put a document piece by piece, given the lines of its records in chunks."""
    put(document.head.encode())
    first = True
    for lines in chunks:
        put((("" if first else document.joint) + document.joint.join(lines)).encode())
        first = False
    put((document.tail if not first else document.tail.lstrip("\n")).encode())


def _write_files(
    target: str | Path,
    ending: str,
    document: Document,
    chunks: Iterator[list[str]],
    *,
    force: bool,
    check: Check | None,
) -> None:
    """Write one file for each record; the numbers in their names follow the random order."""
    number = 0
    with open_folder(target, force=force, check=check) as folder:
        for lines in chunks:
            for text in lines:
                number += 1
                folder.add(f"record-{number:07}{ending}", document.single(text).encode())


def _write_parts(
    target: str | Path,
    ending: str,
    document: Document,
    chunks: Iterator[list[str]],
    *,
    force: bool,
    check: Check | None,
) -> None:
    """Write files of many records each."""
    with open_folder(target, force=force, check=check) as folder:
        held: list[list[str]] = []
        number = 0
        for lines in chunks:
            held.append(lines)
            if sum(map(len, held)) >= _PART_RECORDS:
                number += 1
                folder.add(f"part-{number:05}{ending}", _document_bytes(document, held))
                held = []
        if held or not number:
            folder.add(f"part-{number + 1:05}{ending}", _document_bytes(document, held))


def _document_bytes(document: Document, held: list[list[str]]) -> bytes:
    parts: list[bytes] = []
    write_document(parts.append, document, iter(held))
    return b"".join(parts)
