"""What of the classes of a preset occurs in records of XML."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from lxml import etree

from treeanon.io.documents.xml_compile import Qualifier, predicate_holds
from treeanon.schema import Predicate, Step, parse_path


def xml_values_at(element: etree._Element, path: str, namespaces: Mapping[str, str]) -> Iterator[str]:
    """Yield the values that a path leads to in an element.

    >>> record = etree.fromstring('<a><b k="x" v="1"/><b k="y" v="2"/></a>')
    >>> list(xml_values_at(record, "b[@k=y]/@v", {}))
    ['2']
    """
    found, names = parse_path(path, slashed=True), Qualifier(namespaces)
    for holder in _holders(element, found.steps, names):
        value = holder.text if found.attribute is None else holder.get(names.attribute(found.attribute))
        if value and value.strip():
            yield str(value)


def _holders(element: etree._Element, steps: Sequence[Step], names: Qualifier) -> Iterator[etree._Element]:
    if not steps:
        yield element
        return
    step = steps[0]
    for child in element.iterchildren(names.element(step.name or "")):
        if step.predicate is None or _holds(child, step.predicate, names):
            yield from _holders(child, steps[1:], names)


def _holds(element: etree._Element, predicate: Predicate, names: Qualifier) -> bool:
    return predicate_holds(element, *names.predicate(predicate))
