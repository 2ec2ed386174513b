"""Proposal of a schema for an input: take a sample of its records, count what is there, decide."""

from __future__ import annotations

import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, cast

from treeanon.errors import DataError, UsageError
from treeanon.formats import FORMATS, NESTED, Format, the_format
from treeanon.infer.decide import decide, objects_of
from treeanon.infer.json_sample import walk_json
from treeanon.infer.leaves import Leaves, bare, dotted_name
from treeanon.infer.model import Finding, Findings, LeftOut, Prefixes, Sample, SampleRequest
from treeanon.infer.person_fields import with_person
from treeanon.infer.references import with_references
from treeanon.infer.render import render_schema
from treeanon.io.columns.csv_dialect import given_delimiter
from treeanon.io.interface import format_of_name
from treeanon.io.relational.file_store import PACKAGE, open_file_store, table_name
from treeanon.io.relational.urls import is_database
from treeanon.io.sources import Source, Sources, find_sources, plain_name
from treeanon.schema import RecordPath, Schema, parse_record
from treeanon.schema.layout import ROOT
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


def take_sample(
    given: str | Path, *, format: str | None, record: str | None, most: int, within: int | None = None
) -> Sample:
    """Return records of a file, folder, glob or zip, of each document from so many bytes (None: all); errors are those
    of reading.
    """
    form = None if format is None else FORMATS.named(format)
    sources = find_sources(given, form.endings if form else _all_endings())
    if not sources.collection:
        return _of_file(sources.items[0], form, record, most, within)
    form = form or _most_common(sources)
    items = tuple(item for item in sources.items if _may_be(item.name, form))
    return _taken(
        SampleRequest(form, items, _record_path(record or ".", record, form), most, collection=True, within=within)
    )


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
            if head[:2] == b"PK" and zipfile.is_zipfile(path):
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
    store = open_file_store(path)
    if store.find(PACKAGE) is not None:
        return True
    names = [name.rpartition("/")[2] for name in store.names()]
    documents = sum((form := format_of_name(name)) is not None and form.is_document for name in names)
    return sum(table_name(name) is not None for name in names) > documents


def _of_file(item: Source, form: Format | None, record: str | None, most: int, within: int | None) -> Sample:
    with item.open() as raw:
        head = raw.read(_PEEK)
        source = _PeekedSource(item.name, item.size, lambda: cast(BinaryIO, _PeekedStream(head, raw)))
        by_name = format_of_name(item.name)
        if form is None:
            form = by_name if by_name is not None and by_name.is_document else _of_content(head)
        if form is None:
            told = ", ".join(form.name for form in FORMATS.values() if form.recognizes)
            what = f"is of none of the formats that first bytes tell ({told}); name its format with --from: "
            raise DataError(what + ", ".join(FORMATS), source=item.name)
        lines = FORMATS[form.as_lines] if form.as_lines else None
        if lines is not None and record is None and lines.function("recognizes")(_start(head)):
            form = lines
        return _taken(SampleRequest(form, (source,), _record_path(record, record, form), most, within=within))


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


_STAR = "*"


class _Seen:
    """Counts of the classes seen above each class."""

    def __init__(self) -> None:
        self.above: dict[str, set[str]] = {}
        self.times: Counter[str] = Counter()
        self.values: dict[str, set[str]] = {}
        self.records: Counter[str] = Counter()

    def record(self, tree: Any, number: int) -> None:
        """Count one record's nodes; DataError if they are malformed."""
        here: set[str] = set()
        stack: list[tuple[Any, tuple[str, ...]]] = [(tree, ())]
        while stack:
            nodes, trail = stack.pop()
            if not isinstance(nodes, list):
                raise _malformed(number)
            for node in nodes:
                if not (isinstance(node, list) and len(node) == 3 and all(isinstance(text, str) for text in node[:2])):
                    raise _malformed(number)
                name = node[0]
                if name != _STAR:
                    self.above.setdefault(name, set()).update(trail)
                    self.times[name] += 1
                    self.values.setdefault(name, set()).add(node[1])
                    here.add(name)
                stack.append((node[2], (*trail, name)))
        self.records.update(here)


def _malformed(number: int) -> DataError:
    return DataError("a tree is an array of [class, value, [children]] with texts", place=f"record {number}")


def tree_classes(records: list[Any]) -> tuple[Finding, ...]:
    """Return the classes, each under the lowest of those seen above it.

    >>> found = tree_classes([{"tree": [["ward", "A", [["illness", "flu", []]]]]}, {"tree": [["illness", "flu", []]]}])
    >>> [(each.name, each.under) for each in found]
    [('ward', '/'), ('illness', 'ward')]
    """
    seen = _Seen()
    for number, record in enumerate(records, start=1):
        if not isinstance(record, dict) or "tree" not in record:
            raise DataError('must be an object with a member "tree"', place=f"record {number}")
        seen.record(record["tree"], number)
    parents = _parents(seen.above)
    return tuple(_finding(name, under, seen) for name, under in parents.items())


def _finding(name: str, under: str | None, seen: _Seen) -> Finding:
    distinct = len(seen.values[name])
    where = "directly under the record" if under is None else f"below {under!r}"
    return Finding(
        name,
        None,
        under=under or "/",
        why=f"its nodes were seen {where}",
        facts=f"{distinct:,} distinct value{'s' if distinct != 1 else ''}",
        records=seen.records[name],
        occurrences=seen.times[name],
        distinct=distinct,
    )


