"""Hierarchies in files, ARX's CSV and JSON, `{"child": "parent"}`, and as drawings for the terminal.

In JSON a parent `""` marks a root that the other entries do not reveal.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from treeanon.errors import FileError, HierarchyError
from treeanon.hierarchy.links import ROOT, places, tree_of_parents
from treeanon.hierarchy.model import Hierarchy

DELIMITERS = ";\t,"
_UNWRITABLE = re.compile("[\0\ud800-\udfff]")
_NEEDS_QUOTES = re.compile(r'[;,\t"\r\n\ufeff]|^\s|\s$')


@dataclass(frozen=True)
class _Reading:
    """The rows that one delimiter makes of a text, and the line where that failed, if it did."""

    rows: list[tuple[int, list[str]]]
    failed: int | None

    def score(self) -> tuple[int, int]:
        widths = Counter(len(cells) for _, cells in self.rows if len(cells) > 1)
        return max(widths.values(), default=0), widths.total()


def load_csv(text: str) -> Hierarchy:
    """Return the hierarchy of rows separated by `;`, tab or `,`: whichever makes the most rows of one length.

    >>> load_csv("flu;lung;*\\nacne;skin;*\\n").texts
    ('*', 'lung', 'flu', 'skin', 'acne')
    """
    text = text.removeprefix("\ufeff")
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise HierarchyError(f"line {line}: there is a NUL character: text is expected")
    readings = [_read(text, delimiter) for delimiter in DELIMITERS]
    best = max(readings, key=_Reading.score)
    if best.failed is not None:
        limit = csv.field_size_limit()
        raise HierarchyError(
            f"line {best.failed}: after a quoted cell a delimiter or the end of the row is expected, "
            f"and a cell may have {limit} characters"
        )
    return Hierarchy.of_rows(best.rows, "line")


def _read(text: str, delimiter: str) -> _Reading:
    lines = list(io.StringIO(text, newline=""))
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    rows: list[tuple[int, list[str]]] = []
    start = 1
    try:
        for cells in reader:
            if reader.line_num > start or lines[start - 1].strip():
                rows.append((start, cells))
            start = reader.line_num + 1
    except csv.Error:
        return _Reading(rows, start)
    return _Reading(rows, None)


def dump_csv(hierarchy: Hierarchy) -> str:
    """Return the CSV of the hierarchy: `;`, rows of equal length, where a leaf that lies high is repeated.

    >>> print(dump_csv(load_csv("flu;lung;*\\nacne;*\\n")), end="")
    flu;lung;*
    acne;acne;*
    """
    _check_writable(hierarchy)
    out = io.StringIO()
    # all or none: with a quote at the start of every row, no other delimiter can be mistaken for the right one
    quoted = any(map(_NEEDS_QUOTES.search, hierarchy.texts))
    writer = csv.writer(out, delimiter=";", quoting=csv.QUOTE_ALL if quoted else csv.QUOTE_MINIMAL, lineterminator="\n")
    # In the order of rows, for that is the order of values that are no numbers.
    for leaf in sorted(hierarchy.leaf_nodes.tolist(), key=hierarchy.row_order.__getitem__):
        path = [hierarchy.texts[code] for code in hierarchy.ancestors(leaf)]
        writer.writerow(path[:1] * (hierarchy.height + 1 - len(path)) + path)
    return out.getvalue()


def _check_writable(hierarchy: Hierarchy) -> None:
    for code, text in enumerate(hierarchy.texts):
        if _UNWRITABLE.search(text):
            raise HierarchyError(f"node {code}: CSV has no form for NUL and half characters: use JSON")


_BLANKS = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()


def load_json(text: str) -> Hierarchy:
    """Return the hierarchy of a JSON object whose keys are children and whose values are their parents.

    >>> load_json('{"flu": "lung", "acne": "skin", "lung": "*", "skin": "*"}').texts
    ('*', 'lung', 'flu', 'skin', 'acne')
    """
    parents: dict[str, str] = {}
    lines: dict[str, int] = {}
    roots: dict[str, int] = {}
    for line, child, parent in _entries(text.removeprefix("\ufeff")):
        if child in lines or child in roots:
            where = places("line", (lines.get(child) or roots[child], line))
            raise HierarchyError(f"{where}: one key stands twice: a node may not have two parents")
        if not child:
            raise HierarchyError(f"line {line}: a key is empty: every node needs a text")
        if "\0" in child or "\0" in parent:
            raise HierarchyError(f"line {line}: a text holds a NUL character, which no document can")
        if parent:
            parents[child], lines[child] = parent, line
        else:
            roots[child] = line
    if len(roots) > 1:
        raise HierarchyError(f"{places('line', roots.values())}: there must be one root")
    return Hierarchy(*tree_of_parents(parents, next(iter(roots), None), lines.values(), "line"))


def _entries(text: str) -> Iterator[tuple[int, str, str]]:
    """Return the line, key and value of each entry; parsed here, because json reports neither lines nor duplicates."""
    at, line, counted = _expect(text, 0, "{"), 1, 0
    more = not text.startswith("}", at)
    while more:
        line, counted = line + text.count("\n", counted, at), at
        child, at = _string(text, at)
        parent, at = _string(text, _expect(text, at, ":"))
        yield line, child, parent
        more = text.startswith(",", at)
        if more:
            at = _expect(text, at, ",")
    at = _expect(text, at, "}")
    if at < len(text):
        raise _wrong(text, at, "nothing may follow the object")


def _expect(text: str, at: int, mark: str) -> int:
    """Return the place of what follows the mark and blanks."""
    at = _skip(text, at)
    if not text.startswith(mark, at):
        raise _wrong(text, at, f'\'{mark}\' is expected, in one object of the form {{"child": "parent"}}')
    return _skip(text, at + 1)


def _string(text: str, at: int) -> tuple[str, int]:
    """Return the string and the place of what follows it and blanks."""
    if not text.startswith('"', at):
        raise _wrong(text, at, 'a string is expected: the form is {"child": "parent"}')
    try:
        value, at = _DECODER.raw_decode(text, at)
    except json.JSONDecodeError as error:
        raise _wrong(text, error.pos, "a string is not JSON: check escapes and quotes") from None
    return str(value), _skip(text, at)


def _skip(text: str, at: int) -> int:
    match = _BLANKS.match(text, at)
    return match.end() if match else at


def _wrong(text: str, at: int, message: str) -> HierarchyError:
    return HierarchyError(f"line {text.count(chr(10), 0, at) + 1}: {message}")


def dump_json(hierarchy: Hierarchy) -> str:
    """Return the JSON of the hierarchy: one line per child, parents before children.

    >>> print(dump_json(Hierarchy.flat(["a", "b"])), end="")
    {
      "a": "*",
      "b": "*"
    }
    """
    ups = hierarchy.parent.tolist()
    entries = {text: hierarchy.texts[ups[code]] for code, text in enumerate(hierarchy.texts) if code}
    if len(hierarchy) == 1 or (hierarchy.root == ROOT and len(hierarchy.children(0)) == 1):
        entries = {hierarchy.root: "", **entries}
    text = json.dumps(entries, ensure_ascii=False, indent=2)
    if re.search("[\ud800-\udfff]", text):
        text = json.dumps(entries, indent=2)
    return text + "\n"


_LOADERS: Mapping[str, Callable[[str], Hierarchy]] = {"csv": load_csv, "json": load_json}
_DUMPERS: Mapping[str, Callable[[Hierarchy], str]] = {"csv": dump_csv, "json": dump_json}


def refuse_others(paths: Sequence[Path]) -> None:
    """Check that no path is that of a FIFO or a device."""
    for path in paths:
        if path.exists() and not (path.is_file() or path.is_dir()):
            raise FileError(f"{path}: is no regular file")


def file_bytes(path: Path) -> bytes:
    """Return what a file holds; a FIFO or a device, which may never end, is refused."""
    try:
        refuse_others([path])
        return path.read_bytes()
    except OSError as error:
        raise FileError(f"{path}: cannot be read: {error.strerror}") from None


def read_hierarchy(path: Path) -> Hierarchy:
    """Return the hierarchy of a `.csv` or `.json` file; errors name the file and the line.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "disease.csv")
    ...     _ = file.write_text("flu;lung;*")
    ...     read_hierarchy(file).texts
    ('*', 'lung', 'flu')
    """
    load = _LOADERS[_form(path)]
    data = file_bytes(path)
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
    """Write the hierarchy as `form`, csv or json; by default by the file's ending, or csv to a stream.

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
    """Return the text of the hierarchy in the form `csv` or `json`.

    >>> dump_hierarchy(Hierarchy.flat(["a", "b"]), "csv")
    'a;*\\nb;*\\n'
    """
    if form not in _DUMPERS:
        raise HierarchyError(f"unknown form of a hierarchy; choose from {', '.join(_DUMPERS)}")
    return _DUMPERS[form](hierarchy)


