"""Counts of what reading left out: never a value, nor a key that is one of too many to be a name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from treeanon.forest.classes import FacetTexts, facet_counts
from treeanon.schema import Schema

LONG_KEY = 100
"""Largest length of a key that counts as a name."""

RARE_KEYS = 8
"""Number of keys that occur only once in one place from which they count as data."""

MANY_KEYS = 50
"""Largest number of unnamed keys in one place that are counted separately: more are data, not names."""


class Dropped:
    """Counts of fields that the schema does not name, by the place they stand in and their key.

    >>> dropped = Dropped()
    >>> dropped.add("visits[].", "note", 3)
    >>> dropped.add_shapes("", {("age", "id"): 2, ("id",): 1}, frozenset({"age"}))
    >>> dropped.paths()
    {'id': 3, 'visits[].note': 3}
    """

    def __init__(self) -> None:
        self.places: dict[str, Counter[str]] = {}
        self.folded: Counter[str] = Counter()

    def add(self, place: str, key: str, times: int) -> None:
        """Count a field."""
        counts = self.places.setdefault(place, Counter())
        if place in self.folded:
            self.folded[place] += times
            return
        if len(key) > LONG_KEY:
            key = f"(a name of over {LONG_KEY} characters)"
        counts[key] += times
        if len(counts) > MANY_KEYS:
            self.folded[place] = counts.total()
            counts.clear()

    def add_shapes(self, place: str, shapes: Mapping[tuple[str, ...], int], named: frozenset[str]) -> None:
        """Count the keys that are not named, of objects of these shapes (tuples of keys)."""
        for keys, times in shapes.items():
            for key in keys:
                if key not in named:
                    self.add(place, key, times)

    def add_keys(self, place: str, keys: Iterable[str], named: frozenset[str]) -> None:
        """Count the keys of one object that are not named."""
        self.add_shapes(place, {tuple(keys): 1}, named)

    def update(self, other: Dropped) -> None:
        """Add the counts of another part of the same input."""
        for place, counts in other.places.items():
            for key, times in counts.items():
                self.add(place, key, times)
        for place, times in other.folded.items():
            self.folded[place] += self.places.pop(place, Counter()).total() + times

    def total(self) -> int:
        """Return the number of fields dropped."""
        return sum(counts.total() for counts in self.places.values()) + self.folded.total()

    def paths(self) -> dict[str, int]:
        """Count by whole path, most frequent first."""
        flat: Counter[str] = Counter()
        for place, times in self.folded.items():
            flat[place + "*"] += times
        for place, counts in self.places.items():
            rare = sum(times == 1 for times in counts.values())
            for key, times in counts.items():
                flat[place + ("*" if times == 1 and rare >= RARE_KEYS else key)] += times
        return dict(sorted(flat.items(), key=lambda item: (-item[1], item[0])))


@dataclass(frozen=True)
class Origin:
    """What was read: data or the path of an input, its schema and delimiter, how many records there were, and how many
    cores were used.
    """

    data: Any
    schema: Schema
    delimiter: str = ""
    skip: bool = False
    records: int = 0
    jobs: int = 1

    @property
    def data_stays(self) -> bool:
        """Whether the input can be read again, as standard input cannot."""
        return not isinstance(self.data, str) or self.data != "-"


@dataclass
class ReadReport:
    """What reading left out: fields by path, broken records, repeated keys, unknown values by class.

    `facets` has by class and facet what was read of it, and where records disagree.

    `shifted` counts by class the dates that were moved, each person's by a span of up to `shift_days` (0: none were);
    `unshifted` are the classes of dates that stayed.

    `whole` is the forest of whole objects of what was read as merged trees, once somebody has asked for it.

    `padded` counts by class the typed values that had white space around them, which was taken away.

    Of tables: rows whose foreign key names no row (by key), that lead back to themselves (by key), that belong to no
    person (by table), that hold values but that nobody has by any path, and looked-up rows that are equal to others (by
    table); the tables that no path goes through; the rows of key columns, which releases have made anew; and what of
    the input could not be taken for tables or keys. Of a file of rows: the delimiter that its header was found to have.

    Of documents: references to what is not there (`dangling`), and objects without the reference that a key with
    inside = false would give them in a release, or with another (`unsaid`, by the number of the key and its field):
    such a key is then not written. `shared` counts by key what lists refer to after another list did: it lies in both.

    `broken` are the records that were skipped: their sources and places.
    """

    dropped: Dropped = field(default_factory=Dropped)
    skipped: int = 0
    duplicate_keys: int = 0
    unknown: Counter[str] = field(default_factory=Counter)
    padded: Counter[str] = field(default_factory=Counter)
    origin: Origin | None = field(default=None, repr=False, compare=False)
    whole: Any = field(default=None, repr=False, compare=False)
    is_one_each: bool = field(default=False, repr=False, compare=False)
    files: int = 0
    ignored_files: int = 0
    rows: int = 0
    is_relational: bool = False
    dangling: Counter[str] = field(default_factory=Counter)
    circles: Counter[str] = field(default_factory=Counter)
    ownerless: Counter[str] = field(default_factory=Counter)
    unreached: Counter[str] = field(default_factory=Counter)
    unmerged: Counter[str] = field(default_factory=Counter)
    unread_tables: list[str] = field(default_factory=list)
    keys: dict[str, int] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)
    delimiter: str = ""
    broken: set[tuple[str, str]] = field(default_factory=set)
    facets: Mapping[tuple[str, str], FacetTexts] = field(default_factory=dict)
    shifted: Counter[str] = field(default_factory=Counter)
    shift_days: int = 0
    unshifted: tuple[str, ...] = ()
    unsaid: Counter[tuple[int, str]] = field(default_factory=Counter)
    shared: Counter[str] = field(default_factory=Counter)

    def skip(self, source: str, place: str) -> None:
        """Count a broken record that is left out."""
        self.skipped += 1
        self.broken.add((source, place))

    def add(self, other: ReadReport) -> None:
        """Add the counts of another part of the same input."""
        self.dropped.update(other.dropped)
        self.unknown.update(other.unknown)
        self.padded.update(other.padded)
        self.skipped += other.skipped
        self.broken |= other.broken
        self.duplicate_keys += other.duplicate_keys
        self.rows += other.rows
        self.files += other.files
        self.ignored_files += other.ignored_files
        self.is_relational |= other.is_relational
        self.dangling.update(other.dangling)
        self.unsaid.update(other.unsaid)
        self.shared.update(other.shared)
        self.circles.update(other.circles)
        self.ownerless.update(other.ownerless)
        self.unreached.update(other.unreached)
        self.unmerged.update(other.unmerged)
        self.unread_tables += other.unread_tables
        self.keys.update(other.keys)
        self.left_out += other.left_out

    def strays(self) -> list[str]:
        """Return what tables hold beside the persons' trees and a release must not, a line each."""
        what, one = ("rows", "a row") if self.is_relational or self.rows else ("objects", "an object")
        rows = (
            (self.dangling, f"{what} refer to {one} that is not there, by {{}}"),
            (self.circles, "rows refer to each other in circles, by {}"),
            (self.unreached, "rows of {} hold values, but belong to nobody"),
            (self.unmerged, "rows of {} are equal to others: which one is referred to says more than they do"),
        )
        lines = [f"{times:,} {words.format(name)}" for found, words in rows for name, times in found.items() if times]
        lines += [f"table {name} is on no path" for name in sorted(self.unread_tables)]
        return lines + self.left_out

    def as_dict(self) -> dict[str, object]:
        """Return the counts as plain data."""
        counts: dict[str, object] = {
            "dropped": self.dropped.paths(),
            "skipped_records": self.skipped,
            "records_with_duplicate_keys": self.duplicate_keys,
            "unknown_values_suppressed": dict(self.unknown),
            "files": self.files,
            "ignored_files": self.ignored_files,
        }
        if self.rows:
            counts["rows_of_persons"] = self.rows
        if self.facets:
            counts["facets"] = facet_counts(self.facets)
        if self.shift_days:
            counts["shifted_dates"] = {
                "days": self.shift_days,
                "values": dict(self.shifted),
                "not_moved": list(self.unshifted),
            }
        if self.dangling or self.is_relational:
            counts["dangling_keys" if self.is_relational or self.rows else "dangling_references"] = dict(self.dangling)
        if unsaid := {key: objects for (_, key), objects in self.unsaid.items() if objects}:
            counts["references_not_written"] = unsaid
        if self.shared:
            counts["listed_again"] = dict(self.shared)
        if not self.is_relational:
            return counts
        return counts | {
            "rows_in_circles": dict(self.circles),
            "rows_of_nobody": {table: rows for table, rows in self.ownerless.items() if rows},
            "unreached_rows_with_values": dict(self.unreached),
            "equal_looked_up_rows": dict(self.unmerged),
            "tables_not_read": sorted(self.unread_tables),
            "keys_made_anew": dict(self.keys),
            "left_out": list(self.left_out),
        }


def shift_lines(moved: Mapping[str, Any]) -> list[str]:
    """Return what is to be said of moved dates, which `ReadReport.as_dict` counts.

    >>> shift_lines({"days": 365, "values": {"visit": 1200, "birth": 300}})[0]
    'Dates moved: visit (1,200 values), birth (300 values)'
    """
    if not moved:
        return []
    still = moved.get("not_moved", ())
    values = ", ".join(f"{name} ({times:,} values)" for name, times in moved["values"].items())
    return [
        f"Dates moved: {values}",
        f"All dates of a person by one secret span of up to {moved['days']:,} days, so that what lies between them is"
        " kept. Who knows more than m dates of a person may know the person by that.",
        *([f"Dates that stayed, and may tell the span: {', '.join(still)}"] if still else []),
    ]
