"""Runs the benches, and says what has become slower since a stored run.

    python tests/bench/all.py --quick|--full [--data DATA] [--reference REF_GCS] [--results RESULTS.md] [--store]

Each bench says what it took by `results.note`, in seconds of the processor. They are divided by those of a yardstick
that is measured beside each, so that runs on other machines, or on a busy one, can be compared: what takes more than
15 % longer by that ratio than in the stored run (`stored.json`) is run up to twice more, and printed if it never took
less; the exit code is 1. What a bench holds in memory at its peak is told, too, and is no more than 8 GB in any of its
processes. With --results the tables of a full run replace those in that file; with --store its ratios the stored ones.

DATA, which may be given several times, holds what the benches' own pages say: `adult/` and its README.md,
`tpch_N.ndjson`, `tpch_N.xml` and `tpch_N.trees.jsonl`. Benches of data that is not there are left out, and named.
Others run as they are, by their own commands.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from results import NOTES

HERE = Path(__file__).resolve().parent
STORED = HERE / "stored.json"
SLOWER = 1.15
SHORT = 0.05
"""Seconds; what takes less is told, but not called slower: the clock and the cache decide it."""
AGAIN = 2
"""So often what seems slower is run again: on a busy machine one run says little."""
MEMORY = 8
"""What is enough for any of the benches, in GB."""

Ratios = dict[str, float]


@dataclass(frozen=True)
class Bench:
    """A command of one bench; `tables` says that it writes its tables into RESULTS.md, `needs` what DATA must hold.

    The folder that holds it follows the command, if there is any need.
    """

    name: str
    command: tuple[str, ...]
    tables: bool = True
    needs: str = ""


def benches(asked: argparse.Namespace) -> Iterator[Bench]:
    """The benches of a quick or a full run."""
    quick = ("--quick", "--repeat", "1") if asked.quick else ()
    yield Bench("rows", ("flat.py", *quick[:1], "--only", "whole"))
    adult = "lattice,models,command" if asked.quick else "lattice,models,command,million,local"
    yield Bench("adult", ("flat.py", "--only", adult, "--data"), needs="adult/adult.csv")
    yield Bench("growth", ("trees.py", "--repeat", "1", *quick[:1], "--only", "growth"))
    yield Bench("clinical", ("trees.py", *quick, "--only", "clinical"))
    cases = ("--only", "tpch-1000", "tpch-10000", "flat-40000") if asked.quick else ()
    yield Bench("search", ("search.py", f"now={HERE.parent.parent}", *cases), tables=False)
    yield Bench("objects", ("objects.py",), tables=False)
    sizes = "100000" if asked.quick else "100000,1000000"
    yield Bench("documents", ("documents.py", "--sizes", sizes, "--data"), needs=f"tpch_{sizes.rpartition(',')[2]}.xml")
    if asked.quick:
        return
    yield Bench("persons", ("persons.py",))
    yield Bench("bulk", ("bulk.py",))
    yield Bench("health", ("health.py",))
    if asked.reference:
        trees = ("trees.py", "--reference", str(asked.reference), "--only", "speed,quality,command", "--data")
        yield Bench("trees", trees, needs="tpch_*.trees.jsonl")


def run(bench: Bench, folder: Path | None, results: Path | None) -> Ratios:
    """What a bench has noted, each the least of its times, as multiples of the yardstick."""
    start = time.monotonic()
    command = [sys.executable, str(HERE / bench.command[0]), *bench.command[1:], *([str(folder)] if folder else [])]
    command += ["--results", str(results)] if results and bench.tables else []
    with tempfile.NamedTemporaryFile("r", suffix=".jsonl") as file:
        # As the command has it: see treeanon/cli/main.py.
        pages = {"NUMPY_MADVISE_HUGEPAGE": "0"}
        process = subprocess.Popen(command, env={**pages, **os.environ, NOTES: file.name})
        # Unlike `subprocess.run` this tells what the bench and all that it waited for have used.
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise subprocess.CalledProcessError(process.returncode, command)
        noted = [json.loads(line) for line in file]
    took, memory = time.monotonic() - start, used.ru_maxrss * 1024 / 1e9
    over = f", OVER {MEMORY} GB" if memory > MEMORY else ""
    print(f"\n{bench.name}: {took:.0f} s, at most {memory:.1f} GB in one process{over}\n", flush=True)
    least: Ratios = {}
    for each in noted:
        least[each["name"]] = min(each["yardsticks"], least.get(each["name"], float("inf")))
    return least


def slower(found: Ratios, stored: Ratios) -> dict[str, float]:
    """By what factor each has become slower, of those by more than 15 %, the worst first."""
    # The yardstick is about a tenth of a second.
    factors = {name: found[name] / stored[name] for name in found.keys() & stored.keys() if found[name] > 10 * SHORT}
    return {name: by for name, by in sorted(factors.items(), key=lambda one: -one[1]) if by > SLOWER}


def compared(found: Ratios, stored: Ratios, worse: dict[str, float]) -> list[str]:
    """What a run is beside the stored one."""
    lines = ["| what | yardsticks | stored | ratio |", "|---|---|---|---|"]
    for name, own in sorted(found.items()):
        old = stored.get(name)
        beside = f"{old:.2f} | {own / old:.2f}{' SLOWER' if name in worse else ''}" if old else "new | "
        lines.append(f"| {name} | {own:.2f} | {beside} |")
    gone = sorted(stored.keys() - found.keys())
    lines += ["", f"Not run this time: {', '.join(gone)}."] if gone else []
    told = ", ".join(f"{name} ({by:.2f} times)" for name, by in worse.items())
    return [*lines, "", f"Slower by more than 15 %: {told or 'nothing'}."]


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs what is asked for; 1 if anything has become slower."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    size = parser.add_mutually_exclusive_group(required=True)
    size.add_argument("--quick", action="store_true", help="some minutes: small sizes, to compare")
    size.add_argument("--full", action="store_true", help="hours: the sizes of RESULTS.md")
    parser.add_argument("--data", type=Path, action="append", default=[], help="a folder of what benches read")
    parser.add_argument("--reference", type=Path, help="the reference program (see trees.py)")
    parser.add_argument("--only", help="names of benches, with commas between")
    parser.add_argument("--results", type=Path, help="the file whose tables a full run replaces")
    parser.add_argument("--store", action="store_true", help="make this run the stored one")
    asked = parser.parse_args(arguments)
    if asked.results and asked.quick:
        parser.error("tables are replaced by a full run: leave --results out, or ask for --full")
    kind = "quick" if asked.quick else "full"
    kept: dict[str, Ratios] = json.loads(STORED.read_text()) if STORED.exists() else {}
    stored, found = kept.get(kind, {}), {}
    for bench in benches(asked):
        if asked.only and bench.name not in asked.only.split(","):
            continue
        folder = next((folder for folder in asked.data if bench.needs and any(folder.glob(bench.needs))), None)
        if bench.needs and folder is None:
            print(f"left out: {bench.name}, which needs --data with {bench.needs}\n", flush=True)
            continue
        own = run(bench, folder, asked.results)
        for _ in range(AGAIN):
            if not slower(own, stored):
                break
            again = run(bench, folder, None)
            own = {name: min(ratio, again.get(name, ratio)) for name, ratio in own.items()}
        found |= own
    worse = slower(found, stored)
    print("\n".join(["", *compared(found, stored, worse)]))
    if asked.store:
        STORED.write_text(json.dumps(kept | {kind: stored | found}, indent=1, sort_keys=True) + "\n")
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
