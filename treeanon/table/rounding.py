"""Ranges whose ends are intervals of the hierarchy, and not values that occur in the data."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from treeanon.errors import UsageError
from treeanon.hierarchy import Hierarchy
from treeanon.table.covers import DOTS, OR_MISSING, Covers, leaf_ranks, parsed, ranked_nodes, set_text, value_ranks
from treeanon.table.table import Column, Table


def with_round_ranges(table: Table) -> Table:
    """Return the table with its ranges made wider, up to the borders of the hierarchy's finest intervals.

    Rows that were alike still are, and ranges that become equal are one. UsageError for a column of ranges whose
    hierarchy has no intervals. Single values, and sets of them, stay as they are.

    >>> from treeanon.hierarchy import Hierarchy
    >>> from treeanon.table.covers import Covers
    >>> ages = Hierarchy.from_paths([[str(n), f"{n // 10}0-{n // 10}9", "*"] for n in (21, 25, 34, 37, 41)])
    >>> covers = Covers.of(ages, [(0, 1), (0, 3), (1, 2)], [False] * 3, is_range=True)
    >>> column = replace(Table.of_texts({"age": (["21"] * 3, ages)}).columns[0], codes=np.arange(3), covers=covers)
    >>> list(with_round_ranges(Table((column,))).rows())
    [('20-29',), ('20-29 … 30-39',), ('20-29 … 30-39',)]
    """
    return replace(table, columns=tuple(map(_rounded, table.columns)))


def _rounded(column: Column) -> Column:
    covers, hierarchy = column.covers, column.hierarchy
    if covers is None:
        return column
    is_range = (np.diff(covers.starts) == 0) & (covers.low < covers.high)
    if not is_range.any():
        return column
    if hierarchy.height < 2:
        raise UsageError(
            f"class {column.name!r} has ranges, but its hierarchy has no intervals to round them to: give it one, such"
            " as { intervals = [5, 10, 20] }"
        )
    borders = _borders(hierarchy)
    texts: dict[str, int] = {}
    kept: list[tuple[int, int, tuple[int, ...], bool]] = []
    new = np.empty(len(covers) + 1, np.int32)
    new[-1] = -1
    for at in range(len(covers)):
        low, high, missing = int(covers.low[at]), int(covers.high[at]), bool(covers.missing[at])
        if is_range[at]:
            text, made = _range(hierarchy, int(borders[low]), int(borders[high]), missing)
        else:
            members = covers.members[covers.starts[at] : covers.starts[at + 1]].tolist()
            text, made = covers.texts[at], (low, high, tuple(members), missing)
        new[at] = texts.setdefault(text, len(kept))
        if new[at] == len(kept):
            kept.append(made)
    sizes = [len(members) for _, _, members, _ in kept]
    made_of = Covers(
        tuple(texts),
        np.array([low for low, _, _, _ in kept], np.int32),
        np.array([high for _, high, _, _ in kept], np.int32),
        np.append(0, np.cumsum(sizes)).astype(np.int64),
        np.array([rank for _, _, members, _ in kept for rank in members], np.int32),
        np.array([missing for _, _, _, missing in kept], np.bool_),
    )
    return replace(column, codes=new[column.codes], covers=made_of)


def _borders(hierarchy: Hierarchy) -> np.ndarray:
    """Return for every rank the node that its range is rounded to: the lowest above it, but never the root."""
    nodes = ranked_nodes(hierarchy)
    above = hierarchy.parent[nodes]
    return np.where(above > 0, above, nodes)


def _range(
    hierarchy: Hierarchy, first: int, last: int, missing: bool
) -> tuple[str, tuple[int, int, tuple[int, ...], bool]]:
    """Return the text of a range between two nodes, and what it stands for: ends, members, and a missing value."""
    end, ranks = hierarchy.end, value_ranks(hierarchy)
    if first <= last < end[first] or last <= first < end[last]:
        # One of them is within the other.
        return _one(hierarchy, min(first, last), missing)
    low, high = hierarchy.texts[first], hierarchy.texts[last]
    text = f"{low}{DOTS}{high}{OR_MISSING if missing else ''}"
    if parsed(text) != ([low, high], True, missing) or hierarchy.find(text) is not None:
        above = min(first, last)
        while not above <= max(first, last) < end[above]:
            above = int(hierarchy.parent[above])
        return _one(hierarchy, above, missing)
    return text, (leaf_ranks(hierarchy, ranks, first)[0], leaf_ranks(hierarchy, ranks, last)[-1], (), missing)


def _one(hierarchy: Hierarchy, node: int, missing: bool) -> tuple[str, tuple[int, int, tuple[int, ...], bool]]:
    """Return the text of a single node, and what it stands for."""
    members = leaf_ranks(hierarchy, value_ranks(hierarchy), node)
    text = set_text(hierarchy, [hierarchy.texts[node]], missing and node > 0)
    # Whatever is below the root may be missing as well.
    return text, (members[0], members[-1], tuple(members), missing or node == 0)
