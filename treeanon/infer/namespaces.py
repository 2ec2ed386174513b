"""Prefixes for the namespaces of XML documents, and the names that paths write."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import count

from lxml import etree

from treeanon.schema.layout import MOVED_NAMESPACE

_XML = "http://www.w3.org/XML/1998/namespace"
_INSTANCE = "http://www.w3.org/2001/XMLSchema-instance"
_OF_DOCUMENT = {f"{{{_INSTANCE}}}schemaLocation", f"{{{_INSTANCE}}}noNamespaceSchemaLocation", f"{{{_XML}}}space"}
_NAME = re.compile(r"[^\W\d][\w.·-]*")


class Prefixes:
    """The prefixes of a document's namespaces: its own where they are clear, else made up.

    >>> root = etree.fromstring('<r xmlns="urn:a" xmlns:b="urn:b" b:x="1"/>')
    >>> prefixes = Prefixes([root])
    >>> prefixes.short("{urn:a}r"), prefixes.short("@{urn:b}x"), prefixes.used
    ('r', 'b:x', {'': 'urn:a', 'b': 'urn:b'})
    """

    def __init__(self, elements: Iterable[etree._Element]) -> None:
        self.used: dict[str, str] = {}
        self.own: dict[str, list[str]] = {}
        self.default: str | None = None
        plain, of_attributes = False, set[str]()
        for element in elements:
            for prefix, uri in element.nsmap.items():
                names = self.own.setdefault(uri, [])
                if prefix is not None and prefix not in names:
                    names.append(prefix)
            plain |= not str(element.tag).startswith("{")
            self.default = self.default or element.nsmap.get(None)
            of_attributes |= {str(name)[1:].partition("}")[0] for name in element.attrib if str(name).startswith("{")}
        # Without a prefix an element is in the default namespace: not if some are in none. A namespace has one
        # prefix, and attributes need one that is not empty.
        self.default = None if plain or self.default in of_attributes else self.default

    def short(self, name: str) -> str | None:
        """The name as a path writes it, of a qualified tag or (after @) attribute; None if a path cannot."""
        is_attribute = name.startswith("@")
        tag = name.removeprefix("@")
        uri, _, local = tag[1:].partition("}") if tag.startswith("{") else ("", "", tag)
        if uri == MOVED_NAMESPACE or tag in _OF_DOCUMENT or not _NAME.fullmatch(local):
            return None
        if not uri:
            return local
        if uri == self.default and not is_attribute:
            self.used[""] = uri
            return local
        prefix = "xml" if uri == _XML else self.prefix(uri)
        return f"{prefix}:{local}"

    def prefix(self, uri: str) -> str:
        """The prefix of a namespace, declared from now on."""
        for prefix, known in self.used.items():
            if known == uri and prefix:
                return prefix
        taken = {*self.used, "xml", "xmlns"}
        chosen = next(each for each in self._proposals(uri) if each not in taken and _NAME.fullmatch(each))
        self.used[chosen] = uri
        return chosen

    def _proposals(self, uri: str) -> Iterator[str]:
        yield from self.own.get(uri, ())
        yield from (f"n{number}" for number in count(1))


def all_elements(roots: Iterable[etree._Element]) -> Iterator[etree._Element]:
    """Every element under the roots, and what encloses each root."""
    for root in roots:
        yield from (element for element in root.iterancestors() if isinstance(element.tag, str))
        yield from (element for element in root.iter() if isinstance(element.tag, str))
