"""The place of a release as tables: a folder for each, and the description of them all, which appear as one."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from treeanon.errors import UsageError
from treeanon.io.relational.arrow_tables import TableOut
from treeanon.io.relational.file_store import PACKAGE
from treeanon.io.relational.write_folder import is_package, package_of
from treeanon.spark.relational_write.release import SpreadTables
from treeanon.spark.relational_write.saving import folders_of, save_tables
from treeanon.spark.writing import Target

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class TablesTarget(Target):
    """A folder that appears whole, and replaces another only if that is a release of tables too."""

    def __init__(self, spark: SparkSession, name: str, files: str, *, force: bool) -> None:
        self.files = files
        self.tables: list[TableOut] = []
        super().__init__(spark, name, f".{files}", force=force)
        if self.place.toUri().getScheme() != "file":
            # What was written is read again by its path, as anybody would.
            raise UsageError(f"{name}: tables go to a folder that driver and workers share by its path (file:///…)")

    def is_ours(self, names: list[str]) -> bool:
        """Whether the place holds nothing but a release of tables."""
        if PACKAGE not in names:
            return False
        found: dict[bool, list[str]] = {True: [], False: []}
        self._list(self.place, "", found)
        return is_package(self._read(self.path(self.place, PACKAGE)), found[False], found[True])

    def write_tables(self, spread: SpreadTables, check: Callable[[str], None]) -> None:
        """Has tables written; they appear once `check` has passed the folder."""
        self.tables = spread.tables
        self.write(lambda place: save_tables(spread, self.files, place), check)

    def tidy(self) -> None:
        """Gives all files neutral names, and describes them."""
        paths = []
        for folder in folders_of(self.tables):
            names = self.rename_files(self.path(self.aside, folder))
            paths.append([f"{folder}/{name}" for name in names])
        stream = self.system.create(self.path(self.aside, PACKAGE))
        try:
            stream.write(bytearray(package_of(self.tables, paths, self.files)))
        finally:
            stream.close()

    def _list(self, folder: Any, above: str, names: dict[bool, list[str]]) -> None:
        """Adds the names of what is in a folder: of folders, and of files."""
        for status in self.system.listStatus(folder):
            name = above + status.getPath().getName()
            names[bool(status.isDirectory())].append(name)
            if status.isDirectory():
                self._list(status.getPath(), f"{name}/", names)

    def _read(self, file: Any) -> bytes:
        stream = self.system.open(file)
        try:
            return bytes(stream.readAllBytes())
        finally:
            stream.close()
