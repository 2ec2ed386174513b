"""Measures the Spark engine beside the local one: seconds, rounds, losses, and peak memory of all processes.

    python tests/bench/make_tpch.py --parquet PQ --out DATA --sizes 100000,1000000
    python tests/bench/make_tpch.py --parquet PQ --out DATA --sizes 1000000 --parts 10
    python tests/bench/spark.py --data DATA --results tests/bench/RESULTS.md

Each run is a process of its own: `local` reads, anonymizes and writes with a checked release, as the command does;
`spark` is a driver and one executor with two cores, each a Java process with the memory that is asked for. Memory is
what Linux counts for each process (shared pages in equal parts), and CPU that of all of them, looked at twice a second.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from results import put

HERE = Path(__file__).resolve().parent
SOURCES = {"100,000": "tpch_100000.ndjson", "1,000,000": "tpch_1000000.ndjson", "10,000,000": "tpch_1000000_parts"}
"""What is measured, by its round name, and where it is."""

MOST = 20 << 30
"""The memory that the local engine may ask for: of a machine of 24 GB the rest is for others."""


def parents() -> dict[int, int]:
    found = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            found[int(status.parent.name)] = int(status.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
    return found


def memory_of(pid: int) -> int:
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text()
        return next(int(line.split()[1]) << 10 for line in text.splitlines() if line.startswith("Pss:"))
    except (OSError, StopIteration):
        return 0


def cpu_of(pid: int) -> float:
    """The seconds of CPU that a process has had."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")
    except OSError:
        return 0.0


