"""Findings from tables tied by foreign keys: the record table, the paths from it, and their columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path

from treeanon.errors import DataError
from treeanon.infer.decide import decide, objects_of
from treeanon.infer.json_sample import walk_json
from treeanon.infer.key_names import column_name
from treeanon.infer.leaves import Leaves, dotted_name
from treeanon.infer.model import Findings, LeftOut, ProposedKeys, Sample
from treeanon.infer.person_fields import with_person
from treeanon.infer.relations import FoundKey, find_keys
from treeanon.infer.render import KEY, render_schema
from treeanon.infer.roots import Root, choose_root, looks_like_persons
from treeanon.infer.table_paths import Notes, TablePath, find_table_paths, keep_once, name_steps
from treeanon.infer.tables_sample import MOST_ROWS, TablesSample
from treeanon.io.relational.open import open_tables
from treeanon.io.relational.plan import MOVED_TABLE, RECORD_COLUMN
from treeanon.io.relational.reading import resolved
from treeanon.io.relational.source import TableInfo, TableSource
from treeanon.schema import RecordPath, Schema, Step
from treeanon.schema.keys import ForeignKey, KeyFormError, name_text, parse_key
from treeanon.schema.layout import ROOT

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
