"""Datasets of Spark made of forests, and small tables to publish by them."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import treeanon as ta
from treeanon.forest import Forest, ReadReport
from treeanon.io.relational.folder import FolderSource
from treeanon.io.relational.reading import resolved
from treeanon.schema import Schema
from treeanon.schema.relational import nested
from treeanon.spark.reading import Dataset
from treeanon.spark.records import BLOCKS


def read_tables(folder: Path, schema: Schema) -> tuple[Forest, Schema]:
    """The persons of a folder of tables, and the schema with its keys known."""
    source = FolderSource(folder)
    try:
        return ta.read(folder, schema), resolved(schema, source)
    finally:
        source.close()


def dataset_of(spark: Any, forest: Forest, schema: Schema, partitions: int) -> Dataset:
    """The records of a forest as the engine has them once tables are read; see `nested` for the schema."""
    built = dict(zip(forest.classes.names, forest.classes.hierarchies, strict=True))
    plain = nested(schema)
    classes = (replace(c, hierarchy=built[c.name]) if c.name in built else c for c in plain.classes)
    plain = replace(plain, classes=tuple(classes))
    size = -(-len(forest) // partitions)
    parts = [forest[at : at + size] for at in range(0, len(forest), size)]
    rows = [tuple(bytearray(c.tobytes()) for c in (part.offsets, part.parent, part.label)) for part in parts]
    frame = spark.createDataFrame(spark.sparkContext.parallelize(rows, partitions), BLOCKS)
    shared = spark.sparkContext.broadcast(plain)
    return Dataset(frame, plain, forest.classes, len(forest), ReadReport(), shared)


def write_orders(folder: Path, seed: int, persons: int) -> Path:
    """Customers with orders of some lines, in the columns of schemas/tpch.toml."""
    draw = Random(seed)
    folder.mkdir()
    nations = list(enumerate(["FRANCE", "PERU", "CHINA", "FRANCE", "KENYA"]))
    parts = [(n, f"Manufacturer#{n % 3}", f"Brand#{n % 3}{n % 4}") for n in range(30)]
    customers = [(1000 + n, draw.choice([*range(5), ""])) for n in range(persons)]
    orders = [
        (7 * n, draw.choice(customers)[0], f"1995-0{draw.randint(1, 9)}-11", f"{draw.randint(1, 90)}123.45")
        for n in range(2 * persons)
    ]
    lines = [(draw.choice(orders)[0], draw.randrange(30), draw.randint(1, 50)) for _ in range(4 * persons)]
    for name, columns, rows in (
        ("nation", "n_nationkey n_name", nations),
        ("part", "p_partkey p_mfgr p_brand", parts),
        ("customer", "c_custkey c_nationkey", customers),
        ("orders", "o_orderkey o_custkey o_orderdate o_totalprice", orders),
        ("lineitem", "l_orderkey l_partkey l_quantity", lines),
    ):
        with (folder / f"{name}.csv").open("w", newline="") as stream:
            csv.writer(stream).writerows([columns.split(), *rows])
    return folder


def rows_of_files(folder: Path) -> dict[str, list[dict[str, str]]]:
    """The rows of every table of a folder of CSV files, by nothing but its description."""
    found = {}
    for table in json.loads((folder / "datapackage.json").read_text())["resources"]:
        found[table["name"]] = []
        for path in table["path"]:
            with (folder / path).open(newline="") as stream:
                found[table["name"]] += list(csv.DictReader(stream, strict=True))
    return found
