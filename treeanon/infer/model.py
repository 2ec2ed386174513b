"""Findings from a sample as plain data, each with the reason for it, and the prefixes of XML namespaces."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count
from typing import Any, BinaryIO

from lxml import etree

from treeanon.formats import FORMATS, Format
from treeanon.infer.sampling import spread
from treeanon.io.sources import Source
from treeanon.schema import FieldPath, RecordPath
from treeanon.schema.keys import ForeignKey
from treeanon.schema.layout import MOVED_NAMESPACE
from treeanon.schema.model import FileKey, FileSpec, Reference, Role, ValueType

_XML = "http://www.w3.org/XML/1998/namespace"
_INSTANCE = "http://www.w3.org/2001/XMLSchema-instance"
_OF_DOCUMENT = {f"{{{_INSTANCE}}}schemaLocation", f"{{{_INSTANCE}}}noNamespaceSchemaLocation", f"{{{_XML}}}space"}
_NAME = re.compile(r"[^\W\d][\w.·-]*")


class Prefixes:
    """The prefixes of a document's namespaces: its own where they are unique, else invented ones.

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
        """Return a qualified tag or (after @) attribute as a path writes it; None if a path cannot."""
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
        """Return the prefix of a namespace, and declare it."""
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
    """Yield every element under the roots, and the elements that enclose each root."""
    for root in roots:
        yield from (element for element in root.iterancestors() if isinstance(element.tag, str))
        yield from (element for element in root.iter() if isinstance(element.tag, str))


@dataclass(frozen=True)
class ProposedKeys:
    """The foreign keys that the proposed paths follow: those that the input declares and those `found`, with why.

    `places` has, for each child table, the key by which its rows belong to a person, in words.
    """

    declared: tuple[ForeignKey, ...] = ()
    found: tuple[tuple[ForeignKey, str], ...] = ()
    places: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Sample:
    """Records of an input, from its beginning, middle and end, and where they were found.

    `whole` says whether they are all there is, `total` how many there are, if that is known; `unseen` says what was not
    looked at. `record_why` and `others` explain the record path.
    """

    format: str
    record: RecordPath | None
    records: list[Any]
    whole: bool
    record_why: str = ""
    others: tuple[str, ...] = ()
    prefixes: Prefixes | None = None
    keys: ProposedKeys | None = None
    total: int | None = None
    unseen: tuple[str, ...] = ()


class Head:
    """A stream of which only the first bytes are read; it is `cut` once there proved to be more."""

    def __init__(self, stream: BinaryIO, most: int | None) -> None:
        self.stream, self.left, self.cut = stream, 1 << 62 if most is None else most, False

    def read(self, size: int = -1) -> bytes:
        """Return bytes as files do."""
        if not self.left:
            self.cut = self.cut or bool(self.stream.read(1))
            return b""
        found = self.stream.read(self.left if size < 0 else min(size, self.left))
        self.left -= len(found)
        return found


