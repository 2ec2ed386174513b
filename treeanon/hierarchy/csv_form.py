"""Hierarchies as ARX's CSV: one row per leaf, from the leaf to the top."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from dataclasses import dataclass

from treeanon.errors import HierarchyError
from treeanon.hierarchy.links import tree_of_paths
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
    """The hierarchy of rows separated by `;`, tab or `,`: whichever makes the most rows of one length.

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
    return Hierarchy(*tree_of_paths(best.rows, "line"))


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
    """The CSV of the hierarchy: `;`, rows of equal length, where a leaf that lies high is repeated.

    >>> print(dump_csv(load_csv("flu;lung;*\\nacne;*\\n")), end="")
    flu;lung;*
    acne;acne;*
    """
    _check_writable(hierarchy)
    out = io.StringIO()
    # all or none: with a quote at every row's start, no other delimiter can be taken for the right one
    quoted = any(map(_NEEDS_QUOTES.search, hierarchy.texts))
    writer = csv.writer(out, delimiter=";", quoting=csv.QUOTE_ALL if quoted else csv.QUOTE_MINIMAL, lineterminator="\n")
    for leaf in hierarchy.leaf_nodes.tolist():
        path = [hierarchy.texts[code] for code in hierarchy.ancestors(leaf)]
        writer.writerow(path[:1] * (hierarchy.height + 1 - len(path)) + path)
    return out.getvalue()


def _check_writable(hierarchy: Hierarchy) -> None:
    for code, text in enumerate(hierarchy.texts):
        if _UNWRITABLE.search(text):
            raise HierarchyError(f"node {code}: CSV has no form for NUL and half characters: use JSON")
