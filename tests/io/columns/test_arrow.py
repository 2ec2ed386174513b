"""Parquet files: types, texts that are none, and damaged files."""

from __future__ import annotations

import datetime
import random
import traceback
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from treeanon.errors import DataError, TreeanonError
from treeanon.io.columns.arrow import ParquetFile

WORD = "Zwischenfall"


def refused(action: Callable[[], object]) -> str:
    with pytest.raises(DataError) as caught:
        action()
    assert WORD not in "".join(traceback.format_exception(caught.value))
    return str(caught.value)


def a_file(folder: Path, table: pa.Table, **options: Any) -> ParquetFile:
    pq.write_table(table, folder / "t.parquet", **options)
    return ParquetFile(folder / "t.parquet", "t.parquet")


DICTIONARY = pa.dictionary(pa.int32(), pa.string())
DAY, TIME = datetime.date(2024, 2, 29), datetime.time(1, 2, 3)
COLUMNS: dict[str, tuple[pa.Array, pa.DataType, list[Any]]] = {
    "text": (pa.array(["x", None, "x"]), DICTIONARY, ["x", None, "x"]),
    "large": (pa.array(["x", None, "x"], pa.large_string()), DICTIONARY, ["x", None, "x"]),
    "view": (pa.array(["x", None, "x"], pa.string_view()), DICTIONARY, ["x", None, "x"]),
    "coded": (pa.array(["x", None, "x"]).dictionary_encode(), DICTIONARY, ["x", None, "x"]),
    "bytes": (pa.array([b"x", None, b"x"]), DICTIONARY, ["x", None, "x"]),
    "small": (pa.array([1, None, 3], pa.int8()), pa.int8(), [1, None, 3]),
    "unsigned": (pa.array([1, None, 3], pa.uint64()), pa.int64(), [1, None, 3]),
    "huge": (pa.array([1, None, 2**64 - 1], pa.uint64()), pa.string(), ["1", None, str(2**64 - 1)]),
    "half": (pa.array([1.5, None, 3], pa.float16()), pa.float32(), [1.5, None, 3.0]),
    "exact": (pa.array([Decimal("1.50"), None, Decimal(2)]), pa.decimal128(3, 2), [Decimal("1.50"), None, Decimal(2)]),
    "flag": (pa.array([True, None, False]), pa.bool_(), [True, None, False]),
    "day": (pa.array([DAY, None, DAY]), pa.date32(), [DAY, None, DAY]),
    "hour": (pa.array([TIME, None, TIME]), pa.string(), ["01:02:03.000000", None, "01:02:03.000000"]),
    "none": (pa.nulls(3), pa.string(), [None, None, None]),
    "a.b": (pa.array([1, 2, 3]), pa.int64(), [1, 2, 3]),
}


def test_types(tmp_path: Path) -> None:
    file = a_file(tmp_path, pa.table({name: column for name, (column, _, _) in COLUMNS.items()}))
    assert file.columns == tuple(COLUMNS)
    read = file.read(file.columns)
    for name, (_, kind, expected) in COLUMNS.items():
        assert (read.schema.field(name).type, read[name].to_pylist()) == (kind, expected), name
    assert file.read(["day", "text"]).column_names == ["day", "text"]
    assert file.read([]).num_rows == 3


@pytest.mark.parametrize(
    ("column", "words"),
    [
        (pa.array([[1], [2]]), "t.parquet, a: values of the kind list<"),
        (pa.array([{"x": WORD}]), "t.parquet, a: values of the kind struct<"),
        (pa.array([datetime.timedelta(1)]), "t.parquet, a: values of the kind duration"),
        (pa.array([b"x" * 16], pa.binary(16)), "t.parquet, a: values of the kind fixed_size_binary"),
        (pa.array([1.0, None, float("nan")]), "t.parquet, row 3, a: is not a number"),
        (pa.array([1.0, float("-inf")]), "t.parquet, row 2, a: is not a number"),
        (pa.array([WORD, WORD + "\0"]), "t.parquet, row 2, a: holds a NUL"),
        (pa.array([b"x", None, WORD.encode() + b"\xff"]), "t.parquet, row 3, a: is not UTF-8"),
        (pa.array([b"x", WORD.encode() + b"\xff"]).view(pa.string()), "t.parquet, row 2, a: is not UTF-8"),
    ],
)
def test_what_no_value_can_be(column: pa.Array, words: str, tmp_path: Path) -> None:
    file = a_file(tmp_path, pa.table({"a": column, "b": pa.array(range(len(column)))}))
    assert words in refused(lambda: file.read(["a"]))
    assert file.read(["b"]).num_rows == len(column)


def test_rows_are_counted_over_groups(tmp_path: Path) -> None:
    values = [f"v{i % 9}" for i in range(10_000)]
    file = a_file(tmp_path, pa.table({"a": values, "n": range(10_000)}), row_group_size=999)
    assert file.read(["a"])["a"].cast(pa.string()).to_pylist() == values
    assert len(file.read(["a"])["a"].chunk(0).dictionary) == 9
    assert file.read(["n"], 1500)["n"].to_pylist() == list(range(1500))
    assert file.read(["n"], 0).num_rows == 0 and file.read([], 5).num_rows == 5
    values[7777] = "\0"
    assert "row 7778, a: holds a NUL" in refused(lambda: a_file(tmp_path, pa.table({"a": values})).read(["a"]))


def test_columns_named_twice(tmp_path: Path) -> None:
    table = pa.table([pa.array([1]), pa.array([2])], names=["a", "a"])
    assert "has columns without a name or with the same name: 'a'" in refused(lambda: a_file(tmp_path, table))


def test_columns_that_are_declared_and_missing(tmp_path: Path) -> None:
    a_file(tmp_path, pa.table({"a": [1]}))
    message = refused(lambda: ParquetFile(tmp_path / "t.parquet", "t.parquet", ["a", "b"]))
    assert message == "t.parquet: has no column 'b' as in datapackage.json; it has: 'a'"


def test_an_empty_file_of_rows(tmp_path: Path) -> None:
    file = a_file(tmp_path, pa.table({"a": pa.array([], pa.string()), "b": pa.array([], pa.int64())}))
    assert file.read(["b", "a"]).num_rows == 0 and file.read([]).num_rows == 0


def test_damaged(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    a_file(tmp_path, pa.table({"a": [f"{WORD}{i}" for i in range(500)], "b": range(500)}), compression="zstd")
    data = path.read_bytes()
    chance = random.Random(7)
    broken = [data[:cut] for cut in range(0, len(data), 61)]
    for _ in range(200):
        at = chance.randrange(len(data))
        broken.append(data[:at] + bytes([chance.randrange(256)]) + data[at + 1 :])
    for content in broken:
        path.write_bytes(content)
        try:
            file = ParquetFile(path, "t.parquet")
            file.read(file.columns)
        except TreeanonError as problem:
            assert WORD not in "".join(traceback.format_exception(problem))
        else:
            assert len(content) == len(data)
