"""Terminologies in files: CSV of code, parent and name; FHIR's CodeSystem and ValueSet; the RF2 files of SNOMED CT.

Also names for the levels of ICD-10 and ATC that have none of their own, out of a file of concepts.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson
from numpy.typing import NDArray

from treeanon.errors import FileError, HierarchyError
from treeanon.hierarchy.codes import Atc, Icd10, text_problems
from treeanon.hierarchy.concepts import Concepts, Terminology
from treeanon.hierarchy.files import DELIMITERS, refuse_others
from treeanon.hierarchy.model import Hierarchy
from treeanon.hierarchy.ordering import tree_of_ways

if TYPE_CHECKING:
    import pyarrow as pa


IS_A = 116680003
FULL_NAME = 900000000000003001
_RELATIONSHIP = ("id", "effectiveTime", "active", "sourceId", "destinationId", "typeId")
_DESCRIPTION = ("id", "effectiveTime", "active", "conceptId", "languageCode", "typeId", "term")
_NAME = re.compile(r"x?sct2_(?:Relationship|Description)_.*\.txt")
_ROW = re.compile(r"Row #([0-9]+)")


def rf2_files(folder: Path) -> list[Path]:
    """Return the relationship and description files in a folder, those of snapshots where there are any."""
    found = sorted(path for path in folder.rglob("*.txt") if _NAME.fullmatch(path.name) and path.is_file())
    return [path for path in found if "Snapshot" in path.name] or found


def _columns(file: Path) -> list[str]:
    with file.open("rb") as stream:
        return stream.readline(2000).decode("utf-8-sig", "replace").strip().split("\t")


def is_rf2(file: Path) -> bool:
    """Return whether the header of a file is that of relationships or descriptions."""
    columns = set(_columns(file))
    return columns >= set(_RELATIONSHIP) or columns >= set(_DESCRIPTION)


def read_rf2(files: Sequence[Path]) -> Concepts:
    """Return the concepts that active is-a relationships tie, with their fully specified names."""
    relations = [file for file in files if set(_columns(file)) >= set(_RELATIONSHIP)]
    described = [file for file in files if file not in relations]
    if not relations:
        raise HierarchyError("there is no relationship file: a terminology needs one")
    links = _latest([_table(file, _RELATIONSHIP) for file in relations])
    links = links.filter(_equal(links, "active", 1) & _equal(links, "typeId", IS_A))
    child, above = links["sourceId"].to_numpy(), links["destinationId"].to_numpy()
    ids, number = np.unique(np.concatenate([child, above]), return_inverse=True)
    if not len(ids):
        raise HierarchyError("there are no active is-a relationships")
    names = [""] * len(ids)
    if described:
        _name(names, ids, _latest([_table(file, _DESCRIPTION) for file in described]))
    codes = ids.astype(str).tolist()
    # The place of a link is the id of its relationship, which is public and holds in any release.
    place = links["id"].to_numpy()
    return Concepts(codes, names, number[: len(child)], number[len(child) :], place, "relationship")


def _table(file: Path, wanted: Sequence[str]) -> pa.Table:
    import pyarrow as pa
    from pyarrow import csv

    text = ("languageCode", "term")
    types = {name: pa.string() if name in text else pa.int64() for name in wanted}
    try:
        return csv.read_csv(
            file,
            parse_options=csv.ParseOptions(delimiter="\t", quote_char=False, double_quote=False),
            convert_options=csv.ConvertOptions(include_columns=list(wanted), column_types=types, null_values=[]),
        )
    except pa.ArrowInvalid as error:
        # the message of the reader may show what stands in the row
        row = _ROW.search(str(error))
        where = f"line {row[1]}: " if row else ""
        raise HierarchyError(f"{where}is not RF2: rows of equal length with whole numbers are expected") from None


def _equal(table: pa.Table, name: str, value: int) -> NDArray[np.bool_]:
    found: NDArray[np.bool_] = table[name].to_numpy() == value
    return found


def _latest(tables: Sequence[pa.Table]) -> pa.Table:
    """Return the latest state of each id."""
    import pyarrow as pa

    table = pa.concat_tables(tables)
    ids, times = table["id"].to_numpy(), table["effectiveTime"].to_numpy()
    order = np.lexsort((times, ids))
    is_last = np.append(ids[order][1:] != ids[order][:-1], np.ones(min(1, len(ids)), dtype=np.bool_))
    return table.take(order[is_last])


def _name(names: list[str], ids: NDArray[np.int64], described: pa.Table) -> None:
    """Give each concept its fully specified name: in English where there is one, of several that of the smallest id."""
    described = described.filter(_equal(described, "active", 1) & _equal(described, "typeId", FULL_NAME))
    concept = described["conceptId"].to_numpy()
    at = np.minimum(np.searchsorted(ids, concept), len(ids) - 1)
    languages = np.array([language != "en" for language in described["languageCode"].to_pylist()], dtype=np.bool_)
    known = np.flatnonzero(ids[at] == concept)
    order = known[np.lexsort((described["id"].to_numpy()[known], languages[known], at[known]))]
    concepts, first = np.unique(at[order], return_index=True)
    terms = described["term"].take(order[first]).to_pylist()
    for number, term in zip(concepts.tolist(), terms, strict=True):
        names[number] = " ".join(term.split())


Problems = list[tuple[str, str]]


@dataclass
class Collected:
    """Concepts while they are read; parents are codes until all are known."""

    unit: str
    index: dict[str, int] = field(default_factory=dict)
    names: list[str] = field(default_factory=list)
    links: list[tuple[int, str, int]] = field(default_factory=list)

    def concept(self, code: str, name: str) -> int:
        """Return the number of a concept; the first name that it has stays."""
        at = self.index.setdefault(code, len(self.names))
        if at == len(self.names):
            self.names.append("")
        if name and not self.names[at]:
            self.names[at] = " ".join(name.split())
        return at

    def finished(self) -> Concepts:
        """Return the concepts; an error where a parent is none of them."""
        if not self.index:
            raise HierarchyError("there are no concepts")
        missing = next((place for _, above, place in self.links if above not in self.index), None)
        if missing is not None:
            raise HierarchyError(f"{self.unit} {missing}: its parent is not among the concepts")
        child = np.array([child for child, _, _ in self.links], dtype=np.intp)
        above = np.array([self.index[above] for _, above, _ in self.links], dtype=np.intp)
        place = np.array([place for _, _, place in self.links], dtype=np.int64)
        return Concepts(list(self.index), self.names, child, above, place, self.unit)


def concepts_of_csv(text: str) -> Concepts:
    """Return the concepts of rows under a header with code, parent and, if it is there, name.

    A concept with several parents has several rows; one without a parent is a top.

    >>> concepts_of_csv("code;parent;name\\n1;;Lung\\n2;1;Flu\\n").names
    ['Lung', 'Flu']
    """
    lines = io.StringIO(text.removeprefix("\ufeff"), newline="")
    header = lines.readline()
    for delimiter in DELIMITERS:
        cells = [cell.strip().strip('"').lower() for cell in header.split(delimiter)]
        if "code" in cells and "parent" in cells:
            break
    else:
        raise HierarchyError("line 1: a header with the columns code, parent and name is expected")
    found = Collected("line")
    columns = [cells.index(name) if name in cells else len(cells) for name in ("code", "parent", "name")]
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    try:
        for row in reader:
            code, above, name = ([*row, *[""] * (len(cells) + 1 - len(row))][at] for at in columns)
            if any(row):
                _add_row(found, code, above, name, reader.line_num + 1)
    except csv.Error:
        raise HierarchyError(f"line {reader.line_num + 1}: is not CSV: check quotes and the length of cells") from None
    return found.finished()


def _add_row(found: Collected, code: str, above: str, name: str, line: int) -> None:
    if not code:
        raise HierarchyError(f"line {line}: a code is missing")
    number = found.concept(code, name)
    if above:
        found.links.append((number, above, line))


def concepts_of_fhir(data: bytes, system: str | None = None) -> Concepts:
    """Return the concepts of a CodeSystem, or of the expansion or definition of a ValueSet, of one system if named.

    >>> text = b'{"resourceType": "CodeSystem", "concept": [{"code": "a", "concept": [{"code": "b"}]}]}'
    >>> concepts_of_fhir(text).codes
    ['a', 'b']
    """
    try:
        document = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise HierarchyError(f"line {error.lineno}: is not JSON, or nested too deep") from None
    found, systems = Collected("concept"), dict[str, object]()
    for number, (concept, above, own) in enumerate(_walk(_tops(document)), start=1):
        if system is not None and own != system:
            continue
        code = concept["code"]
        if systems.setdefault(code, own) != own:
            raise HierarchyError(
                f'concept {number}: its code is in two code systems: choose one by system = "…", its address'
            )
        display = concept.get("display")
        at = found.concept(code, display if isinstance(display, str) else "")
        if above is not None:
            found.links.append((at, above, number))
        _add_properties(found, at, concept, number)
    return found.finished()


def _tops(document: Any) -> list[tuple[Any, str | None, object]]:
    """Return the concepts that lie in no other, each with the parent that it has not, and its system."""
    kind = document.get("resourceType") if isinstance(document, dict) else None
    if kind == "CodeSystem":
        return [(each, None, document.get("url")) for each in _listed(document, "concept")]
    if kind == "ValueSet":
        expansion, compose = document.get("expansion"), document.get("compose")
        if isinstance(expansion, dict):
            return [(each, None, None) for each in _listed(expansion, "contains")]
        included = _listed(compose, "include") if isinstance(compose, dict) else []
        return [
            (each, None, part.get("system"))
            for part in included
            if isinstance(part, dict)
            for each in _listed(part, "concept")
        ]
    raise HierarchyError("a CodeSystem or ValueSet of FHIR is expected, with resourceType")


def _listed(holder: dict[str, Any], key: str) -> list[Any]:
    found = holder.get(key, [])
    if not isinstance(found, list):
        raise HierarchyError(f"{key} must be an array")
    return found


def _walk(tops: list[tuple[Any, str | None, object]]) -> Iterator[tuple[dict[str, Any], str | None, object]]:
    """Yield each concept that has a code, with the code of the one around it and its system, in their order."""
    stack, number = list(reversed(tops)), 0
    while stack:
        concept, above, system = stack.pop()
        number += 1
        if not isinstance(concept, dict):
            raise HierarchyError(f"concept {number}: an object with a code is expected")
        code, own = concept.get("code"), concept.get("system", system)
        if code is not None and not (isinstance(code, str) and code):
            raise HierarchyError(f"concept {number}: its code must be a string")
        if code is not None:
            yield concept, above, own
        # What has no code only groups others, which lie where it does.
        inner = [*_listed(concept, "concept"), *_listed(concept, "contains")]
        stack += [(each, code or above, own) for each in reversed(inner)]


def _add_properties(found: Collected, at: int, concept: dict[str, Any], number: int) -> None:
    """Add parents that a concept names itself."""
    for each in _listed(concept, "property"):
        if isinstance(each, dict) and each.get("code") in ("parent", "subsumedBy"):
            above = each.get("valueCode")
            if not isinstance(above, str):
                raise HierarchyError(f"concept {number}: a property that names a parent needs valueCode")
            found.links.append((at, above, number))


def read_terminology(sources: list[Path], system: str | None = None) -> Terminology:
    """Return the builder of one file, CSV or FHIR's JSON, or of the RF2 files of SNOMED CT, or their folder."""
    files = [file for source in sources for file in (rf2_files(source) if source.is_dir() else [source])]
    where = str(sources[0])
    try:
        if not files:
            raise HierarchyError("the folder has no relationship and description files of SNOMED CT")
        refuse_others(files)
        if all(is_rf2(file) for file in files):
            concepts = read_rf2(files)
        elif len(files) != 1:
            raise HierarchyError("several files are read only where all are RF2 files of SNOMED CT")
        elif files[0].suffix.lower() == ".json":
            concepts = concepts_of_fhir(files[0].read_bytes(), system)
        else:
            concepts = concepts_of_csv(files[0].read_text(encoding="utf-8"))
        return Terminology.of(concepts)
    except OSError as error:
        raise FileError(f"{where}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise HierarchyError(f"{where}: the text must be UTF-8") from None
    except HierarchyError as error:
        raise HierarchyError(f"{where}: {error}") from None


def parse_terminology(spec: Mapping[str, object], value_type: str) -> tuple[Terminology | None, Problems]:
    """Return the builder of `{terminology = "file.csv"}`, and its problems.

    >>> parse_terminology({"terminology": 1}, "text")[1][0][0]
    'terminology'
    """
    given, system = spec["terminology"], spec.get("system")
    names = [given] if isinstance(given, str) else given
    problems = text_problems("terminology", value_type)
    if not isinstance(names, list | tuple) or not names or not all(_is_name(name) for name in names):
        problems.append(("terminology", "must be a file, a folder of RF2 files, or a list of them"))
    if system is not None and not (isinstance(system, str) and system):
        problems.append(("system", "must be the address of a code system, a string"))
    if problems or not isinstance(names, list | tuple):
        return None, problems
    try:
        return read_terminology([Path(name) for name in names], system if isinstance(system, str) else None), []
    except (HierarchyError, FileError) as error:
        return None, [("terminology", str(error))]


def _is_name(name: object) -> bool:
    return isinstance(name, str) and name != "" and "\0" not in name


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
