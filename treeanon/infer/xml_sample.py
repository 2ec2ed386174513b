"""Records of XML documents from their beginning, middle and end, and counts of the values at each place in them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any, BinaryIO, cast

from lxml import etree

from treeanon.errors import DataError
from treeanon.infer.leaves import Kind, Kinds, find_kinds
from treeanon.infer.model import Head, Prefixes, Sample, SampleRequest, all_elements
from treeanon.infer.sampling import Place, Spread
from treeanon.io.documents.xml_compile import MOVED_TAG, mixed_text
from treeanon.io.documents.xml_document import refuse_declarations, safe_parser, xml_error
from treeanon.io.interface import MAX_RECORD_BYTES
from treeanon.io.sources import Source
from treeanon.schema import RecordPath

_BLOCK = 1 << 18
_LOOK = 4 << 20
"""Number of bytes read before a repeated element is chosen as the record."""
_MOST = 32 << 20
Tags = tuple[str, ...]


def is_xml(text: bytes) -> bool:
    """Return whether a text begins as XML does, in UTF-8 or UTF-16."""
    return text.startswith((b"<", b"\xff\xfe<", b"\xfe\xff\0<"))


def sample_xml(request: SampleRequest) -> Sample:
    """Return the first records of XML documents."""
    sample = partial(xml_sample, within=request.within)
    if not request.collection:
        return request.of_documents(sample)
    is_whole = request.record is not None and request.record.whole_file
    found = request.of_whole_files(one_xml_record) if is_whole else request.of_documents(sample)
    return replace(found, prefixes=Prefixes(all_elements(found.records)))


def one_xml_record(item: Source) -> etree._Element:
    """Return the root element of a file that is one record."""
    with item.open() as stream:
        return _Reading(stream, item.name, 1 << 60).read(None)


def xml_sample(stream: BinaryIO, source: str, path: RecordPath | None, most: int, within: int | None = None) -> Sample:
    """Return elements at the path or, without one, of the repeated element nearest to the root."""
    reading = _Reading(stream, source, most, within)
    root = reading.read(path)
    prefixes = Prefixes(all_elements([root]))
    why, others = "as given by --record", tuple[str, ...]()
    if path is None:
        tags, why, others = _choose(root, reading.times, prefixes)
    else:
        tags = _tags_of(root, path)
    names = tuple(prefixes.short(tag) or "" for tag in tags)
    if len(tags) < 2:
        record = RecordPath(names if path is not None and path.names else (), False)
        return Sample("xml", record, [root], reading.ended, why, others, prefixes)
    found = [element for element in _at(root, tags) if id(element) not in reading.open_elements()]
    if not found:
        raise DataError("holds no record at the record path", source=source)
    chosen = Spread[etree._Element](most)
    for element in found:
        chosen.add(element)
    reading.rest(tags, chosen)
    kept = chosen.all()
    prefixes = Prefixes([*all_elements([root]), *all_elements(kept)])
    names = tuple(prefixes.short(tag) or "" for tag in tags)
    whole = len(kept) == chosen.count
    return Sample("xml", RecordPath(names, True), kept, whole, why, others, prefixes, total=chosen.count)


class _Reading:
    """An incremental parse of a stream until it has enough records; it knows the elements still open."""

    def __init__(self, stream: BinaryIO, source: str, most: int, within: int | None = None) -> None:
        self.stream, self.source, self.most = Head(stream, within), source, most
        self.parser, self.refusal = safe_parser(None, ("start", "end"))
        self.stack: list[etree._Element] = []
        self.times: Counter[Tags] = Counter()
        self.root: etree._Element | None = None
        self.previous: etree._Element | None = None
        self.ended = False

    def read(self, path: RecordPath | None) -> etree._Element:
        """Return the root element, with what was read of it."""
        with self.named():
            self.blocks(path)
        assert self.root is not None
        return self.root

    def rest(self, tags: Tags, chosen: Spread[etree._Element]) -> None:
        """Read on to the end and offer every further record; those that are not taken are forgotten."""
        if self.ended:
            return
        with self.named():
            while block := self.stream.read(_BLOCK):
                self.parser.feed(block)
                self.offer(tags, chosen)
            if self.stream.cut:
                return
            refuse_declarations(self.parser.close())
            self.offer(tags, chosen)

    def offer(self, tags: Tags, chosen: Spread[etree._Element]) -> None:
        for event, given in self.parser.read_events():
            element = cast(etree._Element, given)
            if event == "start":
                self.stack.append(element)
                continue
            if len(self.stack) == len(tags) and tuple(str(each.tag) for each in self.stack) == tags:
                if self.previous is not None and (parent := self.previous.getparent()) is not None:
                    parent.remove(self.previous)
                self.previous = element
                chosen.add(element)
            self.stack.pop()

    @contextmanager
    def named(self) -> Iterator[None]:
        """Translate errors of the parser, and give those of its input the name of the source."""
        try:
            yield
        except etree.XMLSyntaxError as problem:
            error = xml_error(problem, self.refusal)
            raise DataError(error.message, source=self.source, place=error.place) from None
        except DataError as problem:
            raise DataError(problem.message, source=self.source, place=problem.place) from None

    def blocks(self, path: RecordPath | None) -> None:
        size = 0
        while block := self.stream.read(_BLOCK):
            size += len(block)
            self.parser.feed(block)
            for event, element in self.parser.read_events():
                self.event(event, cast(etree._Element, element))
            if self.enough(size, path):
                return
            if size > MAX_RECORD_BYTES:
                raise DataError(f"no record ends within {MAX_RECORD_BYTES >> 20} MB")
        if not size:
            raise DataError("is empty")
        if self.stream.cut:
            return
        refuse_declarations(self.parser.close())
        for event, element in self.parser.read_events():
            self.event(event, cast(etree._Element, element))
        self.ended = True

    def event(self, event: str, element: etree._Element) -> None:
        if self.root is None:
            refuse_declarations(element)
            self.root = element
        if event == "start":
            self.stack.append(element)
            return
        if len(self.stack) <= 8:
            self.times[tuple(str(e.tag) for e in self.stack)] += 1
        self.stack.pop()

    def enough(self, size: int, path: RecordPath | None) -> bool:
        """Return whether there are enough records, or the sample has become too large."""
        if self.root is None or (path is not None and path.whole_file):
            return False
        if path is not None:
            locals_ = tuple(name.rpartition(":")[2] for name in path.names)
            count = sum(n for tags, n in self.times.items() if tuple(_local(t) for t in tags) == locals_)
            return count >= self.most or (size > _MOST and count > 0)
        if size < _LOOK:
            return False
        ranked = _ranked(self.times, str(self.root.tag))
        count = self.times[ranked[0]] if ranked else 0
        return count >= self.most or (size > _MOST and count > 1)

    def open_elements(self) -> set[int]:
        """Return the ids of elements whose end was not read."""
        return set() if self.ended else {id(element) for element in self.stack}


def _local(tag: str) -> str:
    return tag.rpartition("}")[2]


def _ranked(times: Counter[Tags], root: str) -> list[Tags]:
    """Return the paths of outermost repeated elements, the most frequent first."""
    found: list[Tags] = []
    for tags in sorted((t for t in times if len(t) > 1 and t[0] == root), key=len):
        inside = any(tags[: len(outer)] == outer for outer in found)
        if not inside and (times[tags] > 1 or (len(tags) == 2 and _is_plural(tags[0], tags[1]))):
            found.append(tags)
    return sorted(found, key=lambda tags: -times[tags])


def _is_plural(outer: str, inner: str) -> bool:
    """Return whether the root's name is the plural of the element's: patients/patient."""
    outer, inner = _local(outer).lower(), _local(inner).lower()
    return outer in (inner + "s", inner + "es", inner + "list", inner.removesuffix("y") + "ies") and outer != inner


def _choose(root: etree._Element, times: Counter[Tags], prefixes: Prefixes) -> tuple[Tags, str, tuple[str, ...]]:
    ranked = [tags for tags in _ranked(times, str(root.tag)) if all(prefixes.short(tag) for tag in tags)]
    described = [f"{'/'.join(prefixes.short(t) or '' for t in tags)!r} ({times[tags]:,} times)" for tags in ranked]
    if not ranked:
        return (str(root.tag),), "nothing repeats under the root: the document is one record", ()
    why = f"the element that repeats most under the root ({times[ranked[0]]:,} times so far)"
    return ranked[0], why, (*described[1:8], '"." (the document is one record)')


def _tags_of(root: etree._Element, path: RecordPath) -> Tags:
    """Return the qualified tags of a path given in short names, as the document has them."""
    if path.whole_file:
        return (str(root.tag),)
    level: list[Any] = [root]
    tags: list[str] = []
    for name in path.names:
        here = [element for element in level if _local(str(element.tag)) == name.rpartition(":")[2]]
        if not here:
            raise DataError(f"there is no {'/'.join(path.names[: len(tags) + 1])}; check the record path")
        tags.append(str(here[0].tag))
        level = [child for element in here for child in element if isinstance(child.tag, str)]
    return tuple(tags)


def _at(root: etree._Element, tags: Tags) -> list[etree._Element]:
    level = [root] if root.tag == tags[0] else []
    for tag in tags[1:]:
        level = [child for element in level for child in element.iterchildren(tag)]
    return level


_FIELD_DEPTH = 3


def walk_xml(records: Sequence[etree._Element]) -> tuple[Place, Kinds]:
    """Return the places of the records, with elements of mixed kinds separated, and what distinguishes the kinds.

    >>> root, _ = walk_xml([etree.fromstring('<p><v w="1"/><v w="2"/><n>x</n></p>')])
    >>> root.fields["v"].repeated, root.fields["v"].attributes["w"].values.distinct, root.fields["n"].repeated
    (True, 2, False)
    """
    root = _Walk({}).all(records)
    kinds = find_kinds(root)
    return _Walk(kinds).all(records) if kinds else root, kinds


class _Walk:
    def __init__(self, kinds: Kinds) -> None:
        self.kinds = kinds
        self.record = 0
        self.parents: list[int] = []
        self.row = -1

    def all(self, records: Sequence[etree._Element]) -> Place:
        root = Place(None, parents=self.parents)
        for self.record, element in enumerate(records, start=1):
            self.element(root, element)
        return root

    def element(self, place: Place, element: etree._Element) -> None:
        """Count one element and everything in it."""
        place.enter(self.record)
        place.objects += 1
        kind = self.kinds.get(place.path)
        if kind is not None and (constant := _constant(element, kind)) is not None:
            place = place.kind(constant)
            place.enter(self.record)
            place.objects += 1
        elif not self.kinds:
            _note_kinds(place, element)
        around, self.row = self.row, len(self.parents)
        self.parents.append(around)
        for name, value in element.attrib.items():
            self.attribute(place.attribute_named(str(name)), str(value))
        text = mixed_text(element)
        if text is not None:
            place.values.add(text, self.record, quoted=True, row=self.row)
        self.children(place, element)
        self.row = around

    def attribute(self, place: Place, value: str) -> None:
        place.enter(self.record)
        if value and not value.isspace():
            place.values.add(value, self.record, quoted=True, row=self.row)
        else:
            place.absent += 1

    def children(self, place: Place, element: etree._Element) -> None:
        children = [child for child in element if isinstance(child.tag, str) and child.tag != MOVED_TAG]
        times = Counter(child.tag for child in children)
        for child in children:
            at = place.field_named(child.tag)
            if at is not None:
                at.repeated |= times[child.tag] > 1
                self.element(at, child)


def _constant(element: etree._Element, kind: Kind) -> str | None:
    here = [element]
    for name in kind.names:
        if name == "*":
            return next((_local(str(parent[0].tag)) for parent in here if len(parent)), None)
        here = [child for parent in here for child in parent.iterchildren(name)]
    constants = {child.get(kind.attribute or "") for child in here}
    # of several, a document may give one in two versions, but not two
    return constants.pop() if len(constants) == 1 else None


def _note_kinds(place: Place, element: etree._Element) -> None:
    candidates = [Kind((), "type")]
    children = [child for child in element if isinstance(child.tag, str)]
    candidates += _kinds_of(children)
    if len(children) == 1:
        # a wrapper, such as <component> around <section>
        candidates += [Kind((children[0].tag, *kind.names), kind.attribute) for kind in _kinds_of(children[0])]
    # what holds nothing but one object, as <resource> does in FHIR, may say of which kind the object is
    candidates += [Kind((str(child.tag), "*"), None) for child in children if len(child) == 1 and len(child[0])]
    for kind in candidates:
        constant = _constant(element, kind)
        if constant:
            way = kind.names if kind.attribute is None else (*kind.names, f"@{kind.attribute}")
            place.saw(way, constant, set(_fields(element, "", _FIELD_DEPTH)))


def _kinds_of(children: Iterable[etree._Element]) -> list[Kind]:
    """Return the code and the template among children, whose attributes may say a kind."""
    found = []
    for name, attribute in (("code", "code"), ("templateId", "root")):
        tags = [child.tag for child in children if str(child.tag).rpartition("}")[2] == name]
        found += [Kind((tag,), attribute) for tag in tags[:1]]
    return found


def _fields(element: etree._Element, lead: str, depth: int) -> Iterator[str]:
    for name in element.attrib:
        if lead or name != "type":
            yield f"{lead}/@{name!s}"
    for child in element if depth else ():
        yield f"{lead}/{child.tag}"
        yield from _fields(child, f"{lead}/{child.tag}", depth - 1)
