"""Reads JSON texts of single records into batches: usual ones by a fast kernel, others by an exact reader.

orjson decides what is valid JSON; a kernel then reads the valid texts by the schema's tables; what it calls unusual
goes to the slow reader, which knows every legal form and has the exact errors.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import orjson

from treeanon.arrays import Ints, Longs
from treeanon.errors import DataError
from treeanon.forest.report import Dropped, ReadReport
from treeanon.forest.tables import Batch, BatchWriter, ContainerRows, MovedNodes
from treeanon.io.documents.json_exact import SlowReader, compile_tables
from treeanon.io.documents.values import NeedsExactNumbers, new_codes, token_texts
from treeanon.io.options import ReadOptions
from treeanon.kernels.jsonread import Rows, fill_columns, read_records
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


def _are_valid(texts: Sequence[bytes]) -> bool:
    try:
        deque(map(orjson.loads, texts), maxlen=0)
    except orjson.JSONDecodeError:
        return False
    return True


def _valid(texts: Sequence[bytes]) -> Longs:
    """Return the positions of the texts that are JSON."""
    if _are_valid(texts):
        return np.arange(len(texts))
    return np.array([i for i, text in enumerate(texts) if _are_valid([text])], np.int64)


class Span(NamedTuple):
    """Records in a block of text: where each begins and ends, and how errors name the one at a position.

    A name is (source, place), such as ("people.ndjson", "line 7").
    """

    block: bytes
    starts: Longs
    stops: Longs
    name: Callable[[int], tuple[str, str]]


class _Task(NamedTuple):
    """A span with the texts of its records, the positions of those that are JSON, and buffers for the kernel."""

    span: Span
    texts: list[bytes]
    valid: Longs
    rows: Rows


Found = tuple[np.ndarray, int, int, int]
"""What the kernel gives: which records are usual, and how many rows, cells and entries they filled."""


class JsonRecords:
    """Reader of texts of records into batches."""

    def __init__(self, schema: Schema, options: ReadOptions, report: ReadReport) -> None:
        self.layout = schema.layout
        self.options, self.report = options, report
        self.compiled = compile_tables(self.layout)
        self.class_container = np.array([c.container for c in self.layout.classes], np.int32)
        self.seed = hash_seed()
        self.free: list[Rows] = []

    def read(self, spans: Iterable[Span]) -> Iterator[Batch]:
        """Yield the batches of records in spans, one for each span.

        With more than one job, the kernel, which needs no interpreter, reads one block while the texts of the one
        before are decoded.
        """
        if self.options.jobs == 1:
            for span in spans:
                task = self._task(span)
                yield self._batch(task, self._run(task))
            return
        with ThreadPoolExecutor(1) as executor:
            waiting: tuple[_Task, Future[Found]] | None = None
            for span in spans:
                task = self._task(span)
                started = executor.submit(self._run, task)
                if waiting is not None:
                    yield self._batch(waiting[0], waiting[1].result())
                waiting = task, started
            if waiting is not None:
                yield self._batch(waiting[0], waiting[1].result())

    def _task(self, span: Span) -> _Task:
        texts = [span.block[a:b] for a, b in zip(span.starts.tolist(), span.stops.tolist(), strict=True)]
        rows = next((rows for rows in self.free if _fits(rows, len(span.block), len(texts))), None)
        self.free = [other for other in self.free if other is not rows]
        return _Task(span, texts, _valid(texts), rows or _new_rows(len(span.block), len(texts)))

    def _run(self, task: _Task) -> Found:
        task.rows.slots[:] = 0
        text = np.frombuffer(task.span.block, np.uint8)
        starts, stops = task.span.starts[task.valid], task.span.stops[task.valid]
        return read_records(text, starts, stops, self.seed, self.compiled.tables, task.rows)

    def _batch(self, task: _Task, found: Found) -> Batch:
        usual, n_rows, n_cells, n_entries = found
        block, rows = task.span.block, task.rows
        self._count_dropped(block, rows, n_cells)
        codes, texts = self._decode(block, rows, n_entries)
        columns = fill_columns(rows, n_rows, n_cells, len(self.layout.containers), self.class_container, codes)
        self.free = [*self.free[-1:], rows]
        batch = Batch(self._tables(*columns), tuple(texts), MovedNodes.none())
        quick = task.valid[usual]
        if len(quick) == len(task.texts):
            return batch
        others = np.setdiff1d(np.arange(len(task.texts)), quick, assume_unique=True)
        slow, read = self._apart(task, others)
        return replace(batch, apart=slow, order=np.argsort(np.concatenate([quick, read]), kind="stable"))

    def _tables(self, buffer: Ints, owner_first: Longs, code_first: Longs) -> tuple[ContainerRows, ...]:
        return tuple(
            ContainerRows(
                buffer[owner_first[c.index] : owner_first[c.index + 1]],
                {held: buffer[code_first[held] : code_first[held + 1]] for held in c.held},
            )
            for c in self.layout.containers
        )

    def _decode(self, block: bytes, rows: Rows, n_entries: int) -> tuple[Ints, list[list[str]]]:
        """Return a code per entry, and the texts of every class. Entries differ as JSON texts; their decoded texts
        may be equal.
        """
        held = rows.entry_class[:n_entries]
        codes = np.full(n_entries, -1, np.int32)
        texts: list[list[str]] = []
        for number in range(len(self.layout.classes)):
            chosen = np.flatnonzero(held == number)
            spans = zip(rows.entry_start[chosen].tolist(), rows.entry_stop[chosen].tolist(), strict=True)
            found = token_texts([block[a:b] for a, b in spans])
            codes[chosen] = np.arange(len(found))
            texts.append(found)
        return codes, texts

    def _count_dropped(self, block: bytes, rows: Rows, n_cells: int) -> None:
        """Count the unnamed keys that the kernel noted, by place."""
        classes = len(self.layout.classes)
        noted = rows.cell_class[:n_cells] >= classes
        if not noted.any():
            return
        held, entries = rows.cell_class[:n_cells][noted] - classes, rows.cell_entry[:n_cells][noted]
        pairs, times = np.unique(np.stack([held, entries]), axis=1, return_counts=True)
        states = len(self.compiled.state_places)
        for state, entry, count in zip(*pairs.tolist(), times.tolist(), strict=True):
            if state >= states:
                self.report.dropped.add(self.compiled.array_places[state - states], "[]", count)
            else:
                key = block[rows.entry_start[entry] : rows.entry_stop[entry]].decode()
                self.report.dropped.add(self.compiled.state_places[state], key, count)

    def _apart(self, task: _Task, others: Longs) -> tuple[Batch, Longs]:
        """Return the batch of the records that the kernel did not read, and the positions of those that are in it."""
        out, codes = BatchWriter(self.layout), new_codes(self.layout)
        exact = SlowReader(self.layout, out, codes, exact=True)
        slow = SlowRecords(self, out, SlowReader(self.layout, out, codes), exact)
        read = [i for i in others.tolist() if slow.read(task.texts[i], *task.span.name(i))]
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


def _new_rows(size: int, records: int) -> Rows:
    """Return buffers for all that a text of this size can hold; memory that is not filled costs nothing."""
    most = size // 2 + records + 2
    entries = size // 4 + 64
    return Rows(
        row_container=np.empty(most, np.int32),
        row_owner=np.empty(most, np.int32),
        cell_row=np.empty(most, np.int32),
        cell_class=np.empty(most, np.int32),
        cell_entry=np.empty(most, np.int32),
        entry_start=np.empty(entries, np.int64),
        entry_stop=np.empty(entries, np.int64),
        entry_class=np.empty(entries, np.int32),
        entry_hash=np.empty(entries, np.uint64),
        slots=np.empty(1 << (2 * entries - 1).bit_length(), np.int32),
    )


def _fits(rows: Rows, size: int, records: int) -> bool:
    return len(rows.row_container) >= size // 2 + records + 2 and len(rows.entry_start) >= size // 4 + 64
