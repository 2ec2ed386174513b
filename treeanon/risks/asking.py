"""The risk of whatever holds persons: trees, tables, and frames of other libraries."""

from __future__ import annotations

from typing import Any

from treeanon.errors import UsageError
from treeanon.forest import Forest
from treeanon.io.columns.frames import table_of
from treeanon.risks.model import Risk
from treeanon.risks.tables import risk_of_table
from treeanon.risks.trees import risk_of_trees
from treeanon.schema import Schema
from treeanon.table import Table


def risk(data: Any, *, schema: Schema | None = None, **asked: Any) -> Risk:
    """Who can be singled out by how much knowledge, in records as they are or in a release.

    Of a `Forest` by the parameters of `risk_of_trees`: k, m, n, seconds, sample, seed. Of a `Table`, or of a frame with
    its schema, by those of `risk_of_table`: k, m, seconds, population.

    >>> import treeanon as ta
    >>> table = ta.Table.of_texts({"age": (["34", "34", "41"], ta.Hierarchy.flat(["34", "41"]))})
    >>> ta.risk(table, k=2).at(1).share
    0.3333333333333333
    """
    if isinstance(data, Forest):
        return risk_of_trees(data, **asked)
    if {"n", "sample", "seed"} & asked.keys():
        raise UsageError("rows have no relations, and all of them are counted: n, sample and seed are of trees")
    if isinstance(data, Table):
        return risk_of_table(data, **asked)
    if schema is None:
        raise UsageError("a frame needs a schema that says what its columns are: risk(frame, schema=…)")
    return risk_of_table(table_of(data, schema), **asked)
