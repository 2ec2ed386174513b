"""Person trees of TPC-H, the data of Table I of the paper on trees, and an invented collection of the same shape.

O. Gkountouna and M. Terrovitis, "Anonymizing collections of tree-structured data" (IEEE TKDE 2015), Section IV:
customers with a few of their orders and a few lines of each. Any scale factor will do: only `lineitem` grows too large
to hold, and it is read in batches. Every choice is a hash of a key and the seed, so a customer's tree is the same
however many persons are asked for. TPC-H gives a third of its customers no orders: they are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from treeanon.arrays import unique_values
from treeanon.errors import DataError, UsageError
from treeanon.forest import Forest
from treeanon.hierarchy import Hierarchy
from treeanon.io.memory import forest_of_tables
from treeanon.schema import Schema

Ints = npt.NDArray[np.int64]
Hashes = npt.NDArray[np.uint64]

MOST_ORDERS = 2
MOST_LINES = 3
ROWS_AT_ONCE = 1 << 20

# what each choice is hashed for, so that one says nothing about another
CUSTOMERS, HOW_MANY_ORDERS, ORDERS, HOW_MANY_LINES, LINES = range(1, 6)


@dataclass(frozen=True)
class Tables:
    """The chosen rows: customers in the order of their hashes, each one's orders together, each order's lines."""

    customer: pa.Table
    nation: pa.Table
    orders: pa.Table
    lineitem: pa.Table
    part: pa.Table

    def named(self) -> Iterator[tuple[str, pa.Table]]:
        """Yield each table with its name."""
        for field in fields(self):
            yield field.name, getattr(self, field.name)


def mix(keys: Ints, seed: int, purpose: int) -> Hashes:
    """Return a hash of each key: the finalizer of splitmix64 over key, seed and purpose."""
    with np.errstate(over="ignore"):
        offset = (np.uint64(seed) * np.uint64(64) + np.uint64(purpose)) * np.uint64(0xD1342543DE82EF95)
        x = (keys.astype(np.uint64) + offset + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return np.asarray(x ^ (x >> np.uint64(31)))


def count_up_to(most: int, keys: Ints, seed: int, purpose: int) -> Ints:
    """Return a number from 1 to `most` for each key."""
    return (mix(keys, seed, purpose) % np.uint64(most)).astype(np.int64) + 1


def integers(column: pa.ChunkedArray | pa.Array) -> Ints:
    """Return an integer column."""
    return np.asarray(column.to_numpy(), dtype=np.int64)


class Rows:
    """Where the rows of a column of distinct keys are.

    >>> Rows(np.array([30, 10, 20])).with_keys(np.array([10, 30, 40])).tolist()
    [1, 0, -1]
    """

    def __init__(self, keys: Ints) -> None:
        self._ascending = np.argsort(keys)
        self._sorted = keys[self._ascending]

    def with_keys(self, wanted: Ints) -> Ints:
        """Return the row of each wanted key, and -1 for a key that is not there."""
        if not len(self._sorted):
            return np.full(len(wanted), -1, dtype=np.int64)
        at = np.minimum(np.searchsorted(self._sorted, wanted), len(self._sorted) - 1)
        return np.where(self._sorted[at] == wanted, self._ascending[at], -1)


def first_of_each(group: Ints, order: Hashes, wanted: Ints) -> Ints:
    """Return the positions of the first `wanted[g]` members of each group g, groups ascending."""
    positions = np.lexsort((order, group))
    group = group[positions]
    start = np.searchsorted(group, group)
    return positions[np.arange(len(group)) - start < wanted[group]]


def read_columns(folder: Path, table: str, names: Sequence[str]) -> pa.Table:
    """Return columns of a table, texts as plain strings."""
    found = pq.read_table(folder / f"{table}.parquet", columns=list(names))
    texts = [pa.string() if pa.types.is_string_view(field.type) else field.type for field in found.schema]
    return found.cast(pa.schema(list(zip(names, texts, strict=True))))


def choose_customers(customers: Ints, persons: int | None, seed: int) -> Ints:
    """Return the first `persons` of the keys that orders name, in the order of their hashes."""
    people = unique_values(customers)
    return people[np.argsort(mix(people, seed, CUSTOMERS), kind="stable")][:persons]


def choose_orders(folder: Path, persons: int | None, most: int, seed: int) -> tuple[pa.Table, Ints]:
    """Return the orders of the chosen customers, and these customers' keys."""
    keys = read_columns(folder, "orders", ["o_orderkey", "o_custkey"])
    key, customer = integers(keys["o_orderkey"]), integers(keys["o_custkey"])
    people = choose_customers(customer, persons, seed)
    place = Rows(people).with_keys(customer)
    rows = np.flatnonzero(place >= 0)
    wanted = count_up_to(most, people, seed, HOW_MANY_ORDERS)
    rows = rows[first_of_each(place[rows], mix(key[rows], seed, ORDERS), wanted)]
    values = read_columns(folder, "orders", ["o_orderdate", "o_totalprice"]).take(rows)
    chosen = keys.take(rows)
    for name in values.column_names:
        chosen = chosen.append_column(name, values[name])
    return chosen, people


