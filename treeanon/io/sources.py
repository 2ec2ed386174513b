"""Sources of documents: a file, standard input, a folder, a glob or a zip of files, plain or compressed."""

from __future__ import annotations

import gzip
import io
import os
import posixpath
import stat
import sys
import zipfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache, partial, wraps
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, ParamSpec, TypeVar, cast

from treeanon.errors import DataError, FileError, TreeanonError, UsageError, one_line
from treeanon.io.relational.urls import is_remote, shown

if TYPE_CHECKING:
    from treeanon.schema.load import SchemaLike

STDIN = "-"
COMPRESSED = (".gz", ".zst")
_ZSTD_PIECE = 4096
"""Compressed bytes given to zstd at once: it has no bound on what it makes of them, which can be 32,768 as many."""


@dataclass(frozen=True)
class Source:
    """One document to read; `open` gives its decompressed bytes, which `raw` gives already if it is `unpacked`.

    `advance` of `open` is called with the number of bytes read of the `size` stored, for progress; errors of
    compression are DataErrors.
    """

    name: str
    size: int | None
    raw: Callable[[], BinaryIO]
    unpacked: bool = False

    @contextmanager
    def open(self, advance: Callable[[int], None] | None = None) -> Iterator[BinaryIO]:
        """Return the decompressed bytes, to be read in blocks."""
        with _naming(self.name):
            stream = self.raw()
        try:
            counted = cast(BinaryIO, _Counting(stream, advance)) if advance else stream
            content = counted if self.unpacked else _decompressed(counted, self.name)
            yield cast(BinaryIO, _Checked(content, self.name))
        finally:
            stream.close()


@dataclass(frozen=True)
class Sources:
    """All documents of an input, and whether it is one file or a collection of them."""

    items: tuple[Source, ...]
    collection: bool
    ignored: int = 0

    @property
    def size(self) -> int | None:
        """The bytes stored, or None if one of the sizes is not known."""
        sizes = [source.size for source in self.items]
        return None if None in sizes else sum(size for size in sizes if size is not None)


class _Counting:
    """A stream that reports the number of bytes read."""

    def __init__(self, stream: BinaryIO, advance: Callable[[int], None]) -> None:
        self.stream, self.advance = stream, advance

    def read(self, size: int = -1) -> bytes:
        block = self.stream.read(size)
        self.advance(len(block))
        return block


class _Checked:
    """A stream whose errors name the source, and nothing of its content."""

    def __init__(self, stream: BinaryIO, name: str) -> None:
        self.stream, self.name = stream, name

    def read(self, size: int = -1) -> bytes:
        with _naming(self.name):
            return self.stream.read(size)


@contextmanager
def _naming(name: str) -> Iterator[None]:
    """Translate failures to read into errors that name the source; decompressors have many kinds of their own."""
    try:
        yield
    except (TreeanonError, MemoryError, SystemError):
        raise
    except OSError as problem:
        if problem.errno is not None:
            raise FileError(f"{one_line(name)}: cannot be read: {problem.strerror or type(problem).__name__}") from None
        raise DataError("the compressed data is broken or ends too early", source=name) from None
    except (NotImplementedError, RuntimeError):
        raise DataError("the zip uses encryption or a method that is not supported", source=name) from None
    except Exception:
        raise DataError("the compressed data is broken or ends too early", source=name) from None


class _Zstd:
    """Decompressor of zstd frames; a frame that ends too early is an error (the library ignores it)."""

    def __init__(self, stream: BinaryIO, name: str) -> None:
        import zstandard

        self.stream, self.name, self.module = stream, name, zstandard
        self.frame = self._new()
        self.started = False
        self.left, self.at = b"", 0

    def _new(self) -> object:
        return self.module.ZstdDecompressor(max_window_size=1 << 27).decompressobj()

    def read(self, size: int = -1) -> bytes:
        parts: list[bytes] = []
        have = 0
        while size < 0 or have < size:
            if self.at == len(self.left):
                self.left, self.at = self._more(), 0
                if not self.left:
                    break
            piece = self.left[self.at : len(self.left) if size < 0 else self.at + size - have]
            self.at += len(piece)
            parts.append(piece)
            have += len(piece)
        return b"".join(parts)

    def _more(self) -> bytes:
        """Return the next decompressed bytes, empty at the end."""
        frame = self.frame
        try:
            while True:
                block = frame.unused_data if frame.eof else b""  # type: ignore[attr-defined]
                if frame.eof:  # type: ignore[attr-defined]
                    self.frame = frame = self._new()
                    self.started = False
                block = block or self.stream.read(_ZSTD_PIECE)
                if not block:
                    if self.started:
                        raise EOFError
                    return b""
                self.started = True
                out = frame.decompress(block)  # type: ignore[attr-defined]
                if out:
                    return cast(bytes, out)
        except self.module.ZstdError:
            raise EOFError from None


