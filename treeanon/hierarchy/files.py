"""Hierarchies in files: ARX's CSV and JSON, by the file's ending."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TextIO

from treeanon.errors import FileError, HierarchyError
from treeanon.hierarchy.csv_form import dump_csv, load_csv
from treeanon.hierarchy.json_form import dump_json, load_json
from treeanon.hierarchy.model import Hierarchy

_LOADERS: Mapping[str, Callable[[str], Hierarchy]] = {"csv": load_csv, "json": load_json}
_DUMPERS: Mapping[str, Callable[[Hierarchy], str]] = {"csv": dump_csv, "json": dump_json}


def read_hierarchy(path: Path) -> Hierarchy:
    """The hierarchy of a `.csv` or `.json` file; errors name the file and the line.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "disease.csv")
    ...     _ = file.write_text("flu;lung;*")
    ...     read_hierarchy(file).texts
    ('*', 'lung', 'flu')
    """
    load = _LOADERS[_form(path)]
    try:
        data = path.read_bytes()
    except OSError as error:
        raise FileError(f"{path}: cannot be read: {error.strerror}") from None
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise HierarchyError(f"{path}, line {line}: the text must be UTF-8") from None
    try:
        return load(text)
    except HierarchyError as error:
        separator = ", " if str(error).startswith("line") else ": "
        raise HierarchyError(f"{path}{separator}{error}") from None


def write_hierarchy(hierarchy: Hierarchy, target: Path | TextIO, *, form: str | None = None) -> None:
    """Nothing; the hierarchy is written as `form`, csv or json: if silent, by the ending, or csv to a stream.

    >>> import sys
    >>> write_hierarchy(Hierarchy.flat(["a", "b"]), sys.stdout)
    a;*
    b;*
    """
    if isinstance(target, Path):
        text = dump_hierarchy(hierarchy, form or _form(target))
        try:
            target.write_text(text, encoding="utf-8", newline="")
        except OSError as error:
            raise FileError(f"{target}: cannot be written: {error.strerror}") from None
    else:
        target.write(dump_hierarchy(hierarchy, form or "csv"))


def dump_hierarchy(hierarchy: Hierarchy, form: str) -> str:
    """The text of the hierarchy in the form `csv` or `json`.

    >>> dump_hierarchy(Hierarchy.flat(["a", "b"]), "csv")
    'a;*\\nb;*\\n'
    """
    if form not in _DUMPERS:
        raise HierarchyError(f"there is no such form of a hierarchy: there is {', '.join(_DUMPERS)}")
    return _DUMPERS[form](hierarchy)


def _form(path: Path) -> str:
    form = path.suffix.lower().removeprefix(".")
    if form not in _LOADERS:
        raise HierarchyError(f"{path}: the name of a hierarchy's file must end in .csv or .json")
    return form
