"""Hierarchies as JSON: `{"child": "parent"}`, where a parent `""` marks a root that is not plain."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from treeanon.errors import HierarchyError
from treeanon.hierarchy.links import ROOT, places, tree_of_parents
from treeanon.hierarchy.model import Hierarchy

_BLANKS = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()


def load_json(text: str) -> Hierarchy:
    """The hierarchy of a JSON object whose keys are children and whose values are their parents.

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
    """The line, key and value of each entry; read by hand, since json tells neither lines nor doubles."""
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
    """The place of what follows the mark and blanks."""
    at = _skip(text, at)
    if not text.startswith(mark, at):
        raise _wrong(text, at, f'\'{mark}\' is expected, in one object of the form {{"child": "parent"}}')
    return _skip(text, at + 1)


def _string(text: str, at: int) -> tuple[str, int]:
    """The string and the place of what follows it and blanks."""
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
    """The JSON of the hierarchy: one line per child, parents before children.

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
