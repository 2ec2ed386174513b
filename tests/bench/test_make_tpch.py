"""The TPC-H person trees: rows chosen from tiny tables keep their keys, and the trees say what the tables say."""

from __future__ import annotations

import datetime
import importlib.util
import random
import subprocess
import sys
from collections import Counter
from decimal import Decimal
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import treeanon as ta
from tests.support.paths import ROOT
from treeanon.bench import tpch as chosen
from treeanon.errors import DataError

SCRIPT = ROOT / "samples" / "make_tpch.py"
MONEY = pa.decimal128(15, 2)

Rows = list[dict[str, Any]]


@pytest.fixture(scope="module")
def tpch() -> ModuleType:
    spec = importlib.util.spec_from_file_location("samples_make_tpch", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def write(folder: Path, name: str, columns: dict[str, tuple[list[Any], pa.DataType]], **options: Any) -> None:
    table = pa.table({column: pa.array(values, form) for column, (values, form) in columns.items()})
    pq.write_table(table, folder / f"{name}.parquet", **options)


@pytest.fixture(scope="module")
def parquet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Forty customers, thirty of whom order, in the types that tpchgen-cli gives; more columns than are wanted."""
    folder = tmp_path_factory.mktemp("pq")
    rnd = random.Random(3)
    write(
        folder,
        "nation",
        {
            "n_nationkey": ([0, 1, 2], pa.int64()),
            "n_name": (["FRANCE", "PERU", "KENYA"], pa.string_view()),
            "n_comment": (["", "", ""], pa.string_view()),
        },
    )
    customers = list(range(1, 41))
    homes = [rnd.randrange(2) for _ in customers]
    write(folder, "customer", {"c_custkey": (customers, pa.int64()), "c_nationkey": (homes, pa.int64())})
    buyers = [rnd.choice(customers[:30]) for _ in range(90)] + customers[:30]
    orders = rnd.sample(range(1, 1000), len(buyers))
    days = [datetime.date(1992, 1, 1) + datetime.timedelta(rnd.randrange(2000)) for _ in orders]
    prices = [Decimal(rnd.randrange(100000, 50000000)) / 100 for _ in orders]
    write(
        folder,
        "orders",
        {
            "o_orderkey": (orders, pa.int64()),
            "o_custkey": (buyers, pa.int64()),
            "o_totalprice": (prices, MONEY),
            "o_orderdate": (days, pa.date32()),
        },
    )
    lines = [(order, number) for order in orders for number in range(1, rnd.randrange(2, 8))]
    write(
        folder,
        "lineitem",
        {
            "l_orderkey": ([order for order, _ in lines], pa.int64()),
            "l_partkey": ([rnd.randrange(1, 21) for _ in lines], pa.int64()),
            "l_linenumber": ([number for _, number in lines], pa.int32()),
            "l_quantity": ([Decimal(rnd.randrange(1, 51)) for _ in lines], MONEY),
        },
        row_group_size=50,
    )
    makers = [rnd.randrange(1, 6) for _ in range(20)]
    write(
        folder,
        "part",
        {
            "p_partkey": (list(range(1, 21)), pa.int64()),
            "p_mfgr": ([f"Manufacturer#{maker}" for maker in makers], pa.string_view()),
            "p_brand": ([f"Brand#{maker}{rnd.randrange(1, 6)}" for maker in makers], pa.string_view()),
        },
    )
    return folder


def rows(folder: Path, name: str) -> Rows:
    found: Rows = pq.read_table(folder / f"{name}.parquet").to_pylist()
    return found


@pytest.fixture(scope="module")
def reduced(tpch: ModuleType, parquet: Path) -> dict[str, Rows]:
    return {name: table.to_pylist() for name, table in chosen.reduced_tables(parquet).named()}


def test_customers_without_orders_are_left_out(reduced: dict[str, Rows]) -> None:
    assert sorted(row["c_custkey"] for row in reduced["customer"]) == list(range(1, 31))


def test_nobody_has_too_many_orders_or_lines_and_nobody_none(tpch: ModuleType, parquet: Path) -> None:
    for most_orders, most_lines in ((2, 3), (1, 1), (4, 7)):
        tables = chosen.reduced_tables(parquet, None, most_orders, most_lines)
        orders, lines = tables.orders.to_pylist(), tables.lineitem.to_pylist()
        per_person = Counter(row["o_custkey"] for row in orders)
        per_order = Counter(row["l_orderkey"] for row in lines)
        assert len(per_person) == 30 and max(per_person.values()) == most_orders
        assert len(per_order) == len(orders) and 1 <= max(per_order.values()) <= most_lines


def test_rows_are_those_of_the_input(reduced: dict[str, Rows], parquet: Path) -> None:
    for name, found in reduced.items():
        there = [{column: row[column] for column in found[0]} for row in rows(parquet, name)]
        assert all(row in there for row in found)
        assert len({str(row) for row in found}) == len(found)


def test_every_key_has_its_row_and_every_looked_up_row_is_wanted(reduced: dict[str, Rows]) -> None:
    def keys(table: str, column: str) -> set[int]:
        return {row[column] for row in reduced[table]}

    assert keys("orders", "o_custkey") == keys("customer", "c_custkey")
    assert keys("lineitem", "l_orderkey") == keys("orders", "o_orderkey")
    assert keys("lineitem", "l_partkey") == keys("part", "p_partkey")
    assert keys("customer", "c_nationkey") == keys("nation", "n_nationkey") == {0, 1}


def test_a_person_is_the_same_however_many_are_asked_for(tpch: ModuleType, parquet: Path) -> None:
    every, few = chosen.reduced_tables(parquet), chosen.reduced_tables(parquet, 7)
    assert few.customer.equals(every.customer.slice(0, 7))
    assert few.orders.equals(every.orders.slice(0, few.orders.num_rows))
    assert few.lineitem.equals(every.lineitem.slice(0, few.lineitem.num_rows))


def test_the_size_of_batches_does_not_matter(parquet: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = chosen.reduced_tables(parquet)
    monkeypatch.setattr(chosen, "ROWS_AT_ONCE", 7)
    assert chosen.reduced_tables(parquet) == whole


def test_another_seed_chooses_others(tpch: ModuleType, parquet: Path) -> None:
    first, second = (chosen.reduced_tables(parquet, 10, seed=seed).customer["c_custkey"] for seed in (1, 2))
    assert first != second


def test_rows_that_are_missing_are_told(tpch: ModuleType, parquet: Path, tmp_path: Path) -> None:
    for path in parquet.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    write(tmp_path, "customer", {"c_custkey": ([1], pa.int64()), "c_nationkey": ([0], pa.int64())})
    with pytest.raises(DataError, match=r"customer\.parquet lacks 29 rows"):
        chosen.reduced_tables(tmp_path)


def test_rows_are_found_by_key(tpch: ModuleType) -> None:
    found = chosen.Rows(np.array([30, 10, 20])).with_keys(np.array([10, 30, 40, 5]))
    assert found.tolist() == [1, 0, -1, -1]
    assert chosen.Rows(np.array([], dtype=np.int64)).with_keys(np.array([1])).tolist() == [-1]


def test_the_schema_comes_with_its_hierarchies(tpch: ModuleType, tmp_path: Path) -> None:
    schema = ta.Schema.load(tpch.write_schema(tmp_path))
    assert [one.name for one in schema.classes] == ["nation", "orderdate", "price", "mfgr", "brand", "quantity"]
    shipped = ROOT / "schemas" / "hierarchies" / "nation.csv"
    assert (tmp_path / "hierarchies" / "nation.csv").read_bytes() == shipped.read_bytes()


def expected_trees(reduced: dict[str, Rows]) -> list[Any]:
    """The trees of the reduced tables, joined row by row."""
    nations = {row["n_nationkey"]: row["n_name"] for row in reduced["nation"]}
    parts = {row["p_partkey"]: row for row in reduced["part"]}

    def merged(nodes: list[Any]) -> list[Any]:
        below: dict[tuple[str, str], list[Any]] = {}
        for name, value, children in nodes:
            below.setdefault((name, value), []).extend(children)
        return [[name, value, merged(children)] for (name, value), children in sorted(below.items())]

    def line(row: dict[str, Any]) -> list[Any]:
        part = parts[row["l_partkey"]]
        quantity = ["quantity", str(int(row["l_quantity"])), []]
        return ["mfgr", part["p_mfgr"], [["brand", part["p_brand"], [quantity]]]]

    def order(row: dict[str, Any]) -> list[Any]:
        own = [line(each) for each in reduced["lineitem"] if each["l_orderkey"] == row["o_orderkey"]]
        price = str(row["o_totalprice"].normalize().__format__("f"))
        return ["orderdate", row["o_orderdate"].isoformat(), [["price", price, []], *own]]

    def person(row: dict[str, Any]) -> list[Any]:
        own = [order(each) for each in reduced["orders"] if each["o_custkey"] == row["c_custkey"]]
        return merged([["nation", nations[row["c_nationkey"]], []], *own])

    return [person(row) for row in reduced["customer"]]


def test_the_command_writes_tables_and_their_trees(parquet: Path, tmp_path: Path, reduced: dict[str, Rows]) -> None:
    command = [sys.executable, str(SCRIPT), "--parquet", str(parquet), "--out", str(tmp_path), "--persons", "31"]
    told = subprocess.run(command, check=True, capture_output=True, text=True)
    assert "30 trees" in told.stdout and "1 persons short" in told.stderr
    schema = ta.Schema.load(tmp_path / "tpch.toml")
    forest = ta.read(tmp_path / "tpch.trees.jsonl", schema)
    assert sorted(map(str, forest.in_text_order().records())) == sorted(map(str, expected_trees(reduced)))
