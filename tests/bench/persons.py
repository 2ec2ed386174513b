"""Reading 1,000,000 rows of a CSV file by `person`, beside a DuckDB `GROUP BY` of the same rows into lists.

    python tests/bench/persons.py [--rows 1000000] [--results tests/bench/RESULTS.md]

Both are run in turns, in one process, on all cores; the best of the runs counts. Rows come sorted by the person and
in random order. DuckDB's result is fetched as an Arrow table: what is compared is in memory in the end.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.csv
from results import put

import treeanon as ta

SCHEMA = """version = 1
[input]
format = "csv"
person = "patient_id"
[[class]]
name = "disease"
path = "disease"
[[class]]
name = "ward"
path = "ward"
[[class]]
name = "dose"
path = "dose"
type = "integer"
"""
LISTS = "SELECT patient_id, list(disease), list(ward), list(dose) FROM read_csv(?) GROUP BY patient_id"


def write_rows(path: Path, rows: int, *, is_sorted: bool) -> None:
    """Write rows of invented persons, five each on average."""
    rng = np.random.default_rng(1)
    person = rng.integers(0, rows // 5, rows)
    columns = {
        "patient_id": pa.array([f"P{number:08}" for number in (np.sort(person) if is_sorted else person).tolist()]),
        "disease": pa.array([f"D{number}" for number in rng.integers(0, 300, rows).tolist()]),
        "ward": pa.array([f"W{number}" for number in rng.integers(0, 20, rows).tolist()]),
        "dose": pa.array(rng.integers(1, 400, rows)),
    }
    pa.csv.write_csv(pa.table(columns), path)


def seconds(call: Callable[[], object]) -> float:
    """Return how long a call takes."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def table(rows: int, repeat: int) -> str:
    """Return the times as a table."""
    schema = ta.Schema.loads(SCHEMA)
    lines = ["| rows | DuckDB, s | treeanon, s | ratio |", "| --- | --- | --- | --- |"]
    with tempfile.TemporaryDirectory() as folder:
        for name, is_sorted in (("sorted", True), ("shuffled", False)):
            path = Path(folder, f"{name}.csv")
            write_rows(path, rows, is_sorted=is_sorted)
            ours, theirs = [], []
            for _ in range(repeat):
                theirs.append(seconds(lambda path=path: duckdb.sql(LISTS, params=[str(path)]).to_arrow_table()))
                ours.append(seconds(lambda path=path: ta.read(path, schema, jobs=os.cpu_count() or 1)))
            lines.append(f"| {rows:,} {name} | {min(theirs):.2f} | {min(ours):.2f} | {min(ours) / min(theirs):.2f} |")
    return "\n".join(lines)


def main() -> None:
    """Measure, and print or write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--results", type=Path)
    given = parser.parse_args()
    head = f"`python tests/bench/persons.py` ({os.cpu_count()} cores)"
    put([head, "", table(given.rows, given.repeat)], "persons", given.results)


if __name__ == "__main__":
    main()
