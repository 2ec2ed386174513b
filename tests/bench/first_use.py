"""Measure the first use of every search, with no kernel kept on disk but those of the README's command, and its second.

    python -m tests.bench.first_use [SEARCH ...] [--results tests/bench/RESULTS.md]

Each is a command on a hundred records of the samples: what is beyond the second use is compiling.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.bench.results import cpu, put
from tests.support.paths import ROOT
from treeanon.algorithms.table.registry import TABLE_ALGORITHMS
from treeanon.algorithms.tree.registry import TREE_ALGORITHMS

RECORDS = 100
README = "-k 5 -m 2 -n 1"
TRIED = ("-k 5 --l 2", "-k 5 --l 1", "-k 2 --l 1 --max-loss 0.5", "-k 2 --l 1 --max-suppressed 100%")
"""Options of tables, of which the first are used that a search takes."""


def called(options: str, source: Path, schema: str, kernels: Path) -> tuple[int, float, float]:
    """Return the exit code of a release, the seconds that it took, and those of the processor."""
    out = kernels.with_name(f"out{source.suffix}")
    schemas = str(ROOT / "schemas" / schema)
    command = [
        sys.executable,
        "-m",
        "treeanon",
        "anonymize",
        str(source),
        "-s",
        schemas,
        "-o",
        str(out),
        "--force",
        "-q",
    ]
    start, used = time.perf_counter(), cpu()
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(kernels)}
    done = subprocess.run([*command, *options.split()], cwd=ROOT, env=environment, capture_output=True, check=False)
    return done.returncode, time.perf_counter() - start, cpu() - used


def row(name: str, options: tuple[str, ...], source: Path, schema: str, kept: Path) -> str:
    """Return the row of a search: options that it takes, both uses, and what was compiled."""
    kernels = source.with_name("kernels")
    for tried in options:
        shutil.rmtree(kernels, ignore_errors=True)
        shutil.copytree(kept, kernels)
        code, clock, first = called(f"{tried} -a {name}", source, schema, kernels)
        if code == 0:
            _, _, second = called(f"{tried} -a {name}", source, schema, kernels)
            return f"| {name} | `{tried}` | {clock:.1f} | {first:.1f} | {second:.1f} | {first - second:.1f} |"
    return f"| {name} | takes none of the options tried | | | | |"


def main() -> None:
    """Measure all searches and print a table for RESULTS.md."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("searches", nargs="*", help="these alone")
    parser.add_argument("--results", type=Path)
    given = parser.parse_args()
    wanted = given.searches or [*TREE_ALGORITHMS, *TABLE_ALGORITHMS]
    with TemporaryDirectory() as folder:
        kept, trees, rows = Path(folder, "kept"), Path(folder, "some.xml"), Path(folder, "some.csv")
        patients = (ROOT / "samples" / "patients.xml").read_text().split("</patient>")
        trees.write_text("</patient>".join(patients[:RECORDS]) + "</patient></patients>")
        rows.write_text("".join((ROOT / "samples" / "census.csv").read_text().splitlines(keepends=True)[: RECORDS + 1]))
        kept.mkdir()
        called(README, ROOT / "samples" / "patients.xml", "hospital-xml.toml", kept)
        lines = [
            "| search | options | first use, s | CPU of it, s | second, CPU s | compiling, s |",
            "|---|---|---|---|---|---|",
        ]
        lines += [row(name, (README,), trees, "hospital-xml.toml", kept) for name in TREE_ALGORITHMS if name in wanted]
        lines += [row(name, TRIED, rows, "census.toml", kept) for name in TABLE_ALGORITHMS if name in wanted]
    put(lines, "first use", given.results)


if __name__ == "__main__":
    main()
