"""Reads JSON texts of single records into batches: usual ones by a fast kernel, others by an exact reader.

orjson decides what is valid JSON (in large blocks a kernel, where there is no doubt); a kernel then reads the valid
texts by the schema's tables; what it calls unusual goes to the slow reader, which knows every legal form and has the
exact errors. Blocks are read on all cores, as kernels need no interpreter; what is left of each is done in the order of
the file, so that results and errors are those of one core.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import orjson

from treeanon.arrays import Longs
from treeanon.errors import DataError
from treeanon.forest.report import Dropped, ReadReport
from treeanon.forest.tables import Batch, BatchWriter
from treeanon.io.documents.json_exact import SlowReader, compile_tables
from treeanon.io.documents.kernel_columns import Filled, KernelColumns, NeedsExactNumbers, new_codes, token_texts
from treeanon.io.interface import ReadOptions
from treeanon.kernels.jsonread import read_records
from treeanon.kernels.jsontext import surely_json
from treeanon.progress import in_turn
from treeanon.randomness import hash_seed
from treeanon.schema import Schema

_MAX_DIGITS = 4000


class _Repeated(Exception):
    """An object has the same key twice."""


def _unrepeated(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _Repeated
    return found


def has_repeated_key(text: bytes) -> bool:
    """Return whether any object in a JSON text has the same key twice.

    >>> has_repeated_key(b'{"a": {"b": 1, "\\\\u0062": 2}}'), has_repeated_key(b'{"a": {"a": 1}}')
    (True, False)
    """
    try:
        json.loads(text, object_pairs_hook=_unrepeated, parse_int=str, parse_float=str)
    except _Repeated:
        return True
    except RecursionError:
        raise DataError("is nested too deeply to look for repeated keys") from None
    except ValueError:
        return False
    return False


def _exact_int(digits: str) -> int:
    if len(digits) > _MAX_DIGITS:
        raise ValueError("too long")
    return int(digits)


def parse(text: bytes) -> Any:
    """Return the parsed JSON text; DataError says where it stops being JSON."""
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


_LARGE = 1 << 20
"""Bytes of a block from which on it pays that a kernel, which is compiled first, looks at what is JSON."""


def _valid(span: Span) -> Longs:
    """Return the positions of the texts of a span that are JSON."""
    sure = np.zeros(len(span.starts), bool)
    if len(span.block) >= _LARGE:
        sure = surely_json(np.frombuffer(span.block, np.uint8), span.starts, span.stops)
    unsure = np.flatnonzero(~sure).tolist()
    texts = [span.block[span.starts[i] : span.stops[i]] for i in unsure]
    if not _are_valid(texts):
        unsure = [i for i, text in zip(unsure, texts, strict=True) if _are_valid([text])]
    sure[unsure] = True
    return np.flatnonzero(sure)


def _are_valid(texts: Sequence[bytes]) -> bool:
    try:
        deque(map(orjson.loads, texts), maxlen=0)
    except orjson.JSONDecodeError:
        return False
    return True


class Span(NamedTuple):
    """Records in a block of text: where each begins and ends, and how errors name the one at a position.

    A name is (source, place), such as ("people.ndjson", "line 7").
    """

    block: bytes
    starts: Longs
    stops: Longs
    name: Callable[[int], tuple[str, str]]


class _Found(NamedTuple):
    """What the kernels have found of a span: the records read, their batch and counts of what was dropped."""

    quick: Longs
    batch: Batch
    dropped: Dropped


class JsonRecords:
    """Reader of texts of records into batches."""

    def __init__(self, schema: Schema, options: ReadOptions, report: ReadReport) -> None:
        self.layout = schema.layout
        self.options, self.report = options, report
        compiled = compile_tables(self.layout)
        self.tables = compiled.tables
        self.columns = KernelColumns(self.layout, (*compiled.state_places, *compiled.array_places))
        self.seed = hash_seed()

    def read(self, spans: Iterable[Span]) -> Iterator[Batch]:
        """Yield the batches of records in spans, one for each span."""
        for span, found in in_turn(self._run, spans, self.options.jobs):
            self.report.dropped.update(found.dropped)
            yield self._whole(span, found)

    def _run(self, span: Span) -> _Found:
        """Return what the kernels find; nothing else changes, so that several threads may call it."""
        valid = _valid(span)
        with self.columns.buffers(len(span.block), len(span.starts)) as rows:
            text = np.frombuffer(span.block, np.uint8)
            starts, stops = span.starts[valid], span.stops[valid]
            usual, *counts = read_records(text, starts, stops, self.seed, self.tables, rows)
            batch, dropped = self.columns.batch(span.block, rows, Filled(*counts), token_texts, as_texts=False)
        return _Found(valid[usual], batch, dropped)

    def _whole(self, span: Span, found: _Found) -> Batch:
        """Return the batch of a span with the records that the kernel did not read."""
        if len(found.quick) == len(span.starts):
            return found.batch
        others = np.setdiff1d(np.arange(len(span.starts)), found.quick, assume_unique=True)
        slow, read = self._apart(span, others)
        return replace(found.batch, apart=slow, order=np.argsort(np.concatenate([found.quick, read]), kind="stable"))

    def _apart(self, span: Span, others: Longs) -> tuple[Batch, Longs]:
        """Return the batch of the records that the kernel did not read, and the positions of those that are in it."""
        out, codes = BatchWriter(self.layout), new_codes(self.layout)
        exact = SlowReader(self.layout, out, codes, exact=True)
        slow = SlowRecords(self, out, SlowReader(self.layout, out, codes), exact)
        texts = (span.block[span.starts[i] : span.stops[i]] for i in others.tolist())
        read = [i for i, text in zip(others.tolist(), texts, strict=True) if slow.read(text, *span.name(i))]
        return out.finish(codes), np.array(read, np.int64)


class SlowRecords:
    """Reader of records one by one, with exact errors."""

    def __init__(self, owner: JsonRecords, out: BatchWriter, usual: SlowReader, exact: SlowReader) -> None:
        self.owner, self.out, self.usual, self.exact = owner, out, usual, exact

    def read(self, text: bytes, source: str, place: str) -> bool:
        """Return whether the record was read; a broken one is an error, or is counted and skipped."""
        before = len(self.out.owners[0])
        report, options = self.owner.report, self.owner.options
        try:
            record = parse(text)
            if has_repeated_key(text):
                if options.strict:
                    raise DataError("an object has the same key twice")
                report.duplicate_keys += 1
            report.dropped.update(self._record(text, record, before))
        except DataError as problem:
            self.out.rollback(before)
            if options.on_error == "error":
                raise DataError(problem.message, source=source, place=place, path=problem.path) from None
            report.skip(source, place)
            return False
        return True

    def _record(self, text: bytes, record: Any, before: int) -> Dropped:
        try:
            return self.usual.read(record)
        except NeedsExactNumbers:
            self.out.rollback(before)
        except RecursionError:
            raise DataError("is nested too deeply") from None
        try:
            return self.exact.read(json.loads(text, parse_int=_exact_int))
        except (ValueError, RecursionError):
            raise DataError(f"holds an integer of more than {_MAX_DIGITS} digits or nests too deeply") from None
