"""What can be moved on the page, as one value that results are kept by.

What is explored: a sample of the persons of an input, and where it comes from.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from treeanon.algorithms.table.registry import TABLE_ALGORITHMS, TABLE_DEFAULT, table_algorithm_named
from treeanon.algorithms.tree.registry import TREE_ALGORITHMS, TREE_DEFAULT, tree_algorithm_named
from treeanon.arrays import Longs
from treeanon.errors import UsageError
from treeanon.forest import Forest
from treeanon.previews.preview import sampled
from treeanon.privacy.guarantee import ATTACKERS, Attacker
from treeanon.privacy.models.registry import models_of
from treeanon.release.table_request import TableRequest, unprotected_by
from treeanon.release.tree_request import Request, persons
from treeanon.table import Table

Kind = Literal["trees", "table"]

QUICK = "0.1"
"""The effort of a first look: a tenth of the usual one, which on a sample is a matter of a moment."""

LARGEST_K, LARGEST_M, LARGEST_N = 100, 4, 3
LARGEST_WEIGHT = 10.0


@dataclass(frozen=True)
class Settings:
    """The guarantee and the search that are looked at; `l` is None where the schema has no sensitive class.

    `weights` has only the classes that do not count for 1. What a search does not take is left out of its request, and
    so of the command line.

    >>> Settings("trees", k=7).request().guarantee.k
    7
    """

    kind: Kind
    k: int = 5
    m: int = 2
    n: int = 1
    attacker: Attacker = "independent"
    l: int | None = None  # noqa: E741 - its name in the literature
    algorithm: str = TREE_DEFAULT
    weights: tuple[tuple[str, float], ...] = ()
    max_suppressed: str = "0"
    effort: str = QUICK

    def __post_init__(self) -> None:
        if self.algorithm not in searches_of(self.kind):
            names = ", ".join(searches_of(self.kind))
            raise UsageError(f"there is no such search of {_NAMED[self.kind]}; there is: {names}")
        if any(not 0 <= weight <= LARGEST_WEIGHT for _, weight in self.weights):
            raise UsageError(f"weights must be numbers from 0 to {LARGEST_WEIGHT:g}")
        persons(self.max_suppressed, 10**9)

    def takes(self, option: str) -> bool:
        """Return whether the search has a use for an option."""
        if self.kind == "table":
            # Its number of walks is another thing than the effort of trees, and is quick as it is.
            return option == "max_suppressed" or (option == "weights" and self._flat.takes(option))
        return tree_algorithm_named(self.algorithm).takes(option)

    @property
    def _flat(self) -> Any:
        return table_algorithm_named(self.algorithm)

    @property
    def options(self) -> dict[str, Any]:
        """The options of the search that are set."""
        out: dict[str, Any] = {}
        if self.weights and self.takes("weights"):
            out["weights"] = dict(self.weights)
        if self.takes("effort"):
            out["effort"] = self.effort
        return out

    @property
    def suppressed(self) -> str:
        """How many may be left out, as far as the search can."""
        return self.max_suppressed if self.takes("max_suppressed") else "0"

    def request(self) -> Request:
        """Return the release of trees that is asked for."""
        return Request(
            self.k, self.m, self.n, self.attacker, self.l,
            algorithm=self.algorithm, max_suppressed=self.suppressed, options=self.options,
        )  # fmt: skip

    def table_request(self) -> TableRequest:
        """Return the release of rows that is asked for."""
        models = models_of(self.k, l=self.l)
        return TableRequest(models, self.algorithm, self.suppressed, self.options, unprotected=unprotected_by(self.l))

    def at(self, k: int) -> Settings:
        """Return the same settings at another k."""
        return replace(self, k=k)


_NAMED = {"trees": "trees", "table": "tables"}


def searches_of(kind: Kind) -> dict[str, str]:
    """Return the searches that can be chosen, by name, each with what it does.

    >>> next(iter(searches_of("trees")))
    'maximal'
    """
    if kind == "trees":
        return {one.name: one.summary for one in TREE_ALGORITHMS.values()}
    return {one.name: one.summary for one in TABLE_ALGORITHMS.values() if not one.needs}


def default_settings(kind: Kind, *, sensitive: bool, **given: Any) -> Settings:
    """Return the settings to begin with: those given, else the library's own; 2-diversity where classes are sensitive.

    >>> default_settings("table", sensitive=True, k=None).l
    2
    """
    named = {name: value for name, value in given.items() if value is not None}
    named.setdefault("algorithm", TREE_DEFAULT if kind == "trees" else TABLE_DEFAULT)
    if sensitive:
        named.setdefault("l", 2)
    return Settings(kind, **named)


def settings_of(fields: Mapping[str, str], kind: Kind, classes: tuple[str, ...], *, sensitive: bool) -> Settings:
    """Return the settings that the fields of the form mean; UsageError if they are not what the form can send.

    The weight of classes[i] is in the field `weight-i`: names of classes are free.

    >>> settings_of({"k": "9", "weight-0": "2.5"}, "trees", ("age",), sensitive=False).weights
    (('age', 2.5),)
    """
    weights = tuple(
        (name, weight) for index, name in enumerate(classes) if (weight := _number(fields, f"weight-{index}", "1")) != 1
    )
    attacker = next((one for one in ATTACKERS if one == fields.get("attacker", ATTACKERS[0])), None)
    if attacker is None:
        raise UsageError(f"attacker must be one of {', '.join(ATTACKERS)}")
    effort = fields.get("effort", QUICK)
    if effort not in EFFORTS:
        raise UsageError(f"effort must be one of {', '.join(EFFORTS)}")
    trees = kind == "trees"
    return Settings(
        kind,
        k=_whole(fields, "k", "5"),
        m=_whole(fields, "m", "2") if trees else 2,
        n=_whole(fields, "n", "1") if trees else 1,
        attacker=attacker if trees else "independent",
        l=_whole(fields, "l", "2") if sensitive else None,
        algorithm=fields.get("algorithm", TREE_DEFAULT if trees else TABLE_DEFAULT),
        weights=weights,
        max_suppressed=fields.get("max_suppressed", "0"),
        effort=effort,
    )


EFFORTS = {QUICK: "a quick look", "1": "usual", "4": "four times the usual"}


def _whole(fields: Mapping[str, str], name: str, default: str) -> int:
    try:
        return int(fields.get(name, default))
    except ValueError:
        raise UsageError(f"{name} must be a whole number") from None


def _number(fields: Mapping[str, str], name: str, default: str) -> float:
    try:
        return float(fields.get(name, default))
    except ValueError:
        raise UsageError("weights must be numbers") from None


@dataclass(frozen=True, eq=False, repr=False)
class ExploredData:
    """The records of `persons` sampled persons, of `total` in the input.

    Record i is record of[i] of the `records` in the input; `of` is None where all are there. `source` and `schema` are
    the names by which the command line knows them, `reading` the options of reading that were given.
    """

    data: Forest | Table
    records: int
    persons: int
    total: int
    of: Longs | None = None
    source: str = "INPUT"
    schema: str = "SCHEMA"
    reading: Mapping[str, Any] = field(default_factory=dict)

    @property
    def kind(self) -> Kind:
        """Whether trees or rows are explored."""
        return "trees" if isinstance(self.data, Forest) else "table"

    @property
    def whole(self) -> bool:
        """Whether all persons of the input are in the sample."""
        return self.of is None

    def place(self, number: int) -> int | None:
        """Return where a record of the input is in the sample, if it is."""
        if self.of is None:
            return number if 0 <= number < self.records else None
        found = np.flatnonzero(self.of == number)
        return int(found[0]) if len(found) else None

    def of_role(self, role: str) -> tuple[str, ...]:
        """Return the published classes of a role."""
        if isinstance(self.data, Table):
            return tuple(column.name for column in self.data.columns if column.role == role)
        return tuple(spec.name for spec in self.data.schema.classes if spec.published and spec.role == role)


def ground_of(data: Forest | Table, sample: int, **named: Any) -> ExploredData:
    """Return the ground of at most so many persons of an input, always the same ones.

    >>> from treeanon.hierarchy import Hierarchy
    >>> table = Table.of_texts({"age": (["34", "41"], Hierarchy.flat(["34", "41"]))})
    >>> ground = ground_of(table, 1)
    >>> len(ground.data), ground.persons, ground.total, ground.whole
    (1, 1, 2, False)
    """
    part, of = sampled(data, sample)
    return ExploredData(part, len(data), _persons(part), _persons(data), of, **named)


def _persons(data: Forest | Table) -> int:
    return data.persons if isinstance(data, Table) else len(data)
