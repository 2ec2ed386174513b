"""Objects kept whole: of each type how many objects there were and are, and how many still say all that they said.

Merged trees have no objects. Theirs are those of the documents: of the input, which is read again as whole objects, and
of the release as it would come back.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from treeanon.arrays import Ints, Longs, unique_values
from treeanon.errors import TreeanonError
from treeanon.forest import Forest, ReadReport
from treeanon.forest.build import with_objects
from treeanon.forest.planting import Planter
from treeanon.forest.tables import Batch, ContainerRows
from treeanon.infer.persons import read_again
from treeanon.io.documents.row_texts import place
from treeanon.kernels.tree.objects import count_objects_kept
from treeanon.metrics.values import label_parents, released_as
from treeanon.progress import in_turn
from treeanon.schema import Schema

_AT_ONCE = 20_000


@dataclass(frozen=True)
class ObjectsKept:
    """The objects of a type in the input and in the release, and the share of the input's that are still whole.

    `whole` is None where nobody knows which record of the release comes from which of the input.
    """

    before: int
    after: int
    whole: float | None


def objects_kept(before: Forest, after: Forest, kept: Longs | None = None) -> Mapping[str, ObjectsKept]:
    """Return by type what became of the objects of the input; nothing where there are none.

    An object is whole if it still has a value, however general, of every class that it had one of. Equal objects of one
    parent count once, before and after; record i of `after` is record kept[i] of `before` (None: i).

    >>> import json, treeanon as ta
    >>> lines = ['version = 1', '[input]', 'format = "ndjson"', 'objects = "whole"']
    >>> for name in ("ward", "ill"):
    ...     lines += ["[[class]]", f'name = "{name}"', f'path = "stays[].{name}"']
    >>> stay = ["stays[]", "*", [["ward", "A", []], ["ill", "Flu", []]]]
    >>> forest = ta.Forest.from_records(ta.Schema.loads("\\n".join(lines)), [[stay], [stay]])
    >>> objects_kept(forest, forest.project({"ill": ["*"]}))
    {'stays[]': ObjectsKept(before=2, after=2, whole=1.0)}
    >>> objects_kept(forest, forest.without(["ill"]))["stays[]"].whole
    0.0
    """
    released = released_as(before, after, kept)
    views = _whole(before, after)
    if views is None:
        return {}
    before, after = views
    trees = before.offsets, before.parent, before.label, after.offsets, after.parent, after.label
    types = before.classes.types
    counts = count_objects_kept(*trees, released, label_parents(before.classes), types)
    return {
        name: ObjectsKept(had, has, whole / had)
        for name, had, has, whole in zip(before.classes.names, *counts[:, 1:].tolist(), strict=False)
        if had
    }


def share_whole(objects: Mapping[str, ObjectsKept]) -> float | None:
    """Return the share of the objects of all types that are still whole; None where it is not known.

    >>> share_whole({"stays[]": ObjectsKept(3, 3, 1.0), "ills[]": ObjectsKept(1, 0, 0.0)}), share_whole({})
    (0.75, None)
    """
    known = [(of.before, of.whole) for of in objects.values() if of.whole is not None]
    total = sum(before for before, _ in known)
    return sum(before * whole for before, whole in known) / total if total else None


def objects_counted(before: Forest, after: Forest) -> Mapping[str, ObjectsKept]:
    """Return by type the objects before and after, where records stand in another order than those of the input."""
    views = _whole(before, after)
    if views is None:
        return {}
    types = views[0].classes.types
    had, has = (np.bincount(one.label, minlength=types + 1)[1 : types + 1].tolist() for one in views)
    return {
        name: ObjectsKept(there, here, None)
        for name, there, here in zip(views[0].classes.names, had, has, strict=False)
        if there
    }


def _whole(before: Forest, after: Forest) -> tuple[Forest, Forest] | None:
    """Return an input and its release as whole objects; None where there are none, or nobody can read them again."""
    if before.classes.types:
        return before, after
    read = objects_of_input(before)
    return None if read is None else (read, as_objects(after, read))


def objects_of_input(forest: Forest) -> Forest | None:
    """Return the whole objects of what a forest of merged trees was read from, if it has all records of that."""
    report = forest.report
    if report is None or report.origin is None or not report.origin.data_stays:
        return None
    if report.origin.records != len(forest):
        # A part of what was read, such as a sample.
        return None
    if report.whole is None:
        report.whole = _read_whole(forest, report) or forest
    found: Forest = report.whole
    return found if found is not forest and found.classes.types and _are_same(forest, found) else None


def _read_whole(forest: Forest, report: ReadReport) -> Forest | None:
    assert report.origin is not None
    schema = report.origin.schema
    if len(forest.schema.layout.containers) < 2 or schema.input.form.names_classes or schema.is_of_rows:
        return None
    try:
        found = read_again(report.origin, _as_whole(schema))
    except (TreeanonError, OSError):
        return None
    return found if isinstance(found, Forest) else None


def _as_whole(schema: Schema) -> Schema:
    classes = tuple(replace(spec, under=None) for spec in schema.classes)
    return replace(schema, input=replace(schema.input, objects="whole"), classes=classes)


def _are_same(merged: Forest, whole: Forest) -> bool:
    """Return whether the records of both have the same labels, in the same order."""
    if len(merged) != len(whole):
        return False
    for held, name in enumerate(merged.classes.names):
        if name not in whole.classes.names:
            return False
        own, other = merged.classes.hierarchies[held], whole.classes.hierarchies[whole.classes.index(name)]
        if len(own) != len(other) or not np.array_equal(own.parent, other.parent):
            return False
    shift, width = _shift(merged, whole), len(whole.classes)

    def held_by(forest: Forest, label: Ints) -> Longs:
        record = np.repeat(np.arange(len(forest), dtype=np.int64), np.diff(forest.offsets))
        values = label > whole.classes.types
        return unique_values(record[values] * width + label[values])

    def are_same(start: int) -> bool:
        trees, objects = merged[start : start + _AT_ONCE], whole[start : start + _AT_ONCE]
        return np.array_equal(held_by(trees, shift[trees.label]), held_by(objects, objects.label))

    return all(same for _, same in in_turn(are_same, range(0, len(merged), _AT_ONCE), _jobs(merged)))


def _jobs(forest: Forest) -> int:
    """Return the number of cores by which the input was read."""
    return 1 if forest.report is None or forest.report.origin is None else forest.report.origin.jobs


def _shift(merged: Forest, whole: Forest) -> Ints:
    """Return for each label of merged trees that of whole objects; -1 in the end, for none."""
    found = np.full(len(merged.classes) + 1, -1, np.int32)
    found[0] = 0
    for held, name in enumerate(merged.classes.names):
        first, stop = merged.classes.first[held : held + 2]
        found[first:stop] = np.arange(stop - first) + whole.classes.root(name)
    return found


def as_objects(forest: Forest, whole: Forest) -> Forest:
    """Return merged trees as the objects that come back when they are written, by the classes of whole objects.

    What is out of place is in no object.
    """
    layout, own = whole.schema.layout, forest.schema.layout
    shift = _shift(forest, whole)
    number = {held: layout.class_index(published.name) for held, published in enumerate(own.classes)}
    first = whole.classes.first
    labels = [
        np.append(np.arange(stop - start) + start, -1).astype(np.int32)
        for start, stop in zip(first[:-1].tolist(), first[1:].tolist(), strict=True)
    ]
    writable = np.ones(len(forest.classes), bool)

    def rows_of(start: int) -> Batch:
        placed = place(forest[start : start + _AT_ONCE], own, writable)
        tables = []
        for table in placed.tables:
            codes = {}
            for held, column in table.labels.items():
                moved = shift[column]
                codes[number[held]] = np.where(moved < 0, -1, moved - first[number[held]]).astype(np.int32)
            tables.append(ContainerRows(table.owner, codes))
        return with_objects(Batch.of(tuple(tables), tuple(() for _ in layout.classes)), layout)

    jobs = _jobs(forest)
    batches = [batch for _, batch in in_turn(rows_of, range(0, len(forest), _AT_ONCE), jobs)]
    planter = Planter(layout, sum(batch.cells for batch in batches), jobs)
    while batches:
        planter.plant(batches.pop(0), labels, None)
    return Forest(whole.schema, whole.classes, *planter.finish(), forest.report)
