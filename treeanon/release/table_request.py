"""What is asked of a release of a table, checked before any work."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from treeanon.algorithms.table.freeform.graph import refuse_sensitive
from treeanon.algorithms.table.lattice import OTHER_COLUMNS
from treeanon.algorithms.table.problem import Problem
from treeanon.algorithms.table.registry import (
    PERMUTED_DEFAULT,
    TABLE_ALGORITHMS,
    TABLE_DEFAULT,
    TableAlgorithm,
    table_algorithm_named,
)
from treeanon.algorithms.table.result import Result
from treeanon.arrays import Longs
from treeanon.errors import UsageError
from treeanon.hierarchy import Intervals
from treeanon.privacy.models.model import Model, largest_k
from treeanon.privacy.models.population import PopulationModel, refuse_whole
from treeanon.privacy.models.registry import PerColumnNumber, models_of
from treeanon.release.tree_request import persons
from treeanon.schema import ClassSpec, Schema
from treeanon.schema.controls import SETTINGS, controls_of, refuse_controls
from treeanon.schema.persons import refuse_shift
from treeanon.table import Column, Table
from treeanon.table.controls import controls_told, raised, refuse_coarse, told_controls, with_controls
from treeanon.table.published_numbers import microaggregated, with_round_ranges
from treeanon.verifier.controls import GroupBound
from treeanon.verifier.criteria import refuse_unchecked
from treeanon.verifier.permuted import refuse_others

Publish = Literal["generalized", "permuted"]
PUBLISH: tuple[Publish, ...] = ("generalized", "permuted")

_OF_MODELS = ("k", "diversity", "c", "alpha", "p", "t", "emd", "sensitive")


@dataclass(frozen=True)
class TableRequest:
    """The models that must hold, the search, how many persons may be left out, and the search's own options.

    `unprotected` says that sensitive columns of which no model speaks are to be published as they are: all (True), none
    (False), or those of these names. `publish` says how groups are: with general values, or as permutations, which hide
    nothing but the one sensitive column. With `round_ranges` ranges end at intervals of the hierarchies. `controls`
    are those of single columns, which win over those of the schema.
    """

    models: tuple[Model, ...]
    algorithm: str = TABLE_DEFAULT
    max_suppressed: int | float | str = 0
    options: Mapping[str, Any] = field(default_factory=dict)
    unprotected: bool | tuple[str, ...] = False
    publish: Publish = "generalized"
    round_ranges: bool = False
    controls: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.models:
            raise UsageError("k is required (the minimum group size), or another model")
        object.__setattr__(self, "options", self.search.checked(self.options))
        if self.publish not in PUBLISH:
            raise UsageError(f"groups are published as {' or '.join(PUBLISH)}")
        if self.publish == "permuted" and not self.search.groups:
            able = ", ".join(one.name for one in TABLE_ALGORITHMS.values() if one.groups)
            raise UsageError(
                f"algorithm {self.algorithm!r} forms no groups to be published as permutations of a sensitive column;"
                f" these do: {able}"
            )
        if self.publish == "permuted" and self.round_ranges:
            raise UsageError("publishing as permutations changes no value, so there are no ranges to round")
        if self.publish == "permuted" and "max_group_loss" in self.options:
            raise UsageError("publishing as permutations changes no value, so there is no loss of groups to bound")
        for name in ("max_group_loss", "max_loss"):
            if self.round_ranges and name in self.options:
                raise UsageError(f"rounding ranges makes groups lose more: it excludes {name}")
        for model in self.models:
            refuse_unchecked(model)
        if not self.search.levels:
            able = ", ".join(one.name for one in TABLE_ALGORITHMS.values() if one.levels)
            refuse_whole(self.models, f"algorithm {self.algorithm!r}", f"; choose from {able}")
        if self.search.freeform:
            refuse_sensitive(self.algorithm, self.models)
        persons(self.max_suppressed, 10**9)

    def told(self, columns: Iterable[Column]) -> dict[str, Any]:
        """What a release tells of how it was made: the search's own options, and the controls of these columns."""
        more = {"round_ranges": self.round_ranges, "controls": controls_told(columns)}
        return {**self.options, **{name: value for name, value in more.items() if value}}

    @property
    def search(self) -> TableAlgorithm:
        """The search that is asked for."""
        return table_algorithm_named(self.algorithm)

    def check(self, schema: Schema) -> None:
        """UsageError if the schema has not the classes that the models need, or sensitive ones that none speaks of."""
        roles = {spec.name: spec.role for spec in schema.classes if spec.published}
        self._check(roles)
        self._check_controls(schema.classes)
        refuse_shift(schema.classes, "a search of tables")

    def _check_controls(self, specs: Iterable[ClassSpec]) -> None:
        """UsageError for controls of columns that the search does not honor, and for those of no quasi column."""
        known = {spec.name: spec for spec in specs if spec.published}
        for name in self.controls:
            if name not in known or known[name].role != "quasi":
                quasi = ", ".join(spec.name for spec in known.values() if spec.role == "quasi")
                raise UsageError(f"unknown quasi column {name!r}; choose from {quasi}")
        asked = [
            replace(spec, controls=replace(spec.controls, **self.controls.get(spec.name, {})))
            for spec in known.values()
        ]
        if self.publish == "permuted":
            refuse_controls(asked, "publishing as permutations, which changes no value,", ("weight",))
        if self.round_ranges:
            refuse_controls(asked, "rounding ranges", ("weight", "min_level", "style"))
        refuse_controls(asked, f"algorithm {self.algorithm!r}", self.search.honors)
        if names := [spec.name for spec in asked if spec.controls.microaggregate]:
            self._check_microaggregated(names)

    def _check_microaggregated(self, names: Sequence[str]) -> None:
        """UsageError for what does not go with columns of means: a population has values that they do not stand for."""
        of_population = [model.name for model in self.models if isinstance(model, PopulationModel)]
        if of_population:
            raise UsageError(f"microaggregate (class {names[0]!r}) does not go with {', '.join(of_population)}")
        if self.options.get("suppressed") == OTHER_COLUMNS:
            raise UsageError(f"microaggregate (class {names[0]!r}) does not go with suppressed={OTHER_COLUMNS}")

    def controlled(self, table: Table) -> Table:
        """Return the table whose columns have the controls that are asked for; UsageError for those not honored."""
        self._check_controls(column.spec for column in table.columns)
        return with_controls(table, self.controls)

    def problem(self, table: Table) -> Problem:
        """What the search has to solve for a table; UsageError if it is not of the kind that was asked for."""
        table = self.controlled(table)
        self._check({column.name: column.role for column in table.columns})
        refuse_shift((column.spec for column in table.columns), "a search of tables")
        if self.publish == "permuted" and table.persons < len(table):
            raise UsageError("publishing as permutations is for one row a person; reduce the rows of each to one first")
        if table.person_header and table.persons < len(table):
            self._check_rows()
        refuse_coarse(table)
        # Somebody is published: at least one group of the smallest size, however many may be left out.
        room = max(table.persons - max(largest_k(self.models), 1), 0)
        most = self.options.get("max_group_loss")
        return Problem(
            raised(table), self.models, min(persons(self.max_suppressed, table.persons), room), max_group_loss=most
        )

    def _check_rows(self) -> None:
        """UsageError for what cannot be counted in a release whose persons have several rows."""
        if self.search.freeform:
            raise UsageError(f"{self.algorithm} is for one row a person; name a search that forms groups, or of trees")
        names = [model.name for model in self.models if model.compares_with_table]
        if names:
            # A person has a number of its own in every group, so nobody could count the persons of the whole table.
            raise UsageError(f"{', '.join(names)} compares with the whole table, and is for one row a person")

    def _check(self, roles: Mapping[str, str]) -> None:
        if "quasi" not in roles.values():
            raise UsageError("no class of the schema has role quasi: the guarantee would speak of nothing")
        sensitive = [name for name, role in roles.items() if role == "sensitive"]
        spoken = {name for model in self.models for name in (model.sensitive if model.sensitive is not None else ())}
        wanted_bare = () if isinstance(self.unprotected, bool) else self.unprotected
        for name in sorted(spoken | set(wanted_bare)):
            if name not in roles:
                raise UsageError(f"unknown class {name!r}; sensitive ones: {', '.join(sensitive) or 'none'}")
            if roles[name] != "sensitive":
                raise UsageError(f"the role of class {name!r} is not sensitive; of that role: {', '.join(sensitive)}")
        if self.publish == "permuted":
            self._check_permuted(sensitive)
        if any(model.sensitive == () for model in self.models):
            if not sensitive:
                names = ", ".join(model.name for model in self.models if model.sensitive == ())
                raise UsageError(f"{names} needs a class with role sensitive; the schema has none")
            return
        bare = [name for name in sensitive if name not in spoken and name not in wanted_bare]
        if bare and self.unprotected is not True:
            raise UsageError(
                f"the schema calls {', '.join(bare)} sensitive: ask for a model that keeps the value of a person from"
                " being learnt (--l, --t, --alpha or --p; --l 1, or --l CLASS=1, states that none is wanted)"
            )

    def _check_permuted(self, sensitive: list[str]) -> None:
        if len(sensitive) != 1:
            names = ", ".join(sensitive) or "none"
            raise UsageError(f"a table is published as permutations by one sensitive class; the schema has: {names}")
        refuse_others(self.models, sensitive[0])
        if all(model.sensitive is None for model in self.models):
            raise UsageError(
                f"published as permutations, only the values of {sensitive[0]} are hidden: ask for a model of them"
                " (--l, --t, --alpha or --p); -k is then the least size of a group"
            )