def _decompressed(stream: BinaryIO, name: str) -> BinaryIO:
    if name.lower().endswith(".gz"):
        return cast(BinaryIO, gzip.GzipFile(fileobj=stream, mode="rb"))
    if name.lower().endswith(".zst"):
        return cast(BinaryIO, _Zstd(stream, name))
    return stream


def plain_name(name: str) -> str:
    """Return a file name without the ending of its compression, in lower case.

    >>> plain_name("Patients.XML.gz")
    'patients.xml'
    """
    name = name.lower()
    for ending in COMPRESSED:
        name = name.removesuffix(ending)
    return name


def _file(path: Path, name: str) -> Source:
    return Source(name, path.stat().st_size, partial(_open, path))


def _open(path: Path) -> BinaryIO:
    return path.open("rb")


def _members(path: Path, name: str, endings: tuple[str, ...]) -> tuple[list[Source], int]:
    with _naming(name), zipfile.ZipFile(path) as archive:
        members = [m for m in archive.infolist() if not m.is_dir()]
        # Members are opened by their place: a zip may hold one name twice.
        places = {id(m): place for place, m in enumerate(archive.infolist())}
        taken = sorted((m for m in members if plain_name(m.filename).endswith(endings)), key=lambda m: m.filename)
        said = {id(m): _linked(archive, m, name) for m in taken}
    found = [
        Source(f"{name}:{m.filename}", said[id(m)].compress_size, partial(_member, path, places[id(said[id(m)])]))
        for m in taken
    ]
    return found, len(members) - len(taken)


_MOST_LINKS = 40


def _linked(archive: zipfile.ZipFile, member: zipfile.ZipInfo, name: str) -> zipfile.ZipInfo:
    """Return the member that one is a link to, or itself; UsageError for a link out of the zip, wherever it leads."""
    found = member
    for _ in range(_MOST_LINKS):
        if not stat.S_ISLNK(found.external_attr >> 16):
            return found
        with archive.open(found) as stream:
            target = stream.read(4096).decode("utf-8", "replace")
        try:
            found = archive.getinfo(posixpath.normpath(posixpath.join(posixpath.dirname(found.filename), target)))
        except KeyError:
            break
    raise UsageError(f"{one_line(name)}:{one_line(member.filename)}: is a link out of the zip, which is never followed")


def _member(path: Path, member: int) -> BinaryIO:
    return cast(BinaryIO, _Member(path, member))


class _Member:
    """One member of a zip."""

    def __init__(self, path: Path, member: int) -> None:
        stat = path.stat()
        archive = _archive(path, stat.st_mtime_ns, stat.st_size)
        self.stream = archive.open(archive.infolist()[member])

    def read(self, size: int = -1) -> bytes:
        return self.stream.read(size)

    def close(self) -> None:
        self.stream.close()


@lru_cache(maxsize=2)
def _archive(path: Path, changed: int, size: int) -> zipfile.ZipFile:
    """Return the open archive from a cache: reading the list of a large one anew for every member would take too
    long.
    """
    return zipfile.ZipFile(path)


def forget_archives() -> None:
    """Close the cached archives."""
    _archive.cache_clear()


_FOLLOWS = ContextVar("follows_links", default=False)


@contextmanager
def following_links(asked: bool) -> Iterator[None]:
    """Let inputs be found with what links lead to out of their folders, if that is asked for."""
    token = _FOLLOWS.set(_FOLLOWS.get() or asked)
    try:
        yield
    finally:
        _FOLLOWS.reset(token)


Params = ParamSpec("Params")
Found = TypeVar("Found")


def follows_links(work: Callable[Params, Found]) -> Callable[Params, Found]:
    """Let a function of an input and its schema find the input as the schema says of links."""

    @wraps(work)
    def called(source: str | Path, schema: SchemaLike, *more: Any, **options: Any) -> Found:
        from treeanon.schema.load import schema_of

        schema = schema_of(schema)
        with following_links(schema.input.follow_links):
            return work(source, schema, *more, **options)  # type: ignore[arg-type]

    return cast(Callable[Params, Found], called)


def files_below(folder: Path, *, follow: bool) -> tuple[list[Path], list[Path]]:
    """Return the files in a folder and its folders, in order, and the links to folders that were not followed."""
    files: list[Path] = []
    links: list[Path] = []
    seen = {folder.resolve()}
    for top, folders, names in os.walk(folder, followlinks=follow):
        home = Path(top)
        files += [home / name for name in names if not name.startswith(".") and (home / name).is_file()]
        linked = [name for name in folders if (home / name).is_symlink()]
        links += [] if follow else [home / name for name in linked]
        again = {name for name in linked if (home / name).resolve() in seen}
        folders[:] = [name for name in folders if name not in again]
        seen.update((home / name).resolve() for name in linked)
    return sorted(files), sorted(links)


