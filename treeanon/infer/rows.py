"""Findings from a file of rows, one per person, with hierarchy files that lie beside it."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from treeanon.errors import DataError, FileError, HierarchyError, SchemaError, UsageError
from treeanon.hierarchy import Builder
from treeanon.hierarchy.builders import parse_builder
from treeanon.hierarchy.files import read_hierarchy
from treeanon.infer.builders import builder_for, type_of
from treeanon.infer.decide import decide, with_facets_of_rows
from treeanon.infer.json_sample import walk_json
from treeanon.infer.leaves import Leaf, Leaves, dotted_name, looks_like_data
from treeanon.infer.model import Finding, Findings, LeftOut, Sample
from treeanon.infer.person_fields import with_person
from treeanon.infer.render import render_schema
from treeanon.infer.sampling import Place, Values
from treeanon.infer.secrets import withheld
from treeanon.infer.table_paths import Notes, TablePath
from treeanon.infer.tables import MOST_CLASSES, TablesSample
from treeanon.io.columns.row_files import RowFiles
from treeanon.io.columns.texts import Unreadable, coded
from treeanon.io.relational.source import open_rows
from treeanon.io.sources import STDIN
from treeanon.schema import FieldPath, Schema, Step
from treeanon.schema.layout import ROOT

if TYPE_CHECKING:
    import pyarrow as pa


_MARK = "_hierarchy_"
_ENDINGS = (".csv", ".json")
_BETWEEN_WORDS = re.compile(r"[\W_]+")


class NearHierarchies:
    """The files beside an input that are named after one of its columns: `*_hierarchy_COLUMN.csv`, as in ARX,
    or `hierarchies/COLUMN.csv`; each may also end in .json.
    """

    def __init__(self, source: Path) -> None:
        self.files: dict[str, list[Path]] = {}
        own = f"{source.name.partition('.')[0]}{_MARK}".casefold()
        beside = [path for path in _listed(source.parent) if _MARK in path.stem]
        beside.sort(key=lambda path: (not path.name.casefold().startswith(own), path.name))
        for path in beside:
            self.files.setdefault(_plain(path.stem.rpartition(_MARK)[2]), []).append(path)
        for path in _listed(source.parent / "hierarchies"):
            self.files.setdefault(_plain(path.stem), []).append(path)

    def fitting(self, column: str, texts: Collection[str]) -> tuple[Path | None, list[str]]:
        """Return the first file for a column that knows all of its values, and why the files before it do not fit."""
        refused = []
        for path in self.files.get(_plain(column), ()):
            try:
                hierarchy = read_hierarchy(path)
            except (HierarchyError, FileError):
                refused.append(f"{path.name} lies beside the input, but is no hierarchy")
                continue
            unknown = sum(hierarchy.find(text) is None for text in texts)
            if not unknown:
                return path, refused
            refused.append(
                f"{path.name} lies beside the input, but does not know {unknown:,} of the {len(texts):,} values of"
                f" {column!r}"
            )
        return None, refused


def _listed(folder: Path) -> Iterator[Path]:
    """Return the files of a folder that may be hierarchies; none if it cannot be read."""
    try:
        names = sorted(os.listdir(folder))  # noqa: PTH208
    except (OSError, ValueError):
        return
    for name in names:
        if name.lower().endswith(_ENDINGS) and (folder / name).is_file():
            yield folder / name


def _plain(name: str) -> str:
    """Return a name in normal form: `Marital status` and `marital-status` are equal."""
    return _BETWEEN_WORDS.sub(" ", name.casefold()).strip() or name


_AT_ONCE = 8
"""Number of columns read together to their end, so that no large file is in memory as a whole."""


def propose_rows(
    source: str | Path,
    *,
    format: str,
    delimiter: str = "",
    record: str | None,
    sample: int,
    home: Path,
    publish: Sequence[str] = (),
) -> Findings:
    """Return a proposed schema for one file of rows; `home` is the schema's folder.

    Roles and builders are chosen by a sample of the rows, as those of documents. They are tried on all rows: one that
    shows an identifier withholds its column, and types and hierarchies read the whole file. A hierarchy beside the
    file is taken if it knows every value.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "people.csv")
    >>> _ = path.write_text("age;home.town\\n34;Ulm\\n41;Bonn\\n")
    >>> found = propose_rows(path, format="csv", record=None, sample=1000, home=path.parent)
    >>> [(each.name, each.type, each.path.text(slashed=False)) for each in found.classes]
    [('age', 'integer', 'age'), ('home.town', 'text', "'home.town'")]
    """
    if record is not None:
        raise UsageError(f"--record is not for {format}, where each row is one record")
    with closing(open_rows(source, format, delimiter=delimiter)) as file:
        near = None if str(source) == STDIN else NearHierarchies(Path(source))
        return _Proposal(file, format, sample, home, near, publish).findings()


@dataclass
class _Proposal:
    """The proposal for one file of rows."""

    file: RowFiles
    format: str
    most: int
    home: Path
    near: NearHierarchies | None
    publish: Sequence[str] = ()
    warnings: list[str] = field(default_factory=list)
    leaves: dict[FieldPath, Leaf] = field(default_factory=dict)

    def findings(self) -> Findings:
        self.refuse_empty()
        notes = Notes()
        columns = self.file.tables()[self.file.table].columns
        left = [
            LeftOut(_path_text(name), f"there are {MOST_CLASSES} columns before it") for name in columns[MOST_CLASSES:]
        ]
        root = TablePath(self.file.table, None, None, columns=list(columns[:MOST_CLASSES]))
        sample = TablesSample(self.file, notes)
        sample.join(root, self.most)
        records = sample.records(root)
        leaves = _Columns(False, dotted_name, {}).gather(walk_json(records, apart=False)[0])
        found = decide(leaves.found, len(records), slashed=False, rows=True, publish=self.publish)
        self.leaves = {leaf.path: leaf for leaf in leaves.found}
        if not found:
            why = next((left.why for left in leaves.left_out if not left.path), "")
            raise DataError(why or "no column in the sample could become a class", source=self.file.name)
        taken = Sample(self.format, None, records, sample.whole, total=sample.total, unseen=sample.unseen)
        classes = tuple(self.tried(found))
        left = list(dict.fromkeys([*leaves.left_out, *notes.left_out(root), *left]))
        findings = Findings(taken, classes, tuple(left), warnings=tuple(self.warnings))
        findings = with_person(findings, leaves.found)
        if findings.person is not None:
            findings = replace(findings, classes=with_facets_of_rows(findings.classes, leaves))
        # Loading proves that the schema is valid.
        layout = Schema.loads(render_schema(findings), folder=self.home).merged.layout
        names = [held.name for held in layout.classes]
        return findings.with_parents({c.name: None if c.parent == ROOT else names[c.parent] for c in layout.classes})

    def refuse_empty(self) -> None:
        """Check that there is a row, and none near the beginning is broken (DataError)."""
        try:
            rows = self.file.read(self.file.table, [], 1).num_rows
        except DataError:
            # Only reading to the end reveals which row that is.
            rows = self.file.read(self.file.table, []).num_rows
        if not rows:
            raise DataError("holds no row", source=self.file.name)

    def tried(self, found: Sequence[Finding]) -> Iterator[Finding]:
        """Return the findings with types and hierarchies of published classes that suit all rows."""
        published = [each for each in found if each.published]
        made: dict[str, Finding] = {}
        try:
            for at in range(0, len(published), _AT_ONCE):
                some = published[at : at + _AT_ONCE]
                read = self.file.read(self.file.table, [_column(each) for each in some])
                for each in some:
                    made[each.name] = self.suited(each, _counted(read.column(_column(each))))
        except DataError as problem:
            place = f" ({problem.place})" if problem.place else ""
            self.warnings.append(f"the rows after the sample cannot all be read{place}: {problem.message}")
        except Unreadable as problem:
            self.warnings.append(f"a row after the sample holds {problem.what}")
        for each in found:
            yield made.get(each.name, each)

    def suited(self, found: Finding, counts: Counter[str]) -> Finding:
        """Return the finding for a column with these values, which may show what the sample does not."""
        values = Values(counts, counts.total(), counts.total(), counts.total())
        if found.path is not None and not found.asked:
            leaf = replace(self.leaves[found.path], values=values)
            hidden = withheld(leaf, type_of(values, _column(found)), values.occurrences)
            if hidden is not None:
                why = f"{hidden[1]}, as all rows show"
                return replace(found, type="text", role=hidden[0], under=None, hierarchy=None, why=why)
        if self.near is not None:
            path, refused = self.near.fitting(_column(found), counts)
            self.warnings += refused
            if path is not None:
                return self.with_file(found, path)
        texts = [text if found.type == "text" else text.strip() for text in counts]
        strange = int(np.count_nonzero(_builder(found).build(texts).encode(texts) < 0))
        if not strange:
            return found
        kind = type_of(values, _column(found))
        built = builder_for(values, _column(found), kind)
        why = f"{built.why}; of type {found.type}, as the sample has it, {strange:,} of all values would have no place"
        return replace(found, type=kind, hierarchy=built.spec, why=why)

    def with_file(self, found: Finding, path: Path) -> Finding:
        """Return the finding with a file as its hierarchy; a type that the file cannot have becomes text."""
        name = Path(os.path.relpath(path, self.home)).as_posix()
        why = f"the file {path.name} lies beside the input, and knows all of its values"
        made = replace(found, hierarchy=name, why=why)
        taken = Sample(self.format, None, [], True)
        try:
            Schema.loads(render_schema(Findings(taken, (made,))), folder=self.home)
        except SchemaError:
            return replace(made, type="text")
        return made


class _Columns(Leaves):
    """Leaves of rows: every column is one, however rarely filled."""

    def proper_fields(self, place: Place, path: str) -> list[str]:
        """Return the names of all columns, unless each looks like a value of a file without a header."""
        names = list(place.fields)
        if looks_like_data(names):
            self.leave("", "the names of its columns look like data: is there a header?")
            return []
        return names


def _builder(found: Finding) -> Builder:
    assert not isinstance(found.hierarchy, str)
    made, problems = parse_builder(found.hierarchy or {"flat": True}, found.type)
    assert made is not None, problems
    return made


def _column(found: Finding) -> str:
    assert found.path is not None
    return found.path.steps[-1].name or ""


def _path_text(name: str) -> str:
    return FieldPath((Step(name),)).text(slashed=False)


def _counted(column: pa.ChunkedArray) -> Counter[str]:
    """Return the count of each text in a column; empty texts are missing."""
    codes, texts = coded(column)
    times = np.bincount(codes[codes >= 0], minlength=len(texts)).tolist()
    return Counter({text: count for text, count in zip(texts, times, strict=True) if text and count})
