"""The lines of tables and keys in a TOML text, and the problems found there."""

from __future__ import annotations

import re
import sys
import tomllib
from bisect import bisect_left
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import count
from typing import Any

from treeanon.errors import Problem, SchemaError

Path = tuple[str | int, ...]

_STRING = re.compile(
    r'"""(?:\\[\s\S]|[^\\])*?"""(?:"{0,2})'
    r"|'''[\s\S]*?'''(?:'{0,2})"
    r'|"(?:\\.|[^"\\\n])*"'
    r"|'[^'\n]*'"
)
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_BLANK = re.compile(r"[ \t]*")
_GAP = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_SCALAR = re.compile(r"[^,\]}#\n]*")

_TOML_REASONS = {
    "Cannot declare": "a table is declared twice",
    "Cannot mutate": "a table or array that is complete is added to",
    "Cannot overwrite": "a key is given twice",
    "Duplicate inline table key": "a key is given twice",
    "Unterminated string": "a string is not closed",
    "Expected '='": "key = value is expected",
    "Unescaped": "an unknown escape in a string; write \\\\ or use single quotes",
    "Unclosed": "a bracket is not closed",
}


@dataclass(frozen=True)
class Places:
    """The line of every table header and key, by its path in the document.

    >>> Places({("class", 0): 3, ("class", 0, "name"): 4}).line("class", 0, "path")
    3
    """

    lines: dict[Path, int]

    def line(self, *path: str | int) -> int | None:
        """Return the line of that key or, where it is not written, of the innermost table around it."""
        for end in range(len(path), 0, -1):
            if path[:end] in self.lines:
                return self.lines[path[:end]]
        return None


class _Scan:
    """One pass over a text that tomllib has accepted, which therefore need not detect mistakes."""

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0
        self.breaks = [match.start() for match in re.finditer("\n", text)]
        self.lines: dict[Path, int] = {}
        self.tables_in: dict[Path, int] = {}

    def skip(self, pattern: re.Pattern[str]) -> str:
        match = pattern.match(self.text, self.at)
        if match is None:
            return ""
        self.at = match.end()
        return match.group()

    def next_is(self, *chars: str) -> bool:
        return self.text.startswith(chars, self.at)

    def take(self, char: str) -> bool:
        found = self.next_is(char)
        self.at += len(char) if found else 0
        return found

    def note(self, prefix: Path, parts: tuple[str, ...], line: int) -> Path:
        """Record the line of a dotted key and of every table that it opens first, and return its path."""
        for part in parts:
            prefix = (*prefix, part)
            self.lines.setdefault(prefix, line)
        return prefix

    def line_here(self) -> int:
        return bisect_left(self.breaks, self.at) + 1

    def key(self) -> tuple[str, ...]:
        parts: list[str] = []
        while True:
            self.skip(_BLANK)
            quoted = self.skip(_STRING)
            parts.append(tomllib.loads(f"it = {quoted}")["it"] if quoted else self.skip(_BARE))
            self.skip(_BLANK)
            if not self.take("."):
                return tuple(parts)

    def document(self) -> None:
        table: Path = ()
        self.skip(_GAP)
        while self.at < len(self.text):
            start = self.at
            table = self.header() if self.next_is("[") else self.pair(table)
            self.skip(_GAP)
            if self.at == start:
                return

    def header(self) -> Path:
        line, repeated = self.line_here(), self.text.startswith("[[", self.at)
        self.at += 2 if repeated else 1
        parts = self.key()
        self.at += 2 if repeated else 1
        path: Path = ()
        for part in parts[:-1] if repeated else parts:
            path = self.note(path, (part,), line)
            if path in self.tables_in:
                path = (*path, self.tables_in[path] - 1)
        if repeated:
            path = self.note(path, parts[-1:], line)
            number = self.tables_in.get(path, 0)
            self.tables_in[path] = number + 1
            path = (*path, number)
        # A header may come after one of its own sub-tables; the header is the better place.
        self.lines[path] = line
        return path

    def pair(self, table: Path) -> Path:
        line = self.line_here()
        path = self.note(table, self.key(), line)
        self.take("=")
        self.skip(_BLANK)
        self.value(path)
        return table

    def value(self, path: Path) -> None:
        if self.take("["):
            self.items(path)
        elif self.take("{"):
            self.inline_table(path)
        elif not self.skip(_STRING):
            self.skip(_SCALAR)

    def items(self, path: Path) -> None:
        for number in count():
            self.skip(_GAP)
            if self.take("]") or self.at >= len(self.text):
                return
            self.lines[(*path, number)] = self.line_here()
            self.value((*path, number))
            self.skip(_GAP)
            self.take(",")

    def inline_table(self, path: Path) -> None:
        while True:
            self.skip(_GAP)
            if self.take("}") or self.at >= len(self.text):
                return
            self.pair(path)
            self.skip(_GAP)
            self.take(",")


