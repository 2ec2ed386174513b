"""Objects of documents put into those that they refer to: the records of a schema with keys inside documents;
and texts of references: what they name, whatever server, type and version they name it by.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from treeanon.arrays import Ints, Longs, unique_values
from treeanon.errors import DataError
from treeanon.forest.build import ForestBuilder
from treeanon.forest.facets import FacetReader
from treeanon.forest.forest import Forest
from treeanon.forest.report import ReadReport
from treeanon.forest.tables import Batch, ContainerRows
from treeanon.schema import Layout, Schema
from treeanon.schema.facets import facet_schema
from treeanon.schema.reference_forms import kind_of
from treeanon.schema.references import Tie, Tied, as_documents, tied

_BEFORE = re.compile(r"urn:(?:uuid|oid):|#|.*/", re.DOTALL | re.IGNORECASE)
_VERSION = re.compile(r"/_history/[^/]*$")
_KIND = re.compile(r"(?:.*/)?([A-Z][A-Za-z]*)/[^/]+", re.DOTALL)


def identity(text: str) -> str:
    """Return what a reference names, without its type, its version and the address of its server.

    >>> [identity(text) for text in ("Patient/17", "urn:uuid:17", "17", "#17", "https://host/Patient/17/_history/2")]
    ['17', '17', '17', '17', '17']
    """
    return _BEFORE.sub("", _VERSION.sub("", text.strip().rstrip("/")), count=1)


def kind_named(text: str) -> str:
    """Return the kind of object that a reference names, if it does.

    >>> kind_named("Group/17"), kind_named("https://host/fhir/Patient/17"), kind_named("urn:uuid:17")
    ('Group', 'Patient', '')
    """
    found = _KIND.fullmatch(text.strip())
    return found[1] if found is not None else ""


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
    those that say something else than a release could, are counted in the report. What several lists refer to lies in
    the object of each of them, so that no relation is lost; the report counts the times after the first.
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
            if there >= 0:
                self.owner[there] = batch.tables[here].owner
        self.bare: list[Longs] = [np.empty(0, np.int64) for _ in containers]
        # What several objects list: the rows listed again, and those that they lie in, too.
        self.again: dict[int, tuple[Longs, Longs]] = {}
        self.copied: list[Longs] = []
        self.own: list[Longs] = []

    def done(self) -> Batch:
        """Return the batch of records."""
        found = [(tie, self._targets(tie)) for tie in self.tied.ties]
        for tie, target in found:
            if tie.is_inside:
                self._put_inside(tie.inner, tie.outer, self._listed(tie, target) if tie.is_list else target)
        self._copy()
        for tie, target in found:
            if not tie.is_inside:
                (self._compare_lists if tie.is_list else self._compare)(tie, target)
        return self._sorted()

    def _targets(self, tie: Tie) -> Longs:
        """Return the row that each object's reference names, -1 for none."""
        scope = _common(self.documents, tie.source, tie.target)
        source, target = self.batch.tables[tie.source], self.batch.tables[tie.target]
        own = source.codes[tie.source_class].astype(np.int64)
        ids = target.codes[tie.target_class].astype(np.int64)
        numbers: dict[str, int] = {}
        kind = kind_of(tie.reference.target.steps, slashed=self.joiner.slashed)
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

    def _listed(self, tie: Tie, target: Longs) -> Longs:
        """Return for each object that may be listed the first that lists it, -1 for none; note all others."""
        chosen = np.flatnonzero(target >= 0)
        pairs = np.stack([target[chosen], self.batch.tables[tie.source].owner[chosen].astype(np.int64)], axis=1)
        pairs = np.unique(pairs, axis=0)
        found = np.full(len(self.batch.tables[tie.target]), -1, np.int64)
        first = np.flatnonzero(np.diff(pairs[:, 0], prepend=-1))
        found[pairs[first, 0]] = pairs[first, 1]
        more = np.delete(pairs, first, axis=0)
        if len(more):
            self.again[self.tied.containers[tie.target]] = more[:, 0], more[:, 1]
            self.joiner.report.shared[tie.reference.path.text(slashed=self.joiner.slashed)] += len(more)
        return found

    def _put_inside(self, inner: int, outer: int, target: Longs) -> None:
        """Make the objects that a key leads to the owners of those of another kind, or bare ones in their place."""
        around = self.batch.tables[inner].owner.astype(np.int64)
        free = target < 0
        into = self.tied.containers[outer]
        top = self.tied.containers[self.documents.containers[inner].parent]
        way = []
        at = into
        while at != top:
            way.append(at)
            at = self.records.containers[at].parent
        target = target.copy()
        target[free] = self._bare(way[::-1], around[free])
        self.owner[self.tied.containers[inner]] = target.astype(np.int32)

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

    def _copy(self) -> None:
        """Give every object that several list, with what lies in it, to each of them.

        `own` has the owners of all rows then, and `copied` which row each is, those that are no copies first.
        """
        none = np.empty(0, np.int64)
        for container in self.records.containers:
            at = container.index
            owner = np.concatenate([self.owner[at].astype(np.int64), self.bare[at]])
            rows, owners = self.again.get(at, (none, none))
            rows, owners = np.concatenate([np.arange(len(owner)), rows]), np.concatenate([owner, owners])
            if at:
                above = self.copied[container.parent]
                real = len(self.owner[container.parent]) + len(self.bare[container.parent])
                order = np.argsort(owners, kind="stable")
                first, stop = (np.searchsorted(owners[order], above[real:], side=side) for side in ("left", "right"))
                size = stop - first
                chosen = np.repeat(first - (np.cumsum(size) - size), size) + np.arange(size.sum())
                rows = np.concatenate([rows, rows[order[chosen]]])
                owners = np.concatenate([owners, np.repeat(np.arange(real, len(above)), size)])
            self.copied.append(rows)
            self.own.append(owners)

    def _is_real(self) -> list[np.ndarray]:
        """Return for each container which of its rows are objects of the document."""
        return [rows < len(owner) for rows, owner in zip(self.copied, self.owner, strict=True)]

    def _compare(self, tie: Tie, target: Longs) -> None:
        """Note the objects whose reference is not the one that a release would have there."""
        source, into = self.tied.containers[tie.source], self.tied.containers[tie.target]
        real = self._is_real()
        said = pointed(self.records, self.own, real, source, into)[real[source]]
        target = target[self.copied[source][real[source]]]
        known = said >= 0
        name = tie.reference.path.text(slashed=self.joiner.slashed)
        meant = np.where(known, self.copied[into][said], -1) if len(self.copied[into]) else said
        self.joiner.report.unsaid[tie.number, name] += int(np.count_nonzero(known & (meant != target)))
        self._count(tie, int(np.count_nonzero(~known & (target >= 0))))

    def _compare_lists(self, tie: Tie, target: Longs) -> None:
        """Note the objects whose list is not the one that a release would have there."""
        holder, into = self.tied.containers[tie.holder], self.tied.containers[tie.target]
        real = self._is_real()
        having, meant = listed(self.records, self.own, real, holder, into)
        refer = np.flatnonzero(target >= 0)
        asked = self.batch.tables[tie.source].owner[refer].astype(np.int64)
        width = len(self.batch.tables[tie.target]) + 1
        said = unique_values(self.copied[holder][having] * width + self.copied[into][meant])
        found = unique_values(asked * width + target[refer])
        wrong = unique_values(np.setxor1d(said, found) // width)
        may = np.isin(wrong, said // width) | (_common(self.records, holder, into) == holder)
        name = tie.reference.path.text(slashed=self.joiner.slashed)
        self.joiner.report.unsaid[tie.number, name] += int(may.sum())
        self._count(tie, int(np.isin(found // width, wrong[~may]).sum()))

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
            owner = places[container.parent][self.own[container.index]]
            order = np.argsort(owner, kind="stable")
            place = np.empty(len(order), np.int64)
            place[order] = np.arange(len(order))
            places.append(place)
            none = np.full(len(self.bare[container.index]), -1, np.int32)
            rows = self.copied[container.index][order]
            codes = {held: np.concatenate([own.codes[held], none])[rows] for held in container.held}
            tables.append(ContainerRows(owner[order].astype(np.int32), codes))
        moved = batch.moved
        row = moved.row.copy()
        for under in unique_values(moved.under[moved.under >= 0]).tolist():
            chosen = moved.under == under
            row[chosen] = places[self.records.classes[under].container][row[chosen]]
        texts = batch.texts[: len(self.records.classes)]
        return Batch(tuple(tables), texts, replace(moved, row=row.astype(np.int32)))


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


def listed(
    layout: Layout, owners: Sequence[Longs], real: Sequence[np.ndarray], holder: int, target: int
) -> tuple[Longs, Longs]:
    """Return what objects of one container can mean by lists of those of another: rows of both, pair by pair.

    All that lie in the object with the list; where none can, the one that it can refer to. Arguments as in `pointed`.
    """
    if _common(layout, holder, target) == holder:
        rows = np.arange(len(owners[target]), dtype=np.int64)
        above, at = rows, target
        while at != holder:
            above, at = owners[at][above].astype(np.int64), layout.containers[at].parent
        chosen = real[target] & real[holder][above]
        return above[chosen], rows[chosen]
    found = pointed(layout, owners, real, holder, target)
    having = np.flatnonzero((found >= 0) & real[holder])
    return having, found[having]