def choose_lines(folder: Path, orders: Ints, most: int, seed: int) -> pa.Table:
    """Return the lines of these orders, reading the table in batches."""
    file = pq.ParquetFile(folder / "lineitem.parquet")
    names = ["l_orderkey", "l_linenumber", "l_partkey", "l_quantity"]
    order_rows = Rows(orders)
    kept: list[pa.RecordBatch] = []
    owners: list[Ints] = [np.empty(0, dtype=np.int64)]
    for batch in file.iter_batches(batch_size=ROWS_AT_ONCE, columns=names):
        owner = order_rows.with_keys(integers(batch.column("l_orderkey")))
        hits = np.flatnonzero(owner >= 0)
        kept.append(batch.select(names).take(pa.array(hits)))
        owners.append(owner[hits])
    schema = pa.schema([file.schema_arrow.field(name).remove_metadata() for name in names])
    lines = pa.Table.from_batches([pa.record_batch(batch.columns, schema=schema) for batch in kept], schema)
    line = integers(lines["l_orderkey"]) * 8 + integers(lines["l_linenumber"])
    wanted = count_up_to(most, orders, seed, HOW_MANY_LINES)
    return lines.take(first_of_each(np.concatenate(owners), mix(line, seed, LINES), wanted))


def rows_of_table(folder: Path, table: str, names: Sequence[str], wanted: Ints) -> pa.Table:
    """Return the rows whose key, the first of the columns, is wanted, in that order."""
    found = read_columns(folder, table, names)
    rows = Rows(integers(found[names[0]])).with_keys(wanted)
    if (rows < 0).any():
        raise DataError(
            f"{table}.parquet lacks {int((rows < 0).sum())} rows that other tables refer to", source=str(folder)
        )
    return found.take(rows)


def reduced_tables(
    folder: Path, persons: int | None = None, orders: int = MOST_ORDERS, lines: int = MOST_LINES, seed: int = 1
) -> Tables:
    """Return the tables of at most `persons` customers, with at most so many orders each and lines an order."""
    chosen, people = choose_orders(folder, persons, orders, seed)
    bought = choose_lines(folder, integers(chosen["o_orderkey"]), lines, seed)
    customer = rows_of_table(folder, "customer", ["c_custkey", "c_nationkey"], people)
    nations, parts = unique_values(integers(customer["c_nationkey"])), unique_values(integers(bought["l_partkey"]))
    return Tables(
        customer=customer,
        nation=rows_of_table(folder, "nation", ["n_nationkey", "n_name"], nations),
        orders=chosen,
        lineitem=bought,
        part=rows_of_table(folder, "part", ["p_partkey", "p_mfgr", "p_brand"], parts),
    )


NATIONS = {
    "AFRICA": ("ALGERIA", "ETHIOPIA", "KENYA", "MOROCCO", "MOZAMBIQUE"),
    "AMERICA": ("ARGENTINA", "BRAZIL", "CANADA", "PERU", "UNITED STATES"),
    "ASIA": ("CHINA", "INDIA", "INDONESIA", "JAPAN", "VIETNAM"),
    "EUROPE": ("FRANCE", "GERMANY", "ROMANIA", "RUSSIA", "UNITED KINGDOM"),
    "MIDDLE EAST": ("EGYPT", "IRAN", "IRAQ", "JORDAN", "SAUDI ARABIA"),
}
"""The nations of the TPC-H specification by region."""

FIRST_MONTH, MONTHS = np.datetime64("1992-01"), 80
BIN, BINS = 25_000, 20
"""Prices of orders are told by bins of that width; the last bin holds what lies above."""

_SCHEMA = """
version = 1
[input]
format = "tables"
record = "customer"
objects = "merged"
key = [
  "customer.c_nationkey -> nation.n_nationkey",
  "orders.o_custkey -> customer.c_custkey",
  "lineitem.l_orderkey -> orders.o_orderkey",
  "lineitem.l_partkey -> part.p_partkey",
]
[[class]]
name = "nation"
path = "nation.n_name"
[[class]]
name = "orderdate"
path = "orders.o_orderdate"
type = "date"
hierarchy = { dates = ["month", "quarter", "year"] }
[[class]]
name = "price"
path = "orders.o_totalprice"
under = "orderdate"
[[class]]
name = "mfgr"
path = "orders.lineitem.part.p_mfgr"
under = "orderdate"
hierarchy = { flat = true }
[[class]]
name = "brand"
path = "orders.lineitem.part.p_brand"
under = "mfgr"
hierarchy = { prefix = [7] }
[[class]]
name = "quantity"
path = "orders.lineitem.l_quantity"
type = "integer"
under = "brand"
hierarchy = { intervals = [5, 10, 50], min = 0, max = 50 }
"""


