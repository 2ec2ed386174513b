"""The check of models that judge a release as a whole, or by a population: counted from the release and that."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from treeanon.arrays import Flags, Longs
from treeanon.errors import UsageError
from treeanon.privacy.models import AverageRisk, DeltaPresence, KMap, Model, PopulationUniqueness
from treeanon.privacy.models.model import exact
from treeanon.privacy.models.whole import PopulationModel, WholeModel
from treeanon.privacy.uniqueness import unique_persons
from treeanon.table import Table
from treeanon.verifier.population import groups_fitting, population_counts


def failing_of_whole(table: Table, alike: Longs, persons: Longs, model: Model) -> Flags:
    """Return which groups fail a model of the whole: all of them, if it is of no single ones that it fails.

    `alike` has the number of the group of each row, and `persons` how many are in each.
    """
    if isinstance(model, WholeModel):
        return np.full(len(persons), not _together(model, persons), np.bool_)
    assert isinstance(model, PopulationModel), "the model is of a whole release"
    people = model.people(table.quasi)
    groups = table.take(np.unique(alike, return_index=True)[1])
    behind = population_counts(groups, people.table, people.weights)
    fails: Flags = np.array(
        [not _behind(model, *pair) for pair in zip(persons.tolist(), behind.tolist(), strict=True)], np.bool_
    )
    if isinstance(model, DeltaPresence):
        fitting = groups_fitting(groups, people.table)
        counted = people.weights > 0
        if (fitting[counted] > 1).any():
            raise UsageError(
                f"{model.name} is for releases whose groups do not overlap: here some of the population fit several"
            )
        if exact("min", model.min) > 0 and (fitting[counted] == 0).any():
            return np.ones(len(persons), np.bool_)
    return fails


def is_checked(model: Model) -> bool:
    """Return whether there is a check for a model of the whole."""
    return any(kind in _TOGETHER or kind in _BEHIND for kind in type(model).__mro__)


def _together(model: WholeModel, persons: Longs) -> bool:
    check = next(_TOGETHER[kind] for kind in type(model).__mro__ if kind in _TOGETHER)
    return check(model, persons)


def _behind(model: PopulationModel, persons: int, behind: int) -> bool:
    check = next(_BEHIND[kind] for kind in type(model).__mro__ if kind in _BEHIND)
    return check(model, persons, behind)


def _average(model: AverageRisk, persons: Longs) -> bool:
    limit = exact("share", model.share)
    return len(persons) * limit.denominator <= limit.numerator * int(persons.sum())


def _uniqueness(model: PopulationUniqueness, persons: Longs) -> bool:
    found = unique_persons(persons, model.population, model.estimator)
    return found is not None and found <= exact("share", model.share) * model.population


def _map(model: KMap, persons: int, behind: int) -> bool:
    return behind >= model.k


def _presence(model: DeltaPresence, persons: int, behind: int) -> bool:
    return exact("min", model.min) * behind <= persons <= exact("max", model.max) * behind


_TOGETHER: dict[type, Callable[[Any, Longs], bool]] = {
    AverageRisk: _average,
    PopulationUniqueness: _uniqueness,
}
_BEHIND: dict[type, Callable[[Any, int, int], bool]] = {KMap: _map, DeltaPresence: _presence}