def recoded_by(found: Result, table: Table, told: Mapping[str, Any]) -> tuple[Table, Longs]:
    """Return the rows of a table that are published, as they are published, and their numbers in the table.

    `told` is what the release tells of how it was made.
    """
    controlled = with_controls(table, told_controls(told))
    made, rows = found.recoded(raised(controlled))
    made = with_round_ranges(made) if told.get("round_ranges") else made
    return microaggregated(made, controlled.take(rows)), rows


def table_request_of(
    *,
    l: PerColumnNumber | None = None,  # noqa: E741 - its name in the literature
    models: Sequence[Model | str] = (),
    algorithm: str | None = None,
    publish: Publish = "generalized",
    max_suppressed: int | float | str = 0,
    round_ranges: bool = False,
    **asked: Any,
) -> TableRequest:
    """Return the request that keyword parameters make, those of the search among them; None leaves it to the search.

    >>> table_request_of(k=5, algorithm="mondrian", mode="strict").options
    {'mode': 'strict'}
    """
    of_models = {name: asked.pop(name) for name in _OF_MODELS if name in asked}
    controls = controls_of({one.name: asked.pop(one.name) for one in SETTINGS if one.name in asked})
    options = {name: value for name, value in asked.items() if value is not None}
    found = models_of(l=l, models=models, **of_models)
    name = algorithm or default_search(publish)
    bare = unprotected_by(l)
    return TableRequest(found, name, max_suppressed, options, bare, publish, bool(round_ranges), controls)


