"""Searches and the verifier, against the paper's algorithm in C++ and over growing data.

    python tests/bench/trees.py --reference REF_GCS --data DATA [--data MORE] [--only speed,growth] [--quick]
        [--results tests/bench/RESULTS.md]

REF_GCS is the reference program, built by `g++ -O3 -march=native -std=c++17`; DATA holds its `tpch_N.trees.jsonl` and
`tpch.hierarchy.json`. Every search runs in a process of its own, its kernels warm, and takes turns with the reference.
Memory is how far that process's peak is above what it held with the forest alone.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import tree_data as data
from results import cpu, note, put

import treeanon as ta
from treeanon.algorithms.tree.registry import tree_algorithm_named
from treeanon.metrics.measure import measure
from treeanon.metrics.values import rpda
from treeanon.privacy import Guarantee
from treeanon.verifier.tree import verify

ROOT = Path(__file__).resolve().parent.parent.parent
Result = dict[str, Any]
Row = Sequence[str]

WARM = 300
REPEAT_BELOW = 60.0
"""Seconds; what takes longer is run once."""


@dataclass(frozen=True)
class Search:
    """One of our searches, with its options."""

    name: str
    algorithm: str = "maximal"
    options: Mapping[str, Any] = field(default_factory=dict)


DEFAULT = Search("default")
DEFAULT_RPD = Search("default, `--objective rpd`", options={"objective": "rpd"})
SUBTREE = Search("default, `--recoding subtree`", options={"recoding": "subtree"})
GCS = {closed: Search(f"GCS(2), closed {closed}", "gcs", {"closed": closed}) for closed in ("values", "cuts")}
OCS = {closed: Search(f"OCS, closed {closed}", "ocs", {"closed": closed}) for closed in ("values", "cuts")}
MIRACLE = Search("MiRaCle", "miracle")


# In a process of its own


def resident(what: str) -> float:
    """The memory of this process in MB: VmRSS now, VmHWM at its peak (getrusage also counts what started it)."""
    status = Path("/proc/self/status").read_text()
    return int(status[status.index(what) :].split()[1]) * 1024 / 1e6


def worked(task: Result) -> Result:
    """What one search, and the check of what it found, has taken and lost."""
    forest = data.load(Path(task["forest"]))
    guarantee = Guarantee(*task["guarantee"])
    search = tree_algorithm_named(task["algorithm"]).search
    few = Guarantee(min(guarantee.k, 3), min(guarantee.m, 3), guarantee.n)
    verify(search(forest[:WARM], few, **task["options"]).forest, few, patterns=False)
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins here
    held, start, began = resident("VmRSS"), time.perf_counter(), cpu()
    found = search(forest, guarantee, **task["options"])
    worked, began = cpu() - began, cpu()
    taken, memory, start = time.perf_counter() - start, resident("VmHWM") - held, time.perf_counter()
    verdict = verify(found.forest, guarantee, patterns=False)
    checked = time.perf_counter() - start
    out: Result = {"seconds": taken, "memory": memory, "verify": checked, "both": resident("VmHWM") - held}
    out |= {"cpu": worked, "cpu_verify": cpu() - began, "nodes": forest.nodes}
    out |= {"holds": verdict.holds, "ended": len(found.solution.disassociated), "report": dict(found.report)}
    return out | (lost(forest, found.forest) if task["losses"] else {})


def lost(before: ta.Forest, after: ta.Forest) -> Result:
    losses = measure(before, after)
    kept, loss = losses.relations_kept, losses.value_loss
    return {"loss": loss, "rpd": losses.rpd, "kept": kept, "cost": loss + 1 - kept, "rpda": rpda(after)}


def lost_by_reference(task: Result) -> Result:
    """The same measures of what the reference has written."""
    before = data.load(Path(task["forest"]))
    after = ta.read(task["released"], before.schema)
    guarantee = Guarantee(*task["guarantee"])
    return lost(before, after) | {"holds": verify(after, guarantee, patterns=False).holds}


class Bench:
    """The files and programs of a run, and the processes that it starts."""

    def __init__(self, asked: argparse.Namespace, folder: Path) -> None:
        self.reference, self.folders, self.quick = asked.reference, asked.data, asked.quick
        self.repeat, self.limit, self.folder = asked.repeat, asked.limit, folder
        self.kept: dict[str, Path] = {}

    def tpch(self, records: int) -> Path | None:
        """The saved forest of so many TPC-H records; None if there is no file with that many."""
        path = data.tpch_file(self.folders, records)
        return path and self.saved(f"tpch-{records}", lambda: data.read_tpch(path, records))

    def saved(self, name: str, make: Any) -> Path:
        if name not in self.kept:
            self.kept[name] = data.save(make(), self.folder / name)
        return self.kept[name]

    def ours(self, forest: Path, guarantee: tuple[int, int, int], search: Search, *, losses: bool = True) -> Result:
        task = {"forest": str(forest), "guarantee": guarantee, "losses": losses}
        return self._process("worked", task | {"algorithm": search.algorithm, "options": dict(search.options)})

    def measured(self, forest: Path, guarantee: tuple[int, int, int], released: Path) -> Result:
        task = {"forest": str(forest), "guarantee": guarantee, "released": str(released)}
        return self._process("lost_by_reference", task)

    def _process(self, call: str, task: Result) -> Result:
        command = [sys.executable, __file__, "--worker", call, json.dumps(task)]
        return self._run(command, f"{task.get('algorithm', call)} {task['guarantee']} on {Path(task['forest']).name}")

    def theirs(
        self, records: int, guarantee: tuple[int, int, int], closed: str, *options: str, out: Path | None = None
    ) -> Result:
        """What the reference says of a run."""
        path = data.tpch_file(self.folders, records)
        assert path is not None
        k, m, n = map(str, guarantee)
        command = [str(self.reference), "--trees", str(path), "--hier", str(path.parent / "tpch.hierarchy.json")]
        command += ["--k", k, "--m", m, "--n", n, "--closed", closed.rstrip("s"), "--tuned", *options]
        command += ["--out", str(out)] if out else []
        return self._run(command, f"reference {guarantee} {closed} on {path.name}")

    def _run(self, command: Sequence[str], what: str) -> Result:
        """The JSON that a program prints; what went wrong, in a word, if it prints none."""
        start = time.monotonic()
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=self.limit)
        except subprocess.TimeoutExpired:
            out: Result = {"failed": f"over {self.limit:.0f} s"}
        else:
            problem = [f"exit {done.returncode}", *done.stderr.strip().splitlines()][-1].replace("|", "/")[:80]
            out = {"failed": problem} if done.returncode else json.loads(done.stdout.splitlines()[-1])
        print(f"{time.monotonic() - start:8.1f} s  {what}: {out}", file=sys.stderr, flush=True)
        return out


def in_turns(repeat: int, calls: Mapping[str, Any]) -> dict[str, Result]:
    """The middle result (by seconds) of each of the calls, made in turns; slow ones are made once."""
    runs: dict[str, list[Result]] = {name: [] for name in calls}
    for _ in range(repeat):
        for name, call in calls.items():
            if all(run.get("seconds", REPEAT_BELOW) < REPEAT_BELOW for run in runs[name]):
                runs[name].append(call())
    out = {}
    for name, results in runs.items():
        results.sort(key=lambda run: run.get("seconds", 1e9))
        out[name] = results[(len(results) - 1) // 2]
        for each in ("verify", "memory"):
            if each in out[name]:
                out[name][each] = statistics.median(run[each] for run in results if each in run)
    return out


# Tables


def table(head: str, rows: Iterable[Row]) -> str:
    columns = head.count("|") + 1
    lines = [f"| {head} |", "|---" * columns + "|"]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])


def seconds(value: float) -> str:
    return f"{value:.3f}" if value < 1 else f"{value:.2f}" if value < 100 else f"{value:.0f}"


def verdict(value: float, limit: float, form: str = "{:.3f}") -> str:
    """A ratio beside its limit."""
    return f"**{form.format(value)}** (≤ {form.format(limit)}: {'yes' if value <= limit else 'NO'})"


def losses_of(result: Result) -> Row:
    if "failed" in result:
        return [result["failed"], "", "", ""]
    holds = "" if result["holds"] else " DOES NOT HOLD"
    return [f"{result['loss']:.4f}{holds}", f"{result['rpd']:.4f}", f"{result['kept']:.1%}", f"{result['ended']}"]


def speed(bench: Bench) -> str:
    """Seconds against the reference's."""
    guarantee = (20, 3, 2)
    against: list[Row] = []
    alone: list[Row] = []
    for records in (1_000, 10_000) if bench.quick else (10_000, 100_000, 250_000, 1_000_000):
        forest = bench.tpch(records)
        if forest is None:
            continue
        calls: dict[str, Any] = {"default": lambda f=forest: bench.ours(f, guarantee, DEFAULT, losses=False)}
        for closed in ("values", "cuts") if records < 1_000_000 else ():
            calls[f"ref {closed}"] = lambda r=records, c=closed: bench.theirs(r, guarantee, c)
            calls[f"our {closed}"] = lambda f=forest, c=closed: bench.ours(f, guarantee, GCS[c])
        got = in_turns(bench.repeat, calls)
        if records < 1_000_000:
            for closed, search in GCS.items():
                limit = 1 / 4 if records == 100_000 else None
                against.append(_against_row(records, search.name, got[f"ref {closed}"], got[f"our {closed}"], limit))
            limit = 1 / 15 if records >= 100_000 else None
            name = "default, reference: GCS(2), closed cuts"
            against.append(_against_row(records, name, got["ref cuts"], got["default"], limit))
        alone.append(_alone_row(records, got["default"]))
    first = table("records | search | reference s | ours s | ours/reference | RPDa reference | RPDa ours", against)
    head = "records | default search s | MB beyond the forest | verifier s | verifier/search | MB, both"
    return f"TPC-H trees, k=20, m=3, n=2; the reference is tuned.\n\n{first}\n\n{table(head, alone)}"


