"""The accuracy-constrained (dual) problem: the most privacy for which no more is lost than what is allowed.

After G. Ghinita, P. Karras, P. Kalnis and N. Mamoulis, "A framework for efficient data anonymization under privacy and
accuracy constraints" (ACM TODS 34(2), 2009), Section 6. With the bound `group`, as published, the loss is the greatest
NCP of any group; see `bounded`. With the bound `mean`, which is ours, it is the GCP of the release: then privacy is
adjusted by swapping rows between near groups of a more private solution that loses too much, many rounds of it, until
it loses no more than allowed or nothing is gained.

`ipcsd` is the paper's IPCSD: it solves the accuracy-constrained problem by any search for the privacy-constrained one,
with a binary search for the privacy.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any, Literal

import numpy as np

from treeanon.algorithms.table.mondrian import search as mondrian
from treeanon.algorithms.table.onedim.any_model import Line
from treeanon.algorithms.table.onedim.bounded import heuristic as bounded_heuristic
from treeanon.algorithms.table.onedim.bounded import optimal as optimal_in_groups
from treeanon.algorithms.table.onedim.k_anonymity import search as k_anonymous
from treeanon.algorithms.table.onedim.l_diversity import (
    LOOK_BACK,
    NEAR,
    Optimal,
    best_of,
    best_order,
    grouped,
    largest,
    wanted,
)
from treeanon.algorithms.table.onedim.l_diversity import search as l_diverse
from treeanon.algorithms.table.onedim.orders import Order, ordered
from treeanon.algorithms.table.problem import Problem, one_row_each, requested_k
from treeanon.algorithms.table.registry import Style
from treeanon.algorithms.table.result import Partition, Result
from treeanon.arrays import Ints
from treeanon.errors import GuaranteeError, UsageError
from treeanon.metrics.table.ncp import Form, gcp, value_ncp
from treeanon.privacy.models.model import Model, asks_for_share, asks_for_size
from treeanon.table import Column
from treeanon.table.controls import weights_by_name
from treeanon.table.reductions import members_of

PrimalSearch = Callable[[Problem], Result]


Bound = Literal["group", "mean"]
BOUNDS: tuple[Bound, ...] = ("group", "mean")
_NEAR = Fraction(1, 20)
"""How near to the real ℓ for which too much is lost IPCSD goes."""


@dataclass(frozen=True)
class DualResult:
    """The most privacy for which a search kept the loss within the limit: what it found, its loss, and the tries."""

    privacy: Fraction
    found: Result
    loss: float
    tries: int


def ipcsd(
    problem: Problem,
    primal: PrimalSearch,
    max_loss: float,
    *,
    form: Form = "taxonomy",
    bound: Bound = "mean",
    whole: bool = True,
) -> DualResult:
    """Return the largest k or ℓ whose release by `primal` loses at most `max_loss`, found by halves.

    The problem has a model of k or ℓ, which is the least that will do. Where the loss does not grow with privacy all
    the way, which no heuristic promises, there may be larger ones. Privacy is doubled first, until too much is lost:
    most answers are small, and searches are slow for a large k. If not `whole`, ℓ may be any number, and what is found
    is less than 0.05 below one for which too much is lost.

    >>> from treeanon.algorithms.table.mondrian import search
    >>> from treeanon.hierarchy import Hierarchy
    >>> from treeanon.table import Table
    >>> table = Table.of_texts({"x": (["1", "1", "2", "2"], Hierarchy.flat(["1", "2"]))})
    >>> from treeanon.privacy.models import KAnonymity
    >>> print(ipcsd(Problem(table, (KAnonymity(1),)), search, 0.5).privacy)
    2
    """
    least, most = limits(problem, max_loss)
    step = Fraction(1) if whole else _NEAR / 2
    best: DualResult | None = None
    tries, low, high = 0, 0, int((most - least) // step)
    failed = False
    while low <= high:
        # The least privacy first: without that there is nothing to look for.
        middle = low if best is None else (low + high) // 2
        if best is not None and not failed:
            middle = min(middle, max(low, int((2 * best.privacy - least) // step)))
        privacy = least + middle * step
        tries += 1
        found = _primal_release(with_privacy(problem, privacy), primal)
        loss = float("inf") if found is None else release_loss(problem, found, form, bound)
        if found is not None and loss <= max_loss + (_TINY if bound == "group" else 0.0):
            best, low = DualResult(privacy, found, loss, tries), middle + 1
        elif best is None:
            break
        else:
            high, failed = middle - 1, True
    if best is None:
        raise _too_little(max_loss, bound)
    return replace(best, tries=tries)


def limits(problem: Problem, max_loss: float) -> tuple[Fraction, Fraction]:
    """Return the least privacy asked for, and the most that the whole table can have."""
    if not 0 <= max_loss <= 1:
        raise UsageError("the loss allowed is an NCP: from 0 to 1")
    model, table = main_model(problem), problem.table
    if asks_for_size(model):
        return Fraction(model.limits.persons), Fraction(table.persons)
    if table.persons < len(table):
        raise UsageError("the dual problem of ℓ-diversity is for one row a person")
    most = int(np.bincount(sensitive_of(problem).codes + 1, minlength=1).max())
    return 1 / model.limits.share, Fraction(len(table), max(1, most))


def main_model(problem: Problem) -> Model:
    """Return the model whose k or ℓ is to be raised; beside ℓ-diversity, k-anonymity may ask for no more than ℓ."""
    shares = [model for model in problem.models if asks_for_share(model) and model.raised(1) is not None]
    sizes = [model for model in problem.models if asks_for_size(model) and model.raised(1) is not None]
    if len(shares) + len(sizes) < len(problem.models) or len(shares) > 1 or not (shares or len(sizes) == 1):
        raise UsageError("the dual problem is for one model: k-anonymity or frequency ℓ-diversity (k beside it)")
    if not shares:
        return sizes[0]
    if any(model.limits.persons * shares[0].limits.share > 1 for model in sizes):
        raise UsageError("the dual problem of ℓ-diversity gives groups of ℓ rows and more: k must not be more than ℓ")
    return shares[0]


def sensitive_of(problem: Problem) -> Column:
    """Return the one sensitive column of ℓ-diversity; UsageError where there are several, or values are sets."""
    if len(problem.table.sensitive) > 1:
        raise UsageError("1-D ℓ-diversity is for one sensitive column; give the others another role")
    (column,) = problem.columns_of(main_model(problem))
    if members_of(column) is not None:
        raise UsageError("1-D ℓ-diversity is for one value a person, not for columns of sets; try 'local'")
    return column


def with_privacy(problem: Problem, privacy: Fraction) -> Problem:
    """Return the problem with another k or ℓ, in whole numbers where that can be."""
    main = main_model(problem)
    raised = main.raised(privacy.numerator if privacy.denominator == 1 else float(privacy))
    assert raised is not None
    return replace(problem, models=tuple(raised if model is main else model for model in problem.models))


def release_loss(problem: Problem, found: Result, form: Form, bound: Bound = "mean") -> float:
    """Return the GCP of what was found, or the greatest NCP of any of its groups, as measured on its release."""
    released, rows = found.recoded(problem.table)
    if bound == "mean":
        return gcp(released, len(problem.table) - len(rows), form=form, weights=weights_by_name(problem.table))
    # A code of -1 is that of a missing value, which comes last.
    columns = [value_ncp(column, form)[column.codes] for column in released.quasi]
    return float(np.average(columns, axis=0, weights=problem.weights).max(initial=0))


def _primal_release(problem: Problem, primal: PrimalSearch) -> Result | None:
    try:
        return primal(problem)
    except GuaranteeError:
        return None


DualMethod = Literal["heuristic", "optimal", "ipcsd"]
DUAL_METHODS: tuple[DualMethod, ...] = ("heuristic", "optimal", "ipcsd")
Primal = Literal["onedim", "mondrian"]
PRIMALS: tuple[Primal, ...] = ("onedim", "mondrian")
_WINDOW, _ROUNDS, _TINY = 16, 4, 1e-9


def search(
    problem: Problem,
    *,
    max_loss: float,
    bound: Bound = "group",
    order: Order = "best",
    columns: str | Sequence[str] | None = None,
    method: DualMethod = "heuristic",
    primal: Primal | None = None,
    form: Form = "taxonomy",
    style: Style = "auto",
) -> Partition:
    """Return groups with the largest k or ℓ that was found for a loss of at most `max_loss`; the model asks for the
    least.

    `bound` says whether every `group` keeps to it, or their `mean`. `heuristic` and `optimal` (for small tables; with
    the bound `group` for one column) are told in `bounded`; with the bound `mean`, `heuristic` goes by halves over
    the linear 1-D ℓ-diversity and then swaps rows for as long as one more ℓ can be had, and k-anonymity goes by halves
    over its optimum. `ipcsd` goes by halves over `primal`, for either model.

    >>> from treeanon.hierarchy import Hierarchy
    >>> from treeanon.table import Table
    >>> columns = {"age": (["1", "2", "3", "4"], Hierarchy.flat("1234")), "ill": (list("fafb"), Hierarchy.flat("fab"))}
    >>> table = Table.of_texts(columns, roles={"ill": "sensitive"})
    >>> from treeanon.privacy.models import FrequencyDiversity
    >>> search(Problem(table, (FrequencyDiversity(1),)), max_loss=0.4, form="set").counts["privacy"]
    2
    """
    if method not in DUAL_METHODS or primal not in (*PRIMALS, None) or bound not in BOUNDS:
        raise UsageError(f"the dual problem has the methods {', '.join(DUAL_METHODS)}; primal: {', '.join(PRIMALS)}")
    if primal is not None and method != "ipcsd":
        raise UsageError(f"primal is the search that the method ipcsd repeats; the method is {method}")
    limits(problem, max_loss)
    diverse = asks_for_share(main_model(problem))
    if method == "ipcsd" or (bound == "mean" and not diverse):
        return _by_halves(problem, primal or "onedim", max_loss, bound, order, columns, form, style)
    if bound == "group":
        return _bounded(problem, max_loss, order, columns, method, form, style)
    least, column = wanted(problem)
    if order == "best":
        order = _once(problem, form, style)
    line = Line.of(problem.table, column, order, columns, least, form, style)
    line.require(least)
    privacy, group, loss = (optimal if method == "optimal" else adjusted)(line, least, max_loss)
    found = Partition("onedim-dual", problem.models, line.by_row(group), 0, {}, style)
    return _published(problem, Fraction(privacy), found, {"gcp": loss})


def _by_halves(
    problem: Problem,
    primal: Primal,
    max_loss: float,
    bound: Bound,
    order: Order,
    columns: str | Sequence[str] | None,
    form: Form,
    style: Style,
) -> Partition:
    """Return what IPCSD finds: of whole numbers, but for ℓ by Mondrian, which knows any."""
    diverse = asks_for_share(main_model(problem))
    search_once: Callable[..., Result] = partial(mondrian, style=style)
    if primal == "onedim":
        own = l_diverse if diverse else k_anonymous
        order = _once(problem, form, style) if order == "best" else order
        search_once = partial(own, order=order, columns=columns, form=form, style=style)
    whole = primal == "onedim" or not diverse
    reached = ipcsd(problem, search_once, max_loss, form=form, bound=bound, whole=whole)
    name = "gcp" if bound == "mean" else "greatest_ncp"
    return _published(problem, reached.privacy, reached.found, {name: reached.loss, "tries": reached.tries})


def _bounded(
    problem: Problem,
    max_loss: float,
    order: Order,
    columns: str | Sequence[str] | None,
    method: DualMethod,
    form: Form,
    style: Style,
) -> Partition:
    """Return the most private groups none of which loses more than allowed."""
    column = sensitive_of(problem) if asks_for_share(main_model(problem)) else None
    one_row_each(problem.table, "1-D")
    if method == "optimal":
        if order != "best" or columns:
            raise UsageError("the method optimal sorts the rows by the one column itself: it takes no order")
        best = optimal_in_groups(problem.table, column, max_loss, form, style)
    else:
        best = bounded_heuristic(problem.table, column, max_loss, order, columns, form, style)
    least = limits(problem, max_loss)[0]
    if best is None or (len(problem.table) and best.privacy < least):
        raise _too_little(max_loss, "group")
    # Two digits: a name that can be read, and never more than what was reached.
    privacy = max(least, Fraction(int(100 * best.privacy), 100))
    found = Partition("onedim-dual", problem.models, best.group, 0, {}, style)
    counts = {"greatest_ncp": best.loss, "moves": best.moves, "made": best.method}
    return _published(problem, privacy, found, counts)


def _once(problem: Problem, form: Form, style: Style) -> Order:
    """Return the best order for the least privacy asked for, which every try then takes: to choose costs more than to
    cut.
    """
    if asks_for_size(main_model(problem)):
        return ordered(problem.table, k=requested_k(problem, "1-D"), form=form, style=style).name
    least, column = wanted(problem)
    return best_order(problem.table, column, least, form, style)


def optimal(line: Line, least: int, max_loss: float) -> tuple[int, Ints, float]:
    """Return the largest ℓ within the loss, its best groups in the order, and what they lose."""
    levels = list(range(1, max(line.most, least) + 1))
    best = Optimal.of(line.costs, line.values, line.count, levels)
    privacy = largest(best, max_loss)
    if privacy < least:
        raise _too_little(max_loss, "mean")
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
        raise _too_little(max_loss, "mean")
    return found


def _tried(line: Line, method: str, window: int, rounds: int, privacy: int) -> tuple[Ints, float]:
    group, counts = grouped(line, privacy, method, window, NEAR, rounds)
    return group, float(counts["gcp"])


def _too_little(max_loss: float, bound: Bound) -> GuaranteeError:
    lost = f"an NCP of at most {max_loss:g} in every group" if bound == "group" else f"a GCP of at most {max_loss:g}"
    return GuaranteeError(f"not even the least privacy asked for was found with {lost}")


def _published(problem: Problem, privacy: Fraction, found: Result, counts: Mapping[str, Any]) -> Partition:
    assert isinstance(found, Partition)
    models = with_privacy(problem, privacy).models
    told = int(privacy) if privacy.denominator == 1 else float(privacy)
    return Partition("onedim-dual", models, found.group, found.suppressed, {"privacy": told, **counts}, found.style)
