"""Models of whom of a population a release may single out: k-map, δ-presence, population uniqueness, average risk.

k-map: L. Sweeney, "Computational Disclosure Control: A Primer on Data Privacy Protection", doctoral thesis,
Massachusetts Institute of Technology, 2001; K. El Emam, F. K. Dankar, "Protecting Privacy Using k-Anonymity", Journal
of the American Medical Informatics Association 15(5), 2008.

δ-presence: M. E. Nergiz, M. Atzori, C. Clifton, "Hiding the Presence of Individuals from Shared Databases", SIGMOD
2007.

Population uniqueness: the estimators and their papers are in `treeanon.privacy.uniqueness`.

Average risk, the marketer's: K. El Emam, "Guide to the De-Identification of Personal Health Information", CRC Press,
2013; F. K. Dankar, K. El Emam, "A Method for Evaluating Marketer Re-identification Risk", EDBT/ICDT Workshops (PAIS),
2010.

Also models of a release as a whole, and of the population whom it is about.

A group by itself does not decide them: only searches that generalize whole columns, one level each, know all groups of
a release at once, and whom of a population they stand for. Others refuse them (`levels` of a search's entry).

Also tables whose rows count for several persons each, by a column of numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from treeanon.arrays import Flags, Longs
from treeanon.errors import DataError, UsageError
from treeanon.hierarchy import Flat
from treeanon.privacy.models.model import BaseModel, Model, Number, at_most, exact, shown, whole_number
from treeanon.privacy.uniqueness import ESTIMATORS, Estimator, unique_persons
from treeanon.schema import Schema
from treeanon.schema.controls import Controls
from treeanon.schema.model import ClassSpec, InputSpec
from treeanon.schema.paths import FieldPath, Step
from treeanon.table import Column, Groups, Table

if TYPE_CHECKING:
    from collections.abc import Iterable


class WholeModel(BaseModel):
    """Base class of models that judge a release by the sizes of all of its groups together."""

    def holds(self, groups: Groups) -> Flags:
        """Return True for each group: alone it decides nothing."""
        return np.ones(len(groups), np.bool_)

    def holds_together(self, sizes: Longs) -> bool:
        """Return whether a release of groups of these sizes satisfies the model."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class People:
    """A population: its quasi columns, and how many persons each row counts for."""

    table: Table
    weights: Longs

    @property
    def persons(self) -> int:
        """Return the number of persons."""
        return int(self.weights.sum())


@dataclass(frozen=True)
class PopulationModel(BaseModel):
    """Base class of models that compare groups with the persons of a population who fit them.

    `population` is a table with the same hierarchies, or a file with (at least) the quasi columns, a row a person; or
    with `count`, the name of a column, a row for as many persons as that says: so that counts of a census by general
    values will do. Who has a more general value than a release is not taken to fit it.
    """

    population: Table | str | Path
    count: str = ""

    @property
    def name(self) -> str:
        """Return the model with its parameters, in words."""
        raise NotImplementedError

    @property
    def needs_everybody(self) -> bool:
        """Return whether whoever of the population fits no published group breaks the model."""
        return False

    def holds(self, groups: Groups) -> Flags:
        """Return True for each group: without the population it decides nothing."""
        return np.ones(len(groups), np.bool_)

    def holds_behind(self, persons: Longs, behind: Longs) -> Flags:
        """Return, for groups of so many persons, behind whom so many of the population are, whether each holds."""
        raise NotImplementedError

    def people(self, columns: Sequence[Column]) -> People:
        """Return the population in terms of the quasi columns of a table."""
        if not isinstance(self.population, Table):
            return _read(str(self.population), columns, self.count)
        if self.count:
            raise UsageError(f"{self.name}: a count is a column of a population's file")
        for column in columns:
            other = self.population.column(column.name)
            if other.hierarchy != column.hierarchy or other.covers is not None:
                raise UsageError(f"column {column.name!r}: a population has values of the same hierarchy as the table")
        own = tuple(self.population.column(column.name) for column in columns)
        return People(Table(own), np.ones(len(self.population), np.int64))


