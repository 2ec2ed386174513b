"""The risk of whatever holds persons: trees, tables, and data of other libraries."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypedDict, Unpack, overload

from treeanon.errors import UsageError
from treeanon.forest import Forest
from treeanon.progress import Progress
from treeanon.risks.model import Risk
from treeanon.risks.tables import risk_of_table
from treeanon.risks.trees import risk_of_trees
from treeanon.schema.load import SchemaLike
from treeanon.table import Table
from treeanon.table.compared import schema_as_published

if TYPE_CHECKING:
    from treeanon.io.given import Data


class RiskParameters(TypedDict, total=False):
    """Parameters of the risk of any data."""

    k: int
    m: int
    seconds: float | None
    progress: Progress | None


class TreeRiskParameters(RiskParameters, total=False):
    """Parameters of the risk of trees."""

    n: int
    sample: int | None
    seed: int | None
    jobs: int | None


class RowRiskParameters(RiskParameters, total=False):
    """Parameters of the risk of rows."""

    population: Table | None
    population_size: int | None


@overload
def risk(data: Forest, **parameters: Unpack[TreeRiskParameters]) -> Risk: ...
@overload
def risk(data: Table, **parameters: Unpack[RowRiskParameters]) -> Risk: ...
@overload
def risk(data: Data, *, schema: SchemaLike, **parameters: Unpack[TreeRiskParameters]) -> Risk: ...
@overload
def risk(data: Data, *, schema: SchemaLike, **parameters: Unpack[RowRiskParameters]) -> Risk: ...
def risk(
    data: Any,
    *,
    schema: SchemaLike | None = None,
    k: int = 5,
    m: int = 4,
    n: int | None = None,
    seconds: float | None = 30.0,
    sample: int | None = None,
    seed: int | None = None,
    population: Any = None,
    population_size: int | None = None,
    jobs: int | None = None,
    progress: Progress | None = None,
    **unknown: Any,
) -> Risk:
    """Return who can be singled out by how much knowledge, in records as they are or in a release.

    What is trees and what rows is as for `treeanon.anonymize`.

    Parameters
        data: a Forest, a Table, or data with a schema as `treeanon.anonymize` takes them.
        schema: what is in the data, where they are no Forest or Table: a Schema, the path of one, or its TOML text.
        k: persons are at risk whom some knowledge tells from all but fewer than k persons, themselves counted.
        m: the most values of a person that are known.
        n: trees: the most relations between them that are known (default 3).
        seconds: the time to take (None: however long it takes). Trees: for more persons than fit a sample is decided.
            Rows: larger sets of columns that do not fit are left out.
        sample: trees: the size of the sample, instead of what the time allows.
        seed: trees: makes the sample repeatable.
        population: rows: all persons of whom those in the data are a part, as a Table by the same hierarchies.
        population_size: rows: their number, where nothing else is known of them: estimates how many are unique.
        jobs: trees: the number of cores to use (default: all).
        progress: a function of what is done and of how much (None: nobody knows).

    >>> import treeanon as ta
    >>> table = ta.Table.of_texts({"age": (["34", "34", "41"], ta.Hierarchy.flat(["34", "41"]))})
    >>> ta.risk(table, k=2).at(1).share
    0.3333333333333333
    """
    if unknown:
        raise UsageError(
            f"unknown parameter {next(iter(unknown))!r}; choose from"
            " k, m, n, seconds, sample, seed, population, population_size, jobs, progress"
        )
    if not isinstance(data, Forest | Table):
        # What is published is compared by its texts, as it stands; only a population shares its hierarchies.
        from treeanon.io.given import Given

        given = Given.of(data, schema, jobs=jobs)
        if population is None:
            given = replace(given, schema=schema_as_published(given.schema))
        data = given.read(rows=given.is_rows)
    if isinstance(data, Table):
        if n is not None or sample is not None or seed is not None:
            raise UsageError("rows have no relations, and all of them are counted: n, sample and seed are of trees")
        return risk_of_table(
            data, k=k, m=m, seconds=seconds, population=population, population_size=population_size, progress=progress
        )
    if population is not None or population_size is not None:
        raise UsageError("population: only for rows, and these data are trees")
    relations = 3 if n is None else n
    return risk_of_trees(
        data, k=k, m=m, n=relations, seconds=seconds, sample=sample, seed=seed, jobs=jobs, progress=progress
    )
