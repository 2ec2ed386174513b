"""How a file of delimited values is written: delimiter, quotes, header, encoding."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass

from treeanon.errors import UsageError

# Encodings whose bytes are not characters one after another, or that depend on the machine.
_ODD = {"idna", "punycode", "unicode_escape", "raw_unicode_escape", "utf-7", "undefined", "mbcs", "oem", "charmap"}


def known_encoding(name: str) -> str | None:
    """The normal name of a character encoding, or None if there is no such encoding.

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
    """The delimiter of a file that begins so: the one that its header has most often outside quotes.

    Only the header is looked at; where two occur as often, a comma comes first, then a semicolon, a tab, a bar.

    >>> header_delimiter(b'id;"name, first";age\\n1,2,3,4'), header_delimiter(b"id\\n")
    (';', ',')
    """
    header = _QUOTED.sub(b"", start.lstrip(b"\r\n"))
    for end in (b"\n", b"\r"):
        header = header.partition(end)[0]
    return chr(max(DELIMITERS, key=header.count))


def given_delimiter(text: str, format: str) -> str:
    r"""The delimiter that somebody asks for, of an input of that format: one character, or `tab`.

    UsageError if it cannot be one, or the format has none that could be told.

    >>> given_delimiter("|", "csv"), given_delimiter("tab", "csv"), given_delimiter("", "xml")
    ('|', '\t', '')
    """
    if text and format != "csv":
        where = "; of tables in a folder, datapackage.json says how they are written" if format == "tables" else ""
        raise UsageError(f"a delimiter is of a CSV file, not of format {format}{where}")
    if text in ("tab", r"\t"):
        return "\t"
    if text and (len(text) > 1 or not text.isascii() or text.isalnum() or text in '"+-.\r\n\0'):
        raise UsageError(
            "a delimiter is one ASCII character, and none that stands in numbers, a letter, a quote or a line end;"
            " tab is a tab"
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
