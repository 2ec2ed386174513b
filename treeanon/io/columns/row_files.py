"""Sources of rows, each of which is one person: one file, or a folder or zip whose files are parts of one table."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from treeanon.errors import DataError, UsageError
from treeanon.formats import Format
from treeanon.io.columns.csv_dialect import Dialect
from treeanon.io.columns.csv_fast import DelimitedFile, Rules
from treeanon.io.columns.parquet import ParquetFile
from treeanon.io.columns.python_values import check_columns_exist
from treeanon.io.output import is_unnamed
from treeanon.io.relational.file_store import Copies, is_plain_file
from treeanon.io.relational.folder import FolderSource, Part
from treeanon.io.relational.source import OneTable, Place
from treeanon.io.sources import COMPRESSED, STDIN, Source, find_sources, plain_name

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
