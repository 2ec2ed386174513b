"""Makes person trees out of TPC-H tables: customers with a few of their orders and a few lines of each.

    tpchgen-cli parquet -s 1 --tables=customer,orders,lineitem,part,nation --output-dir=PQ
    python samples/make_tpch.py --parquet PQ --out DIR

DIR/tables holds the chosen rows as tables whose keys fit, DIR/tpch.toml says how they form trees, and
DIR/tpch.trees.jsonl holds these trees. Any scale factor will do: only `lineitem` grows too large to hold, and
it is read in batches. Every choice is a hash of a key and the seed, so a customer's tree is the same however
many persons are asked for. TPC-H gives a third of its customers no orders: they are left out.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

Ints = npt.NDArray[np.int64]
Hashes = npt.NDArray[np.uint64]

MOST_ORDERS = 2
MOST_LINES = 3
ROWS_AT_ONCE = 1 << 20
SCHEMAS = Path(__file__).resolve().parent.parent / "schemas"

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
    people = np.unique(customers)
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
        raise SystemExit(f"{folder}: {table}.parquet lacks {int((rows < 0).sum())} rows that other tables refer to")
    return found.take(rows)


def reduced_tables(
    folder: Path, persons: int | None = None, orders: int = MOST_ORDERS, lines: int = MOST_LINES, seed: int = 1
) -> Tables:
    """Return the tables of at most `persons` customers, with at most so many orders each and lines an order."""
    chosen, people = choose_orders(folder, persons, orders, seed)
    bought = choose_lines(folder, integers(chosen["o_orderkey"]), lines, seed)
    customer = rows_of_table(folder, "customer", ["c_custkey", "c_nationkey"], people)
    nations, parts = np.unique(integers(customer["c_nationkey"])), np.unique(integers(bought["l_partkey"]))
    return Tables(
        customer=customer,
        nation=rows_of_table(folder, "nation", ["n_nationkey", "n_name"], nations),
        orders=chosen,
        lineitem=bought,
        part=rows_of_table(folder, "part", ["p_partkey", "p_mfgr", "p_brand"], parts),
    )


def write_tables(tables: Tables, folder: Path) -> None:
    """Write each table as a Parquet file of its name."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, table in tables.named():
        pq.write_table(table, folder / f"{name}.parquet")


def write_schema(folder: Path) -> Path:
    """Copy the schema and the hierarchy files it names to the folder, and return where the schema is."""
    text = (SCHEMAS / "tpch.toml").read_text("utf-8")
    (folder / "tpch.toml").write_text(text, "utf-8", newline="\n")
    for entry in tomllib.loads(text)["class"]:
        if isinstance(file := entry.get("hierarchy"), str):
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(SCHEMAS / file, folder / file)
    return folder / "tpch.toml"


def write_trees(folder: Path, seed: int) -> int:
    """Read the tables in the folder as trees, write them beside the tables, and return how many there are."""
    import treeanon as ta

    forest = ta.read(folder / "tables", ta.Schema.load(folder / "tpch.toml"))
    ta.write(forest, folder / "tpch.trees.jsonl", force=True, seed=seed)
    return len(forest)


def at_least_one(text: str) -> int:
    """Return a number from 1 on."""
    if (number := int(text)) < 1:
        raise argparse.ArgumentTypeError("must be 1 or more")
    return number


def main() -> None:
    """Write what the command line asks for."""
    parser = argparse.ArgumentParser(description="Make person trees out of TPC-H tables.")
    parser.add_argument("--parquet", type=Path, required=True, help="folder of the TPC-H tables")
    parser.add_argument("--out", type=Path, required=True, help="where the tables, the schema and the trees go")
    parser.add_argument("--persons", type=at_least_one, help="at most so many customers; default: all with orders")
    parser.add_argument("--orders", type=at_least_one, default=MOST_ORDERS, help="at most so many orders a person")
    parser.add_argument("--lines", type=at_least_one, default=MOST_LINES, help="at most so many lines an order")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    tables = reduced_tables(options.parquet, options.persons, options.orders, options.lines, options.seed)
    write_tables(tables, options.out / "tables")
    write_schema(options.out)
    for name, table in tables.named():
        print(f"{options.out / 'tables' / name}.parquet: {table.num_rows} rows")
    print(f"{options.out / 'tpch.trees.jsonl'}: {write_trees(options.out, options.seed)} trees")
    if options.persons is not None and tables.customer.num_rows < options.persons:
        short = options.persons - tables.customer.num_rows
        print(f"{short} persons short; take a larger scale factor", file=sys.stderr)


if __name__ == "__main__":
    main()
