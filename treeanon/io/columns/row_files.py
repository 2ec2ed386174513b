"""Sources of rows, each of which is one person: one file, or a folder or zip whose files are parts of one table.

Also rows that are persons, read as trees of one level and written again: CSV and Parquet files.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol

import numpy as np

from treeanon.errors import DataError, UsageError
from treeanon.forest import Batch, Forest, ReadReport
from treeanon.forest.classes import STAR
from treeanon.forest.tables import MovedNodes
from treeanon.formats import Format
from treeanon.io.columns.arrow import ParquetFile
from treeanon.io.columns.csv_dialect import Dialect
from treeanon.io.columns.csv_fast import DelimitedFile, Rules
from treeanon.io.columns.python_values import check_columns_exist
from treeanon.io.columns.write_table import delimiter_for, write_rows
from treeanon.io.interface import ReadOptions
from treeanon.io.output import Check, is_unnamed, open_output
from treeanon.io.relational.arrow_tables import TableOut, table_out
from treeanon.io.relational.file_store import Copies, is_plain_file
from treeanon.io.relational.folder import FolderSource, Part
from treeanon.io.relational.fresh_keys import KeyedTable, Shuffled
from treeanon.io.relational.key_constraints import find_needs
from treeanon.io.relational.layout import Rows, lay_out
from treeanon.io.relational.plan import make_plan
from treeanon.io.relational.reading import read_tables, resolved
from treeanon.io.relational.source import OneTable, Place, TableSource
from treeanon.io.sources import COMPRESSED, STDIN, Source, find_sources, plain_name
from treeanon.progress import Progress
from treeanon.schema import RecordPath, Schema
from treeanon.schema.relational import resolve

if TYPE_CHECKING:
    import pyarrow as pa


STAR_COLUMN = "treeanon_any"
"""The column of a release that has `*` where a person has some value, of which not even the class is published."""


class RowFiles(OneTable, ABC):
    """Base of the sources of rows in files; the column that stands for `*` is not among their columns.

    `delimiter` is that of CSV files, once it is known.
    """

    name: str
    files: str
    by_column: bool
    delimiter: str = ""

    def __init__(self, table: str, columns: Sequence[str]) -> None:
        self.has_star = STAR_COLUMN in columns
        super().__init__(table, [name for name in columns if name != STAR_COLUMN])

    @abstractmethod
    def read(self, table: str, columns: Sequence[str], most: int | None = None) -> pa.Table:
        """Return these columns of the table; see `TableSource`."""

    @abstractmethod
    def place(self, table: str, row: int) -> Place:
        """Return where a row is."""

    @abstractmethod
    def parts(self) -> Sequence[Part]:
        """Return the files of the table, one after another."""

    @abstractmethod
    def close(self) -> None:
        """Close what is open, and delete what was copied."""


class OneFile(RowFiles):
    """A CSV or Parquet file as its only table.

    Unless a `delimiter` is given, a file whose name ends in .tsv has tabs, and another the one that its header has (see
    `header_delimiter`), which is then its `delimiter`.
    """

    def __init__(
        self,
        given: str | Path,
        form: Format,
        advance: Callable[[int], None] | None = None,
        *,
        called: str | None = None,
        delimiter: str = "",
    ) -> None:
        self._advance = advance
        self._copies = Copies()
        self.by_column = not form.delimited
        self.delimiter = delimiter
        try:
            source = _source(given, form.name, called)
            self.name = source.name
            self._part = (
                self._by_columns(given, source, form) if self.by_column else self._delimited(given, source, form)
            )
        except BaseException:
            self.close()
            raise
        super().__init__(Path(plain_name(self.name)).stem or "rows", self._part.columns)

    def _by_columns(self, given: str | Path, source: Source, form: Format) -> ParquetFile:
        magic = form.magic
        self.files = form.name
        path = Path(given)
        is_packed = source.name.lower().endswith(COMPRESSED)
        if str(given) != STDIN and not is_packed and (is_plain_file(path) or is_unnamed(path)):
            return ParquetFile(path, source.name)
        if path.is_file():
            # Before it is unpacked, whatever it may come to.
            with source.open() as stream:
                if stream.read(len(magic)) != magic:
                    raise DataError("is not a Parquet file", source=source.name)
        return ParquetFile(self._copies.of(source), source.name)

    def _delimited(self, given: str | Path, source: Source, form: Format) -> DelimitedFile:
        if str(given) == STDIN or not Path(given).is_file():
            # It is read more than once. The copy is unpacked, so its name must not say that it is packed.
            copy = self._copies.of(source)
            name = source.name if plain_name(source.name) == source.name.lower() else source.name.rpartition(".")[0]
            source = Source(name, copy.stat().st_size, partial(_open, copy))
        has_tabs = plain_name(source.name).endswith(".tsv")
        found = DelimitedFile(source, Dialect(self.delimiter or ("\t" if has_tabs else "")), Rules())
        self.files = "tsv" if has_tabs else form.name
        if not has_tabs:
            self.delimiter = found.dialect.delimiter
        return found

    def __repr__(self) -> str:
        return f"OneFile({self.name!r})"

    def read(self, table: str, columns: Sequence[str], most: int | None = None) -> pa.Table:
        """Return these columns of the table; see `TableSource`."""
        check_columns_exist(self.tables(), table, columns, self.name)
        return self._part.read(columns, most, self._advance)

    def stars(self) -> pa.ChunkedArray | None:
        """Return the name of the column that stands for `*`, if there is one."""
        return self._part.read([STAR_COLUMN])[STAR_COLUMN] if self.has_star else None

    def place(self, table: str, row: int) -> Place:
        """Return where a row is."""
        return self._part.place(row)

    def parts(self) -> Sequence[Part]:
        """Return the file."""
        return [self._part]

    def close(self) -> None:
        """Delete what was copied."""
        self._copies.close()


def _open(path: Path) -> BinaryIO:
    return path.open("rb")


def _source(given: str | Path, format: str, called: str | None) -> Source:
    found = find_sources(given, ("",), called=called)
    if found.collection:
        raise UsageError(f"{called or given}: {format} is read from a file, a folder or a zip; a pattern cannot be")
    (source,) = found.items
    return source if called is None else replace(source, name=called)


_TABLE = "rows"


class OneFolder(RowFiles):
    """The CSV or Parquet files of a folder or zip as one table; each has a header, and all have the same columns."""

    def __init__(
        self,
        given: str | Path,
        form: Format,
        advance: Callable[[int], None] | None = None,
        *,
        called: str | None = None,
        delimiter: str = "",
    ) -> None:
        self._folder = FolderSource(given, advance, called=called, parts_of=_TABLE, delimiter=delimiter)
        self.name, self.files, self.by_column = self._folder.name, self._folder.files, self._folder.by_column
        if self.by_column == form.delimited:
            self.close()
            raise UsageError(f"{self.name}: holds {self.files} files; {form.name} is expected")
        # A .tsv file is written with tabs again, whatever the delimiter.
        self.delimiter = "" if self.files == "tsv" else delimiter or self._folder.delimiter(_TABLE)
        super().__init__(_TABLE, self._folder.tables()[_TABLE].columns)

    def __repr__(self) -> str:
        return f"OneFolder({self.name!r})"

    def read(self, table: str, columns: Sequence[str], most: int | None = None) -> pa.Table:
        """Return these columns of the table; see `TableSource`."""
        check_columns_exist(self.tables(), table, columns, self.name)
        return self._folder.read(table, columns, most)

    def stars(self) -> pa.ChunkedArray | None:
        """Return the name of the column that stands for `*`, if there is one."""
        return self._folder.read(_TABLE, [STAR_COLUMN])[STAR_COLUMN] if self.has_star else None

    def place(self, table: str, row: int) -> Place:
        """Return where a row is."""
        return self._folder.place(table, row)

    def parts(self) -> Sequence[Part]:
        """Return the files of the table, one after another."""
        return self._folder.parts(_TABLE)

    def close(self) -> None:
        """Delete what was copied."""
        self._folder.close()


_MANY = (".zip", "/")


def open_files(
    given: str | Path,
    form: Format,
    advance: Callable[[int], None] | None = None,
    *,
    called: str | None = None,
    delimiter: str = "",
) -> OneFile | OneFolder:
    """Return the rows of a file, or of a folder or zip whose files are parts of one table; to be closed."""
    is_many = str(given) != STDIN and ((called or str(given)).lower().endswith(_MANY) or Path(given).is_dir())
    kind = OneFolder if is_many else OneFile
    return kind(given, form, advance, called=called, delimiter=delimiter)


class RowSource(TableSource, Protocol):
    """A source with one table, called `table`; see `OneTable`."""

    table: str

    def stars(self) -> pa.ChunkedArray | None:
        """Return the column that has `*` for persons of whom not even a class is published, if there is one."""


def as_tables(schema: Schema, table: str) -> Schema:
    """Return the schema by which the rows are read as a relational input with one table."""
    spec = replace(schema.input, format="tables", record=RecordPath((table,), True), keys=(), relations=None)
    return replace(schema, input=spec)


def read_rows(source: RowSource, schema: Schema, options: ReadOptions, report: ReadReport) -> Batch:
    """Return a batch of all persons of a source of rows."""
    batch = read_tables(source, resolved(as_tables(schema, source.table), source), options, report, record_column="")
    report.is_relational = False
    stars = source.stars()
    return batch if stars is None else replace(batch, moved=_stars(source, stars))


def _stars(source: RowSource, column: pa.ChunkedArray) -> MovedNodes:
    """Return a node `*` for each row that is marked in the column."""
    import pyarrow as pa
    import pyarrow.compute as pc

    texts = column.cast(pa.string())
    there = np.asarray(texts.is_valid().combine_chunks())
    right = np.asarray(pc.fill_null(pc.equal(texts, STAR), True).combine_chunks())
    if not right.all():
        place = source.place(source.table, int(np.argmin(right)))
        raise DataError(f"must be {STAR} or empty", source=place.source, place=place.place, path=STAR_COLUMN)
    row = np.flatnonzero(there).astype(np.int32)
    none = np.full(len(row), -1, np.int32)
    return MovedNodes(none, np.zeros(len(row), np.int32), none, none, row)


def make_rows(forest: Forest, schema: Schema, shuffled: Shuffled, progress: Any = None) -> TableOut:
    """Return the table of a forest of rows, without any key, its rows in random order."""
    twin = resolve(as_tables(schema, _TABLE))
    if not twin.layout.classes:
        raise UsageError("the schema publishes no class, so there is no column to write")
    if any(spec.path is not None and spec.path.steps[-1].name == STAR_COLUMN for spec in twin.classes):
        raise UsageError(f"column {STAR_COLUMN!r} has a meaning of its own in a release")
    needs = find_needs(make_plan(twin, record_column=""))
    rows = lay_out(forest, needs, progress)
    keyed = KeyedTable(_TABLE, {0: slice(0, len(forest))}, shuffled(len(forest)) + 1)
    made = table_out(forest, needs.plan, rows, keyed)
    return _with_stars(made, rows, keyed)


def _with_stars(made: TableOut, rows: Rows, keyed: KeyedTable) -> TableOut:
    import pyarrow as pa

    moved = rows.moved.get(0)
    if moved is None:
        return made
    if any(moved.label):
        raise UsageError(
            "a record holds a class more than once, which a row cannot; `treeanon flatten` makes rows of it"
        )
    marks = np.zeros(len(keyed.serial), bool)
    marks[moved.row] = True
    marks = marks[np.argsort(keyed.serial)]
    column = pa.array(np.where(marks, STAR, ""), pa.string(), mask=~marks)
    return replace(made, data=made.data.append_column(STAR_COLUMN, column), kinds={**made.kinds, STAR_COLUMN: "text"})


def write_forest(
    forest: Forest,
    target: str | Path,
    schema: Schema,
    shuffled: Shuffled,
    *,
    force: bool,
    progress: Progress | None,
    check: Check | None,
) -> None:
    """Write a forest of rows as one file, in the schema's format."""
    with open_output(target, force=force, check=check) as stream:
        made = make_rows(forest, schema, shuffled, progress)
        write_rows(made, schema.input.format, delimiter_for(target, schema.input.delimiter), stream)
