"""What files of XML hold beyond what is read of them.

The tokens of XML that has been read without an error show what a parser hides, such as quotes and comments.
"""

from __future__ import annotations

import codecs
import io
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, BinaryIO

from treeanon.forest import ReadReport
from treeanon.io.beyond.documents import Content, KeyTexts, Records, compare
from treeanon.io.beyond.findings import Findings
from treeanon.io.documents.xml_compile import MOVED_TAG, NODE_TAG, Qualifier
from treeanon.io.documents.xml_write import xml_attribute, xml_text
from treeanon.io.interface import ReadOptions, broken_files, writer_of
from treeanon.io.sources import Source
from treeanon.schema import Schema, Shape
from treeanon.schema.layout import MOVED_NAMESPACE, Container
from treeanon.schema.paths import Predicate
from treeanon.schema.references import as_documents

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


_SKIPPING = ReadOptions(on_error="skip", collection=True)
_OURS = {"xmlns:ta": MOVED_NAMESPACE}


def look_at_xml(sources: Sequence[Source], records: Records, found: Findings) -> None:
    """Count what XML documents hold beyond the records that were read of them."""
    schema = records.forest.schema.for_format(records.form.name)
    single = writer_of(records.form.name).document(schema).single
    look, own = _Look(schema, found), _Look(schema, Findings())
    texts = records.texts()
    for source in sources:
        with broken_files(_SKIPPING, ReadReport()), source.open() as stream:
            for number, element in enumerate(_Reader(schema, found).records(stream), start=1):
                if (source.name, f"record {number}") in records.broken:
                    continue
                written = io.BytesIO(single(next(texts)).encode())
                compare(look.content(element), own.content(_alone(schema, written)), found)
    look.keys.end()


def _alone(schema: Schema, stream: BinaryIO) -> Element:
    """Return the element of a document that is one record."""
    return next(_Reader(schema, Findings(), only=True).records(stream))


