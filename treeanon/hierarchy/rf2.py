"""The relationship and description files of SNOMED CT, in release format 2: columns of whole numbers and terms.

Of the states that an id has in a file the latest counts, so that full and snapshot releases give the same.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from treeanon.errors import HierarchyError
from treeanon.hierarchy.concepts import Concepts

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
