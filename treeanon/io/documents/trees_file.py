"""Trees files: one record per line, `{"id": …, "tree": [[class, value, [children…]], …]}`.

Writes records as lines of a trees file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from treeanon.errors import DataError
from treeanon.forest import Forest
from treeanon.forest.nested import Malformed, NestedReader
from treeanon.forest.report import ReadReport
from treeanon.forest.tables import Batch, BatchWriter, TextCodes
from treeanon.io.documents.json_document import line_blocks, spans_of_lines
from treeanon.io.documents.json_records import has_repeated_key, parse
from treeanon.io.documents.json_write import json_text
from treeanon.io.interface import BATCH_RECORDS, Document, DocumentWriter, ReadOptions, broken_files
from treeanon.io.sources import Source
from treeanon.kernels.jsontext import lines_with_repeats
from treeanon.kernels.tree.forest import depths
from treeanon.schema import Schema

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
