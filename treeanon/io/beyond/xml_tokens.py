"""The tokens of XML that has been read without an error: what a parser hides, such as quotes and comments."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import BinaryIO

_BLOCK = 1 << 18
_TOKEN = re.compile(
    r"<!--.*?-->|<\?.*?\?>|<!\[CDATA\[.*?\]\]>|<[^!?<>\"'][^<>\"']*+(?:\"[^\"]*+\"[^<>\"']*+|'[^']*+'[^<>\"']*+)*+>|[^<]++",
    re.DOTALL,
)
_ATTRIBUTE = re.compile(r"(\s+)([^\s=]+)(\s*=\s*)(\"[^\"]*\"|'[^']*')")
_NAME = re.compile(r"</?([^\s/>]+)")
_DECLARED = re.compile(rb"<\?xml[^>]*?encoding\s*=\s*[\"']([A-Za-z0-9._-]+)[\"']")
_MARKS = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))
_ENTITY = re.compile(r"&(#x?[0-9A-Fa-f]+|[a-z]+);")
_ENTITIES = {"lt": "<", "gt": ">", "amp": "&", "quot": '"', "apos": "'"}


def tokens(stream: BinaryIO) -> Iterator[str]:
    """Yield the tags, comments, instructions, CDATA sections and texts of a document, line ends as newlines.

    >>> import io
    >>> list(tokens(io.BytesIO(b"<a b='>'>x<!-- y --></a>")))
    ["<a b='>'>", 'x', '<!-- y -->', '</a>']
    """
    buffer, at = "", 0
    for block in _texts(stream):
        buffer, at = buffer[at:] + block, 0
        # What reaches the end of the buffer may go on.
        while (match := _TOKEN.match(buffer, at)) and match.end() < len(buffer):
            yield match[0]
            at = match.end()
    if at < len(buffer):
        yield buffer[at:]


def _texts(stream: BinaryIO) -> Iterator[str]:
    block = stream.read(_BLOCK)
    declared = _DECLARED.match(block.lstrip(b"\xef\xbb\xbf"))
    named = declared[1].decode() if declared else "utf-8"
    encoding = next((name for mark, name in _MARKS if block.startswith(mark)), named)
    try:
        decoder = codecs.getincrementaldecoder(encoding)("replace")
    except LookupError:  # a name that only the parser knows
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
    ends_in_return = False
    while block:
        text = ("\r" if ends_in_return else "") + decoder.decode(block)
        ends_in_return = text.endswith("\r")
        yield (text[:-1] if ends_in_return else text).replace("\r\n", "\n").replace("\r", "\n")
        block = stream.read(_BLOCK)
    if ends_in_return:
        yield "\n"


def unescaped(text: str) -> str:
    """Return a text without its references.

    >>> unescaped("a&#65;&lt;")
    'aA<'
    """
    return _ENTITY.sub(_character, text) if "&" in text else text


def _character(match: re.Match[str]) -> str:
    name = match[1]
    if name.startswith("#x"):
        return chr(int(name[2:], 16))
    return chr(int(name[1:])) if name.startswith("#") else _ENTITIES.get(name, match[0])


@dataclass(frozen=True)
class Tag:
    """A start tag: its name as it is written, attributes as they are written, and how it is laid out."""

    name: str
    attributes: dict[str, str]
    layout: tuple[str, ...]
    is_empty: bool

    @classmethod
    def of(cls, token: str) -> Tag:
        """Return the tag of a token."""
        found = _NAME.match(token)
        assert found is not None
        attributes: dict[str, str] = {}
        layout: set[str] = set()
        end = found.end()
        for match in _ATTRIBUTE.finditer(token, end):
            before, name, equals, value = match.groups()
            attributes[name] = value[1:-1]
            layout |= {f"before {before}", f"equals {equals}", f"quote {value[0]}"}
            end = match.end()
        last = token[end:].rstrip(">")
        return cls(found[1], attributes, (*sorted(layout), "end " + last.rstrip("/")), last.endswith("/"))


@dataclass
class Element:
    """An element: its qualified name, attributes by their qualified names, texts and elements in it.

    Values and texts are as they are written, with their references; `is_odd` says that a text is in a CDATA section.
    """

    tag: str
    attributes: dict[str, str] = field(default_factory=dict)
    texts: list[str] = field(default_factory=list)
    inner: list[Element] = field(default_factory=list)
    is_odd: bool = False

    @property
    def text(self) -> str:
        """The direct text, or nothing if it is blank."""
        text = "".join(self.texts)
        return "" if text.isspace() else text
