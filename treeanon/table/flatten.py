"""Flat views of trees: one row a person, one column a class, several values made one by a named reduction."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from treeanon.errors import UsageError
from treeanon.forest import Forest
from treeanon.kernels.tree.forest import Ints
from treeanon.schema.paths import FieldPath, Step
from treeanon.table.reductions import REDUCTIONS, Occurrences, fitting
from treeanon.table.spellings import in_one_spelling
from treeanon.table.table import MISSING, Column, Table


def flatten(forest: Forest, reductions: Mapping[str, str] | None = None) -> Table:
    """The table of the records, in their order: a column for every class.

    A class that occurs at most once in every record is a column of its values. One that occurs several times needs a
    reduction by its name in `reductions`: UsageError lists those that fit its type. What is counted are the nodes of
    the trees, in which equal siblings are one. Columns of values keep the hierarchy of their class.

    >>> import treeanon as ta
    >>> text = 'version = 1\\n[input]\\nformat = "ndjson"\\n[[class]]\\nname = "ill"\\npath = "ill[]"'
    >>> schema = ta.Schema.loads(text)
    >>> trees = [[["ill", "Flu", []], ["ill", "Gout", []]], [["ill", "Flu", []]], []]
    >>> forest = ta.Forest.from_records(schema, trees)
    >>> [list(flatten(forest, {"ill": how}).rows()) for how in ("count", "mode", "set")]
    [[('2',), ('1',), ('0',)], [('Flu',), ('Flu',), (None,)], [('["Flu","Gout"]',), ('["Flu"]',), (None,)]]
    """
    wanted = dict(reductions or {})
    found = {name: _occurrences(forest, index) for index, name in enumerate(forest.classes.names)}
    _check(found, wanted)
    columns = []
    for name, occurrences in found.items():
        if name in wanted:
            columns.append(REDUCTIONS[wanted[name]].reduce(occurrences))
        else:
            codes = np.full(len(forest), MISSING, np.int32)
            codes[occurrences.record] = occurrences.code
            columns.append(Column(occurrences.spec, occurrences.hierarchy, codes))
    return Table(tuple(map(_of_its_own, columns)), report=forest.report)


def _of_its_own(column: Column) -> Column:
    """The column as one that a file of rows has, called as its class, and as that is read."""
    own = replace(column, spec=replace(column.spec, path=FieldPath((Step(column.name),)), under=None))
    return in_one_spelling(own)


def _occurrences(forest: Forest, index: int) -> Occurrences:
    """The nodes of one class, by record."""
    classes = forest.classes
    nodes = np.flatnonzero(classes.class_of[forest.label] == index)
    record = (np.searchsorted(forest.offsets, nodes, side="right") - 1).astype(np.int64)
    code: Ints = (forest.label[nodes] - classes.first[index]).astype(np.int32)
    spec = forest.schema.layout.classes[index].spec
    return Occurrences(spec, classes.hierarchies[index], record, code, len(forest))


def _check(found: Mapping[str, Occurrences], wanted: Mapping[str, str]) -> None:
    """UsageError for what cannot be reduced so, and for classes that need a reduction and have none."""
    if unknown := [name for name in wanted if name not in found]:
        what = ", ".join(map(repr, unknown))
        raise UsageError(f"there is no class {what} to reduce; there is: {', '.join(found)}")
    for name, how in wanted.items():
        kind = found[name].spec.type
        if how not in fitting(kind):
            fits = ", ".join(fitting(kind))
            raise UsageError(f"class {name!r}: {how!r} is no reduction of a class of type {kind}; there is: {fits}")
    several = [o for name, o in found.items() if name not in wanted and o.repeats]
    if several:
        lines = [f"{o.spec.name} ({', '.join(fitting(o.spec.type))})" for o in several]
        raise UsageError(
            "these classes occur several times in a record, and a row has one value of each: name a reduction for"
            f" {'; for '.join(lines)}"
        )
