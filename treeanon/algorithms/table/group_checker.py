"""Which groups of tuples satisfy all models of a problem.

Which groups of rows satisfy all models of a problem, for searches that put rows together themselves.

Rows are looked at once: for the distinct quasi-identifiers of a table and what is counted of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from treeanon.algorithms.table.problem import Problem
from treeanon.arrays import Flags, Ints, Longs, narrowed, unique_values
from treeanon.kernels.jit import for_rows
from treeanon.kernels.table.groups import group_numbers
from treeanon.kernels.table.tuples import add_field, distinct, histogram, persons_in, persons_losing
from treeanon.privacy.models.model import Model, is_joined, judged
from treeanon.privacy.models.population import refuse_whole
from treeanon.table import Column, Groups, Histogram, Table
from treeanon.table.controls import allowed_levels
from treeanon.table.histograms import groups_of, whole_of
from treeanon.table.reductions import members_of, persons_of

_WORD = 63

Counted = Callable[[int, Flags], tuple[Groups, Ints]]


@dataclass(frozen=True)
class Fields:
    """Where in a key each column lies: rows of word, shift, mask. `words` is how long a key is."""

    places: Longs
    words: int

    @classmethod
    def of(cls, sizes: Sequence[int]) -> Fields:
        """Return the fields of columns with so many codes each; a field never crosses the border of a word.

        >>> Fields.of([4, 1000]).places.tolist()
        [[0, 0, 3], [0, 2, 1023]]
        """
        places, word, shift = [], 0, 0
        for size in sizes:
            width = max(size - 1, 1).bit_length()
            if shift + width > _WORD:
                word, shift = word + 1, 0
            places.append((word, shift, (1 << width) - 1))
            shift += width
        return cls(np.array(places, np.int64).reshape(-1, 3), word + 1)

    def pack(self, columns: Sequence[Ints], missing: Sequence[int]) -> Longs:
        """Return a key for every row; -1 in a column becomes its `missing`."""
        keys = np.zeros((len(columns[0]), self.words), np.int64)
        for codes, gap, (word, shift, _) in zip(columns, missing, self.places.tolist(), strict=True):
            for_rows(add_field, len(keys))(keys, np.ascontiguousarray(codes, np.int32), gap, word, shift)
        return keys

    def unpack(self, keys: Longs, column: int) -> Ints:
        """Return the codes of one column of these keys."""
        word, shift, mask = self.places[column].tolist()
        codes: Ints = ((keys[:, word] >> shift) & mask).astype(np.int32)
        return codes


@dataclass(frozen=True)
class Cells:
    """What one sensitive column holds: entries of a tuple, a value and a count, in ascending order of values.

    `combo` numbers the values of the other sensitive columns, which count as quasi-identifiers for this one. Where
    persons may have several rows, an entry is one person's (`person`, ascending within a value).
    """

    column: Column
    tuple_of: Ints
    value: Ints
    counts: Longs
    combo: Ints
    combos: int
    person: Ints
    whole: Longs


@dataclass(frozen=True)
class Tuples:
    """The distinct keys of the quasi columns, how many rows have each, and the tuple of every row.

    Where persons may have several rows, `pair_tuple` and `pair_person` have each tuple of each person, in the order of
    persons; else they are empty, and a row is a person. `level_maps` has for every quasi column what its codes become
    at each level that it allows, the least one first.
    """

    columns: tuple[Column, ...]
    fields: Fields
    keys: Longs
    rows: Longs
    tuple_of: Ints
    persons: int
    pair_tuple: Ints
    pair_person: Ints
    cells: tuple[Cells, ...]
    level_maps: tuple[Ints, ...]

    @classmethod
    def of(cls, table: Table, sensitive: Sequence[Column] = ()) -> Tuples:
        """Return the tuples of a table, with the cells of these sensitive columns."""
        columns = table.quasi
        sizes = [len(column.hierarchy) for column in columns]
        fields = Fields.of([size + 1 for size in sizes])
        keys = fields.pack([column.codes for column in columns], sizes)
        first, rows, tuple_of = for_rows(distinct, len(keys))(keys)
        person = None
        none = np.empty(0, np.int32)
        pairs = none, none
        if table.person is not None:
            person = np.unique(table.person, return_inverse=True)[1].astype(np.int32)
        persons = len(table) if person is None else int(person.max(initial=-1)) + 1
        if person is not None and persons == len(table):
            person = None
        if person is not None:
            pairs = _pairs(tuple_of, person)
        cells = tuple(_cells(table, column, tuple_of, person) for column in sensitive)
        maps = tuple(map(allowed_levels, columns))
        return cls(columns, fields, keys[first], rows, tuple_of, persons, *pairs, cells, maps)

    def __len__(self) -> int:
        return len(self.rows)


def _pairs(tuple_of: Ints, person: Ints) -> tuple[Ints, Ints]:
    pairs = unique_values((person.astype(np.int64) << 32) | tuple_of)
    return (pairs & 0xFFFFFFFF).astype(np.int32), (pairs >> 32).astype(np.int32)


def _cells(table: Table, column: Column, tuple_of: Ints, person: Ints | None) -> Cells:
    others = [other for other in table.sensitive if other.name != column.name]
    size = len(column.hierarchy)
    combo, combos = _combos(others, len(table))
    held = members_of(column)
    if held is not None:
        owners = persons_of(person, len(table)).astype(np.int32)[held.row]
        column, tuple_of, combo, person = held.column, tuple_of[held.row], combo[held.row], owners
        size = len(column.hierarchy)
    parts = [tuple_of, column.codes, combo] + ([] if person is None else [person])
    top = [int(part.max(initial=0)) + 1 for part in parts]
    fields = Fields.of([top[0], size + 1, *top[2:]])
    keys = fields.pack(parts, [0, size] + [0] * (len(parts) - 2))
    first, counts, _ = distinct(keys)
    value = column.places
    own = narrowed(value[first])
    keep = np.lexsort((own,) if person is None else (person[first], own))
    first = first[keep]
    if person is None:
        whole = np.bincount(value, minlength=size + 1)
    else:
        # One person counts once for a value, however many rows say so.
        whole = np.bincount(unique_values((person.astype(np.int64) << 32) | value) & 0xFFFFFFFF, minlength=size + 1)
    of_cells = np.empty(0, np.int32) if person is None else person[first]
    return Cells(
        column, tuple_of[first], value[first], counts[keep], combo[first], combos, of_cells, whole.astype(np.int64)
    )


def _combos(others: Sequence[Column], rows: int) -> tuple[Ints, int]:
    if not others:
        return np.zeros(rows, np.int32), 1
    sizes = [len(other.hierarchy) for other in others]
    first, _, combo = distinct(Fields.of([s + 1 for s in sizes]).pack([other.codes for other in others], sizes))
    return combo, len(first)


class GroupChecker:
    """The models, sorted by what they look at.

    `columns` are the sensitive columns that any model looks at. `least` is the size from which on a group satisfies the
    models that look at none; None where they are not of that kind.
    """

    def __init__(self, problem: Problem) -> None:
        refuse_whole(problem.models, "this search")
        self._models, self._limit = problem.models, problem.max_suppressed
        self._by_size = [model for model in problem.models if model.sensitive is None]
        looks_at = [(model, problem.columns_of(model)) for model in problem.models if model.sensitive is not None]
        self.columns: tuple[Column, ...] = tuple(
            column for column in problem.table.sensitive if any(column in columns for _, columns in looks_at)
        )
        self._by_column: list[list[Model]] = [
            [model for model, columns in looks_at if column in columns] for column in self.columns
        ]
        self.asked = [
            (at, joined, tuple(model for model in models if is_joined(model) == joined))
            for at, models in enumerate(self._by_column)
            for joined in (False, True)
        ]
        self.asked = [one for one in self.asked if one[2]]
        self.least = self._least_size(problem.table.persons)

    def _least_size(self, persons: int) -> int | None:
        # A group has at most all persons: beyond that one size stands for all.
        flags = np.ones(persons + 1, np.bool_)
        for model in self._by_size:
            flags &= model.holds(Groups(np.arange(persons + 1, dtype=np.int64)))
        flags[:1] = False
        least = int(flags.argmax()) if flags.any() else persons + 1
        return least if flags[least:].all() else None

    def holds(self, tuples: Tuples, rows: Longs, number: Ints) -> Flags:
        """Return whether each group satisfies all models; `number` has the group of every tuple, `rows` their rows."""
        holds = self.holds_by_size(self.sizes(tuples, rows, number))
        for at, joined, models in self.asked:
            groups, above = _of_cells(tuples.cells[at], number, holds, joined=joined)
            for model in models:
                holds[above[~model.holds(groups)]] = False
        return holds

    def holds_by_size(self, sizes: Longs) -> Flags:
        """Return whether each group satisfies the models that look at no sensitive column."""
        if self.least is not None:
            return np.asarray(sizes >= self.least, np.bool_)
        holds = np.ones(len(sizes), np.bool_)
        for model in self._by_size:
            holds &= model.holds(Groups(sizes))
        return holds

    def judge(self, sizes: Longs, counted: Counted) -> tuple[Flags, Longs]:
        """Return whether each group satisfies all models, and how many of its persons no division of it can keep.

        For tables of one row a person. `counted` gives, for a number of `asked` and the groups that have not failed
        yet, the histograms of these groups or of their parts, and of each the group. A group in which fewer can be kept
        than a group must have keeps nobody.
        """
        holds = self.holds_by_size(sizes)
        out = np.zeros(len(sizes), np.int64)
        for which, (_, _, models) in enumerate(self.asked):
            groups, above = counted(which, holds)
            least = np.zeros(len(groups), np.int64)
            for model in models:
                fine, lost = judged(model, groups)
                holds[above[~fine]] = False
                least = np.maximum(least, lost)
            out = np.maximum(out, np.bincount(above, least, len(sizes)).astype(np.int64))
        return holds, out if self.least is None else np.where(sizes - out < self.least, sizes, out)

    def sizes(self, tuples: Tuples, rows: Longs, number: Ints) -> Longs:
        """Return the number of persons of each group."""
        if not len(tuples.pair_tuple):
            return rows
        return persons_in(tuples.pair_tuple, tuples.pair_person, number, len(rows))

    def is_monotone(self, tuples: Tuples) -> bool:
        """Return whether no generalization suppresses more than those below it.

        With nothing suppressed it is enough that unions of groups hold, if they have different persons. Else groups
        must hold whatever is added, and no other sensitive columns may be joined, by which new parts would be added.
        """
        if self._limit == 0 and not len(tuples.pair_tuple):
            return all(model.is_monotone for model in self._models)
        grows = all(model.holds_when_grown for models in self._by_column for model in models)
        alone = all(cells.combos == 1 for cells in tuples.cells) or not any(map(is_joined, self._models))
        return self.least is not None and grows and alone

    def lost(self, tuples: Tuples, number: Ints, holds: Flags) -> int:
        """Return how many persons have a row in a group that does not hold."""
        if len(tuples.pair_tuple):
            return int(persons_losing(tuples.pair_tuple, tuples.pair_person, number, holds))
        return int(tuples.rows[~holds[number]].sum())


def _of_cells(cells: Cells, number: Ints, holds: Flags, *, joined: bool) -> tuple[Groups, Ints]:
    """Return the groups that hold so far, with the histogram of one sensitive column; and the number of each.

    With `joined` the other sensitive columns are joined to the quasi-identifier (V. Ciriani et al., "k-anonymity",
    2007, Section 5): a group is published if all of the parts that they divide it into satisfy the models, so these are
    returned instead. What has failed already is not looked at again.
    """
    group = number[cells.tuple_of]
    parts, above = len(holds), np.arange(len(holds), dtype=np.int32)
    part = group
    if joined and cells.combos > 1:
        keys = (group.astype(np.int64) * cells.combos + cells.combo).reshape(-1, 1)
        first, _, part = distinct(keys)
        parts, above = len(first), group[first]
    part = np.where(holds[group], part, np.int32(-1)).astype(np.int32)
    starts, values, counts, sizes = histogram(part, parts, cells.value, cells.counts, cells.person)
    if cells.person.size:
        sizes = _sizes_of_parts(part, parts, cells)
    return counted_groups(cells, starts, values, counts, sizes, above)


def counted_groups(
    cells: Cells, starts: Longs, values: Ints, counts: Longs, sizes: Longs, above: Ints
) -> tuple[Groups, Ints]:
    """Return the groups of which anything has been counted, and the entries of `above` for them."""
    counted = np.flatnonzero(starts[1:] > starts[:-1])
    starts = np.append(starts[counted], starts[-1])
    whole = Histogram(cells.column.name, starts, values, counts, cells.whole, cells.column.hierarchy)
    return Groups(sizes[counted], (whole,)), above[counted]


def _sizes_of_parts(part: Ints, parts: int, cells: Cells) -> Longs:
    """Return the number of different persons of each part, where one person may have several values in it."""
    kept = part >= 0
    pairs = unique_values((part[kept].astype(np.int64) << 32) | cells.person[kept])
    return np.bincount(pairs >> 32, minlength=parts).astype(np.int64)


class RowGroupChecker:
    """The models of a problem, asked about groups of its rows.

    Shares of values are compared with those of the whole table. For models that are joined the other sensitive columns
    count as quasi columns (Section 5 there): a group holds if all of the parts that they divide it into do.

    >>> from treeanon.hierarchy import Hierarchy
    >>> from treeanon.privacy.models import KAnonymity
    >>> from treeanon.table import Table
    >>> table = Table.of_texts({"sex": (["f", "m", "m"], Hierarchy.flat(["f", "m"]))})
    >>> RowGroupChecker(Problem(table, (KAnonymity(2),))).holds(np.array([0, 1, 1]), 2).tolist()
    [False, True]
    """

    def __init__(self, problem: Problem) -> None:
        refuse_whole(problem.models, "this search")
        self.problem = problem
        table, whole = problem.table, problem.whole or problem.table
        self._by_size = [model for model in problem.models if model.sensitive is None]
        self._by_column: list[tuple[Column, bool, list[Model], Longs]] = []
        for column, joined in product(table.sensitive, (False, True)):
            asking = (model for model in problem.models if column in problem.columns_of(model))
            asks = [model for model in asking if is_joined(model) == joined]
            if asks:
                self._by_column.append((column, joined, asks, whole_of(whole.column(column.name), whole.person)))

    def holds(self, numbers: Longs, groups: int, rows: Longs | None = None) -> Flags:
        """Return whether each group satisfies all models; `numbers` has the group of every row, or of these rows
        alone.
        """
        table = self.problem.table if rows is None else self.problem.table.take(rows)
        flags = np.ones(groups, np.bool_)
        if self._by_size:
            found = groups_of(table, numbers, ())
            for model in self._by_size:
                flags &= model.holds(found)
        for column, joined, models, whole in self._by_column:
            own = table.column(column.name)
            others = [c for c in table.sensitive if joined and c.name != column.name]
            part, parts, above = numbers, groups, np.arange(groups)
            if others:
                sizes = [groups, *(c.size + 1 for c in others)]
                part, parts = group_numbers(
                    [numbers.astype(np.int32), *(other.places for other in others)], sizes, len(table)
                )
                above = np.zeros(parts, np.int64)
                above[part] = numbers
            found = groups_of(table, part, [own])
            counted = Groups(found.sizes, (replace(found.sensitive[0], whole=whole),))
            for model in models:
                flags[above[~model.holds(counted)]] = False
        return flags
