"""Reports as PDF, by WeasyPrint (extra `report`): the page, with its facts attached as a file of JSON."""

from __future__ import annotations

import logging
import re
import zlib
from importlib.util import find_spec
from typing import Any

from treeanon.errors import UsageError

NAME = "facts.json"
_ATTACHED = re.compile(rb"/Type\s*/EmbeddedFile\b")
_LENGTH = re.compile(rb"/Length (\d+)")
_MOST = 64 << 20


def require_pdf() -> None:
    """Raise UsageError with what to install, where PDF cannot be made."""
    if find_spec("weasyprint") is None:
        raise UsageError(
            "PDF requires WeasyPrint: pip install 'treeanon[report]'; or name a file .html, and print it in a browser"
        )


def pdf_of(html: str, facts: bytes) -> bytes:
    """Return a page as PDF with its facts attached; UsageError says what is missing."""
    require_pdf()
    logging.getLogger("weasyprint").setLevel(logging.ERROR)
    logging.getLogger("fontTools").setLevel(logging.ERROR)
    try:
        from weasyprint import HTML, Attachment
    except OSError:
        raise UsageError(
            "PDF requires the system library Pango (Debian: libpango-1.0-0, libpangoft2-1.0-0, libharfbuzz-subset0)"
        ) from None
    attached = Attachment(string=facts, name=NAME, description="Facts of the report", relationship="Data")
    made: bytes = HTML(string=html, url_fetcher=_nothing).write_pdf(attachments=[attached])
    return made


def _nothing(url: str, *_: Any, **__: Any) -> Any:
    raise ValueError("a report loads nothing")


def facts_in_pdf(content: bytes) -> bytes | None:
    """Return the attached facts of a PDF as `pdf_of` makes it; None where there are none.

    >>> facts_in_pdf(b"%PDF-1.7") is None
    True
    """
    for found in _ATTACHED.finditer(content):
        head = content.rfind(b" obj", 0, found.start())
        begin = content.find(b"stream", found.end())
        length = _LENGTH.search(content, head, begin)
        if head < 0 or begin < 0 or length is None:
            continue
        start = begin + len(b"stream") + (2 if content[begin + 6 : begin + 8] == b"\r\n" else 1)
        packed = content[start : start + int(length[1])]
        if b"/FlateDecode" not in content[head:begin]:
            return packed
        try:
            return zlib.decompressobj().decompress(packed, _MOST)
        except zlib.error:
            continue
    return None