def _form(path: Path) -> str:
    form = path.suffix.lower().removeprefix(".")
    if form not in _LOADERS:
        raise HierarchyError(f"{path}: the name of a hierarchy's file must end in .csv or .json")
    return form


def render(hierarchy: Hierarchy, *, max_depth: int | None = None, max_children: int | None = None) -> str:
    """Return the tree as lines of text, one per node, with the number of those that the limits leave out.

    >>> print(render(Hierarchy.flat(["a", "b", "c"]), max_children=2))
    *
    ├── a
    ├── b
    └── ... and 1 more
    >>> print(render(Hierarchy.from_paths([["flu", "lung", "*"], ["acne", "*"]]), max_depth=1))
    *
    ├── lung (... and 1 more)
    └── acne
    """
    lines = []
    stack: list[tuple[str, str, int | str]] = [("", "", 0)]
    while stack:
        lead, indent, node = stack.pop()
        if isinstance(node, str):
            lines.append(lead + node)
            continue
        hidden = max_depth is not None and hierarchy.depth[node] >= max_depth
        below = int(hierarchy.end[node]) - node - 1
        more = f" (... and {below} more)" if hidden and below else ""
        lines.append(lead + printable(hierarchy.texts[node]) + more)
        rows = [] if hidden else _rows(hierarchy, node, max_children)
        for at, row in reversed(list(enumerate(rows, start=1))):
            branch, trunk = ("└── ", "    ") if at == len(rows) else ("├── ", "│   ")
            stack.append((indent + branch, indent + trunk, row))
    return "\n".join(lines)


def printable(text: str) -> str:
    """Return the text with everything escaped that could steer a terminal or hide in it.

    >>> printable("café \\x1b[31m")
    'café \\\\x1b[31m'
    """
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode("ascii")
        for character in text
    )


def _rows(hierarchy: Hierarchy, node: int, most: int | None) -> list[int | str]:
    children = hierarchy.children(node)
    if most is None or len(children) <= most:
        return [*children]
    return [*children[:most], f"... and {len(children) - most} more"]
