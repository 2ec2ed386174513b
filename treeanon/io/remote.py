"""Files at URLs, by fsspec: object stores (`s3://`, `gs://`, `az://`), and `https://` for reading only.

Credentials come from where the stores' own libraries look for them; messages have the URL without its query.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, cast

from treeanon.errors import FileError, TreeanonError, UsageError
from treeanon.io.output import unnamed_file
from treeanon.io.relational.urls import shown

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

EXTRA = "pip install 'treeanon[remote]'"
_BLOCK = 1 << 20
_PATTERN = "*"
_REASONS = {
    r"PermissionError|AccessDenied|Forbidden": "access is denied",
    r"Credential|Unauthorized|ClientAuthentication|TokenRetrieval": "credentials are missing or wrong",
    r"FileExists": "exists already; use --force to replace it",
    r"Timeout": "does not answer in time",
    r"Connect|gaierror|SSL|Certificate": "cannot be reached",
    r"FileExpired": "changed while it was read",
    r"FileNotFound|NoSuchBucket|NoSuchKey|ResourceNotFound": "there is no such file or folder",
}


_STATUSES = {401: "Unauthorized", 403: "Forbidden", 408: "Timeout", 504: "Timeout"}


class RemoteFile(NamedTuple):
    """One file: its URL, how large it is, and what changes with it, as far as the server says so."""

    url: str
    size: int | None
    state: str


@contextmanager
def _plainly(name: str) -> Iterator[None]:
    """Translate errors of fsspec and of the stores' libraries: theirs may show the URL, or what a server says."""
    try:
        yield
    except (TreeanonError, MemoryError):
        raise
    except ImportError as problem:
        missing = problem.name or getattr(problem.__cause__, "name", None) or "its library"
        raise UsageError(f"{name}: requires {missing.partition('.')[0]}, which is not installed; {EXTRA}") from None
    except Exception as problem:
        raise FileError(f"{name}: {_reason(problem)}") from None


def _reason(problem: BaseException) -> str:
    kinds = " ".join(kind.__name__ for kind in type(problem).__mro__ if kind not in (Exception, OSError, object))
    code = getattr(problem, "response", None)
    said = str(code.get("Error", {}).get("Code", "")) if isinstance(code, dict) else ""
    # Of web servers, whatever is wrong is told as a file that is not there.
    cause = problem.__cause__
    status = getattr(problem, "status", None) or getattr(cause, "status", None)
    words = f"{said} {'' if cause is None else type(cause).__name__} {kinds}"
    words = words if status in (None, 404) else _STATUSES.get(status, "")
    for pattern, reason in _REASONS.items():
        if re.search(pattern, words):
            return reason
    return f"cannot be read or written there ({type(problem).__name__}{f' {status}' if status else ''})"


def _filesystem(url: str) -> tuple[AbstractFileSystem, str]:
    """Return the store of a URL, which keeps no lists of what was there, and the path in it."""
    from fsspec.core import url_to_fs

    scheme, mark, rest = url.partition("://")
    return cast("tuple[AbstractFileSystem, str]", url_to_fs(scheme.lower() + mark + rest, use_listings_cache=False))


def find_remote(url: str) -> tuple[list[RemoteFile], bool]:
    """Return the files that a URL names, sorted, and whether it is that of a folder or a pattern."""
    name, is_web = shown(url), url.lower().startswith("https:")
    with _plainly(name):
        store, path = _filesystem(url)
        if is_web:
            return [_described(url, store.info(path))], False
        if _PATTERN in path:
            listed = store.glob(path, detail=True)
        else:
            info = store.info(path.rstrip("/"))
            if info["type"] != "directory" and not url.endswith("/"):
                return [_described(url, info)], False
            listed = store.find(path.rstrip("/"), detail=True)
    scheme = url.partition("://")[0]
    files = {at: info for at, info in listed.items() if info["type"] == "file" and not at.endswith("/")}
    shown_ones = sorted(at for at in files if not at.rpartition("/")[2].startswith("."))
    return [_described(f"{scheme}://{at}", files[at]) for at in shown_ones], True


def _described(url: str, info: dict[str, Any]) -> RemoteFile:
    state = " ".join(str(info.get(key, "")) for key in ("ETag", "etag", "LastModified", "last_modified", "mtime"))
    return RemoteFile(url, info.get("size"), state)


def open_remote(url: str) -> BinaryIO:
    """Return the bytes of a file, to be read from its beginning."""
    with _plainly(shown(url)):
        store, path = _filesystem(url)
        # Without blocks, files of web servers are read as they come: not all of them give parts.
        options: dict[str, Any] = {"block_size": 0} if url.lower().startswith("https:") else {}
        return cast(BinaryIO, _Plain(store.open(path, "rb", **options), shown(url)))


class _Plain:
    """A stream whose errors say only what they mean."""

    def __init__(self, stream: Any, name: str) -> None:
        self.stream, self.name = stream, name

    def read(self, size: int = -1) -> bytes:
        with _plainly(self.name):
            return cast(bytes, self.stream.read(size))

    def close(self) -> None:
        with suppress(Exception):
            self.stream.close()


@lru_cache(maxsize=16)
def copy_of(file: RemoteFile) -> tuple[BinaryIO, Path]:
    """Return a copy of a file that libraries must find their way in, such as a zip; it has no name on disk."""
    copy, path = unnamed_file()
    stream = open_remote(file.url)
    try:
        for block in iter(partial(stream.read, _BLOCK), b""):
            copy.write(block)
    finally:
        stream.close()
    copy.flush()
    return copy, path


def refuse_remote_target(url: str) -> None:
    """Refuse a URL that cannot be written as a whole."""
    name = shown(url)
    if url.lower().startswith("https:"):
        raise UsageError(f"{name}: is for reading only; outputs go to s3://, gs:// or az://")
    if url.endswith("/") or _PATTERN in url:
        raise UsageError(f"{name}: several files cannot appear at once in an object store; name one file, or a .zip")


def refuse_existing_remote(url: str, *, force: bool) -> None:
    """Refuse a URL that cannot be written as a whole, or where there is something, unless `force`."""
    refuse_remote_target(url)
    with _plainly(shown(url)):
        store, path = _filesystem(url)
        if not store.exists(path) or force:
            return
    raise FileError(f"{shown(url)}: exists already; use --force to replace it")


def put(url: str, file: BinaryIO, path: Path, *, force: bool) -> None:
    """Make a finished and checked file appear at a URL: as one object, which is there when its last byte is."""
    name, size = shown(url), file.seek(0, 2)
    with _plainly(name):
        store, goal = _filesystem(url)
        if url.lower().startswith(("az:", "abfs")):
            store.put_file(str(path), goal, overwrite=force)
        else:
            store.put_file(str(path), goal, mode="overwrite" if force else "create")
        if store.info(goal)["size"] != size:
            raise FileError(f"{name}: is not there as it was written; delete it and write it again")