class _Reader:
    """Reader of the elements that are records, with what the schema does not name left out."""

    def __init__(self, schema: Schema, found: Findings, *, only: bool = False) -> None:
        assert schema.input.record is not None
        self.found, self.layout = found, as_documents(schema).layout
        self.qualifier = Qualifier(schema.input.namespaces)
        names = schema.input.record.names[-1:] if only else schema.input.record.names
        self.names = [self.qualifier.element(name) for name in names]
        self.spaces: list[dict[str, str]] = [{"xml": self.qualifier.uri("xml"), "": ""}]
        self.open: list[str] = []
        self.elements: list[tuple[Element, list[Shape], bool]] = []
        self.skipped = 0
        self.opened = [0] * len(self.names)
        self.gap: str | None = ""
        self.last = ""

    def records(self, stream: BinaryIO) -> Iterator[Element]:
        """Yield the records of a document, and count what surrounds them."""
        for token in tokens(stream):
            if token.startswith("<!--"):
                self.found.add("comments")
            elif token.startswith("<?"):
                self.found.add("instructions", not token.startswith("<?xml "))
            elif token.startswith("<![CDATA["):
                self.text(token[9:-3], is_odd=True)
            elif token.startswith("</"):
                if (done := self.end()) is not None:
                    yield done
            elif token.startswith("<"):
                tag = Tag.of(token)
                self.start(tag)
                if tag.is_empty and (done := self.end(is_empty=True)) is not None:
                    yield done
            else:
                self.text(token)
        self.found.add("form", sum(times - 1 for times in self.opened[:-1] if times > 1))

    def text(self, text: str, *, is_odd: bool = False) -> None:
        """Take in a text."""
        if self.gap is not None:
            self.gap = self.gap + text if not text or text.isspace() else None
        if self.skipped:
            return
        if self.elements:
            element = self.elements[-1][0]
            element.texts.append(text if not is_odd else text.replace("&", "&amp;").replace("<", "&lt;"))
            element.is_odd |= is_odd
        elif text and not text.isspace():
            self.found.add("content")

    def space(self, kind: str) -> None:
        """Note the white space before a tag."""
        if self.gap is not None and not self.skipped:
            self.found.uniform("white-space", (self.last, kind, len(self.open)), self.gap)
        self.gap, self.last = "", kind

    def start(self, tag: Tag) -> None:
        """Take in a start tag."""
        self.space("start")
        spaces = {name: value for name, value in tag.attributes.items() if name == "xmlns" or name.startswith("xmlns:")}
        inherited = self.spaces[-1]
        declared = {name.partition(":")[2]: unescaped(uri) for name, uri in spaces.items()}
        self.spaces.append({**inherited, **declared} if declared else inherited)
        name = self.qualified(tag.name)
        depth = len(self.open)
        self.open.append(name)
        if self.skipped:
            self.skipped += 1
            return
        known = {f"xmlns:{prefix}" if prefix else "xmlns": uri for prefix, uri in self.qualifier.namespaces.items()}
        allowed = _OURS if name == MOVED_TAG else {} if depth or self.elements else known
        if depth or len(self.names) <= 1:
            self.found.add("namespaces", sum(allowed.get(one) != unescaped(uri) for one, uri in spaces.items()))
        own = {
            self.qualified(key, is_attribute=True): text for key, text in tag.attributes.items() if key not in spaces
        }
        if not self.elements and depth < len(self.names) - 1:
            self.outside(name, depth, own)
        else:
            self.inside(name, tag, own)

    def outside(self, name: str, depth: int, attributes: Mapping[str, str]) -> None:
        """Take in a start tag above records."""
        if name == self.names[depth]:
            self.opened[depth] += 1
            self.found.add("fields", len(attributes))
        else:
            self.skipped = 1

    def inside(self, name: str, tag: Tag, attributes: dict[str, str]) -> None:
        """Take in the start tag of a record, or within one."""
        if not self.elements:
            # with the path "." a document is a record, whatever its element is called
            shapes = [self.layout.containers[0].shape] if not self.names or name == self.names[-1] else []
            moved = False
        else:
            _, above, is_below = self.elements[-1]
            moved = is_below or name == MOVED_TAG
            shapes = [] if moved else self.inner(above, name)
        if not shapes and not moved:
            self.skipped = 1
            return
        for part in tag.layout:
            self.found.uniform("white-space", ("tag", part.partition(" ")[0]), part)
        self.found.uniform("namespaces", ("name", name), tag.name)
        element = Element(name, attributes)
        if self.elements:
            self.elements[-1][0].inner.append(element)
        self.elements.append((element, shapes, moved))

    def inner(self, above: Sequence[Shape], name: str) -> list[Shape]:
        """Return the shapes that an element of this name may have."""
        wrappers = [wrapper for shape in above for wrapper in shape.wrappers]
        items = [self.layout.containers[index].shape for shape in above for index in shape.containers]
        return [shape for shape in [*wrappers, *items] if self.qualifier.element(shape.name or "") == name]

    def end(self, *, is_empty: bool = False) -> Element | None:
        """Take in an end tag (that of an empty element is none of its own); return a record that ends with it."""
        self.space("end")
        self.spaces.pop()
        self.open.pop()
        if self.skipped:
            self.skipped -= 1
            return None
        if self.elements:
            element, _, moved = self.elements.pop()
            if not (moved or element.inner or element.texts):
                self.found.uniform("spellings", "an empty element", is_empty)
            return None if self.elements else element
        return None

    def qualified(self, name: str, *, is_attribute: bool = False) -> str:
        """Return the qualified form of a name as it is written."""
        prefix, colon, local = name.partition(":")
        if not colon:
            prefix, local = "", name
        uri = "" if is_attribute and not colon else self.spaces[-1].get(prefix, "")
        return f"{{{uri}}}{local}" if uri else local


