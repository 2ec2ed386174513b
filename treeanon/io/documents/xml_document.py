"""XML: records are the elements at one path, read while the file is streamed.

Only the tree of the current records is kept. Document type declarations are refused as a whole: with entities
switched off the parser would drop their texts, switched on it would insert foreign texts, and it would look for the
external subset even if not allowed to load it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, BinaryIO, Literal, NamedTuple, cast

from lxml import etree

from treeanon.errors import DataError
from treeanon.forest.report import Dropped, ReadReport
from treeanon.forest.tables import Batch, BatchWriter, Malformed, NestedReader
from treeanon.io.documents.kernel_columns import new_codes
from treeanon.io.documents.xml_compile import MOVED_TAG, NODE_TAG, Qualifier, XmlTexts, compile_elements
from treeanon.io.documents.xml_ranges import Range, check_head
from treeanon.io.documents.xml_records import LARGE, Chain, XmlRecords
from treeanon.io.interface import BATCH_RECORDS, MAX_RECORD_BYTES, ReadOptions, broken_files
from treeanon.io.sources import Source
from treeanon.schema import Layout, Schema, Shape

OUTSIDE = "(outside records) "
_BLOCK = 1 << 18
_PRUNE_AFTER = 16 << 20

_WRONG = {
    "ERR_DOCUMENT_EMPTY": "is empty, or does not begin as XML",
    "ERR_TAG_NOT_FINISHED": "ends too early (truncated?)",
    "ERR_GT_REQUIRED": "a tag is not closed (truncated?)",
    "ERR_LTSLASH_REQUIRED": "ends too early (truncated?)",
    "ERR_TAG_NAME_MISMATCH": "an end tag does not match its start tag",
    "ERR_DOCUMENT_END": "there is more after the end of the root element",
    "ERR_INVALID_CHAR": "holds a character that XML does not allow (NUL or another control character)",
    "ERR_INVALID_ENCODING": "holds bytes that are not in the encoding it declares (or UTF-8)",
    "ERR_UNSUPPORTED_ENCODING": "declares an encoding that is not supported; convert it to UTF-8",
    "ERR_RESOURCE_LIMIT": "exceeds a limit (nesting deeper than 256, a text or attribute of over 10 MB, entities)",
    "ERR_UNDECLARED_ENTITY": "refers to an entity that XML itself does not define; write the character instead",
    "ERR_ATTRIBUTE_REDEFINED": "has one attribute twice in an element",
    "NS_ERR_UNDEFINED_NAMESPACE": "uses a namespace prefix that is not declared",
}


class _Refusal(etree.Resolver):
    """Resolver that answers every request for an external file with nothing, and remembers that there was one."""

    asked = False

    def resolve(self, system_url: Any, public_id: Any, context: Any) -> Any:  # type: ignore[override]
        self.asked = True
        return self.resolve_empty(context)  # type: ignore[attr-defined]


class _Parser(etree.XMLPullParser):
    """A pull parser that looks at how a document begins."""

    begun = False

    def feed(self, data: Any) -> None:
        if not self.begun:
            self.begun = True
            check_head(data)
        super().feed(data)


def safe_parser(
    tags: list[str] | None, events: tuple[Literal["start", "end"], ...]
) -> tuple[etree.XMLPullParser, _Refusal]:
    """Return a pull parser that loads nothing external, resolves no entities and keeps no comments; and its
    resolver.
    """
    parser = _Parser(
        events=events,
        tag=tags,
        resolve_entities=False,
        load_dtd=False,
        dtd_validation=False,
        attribute_defaults=False,
        no_network=True,
        huge_tree=False,
        remove_comments=True,
        remove_pis=True,
        strip_cdata=True,
        recover=False,
        collect_ids=False,
    )
    refusal = _Refusal()
    parser.resolvers.add(refusal)
    return parser, refusal


def refuse_declarations(element: etree._Element) -> None:
    """Check that a document has no DOCTYPE."""
    if element.getroottree().docinfo.internalDTD is not None:
        raise DataError("declares a document type (DOCTYPE); entities and DTDs are refused, remove the declaration")


def xml_error(problem: etree.XMLSyntaxError, refusal: _Refusal) -> DataError:
    """Return the error for malformed XML, in words that show nothing of the data."""
    if refusal.asked:
        return DataError("refers to a foreign file (DTD or entity); such references are refused")
    last: Any = getattr(problem.error_log, "last_error", None)
    kind = last.type_name if last is not None else ""
    words = _WRONG.get(kind, f"is not well-formed XML ({kind or 'broken'})")
    line = problem.lineno or (last.line if last is not None else 0)
    return DataError(words, place=f"line {line}" if line else "")


class _Elements:
    """Collector of record elements into batches."""

    def __init__(self, schema: Schema, options: ReadOptions, report: ReadReport) -> None:
        self.layout, self.options, self.report, self.source = schema.layout, options, report, ""
        self.qualifier = Qualifier(schema.input.namespaces)
        self.bind = compile_elements(self.layout, self.qualifier)
        self.drops: list[tuple[str, str]] = []
        self.number = 0
        self._renew()

    def _renew(self) -> None:
        self.out = BatchWriter(self.layout)
        self.codes = new_codes(self.layout)
        self.nested = NestedReader(self.layout, self.out, self.codes)
        texts = [XmlTexts(codes) for codes in self.codes]
        drops, moved = self.drops, partial(_read_moved, self.nested)
        # No methods of this object, which would then hold itself, and with it all that was read.
        self.read = self.bind(
            self.out.owners, self.out.codes, texts, lambda place, tag: drops.append((place, tag)), moved
        )

    def record(self, element: etree._Element) -> None:
        """Read one record."""
        self.number += 1
        before, drops = len(self.out.owners[0]), len(self.drops)
        try:
            self.read(element, 0)
        except (DataError, Malformed) as problem:
            self.out.rollback(before)
            del self.drops[drops:]
            if self.options.on_error == "error":
                path = problem.path if isinstance(problem, DataError) else MOVED_TAG
                message = problem.message if isinstance(problem, DataError) else str(problem)
                place = f"record {self.number} (line {element.sourceline})"
                raise DataError(message, source=self.source, place=place, path=path) from None
            self.report.skip(self.source, f"record {self.number}")

    @property
    def full(self) -> bool:
        return len(self.out.owners[0]) >= BATCH_RECORDS

    def settle(self) -> None:
        """Count what was noted as dropped."""
        for (place, tag), times in Counter(self.drops).items():
            self.report.dropped.add(place, self.qualifier.short(tag), times)
        self.drops.clear()

    def flush(self) -> Batch:
        """Return the batch of what was read since the last one."""
        self.settle()
        batch = self.out.finish(self.codes)
        self._renew()
        return batch


def _read_moved(nested: NestedReader, element: etree._Element, row: int, container: int) -> None:
    under = nested.under(element.get("under"), container)
    if under is not None:
        nested.add_nodes([_nested_node(child) for child in element], under, row)


def _nested_node(element: etree._Element) -> list[Any]:
    if element.tag != NODE_TAG:
        raise Malformed("only `node` elements may stand under the reserved name")
    return [element.get("class"), element.get("value"), [_nested_node(child) for child in element]]


class _Known(NamedTuple):
    """What an element may be to the schema: its shapes, the place named in counts of it, and whether its content
    matters because of a text or a predicate.
    """

    shapes: list[Shape]
    place: str
    whole: bool


class _Pruner:
    """Pruner that removes finished elements that the schema does not name from the open record, and counts them."""

    def __init__(self, layout: Layout, qualifier: Qualifier, dropped: Dropped) -> None:
        self.layout, self.qualifier, self.dropped = layout, qualifier, dropped

    def record(self, element: etree._Element) -> None:
        """Prune the current record."""
        self.prune(element, _Known([self.layout.containers[0].shape], "", False), is_open=True)

    def prune(self, element: etree._Element, here: _Known, *, is_open: bool) -> None:
        """Prune an element; the last child of an open one stays, as the parser may still be working on it.

        Where it matters what stands in an element, children are emptied, and counted when the record is read.
        """
        inside = self.inside(here)
        whole = here.whole or any(shape.held >= 0 or shape.constant is not None for shape in here.shapes)
        children = list(element)
        for child in children:
            is_last = is_open and child is children[-1]
            if child.tag in inside:
                self.prune(child, inside[child.tag], is_open=is_last)
            elif child.tag == MOVED_TAG and here.shapes:
                continue
            elif is_last:
                self.prune(child, _Known([], "", False), is_open=True)
            elif whole:
                child.clear(keep_tail=True)  # type: ignore[call-arg]
            else:
                self.remove(child, here)

    def inside(self, here: _Known) -> dict[str, _Known]:
        found: dict[str, _Known] = {}
        for shape in here.shapes:
            for wrapper in shape.wrappers:
                self.know(found, wrapper, f"{here.place}{wrapper.name}/", here.whole)
            for container in (self.layout.containers[i] for i in shape.containers):
                whole = here.whole or container.predicate is not None
                self.know(found, container.shape, container.path + "/", whole)
        return found

    def know(self, found: dict[str, _Known], shape: Shape, place: str, whole: bool) -> None:
        tag = self.qualifier.element(shape.name or "")
        old = found.get(tag, _Known([], place, False))
        found[tag] = _Known([*old.shapes, shape], old.place, old.whole or whole)

    def remove(self, child: etree._Element, here: _Known) -> None:
        if here.shapes:
            self.dropped.add(here.place, self.qualifier.short(child.tag), 1)
            if child.tail and not child.tail.isspace():
                self.dropped.add(here.place, "text()", 1)
        parent = child.getparent()
        if parent is not None:
            parent.remove(child)


class _Stream:
    """The records of one XML source as it is parsed, block by block."""

    def __init__(self, schema: Schema, elements: _Elements) -> None:
        assert schema.input.record is not None
        self.elements = elements
        self.names = [elements.qualifier.element(name) for name in schema.input.record.names]
        self.parser, self.refusal = safe_parser([self.names[0], self.names[-1]], ("start", "end"))
        self.root: etree._Element | None = None
        self.parent: etree._Element | None = None
        self.pruner = _Pruner(elements.layout, elements.qualifier, elements.report.dropped)
        self.since = 0

    def feed(self, block: bytes) -> Iterator[Batch]:
        """Parse a block; read the records that end in it, then free them."""
        self.parser.feed(block)
        self.since += len(block)
        events = cast("Iterator[tuple[str, etree._Element]]", self.parser.read_events())
        for event, element in events:
            if self.root is None:
                refuse_declarations(element)
                self.root = element.getroottree().getroot()
            if event == "end" and element.tag == self.names[-1] and self.is_record(element):
                self.elements.record(element)
                self.since = 0
        if self.elements.full:
            yield self.elements.flush()
        if self.root is not None:
            self.forget()
            self.elements.settle()
        elif self.since > MAX_RECORD_BYTES // 16:
            raise DataError(f"the root element is not {self.elements.qualifier.short(self.names[0])}")

    def is_record(self, element: etree._Element) -> bool:
        parent = element.getparent()
        if parent is None or parent is self.parent:
            return parent is not None
        trail: list[str] = [element.tag]
        above: etree._Element | None = parent
        while above is not None:
            trail.append(above.tag)
            above = above.getparent()
        if trail[::-1] != self.names:
            return False
        self.parent = parent
        return True

    def forget(self) -> None:
        """Free all that is finished, and now and then what is dropped inside a long record."""
        level, place = self.root, OUTSIDE
        for depth, name in enumerate(self.names[1:], start=1):
            children = list(level) if level is not None else []
            if level is None or not children:
                return
            self.leave(level, children[:-1], depth, place)
            del level[: len(children) - 1]
            place += f"{self.elements.qualifier.short(level.tag)}/"
            level = children[-1]
            if level.tag != name:
                self.pruner.prune(level, _Known([], "", False), is_open=True)
                return
        if level is not None and self.since > _PRUNE_AFTER:
            self.since = 0
            self.pruner.record(level)

    def leave(self, level: etree._Element, finished: list[etree._Element], depth: int, place: str) -> None:
        """Count the elements outside records among the finished children of an element, and their descendants."""
        for child in finished:
            if child.tag != self.names[depth]:
                self.elements.drops.append((place, child.tag))
            elif depth + 1 < len(self.names):
                below = f"{place}{self.elements.qualifier.short(level.tag)}/"
                self.leave(child, list(child), depth + 1, below)

    def close(self) -> None:
        """End the document; anything unfinished is an error."""
        root = self.parser.close()
        refuse_declarations(root)
        if root.tag != self.names[0]:
            raise DataError(f"the root element is not {self.elements.qualifier.short(self.names[0])}")
        if len(self.names) > 1:
            self.leave(root, list(root), 1, OUTSIDE)

    def free(self) -> None:
        """Free the document, when nothing is parsed any more: a parser of lxml and its document hold each other."""
        for _, element in cast("Iterator[tuple[str, etree._Element]]", self.parser.read_events()):
            element.clear()
        if self.root is not None:
            self.root.clear()


def _whole(stream: BinaryIO, elements: _Elements, schema: Schema) -> None:
    """Read a document that is one record."""
    assert schema.input.record is not None
    parser, refusal = safe_parser(None, ())
    read = 0
    try:
        while block := stream.read(_BLOCK):
            read += len(block)
            if read > MAX_RECORD_BYTES:
                raise DataError(f"is longer than {MAX_RECORD_BYTES >> 20} MB, too long for one record")
            parser.feed(block)
        if not read:
            raise DataError("is empty")
        root = parser.close()
    except etree.XMLSyntaxError as problem:
        raise xml_error(problem, refusal) from None
    refuse_declarations(root)
    for name in schema.input.record.names:
        if root.tag != elements.qualifier.element(name):
            raise DataError(f"the root element is not {name}")
    try:
        elements.record(root)
    finally:
        root.clear()


def _document(stream: BinaryIO, elements: _Elements, schema: Schema, fast: XmlRecords | None) -> Iterator[Batch]:
    """Yield the batches of a document, by the kernel as far as it reads it, where that pays."""
    begin = b""
    while len(begin) < LARGE and (more := stream.read(LARGE - len(begin))):
        begin += more
    if fast is None or len(begin) < LARGE:
        yield from _blocks(Chain([begin], stream), elements, schema)
        return
    if len(elements.out.owners[0]):
        yield elements.flush()
    for found in fast.read(begin, stream):
        if isinstance(found, Batch):
            yield found
            continue
        elements.number = found.records
        try:
            yield from _blocks(found.stream, elements, schema)
        except DataError as problem:
            place = Range(line=found.lines + 1).place(problem.place)
            raise DataError(problem.message, source=problem.source, place=place, path=problem.path) from None


def _blocks(stream: BinaryIO | Chain, elements: _Elements, schema: Schema) -> Iterator[Batch]:
    records = _Stream(schema, elements)
    try:
        read = 0
        while block := stream.read(_BLOCK):
            read += len(block)
            yield from records.feed(block)
        if not read:
            raise DataError("is empty")
        records.close()
    except etree.XMLSyntaxError as problem:
        raise xml_error(problem, records.refusal) from None
    finally:
        records.free()


@contextmanager
def _located(source: str) -> Iterator[None]:
    """Add the name of the source to errors that have none."""
    try:
        yield
    except DataError as problem:
        if problem.source:
            raise
        raise DataError(problem.message, source=source, place=problem.place, path=problem.path) from None


def read_xml(sources: Sequence[Source], schema: Schema, options: ReadOptions, report: ReadReport) -> Iterator[Batch]:
    """Yield the batches of XML sources."""
    assert schema.input.record is not None
    elements = _Elements(schema, options, report)
    fast = XmlRecords.of(schema, report.dropped, options.jobs)
    for source in sources:
        elements.source, elements.number = source.name, 0
        with broken_files(options, report), _located(source.name), source.open(options.advance) as stream:
            if schema.input.record.whole_file:
                _whole(stream, elements, schema)
            else:
                yield from _document(stream, elements, schema, fast)
        if elements.full:
            yield elements.flush()
    yield elements.flush()
