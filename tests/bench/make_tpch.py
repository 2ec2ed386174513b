"""Makes person records out of TPC-H tables: customers with a few of their orders and a few lines of each.

    tpchgen-cli parquet -s 10 --tables=customer,orders,lineitem,part,nation --output-dir=PQ
    python tests/bench/make_tpch.py --parquet PQ --out DIR --sizes 100000,1000000 --seed 1

Every choice is a hash of a key and the seed, so a record is the same whatever the sizes, and a smaller
file is a prefix of a larger one. The tables are joined as columns; only `lineitem` is too large to hold,
and is read in batches.

TPC-H gives a third of its customers no orders: scale factor 10 makes 999,982 records, 18 short of a
million. A size that is not reached is written short, and standard error says so.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO
from xml.sax.saxutils import escape

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

Ints = npt.NDArray[np.int64]
Hashes = npt.NDArray[np.uint64]

MOST_ORDERS = 2
MOST_LINES = 3
CUSTOMERS_AT_ONCE = 50_000
ROWS_AT_ONCE = 1 << 20


@dataclass(frozen=True)
class Orders:
    """The chosen orders, those of one customer side by side, customers in the order of the files."""

    key: Ints
    customer: Ints
    date: Ints
    cents: Ints


@dataclass(frozen=True)
class Lines:
    """The chosen lines, those of one order side by side, in the order of the orders."""

    order: Ints
    part: Ints
    quantity: Ints


@dataclass(frozen=True)
class People:
    """All that is written: `orders` index customers, `lines` index orders, `part` indexes brand and maker."""

    nation: Ints
    orders: Orders
    lines: Lines
    brand_of: Ints
    maker_of: Ints
    nations: Sequence[str]
    brands: Sequence[str]
    makers: Sequence[str]


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


def unscaled(column: pa.ChunkedArray) -> Ints:
    """Return the hundredths in a decimal(15, 2) column: the low half of each 128-bit little-endian value."""
    parts = []
    for chunk in column.chunks:
        if chunk.type != pa.decimal128(15, 2) or chunk.null_count:
            raise TypeError(f"a decimal128(15, 2) column without nulls is expected, not {chunk.type}")
        words = np.frombuffer(chunk.buffers()[1], dtype="<i8")
        parts.append(words[2 * chunk.offset : 2 * (chunk.offset + len(chunk)) : 2])
    return np.concatenate(parts).astype(np.int64)


def integers(column: pa.ChunkedArray) -> Ints:
    """Return an integer column."""
    return np.asarray(column.to_numpy(), dtype=np.int64)


def table_by_key(path: Path, key: str, names: Sequence[str]) -> list[tuple[Ints, list[str]]]:
    """Return, for each text column, its codes indexed by key, and the texts in sorted order."""
    table = pq.read_table(path, columns=[key, *names])
    keys = integers(table[key])
    found = []
    for name in names:
        coded = table[name].cast(pa.string()).dictionary_encode().combine_chunks()
        texts = coded.dictionary.to_pylist()
        ranks = np.argsort(np.argsort(texts))
        codes = np.full(int(keys.max()) + 1, -1, dtype=np.int64)
        codes[keys] = ranks[coded.indices.to_numpy()]
        found.append((codes, sorted(texts)))
    return found


def first_of_each(group: Ints, order: Hashes, wanted: Ints) -> Ints:
    """Return the positions of the first `wanted[g]` members of each group g, groups ascending."""
    positions = np.lexsort((order, group))
    group = group[positions]
    start = np.searchsorted(group, group)
    return positions[np.arange(len(group)) - start < wanted[group]]


def choose_orders(path: Path, most: int, seed: int) -> tuple[Orders, Ints]:
    """Return the orders of the first `most` customers in hash order, and these customers' keys."""
    table = pq.read_table(path, columns=["o_orderkey", "o_custkey"])
    key, customer = integers(table["o_orderkey"]), integers(table["o_custkey"])
    people = np.unique(customer)
    people = people[np.argsort(mix(people, seed, 1), kind="stable")][:most]
    place = np.full(int(customer.max()) + 1, -1, dtype=np.int64)
    place[people] = np.arange(len(people))
    rows = np.flatnonzero(place[customer] >= 0)
    wanted = count_up_to(MOST_ORDERS, people, seed, 2)
    rows = rows[first_of_each(place[customer[rows]], mix(key[rows], seed, 3), wanted)]
    owner, key = place[customer[rows]], key[rows]
    table = pq.read_table(path, columns=["o_orderdate", "o_totalprice"])
    date = table["o_orderdate"].cast(pa.int32()).to_numpy()[rows].astype(np.int64)
    return Orders(key, owner, date, unscaled(table["o_totalprice"])[rows]), people


