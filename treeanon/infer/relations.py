"""Foreign keys that an input does not declare, found by column names and values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

from treeanon.errors import DataError
from treeanon.infer.key_names import Names
from treeanon.infer.person_fields import looks_like_persons
from treeanon.infer.secrets import is_person_name
from treeanon.io.relational.plan import MOVED_TABLE, NULL, KeyClash, RepeatedKey, find_targets
from treeanon.io.relational.source import TableInfo, TableSource
from treeanon.kernels.joins import in_circles
from treeanon.schema.keys import ForeignKey

if TYPE_CHECKING:
    import pyarrow as pa

DANGLING_SHARE = 0.01
"""Largest share of references to missing rows."""

MOST_ROWS = 1_000_000
"""Number of rows whose values are tested as references to another table."""

_COMMON = 50
"""Largest number of tables that share a column name which is part of a key."""

_MOST_OF, _CLEARLY, _SEVERAL = 0.5, 1.5, 5
"""What values alone must show: the share of a table's rows that are named, how much larger it is than for any other
table, and the number of different values.
"""

_FLAGS = frozenset({"0", "1", "true", "false", "yes", "no", "y", "n"})


@dataclass(frozen=True)
class FoundKey:
    """A key that was found: `values` rows have one, and of these `matched` name a row of the other table.

    `first` is the number of rows examined, where the table has more; `by_name` says whether the names fit as well.

    >>> from treeanon.schema.keys import parse_key
    >>> FoundKey(parse_key("visit.patient_id -> patient.id"), 5, 5).why
    'the names fit, and all 5 values are there'
    """

    key: ForeignKey
    values: int
    matched: int
    first: int = 0
    by_name: bool = True

    @property
    def why(self) -> str:
        """The evidence in words."""
        lead = "the names fit, and" if self.by_name else "the name does not say it, but"
        among = f" in the first {self.first:,} rows" if self.first else ""
        if self.matched == self.values:
            return f"{lead} all {self.values:,} values{among} are there"
        lost = self.values - self.matched
        evidence = f"{lead} {self.matched:,} of {self.values:,} values{among} are there"
        return f"{evidence}; {lost:,} row{'s name' if lost > 1 else ' names'} no row"


def find_keys(
    source: TableSource, declared: Sequence[ForeignKey], tables: Mapping[str, TableInfo] | None = None
) -> list[FoundKey]:
    """Return the undeclared keys that names and values suggest; each column in one key at most.

    Only `tables` are looked at, if they are given. Where a column is named as a key, but after no table, its values
    alone may say to which table it refers. Keys of several columns are considered where a table has such a primary
    key, or where its columns are keys.
    """
    return _Search(source, declared, source.tables() if tables is None else tables).all()


@dataclass(frozen=True, order=True)
class _Candidate:
    rank: int
    key: ForeignKey


class _Search:
    def __init__(self, source: TableSource, declared: Sequence[ForeignKey], tables: Mapping[str, TableInfo]) -> None:
        self.source = source
        self.tables = {n: info for n, info in tables.items() if not n.startswith(MOVED_TABLE)}
        self.names = Names(self.tables)
        self.declared = declared
        self.taken = {(key.table, column) for key in declared for column in key.columns}

    def all(self) -> list[FoundKey]:
        single = self.best(self.single())
        known = [*self.declared, *(found.key for found in single)]
        joint = self.best(self.joint(known))
        by_values = list(self.by_values([*known, *(found.key for found in joint)]))
        places = {table: at for at, table in enumerate(self.tables)}
        return sorted(
            [*single, *joint, *by_values], key=lambda found: (places[found.key.table], len(found.key.columns))
        )

    def best(self, candidates: list[_Candidate]) -> list[FoundKey]:
        """Return the candidates that the values support; the best for each set of columns."""
        held: dict[tuple[str, tuple[str, ...]], tuple[int, FoundKey]] = {}
        by_target = sorted(candidates, key=lambda c: (c.key.target, c.key.target_columns))
        for _, group in groupby(by_target, key=lambda c: (c.key.target, c.key.target_columns)):
            for candidate, found in self.tested(list(group)):
                place = candidate.key.table, tuple(sorted(candidate.key.columns))
                if place not in held or candidate.rank < held[place][0]:
                    held[place] = candidate.rank, found
        return _one_way(list(held.values()))

    def tested(self, candidates: list[_Candidate]) -> Iterator[tuple[_Candidate, FoundKey]]:
        """Return the candidates for one target that its values support; the target is read once."""
        target = self.read(candidates[0].key.target, candidates[0].key.target_columns)
        for candidate in candidates if target is not None else ():
            key = candidate.key
            own = self.read(key.table, key.columns, MOST_ROWS + 1)
            cut = own is not None and len(own[0]) > MOST_ROWS
            own = None if own is None else [column.slice(0, MOST_ROWS) for column in own]
            if own is None or target is None or (len(own) == 1 and self.is_flag(key, own[0])):
                continue
            try:
                rows = find_targets(own, target)
            except (KeyClash, RepeatedKey):
                continue
            filled = int(np.count_nonzero(rows != NULL))
            matched = int(np.count_nonzero(rows >= 0))
            if key.of_itself and len(in_circles(rows)):
                continue
            if matched and filled - matched <= DANGLING_SHARE * filled:
                yield candidate, FoundKey(key, filled, matched, MOST_ROWS if cut else 0)

    def is_flag(self, key: ForeignKey, column: pa.ChunkedArray) -> bool:
        """Return whether a column that is not named as a key holds yes and no."""
        return not self.names.columns[key.table, key.columns[0]].keyed and _is_flag(column)

    def read(self, table: str, columns: Sequence[str], most: int | None = None) -> list[pa.ChunkedArray] | None:
        """Return columns that may form a key; None where one of them cannot."""
        try:
            read = self.source.read(table, columns, most)
        except DataError:
            self.source.read(table, [])  # raises if the whole table is unreadable
            return None
        found = [read.column(name) for name in columns]
        return found if all(map(_may_be_key, found)) else None

    def single(self) -> list[_Candidate]:
        """Yield pairs of columns whose names fit."""
        targets: dict[str, list[str]] = {}
        for table, info in self.tables.items():
            targets[table] = [column for column in info.columns if self.names.may_be_target(table, column)]
        calls = self.names.calls(targets)
        found = []
        for table, info in self.tables.items():
            for column in info.columns:
                if (table, column) in self.taken:
                    continue
                for target, goal in ((t, goal) for t in calls(table, column) for goal in targets[t]):
                    rank = self.names.match(table, column, target, goal) if (table, column) != (target, goal) else None
                    if rank is not None:
                        found.append(_Candidate(rank, ForeignKey(table, (column,), target, (goal,))))
        return found

    def by_values(self, known: Sequence[ForeignKey]) -> Iterator[FoundKey]:
        """Yield keys of columns that are named as keys, but after no table, by the values that they hold."""
        taken = {(key.table, column) for key in known for column in key.columns}
        taken |= {(key.target, column) for key in known for column in key.target_columns}
        goals = [
            (table, c)
            for table, info in self.tables.items()
            for c in info.columns
            if self.names.may_be_target(table, c)
        ]
        for table, info in self.tables.items():
            for column in info.columns:
                name = self.names.columns[table, column]
                if (table, column) in taken or info.primary == (column,) or self.names.is_own(table, column):
                    continue
                if name.keyed and name.base and (best := self.best_target(table, column, goals)) is not None:
                    yield best

    def best_target(self, table: str, column: str, goals: Sequence[tuple[str, str]]) -> FoundKey | None:
        """Return the key to the one table whose rows a column's values name; None if it could be several.

        Small numbers are among the keys of most tables. So a column named after persons refers to a table of persons,
        and any other one to a table of which it names most rows.
        """
        of_persons = is_person_name(self.names.columns[table, column].base)
        able = [
            _Candidate(0, ForeignKey(table, (column,), goal_table, (goal,)))
            for goal_table, goal in goals
            if goal_table != table and (not of_persons or looks_like_persons(goal_table, self.tables[goal_table]))
        ]
        ranked: list[tuple[float, FoundKey]] = []
        own = self.read(table, [column], MOST_ROWS)
        named = own[0].drop_null().unique() if own is not None else None
        if named is None or len(named) < 2 or _is_flag(named):
            return None
        for candidate in able:
            for _, found in self.tested([candidate]):
                rows = self.source.read(found.key.target, []).num_rows
                ranked.append((min(len(named), rows) / max(rows, 1), replace(found, by_name=False)))
        ranked.sort(key=lambda each: -each[0])
        share, best = ranked[0] if ranked else (0.0, None)
        clear = len(ranked) == 1 or (len(ranked) > 1 and share >= _CLEARLY * ranked[1][0])
        enough = of_persons or (share >= _MOST_OF and len(named) >= _SEVERAL)
        return best if clear and enough else None

    def joint(self, known: Sequence[ForeignKey]) -> list[_Candidate]:
        """Yield pairs of tables that share several columns, which identify rows of one of them."""
        refers = {(key.table, key.columns[0]): key.target for key in known if len(key.columns) == 1}
        found = []
        for table, target in self.pairs():
            pairs = self.shared(table, target, refers)
            goals, primary = tuple(goal for _, goal in pairs), self.tables[target].primary
            whole = bool(primary) and sorted(goals) == sorted(primary)
            if len(pairs) > 1 and (whole or (not primary and any((target, goal) in refers for goal in goals))):
                key = ForeignKey(table, tuple(own for own, _ in pairs), target, goals)
                if not self.known(key):
                    found.append(_Candidate(0, key))
        return found

    def pairs(self) -> Iterator[tuple[str, str]]:
        """Yield pairs of tables that share column names, where keys of several columns are possible."""
        own = {t: {self.names.called(t, c): c for c in info.columns} for t, info in self.tables.items()}
        holders: dict[str, list[str]] = {}
        for table, columns in own.items():
            for called in columns:
                holders.setdefault(called, []).append(table)
        for target, info in self.tables.items():
            if len(info.primary) == 1:
                continue
            times: Counter[str] = Counter()
            for column in info.primary or info.columns:
                # a column of very many tables, such as the time of a change, is part of no key
                tables = holders[self.names.called(target, column)]
                times.update(tables if info.primary or len(tables) <= _COMMON else ())
            yield from ((table, target) for table, count in times.items() if count > 1 and table != target)

    def shared(self, table: str, target: str, refers: dict[tuple[str, str], str]) -> list[tuple[str, str]]:
        """Return columns of both tables that have one name and look like parts of a key."""
        primary = self.tables[target].primary
        own = {self.names.called(table, column): column for column in self.tables[table].columns}
        pairs = []
        for goal in primary or self.tables[target].columns:
            name = self.names.columns[target, goal]
            column = own.get(self.names.called(target, goal))
            if column is None or (not primary and not name.joined):
                continue
            same = refers.get((table, column)) == refers.get((target, goal)) is not None
            if primary or same or (name.keyed and self.names.columns[table, column].keyed):
                pairs.append((column, goal))
        return pairs

    def known(self, key: ForeignKey) -> bool:
        """Return whether a declared key has these columns, or more."""
        return any(
            other.table == key.table and (set(other.columns) >= set(key.columns) or other.target == key.target)
            for other in self.declared
        )


def _one_way(ranked: Collection[tuple[int, FoundKey]]) -> list[FoundKey]:
    """Return the keys without those that reverse another, where two tables correspond one to one."""
    kept: dict[tuple[str, tuple[str, ...], str, tuple[str, ...]], FoundKey] = {}
    order = sorted(ranked, key=lambda each: (each[0], -each[1].matched, len(each[1].key.target), each[1].key.target))
    for _, found in order:
        key = found.key
        if (key.target, key.target_columns, key.table, key.columns) not in kept:
            kept[key.table, key.columns, key.target, key.target_columns] = found
    return list(kept.values())


def _may_be_key(column: pa.ChunkedArray) -> bool:
    """Return whether values are of a type that keys have: whole numbers or texts."""
    import pyarrow.compute as pc
    import pyarrow.types as of

    kind = column.type.value_type if of.is_dictionary(column.type) else column.type
    if of.is_floating(kind):
        return bool(pc.all(pc.equal(pc.floor(column), column)).as_py())
    texts = of.is_string(kind) or of.is_large_string(kind) or of.is_string_view(kind)
    return bool(of.is_integer(kind) or texts or (of.is_decimal(kind) and kind.scale == 0))


def _is_flag(column: pa.ChunkedArray) -> bool:
    """Return whether all values are yes or no."""
    head = column.slice(0, 10_000).unique()
    if len(head) > len(_FLAGS) + 1:
        return False
    found = {str(value).lower() for value in column.unique().to_pylist() if value is not None}
    return len(found) > 1 and found <= _FLAGS
