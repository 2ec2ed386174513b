"""Suppression without generalisation: what its three forms give back, and what they share.

After CHAP (Ciriani et al. 2007), which classifies k-anonymity by what is suppressed: whole tuples (TS), whole
attributes (AS), or single cells (CS). Each form is a file of its own.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from treeanon.errors import GuaranteeError, UsageError
from treeanon.kernels.flat_losses import group_numbers
from treeanon.kernels.trees import Flags, Longs
from treeanon.table import Column, Table
from treeanon.table.table import MISSING


@dataclass(frozen=True)
class Suppression:
    """What a form of suppression gives: the table published, and what it lacks.

    `rows` are left out, `columns` say nothing in any row, `cells` say nothing in the rows published (those of
    `columns` among them). `is_optimal` is true where nothing better of that form exists; `checked` counts the
    candidates looked at.
    """

    algorithm: str
    table: Table
    columns: tuple[str, ...] = ()
    rows: int = 0
    cells: int = 0
    is_optimal: bool = True
    checked: int = 1


def suppressed_code(column: Column) -> int:
    """The code that says nothing: the root, or a missing value where the root is all there is."""
    return 0 if column.hierarchy.height else MISSING


def persons_of(table: Table, numbers: Longs, groups: int) -> Longs:
    """How many persons each group of rows has.

    >>> from treeanon.hierarchy import Hierarchy
    >>> table = Table.of_texts({"sex": (["f", "m", "f"], Hierarchy.flat(["f", "m"]))})
    >>> persons_of(table, np.array([0, 1, 0]), 2).tolist()
    [2, 1]
    """
    if table.person is None:
        return np.bincount(numbers, minlength=groups).astype(np.int64)
    room = int(table.person.max(initial=0)) + 1
    pair, pairs = group_numbers([numbers.astype(np.int32), table.person], [groups, room], len(table))
    group_of = np.zeros(pairs, np.int64)
    group_of[pair] = numbers
    return np.bincount(group_of, minlength=groups).astype(np.int64)


def checked_k(table: Table, k: int) -> None:
    """Nothing; an error if k is no group's size, or if there are fewer persons, so that no group can be as large."""
    if k < 1:
        raise UsageError("k must be a whole number from 1")
    if len(table) and table.persons < k:
        raise GuaranteeError(f"a table of {table.persons:,} persons cannot be {k:,}-anonymous")


def one_row_each(table: Table, name: str) -> None:
    """Nothing; an error if a person may have several rows."""
    if table.person is not None and table.persons < len(table):
        raise UsageError(f"{name} needs one row a person: flatten the input, or use another algorithm")


def left_out(table: Table, is_out: Flags) -> int:
    """How many persons lose a row when these rows go."""
    return int(is_out.sum()) if table.person is None else len(np.unique(table.person[is_out]))
