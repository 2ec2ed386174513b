"""One spelling for each number of a sensitive column: "1" and "1.0" are not two values."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from treeanon.hierarchy.numbers import Number, is_shortest, parse_number
from treeanon.table.table import Column, Table

_NUMBERS = ("integer", "number")


def in_one_spelling(column: Column) -> Column:
    """Return a sensitive numeric column with one spelling for each number; any other column unchanged.

    Of the spellings that a number has in the column, that is the shortest form, or else the first by code. Inner nodes
    of the hierarchy stay: a name of a group may look like a number.

    >>> from treeanon.hierarchy import Hierarchy
    >>> from treeanon.schema.model import ClassSpec
    >>> codes = np.array([1, 2, 3, 4, -1], np.int32)
    >>> column = Column(
    ...     ClassSpec("pay", type="number", role="sensitive"), Hierarchy.flat(["01", "1", "1e0", "002"]), codes
    ... )
    >>> in_one_spelling(column).texts()
    ['1', '1', '1', '002', None]
    """
    if column.role != "sensitive" or column.spec.type not in _NUMBERS or column.covers is not None:
        return column
    texts, hierarchy = column.values, column.hierarchy
    chosen: dict[Number, int] = {}
    same = np.append(np.arange(len(texts), dtype=np.int32), -1).astype(np.int32)
    used = [code for code in np.unique(column.codes).tolist() if code >= 0 and hierarchy.is_leaf(code)]
    for code in sorted(used, key=lambda code: (is_shortest(texts[code]) is None, code)):
        number = parse_number(texts[code], integer=False)
        if number is not None:
            same[code] = chosen.setdefault(number, code)
    return column if (same[used] == used).all() else replace(column, codes=same[column.codes])


def general_columns(table: Table) -> list[str]:
    """Return the names of the sensitive columns that hold inner nodes of their hierarchies.

    >>> from treeanon.hierarchy import Hierarchy
    >>> ills = Hierarchy.from_paths([["flu", "lung", "*"], ["asthma", "lung", "*"]])
    >>> general_columns(Table.of_texts({"ill": (["flu", "lung"], ills)}, {"ill": "sensitive"}))
    ['ill']
    """
    return [
        column.name
        for column in table.sensitive
        if any(code >= 0 and not column.hierarchy.is_leaf(code) for code in np.unique(column.codes).tolist())
    ]