def _parents(above: dict[str, set[str]]) -> dict[str, str | None]:
    """Return for every class the one it lies under; all classes seen above one class lie on one path."""
    parents: dict[str, str | None] = {}
    waiting = dict(above)
    while waiting:
        ready = [name for name in waiting if above[name] <= parents.keys()]
        if not ready:
            raise DataError("classes lie under each other in a circle: no class tree holds them")
        for name in ready:
            del waiting[name]
        parents |= {name: _lowest(above[name], parents) for name in ready}
    return parents


def _lowest(names: set[str], parents: dict[str, str | None]) -> str | None:
    """Return the lowest class of a path through all of the names; branches are chained to form that path."""
    path: list[str] = []
    for name in sorted(names, key=lambda each: (len(_path(each, parents)), each)):
        below = [each for each in _path(name, parents) if each not in path]
        if below and path:
            # what lies above the branch is on the path already
            parents[below[0]] = path[-1]
        path += below
    return path[-1] if path else None


def _path(name: str, parents: dict[str, str | None]) -> list[str]:
    """Return the classes from the top down to this one."""
    path: list[str] = []
    at: str | None = name
    while at is not None:
        path.append(at)
        at = parents[at]
    return path[::-1]


def propose(
    source: str | Path,
    *,
    format: str | None = None,
    delimiter: str = "",
    record: str | None = None,
    sample: int = 1000,
    home: str | Path = ".",
    publish: Sequence[str] = (),
) -> Findings:
    """Return a proposed schema for an input, from a sample of its records; `home` is the schema's folder.

    `delimiter` is that of a CSV file; without it, the header decides. `publish` names fields, by class or path, that
    are published although they look like a direct identifier, a secret or free text.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "people.ndjson")
    >>> _ = path.write_text('{"age": 34, "visits": [{"ward": "A"}]}\\n')
    >>> [(found.name, found.type, found.path.text(slashed=False)) for found in propose(path).classes]
    [('age', 'integer', 'age'), ('ward', 'text', 'visits[].ward')]
    """
    from treeanon.infer.files import propose_files

    found = None if record is not None else propose_files(source, format, sample=sample, publish=publish)
    if found is not None:
        return _checked(found)
    relational, rows = relational_format(source, format), rows_format(source, format)
    delimiter = given_delimiter(delimiter, relational or rows or "documents")
    if relational is not None:
        from treeanon.infer.tables import propose_tables

        return propose_tables(source, format=relational, record=record, sample=sample, publish=publish)
    if rows is not None:
        from treeanon.infer.rows import propose_rows

        return propose_rows(
            source, format=rows, delimiter=delimiter, record=record, sample=sample, home=Path(home), publish=publish
        )
    taken = take_sample(source, format=format, record=record, most=sample)
    try:
        named = FORMATS[taken.format].names_classes
        findings = _from_trees(taken) if named else _from_documents(taken, publish)
    except DataError as problem:
        raise DataError(problem.message, source=str(source), place=problem.place) from None
    if not findings.classes:
        raise DataError("no field in the sample could become a class", source=str(source))
    return _checked(findings)


def _checked(findings: Findings) -> Findings:
    """Return the findings with what each class lies under, after loading their schema."""
    # loading yields the parents, and proves that the schema is valid
    layout = Schema.loads(render_schema(findings)).merged.layout
    names = [published.name for published in layout.classes]
    return findings.with_parents({c.name: None if c.parent == ROOT else names[c.parent] for c in layout.classes})


def _from_trees(taken: Sample) -> Findings:
    return Findings(taken, tree_classes(taken.records))


def _from_documents(taken: Sample, publish: Sequence[str]) -> Findings:
    if not FORMATS[taken.format].slashed:
        root, kinds = walk_json(taken.records)
        leaves = Leaves(False, dotted_name, kinds).gather(root)
        return _findings(taken, leaves, {}, publish)
    from treeanon.infer.xml_sample import walk_xml

    prefixes = taken.prefixes or Prefixes(taken.records)
    for name in _record_tags(taken):
        prefixes.short(name)
    root, kinds = walk_xml(taken.records)
    leaves = Leaves(True, prefixes.short, kinds).gather(root)
    return _findings(taken, leaves, dict(prefixes.used), publish)


def _findings(taken: Sample, leaves: Leaves, namespaces: dict[str, str], publish: Sequence[str]) -> Findings:
    """Return the findings; a withheld class that differs from a published one only by predicates is left out."""
    found = decide(leaves.found, len(taken.records), slashed=leaves.slashed, publish=publish, parents=leaves.parents)
    public = {bare(each.path) for each in found if each.published and each.path is not None}
    unnamed = [each for each in found if each.path and not each.published and bare(each.path) in public]
    left = [LeftOut(each.path.text(slashed=leaves.slashed), each.why) for each in unnamed if each.path]
    named = tuple(each for each in found if each not in unnamed)
    objects = objects_of(leaves.found, slashed=leaves.slashed)
    findings = Findings(taken, named, (*leaves.left_out, *left), namespaces, objects=objects)
    findings = with_references(findings, leaves.found, leaves.parents)
    whole_file = taken.record is not None and taken.record.whole_file
    return findings if whole_file else with_person(findings, leaves.found)


def _record_tags(taken: Sample) -> list[str]:
    """Return the qualified tags from the root to the records, whose namespaces the schema must declare."""
    if taken.record is None or taken.record.whole_file:
        return []
    first = taken.records[0]
    return [str(element.tag) for element in [*reversed(list(first.iterancestors())), first]]
