"""Reading and writing documents, against bare parsers in the same run.

    python tests/bench/make_tpch.py --parquet DIR --out DATA --sizes 100000,1000000
    python tests/bench/documents.py --data DATA --sizes 100000,1000000 [--repeat 5] [--results tests/bench/RESULTS.md]

Ratios are medians over the repetitions, in which the bare loop and ours take turns. Peak memory is that of a process
which reads the file, and then writes it.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import orjson
from lxml import etree
from results import cpu, note, put

import treeanon as ta

HERE = Path(__file__).resolve().parent


def bare_ndjson(path: Path) -> None:
    with path.open("rb") as lines:
        for line in lines:
            orjson.loads(line)


def bare_xml(path: Path) -> None:
    for _, element in etree.iterparse(str(path), tag="customer"):
        element.clear()
        while element.getprevious() is not None:
            del element.getparent()[0]


BARE: dict[str, Callable[[Path], None]] = {"ndjson": bare_ndjson, "xml": bare_xml}


def seconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def schema_of(form: str) -> ta.Schema:
    return ta.Schema.load(HERE / f"tpch-{form}.toml")


def measure_time(form: str, path: Path, repeat: int) -> dict[str, object]:
    schema, jobs = schema_of(form), os.cpu_count() or 1
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / f"out.{form}"
        # Kernels compile on their first use.
        small = Path(folder) / f"warm.{form}"
        small.write_bytes(warm_up(form))
        ta.write(ta.read(small, schema, jobs=jobs), out, force=True)
        runs: list[tuple[float, float, float]] = []
        used = []
        for _ in range(repeat):
            bare = seconds(lambda: BARE[form](path))
            start, began = time.perf_counter(), cpu()
            forest = ta.read(path, schema, jobs=jobs)
            read = time.perf_counter() - start
            used.append(cpu() - began)
            write = seconds(lambda forest=forest: ta.write(forest, out, force=True))
            runs.append((bare, read, write))
        ratio = [statistics.median(values) for values in zip(*((r / b, w / r) for b, r, w in runs), strict=True)]
        middle = [statistics.median(values) for values in zip(*runs, strict=True)]
        return {
            "records": len(forest),
            "bytes_per_node": forest.nbytes / forest.nodes,
            "nodes": forest.nodes,
            "seconds": middle,
            "cpu": min(used),
            "read_to_bare": ratio[0],
            "write_to_read": ratio[1],
        }


def warm_up(form: str) -> bytes:
    if form == "ndjson":
        lines = b'[{"quantity":1,"brand":"B","mfgr":"M"}]'
        return b'{"nation":"X","orders":[{"date":"1995-01-01","price":1.5,"lines":' + lines + b"}]}\n"
    return (
        b"<customers><customer><nation>X</nation><order><date>1995-01-01</date><price>1.5</price>"
        b"<line><quantity>1</quantity><brand>B</brand><mfgr>M</mfgr></line></order></customer></customers>"
    )


def measure_memory(form: str, path: Path) -> dict[str, object]:
    schema = schema_of(form)
    forest = ta.read(path, schema, jobs=os.cpu_count() or 1)
    after_read = peak()
    with tempfile.TemporaryDirectory() as folder:
        ta.write(forest, Path(folder) / f"out.{form}")
    return {"read_mb": after_read, "write_mb": peak()}


def peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000


def worker(kind: str, form: str, path: Path, repeat: int) -> dict[str, object]:
    command = [sys.executable, __file__, "--worker", kind, form, str(path), "--repeat", str(repeat)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, object] = json.loads(done.stdout)
    return found


def table(data: Path, sizes: list[str], repeat: int) -> str:
    lines = [
        "| records | nodes | format | bare s | read s | read/bare | write s | write/read | bytes/node "
        "| peak MB read | … and written |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for size in sizes:
        for form in BARE:
            path = data / f"tpch_{size}.{form}"
            times, memory = worker("time", form, path, repeat), worker("memory", form, path, repeat)
            bare, read, write = times["seconds"]
            note(f"documents {form} {size} read", times["cpu"])
            lines.append(
                f"| {times['records']:,} | {times['nodes']:,} | {form} | {bare:.2f} | {read:.2f} | "
                f"**{times['read_to_bare']:.2f}** | {write:.2f} | **{times['write_to_read']:.2f}** | "
                f"{times['bytes_per_node']:.1f} | {memory['read_mb']:,.0f} | {memory['write_mb']:,.0f} |"
            )
            print(lines[-1], file=sys.stderr)
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--sizes", default="100000")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--results", type=Path)
    parser.add_argument("--worker", nargs=3, metavar=("KIND", "FORMAT", "PATH"))
    asked = parser.parse_args()
    if asked.worker:
        kind, form, path = asked.worker
        found = measure_time(form, Path(path), asked.repeat) if kind == "time" else measure_memory(form, Path(path))
        print(json.dumps(found))
        return
    put([table(asked.data, asked.sizes.split(","), asked.repeat)], "documents", asked.results)


if __name__ == "__main__":
    main()
