"""How well a release answers the queries of an analyst: group-bys that count rows, by KL divergence.

The workload of 1D §7.4: every group-by of `level` quasi columns, together with the sensitive column. What share of the
rows each of its cells has is compared with what a reader of the release has to take it for. A reader spreads a row
evenly over all values that its published ones stand for; and where sensitive values are published for groups only, over
those of its group.

Published values as runs of the values that they stand for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import numpy.typing as npt

from treeanon.arrays import Flags, Ints, Longs, unique_values
from treeanon.errors import UsageError
from treeanon.kernels.table.groups import group_numbers, spread
from treeanon.randomness import Randomness
from treeanon.table import Column, Table
from treeanon.table.covers import value_ranks
from treeanon.table.histograms import Groups


@dataclass(frozen=True)
class Runs:
    """For each published value v the ranks of leaves low[r] .. high[r], for all r of starts[v] .. starts[v + 1] - 1.

    Runs of a value ascend. The rank after all leaves is that of a missing value.
    """

    starts: Longs
    low: Ints
    high: Ints

    @property
    def counts(self) -> Longs:
        """Return how many leaves each value stands for; a missing value counts as one."""
        sizes = np.append(0, np.cumsum(self.high.astype(np.int64) - self.low + 1))
        return np.diff(sizes[self.starts])


def runs_of(column: Column, *, missing: bool) -> Runs:
    """Return the runs of all published values of a column, by code, with the missing value at the end.

    Where the input has `missing` values, the root of the hierarchy may stand for one too. What does not occur has no
    runs.

    >>> from treeanon.hierarchy import Hierarchy
    >>> from treeanon.table import Table
    >>> column = Table.of_texts({"x": (["3", "*"], Hierarchy.flat(["3", "1", "2"]))}).columns[0]
    >>> runs = runs_of(column, missing=True)
    >>> runs.starts.tolist(), runs.low.tolist(), runs.high.tolist(), runs.counts.tolist()
    ([0, 1, 2, 2, 2, 3], [0, 2, 3], [3, 2, 3], [4, 1, 0, 0, 1])
    """
    leaves = len(column.hierarchy.leaf_nodes)
    found: list[list[tuple[int, int]]] = [[] for _ in range(column.size)] + [[(leaves, leaves)]]
    for code in unique_values(column.codes[column.codes >= 0]).tolist():
        held, with_missing = _cover(column, code) if column.covers is not None else _node(column, code)
        held = np.append(held, leaves) if with_missing and missing else held
        # What can only be missing, in a column that has no missing values, stands for what nobody asks for.
        found[code] = _runs_in(held) if len(held) else [(leaves, leaves)]
    pairs = [pair for runs in found for pair in runs]
    low, high = (np.array([pair[end] for pair in pairs], np.int32) for end in (0, 1))
    return Runs(np.append(0, np.cumsum([len(runs) for runs in found])).astype(np.int64), low, high)


def _node(column: Column, code: int) -> tuple[Longs, bool]:
    ranks = value_ranks(column.hierarchy)[column.hierarchy.leaves(code)].astype(np.int64)
    return np.sort(ranks), code == 0


def _cover(column: Column, code: int) -> tuple[Longs, bool]:
    covers = column.covers
    assert covers is not None
    members = covers.members[covers.starts[code] : covers.starts[code + 1]].astype(np.int64)
    if not len(members):
        members = np.arange(covers.low[code], covers.high[code] + 1)
    return members, bool(covers.missing[code])


def _runs_in(ranks: Longs) -> list[tuple[int, int]]:
    """Return the first and last of each run of numbers that follow each other."""
    breaks = np.flatnonzero(np.diff(ranks) != 1)
    firsts = ranks[np.append(0, breaks + 1)]
    return list(zip(firsts.tolist(), ranks[np.append(breaks, len(ranks) - 1)].tolist(), strict=True))


@dataclass(frozen=True)
class QueryLoss:
    """The KL divergence, in nats, of every group-by of a level, by the names of its quasi columns.

    0 is a query that is answered exactly; infinite is one with rows where the release says that there are none.
    """

    level: int
    divergences: Mapping[tuple[str, ...], float]

    @property
    def mean(self) -> float:
        """Return the mean over all group-bys of the level."""
        return sum(self.divergences.values()) / len(self.divergences)


def query_loss(original: Table, released: Table, level: int, *, sensitive: str | None = None) -> QueryLoss:
    """Return the loss of generalized values in queries by `level` quasi columns and the sensitive one.

    `sensitive` names that column where there are several; where there is none, queries are by quasi columns alone.
    Rows of the original that the release lacks are spread over everything, so is a row over a column of which it tells
    nothing. A missing value is one more value of columns that have any.

    >>> from treeanon.hierarchy import Hierarchy
    >>> sexes = Hierarchy.flat(["f", "m"])
    >>> original, released = (Table.of_texts({"sex": (texts, sexes)}) for texts in (["f", "f", "m"], ["*", "f", "*"]))
    >>> round(query_loss(original, released, 1).mean, 4)
    0.0
    >>> round(query_loss(original, original.take(np.array([0, 1])), 1).mean, 4)
    0.0823
    """
    columns, queries = _workload(original, level, sensitive)
    gone = len(original) - len(released)
    if gone < 0 or {c.name for c in columns} - {c.name for c in released.columns}:
        raise UsageError("a release must have the columns of its input, and no more rows than that")
    domains = {c.name: _Domain(c, released.column(c.name)) for c in columns}
    return QueryLoss(level, {names[1]: _divergence(original, released, domains, names, gone) for names in queries})


def permuted_query_loss(
    original: Table, group: Longs, level: int, *, sensitive: str | None = None, sample: Flags | None = None
) -> QueryLoss:
    """Return the query loss of a release that permutes the sensitive values within each group.

    `group` has the group of every row; rows with -1 are not published, and spread over everything. With a `sample`,
    queries are about these rows alone, though their groups are whole; see `tuples_sampled`.

    >>> from treeanon.hierarchy import Hierarchy
    >>> columns = {"sex": (["f", "m"], Hierarchy.flat(["f", "m"])), "ill": (["a", "b"], Hierarchy.flat(["a", "b"]))}
    >>> table = Table.of_texts(columns, {"ill": "sensitive"})
    >>> [round(permuted_query_loss(table, np.array(group), 1).mean, 4) for group in ([0, 1], [0, 0])]
    [0.0, 0.6931]
    """
    columns, queries = _workload(original, level, sensitive)
    if not queries[0][0]:
        raise UsageError("a table without a sensitive column has nothing to permute")
    if len(group) != len(original):
        raise UsageError("the groups must say one for every row")
    domains = {c.name: _Domain(c, c) for c in columns}
    groups = _Grouped.of(group, domains, queries[0][0])
    if sample is not None:
        gone = int(sample[group < 0].sum())
        groups = replace(groups.within(sample[group >= 0]), gone=gone)
        domains = {name: domain.within(sample) for name, domain in domains.items()}
    return QueryLoss(level, {names[1]: _permuted(groups, domains, names) for names in queries})


def permuted_query_loss_of(
    original: Table,
    records: Table,
    groups: Groups,
    number: Longs,
    level: int,
    *,
    samples: tuple[Flags, Flags] | None = None,
) -> QueryLoss:
    """Return the query loss from the two published tables: the records with group numbers, and the groups.

    Which row was made of which need not be known. The quasi columns of the records, and the one sensitive column of the
    groups, have the hierarchies of the original. With `samples`, queries are about these rows of the original and these
    records alone; see `tuples_sampled`.

    >>> from treeanon.hierarchy import Hierarchy
    >>> from treeanon.table.permuted import permuted
    >>> columns = {"sex": (["f", "m"], Hierarchy.flat(["f", "m"])), "ill": (["a", "b"], Hierarchy.flat(["a", "b"]))}
    >>> table = Table.of_texts(columns, {"ill": "sensitive"})
    >>> made = permuted(table, np.array([0, 0]))
    >>> round(permuted_query_loss_of(table, made.records, made.groups(), np.array([0, 0]), 1).mean, 4)
    0.6931
    """
    columns, queries = _workload(original, level, None)
    secret = queries[0][0]
    domains = {c.name: _Domain(c, c if c.name == secret else records.column(c.name)) for c in columns}
    cells = {c.name: _cells(records.column(c.name)) for c in columns if c.name != secret}
    counted = groups.sensitive[0]
    ranks = np.append(value_ranks(counted.hierarchy), -2)[counted.values]
    if (ranks == -1).any():
        raise UsageError(f"column {counted.name!r}: queries are about values, and it has groups of values")
    values = np.where(ranks < 0, len(counted.hierarchy.leaf_nodes), ranks)
    gone = len(original) - len(records)
    found = _Grouped(number, groups.sizes, counted.starts, values, counted.counts, cells, gone)
    if samples is not None:
        domains = {name: domain.within(samples[0]) for name, domain in domains.items()}
        found = replace(found.within(samples[1]), gone=int(samples[0].sum() - samples[1].sum()))
    return QueryLoss(level, {names[1]: _permuted(found, domains, names) for names in queries})


def tuples_sampled(original: Table, records: Table, rows: int, randomness: Randomness) -> tuple[Flags, Flags]:
    """Return a random sample of about so many rows of an original, and the records that were published of them.

    It is drawn by their quasi values, which a permuted release leaves as they are: all rows that are alike are in it,
    or none, so that the queries that ask about them have all their records, whichever is whose.

    >>> from treeanon.hierarchy import Hierarchy
    >>> table = Table.of_texts({"x": ("aabbb", Hierarchy.flat("ab"))})
    >>> sample, published = tuples_sampled(table, table, 9, Randomness(1))
    >>> sample.tolist() == published.tolist() == [True] * 5
    True
    """
    names = [column.name for column in original.quasi]
    both = [np.concatenate([_cells(table.column(name)) for table in (original, records)]) for name in names]
    sizes = [int(cells.max(initial=0)) + 1 for cells in both]
    kinds, count = group_numbers(both, sizes, len(original) + len(records))
    times = np.bincount(kinds[: len(original)], minlength=count)
    order = randomness.order(count)
    # At least one, and then as many as fit.
    taken = np.zeros(count, np.bool_)
    taken[order[(np.cumsum(times[order]) <= rows) | (np.arange(count) == 0)]] = True
    chosen = taken[kinds]
    return chosen[: len(original)], chosen[len(original) :]


Query = tuple[str, tuple[str, ...]]
"""The name of the sensitive column (empty: none), and those of the quasi columns."""


def _workload(table: Table, level: int, sensitive: str | None) -> tuple[list[Column], list[Query]]:
    quasi = [column.name for column in table.quasi]
    if not 1 <= level <= len(quasi):
        raise UsageError(f"queries are by 1 to {len(quasi)} quasi columns")
    if not len(table):
        raise UsageError("a table without rows answers no queries")
    names = [column.name for column in table.sensitive]
    if sensitive is None and len(names) > 1:
        raise UsageError(f"queries are by one sensitive column; choose one of {', '.join(names)}")
    if sensitive is not None and sensitive not in names:
        raise UsageError(f"column {sensitive!r} is not sensitive; choose from {', '.join(names) or 'none'}")
    name = sensitive or (names[0] if names else "")
    columns = [*table.quasi, *([table.column(name)] if name else [])]
    return columns, [(name, chosen) for chosen in combinations(quasi, level)]


class _Domain:
    """Cells of a column: its values by rank, then the missing one if any; and the cell of each row."""

    def __init__(self, original: Column, released: Column) -> None:
        missing = bool((original.codes < 0).any() or (released.codes < 0).any())
        self.size = len(original.hierarchy.leaf_nodes) + missing
        self.cells = _cells(original)
        self.values: Longs = released.places.astype(np.int64)
        self.runs: Runs = runs_of(released, missing=missing)

    def within(self, rows: Flags) -> _Domain:
        """Return the same of some rows of the original."""
        found = copy(self)
        found.cells = self.cells[rows]
        return found


def _cells(column: Column) -> Ints:
    """Return the cell of every row: the rank of its value, or the number of leaves where that is missing."""
    ranks = np.append(value_ranks(column.hierarchy), -2)[column.codes]
    if (ranks == -1).any():
        raise UsageError(f"column {column.name!r}: queries are about values, and it has groups of values already")
    return np.where(ranks < 0, len(column.hierarchy.leaf_nodes), ranks).astype(np.int32)


def _divergence(original: Table, released: Table, domains: Mapping[str, _Domain], query: Query, gone: int) -> float:
    """Return the divergence of one query; the sensitive column comes first, as it separates rows most."""
    used = [domains[name] for name in (query[0], *query[1]) if name]
    cells, times = _distinct([domain.cells for domain in used], [domain.size for domain in used])
    sizes = [len(domain.runs.starts) - 1 for domain in used]
    lines, rows = _distinct([domain.values for domain in used], sizes)
    shift = np.append(0, np.cumsum(sizes))[:-1]
    counts = np.concatenate([domain.runs.counts for domain in used])
    lines = lines + shift
    weights = rows / np.prod(counts[lines].astype(np.float64), axis=1)
    runs = [domain.runs for domain in used]
    before = np.append(0, np.cumsum([len(one.low) for one in runs]))
    starts = np.concatenate([one.starts[:-1] + at for one, at in zip(runs, before, strict=False)] + [before[-1:]])
    low, high = (np.concatenate([getattr(one, end) for one in runs]) for end in ("low", "high"))
    got = spread(lines, weights, starts, low, high, *_tree(cells))
    return _kl(times, got + gone / np.prod([float(domain.size) for domain in used]), len(original))


def _kl(times: Longs, got: npt.NDArray[np.floating], rows: int) -> float:
    with np.errstate(divide="ignore"):
        # Rounding may leave less than nothing.
        return max(float((times * np.log(times / got)).sum()) / rows, 0.0)


def _distinct(columns: Sequence[npt.NDArray[np.integer]], sizes: Sequence[int]) -> tuple[Longs, Longs]:
    """Return the distinct rows of some columns, in ascending order, and how often each occurs."""
    numbers, count = group_numbers([c.astype(np.int32) for c in columns], sizes, len(columns[0]))
    first = np.zeros(count, np.int64)
    first[numbers] = np.arange(len(numbers))
    return np.stack([c[first] for c in columns], axis=1).astype(np.int64), np.bincount(numbers, minlength=count)


def _tree(cells: Longs) -> tuple[Ints, Longs, int]:
    """Return the cells of a query as a tree, and where its last level begins; see the kernel."""
    new = np.ones(len(cells), np.bool_)
    new[1:] = False
    level_cells: list[Ints] = []
    children: list[Longs] = []
    nodes = 0
    for j in range(cells.shape[1]):
        changed = np.append(True, cells[1:, j] != cells[:-1, j])
        above, new = np.flatnonzero(new), new | changed
        here = np.flatnonzero(new)
        if j:
            children.append(nodes + np.searchsorted(here, above))
        nodes += len(here)
        level_cells.append(cells[here, j].astype(np.int32))
    # The first level's own children begin where it ends; the top, which is no node, is left out.
    return np.concatenate(level_cells), np.concatenate([*children, [nodes]]).astype(np.int64), nodes - len(cells)


@dataclass(frozen=True, eq=False)
class _Grouped:
    """Published rows of a permuted release with their groups, and the counts of sensitive cells by group.

    Group g has cells[starts[g]:starts[g + 1]], each `times`; `quasi` has the cells of the rows by column
    and `number` the group of each row.
    """

    number: Longs
    sizes: Longs
    starts: Longs
    cells: Longs
    times: Longs
    quasi: Mapping[str, Ints]
    gone: int

    @classmethod
    def of(cls, group: Longs, domains: Mapping[str, _Domain], secret: str) -> _Grouped:
        """Return the groups of the rows of an original; -1 is no group."""
        rows = np.flatnonzero(group >= 0)
        number = np.unique(group[rows], return_inverse=True)[1].astype(np.int64)
        sizes = np.bincount(number).astype(np.int64)
        sensitive = domains[secret].cells
        width = int(sensitive.max(initial=0)) + 1
        keys, times = np.unique(number * width + sensitive[rows], return_counts=True)
        starts = np.searchsorted(keys // width, np.arange(len(sizes) + 1))
        quasi = {name: domain.cells[rows] for name, domain in domains.items() if name != secret}
        return cls(number, sizes, starts, keys % width, times, quasi, len(group) - len(rows))

    def within(self, rows: Flags) -> _Grouped:
        """Return some of the published rows, with their groups as they are, and nothing left out."""
        quasi = {name: cells[rows] for name, cells in self.quasi.items()}
        return replace(self, number=self.number[rows], quasi=quasi, gone=0)


def _permuted(groups: _Grouped, domains: Mapping[str, _Domain], query: Query) -> float:
    secret = domains[query[0]]
    asked = len(secret.cells)
    both = [np.concatenate([domains[name].cells, groups.quasi[name]]) for name in query[1]]
    kinds, _ = group_numbers(both, [domains[name].size for name in query[1]], asked + len(groups.number))
    alike, published = np.split(kinds, [asked])
    # A value that the original lacks may be one cell more than it has.
    room = max(secret.size, int(groups.cells.max(initial=0)) + 1)
    keys, times = np.unique(alike * room + secret.cells, return_counts=True)
    width = max(len(groups.sizes), 1)
    pairs, rows = np.unique(published * width + groups.number, return_counts=True)
    kind, group = pairs // width, pairs % width
    lengths = groups.starts[group + 1] - groups.starts[group]
    of = np.repeat(np.arange(len(pairs)), lengths)
    at = np.arange(len(of)) - np.repeat(np.cumsum(lengths) - lengths, lengths) + groups.starts[group[of]]
    weights = rows[of] * groups.times[at] / groups.sizes[group[of]]
    wanted = kind[of] * room + groups.cells[at]
    place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    hit = keys[place] == wanted
    got = np.bincount(place[hit], weights[hit], len(keys))
    whole = float(np.prod([float(domains[name].size) for name in query[1]])) * secret.size
    return _kl(times, got + groups.gone / whole, asked)
