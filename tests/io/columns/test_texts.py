"""Columns of every type become the texts that one would write, or are refused by row."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tests.reference.relational import slow_text
from tests.support.strategies import properties
from treeanon.io.columns.texts import Unreadable, coded


def texts_of(column: pa.ChunkedArray) -> list[str | None]:
    """The text of every row."""
    codes, texts = coded(column)
    assert codes.dtype == np.int32 and len(codes) == len(column)
    assert codes.max(initial=-1) < len(texts) and codes.min(initial=-1) >= -1
    return [None if code < 0 else texts[code] for code in codes.tolist()]


def text_of(values: list[Any], kind: pa.DataType | None = None) -> list[str | None]:
    return texts_of(pa.chunked_array([pa.array(values, kind)]))


VALUES: list[tuple[list[Any], list[pa.DataType]]] = [
    ([0, 1, -1, 127], [pa.int8(), pa.int16(), pa.int64(), pa.float32(), pa.float64(), pa.decimal128(9, 3)]),
    ([2**63 - 1, -(2**63)], [pa.int64(), pa.decimal128(38, 2)]),
    ([2**64 - 1], [pa.uint64(), pa.decimal256(70, 3)]),
    (["", " ", "a", "E", "1.50", "ä", "\U0001f600", "null", "\n"], [pa.string(), pa.large_string(), pa.string_view()]),
    ([1.5, -0.0, 0.0, 1e-7, 1e300, 2.0**63, 1e22, 123456.789, 5e-324], [pa.float64()]),
    ([Decimal("1.50"), Decimal("-0.05"), Decimal("0"), Decimal("100")], [pa.decimal128(9, 2), pa.decimal256(40, 20)]),
    ([Decimal("0.00000001"), Decimal("0")], [pa.decimal128(12, 10)]),
    ([Decimal("12000"), Decimal("-1000"), Decimal("0")], [pa.decimal128(5, -3)]),
    ([True, False], [pa.bool_()]),
    ([dt.date(1, 1, 1), dt.date(1969, 12, 31), dt.date(9999, 12, 31)], [pa.date32(), pa.date64()]),
]


def as_dictionary(part: pa.Array, rnd: Random) -> pa.Array:
    """The array with a dictionary of its own: in any order, with values that no row has, and null among them."""
    values = list(dict.fromkeys(part.to_pylist()))
    values += [None] * (rnd.random() < 0.3)
    rnd.shuffle(values)
    indices = [values.index(value) if value is not None or rnd.random() < 0.5 else None for value in part.to_pylist()]
    indices = [None if index is None or index >= len(values) else index for index in indices]
    return pa.DictionaryArray.from_arrays(pa.array(indices, pa.int8()), pa.array(values, part.type))


def check_texts(rnd: Random) -> None:
    pool, kinds = rnd.choice(VALUES)
    kind = rnd.choice(kinds)
    wraps = rnd.random() < 0.4 and kind != pa.string_view()
    rows: list[Any] = []
    parts = []
    for _ in range(rnd.randint(0, 4)):
        values = rnd.choices([*pool, None], k=rnd.randint(0, 6))
        part = pa.array(values, kind)
        if rnd.random() < 0.3:
            part, values = part[1:], values[1:]
        parts.append(as_dictionary(part, rnd) if wraps else part)
        rows += values
    column = pa.chunked_array(parts, pa.dictionary(pa.int8(), kind) if wraps else kind)
    assert texts_of(column) == [slow_text(value) for value in rows]


test_texts, test_texts_thoroughly = properties(check_texts, 250, 20_000)


def test_numbers() -> None:
    assert text_of([1.5, 2.0, 1e-7, 1e300, -0.0, None]) == ["1.5", "2", "1e-7", "1e300", "0", None]
    assert text_of([0.1, 1e-7, 16777216, None], pa.float32()) == ["0.1", "1e-7", "16777216", None]
    assert text_of([0.5, None], pa.float16()) == ["0.5", None]
    assert text_of([Decimal("1E+3"), Decimal("0")], pa.decimal128(3, -2)) == ["1000", "0"]


def test_dates_and_times() -> None:
    day = dt.datetime(2024, 2, 29, 12, 30)
    for unit in ("s", "ms", "us", "ns"):
        assert text_of([day, None], pa.timestamp(unit)) == ["2024-02-29T12:30:00", None]
        assert text_of([day], pa.timestamp(unit, "UTC")) == ["2024-02-29T12:30:00Z"]
        assert text_of([day], pa.timestamp(unit, "+05:30")) == ["2024-02-29T18:00:00+05:30"]
        assert text_of([day], pa.timestamp(unit, "Europe/Berlin")) == ["2024-02-29T13:30:00+01:00"]
    exact = day.replace(microsecond=10_500)
    assert text_of([exact], pa.timestamp("us")) == ["2024-02-29T12:30:00.0105"]
    assert text_of([exact], pa.timestamp("ns", "UTC")) == ["2024-02-29T12:30:00.0105Z"]
    assert text_of([exact], pa.timestamp("us", "-01:00")) == ["2024-02-29T11:30:00.0105-01:00"]
    assert text_of([exact.time()], pa.time64("us")) == ["12:30:00.0105"]
    assert text_of([dt.time(0, 0)], pa.time32("ms")) == ["00:00:00"]


def test_nothing() -> None:
    assert text_of([None, None], pa.null()) == [None, None]
    assert texts_of(pa.chunked_array([], pa.string())) == []
    assert texts_of(pa.chunked_array([], pa.dictionary(pa.int8(), pa.string()))) == []
    assert text_of(["", None, "x"]) == [None, None, "x"]


def test_dictionaries_of_many_chunks_with_codes_of_few_bits() -> None:
    parts = [pa.array([f"{at} {i}" for i in range(100)]).dictionary_encode() for at in range(3)]
    narrow = [pa.DictionaryArray.from_arrays(part.indices.cast(pa.int8()), part.dictionary) for part in parts]
    assert texts_of(pa.chunked_array(narrow)) == [f"{at} {i}" for at in range(3) for i in range(100)]


SECRET = "s3cret"


@pytest.mark.parametrize(
    ("values", "kind", "what", "row"),
    [
        ([1.5, None, float("nan")], pa.float64(), "not finite", 2),
        ([float("inf"), 1.0], pa.float64(), "not finite", 0),
        ([1.5, -float("inf")], pa.float32(), "not finite", 1),
        ([None, "a", SECRET + "\0", "\0"], pa.string(), "NUL", 2),
        ([None, "a", SECRET + "\0"], pa.dictionary(pa.int8(), pa.string()), "NUL", 2),
        ([0, 2**31 - 1], pa.date32(), "date", 1),
        ([0, 2**62], pa.timestamp("s"), "date", 1),
        ([0, 2**62], pa.timestamp("s", "UTC"), "date", 1),
        ([[SECRET]], pa.list_(pa.string()), "list", -1),
        ([{"a": SECRET}], pa.struct([("a", pa.string())]), "struct", -1),
        ([[("a", SECRET)]], pa.map_(pa.string(), pa.string()), "map", -1),
        ([SECRET.encode()], pa.binary(), "binary", -1),
        ([SECRET.encode()], pa.large_binary(), "large_binary", -1),
        ([SECRET.encode()], pa.binary_view(), "binary_view", -1),
        ([SECRET.encode()], pa.binary(6), "fixed_size_binary", -1),
        ([dt.timedelta(7)], pa.duration("s"), "duration", -1),
        ([(1, 2, 3)], pa.month_day_nano_interval(), "interval", -1),
        ([b"0123456789abcdef"], pa.uuid(), "uuid", -1),
    ],
)
def test_what_has_no_text_is_refused(values: list[Any], kind: pa.DataType, what: str, row: int) -> None:
    for at in range(2):
        parts = [pa.array(values[:at], kind), pa.array(values[at:], kind)]
        with pytest.raises(Unreadable) as caught:
            coded(pa.chunked_array(parts))
        assert caught.value.row == row
        assert what in caught.value.what and SECRET not in str(caught.value)


def test_what_no_row_has_is_not_refused() -> None:
    for values in (["a", "\0"], [1.0, float("nan")]):
        unused = pa.DictionaryArray.from_arrays(pa.array([0, None], pa.int8()), pa.array(values))
        assert texts_of(pa.chunked_array([unused])) == [slow_text(values[0]), None]