def _read(path: str, columns: Sequence[Column], count: str) -> People:
    """Return the population of a file: its values must be nodes of the columns' hierarchies."""
    from treeanon.io.columns.read_table import read_table

    table = read_table(path, counting_schema(columns, count))
    own = Table(tuple(table.column(column.name) for column in columns))
    if not count:
        return People(own, np.ones(len(own), np.int64))
    weights = numbers_in(table.columns[-1])
    if weights is None:
        raise DataError(f"column {count!r}: the counts of a population must be whole numbers from 0", source=path)
    return People(own, weights)


def is_of_whole(model: Model) -> bool:
    """Return whether only searches that generalize whole columns can honor a model."""
    return isinstance(model, WholeModel | PopulationModel)


def refuse_whole(models: Iterable[Model], who: str, able: str = "") -> None:
    """Raise UsageError for models that judge no single groups; `who` cannot honor them, `able` says what can."""
    names = [model.name for model in models if is_of_whole(model)]
    if names:
        raise UsageError(f"{who} judges groups one by one, and {', '.join(names)} is of a release as a whole{able}")


_MOST_DIGITS = 15


def counting_schema(columns: Sequence[Column], count: str) -> Schema:
    """Return the schema of a file of rows with these columns, as they stand in files, and one of counts (if named)."""
    specs = [
        replace(
            column.spec,
            path=FieldPath((Step(column.header),)),
            hierarchy=column.hierarchy,
            hierarchy_source=None,
            under=None,
            on_unknown="error",
            shift="",
            facets={},
            controls=Controls(),
        )
        for column in columns
    ]
    if count in [spec.name for spec in specs] or count in [column.header for column in columns]:
        raise UsageError(f"column {count!r} is a quasi-identifier, and cannot hold the counts of a population")
    if count:
        specs.append(ClassSpec(count, FieldPath((Step(count),)), role="keep", hierarchy=Flat()))
    return Schema(InputSpec("csv"), tuple(specs))


def numbers_in(column: Column) -> Longs | None:
    """Return the whole number in every row, 0 or more; None if there is anything else.

    >>> from treeanon.hierarchy import Hierarchy
    >>> from treeanon.table import Table
    >>> [numbers_in(Table.of_texts({"n": (t, Hierarchy.flat(t))}).columns[0]) for t in (["3", "10"], ["3", "-1"])]
    [array([ 3, 10]), None]
    """
    used, row = np.unique(column.codes, return_inverse=True)
    texts = ["" if code < 0 else column.values[code] for code in used.tolist()]
    if not all(text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS for text in texts):
        return None
    found: Longs = np.array([int(text) for text in texts], np.int64)[row]
    return found


@dataclass(frozen=True)
class KMap(PopulationModel):
    """Every published row fits at least k persons of a population, of whom those in the table are a part.

    Whoever does not know that a person is in the table finds k persons. Weaker than k-anonymity where the table is a
    part of the population.

    Monotone: whoever fits a group fits any that it is merged into.

    >>> KMap("town.csv", k=5).name
    '5-map'
    """

    k: int = field(kw_only=True)

    def __post_init__(self) -> None:
        whole_number("k", self.k)

    @property
    def name(self) -> str:
        """Return the name, such as 5-map."""
        return f"{self.k}-map"

    @property
    def is_monotone(self) -> bool:
        """Return True: more persons of the population fit a union."""
        return True

    def holds_behind(self, persons: Longs, behind: Longs) -> Flags:
        """Return whether each group has enough persons of the population behind it."""
        return np.asarray(behind >= self.k, np.bool_)


