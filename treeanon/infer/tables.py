"""Findings from tables tied by foreign keys: the record table, the paths from it, columns, and the first persons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from treeanon.errors import DataError
from treeanon.infer.decide import decide, objects_of
from treeanon.infer.json_sample import walk_json
from treeanon.infer.key_names import column_name
from treeanon.infer.leaves import Leaves, dotted_name
from treeanon.infer.model import Findings, LeftOut, ProposedKeys, Sample
from treeanon.infer.person_fields import Root, choose_root, looks_like_persons, with_person
from treeanon.infer.relations import FoundKey, find_keys
from treeanon.infer.render import KEY, render_schema
from treeanon.infer.sampling import spread
from treeanon.infer.table_paths import Notes, TablePath, find_table_paths, keep_once, name_steps
from treeanon.io.columns.texts import Unreadable, coded
from treeanon.io.relational.plan import MOVED_TABLE, RECORD_COLUMN, KeyClash, RepeatedKey, find_targets
from treeanon.io.relational.reading import resolved
from treeanon.io.relational.source import TableInfo, TableSource, open_tables
from treeanon.kernels.joins import in_circles
from treeanon.schema import RecordPath, Schema, Step
from treeanon.schema.keys import ForeignKey, KeyFormError, name_text, parse_key
from treeanon.schema.layout import ROOT

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


MOST_CLASSES = 200
"""Largest number of columns of a proposal, which a person should read."""

NO_KEYS = "no foreign key, declared or found, leads on from the record table: the schema is of this table alone"


def propose_tables(
    source: str | Path, *, format: str, record: str | None, sample: int, publish: Sequence[str] = ()
) -> Findings:
    """Return a proposed schema for a relational input."""
    with closing(open_tables(source, format)) as tables:
        return _Proposal(tables, format, record, sample, publish).findings()


@dataclass
class _Proposal:
    """The proposal for one relational input."""

    source: TableSource
    format: str
    record: str | None
    most: int
    publish: Sequence[str] = ()
    notes: Notes = field(default_factory=Notes)
    gone: list[TablePath] = field(default_factory=list)
    unreached: list[LeftOut] = field(default_factory=list)

    def findings(self) -> Findings:
        tables = self.own_tables()
        if not tables:
            raise DataError("holds no table", source=self.source.name)
        stated = self.source.keys()
        declared = tuple(dict.fromkeys(key for key in stated if key.table in tables and key.target in tables))
        found = [each for each in find_keys(self.source, declared, tables) if _is_writable(each.key)]
        keys = [*declared, *(each.key for each in found)]
        chosen = choose_root(tables, keys, self.record, lambda table: self.source.read(table, [], 1).num_rows > 0)
        root = find_table_paths(chosen.table, keys, self.notes)
        sample = TablesSample(self.source, self.notes)
        self.choose_columns(root, tables, keys)
        sample.join(root, self.most)
        keep_once(root, self.notes)
        self.prune(root)
        written = name_steps(root, [each.key for each in found], declared, self.notes)
        self.bound(root)
        self.note_unreached(root, tables)
        return self.decided(root, sample, chosen, _keys(root, declared, written, found))

    def own_tables(self) -> dict[str, TableInfo]:
        """Return the tables that hold rows of their own: no views, unless one is asked for, and no parts of others."""
        tables = {name: info for name, info in self.source.tables().items() if not name.startswith(MOVED_TABLE)}
        own = {name: info for name, info in tables.items() if name == self.record or not (info.view or info.part_of)}
        for name, info in tables.items():
            if name not in own:
                why = f"a part of {name_text(info.part_of)}, which has its rows"
                view = "a view, whose rows are those of other tables; init --record VIEW takes it"
                self.unreached.append(LeftOut(name_text(name), view if info.view else why))
        return own or tables

    def choose_columns(self, root: TablePath, tables: Mapping[str, TableInfo], keys: Sequence[ForeignKey]) -> None:
        """Set the columns of every path that may become classes: all but those of keys."""
        taken = {(key.table, column) for key in keys for column in key.columns}
        taken |= {(key.target, column) for key in keys for column in key.target_columns}
        taken |= {(table, column) for table, info in tables.items() for column in info.primary}
        for path in root.walk():
            own = [column for column in tables[path.table].columns if column != RECORD_COLUMN]
            path.columns = [column for column in own if (path.table, column) not in taken]
            path.keys = [column for column in own if (path.table, column) in taken]

    def prune(self, root: TablePath) -> None:
        """Remove paths that lead to no column; of a looked-up table that only lists values, keep the key."""
        gone = self.gone
        for path in reversed(list(root.walk())):
            if not path.columns and not path.below and path is not root:
                gone.append(path)
                path.leave()
        followed = [path.link.key for path in root.walk() if path.link is not None]
        in_keys = {(key.table, column) for key in followed for column in key.columns}
        in_keys |= {(key.target, column) for key in followed for column in key.target_columns}
        for path in gone:
            if (
                path.link is None
                or path.above is None
                or len(self.source.tables()[path.table].columns) > 1
                or path.down
            ):
                continue
            for column in path.link.key.columns:
                if (path.above.table, column) not in in_keys and column in path.above.keys:
                    path.above.keys.remove(column)
                    path.above.columns.append(column)

    def bound(self, root: TablePath) -> None:
        """Remove columns that paths cannot name, and those beyond the limit of a readable schema."""
        count, noted = 0, set[str]()
        for path in root.walk():
            steps = {on.steps[-1].label for on in path.below}
            for column in [column for column in path.columns if column in steps]:
                path.columns.remove(column)
                self.notes.leave(path, "has the name of a table that paths go to from here", column)
            room = max(MOST_CLASSES - count, 0)
            for column in path.columns[room:]:
                self.notes.leave(path, f"there are {MOST_CLASSES} columns nearer to the record", column)
            path.columns = path.columns[:room]
            count += len(path.columns)
            for column in path.keys if path.table not in noted else ():
                self.notes.leave(path, KEY, column)
            noted.add(path.table)

    def note_unreached(self, root: TablePath, tables: Mapping[str, TableInfo]) -> None:
        """Note tables to which no key leads."""
        reached = {path.table for path in (*root.walk(), *self.gone, *(path for path, _ in self.notes.found))}
        why = "a table to which no key leads"
        self.unreached += [LeftOut(name_text(table), why) for table in tables if table not in reached]

    def decided(self, root: TablePath, sample: TablesSample, chosen: Root, keys: ProposedKeys) -> Findings:
        records = sample.records(root)
        leaves = _TableLeaves(False, dotted_name, {}, paths=_by_labels(root)).gather(walk_json(records, apart=False)[0])
        tables = self.source.tables()
        shared = {path.steps for path in root.walk() if _is_shared(path, tables)}
        parents = leaves.parents
        found = [replace(leaf, shared=leaf.path.steps[:-1] in shared) for leaf in leaves.found]
        record = RecordPath((chosen.table,), True)
        seen = sample.whole, chosen.why, chosen.others
        taken = Sample(self.format, record, records, *seen, keys=keys, total=sample.total, unseen=sample.unseen)
        classes = decide(found, len(records), slashed=False, publish=self.publish, parents=parents, around=False)
        if not classes:
            raise DataError("no column in the sample could become a class", source=self.source.name)
        left = tuple(dict.fromkeys([*leaves.left_out, *self.notes.left_out(root), *self.unreached]))
        objects = objects_of(found, slashed=False)
        findings = Findings(taken, classes, left, warnings=self.warnings(root, keys), objects=objects)
        # Only a column of the record's own table says whose a row is.
        findings = with_person(findings, [leaf for leaf in found if len(leaf.path.steps) == 1])
        layout = resolved(Schema.loads(render_schema(findings)), self.source).merged.layout
        names = [published.name for published in layout.classes]
        return findings.with_parents({c.name: None if c.parent == ROOT else names[c.parent] for c in layout.classes})

    def warnings(self, root: TablePath, keys: ProposedKeys) -> tuple[str, ...]:
        lines = []
        if len(keys.found):
            many = f"{len(keys.found)} foreign keys were" if len(keys.found) > 1 else "1 foreign key was"
            lines.append(f"{many} FOUND, NOT DECLARED, and stand in the schema: check them (key, in [input])")
        if not root.below and len(self.own_tables()) > 1:
            lines.append(NO_KEYS)
        return (*lines, *map(str, getattr(self.source, "left_out", ())))


def _is_writable(key: ForeignKey) -> bool:
    """Return whether the key is read as it is written."""
    try:
        return parse_key(str(key)) == key
    except KeyFormError:
        return False


def _is_shared(path: TablePath, tables: Mapping[str, TableInfo]) -> bool:
    return not path.down and not looks_like_persons(path.table, tables[path.table])


def _by_labels(root: TablePath) -> dict[tuple[str, ...], TablePath]:
    return {tuple(step.label or "" for step in path.steps): path for path in root.walk()}


@dataclass
class _TableLeaves(Leaves):
    """Leaves of nested rows: steps to other tables carry their keys, which also give names to classes."""

    paths: Mapping[tuple[str, ...], TablePath] = field(default_factory=dict)

    def step(self, steps: tuple[Step, ...], short: str, *, repeated: bool) -> Step:
        """Return the step to a table, or to a column."""
        path = self.path(steps, short)
        return path.steps[-1] if path is not None else Step(short)

    def label(self, steps: tuple[Step, ...], short: str) -> str:
        """Return the name of a column or table; where several keys lead there, the role in the key's column names."""
        path = self.path(steps, short)
        if path is None or not path.steps[-1].key:
            return short if path is None else path.table
        role = "_".join(column_name(path.steps[-1].key[0], "").base)
        rivals = [on for on in path.above.below if on.table == path.table and on.down] if path.above else []
        if path.down:
            return f"{path.table}_{role}" if role and len(rivals) > 1 else path.table
        return role or path.table

    def path(self, steps: tuple[Step, ...], short: str) -> TablePath | None:
        return self.paths.get((*(step.label or "" for step in steps), short))


def _keys(
    root: TablePath, declared: Sequence[ForeignKey], written: Sequence[ForeignKey], found: Sequence[FoundKey]
) -> ProposedKeys:
    """Return the keys that the paths follow."""
    evidence = {each.key: each.why for each in found}
    followed = dict.fromkeys(path.link.key for path in root.walk() if path.link is not None)
    places = {}
    for path in root.walk():
        if path.link is not None and path.down:
            key = path.link.key
            place = f"rows that refer to {name_text(key.target)}"
            place += f" by {', '.join(map(name_text, key.columns))}"
            places[path.text] = place if path.whole else f"{place}; the first {MOST_ROWS:,} were looked at"
    return ProposedKeys(
        tuple(key for key in followed if key in declared),
        tuple((key, evidence[key]) for key in written if key in followed),
        places,
    )
