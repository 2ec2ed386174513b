"""The package's own functions: one name each for trees, tables and frames of other libraries."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, overload

from treeanon.algorithms.table.registry import TABLE_ALGORITHMS
from treeanon.algorithms.tree.registry import TREE_ALGORITHMS, TREE_DEFAULT
from treeanon.algorithms.tree.solution import Solution
from treeanon.errors import UsageError
from treeanon.forest import Forest
from treeanon.io.columns.frames import table_of
from treeanon.privacy.models.model import asks_for_size, largest_k
from treeanon.privacy.models.registry import models_of
from treeanon.release.permuted import PermutedRelease
from treeanon.release.table import anonymize_table
from treeanon.release.table_reapply import TableSolution, apply_table
from treeanon.release.table_release import TableRelease
from treeanon.release.tree import anonymize as anonymize_forest
from treeanon.release.tree_reapply import apply as apply_forest
from treeanon.release.tree_release import Release
from treeanon.schema import Schema
from treeanon.spark.interface import are_dataframes, engine_named, is_dataframe
from treeanon.table import Table
from treeanon.table.permuted import Permuted
from treeanon.verifier.freeform import verify_freeform
from treeanon.verifier.permuted import PermutedVerdict, verify_permuted
from treeanon.verifier.table import TableVerdict, verify_table
from treeanon.verifier.tree import verify as verify_forest
from treeanon.verifier.verdict import Verdict


@overload
def anonymize(data: Forest, *, algorithm: str | None = None, **asked: Any) -> Release: ...
@overload
def anonymize(
    data: Table, *, publish: Literal["permuted"], algorithm: str | None = None, **asked: Any
) -> PermutedRelease: ...
@overload
def anonymize(data: Table, *, algorithm: str | None = None, **asked: Any) -> TableRelease: ...
@overload
def anonymize(data: Any, *, schema: Schema, algorithm: str | None = None, **asked: Any) -> Any: ...
def anonymize(data: Any, *, schema: Schema | None = None, algorithm: str | None = None, **asked: Any) -> Any:
    """A checked release of persons; GuaranteeError if there cannot be one.

    - A `Forest` (trees) gives a `Release` that is k^(m,n)-anonymous: parameters of `treeanon.release.anonymize`.
    - A `Table` gives a `TableRelease` in which all models asked for hold: parameters of
      `treeanon.release.anonymize_table`. With `publish="permuted"` it gives a `PermutedRelease`: quasi values as they
      are, and how often each group has each sensitive value; that hides the values, not who is in the table.
    - A frame of pandas, polars, pyarrow or DuckDB, with its schema, gives the published rows as a frame of that kind,
      in random order; permuted, two such frames.
    - A dataframe of Spark, with the schema of its columns, gives the published persons as such a dataframe: trees, or
      rows if the schema is one of rows or the search one of tables. Several, as {table: dataframe}, with a schema of
      tables that has their keys, give persons as rows with nested columns. See `treeanon.spark`.

    >>> import pyarrow as pa, treeanon as ta
    >>> schema = '''
    ... version = 1
    ... [input]
    ... format = "csv"
    ... [[class]]
    ... name = "age"
    ... path = "age"
    ... hierarchy = { prefix = [1] }
    ... '''
    >>> frame = pa.table({"age": ["34", "35", "41", "42"]})
    >>> sorted(anonymize(frame, schema=Schema.loads(schema), k=2)["age"].to_pylist())
    ['3*', '3*', '4*', '4*']
    """
    named: dict[str, Any] = {} if algorithm is None else {"algorithm": algorithm}
    if isinstance(data, Forest):
        if algorithm in TABLE_ALGORITHMS:
            raise UsageError(f"{algorithm} is a search of tables: anonymize(forest.flatten(), …), a row a person")
        return anonymize_forest(data, **named, **asked)
    if schema is not None and (is_dataframe(data) or are_dataframes(data)):
        return engine_named("spark").publish_frame(data, schema, {**named, **asked})
    if algorithm in TREE_ALGORITHMS:
        raise UsageError(
            f"{algorithm} is a search of trees: read the input with treeanon.read; the default is {TREE_DEFAULT}"
        )
    if isinstance(data, Table):
        return anonymize_table(data, **named, **asked)
    if schema is None:
        raise UsageError("a frame needs a schema that says what its columns are: anonymize(frame, schema=…)")
    return anonymize_table(table_of(data, schema), **named, **asked).to_frame(data)


@overload
def verify(data: Forest, *args: Any, **asked: Any) -> Verdict: ...
@overload
def verify(data: Table, *args: Any, **asked: Any) -> TableVerdict: ...
@overload
def verify(data: Permuted, *args: Any, **asked: Any) -> PermutedVerdict: ...
def verify(data: Forest | Table | Permuted, *args: Any, **asked: Any) -> Any:
    """Whether published trees or rows keep a guarantee, whoever made them.

    Of a `Forest` by the parameters of `treeanon.verifier.tree`: k, m, n. Of a `Table` every model asked for, by those
    of `treeanon.privacy.models.registry.models_of`: k, l, t and so on; or `models`. The same of a permuted release
    (`read_permuted`), whose groups must have k persons. A freeform release, in which no rows need look alike, is
    checked against its `original`: verify(released, k=5, original=table).

    >>> import treeanon as ta
    >>> table = ta.Table.of_texts({"age": (["34", "34", "41"], ta.Hierarchy.flat(["34", "41"]))})
    >>> verify(table, k=2).holds
    False
    """
    if isinstance(data, Forest):
        return verify_forest(data, *args, **asked)
    models, original = tuple(asked.pop("models", ())), asked.pop("original", None)
    models = (*models_of(*args, **asked), *models)
    if original is not None:
        if isinstance(data, Permuted) or not models or not all(map(asks_for_size, models)):
            raise UsageError("original is for a freeform release of rows, of which nothing but k can be checked")
        return verify_freeform(original, data, largest_k(models))
    return verify_permuted(data, models) if isinstance(data, Permuted) else verify_table(data, models)


@overload
def apply(solution: Solution | str | Path, data: Forest) -> Release: ...
@overload
def apply(solution: TableSolution | str | Path, data: Table) -> TableRelease: ...
def apply(solution: Any, data: Any) -> Any:
    """The release that a solution, or the file of one, makes of other data; checked for its guarantee.

    GuaranteeError if the guarantee does not hold for these data: the solution was found for others.
    """
    return apply_table(solution, data) if isinstance(data, Table) else apply_forest(solution, data)