@dataclass(frozen=True)
class DeltaPresence(PopulationModel):
    """Of the population's persons who fit a group, a share from δmin to δmax is in the table.

    So nobody can be told to be in the table with more confidence than δmax, or to be missing from it with more than
    1 - δmin. With a δmin above 0 this speaks of everybody in the population: whoever fits no published group is known
    to be missing. For releases in which groups do not overlap, as those by levels.

    Monotone where nothing is suppressed: the share of a union lies between those of its parts.

    >>> DeltaPresence("town.csv", max=0.5).name, DeltaPresence("town.csv", min=0.1, max=0.5).name
    ('(0, 0.5)-presence', '(0.1, 0.5)-presence')
    """

    max: Number = field(kw_only=True)
    min: Number = field(default=0, kw_only=True)

    def __post_init__(self) -> None:
        if exact("min", self.min, 0, 1) > exact("max", self.max, 0, 1):
            raise UsageError("the min of δ-presence must not be above its max")

    @property
    def name(self) -> str:
        """Return the name, such as (0.1, 0.5)-presence."""
        return f"({shown(self.min)}, {shown(self.max)})-presence"

    @property
    def is_monotone(self) -> bool:
        """Return True: the share of a union lies between those of its parts."""
        return True

    @property
    def needs_everybody(self) -> bool:
        """Return whether the shares of those who are missing are bounded from below."""
        return exact("min", self.min) > 0

    def holds_behind(self, persons: Longs, behind: Longs) -> Flags:
        """Return whether the share of each group is within the bounds."""
        return at_most(persons, behind, exact("max", self.max)) & ~_is_less(persons, behind, exact("min", self.min))


def _is_less(part: Longs, of: Longs, limit: Number) -> Flags:
    over, under = exact("min", limit).as_integer_ratio()
    return np.array([p * under < w * over for p, w in zip(part.tolist(), of.tolist(), strict=True)], np.bool_)


@dataclass(frozen=True)
class PopulationUniqueness(WholeModel):
    """Of a population, from which the table is a random sample, at most a share is estimated to be unique.

    `population` is its number of persons. Where the estimator has no solution, nothing is known, and the model fails.
    Not monotone: nothing binds an estimate for a generalization.

    >>> PopulationUniqueness(0.01, 100000).name
    'population uniqueness of at most 0.01 among 100,000 (dankar)'
    """

    share: Number
    population: int
    estimator: Estimator = "dankar"

    def __post_init__(self) -> None:
        exact("share", self.share, 0, 1)
        whole_number("population", self.population)
        if self.estimator not in ESTIMATORS:
            raise UsageError(f"the estimator must be one of {', '.join(ESTIMATORS)}")

    @property
    def name(self) -> str:
        """Return what is bounded, in words."""
        return f"population uniqueness of at most {shown(self.share)} among {self.population:,} ({self.estimator})"

    def holds_together(self, sizes: Longs) -> bool:
        """Return whether the estimate is within the bound."""
        found = unique_persons(sizes, self.population, self.estimator)
        return found is not None and found <= exact("share", self.share) * self.population


@dataclass(frozen=True)
class AverageRisk(WholeModel):
    """Whoever guesses for all persons of a release is right for a share of at most so many.

    A person in a group of f is found with chance 1/f, so that the mean over all persons is the number of groups by that
    of persons. Single persons may be found with any chance: ask for k-anonymity beside it.

    Monotone where nothing is suppressed: a generalization has no more groups, of the same persons.

    >>> import numpy as np
    >>> AverageRisk(0.4).name, AverageRisk(0.4).holds_together(np.array([1, 4]))
    ('average risk of at most 0.4', True)
    """

    share: Number

    def __post_init__(self) -> None:
        exact("share", self.share, 0, 1, above=True)

    @property
    def name(self) -> str:
        """Return what is bounded, in words."""
        return f"average risk of at most {shown(self.share)}"

    @property
    def is_monotone(self) -> bool:
        """Return True: the same persons are in fewer groups."""
        return True

    def holds_together(self, sizes: Longs) -> bool:
        """Return whether there are few enough groups for so many persons."""
        return len(sizes) <= exact("share", self.share) * int(sizes.sum())
