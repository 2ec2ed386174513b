"""Folders whose files are of several kinds: the kinds by their names, and their rows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from treeanon.errors import DataError, FileError, UsageError
from treeanon.formats import FORMATS, Format
from treeanon.infer.json_sample import parsed_lines
from treeanon.infer.model import SampleRequest
from treeanon.io.files import lines_of_parquet, opened_rows
from treeanon.io.interface import format_of_name
from treeanon.io.options import ReadOptions
from treeanon.io.sources import STDIN, Source, find_sources, plain_name
from treeanon.schema import RecordPath
from treeanon.schema.files import FILE_FORMATS

_HEAD = 1 << 12


@dataclass(frozen=True)
class FileKinds:
    """The files of each kind, by their names without numbers, their format, and where the rows of each are."""

    form: Format
    record: RecordPath | None
    items: dict[str, list[Source]]

    def rows(self, item: Source, most: int) -> Iterator[Any]:
        """Yield rows of a file, of a document that has more than `most` some of all its parts."""
        if not self.form.is_document:
            for part in lines_of_parquet(item):
                with part.open() as stream:
                    yield from (orjson.loads(line) for line in stream.read().split(b"\n") if line)
        elif self.record is None and not self.form.as_lines and self.form.spark == "lines":
            yield from parsed_lines(item)
        else:
            sample = self.form.function("sample")
            yield from sample(SampleRequest(self.form, (item,), self.record, most)).records


def kinds_of(source: str | Path, format: str | None) -> FileKinds | None:
    """Return the kinds of files that an input has; None where all are of one kind, or of several formats."""
    if str(source) == STDIN or (format is not None and format not in FILE_FORMATS):
        return None
    # Flat rows are tables, whose keys are found otherwise.
    for name in FILE_FORMATS if format is None else (format,):
        form = FORMATS[name]
        try:
            found = find_sources(source, form.endings)
        except (UsageError, FileError):
            # Whoever reads it for another purpose will say what is wrong.
            continue
        kinds = _by_name(found.items, form) if found.collection and len(found.items) > found.ignored else {}
        if len(kinds) > 1 and all(_holds_rows(items[0], form) for items in kinds.values()):
            return FileKinds(form, RecordPath((), True) if form.has_record_path else None, kinds)
    return None


def _by_name(found: tuple[Source, ...], form: Format) -> dict[str, list[Source]]:
    """Return the files by their names without numbers; none where a name is none of a kind."""
    kinds: dict[str, list[Source]] = {}
    for item in found:
        named = format_of_name(item.name)
        if named is None or named.endings != form.endings:
            return {}
        # Members of a zip are named after it.
        stem = Path(item.name[: len(plain_name(item.name))].rpartition(":")[2]).stem
        name = re.sub(r"^[\d._-]+|[\d._-]+$", "", stem)
        if not re.fullmatch(r"[^\W\d]\w*", name):
            return {}
        kinds.setdefault(name, []).append(item)
    return kinds


def _holds_rows(item: Source, form: Format) -> bool:
    """Return whether a file holds rows with objects in them: lines, an array, a stream, or nested columns."""
    if form.delimited:
        return False
    try:
        if not form.is_document:
            with opened_rows(item, form, ReadOptions()) as file:
                return any(is_nested(part.schema) for part in file.parts() if hasattr(part, "schema"))
        if not form.has_record_path and not form.as_lines and form.spark == "lines":
            return True
        with item.open() as stream:
            head = stream.read(_HEAD).removeprefix(b"\xef\xbb\xbf").lstrip()
    except (DataError, FileError):
        return False
    if form.has_record_path:
        return head.startswith((b"[", b"- ", b"-\n", b"---\n- ", b"---\n-\n"))
    return bool(form.function("recognizes")(head))


def is_nested(schema: Any) -> bool:
    """Return whether a column of a Parquet file holds objects or lists."""
    import pyarrow as pa

    return any(pa.types.is_nested(field.type) for field in schema)
