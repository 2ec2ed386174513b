"""Rows of one person made one record, and a record made rows again.

Rows are read in batches as if each was a record, by the schema of rows, in which the key of the person is a class. What
is kept of a key is a keyed hash of 128 bits: memory grows with the values of the rows, not with the texts of keys.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from treeanon.arrays import Ints, Longs
from treeanon.errors import DataError
from treeanon.forest.build import ForestBuilder
from treeanon.forest.facets import FacetBuilder, FacetReader
from treeanon.forest.forest import Forest
from treeanon.forest.tables import Batch, ContainerRows, MovedNodes, TextCodes
from treeanon.randomness import secret_key
from treeanon.schema import Layout, Schema
from treeanon.schema.facets import facet_schema, has_facets
from treeanon.schema.persons import KEY_CLASS, by_row

_DIGEST = 16


def builder_of(schema: Schema, *, skip: bool = False) -> ForestBuilder:
    """Return the builder of the forest of a schema: of rows, where a field says whose each of them is.

    Readers are given the builder's own schema, `reads`. With `skip`, rows of nobody are counted and left out.
    """
    if schema.input.person is not None:
        return PersonBuilder(schema, skip=skip)
    return FacetBuilder(schema) if has_facets(schema) else ForestBuilder(schema)


class PersonBuilder(ForestBuilder):
    """Builder of a forest from batches of rows, each of which says whose it is."""

    def __init__(self, schema: Schema, *, skip: bool = False) -> None:
        super().__init__(schema)
        plain = by_row(schema).layout
        self.reads = by_row(facet_schema(schema))
        self.facets = FacetReader(schema, self.reads.layout, plain)
        self.rows = RowBatches(plain, schema, skip=skip)

    @property
    def records(self) -> int:
        """The number of rows so far."""
        return self.rows.count

    def add(self, batch: Batch) -> None:
        """Take in a batch of rows."""
        self.report.skipped += self.rows.add(self.facets.taken(batch) if self.facets.found else batch)

    def finish(self, *, show_values: bool = False, jobs: int = 1) -> Forest:
        """Return the forest of the persons; see `ForestBuilder`."""
        person, persons = numbered(self.rows.keys, self.rows.digests)
        self.report.rows = self.rows.count
        self.report.facets = self.facets.found
        super().add(grouped(self.rows.united(), person, persons, self.rows.names, self.layout))
        return super().finish(show_values=show_values, jobs=jobs)


class RowBatches:
    """Batches of rows, with the codes of their keys taken out of them."""

    def __init__(self, layout: Layout, schema: Schema, *, skip: bool) -> None:
        self.layout, self.skip = layout, skip
        self.own = schema.input.null_person == "own"
        self.path = schema.input.person.text(slashed=schema.input.slashed) if schema.input.person else ""
        self.key = layout.class_index(KEY_CLASS)
        self.names = tuple(held.name for held in layout.classes)
        self.secret = secret_key(_DIGEST)
        self.parts: list[Batch] = []
        self.keys: list[Ints] = []
        self.digests: list[np.ndarray] = []
        self.count = 0
        self.seen = 0

    def add(self, batch: Batch) -> int:
        """Take in a batch, and return how many rows of nobody were left out."""
        parts = [batch] if batch.apart is None else [replace(batch, apart=None, order=None), batch.apart]
        places = self._places(batch)
        lost = 0
        for part, place in zip(parts, np.split(places, [batch.records]), strict=False):
            codes = part.tables[0].codes[self.key]
            nobody = (codes < 0) | _blank(part.texts[self.key])[codes]
            if nobody.any() and not self.own:
                if not self.skip:
                    self._refuse(int(place[nobody].min()))
                lost += int(nobody.sum())
                part, codes = without_rows(part, self.layout, nobody), codes[~nobody]
                nobody = nobody[~nobody]
            self.keys.append(np.where(nobody, -1, codes).astype(np.int32))
            self.digests.append(_digests(part.texts[self.key], self.secret))
            self.parts.append(part)
            self.count += part.records
        self.seen += len(places)
        return lost

    def _refuse(self, place: int) -> None:
        what = 'has no value here, so nobody knows whose it is: complete it, or set null_person = "own" in [input]'
        raise DataError(what, place=f"record {self.seen + place + 1}", path=self.path)

    def _places(self, batch: Batch) -> Longs:
        """Return where each row stands among those of the batch, rows read apart last."""
        if batch.apart is None or batch.order is None:
            return np.arange(batch.records)
        places = np.empty(len(batch.order), np.int64)
        places[batch.order] = np.arange(len(batch.order))
        return places

    def united(self) -> Batch:
        """Return all rows as one batch; the parts are released."""
        parts, self.parts = self.parts, []
        return parts[0] if len(parts) == 1 else _united(parts, self.layout, self.key)


def _blank(texts: Sequence[str]) -> np.ndarray:
    """Return which texts are no key, being blank; the last entry is for none."""
    if not isinstance(texts, list):
        return np.zeros(len(texts) + 1, bool)
    return np.array([not text or text.isspace() for text in texts] + [True])


def _digests(texts: Sequence[str], secret: bytes) -> np.ndarray:
    """Return a keyed hash of each text, as two numbers of 64 bits."""

    def digest(text: str) -> bytes:
        return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_DIGEST, key=secret).digest()

    return np.frombuffer(b"".join(map(digest, texts)), np.uint64).reshape(-1, 2)


def numbered(keys: Sequence[Ints], digests: Sequence[np.ndarray]) -> tuple[Ints, int]:
    """Return the number of each row's person, in the order of their first rows, and the number of persons.

    `keys` has the codes of each part, -1 for a person of its own, `digests` the hashes of the texts of its codes.

    >>> one = np.array([[1, 1], [2, 2]], np.uint64)
    >>> numbered([np.array([1, 0, 1, -1])], [one])
    (array([0, 1, 0, 2], dtype=int32), 3)
    """
    every = np.concatenate([np.empty((0, 2), np.uint64), *digests])
    same = np.append(_same(every), -1)
    starts = np.cumsum([0, *map(len, digests)])
    code = np.concatenate(
        [np.empty(0, np.int64), *(np.where(k < 0, len(every), k + s) for k, s in zip(keys, starts, strict=False))]
    )
    found = same[code]
    alone = found < 0
    found[alone] = len(every) + np.arange(int(alone.sum()))
    # By first appearance: what comes of a seed must not depend on the hashes.
    first = np.full(len(every) + int(alone.sum()), len(found), np.int64)
    first[found[::-1]] = np.arange(len(found))[::-1]
    order = np.argsort(first, kind="stable")
    rank = np.empty(len(first), np.int32)
    rank[order] = np.arange(len(first), dtype=np.int32)
    return rank[found], int((first < len(found)).sum())


def _same(digests: np.ndarray) -> Longs:
    """Return one number for all equal digests."""
    high, low = digests[:, 0], digests[:, 1]
    order = np.argsort(high)
    if np.any((high[order][1:] == high[order][:-1]) & (low[order][1:] != low[order][:-1])):
        order = np.lexsort((low, high))
    new = np.ones(len(order), bool)
    new[1:] = (high[order][1:] != high[order][:-1]) | (low[order][1:] != low[order][:-1])
    found = np.empty(len(order), np.int64)
    found[order] = np.cumsum(new) - 1
    return found


def grouped(rows: Batch, person: Ints, persons: int, names: Sequence[str], layout: Layout) -> Batch:
    """Return a batch of rows as one of persons: by `layout`, in which rows are the containers of number 1.

    `names` are the classes of the rows by their codes; `person` has the number of each row's person.
    """
    new = {name: index for index, name in enumerate(names)}
    of_row = [new[held.name] for held in layout.classes]
    tables = [ContainerRows(np.zeros(persons, np.int32), {})]
    places = [person]
    for container in layout.containers[1:]:
        table = rows.tables[container.index - 1]
        owner = person if container.index == 1 else places[container.parent][table.owner]
        order = np.argsort(owner, kind="stable")
        places.append(_inverse(order))
        codes = {held: table.codes[of_row[held]][order] for held in container.held}
        tables.append(ContainerRows(owner[order].astype(np.int32), codes))
    return Batch(tuple(tables), tuple(rows.texts[at] for at in of_row), _moved(rows, of_row, places, layout))


def without_key(rows: Batch, names: Sequence[str], layout: Layout) -> Batch:
    """Return a batch of flat rows by a layout without the key; `names` are the classes of the rows by their codes."""
    new = {name: index for index, name in enumerate(names)}
    of_row = [new[held.name] for held in layout.classes]
    (table,) = rows.tables
    codes = {held: table.codes[of_row[held]] for held in layout.containers[0].held}
    return replace(rows, tables=(ContainerRows(table.owner, codes),), texts=tuple(rows.texts[at] for at in of_row))


def _inverse(order: Longs) -> Ints:
    """Return where each number stands in an order."""
    found = np.empty(len(order), np.int32)
    found[order] = np.arange(len(order), dtype=np.int32)
    return found


def _moved(rows: Batch, of_row: Sequence[int], places: Sequence[Ints], layout: Layout) -> MovedNodes:
    """Return the moved nodes of rows as those of persons; `places` has where each row of a container has come to.

    What lay directly under a row lies under the class of the row that its own class lies under, if the row has one.
    """
    moved = rows.moved
    back = np.full(len(rows.texts) + 1, -1, np.int32)
    back[list(of_row)] = np.arange(len(of_row), dtype=np.int32)
    held, under, row = back[moved.held], back[moved.under], moved.row.copy()
    top = moved.parent < 0
    for number in np.unique(held[top & (under < 0)]).tolist():
        under[top & (under < 0) & (held == number)] = _in_row(layout, number)
    for above in np.unique(under[top]).tolist():
        chosen = top & (under == above)
        container = layout.classes[above].container if above >= 0 else 0
        row[chosen] = places[container][row[chosen]]
    return MovedNodes(held, moved.code, moved.parent, under, row)


def _in_row(layout: Layout, held: int) -> int:
    """Return the nearest class above one that a row itself holds; -1: none."""
    above = layout.classes[held].parent if held >= 0 else -1
    while above >= 0 and layout.classes[above].container != 1:
        above = layout.classes[above].parent
    return above


def _united(parts: Sequence[Batch], layout: Layout, key: int) -> Batch:
    """Return batches of rows as one; of the class `key` nothing is kept."""
    codes = [TextCodes() for _ in layout.classes]
    maps = [[_mapped(codes[at], () if at == key else texts) for at, texts in enumerate(part.texts)] for part in parts]
    starts = np.zeros((len(parts) + 1, len(layout.containers)), np.int64)
    starts[1:] = np.cumsum([[len(table) for table in part.tables] for part in parts], axis=0)
    tables = []
    for container in layout.containers:
        at = container.index
        owner = [part.tables[at].owner + (starts[i, container.parent] if at else 0) for i, part in enumerate(parts)]
        held = {
            number: np.concatenate([maps[i][number][part.tables[at].codes[number]] for i, part in enumerate(parts)])
            for number in container.held
            if number != key
        }
        tables.append(ContainerRows(np.concatenate(owner).astype(np.int32), held))
    return Batch(tuple(tables), tuple(c.texts for c in codes), _united_moved(parts, layout, maps, starts))


def _mapped(codes: TextCodes, texts: Sequence[str]) -> Ints:
    """Return the common code of each text, and -1 in the end."""
    return np.array([*(codes[text] for text in texts), -1], np.int32)


def _united_moved(
    parts: Sequence[Batch], layout: Layout, maps: Sequence[Sequence[Ints]], starts: np.ndarray
) -> MovedNodes:
    columns: list[tuple[Ints, ...]] = []
    count = 0
    for i, part in enumerate(parts):
        moved = part.moved
        code, row = moved.code.copy(), moved.row.copy()
        for number in np.unique(moved.held[moved.held >= 0]).tolist():
            code[moved.held == number] = maps[i][number][moved.code[moved.held == number]]
        for under in np.unique(moved.under).tolist():
            container = layout.classes[under].container if under >= 0 else 0
            row[moved.under == under] += starts[i, container]
        parent = np.where(moved.parent >= 0, moved.parent + count, -1)
        columns.append((moved.held, code, parent, moved.under, row))
        count += len(moved.held)
    return MovedNodes(*(np.concatenate(column).astype(np.int32) for column in zip(*columns, strict=True)))


def without_rows(rows: Batch, layout: Layout, lost: np.ndarray) -> Batch:
    """Return a batch of rows without some of them, and without what these hold."""
    kept = [~lost]
    tables = []
    for container in layout.containers:
        table = rows.tables[container.index]
        if container.index:
            kept.append(kept[container.parent][table.owner])
        stays = kept[container.index]
        owner = table.owner[stays]
        if container.index:
            owner = (np.cumsum(kept[container.parent]) - 1)[owner].astype(np.int32)
        tables.append(ContainerRows(owner, {held: column[stays] for held, column in table.codes.items()}))
    return replace(rows, tables=tuple(tables), moved=_without_moved(rows.moved, layout, kept))


def _without_moved(moved: MovedNodes, layout: Layout, kept: Sequence[np.ndarray]) -> MovedNodes:
    stays = np.ones(len(moved.held), bool)
    row = moved.row.copy()
    for at, (above, under) in enumerate(zip(moved.parent.tolist(), moved.under.tolist(), strict=True)):
        container = layout.classes[under].container if under >= 0 else 0
        # Nodes come after the one above them.
        stays[at] = stays[above] if above >= 0 else kept[container][moved.row[at]]
        row[at] = np.count_nonzero(kept[container][: moved.row[at]])
    new = np.append(np.cumsum(stays) - 1, -1)
    columns = (moved.held, moved.code, new[moved.parent], moved.under, row)
    return MovedNodes(*(column[stays].astype(np.int32) for column in columns))
