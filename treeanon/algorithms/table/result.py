"""What every search of a table gives back, and how its rows become fit to be published.

Last, what the three forms of suppression without generalization share, as they are classified by V. Ciriani, S. De
Capitani di Vimercati, S. Foresti and P. Samarati, "k-anonymity" (Secure Data Management in Decentralized Systems,
Springer 2007): whole tuples (TS), whole attributes (AS), or single cells (CS).

Also partitions: groups of rows that a search has found, each published with one value in each quasi column.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, cast, runtime_checkable

import numpy as np

from treeanon.algorithms.table.group_checker import RowGroupChecker
from treeanon.algorithms.table.problem import Problem
from treeanon.algorithms.table.registry import STYLES, Style
from treeanon.arrays import Flags, Ints, Longs, unique_values
from treeanon.errors import GuaranteeError, UsageError
from treeanon.metrics.table.ncp import lowest_common
from treeanon.privacy.models.model import Model
from treeanon.table import Column, Table
from treeanon.table.covers import Covers, value_ranks
from treeanon.table.table import MISSING


class Result(Protocol):
    """What a search has found: which rows to publish, and with which values."""

    @property
    def algorithm(self) -> str:
        """The search's name."""

    @property
    def models(self) -> tuple[Model, ...]:
        """The models that every published group satisfies."""

    @property
    def suppressed(self) -> int:
        """How many persons have a row that is left out."""

    @property
    def counts(self) -> Mapping[str, Any]:
        """What the search tells of itself, without a value of the data."""

    def recoded(self, table: Table) -> tuple[Table, Longs]:
        """Return the rows of the table that are published, as they are published; and their numbers in the table."""

    def as_dict(self) -> dict[str, Any]:
        """Return how to do the same to other tables, as plain data: this may hold values. Empty if that cannot be."""


@runtime_checkable
class RowResult(Result, Protocol):
    """What says of each row by its number what becomes of it."""

    def as_of(self, rows: Longs) -> Result:
        """Return the same in the numbers that the rows had before they came in another order: row r had rows[r]."""


@dataclass(frozen=True, repr=False)
class Recoding:
    """Rows recoded one by one: `table` has those published, `rows` their numbers in the input."""

    algorithm: str
    models: tuple[Model, ...]
    table: Table
    rows: Longs
    suppressed: int = 0
    counts: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"<Recoding by {self.algorithm}: {len(self.rows):,} rows>"

    def recoded(self, table: Table) -> tuple[Table, Longs]:
        """Return the rows published: always those of the table that was searched."""
        return self.table, self.rows

    def as_of(self, rows: Longs) -> Recoding:
        """Return the same in the numbers that the rows had before they came in another order: row r had rows[r]."""
        return replace(self, rows=rows[self.rows])

    def as_dict(self) -> dict[str, Any]:
        """Nothing: every row was recoded by itself."""
        return {}


def scattered(table: Table, seed: int | None = None) -> Table:
    """Return the rows in random order, persons numbered anew: neither says where a row was. `seed` is for tests.

    >>> from treeanon.hierarchy import Hierarchy
    >>> table = Table.of_texts({"sex": (["f", "m", "m"], Hierarchy.flat(["f", "m"]))})
    >>> scattered(table) == table
    True
    """
    shuffled = table.take(np.random.default_rng(seed).permutation(len(table)))
    person = shuffled.person
    if person is not None:
        numbers, first, of = np.unique(person, return_index=True, return_inverse=True)
        all_alone = len(numbers) == len(person) and not table.person_header
        person = None if all_alone else np.argsort(np.argsort(first))[of].astype(np.int32)
    return replace(shuffled, person=person, report=None)


SUPPRESSED = 0
"""The code that says nothing: the root, which stands for every value and for a missing one."""


def released(problem: Problem, algorithm: str, table: Table, kept: Flags, **counts: Any) -> Recoding:
    """Return what a search gives that publishes the rows kept of a recoded table.

    GuaranteeError if more persons would lose a row than may.
    """
    lost = left_out(table, ~kept)
    if lost > problem.max_suppressed:
        raise unreachable(problem)
    rows = np.flatnonzero(kept)
    counts["rows_suppressed"] = len(table) - len(rows)
    return Recoding(algorithm, problem.models, table.take(rows), rows, lost, counts)


def left_out(table: Table, is_out: Flags) -> int:
    """Return how many persons lose a row when these rows go."""
    return int(is_out.sum()) if table.person is None else len(unique_values(table.person[is_out]))


def unreachable(problem: Problem) -> GuaranteeError:
    """Return what to raise where suppression of the form asked for is not enough."""
    names = ", ".join(model.name for model in problem.models)
    return GuaranteeError(
        f"this suppression does not give {names} with at most {problem.max_suppressed:,} of "
        f"{problem.table.persons:,} persons left out"
    )


