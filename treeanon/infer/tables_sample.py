"""The first persons of a relational input as nested records: child tables are arrays, looked-up rows are objects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from treeanon.errors import DataError
from treeanon.infer.spread import spread
from treeanon.infer.table_paths import Notes, TablePath
from treeanon.io.columns.texts import Unreadable, coded
from treeanon.io.relational.join import KeyClash, RepeatedKey, find_targets
from treeanon.io.relational.source import TableSource
from treeanon.kernels.joins import in_circles
from treeanon.schema.keys import name_text

if TYPE_CHECKING:
    import pyarrow as pa

MOST_PERSONS = 1_000_000
"""Number of rows of the record table from which the sample is taken."""

MOST_ROWS = 20_000
"""Number of rows of a child table in the sample."""

_AT_ONCE = 8
"""Number of columns read together from row storage, so that no large table is in memory as a whole."""


@dataclass
class TablesSample:
    """Reader of the rows of a source that the paths from its first `most` persons reach."""

    source: TableSource
    notes: Notes
    whole: bool = True
    total: int | None = None
    unseen: tuple[str, ...] = ()

    def join(self, root: TablePath, most: int) -> None:
        """Find the rows of every path, reading only key columns; paths whose keys cannot be compared are left out."""
        # a Parquet file knows its number of rows
        count = self.source.read(root.table, [], None if self.source.by_column else MOST_PERSONS + 1).num_rows
        if not count:
            why = f"table {root.table!r}, of which each row is one person, holds no row"
            raise DataError(f"{why}; init --record TABLE takes another", source=self.source.name)
        self.whole, self.total = count <= most, count
        if count > MOST_PERSONS:
            self.total = None
            self.unseen = (f"rows of {name_text(root.table)} after the first {MOST_PERSONS:,} were not looked at",)
        root.rows = np.array(spread(min(count, MOST_PERSONS), most), dtype=np.int32)
        for path in list(root.walk()):
            self.join_below(path)

    def join_below(self, path: TablePath) -> None:
        """Find the rows of the paths that continue one."""
        links = {on: on.link for on in path.below if on.link is not None}
        sides = {on: link.key.target_columns if link.down else link.key.columns for on, link in links.items()}
        own = self.columns(path, dict.fromkeys(name for side in sides.values() for name in side))
        for on, link in links.items():
            missing = [name for name in sides[on] if name not in own]
            if missing:
                why = f"the key column {name_text(missing[0])} of {name_text(path.table)} cannot be read"
            else:
                why = self.joined(on, [own[name] for name in sides[on]], down=link.down)
            if why:
                self.notes.leave(on, why)
                on.leave()

    def joined(self, on: TablePath, own: list[pa.ChunkedArray], *, down: bool) -> str:
        """Find the rows of one path, given the key columns above it, and return why not if that fails."""
        assert on.link is not None
        key = on.link.key
        names = key.columns if down else key.target_columns
        try:
            read = self.source.read(on.table, names)
            other = [read.column(name) for name in names]
            targets = find_targets(other, own) if down else find_targets(own, other)
        except DataError as problem:
            self.source.read(on.table, [])  # raises if the whole table is unreadable
            return f"its key cannot be read: {problem.message}"
        except KeyClash as clash:
            return f"{key}: one side of the key holds {clash.own}, the other {clash.target}"
        except RepeatedKey:
            return f"{key}: rows of {name_text(key.target)} that it refers to are not unique"
        if key.of_itself and (rounds := self.in_circles(on)):
            return f"{rounds:,} rows refer to each other in a circle by {key}"
        if down:
            on.rows = np.flatnonzero(targets >= 0).astype(np.int32)
            on.whole = len(on.rows) <= MOST_ROWS
            on.rows = on.rows[:MOST_ROWS]
            on.owner = targets[on.rows]
        else:
            on.rows, at = np.unique(targets, return_inverse=True)
            skipped = int(np.count_nonzero(on.rows < 0))
            on.rows, on.at = on.rows[skipped:], np.maximum(at - skipped, -1).astype(np.int32)
        return ""

    def in_circles(self, path: TablePath) -> int:
        """Return how many rows of a table lie on cycles of its key to itself."""
        assert path.link is not None
        key = path.link.key
        read = self.source.read(path.table, list(dict.fromkeys([*key.columns, *key.target_columns])))
        own, target = ([read.column(name) for name in names] for names in (key.columns, key.target_columns))
        return len(in_circles(find_targets(own, target)))

    def columns(self, path: TablePath, names: Sequence[str] | dict[str, None]) -> dict[str, pa.ChunkedArray]:
        """Return columns of a path's rows; those that cannot be read are left out, with the reason."""
        found: dict[str, pa.ChunkedArray] = {}
        names = list(names)
        size = 1 if self.source.by_column else _AT_ONCE
        for at in range(0, len(names), size):
            found |= self.some_columns(path, names[at : at + size])
        return found

    def some_columns(self, path: TablePath, names: list[str]) -> dict[str, pa.ChunkedArray]:
        """Return a few columns of a path's rows, read at once if nothing is wrong."""
        most = int(path.rows.max()) + 1 if len(path.rows) else 0
        try:
            read = self.source.read(path.table, names, most).take(path.rows)
        except DataError as problem:
            if len(names) > 1:
                return {n: column for name in names for n, column in self.some_columns(path, [name]).items()}
            self.source.read(path.table, [], most)
            self.notes.leave(path, f"cannot be read: {problem.message}", names[0])
            return {}
        return {name: read.column(name) for name in names}

    def records(self, root: TablePath) -> list[Any]:
        """Return the persons as nested records, as those of documents."""
        return self.objects(root)

    def objects(self, path: TablePath) -> list[dict[str, Any]]:
        """Return a nested object for every row of a path."""
        made: list[dict[str, Any]] = [{} for _ in path.rows]
        for name, column in self.columns(path, path.columns).items():
            found = self.scalars(path, name, column)
            if found is None:
                continue
            for one, value in zip(made, found, strict=True):
                one[name] = value
        for on in path.below:
            inner, label = self.objects(on), on.steps[-1].label or ""
            if on.down:
                for one in made:
                    one[label] = []
                for row, owner in enumerate(on.owner.tolist()):
                    made[owner][label].append(inner[row])
            else:
                for one, row in zip(made, on.at.tolist(), strict=True):
                    one[label] = inner[row] if row >= 0 else None
        return made

    def scalars(self, path: TablePath, name: str, column: pa.ChunkedArray) -> list[Any] | None:
        """Return the values as JSON has them; None, with the reason noted, for values that no class can have."""
        import pyarrow.types as of

        try:
            codes, texts = coded(column)
        except Unreadable as problem:
            self.notes.leave(path, f"holds {problem.what}", name)
            return None
        kind = column.type.value_type if of.is_dictionary(column.type) else column.type
        if of.is_boolean(kind):
            found: list[Any] = [text == "true" for text in texts]
        elif of.is_integer(kind) or of.is_floating(kind) or of.is_decimal(kind):
            found = [_number(text) for text in texts]
        else:
            found = list(texts)
        return [(found[code] if code >= 0 else None) for code in codes.tolist()]


def _number(text: str) -> int | float | None:
    """Return the number that a text writes, as an integer if it is whole."""
    if not text:
        return None
    return int(text) if text.lstrip("-").isdigit() else float(text)
