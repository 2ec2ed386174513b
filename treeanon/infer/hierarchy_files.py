"""Files of hierarchies that lie beside an input, and what of them fits its columns."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator
from pathlib import Path

from treeanon.errors import FileError, HierarchyError
from treeanon.hierarchy.files import read_hierarchy

_MARK = "_hierarchy_"
_ENDINGS = (".csv", ".json")
_BETWEEN_WORDS = re.compile(r"[\W_]+")


class NearHierarchies:
    """The files beside an input that are called after one of its columns: `*_hierarchy_COLUMN.csv`, as ARX calls them,
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
        """The first file for a column that knows all of these values; and of those before it, why they do not fit."""
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
    """The files of a folder that may be hierarchies; none if it cannot be read."""
    try:
        names = sorted(os.listdir(folder))  # noqa: PTH208
    except (OSError, ValueError):
        return
    for name in names:
        if name.lower().endswith(_ENDINGS) and (folder / name).is_file():
            yield folder / name


def _plain(name: str) -> str:
    """A name without what names of files may lack: `Marital status` and `marital-status` are one."""
    return _BETWEEN_WORDS.sub(" ", name.casefold()).strip() or name
