"""Rows of one person made one record, and a record made rows again.

Rows are read in batches as if each was a record, by the schema of rows, in which the key of the person is a class. What
is kept of a key is a keyed hash of 128 bits: memory grows with the values of the rows, not with the texts of keys.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from treeanon.arrays import Ints, Longs, unique_values
from treeanon.errors import DataError
from treeanon.forest.build import ForestBuilder
from treeanon.forest.facets import FacetBuilder, FacetReader
from treeanon.forest.forest import Forest
from treeanon.forest.references import ReferenceBuilder
from treeanon.forest.row_store import united, without_rows
from treeanon.forest.tables import Batch, ContainerRows, MovedNodes
from treeanon.randomness import secret_key
from treeanon.schema import Layout, Schema
from treeanon.schema.facets import facet_schema, has_facets
from treeanon.schema.model import InputSpec
from treeanon.schema.persons import ID_CLASS, KEY_CLASS, REFERENCE_CLASS, by_row

_DIGEST = 16
TIES = frozenset({KEY_CLASS, ID_CLASS, REFERENCE_CLASS})
"""Classes whose values tie rows to persons, and to one another; they are not published."""

Same = Callable[[str], str]
"""Gives all texts that name the same one text."""


def builder_of(schema: Schema, *, skip: bool = False) -> ForestBuilder:
    """Return the builder of the forest of a schema: of rows, where a field says whose each of them is.

    Readers are given the builder's own schema, `reads`. With `skip`, rows of nobody are counted and left out.
    """
    if schema.input.person is not None:
        return PersonBuilder(schema, skip=skip)
    if schema.references:
        return ReferenceBuilder(schema, skip=skip)
    return FacetBuilder(schema) if has_facets(schema) else ForestBuilder(schema)


class PersonBuilder(ForestBuilder):
    """Builder of a forest from batches of rows, each of which says whose it is."""

    def __init__(self, schema: Schema, *, skip: bool = False) -> None:
        super().__init__(schema)
        plain = by_row(schema).layout
        self.reads = facet_schema(by_row(schema))
        self.facets = FacetReader(schema, self.reads.layout, plain)
        self.rows = RowBatches(plain, schema.input, skip=skip)

    @property
    def records(self) -> int:
        """The number of rows so far."""
        return self.rows.count

    def add(self, batch: Batch) -> None:
        """Take in a batch of rows."""
        self.report.skipped += self.rows.add(self.facets.taken(batch) if self.facets.found else batch)

    def finish(self, *, show_values: bool = False, jobs: int = 1) -> Forest:
        """Return the forest of the persons; see `ForestBuilder`."""
        self.gather()
        return super().finish(show_values=show_values, jobs=jobs)

    def gather(self) -> int:
        """Put all rows together as persons, and return how many these are."""
        person, persons = numbered(self.rows.keys, self.rows.digests)
        self.report.rows = self.rows.count
        self.report.facets = self.facets.found
        piece = Piece(self.rows.united(), self.rows.names, self.rows.layout, 1, person, person)
        super().add(grouped([piece], persons, self.layout))
        return persons


class RowBatches:
    """Batches of rows, with the codes of their keys taken out of them.

    `ties` has for each class that ties rows together the codes of every part, -1 where there is none, and the digests
    of what these stand for; `same` makes one text of all that name the same.
    """

    def __init__(
        self, layout: Layout, spec: InputSpec, *, skip: bool, secret: bytes = b"", same: Same = str, path: str = ""
    ) -> None:
        self.layout, self.skip, self.same = layout, skip, same
        self.own = spec.null_person == "own"
        self.path = path or (spec.person.text(slashed=spec.slashed) if spec.person else "")
        self.names = tuple(held.name for held in layout.classes)
        self.classes = {name: at for at, name in enumerate(self.names) if name in TIES}
        self.secret = secret or secret_key(_DIGEST)
        self.parts: list[Batch] = []
        self.places: list[Longs | int] = []
        self.ties: dict[str, tuple[list[Ints], list[np.ndarray]]] = {name: ([], []) for name in self.classes}
        self.count = 0
        self.seen = 0

    @property
    def keys(self) -> list[Ints]:
        """The codes of the persons of the rows of each part."""
        return self.ties[KEY_CLASS][0]

    @property
    def digests(self) -> list[np.ndarray]:
        """The digests of the keys of the persons of each part."""
        return self.ties[KEY_CLASS][1]

    def add(self, batch: Batch) -> int:
        """Take in a batch, and return how many rows of nobody were left out."""
        parts = [batch] if batch.apart is None else [replace(batch, apart=None, order=None), batch.apart]
        places = self._places(batch)
        lost = 0
        for part, place in zip(parts, np.split(places, [batch.records]), strict=False):
            key = self.classes[KEY_CLASS]
            nobody = _nothing(part, key)
            if nobody.any() and not self.own:
                if not self.skip:
                    self._refuse(int(place[nobody].min()))
                lost += int(nobody.sum())
                part, place = without_rows(part, self.layout, nobody), place[~nobody]
            for name, at in self.classes.items():
                codes, digests = self.ties[name]
                codes.append(np.where(_nothing(part, at), -1, part.tables[0].codes[at]).astype(np.int32))
                digests.append(digests_of(part.texts[at], self.secret, self.same))
            self.parts.append(part)
            in_order = len(parts) == 1 and not nobody.any()
            self.places.append(self.seen if in_order else self.seen + place)
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

    def drained(self) -> Iterator[tuple[Batch, Longs, dict[str, tuple[Ints, np.ndarray]]]]:
        """Yield the parts so far with the places of their rows among all that were read, and the codes and digests of
        each class that ties rows; all are released.
        """
        parts, self.parts, places, self.places = self.parts, [], self.places, []
        for at, (part, place) in enumerate(zip(parts, places, strict=True)):
            if isinstance(place, int):
                place = np.arange(place, place + part.records)
            yield part, place, {name: (codes[at], digests[at]) for name, (codes, digests) in self.ties.items()}
        for codes, digests in self.ties.values():
            codes.clear()
            digests.clear()

    def united(self) -> Batch:
        """Return all rows as one batch; the parts are released."""
        parts, self.parts = self.parts, []
        return parts[0] if len(parts) == 1 else united(parts, self.layout, set(self.classes.values()))


def _nothing(rows: Batch, held: int) -> np.ndarray:
    """Return which rows have no value of a class, or a blank one."""
    codes: Ints = rows.tables[0].codes[held]
    found: np.ndarray = (codes < 0) | _blank(rows.texts[held])[codes]
    return found


def _blank(texts: Sequence[str]) -> np.ndarray:
    """Return which texts are no key, being blank; the last entry is for none."""
    if not isinstance(texts, list):
        return np.zeros(len(texts) + 1, bool)
    return np.array([not text or text.isspace() for text in texts] + [True])


def digests_of(texts: Sequence[str], secret: bytes, same: Same = str) -> np.ndarray:
    """Return a keyed hash of each text, as two numbers of 64 bits."""

    def digest(text: str) -> bytes:
        return hashlib.blake2b(same(text).encode("utf-8", "surrogatepass"), digest_size=_DIGEST, key=secret).digest()

    return np.frombuffer(b"".join(map(digest, texts)), np.uint64).reshape(-1, 2)


def numbered(keys: Sequence[Ints], digests: Sequence[np.ndarray]) -> tuple[Ints, int]:
    """Return the number of each row's person, in the order of their first rows, and the number of persons.

    `keys` has the codes of each part, -1 for a person of its own, `digests` the hashes of the texts of its codes.

    >>> one = np.array([[1, 1], [2, 2]], np.uint64)
    >>> numbered([np.array([1, 0, 1, -1])], [one])
    (array([0, 1, 0, 2], dtype=int32), 3)
    """
    every = np.concatenate([np.empty((0, 2), np.uint64), *digests])
    same = np.append(same_of(every), -1)
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


def same_of(digests: np.ndarray) -> Longs:
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


@dataclass(frozen=True)
class Piece:
    """Rows of one kind, and where they go in a layout of persons.

    `base` is the container that a row is, `wrapper` a name around what the rows of container 0 hold. `owner` has for
    every row that of the container around it, by its place among the rows of that kind: of container 0 the person. It
    may go on beyond the rows of the batch, with rows that hold nothing themselves. `person` has the person of each.
    """

    rows: Batch
    names: tuple[str, ...]
    own: Layout
    base: int
    owner: Ints
    person: Ints
    wrapper: str = ""

    def containers(self, layout: Layout) -> list[int]:
        """Return the containers of the layout of persons that those of the rows are."""
        known = {(c.parent, c.wrappers, c.name, c.predicate): c.index for c in layout.containers[1:]}
        found = [self.base]
        for container in self.own.containers[1:]:
            way = (self.wrapper, *container.wrappers) if self.wrapper and container.parent == 0 else container.wrappers
            # Lists of references to rows that lie in these are in no record.
            found.append(known.get((found[container.parent], way, container.name, container.predicate), -1))
        return found


def grouped(pieces: Sequence[Piece], persons: int, layout: Layout) -> Batch:
    """Return batches of rows as one of persons; a piece comes after the one whose rows own its rows."""
    index = {held.name: at for at, held in enumerate(layout.classes)}
    tables = {0: ContainerRows(np.zeros(persons, np.int32), {})}
    texts: dict[int, Sequence[str]] = {}
    places = {0: np.arange(persons, dtype=np.int32)}
    moved: list[MovedNodes] = []
    for piece in pieces:
        new = [index.get(name, -1) for name in piece.names]
        containers = piece.containers(layout)
        for at, table in zip(containers, piece.rows.tables, strict=True):
            if at < 0:
                continue
            own = containers.index(at)
            parent = layout.containers[at].parent
            owner = places[parent][piece.owner if own == 0 else table.owner] if at else piece.owner
            codes = {new[held]: _longer(column, len(owner)) for held, column in table.codes.items() if new[held] >= 0}
            if not at:
                tables[0] = ContainerRows(tables[0].owner, {held: _put(c, owner, persons) for held, c in codes.items()})
                places[0] = owner
                continue
            order = np.argsort(owner, kind="stable")
            places[at] = _inverse(order)
            tables[at] = ContainerRows(owner[order].astype(np.int32), {held: c[order] for held, c in codes.items()})
        texts |= {new[at]: own_texts for at, own_texts in enumerate(piece.rows.texts) if new[at] >= 0}
        moved.append(_moved(piece, new, containers, places, layout, sum(len(each.held) for each in moved)))
        places[0] = np.arange(persons, dtype=np.int32)
    joined = MovedNodes(*(np.concatenate(c).astype(np.int32) for c in zip(*map(_columns_of, moved), strict=True)))
    every = tuple(tables[c.index] for c in layout.containers)
    return Batch(every, tuple(texts.get(at, ()) for at in range(len(layout.classes))), joined)


def _columns_of(moved: MovedNodes) -> tuple[Ints, ...]:
    return moved.held, moved.code, moved.parent, moved.under, moved.row


def _longer(column: Ints, size: int) -> Ints:
    """Return a column with -1 for the rows that it lacks."""
    return np.concatenate([column, np.full(size - len(column), -1, np.int32)]) if len(column) < size else column


def _put(column: Ints, place: Ints, size: int) -> Ints:
    """Return a column of which each entry has a place, -1 elsewhere."""
    found = np.full(size, -1, np.int32)
    found[place] = column
    return found


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


def _moved(
    piece: Piece, new: list[int], containers: list[int], places: Mapping[int, Ints], layout: Layout, before: int
) -> MovedNodes:
    """Return the moved nodes of rows as those of persons; `places` has where each row of a container has come to.

    What lay directly under a row lies under the nearest class above its own that the row holds, or one around it.
    """
    moved = piece.rows.moved
    back = np.array([*new, -1], np.int32)
    held, under, row = back[moved.held], back[moved.under], moved.row.copy()
    top = moved.parent < 0
    for number in unique_values(held[top & (moved.under < 0)]).tolist():
        chosen = top & (moved.under < 0) & (held == number)
        under[chosen], row[chosen] = _around(piece, places, layout, number, row[chosen])
    inside = top & (moved.under >= 0)
    for above in unique_values(under[inside]).tolist():
        chosen = inside & (under == above)
        row[chosen] = places[layout.classes[above].container][row[chosen]]
    parent = np.where(moved.parent >= 0, moved.parent + before, -1).astype(np.int32)
    return MovedNodes(held, moved.code, parent, under, row)


def _around(piece: Piece, places: Mapping[int, Ints], layout: Layout, held: int, row: Ints) -> tuple[int, Ints]:
    """Return the nearest class above one that rows hold, or what is around them, and the rows that hold it."""
    outer = layout.containers[piece.base].parent if piece.base else 0
    above = layout.classes[held].parent if held >= 0 else -1
    while above >= 0 and layout.classes[above].container not in (piece.base, outer, 0):
        above = layout.classes[above].parent
    wanted = layout.classes[above].container if above >= 0 else 0
    if wanted == piece.base:
        return above, places[piece.base][row]
    if wanted == 0:
        return above, piece.person[row]
    return above, places[outer][piece.owner[row]]