def is_java(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip() == "java"
    except OSError:
        return False


class Peaks:
    """The most memory, in bytes, that this process, the driver's Java, executors and Python workers have had."""

    def __init__(self) -> None:
        self.most = {"python": 0, "driver": 0, "executor": 0, "workers": 0}
        self.cpu: dict[int, float] = {}
        self.going = True
        self.thread = threading.Thread(target=self._watch, daemon=True)
        self.thread.start()

    def _watch(self) -> None:
        me = os.getpid()
        while self.going:
            above = parents()
            below = {pid for pid, up in above.items() if up == me}
            drivers = {pid for pid in below if is_java(pid)}
            while more := {pid for pid, up in above.items() if up in below} - below:
                below |= more
            executors = {pid for pid in below - drivers if is_java(pid)}
            found = {"python": {me}, "driver": drivers, "executor": executors, "workers": below - drivers - executors}
            for name, pids in found.items():
                self.most[name] = max(self.most[name], sum(map(memory_of, pids)))
            for pid in below | {me}:
                self.cpu[pid] = max(self.cpu.get(pid, 0.0), cpu_of(pid))
            time.sleep(0.5)


def run_local(asked: argparse.Namespace, out: str) -> dict[str, Any]:
    import treeanon as ta

    resource.setrlimit(resource.RLIMIT_AS, (MOST, MOST))
    forest = ta.read(asked.source, ta.Schema.load(asked.schema))
    release = ta.anonymize(forest, k=asked.k, m=asked.m, n=asked.n, seed=1)
    release.write(f"{out}/out.ndjson")
    return {"records": len(forest), "loss": release.loss.value_loss, "kept": release.loss.relations_kept}


def run_spark(asked: argparse.Namespace, out: str) -> dict[str, Any]:
    os.environ["PYSPARK_SUBMIT_ARGS"] = (
        f"--master local-cluster[1,2,{asked.executor}] --driver-memory {asked.driver}m"
        f" --executor-memory {asked.executor}m --conf spark.sql.shuffle.partitions=8 --conf spark.log.level=OFF"
        " --conf spark.ui.enabled=false --conf spark.ui.showConsoleProgress=false --conf spark.driver.host=127.0.0.1"
        " pyspark-shell"
    )
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    import treeanon as ta
    from treeanon.release import Request
    from treeanon.spark.interface import Job, engine_named
    from treeanon.spark.session import session

    begun = time.perf_counter()

    def told(words: str) -> None:
        print(f"{time.perf_counter() - begun:7.1f} s  {words}", file=sys.stderr, flush=True)

    try:
        job = Job(asked.source, ta.Schema.load(asked.schema), f"{out}/out", sample=asked.sample)
        done = engine_named("spark").publish(job, Request(asked.k, asked.m, asked.n, seed=1), told)
    finally:
        session().stop()
    return {
        "records": done.counts["records"],
        "rounds": done.report["rounds"],
        "sets": done.verdict.label_sets,
        "loss": done.loss.value_loss,
        "kept": done.loss.relations_kept,
    }


def one_run(asked: argparse.Namespace) -> None:
    """Prints what one run came to, as JSON."""
    folder = tempfile.mkdtemp(dir=asked.scratch)
    peaks, begun = Peaks(), time.perf_counter()
    try:
        found = (run_spark if asked.engine == "spark" else run_local)(asked, folder)
    finally:
        shutil.rmtree(folder)
    peaks.going = False
    megabytes = {name: most >> 20 for name, most in peaks.most.items()}
    print(
        json.dumps(
            {
                **found,
                "seconds": round(time.perf_counter() - begun, 1),
                "cpu": round(sum(peaks.cpu.values()), 1),
                "mb": megabytes,
            }
        )
    )


def measured(engine: str, source: Path, given: Sequence[str]) -> dict[str, Any]:
    """What a run of its own process came to; what it says on the way goes to standard error."""
    command = [sys.executable, __file__, "--engine", engine, "--source", str(source), *given]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        return {}
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    print(json.dumps(found), file=sys.stderr, flush=True)
    return found


def row(name: str, engine: str, found: dict[str, Any]) -> str:
    if not found:
        return f"| {name} | {engine} | did not end | | | | | | | |"
    mb = found["mb"]
    own = f"{mb['python']:,} + {mb['driver']:,}" if engine == "spark" else f"{mb['python'] + mb['workers']:,}"
    rest = f"{mb['executor']:,} + {mb['workers']:,}" if engine == "spark" else ""
    cells = [
        found["seconds"],
        found["cpu"],
        found.get("rounds", ""),
        own,
        rest,
        f"{found['loss']:.4f}",
        f"{found['kept']:.1%}",
    ]
    return f"| {found['records']:,} | {engine} | " + " | ".join(map(str, cells)) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="where make_tpch.py has written")
    parser.add_argument("--only", help="sizes and engines, such as '1,000,000 spark;10,000,000 spark'; default: all")
    parser.add_argument("--results", type=Path)
    parser.add_argument("--schema", default=str(HERE / "tpch-ndjson.toml"))
    parser.add_argument("-k", type=int, default=5)
    parser.add_argument("-m", type=int, default=2)
    parser.add_argument("-n", type=int, default=1)
    parser.add_argument("--sample", type=int)
    parser.add_argument("--driver", type=int, default=3072, help="megabytes of the driver's Java")
    parser.add_argument("--executor", type=int, default=6144, help="megabytes of the executor's Java")
    parser.add_argument("--scratch", help="where releases are written and deleted again")
    parser.add_argument("--engine", choices=["local", "spark"], help="one run, with --source")
    parser.add_argument("--source", help="one run, of this file or folder")
    asked = parser.parse_args()
    if asked.engine:
        one_run(asked)
        return
    keys = ("schema", "k", "m", "n", "sample", "driver", "executor", "scratch")
    given = [word for key in keys if (value := getattr(asked, key)) is not None for word in option(key, value)]
    wanted = (
        asked.only.split(";") if asked.only else [f"{size} {one}" for size in SOURCES for one in ("local", "spark")]
    )
    lines = [
        f"`python tests/bench/spark.py --data DATA` ({os.cpu_count()} cores; k={asked.k}, m={asked.m}, n={asked.n}; "
        f"driver {asked.driver:,} MB, executor {asked.executor:,} MB)",
        "",
        "| records | engine | s | CPU s | rounds | MB: Python + driver | MB: executor + workers | loss | relations |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    seconds: dict[str, float] = {}
    for one in wanted:
        size, engine = one.strip().split(" ")
        found = measured(engine, asked.data / SOURCES[size], given)
        seconds[one.strip()] = found.get("seconds", 0.0)
        lines.append(row(size, engine, found))
    small, large = (seconds.get(f"{size} spark") for size in ("1,000,000", "10,000,000"))
    if small and large:
        lines += ["", f"Spark, ten million against a million: **{large / small:.1f} ×** (limit 12)."]
    put(lines, "spark", asked.results)


def option(key: str, value: object) -> list[str]:
    return [f"-{key}" if len(key) == 1 else f"--{key}", str(value)]


if __name__ == "__main__":
    main()
