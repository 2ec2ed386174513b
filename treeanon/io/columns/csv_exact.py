"""The exact, slow reader of delimited values: it knows the line of every row, and what is wrong where.

The fast reader neither reports lines nor refuses text after a closing quote, and its messages show rows: this one is
used for headers, for lines, and whenever the fast one fails or meets bytes that it may misread.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from treeanon.errors import DataError
from treeanon.io.columns.csv_dialect import Dialect

LONGEST_ROW = 8 << 20
"""The most bytes of one row: the fast reader holds two blocks of that size at once."""

_BLOCK = 1 << 20
UNCLOSED = "a quote is opened that is not closed"
_BEHIND = "something follows a closing quote"
_LONG = f"a row is longer than {LONGEST_ROW:,} bytes; is a quote opened that is not closed?"


@dataclass(frozen=True)
class Row:
    """One row: its first line, its bytes without the line end, and where the next row begins."""

    line: int
    text: bytes
    end: int


class RowForm:
    """The syntax of rows in a dialect, as regular expressions without backtracking."""

    def __init__(self, dialect: Dialect) -> None:
        self.delimiter, self.quote, self.escape = dialect.marks
        d, q, e = (re.escape(mark) for mark in dialect.marks)
        bare = rb"[^" + d + e + rb"\r\n]*+"
        bare = rb"(?:" + bare + rb"(?:" + e + rb"." + bare + rb")*+)" if e else bare
        if q:
            inner = rb"[^" + q + e + rb"]*+"
            special = [part for part in (q + q if dialect.double else b"", e + rb"." if e else b"") if part]
            again = rb"(?:(?:" + rb"|".join(special) + rb")" + inner + rb")*+" if special else b""
            bare = rb"(?:" + q + inner + again + q + rb"|(?!" + q + rb")" + bare + rb")"
        self.field = re.compile(bare, re.DOTALL)
        self.row = re.compile(bare + rb"(?:" + d + bare + rb")*+(?:\r\n|[\r\n]|\Z)", re.DOTALL)
        doubled = rb"|" + q + q if q and dialect.double else b""
        self.special = re.compile(rb"(?:" + e + rb"(.)" + doubled + rb")", re.DOTALL) if e else None
        self.double = dialect.double

    def fields(self, row: bytes) -> list[bytes]:
        """Return the values of a row, without their quotes."""
        if not (self.quote and self.quote in row) and not (self.escape and self.escape in row):
            return row.split(self.delimiter)
        values, at = [], 0
        while True:
            found = self.field.match(row, at)
            assert found is not None
            values.append(self._value(found.group()))
            if found.end() >= len(row):
                return values
            at = found.end() + 1

    def _value(self, text: bytes) -> bytes:
        if self.quote and text.startswith(self.quote):
            text = text[1:-1]
            if self.double and not self.escape:
                return text.replace(self.quote * 2, self.quote)
        return self.special.sub(lambda m: m.group(1) or self.quote, text) if self.special else text

    def width(self, row: bytes) -> int:
        """Return the number of values of a row."""
        if not (self.quote and self.quote in row) and not (self.escape and self.escape in row):
            return row.count(self.delimiter) + 1
        return len(self.fields(row))


def exact_rows(read: Callable[[int], bytes], form: RowForm, name: str, line: int = 1) -> Iterator[Row]:
    """Yield the rows of a stream of UTF-8, without empty ones; DataError names the line where a row is malformed."""
    buffer, done, base, at = b"", False, 0, 0
    while True:
        found = form.row.match(buffer, at)
        if not done and (found is None or found.end() == len(buffer)):
            if len(buffer) - at > LONGEST_ROW:
                raise _trouble(buffer[at:], form, name, line)
            # The buffer doubles each time, so that a long row is not scanned again and again.
            block = read(max(_BLOCK, len(buffer) - at))
            buffer, base, at, done = buffer[at:] + block, base + at, 0, not block
            continue
        if found is None:
            raise _trouble(buffer[at:], form, name, line)
        text = found.group()
        if not text:
            return
        end = base + found.end()
        if body := _without_end(text):
            yield Row(line, body, end)
        line += _lines(text)
        at = found.end()


def _without_end(text: bytes) -> bytes:
    if text.endswith(b"\r\n"):
        return text[:-2]
    return text[:-1] if text.endswith((b"\n", b"\r")) else text


def _lines(text: bytes) -> int:
    """Return the line ends in a text."""
    return text.count(b"\n") + (text.count(b"\r") - text.count(b"\r\n") if b"\r" in text else 0)


def _trouble(text: bytes, form: RowForm, name: str, line: int) -> DataError:
    """Return the error for a text that does not begin with a whole row."""
    at = 0
    while found := form.field.match(text, at):
        at = found.end() + 1
        if found.end() >= len(text):
            break
        if text[found.end() : at] != form.delimiter:
            where = f"line {line + _lines(text[: found.end()])}"
            return DataError(_BEHIND, source=name, place=where)
    if len(text) > LONGEST_ROW:
        return DataError(_LONG, source=name, place=f"line {line}")
    return DataError(UNCLOSED, source=name, place=f"line {line + _lines(text[:at])}")


def check_rows(rows: Iterator[Row], form: RowForm, width: int, name: str, most: int | None = None) -> int:
    """Return the number of rows; DataError names the line of a row that has not `width` values, is not UTF-8 or
    holds NUL.
    """
    count = 0
    for row in rows:
        if most is not None and count >= most:
            break
        count += 1
        text = row.text
        if len(text) > LONGEST_ROW:
            raise DataError(_LONG, source=name, place=f"line {row.line}")
        if b"\0" in text:
            line = row.line + _lines(text[: text.index(b"\0")])
            raise DataError("holds a NUL character", source=name, place=f"line {line}")
        if not text.isascii():
            _check_utf8(text, row.line, name)
        if (found := form.width(text)) != width:
            message = f"{width} values are expected, as in the header, but there are {found}"
            raise DataError(message, source=name, place=f"line {row.line}")
    return count


def _check_utf8(text: bytes, line: int, name: str) -> None:
    try:
        text.decode()
    except UnicodeDecodeError as problem:
        where = f"line {line + _lines(text[: problem.start])}"
        raise DataError("is not UTF-8; does the file mix encodings?", source=name, place=where) from None
