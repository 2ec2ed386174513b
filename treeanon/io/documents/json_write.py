"""Writes records as JSON objects, in one document or one in each line."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

import orjson

from treeanon.forest import Forest
from treeanon.hierarchy.numbers import is_shortest
from treeanon.io.documents.kernel_columns import token_texts
from treeanon.io.documents.object_references import apart_of
from treeanon.io.documents.row_texts import RowFunction, RowWriter, compile_rows, joined, row_names
from treeanon.io.interface import LINES, Document, DocumentWriter
from treeanon.schema import Layout, Schema, Shape
from treeanon.schema.layout import MOVED

_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:e-?[0-9]+)?")
_PLAIN = re.compile(r'[^"\\\x00-\x1f\ud800-\udfff]*')


def json_text(text: str) -> str:
    """Return a text as a JSON string.

    >>> json_text('a"b')
    '"a\\\\"b"'
    """
    if _PLAIN.fullmatch(text):
        return f'"{text}"'
    try:
        return orjson.dumps(text).decode()
    except orjson.JSONEncodeError:  # a lone surrogate, which only a hierarchy file can hold
        return json.dumps(text)


def is_number_text(text: str) -> bool:
    """Return whether parsing the text as a JSON number and writing it again gives just this text.

    >>> [is_number_text(text) for text in ("1.5", "1.50", "20-24", "1e400")]
    [True, False, False, False]
    """
    if is_shortest(text):
        return True
    if not _NUMBER.fullmatch(text) or len(text) >= 300:
        return False
    try:
        return token_texts([text.encode()]) == [text]
    except OverflowError:  # beyond what numbers of JSON readers can hold
        return False


class JsonDialect:
    """Writer of JSON rows; every text of a row ends in a comma, which the enclosing text strips from its end."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.keys: dict[int, str | None] = {}
        for container in layout.containers:
            for shape in container.shape.walk():
                if shape.held >= 0:
                    self.keys[shape.held] = None if shape is container.shape else shape.name

    def writable(self, text: str) -> bool:
        """Return True for every value: JSON can hold it in place."""
        return True

    def fragments(self, held: int, texts: Sequence[str]) -> list[str]:
        """Return `"age":34,` for a field, `"Inhaler",` for an array item."""
        key = self.keys[held]
        before = "" if key is None else json_text(key) + ":"
        typed = self.layout.classes[held].spec.type in ("integer", "number")
        if typed:
            return [
                f"{before}{text if is_shortest(text) or is_number_text(text) else json_text(text)}," for text in texts
            ]
        return [f"{before}{json_text(text)}," for text in texts]

    def moved(self, groups: Sequence[tuple[str, Sequence[str]]]) -> str:
        """Return `"treeanon:moved":{"hospital":[["disease","Flu",[]]]},`"""
        inner = ",".join(f"{json_text(under)}:[{','.join(texts)}]" for under, texts in groups)
        return f"{json_text(MOVED)}:{{{inner}}},"

    def node(self, name: str, value: str, children: Sequence[str]) -> str:
        """Return `["disease","Flu",[]]`, as in a trees file."""
        return f"[{json_text(name)},{json_text(value)},[{','.join(children)}]]"

    def row_function(self, container: int) -> RowFunction:
        """Return the function that makes the rows of a container."""
        body: list[str] = []
        shape = self.layout.containers[container].shape
        if shape.held >= 0:
            body.append(f"out.append(f{shape.held} or 'null,')")
        elif any(self.layout.containers[i].name is None for i in shape.containers):
            body.append(f"s = {joined([f'k{i}' for i in shape.containers])}")
            body.append("out.append('[' + s[:-1] + '],')")
        else:
            body.append(f"s = {self._object(shape, body)} + m")
            body.append("out.append('{' + s[:-1] + '},')")
        return compile_rows(row_names(self.layout, container), body)

    def _object(self, shape: Shape, body: list[str]) -> str:
        """Return an expression for the fields of an object; statements it depends on are put into `body` first."""
        parts: list[str] = []
        for wrapper in shape.wrappers:
            key = json_text(wrapper.name or "")
            if wrapper.held >= 0:
                parts.append(f"f{wrapper.held}")
            elif wrapper.constant is not None:
                parts.append(repr(f"{key}:{json_text(wrapper.constant)},"))
            else:
                inner = self._object(wrapper, body)
                name = f"w{len(body)}"
                body.append(f"{name} = {inner}")
                parts.append(f"({key + ':{'!r} + {name}[:-1] + '}},' if {name} else '')")
        for key_name in dict.fromkeys(self.layout.containers[i].name for i in shape.containers):
            rows = [f"k{i}" for i in shape.containers if self.layout.containers[i].name == key_name]
            name = f"w{len(body)}"
            body.append(f"{name} = {joined(rows)}")
            parts.append(f"({json_text(key_name or '') + ':['!r} + {name}[:-1] + '],' if {name} else '')")
        return joined(parts)


class JsonTexts:
    """JSON objects of records, without the comma that rows end in."""

    def __init__(self, forest: Forest, schema: Schema) -> None:
        apart = apart_of(forest, schema)
        dialect = JsonDialect(schema.layout if apart is None else apart.layout)
        self.rows = RowWriter(schema.layout, forest, dialect, apart)

    def records(self, forest: Forest) -> list[str]:
        """Return the texts of the records of a part of the forest."""
        return [text[:-1] for text in self.rows.records(forest)]


def _document(schema: Schema) -> Document:
    record = schema.input.record
    names = record.names if record else ()
    before = "".join("{" + json_text(name) + ":" for name in names)
    if record is not None and record.keyed:
        # The keys of the input are ids: these are numbers in random order.
        tail = "\n}" + "}" * len(names) + "\n"
        return Document(before + "{\n", ",\n", tail, lambda number, text: f'"{number}":{text}')
    return Document(before + "[\n", ",\n", "\n]" + "}" * len(names) + "\n")


JSON = DocumentWriter(JsonTexts, _document)
NDJSON = DocumentWriter(JsonTexts, lambda schema: LINES)
