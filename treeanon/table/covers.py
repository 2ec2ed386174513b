"""Published values that need be no nodes of a hierarchy: ranges of values, and sets of them.

Levels of a hierarchy: level 0 is the values as they are, each further one is a step up, the last is the root.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from treeanon.arrays import Flags, Ints, Longs
from treeanon.hierarchy import Hierarchy
from treeanon.hierarchy.numbers import parse_number

DOTS = " … "
OR_MISSING = " or missing"
_INTERVAL = re.compile(r"\[-?[0-9.]+, -?[0-9.]+[)\]]" + DOTS)


@dataclass(frozen=True, eq=False, repr=False)
class Covers:
    """Published values that each stand for some leaves of a hierarchy, and perhaps for a missing value.

    Leaves are told by their rank in `value_ranks`. Those of v are members[starts[v]:starts[v + 1]], ascending; where
    that is empty, v is a range: all from low[v] to high[v] (none if low[v] > high[v]).

    >>> hierarchy = Hierarchy.flat(["1", "2", "3", "4"])
    >>> covers = Covers.of(hierarchy, [(0, 2), (1, 3)], [False, False], is_range=True)
    >>> covers.texts, covers.counts.tolist()
    (('1 … 3', '2 … 4'), [3, 3])
    >>> Covers.of(hierarchy, [(0, 2), (1, 3)], [False, True], is_range=False).texts
    ('["1","3"]', '["2","4",null]')
    """

    texts: tuple[str, ...]
    low: Ints
    high: Ints
    starts: Longs
    members: Ints
    missing: Flags

    @classmethod
    def of(
        cls, hierarchy: Hierarchy, held: Sequence[Sequence[int]], missing: Sequence[bool], *, is_range: bool
    ) -> Covers:
        """Return the covers of these ascending ranks of leaves, or of all between their ends for ranges."""
        names = ranked_texts(hierarchy)
        texts: list[str] = []
        members: list[int] = []
        sizes: list[int] = []
        for ranks, with_missing in zip(held, missing, strict=True):
            spread = is_range and len(ranks) > 1
            text = _range_text(hierarchy, names, ranks, with_missing) if spread else None
            own = () if text is not None else tuple(range(ranks[0], ranks[-1] + 1)) if spread else tuple(ranks)
            texts.append(text if text is not None else _set_text(hierarchy, names, own, with_missing))
            members.extend(own)
            sizes.append(len(own))
        low = np.array([ranks[0] if len(ranks) else 0 for ranks in held], np.int32)
        high = np.array([ranks[-1] if len(ranks) else -1 for ranks in held], np.int32)
        starts = np.append(0, np.cumsum(np.array(sizes, np.int64))).astype(np.int64)
        return cls(tuple(texts), low, high, starts, np.array(members, np.int32), np.array(missing, np.bool_))

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def counts(self) -> Longs:
        """Return how many leaves each value stands for."""
        listed = np.diff(self.starts)
        return np.where(listed > 0, listed, self.high.astype(np.int64) - self.low + 1)


@dataclass(frozen=True)
class Cover:
    """Ranks that a published text stands for, or the ends of a range; and perhaps a missing value."""

    ranks: tuple[int, ...]
    is_range: bool
    missing: bool


def reads_back(hierarchy: Hierarchy, covers: Covers) -> bool:
    """Return whether a reader of the texts gets the values that they stand for.

    >>> hierarchy = Hierarchy.flat(["1", "2", "or missing"])
    >>> reads_back(hierarchy, Covers.of(hierarchy, [(0, 2), (1, 2)], [False, True], is_range=True))
    True
    """
    ranks = value_ranks(hierarchy)
    said: dict[str, Cover] = {}
    for text in covers.texts:
        found = None if hierarchy.find(text) is not None else parsed(text)
        held = cover_of(hierarchy, ranks, found or ([text], False, False))
        if held is None or text in said:
            return False
        said[text] = held
    again = covers_of(hierarchy, said)
    names = ("low", "high", "starts", "members", "missing")
    # A single value is listed here and may be its own range there.
    both = (_listed(covers), _listed(again))
    return all(np.array_equal(*(getattr(one, name) for one in both)) for name in names)


def _listed(covers: Covers) -> Covers:
    """Return the covers with ranges of one value as lists of it."""
    alone = (np.diff(covers.starts) == 0) & (covers.low == covers.high)
    if not alone.any():
        return covers
    sizes = np.diff(covers.starts) + alone
    starts = np.append(0, np.cumsum(sizes)).astype(np.int64)
    members = np.empty(starts[-1], np.int32)
    members[starts[:-1][alone]] = covers.low[alone]
    listed = np.ones(len(members), np.bool_)
    listed[starts[:-1][alone]] = False
    members[listed] = covers.members
    return replace(covers, starts=starts, members=members)


def covers_of(hierarchy: Hierarchy, said: Mapping[str, Cover]) -> Covers:
    """Return the covers that were read from texts.

    >>> covers_of(Hierarchy.flat(["1", "2", "3"]), {"1 … 3": Cover((0, 2), True, False)}).counts.tolist()
    [3]
    """
    low = np.array([held.ranks[0] if held.ranks else 0 for held in said.values()], np.int32)
    high = np.array([held.ranks[-1] if held.ranks else -1 for held in said.values()], np.int32)
    own = [() if held.is_range else held.ranks for held in said.values()]
    starts = np.append(0, np.cumsum([len(ranks) for ranks in own])).astype(np.int64)
    members = np.array([rank for ranks in own for rank in ranks], np.int32)
    return Covers(tuple(said), low, high, starts, members, np.array([held.missing for held in said.values()], np.bool_))


def _set_text(hierarchy: Hierarchy, names: Sequence[str], ranks: Sequence[int], missing: bool) -> str:
    """Return the text of single values."""
    return set_text(hierarchy, [names[rank] for rank in ranks], missing)


def set_text(hierarchy: Hierarchy, values: Sequence[str], missing: bool) -> str:
    """Return one value unchanged; several, or one that may be missing, as a JSON array."""
    if len(values) == 1 and not missing:
        return values[0]
    text = json.dumps([*values, *([None] if missing else [])], ensure_ascii=False, separators=(",", ":"))
    while hierarchy.find(text) is not None:
        # White space that JSON does not care for.
        text += " "
    return text


def _range_text(hierarchy: Hierarchy, names: Sequence[str], ranks: Sequence[int], missing: bool) -> str | None:
    """Return the two ends as a range; None where a reader could misread it."""
    low, high = names[ranks[0]], names[ranks[-1]]
    text = f"{low}{DOTS}{high}{OR_MISSING if missing else ''}"
    unclear = parsed(text) != ([low, high], True, missing)
    return None if unclear or hierarchy.find(text) is not None else text


def parsed(text: str) -> tuple[list[str], bool, bool] | None:
    """Return what a text that is no node says: values, whether they are a range's ends, and whether one may be missing.

    None if it is neither a range nor a set.

    >>> parsed("20 … 34"), parsed('["a",null]'), parsed("20")
    ((['20', '34'], True, False), (['a'], False, True), None)
    """
    # The first end of a range may be an interval of decimals.
    if text[:1] == "[" and not (DOTS in text and _INTERVAL.match(text)):
        try:
            found = json.loads(text)
        except (ValueError, RecursionError):
            return None
        if not isinstance(found, list) or not all(one is None or isinstance(one, str) for one in found) or not found:
            return None
        return [one for one in found if one is not None], False, None in found
    missing = text.endswith(OR_MISSING)
    ends = (text.removesuffix(OR_MISSING) if missing else text).split(DOTS)
    return (ends, True, missing) if len(ends) == 2 and all(ends) else None


@lru_cache(maxsize=64)
def value_ranks(hierarchy: Hierarchy) -> Ints:
    """Return the rank of each node that is a leaf (-1 for others): in order of numbers, else preorder.

    >>> value_ranks(Hierarchy.flat(["10", "9"])).tolist(), value_ranks(Hierarchy.flat(["b", "a"])).tolist()
    ([-1, 1, 0], [-1, 0, 1])
    """
    leaves = hierarchy.leaf_nodes
    texts = hierarchy.texts
    numbers = [parse_number(texts[leaf], False) for leaf in leaves.tolist()]
    order = np.arange(len(leaves))
    if all(number is not None for number in numbers):
        order = np.array(sorted(range(len(leaves)), key=lambda i: (numbers[i], texts[leaves[i]])), np.int64)
    ranks = np.full(len(hierarchy), -1, np.int32)
    ranks[leaves[order]] = np.arange(len(leaves), dtype=np.int32)
    ranks.flags.writeable = False
    return ranks


@lru_cache(maxsize=64)
def ranked_nodes(hierarchy: Hierarchy) -> Ints:
    """Return the node of every rank."""
    ranks = value_ranks(hierarchy)
    nodes = np.empty(len(hierarchy.leaf_nodes), np.int32)
    known = np.flatnonzero(ranks >= 0)
    nodes[ranks[known]] = known
    nodes.flags.writeable = False
    return nodes


def ranked_texts(hierarchy: Hierarchy) -> list[str]:
    """Return the text of every rank."""
    texts = hierarchy.texts
    return [texts[node] for node in ranked_nodes(hierarchy).tolist()]


def cover_of(hierarchy: Hierarchy, ranks: Ints, said: tuple[list[str], bool, bool]) -> Cover | None:
    """Return the cover of a text as `parsed` has it; None if the hierarchy does not know its values.

    >>> hierarchy = Hierarchy.flat(["1", "2", "3"])
    >>> cover_of(hierarchy, value_ranks(hierarchy), (["1", "3"], True, False)).ranks
    (0, 2)
    """
    values, is_range, missing = said
    nodes = [hierarchy.find(value) for value in values]
    if any(node is None for node in nodes):
        return None
    if len(nodes) == 1 and ranks[nodes[0]] < 0:
        return Cover(tuple(leaf_ranks(hierarchy, ranks, nodes[0] or 0)), False, missing or nodes[0] == 0)
    if is_range:
        # The ends may be intervals themselves.
        low, high = (leaf_ranks(hierarchy, ranks, node or 0) for node in nodes)
        return None if low[0] >= high[-1] else Cover((low[0], high[-1]), True, missing)
    own = [int(ranks[node]) for node in nodes if node is not None]
    return None if min(own, default=0) < 0 else Cover(tuple(sorted(own)), False, missing)


def leaf_ranks(hierarchy: Hierarchy, ranks: Ints, node: int) -> list[int]:
    """Return the ranks of the leaves below a node, ascending; of a leaf its own."""
    start, count = int(hierarchy.leaf_start[node]), int(hierarchy.leaf_count[node])
    found: list[int] = np.sort(ranks[hierarchy.leaf_nodes[start : start + count]]).tolist()
    return found


def level_maps(hierarchy: Hierarchy) -> Ints:
    """Return what each node becomes on every level; the last node of each row is the missing value.

    A missing value (code -1, or len(hierarchy)) stays missing, except at the last level: there it is the root, as
    everything is. A value nearer to the root than a level is stays as it is.

    >>> from treeanon.hierarchy import Hierarchy
    >>> hierarchy = Hierarchy.from_paths([["34", "30-39", "*"], ["41", "40-49", "*"]])
    >>> level_maps(hierarchy).tolist()
    [[0, 1, 2, 3, 4, 5], [0, 1, 1, 3, 3, 5], [0, 0, 0, 0, 0, 0]]
    """
    height, size = hierarchy.height, len(hierarchy)
    maps = np.empty((height + 1, size + 1), np.int32)
    maps[0] = np.arange(size + 1)
    parent = np.append(np.maximum(hierarchy.parent, 0), size)
    depth = np.append(hierarchy.depth, 0)
    for level in range(1, height + 1):
        above = maps[level - 1]
        # Only what is deeper than the level's depth goes a step up.
        maps[level] = np.where(depth[above] > height - level, parent[above], above)
    maps[height, size] = 0 if height else size
    return maps
