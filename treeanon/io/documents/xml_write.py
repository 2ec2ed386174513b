"""Writes records as XML elements."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from treeanon.errors import DataError
from treeanon.forest import Forest
from treeanon.formats import PROFILES
from treeanon.io.documents.object_references import apart_of
from treeanon.io.documents.row_texts import RowFunction, RowWriter, compile_rows, joined, row_names
from treeanon.io.interface import Document, DocumentWriter
from treeanon.schema import Layout, Schema, Shape
from treeanon.schema.layout import MOVED_NAMESPACE

_PLAIN = re.compile("[ !#-%'-;=?-~]*")
_LONGEST = 9_900_000
_TEXT = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#13;"})
_ATTRIBUTE = str.maketrans(
    {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\t": "&#9;", "\n": "&#10;", "\r": "&#13;"}
)


def xml_text(text: str) -> str:
    """Return a text as the content of an element.

    >>> xml_text("a<b & c")
    'a&lt;b &amp; c'
    """
    return text if _is_plain(text) else _checked(text).translate(_TEXT)


def xml_attribute(text: str) -> str:
    """Return a text as the value of an attribute, in quotes; white space in it survives."""
    return f'"{text if _is_plain(text) else _checked(text).translate(_ATTRIBUTE)}"'


def _is_plain(text: str) -> bool:
    return len(text) < _LONGEST and (_PLAIN if text.isascii() else _plain_letters()).fullmatch(text) is not None


@cache
def _plain_letters() -> re.Pattern[str]:
    return re.compile("[ !#-%'-;=?-~\u00a0-\ud7ff]*")


@cache
def _not_xml() -> re.Pattern[str]:
    return re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def _checked(text: str) -> str:
    if len(text.encode()) > _LONGEST:
        raise DataError("a value is longer than the 10 MB that XML readers take; write JSON or a trees file instead")
    if _not_xml().search(text):
        raise DataError("a value holds a control character that XML cannot hold; write JSON or a trees file instead")
    return text


class XmlDialect:
    """Writer of XML rows: elements and attributes by the schema's paths."""

    def __init__(self, layout: Layout, record_name: str) -> None:
        self.layout, self.record_name = layout, record_name
        self.forms: dict[int, tuple[str, str, bool]] = {}
        for container in layout.containers:
            for shape in container.shape.walk():
                if shape.held >= 0:
                    self.forms[shape.held] = self._text_form(shape, is_container=shape is container.shape)
                for attribute in shape.attributes:
                    if attribute.held >= 0:
                        self.forms[attribute.held] = (f" {attribute.name}=", "", True)

    def _text_form(self, shape: Shape, *, is_container: bool) -> tuple[str, str, bool]:
        if is_container or not shape.is_scalar or shape.always:
            return "", "", False
        return f"<{shape.name}>", f"</{shape.name}>", False

    def writable(self, text: str) -> bool:
        """Return whether a value is not blank: blank values would be read as formatting."""
        return not text.isspace()

    def fragments(self, held: int, texts: Sequence[str]) -> list[str]:
        """Return ` hospital="H1"` for an attribute, `<age>34</age>` for an element, the bare text of a repeated one."""
        before, after, is_attribute = self.forms[held]
        write = xml_attribute if is_attribute else xml_text
        return [f"{before}{write(text)}{after}" for text in texts]

    def moved(self, groups: Sequence[tuple[str, Sequence[str]]]) -> str:
        """Return `<ta:moved xmlns:ta="urn:treeanon:1" under="hospital"><ta:node …/></ta:moved>`"""
        start = f'<ta:moved xmlns:ta="{MOVED_NAMESPACE}" under='
        return "".join(f"{start}{xml_attribute(under)}>{''.join(texts)}</ta:moved>" for under, texts in groups)

    def node(self, name: str, value: str, children: Sequence[str]) -> str:
        """Return `<ta:node class="disease" value="Flu"/>` with its children in it."""
        start = f"<ta:node class={xml_attribute(name)} value={xml_attribute(value)}"
        return f"{start}>{''.join(children)}</ta:node>" if children else f"{start}/>"

    def row_function(self, container: int) -> RowFunction:
        """Return the function that makes the rows of a container."""
        shape = self.layout.containers[container].shape
        name = self.record_name if container == 0 else shape.name
        body: list[str] = []
        attributes, content = self._attributes(shape), self._content(shape, body)
        body.append(f"out.append({'<' + str(name)!r} + {attributes} + '>' + {content} + m + {f'</{name}>'!r})")
        return compile_rows(row_names(self.layout, container), body)

    def _attributes(self, shape: Shape) -> str:
        parts = [
            f"f{attribute.held}"
            if attribute.constant is None
            else repr(f" {attribute.name}={xml_attribute(attribute.constant)}")
            for attribute in shape.attributes
        ]
        return joined(parts)

    def _content(self, shape: Shape, body: list[str]) -> str:
        """Return an expression for the content of an element; statements it depends on are put into `body` first."""
        parts: list[str] = []
        if shape.held >= 0:
            parts.append(f"f{shape.held}")
        elif shape.constant is not None:
            parts.append(repr(xml_text(shape.constant)))
        for wrapper in shape.wrappers:
            parts.append(self._wrapper(wrapper, body))
        parts.extend(f"k{index}" for index in shape.containers)
        return joined(parts)

    def _wrapper(self, wrapper: Shape, body: list[str]) -> str:
        if wrapper.is_scalar and wrapper.held >= 0 and not wrapper.always:
            return f"f{wrapper.held}"
        attributes, content = self._attributes(wrapper), self._content(wrapper, body)
        number = len(body)
        body.append(f"a{number} = {attributes}")
        body.append(f"c{number} = {content}")
        start, end = f"<{wrapper.name}", f"</{wrapper.name}>"
        written = f"{start!r} + a{number} + '>' + c{number} + {end!r}"
        return f"({written})" if wrapper.always else f"({written} if a{number} or c{number} else '')"


_HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n'


def _record_element(schema: Schema) -> str:
    """Return the name of the element that is one person."""
    names = schema.input.record.names if schema.input.record else ()
    own = PROFILES.named(schema.profile).root if schema.profile else ""
    return names[-1] if names else own or "record"


def _texts(forest: Forest, schema: Schema) -> RowWriter:
    apart = apart_of(forest, schema)
    dialect = XmlDialect(schema.layout if apart is None else apart.layout, _record_element(schema))
    return RowWriter(schema.layout, forest, dialect, apart)


def _document(schema: Schema) -> Document:
    names = schema.input.record.names if schema.input.record else ()
    spaces = "".join(
        f" {'xmlns:' + prefix if prefix else 'xmlns'}={xml_attribute(uri)}"
        for prefix, uri in sorted(schema.input.namespaces.items())
        if prefix != "xml"
    )
    outer = names[:-1]
    before = "".join(f"<{name}{spaces if i == 0 else ''}>" for i, name in enumerate(outer))
    after = "".join(f"</{name}>" for name in reversed(outer))
    root = _record_element(schema)

    def single(text: str) -> str:
        return f"{_HEAD}<{root}{spaces}{text.removeprefix('<' + root)}\n"

    return Document(f"{_HEAD}{before}\n", "\n", f"\n{after}\n", single=single)


XML = DocumentWriter(_texts, _document)