def _against_row(records: int, name: str, theirs: Result, ours: Result, limit: float | None) -> Row:
    if failed := theirs.get("failed") or ours.get("failed"):
        return [f"{records:,}", name, failed, "", "", "", ""]
    ratio = ours["seconds"] / theirs["seconds"]
    shown = f"{ratio:.3f}" if limit is None else verdict(ratio, limit)
    cells = [f"{records:,}", name, seconds(theirs["seconds"]), seconds(ours["seconds"]), shown]
    if "rpda" not in ours:
        return [*cells, "", ""]
    same = "yes" if ours["rpda"] <= theirs["rpda"] * (1 + 1e-9) else "NO"
    return [*cells, f"{theirs['rpda']:.6g}", f"{ours['rpda']:.6g} (not above: {same})"]


def _alone_row(records: int, own: Result) -> Row:
    if "failed" in own:
        return [f"{records:,}", own["failed"], "", "", "", ""]
    took, memory = seconds(own["seconds"]), f"{own['memory']:,.0f}"
    if records == 1_000_000:
        took, memory = verdict(own["seconds"], 30, "{:.1f}"), verdict(own["memory"], 2000, "{:,.0f}")
    ratio = verdict(own["verify"] / own["seconds"], 1, "{:.2f}")
    return [f"{records:,}", took, memory, seconds(own["verify"]), ratio, f"{own['both']:,.0f}"]