class _Look:
    """Reading of elements as content, by the layout of a schema."""

    def __init__(self, schema: Schema, found: Findings) -> None:
        self.layout, self.found = as_documents(schema).layout, found
        self.qualifier = Qualifier(schema.input.namespaces)
        self.keys = KeyTexts(schema, found)

    def content(self, element: Element) -> Content:
        """Return what the schema names of a record."""
        content = self._element(element, self.layout.containers[0].shape) or {}
        self.keys.end_record()
        return content

    def _element(self, element: Element, shape: Shape) -> Content | None:
        content: dict[str, list[Any]] = {}
        self._attributes(element, shape, content)
        if shape.held >= 0 or shape.constant is not None:
            self._text(element, shape.held, content)
        self._order(element, shape)
        self._children(element, shape, content)
        if shape.always:
            return content
        if not content and shape is not self.layout.containers[0].shape:
            self.found.add("empty")
        return content or None

    def _order(self, element: Element, shape: Shape) -> None:
        """Count elements that stand in another order than elsewhere, or apart from others of their name."""
        tags = [tag for tag, _ in groupby(inner.tag for inner in element.inner)]
        kinds = [self.layout.containers[index] for index in shape.containers]
        names = [tag for tag, _ in groupby(self.qualifier.element(kind.name or "") for kind in kinds)]
        if len(set(names)) == len(names):
            if len(set(tags)) < len(tags):
                self.found.add("order")
            self.found.sequence(id(shape), tuple(dict.fromkeys(tags)))
            return
        # Kinds of one name with others between them: their order is that in which this program writes them.
        wrappers = [self.qualifier.element(wrapper.name or "") for wrapper in shape.wrappers]
        places = []
        for inner in element.inner:
            of_kind = [len(wrappers) + at for at, kind in enumerate(kinds) if self._is_of(inner, kind)]
            last = len(wrappers) + len(kinds)
            places.append(wrappers.index(inner.tag) if inner.tag in wrappers else min(of_kind, default=last))
        if places != sorted(places):
            self.found.add("order")

    def _is_of(self, element: Element, kind: Container) -> bool:
        """Return whether an element is of a kind of repeated ones."""
        is_named = element.tag == self.qualifier.element(kind.name or "")
        return is_named and (kind.predicate is None or self._holds(element, kind.predicate))

    def _attributes(self, element: Element, shape: Shape, content: dict[str, list[Any]]) -> None:
        for attribute in shape.attributes:
            name = self.qualifier.attribute(attribute.name)
            if name in element.attributes:
                raw = element.attributes[name]
                text = unescaped(raw.replace("\n", " ").replace("\t", " "))
                if not text or text.isspace():
                    self.found.add("empty")
                    continue
                if xml_attribute(text)[1:-1] != raw:
                    self.found.add("spellings")
                content["@" + name] = [self._typed(text, attribute.held)]
        known = {self.qualifier.attribute(attribute.name) for attribute in shape.attributes}
        self.found.sequence((id(shape), "@"), tuple(name for name in element.attributes if name in known))

    def _text(self, element: Element, held: int, content: dict[str, list[Any]]) -> None:
        raw = element.text
        text = unescaped(raw)
        if text and not text.isspace():
            if element.is_odd or xml_text(text) != raw:
                self.found.add("spellings")
            content["text()"] = [self._typed(text, held)]

    def _typed(self, text: str, held: int) -> str:
        text = text if held < 0 or self.layout.classes[held].spec.type == "text" else text.strip()
        return self.keys.text(held, text)

    def _children(self, element: Element, shape: Shape, content: dict[str, list[Any]]) -> None:
        wrappers = {self.qualifier.element(wrapper.name or ""): wrapper for wrapper in shape.wrappers}
        items: dict[str, list[tuple[Shape, Predicate | None]]] = {}
        for container in (self.layout.containers[index] for index in shape.containers):
            tag = self.qualifier.element(container.name or "")
            items.setdefault(tag, []).append((container.shape, container.predicate))
        for inner in element.inner:
            if inner.tag in wrappers:
                met = [wrappers[inner.tag]]
            elif inner.tag == MOVED_TAG:
                content.setdefault(MOVED_TAG, []).append(_moved(inner, self.found))
                continue
            else:
                met = [one for one, wanted in items.get(inner.tag, ()) if wanted is None or self._holds(inner, wanted)]
            if len(met) > 1:
                self.found.add("form")
            for one in met:
                made = self._element(inner, one)
                if made is not None:
                    content.setdefault(inner.tag, []).append(made)

    def _holds(self, element: Element, predicate: Predicate) -> bool:
        here = [element]
        for name in predicate.names:
            if name == "*":
                tag = self.qualifier.element(predicate.value)
                return any(one.inner[0].tag == tag for one in here if one.inner)
            tag = self.qualifier.element(name)
            here = [inner for one in here for inner in one.inner if inner.tag == tag]
        if predicate.attribute is not None:
            name = self.qualifier.attribute(predicate.attribute)
            return any(name in one.attributes and unescaped(one.attributes[name]) == predicate.value for one in here)
        return any(unescaped(one.text) == predicate.value for one in here)


def _moved(element: Element, found: Findings) -> Content:
    """Return nodes under the reserved name as content; they have two attributes, a class and a value, and no text."""
    named: Collection[str] = ("under",) if element.tag == MOVED_TAG else ("class", "value")
    if set(element.attributes) != set(named) or element.text:
        found.add("form")
    texts = {"@" + name: [unescaped(text)] for name, text in element.attributes.items()}
    if any(xml_attribute(unescaped(text))[1:-1] != text for text in element.attributes.values()):
        found.add("spellings")
    return {**texts, NODE_TAG: [_moved(inner, found) for inner in element.inner]}
