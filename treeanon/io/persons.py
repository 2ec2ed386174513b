"""Records of persons written as rows again: each row says whose it is, by a fresh number.

It undoes what `treeanon.forest.persons` and `files` do: every format then writes the rows as if each was a record.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from treeanon.arrays import Ints, Longs
from treeanon.forest import Batch, Classes, ContainerRows, Forest
from treeanon.forest.build import with_objects
from treeanon.forest.facets import with_facets
from treeanon.forest.persons import TIES
from treeanon.forest.planting import Planter
from treeanon.hierarchy import Hierarchy
from treeanon.io.documents.row_texts import Placed, PlacedRows, place
from treeanon.io.extra_rows import ExtraRows, Moved, moved_by_kind, persons_of, repeated_rows
from treeanon.schema import Layout, Schema
from treeanon.schema.facets import facet_schema
from treeanon.schema.layout import ROOT
from treeanon.schema.model import FileSpec
from treeanon.schema.paths import FieldPath
from treeanon.schema.persons import ID_CLASS, KEY_CLASS, REFERENCE_CLASS, Part, by_row, parts_of

_AT_ONCE = 20_000


@dataclass(frozen=True)
class List:
    """Lists of references to rows of a kind that lie in those with the list: their class, and what a number follows."""

    name: str
    kind: int
    prefix: str


@dataclass(frozen=True)
class _Kind:
    """One kind of rows: their schema, the container of the persons' layout that a row is, and the kind around it.

    `is_alone` says that nothing else tells which persons there are; `prefix` is put before the numbers of persons.
    Rows refer to those of the kind `above` around them, or have `lists` of what lies in them.
    """

    schema: Schema
    base: int
    above: int = -1
    is_alone: bool = False
    prefix: str = ""
    prefix_above: str = ""
    lists: tuple[List, ...] = ()


def in_rows(forest: Forest, orders: Callable[[int], Longs]) -> Forest:
    """Return the forest as its schema's format holds it: with facets, and of rows where a field says whose each is."""
    return with_facets(forest) if forest.schema.input.person is None else as_rows(forest, orders(len(forest)))


def as_rows(forest: Forest, order: Longs) -> Forest:
    """Return the forest of the rows of persons, with facets; `order` has the number, from 0, of each person.

    Reading the rows by the schema of the persons gives the same forest again.
    """
    kind = _Kind(facet_schema(by_row(forest.schema, "integer")), 1, is_alone=True)
    (made,) = _made(with_facets(forest), [kind], order, lambda count: np.arange(count))
    return made


def as_files(forest: Forest, orders: Callable[[int], Longs], schema: Schema) -> list[tuple[FileSpec, Forest]]:
    """Return the forests of the rows of every kind of files, with fresh numbers of persons and of what keys lead to.

    `schema` is that of the forest before its facets became nodes.
    """
    parts = [part for part in parts_of(schema, "integer", forest.schema.layout) if part.container >= 0]
    names = [part.spec.name for part in parts]
    kinds = []
    for part, prefixes, lists in zip(parts, prefixes_of(parts), lists_of(parts), strict=True):
        above = names.index(part.key.target) if part.key is not None and not part.listed_by else -1
        base = facet_schema(part.schema)
        kinds.append(_Kind(base, part.container, above if above > 0 else -1, False, *prefixes, lists))
    made = _made(forest, kinds, orders(len(forest)), orders)
    return [(part.spec, rows) for part, rows in zip(parts, made, strict=True)]


def prefixes_of(parts: Sequence[Part]) -> list[tuple[str, str]]:
    """Return what stands before the numbers of persons, and of what keys lead to, in the rows of each kind of files."""
    person = parts[0].spec.name
    return [
        (_prefix(part.spec.person, person), _prefix(part.key.path, part.key.target) if part.key else "")
        for part in parts
    ]


def _prefix(field: FieldPath, name: str) -> str:
    return f"{name}/" if field.steps[-1].name == "reference" else ""


def lists_of(parts: Sequence[Part]) -> list[tuple[List, ...]]:
    """Return the lists of references in the rows of each kind of files."""
    found: list[tuple[List, ...]] = [() for _ in parts]
    names = [part.spec.name for part in parts]
    for at, part in enumerate(parts):
        if part.listed_by and part.key is not None:
            outer = names.index(part.key.outer)
            found[outer] = (*found[outer], List(part.listed_by, at, _prefix(part.key.path, part.key.target)))
    return found


