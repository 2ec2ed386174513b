"""A folder or zip whose files are parts of one table, of which each row is one person."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from treeanon.errors import UsageError
from treeanon.io.columns.column_checks import check_asked
from treeanon.io.columns.single_file import STAR_COLUMN, OneFile, RowFiles
from treeanon.io.relational.folder import FolderSource
from treeanon.io.relational.source import Place
from treeanon.io.sources import STDIN

if TYPE_CHECKING:
    import pyarrow as pa

_TABLE = "rows"


class OneFolder(RowFiles):
    """The CSV or Parquet files of a folder or zip as one table; each has a header, and all have the same columns."""

    def __init__(
        self,
        given: str | Path,
        format: str,
        advance: Callable[[int], None] | None = None,
        *,
        called: str | None = None,
        delimiter: str = "",
    ) -> None:
        self._folder = FolderSource(given, advance, called=called, parts_of=_TABLE, delimiter=delimiter)
        self.name, self.files, self.by_column = self._folder.name, self._folder.files, self._folder.by_column
        if self.by_column != (format == "parquet"):
            self.close()
            raise UsageError(f"{self.name}: holds {self.files} files; what is asked for is {format}")
        # A file of tabs keeps them in a release without being told.
        self.delimiter = "" if self.files == "tsv" else delimiter or self._folder.delimiter(_TABLE)
        super().__init__(_TABLE, self._folder.tables()[_TABLE].columns)

    def __repr__(self) -> str:
        return f"OneFolder({self.name!r})"

    def read(self, table: str, columns: Sequence[str], most: int | None = None) -> pa.Table:
        """These columns of the table; see `TableSource`."""
        check_asked(self.tables(), table, columns, self.name)
        return self._folder.read(table, columns, most)

    def stars(self) -> pa.ChunkedArray | None:
        """The column that means `*`, if there is one."""
        return self._folder.read(_TABLE, [STAR_COLUMN])[STAR_COLUMN] if self.has_star else None

    def place(self, table: str, row: int) -> Place:
        """Where a row is."""
        return self._folder.place(table, row)

    def close(self) -> None:
        """Deletes what was copied."""
        self._folder.close()


def open_rows(
    given: str | Path,
    format: str,
    advance: Callable[[int], None] | None = None,
    *,
    called: str | None = None,
    delimiter: str = "",
) -> OneFile | OneFolder:
    """The source of the rows of a file, or of a folder or zip whose files are parts of one table; to be closed."""
    is_many = str(given) != STDIN and ((called or str(given)).lower().endswith(".zip") or Path(given).is_dir())
    kind = OneFolder if is_many else OneFile
    return kind(given, format, advance, called=called, delimiter=delimiter)
