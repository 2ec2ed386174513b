"""The keys that an input itself declares, put into the spelling of its tables; those that lead nowhere are left out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from treeanon.io.relational.source import TableInfo
from treeanon.schema.keys import ForeignKey


class StatedKeys:
    """Collects declared keys; `left_out` says of each key that leads nowhere why it does."""

    def __init__(self, tables: Mapping[str, TableInfo], fold: Callable[[str], str] = str) -> None:
        self.tables, self.fold = tables, fold
        self.by_name = {fold(name): name for name in tables}
        self.keys: list[ForeignKey] = []
        self.left_out: list[str] = []

    def add(self, table: str, columns: Sequence[str], target: str, target_columns: Sequence[str] = ()) -> None:
        """Adds one key; without columns of its target, it refers to the target's primary key."""
        found = target if target in self.tables else self.by_name.get(self.fold(target))
        own = f"a key of table {table!r}"
        if found is None:
            self.left_out.append(f"{own} refers to table {target!r}, which there is not")
            return
        from_columns = self._spelled(table, columns)
        to_columns = self._spelled(found, target_columns) if target_columns else self.tables[found].primary
        if from_columns is None or to_columns is None:
            self.left_out.append(f"{own} to table {found!r} names columns that there are not")
        elif not from_columns or len(from_columns) != len(to_columns):
            self.left_out.append(f"{own} to table {found!r} has another number of columns than what it refers to")
        elif (key := ForeignKey(table, from_columns, found, to_columns)) not in self.keys:
            self.keys.append(key)

    def _spelled(self, table: str, columns: Sequence[str]) -> tuple[str, ...] | None:
        known = {self.fold(column): column for column in self.tables[table].columns}
        known |= {column: column for column in self.tables[table].columns}
        spelled = tuple(known.get(column) or known.get(self.fold(column)) or "" for column in columns)
        return None if "" in spelled else spelled