def _made(forest: Forest, kinds: Sequence[_Kind], order: Longs, orders: Callable[[int], Longs]) -> list[Forest]:
    """Return the forests of all kinds of rows."""
    layout = forest.schema.layout
    makers = [RowMaker(forest, kind) for kind in kinds]
    home = _homes(layout, kinds)
    writable = np.ones(len(forest.classes), bool)
    for start in range(0, len(forest), _AT_ONCE):
        placed = place(forest[start : start + _AT_ONCE], layout, writable)
        moved = moved_by_kind(placed, layout, home, len(kinds))
        for maker, kind, nodes in zip(makers, kinds, moved, strict=True):
            maker.add(placed, start, nodes, makers[kind.above] if kind.above >= 0 else None)
        for maker in makers:
            maker.end(placed, makers)
    numbers = [orders(maker.rows) for maker in makers]
    named = [np.zeros(maker.rows, bool) for maker in makers]
    for maker, kind in zip(makers, kinds, strict=True):
        referring = [(REFERENCE_CLASS, kind.above)] if kind.above >= 0 else []
        for name, target in [*referring, *((one.name, one.kind) for one in kind.lists)]:
            for codes in maker.codes_of(name):
                named[target][codes[codes >= 0]] = True
    found = []
    for at, (maker, kind) in enumerate(zip(makers, kinds, strict=True)):
        given = {KEY_CLASS: order, ID_CLASS: np.where(named[at], numbers[at], -1)}
        given[REFERENCE_CLASS] = numbers[kind.above] if kind.above >= 0 else np.empty(0, np.int64)
        found.append(maker.forest(given | {one.name: numbers[one.kind] for one in kind.lists}))
    return found


def _homes(layout: Layout, kinds: Sequence[_Kind]) -> list[int]:
    """Return for every container the kind of rows that hold it; -1 for the person where no kind is the person's."""
    by_base = {kind.base: at for at, kind in enumerate(kinds)}
    homes = [by_base.get(0, -1)]
    homes += [by_base.get(c.index, -2) for c in layout.containers[1:]]
    for container in layout.containers[1:]:
        if homes[container.index] == -2:
            homes[container.index] = homes[container.parent]
    return homes


