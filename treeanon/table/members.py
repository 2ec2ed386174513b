"""Columns of sets: what the reduction `set` makes of a class that a person has several values of.

A value is the text of a JSON array, of which a person holds every member: `["Flu","HIV"]` says Flu and HIV.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import orjson

from treeanon.arrays import Ints, Longs
from treeanon.hierarchy import Hierarchy
from treeanon.table.table import MISSING, Column

_BEGINS = '["'


@dataclass(frozen=True, eq=False)
class Members:
    """The members of the sets of a column: the row of each, and a column that has it; a missing set is one row."""

    row: Longs
    column: Column


def members_of(column: Column) -> Members | None:
    """Return the members of a column whose values are sets; None for any other column.

    >>> ills = ['["Flu"]', '["Flu","HIV"]']
    >>> from treeanon.table import Table
    >>> table = Table.of_texts({"ill": ([ills[1], ills[0], None], Hierarchy.flat(ills))})
    >>> found = members_of(table.columns[0])
    >>> found.row.tolist(), found.column.texts()
    ([0, 0, 1, 2], ['Flu', 'HIV', 'Flu', None])
    """
    sets = None if column.covers is not None else _sets_of(column.hierarchy)
    if sets is None:
        return None
    texts = sorted({text for one in sets.values() for text in one})
    hierarchy = Hierarchy.flat(texts)
    place = dict(zip(texts, hierarchy.encode(texts).tolist(), strict=True))
    codes = [np.array([place[text] for text in sets.get(code, ())], np.int32) for code in range(len(column.hierarchy))]
    # The root, and whatever else is no set, says nothing of members: it is one value more, as a missing one is.
    codes = [*(one if len(one) else np.array([MISSING], np.int32) for one in codes), np.array([MISSING], np.int32)]
    sizes = np.array([len(one) for one in codes])
    row = np.repeat(np.arange(len(column.codes)), sizes[column.codes])
    own = np.concatenate([codes[code] for code in column.codes.tolist()] or [np.zeros(0, np.int32)])
    spec = replace(column.spec, type="text", hierarchy=hierarchy, hierarchy_source=None)
    return Members(row, Column(spec, hierarchy, own.astype(np.int32)))


def _sets_of(hierarchy: Hierarchy) -> dict[int, list[str]] | None:
    """Return the members of every node that is a set, if all leaves are."""
    texts = hierarchy.texts
    leaves = hierarchy.leaf_nodes.tolist()
    if not leaves or not all(texts[leaf].startswith(_BEGINS) for leaf in leaves):
        return None
    found: dict[int, list[str]] = {}
    for node, text in enumerate(texts):
        if text.startswith(_BEGINS):
            try:
                members = orjson.loads(text)
            except orjson.JSONDecodeError:
                members = None
            if isinstance(members, list) and all(isinstance(member, str) for member in members):
                found[node] = members
    return found if all(leaf in found for leaf in leaves) else None


def persons_of(person: Ints | Longs | None, rows: int) -> Longs:
    """Return the person of every row, where each row may be one."""
    return np.arange(rows) if person is None else np.asarray(person, np.int64)
