"""Makes person records out of TPC-H tables: customers with a few of their orders and a few lines of each.

    tpchgen-cli parquet -s 10 --tables=customer,orders,lineitem,part,nation --output-dir=PQ
    python tests/bench/make_tpch.py --parquet PQ --out DIR --sizes 100000,1000000 --seed 1

treeanon/bench/tpch.py chooses the rows: a record is the same whatever the sizes, and a smaller file is a prefix
of a larger one.

TPC-H gives a third of its customers no orders: scale factor 10 makes 999,982 records, 18 short of a
million. A size that is not reached is written short, and standard error says so.

More records than one machine can join are made in parts: `--parts 10` writes DIR/tpch_N_parts/part-01.ndjson and so
on, each of the largest size, which choose anew (by a seed of their own) which orders and lines a record has.
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
import pyarrow as pa

from treeanon.bench.tpch import Ints, Rows, integers, reduced_tables

CUSTOMERS_AT_ONCE = 50_000


@dataclass(frozen=True)
class Orders:
    """The chosen orders, those of one customer side by side, customers in the order of the files."""

    customer: Ints
    date: Ints
    cents: Ints


@dataclass(frozen=True)
class Lines:
    """The chosen lines, those of one order side by side, in the order of the orders."""

    order: Ints
    brand: Ints
    maker: Ints
    quantity: Ints


@dataclass(frozen=True)
class People:
    """All that is written: `orders` index customers, `lines` index orders; nation, brand and maker index texts."""

    nation: Ints
    orders: Orders
    lines: Lines
    nations: Sequence[str]
    brands: Sequence[str]
    makers: Sequence[str]


def unscaled(column: pa.ChunkedArray) -> Ints:
    """Return the hundredths in a decimal(15, 2) column: the low half of each 128-bit little-endian value."""
    parts = []
    for chunk in column.chunks:
        if chunk.type != pa.decimal128(15, 2) or chunk.null_count:
            raise TypeError(f"a decimal128(15, 2) column without nulls is expected, not {chunk.type}")
        words = np.frombuffer(chunk.buffers()[1], dtype="<i8")
        parts.append(words[2 * chunk.offset : 2 * (chunk.offset + len(chunk)) : 2])
    return np.concatenate(parts).astype(np.int64)


def looked_up(table: pa.Table, key: str, name: str, wanted: Ints) -> tuple[Ints, list[str]]:
    """Return the codes of a text column in the rows of these keys, and the texts in sorted order."""
    coded = table[name].dictionary_encode().combine_chunks()
    texts = coded.dictionary.to_pylist()
    codes = np.argsort(np.argsort(texts))[integers(coded.indices)]
    return codes[Rows(integers(table[key])).with_keys(wanted)], sorted(texts)


def gather(folder: Path, most: int, seed: int) -> People:
    """Return at most `most` customers, joined from the tables in the folder."""
    tables = reduced_tables(folder, most, seed=seed)
    nation, nations = looked_up(tables.nation, "n_nationkey", "n_name", integers(tables.customer["c_nationkey"]))
    owner = Rows(integers(tables.customer["c_custkey"])).with_keys(integers(tables.orders["o_custkey"]))
    date = integers(tables.orders["o_orderdate"].cast(pa.int32()))
    order = Rows(integers(tables.orders["o_orderkey"])).with_keys(integers(tables.lineitem["l_orderkey"]))
    part = integers(tables.lineitem["l_partkey"])
    brand, brands = looked_up(tables.part, "p_partkey", "p_brand", part)
    maker, makers = looked_up(tables.part, "p_partkey", "p_mfgr", part)
    orders = Orders(owner, date, unscaled(tables.orders["o_totalprice"]))
    lines = Lines(order, brand, maker, unscaled(tables.lineitem["l_quantity"]) // 100)
    return People(nation, orders, lines, nations, brands, makers)


def nodes_per_record(people: People) -> Ints:
    """Return the number of tree nodes of each record, equal siblings merged."""
    orders, lines = people.orders, people.lines
    nodes = np.ones(len(people.nation), dtype=np.int64)
    date, new = children(orders.customer, orders.date)
    owner = orders.customer[new]
    nodes += np.bincount(owner, minlength=len(nodes))
    _, new = children(date, orders.cents)
    nodes += np.bincount(owner[date[new]], minlength=len(nodes))
    head, new = children(date[lines.order], lines.brand)
    owner = owner[date[lines.order][new]]
    nodes += np.bincount(owner, minlength=len(nodes))
    for values in (lines.maker, lines.quantity):
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
    columns = (people.lines.quantity, people.lines.brand, people.lines.maker)
    bought = list(zip(*(column[at_line[0] : at_line[-1]].tolist() for column in columns), strict=True))
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


def write_parts(source: Path, folder: Path, size: int, parts: int, seed: int) -> None:
    """Write a file of records for every seed from `seed` on."""
    folder.mkdir(parents=True, exist_ok=True)
    for part in range(parts):
        people = gather(source, size, seed + part)
        total = len(people.nation)
        with (folder / f"part-{part + 1:02}.ndjson").open("w", encoding="utf-8", newline="\n") as file:
            for start in range(0, total, CUSTOMERS_AT_ONCE):
                file.writelines(line for line, _ in texts(people, start, min(start + CUSTOMERS_AT_ONCE, total)))
        print(f"{file.name}: {total} records", flush=True)


def main() -> None:
    """Write the files that the command line asks for."""
    parser = argparse.ArgumentParser(description="Make person records out of TPC-H tables.")
    parser.add_argument("--parquet", type=Path, required=True, help="folder of the TPC-H tables")
    parser.add_argument("--out", type=Path, required=True, help="where tpch_N.ndjson and tpch_N.xml go")
    parser.add_argument("--sizes", default="100000,1000000", help="numbers of records, with commas between")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--parts", type=int, help="write so many NDJSON files of the largest size")
    options = parser.parse_args()
    sizes = sorted({int(size) for size in options.sizes.split(",")})
    if options.parts:
        folder = options.out / f"tpch_{sizes[-1]}_parts"
        write_parts(options.parquet, folder, sizes[-1], options.parts, options.seed)
        return
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