def refuse_links(folder: Path, files: Iterable[Path], name: str) -> None:
    """UsageError if one of the files found in a folder is a link out of it, which may lead to anything; unless the
    schema says to follow them.
    """
    if _FOLLOWS.get():
        return
    home = folder.resolve()
    for path in files:
        if not path.resolve().is_relative_to(home):
            raise UsageError(
                f"{one_line(str(path))}: is a link out of {one_line(name)}; to follow such links, give --follow-links"
                " or, in [input] of the schema, follow_links = true"
            )


def find_sources(given: str | Path, endings: tuple[str, ...], *, called: str | None = None) -> Sources:
    """Return the documents that an input names; in collections those whose names have one of the endings.

    `called` is a name whose ending says how the input is compressed, if that of the input does not yet.
    """
    if str(given) == STDIN:
        if sys.stdin is None:
            raise FileError("standard input is closed")
        return Sources((Source("standard input", None, lambda: _Unclosed(sys.stdin.buffer)),), False)  # type: ignore[arg-type, return-value]
    if not str(given):
        raise UsageError("the name of the input is empty")
    if is_remote(str(given)):
        return _remote_sources(str(given), endings, called)
    path, name = Path(given), called or str(given)
    with _naming(name):
        if path.is_dir():
            below, links = files_below(path, follow=_FOLLOWS.get())
            refuse_links(path, [*_of_endings(below, endings), *links], f"the folder {name}")
            return _collection(name, below, endings)
        if path.is_file():
            if name.lower().endswith(".zip"):
                members, ignored = _members(path, name, endings)
                return _checked_collection(name, members, ignored, endings)
            return Sources((_file(path, name),), False)
        if path.exists():
            return Sources((Source(name, None, partial(_open, path)),), False)
    if any(mark in name for mark in "*?["):
        base = Path(path.anchor) if path.is_absolute() else Path()
        pattern = str(path.relative_to(path.anchor)) if path.is_absolute() else name
        try:
            found = sorted(p for p in base.glob(pattern) if p.is_file())
        except (ValueError, NotImplementedError):
            raise UsageError(f"{name}: is not a valid pattern for file names") from None
        fixed = takewhile(lambda part: not any(mark in part for mark in "*?["), path.parts)
        refuse_links(Path(*fixed), _of_endings(found, endings), f"the folder that the pattern {name} begins with")
        return _collection(name, found, endings)
    raise FileError(f"{name}: there is no such file or folder")


def _of_endings(paths: list[Path], endings: tuple[str, ...]) -> list[Path]:
    return [path for path in paths if plain_name(path.name).endswith(endings)]


def _remote_sources(url: str, endings: tuple[str, ...], called: str | None) -> Sources:
    """Return the documents at a URL."""
    from treeanon.io.remote import copy_of, find_remote, open_remote

    name = called or shown(url)
    files, is_many = find_remote(url)
    if is_many:
        taken = [file for file in files if plain_name(file.url).endswith(endings)]
        found = [Source(one_line(shown(file.url)), file.size, partial(open_remote, file.url)) for file in taken]
        return _checked_collection(name, found, len(files) - len(taken), endings)
    if name.lower().endswith(".zip"):
        with _naming(name):
            members, ignored = _members(copy_of(files[0])[1], name, endings)
        return _checked_collection(name, members, ignored, endings)
    return Sources((Source(name, files[0].size, partial(open_remote, url)),), False)


def _collection(name: str, paths: list[Path], endings: tuple[str, ...]) -> Sources:
    taken = _of_endings(paths, endings)
    return _checked_collection(name, [_file(path, str(path)) for path in taken], len(paths) - len(taken), endings)


def _checked_collection(name: str, found: list[Source], ignored: int, endings: tuple[str, ...]) -> Sources:
    if not found:
        raise UsageError(f"{name}: no file in it ends in {', '.join(endings)} (or these with .gz or .zst)")
    return Sources(tuple(found), True, ignored)


_HEAD = bytearray()
_MOST_HEAD = 8 << 20


def stdin_head() -> bytes:
    """Return what was read from standard input first, up to some megabytes: it cannot be read again."""
    return bytes(_HEAD)


class _Unclosed(io.RawIOBase):
    """Standard input, which is not ours to close; of its first bytes a copy is kept."""

    def __init__(self, stream: BinaryIO) -> None:
        self.stream = stream
        _HEAD.clear()

    def read(self, size: int = -1) -> bytes:
        found = self.stream.read(size)
        _HEAD.extend(found[: max(_MOST_HEAD - len(_HEAD), 0)])
        return found
