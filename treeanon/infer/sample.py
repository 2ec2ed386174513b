"""The first records of an input in any format, and their place in the documents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, cast

from treeanon.errors import DataError, UsageError
from treeanon.formats import FORMATS, NESTED, Format, the_format
from treeanon.infer.model import Sample, SampleRequest
from treeanon.io.interface import format_of_name
from treeanon.io.relational.file_store import PACKAGE, open_shelf, table_name
from treeanon.io.relational.urls import is_database
from treeanon.io.sources import Source, Sources, find_sources, plain_name
from treeanon.schema import RecordPath, parse_record
from treeanon.schema.paths import PathError

_PEEK = 1 << 16
_MAGIC = 16


class _PeekedStream:
    """A stream whose first bytes were read ahead, and are read again."""

    def __init__(self, head: bytes, rest: BinaryIO) -> None:
        self.head, self.rest = head, rest

    def read(self, size: int = -1) -> bytes:
        if not self.head:
            return self.rest.read(size)
        taken = self.head if size < 0 else self.head[:size]
        self.head = self.head[len(taken) :]
        return taken + self.rest.read() if size < 0 else taken


class _PeekedSource(Source):
    """A source whose first bytes were read ahead; opening it starts with them again."""

    @contextmanager
    def open(self, advance: Callable[[int], None] | None = None) -> Iterator[BinaryIO]:
        """Return the stream, which is decompressed already."""
        yield self.raw()


def take_sample(given: str | Path, *, format: str | None, record: str | None, most: int) -> Sample:
    """Return the first records of a file, folder, glob or zip; errors are those of reading."""
    form = None if format is None else FORMATS.named(format)
    sources = find_sources(given, form.endings if form else _all_endings())
    if not sources.collection:
        return _of_file(sources.items[0], form, record, most)
    form = form or _most_common(sources)
    items = tuple(item for item in sources.items if _may_be(item.name, form))
    return _taken(SampleRequest(form, items, _record_path(record or ".", record, form), most, collection=True))


def relational_format(given: str | Path, format: str | None) -> str | None:
    """Return the format of an input that is tables tied by foreign keys; None for documents and single files of rows.

    >>> [relational_format(name, None) for name in ("clinic.sqlite", "env:CLINIC", "patients.xml")]
    ['sqlite', 'database', None]
    """
    if format is not None:
        return format if FORMATS.named(format).is_relational else None
    path = Path(given)
    found = format_of_name(given if is_database(str(given)) else path.name)
    by_name = found.name if found is not None and found.is_relational else None
    if found is not None and found.by_url:
        return by_name
    try:
        if path.is_dir():
            return _tables_in(path)
        if path.is_file():
            with path.open("rb") as stream:
                head = stream.read(_MAGIC)
            by_magic = _of_magic(head)
            if by_magic is not None and by_magic.is_relational:
                return by_magic.name
            if head[:2] == b"PK":
                return _tables_in(path)
    except OSError:
        # Reading will report what is wrong.
        return by_name
    if found is not None and found.in_folder and path.name not in found.endings:
        return None
    return by_name


def rows_format(given: str | Path, format: str | None) -> str | None:
    """Return the format of an input that is one file of rows; None for all others.

    >>> [rows_format(name, None) for name in ("people.csv", "people.parquet", "people.tsv.gz", "patients.xml")]
    ['csv', 'parquet', 'csv', None]
    """
    if format is not None:
        return format if FORMATS.named(format).is_rows else None
    path = Path(given)
    found = format_of_name(path.name)
    if found is None and path.is_file():
        with suppress(OSError), path.open("rb") as stream:
            found = _of_magic(stream.read(_MAGIC))
    return found.name if found is not None and found.is_rows and not path.is_dir() else None


def _of_magic(head: bytes) -> Format | None:
    """Return the format whose files begin with these bytes."""
    return next((form for form in FORMATS.values() if form.magic and head.startswith(form.magic)), None)


def _tables_in(path: Path) -> str | None:
    return the_format("in_folder").name if _holds_tables(path) else None


def _holds_tables(path: Path) -> bool:
    """Return whether a folder or zip holds a datapackage.json or, mostly, files of tables."""
    shelf = open_shelf(path)
    if shelf.find(PACKAGE) is not None:
        return True
    names = [name.rpartition("/")[2] for name in shelf.names()]
    documents = sum((form := format_of_name(name)) is not None and form.is_document for name in names)
    return sum(table_name(name) is not None for name in names) > documents


def _of_file(item: Source, form: Format | None, record: str | None, most: int) -> Sample:
    with item.open() as raw:
        head = raw.read(_PEEK)
        source = _PeekedSource(item.name, item.size, lambda: cast(BinaryIO, _PeekedStream(head, raw)))
        by_name = format_of_name(item.name)
        if form is None:
            form = by_name if by_name is not None and by_name.is_document else _of_content(head)
        if form is None:
            raise DataError("is neither XML nor JSON by its first bytes; name the format with --from", source=item.name)
        lines = FORMATS[form.as_lines] if form.as_lines else None
        if lines is not None and record is None and lines.function("recognizes")(_start(head)):
            form = lines
        return _taken(SampleRequest(form, (source,), _record_path(record, record, form), most))


def _taken(request: SampleRequest) -> Sample:
    sample = request.format.function("sample")(request)
    assert isinstance(sample, Sample)
    return sample


def format_of_content(head: bytes) -> str | None:
    """Return the format that the first bytes of a file suggest.

    >>> [format_of_content(head) for head in (b" <a/>", b'{"a": 1}', b'{"a": 1}\\n{"a": 2}', b"a,b")]
    ['xml', 'json', 'ndjson', None]
    """
    found = _of_content(head)
    return None if found is None else found.name


def _of_content(head: bytes) -> Format | None:
    text = _start(head)
    able = [form for form in FORMATS.values() if form.recognizes and form.function("recognizes")(text)]
    # Lines of trees are lines of JSON too: later formats in the table are more specific.
    return able[-1] if able else None


def _start(head: bytes) -> bytes:
    return head.removeprefix(b"\xef\xbb\xbf").lstrip()


def _may_be(name: str, form: Format) -> bool:
    """Return whether a file of a collection may be of a format, by its name."""
    return plain_name(name).endswith(form.endings) or format_of_name(name) is None


def _all_endings() -> tuple[str, ...]:
    return tuple(ending for form in FORMATS.values() if form.is_document for ending in form.endings)


def _most_common(sources: Sources) -> Format:
    names = Counter(form.name if (form := format_of_name(item.name)) else NESTED for item in sources.items)
    return FORMATS[names.most_common(1)[0][0]]


def _record_path(text: str | None, requested: str | None, form: Format) -> RecordPath | None:
    """Return the record path that a text means; UsageError if the format has none."""
    if not form.has_record_path:
        if requested is not None:
            raise UsageError(f"--record is not for {form.name}, where {form.no_record}")
        return None
    try:
        return None if text is None else parse_record(text, slashed=form.slashed)
    except PathError as problem:
        raise UsageError(f"--record: {problem}") from None
