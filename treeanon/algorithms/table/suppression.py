"""Suppression without generalization: what its three forms share.

After V. Ciriani, S. De Capitani di Vimercati, S. Foresti and P. Samarati, "k-anonymity" (Secure Data Management in
Decentralized Systems, Springer 2007), which classifies k-anonymity by what is suppressed: whole tuples (TS), whole
attributes (AS), or single cells (CS). Each form is a file of its own.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from treeanon.algorithms.table.group_checker import RowGroupChecker
from treeanon.algorithms.table.problem import Problem
from treeanon.algorithms.table.result import Recoding
from treeanon.arrays import Flags
from treeanon.errors import GuaranteeError, UsageError
from treeanon.table import Table

SUPPRESSED = 0
"""The code that says nothing: the root, which stands for every value and for a missing one."""


def released(problem: Problem, algorithm: str, table: Table, kept: Flags, **counts: Any) -> Recoding:
    """Return what a search gives that publishes the rows kept of a recoded table.

    GuaranteeError if more persons would lose a row than may.
    """
    lost = left_out(table, ~kept)
    if lost > problem.max_suppressed:
        raise unreachable(problem)
    rows = np.flatnonzero(kept)
    counts["rows_suppressed"] = len(table) - len(rows)
    return Recoding(algorithm, problem.models, table.take(rows), rows, lost, counts)


def left_out(table: Table, is_out: Flags) -> int:
    """Return how many persons lose a row when these rows go."""
    return int(is_out.sum()) if table.person is None else len(np.unique(table.person[is_out]))


def unreachable(problem: Problem) -> GuaranteeError:
    """Return what to raise where suppression of the form asked for is not enough."""
    names = ", ".join(model.name for model in problem.models)
    return GuaranteeError(
        f"this suppression does not give {names} with at most {problem.max_suppressed:,} of "
        f"{problem.table.persons:,} persons left out"
    )


def require_any(problem: Problem) -> None:
    """Raise GuaranteeError if nothing satisfies the models where no row may go: not even all rows together do.

    That holds for monotone models, and where nobody has several rows.
    """
    rows = len(problem.table)
    if not rows or not all(model.is_monotone for model in problem.models):
        return
    if not RowGroupChecker(problem).holds(np.zeros(rows, np.int64), 1).all():
        raise unreachable(problem)


def one_row_each(table: Table, name: str) -> None:
    """Nothing; an error if a person may have several rows."""
    if table.person is not None and table.persons < len(table):
        raise UsageError(f"{name} needs one row a person: flatten the input, or use another algorithm")
