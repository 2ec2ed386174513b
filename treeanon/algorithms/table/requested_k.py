"""What searches for k-anonymity alone are asked for, of tables with one row a person."""

from __future__ import annotations

from treeanon.algorithms.table.problem import Problem
from treeanon.errors import GuaranteeError, UsageError
from treeanon.privacy.models.model import asks_for_size
from treeanon.table import Table


def requested_k(problem: Problem, searches: str) -> int:
    """The k that groups or tuples must have; an error if more is asked for, or there are too few rows for it.

    `searches` says what kind of searches asks.

    >>> from treeanon.hierarchy import Hierarchy
    >>> table = Table.of_texts({"x": ("aab", Hierarchy.flat("ab"))})
    >>> from treeanon.privacy.models import KAnonymity
    >>> requested_k(Problem(table, (KAnonymity(2), KAnonymity(3))), "1-D")
    3
    """
    k = 1
    for model in problem.models:
        if not asks_for_size(model):
            raise UsageError(f"this search is for k-anonymity alone, not for {model.name}; try 'local' or 'onedim-l'")
        k = max(k, model.limits.persons)
    one_row_each(problem.table, searches)
    rows = len(problem.table)
    if 0 < rows < k:
        raise GuaranteeError(f"a table of {rows:,} persons cannot be {k:,}-anonymous")
    return k


def one_row_each(table: Table, searches: str) -> None:
    """UsageError where somebody has several rows."""
    if table.persons < len(table):
        raise UsageError(f"{searches} searches are for one row a person; reduce the rows of each person to one first")
