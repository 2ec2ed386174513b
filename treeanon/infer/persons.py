"""The question whose a record is: releases are refused while a field tells that a person has several records.

Whoever publishes rows of patients as if each was a patient would be told that "at least 5 are alike" where one person's
five rows are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
import orjson

from treeanon.arrays import unique_values
from treeanon.errors import DataError, TreeanonError, UsageError
from treeanon.forest import Forest
from treeanon.forest.report import Origin, ReadReport
from treeanon.formats import FORMATS
from treeanon.infer.json_sample import walk_json
from treeanon.infer.leaves import Leaf, Leaves, dotted_name
from treeanon.infer.model import Prefixes, Repeat
from treeanon.infer.person_fields import person_fields, question
from treeanon.infer.propose import take_sample
from treeanon.io.output import unnamed_file
from treeanon.io.reading import holds_rows, read
from treeanon.io.relational.source import open_tables
from treeanon.io.sources import STDIN, following_links, stdin_head
from treeanon.schema import ClassSpec, Schema
from treeanon.schema.dump import record_text
from treeanon.schema.model import InputSpec
from treeanon.table import Table

_SAMPLE = 300
"""So many records show which fields may be ids of persons; the likeliest are then counted over the whole input."""
_WITHIN = 8 << 20
"""They are looked for in so many bytes of a document, if a record ends there: each release waits for it."""
_MOST = 3
"""Fields that are counted over the whole input: those that look most like ids of persons."""


def refuse_repeats(report: ReadReport | None) -> None:
    """UsageError if what was read has several records of a person, as a field tells, and the schema does not say so."""
    if report is None or report.origin is None or report.is_one_each:
        return
    refuse_repeats_of(report.origin)
    report.is_one_each = True


def refuse_repeats_of(origin: Origin) -> None:
    """UsageError where a field of an input tells that a person has several records, and the schema does not."""
    found = next((each for each in _counted(origin) if each.repeats), None)
    if found is not None:
        raise UsageError(question(found, _records_named(origin.schema)))


def _records_named(schema: Schema) -> str:
    return "rows" if schema.input.is_flat or schema.input.is_relational else "records"


def _counted(origin: Origin) -> list[Repeat]:
    """Return the fields of an input that look like ids of persons, counted over all of it."""
    spec = origin.schema.input
    if (
        origin.schema.files
        or spec.person is not None
        or spec.one_per_person
        or spec.form.names_classes
        or spec.whole_file
    ):
        return []
    if isinstance(origin.data, str) and origin.data == STDIN:
        return _of_head(origin)
    with following_links(origin.schema.input.follow_links):
        fields = _fields(origin)[:_MOST]
    if not fields:
        return []
    specs = tuple(ClassSpec(str(number), each.path, role="keep") for number, each in enumerate(fields))
    counts = _counts(read_again(origin, replace(origin.schema, input=replace(spec, relations=None), classes=specs)))
    return [replace(each, records=own, distinct=values) for each, (own, values) in zip(fields, counts, strict=True)]


def _counts(found: Forest | Table) -> list[tuple[int, int]]:
    """Return for each class how many records have a value of it, and how many values there are."""
    if isinstance(found, Forest):
        first = found.classes.first
        nodes = np.bincount(found.label, minlength=len(found.classes))
        of_class = [nodes[first[at] : first[at + 1]] for at in map(found.classes.index, sorted(found.classes.names))]
        return [(int(times.sum()), int(np.count_nonzero(times))) for times in of_class]
    columns = [column.codes[column.codes >= 0] for column in sorted(found.columns, key=lambda each: each.name)]
    return [(len(codes), len(unique_values(codes))) for codes in columns]


def read_again(origin: Origin, schema: Schema) -> Forest | Table:
    """Return what an input holds by another schema."""
    if not isinstance(origin.data, str | Path):
        from treeanon.io.given import Given

        given = Given.of(origin.data, schema)
        return given.read(rows=given.is_rows)
    work: Callable[..., Forest | Table] = read
    if holds_rows(origin.data, schema):
        from treeanon.io.columns.read_table import read_table as work
    on_error: Literal["error", "skip"] = "skip" if origin.skip else "error"
    form = schema.input.format
    return work(origin.data, schema, format=form, delimiter=origin.delimiter, on_error=on_error, jobs=origin.jobs)


def _of_head(origin: Origin) -> list[Repeat]:
    """Return the same for what standard input began with; nothing where that is no document of its own."""
    head = stdin_head()
    form = origin.schema.input.form
    if form.is_rows or form.spark == "lines":
        head = head[: head.rfind(b"\n") + 1]
    if form.is_relational or not head:
        return []
    file, path = unnamed_file()
    with file:
        file.write(head)
        file.flush()
        try:
            return _counted(replace(origin, data=str(path)))
        except TreeanonError:
            return []


def _fields(origin: Origin) -> list[Repeat]:
    """Return the fields that look like ids of persons in a sample of the input."""
    spec = origin.schema.input
    if not isinstance(origin.data, str):
        return person_fields(_leaves(_first(origin.data, spec)), slashed=False)
    if spec.form.is_document:
        record = None if spec.record is None else record_text(spec.record, spec.slashed)
        sample = partial(take_sample, origin.data, format=spec.format, record=record, most=_SAMPLE)
        try:
            taken = sample(within=_WITHIN)
        except DataError:
            taken = sample()
        if not FORMATS[taken.format].slashed:
            return person_fields(_leaves(taken.records), slashed=False)
        from treeanon.infer.xml_sample import walk_xml

        prefixes = _Declared(taken.records, spec.namespaces)
        root, kinds = walk_xml(taken.records)
        return person_fields(Leaves(True, prefixes.short, kinds).gather(root).found, slashed=True)
    with closing(open_tables(origin.data, spec.format, delimiter=origin.delimiter)) as source:
        table = spec.record.names[0] if spec.record is not None else next(iter(source.tables()))
        columns = list(source.tables()[table].columns)
        try:
            leaves = _leaves(_first(source.read(table, columns, _SAMPLE), spec))
        except DataError:
            # What cannot be read is no key.
            leaves = []
            for column in columns:
                with suppress(DataError):
                    leaves += _leaves(_first(source.read(table, [column], _SAMPLE), spec))
        return person_fields(leaves, slashed=False)


def _first(data: Any, spec: InputSpec) -> list[Any]:
    """Return the first records of data in memory, as JSON has them; of tables those of the root."""
    from treeanon.io.columns.arrow import arrow_of
    from treeanon.io.memory import json_line

    if isinstance(data, Mapping):
        data = data[spec.record.names[0]] if spec.record is not None else next(iter(data.values()))
    rows = data[:_SAMPLE] if isinstance(data, Sequence) else arrow_of(data).slice(0, _SAMPLE).to_pylist()
    return [orjson.loads(json_line(row, "the records", number)) for number, row in enumerate(rows, start=1)]


def _leaves(records: Sequence[Mapping[str, Any]]) -> list[Leaf]:
    root, kinds = walk_json(list(records))
    return Leaves(False, dotted_name, kinds).gather(root).found


class _Declared(Prefixes):
    """The prefixes that a schema declares; what is in another namespace has no path."""

    def __init__(self, elements: Iterable[Any], namespaces: Mapping[str, str]) -> None:
        super().__init__(elements)
        self.used = dict(namespaces)
        self.default = namespaces.get("")

    def prefix(self, uri: str) -> str:
        """Return the prefix of a namespace, or one that no schema has."""
        return next((prefix for prefix, known in self.used.items() if known == uri and prefix), "undeclared")
