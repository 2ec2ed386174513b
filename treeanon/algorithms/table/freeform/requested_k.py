"""What a freeform search is asked for: how many originals a tuple covers, and nothing of sensitive values."""

from __future__ import annotations

from collections.abc import Iterable

from treeanon.algorithms.table.problem import Problem
from treeanon.algorithms.table.requested_k import k_asked
from treeanon.errors import UsageError
from treeanon.privacy.models.model import Model


def refuse_sensitive(algorithm: str, models: Iterable[Model]) -> None:
    """UsageError if a model looks at sensitive values, which freeform releases cannot be made to satisfy."""
    if any(model.sensitive is not None for model in models):
        raise UsageError(
            f"{algorithm} gives k-anonymity alone: whoever knows that the persons behind a row were chosen to"
            " be diverse can rule some of them out; ask a search of groups for models of sensitive classes"
        )


def asked_k(algorithm: str, problem: Problem) -> int:
    """The k that a problem asks for; an error if a freeform release cannot have it, or never of these rows.

    >>> from treeanon.hierarchy import Hierarchy
    >>> from treeanon.privacy.models import KAnonymity
    >>> from treeanon.table import Table
    >>> asked_k("ring", Problem(Table.of_texts({"x": ("aab", Hierarchy.flat("ab"))}), (KAnonymity(2),)))
    2
    """
    refuse_sensitive(algorithm, problem.models)
    return k_asked(problem, "freeform")
