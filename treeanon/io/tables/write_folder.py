"""Released tables as a folder (or zip) of CSV, TSV or Parquet files, with a datapackage.json that has their keys."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import orjson

from treeanon.io.output import Folder
from treeanon.io.tables.shelf import PACKAGE
from treeanon.io.tables.tables_out import TableOut
from treeanon.io.tables.write_rows import write_rows

_GENERATOR = "treeanon"
_MEDIA = {"csv": "text/csv", "tsv": "text/tab-separated-values", "parquet": "application/vnd.apache.parquet"}
_TYPES = {"integer": "integer", "number": "number", "text": "string"}


def write_folder(tables: Sequence[TableOut], files: str, folder: Folder) -> None:
    """Writes a file for every table and the description of them all."""
    resources = []
    for table, name in zip(tables, _file_names([table.name for table in tables], files), strict=True):
        with folder.open(name) as stream:
            write_rows(table, files, "\t" if files == "tsv" else ",", stream)
        resources.append(_resource(table, name, files))
    package = {"profile": "data-package", "generator": _GENERATOR, "resources": resources}
    with folder.open(PACKAGE) as stream:
        stream.write(json.dumps(package, indent=2, ensure_ascii=False).encode() + b"\n")


def _file_names(tables: Sequence[str], files: str) -> list[str]:
    """A name of a file for each table, different also where capitals do not count."""
    names: list[str] = []
    taken = {PACKAGE}
    for table in tables:
        stem = quote(table, safe=" ()-_.").lstrip(".")[:100] or "table"
        name, number = f"{stem}.{files}", 1
        while name.lower() in taken:
            number += 1
            name = f"{stem}-{number}.{files}"
        taken.add(name.lower())
        names.append(name)
    return names


def _resource(table: TableOut, path: str, files: str) -> dict[str, Any]:
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
    found: dict[str, Any] = {"name": table.name, "path": path, "format": files, "mediatype": _MEDIA[files]}
    if files != "parquet":
        found |= {"profile": "tabular-data-resource", "encoding": "utf-8"}
        if files == "tsv":
            found["dialect"] = {"delimiter": "\t"}
    return found | {"schema": schema}


def is_release(folder: Path) -> bool:
    """Whether a folder holds nothing but a package that treeanon wrote: its description and the files that this names.

    Other packages are not ours to replace: they may be somebody's only copy of the data.
    """
    try:
        package = orjson.loads((folder / PACKAGE).read_bytes())
        named = {PACKAGE, *(resource["path"] for resource in package["resources"])}
        return package.get("generator") == _GENERATOR and all(
            path.is_file() and path.name in named for path in folder.iterdir()
        )
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return False
