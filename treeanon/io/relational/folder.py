"""A folder or zip of CSV, TSV or Parquet files as tables, with the keys of its datapackage.json if there is one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from treeanon.errors import DataError, UsageError
from treeanon.formats import FORMATS, ROWS, TABLE_FILES
from treeanon.io.columns.arrow import ParquetFile
from treeanon.io.columns.csv_dialect import Dialect
from treeanon.io.columns.csv_fast import DelimitedFile, Rules
from treeanon.io.columns.python_values import check_columns_exist, same_types
from treeanon.io.relational.datapackage import LARGEST, Package, Resource, parse_package
from treeanon.io.relational.file_store import (
    PACKAGE,
    Copies,
    FileStore,
    Stored,
    is_plain_file,
    open_file_store,
    table_name,
)
from treeanon.io.relational.source import DeclaredKeys, Place, TableInfo, listed
from treeanon.schema.keys import ForeignKey

Part = DelimitedFile | ParquetFile


@dataclass
class _Table:
    """The files that hold one table, one after another; `counts` are their rows, once they were read."""

    parts: list[Part]
    primary: tuple[str, ...] = ()
    counts: tuple[int, ...] = ()


class FolderSource:
    """The tables of a folder or zip; `left_out` says which resources and declared keys are missing, and why.

    `as_texts`: what CSV files hold is given as it stands, also where datapackage.json declares integers. `parts_of` is
    the name of the one table that all files hold parts of, whatever they are called, with that `delimiter`.
    """

    def __init__(
        self,
        given: str | Path,
        advance: Callable[[int], None] | None = None,
        *,
        called: str | None = None,
        as_texts: bool = False,
        parts_of: str = "",
        delimiter: str = "",
    ) -> None:
        self._advance, self._as_texts, self._delimiter = advance, as_texts, delimiter
        self._copies = Copies()
        self._store: FileStore = open_file_store(given, called)
        self.name = self._store.name
        try:
            package = None if parts_of else self._package()
            resources = self._bare(parts_of) if package is None else package.resources
            self._files = {resource.name: self._table(resource) for resource in resources}
        except BaseException:
            self.close()
            raise
        self._infos = {name: TableInfo(table.parts[0].columns, table.primary) for name, table in self._files.items()}
        stated = self._stated(resources)
        self._keys = stated.keys
        self.left_out = (*(package.left_out if package else ()), *stated.left_out, *self._undescribed(package))
        kinds = {resource.kind for resource in resources}
        self.by_column = all(TABLE_FILES[kind].by_column for kind in kinds)
        self.files = kinds.pop() if len(kinds) == 1 else ROWS

    def __repr__(self) -> str:
        return f"FolderSource({self.name!r})"

    def _package(self) -> Package | None:
        """Return the content of datapackage.json, if there is one."""
        stored = self._store.find(PACKAGE)
        if stored is None:
            return None
        with stored.source.open() as stream:
            data = bytearray()
            while len(data) <= LARGEST and (block := stream.read(1 << 20)):
                data += block
        package = parse_package(bytes(data), stored.source.name)
        for resource in package.resources:
            for path in resource.paths:
                if self._store.find(path) is None:
                    package.wrong(f"{resource.place}.path", f"there is no file {path!r}")
        if not package.problems and not package.resources:
            package.wrong("resources", "none of them is a table in CSV, TSV or Parquet")
        package.refuse_problems()
        return package

    def _undescribed(self, package: Package | None) -> list[str]:
        """Return the files beside a package that it does not name."""
        if package is None:
            return []
        named = {PACKAGE, *(path for resource in package.resources for path in resource.paths)}
        nulls = [r.name for r in package.resources if any(r.missing)]
        notes = [f"table {name!r}: texts that stand for null (missingValues) are ignored" for name in nulls]
        return notes + [f"file {name!r} is not named in {PACKAGE}" for name in self._store.names() if name not in named]

    def _bare(self, parts_of: str) -> list[Resource]:
        """Return the tables named by the files; a folder of files is one table of parts."""
        found: dict[str, dict[str, list[tuple[str, str]]]] = {}
        for name in self._store.names():
            folder, _, base = name.rpartition("/")
            named = table_name(base)
            if named is not None:
                table = parts_of or folder or named[0]
                found.setdefault(table, {}).setdefault(parts_of or folder or name, []).append((named[1], name))
        if not found:
            raise UsageError(f"{self.name}: holds no table: no file in it ends in .csv, .tsv or .parquet")
        return [self._bare_table(table, places) for table, places in sorted(found.items())]

    def _bare_table(self, table: str, places: dict[str, list[tuple[str, str]]]) -> Resource:
        if len(places) > 1:
            raise DataError(f"several files or folders are called table {table!r}: {listed(places)}", source=self.name)
        (files,) = places.values()
        kinds = {kind for kind, _ in files}
        if len(kinds) > 1:
            raise DataError(f"folder {table!r} mixes {listed(sorted(kinds))} files", source=self.name)
        kind = kinds.pop()
        # Commas are only a guess: the header decides.
        dialect = Dialect(self._delimiter or TABLE_FILES[kind].delimiter.strip(","))
        return Resource(table, "", kind, tuple(name for _, name in files), dialect)

    def _table(self, resource: Resource) -> _Table:
        parts: list[Part] = []
        for path in resource.paths:
            stored = self._store.find(path)
            assert stored is not None
            parts.append(self._part(resource, stored))
        first = parts[0]
        for part in parts[1:]:
            if set(part.columns) != set(first.columns):
                other = sorted(set(part.columns) ^ set(first.columns))
                # Parts without a header begin with data.
                detail = f": {listed(other)}" if set(part.columns) & set(first.columns) else "; has each a header?"
                message = f"has other columns than the first part of table {resource.name!r}{detail}"
                raise DataError(message, source=_name(part))
        return _Table(parts, resource.primary)

    def _part(self, resource: Resource, stored: Stored) -> Part:
        if TABLE_FILES[resource.kind].by_column:
            plain = stored.path is not None and is_plain_file(stored.path)
            if not plain:
                # Before it is unpacked, whatever it may come to.
                with stored.source.open() as stream:
                    magic = FORMATS[TABLE_FILES[resource.kind].format].magic
                    if stream.read(len(magic)) != magic:
                        raise DataError("is not a Parquet file", source=stored.source.name)
            path = stored.path if plain and stored.path else self._copies.of(stored.source)
            return ParquetFile(path, stored.source.name, resource.fields)
        integers = frozenset[str]() if self._as_texts else resource.integers
        rules = Rules(resource.missing, integers, resource.fields)
        return DelimitedFile(stored.source, resource.dialect, rules)

    def _stated(self, resources: Sequence[Resource]) -> DeclaredKeys:
        stated = DeclaredKeys(self._infos)
        for resource in resources:
            for key in resource.keys:
                # An old way to say "this one".
                of_itself = key.target == "self" and "self" not in self._infos
                target = resource.name if of_itself else key.target
                stated.add(resource.name, key.columns, target, key.target_columns)
        return stated

    def tables(self) -> Mapping[str, TableInfo]:
        """Return all tables by name."""
        return self._infos

    def keys(self) -> Sequence[ForeignKey]:
        """Return the foreign keys that datapackage.json declares."""
        return self._keys

    def read(self, table: str, columns: Sequence[str], most: int | None = None) -> pa.Table:
        """Return these columns of a table; see `TableSource`."""
        check_columns_exist(self._infos, table, columns, self.name)
        files = self._files[table]
        read: list[pa.Table] = []
        left = most
        for part in files.parts:
            if left is not None and left <= 0 and read:
                break
            read.append(self._read(part, files.parts[0], columns, left))
            left = None if left is None else left - read[-1].num_rows
        if most is None:
            files.counts = tuple(part.num_rows for part in read)
        return read[0] if len(read) == 1 else self._joined(table, read, columns)

    def _read(self, part: Part, first: Part, columns: Sequence[str], most: int | None) -> pa.Table:
        if isinstance(part, ParquetFile):
            return part.read(columns, most, self._advance)
        repeats = first.repeats if isinstance(first, DelimitedFile) else None
        return part.read(columns, most, self._advance, repeats)

    def _joined(self, table: str, read: list[pa.Table], columns: Sequence[str]) -> pa.Table:
        if not columns:
            return pa.table({"": pa.nulls(sum(part.num_rows for part in read))}).select([])
        try:
            return pa.concat_tables(same_types(read), promote_options="permissive").unify_dictionaries()
        except pa.ArrowException:
            message = f"the parts of table {table!r} have columns of different types"
            raise DataError(message, source=self.name) from None

    def place(self, table: str, row: int) -> Place:
        """Return where row number `row` (from 0) of a table is: the line in its file where that is quickly found."""
        files = self._files[table]
        if len(files.parts) == 1:
            return files.parts[0].place(row)
        for part, count in zip(files.parts, files.counts, strict=False):
            if row < count:
                return part.place(row)
            row -= count
        return Place(f"{self.name}, table {table}", f"row {row + 1}")

    def parts(self, table: str) -> Sequence[Part]:
        """Return the files of a table, one after another."""
        return self._files[table].parts

    def delimiter(self, table: str) -> str:
        """Return the delimiter of the first CSV file of a table; none of Parquet."""
        first = self._files[table].parts[0]
        return first.dialect.delimiter if isinstance(first, DelimitedFile) else ""

    def close(self) -> None:
        """Delete what was copied."""
        self._copies.close()


def _name(part: Part) -> str:
    return part.name if isinstance(part, ParquetFile) else part.source.name
