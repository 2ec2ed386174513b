"""What a sample takes, from the beginning, middle and end of an input, and what is counted in it."""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field, replace
from operator import itemgetter
from random import Random
from typing import Generic, TypeVar

import numpy as np

from treeanon.errors import DataError, UsageError
from treeanon.hierarchy import Flat
from treeanon.io import read
from treeanon.io.sources import find_sources
from treeanon.schema import ClassSpec, Schema

T = TypeVar("T")


def spread(count: int, most: int) -> list[int]:
    """Return the numbers of at most so many of a count of things, from their beginning, middle and end.

    >>> spread(3, 9), spread(100, 6)
    ([0, 1, 2], [0, 1, 49, 50, 98, 99])
    """
    if count <= most:
        return list(range(count))
    third = -(-most // 3)
    last = min(third, most - third)
    middle = most - third - last
    start = (count - middle) // 2
    return [*range(third), *range(start, start + middle), *range(count - last, count)]


class Spread(Generic[T]):
    """A collector of at most so many of a stream of things, whose number is known only at its end.

    The first third are kept as they come, the last as well; of those between them, a part drawn evenly.

    >>> spread = Spread(6)
    >>> for number in range(1000): spread.add(number)
    >>> found = spread.all()
    >>> found[:2], found[-2:], len(found), spread.count
    ([0, 1], [998, 999], 6, 1000)
    """

    def __init__(self, most: int) -> None:
        self.first: list[T] = []
        self.last: deque[T] = deque()
        self.between: list[tuple[int, T]] = []
        self.count = 0
        self.sizes = (-(-most // 3), most - -(-most // 3) - (most // 3), most // 3)
        # which records are looked at protects nobody: the same input should give the same schema
        self.chance = Random(0)

    def add(self, thing: T) -> None:
        """Take the next thing."""
        self.count += 1
        of_first, of_between, of_last = self.sizes
        if len(self.first) < of_first:
            self.first.append(thing)
            return
        self.last.append(thing)
        if len(self.last) <= of_last:
            return
        number = self.count - of_last
        passed = number, self.last.popleft()
        if len(self.between) < of_between:
            self.between.append(passed)
        elif of_between and (at := self.chance.randrange(number - of_first)) < of_between:
            self.between[at] = passed

    def all(self) -> list[T]:
        """Return what was kept, in order."""
        return [*self.first, *(thing for _, thing in sorted(self.between, key=itemgetter(0))), *self.last]


MOST_KEYS = 2_000
"""Number of distinct keys in one place from which they are surely data; further ones are ignored."""

MOST_KINDS = 300
"""Number of distinct constants of one field from which they are surely values, and no kinds."""

Names = tuple[str | None, ...]


@dataclass
class Values:
    """The values at one place as texts, and how many of them JSON gave as strings.

    >>> values = Values()
    >>> values.add("a", 1, quoted=True)
    >>> values.add("a", 1, quoted=True)
    >>> values.occurrences, values.distinct, values.records
    (2, 1, 1)
    """

    counts: Counter[str] = field(default_factory=Counter)
    quoted: int = 0
    occurrences: int = 0
    records: int = 0
    last: int = 0
    texts: list[str] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)

    def add(self, text: str, record: int, *, quoted: bool, row: int = -1) -> None:
        """Count a value in a record, and in the object (a row) that holds it.

        Records are numbered from 1, and come in order; rows from 0.
        """
        self.counts[text] += 1
        if row >= 0:
            self.texts.append(text)
            self.rows.append(row)
        self.occurrences += 1
        self.quoted += quoted
        if self.last != record:
            self.last = record
            self.records += 1

    @property
    def distinct(self) -> int:
        """The number of distinct values."""
        return len(self.counts)


@dataclass
class Evidence:
    """For one field that may distinguish kinds of items: each constant and the fields seen beside it."""

    kinds: dict[str, set[str]] = field(default_factory=dict)
    items: int = 0


@dataclass
class Place:
    """One place of the documents, and everything seen there.

    `fields` are keys or child elements, `items` what stands in arrays directly in an array here; `kinds` holds the
    instances separated by a constant in them, if that was requested. The place of the records has in `parents` for each
    object of the sample the one that holds it, -1 for the records.
    """

    name: str | None
    path: Names = ()
    instances: int = 0
    records: int = 0
    most: int = 0
    repeated: bool = False
    objects: int = 0
    absent: int = 0
    arrays: int = 0
    empty_arrays: int = 0
    unreadable: bool = False
    overflow: bool = False
    values: Values = field(default_factory=Values)
    fields: dict[str, Place] = field(default_factory=dict)
    attributes: dict[str, Place] = field(default_factory=dict)
    items: Place | None = None
    kinds: dict[str, Place] = field(default_factory=dict)
    evidence: dict[tuple[str, ...], Evidence] = field(default_factory=dict)
    last: int = 0
    here: int = 0
    parents: list[int] = field(default_factory=list)

    def enter(self, record: int) -> None:
        """Count an instance in a record."""
        self.instances += 1
        if self.last != record:
            self.last, self.here = record, 0
            self.records += 1
        self.here += 1
        self.most = max(self.most, self.here)

    def field_named(self, name: str) -> Place | None:
        """Return the place of a key or child element; None for a new one where there are far too many."""
        found = self.fields.get(name)
        if found is None:
            if len(self.fields) >= MOST_KEYS:
                self.overflow = True
                return None
            found = self.fields[name] = Place(name, (*self.path, name))
        return found

    def attribute_named(self, name: str) -> Place:
        """Return the place of an attribute."""
        return self.attributes.setdefault(name, Place(name, (*self.path, "@" + name)))

    def inner_items(self) -> Place:
        """Return the place of the items of arrays directly in the array here."""
        if self.items is None:
            self.items = Place(None, (*self.path, None), repeated=True)
        return self.items

    def kind(self, constant: str) -> Place:
        """Return the place of the instances with this constant."""
        return self.kinds.setdefault(constant, Place(self.name, self.path, repeated=True))

    def saw(self, candidate: tuple[str, ...], constant: str, fields: set[str]) -> None:
        """Record an instance with a constant in a field that may distinguish kinds, and these fields."""
        evidence = self.evidence.setdefault(candidate, Evidence())
        evidence.items += 1
        if constant in evidence.kinds or len(evidence.kinds) < MOST_KINDS:
            evidence.kinds.setdefault(constant, set()).update(fields)


def class_values(source: str, schema: str, class_name: str) -> tuple[ClassSpec, dict[str, int]]:
    """Return the class, and the count of each of its values, where equal siblings count once.

    >>> import tempfile, pathlib
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "p.ndjson").write_text('{"sex": "F"}\\n{"sex": "M"}\\n{"sex": "F"}')
    >>> declared = 'version = 1\\ninput.format = "ndjson"\\nclass = [{name = "sex", path = "sex"}]'
    >>> _ = (folder / "s.toml").write_text(declared)
    >>> class_values(str(folder / "p.ndjson"), str(folder / "s.toml"), "sex")[1]
    {'F': 2, 'M': 1}
    """
    loaded = Schema.load(schema)
    names = [spec.name for spec in loaded.classes]
    if class_name not in names:
        raise UsageError(f"--class: the schema has no class {class_name!r}; choose from {', '.join(names)}")
    chosen = names.index(class_name)
    classes = [replace(spec, hierarchy=Flat(), hierarchy_source=None) for spec in loaded.classes]
    if not classes[chosen].published:
        classes[chosen] = replace(classes[chosen], role="quasi")
    forest = read(source, replace(loaded, classes=tuple(classes)))
    number = forest.classes.index(class_name)
    first, stop = int(forest.classes.first[number]), int(forest.classes.first[number + 1])
    times = np.bincount(forest.label, minlength=stop)[first:stop]
    found = {forest.classes.texts[first + at]: int(times[at]) for at in np.flatnonzero(times).tolist()}
    return loaded.classes[chosen], found


def listed_values(name: str) -> list[str]:
    """Return the nonempty lines of a file of values, stripped."""
    item = find_sources(name, ()).items[0]
    with item.open() as stream:
        data = stream.read()
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as broken:
        line = data.count(b"\n", 0, broken.start) + 1
        raise DataError("is not UTF-8", source=item.name, place=f"line {line}") from None
    return [line.strip() for line in text.split("\n") if line.strip()]
