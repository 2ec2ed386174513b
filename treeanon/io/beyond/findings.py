"""Kinds and numbers of what the reader of a file sees and the count of a release does not: never with values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, TypeVar

from treeanon.errors import UsageError
from treeanon.forest.report import ReadReport

V = TypeVar("V")

KINDS: Mapping[str, str] = {
    "fields": "fields that the schema does not name or withholds",
    "keys": "keys and ids that are more than numbers, that nothing refers to, or that refer to nothing",
    "content": "content beside the records",
    "repeated-keys": "keys that an object holds twice",
    "comments": "comments",
    "instructions": "processing instructions",
    "namespaces": "namespaces declared within records, or names with several prefixes",
    "ids": "ids of records that are more than their numbers",
    "nulls": "nulls",
    "empty": "empty values, objects, arrays or elements",
    "repeats": "repeats, which a release has once",
    "spellings": "values in another spelling than that of a release",
    "white-space": "white space around values, or that is not the same everywhere",
    "order": "objects in another order than that of a release",
    "facets": "facets that say more than their value: not the same, not there, or without it",
    "form": "records in another form than that of a release",
    "file-names": "names of files that are more than numbers",
    "ignored-files": "files that were not read",
    "metadata": "metadata of the file",
    "unknown-values": "values that a hierarchy does not contain, and that were counted as general ones",
}
"""What a file can hold beyond what is counted: the names of kinds, and what each is."""

UNKNOWN = "unknown-values"
"""The kind that cannot be ignored: it makes the count itself wrong."""


@dataclass(frozen=True)
class Finding:
    """How often a file holds one kind of what the count does not see."""

    kind: str
    number: int

    @property
    def sentence(self) -> str:
        """Return the finding for people."""
        return f"{self.kind}: {self.number:,} ({KINDS[self.kind]})"


@dataclass
class Findings:
    """Counter of findings by kind; it also knows what was the same everywhere so far.

    >>> found = Findings()
    >>> for gap in ("", " ", ""):
    ...     found.uniform("white-space", "after a comma", gap)
    >>> found.sequence("a person", ("age", "sex"))
    >>> found.sequence("a person", ("sex", "zip", "age"))
    >>> dict(found.counts)
    {'white-space': 1, 'order': 1}
    """

    counts: Counter[str] = field(default_factory=Counter)
    _first: dict[Hashable, Hashable] = field(default_factory=dict)
    _before: set[Hashable] = field(default_factory=set)
    _sequences: dict[Hashable, bool] = field(default_factory=dict)

    def add(self, kind: str, times: int = 1) -> None:
        """Count a finding."""
        self.counts[kind] += times

    def uniform(self, kind: str, place: Hashable, form: Hashable) -> None:
        """Count a form that is not that of the same place before: what is the same everywhere says nothing."""
        if self._first.setdefault((kind, place), form) != form:
            self.counts[kind] += 1

    def sequence(self, place: Hashable, names: tuple[str, ...]) -> None:
        """Count names that stand in another order than before."""
        known = self._sequences.get((place, names))
        if known is None:
            pairs = {(place, a, b) for at, a in enumerate(names) for b in names[at + 1 :]}
            known = any((place, b, a) in self._before for _, a, b in pairs)
            if not known:
                self._before |= pairs
            self._sequences[place, names] = known
        self.counts["order"] += known

    def add_report(self, report: ReadReport) -> None:
        """Count what reading has left out."""
        self.add("fields", report.dropped.total())
        self.add("keys", sum(report.keys.values()))
        self.add("content", len(report.strays()))
        self.add("white-space", report.padded.total())
        self.add("ignored-files", report.ignored_files)
        self.add("facets", sum(texts.beyond() for texts in report.facets.values()))
        self.add("unknown-values", report.unknown.total())

    def without(self, ignored: Collection[str]) -> tuple[Finding, ...]:
        """Return the findings of kinds that are not to be ignored, in the order of the kinds."""
        check_kinds(ignored)
        return tuple(Finding(kind, self.counts[kind]) for kind in KINDS if self.counts[kind] and kind not in ignored)


def check_kinds(ignored: Collection[str]) -> None:
    """Check that these are kinds that can be ignored; UsageError lists what there is."""
    known = [kind for kind in KINDS if kind != UNKNOWN]
    if wrong := [kind for kind in ignored if kind not in known]:
        raise UsageError(f"unknown kind {wrong[0]!r} to ignore; choose from {', '.join(known)}")


def said_of(found: Sequence[Finding], verdict: str) -> str:
    """Return the sentence of a verdict on what was counted, after what a file holds beyond it, if anything.

    >>> said_of([Finding("comments", 2), Finding("nulls", 1)], "5-anonymity holds.")
    'Does not hold: the release holds more than is counted: comments (2), nulls (1). What is counted: 5-anonymity \
holds.'
    """
    if not found:
        return verdict
    kinds = ", ".join(f"{one.kind} ({one.number:,})" for one in found)
    return f"Does not hold: the release holds more than is counted: {kinds}. What is counted: {verdict}"


def found_beyond(verdict: V, found: tuple[Finding, ...]) -> V:
    """Return a verdict on what was counted with what was not: then it does not hold."""
    kept: dict[str, Any] = {"beyond": found}
    if found and "holds" in {field.name for field in fields(verdict)}:  # type: ignore[arg-type]
        kept["holds"] = False
    return replace(verdict, **kept)  # type: ignore[type-var]


def as_data(found: Sequence[Finding]) -> dict[str, Any]:
    """Return findings as plain data of a verdict: nothing, if there are none."""
    return {"beyond": {one.kind: one.number for one in found}} if found else {}
