"""Models of a release as a whole, and of the population whom it is about.

A group by itself does not decide them: only searches that generalize whole columns, one level each, know all groups of
a release at once, and whom of a population they stand for. Others refuse them (`levels` of a search's entry).

Tables whose rows count for several persons each, by a column of numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from treeanon.arrays import Flags, Longs
from treeanon.errors import DataError, UsageError
from treeanon.hierarchy import Flat
from treeanon.privacy.models.model import BaseModel, Model
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
