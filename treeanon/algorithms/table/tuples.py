"""The distinct quasi-identifiers of a table and what is counted of them: rows are looked at once, here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from treeanon.arrays import Ints, Longs
from treeanon.kernels.table.tuples import add_field, distinct
from treeanon.table import Column, Table
from treeanon.table.covers import level_maps
from treeanon.table.members import members_of, persons_of

_WORD = 63


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
            add_field(keys, np.ascontiguousarray(codes, np.int32), gap, word, shift)
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
    persons; else they are empty, and a row is a person.
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

    @classmethod
    def of(cls, table: Table, sensitive: Sequence[Column] = ()) -> Tuples:
        """Return the tuples of a table, with the cells of these sensitive columns."""
        columns = table.quasi
        sizes = [len(column.hierarchy) for column in columns]
        fields = Fields.of([size + 1 for size in sizes])
        keys = fields.pack([column.codes for column in columns], sizes)
        first, rows, tuple_of = distinct(keys)
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
        return cls(columns, fields, keys[first], rows, tuple_of, persons, *pairs, cells)

    def __len__(self) -> int:
        return len(self.rows)

    def level_maps(self) -> list[Ints]:
        """Return for every quasi column what its codes become at each level."""
        return [level_maps(column.hierarchy) for column in self.columns]


def _pairs(tuple_of: Ints, person: Ints) -> tuple[Ints, Ints]:
    pairs = np.unique((person.astype(np.int64) << 32) | tuple_of)
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
    keep = np.lexsort((value[first],) if person is None else (person[first], value[first]))
    first = first[keep]
    if person is None:
        whole = np.bincount(value, minlength=size + 1)
    else:
        # One person counts once for a value, however many rows say so.
        whole = np.bincount(np.unique((person.astype(np.int64) << 32) | value) & 0xFFFFFFFF, minlength=size + 1)
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
