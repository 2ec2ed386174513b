"""What it costs to hide what is known of the original, beside the release as published (see RESULTS.md).

python tests/bench/original.py [--tpch FOLDER] [--sizes 10000,99000]

FOLDER has what tests/bench/make_tpch.py writes.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import treeanon as ta
from tests.bench.tree_data import clinical
from treeanon.algorithms.tree.solution import Solution

ROOT = Path(__file__).resolve().parents[2]
WAYS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("as published, moved", {"as_published": True}),
    ("known of the original, left out", {}),
    ("known of the original, generalized only", {"taking_apart": "none"}),
)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tpch", type=Path)
    parser.add_argument("--sizes", default="10000,99000")
    given = parser.parse_args()
    sizes = [int(size) for size in given.sizes.split(",")] if given.tpch else []
    print("| data | k, m, n | release | value loss | relations kept | moved or left out | largest k | CPU time |")
    print("|---|---|---|---|---|---|---|---|")
    for name, forest, asked in data(given.tpch, sizes):
        line(name, forest, asked)


def data(folder: Path | None, sizes: list[int]) -> Iterator[tuple[str, ta.Forest, dict[str, int]]]:
    """Yield collections, with what is asked for."""
    sample = ta.read(
        ROOT / "samples/patients.xml", ta.Schema.load(ROOT / "schemas/hospital-xml.toml").with_objects("merged")
    )
    yield from (("sample", sample, {"k": k, "m": 2, "n": 1}) for k in (5, 10, 20))
    clinic = clinical()
    yield from (("invented clinic, 615", clinic, {"k": k, "m": 2, "n": 1}) for k in (5, 10))
    for size in sizes:
        assert folder is not None
        forest = ta.read(folder / f"tpch_{size}.ndjson", ta.Schema.load(ROOT / "tests/bench/tpch-ndjson.toml"))
        yield from ((f"TPC-H, {size:,}", forest, {"k": 20, "m": m, "n": n}) for m, n in ((2, 1), (3, 2)))


def line(name: str, forest: ta.Forest, asked: dict[str, int]) -> None:
    """Print the lines of one collection; times are multiples of the CPU time of the release as published."""
    usual = 0.0
    for way, parameters in WAYS:
        begun = time.process_time()
        release = ta.anonymize(forest, seed=7, **asked, **parameters)
        spent = time.process_time() - begun
        usual = usual or spent
        solution, loss, sizes = release.solution, release.loss, ", ".join(map(str, asked.values()))
        print(
            f"| {name} | {sizes} | {way} | {loss.value_loss:.4f} | {loss.relations_kept:.2%}"
            f" | {touched(forest, solution):,} | {release.verdict.original_k} | {spent / usual:.2f} |",
            flush=True,
        )


def touched(forest: ta.Forest, solution: Solution) -> int:
    """Return how many nodes of the projected trees are moved or left out."""
    projected = replace(solution, disassociated=(), left_out=()).apply(forest)
    left = projected.leave_out(solution.left_out)
    ends = set(solution.disassociated)
    moved = 0
    for record in projected.records():
        stack = [((node[0], node[1]), node[2], ()) for node in record]
        while stack:
            label, below, above = stack.pop()
            moved += any((upper, label) in ends for upper in above)
            stack += [((node[0], node[1]), node[2], (*above, label)) for node in below]
    return moved + projected.nodes - left.nodes


if __name__ == "__main__":
    main()
