"""How an XML document begins: versions and encodings that its parser would take for something else are refused."""

from __future__ import annotations

import codecs
import re

from treeanon.errors import DataError

_DECLARATION = re.compile(
    r"""<\?xml\s+version\s*=\s*["']([^"']*)["'](?:\s+encoding\s*=\s*["']([A-Za-z0-9._-]*)["'])?"""
)
_LONGEST = 512
_UTF_8 = ("utf-8", "utf8")
_WIDE = ("utf-16", "utf16", "iso-10646-ucs-2", "ucs-2")
_MARKS = (
    (codecs.BOM_UTF8, "utf-8", _UTF_8),
    (codecs.BOM_UTF16_LE, "utf-16-le", (*_WIDE, "utf-16le")),
    (codecs.BOM_UTF16_BE, "utf-16-be", (*_WIDE, "utf-16be")),
    # Without a mark the first character tells.
    (b"<\0", "utf-16-le", (*_WIDE, "utf-16le")),
    (b"\0<", "utf-16-be", (*_WIDE, "utf-16be")),
)


def check_head(begin: bytes) -> None:
    """Refuse XML 1.1, UTF-7, and a declaration that contradicts the bytes before it; parsers believe one of them.

    >>> check_head('\\ufeff<?xml version="1.0" encoding="UTF-8"?><a/>'.encode())
    >>> check_head(b'<?xml version="1.1"?><a/>')
    Traceback (most recent call last):
    treeanon.errors.DataError: line 1: is not XML 1.0, the version that is read
    """
    mark, codec, allowed = next((each for each in _MARKS if begin.startswith(each[0])), (b"", "latin-1", None))
    found = _DECLARATION.match(begin[:_LONGEST].decode(codec, "ignore").lstrip("\ufeff"))
    if found is None:
        return
    if found[1] != "1.0":
        raise DataError("is not XML 1.0, the version that is read", place="line 1")
    encoding = (found[2] or "").lower()
    if re.search(r"utf-?_?7$|65000$", encoding):
        raise DataError("declares UTF-7, which can hide markup; convert it to UTF-8", place="line 1")
    if mark and encoding and allowed is not None and encoding not in allowed:
        raise DataError("declares another encoding than its first bytes show; convert it to UTF-8", place="line 1")