def require_any(problem: Problem) -> None:
    """Raise GuaranteeError if nothing satisfies the models where no row may go: not even all rows together do.

    That holds for monotone models, and where nobody has several rows.
    """
    rows = len(problem.table)
    if not rows or not all(model.is_monotone for model in problem.models):
        return
    if not RowGroupChecker(problem).holds(np.zeros(rows, np.int64), 1).all():
        raise unreachable(problem)


def one_row_each(table: Table, name: str) -> None:
    """Nothing; an error if a person may have several rows."""
    if table.person is not None and table.persons < len(table):
        raise UsageError(f"{name} needs one row a person: flatten the input, or use another algorithm")


def recoded_groups(table: Table, numbers: Longs, style: Style = "auto") -> Table:
    """Return the table in which the rows of a group look alike: `numbers` has the group of every row, from 0 on.

    `hierarchy`: the lowest node that covers the values of the group. `ranges`: from the least to the greatest value,
    in the order of numbers or of the hierarchy. `sets`: the values themselves. `auto` chooses for each column: ranges
    of integers and numbers, nodes of hierarchies that have any between the values and the root, sets of others. Where
    values are inner nodes of the hierarchy already, nodes are published whatever is asked.

    >>> from treeanon.hierarchy import Hierarchy
    >>> table = Table.of_texts({"x": (["1", "2", "4", None], Hierarchy.flat(["1", "2", "3", "4"]))})
    >>> [list(recoded_groups(table, np.array([0, 0, 1, 1]), how).rows()) for how in ("hierarchy", "ranges", "sets")]
    [[('*',), ('*',), ('*',), ('*',)], [('1 … 2',), ('1 … 2',), ('["4",null]',), ('["4",null]',)], \
[('["1","2"]',), ('["1","2"]',), ('["4",null]',), ('["4",null]',)]]
    """
    order = np.argsort(numbers, kind="stable")
    offsets = np.append(0, np.cumsum(np.bincount(numbers))).astype(np.int64)
    found = recoded_members(table, offsets, order, style)
    columns = {column.name: column for column in found}
    published = tuple(
        Column(c.spec, c.hierarchy, columns[c.name].codes[numbers], columns[c.name].covers) if c.name in columns else c
        for c in table.columns
    )
    return replace(table, columns=published)


def recoded_members(table: Table, offsets: Longs, members: Longs, style: Style = "auto") -> tuple[Column, ...]:
    """Return the quasi columns of the groups themselves, a value a group.

    Group g has the rows members[offsets[g]:offsets[g + 1]].

    Groups may share rows; none is empty.
    """
    if style not in STYLES:
        raise UsageError(f"unknown style {style!r} of published values; choose from {', '.join(STYLES)}")
    return tuple(_column(column, offsets, members, style) for column in table.quasi)


def style_of(column: Column, style: Style) -> Style:
    """Return the style in which a column is published: its own, or else this one.

    UsageError if its own is one of single values, and it has general ones.
    """
    # A node above a single leaf covers one leaf too, and is none.
    leaves_only = bool((value_ranks(column.hierarchy)[unique_values(column.codes[column.codes >= 0])] >= 0).all())
    if (own := column.spec.controls.style) is not None:
        if own != "hierarchy" and not leaves_only:
            raise UsageError(f"column {column.name!r}: style {own} is for single values, and it has general ones")
        return cast(Style, own)
    if not leaves_only or style == "hierarchy":
        return "hierarchy"
    if style != "auto":
        return style
    if column.spec.type in ("integer", "number"):
        return "ranges"
    return "hierarchy" if column.hierarchy.height > 1 else "sets"


def _column(column: Column, offsets: Longs, members: Longs, style: Style) -> Column:
    style = style_of(column, style)
    if style == "hierarchy":
        return Column(column.spec, column.hierarchy, _nodes(column, offsets, members))
    ranks = np.append(value_ranks(column.hierarchy), -1)[column.codes[members]]
    if style == "ranges":
        return _ranges(column, ranks, offsets)
    return _sets(column, ranks, offsets)


def _nodes(column: Column, offsets: Longs, members: Longs) -> Ints:
    """Return the lowest node above all of each group; with a missing value among others that is the root."""
    codes = column.codes[members]
    high = np.maximum.reduceat(codes, offsets[:-1])
    low = np.minimum.reduceat(codes, offsets[:-1])
    found = lowest_common(column.hierarchy, np.maximum(low, 0), np.maximum(high, 0))
    nodes = np.where(high < 0, MISSING, np.where(low < 0, 0, found))
    return nodes.astype(np.int32)


def _missing(ranks: Ints, offsets: Longs) -> Flags:
    return np.minimum.reduceat(ranks, offsets[:-1]) < 0