def choose_lines(path: Path, orders: Orders, seed: int) -> Lines:
    """Return the lines of the chosen orders, reading the table in batches."""
    ascending = np.argsort(orders.key)
    keys = orders.key[ascending]
    names = ["l_orderkey", "l_linenumber", "l_partkey", "l_quantity"]
    kept: list[tuple[Ints, Ints, Ints, Ints]] = []
    for batch in pq.ParquetFile(path).iter_batches(batch_size=ROWS_AT_ONCE, columns=names):
        table = pa.Table.from_batches([batch])
        key, number, part = (integers(table[name]) for name in names[:3])
        at = np.minimum(np.searchsorted(keys, key), len(keys) - 1)
        hits = np.flatnonzero(keys[at] == key)
        quantity = unscaled(table["l_quantity"])[hits] // 100
        kept.append((ascending[at[hits]], key[hits] * 8 + number[hits], part[hits], quantity))
    order, line, part, quantity = (np.concatenate(columns) for columns in zip(*kept, strict=True))
    wanted = count_up_to(MOST_LINES, orders.key, seed, 4)
    rows = first_of_each(order, mix(line, seed, 5), wanted)
    return Lines(order[rows], part[rows], quantity[rows])


def gather(folder: Path, most: int, seed: int) -> People:
    """Return at most `most` customers, joined from the tables in the folder."""
    [(nation_of, nations)] = table_by_key(folder / "nation.parquet", "n_nationkey", ["n_name"])
    orders, keys = choose_orders(folder / "orders.parquet", most, seed)
    customers = pq.read_table(folder / "customer.parquet", columns=["c_custkey", "c_nationkey"])
    home = np.zeros(int(integers(customers["c_custkey"]).max()) + 1, dtype=np.int64)
    home[integers(customers["c_custkey"])] = integers(customers["c_nationkey"])
    lines = choose_lines(folder / "lineitem.parquet", orders, seed)
    part = table_by_key(folder / "part.parquet", "p_partkey", ["p_brand", "p_mfgr"])
    (brand_of, brands), (maker_of, makers) = part
    return People(nation_of[home[keys]], orders, lines, brand_of, maker_of, nations, brands, makers)


def nodes_per_record(people: People) -> Ints:
    """Return the number of tree nodes of each record, equal siblings merged."""
    orders, lines = people.orders, people.lines
    brand, maker = people.brand_of[lines.part], people.maker_of[lines.part]
    nodes = np.ones(len(people.nation), dtype=np.int64)
    date, new = children(orders.customer, orders.date)
    owner = orders.customer[new]
    nodes += np.bincount(owner, minlength=len(nodes))
    _, new = children(date, orders.cents)
    nodes += np.bincount(owner[date[new]], minlength=len(nodes))
    head, new = children(date[lines.order], brand)
    owner = owner[date[lines.order][new]]
    nodes += np.bincount(owner, minlength=len(nodes))
    for values in (maker, lines.quantity):
        _, new = children(head, values)
        nodes += np.bincount(owner[head[new]], minlength=len(nodes))
    return nodes


def children(parent: Ints, value: Ints) -> tuple[Ints, Ints]:
    """Return the node of each (parent, value), numbered from 0, and the row where each node is first seen."""
    packed = parent * (int(value.max()) + 1) + value
    _, first, node = np.unique(packed, return_index=True, return_inverse=True)
    return node.astype(np.int64), first.astype(np.int64)


def bounds(people: People, start: int, end: int) -> tuple[list[int], list[int]]:
    """Return where the orders of customers start..end begin, and where the lines of these orders begin."""
    orders = np.searchsorted(people.orders.customer, np.arange(start, end + 1))
    lines = np.searchsorted(people.lines.order, np.arange(orders[0], orders[-1] + 1))
    return orders.tolist(), lines.tolist()


