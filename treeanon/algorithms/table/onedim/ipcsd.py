"""The accuracy-constrained problem by searches for the privacy-constrained one, asked again and again.

IPCSD of 1D (Ghinita et al., TODS 34(2), 2009): privacy is found by halves, with any search that is given a problem.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from treeanon.algorithms.table.problem import Problem
from treeanon.algorithms.table.result import Found
from treeanon.errors import GuaranteeError, UsageError
from treeanon.metrics.table.ncp import Form, gcp
from treeanon.privacy.models import FrequencyDiversity, KAnonymity

Primal = Callable[[Problem], Found]


@dataclass(frozen=True)
class Reached:
    """The most privacy for which a search kept the loss within the limit: what it found, its loss, and the tries."""

    privacy: int
    found: Found
    gcp: float
    tries: int


def ipcsd(problem: Problem, primal: Primal, max_loss: float, *, form: Form = "taxonomy") -> Reached:
    """The largest k or ℓ whose release by `primal` has a GCP of at most `max_loss`, found by halves.

    The problem has one model, whose k or ℓ is the least that will do. Where the loss does not grow with privacy all the
    way, which no heuristic promises, there may be larger ones. Privacy is doubled first, until too much is lost: most
    answers are small, and searches are slow for a large k.

    >>> from treeanon.algorithms.table.mondrian import search
    >>> from treeanon.hierarchy import Hierarchy
    >>> from treeanon.table import Table
    >>> table = Table.of_texts({"x": (["1", "1", "2", "2"], Hierarchy.flat(["1", "2"]))})
    >>> ipcsd(Problem(table, (KAnonymity(1),)), search, 0.5).privacy
    2
    """
    low, high = limits(problem, max_loss)
    best: Reached | None = None
    tries, failed = 0, False
    while low <= high:
        # The least privacy first: without that there is nothing to look for.
        middle = low if best is None else (low + high) // 2
        if best is not None and not failed:
            middle = min(middle, 2 * best.privacy)
        tries += 1
        found = _tried(asking(problem, middle), primal)
        loss = float("inf") if found is None else release_loss(problem, found, form)
        if found is not None and loss <= max_loss:
            best, low = Reached(middle, found, loss, tries), middle + 1
        elif best is None:
            break
        else:
            high, failed = middle - 1, True
    if best is None:
        raise GuaranteeError(f"not even the least privacy asked for can be had with a GCP of at most {max_loss:g}")
    return replace(best, tries=tries)


def limits(problem: Problem, max_loss: float) -> tuple[int, int]:
    """The least privacy asked for, and the most that the whole table can have."""
    if not 0 <= max_loss <= 1:
        raise UsageError("the loss allowed is a GCP: from 0 to 1")
    if len(problem.models) != 1 or not isinstance(problem.models[0], KAnonymity | FrequencyDiversity):
        raise UsageError("the dual problem is for one model: k-anonymity or frequency ℓ-diversity")
    model, table = problem.models[0], problem.table
    if isinstance(model, KAnonymity):
        return model.k, table.persons
    if model.l != int(model.l):
        raise UsageError("the dual problem needs a whole ℓ")
    if table.persons < len(table):
        raise UsageError("the dual problem of ℓ-diversity is for one row a person")
    columns = problem.columns_of(model)
    most = max(int(np.bincount(column.codes + 1, minlength=1).max()) for column in columns)
    return int(model.l), len(table) // max(1, most)


def asking(problem: Problem, privacy: int) -> Problem:
    """The problem with another k or ℓ."""
    model = problem.models[0]
    if isinstance(model, KAnonymity):
        return replace(problem, models=(KAnonymity(privacy),))
    assert isinstance(model, FrequencyDiversity)
    return replace(problem, models=(FrequencyDiversity(privacy, column=model.column),))


def release_loss(problem: Problem, found: Found, form: Form) -> float:
    """The GCP of what was found, as measured on its release."""
    released, rows = found.recoded(problem.table)
    return gcp(released, len(problem.table) - len(rows), form=form)


def _tried(problem: Problem, primal: Primal) -> Found | None:
    try:
        return primal(problem)
    except GuaranteeError:
        return None
