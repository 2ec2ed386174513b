"""Keys as texts are equal, or cannot be compared, as the joins of one machine have it; no Spark is needed for that."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from tests.support.strategies import properties
from treeanon.io.columns.arrow import plain_column
from treeanon.io.columns.python_values import row_errors
from treeanon.io.relational.plan import DANGLING, NULL, KeyClash, find_targets
from treeanon.spark.relational_read.columns import ColumnSummary, InvalidTable, TableSelection, report_row, texts_of

KINDS: list[tuple[list[Any], list[pa.DataType]]] = [
    ([0, 1, 2, -1, 2**31 - 1], [pa.int32(), pa.int64(), pa.decimal128(12, 0), pa.decimal128(12, 2), pa.float64()]),
    ([0, 1, 2**53 + 1, -(2**63), 2**63 - 1], [pa.int64(), pa.decimal128(20, 0)]),
    ([0.0, -0.0, 1.0, 0.5, 0.1, 1e300, -2.0], [pa.float64()]),
    ([0.0, 1.0, 0.5, 0.1], [pa.float32(), pa.float64()]),
    ([Decimal("0.50"), Decimal(1), Decimal("1.5"), Decimal("-0.1")], [pa.decimal128(9, 2), pa.decimal256(50, 5)]),
    (["", "1", "a", "1.0", "é"], [pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())]),
    ([dt.date(2020, 1, 1), dt.date(1969, 12, 31)], [pa.date32(), pa.date64()]),
    ([True, False], [pa.bool_()]),
    ([dt.datetime(2020, 1, 1, 0, 0, 1)], [pa.timestamp("s"), pa.timestamp("us"), pa.timestamp("us", "UTC")]),
]


def draw_column(rnd: Random) -> pa.ChunkedArray:
    values, kinds = rnd.choice(KINDS)
    drawn = rnd.choices([*values, None] if rnd.random() < 0.9 else [None], k=rnd.randint(1, 6))
    column = pa.chunked_array([pa.array(drawn, rnd.choice(kinds))])
    return plain_column("key", column, row_errors("columns"))


def as_read(column: pa.ChunkedArray, rnd: Random) -> tuple[list[str | None], ColumnSummary]:
    """The texts of keys, read in blocks."""
    selection, seen = TableSelection("table", ("key",), ()), dict[str, ColumnSummary]()
    texts: list[str | None] = []
    while len(texts) < len(column):
        part = column.slice(len(texts), rnd.randint(1, 6))
        batch = texts_of(pa.table({"key": part}), len(texts), selection, seen)
        assert batch.column(0).to_pylist() == list(range(len(texts), len(texts) + len(part)))
        texts += batch.column(2).to_pylist()
    return texts, seen["key"]


def check_keys(rnd: Random) -> None:
    own, target = draw_column(rnd), draw_column(rnd)
    # Nought is one number, though floats have two of it.
    first = {value: row for row, value in reversed(list(enumerate(target.to_pylist())))}
    target = target.take(pa.array(sorted(first.values())))
    (texts, seen), (others, target_seen) = as_read(own, rnd), as_read(target, rnd)
    try:
        expected = find_targets([own], [target]).tolist()
    except KeyClash as clash:
        assert seen.clash(target_seen) == (clash.own, clash.target)
        return
    assert seen.clash(target_seen) is None
    found = [NULL if text is None else others.index(text) if text in others else DANGLING for text in texts]
    assert found == expected


test_keys, test_keys_thoroughly = properties(check_keys, 500)


def test_values_are_texts_and_marks_are_looked_at() -> None:
    selection = TableSelection("table", (), ("age", "mark"), "mark")
    found = pa.table({"age": pa.array([1.5, None, 2.0]), "mark": pa.array([1, 0, 1])})
    batch = texts_of(found, 7, selection, {})
    assert batch.to_pydict() == {
        "row": [7, 8, 9],
        "report": [None] * 3,
        "v0": ["1.5", None, "2"],
        "v1": ["1", "0", "1"],
    }
    assert report_row(selection, b"x").schema == batch.schema
    with pytest.raises(InvalidTable, match="must be 1 for a person") as caught:
        texts_of(found.set_column(1, "mark", pa.array([1, None, 1])), 0, selection, {})
    assert (caught.value.path, caught.value.row) == ("table.mark", 1)