def group_bound(algorithm: str, options: Mapping[str, Any], columns: Iterable[Column]) -> GroupBound | None:
    """Return how much any group of a release may lose that a search made with these options; None for no bound.

    >>> group_bound("mondrian", {"max_group_loss": 0.2}, ()).name
    'max_group_loss 0.2'
    >>> group_bound("onedim-dual", {"max_loss": 0.2, "bound": "mean"}, ())
    """
    most = options.get("max_group_loss")
    builders = {one.name: one.spec.hierarchy for one in columns if isinstance(one.spec.hierarchy, Intervals)}
    if algorithm == "onedim-dual" and options.get("bound", "group") == "group":
        return GroupBound(float(options["max_loss"]), options.get("form", "taxonomy"), builders)
    return None if most is None else GroupBound(float(most), builders=builders)


def default_search(publish: Publish = "generalized") -> str:
    """Return the search that is taken if none is named.

    >>> default_search("permuted")
    'mondrian'
    """
    return PERMUTED_DEFAULT if publish == "permuted" else TABLE_DEFAULT


def unprotected_by(l: PerColumnNumber | None) -> bool | tuple[str, ...]:  # noqa: E741 - its name in the literature
    """What an l leaves unprotected: all that no model speaks of, or the classes for which it is 1.

    The name "" stands for all that are not named.

    >>> unprotected_by(1), unprotected_by({"ill": 2, "pay": 1}), unprotected_by({"ill": 2, "": 1}), unprotected_by(3)
    (True, ('pay',), True, False)
    """
    if not isinstance(l, Mapping):
        return l == 1
    return l.get("") == 1 or tuple(name for name, value in l.items() if value == 1)
