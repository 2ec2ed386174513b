"""Findings from files of several kinds, such as bulk export, whose rows are tied to persons by references;
and the kinds themselves, by the names of files.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import orjson

from treeanon.errors import DataError, FileError, UsageError
from treeanon.formats import FORMATS, Format
from treeanon.infer.decide import decide, objects_of
from treeanon.infer.json_sample import parsed_lines, walk_json
from treeanon.infer.leaves import Leaves, dotted_name
from treeanon.infer.model import Findings, LeftOut, Sample, SampleRequest
from treeanon.infer.person_fields import NOT_PUBLISHED, PEOPLE
from treeanon.infer.sampling import spread
from treeanon.infer.secrets import words
from treeanon.io.files import lines_of_parquet, opened_rows
from treeanon.io.interface import ReadOptions, format_of_name
from treeanon.io.sources import STDIN, Source, find_sources, plain_name
from treeanon.schema import FieldPath, RecordPath, Step
from treeanon.schema.model import FileKey, FileSpec
from treeanon.schema.persons import FILE_FORMATS

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


Row = dict[str, Any]
Names = tuple[str, ...]

_MOST_LINES = 200_000
"""Lines of one kind that are looked at for rows of the sampled persons."""

_TIED = 0.95
"""Least share of rows that must name a person who is there."""

_KEYED = 0.5
"""Least share of rows that must name a row of another kind for a key to it."""

_DEEPEST = 4


@dataclass(frozen=True)
class _Kind:
    """The files of one kind, their rows, and the fields that may refer to others."""

    name: str
    rows: list[Row]
    cut: bool

    def references(self) -> dict[Names, list[str]]:
        """Return the texts of each field that has one in a row, and stands in no array."""
        found: dict[Names, list[str]] = {}
        for row in self.rows:
            for names, text in _texts(row, ()):
                found.setdefault(names, []).append(_bare(text))
        return found


def _texts(row: Row, lead: Names) -> Iterator[tuple[Names, str]]:
    for name, value in row.items():
        if isinstance(value, dict) and len(lead) < _DEEPEST:
            yield from _texts(value, (*lead, name))
        elif isinstance(value, str | int) and not isinstance(value, bool) and value != "":
            yield (*lead, name), str(value)


def _bare(text: str) -> str:
    """Return what a reference names: `Patient/17`, `urn:uuid:17` and `17` are one.

    >>> _bare("http://x.example/fhir/Patient/17"), _bare("urn:uuid:17")
    ('17', '17')
    """
    return text.rpartition("/")[2].rpartition(":")[2]


def propose_files(source: str | Path, format: str | None, *, sample: int, publish: Sequence[str]) -> Findings | None:
    """Return a proposed schema of files of several kinds, tied to persons; None where there are none such."""
    given = kinds_of(source, format)
    if given is None:
        return None
    read = [_read(name, given) for name in given.items]
    ids = {kind.name: {_bare(str(row["id"])) for row in kind.rows if "id" in row} for kind in read}
    fields = {kind.name: kind.references() for kind in read}
    persons = _persons(read, ids, fields)
    if persons is None:
        return None
    tied: dict[str, Names] = {persons.name: ("id",)}
    for kind in read:
        way = _field(fields[kind.name], ids[persons.name], len(kind.rows), _TIED)
        if kind is not persons and way is not None:
            tied[kind.name] = way
    keys = dict(_keys(read, ids, fields, tied, persons.name))
    return _findings(given, read, persons, tied, keys, sample, publish)


def _read(name: str, given: FileKinds) -> _Kind:
    rows: list[Row] = []
    for item in given.items[name]:
        for row in given.rows(item, _MOST_LINES + 1):
            if len(rows) == _MOST_LINES:
                return _Kind(name, rows, True)
            if isinstance(row, dict):
                rows.append(row)
    return _Kind(name, rows, False)


def _field(found: Mapping[Names, Sequence[str]], ids: set[str], rows: int, least: float) -> Names | None:
    """Return the field of which most rows name one of the ids."""
    for names, texts in found.items():
        if rows and ids and sum(text in ids for text in texts) >= least * rows and names != ("id",):
            return names
    return None


def _persons(
    kinds: Sequence[_Kind], ids: Mapping[str, set[str]], fields: Mapping[str, Mapping[Names, Sequence[str]]]
) -> _Kind | None:
    """Return the kind that is persons: by its name, or because most other kinds refer to it."""
    rated = []
    for kind in kinds:
        others = sum(
            _field(fields[other.name], ids[kind.name], len(other.rows), _TIED) is not None
            for other in kinds
            if other is not kind
        )
        named = bool(PEOPLE & set(words(kind.name)))
        if others and len(ids[kind.name]) == len(kind.rows):
            rated.append((others + (len(kinds) if named else 0), kind))
    return max(rated, key=lambda each: each[0])[1] if rated else None


def _keys(
    kinds: Sequence[_Kind],
    ids: Mapping[str, set[str]],
    fields: Mapping[str, Mapping[Names, Sequence[str]]],
    tied: Mapping[str, Names],
    persons: str,
) -> Iterator[tuple[str, tuple[Names, str]]]:
    """Yield for kinds whose rows name rows of another kind the field and that kind; keys lead one step."""
    targets: set[str] = set()
    for kind in kinds:
        if kind.name not in tied or kind.name == persons or kind.name in targets:
            continue
        for other in kinds:
            if other is kind or other.name not in tied or other.name == persons:
                continue
            way = _field(fields[kind.name], ids[other.name], len(kind.rows), _KEYED)
            if way is not None and way != tied[kind.name]:
                targets.add(other.name)
                yield kind.name, (way, other.name)
                break


def _findings(
    given: FileKinds,
    kinds: Sequence[_Kind],
    persons: _Kind,
    tied: Mapping[str, Names],
    keys: Mapping[str, tuple[Names, str]],
    sample: int,
    publish: Sequence[str],
) -> Findings:
    chosen = {_bare(str(persons.rows[at]["id"])): at for at in spread(len(persons.rows), sample)}
    records: dict[str, Row] = {own: {persons.name: persons.rows[at]} for own, at in chosen.items()}
    for kind in kinds:
        if kind is persons or kind.name not in tied:
            continue
        for row in kind.rows:
            own = _bare(str(_at(row, tied[kind.name])))
            if own in records:
                records[own].setdefault(kind.name, []).append(row)
    leaves = Leaves(False, dotted_name, {}).gather(walk_json(list(records.values()), apart=False)[0])
    classes = decide(
        leaves.found, len(records), slashed=False, publish=publish, parents=leaves.parents, of_files=True
    )  # fmt: skip
    key_of = {name: pair for name, pair in keys.items() if pair[1] in tied}
    specs = tuple(FileSpec(name, _path(way)) for name, way in tied.items())
    file_keys = tuple(FileKey(name, _path(way), target, _path(("id",))) for name, (way, target) in key_of.items())
    taken_by_keys = {(spec.name, *_names(spec.person)) for spec in specs}
    taken_by_keys |= {(key.file, *_names(key.path)) for key in file_keys}
    taken_by_keys |= {(key.target, *_names(key.target_path)) for key in file_keys}
    kept, left = [], list(leaves.left_out)
    for found in classes:
        assert found.path is not None
        path = _unmarked(found.path)
        if _names(path) in taken_by_keys:
            left.append(LeftOut(path.text(slashed=False), NOT_PUBLISHED))
            continue
        facets = {name: _unmarked(one) for name, one in found.facets.items()}
        kept.append(replace(found, path=path, facets=facets))
    untied = [kind.name for kind in kinds if kind.name not in tied]
    left += [LeftOut(name, "no field of these files says whose a row is") for name in untied]
    whole = len(records) == len(persons.rows) and not any(kind.cut for kind in kinds)
    cut = [f"rows of {kind.name} after the first {_MOST_LINES:,} were not looked at" for kind in kinds if kind.cut]
    taken = Sample(
        given.form.name, given.record, list(records.values()), whole, "", total=len(persons.rows), unseen=tuple(cut)
    )  # fmt: skip
    objects = objects_of(leaves.found, slashed=False)
    return Findings(taken, tuple(kept), tuple(left), objects=objects, files=specs, file_keys=file_keys)


def _at(row: Row, names: Names) -> Any:
    value: Any = row
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _path(names: Names) -> FieldPath:
    return FieldPath(tuple(Step(name) for name in names))


def _names(path: FieldPath) -> Names:
    return tuple(step.name or "" for step in path.steps)


def _unmarked(path: FieldPath) -> FieldPath:
    """Return a path whose first step names a file, which is not marked as repeating."""
    return FieldPath((Step(path.steps[0].name), *path.steps[1:]), path.attribute)
