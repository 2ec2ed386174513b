"""The dialect of delimited values (delimiter, quotes, header, encoding), and the bytes that the fast reader is given.

These are decoded to UTF-8, and watched for input that the fast reader misreads.

Also the exact, slow reader of delimited values: it knows the line of every row, and what is wrong where.

The fast reader neither reports lines nor refuses text after a closing quote, and its messages show rows: this one is
used for headers, for lines, and whenever the fast one fails or meets bytes that it may misread.
"""

from __future__ import annotations

import codecs
import io
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import BinaryIO

import numpy as np

from treeanon.errors import DataError, TreeanonError, UsageError
from treeanon.formats import FORMATS

# Encodings whose bytes are not characters one after another, or that depend on the machine.
_ODD = {"idna", "punycode", "unicode_escape", "raw_unicode_escape", "utf-7", "undefined", "mbcs", "oem", "charmap"}


def known_encoding(name: str) -> str | None:
    """Return the canonical name of a character encoding, or None if there is no such encoding.

    >>> known_encoding("UTF8"), known_encoding("Windows-1252"), known_encoding("rot13"), known_encoding("?")
    ('utf-8', 'cp1252', None, None)
    """
    try:
        found = codecs.lookup(name)
        "".encode(found.name)
    except (LookupError, ValueError, UnicodeError):
        return None
    if found.name in _ODD:
        return None
    return "utf-8" if found.name == "utf-8-sig" else found.name


DELIMITERS = b",;\t|"
_QUOTED = re.compile(rb'(?<![^,;\t|\r\n])"(?:[^"]|"")*+"?')


def header_delimiter(start: bytes) -> str:
    """Return the delimiter of a file that begins so: the one that occurs most often outside quotes in its header.

    Only the header is looked at; where two occur as often, a comma comes first, then a semicolon, a tab, a bar.

    >>> header_delimiter(b'id;"name, first";age\\n1,2,3,4'), header_delimiter(b"id\\n")
    (';', ',')
    """
    header = _QUOTED.sub(b"", start.lstrip(b"\r\n"))
    for end in (b"\n", b"\r"):
        header = header.partition(end)[0]
    return chr(max(DELIMITERS, key=header.count))


def given_delimiter(text: str, format: str) -> str:
    r"""Return the delimiter requested for an input of a format: one character, or `tab`.

    UsageError if the text cannot be a delimiter, or the format has none.

    >>> given_delimiter("|", "csv"), given_delimiter("tab", "csv"), given_delimiter("", "xml")
    ('|', '\t', '')
    """
    form = FORMATS.get(format)
    if text and (form is None or not form.delimited):
        in_folder = form is not None and form.in_folder
        where = "; of tables in a folder, datapackage.json says how they are written" if in_folder else ""
        raise UsageError(f"a delimiter applies to CSV files, not to format {format}{where}")
    if text in ("tab", r"\t"):
        return "\t"
    if text and (len(text) > 1 or not text.isascii() or text.isalnum() or text in '"+-.\r\n\0'):
        raise UsageError(
            "a delimiter is one ASCII character, not a letter, a quote, a line end or one that numbers contain;"
            " write tab for a tab"
        )
    return text


@dataclass(frozen=True)
class Dialect:
    """How values are delimited and quoted; `quote` or `escape` is empty where there is none.

    An empty `delimiter` stands for the one that the header is found to have.
    """

    delimiter: str = ","
    quote: str = '"'
    double: bool = True
    escape: str = ""
    header: bool = True
    encoding: str = "utf-8"

    @property
    def marks(self) -> tuple[bytes, bytes, bytes]:
        """Delimiter, quote and escape as bytes."""
        return self.delimiter.encode(), self.quote.encode(), self.escape.encode()


_WIDE = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_BE)
_BLOCK = 1 << 20


