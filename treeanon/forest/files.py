"""Rows of several files made the records of persons: each row finds its person, and the object that it lies in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from treeanon.arrays import Ints
from treeanon.errors import DataError
from treeanon.forest.build import ForestBuilder
from treeanon.forest.facets import FacetReader
from treeanon.forest.forest import Forest
from treeanon.forest.persons import Piece, RowBatches, digests_of, grouped, same_of
from treeanon.forest.references import identity
from treeanon.forest.row_store import PersonIndex, RowStore, Spill, in_memory, without_rows
from treeanon.forest.tables import Batch
from treeanon.randomness import secret_key
from treeanon.schema import Schema
from treeanon.schema.facets import facet_schema
from treeanon.schema.persons import ID_CLASS, KEY_CLASS, REFERENCE_CLASS, parts_of

MOST_ROWS = 1 << 18
"""The most rows that wait in memory, and about the most that become records at a time."""

BLOCK = 1024
"""Persons whose rows are found together."""

_NO_DIGESTS = np.empty((0, 2), np.uint64)


@dataclass(frozen=True)
class Held:
    """What ties the rows of one kind: their persons, their places in the files, what they name, what names them."""

    person: Ints
    place: Ints
    reference: np.ndarray
    name: np.ndarray


class FilesBuilder(ForestBuilder):
    """Builder of a forest from batches of the rows of several files, those of the persons first.

    Rows wait in the order of their persons, on disk where there are many (`MOST_ROWS`); those of some persons at a time
    become records.
    """

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
        self.above = [names.index(part.key.outer) if part.key is not None else -1 for part in self.parts]
        self.secret = secret = secret_key(16)
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
        self.stores = [RowStore(rows.layout, set(rows.classes.values()), BLOCK) for rows in self.rows]
        self.index = PersonIndex()
        self.of_persons: list[Ints] = []
        self.is_closed = False
        self.strange = [(0, 0)] * len(self.parts)
        self.spill = Spill()

    @property
    def records(self) -> int:
        """The number of rows so far."""
        return sum(rows.count for rows in self.rows)

    def add_rows(self, part: int, batch: Batch) -> None:
        """Take in a batch of the rows of one kind of files."""
        facets, rows = self.facets[part], self.rows[part]
        if part and not self.is_closed:
            self._close()
        self.report.skipped += rows.add(facets.taken(batch) if facets.found else batch)
        for some, place, ties in rows.drained():
            self._store(part, some, place.astype(np.int32), ties)
        if sum(store.unsorted for store in self.stores) >= MOST_ROWS:
            for store in self.stores:
                store.flush(self.spill.put)

    def _store(self, part: int, rows: Batch, place: Ints, ties: Mapping[str, tuple[Ints, np.ndarray]]) -> None:
        """Put rows with their persons, and what they name and are named, into the store of their kind."""
        codes, digests = ties[KEY_CLASS]
        if self.parts[part].is_persons:
            person = self.index.add(codes, digests)
            self.of_persons.append(place)
        else:
            person = np.append(self.index.find(digests), -1)[codes].astype(np.int32)
            person[codes < 0] = self.index.fresh(int(np.count_nonzero(codes < 0)))
        columns = [person, place]
        for name in (REFERENCE_CLASS, self._name_of(part)):
            given, hashes = ties.get(name, (np.full(rows.records, -1), _NO_DIGESTS))
            columns.append(np.concatenate([hashes, np.zeros((1, 2), np.uint64)])[given])
        lost = person < 0
        if lost.any():
            first, times = self.strange[part]
            self.strange[part] = (first if times else int(place[lost][0]), times + int(lost.sum()))
            rows, columns = without_rows(rows, self.rows[part].layout, lost), [each[~lost] for each in columns]
        self.stores[part].add(rows, tuple(columns))

    def _name_of(self, part: int) -> str:
        """Return the class of what keys name rows of a kind by."""
        return ID_CLASS if ID_CLASS in self.rows[part].classes else KEY_CLASS

    def _close(self) -> None:
        """Have all persons; DataError for two rows of one."""
        self.is_closed = True
        again, places = self.index.close(), self.of_persons
        self.of_persons = []
        if again >= 0:
            self._refuse(0, int(np.concatenate(places)[again]), "has the same person as a row before it")

    def finish(self, *, show_values: bool = False, jobs: int = 1) -> Forest:
        """Return the forest of the persons; see `ForestBuilder`."""
        self.gather()
        return super().finish(show_values=show_values, jobs=jobs)

    def gather(self) -> int:
        """Put all rows together as persons, and return how many these are."""
        if not self.is_closed:
            self._close()
        for part, (first, times) in enumerate(self.strange):
            if times and not self.skip:
                self._refuse(part, first, f"refers to no row of {self.parts[0].spec.name} ({times:,} rows do)")
            self.report.skipped += times
            self.rows[part].count -= times
        self.report.rows = self.records
        self.report.facets = {key: texts for facets in self.facets for key, texts in facets.found.items()}
        is_aside = any(store.runs for store in self.stores)
        for store in self.stores:
            store.flush(self.spill.put if is_aside else in_memory)
        blocks = -(-self.index.total // BLOCK)
        size = np.cumsum(sum(store.sizes(blocks) for store in self.stores))
        ends = np.flatnonzero(np.diff(size // MOST_ROWS, append=-1)) + 1
        for first, stop in pairwise([0, *ends.tolist()]):
            self._add_persons(first, stop)
        self.stores = []
        return self.index.total

    def _add_persons(self, first: int, stop: int) -> None:
        """Make records of the rows of some blocks of persons."""
        numbers = np.empty(0, np.int32)
        none = numbers, numbers, _NO_DIGESTS, _NO_DIGESTS
        found = [store.rows(first, stop, none) for store in self.stores]
        before, persons = first * BLOCK, min(stop * BLOCK, self.index.total) - first * BLOCK
        held = [Held(person - before, *columns) for _, (person, *columns) in found]
        targets = [
            self._listed(at, held, found[self.above[at]][0]) if part.listed_by else self._targets(at, held)
            for at, part in enumerate(self.parts)
        ]
        owners = self._owners([each.person for each in held], targets)
        pieces = [
            Piece(
                rows,
                own.names,
                part.schema.layout,
                part.container,
                owner,
                whose,
                part.spec.name if part.is_persons else "",
            )
            for part, own, (rows, _), (owner, whose) in zip(self.parts, self.rows, found, owners, strict=True)
        ]
        super().add(grouped(pieces, persons, self.layout))

    def _refuse(self, part: int, row: int, what: str, path: str = "") -> None:
        spec = self.parts[part].spec
        raise DataError(what, source=spec.name, place=f"record {row + 1}", path=path or self.rows[part].path)

    def _targets(self, at: int, held: Sequence[Held]) -> Ints | None:
        """Return for each row of a kind the row that its key leads to, -1 for none; None for a kind without a key.

        A row of another person is none that it could lie in.
        """
        part, above = self.parts[at], self.above[at]
        if part.key is None or self.parts[above].is_persons:
            return None
        own, named = held[at], held[above]
        target = self._named(at, above, named, own.person, own.reference)
        self._count(at, int(np.count_nonzero(own.reference.any(axis=1) & (target < 0))))
        return target

    def _count(self, at: int, lost: int) -> None:
        """Count references that lead nowhere."""
        key = self.parts[at].key
        if lost and key is not None:
            self.report.dangling[key.name] += lost

    def _named(self, at: int, above: int, named: Held, person: Ints, reference: np.ndarray) -> Ints:
        """Return the row of a kind that each reference names, for a person of whom there is one of that name; else -1.

        `at` is the kind whose key it is, and `above` that of the rows.
        """
        found = same_of(np.concatenate([named.name, reference]))
        # What has no name, or names nothing, is hashed to zero.
        with_name, refers = named.name.any(axis=1), reference.any(axis=1)
        width = int(found.max(initial=-1)) + 1
        pair = np.concatenate([named.person, person]).astype(np.int64) * width + found
        rows = np.flatnonzero(with_name)
        rows = rows[np.argsort(pair[rows], kind="stable")]
        known = pair[rows]
        again = known[1:] == known[:-1]
        if again.any():
            key = self.parts[at].key
            path = f"{self.parts[above].spec.name}.{key.target_path.text(slashed=False) if key else ''}"
            what = "names this row like one before it of the same person, and keys lead to both"
            self._refuse(above, int(named.place[rows[1:][again]].min()), what, path)
        wanted = pair[len(named.person) :]
        place = np.minimum(np.searchsorted(known, wanted), max(len(known) - 1, 0))
        leads = refers & (known[place] == wanted) if len(known) else np.zeros(len(wanted), bool)
        target = np.full(len(wanted), -1, np.int32)
        target[leads] = rows[place[leads]]
        return target

    def _listed(self, at: int, held: Sequence[Held], around: Batch) -> Ints:
        """Return for each row of a kind the row that lists it, -1 for none; `around` has the rows with the lists."""
        part, above = self.parts[at], self.above[at]
        layout = self.rows[above].layout
        name = layout.class_index(part.listed_by)
        table = around.tables[layout.classes[name].container]
        texts = around.texts[name]
        hashes = np.concatenate([digests_of(texts, self.secret, identity), np.zeros((1, 2), np.uint64)])
        hashes[[not text or text.isspace() for text in texts] + [False]] = 0
        person = held[above].person[table.owner]
        named = self._named(at, at, held[at], person, hashes[table.codes[name]])
        self._count(at, int(np.count_nonzero(hashes[table.codes[name]].any(axis=1) & (named < 0))))
        there = named >= 0
        pairs = np.unique(np.stack([named[there], table.owner[there]], axis=1), axis=0)
        first = np.flatnonzero(np.diff(pairs[:, 0], prepend=-1))
        if len(first) < len(pairs) and part.key is not None:
            more = np.delete(pairs, first, axis=0)
            if not self.skip:
                what = "names a row that another list has, too: of several files a row lies in one other"
                self._refuse(above, int(held[above].place[more[:, 1]].min()), what, part.key.name)
            self._count(at, len(more))
        target = np.full(len(held[at].person), -1, np.int32)
        target[pairs[first, 0]] = pairs[first, 1]
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
                place = len(person[above]) + np.searchsorted(bare[above], whose)
                owners[at] = np.where(target < 0, place, target).astype(np.int32), whose
        return owners