@dataclass(frozen=True)
class SampleRequest:
    """The parameters of a format's `sample` function: the documents, and how many records are wanted.

    `record` is the record path asked for, if the format has one: of a `collection` of files it says at least whether
    each file is one record. The function returns a `Sample` whose records are objects as parsed from JSON.
    """

    format: Format
    items: tuple[Source, ...]
    record: RecordPath | None
    most: int
    collection: bool = False
    within: int | None = None
    """Of documents that need not be read to their ends so many bytes are looked at (None: all)."""

    def shares(self) -> Iterator[tuple[str, BinaryIO, Callable[[int], int]]]:
        """Yield each document to look at, with its name, bytes, and what says how many records it should give.

        That is asked with the number of records that there are by then, so that short documents leave room for others.
        """
        chosen = spread(len(self.items), self.most)
        for at, number in enumerate(chosen):
            item = self.items[number]
            with item.open() as stream:
                yield item.name, stream, partial(_share, self.most, len(chosen) - at)

    @property
    def unseen(self) -> tuple[str, ...]:
        """What is not looked at, in words: files beyond the number of records."""
        left = len(self.items) - len(spread(len(self.items), self.most))
        return (f"{left:,} of {len(self.items):,} files were not looked at; --sample takes more",) if left else ()

    def of_documents(self, sample: Callable[[BinaryIO, str, RecordPath | None, int], Sample]) -> Sample:
        """Return records of all documents, given what samples one: (bytes, name, record path, most)."""
        records: list[Any] = []
        whole, total = not self.unseen, 0
        first: Sample | None = None
        for name, stream, share in self.shares():
            found = sample(stream, name, self.record, share(len(records)))
            first = first or found
            records += found.records
            whole &= found.whole
            total += found.total or len(found.records)
        assert first is not None
        if not self.collection:
            return first
        return replace(first, records=records, whole=whole, others=(), total=total, unseen=self.unseen)

    def of_whole_files(self, record: Callable[[Source], Any]) -> Sample:
        """Return the records of files that are one record each."""
        found = [record(self.items[number]) for number in spread(len(self.items), self.most)]
        why, total = "each file is one record", len(self.items)
        return Sample(self.format.name, self.record, found, not self.unseen, why, total=total, unseen=self.unseen)


