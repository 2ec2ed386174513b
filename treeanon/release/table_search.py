"""What every release of a table goes through before it is written: searched for, until the check lets it pass."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

from treeanon.algorithms.table.bounds import kept_bounds, searched
from treeanon.algorithms.table.problem import Problem, unordered_rows
from treeanon.algorithms.table.result import Partition, Result, RowResult
from treeanon.errors import GuaranteeError
from treeanon.infer.persons import refuse_repeats
from treeanon.privacy.models.model import Model, largest_k
from treeanon.progress import Progress, run_interruptibly, stage
from treeanon.randomness import Randomness
from treeanon.release.table_request import TableRequest, group_bound
from treeanon.table import Table
from treeanon.verifier.freeform import FreeformVerdict
from treeanon.verifier.permuted import PermutedVerdict
from treeanon.verifier.table import TableVerdict

_CLOSER = 8
"""How often a search is repeated with a smaller t before t-closeness is given up."""

Verdict = TableVerdict | PermutedVerdict | FreeformVerdict


def searches(
    request: TableRequest, table: Table, progress: Progress | None = None, seed: int | None = None
) -> Iterator[tuple[Result, tuple[Model, ...]]]:
    """What the search finds, and the models that its release is to hold, one after the other until that does.

    These are those asked for, or for a search that looks for the strongest that can be had, those that it reached.
    `seed` is for tests.
    """
    problem = request.problem(table)
    refuse_repeats(table.report)
    refuse_too_few_rows(table, problem.models)
    for models in _closer(problem):
        asked = replace(problem, models=models)
        found = run_interruptibly(partial(_found, request, asked, seed), stage(progress, "searching"))
        yield found, (found.models if request.search.reaches else problem.models)


def _found(request: TableRequest, problem: Problem, seed: int | None, progress: Progress) -> Result:
    """What the search finds of the rows in an order of their own: that of the file may tell of sensitive values."""
    problem = replace(problem, progress=progress)
    options = {name: value for name, value in request.options.items() if name != "max_group_loss"}
    if not request.search.of_rows:
        return searched(request.search, problem, options)
    rows = unordered_rows(problem.table, Randomness(seed))
    problem = replace(problem, table=problem.table.take(rows))
    found = searched(request.search, problem, options)
    if isinstance(found, Partition):
        bound = group_bound(request.algorithm, request.options, problem.table.columns)
        problem = replace(problem, max_group_loss=None if bound is None else bound.most)
        found = kept_bounds(problem, found, "taxonomy" if bound is None else bound.form)
    assert isinstance(found, RowResult)
    return found.as_of(rows)


def refuse_too_few_rows(table: Table, models: Sequence[Model]) -> None:
    """GuaranteeError if there are not as many persons as a group must have."""
    if not len(table):
        raise GuaranteeError("there are no rows, so there is nothing to publish")
    k = largest_k(models)
    if table.persons < k:
        many = f"{table.persons:,} person{'s' if table.persons > 1 else ''}"
        verb = "is" if table.persons == 1 else "are"
        raise GuaranteeError(f"there {verb} only {many}, fewer than k = {k:,}: nobody can be hidden")


def _closer(problem: Problem) -> Iterator[tuple[Model, ...]]:
    """Return the models to search by, one after the other until the release holds.

    A search compares with the values of the whole table, an attacker with those of the rows published. Where rows may
    be left out these differ, and a release that is near to the one need not be as near to the other.
    """
    yield problem.models
    compared = any(model.compares_with_table for model in problem.models)
    for step in range(1, _CLOSER if problem.max_suppressed and compared else 1):
        share = Fraction(_CLOSER - step, _CLOSER)
        yield tuple(model.tightened(share) for model in problem.models)


def only_closeness_fails(verdict: Verdict, models: Sequence[Model]) -> bool:
    """Return whether all that fails is t-closeness, which a search by a smaller t may mend."""
    names = {model.name for model in models if model.compares_with_table}
    failing = {one.model for one in verdict.checked if not one.holds}
    return bool(failing) and failing <= names


def require(verdict: Verdict, models: Sequence[Model]) -> None:
    """GuaranteeError unless there is something to publish and all models hold."""
    if not verdict.rows:
        raise GuaranteeError("every person would have to be left out, so there is nothing to publish")
    if only_closeness_fails(verdict, models):
        names = ", ".join(dict.fromkeys(one.model for one in verdict.checked if not one.holds))
        raise GuaranteeError(
            f"{names} does not hold among the rows that are left, which an attacker compares with: ask for less, or let"
            " fewer persons be left out"
        )
    if not verdict.holds:
        raise GuaranteeError("what the search found did not pass the check, so nothing is published: please report it")


def table_counts(table: Table, released: Table) -> dict[str, Any]:
    """Return the rows and persons of the input and of the release, and what reading left out."""
    counts: dict[str, Any] = {
        "rows": len(table),
        "persons": table.persons,
        "published_rows": len(released),
        "published_persons": released.persons,
    }
    return counts if table.report is None else counts | table.report.as_dict()
