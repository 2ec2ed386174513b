"""Hierarchies of texts by their first characters, such as postal codes, with the rule of HIPAA for small areas."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress, pairwise
from operator import ne
from pathlib import Path

import numpy as np

from treeanon.errors import FileError, HierarchyError
from treeanon.hierarchy.files import DELIMITERS, file_bytes
from treeanon.hierarchy.links import ROOT, Nodes
from treeanon.hierarchy.model import Hierarchy

ENOUGH = 20_000
"""The persons that HIPAA (45 CFR 164.514(b)) wants more of than this in an area of which a prefix is published."""
_COUNT = re.compile("[0-9]{1,12}")

Problems = list[tuple[str, str]]


@dataclass(frozen=True)
class Prefix:
    """Builder: a value lies under its first characters and a star, as many as each level keeps.

    With `large`, values whose first characters are not among these lie under zeros instead, as HIPAA has it.

    >>> Prefix((3, 1)).build(["12103", "12199"]).texts
    ('*', '1*', '121*', '12103', '12199')
    >>> Prefix((3,), frozenset(["121"])).build(["12103", "03601"]).texts
    ('*', '121*', '12103', '000', '03601')
    """

    keep: tuple[int, ...]
    large: frozenset[str] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "keep", tuple(self.keep))
        problem = _keep_problem(self.keep)
        if problem:
            raise HierarchyError(f"prefix: {problem}")

    def build(self, values: Iterable[str]) -> Hierarchy:
        """Return the hierarchy of the values; one that is a level's label is that level's node.

        >>> Prefix((3, 2)).build(["12103", "12*", "9"]).texts
        ('*', '12*', '121*', '12103', '9')
        """
        texts = sorted(set(values) - {"", ROOT})
        small = [text for text in texts if self._is_small(text)]
        if small:
            texts = sorted(set(texts).difference(small))
        lengths = np.fromiter(map(len, texts), dtype=np.int64, count=len(texts))
        nodes = Nodes()
        up = np.zeros(len(texts), dtype=np.intp)
        for kept in reversed(self.keep):
            within = np.flatnonzero(lengths > kept)
            starts = [texts[at][:kept] for at in within.tolist()]
            is_first = np.array([True, *map(ne, starts[1:], starts)][: len(starts)], dtype=np.bool_)
            first = within[is_first]
            # the first text beyond a prefix takes its label's place, and is added after it
            own = nodes.add([f"{start}*" for start in compress(starts, is_first)], first, up[first])
            up[within] = own[np.cumsum(is_first) - 1]
        is_leaf = np.fromiter(map(self._is_leaf, texts), dtype=np.bool_, count=len(texts))
        nodes.add(list(compress(texts, is_leaf)), np.flatnonzero(is_leaf), up[is_leaf])
        if small:
            zeros = "0" * self.keep[0]
            below = [text for text in small if text != zeros]
            up = np.repeat(nodes.add([zeros], [len(texts)], [0]), len(below))
            nodes.add(below, np.full(len(below), len(texts)), up)
        return Hierarchy(*nodes.tree())

    def labels_among(self, texts: Sequence[str]) -> set[str]:
        """Return those of the texts that are prefixes of the levels, or the zeros that stand for small areas.

        >>> sorted(Prefix((3, 1), frozenset(["121"])).labels_among(["121*", "12*", "1*", "000", "12101"]))
        ['000', '1*', '121*']
        """
        zeros = {"0" * self.keep[0]} if self.large is not None else set()
        return {text for text in texts if text in zeros or not self._is_leaf(text)}

    def _is_small(self, text: str) -> bool:
        """Return whether zeros stand for the first characters of a text; labels of shorter prefixes stay."""
        if self.large is None or (text[-1] == "*" and len(text) - 1 in self.keep[1:]):
            return False
        # zeros themselves are no prefix of an area: they stand for all small ones
        start = text[: self.keep[0]]
        return start not in self.large or start == "0" * self.keep[0]

    def _is_leaf(self, text: str) -> bool:
        """Return whether the text is no label; a label, as a text among the others, makes its own node."""
        return text[-1] != "*" or len(text) - 1 not in self.keep


def parse_prefix(spec: Mapping[str, object], value_type: str) -> tuple[Prefix | None, Problems]:
    """Return the builder of `{prefix = [3, 2, 1], population = "zips.csv"}`, and its problems.

    >>> parse_prefix({"prefix": [1, 2]}, "text")
    (None, [('prefix', 'numbers of characters must descend')])
    """
    keep, file = spec["prefix"], spec.get("population")
    message = _keep_problem(keep)
    if message or not isinstance(keep, (list, tuple)):
        return None, [("prefix", message or "")]
    if file is None:
        return Prefix(tuple(keep)), []
    if not isinstance(file, str) or not file or "\0" in file:
        return None, [("population", "must be a CSV file of codes and their population")]
    try:
        return Prefix(tuple(keep), read_large(Path(file), keep[0])), []
    except (HierarchyError, FileError) as error:
        return None, [("population", str(error))]


def read_large(path: Path, kept: int) -> frozenset[str]:
    """Return the prefixes of so many characters whose population in a CSV file is more than 20,000."""
    try:
        text = file_bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise HierarchyError(f"{path}: the text must be UTF-8") from None
    try:
        return large_prefixes(text, kept)
    except HierarchyError as error:
        raise HierarchyError(f"{path}, {error}") from None


def large_prefixes(text: str, kept: int) -> frozenset[str]:
    """Return the same of a text: codes in its first column, their population in the one of that name.

    >>> large_prefixes("zip,population\\n12101,15000\\n12102,5001\\n03601,20000\\n", 3)
    frozenset({'121'})
    """
    lines = io.StringIO(text, newline="")
    header = lines.readline()
    for delimiter in DELIMITERS:
        cells = [cell.strip().strip('"').lower() for cell in header.split(delimiter)]
        if "population" in cells[1:]:
            break
    else:
        raise HierarchyError("line 1: a header with a code and a column population is expected")
    column = cells.index("population", 1)
    persons = Counter[str]()
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    try:
        for row in filter(any, reader):
            if len(row) <= column or len(row[0]) < kept or not _COUNT.fullmatch(row[column]):
                raise HierarchyError(
                    f"line {reader.line_num + 1}: a code of {kept} characters or more and a whole number are expected"
                )
            persons[row[0][:kept]] += int(row[column])
    except csv.Error:
        raise HierarchyError(f"line {reader.line_num + 1}: is not CSV: check quotes and the length of cells") from None
    return frozenset(prefix for prefix, number in persons.items() if number > ENOUGH)


def _keep_problem(keep: object) -> str | None:
    if not isinstance(keep, (list, tuple)) or not keep:
        return "must be a list of numbers of characters such as [3, 2, 1]"
    if not all(isinstance(kept, int) and not isinstance(kept, bool) and kept > 0 for kept in keep):
        return "every number of characters must be a positive whole number"
    if any(lower <= upper for lower, upper in pairwise(keep)):
        return "numbers of characters must descend"
    return None
