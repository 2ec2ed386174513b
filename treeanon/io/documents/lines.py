"""Formats with one record per line: trees files, and those made of two functions, a parser and a writer.

`line_format` is the shortest way to a format of one's own; `treeanon.formats` says how it is found. Lines of a trees
file are `{"id": …, "tree": [[class, value, [children…]], …]}`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson

from treeanon.errors import DataError
from treeanon.forest import Batch, Forest, ReadReport
from treeanon.forest.tables import BatchWriter, Malformed, NestedReader, TextCodes
from treeanon.formats import Format
from treeanon.io.documents.json_document import line_blocks, spans_of_lines
from treeanon.io.documents.json_records import JsonRecords, Span, has_repeated_key, parse
from treeanon.io.documents.json_write import JsonTexts, json_text
from treeanon.io.interface import BATCH_RECORDS, LINES, Document, DocumentWriter, ReadOptions, broken_files
from treeanon.io.sources import Source
from treeanon.kernels.jsontext import lines_with_repeats
from treeanon.kernels.tree.forest import depths
from treeanon.schema import Schema

if TYPE_CHECKING:
    from treeanon.io.beyond.documents import Records
    from treeanon.io.beyond.findings import Findings


Parse = Callable[[bytes], Mapping[str, Any]]
"""Parses a line into an object as JSON has it: texts, numbers, truth values, null, lists and objects."""


def line_format(
    name: str, endings: tuple[str, ...], parse: Parse, text: Callable[[Mapping[str, Any]], str], about: str = ""
) -> Format:
    """Return a format with one record per line.

    `parse` gives the object of a line, and raises ValueError for a line that is broken; `text` writes an object as a
    line, so that `parse` gives it again. `about` is what a file is, for people.

    >>> def parse(line: bytes) -> dict[str, str]:
    ...     return dict(pair.split("=", 1) for pair in line.decode().split("&"))
    >>> form = line_format("query", (".query",), parse, lambda record: "&".join(f"{a}={b}" for a, b in record.items()))
    >>> form.name, form.has_record_path
    ('query', False)
    """
    return Format(
        name,
        "documents",
        endings,
        about,
        reader=LineReader(parse),
        writer=DocumentWriter(partial(_LineTexts, text=text), lambda schema: LINES),
        sample="treeanon.infer.json_sample:sample_lines",
        beyond=partial(_look, LineReader(parse)),
        spark="lines",
    )


@dataclass(frozen=True)
class LineReader:
    """Reader of lines, each parsed into a record."""

    parse: Parse

    def __call__(
        self, sources: Sequence[Source], schema: Schema, options: ReadOptions, report: ReadReport
    ) -> Iterator[Batch]:
        """Return the batches of the sources."""
        return JsonRecords(schema, options, report).read(self._spans(sources, options, report))

    def object(self, line: bytes, source: str, place: str) -> Mapping[str, Any]:
        """Return the object of a line; DataError if it is broken, which shows nothing of it."""
        try:
            return self.parse(line)
        except (ValueError, LookupError, TypeError):
            # What others say of a line may quote it.
            raise DataError("cannot be parsed", source=source, place=place) from None

    def _spans(self, sources: Sequence[Source], options: ReadOptions, report: ReadReport) -> Iterator[Span]:
        for source in sources:
            number = 1
            with broken_files(options, report), source.open(options.advance) as stream:
                for block in line_blocks(stream, source.name):
                    starts, stops = spans_of_lines(block)
                    lines = [block[a:b] for a, b in zip(starts.tolist(), stops.tolist(), strict=True)]
                    yield self._span(lines, source.name, number, options, report)
                    number += len(lines)

    def _span(self, lines: list[bytes], source: str, first: int, options: ReadOptions, report: ReadReport) -> Span:
        """Return the lines that are not broken as texts of JSON."""
        texts: list[bytes] = []
        numbers: list[int] = []
        for number, line in enumerate(lines, start=first):
            try:
                texts.append(_json(self.object(line, source, f"line {number}")))
                numbers.append(number)
            except DataError:
                if options.on_error == "error":
                    raise
                report.skip(source, f"line {number}")
        sizes = np.array([len(text) for text in texts], np.int64)
        stops = np.cumsum(sizes + 1) - 1
        return Span(b"\n".join(texts), stops - sizes, stops, lambda position: (source, f"line {numbers[position]}"))


def _look(reader: LineReader, sources: Sequence[Source], records: Records, found: Findings) -> None:
    from treeanon.io.beyond.json_files import look_at_lines

    look_at_lines(lambda line: _json(reader.object(line, "", "")), sources, records, found)


def _json(record: Mapping[str, Any]) -> bytes:
    try:
        return orjson.dumps(record)
    except TypeError:  # whole numbers of more than 64 bits
        return json.dumps(record).encode()


class _LineTexts:
    """The lines of records, as `text` writes them."""

    def __init__(self, forest: Forest, schema: Schema, *, text: Callable[[Mapping[str, Any]], str]) -> None:
        self._objects, self._text = JsonTexts(forest, schema), text

    def records(self, forest: Forest) -> list[str]:
        """Return the lines of the records of a part of the forest."""
        lines = [self._text(json.loads(record)) for record in self._objects.records(forest)]
        if any("\n" in line for line in lines):
            raise DataError("a record holds a line end, which a line of this format cannot")
        return lines


_NAMED = frozenset({"id", "tree"})


class _TreeLines:
    """Collector of the lines of a trees file into batches."""

    def __init__(self, schema: Schema, options: ReadOptions, report: ReadReport) -> None:
        self.layout, self.options, self.report, self.source = schema.layout, options, report, ""
        self._renew()

    def _renew(self) -> None:
        self.out = BatchWriter(self.layout)
        self.codes = [TextCodes() for _ in self.layout.classes]
        self.nested = NestedReader(self.layout, self.out, self.codes)

    def flush(self) -> Batch:
        batch = self.out.finish(self.codes)
        self._renew()
        return batch

    def block(self, block: bytes, first: int) -> int:
        """Read the lines of a block, and return their number."""
        starts, stops = spans_of_lines(block)
        suspects = set(lines_with_repeats(np.frombuffer(block, np.uint8), starts, stops).tolist())
        for i, (start, stop) in enumerate(zip(starts.tolist(), stops.tolist(), strict=True)):
            text = block[start:stop]
            self.line(text, first + i, i in suspects)
        return len(starts)

    def line(self, text: bytes, number: int, suspect: bool) -> None:
        before = len(self.out.owners[0])
        try:
            record: Any = parse(text)
            if suspect and has_repeated_key(text):
                if self.options.strict:
                    raise DataError("an object has the same key twice")
                self.report.duplicate_keys += 1
            if not isinstance(record, dict) or "tree" not in record:
                raise DataError('must be an object with a member "tree"')
            self.nested.add_record(record["tree"])
            self.report.dropped.add_keys("", record, _NAMED)
        except (DataError, Malformed) as problem:
            self.out.rollback(before)
            if self.options.on_error == "error":
                raise DataError(str(problem), source=self.source, place=f"line {number}") from None
            self.report.skip(self.source, f"line {number}")


def read_trees(sources: Sequence[Source], schema: Schema, options: ReadOptions, report: ReadReport) -> Iterator[Batch]:
    """Yield the batches of trees files."""
    lines = _TreeLines(schema, options, report)
    for source in sources:
        with broken_files(options, report), source.open(options.advance) as stream:
            lines.source = source.name
            number = 1
            for block in line_blocks(stream, source.name):
                number += lines.block(block, number)
                if len(lines.out.owners[0]) >= BATCH_RECORDS:
                    yield lines.flush()
    yield lines.flush()


class TreeTexts:
    """The `[[class, value, [children…]], …]` texts of records, children sorted by class and value."""

    def __init__(self, forest: Forest) -> None:
        classes = forest.classes
        self.rank = forest.text_rank()
        self.opening = [""] * len(classes)
        for label in forest.used_labels().tolist():
            name, value = classes.decode(label)
            self.opening[label] = f"[{json_text(name)},{json_text(value)},["

    def records(self, forest: Forest) -> list[str]:
        """Return the texts of the records of a part of the forest."""
        forest = forest.in_text_order(self.rank)
        depth = depths(forest.offsets, forest.parent)
        following = np.append(depth[1:], 0)
        last = forest.offsets[1:][np.diff(forest.offsets) > 0] - 1
        following[last] = 0
        closes = depth - following + 1
        ends = [("]]" * count) + "," for count in range(int(closes.max(initial=0)) + 1)]
        ends[0] = ""
        pieces = [
            self.opening[label] + ends[count]
            for label, count in zip(forest.label.tolist(), closes.tolist(), strict=True)
        ]
        bounds = forest.offsets.tolist()
        return ["[" + "".join(pieces[a:b])[:-1] + "]" for a, b in pairwise(bounds)]


def _line(number: int, text: str) -> str:
    return f'{{"id":{number},"tree":{text}}}'


TREES = DocumentWriter(
    lambda forest, schema: TreeTexts(forest),
    lambda schema: Document("", "\n", "\n", _line, lambda text: _line(1, text) + "\n"),
)
