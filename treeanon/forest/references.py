"""Objects of documents put into those that they refer to: the records of a schema with keys inside documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from treeanon.arrays import Ints, Longs
from treeanon.errors import DataError
from treeanon.forest.build import ForestBuilder
from treeanon.forest.facets import FacetReader
from treeanon.forest.forest import Forest
from treeanon.forest.reference_texts import identity, kind_named
from treeanon.forest.report import ReadReport
from treeanon.forest.tables import Batch, ContainerRows
from treeanon.schema import Layout, Schema
from treeanon.schema.facets import facet_schema
from treeanon.schema.references import Tie, Tied, as_documents, tied


class ReferenceBuilder(ForestBuilder):
    """Builder of a forest from batches of documents, whose objects are put into those that they refer to."""

    def __init__(self, schema: Schema, *, skip: bool = False) -> None:
        super().__init__(schema)
        whole = facet_schema(schema)
        self.reads = as_documents(whole)
        self.joiner = Joiner(whole, self.report, skip=skip)
        self.facets = FacetReader(schema, whole.layout, self.layout)

    def add(self, batch: Batch) -> None:
        """Take in a batch of documents."""
        joined = self.joiner.joined(batch)
        super().add(self.facets.taken(joined) if self.facets.found else joined)

    def finish(self, *, show_values: bool = False, jobs: int = 1) -> Forest:
        """Return the forest of the records; see `ForestBuilder`."""
        self.report.facets = self.facets.found
        return super().finish(show_values=show_values, jobs=jobs)


class Joiner:
    """Makes batches of the records' layout of those of the documents'.

    References to what is not in the document, to one of several objects of one name (an error, without `skip`), and
    those that say something else than a release could, are counted in the report.
    """

    def __init__(self, schema: Schema, report: ReadReport, *, skip: bool) -> None:
        self.tied, self.report, self.skip = tied(schema), report, skip
        self.slashed = schema.input.slashed
        self.seen = 0

    def joined(self, batch: Batch) -> Batch:
        """Return a batch of documents as one of records."""
        count = batch.records + (batch.apart.records if batch.apart is not None else 0)
        places = np.arange(count)
        if batch.apart is not None and batch.order is not None:
            places[batch.order] = np.arange(count)
        made = _Joining(self, replace(batch, apart=None, order=None), places[: batch.records] + self.seen).done()
        if batch.apart is not None:
            apart = _Joining(self, batch.apart, places[batch.records :] + self.seen).done()
            made = replace(made, apart=apart, order=batch.order)
        self.seen += count
        return made


class _Joining:
    """The work on one batch. Rows of the records' containers are those of the documents', then come bare ones."""

    def __init__(self, joiner: Joiner, batch: Batch, places: Longs) -> None:
        self.joiner, self.batch, self.places = joiner, batch, places
        self.tied: Tied = joiner.tied
        self.documents, self.records = self.tied.documents, self.tied.records
        containers = self.records.containers
        self.owner: list[Ints] = [np.empty(0, np.int32)] * len(containers)
        for here, there in enumerate(self.tied.containers):
            self.owner[there] = batch.tables[here].owner
        self.bare: list[Longs] = [np.empty(0, np.int64) for _ in containers]

    def done(self) -> Batch:
        """Return the batch of records."""
        found = [(tie, self._targets(tie)) for tie in self.tied.ties]
        for tie, target in found:
            if tie.is_inside:
                self._put_inside(tie, target)
        for tie, target in found:
            if not tie.is_inside:
                self._compare(tie, target)
        return self._sorted()

    def _targets(self, tie: Tie) -> Longs:
        """Return the row that each object's reference names, -1 for none."""
        scope = _common(self.documents, tie.source, tie.target)
        source, target = self.batch.tables[tie.source], self.batch.tables[tie.target]
        own = source.codes[tie.source_class].astype(np.int64)
        ids = target.codes[tie.target_class].astype(np.int64)
        numbers: dict[str, int] = {}
        kind = _kind_of(tie)
        named = _numbers(self.batch.texts[tie.target_class], numbers, "")
        asked = _numbers(self.batch.texts[tie.source_class], numbers, kind)
        blank = np.array([not text or text.isspace() for text in self.batch.texts[tie.source_class]] + [True])
        around = (
            _lifted(self.batch, self.documents, tie.source, scope),
            _lifted(self.batch, self.documents, tie.target, scope),
        )
        width = len(numbers) + 1
        keys = np.where(named[ids] < 0, -1, around[1] * width + named[ids])
        wanted = np.where(asked[own] < 0, -2, around[0] * width + asked[own])
        order = np.argsort(keys, kind="stable")
        at = np.searchsorted(keys[order], wanted)
        met = np.minimum(at, max(len(keys) - 1, 0))
        hit = np.zeros(len(wanted), bool) if not len(keys) else keys[order][met] == wanted
        found = np.where(hit, np.append(order, -1)[np.where(hit, met, -1)], -1)
        several = hit & (np.searchsorted(keys[order], wanted, side="right") - at > 1)
        if several.any():
            self._refuse(tie, int(np.argmax(several)))
        found = np.where(several, -1, found)
        self._count(tie, int(np.count_nonzero(~blank[own] & (found < 0))))
        return found.astype(np.int64)

    def _count(self, tie: Tie, lost: int) -> None:
        if lost:
            self.joiner.report.dangling[tie.reference.path.text(slashed=self.joiner.slashed)] += lost

    def _refuse(self, tie: Tie, row: int) -> None:
        """Raise an error for a reference to what several objects are called, unless such are skipped."""
        if self.joiner.skip:
            return
        record = int(_lifted(self.batch, self.documents, tie.source, 0)[row])
        raise DataError(
            "refers to an id that several objects of the record have: correct it, or skip what is broken",
            place=f"record {int(self.places[record]) + 1}",
            path=tie.reference.path.text(slashed=self.joiner.slashed),
        )

    def _put_inside(self, tie: Tie, target: Longs) -> None:
        """Make the objects that a key leads to the owners of those that refer to them, or bare ones in their place."""
        around = self.batch.tables[tie.source].owner.astype(np.int64)
        free = target < 0
        into = self.tied.containers[tie.target]
        top = self.tied.containers[self.documents.containers[tie.source].parent]
        way = []
        at = into
        while at != top:
            way.append(at)
            at = self.records.containers[at].parent
        target = target.copy()
        target[free] = self._bare(way[::-1], around[free])
        self.owner[self.tied.containers[tie.source]] = target.astype(np.int32)

    def _bare(self, way: Sequence[int], rows: Longs) -> Longs:
        """Return rows that hold nothing themselves, of the last container of a way, in these rows around it.

        Each is of its own: nothing says that objects which are in no other are in one.
        """
        for container in way:
            real = len(self.batch.tables[self.tied.containers.index(container)])
            start = real + len(self.bare[container])
            self.bare[container] = np.concatenate([self.bare[container], rows])
            rows = start + np.arange(len(rows), dtype=np.int64)
        return rows

    def _compare(self, tie: Tie, target: Longs) -> None:
        """Note the objects whose reference is not the one that a release would have there."""
        source, into = self.tied.containers[tie.source], self.tied.containers[tie.target]
        numbers = range(len(self.records.containers))
        real = [np.arange(len(self.owner_of(at))) < len(self.owner[at]) for at in numbers]
        said = pointed(self.records, [self.owner_of(at) for at in numbers], real, source, into)[: len(target)]
        known = said >= 0
        name = tie.reference.path.text(slashed=self.joiner.slashed)
        self.joiner.report.unsaid[tie.number, name] += int(np.count_nonzero(known & (said != target)))
        self._count(tie, int(np.count_nonzero(~known & (target >= 0))))

    def owner_of(self, container: int) -> Longs:
        """Return the owners of the rows of a container of the records, bare ones too."""
        return np.concatenate([self.owner[container].astype(np.int64), self.bare[container]])

    def _sorted(self) -> Batch:
        """Return the batch with rows in the order of their owners."""
        tables: list[ContainerRows] = []
        places: list[Longs] = []
        batch = self.batch
        for container in self.records.containers:
            here = self.tied.containers.index(container.index)
            own = batch.tables[here]
            if not container.index:
                places.append(np.arange(len(own)))
                codes = {held: column for held, column in own.codes.items() if held < len(self.records.classes)}
                tables.append(ContainerRows(own.owner, codes))
                continue
            owner = places[container.parent][self.owner_of(container.index)]
            order = np.argsort(owner, kind="stable")
            place = np.empty(len(order), np.int64)
            place[order] = np.arange(len(order))
            places.append(place)
            none = np.full(len(order) - len(own), -1, np.int32)
            codes = {held: np.concatenate([own.codes[held], none])[order] for held in container.held}
            tables.append(ContainerRows(owner[order].astype(np.int32), codes))
        moved = batch.moved
        row = moved.row.copy()
        for under in np.unique(moved.under[moved.under >= 0]).tolist():
            chosen = moved.under == under
            row[chosen] = places[self.records.classes[under].container][row[chosen]]
        texts = batch.texts[: len(self.records.classes)]
        return Batch(tuple(tables), texts, replace(moved, row=row.astype(np.int32)))


