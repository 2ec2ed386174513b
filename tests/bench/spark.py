"""Measures the Spark engine on one collection: seconds by step, rounds, losses, and peak memory of all its processes.

    python tests/bench/spark.py tpch_1000000.ndjson tests/bench/tpch-ndjson.toml -k 5 --memory 3g

Memory is that of the driver (Java and Python) and of the Python workers, as Linux counts it (resident, shared pages
counted in each), looked at twice a second.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
import threading
import time
from pathlib import Path

PAGE = os.sysconf("SC_PAGE_SIZE")


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
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE
    except OSError:
        return 0


class Peaks:
    """The most memory that this process, Java, and all below Java have had."""

    def __init__(self) -> None:
        self.here = self.java = self.workers = 0
        self.going = True
        self.thread = threading.Thread(target=self._watch, daemon=True)
        self.thread.start()

    def _watch(self) -> None:
        me = os.getpid()
        while self.going:
            above = parents()
            javas = {pid for pid, up in above.items() if up == me}
            below: set[int] = set(javas)
            while more := {pid for pid, up in above.items() if up in below} - below:
                below |= more
            self.here = max(self.here, memory_of(me))
            self.java = max(self.java, sum(map(memory_of, javas)))
            self.workers = max(self.workers, sum(map(memory_of, below - javas)))
            time.sleep(0.5)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("source")
    parser.add_argument("schema")
    parser.add_argument("-k", type=int, default=5)
    parser.add_argument("-m", type=int, default=2)
    parser.add_argument("-n", type=int, default=1)
    parser.add_argument("--sample", type=int)
    parser.add_argument("--memory", default="2g", help="the driver's, which also runs the workers' tasks locally")
    asked = parser.parse_args()
    os.environ["PYSPARK_SUBMIT_ARGS"] = f"--driver-memory {asked.memory} pyspark-shell"
    import treeanon as ta
    from treeanon.engines.protocol import Job, engine_named
    from treeanon.engines.spark.session import session
    from treeanon.release import Request

    peaks, begun = Peaks(), time.perf_counter()
    steps: list[tuple[float, str]] = []

    def told(words: str) -> None:
        steps.append((round(time.perf_counter() - begun, 1), words))
        print(*steps[-1], file=sys.stderr, flush=True)

    folder = tempfile.mkdtemp()
    try:
        job = Job(asked.source, ta.Schema.load(asked.schema), f"{folder}/out", sample=asked.sample)
        done = engine_named("spark").publish(job, Request(asked.k, asked.m, asked.n, seed=1), told)
        seconds = round(time.perf_counter() - begun, 1)
    finally:
        session().stop()
        shutil.rmtree(folder)
    peaks.going = False
    memory = {"python": peaks.here >> 20, "java": peaks.java >> 20, "workers": peaks.workers >> 20}
    loss = {"value_loss": done.loss.value_loss, "relations_kept": done.loss.relations_kept}
    told_of = {"records": done.counts["records"], "seconds": seconds, "peak_mb": memory, **loss}
    print(json.dumps({**told_of, "search": done.report, "steps": steps}, indent=1))


if __name__ == "__main__":
    main()