def quality(bench: Bench) -> str:
    """What is lost, by search."""
    rows: list[Row] = []
    for records in (1_000,) if bench.quick else (10_000, 100_000):
        forest = bench.tpch(records)
        if forest is None:
            continue
        for m, n in ((3, 2), (2, 1)):
            where = f"{records:,}", f"{m}, {n}"
            rows += [[*where, *row] for row in _quality_of(bench, records, forest, (20, m, n))]
    head = "records | m, n | search | value loss | RPD | relations kept | disassociations | s"
    return "TPC-H trees, k=20; value loss and RPD: lower is better.\n\n" + table(head, rows)


def _quality_of(bench: Bench, records: int, forest: Path, guarantee: tuple[int, int, int]) -> list[Row]:
    theirs: list[tuple[str, str, tuple[str, ...]]] = [
        (f"GCS(2), closed {closed}", closed, ()) for closed in ("values", "cuts")
    ]
    theirs += [(f"OCS, closed {closed}", closed, ("--algo", "ocs")) for closed in ("values", "cuts")]
    ours = [*GCS.values(), *OCS.values(), DEFAULT, DEFAULT_RPD, SUBTREE]
    if records <= 10_000:
        theirs.append(("GCS(16), closed values", "values", ("--g", "16")))
        ours.append(MIRACLE)
    rows: list[Row] = []
    for name, closed, options in theirs:
        out = bench.folder / "reference.trees.jsonl"
        told = bench.theirs(records, guarantee, closed, *options, out=out)
        if "failed" not in told:
            told = bench.measured(forest, guarantee, out) | {"ended": told["sd_count"], "seconds": told["seconds"]}
        rows.append([f"reference {name}", *losses_of(told), seconds(told.get("seconds", 0))])
    for search in ours:
        got = bench.ours(forest, guarantee, search)
        rows.append([search.name, *losses_of(got), seconds(got.get("seconds", 0))])
    return rows


