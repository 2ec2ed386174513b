"""The tables that a Frictionless datapackage.json (version 1 and 2) describes, or everything that is wrong with it.

Dialects that the reader does not support are refused by name.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import orjson

from treeanon.errors import DataError
from treeanon.formats import ROWS, TABLE_FILES
from treeanon.io.columns.csv_dialect import Dialect, known_encoding
from treeanon.io.relational.file_store import table_name
from treeanon.io.relational.source import listed

_HANDLED = {"delimiter", "quoteChar", "doubleQuote", "escapeChar", "header", "headerRows", "lineTerminator"}
_WITHOUT_EFFECT = {
    "$schema",
    "caseSensitiveHeader",
    "csvddfVersion",
    "description",
    "headerJoin",
    "name",
    "title",
    "type",
}
_OFF: tuple[Any, ...] = (None, False, "", [])
_LINE_ENDS = (None, "\n", "\r\n", "\r")


def read_dialect(given: Any, delimiter: str, wrong: Callable[[str, str], None]) -> Dialect:
    """Return the dialect of a resource; `wrong` is called with the place and message of each problem."""
    if given is None:
        return Dialect(delimiter)
    if not isinstance(given, dict):
        wrong("dialect", "an object is expected; a dialect in another file is not read")
        return Dialect(delimiter)
    for name, value in given.items():
        if name not in _HANDLED | _WITHOUT_EFFECT and value not in _OFF:
            wrong(f"dialect.{name}", "is not supported, and would change how the file is read")
    if given.get("lineTerminator") not in _LINE_ENDS:
        wrong("dialect.lineTerminator", "must be a line end")
    if given.get("headerRows") not in (None, [1]):
        wrong("dialect.headerRows", "must be [1]")
    escape = _mark(given, "escapeChar", "", wrong)
    # With an escape alone, nothing is quoted.
    quote = _mark(given, "quoteChar", "" if escape else '"', wrong)
    delimiter = _mark(given, "delimiter", delimiter, wrong)
    if not delimiter or delimiter in (quote, escape) or (quote and quote == escape):
        wrong("dialect", "delimiter, quote and escape must be different characters")
    return Dialect(delimiter, quote, _flag(given, "doubleQuote", wrong), escape, _flag(given, "header", wrong))


def _mark(given: dict[str, Any], name: str, default: str, wrong: Callable[[str, str], None]) -> str:
    """Return one character, or none."""
    if name not in given:
        return default
    value = given[name] if given[name] is not None else ""
    if not isinstance(value, str) or len(value) > 1 or not value.isascii() or value in ("\n", "\r", "\0"):
        wrong(f"dialect.{name}", "must be one ASCII character")
        return default
    return value


def _flag(given: dict[str, Any], name: str, wrong: Callable[[str, str], None]) -> bool:
    value = given.get(name)
    if value is not None and not isinstance(value, bool):
        wrong(f"dialect.{name}", "must be true or false")
    return value is not False


LARGEST = 64 << 20
_SHOWN = 20
_KINDS = {media: kind.name for kind in TABLE_FILES.values() for media in kind.media}


@dataclass(frozen=True)
class KeyOut:
    """A foreign key as a resource declares it; `target` is the name of a resource."""

    columns: tuple[str, ...]
    target: str
    target_columns: tuple[str, ...]


@dataclass(frozen=True)
class Resource:
    """One table: its files and how to read them; `fields` is None without a schema."""

    name: str
    place: str
    kind: str
    paths: tuple[str, ...]
    dialect: Dialect
    fields: tuple[str, ...] | None = None
    integers: frozenset[str] = frozenset()
    missing: tuple[str, ...] = ()
    primary: tuple[str, ...] = ()
    keys: tuple[KeyOut, ...] = ()


@dataclass
class Package:
    """All tables of a package, what is left out and why, and the problems found."""

    source: str
    resources: list[Resource] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    problems: list[tuple[str, str]] = field(default_factory=list)

    def wrong(self, place: str, message: str) -> None:
        """Record a problem at a JSON path."""
        self.problems.append((place, message))

    def refuse_problems(self) -> None:
        """Raise all problems at once, if there are any."""
        if len(self.problems) == 1:
            place, message = self.problems[0]
            raise DataError(message, source=self.source, path=place)
        if self.problems:
            lines = [f"  {place}: {message}" for place, message in self.problems[:_SHOWN]]
            more = len(self.problems) - len(lines)
            lines += [f"  and {more} more"] if more else []
            raise DataError("\n".join([f"{len(self.problems)} problems:", *lines]), source=self.source)


class _RepeatedKey(ValueError):
    """An object has the same key twice."""


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise _RepeatedKey
    return found


def parse_package(data: bytes, source: str) -> Package:
    """Return the tables that a datapackage.json describes, with its problems; only invalid JSON raises an error."""
    if len(data) > LARGEST:
        raise DataError(f"is larger than {LARGEST:,} bytes", source=source)
    try:
        orjson.loads(data)
        whole = json.loads(data, object_pairs_hook=_unique)
    except _RepeatedKey:
        raise DataError("an object has the same key twice", source=source) from None
    except orjson.JSONDecodeError as problem:
        raise DataError("is not valid JSON", source=source, place=f"line {problem.lineno}") from None
    except (ValueError, RecursionError):
        raise DataError(
            "is JSON that cannot be read: nested too deeply, or with numbers that are too long", source=source
        ) from None
    package = Package(source)
    resources = whole.get("resources") if isinstance(whole, dict) else None
    if not isinstance(resources, list) or not resources:
        package.wrong("resources", "a list of the tables is expected")
        return package
    for number, resource in enumerate(resources):
        reader = _ResourceReader(package, resource, f"resources[{number}]")
        if (found := reader.resource()) is not None:
            package.resources.append(found)
    _check_together(package)
    return package


def _check_together(package: Package) -> None:
    """Check several resources together: names used twice, and keys to fields that do not exist."""
    by_name: dict[str, Resource] = {}
    for resource in package.resources:
        if resource.name in by_name:
            package.wrong(f"{resource.place}.name", f"{resource.name!r} is already the name of another resource")
        by_name[resource.name] = resource
    for resource in package.resources:
        for number, key in enumerate(resource.keys):
            target = by_name.get(key.target)
            missing = [name for name in key.target_columns if target and target.fields and name not in target.fields]
            if missing:
                place = f"{resource.place}.schema.foreignKeys[{number}].reference.fields"
                package.wrong(place, f"resource {key.target!r} has no field {listed(missing)}")


class _ResourceReader:
    """Reader of one resource, which records its problems."""

    def __init__(self, package: Package, given: Any, place: str) -> None:
        self.package, self.given, self.place = package, given, place

    def wrong(self, place: str, message: str) -> None:
        self.package.wrong(f"{self.place}.{place}" if place else self.place, message)

    def resource(self) -> Resource | None:
        """Return the resource, or None if it is no table or has problems."""
        if not isinstance(self.given, dict):
            self.wrong("", "an object is expected")
            return None
        before = len(self.package.problems)
        name = self.given.get("name")
        if not isinstance(name, str) or not name:
            self.wrong("name", "a name is expected")
            name = ""
        if "path" not in self.given and "data" in self.given:
            self.package.left_out.append(f"resource {name!r} holds its data inline; tables are read from files")
            return None
        paths = self._paths()
        kind = self._kind(paths)
        if paths and kind is None:
            self.package.left_out.append(f"resource {name!r} is neither CSV, TSV nor Parquet")
            return None
        self._check_compression(paths)
        dialect = read_dialect(self.given.get("dialect"), TABLE_FILES[kind or ROWS].delimiter or ",", self.wrong)
        dialect = replace(dialect, encoding=self._encoding())
        found = self._with_schema(Resource(name, self.place, kind or "", paths, dialect))
        return found if len(self.package.problems) == before else None

    def _paths(self) -> tuple[str, ...]:
        given = self.given.get("path")
        listed_paths = given if isinstance(given, list) else [given]
        if not listed_paths or not all(isinstance(path, str) and path for path in listed_paths):
            self.wrong("path", "a file's path, or a list of paths, is expected")
            return ()
        for number, path in enumerate(listed_paths):
            where = f"path[{number}]" if isinstance(given, list) else "path"
            if "://" in path:
                self.wrong(where, "is a URL; only files beside datapackage.json are read")
            elif path.startswith(("/", "\\", "~")) or path[1:2] == ":" or "\\" in path or "\0" in path:
                self.wrong(where, "must be relative, with / between folders")
            elif ".." in path.split("/"):
                self.wrong(where, "must not lead out of the folder by ..")
        return tuple("/".join(part for part in path.split("/") if part not in ("", ".")) for path in listed_paths)

    def _kind(self, paths: Sequence[str]) -> str | None:
        """Return csv, tsv or parquet, by format, media type or the file's ending."""
        form = self.given.get("format")
        if isinstance(form, str) and form:
            return form.lower() if form.lower() in TABLE_FILES else None
        media = self.given.get("mediatype")
        if isinstance(media, str) and media:
            return _KINDS.get(media.partition(";")[0].strip().lower())
        named = table_name(paths[0].rpartition("/")[2]) if paths else None
        return named[1] if named else None

    def _check_compression(self, paths: Sequence[str]) -> None:
        given = self.given.get("compression")
        if given in (None, "no", ""):
            return
        ending = {"gz": ".gz", "gzip": ".gz", "zst": ".zst", "zstd": ".zst"}.get(
            given if isinstance(given, str) else ""
        )
        if ending is None or not all(path.lower().endswith(ending) for path in paths):
            self.wrong("compression", "only files that end in .gz or .zst, and are that, can be read")

    def _encoding(self) -> str:
        given = self.given.get("encoding")
        if given is None or given == "":
            return "utf-8"
        known = known_encoding(given) if isinstance(given, str) else None
        if known is None:
            self.wrong("encoding", "there is no such character encoding")
        return known or "utf-8"

    def _with_schema(self, resource: Resource) -> Resource:
        given = self.given.get("schema")
        if given is None:
            if not resource.dialect.header and not TABLE_FILES[resource.kind].by_column:
                self.wrong("schema", "is needed, since the dialect says that there is no header")
            return resource
        if not isinstance(given, dict):
            self.wrong("schema", "an object is expected; a schema in another file is not read")
            return resource
        names, integers = self._fields(given.get("fields"))
        known = set(names) if names else None
        primary = self._names(given.get("primaryKey"), "schema.primaryKey", known)
        return replace(
            resource,
            fields=names or None,
            integers=integers,
            missing=self._missing(given.get("missingValues")),
            primary=primary,
            keys=self._keys(given.get("foreignKeys"), resource.name, known),
        )

    def _fields(self, given: Any) -> tuple[tuple[str, ...], frozenset[str]]:
        if not isinstance(given, list) or not given:
            self.wrong("schema.fields", "a list of the columns is expected")
            return (), frozenset()
        names: dict[str, str] = {}
        for number, column in enumerate(given):
            where = f"schema.fields[{number}]"
            column = {"name": column} if isinstance(column, str) else column
            name = column.get("name") if isinstance(column, dict) else None
            if not isinstance(name, str) or not name:
                self.wrong(f"{where}.name", "a name is expected")
                continue
            if name in names:
                self.wrong(f"{where}.name", f"{name!r} is already the name of another column")
            names[name] = str(column.get("type"))
            self._check_field(column, where)
        return tuple(names), frozenset(name for name, kind in names.items() if kind == "integer")

    def _check_field(self, column: dict[str, Any], where: str) -> None:
        """Check that a column's declaration does not change the meaning of its texts."""
        if column.get("missingValues") is not None:
            self.wrong(f"{where}.missingValues", "is not supported; give them for the whole schema")
        if column.get("type") == "integer":
            if column.get("bareNumber") is False:
                self.wrong(f"{where}.bareNumber", "is not supported; declare the type as string")
            if column.get("groupChar"):
                self.wrong(f"{where}.groupChar", "is not supported; declare the type as string")

    def _missing(self, given: Any) -> tuple[str, ...]:
        if given is None:
            return ()
        items = given if isinstance(given, list) else [None]
        texts: list[Any] = [item.get("value") if isinstance(item, dict) else item for item in items]
        if not all(isinstance(text, str) for text in texts):
            self.wrong("schema.missingValues", "a list of texts is expected")
            return ()
        return tuple(dict.fromkeys(texts))

    def _names(self, given: Any, where: str, known: set[str] | None) -> tuple[str, ...]:
        """Return one name or several."""
        if given is None or given == []:
            return ()
        names = given if isinstance(given, list) else [given]
        if not all(isinstance(name, str) and name for name in names):
            self.wrong(where, "a column's name, or a list of names, is expected")
            return ()
        missing = [name for name in names if known is not None and name not in known]
        if missing:
            self.wrong(where, f"unknown field {listed(missing)}; choose from {listed(known or ())}")
        if len(set(names)) < len(names):
            self.wrong(where, "names a field twice")
        return tuple(names)

    def _keys(self, given: Any, own: str, known: set[str] | None) -> tuple[KeyOut, ...]:
        if given is None:
            return ()
        if not isinstance(given, list):
            self.wrong("schema.foreignKeys", "a list is expected")
            return ()
        found = []
        for number, key in enumerate(given):
            where = f"schema.foreignKeys[{number}]"
            reference = key.get("reference") if isinstance(key, dict) else None
            if not isinstance(reference, dict):
                self.wrong(where, "an object with fields and reference is expected")
                continue
            columns = self._names(key.get("fields"), f"{where}.fields", known)
            target = reference.get("resource") or own
            if not isinstance(target, str):
                self.wrong(f"{where}.reference.resource", "a resource's name is expected")
                continue
            goal = self._names(reference.get("fields"), f"{where}.reference.fields", known if target == own else None)
            if not columns or len(columns) != len(goal):
                self.wrong(where, f"{len(columns)} fields cannot refer to {len(goal)}")
            found.append(KeyOut(columns, target, goal))
        return tuple(found)