class Utf8Bytes:
    """A stream decoded to UTF-8, without a byte order mark."""

    def __init__(self, stream: BinaryIO, name: str, encoding: str) -> None:
        self.stream, self.name, self.encoding = stream, name, encoding
        self.decoder = None if encoding == "utf-8" else codecs.getincrementaldecoder(encoding)()
        self.lines = 0
        self.left = self._start()

    def _start(self) -> bytes:
        start = b""
        while len(start) < 4 and (more := self.stream.read(4 - len(start))):
            start += more
        if self.decoder is not None:
            return self._decoded(start).removeprefix(codecs.BOM_UTF8)
        if start.startswith(_WIDE):
            message = "is UTF-16 or UTF-32; save it as UTF-8, or name its encoding in a datapackage.json"
            raise DataError(message, source=self.name)
        return start.removeprefix(codecs.BOM_UTF8)

    def read(self, size: int) -> bytes:
        """Return `size` bytes; fewer only at the end."""
        parts: list[bytes] = []
        have = 0
        while have < size and (piece := self.left or self._piece(size - have)):
            part, self.left = piece[: size - have], piece[size - have :]
            parts.append(part)
            have += len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def skip(self, size: int) -> None:
        """Skip `size` bytes."""
        while size and (skipped := len(self.read(min(size, _BLOCK)))):
            size -= skipped

    def _piece(self, size: int) -> bytes:
        """Return some further bytes, empty at the end."""
        if self.decoder is None:
            return self.stream.read(size)
        while block := self.stream.read(_BLOCK):
            if piece := self._decoded(block):
                return piece
        return self._decoded(b"", final=True)

    def _decoded(self, block: bytes, *, final: bool = False) -> bytes:
        assert self.decoder is not None
        try:
            piece = self.decoder.decode(block, final).encode()
        except UnicodeError as problem:
            before = problem.object[: problem.start].count(b"\n") if isinstance(problem, UnicodeDecodeError) else 0
            message = f"is not in the encoding {self.encoding}, which its datapackage.json names"
            raise DataError(message, source=self.name, place=f"line {self.lines + before + 1}") from None
        self.lines += piece.count(b"\n")
        return piece


class WatchedBytes(io.RawIOBase):
    """The bytes from the first row on; `doubtful` says afterwards whether the fast reader may have misread them.
    `hexadecimal` says whether they may hold hexadecimal numbers, which it reads as integers.

    It takes text after a closing quote as part of the value. If each opening quote follows a delimiter and each
    closing one precedes one, there is no such text, which is quick to check.
    """

    def __init__(self, stream: Utf8Bytes, dialect: Dialect, start: int) -> None:
        super().__init__()
        self.stream = stream
        delimiter, self.quote, self.escape = dialect.marks
        self.bounds = np.zeros(256, bool)
        self.bounds[list(delimiter + b"\r\n" + (self.quote if dialect.double else b""))] = True
        self.quoting = False
        self.last = b"\n"
        self.doubtful = False
        self.hexadecimal = False
        self.empty = True
        self.problem: TreeanonError | None = None
        stream.skip(start)

    def readable(self) -> bool:
        """Return True."""
        return True

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes; a problem is kept, since the reader may wrap it."""
        try:
            block = self.stream.read(size if size >= 0 else 1 << 62)
        except TreeanonError as problem:
            self.problem = problem
            raise
        if len(block) > 1 and block.endswith(b"\r"):
            # The reader would drop a newline at the start of the next block, even one inside quotes.
            block = block[:-1]
            self.stream.left = b"\r" + self.stream.left
        self.empty = self.empty and not block
        if not self.doubtful:
            self._watch(block)
        return block

    def _watch(self, block: bytes) -> None:
        self.hexadecimal = self.hexadecimal or b"0x" in block or b"0X" in block
        if b"\0" in block or (self.escape and self.escape in block):
            self.doubtful = True
        elif self.quote and not block:
            self.doubtful = self.quoting
        elif self.quote and (self.quote in block or self.last == self.quote):
            self.doubtful = not self._clear(block)
        self.last = block[-1:] or self.last

    def _clear(self, block: bytes) -> bool:
        """Return whether every quote stands at the start or end of a value."""
        # The byte before the block, whose own neighbor is known only now; the last one waits for the next block.
        around = np.frombuffer(self.last + block + b"\n", np.uint8)
        at = np.flatnonzero(around[:-1] == self.quote[0])
        if at[0] == 0:
            at = at[1:]
            if not self.quoting and not self.bounds[around[1]]:
                return False
        opens = (np.arange(len(at)) % 2 == 0) != self.quoting
        self.quoting = self.quoting != bool(len(at) % 2)
        return bool(self.bounds[np.where(opens, around[at - 1], around[at + 1])].all())


LONGEST_ROW = 8 << 20
"""The most bytes of one row: the fast reader holds two blocks of that size at once."""

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