class RowMaker:
    """Maker of batches of rows of one kind, whose codes are nodes of the hierarchies of their classes."""

    def __init__(self, forest: Forest, kind: _Kind) -> None:
        self.source, self.kind, self.layout = forest, kind, kind.schema.layout
        self.before = forest.schema.layout
        index = {held.name: at for at, held in enumerate(self.before.classes) if not held.is_object}
        named = ((at, held) for at, held in enumerate(self.layout.classes) if not held.is_object)
        self.old = {at: index[held.name] for at, held in named if held.name in index}
        self.new = {old: new for new, old in self.old.items()}
        self.ties = {held.name: at for at, held in enumerate(self.layout.classes) if held.name in TIES}
        self.lists = {one.name: self.layout.class_index(one.name) for one in kind.lists}
        self.containers = self._containers()
        self.filled = self._of_persons() if kind.base else frozenset[int]()
        # Of each label the code in its class; the last is for none.
        classes = forest.classes
        self.code = np.append(np.arange(len(classes)) - classes.first[np.maximum(classes.class_of, 0)], -1)
        self.code = self.code.astype(np.int32)
        self.code[0] = 0
        self.batches: list[Batch] = []
        self.rows = self.start = 0
        # Of the part in hand: the place among all rows of each row of the base, -1 for one that is not written.
        self.place: Ints = np.empty(0, np.int32)

    def _containers(self) -> list[int]:
        """Return the containers of the persons' layout that those of the rows are."""
        known = {(c.parent, c.wrappers, c.name, c.predicate): c.index for c in self.before.containers[1:]}
        found = [self.kind.base]
        wrapper = () if self.kind.base else (self.source.schema.files[0].name,)
        for container in self.layout.containers[1:]:
            way = (*wrapper, *container.wrappers) if container.parent == 0 else container.wrappers
            found.append(known.get((found[container.parent], way, container.name, container.predicate), -1))
        return found

    def _of_persons(self) -> frozenset[int]:
        """Return the classes of rows that lie under the root with nothing under them."""
        above = {held.parent for held in self.before.classes}
        held_here = self.before.containers[self.kind.base].held
        return frozenset(held for held in held_here if self.before.classes[held].parent == ROOT and held not in above)

    def add(self, placed: Placed, start: int, moved: Sequence[Moved], around: RowMaker | None) -> None:
        """Take in the rows of some persons, the first of whom has number `start`."""
        base = self.kind.base
        table = placed.tables[base] if base else PlacedRows(persons_of(placed, self.before, 0), placed.tables[0].labels)
        person = persons_of(placed, self.before, base)
        only = self._only_values(table, person, len(placed.forest))
        kept = self._needed(placed, table, person, only) if base else np.arange(len(placed.forest))
        self.place = np.full(len(table), -1, np.int32)
        self.place[kept] = self.rows + np.arange(len(kept), dtype=np.int32)
        extra = ExtraRows(placed, self, kept)
        for one in moved:
            extra.add(*one)
        own = np.concatenate([person[kept], np.array(extra.people, np.int32)]).astype(np.int32)
        if self.kind.is_alone:
            # A person of whom nothing is published is a person still.
            own = np.concatenate([own, np.setdiff1d(np.arange(len(placed.forest)), own)]).astype(np.int32)
        columns: dict[int, Ints] = {}
        for new, old in self.old.items():
            if self.layout.classes[new].container:
                continue
            column = np.full(len(own), -1, np.int32)
            column[: len(kept)] = table.labels[old][kept]
            column[len(kept) : len(kept) + len(extra.people)] = extra.values(new)
            column = np.where(column < 0, only[old][own], column) if old in only else column
            columns[new] = self.code[column]
        for name, at in self.ties.items():
            columns[at] = own + start
            if name == ID_CLASS:
                columns[at] = np.arange(self.rows, self.rows + len(own), dtype=np.int32)
            if name == REFERENCE_CLASS:
                columns[at] = np.full(len(own), -1, np.int32)
                if around is not None:
                    columns[at][: len(kept)] = around.place[table.owner[kept]]
                    columns[at][len(kept) : len(kept) + len(extra.people)] = extra.around(around.place)
        tables = [ContainerRows(np.zeros(len(own), np.int32), columns), *self._inner(placed, kept, len(table))]
        batch = Batch(tuple(tables), tuple(() for _ in self.layout.classes), extra.moved())
        self.batches.append(batch)
        self.start, self.rows = self.rows, self.rows + len(own)

    def end(self, placed: Placed, makers: Sequence[RowMaker]) -> None:
        """Have all of the part that was added last: with the lists of what lies in rows, which others have added."""
        batch = self.batches.pop()
        tables = list(batch.tables)
        for one in self.kind.lists:
            other, at = makers[one.kind], self.lists[one.name]
            owner = self.place[placed.tables[other.kind.base].owner]
            chosen = np.flatnonzero((owner >= 0) & (other.place >= 0))
            chosen = chosen[np.argsort(owner[chosen], kind="stable")]
            rows = (owner[chosen] - self.start).astype(np.int32)
            tables[self.layout.classes[at].container] = ContainerRows(rows, {at: other.place[chosen]})
        self.batches.append(with_objects(replace(batch, tables=tuple(tables)), self.layout))

    def codes_of(self, name: str) -> list[Ints]:
        """Return the codes of a class of references in all rows."""
        at = self.ties[name] if name in self.ties else self.lists[name]
        return [batch.tables[self.layout.classes[at].container].codes[at] for batch in self.batches]

    def _inner(self, placed: Placed, kept: Longs, size: int) -> Iterator[ContainerRows]:
        """Yield the rows of the containers inside rows."""
        new = np.full(size, -1, np.int32)
        new[kept] = np.arange(len(kept), dtype=np.int32)
        for at, container in zip(self.containers[1:], self.layout.containers[1:], strict=True):
            if at < 0:
                # A list of references: see `end`.
                none = np.empty(0, np.int32)
                yield ContainerRows(none, dict.fromkeys(container.held, none))
                continue
            table = placed.tables[at]
            owner = new[table.owner] if container.parent == 0 else table.owner
            codes = {held: self.code[table.labels[self.old[held]]] for held in container.held}
            yield ContainerRows(owner, codes)

    def _only_values(self, table: PlacedRows, person: Ints, persons: int) -> dict[int, Ints]:
        """Return for classes under the root the label of each person's only value; -1: none, or several.

        All rows of the person can have it: where a class lies under the root, each says the same.
        """
        found = {}
        for held in self.filled:
            column = table.labels[held]
            there = np.flatnonzero(column >= 0)
            times = np.bincount(person[there], minlength=persons)
            only = np.full(persons, -1, np.int32)
            only[person[there]] = column[there]
            found[held] = np.where(times == 1, only, -1).astype(np.int32)
        return found

    def _needed(self, placed: Placed, table: PlacedRows, person: Ints, only: Mapping[int, Ints]) -> Longs:
        """Return the rows that hold what no other row of the person says, and one of each person who has none."""
        own = [
            np.where(only[held][person] < 0, column, -1) if held in only else column
            for held, column in table.labels.items()
        ]
        needed = np.zeros(len(table), bool)
        for column in own:
            needed |= column >= 0
        holds = needed.copy()
        if not self.before.types:
            needed[repeated_rows(table.owner, own)] = False
        others = np.zeros(len(table), np.int64)
        for inner, container in zip(placed.tables, self.before.containers, strict=True):
            if container.parent == self.kind.base and container.index:
                is_own = container.index in self.containers
                needed[inner.owner if is_own else inner.owner[holds[inner.owner]]] = True
                if not is_own:
                    others += np.bincount(inner.owner, minlength=len(table))
        if self.before.types:
            # A single row of another file that lies in none is read as lying in one that holds nothing else.
            needed |= others > 1
        needed[list(placed.moved[self.kind.base])] = True
        have = np.zeros(len(placed.forest), bool)
        have[person[needed]] = True
        is_rest = ~have[person]
        if not self.kind.is_alone:
            is_rest &= np.any([column >= 0 for column in table.labels.values()], axis=0) if table.labels else False
        rest = np.flatnonzero(is_rest)
        _, first = np.unique(person[rest], return_index=True)
        needed[rest[first]] = True
        return np.flatnonzero(needed)

    def forest(self, numbers: Mapping[str, Longs]) -> Forest:
        """Return the forest of the rows, given the number from 0, or -1, that each key stands for."""
        prefixes = {KEY_CLASS: self.kind.prefix, REFERENCE_CLASS: self.kind.prefix_above}
        prefixes |= {one.name: one.prefix for one in self.kind.lists}
        ties = self.ties | self.lists
        # Those of part of the persons may be any of all numbers.
        used = {name: np.sort(own[own >= 0]) for name, own in numbers.items()}
        hierarchies: list[Hierarchy] = []
        for held in self.layout.classes:
            if held.is_object:
                hierarchies.append(Hierarchy.flat([]))
            elif held.name in ties:
                prefix = prefixes.get(held.name, "")
                hierarchies.append(Hierarchy.flat(f"{prefix}{number + 1}" for number in used[held.name].tolist()))
            else:
                hierarchies.append(self.source.classes.hierarchies[self.old[len(hierarchies)]])
        names, parents = zip(*((held.name, held.parent) for held in self.layout.classes), strict=True)
        classes = Classes(names, parents, tuple(hierarchies), self.layout.types)
        labels = []
        for at, held in enumerate(self.layout.classes):
            if held.name in ties:
                own = numbers[held.name]
                codes = np.where(own >= 0, np.searchsorted(used[held.name], own) + 1 + classes.first[at], -1)
            else:
                codes = np.arange(len(hierarchies[at])) + classes.first[at]
            labels.append(np.append(codes, -1).astype(np.int32))
        planter = Planter(self.layout, sum(batch.cells for batch in self.batches), 1)
        for batch in self.batches:
            planter.plant(batch, labels, None)
        self.batches = []
        return Forest(self.kind.schema, classes, *planter.finish(), self.source.report)
