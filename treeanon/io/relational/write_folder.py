"""Released tables as a folder (or zip) of CSV, TSV or Parquet files, with a datapackage.json that has their keys."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import orjson

from treeanon.formats import TABLE_FILES
from treeanon.io.columns.write_rows import write_rows
from treeanon.io.output import Folder
from treeanon.io.relational.arrow_tables import TableOut
from treeanon.io.relational.file_store import PACKAGE

_GENERATOR = "treeanon"
_TYPES = {"integer": "integer", "number": "number", "text": "string"}


def write_folder(tables: Sequence[TableOut], files: str, folder: Folder) -> None:
    """Write a file for every table, and datapackage.json."""
    names = file_names([table.name for table in tables], f".{files}")
    for table, name in zip(tables, names, strict=True):
        with folder.open(name) as stream:
            write_rows(table, TABLE_FILES[files].format, TABLE_FILES[files].delimiter, stream)
    with folder.open(PACKAGE) as stream:
        stream.write(package_of(tables, names, files))


def package_of(tables: Sequence[TableOut], paths: Sequence[str | Sequence[str]], files: str) -> bytes:
    """Return the datapackage.json of tables, each in a file or in several."""
    resources = [_resource(table, path, files) for table, path in zip(tables, paths, strict=True)]
    package = {"profile": "data-package", "generator": _GENERATOR, "resources": resources}
    return json.dumps(package, indent=2, ensure_ascii=False).encode() + b"\n"


def file_names(tables: Sequence[str], ending: str) -> list[str]:
    """Return the name of a file (or, without an ending, a folder) for each table, unique also when case is ignored."""
    names: list[str] = []
    taken = {PACKAGE}
    for table in tables:
        stem = quote(table, safe=" ()-_.").lstrip(".")[:100] or "table"
        name, number = f"{stem}{ending}", 1
        while name.lower() in taken:
            number += 1
            name = f"{stem}-{number}{ending}"
        taken.add(name.lower())
        names.append(name)
    return names


def _resource(table: TableOut, path: str | Sequence[str], files: str) -> dict[str, Any]:
    schema: dict[str, Any] = {
        "fields": [{"name": name, "type": _TYPES[table.kinds[name]]} for name in table.data.column_names]
    }
    if table.primary:
        schema["primaryKey"] = list(table.primary)
    if table.unique:
        schema["uniqueKeys"] = [list(columns) for columns in table.unique]
    if table.foreign:
        schema["foreignKeys"] = [
            {
                "fields": list(key.columns),
                "reference": {"resource": "" if key.of_itself else key.target, "fields": list(key.target_columns)},
            }
            for key in table.foreign
        ]
    shown = path if isinstance(path, str) else list(path)
    kind = TABLE_FILES[files]
    found: dict[str, Any] = {"name": table.name, "path": shown, "format": files, "mediatype": kind.media[0]}
    if kind.delimiter:
        found |= {"profile": "tabular-data-resource", "encoding": "utf-8"}
        if kind.delimiter != ",":
            found["dialect"] = {"delimiter": kind.delimiter}
    return found | {"schema": schema}


def is_release(folder: Path) -> bool:
    """Return whether a folder holds nothing but a package that treeanon wrote: its description and the files named
    there.

    Other packages are never replaced: they may be the only copy of the data.
    """
    try:
        # Other folders may be large: they are not searched.
        description = (folder / PACKAGE).read_bytes()
        if not is_package(description, (), ()):
            return False
        inside = list(folder.rglob("*"))
        folders = {path.relative_to(folder).as_posix() for path in inside if path.is_dir() and not path.is_symlink()}
        files = {path.relative_to(folder).as_posix() for path in inside} - folders
        return is_package(description, files, folders)
    except OSError:
        return False


def is_package(description: bytes, files: Iterable[str], folders: Iterable[str]) -> bool:
    """Return whether files, and folders of them, are no more than a description of ours names."""
    try:
        package = orjson.loads(description)
        paths = [resource["path"] for resource in package["resources"]]
        named = {PACKAGE, *(one for path in paths for one in ([path] if isinstance(path, str) else path))}
        above = {name.rpartition("/")[0] for name in named}
        return package.get("generator") == _GENERATOR and named.issuperset(files) and above.issuperset(folders)
    except (ValueError, TypeError, KeyError, AttributeError):
        return False
