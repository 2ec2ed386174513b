"""Releases in which ordered columns are cut into intervals that need be no nodes of their hierarchies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from treeanon.algorithms.flat.tuple_suppression import rare_rows
from treeanon.hierarchy import Hierarchy
from treeanon.kernels.trees import Ints
from treeanon.loss.flat.groups import shifted
from treeanon.table import Column, Table
from treeanon.table.table import MISSING


def released_intervals(table: Table, starts: Mapping[str, Sequence[int]], k: int) -> Table:
    """The table with these columns cut into intervals, without rows that fewer than k persons share.

    `starts` has the codes at which a column's second, third, … interval begins; a missing value comes after all codes.
    The values are leaves. Each column gets a hierarchy of its intervals over these.
    """
    columns = tuple(_cut(c, starts[c.name]) if c.name in starts else c for c in table.columns)
    whole = Table(columns, table.person, table.report)
    return whole.take(np.flatnonzero(~rare_rows(whole, k)).astype(np.int32))


def _cut(column: Column, starts: Sequence[int]) -> Column:
    """The column with the interval of each value, or the value where it is alone in its interval."""
    hierarchy = column.hierarchy
    missing = len(hierarchy)
    values = hierarchy.leaf_nodes
    is_missing_held = bool((column.codes < 0).any())
    interval_of = np.searchsorted(np.asarray(starts), values, "right")
    last = int(np.searchsorted(np.asarray(starts), missing, "right"))
    root = hierarchy.root if hierarchy.height else "*"
    taken = {root, *(hierarchy.texts[v] for v in values.tolist())}
    texts, parents, shown = [root], [-1], {}
    for i in range(len(starts) + 1):
        inside = values[interval_of == i].tolist()
        with_missing = is_missing_held and i == last
        up = 0
        if starts and len(inside) + with_missing > 1:
            up = len(texts)
            texts.append(_label([hierarchy.texts[v] for v in inside], with_missing, taken))
            parents.append(0)
        for v in inside:
            shown[v] = up if up or not starts else len(texts)
            texts.append(hierarchy.texts[v])
            parents.append(up)
        if with_missing:
            shown[missing] = MISSING if starts and not inside else up
    codes: Ints = np.array([shown.get(v, 0) for v in range(missing + 1)], np.int32)[shifted(column)]
    cut = Hierarchy(tuple(texts), np.array(parents, np.int32))
    return Column(replace(column.spec, hierarchy=cut), cut, codes)


def _label(inside: list[str], with_missing: bool, taken: set[str]) -> str:
    """The text of an interval: its first and last value; no other text of the column."""
    label = f"{inside[0]} … {inside[-1]}" if len(inside) > 1 else inside[0]
    label += " or missing" if with_missing else ""
    while label in taken:
        label += " …"
    taken.add(label)
    return label
