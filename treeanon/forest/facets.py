"""Facets read and checked, and put back: what else the documents say where they say a value, where all agree."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from treeanon.arrays import Ints, Longs, unique_values
from treeanon.errors import DataError
from treeanon.forest.build import ForestBuilder
from treeanon.forest.classes import Classes, FacetTexts, node_text
from treeanon.forest.forest import Forest
from treeanon.forest.tables import Batch, ContainerRows, MovedNodes
from treeanon.hierarchy import Hierarchy
from treeanon.kernels.tree.forest import group_by_record
from treeanon.kernels.tree.objects import canonical_trees
from treeanon.schema import Layout, Schema
from treeanon.schema.facets import facet_class, facet_schema, facets_of
from treeanon.schema.layout import ROOT
from treeanon.schema.persons import KEY_CLASS, by_row, parts_of, ties_rows


class FacetReader:
    """Reader of facets out of batches, which it gives back without them."""

    def __init__(self, schema: Schema, reads: Layout, plain: Layout) -> None:
        self.reads, self.plain = reads, plain
        self.index = {held.name: number for number, held in enumerate(reads.classes)}
        self.found = {(spec.name, facet): FacetTexts() for spec, facet, _ in facets_of(schema)}
        of_path = {_place(container): container.index for container in reads.containers}
        self.containers = [of_path[_place(container)] for container in plain.containers]
        self.back = np.full(len(reads.classes) + 1, -1, np.int32)
        for number, held in enumerate(plain.classes):
            self.back[self.index[held.name]] = number

    def taken(self, batch: Batch) -> Batch:
        """Return a batch without facets, which are noted."""
        for name, facet in self.found:
            self._note(batch, name, facet)
        moved = batch.moved
        held, under = self.back[moved.held], self.back[moved.under]
        if np.any((held < 0) & (moved.held >= 0)) or np.any((under < 0) & (moved.under >= 0)):
            raise DataError("facets cannot stand under the reserved name")
        tables = []
        for container, at in zip(self.plain.containers, self.containers, strict=True):
            own = [(new, self.index[self.plain.classes[new].name]) for new in container.held]
            table = batch.tables[at]
            tables.append(ContainerRows(table.owner, {new: table.codes[old] for new, old in own}))
        return replace(
            batch,
            tables=tuple(tables),
            texts=tuple(batch.texts[self.index[held.name]] for held in self.plain.classes),
            moved=MovedNodes(held, moved.code, moved.parent, under, moved.row),
            apart=None if batch.apart is None else self.taken(batch.apart),
        )

    def _note(self, batch: Batch, name: str, facet: str) -> None:
        """Note which texts of a facet stand with which values of its class."""
        value, told = self.index[name], self.index[facet_class(name, facet)]
        home, around = self.reads.classes[value].container, self.reads.classes[told].container
        values, texts, found = batch.texts[value], batch.texts[told], self.found[name, facet]
        rows = np.arange(len(batch.tables[home]), dtype=np.int32)
        at = home
        while at != around:
            rows = batch.tables[at].owner[rows]
            at = self.reads.containers[at].parent
        codes, said = batch.tables[home].codes[value], batch.tables[around].codes[told]
        here = codes >= 0
        alone = said >= 0
        alone[rows[here]] = False
        found.alone += int(np.count_nonzero(alone))
        pairs = np.unique(np.stack([codes[here], said[rows][here]]), axis=1)
        typed = self.reads.classes[value].spec.type != "text"
        for code, text in zip(*pairs.tolist(), strict=True):
            own = texts[text] if text >= 0 else ""
            found.add(values[code].strip() if typed else values[code], own if own.strip() else None)


def _place(container: object) -> tuple[object, ...]:
    return getattr(container, "path"), getattr(container, "predicate")  # noqa: B009


class FacetBuilder(ForestBuilder):
    """Builder of a forest from batches with facets; what they agree on goes to the report."""

    def __init__(self, schema: Schema) -> None:
        super().__init__(schema)
        self.reads = facet_schema(schema)
        self.facets = FacetReader(schema, self.reads.layout, self.layout)

    def add(self, batch: Batch) -> None:
        """Take in a batch of records."""
        super().add(self.facets.taken(batch))

    def finish(self, *, show_values: bool = False, jobs: int = 1) -> Forest:
        """Return the forest of the records; see `ForestBuilder`."""
        self.report.facets = self.facets.found
        return super().finish(show_values=show_values, jobs=jobs)


def with_facets(forest: Forest) -> Forest:
    """Return the forest with the facets of its values as nodes, by the schema in which they are classes.

    Only leaves of a hierarchy have facets: everybody who is published with such a value had it. A node that is out of
    its place has none, as it is written under the reserved name.
    """
    found: Mapping[tuple[str, str], FacetTexts] = forest.report.facets if forest.report is not None else {}
    schema = facet_schema(forest.schema)
    if schema is forest.schema:
        return forest
    return _Grower(forest, schema, {key: texts.agreed() for key, texts in found.items()}).forest()


class _Grower:
    """The making of a forest in which facets are nodes."""

    def __init__(self, before: Forest, schema: Schema, agreed: Mapping[tuple[str, str], Mapping[str, str]]) -> None:
        self.before, self.schema, self.agreed = before, schema, agreed
        # Rows have no objects in them where theirs are whole ones of their persons.
        self.whole = before.schema.input.keeps_objects
        self.record = np.repeat(np.arange(len(before), dtype=np.int32), np.diff(before.offsets))
        self.parent: Longs = np.where(before.parent < 0, -1, before.offsets[:-1][self.record] + before.parent)
        self.in_place = self._in_place()
        self.layout = schema.layout
        self.told = {facet_class(spec.name, facet): (spec.name, facet) for spec, facet, _ in facets_of(before.schema)}

    def forest(self) -> Forest:
        before, old = self.before, self.before.classes
        texts = {name: self._texts(*key) for name, key in self.told.items()}
        classes = Classes(
            tuple(held.name for held in self.layout.classes),
            tuple(held.parent for held in self.layout.classes),
            tuple(
                Hierarchy.flat(sorted(set(filter(None, texts[held.name].values()))))
                if held.name in texts
                else old.hierarchies[before.schema.layout.class_index(held.name)]
                for held in self.layout.classes
            ),
            self.layout.types,
        )
        label = np.zeros(len(old), np.int32)
        for index, held in enumerate(before.schema.layout.classes):
            first, stop = old.first[index : index + 2]
            label[first:stop] = np.arange(stop - first) + classes.first[self.layout.class_index(held.name)]
        place = self._beside if self.whole else self._above
        trees = group_by_record(*place(classes, texts, label), len(before))
        rank = np.arange(len(classes), dtype=np.int32)
        return Forest(self.schema, classes, *canonical_trees(*trees, rank, classes.types), before.report)

    def _above(self, classes: Classes, texts: Mapping[str, Mapping[int, str]], label: Ints) -> tuple[Ints, Ints, Ints]:
        """Return record, parent and label of all nodes, those of facets above their values, in merged trees."""
        records, parents, labels = [self.record], [self.parent.copy()], [label[self.before.label]]
        count = self.before.nodes
        # Parents of a class come before it: what stands around is put nearest to what the class lies under.
        for name in (held.name for held in self.layout.classes if held.name in texts):
            nodes = self._nodes(self.told[name][0])
            records.append(self.record[nodes])
            parents.append(parents[0][nodes])
            labels.append(self._labels(classes, name, texts[name])[self.before.label[nodes]])
            parents[0][nodes] = np.arange(count, count + len(nodes))
            count += len(nodes)
        return np.concatenate(records), np.concatenate(parents).astype(np.int32), np.concatenate(labels)

    def _beside(self, classes: Classes, texts: Mapping[str, Mapping[int, str]], label: Ints) -> tuple[Ints, Ints, Ints]:
        """Return the same where objects stay whole: a facet is a value of its object, if all values below agree."""
        records, parents, labels = [self.record], [self.parent], [label[self.before.label]]
        for held in self.layout.classes:
            if held.name not in texts:
                continue
            nodes = self._nodes(self.told[held.name][0])
            objects = self._objects(nodes, held.parent)
            said = self._labels(classes, held.name, texts[held.name])
            said = _agreeing(self.before.label[nodes], self.record[nodes].astype(np.int64), objects, said)
            told = said[self.before.label[nodes]]
            _, first = np.unique(np.stack([self.record[nodes], objects]), axis=1, return_index=True)
            first = first[told[first] > 0]
            records.append(self.record[nodes][first])
            parents.append(objects[first])
            labels.append(told[first])
        return np.concatenate(records), np.concatenate(parents).astype(np.int32), np.concatenate(labels)

    def _objects(self, nodes: Longs, kind: int) -> Longs:
        """Return the object of a type that holds each node; -1: the record."""
        at = self.parent[nodes]
        if kind < 0:
            return np.full(len(nodes), -1, np.int64)
        own = self.before.classes.class_of[self.before.label]
        while np.any(strange := own[at] != kind):
            at = np.where(strange, self.parent[at], at)
        return at

    def _labels(self, classes: Classes, name: str, texts: Mapping[int, str]) -> Ints:
        """Return the label of a facet for each label of its class; 0 for those that have none."""
        found = np.zeros(len(self.before.classes), np.int32)
        for value, text in texts.items():
            if text:
                found[value] = classes.label(name, text)
        return found

    def _in_place(self) -> np.ndarray:
        """Return which nodes lie, and hang on nodes that lie, where documents have their class.

        That is under the class that their own lies under; in rows of persons also where a class around the row is not
        there. Of a class of the record itself a document has one value.
        """
        forest, parent = self.before, self.parent
        own = forest.classes.class_of[forest.label]
        declared = np.array([*forest.classes.parents, -2], np.int32)[own]
        above = np.where(parent < 0, -1, np.append(own, -1)[parent])
        fits: np.ndarray = (above == declared) | _in_rows(forest.schema)[own, above]
        for index, held in enumerate(forest.schema.layout.classes):
            if held.container == 0:
                of_class = own == index
                fits &= ~of_class | (np.bincount(self.record[of_class], minlength=len(forest))[self.record] < 2)
        while True:
            with_above = fits & ((parent < 0) | np.append(fits, True)[parent])
            if np.array_equal(with_above, fits):
                return fits
            fits = with_above

    def _nodes(self, name: str) -> Longs:
        """Return the nodes of a class that are in place."""
        forest = self.before
        return np.flatnonzero(self.in_place & (forest.classes.class_of[forest.label] == forest.classes.index(name)))

    def _texts(self, name: str, facet: str) -> dict[int, str]:
        """Return the text of a facet's node for each label of its class that occurs in place.

        In merged trees each label has one of its own, so that values of one facet do not come into one object.
        """
        old = self.before.classes
        agreed = self.agreed.get((name, facet), {})
        hierarchy, first = old.hierarchies[old.index(name)], old.root(name)
        said: dict[int, str] = {}
        for code, text in zip(hierarchy.encode(list(agreed)).tolist(), agreed.values(), strict=True):
            if code >= 0 and hierarchy.is_leaf(code):
                # Two spellings of one value that say different things say nothing.
                said[first + code] = text if said.get(first + code, text) == text else ""
        used = unique_values(self.before.label[self._nodes(name)]).tolist()
        if self.whole:
            return {label: said.get(label, "") for label in used}
        return {label: node_text(said.get(label, ""), old.decode(label)[1]) for label in used}


def _in_rows(schema: Schema) -> np.ndarray:
    """Return for each class whether rows hold it in its place when it lies under another, the last being the root.

    That is so where it lies under nothing in its row: then it may lie under whatever is not inside of the row. Where
    objects stay whole, each value is in its own.
    """
    layout = schema.layout
    found = np.zeros((len(layout.classes) + 1, len(layout.classes) + 1), bool)
    if layout.types:
        return found
    kinds = [(by_row(schema), 1)] if schema.input.person is not None else []
    kinds += [(part.schema, part.container) for part in (parts_of(schema) if schema.files else ())]
    for own, base in kinds:
        within = np.zeros(len(layout.containers), bool)
        within[base] = base > 0
        for container in layout.containers[1:]:
            within[container.index] |= base > 0 and within[container.parent]
        inside = np.array([within[held.container] and held.container != base for held in layout.classes] + [False])
        for held in own.layout.classes:
            if base > 0 and held.parent == ROOT and held.name != KEY_CLASS and not ties_rows(held.name):
                found[layout.class_index(held.name)] = ~inside
    return found


def _agreeing(values: Ints, records: Longs, objects: Longs, said: Ints) -> Ints:
    """Return the labels of a facet without those of values that share an object with one that says something else.

    Elsewhere such a value would have the facet, and there not: so it has none.
    """
    _, group = np.unique(np.stack([records, objects]), axis=1, return_inverse=True)
    group = group.ravel()
    while True:
        told = said[values]
        least, most = np.full(group.max(initial=-1) + 1, np.iinfo(np.int32).max), np.zeros(group.max(initial=-1) + 1)
        np.minimum.at(least, group, told)
        np.maximum.at(most, group, told)
        lost = values[(least != most)[group] & (told > 0)]
        if not len(lost):
            return said
        said = said.copy()
        said[lost] = 0
