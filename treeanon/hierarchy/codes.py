"""Hierarchies of codes whose structure tells what they lie under: ICD-10 and ATC.

Chapters and blocks, and the first two levels of ATC, have names, which stand beside the module; what has none
is its code. A code that no chapter holds, or that is written otherwise, has no place.

Also hierarchies of texts by their first characters, such as postal codes, with the rule of HIPAA for small areas.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import compress, pairwise
from operator import ne
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from treeanon.builders import BUILDERS
from treeanon.errors import FileError, HierarchyError
from treeanon.hierarchy.files import DELIMITERS, file_bytes
from treeanon.hierarchy.links import ROOT, Nodes
from treeanon.hierarchy.model import Hierarchy
from treeanon.hierarchy.ordering import tree_of_ways

Problems = list[tuple[str, str]]
VERSIONS = BUILDERS["icd10"].parameters[0].choices
_CATEGORY = {"who": "[A-Z][0-9]{2}", "cm": "[A-Z][0-9][0-9AB]"}
_BELOW = r"(?:\.-|(?:\.?[0-9A-Z]{1,4})?[+*!]?)"
_ICD10 = {
    version: re.compile(f"({category}){_BELOW}", re.ASCII | re.IGNORECASE) for version, category in _CATEGORY.items()
}
_THIRD = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_ATC = re.compile(r"[A-Z](?:[0-9]{2}(?:[A-Z](?:[A-Z](?:[0-9]{2})?)?)?)?")
_ATC_LENGTHS = (1, 3, 4, 5)


def _lines(name: str) -> list[str]:
    text = files("treeanon.hierarchy").joinpath("names", name).read_text(encoding="utf-8")
    return [line for line in text.splitlines() if not line.startswith("#")]


def _place(category: str) -> int:
    """Return the place of a three-character category in the order of all that could be."""
    return (ord(category[0]) - ord("A")) * 360 + int(category[1]) * 36 + _THIRD.index(category[2])


@dataclass(frozen=True)
class Chapters:
    """The chapters and blocks of one version: for each label what lies above it, and the label of each category."""

    above: Mapping[str, tuple[str, ...]]
    labels: Sequence[str]
    numbers: NDArray[np.int16]

    def label_of(self, category: str) -> str | None:
        """Return the block of a category, or its chapter where no block has it; None where no chapter has it."""
        number = int(self.numbers[_place(category)])
        return None if number < 0 else self.labels[number]


@cache
def chapters(version: str) -> Chapters:
    """Return the chapters and blocks of a version of ICD-10.

    >>> found = chapters("who")
    >>> found.label_of("J18"), found.above[found.label_of("J18")]
    ('J09-J18 Influenza and pneumonia', ('J00-J99 Diseases of the respiratory system',))
    """
    above: dict[str, tuple[str, ...]] = {}
    ranges: list[tuple[int, int, int]] = []
    chapter = ""
    for line in _lines("icd10.txt"):
        versions, codes, name = line.split(" ", 2)
        if versions not in (version, "both"):
            continue
        is_chapter = codes.startswith("+")
        spans = [span.split("-") for span in codes.removeprefix("+").split(",")]
        label = f"{'-'.join(dict.fromkeys(spans[0]))} {name}"
        above[label] = () if is_chapter else (chapter,)
        chapter = label if is_chapter else chapter
        ranges += [(_place(span[0]), _place(span[-1]), len(above) - 1) for span in spans]
    numbers = np.full(26 * 360, -1, dtype=np.int16)
    # the narrowest range that has a category is its own, so that the wide ones come first
    for first, last, number in sorted(ranges, key=lambda each: each[0] - each[1]):
        numbers[first : last + 1] = number
    return Chapters(above, tuple(above), numbers)


@dataclass(frozen=True)
class Icd10:
    """Builder: a code of ICD-10 lies in its subcategories, its three-character category, a block and a chapter.

    >>> h = Icd10().build(["J18.9", "J18.1"])
    >>> [h.texts[code] for code in h.ancestors(h.code("J18.9"))][1:3]
    ['J18', 'J09-J18 Influenza and pneumonia']
    """

    version: str = "who"

    def __post_init__(self) -> None:
        if self.version not in VERSIONS:
            raise HierarchyError(f"icd10: {_VERSION_PROBLEM}")

    def build(self, values: Iterable[str]) -> Hierarchy:
        """Return the hierarchy of the values that are codes, chapters or blocks.

        >>> Icd10("cm").build(["S52.521A", "flu"]).texts[2:]
        ('S50-S59 Injuries of elbow and forearm', 'S52', 'S52.5', 'S52.52', 'S52.521', 'S52.521A')
        """
        return Hierarchy(*tree_of_ways(values, self.way))

    def way(self, text: str) -> Sequence[str] | None:
        """Return what lies above a code or label, the nearest first; None for a text that is neither."""
        known = chapters(self.version)
        if text in known.above:
            return known.above[text]
        match = _ICD10[self.version].fullmatch(text)
        category = match[1].upper() if match else ""
        block = known.label_of(category) if category else None
        if block is None:
            return None
        # What ends in a dot is no code, nor what ends in X, which only fills up a code that has a seventh character.
        starts = (text[:length] for length in range(len(text) - 1, 3, -1))
        finer = [start for start in starts if start[-1] not in ".Xx"]
        return [*finer, *([category] if text != category else []), block, *known.above[block]]


@cache
def _atc_names() -> Mapping[str, str]:
    return {line.split(" ", 1)[0]: line for line in _lines("atc.txt")}


@cache
def _atc_codes() -> Mapping[str, str]:
    return {label: code for code, label in _atc_names().items()}


@dataclass(frozen=True)
class Atc:
    """Builder: a code of ATC lies in its chemical, pharmacological, therapeutic and anatomical group.

    >>> Atc().build(["A10BA02"]).texts
    ('*', 'A Digestive tract and metabolism', 'A10 Diabetes', 'A10B', 'A10BA', 'A10BA02')
    """

    def build(self, values: Iterable[str]) -> Hierarchy:
        """Return the hierarchy of the values that are codes of any level, or labels of the first two.

        >>> Atc().build(["A10", "W01AA01"]).texts[1:]
        ('A Digestive tract and metabolism', 'A10 Diabetes', 'A10')
        """
        return Hierarchy(*tree_of_ways(values, self.way))

    def way(self, text: str) -> Sequence[str] | None:
        """Return what lies above a code or label, the nearest first; None for a text that is neither."""
        names = _atc_names()
        code = _atc_codes().get(text, text)
        if not _ATC.fullmatch(code) or code[:3] not in names:
            return None
        ups = [names.get(code[:length], code[:length]) for length in _ATC_LENGTHS if length <= len(code)]
        return [label for label in reversed(ups) if label != text]


_VERSION_PROBLEM = 'must be true or "who" for the version of the WHO, or "cm" for the Clinical Modification'


def parse_icd10(spec: Mapping[str, object], value_type: str) -> tuple[Icd10 | None, Problems]:
    """Return the builder of `{icd10 = "cm"}`, and its problems; `true` is the version of the WHO.

    >>> parse_icd10({"icd10": True}, "text")
    (Icd10(version='who'), [])
    """
    version = "who" if spec["icd10"] is True else spec["icd10"]
    problems = text_problems("icd10", value_type)
    if not isinstance(version, str) or version not in VERSIONS:
        problems.append(("icd10", _VERSION_PROBLEM))
    return (None, problems) if problems else (Icd10(str(version)), [])


def parse_atc(spec: Mapping[str, object], value_type: str) -> tuple[Atc | None, Problems]:
    """Return the builder of `{atc = true}`, and its problems.

    >>> parse_atc({"atc": True}, "integer")
    (None, [('atc', 'needs a class of type = "text"')])
    """
    problems = text_problems("atc", value_type)
    if spec["atc"] is not True:
        problems.append(("atc", "must be true"))
    return (None, problems) if problems else (Atc(), [])


def text_problems(key: str, value_type: str) -> Problems:
    """Return the problem of a builder of codes for a class whose values are no text.

    >>> text_problems("atc", "text")
    []
    """
    return [] if value_type == "text" else [(key, 'needs a class of type = "text"')]


ENOUGH = 20_000
"""The persons that HIPAA (45 CFR 164.514(b)) wants more of than this in an area of which a prefix is published."""
_COUNT = re.compile("[0-9]{1,12}")


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