def growth(bench: Bench) -> str:
    """How the default search's time grows."""
    rows, taken = [], {}
    for name, value, (m, n), forest in _growing(bench):
        got = in_turns(bench.repeat, {"": lambda f=forest, m=m, n=n: bench.ours(f, (20, m, n), DEFAULT)})[""]
        taken[name] = taken.get(name, 0.0) + got.get("cpu", float("inf"))
        rows.append([name, value, *_growth_row(got)])
    for name, cpu_seconds in taken.items():
        # One short search says little of a day's difference; what has failed is slower than anything.
        note(f"growth {name}", cpu_seconds)
    head = "what grows | to | default search s | verifier s | µs a node | MB beyond the forest | value loss | RPD"
    told = (
        "k=20, m=2, n=1; seconds of the processor. Invented persons with sex, age, wards (visits) and long-tailed codes"
        " below them: 8 nodes and 300 codes where nothing else is said."
    )
    return f"{told}\n\n{table(head + ' | relations kept | disassociations | walks', rows)}"


def _growing(bench: Bench) -> Iterable[tuple[str, str, tuple[int, int], Path]]:
    """Persons in which one thing grows: its name and value, m and n, and the saved forest."""
    records = 2_000 if bench.quick else 100_000
    few, usual = records // 10, (2, 1)

    def saved(name: str, size: int, values: int = 300, **more: Any) -> Path:
        return bench.saved(f"codes-{name}-{size}", lambda: data.codes(values, size, **more))

    for visits, codes in ((3, 7), (16, 32), (66, 132)):
        path = saved(f"nodes-{visits}", few, visits=(visits, visits), diagnoses=(codes, codes))
        yield "nodes a record", f"about {2 + visits + codes}; {few:,} records", usual, path
    for visits in (1, 4, 16, 64):
        path = saved(f"visits-{visits}", few, visits=(visits, visits), diagnoses=(visits, visits))
        yield "visits a person, a code each", f"{visits}; {few:,} records", usual, path
    for answers in (6, 96, 996)[: 2 if bench.quick else 3]:
        yield "classes", f"{4 + answers:,}; {few:,} records", usual, saved(f"classes-{answers}", few, answers=answers)
    for m in range(2, 7):
        yield "m (n=2)", f"{m}; {few:,} records", (m, 2), saved("usual", few)
    for n in range(5):
        yield "n (m=3)", f"{n}; {few:,} records", (3, n), saved("usual", few)
    for values in (300, 3_000, 30_000, 300_000, 1_000_000)[: 3 if bench.quick else 5]:
        yield "values of a class", f"{values:,}; {records:,} records", usual, saved(f"{values}", records, values)
    for size in (few, records, 4 * records, *([] if bench.quick else [1_000_000])):
        yield "records", f"{size:,}", usual, saved("usual", size)


