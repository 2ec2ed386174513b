"""Files of delimited values (CSV, TSV): the requested columns, read fast; errors name the line.

Texts that are declared as integers become integers, exactly, whatever their size.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pcsv

from treeanon.errors import DataError
from treeanon.io.columns.csv_dialect import (
    LONGEST_ROW,
    Dialect,
    Row,
    RowForm,
    Utf8Bytes,
    WatchedBytes,
    check_rows,
    exact_rows,
    header_delimiter,
)
from treeanon.io.columns.python_values import DICTIONARY
from treeanon.io.relational.source import Place, listed
from treeanon.io.sources import Source

_INTEGER = re.compile(r"[ \t]*([+-]?)0*([0-9]+)[ \t]*")


class NoInteger(Exception):
    """A text is not an integer; `row` is its row (from 0)."""

    def __init__(self, row: int) -> None:
        super().__init__(row)
        self.row = row


def as_integers(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column of texts as 64-bit integers, or as texts of all their digits if one is larger; raise NoInteger
    for others.

    >>> as_integers(pa.chunked_array([["7", "+08", None]])).to_pylist()
    [7, 8, None]
    >>> as_integers(pa.chunked_array([["7", "-098765432109876543210"]])).to_pylist()
    ['7', '-98765432109876543210']
    """
    if pa.types.is_string(column.type):
        column = column.dictionary_encode()
    chunks = column.unify_dictionaries().chunks
    if not chunks:
        return pa.chunked_array([], pa.int64())
    found = [_INTEGER.fullmatch(text) for text in chunks[0].dictionary.to_pylist()]
    if None in found:
        raise NoInteger(_first(chunks, pa.array([match is None for match in found])))
    texts = pa.array([_plain(match.group(1), match.group(2)) for match in found if match], pa.string())
    try:
        values = texts.cast(pa.int64())
    except pa.ArrowInvalid:
        values = texts
    return pa.chunked_array([pc.take(values, chunk.indices) for chunk in chunks], values.type)


def _plain(sign: str, digits: str) -> str:
    return f"-{digits}" if sign == "-" and digits != "0" else digits


def _first(chunks: list[pa.DictionaryArray], bad: pa.BooleanArray) -> int:
    """Return the first row whose text is one of the bad ones."""
    start = 0
    for chunk in chunks:
        row: int = pc.fill_null(bad.take(chunk.indices), False).index(True).as_py()
        if row >= 0:
            return start + row
        start += len(chunk)
    return 0


_LONGEST_HEADER = 1 << 20
_SAMPLE = 8000
_FEW = 64 << 10
_LINES_KNOWN = 1_000_000
"""Rows up to which a row's line is looked for."""

Advance = Callable[[int], None]


@dataclass(frozen=True)
class Rules:
    """What is declared for a file beside its dialect: texts for null (beside the empty one), integers, its columns."""

    missing: tuple[str, ...] = ()
    integers: frozenset[str] = frozenset()
    fields: tuple[str, ...] | None = None