def _ranges(column: Column, ranks: Ints, offsets: Longs) -> Column:
    missing = _missing(ranks, offsets)
    high = np.maximum.reduceat(ranks, offsets[:-1])
    low = np.minimum.reduceat(np.where(ranks < 0, np.iinfo(np.int32).max, ranks), offsets[:-1])
    size = len(column.hierarchy.leaf_nodes) + 1
    keys = (np.where(high < 0, 0, low).astype(np.int64) * size + high + 1) * 2 + missing
    _found, first, of = np.unique(keys, return_index=True, return_inverse=True)
    held: list[tuple[int, ...]] = [
        () if high[g] < 0 else (int(low[g]),) if low[g] == high[g] else (int(low[g]), int(high[g]))
        for g in first.tolist()
    ]
    return _covered(column, held, missing[first], of, is_range=True)


def _sets(column: Column, ranks: Ints, offsets: Longs) -> Column:
    groups = len(offsets) - 1
    group = np.repeat(np.arange(groups), np.diff(offsets))
    size = len(column.hierarchy.leaf_nodes) + 1
    pairs = unique_values(group * size + ranks + 1)
    owner, held = pairs // size, pairs % size - 1
    bounds = np.searchsorted(owner, np.arange(groups + 1))
    # Equal sets have equal sums of numbers drawn for their members; that equal sums are of equal sets is looked at.
    drawn = np.random.default_rng(1).integers(0, 2**63, (2, size), dtype=np.int64)
    sums = np.add.reduceat(drawn[:, held + 1], bounds[:-1], axis=1)
    _, first, of = np.unique(sums, axis=1, return_index=True, return_inverse=True)
    of = of.reshape(-1)
    sizes = np.diff(bounds)
    place = np.arange(len(held)) - np.repeat(bounds[:-1], sizes)
    like = first[of[owner]]
    if not np.array_equal(sizes, sizes[first[of]]) or not np.array_equal(held, held[bounds[like] + place]):
        raise AssertionError("two different sets have one sum")
    missing = held[bounds[:-1]] < 0
    kept = [tuple(rank for rank in held[bounds[g] : bounds[g + 1]].tolist() if rank >= 0) for g in first.tolist()]
    return _covered(column, kept, missing[first], of, is_range=False)


def _covered(column: Column, held: list[tuple[int, ...]], missing: Flags, of: Longs, *, is_range: bool) -> Column:
    """Return the column of covers; where nothing but missing values is held, that is what is published."""
    empty = np.array([not ranks for ranks in held], np.bool_)
    kept = [ranks for ranks in held if ranks]
    if not kept:
        return Column(column.spec, column.hierarchy, np.full(len(of), MISSING, np.int32))
    covers = Covers.of(column.hierarchy, kept, missing[~empty].tolist(), is_range=is_range)
    number = np.where(empty, MISSING, np.cumsum(~empty) - 1)
    return Column(column.spec, column.hierarchy, number[of].astype(np.int32), covers)


@dataclass(frozen=True, repr=False)
class Partition:
    """The group of every row, from 0 on; -1 for one that is left out. `style` says how values are published.

    >>> from treeanon.hierarchy import Hierarchy
    >>> table = Table.of_texts({"x": (["1", "2", "4"], Hierarchy.flat(["1", "2", "3", "4"]))})
    >>> found = Partition("mine", (), np.array([0, 0, -1]), suppressed=1)
    >>> released, rows = found.recoded(table)
    >>> list(released.rows()), rows.tolist()
    ([('["1","2"]',), ('["1","2"]',)], [0, 1])
    """

    algorithm: str
    models: tuple[Model, ...]
    group: Longs
    suppressed: int = 0
    counts: Mapping[str, Any] = field(default_factory=dict)
    style: Style = "auto"

    def __repr__(self) -> str:
        return f"<Partition by {self.algorithm}: {int(self.group.max(initial=-1)) + 1:,} groups>"

    def recoded(self, table: Table) -> tuple[Table, Longs]:
        """Return the rows of the table that are published, as they are published; and their numbers in the table."""
        rows = np.flatnonzero(self.group >= 0)
        if not len(rows):
            return table.take(rows), rows
        group = self.group[rows]
        numbers = (np.cumsum(np.bincount(group) > 0) - 1)[group].astype(np.int64)
        return recoded_groups(table.take(rows), numbers, self.style), rows

    def as_of(self, rows: Longs) -> Partition:
        """Return the same in the numbers that the rows had before they came in another order: row r had rows[r].

        >>> Partition("mine", (), np.array([0, 0, 1])).as_of(np.array([2, 1, 0])).group.tolist()
        [1, 0, 0]
        """
        group = np.empty_like(self.group)
        group[rows] = self.group
        return replace(self, group=group)

    def as_dict(self) -> dict[str, Any]:
        """Nothing: groups are of the rows of one table."""
        return {}