def _share(most: int, documents: int, have: int) -> int:
    """Return how many records the next of some documents should give, if there are some already."""
    return max(1, -(-(most - have) // documents))


@dataclass(frozen=True)
class Finding:
    """One class that the schema will declare; `facts` has the counts, `why` the reason for role and hierarchy.

    `hierarchy` is a builder, or the name of a file; `asked` says why it would be withheld, had its owner not asked for
    it.

    >>> Finding("age", None, "integer").decision
    'flat'
    """

    name: str
    path: FieldPath | None
    type: ValueType = "text"
    role: Role = "quasi"
    under: str | None = None
    hierarchy: Mapping[str, object] | str | None = None
    why: str = ""
    asked: str = ""
    facets: Mapping[str, FieldPath] = field(default_factory=dict)
    facts: str = ""
    place: str = ""
    records: int = 0
    occurrences: int = 0
    distinct: int = 0

    @property
    def published(self) -> bool:
        """Whether values of this class would become nodes of the trees."""
        return self.role == "quasi"

    @property
    def decision(self) -> str:
        """The role or, for what is published, the kind of hierarchy."""
        if self.published and isinstance(self.hierarchy, str):
            return "file"
        return next(iter(self.hierarchy or {"flat": True})) if self.published else self.role


@dataclass(frozen=True)
class LeftOut:
    """A place of the documents that the schema does not name, and why."""

    path: str
    why: str


@dataclass(frozen=True)
class Repeat:
    """A field that looks like the id of a person, and how many values it has in how many records.

    `text` is the field's path as schemas write it; `why` says what it looks like.

    >>> from treeanon.schema.paths import Step
    >>> Repeat(FieldPath((Step("pid"),)), "pid", 20, 5, "its name").repeats
    True
    """

    path: FieldPath
    text: str
    records: int
    distinct: int
    why: str

    @property
    def repeats(self) -> bool:
        """Whether some record has the value of another."""
        return self.distinct < self.records


@dataclass(frozen=True)
class Findings:
    """The content of a proposed schema: where records are, the classes in order, and what was left out.

    `parents` says what each published class lies under, None for the record; `warnings` what the user must know;
    `objects` how many objects of each kind the sample holds, by path; `person` the field that says whose a record is,
    where records of the sample share its values; `files` the kinds of files that a record comes from, with their keys.
    """

    sample: Sample
    classes: tuple[Finding, ...]
    left_out: tuple[LeftOut, ...] = ()
    namespaces: Mapping[str, str] = field(default_factory=dict)
    parents: Mapping[str, str | None] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    objects: Mapping[str, int] = field(default_factory=dict)
    person: Repeat | None = None
    files: tuple[FileSpec, ...] = ()
    file_keys: tuple[FileKey, ...] = ()
    references: tuple[Reference, ...] = ()

    @property
    def form(self) -> Format:
        """The format's entry in the table of formats."""
        return FORMATS[self.sample.format]

    @property
    def slashed(self) -> bool:
        """Whether paths are written as those of XML."""
        return self.form.slashed

    @property
    def is_relational(self) -> bool:
        """Whether the input is tables tied by foreign keys."""
        return self.form.is_relational

    @property
    def is_flat(self) -> bool:
        """Whether the input is one table of which each row is one person."""
        return self.form.is_rows

    @property
    def keeps_objects(self) -> bool:
        """Whether the schema has objects that can stay whole."""
        if self.form.names_classes:
            return False
        if self.files or self.person is not None or self.is_relational:
            return True
        paths = (found.path for found in self.classes if found.published)
        return any(step.repeated for path in paths if path is not None for step in path.steps)

    @property
    def extent(self) -> str:
        """The sample in words."""
        count, total = len(self.sample.records), self.sample.total
        if self.sample.whole:
            return f"all {count:,} records" if count > 1 else "the one record"
        if total is not None and total > count:
            return f"{count:,} of {total:,} records, from the beginning, middle and end"
        return f"the first {count:,} records" if count > 1 else "the first record"

    def with_parents(self, parents: Mapping[str, str | None]) -> Findings:
        """Return the findings with the class that each class lies under (None: the record)."""
        return replace(self, parents=parents)

    def as_dict(self) -> dict[str, Any]:
        """Return the findings as plain data, for JSON; no value of the data is in them."""
        made = {
            "format": self.sample.format,
            "record": self.record_text or None,
            "record_why": self.sample.record_why,
            "other_records": list(self.sample.others),
            "records": len(self.sample.records),
            "whole_input": self.sample.whole,
            "total": self.sample.total,
            "not_looked_at": list(self.sample.unseen),
            "objects": dict(self.objects),
            "namespaces": dict(self.namespaces),
            "classes": [self._class(found) for found in self.classes],
            "left_out": [{"path": left.path, "why": left.why} for left in self.left_out],
        }
        if self.person is not None:
            made["person"] = {"path": self.person.text, "why": self.person.why}
        if self.files:
            made["files"] = [{"name": one.name, "person": one.person.text(slashed=False)} for one in self.files]
        if self.references:
            made["references"] = [
                {
                    "from": key.path.text(slashed=self.slashed),
                    "to": key.target.text(slashed=self.slashed),
                    "inside": key.inside,
                }
                for key in self.references
            ]
        if self.sample.keys is not None:
            made["keys"] = self._keys(self.sample.keys)
        if self.sample.keys is not None or self.is_flat:
            made["warnings"] = list(self.warnings)
        return made

    @property
    def record_text(self) -> str:
        """Where one person is, as the schema writes it; empty for formats that have no record path."""
        from treeanon.schema.dump import record_text

        record = self.sample.record
        if record is None:
            return ""
        return record.names[0] if self.is_relational else record_text(record, self.slashed)

    def _keys(self, keys: ProposedKeys) -> list[dict[str, Any]]:
        declared = [{"key": str(key), "declared": True, "why": "declared by the input"} for key in keys.declared]
        return [*declared, *({"key": str(key), "declared": False, "why": why} for key, why in keys.found)]

    def _class(self, found: Finding) -> dict[str, Any]:
        return {
            "name": found.name,
            "path": None if found.path is None else found.path.text(slashed=self.slashed),
            "type": found.type,
            "role": found.role,
            "under": self.parents.get(found.name) if found.published else None,
            "hierarchy": dict(found.hierarchy) if isinstance(found.hierarchy, Mapping) else found.hierarchy,
            "records": found.records,
            "occurrences": found.occurrences,
            "distinct": found.distinct,
            "facets": {name: path.text(slashed=self.slashed) for name, path in found.facets.items()},
            "why": found.why,
        }
