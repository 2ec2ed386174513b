"""Hierarchies of codes whose structure tells what they lie under: ICD-10 and ATC.

Chapters and blocks, and the first two levels of ATC, have names, which stand beside the module; what has none
is its code. A code that no chapter holds, or that is written otherwise, has no place.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from treeanon.builders import BUILDERS
from treeanon.errors import HierarchyError
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
