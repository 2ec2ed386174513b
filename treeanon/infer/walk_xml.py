"""Walks XML elements and counts what stands where."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from lxml import etree

from treeanon.infer.kinds import Kind, Kinds, find_kinds
from treeanon.infer.stats import Place
from treeanon.io.documents.xml_compile import MOVED_TAG, mixed_text

_FIELD_DEPTH = 3


def walk_xml(records: Sequence[etree._Element]) -> tuple[Place, Kinds]:
    """What stands where in the records, items of mixed kinds apart, and how the kinds are told apart.

    >>> root, _ = walk_xml([etree.fromstring('<p><v w="1"/><v w="2"/><n>x</n></p>')])
    >>> root.fields["v"].repeated, root.fields["v"].attributes["w"].values.distinct, root.fields["n"].repeated
    (True, 2, False)
    """
    kinds = find_kinds(_Walk({}).all(records))
    return _Walk(kinds).all(records), kinds


class _Walk:
    def __init__(self, kinds: Kinds) -> None:
        self.kinds = kinds
        self.record = 0

    def all(self, records: Sequence[etree._Element]) -> Place:
        root = Place(None)
        for self.record, element in enumerate(records, start=1):
            self.element(root, element)
        return root

    def element(self, place: Place, element: etree._Element) -> None:
        """Counts one element with all that is in it."""
        place.enter(self.record)
        place.objects += 1
        kind = self.kinds.get(place.path)
        if kind is not None and (constant := _constant(element, kind)) is not None:
            place = place.kind(constant)
            place.enter(self.record)
            place.objects += 1
        elif not self.kinds:
            _note_kinds(place, element)
        for name, value in element.attrib.items():
            self.attribute(place.attribute_named(str(name)), str(value))
        text = mixed_text(element)
        if text is not None:
            place.values.add(text, self.record, quoted=True)
        self.children(place, element)

    def attribute(self, place: Place, value: str) -> None:
        place.enter(self.record)
        if value and not value.isspace():
            place.values.add(value, self.record, quoted=True)
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
    here = element
    for name in kind.names:
        below = list(here.iterchildren(name))
        if len(below) != 1:
            return None
        here = below[0]
    return here.get(kind.attribute or "")


def _note_kinds(place: Place, element: etree._Element) -> None:
    candidates = [Kind((), "type")]
    children = [child for child in element if isinstance(child.tag, str)]
    candidates += [Kind((code,), "code") for code in _codes(children)]
    if len(children) == 1:
        # a wrapper, such as <component> around <section>
        candidates += [Kind((children[0].tag, code), "code") for code in _codes(children[0])]
    for kind in candidates:
        constant = _constant(element, kind)
        if constant:
            place.saw((*kind.names, f"@{kind.attribute}"), constant, set(_fields(element, "", _FIELD_DEPTH)))


def _codes(children: Iterable[etree._Element]) -> list[str]:
    """The tag of the first child that is named code, if there is one."""
    return [child.tag for child in children if str(child.tag).rpartition("}")[2] == "code"][:1]


def _fields(element: etree._Element, lead: str, depth: int) -> Iterator[str]:
    for name in element.attrib:
        if lead or name != "type":
            yield f"{lead}/@{name!s}"
    for child in element if depth else ():
        yield f"{lead}/{child.tag}"
        yield from _fields(child, f"{lead}/{child.tag}", depth - 1)
