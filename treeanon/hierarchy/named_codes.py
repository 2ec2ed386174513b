"""Names for the levels of ICD-10 and ATC that have none of their own, out of a file of concepts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from treeanon.errors import FileError, HierarchyError
from treeanon.hierarchy.codes import Atc, Icd10
from treeanon.hierarchy.model import Hierarchy
from treeanon.hierarchy.ordering import tree_of_ways
from treeanon.hierarchy.terminology import read_terminology

Problems = list[tuple[str, str]]
Parse = Callable[[Mapping[str, object], str], tuple[Icd10 | Atc | None, Problems]]
_LEVELS = {Icd10: re.compile("[A-Z][0-9][0-9AB]"), Atc: re.compile("[A-Z][0-9]{2}[A-Z]{1,2}")}
"""Categories of ICD-10, and the third and fourth level of ATC."""


@dataclass(frozen=True)
class NamedCodes:
    """Builder: what the builder of a code system makes, where levels that a file names are published by code and name.

    A value that is such a level's code is a leaf in it.

    >>> found = NamedCodes(Icd10(), {"J18": "Pneumonia"})
    >>> found.build(["J18.9", "J18"]).texts[3:], found.build(["J18 Pneumonia"]).texts[3:]
    (('J18 Pneumonia', 'J18', 'J18.9'), ('J18 Pneumonia',))
    """

    builder: Icd10 | Atc
    names: Mapping[str, str]

    def build(self, values: Iterable[str]) -> Hierarchy:
        """Return the hierarchy of the values that are codes, or labels of levels."""
        return Hierarchy(*tree_of_ways(values, self._way))

    def _way(self, text: str) -> Sequence[str] | None:
        code = text.partition(" ")[0]
        above = self.builder.way(code if self.label(code) == text else text)
        if above is None:
            return None
        own = [self.label(text)] if self.label(text) != text else []
        return [*own, *map(self.label, above)]

    def label(self, text: str) -> str:
        """Return what stands for a code: with its name, if it is that of a level which the file names."""
        name = self.names.get(text)
        return text if name is None else f"{text} {name}"


def read_names(path: Path, builder: Icd10 | Atc) -> dict[str, str]:
    """Return the names of the levels of a builder in a file of concepts, as `terminology` reads them."""
    found, is_level = read_terminology([path]), _LEVELS[type(builder)].fullmatch
    return {code: name for code, name in zip(found.codes, found.names, strict=True) if name and is_level(code)}


def with_names(parse: Parse) -> Callable[[Mapping[str, object], str], tuple[Icd10 | Atc | NamedCodes | None, Problems]]:
    """Return the parser of a builder of codes that also takes `names`, a file."""

    def parsed(spec: Mapping[str, object], value_type: str) -> tuple[Icd10 | Atc | NamedCodes | None, Problems]:
        builder, problems = parse(spec, value_type)
        file = spec.get("names")
        if file is None or builder is None:
            return builder, problems
        if not isinstance(file, str) or not file or "\0" in file:
            return None, [*problems, ("names", "must be a file of codes and names, as for terminology")]
        try:
            names = read_names(Path(file), builder)
        except (HierarchyError, FileError) as error:
            return None, [*problems, ("names", str(error))]
        if not names:
            problems = [*problems, ("names", f"{file}: has no names of categories of ICD-10 or groups of ATC")]
        return (None, problems) if problems else (NamedCodes(builder, names), [])

    return parsed