def _kind_of(tie: Tie) -> str:
    """Return the kind of objects that a key leads to, where a predicate says it."""
    steps = [step for step in tie.reference.target.steps if step.predicate is not None]
    if not steps or steps[-1].predicate is None or steps[-1].predicate.names[-1:] != ("resourceType",):
        return ""
    return steps[-1].predicate.value


def _numbers(texts: Sequence[str], numbers: dict[str, int], kind: str) -> Longs:
    """Return a number for what each text names; -1 for a blank one or one of another kind, and in the end."""
    found = []
    for text in texts:
        name = identity(text)
        other = kind and kind_named(text) not in ("", kind)
        found.append(numbers.setdefault(name, len(numbers)) if name and not other else -1)
    return np.array([*found, -1], np.int64)


def _common(layout: Layout, one: int, other: int) -> int:
    """Return the innermost container that holds both."""
    around = set()
    while one >= 0:
        around.add(one)
        one = layout.containers[one].parent
    while other not in around:
        other = layout.containers[other].parent
    return other


def _lifted(batch: Batch, layout: Layout, container: int, outer: int) -> Longs:
    """Return for each row of a container that of an outer one that it lies in."""
    rows = np.arange(len(batch.tables[container]), dtype=np.int64)
    while container != outer:
        rows = batch.tables[container].owner[rows].astype(np.int64)
        container = layout.containers[container].parent
    return rows


def pointed(layout: Layout, owners: Sequence[Longs], real: Sequence[np.ndarray], source: int, target: int) -> Longs:
    """Return the object that each of one container can mean by a reference to one of another; -1: none, or several.

    `owners` has for every container the owners of its rows, `real` which of its rows are objects of the document.
    """
    scope = _common(layout, source, target)

    def lifted(container: int) -> Longs:
        rows = np.arange(len(owners[container]), dtype=np.int64)
        while container != scope:
            rows = owners[container][rows].astype(np.int64)
            container = layout.containers[container].parent
        return rows

    above = lifted(source)
    if scope == target:
        return np.where(real[target][above], above, -1)
    objects = np.flatnonzero(real[target])
    around = lifted(target)[objects]
    count = np.bincount(around, minlength=len(owners[scope]))
    only = np.full(len(owners[scope]), -1, np.int64)
    only[around] = objects
    found: Longs = np.where(count[above] == 1, only[above], -1)
    return found
