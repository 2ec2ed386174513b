"""Times reading tables as person trees against the join that yields the same rows, and measures its memory.

    tpchgen-cli parquet -s 1 --tables=customer,orders,lineitem,part,nation --output-dir=PQ
    python tests/bench/tables.py --parquet PQ --results tests/bench/RESULTS.md

Both run in turn, several times: DuckDB joins the Parquet files into one Arrow table, treeanon reads them into a forest
(schemas/tpch.toml). The ratio is that of the medians. Memory is the highest resident size above that
before reading, sampled by the kernel, in a process of its own.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from pathlib import Path

import pyarrow.parquet as pq
from results import put

ROOT = Path(__file__).resolve().parents[2]
WANTED = {
    "customer": ["c_custkey", "c_nationkey"],
    "nation": ["n_nationkey", "n_name"],
    "orders": ["o_orderkey", "o_custkey", "o_orderdate", "o_totalprice"],
    "lineitem": ["l_orderkey", "l_partkey", "l_quantity"],
    "part": ["p_partkey", "p_mfgr", "p_brand"],
}
JOIN = """
SELECT c_custkey, n_name, o_orderkey, o_orderdate, o_totalprice, p_mfgr, p_brand, l_quantity
FROM '{pq}/customer.parquet'
LEFT JOIN '{pq}/nation.parquet' ON c_nationkey = n_nationkey
LEFT JOIN '{pq}/orders.parquet' ON o_custkey = c_custkey
LEFT JOIN '{pq}/lineitem.parquet' ON l_orderkey = o_orderkey
LEFT JOIN '{pq}/part.parquet' ON p_partkey = l_partkey
"""


def timed_join(parquet: Path, threads: int, order: str = "") -> tuple[float, int]:
    """The seconds and rows of DuckDB's join into Arrow."""
    import duckdb

    connection = duckdb.connect()
    connection.execute(f"SET threads = {threads}")
    start = time.perf_counter()
    found = connection.sql(JOIN.format(pq=parquet) + order).to_arrow_table()
    return time.perf_counter() - start, int(found.num_rows)


def timed_read(parquet: Path, threads: int) -> tuple[float, int, int]:
    """The seconds of reading, and the records and nodes read."""
    import treeanon as ta

    schema = ta.Schema.load(ROOT / "schemas/tpch.toml")
    start = time.perf_counter()
    forest = ta.read(parquet, schema, jobs=threads)
    return time.perf_counter() - start, len(forest), forest.nodes


MEASURE = """
import gc, sys, treeanon as ta
def resident(name):
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith(name)) / 1024
schema = ta.Schema.load(sys.argv[2])
ta.read(sys.argv[1], schema, jobs=int(sys.argv[3]))  # compiled kernels, imported modules
gc.collect()
import ctypes; ctypes.CDLL(None).malloc_trim(0)
open("/proc/self/clear_refs", "w").write("5")
before = resident("VmRSS")
forest = ta.read(sys.argv[1], schema, jobs=int(sys.argv[3]))
print(resident("VmHWM") - before, forest.nbytes / 2**20)
"""


def memory(parquet: Path, threads: int) -> tuple[float, float]:
    """Megabytes: the peak of reading above what was resident before, and the forest."""
    command = [sys.executable, "-c", MEASURE, str(parquet), str(ROOT / "schemas/tpch.toml"), str(threads)]
    peak, forest = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    return float(peak), float(forest)


def columns_read(parquet: Path) -> float:
    """Megabytes of the columns that are read, in Arrow's own form."""
    return sum(pq.read_table(parquet / f"{t}.parquet", columns=names).nbytes for t, names in WANTED.items()) / 2**20


def main() -> None:
    """Measures, prints the table, and writes it where asked to."""
    parser = argparse.ArgumentParser(description="Time tables to forest against DuckDB's join.")
    parser.add_argument("--parquet", type=Path, required=True, help="folder of the TPC-H tables")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--results", type=Path, help="the file whose table is to be replaced")
    options = parser.parse_args()
    timed_read(options.parquet, options.threads)
    timed_join(options.parquet, options.threads)
    joins, ordered, reads = [], [], []
    for _ in range(options.rounds):
        seconds, rows = timed_join(options.parquet, options.threads)
        joins.append(seconds)
        ordered.append(timed_join(options.parquet, options.threads, "ORDER BY c_custkey, o_orderkey")[0])
        seconds, records, nodes = timed_read(options.parquet, options.threads)
        reads.append(seconds)
    join, sort, read = (statistics.median(times) for times in (joins, ordered, reads))
    peak, forest = memory(options.parquet, options.threads)
    columns = columns_read(options.parquet)
    lines = [
        f"{records:,} persons, {rows:,} joined rows, {nodes:,} nodes; medians of {options.rounds} rounds in turn.",
        "",
        "| | seconds | ratio to the join |",
        "|---|---|---|",
        f"| DuckDB: the join into Arrow | {join:.2f} | 1 |",
        f"| DuckDB: the join, rows of a person side by side (ORDER BY) | {sort:.2f} | {sort / join:.2f} |",
        f"| treeanon: Parquet tables to forest | {read:.2f} | {read / join:.2f} (limit 3) |",
        "",
        f"Memory: {peak:.0f} MB at the peak above what was resident before (limit {2 * forest + columns:.0f} MB: twice"
        f" the forest, {forest:.0f} MB, and the columns read, {columns:.0f} MB).",
    ]
    put(lines, "tables", options.results)


if __name__ == "__main__":
    main()