class DelimitedFile:
    """One file of rows: its columns, and those whose first values repeat."""

    def __init__(self, source: Source, dialect: Dialect, rules: Rules) -> None:
        self.source, self.dialect, self.rules = source, dialect, rules
        if not dialect.delimiter:
            with self._bytes() as stream:
                self.dialect = replace(dialect, delimiter=header_delimiter(stream.read(_FEW)))
        self.form = RowForm(self.dialect)
        # Where the rows begin: bytes of UTF-8 before them, and their first line.
        self.skipped, self.line = 0, 1
        self.columns: tuple[str, ...] = rules.fields or ()
        if self.dialect.header:
            self._begin()

    @contextmanager
    def _bytes(self, advance: Advance | None = None) -> Iterator[Utf8Bytes]:
        with self.source.open(advance) as stream:
            yield Utf8Bytes(stream, self.source.name, self.dialect.encoding)

    def _begin(self) -> None:
        with self._bytes() as stream:
            header = next(exact_rows(stream.read, self.form, self.source.name), None)
        if header is None:
            raise DataError("is empty; a header is expected", source=self.source.name)
        self.columns = self._header(header.text, header.line)
        self.skipped, self.line = header.end, header.line + 1 + header.text.count(b"\n")

    @cached_property
    def repeats(self) -> frozenset[str]:
        """Return the columns whose first values repeat."""
        sample = []
        # What is wrong with a row is said when the rows are read.
        with suppress(DataError), self._rows_stream() as stream:
            rows = exact_rows(stream.read, self.form, self.source.name, self.line)
            sample = [self.form.fields(row.text) for row in islice(rows, _SAMPLE)]
        return _repeating(self.columns, sample)

    def _header(self, text: bytes, line: int) -> tuple[str, ...]:
        def wrong(message: str) -> DataError:
            return DataError(message, source=self.source.name, place=f"line {line}")

        if len(text) > _LONGEST_HEADER:
            raise wrong(f"the header is longer than {_LONGEST_HEADER:,} bytes")
        if b"\0" in text:
            raise wrong("the header holds a NUL character")
        try:
            columns = tuple(name.decode() for name in self.form.fields(text))
        except UnicodeDecodeError:
            raise wrong("the header is not UTF-8") from None
        if not all(columns):
            raise wrong(f"column {columns.index('') + 1} has no name in the header")
        if len(set(columns)) < len(columns):
            # A file without a header begins with data: errors give positions, not names.
            again = next(at for at, name in enumerate(columns) if name in columns[:at])
            first = columns.index(columns[again]) + 1
            raise wrong(f"columns {first} and {again + 1} have the same name in the header (or there is no header)")
        missing = [name for name in self.rules.fields or () if name not in set(columns)]
        if missing:
            it_has = (
                f"it has: {listed(columns)}" if len(missing) < len(self.rules.fields or ()) else "is there a header?"
            )
            raise wrong(f"the header has no column {listed(missing)} as in datapackage.json; {it_has}")
        return columns

    def read(
        self,
        columns: Sequence[str],
        most: int | None = None,
        advance: Advance | None = None,
        repeats: frozenset[str] | None = None,
    ) -> pa.Table:
        """Return the requested columns; a DataError names the line of what cannot be read.

        `repeats` has the columns to encode as dictionaries; without it the first rows decide, or if no more than `most`
        are read, none is.
        """
        asked = list(columns) or [self.columns[0]]
        if repeats is None:
            repeats = self.repeats if most is None else frozenset()
        typed = [name for name in asked if name in self.rules.integers]
        kinds = {name: DICTIONARY if name in repeats else pa.string() for name in asked}
        table = self._read(kinds | dict.fromkeys(typed, pa.int64()), most, advance, typed=bool(typed))
        if table is None:
            table = self._read(kinds, most, None)
            assert table is not None
            for name in typed:
                table = table.set_column(asked.index(name), name, self._integers(name, table[name]))
        return table.unify_dictionaries().select(list(columns))

    def raw_rows(self) -> Iterator[Row]:
        """Yield the rows as they are written, the header first."""
        with self._bytes() as stream:
            yield from exact_rows(stream.read, self.form, self.source.name)

    def blocks(self, columns: Sequence[str]) -> Iterator[pa.Table]:
        """Yield the columns some rows at a time, for files larger than memory; texts are not dictionary-encoded.

        That a file cannot be read may become known only after its last rows.
        """
        asked = list(columns)
        kinds: dict[str, pa.DataType] = dict.fromkeys(asked, pa.string())
        rows, whole = 0, True
        with self._bytes() as stream:
            watched = WatchedBytes(stream, self.dialect, self.skipped)
            try:
                with self._opened(watched, kinds) as reader:
                    for batch in reader:
                        yield self._typed(pa.Table.from_batches([batch]).select(asked), rows)
                        rows += len(batch)
            except MemoryError:
                raise
            except (pa.ArrowException, OSError, ValueError):
                whole = False
        if watched.problem is not None:
            raise watched.problem from None
        if not watched.empty and (not whole or watched.doubtful) and (self._checked(None) != rows or not whole):
            raise DataError("cannot be read as delimited values", source=self.source.name)

    def _typed(self, table: pa.Table, start: int) -> pa.Table:
        """Return rows starting at `start`, with integers in the columns that are declared as such."""
        for at, name in enumerate(table.column_names):
            if name in self.rules.integers:
                table = table.set_column(at, name, self._integers(name, table[name], start))
        return table

    def _read(
        self, kinds: dict[str, pa.DataType], most: int | None, advance: Advance | None, *, typed: bool = False
    ) -> pa.Table | None:
        """Return the columns with these types; None if a declared integer is not one, or may be written in another
        form.
        """
        with self._bytes(advance) as stream:
            watched = WatchedBytes(stream, self.dialect, self.skipped)
            try:
                table = self._fast(watched, kinds, most)
            except MemoryError:
                raise
            except (pa.ArrowException, OSError, ValueError):
                # The message shows the row: the exact reader finds out what is wrong.
                table = None
        if watched.problem is not None:
            raise watched.problem from None
        if watched.empty:
            return pa.table({name: pa.array([], kind) for name, kind in kinds.items()})
        if table is None or watched.doubtful:
            rows = self._checked(most)
            if not typed and (table is None or table.num_rows != rows):
                raise DataError("cannot be read as delimited values", source=self.source.name)
        return None if typed and watched.hexadecimal else table

    def _fast(self, watched: WatchedBytes, kinds: dict[str, pa.DataType], most: int | None) -> pa.Table:
        if most is None:
            return pcsv.read_csv(watched, *self._asked(kinds))
        batches, have = [], 0
        with self._opened(watched, kinds) as reader:
            while have < most and (batch := next(reader, None)) is not None:
                batches.append(batch)
                have += len(batch)
            return pa.Table.from_batches(batches, reader.schema).slice(0, most)

    def _opened(self, watched: WatchedBytes, kinds: dict[str, pa.DataType]) -> pcsv.CSVStreamingReader:
        return pcsv.open_csv(watched, *self._asked(kinds))

    def _asked(self, kinds: dict[str, pa.DataType]) -> tuple[pcsv.ReadOptions, pcsv.ParseOptions, pcsv.ConvertOptions]:
        """Return the fast reader's options for reading the columns with these types."""
        dialect = self.dialect
        # A row must fit into two blocks.
        reading = pcsv.ReadOptions(column_names=list(self.columns), block_size=LONGEST_ROW)
        parsing = pcsv.ParseOptions(
            delimiter=dialect.delimiter,
            quote_char=dialect.quote or False,
            double_quote=dialect.double,
            escape_char=dialect.escape or False,
            newlines_in_values=bool(dialect.quote or dialect.escape),
        )
        converting = pcsv.ConvertOptions(
            column_types=kinds,
            include_columns=list(kinds),
            null_values=["", *self.rules.missing],
            strings_can_be_null=True,
            quoted_strings_can_be_null=True,
        )
        return reading, parsing, converting

    def _checked(self, most: int | None) -> int:
        """Return the number of rows by the exact, slow reader: DataError if one of them is malformed."""
        with self._rows_stream() as stream:
            rows = exact_rows(stream.read, self.form, self.source.name, self.line)
            return check_rows(rows, self.form, len(self.columns), self.source.name, most)

    @contextmanager
    def _rows_stream(self) -> Iterator[Utf8Bytes]:
        with self._bytes() as stream:
            stream.skip(self.skipped)
            yield stream

    def _integers(self, name: str, column: pa.ChunkedArray, start: int = 0) -> pa.ChunkedArray:
        try:
            return as_integers(column)
        except NoInteger as problem:
            place = self.place(start + problem.row, anyhow=True)
            message = "is not an integer, as datapackage.json declares"
            raise DataError(message, source=place.source, place=place.place, path=name) from None

    def place(self, row: int, *, anyhow: bool = False) -> Place:
        """Return the line of a row, or its number where finding the line would take long, unless `anyhow`."""
        if anyhow or row < _LINES_KNOWN:
            with suppress(DataError), self._rows_stream() as stream:
                rows = exact_rows(stream.read, self.form, self.source.name, self.line)
                for number, found in enumerate(rows):
                    if number == row:
                        return Place(self.source.name, f"line {found.line}")
        return Place(self.source.name, f"row {row + 1}")


def _repeating(columns: Sequence[str], sample: Sequence[Sequence[bytes]]) -> frozenset[str]:
    """Return the columns whose first values repeat often enough for dictionary encoding to save memory."""
    whole = [row for row in sample if len(row) == len(columns)]
    values = zip(*whole, strict=True)
    return frozenset(name for name, column in zip(columns, values, strict=False) if 2 * len(set(column)) <= len(column))
