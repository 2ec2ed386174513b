"""Reads JSON texts of single records into batches, quickly where they are usual and exactly where they are not."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import orjson

from treeanon.errors import DataError
from treeanon.forest.nested import NestedReader
from treeanon.forest.report import Dropped, ReadReport
from treeanon.forest.tables import Batch, BatchWriter
from treeanon.io.json_compile import compile_reader
from treeanon.io.json_slow import SlowReader
from treeanon.io.options import BATCH_RECORDS, ReadOptions
from treeanon.io.values import NeedsExactNumbers, new_codes
from treeanon.kernels.jsontext import Longs, lines_with_repeats
from treeanon.schema import Schema

_TOGETHER = 256
_MAX_DIGITS = 4000


class _Repeated(Exception):
    """An object holds one key twice."""


def _unrepeated(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _Repeated
    return found


def has_repeated_key(text: bytes) -> bool:
    """Whether any object in a JSON text holds one key twice, exactly.

    >>> has_repeated_key(b'{"a": {"b": 1, "\\\\u0062": 2}}'), has_repeated_key(b'{"a": {"a": 1}}')
    (True, False)
    """
    try:
        json.loads(text, object_pairs_hook=_unrepeated, parse_int=str, parse_float=str)
    except _Repeated:
        return True
    except (ValueError, RecursionError):
        return False
    return False


def _exact_int(digits: str) -> int:
    if len(digits) > _MAX_DIGITS:
        raise ValueError("too long")
    return int(digits)


def parse(text: bytes) -> Any:
    """The parsed JSON text; DataError tells where it stops being JSON."""
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError as problem:
        if not text.strip():
            raise DataError("is blank; every line must hold one record") from None
        raise DataError(_what_is_wrong(text, problem)) from None


def _what_is_wrong(text: bytes, problem: orjson.JSONDecodeError) -> str:
    try:
        text.decode()
    except UnicodeDecodeError as broken:
        return f"is not UTF-8 at byte {broken.start + 1}; convert the file to UTF-8"
    if b"\0" in text:
        return f"holds a NUL byte at byte {text.index(0) + 1}"
    return f"is not valid JSON at character {problem.pos + 1} (truncated? NaN and Infinity are no JSON)"


class JsonRecords:
    """Turns the texts of records into batches.

    `place` says how errors name a record ("line 7", "record 7").
    """

    def __init__(self, schema: Schema, options: ReadOptions, report: ReadReport, source: str, place: str) -> None:
        self.layout = schema.layout
        self.options, self.report, self.source, self.place = options, report, source, place
        self.compiled = compile_reader(self.layout)
        self._renew()

    def _renew(self) -> None:
        self.out = BatchWriter(self.layout)
        self.codes = new_codes(self.layout)
        self.nested = NestedReader(self.layout, self.out, self.codes)
        self.slow = SlowReader(self.layout, self.out, self.codes)

    def read(self, texts: Sequence[bytes], first: int, suspects: Longs) -> Iterator[Batch]:
        """Reads records, of which the one at 0 has the number `first`; yields a batch whenever one is full.

        `suspects` are the positions of those in which a key may be repeated.
        """
        bad = {int(i) for i in suspects if has_repeated_key(texts[i])}
        self.report.duplicate_keys += len(bad)
        for start in range(0, len(texts), _TOGETHER):
            stop = min(start + _TOGETHER, len(texts))
            repeated = {i for i in range(start, stop) if i in bad} if bad and self.options.strict else set()
            if repeated or not self._usual(texts[start:stop]):
                for i in range(start, stop):
                    self._one(texts[i], first + i, i in repeated)
            if len(self.out.owners[0]) >= BATCH_RECORDS:
                yield self.flush()

    def flush(self) -> Batch:
        """The batch of what was read since the last one."""
        batch = self.out.finish(self.codes)
        self._renew()
        return batch

    def _usual(self, texts: Sequence[bytes]) -> bool:
        """Reads records that are all of the usual form, or none of them."""
        shapes = self.compiled.new_shapes()
        before = len(self.out.owners[0])
        try:
            self.compiled.parse(
                map(orjson.loads, texts), self.out.owners, self.out.codes, self.codes, shapes, self.nested.add_moved
            )
        except Exception:
            # Whatever it was: each record is read again alone, and what is wrong with it found out exactly.
            self.out.rollback(before)
            return False
        self.compiled.count(shapes, self.report.dropped)
        return True

    def _one(self, text: bytes, number: int, repeated: bool) -> None:
        if not repeated and self._usual([text]):
            return
        before = len(self.out.owners[0])
        try:
            if repeated:
                raise DataError("an object holds one key twice")
            self.report.dropped.update(self._slowly(text, before))
        except DataError as problem:
            self.out.rollback(before)
            if self.options.on_error == "error":
                raise self.located(problem, number) from None
            self.report.skipped += 1

    def located(self, problem: DataError, number: int) -> DataError:
        """The error with file and record number."""
        return DataError(problem.message, source=self.source, place=f"{self.place} {number}", path=problem.path)

    def _slowly(self, text: bytes, before: int) -> Dropped:
        record = parse(text)
        try:
            return self.slow.read(record)
        except NeedsExactNumbers:
            self.out.rollback(before)
        except RecursionError:
            raise DataError("is nested too deeply") from None
        try:
            exact = json.loads(text, parse_int=_exact_int)
        except (ValueError, RecursionError):
            raise DataError(f"holds an integer of more than {_MAX_DIGITS} digits or nests too deeply") from None
        return SlowReader(self.layout, self.out, self.codes, exact=True).read(exact)


def suspects_in(block: bytes, starts: Longs, stops: Longs) -> Longs:
    """The numbers of the spans of a block in which a key may be repeated."""
    return lines_with_repeats(np.frombuffer(block, np.uint8), starts, stops)


def without_advance(options: ReadOptions) -> ReadOptions:
    """The options without the progress callback, to be sent to another process."""
    return replace(options, advance=None)
