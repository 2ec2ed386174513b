"""Whole objects beside merged trees: reading, writing and the default search of the sample (see RESULTS.md).

python tests/bench/objects.py [--times 30] [--tpch DIR]

The sample is read as often as `--times` says, for more records; times are of the processor, the best of three. With
--tpch the tables that samples/make_tpch.py has written to DIR are read, written and searched instead, k=5, m=2, n=1.
"""

from __future__ import annotations

import argparse
import re
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from results import note

import treeanon as ta

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = ROOT / "samples/patients.ndjson"


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=30)
    parser.add_argument("--tpch", type=Path)
    given = parser.parse_args()
    if given.tpch is not None:
        measure_tpch(given.tpch)
        return
    times = given.times
    print("| objects | records | nodes | reading, s | writing, s |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "in.ndjson", Path(folder) / "out.ndjson"
        source.write_text(SAMPLE.read_text() * times)
        for objects in ("merged", "whole"):
            schema = schema_of(objects)
            forest, reading = best(partial(ta.read, source, schema))
            _, writing = best(partial(ta.write, forest, target, force=True))
            print(f"| {objects} | {len(forest):,} | {forest.nodes:,} | {reading:.2f} | {writing:.2f} |")
    print(
        "\n| k, m, n | objects | value loss | relations kept | least whole | CPU time, s |\n|---|---|---|---|---|---|"
    )
    settings = ((5, 2, 1), (10, 2, 1), (20, 2, 1), (10, 3, 2))
    for objects in ("merged", "whole"):
        # Kernels are compiled, or loaded, before any time is taken.
        for _, m, n in settings:
            ta.anonymize(ta.read(SAMPLE, schema_of(objects))[:200], k=3, m=m, n=n, l=1, seed=1, effort=0.1)
    taken = {"merged": 0.0, "whole": 0.0}
    for k, m, n in settings:
        for objects in taken:
            forest = ta.read(SAMPLE, schema_of(objects))
            release, seconds = best(partial(ta.anonymize, forest, k=k, m=m, n=n, l=1, seed=1), 1)
            taken[objects] += seconds
            loss = release.loss
            least = min((of.whole for of in loss.objects.values()), default=None)
            whole = "" if least is None else f"{least:.1%}"
            print(
                f"| {k}, {m}, {n} | {objects} | {loss.value_loss:.3f} | {loss.relations_kept:.1%} | {whole} |"
                f" {seconds:.1f} |"
            )
    for objects, seconds in taken.items():
        note(f"objects {objects}", seconds)


def measure_tpch(folder: Path) -> None:
    """Print what tables of TPC-H take, and lose."""
    print("| objects | records | nodes | reading, s | writing, s | search, s | value loss | least whole |")
    print("|---|---|---|---|---|---|---|---|")
    text = (folder / "tpch.toml").read_text()
    for objects in ("merged", "whole"):
        own = re.sub(r"^under.*\n", "", text, flags=re.MULTILINE) if objects == "whole" else text
        schema = ta.Schema.loads(own, folder=ROOT / "schemas").with_objects(
            "merged" if objects == "merged" else "whole"
        )
        forest, reading = best(partial(ta.read, folder / "tables", schema))
        with tempfile.TemporaryDirectory() as target:
            _, writing = best(partial(ta.write, forest, f"{target}/out/", force=True))
        release, seconds = best(partial(ta.anonymize, forest, k=5, seed=1), 1)
        least = min((of.whole for of in release.loss.objects.values() if of.whole is not None), default=None)
        whole = "" if least is None else f"{least:.1%}"
        print(
            f"| {objects} | {len(forest):,} | {forest.nodes:,} | {reading:.2f} | {writing:.2f} | {seconds:.1f} |"
            f" {release.loss.value_loss:.3f} | {whole} |",
            flush=True,
        )


def schema_of(objects: str) -> ta.Schema:
    """Return the sample's schema, with its objects merged or whole."""
    return ta.Schema.load(ROOT / "schemas/hospital-json.toml").with_objects("whole" if objects == "whole" else "merged")


def best(work: Callable[[], Any], runs: int = 3) -> tuple[Any, float]:
    """Return what work gives, and the least time of the processor that it took."""
    found, least = None, float("inf")
    for _ in range(runs):
        begun = time.process_time()
        found = work()
        least = min(least, time.process_time() - begun)
    return found, least


if __name__ == "__main__":
    main()
