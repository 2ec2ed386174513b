"""What looking at a sample gives: findings as plain data, each with the reason for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from treeanon.schema import FieldPath, RecordPath
from treeanon.schema.keys import ForeignKey
from treeanon.schema.model import FLAT, RELATIONAL, Role, ValueType

if TYPE_CHECKING:
    from treeanon.infer.namespaces import Prefixes


@dataclass(frozen=True)
class ProposedKeys:
    """The foreign keys that the proposed paths follow: those that the input declares and those `found`, with why.

    `places` say of child tables, as sections name them, by which key their rows belong to a person.
    """

    declared: tuple[ForeignKey, ...] = ()
    found: tuple[tuple[ForeignKey, str], ...] = ()
    places: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Sample:
    """The first records of an input, and where they were found.

    `whole` says whether they are all there is; `record_why` and `others` explain the record path.
    """

    format: str
    record: RecordPath | None
    records: list[Any]
    whole: bool
    record_why: str = ""
    others: tuple[str, ...] = ()
    prefixes: Prefixes | None = None
    keys: ProposedKeys | None = None


@dataclass(frozen=True)
class Finding:
    """One class that the schema will declare; `facts` tell what was counted, `why` the reason for role and hierarchy.

    `hierarchy` is a builder, or the name of a file.

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
class Findings:
    """All that the schema is made of: where records are, the classes in order, and what was left out.

    `parents` says what each published class lies under, None for the record; `warnings` what the user must know.
    """

    sample: Sample
    classes: tuple[Finding, ...]
    left_out: tuple[LeftOut, ...] = ()
    namespaces: Mapping[str, str] = field(default_factory=dict)
    parents: Mapping[str, str | None] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    @property
    def slashed(self) -> bool:
        """Whether paths are written as those of XML."""
        return self.sample.format == "xml"

    @property
    def is_relational(self) -> bool:
        """Whether the input is tables tied by foreign keys."""
        return self.sample.format in RELATIONAL

    @property
    def is_flat(self) -> bool:
        """Whether the input is one table of which each row is one person."""
        return self.sample.format in FLAT

    @property
    def extent(self) -> str:
        """The sample in words."""
        count = len(self.sample.records)
        if self.sample.whole:
            return f"all {count:,} records" if count > 1 else "the one record"
        return f"the first {count:,} records" if count > 1 else "the first record"

    def with_parents(self, parents: Mapping[str, str | None]) -> Findings:
        """The same, knowing which class each class lies under (None: the record)."""
        return replace(self, parents=parents)

    def as_dict(self) -> dict[str, Any]:
        """The findings as plain data, for JSON; no value of the data is in them."""
        record = self.sample.record
        made = {
            "format": self.sample.format,
            "record": None if record is None else self._record(record),
            "record_why": self.sample.record_why,
            "other_records": list(self.sample.others),
            "records": len(self.sample.records),
            "whole_input": self.sample.whole,
            "namespaces": dict(self.namespaces),
            "classes": [self._class(found) for found in self.classes],
            "left_out": [{"path": left.path, "why": left.why} for left in self.left_out],
        }
        if self.sample.keys is not None:
            made["keys"] = self._keys(self.sample.keys)
        if self.sample.keys is not None or self.is_flat:
            made["warnings"] = list(self.warnings)
        return made

    def _record(self, record: RecordPath) -> str:
        from treeanon.schema.dump import record_text

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
            "why": found.why,
        }