def find_places(text: str) -> Places:
    r"""Return the lines of all tables and keys of a valid TOML text.

    >>> places = find_places('version = 1\n[[class]]\nname = "a"\n[[class]]\nunder = "a"')
    >>> places.line("class", 1), places.line("class", 1, "under"), places.line("input")
    (4, 5, None)
    """
    scan = _Scan(text)
    scan.document()
    return Places(scan.lines)


def parse_toml(text: str, source: str) -> dict[str, Any]:
    """Return the values in a TOML text; SchemaError says where it is not TOML, without quoting it."""
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        # tomllib quotes the file in some of its messages: only the position and our own words go out.
        found = re.search(r"\(at line (\d+), column (\d+)\)$", str(error))
        place = f"{source}, line {found[1]}, column {found[2]}" if found else source
        if str(error).endswith("(at end of document)"):
            place = f"{source}, line {text.count(chr(10)) + 1}, at the end"
        reason = next((words for start, words in _TOML_REASONS.items() if str(error).startswith(start)), "")
    raise SchemaError([Problem(place, f"is not valid TOML{reason and ': ' + reason}")])


class SchemaProblems:
    r"""The problems of one file, collected with their places and listed in the order of its lines.

    >>> problems = SchemaProblems("s.toml", find_places('[[class]]\nname = "age"'), ("age",))
    >>> problems.add("must be text", "class", 0, "type")
    >>> [str(problem) for problem in problems.in_order()]
    ["s.toml, line 1, class 'age': type: must be text"]
    """

    def __init__(self, source: str, places: Places, class_names: tuple[str | None, ...]) -> None:
        self.source, self.places, self.class_names = source, places, class_names
        self._found: list[tuple[int, Problem]] = []

    def __bool__(self) -> bool:
        return bool(self._found)

    def add(self, message: str, *path: str | int) -> None:
        """Note a problem with the key at that path of the document."""
        line = self.places.line(*path)
        owner, key = self._words(path)
        place = ", ".join(part for part in (self.source, line and f"line {line}", owner) if part)
        self._found.append((line or 0, Problem(f"{place}: {key}" if key else place, message, path)))

    def unknown_keys(self, table: Iterable[str], known: Collection[str], owner: str, *path: str | int) -> None:
        """Note every key of a table that is not among those known."""
        for key in table:
            if key not in known:
                self.add(f"is not a key of {owner}; {_choices(key, known)}", *path, key)

    def unknown_value(self, value: object, known: Collection[str], *path: str | int) -> None:
        """Note a value that is not one of the names known."""
        if isinstance(value, str):
            self.add(f"unknown value {value!r}; {_choices(value, known)}", *path)
        else:
            self.add(f"must be a string, one of: {', '.join(known)}", *path)

    def add_problem(self, problem: Problem) -> None:
        """Note a problem of the layout, with the line of the class that it names."""
        for number, name in enumerate(self.class_names):
            start = f"{self.source}, class {name!r}: "
            if name is not None and problem.place.startswith(start):
                return self.add(problem.message, "class", number, problem.place.removeprefix(start))
        self._found.append((sys.maxsize, problem))

    def in_order(self) -> list[Problem]:
        """Return the problems in the order of the file; those without a line come first or last."""
        return [problem for _, problem in sorted(self._found, key=lambda found: found[0])]

    def _words(self, path: Path) -> tuple[str, str]:
        """Return a path in words: whose key it is, and the key."""
        owner, keys = "", path
        if path[:1] == ("input",) and len(path) > 1:
            owner, keys = "[input]", path[1:]
        elif path[:1] == ("class",) and len(path) > 1 and isinstance(path[1], int):
            name = self.class_names[path[1]]
            owner, keys = f"class {path[1] + 1 if name is None else repr(name)}", path[2:]
        return owner, ".".join(str(key) for key in keys)


def _choices(name: str, known: Collection[str]) -> str:
    """Return the list of known names for a message, after the one that may be meant."""
    near = get_close_matches(name, known, 1)
    guess = f"did you mean {near[0]!r}? " if near else ""
    return f"{guess}choose from {', '.join(known)}"
