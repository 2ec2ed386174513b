"""The files that a report speaks of: their SHA-256, and the names by which they are found again."""

from __future__ import annotations

import glob
import hashlib
import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from treeanon.errors import FileError
from treeanon.io.relational.urls import is_database, is_remote, shown
from treeanon.io.sources import files_below

ROLES = ("release", "schema", "hierarchy", "input", "solution")
"""What a file can be to a report, in the order in which files are listed."""

_BLOCK = 1 << 20


def fingerprint(path: str) -> dict[str, Any]:
    """Return the SHA-256, the bytes and the number of files of an input or output; a database has none of these.

    Of a folder or a glob, it is the SHA-256 of one line `<SHA-256>  <relative path>` for every file, in the order of
    the paths: what `sha256sum` prints.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "a.csv")
    >>> _ = path.write_bytes(b"age\\n34\\n")
    >>> fingerprint(str(path))["sha256"][:16], fingerprint(str(path.parent))["files"]
    ('05263c9df0eaf076', 1)
    """
    if is_database(path):
        return {"sha256": None, "bytes": None, "files": 0}
    if is_remote(path):
        return _elsewhere(path)
    try:
        found = list(_files(path))
        if not found:
            raise FileError(f"{path}: not found")
        if found == [(Path(path), "")]:
            return {"sha256": _digest(found[0][0]), "bytes": found[0][0].stat().st_size, "files": 1}
        lines = "".join(f"{_digest(file)}  {name}\n" for file, name in found)
        size = sum(file.stat().st_size for file, _ in found)
    except OSError as problem:
        raise FileError(f"{path}: cannot be read: {problem.strerror}") from None
    return {"sha256": hashlib.sha256(lines.encode("utf-8", "surrogateescape")).hexdigest(), "bytes": size,
            "files": len(found)}  # fmt: skip


def _elsewhere(url: str) -> dict[str, Any]:
    """Return the same facts of files in an object store or on a web server."""
    from treeanon.io.remote import find_remote, open_remote

    def digest(of: str) -> tuple[str, int]:
        made, size = hashlib.sha256(), 0
        with closing(open_remote(of)) as stream:
            while block := stream.read(_BLOCK):
                made.update(block)
                size += len(block)
        return made.hexdigest(), size

    files, is_many = find_remote(url)
    top = url.rstrip("/") + "/"
    found = [(*digest(file.url), file.url.removeprefix(top)) for file in files]
    lines = "".join(f"{sha256}  {name}\n" for sha256, _, name in found)
    whole = hashlib.sha256(lines.encode("utf-8", "surrogateescape")).hexdigest() if is_many else found[0][0]
    return {"sha256": whole, "bytes": sum(size for _, size, _ in found), "files": len(found)}


def _files(path: str) -> Iterator[tuple[Path, str]]:
    """Yield the files of an input with their relative paths, in order; of a single file the path is empty."""
    if Path(path).is_file() and Path(path).name == "datapackage.json":
        path = str(Path(path).parent)  # its tables lie beside it
    if Path(path).is_dir():
        names = {name for name in Path(path).rglob("*") if name.is_file()}
        names.update(files_below(Path(path), follow=True)[0])
        yield from sorted((name, os.path.relpath(name, path)) for name in names)
    elif Path(path).exists():
        yield Path(path), ""
    else:
        yield from sorted((Path(name), name) for name in glob.glob(path) if Path(name).is_file())  # noqa: PTH207


def _digest(path: Path) -> str:
    made = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(_BLOCK):
            made.update(block)
    return made.hexdigest()


def described(role: str, path: str) -> dict[str, Any]:
    """Return the facts of one file; its path is absolute until the report is written."""
    place = shown(path) if is_database(path) or is_remote(path) else os.path.abspath(path)  # noqa: PTH100
    return {"role": role, "path": place, **fingerprint(path)}


def placed(files: list[dict[str, Any]], folder: str | None) -> list[dict[str, Any]]:
    """Return the facts of files with paths relative to the folder of the report.

    For None it is named by no folder: hierarchies as the schema names them, other files by their names alone.
    """
    schema = next(one["path"] for one in files if one["role"] == "schema")
    beside = os.path.dirname(schema)  # noqa: PTH120
    return [{**one, "path": _relative(one, folder, beside)} for one in files]


def _relative(one: dict[str, Any], folder: str | None, beside: str) -> str:
    path = str(one["path"])
    if is_database(path) or is_remote(path):
        return path
    if folder is None and one["role"] != "hierarchy":
        return os.path.basename(path.rstrip(os.sep))  # noqa: PTH119
    return os.path.relpath(path, beside if folder is None else folder)
