"""What the default search takes, in seconds of the processor, by two versions of the program in one run.

Each search runs in a process of its own, once to warm up on a few records and once to be measured; versions take turns.

    python tests/bench/search.py before=/path/to/old after=. [--only tpch-10000 …] [--repeat 1]

`tpch-N` are N invented persons in the shape of TPC-H's, with raw prices; `flat-N` are the same with no hierarchy above
the prices ("data without structure"), `groups-N` with groups of five; of `whole-N` the objects stay whole.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from results import note

CASES: dict[str, tuple[str, int, dict[str, int]]] = {
    "tpch-1000": ("tpch", 1_000, {"k": 5, "m": 2, "n": 1}),
    "tpch-10000": ("tpch", 10_000, {"k": 5, "m": 2, "n": 1}),
    "tpch-100000": ("tpch", 100_000, {"k": 5, "m": 2, "n": 1}),
    "tpch-1000000": ("tpch", 1_000_000, {"k": 5, "m": 2, "n": 1}),
    "tpch-10000-k20": ("tpch", 10_000, {"k": 20, "m": 3, "n": 2}),
    "tpch-100000-k20": ("tpch", 100_000, {"k": 20, "m": 3, "n": 2}),
    "tpch-1000000-k20": ("tpch", 1_000_000, {"k": 20, "m": 3, "n": 2}),
    "whole-10000": ("whole", 10_000, {"k": 5, "m": 2, "n": 1}),
    "flat-40000": ("flat", 40_000, {"k": 5, "m": 2, "n": 1}),
    "groups-40000": ("groups", 40_000, {"k": 5, "m": 2, "n": 1}),
}
_HIERARCHIES = {"tpch": "{ intervals = [10000, 50000, 100000], min = 0, max = 800000 }", "flat": "{ flat = true }"}
_HIERARCHIES |= {"groups": "{ groups = 5 }", "whole": _HIERARCHIES["tpch"]}


def forest_of(kind: str, records: int) -> Any:
    """Return the trees of so many invented persons, all prices in cents."""
    import pyarrow as pa
    import pyarrow.compute as pc

    from treeanon import Schema
    from treeanon.bench.tpch import invented
    from treeanon.io.memory import forest_of_tables

    tables = invented(records)
    names = {"nation": "nation.n_name", "price": "orders.o_totalprice", "date": "orders.o_orderdate"}
    names |= {"brand": "orders.lineitem.part.p_brand", "mfgr": "orders.lineitem.part.p_mfgr"}
    names["quantity"] = "orders.lineitem.l_quantity"
    more = {
        "date": 'type = "date"\nhierarchy = { dates = ["month", "quarter", "year"] }',
        "price": f'type = "number"\nhierarchy = {_HIERARCHIES[kind]}',
        "brand": "hierarchy = { prefix = [7] }",
        "quantity": 'type = "integer"\nhierarchy = { intervals = [5, 10, 50], min = 0, max = 50 }',
    }
    head = _HEAD.replace('"merged"', '"whole"') if kind == "whole" else _HEAD
    text = head + "".join(
        f'[[class]]\nname = "{name}"\npath = "{path}"\n{more.get(name, "hierarchy = { flat = true }")}\n'
        for name, path in names.items()
    )
    orders = tables.orders
    at = orders.column_names.index("o_totalprice")
    cents = pc.round(orders["o_totalprice"], 2)
    frames: dict[str, pa.Table] = dict(tables.named()) | {"orders": orders.set_column(at, "o_totalprice", cents)}
    return forest_of_tables(frames, Schema.loads(text))


_HEAD = """
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
"""


def measured(case: str, effort: str) -> dict[str, float]:
    """Return the seconds of the processor of one search, and what its release costs."""
    from treeanon.algorithms.tree.default.maximal import search
    from treeanon.privacy import Guarantee

    kind, records, asked = CASES[case]
    guarantee = Guarantee(**asked)
    search(forest_of(kind, 300), guarantee, effort="0.1")
    forest = forest_of(kind, records)
    own = float(effort) if not effort.endswith("s") else effort
    began, wall = time.process_time(), time.perf_counter()
    found = search(forest, guarantee, effort=own)
    report = dict(found.report)
    return {
        "cpu": time.process_time() - began,
        "wall": time.perf_counter() - wall,
        "cost": float(report["cost"]),
        "walks": float(report["walks"]),
    }


def run(program: str, case: str, effort: str) -> dict[str, float]:
    """Return the same of a program in a folder."""
    command = [sys.executable, __file__, "--measure", case, "--effort", effort]
    told = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": program}, check=True, capture_output=True, text=True
    )
    return dict(json.loads(told.stdout))


def main() -> None:
    """Print a table for RESULTS.md."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("programs", nargs="*", metavar="LABEL=FOLDER")
    parser.add_argument("--only", nargs="*", choices=CASES)
    parser.add_argument("--effort", default="1")
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--measure", choices=CASES, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.measure:
        print(json.dumps(measured(given.measure, given.effort)))
        return
    print("| data | program | CPU s | of the first | wall s | walks | cost |\n|---|---|---|---|---|---|---|")
    for case in given.only or CASES:
        first = None
        for program in given.programs:
            label, _, folder = program.rpartition("=")
            found = [run(str(Path(folder).resolve()), case, given.effort) for _ in range(given.repeat)]
            best = min(found, key=lambda one: one["cpu"])
            first = first or best["cpu"]
            note(f"search {case} {label}", best["cpu"])
            print(
                f"| {case} | {label} | {best['cpu']:.2f} | {best['cpu'] / first:.2f} | {best['wall']:.2f} |"
                f" {best['walks']:.0f} | {best['cost']:.6f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
