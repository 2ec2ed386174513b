"""What is asked of a release of a table, checked before any work."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from treeanon.algorithms.flat.problem import Problem
from treeanon.algorithms.flat.registry import FLAT_DEFAULT, FlatAlgorithm, flat_algorithm_named
from treeanon.errors import UsageError
from treeanon.privacy.models.model import Model
from treeanon.release.request import persons
from treeanon.schema import Schema
from treeanon.table import Table


@dataclass(frozen=True)
class TableRequest:
    """The models that must hold, the search, how many persons may be left out, and the search's own options.

    `unprotected` says that sensitive columns of which no model speaks are to be published as they are.
    """

    models: tuple[Model, ...]
    algorithm: str = FLAT_DEFAULT
    max_suppressed: int | float | str = 0
    options: Mapping[str, Any] = field(default_factory=dict)
    unprotected: bool = False

    def __post_init__(self) -> None:
        if not self.models:
            raise UsageError("give k, the number of persons that nobody can be told apart among, or another model")
        self.search.check(self.options)
        persons(self.max_suppressed, 10**9)

    @property
    def search(self) -> FlatAlgorithm:
        """The search that is asked for."""
        return flat_algorithm_named(self.algorithm)

    def check(self, schema: Schema) -> None:
        """UsageError if the schema has not the classes that the models need, or sensitive ones that none speaks of."""
        roles = {spec.name: spec.role for spec in schema.classes if spec.published}
        self._check(roles)

    def problem(self, table: Table) -> Problem:
        """What the search has to solve for a table; UsageError if it is not of the kind that was asked for."""
        self._check({column.name: column.role for column in table.columns})
        return Problem(table, self.models, persons(self.max_suppressed, table.persons))

    def _check(self, roles: Mapping[str, str]) -> None:
        if "quasi" not in roles.values():
            raise UsageError("no class of the schema has role quasi: the guarantee would speak of nothing")
        sensitive = [name for name, role in roles.items() if role == "sensitive"]
        spoken = {name for model in self.models for name in (model.sensitive if model.sensitive is not None else ())}
        for name in sorted(spoken):
            if name not in roles:
                raise UsageError(f"there is no class {name!r}; sensitive ones: {', '.join(sensitive) or 'none'}")
            if roles[name] != "sensitive":
                raise UsageError(f"the role of class {name!r} is not sensitive; of that role: {', '.join(sensitive)}")
        if any(model.sensitive == () for model in self.models):
            if not sensitive:
                names = ", ".join(model.name for model in self.models if model.sensitive == ())
                raise UsageError(f"{names} needs a class with role sensitive; the schema has none")
            return
        bare = [name for name in sensitive if name not in spoken]
        if bare and not self.unprotected:
            raise UsageError(
                f"the schema calls {', '.join(bare)} sensitive: ask for a model that keeps the value of a person from"
                " being learnt (--l, --t, --alpha or --p; --l 1 states that none is wanted)"
            )
