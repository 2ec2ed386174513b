"""Makes person trees out of TPC-H tables: customers with a few of their orders and a few lines of each.

    tpchgen-cli parquet -s 1 --tables=customer,orders,lineitem,part,nation --output-dir=PQ
    python samples/make_tpch.py --parquet PQ --out DIR

DIR/tables holds the chosen rows as tables whose keys fit, DIR/tpch.toml says how they form trees, and
DIR/tpch.trees.jsonl holds these trees. treeanon.bench.tpch says how rows are chosen; any scale factor will do.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tomllib
from pathlib import Path

import pyarrow.parquet as pq

from treeanon.bench.tpch import MOST_LINES, MOST_ORDERS, Tables, reduced_tables

SCHEMAS = Path(__file__).resolve().parent.parent / "schemas"


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
