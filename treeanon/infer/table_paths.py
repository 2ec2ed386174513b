"""The paths from the record table to others, by foreign keys: down to referring rows, up to referenced rows."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from treeanon.arrays import Ints
from treeanon.infer.model import LeftOut
from treeanon.schema.keys import ForeignKey, columns_text, name_text
from treeanon.schema.model import Link
from treeanon.schema.paths import FieldPath, PathError, Step, parse_path

DEEPEST = 6
"""Largest number of steps of a proposed path, the column not counted."""

MOST_WAYS = 300


@dataclass(eq=False)
class TablePath:
    """A path from the record table to one table (without a link: itself), and that table's rows in the sample.

    `owner` has for each row of a child table its row among those of `above`; `at`, for looked-up rows, for each of
    `above` its row here, or -1. `columns` are those that may become classes, `keys` those that
    may not.
    """

    table: str
    link: Link | None
    above: TablePath | None
    below: list[TablePath] = field(default_factory=list)
    columns: list[str] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    step: Step | None = None
    rows: Ints = field(default_factory=lambda: np.empty(0, np.int32))
    owner: Ints = field(default_factory=lambda: np.empty(0, np.int32))
    at: Ints = field(default_factory=lambda: np.empty(0, np.int32))
    whole: bool = True

    @property
    def down(self) -> bool:
        """Whether its rows are the persons' own or repeat in them: those of the record or of child tables."""
        return self.link is None or self.link.down

    @property
    def depth(self) -> int:
        """The number of steps that lead here."""
        return 0 if self.above is None else self.above.depth + 1

    @property
    def tables(self) -> tuple[str, ...]:
        """The tables from the record to here."""
        return (*(self.above.tables if self.above else ()), self.table)

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps that lead here, once their names are known; before that, those that name all keys."""
        if self.above is None or self.link is None:
            return ()
        return (*self.above.steps, self.step or Step(self.table, key=self.link.key.columns))

    @property
    def text(self) -> str:
        """The path that leads here."""
        return FieldPath(self.steps).text(slashed=False)

    def walk(self) -> Iterator[TablePath]:
        """Yield this path and its continuations, the shorter ones first."""
        waiting = deque([self])
        while waiting:
            path = waiting.popleft()
            yield path
            waiting.extend(path.below)

    def leave(self) -> None:
        """Remove this path, with its continuations, from the one above."""
        if self.above is not None:
            self.above.below.remove(self)


@dataclass
class Notes:
    """What is left out, and why: whole paths, or columns on them. Reported last, when all steps have names."""

    found: dict[tuple[TablePath, str], str] = field(default_factory=dict)

    def leave(self, path: TablePath, why: str, column: str = "") -> None:
        """Note a path or a column on it."""
        self.found.setdefault((path, column), why)

    def left_out(self, root: TablePath) -> list[LeftOut]:
        """Return the notes as plain data, without those on continuations of removed paths."""
        made, kept = [], set(root.walk())
        for (path, column), why in self.found.items():
            if (path if column else path.above) not in kept:
                continue
            steps = (*path.steps, Step(column)) if column else path.steps
            made.append(LeftOut(FieldPath(steps).text(slashed=False), why))
        return list(dict.fromkeys(made))


def find_table_paths(root: str, keys: Sequence[ForeignKey], notes: Notes) -> TablePath:
    """Return the record table with all paths from it; paths not followed are noted.

    No path goes through a table twice, but for one look-up in the same table; from a looked-up table none goes down
    again, because rows that refer to its row belong to other persons too.
    """
    start = TablePath(root, None, None)
    waiting, count = deque([start]), 0
    while waiting:
        path = waiting.popleft()
        for link in _links(path, keys):
            on = TablePath(link.table, link, path)
            why = _refused(on, keys)
            if why is None and (on.depth > DEEPEST or count >= MOST_WAYS):
                why = f"more than {DEEPEST} steps away" if on.depth > DEEPEST else "there are very many ways already"
            if why is None:
                path.below.append(on)
                waiting.append(on)
                count += 1
            elif why:
                notes.leave(on, why)
    return start


def _links(path: TablePath, keys: Sequence[ForeignKey]) -> list[Link]:
    """Return the links that continue a path: up first, as these describe the row itself."""
    up = [Link(key, False) for key in keys if key.table == path.table]
    if _is_parent(path):
        return []
    if _is_lookup(path):
        return up
    return [*up, *(Link(key, True) for key in keys if key.target == path.table)]


def _is_lookup(path: TablePath) -> bool:
    return not path.down or (path.above is not None and _is_lookup(path.above))


def _is_parent(path: TablePath) -> bool:
    return path.link is not None and path.link.key.of_itself


def _refused(on: TablePath, keys: Sequence[ForeignKey]) -> str | None:
    """Return why a path is not followed, "" where no reason is needed; None where it is followed."""
    assert on.link is not None and on.above is not None
    key, came = on.link.key, on.above.link
    if came is not None and came.key == key:
        return ""
    if key.of_itself:
        return f"other rows of {name_text(on.table)} that refer to a row by {key}: persons apart" if on.down else None
    if on.table in on.above.tables:
        circle = " → ".join(map(name_text, [*on.above.tables, on.table]))
        return f"{key} closes a circle ({circle}); no path goes through a table twice"
    if came is not None and not came.down and not on.down and _same_row(came.key, key, keys):
        return f"is the row that {_from(came.key, key)} names already"
    return None


def _same_row(first: ForeignKey, second: ForeignKey, keys: Collection[ForeignKey]) -> bool:
    """Return whether one key of the first table refers to the row that the two links in sequence lead to."""
    return _joined(first, second) in keys


def _joined(first: ForeignKey, second: ForeignKey) -> ForeignKey | None:
    """Return the key that leads where `second` leads after `first`, if its columns are among those of `first`."""
    own = dict(zip(first.target_columns, first.columns, strict=True))
    if not set(second.columns) <= own.keys():
        return None
    return ForeignKey(first.table, tuple(own[c] for c in second.columns), second.target, second.target_columns)


def _from(first: ForeignKey, second: ForeignKey) -> str:
    joined = _joined(first, second)
    assert joined is not None
    return columns_text(joined.table, joined.columns)


def keep_once(root: TablePath, notes: Notes) -> None:
    """Remove paths to child tables whose sampled rows all lie on another path too; the deeper one is kept."""
    paths = [path for path in root.walk() if path.down and path.link is not None and len(path.rows)]
    by_table: dict[str, list[TablePath]] = {}
    for path in paths:
        by_table.setdefault(path.table, []).append(path)
    removed: set[TablePath] = set()
    for group in (group for group in by_table.values() if len(group) > 1):
        places = {path: _places(path) for path in group}
        for path in sorted(group, key=lambda each: each.depth):
            better = next((o for o in group if o not in removed and _is_better(o, path, places, group)), None)
            if better is not None and not any(above in removed for above in _all_above(path)):
                removed |= set(path.walk())
                notes.leave(path, f"all of its rows lie under {'.'.join(better.tables[1:])} too")
                path.leave()


def _is_better(
    other: TablePath, path: TablePath, places: dict[TablePath, set[tuple[int, int]]], group: list[TablePath]
) -> bool:
    if other is path or not places[path] <= places[other]:
        return False
    same = places[path] == places[other]
    return other.depth > path.depth or (same and other.depth == path.depth and group.index(other) < group.index(path))


def _all_above(path: TablePath) -> Iterator[TablePath]:
    while path.above is not None:
        path = path.above
        yield path


def _places(path: TablePath) -> set[tuple[int, int]]:
    """Return the person and the row number of each row on a path."""
    owners, at = path.owner, path.above
    while at is not None and at.above is not None:
        owners, at = at.owner[owners], at.above
    return set(zip(owners.tolist(), path.rows.tolist(), strict=True))


def name_steps(
    root: TablePath, found: Sequence[ForeignKey], declared: Sequence[ForeignKey], notes: Notes
) -> tuple[ForeignKey, ...]:
    """Set every path's step, naming the key where there are several, and return the found keys that are followed.

    These are what the schema must write.
    """
    followed = {path.link.key for path in root.walk() if path.link is not None}
    written = [key for key in found if key in followed]
    for path in dict.fromkeys([*root.walk(), *(noted for noted, _ in notes.found)]):
        if path.link is None:
            continue
        key = path.link.key
        rivals = [other for other in (*written, *declared) if _between(other) == _between(key)]
        names_key = len(rivals) > 1 or key.of_itself
        path.step = Step(path.table, path.down and key.of_itself, None, key.columns if names_key else ())
        why = ""
        if sum(sorted(other.columns) == sorted(key.columns) for other in rivals) > 1:
            why = "several keys of the same columns lead there, and no path can say which is meant"
        elif not _is_writable(path):
            why = "a path cannot write this name"
        if why:
            notes.leave(path, why)
            if path.above is not None and path in path.above.below:
                path.leave()
    return tuple(written)


def _between(key: ForeignKey) -> frozenset[str]:
    return frozenset((key.table, key.target))


def _is_writable(path: TablePath) -> bool:
    """Return whether a schema path along this one is read as it is written."""
    written = FieldPath((*path.steps, Step("x")))
    try:
        return parse_path(written.text(slashed=False), slashed=False, keyed=True) == written
    except PathError:
        return False