def texts(people: People, start: int, end: int) -> Iterator[tuple[str, str]]:
    """Yield each customer from start to end as a line of JSON and a line of XML."""
    at_order, at_line = bounds(people, start, end)
    rows = slice(at_order[0], at_order[-1])
    dates = np.datetime_as_string(people.orders.date[rows].astype("datetime64[D]")).tolist()
    prices = [repr(cents / 100) for cents in people.orders.cents[rows].tolist()]
    part = people.lines.part[at_line[0] : at_line[-1]]
    quantity = people.lines.quantity[at_line[0] : at_line[-1]].tolist()
    bought = list(zip(quantity, people.brand_of[part].tolist(), people.maker_of[part].tolist(), strict=True))
    nations, brands, makers = people.nations, people.brands, people.makers
    marked = [[escape(text) for text in table] for table in (nations, brands, makers)]
    first_order, first_line = at_order[0], at_line[0]
    for row, nation in enumerate(people.nation[start:end].tolist()):
        json_orders, xml_orders = [], []
        for order in range(at_order[row] - first_order, at_order[row + 1] - first_order):
            own = bought[at_line[order] - first_line : at_line[order + 1] - first_line]
            lines = ",".join(f'{{"quantity":{q},"brand":"{brands[b]}","mfgr":"{makers[m]}"}}' for q, b, m in own)
            json_orders.append(f'{{"date":"{dates[order]}","price":{prices[order]},"lines":[{lines}]}}')
            lines = "".join(
                f"<line><quantity>{q}</quantity><brand>{marked[1][b]}</brand><mfgr>{marked[2][m]}</mfgr></line>"
                for q, b, m in own
            )
            xml_orders.append(f"<order><date>{dates[order]}</date><price>{prices[order]}</price>{lines}</order>")
        yield (
            f'{{"nation":"{nations[nation]}","orders":[{",".join(json_orders)}]}}\n',
            f"<customer><nation>{marked[0][nation]}</nation>{''.join(xml_orders)}</customer>\n",
        )


def write_files(people: People, folder: Path, sizes: Sequence[int]) -> None:
    """Write every size as NDJSON and XML in one pass over the customers."""
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:

        def create(size: int, ending: str) -> TextIO:
            path = folder / f"tpch_{size}.{ending}"
            return stack.enter_context(path.open("w", encoding="utf-8", newline="\n"))

        files = [(size, create(size, "ndjson"), create(size, "xml")) for size in sizes]
        for _, _, xml in files:
            xml.write('<?xml version="1.0" encoding="UTF-8"?>\n<customers>\n')
        total = len(people.nation)
        for start in range(0, total, CUSTOMERS_AT_ONCE):
            pairs = list(texts(people, start, min(start + CUSTOMERS_AT_ONCE, total)))
            for size, ndjson, xml in files:
                ndjson.writelines(line for line, _ in pairs[: max(0, size - start)])
                xml.writelines(line for _, line in pairs[: max(0, size - start)])
        for _, _, xml in files:
            xml.write("</customers>\n")


def main() -> None:
    """Write the files that the command line asks for."""
    parser = argparse.ArgumentParser(description="Make person records out of TPC-H tables.")
    parser.add_argument("--parquet", type=Path, required=True, help="folder of the TPC-H tables")
    parser.add_argument("--out", type=Path, required=True, help="where tpch_N.ndjson and tpch_N.xml go")
    parser.add_argument("--sizes", default="100000,1000000", help="numbers of records, with commas between")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    sizes = sorted({int(size) for size in options.sizes.split(",")})
    people = gather(options.parquet, sizes[-1], options.seed)
    nodes = nodes_per_record(people)
    write_files(people, options.out, sizes)
    for size in sizes:
        there = min(size, len(nodes))
        print(f"tpch_{size}: {there} records, {nodes[:there].mean():.2f} nodes on average")
        if there < size:
            print(f"tpch_{size}: {size - there} records short; take a larger scale factor", file=sys.stderr)


if __name__ == "__main__":
    main()
