"""The objectives of the default search, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from treeanon.algorithms.tree.default.asked import QueriesObjective
from treeanon.algorithms.tree.default.frequent import MiningObjective
from treeanon.algorithms.tree.default.objective import Objective, RpdaObjective, RpdObjective
from treeanon.errors import UsageError
from treeanon.forest import Forest
from treeanon.privacy import Guarantee

OBJECTIVES: dict[str, Callable[..., Objective]] = {
    "loss": Objective,
    "rpd": RpdObjective,
    "rpda": RpdaObjective,
    "mining": MiningObjective,
}
NAMES = (*OBJECTIVES, "queries")


def check_objective(name: str, queries: Sequence[str] | None) -> None:
    """Raise UsageError for a name that is none, and where queries and an objective that needs them do not fit."""
    if name not in NAMES:
        raise UsageError(f"objective must be one of {', '.join(NAMES)}")
    if (name == "queries") != bool(queries):
        raise UsageError(
            "objective = queries needs queries (a file of them, or a list)"
            if name == "queries"
            else "queries are for objective = queries"
        )


def objective_of(
    name: str,
    before: Forest,
    guarantee: Guarantee,
    weights: Mapping[str, float] | None = None,
    queries: Sequence[str] | None = None,
    objects_weight: float = 1,
) -> Objective:
    """Return the objective of that name; UsageError for what does not fit."""
    check_objective(name, queries)
    if objects_weight != 1:
        if not 0 <= objects_weight < float("inf"):
            raise UsageError("objects_weight must be a finite number from 0")
        if name != "loss":
            raise UsageError("objects_weight is for objective = loss")
        if not before.classes.types:
            raise UsageError("objects_weight is for whole objects: merged trees have none")
        return Objective(before, guarantee, weights, objects_weight)
    if name == "queries":
        return QueriesObjective(before, guarantee, weights, queries or ())
    return OBJECTIVES[name](before, guarantee, weights)