def _growth_row(got: Result) -> Row:
    if "failed" in got:
        return [got["failed"], *[""] * 8]
    times = [seconds(got["cpu"]), seconds(got["cpu_verify"]), f"{1e6 * got['cpu'] / got['nodes']:.1f}"]
    return [*times, f"{got['memory']:,.0f}", *losses_of(got), str(got["report"].get("walks", ""))]


def clinical(bench: Bench) -> str:
    """Sibling against subtree recoding."""
    forest = bench.saved("clinical", data.clinical)
    rows = []
    for m, n in ((2, 1), (2, 0), (3, 2)):
        calls = {s.name: (lambda s=s, m=m, n=n: bench.ours(forest, (5, m, n), s)) for s in (SUBTREE, DEFAULT)}
        for name, got in in_turns(bench.repeat, calls).items():
            if "failed" not in got:
                note(f"clinical {m},{n} {name}", got["cpu"])
            kind = "subtree" if name == SUBTREE.name else "sibling"
            rows.append([f"{m}, {n}", kind, *losses_of(got), seconds(got.get("cpu", 0))])
    head = "m, n | recoding | value loss | RPD | relations kept | disassociations | CPU s"
    told = "615 invented patients of about 29 nodes with about 700 different values, most of them rare; k=5."
    return f"{told}\n\n{table(head, rows)}"


def command(bench: Bench) -> str:
    """The whole command on the shipped sample."""
    call = [sys.executable, "-m", "treeanon", "anonymize", str(ROOT / "samples" / "patients.xml")]
    call += ["-s", str(ROOT / "schemas" / "hospital-xml.toml"), "-k", "5", "-m", "2", "-n", "1", "--force"]
    call += ["--objects", "merged"]
    call += ["-o", str(bench.folder / "out.xml")]

    def timed(**more: str) -> float:
        start = time.perf_counter()
        subprocess.run(call, check=True, capture_output=True, env={**os.environ, **more}, cwd=ROOT)
        return time.perf_counter() - start

    timed()
    warm = statistics.median(timed() for _ in range(max(3, bench.repeat)))
    empty = bench.folder / "numba"
    empty.mkdir()
    cold = timed(NUMBA_CACHE_DIR=str(empty))
    rows = [
        ["warm, the middle of several", verdict(warm, 2, "{:.2f}")],
        ["the very first, no kernel compiled", verdict(cold, 20, "{:.1f}")],
    ]
    return f"`treeanon anonymize samples/patients.xml -k 5 -m 2 -n 1 --objects merged`\n\n{table('run | s', rows)}"


# The run

SECTIONS = {"speed": speed, "quality": quality, "growth": growth, "clinical": clinical, "command": command}


def made_by(asked: argparse.Namespace, name: str) -> str:
    """The command that makes a section."""
    options = f" --reference {asked.reference.name}" if asked.reference and name in ("speed", "quality") else ""
    options += " --data DATA" if name in ("speed", "quality") else ""
    options += " --quick" if asked.quick else ""
    return f"`python tests/bench/trees.py{options} --only {name}` ({os.cpu_count()} cores)"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reference", type=Path)
    parser.add_argument("--data", type=Path, action="append", default=[])
    parser.add_argument("--only", default=",".join(SECTIONS), help="sections, with commas between: %(default)s")
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that it works")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--limit", type=float, default=900, help="seconds that one process may take")
    parser.add_argument("--results", type=Path)
    parser.add_argument("--worker", nargs=2, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.worker:
        calls = {"worked": worked, "lost_by_reference": lost_by_reference}
        print(json.dumps(calls[asked.worker[0]](json.loads(asked.worker[1]))))
        return
    chosen = asked.only.split(",")
    if unknown := set(chosen) - set(SECTIONS):
        parser.error(f"no section {', '.join(sorted(unknown))}; choose from {', '.join(SECTIONS)}")
    if {"speed", "quality"} & set(chosen) and not (asked.reference and asked.data):
        parser.error("speed and quality need --reference and --data")
    with tempfile.TemporaryDirectory(prefix="trees-bench-") as folder:
        bench = Bench(asked, Path(folder))
        for name in chosen:
            put([made_by(asked, name), "", SECTIONS[name](bench)], f"trees:{name}", asked.results)


if __name__ == "__main__":
    main()
