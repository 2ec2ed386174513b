"""A published table in the terms of the table that it was made of, and what of it cannot have been made of that."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import orjson

from treeanon.arrays import Flags, Longs, unique_values
from treeanon.errors import UsageError
from treeanon.hierarchy import Flat, Hierarchy
from treeanon.hierarchy.numbers import parse_number
from treeanon.schema import Schema
from treeanon.table.covers import Cover, cover_of, covers_of, parsed, value_ranks
from treeanon.table.published_numbers import published_spec
from treeanon.table.table import Column, Table


def schema_as_published(schema: Schema) -> Schema:
    """Return the schema for reading published values unchanged, without hierarchies and pseudonyms."""
    plain = []
    for spec in schema.classes:
        role = "keep" if spec.pseudonym else spec.role
        plain.append(replace(spec, hierarchy=Flat(), hierarchy_source=None, role=role, pseudonym=False))
    return replace(schema, classes=tuple(plain))


def in_terms_of(original: Table, published: Table) -> tuple[Table, Mapping[str, int]]:
    """Return the published table with the original's columns and hierarchies, and the strange rows by column.

    `published` has its values as they stand: nodes of the original's hierarchies, ranges, or sets. A row is strange
    where its value stands for none that a row of the original has; one that the hierarchy does not know at all becomes
    the root. Columns without strange rows are not told.

    >>> ages = Hierarchy.from_paths([["34", "30-39", "*"], ["35", "30-39", "*"], ["41", "40-49", "*"]])
    >>> original = Table.of_texts({"age": (["34", "35"], ages)})
    >>> texts = ["34 … 35", "30-39", "40-49", "young"]
    >>> table, strange = in_terms_of(original, Table.of_texts({"age": (texts, Hierarchy.flat(texts))}))
    >>> list(table.rows()), strange
    ([('34 … 35',), ('30-39',), ('40-49',), ('young',)], {'age': 2})
    """
    names = [column.name for column in original.columns]
    if missing := [name for name in names if name not in {column.name for column in published.columns}]:
        raise UsageError(f"a release has the columns of its original; this one lacks: {', '.join(missing)}")
    columns: list[Column] = []
    strange: dict[str, int] = {}
    for before in original.columns:
        column, rows = _in_terms_of(before, published.column(before.name))
        columns.append(column)
        if rows:
            strange[before.name] = rows
    return replace(published, columns=tuple(columns)), strange


def _in_terms_of(before: Column, after: Column) -> tuple[Column, int]:
    """Return the column with the hierarchy of its original, and the number of its strange rows."""
    if before.spec.controls.microaggregate:
        return _numbers_of(before, after)
    used = unique_values(after.codes[after.codes >= 0])
    texts = [after.values[code] for code in used.tolist()]
    nodes = {text: _node(before.hierarchy, text) for text in texts}
    said = {text: what for text, node in nodes.items() if node is None and (what := _said(before, text)) is not None}
    place = np.full(after.size + 1, -1, np.int32)
    if said:
        place[used] = np.arange(len(used))
        covers = covers_of(before.hierarchy, _covers_by_text(before.hierarchy, nodes, said))
        column = Column(before.spec, before.hierarchy, place[after.codes], covers)
    else:
        place[used] = [node or 0 for node in nodes.values()]
        column = Column(before.spec, before.hierarchy, place[after.codes])
    known = np.ones(after.size + 1, np.bool_)
    known[used] = [node is not None or text in said for text, node in nodes.items()]
    fine = known[after.codes] & _possible(before, column)[column.codes]
    return column, int(np.count_nonzero(~fine))


def _numbers_of(before: Column, after: Column) -> tuple[Column, int]:
    """Return a column of means or medians, and how many rows have none that can be one of the original's."""
    known = [number for text in before.texts() if text and (number := parse_number(text, False)) is not None]
    low, high = min(known, default=0), max(known, default=0)
    fine = [number is not None and low <= number <= high for number in (parse_number(t, False) for t in after.values)]
    spec = published_spec(before.spec, after.hierarchy)
    strange = ~np.append(np.array(fine, np.bool_), True)[after.codes]
    return Column(spec, after.hierarchy, after.codes), int(strange.sum())


def _covers_by_text(
    hierarchy: Hierarchy, nodes: Mapping[str, int | None], said: Mapping[str, Cover]
) -> dict[str, Cover]:
    """Return the cover of each published text; the root's where its meaning is unknown."""
    ranks = value_ranks(hierarchy)
    held = {}
    for text, node in nodes.items():
        one = said.get(text)
        if one is None:
            one = cover_of(hierarchy, ranks, ([hierarchy.texts[node or 0]], False, False))
            assert one is not None
        held[text] = one
    return held


def _node(hierarchy: Hierarchy, text: str) -> int | None:
    """Return the node of a text; the root for a set of the root alone."""
    found = hierarchy.find(text)
    return 0 if found is None and text == orjson.dumps([hierarchy.root]).decode() else found


def _said(before: Column, text: str) -> Cover | None:
    """Return the cover of a text that is a range or a set, if the column may have such values."""
    what = parsed(text) if before.role == "quasi" else None
    return None if what is None else cover_of(before.hierarchy, value_ranks(before.hierarchy), what)


def _possible(before: Column, after: Column) -> Flags:
    """Return, for every value of a release and the missing one, whether it can stand for an original one."""
    hierarchy, missing = before.hierarchy, bool((before.codes < 0).any())
    used = unique_values(before.codes[before.codes >= 0])
    start, count = hierarchy.leaf_start.astype(np.int64), hierarchy.leaf_count.astype(np.int64)
    # How many values of the original cover each leaf, in preorder: + where one begins, - where it ends.
    edges = np.zeros(len(hierarchy.leaf_nodes) + 1, np.int64)
    np.add.at(edges, start[used], 1)
    np.add.at(edges, start[used] + count[used], -1)
    there = np.cumsum(edges)[:-1] > 0
    if after.covers is None:
        below = np.append(0, np.cumsum(there))
        fine = below[start + count] - below[start] > 0
        fine[0] |= missing
        return np.append(fine, missing)
    by_rank = np.zeros(len(there), np.bool_)
    by_rank[value_ranks(hierarchy)[hierarchy.leaf_nodes]] = there
    covers = after.covers
    sums: Longs = np.append(0, np.cumsum(by_rank))
    ranges = sums[np.maximum(covers.high + 1, covers.low)] - sums[covers.low] > 0
    listed = np.append(0, np.cumsum(by_rank[covers.members]))
    members = listed[covers.starts[1:]] - listed[covers.starts[:-1]] > 0
    fine = np.where(np.diff(covers.starts) > 0, members, ranges)
    return np.append(fine | (covers.missing & missing), missing)
