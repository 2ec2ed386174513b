"""The accuracy-constrained (dual) problem: the most privacy for which no more is lost than what is allowed.

Ghinita, Karras, Kalnis, Mamoulis: TODS 34(2), 2009 (1D). The loss is the GCP of the release. Where we differ: privacy
is adjusted by swapping rows between near groups of a more private solution that loses too much, many rounds of it,
until it loses no more than allowed or nothing is gained.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Literal

from treeanon.algorithms.table.mondrian import search as mondrian
from treeanon.algorithms.table.onedim.ipcsd import asking, ipcsd, limits
from treeanon.algorithms.table.onedim.k_anonymity import search as k_anonymous
from treeanon.algorithms.table.onedim.l_diversity import LOOK_BACK, NEAR, Line, best_of, best_order, grouped, wanted
from treeanon.algorithms.table.onedim.l_diversity import search as l_diverse
from treeanon.algorithms.table.onedim.l_diversity_optimal import Optimal, largest
from treeanon.algorithms.table.onedim.orders import Order, ordered
from treeanon.algorithms.table.options import Style
from treeanon.algorithms.table.partition import Partition
from treeanon.algorithms.table.problem import Problem
from treeanon.algorithms.table.requested_k import k_asked
from treeanon.algorithms.table.result import Found
from treeanon.errors import GuaranteeError, UsageError
from treeanon.kernels.tree.forest import Ints
from treeanon.metrics.table.ncp import Form
from treeanon.privacy.models import FrequencyDiversity, KAnonymity

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
    """Groups with the largest k or ℓ that was found for a GCP of at most `max_loss`; the model asks for the least.

    Of k-anonymity: by halves on optimal 1-D k-anonymity. Of ℓ-diversity: `heuristic` goes by halves over the linear
    one and then adjusts: swaps rows for as long as one more ℓ can be had. `optimal` is for small tables. `ipcsd` goes
    by halves over `primal`, for either model.

    >>> from treeanon.hierarchy import Hierarchy
    >>> from treeanon.table import Table
    >>> columns = {"age": (["1", "2", "3", "4"], Hierarchy.flat("1234")), "ill": (list("fafb"), Hierarchy.flat("fab"))}
    >>> table = Table.of_texts(columns, roles={"ill": "sensitive"})
    >>> search(Problem(table, (FrequencyDiversity(1),)), max_loss=0.4, form="set").models
    (FrequencyDiversity(column=None, l=2),)
    """
    if method not in DUAL_METHODS or primal not in PRIMALS:
        raise UsageError(f"the dual problem has the methods {', '.join(DUAL_METHODS)}; primal: {', '.join(PRIMALS)}")
    limits(problem, max_loss)
    diverse = isinstance(problem.models[0], FrequencyDiversity)
    if method == "ipcsd" or not diverse:
        asked: Callable[..., Found] = partial(mondrian, style=style)
        if method != "ipcsd" or primal == "onedim":
            own = l_diverse if diverse else k_anonymous
            order = _once(problem, form, style) if order == "best" else order
            asked = partial(own, order=order, columns=columns, form=form, style=style)
        reached = ipcsd(problem, asked, max_loss, form=form)
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
    """The best order for the least privacy asked for, which every try then takes: to choose costs more than to cut."""
    if isinstance(problem.models[0], KAnonymity):
        return ordered(problem.table, k=k_asked(problem, "1-D"), form=form, style=style).name
    least, column = wanted(problem)
    return best_order(problem.table, column, least, form, style)


def optimal(line: Line, least: int, max_loss: float) -> tuple[int, Ints, float]:
    """The largest ℓ within the loss, its best groups in the order, and what they lose."""
    levels = list(range(1, max(line.most, least) + 1))
    best = Optimal.of(line.costs, line.values, line.count, levels)
    privacy = largest(best, max_loss)
    if privacy < least:
        raise _too_little(max_loss)
    group, counts = best_of(line, privacy, "optimal")
    return privacy, group, float(counts["gcp"])


def adjusted(line: Line, least: int, max_loss: float) -> tuple[int, Ints, float]:
    """The largest ℓ within the loss that the linear heuristic reaches with swaps, its groups, and what they lose."""
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


def _published(problem: Problem, privacy: int, found: Found, counts: dict[str, float | int]) -> Partition:
    assert isinstance(found, Partition)
    models = asking(problem, privacy).models
    return Partition("onedim-dual", models, found.group, found.suppressed, {"privacy": privacy, **counts}, found.style)
