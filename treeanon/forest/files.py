"""Rows of several files made the records of persons: each row finds its person, and the object that it lies in."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from treeanon.arrays import Ints
from treeanon.errors import DataError
from treeanon.forest.build import ForestBuilder
from treeanon.forest.facets import FacetReader
from treeanon.forest.forest import Forest
from treeanon.forest.persons import Piece, RowBatches, grouped, numbered
from treeanon.forest.tables import Batch
from treeanon.randomness import secret_key
from treeanon.schema import Schema
from treeanon.schema.facets import facet_schema
from treeanon.schema.files import ID_CLASS, REFERENCE_CLASS, parts_of
from treeanon.schema.persons import KEY_CLASS

_BEFORE = re.compile(r"urn:(?:uuid|oid):|.*/", re.DOTALL | re.IGNORECASE)


def identity(text: str) -> str:
    """Return what a reference names, without its type and the address of its server.

    >>> [identity(text) for text in ("Patient/17", "urn:uuid:17", "17", "https://host/fhir/Patient/17/")]
    ['17', '17', '17', '17']
    """
    return _BEFORE.sub("", text.strip().rstrip("/"), count=1)


class FilesBuilder(ForestBuilder):
    """Builder of a forest from batches of the rows of several files."""

    def __init__(self, schema: Schema, *, skip: bool = False) -> None:
        super().__init__(schema)
        self.skip = skip
        self.parts = [part for part in parts_of(schema) if part.container >= 0]
        names = [part.spec.name for part in self.parts]
        self.reads_of = [facet_schema(part.schema) for part in self.parts]
        self.facets = [
            FacetReader(part.schema, reads.layout, part.schema.layout)
            for part, reads in zip(self.parts, self.reads_of, strict=True)
        ]
        self.above = [names.index(part.key.target) if part.key is not None else -1 for part in self.parts]
        secret = secret_key(16)
        self.rows = [
            RowBatches(
                part.schema.layout,
                schema.input,
                skip=skip,
                secret=secret,
                same=identity,
                path=f"{part.spec.name}.{part.spec.person.text(slashed=False)}",
            )
            for part in self.parts
        ]

    @property
    def records(self) -> int:
        """The number of rows so far."""
        return sum(rows.count for rows in self.rows)

    def add_rows(self, part: int, batch: Batch) -> None:
        """Take in a batch of the rows of one kind of files."""
        facets = self.facets[part]
        self.report.skipped += self.rows[part].add(facets.taken(batch) if facets.found else batch)

    def finish(self, *, show_values: bool = False, jobs: int = 1) -> Forest:
        """Return the forest of the persons; see `ForestBuilder`."""
        self.report.rows = self.records
        self.report.facets = {key: texts for facets in self.facets for key, texts in facets.found.items()}
        person, persons = self._persons()
        targets = [self._targets(at, person) for at in range(len(self.parts))]
        owners = self._owners(person, targets)
        pieces = [
            Piece(
                rows.united(),
                rows.names,
                part.schema.layout,
                part.container,
                owner,
                whose,
                part.spec.name if part.is_persons else "",
            )
            for part, rows, (owner, whose) in zip(self.parts, self.rows, owners, strict=True)
        ]
        super().add(grouped(pieces, persons, self.layout))
        return super().finish(show_values=show_values, jobs=jobs)

    def _persons(self) -> tuple[list[Ints], int]:
        """Return the person of each row of every part, and the number of persons."""
        ties = [rows.ties[KEY_CLASS] for rows in self.rows]
        found, persons = numbered([code for tie in ties for code in tie[0]], [each for tie in ties for each in tie[1]])
        parts: list[Ints] = np.split(found, np.cumsum([rows.count for rows in self.rows])[:-1])
        known = int(parts[0].max(initial=-1)) + 1
        if known < len(parts[0]):
            self._refuse(0, _first_repeated(parts[0]), "has the same person as a row before it")
        for at, own in enumerate(parts[1:], start=1):
            nulls = np.concatenate([np.empty(0, np.int32), *self.rows[at].keys]) < 0
            lost = (own >= known) & ~nulls
            if lost.any():
                what = f"refers to no row of {self.parts[0].spec.name} ({int(lost.sum()):,} rows do)"
                if not self.skip:
                    self._refuse(at, int(np.argmax(lost)), what)
                self.report.skipped += int(lost.sum())
                self.rows[at].drop(lost)
                parts[at] = own[~lost]
        if self.skip:
            # Rows that were left out have left gaps.
            _, numbers = np.unique(np.concatenate(parts), return_inverse=True)
            parts = np.split(numbers.astype(np.int32), np.cumsum([len(own) for own in parts])[:-1])
            persons = int(numbers.max(initial=-1)) + 1
        return parts, persons

    def _refuse(self, part: int, row: int, what: str) -> None:
        spec = self.parts[part].spec
        raise DataError(what, source=spec.name, place=f"record {row + 1}", path=self.rows[part].path)

    def _targets(self, at: int, person: Sequence[Ints]) -> Ints | None:
        """Return for each row of a part the row that its key leads to, -1 for none; None for a part without a key."""
        part = self.parts[at]
        above = self.above[at]
        if part.key is None or self.parts[above].is_persons:
            return None
        name = ID_CLASS if ID_CLASS in self.rows[above].ties else KEY_CLASS
        ids, own = self.rows[above].ties[name], self.rows[at].ties[REFERENCE_CLASS]
        found, _ = numbered([*ids[0], *own[0]], [*ids[1], *own[1]])
        size = self.rows[above].count
        named = np.concatenate([np.empty(0, np.int32), *ids[0]]) >= 0
        if len(np.unique(found[:size][named])) < int(named.sum()):
            self._refuse(above, _first_repeated(found[:size]), "is named like a row before it, and keys lead to both")
        row = np.full(int(found.max(initial=-1)) + 1, -1, np.int32)
        row[found[:size]] = np.arange(size)
        target: Ints = row[found[size:]]
        refers = np.concatenate([np.empty(0, np.int32), *own[0]]) >= 0
        # A row of another person is none that it could lie in.
        wrong = (target >= 0) & (np.append(person[above], -1)[target] != person[at])
        target = np.where(wrong, -1, target).astype(np.int32)
        lost = refers & (target < 0)
        if lost.any():
            self.report.dangling[f"{part.spec.name}.{part.key.path.text(slashed=False)}"] += int(lost.sum())
        return target

    def _owners(self, person: Sequence[Ints], targets: Sequence[Ints | None]) -> list[tuple[Ints, Ints]]:
        """Return for each part the owners of its rows, and their persons.

        What lies in no row of the file above lies in a row there that holds nothing else: in merged trees one row for
        each person, and where objects stay whole one for each object, as nothing holds these together.
        """
        bare: list[Ints] = [np.empty(0, np.int32)] * len(self.parts)
        owners: list[tuple[Ints, Ints]] = []
        for at in reversed(range(len(self.parts))):
            whose = np.concatenate([person[at], bare[at]]).astype(np.int32)
            target = targets[at]
            if target is None:
                owners.append((whose, whose))
                continue
            above = self.above[at]
            target = np.concatenate([target, np.full(len(bare[at]), -1, np.int32)])
            free = whose[target < 0]
            if self.layout.types:
                target[target < 0] = self.rows[above].count + len(bare[above]) + np.arange(len(free))
                bare[above] = np.concatenate([bare[above], free])
            else:
                bare[above] = np.union1d(bare[above], free).astype(np.int32)
            owners.append((target, whose))
        owners.reverse()
        for at, (target, whose) in enumerate(owners):
            if targets[at] is not None:
                above = self.above[at]
                place = self.rows[above].count + np.searchsorted(bare[above], whose)
                owners[at] = np.where(target < 0, place, target).astype(np.int32), whose
        return owners


def _first_repeated(numbers: Ints) -> int:
    """Return the first entry that equals one before it."""
    seen = np.zeros(len(numbers), bool)
    seen[np.unique(numbers, return_index=True)[1]] = True
    return int(np.argmin(seen))
