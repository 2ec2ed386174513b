"""The accuracy-constrained (dual) problem: the most privacy for which no more is lost than what is allowed.

After G. Ghinita, P. Karras, P. Kalnis and N. Mamoulis, "A framework for efficient data anonymization under privacy and
accuracy constraints" (ACM TODS 34(2), 2009), Section 6. The loss is the GCP of the release. Where we differ: privacy is
adjusted by swapping rows between near groups of a more private solution that loses too much, many rounds of it, until
it loses no more than allowed or nothing is gained.

`ipcsd` is the paper's IPCSD: it solves the accuracy-constrained problem by any search for the privacy-constrained one,
with a binary search for the privacy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import numpy as np

from treeanon.algorithms.table.mondrian import search as mondrian
from treeanon.algorithms.table.onedim.k_anonymity import search as k_anonymous
from treeanon.algorithms.table.onedim.l_diversity import (
    LOOK_BACK,
    NEAR,
    Line,
    Optimal,
    best_of,
    best_order,
    grouped,
    largest,
    wanted,
)
from treeanon.algorithms.table.onedim.l_diversity import search as l_diverse
from treeanon.algorithms.table.onedim.orders import Order, ordered
from treeanon.algorithms.table.partition import Partition
from treeanon.algorithms.table.problem import Problem, requested_k
from treeanon.algorithms.table.registry import Style
from treeanon.algorithms.table.result import Result
from treeanon.arrays import Ints
from treeanon.errors import GuaranteeError, UsageError
from treeanon.metrics.table.ncp import Form, gcp
from treeanon.privacy.models.model import asks_for_share, asks_for_size

PrimalSearch = Callable[[Problem], Result]


@dataclass(frozen=True)
class DualResult:
    """The most privacy for which a search kept the loss within the limit: what it found, its loss, and the tries."""

    privacy: int
    found: Result
    gcp: float
    tries: int


def ipcsd(problem: Problem, primal: PrimalSearch, max_loss: float, *, form: Form = "taxonomy") -> DualResult:
    """Return the largest k or ℓ whose release by `primal` has a GCP of at most `max_loss`, found by halves.

    The problem has one model, whose k or ℓ is the least that will do. Where the loss does not grow with privacy all the
    way, which no heuristic promises, there may be larger ones. Privacy is doubled first, until too much is lost: most
    answers are small, and searches are slow for a large k.

    >>> from treeanon.algorithms.table.mondrian import search
    >>> from treeanon.hierarchy import Hierarchy
    >>> from treeanon.table import Table
    >>> table = Table.of_texts({"x": (["1", "1", "2", "2"], Hierarchy.flat(["1", "2"]))})
    >>> from treeanon.privacy.models import KAnonymity
    >>> ipcsd(Problem(table, (KAnonymity(1),)), search, 0.5).privacy
    2
    """
    low, high = limits(problem, max_loss)
    best: DualResult | None = None
    tries, failed = 0, False
    while low <= high:
        # The least privacy first: without that there is nothing to look for.
        middle = low if best is None else (low + high) // 2
        if best is not None and not failed:
            middle = min(middle, 2 * best.privacy)
        tries += 1
        found = _primal_release(with_privacy(problem, middle), primal)
        loss = float("inf") if found is None else release_loss(problem, found, form)
        if found is not None and loss <= max_loss:
            best, low = DualResult(middle, found, loss, tries), middle + 1
        elif best is None:
            break
        else:
            high, failed = middle - 1, True
    if best is None:
        raise GuaranteeError(f"not even the least privacy asked for can be had with a GCP of at most {max_loss:g}")
    return replace(best, tries=tries)


def limits(problem: Problem, max_loss: float) -> tuple[int, int]:
    """Return the least privacy asked for, and the most that the whole table can have."""
    if not 0 <= max_loss <= 1:
        raise UsageError("the loss allowed is a GCP: from 0 to 1")
    if len(problem.models) != 1 or problem.models[0].raised(1) is None:
        raise UsageError("the dual problem is for one model: k-anonymity or frequency ℓ-diversity")
    model, table = problem.models[0], problem.table
    if asks_for_size(model):
        return model.limits.persons, table.persons
    if model.limits.share.numerator != 1:
        raise UsageError("the dual problem needs a whole ℓ")
    if table.persons < len(table):
        raise UsageError("the dual problem of ℓ-diversity is for one row a person")
    columns = problem.columns_of(model)
    most = max(int(np.bincount(column.codes + 1, minlength=1).max()) for column in columns)
    return model.limits.share.denominator, len(table) // max(1, most)


def with_privacy(problem: Problem, privacy: int) -> Problem:
    """Return the problem with another k or ℓ."""
    model = problem.models[0].raised(privacy)
    assert model is not None
    return replace(problem, models=(model,))


def release_loss(problem: Problem, found: Result, form: Form) -> float:
    """Return the GCP of what was found, as measured on its release."""
    released, rows = found.recoded(problem.table)
    return gcp(released, len(problem.table) - len(rows), form=form)


def _primal_release(problem: Problem, primal: PrimalSearch) -> Result | None:
    try:
        return primal(problem)
    except GuaranteeError:
        return None


DualMethod = Literal["heuristic", "optimal", "ipcsd"]
DUAL_METHODS: tuple[DualMethod, ...] = ("heuristic", "optimal", "ipcsd")
Primal = Literal["onedim", "mondrian"]
PRIMALS: tuple[Primal, ...] = ("onedim", "mondrian")
_WINDOW, _ROUNDS = 16, 4


def search(
    problem: Problem,
    *,
    max_loss: float,
    order: Order = "best",
    columns: str | Sequence[str] | None = None,
    method: DualMethod = "heuristic",
    primal: Primal = "onedim",
    form: Form = "taxonomy",
    style: Style = "auto",
) -> Partition:
    """Return groups with the largest k or ℓ that was found for a GCP of at most `max_loss`; the model asks for the
    least.

    Of k-anonymity: by halves on optimal 1-D k-anonymity. Of ℓ-diversity: `heuristic` goes by halves over the linear
    one and then adjusts: swaps rows for as long as one more ℓ can be had. `optimal` is for small tables. `ipcsd` goes
    by halves over `primal`, for either model.

    >>> from treeanon.hierarchy import Hierarchy
    >>> from treeanon.table import Table
    >>> columns = {"age": (["1", "2", "3", "4"], Hierarchy.flat("1234")), "ill": (list("fafb"), Hierarchy.flat("fab"))}
    >>> table = Table.of_texts(columns, roles={"ill": "sensitive"})
    >>> from treeanon.privacy.models import FrequencyDiversity
    >>> search(Problem(table, (FrequencyDiversity(1),)), max_loss=0.4, form="set").models
    (FrequencyDiversity(column=None, l=2),)
    """
    if method not in DUAL_METHODS or primal not in PRIMALS:
        raise UsageError(f"the dual problem has the methods {', '.join(DUAL_METHODS)}; primal: {', '.join(PRIMALS)}")
    limits(problem, max_loss)
    diverse = asks_for_share(problem.models[0])
    if method == "ipcsd" or not diverse:
        search_once: Callable[..., Result] = partial(mondrian, style=style)
        if method != "ipcsd" or primal == "onedim":
            own = l_diverse if diverse else k_anonymous
            order = _once(problem, form, style) if order == "best" else order
            search_once = partial(own, order=order, columns=columns, form=form, style=style)
        reached = ipcsd(problem, search_once, max_loss, form=form)
        return _published(problem, reached.privacy, reached.found, {"gcp": reached.gcp, "tries": reached.tries})
    least, column = wanted(problem)
    if order == "best":
        order = _once(problem, form, style)
    line = Line.of(problem.table, column, order, columns, least, form, style)
    line.require(least)
    privacy, group, gcp = (optimal if method == "optimal" else adjusted)(line, least, max_loss)
    found = Partition("onedim-dual", problem.models, line.by_row(group), 0, {}, style)
    return _published(problem, privacy, found, {"gcp": gcp})


def _once(problem: Problem, form: Form, style: Style) -> Order:
    """Return the best order for the least privacy asked for, which every try then takes: to choose costs more than to
    cut.
    """
    if asks_for_size(problem.models[0]):
        return ordered(problem.table, k=requested_k(problem, "1-D"), form=form, style=style).name
    least, column = wanted(problem)
    return best_order(problem.table, column, least, form, style)


def optimal(line: Line, least: int, max_loss: float) -> tuple[int, Ints, float]:
    """Return the largest ℓ within the loss, its best groups in the order, and what they lose."""
    levels = list(range(1, max(line.most, least) + 1))
    best = Optimal.of(line.costs, line.values, line.count, levels)
    privacy = largest(best, max_loss)
    if privacy < least:
        raise _too_little(max_loss)
    group, counts = best_of(line, privacy, "optimal")
    return privacy, group, float(counts["gcp"])


def adjusted(line: Line, least: int, max_loss: float) -> tuple[int, Ints, float]:
    """Return the largest ℓ within the loss that the linear heuristic reaches with swaps, its groups, and what they
    lose.
    """
    tries: list[Callable[[int], tuple[Ints, float]]] = [
        partial(_tried, line, "heuristic", LOOK_BACK, 1),
        partial(_tried, line, "heuristic", _WINDOW, _ROUNDS),
        partial(_tried, line, "near", _WINDOW, _ROUNDS),
    ]
    found: tuple[int, Ints, float] | None = None
    low, high = least, max(line.most, least)
    while low <= high:
        middle = (low + high) // 2
        group, gcp = tries[0](middle)
        if gcp <= max_loss:
            found, low = (middle, group, gcp), middle + 1
        else:
            high = middle - 1
    # One more ℓ each time, for as long as swaps bring the loss down to what is allowed.
    privacy = least if found is None else found[0] + 1
    while privacy <= max(line.most, least):
        for attempt in tries[1:]:
            group, gcp = attempt(privacy)
            if gcp <= max_loss:
                found = (privacy, group, gcp)
                break
        else:
            break
        privacy += 1
    if found is None:
        raise _too_little(max_loss)
    return found


def _tried(line: Line, method: str, window: int, rounds: int, privacy: int) -> tuple[Ints, float]:
    group, counts = grouped(line, privacy, method, window, NEAR, rounds)
    return group, float(counts["gcp"])


def _too_little(max_loss: float) -> GuaranteeError:
    return GuaranteeError(f"not even the least privacy asked for was found with a GCP of at most {max_loss:g}")


def _published(problem: Problem, privacy: int, found: Result, counts: dict[str, float | int]) -> Partition:
    assert isinstance(found, Partition)
    models = with_privacy(problem, privacy).models
    return Partition("onedim-dual", models, found.group, found.suppressed, {"privacy": privacy, **counts}, found.style)