def tree_schema() -> Schema:
    """Return the schema of the trees, with hierarchies of about as many labels as the paper's 276."""
    schema = Schema.loads(_SCHEMA)
    paths = [[nation, region, "*"] for region, nations in NATIONS.items() for nation in nations]
    width = BINS // 4
    prices = [[f"price {i + 1:02}", f"prices {i // width + 1}", "*"] for i in range(BINS)]
    own = {"nation": Hierarchy.from_paths(paths), "price": Hierarchy.from_paths(prices)}
    classes = tuple(replace(spec, hierarchy=own.get(spec.name, spec.hierarchy)) for spec in schema.classes)
    return replace(schema, classes=classes)


def forest_of(tables: Tables) -> Forest:
    """Return the trees of tables; dates of orders are months, and prices bins."""
    orders = tables.orders
    months = np.asarray(orders["o_orderdate"].to_numpy(), "datetime64[M]").astype(str)
    price = np.minimum(np.asarray(orders["o_totalprice"].cast(pa.float64())) // BIN, BINS - 1).astype(np.int64)
    columns = {name: orders[name] for name in orders.column_names}
    columns |= {
        "o_orderdate": pa.array(months),
        "o_totalprice": pa.array([f"price {i + 1:02}" for i in price.tolist()]),
    }
    frames = dict(tables.named()) | {"orders": pa.table(columns)}
    quantity = tables.lineitem["l_quantity"].cast(pa.float64()).cast(pa.int64())
    place = tables.lineitem.column_names.index("l_quantity")
    frames["lineitem"] = tables.lineitem.set_column(place, "l_quantity", quantity)
    return forest_of_tables(frames, tree_schema())


def invented(records: int, seed: int = 0) -> Tables:
    """Return invented tables in the shape of the reduced TPC-H ones: everything is drawn evenly, as TPC-H itself is.

    >>> {name: table.num_rows for name, table in invented(100).named()}["nation"]
    25
    """
    rng = np.random.default_rng(seed)
    customers = np.arange(records)
    order_of = np.repeat(customers, rng.integers(1, MOST_ORDERS + 1, records))
    line_of = np.repeat(np.arange(len(order_of)), rng.integers(1, MOST_LINES + 1, len(order_of)))
    names = [nation for nations in NATIONS.values() for nation in nations]
    brands = [(maker, brand) for maker in range(1, 6) for brand in range(1, 6)]
    return Tables(
        customer=pa.table({"c_custkey": customers, "c_nationkey": rng.integers(0, len(names), records)}),
        nation=pa.table({"n_nationkey": np.arange(len(names)), "n_name": names}),
        orders=pa.table(
            {
                "o_orderkey": np.arange(len(order_of)),
                "o_custkey": order_of,
                "o_orderdate": (FIRST_MONTH + rng.integers(0, MONTHS, len(order_of))).astype("datetime64[D]"),
                # Between a uniform draw and a bell, as sums of a few lines' prices are.
                "o_totalprice": rng.uniform(0, BIN * BINS / 2, (2, len(order_of))).sum(axis=0),
            }
        ),
        lineitem=pa.table(
            {
                "l_orderkey": line_of,
                "l_linenumber": np.arange(len(line_of)),
                "l_partkey": rng.integers(0, len(brands), len(line_of)),
                "l_quantity": rng.integers(1, 51, len(line_of)),
            }
        ),
        part=pa.table(
            {
                "p_partkey": np.arange(len(brands)),
                "p_mfgr": [f"Manufacturer#{maker}" for maker, _ in brands],
                "p_brand": [f"Brand#{maker}{brand}" for maker, brand in brands],
            }
        ),
    )


def trees(records: int, parquet: Path | None = None, seed: int = 0) -> Forest:
    """Return the trees of so many persons: of TPC-H tables in a folder, or invented ones."""
    if parquet is None:
        return forest_of(invented(records, seed))
    tables = reduced_tables(parquet, records)
    if tables.customer.num_rows < records:
        raise UsageError(
            f"{parquet} has {tables.customer.num_rows:,} customers with orders, {records:,} are wanted: take a larger"
            " scale factor"
        )
    return forest_of(tables)
