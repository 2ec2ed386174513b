"""Times searches of tables against an independent tool's numbers on the Adult census, and measures what they lose.

    python tests/bench/flat.py --data FOLDER --results tests/bench/RESULTS.md [--only lattice,models]
    python tests/bench/flat.py --only whole [--quick]

FOLDER holds `adult/` (adult.csv, `;`-separated, and a hierarchy file per column) and a README.md with tables of what
ARX needs for each setting on one machine, and for a yardstick: a loop over a Python dictionary. Its milliseconds are
scaled by the same yardstick, measured here, before they are compared.
"""

from __future__ import annotations

import argparse
import gc
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from results import cpu, note, put, yardstick

import treeanon as ta
from treeanon.algorithms.table import optimal
from treeanon.algorithms.table.freeform.exchange import Classes
from treeanon.algorithms.table.freeform.exchange_parts import least_cost
from treeanon.algorithms.table.freeform.graph import prices_of
from treeanon.algorithms.table.problem import Problem
from treeanon.algorithms.table.registry import table_algorithm_named
from treeanon.bench.invented import census
from treeanon.metrics.table import gcp
from treeanon.metrics.table.ncp import Form
from treeanon.privacy.models import DistinctDiversity, KAnonymity, TCloseness
from treeanon.verifier.freeform import verify_freeform
from treeanon.verifier.table import check

COLUMNS = ("sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation")
YARD = 0.123
"""Seconds of the yardstick on the machine of the tables."""

Lines = Iterator[str]

CENSUS = 'version = 1\n[input]\nformat = "csv"\n' + "".join(
    f'[[class]]\nname = "{name}"\npath = "{name}"\n{more}\n'
    for name, more in {
        "age": 'type = "integer"\nhierarchy = { intervals = [5, 10, 20] }',
        "education": 'type = "integer"\nhierarchy = { intervals = [2, 4, 8] }',
        "gender": "hierarchy = { flat = true }",
        "marital": "hierarchy = { groups = 3 }",
        "race": "hierarchy = { flat = true }",
        "work_class": "hierarchy = { groups = 3 }",
        "country": "hierarchy = { groups = 9 }",
    }.items()
)
"""A schema of the quasi columns of the invented census."""


def schema_text(data: Path, quasi: int, sensitive: str | None = None) -> str:
    """The schema of the first columns of Adult."""
    text = 'version = 1\n[input]\nformat = "csv"\n'
    for name in [*COLUMNS[:quasi], *([sensitive] if sensitive else [])]:
        role = "sensitive" if name == sensitive else "quasi"
        path = data / "adult" / f"adult_hierarchy_{name}.csv"
        text += f'[[class]]\nname = "{name}"\npath = "{name}"\nrole = "{role}"\nhierarchy = "{path}"\n'
    return text


def adult(data: Path, quasi: int, sensitive: str | None = None) -> ta.Table:
    """Adult as a table."""
    return ta.read_table(data / "adult" / "adult.csv", ta.Schema.loads(schema_text(data, quasi, sensitive)))


def tables(data: Path) -> dict[str, list[list[str]]]:
    """The tables of the README by their heading: the cells of each row."""
    found: dict[str, list[list[str]]] = {}
    heading = ""
    for line in (data / "README.md").read_text().splitlines():
        if line.startswith("### "):
            heading = line[4:]
        elif re.match(r"\| \d", line):
            found.setdefault(heading, []).append([cell.strip() for cell in line.strip("| ").split("|")])
    return found


def warm(run: Callable[[], Any], rounds: int = 5) -> tuple[float, Any]:
    """The median seconds of the processor of some rounds after two that do not count, and what the last one gave."""
    times = []
    for _ in range(rounds + 2):
        gc.collect()
        start = cpu()
        found = run()
        times.append(cpu() - start)
    return statistics.median(times[2:]), found


def lattice(data: Path, yard: float) -> Lines:
    """The optimal search against ARX's Flash, setting by setting."""
    rows = next(rows for name, rows in tables(data).items() if "Flash" in name)
    by_columns = {d: adult(data, d) for d in (5, 8)}
    yield "| d | k | share | metric | height (ARX) | suppressed (ARX) | loss (ARX) | ms | ARX ms, scaled | ratio |"
    yield "|---|---|---|---|---|---|---|---|---|---|"
    ratios, taken = [], dict.fromkeys(((d, metric) for d, _, _, metric, *_ in rows), 0.0)
    for d, k, share, metric, _, height, suppressed, loss, ms, *_ in rows:
        table = by_columns[int(d)]
        problem = Problem(table, (KAnonymity(int(k)),), int(float(share) * len(table)))
        asked = "height" if metric == "height" else "gcp_set"
        seconds, found = warm(lambda p=problem, a=asked: optimal.search(p, loss=a))
        released, _ = found.recoded(table)
        assert all(one.holds for one in check(released, problem.models))
        lost = gcp(released, len(table) - len(released), form="set")
        taken[d, metric] += seconds
        theirs = float(ms) / YARD * yard
        ratios.append(1000 * seconds / theirs)
        yield (
            f"| {d} | {k} | {share} | {metric} | {found.height} ({height}) | {found.suppressed} ({suppressed}) |"
            f" {lost:.6f} ({loss}) | {1000 * seconds:.1f} | {theirs:.1f} | {ratios[-1]:.2f} |"
        )
    for (d, metric), seconds in taken.items():
        # Each by itself is too short to be compared with another day's.
        note(f"adult lattice d={d} {metric}", seconds)
    yield ""
    middle = statistics.median(ratios)
    yield f"Median ratio **{middle:.2f}** (limit 1), worst {max(ratios):.2f}, best {min(ratios):.2f}."


def models(data: Path, yard: float) -> Lines:
    """The optimal search with sensitive columns."""
    rows = next(rows for name, rows in tables(data).items() if "Other privacy models" in name)
    table = adult(data, 7, "occupation")
    asked = {"kl": (KAnonymity(5), DistinctDiversity(3)), "kt": (KAnonymity(5), TCloseness(0.2))}
    yield "| models | metric | share | suppressed (ARX) | loss (ARX) | ms | ARX ms, scaled | ratio |"
    yield "|---|---|---|---|---|---|---|---|"
    for _, _, kind, metric, share, _, suppressed, loss, ms in rows:
        problem = Problem(table, asked[kind], int(float(share) * len(table)))
        by = "height" if metric == "height" else "gcp_set"
        seconds, found = warm(lambda p=problem, a=by: optimal.search(p, loss=a))
        released, _ = found.recoded(table)
        assert all(one.holds for one in check(released, problem.models, reference=table))
        lost = gcp(released, len(table) - len(released), form="set")
        note(f"adult {kind} {metric} {share}", seconds)
        theirs = float(ms) / YARD * yard
        yield (
            f"| {kind} | {metric} | {share} | {found.suppressed} ({suppressed}) | {lost:.6f} ({loss}) |"
            f" {1000 * seconds:.1f} | {theirs:.1f} | {1000 * seconds / theirs:.2f} |"
        )


def command(data: Path, yard: float) -> Lines:
    """The whole process, from CSV to a checked release."""
    with tempfile.TemporaryDirectory() as folder:
        schema, out = Path(folder, "s.toml"), Path(folder, "out.csv")
        schema.write_text(schema_text(data, 8))
        asked = ("-k", "5", "--max-suppressed", "5%", "-o", str(out), "--force", "-q")
        yield "| search | s |"
        yield "|---|---|"
        for name in ("optimal", "samarati", "incognito", "local"):
            run = [sys.executable, "-m", "treeanon", "anonymize", str(data / "adult" / "adult.csv"), "-s", str(schema)]
            line = [*run, *asked, "-a", name]
            seconds, _ = warm(lambda line=line: subprocess.run(line, check=True))
            note(f"adult command {name}", seconds)
            yield f"| {name} | {seconds:.2f}{' (limit 1.5)' if name == 'optimal' else ''} |"


def million(data: Path, yard: float) -> Lines:
    """A million rows with some 200,000 distinct ones, made of Adult: reading and the searches."""
    table = adult(data, 8)
    rnd = np.random.default_rng(1)
    rows, like = 995_346, rnd.integers(0, len(table), 995_346)
    codes = {}
    for column in table.columns:
        # Some values are those of another person, so that there are more different rows.
        other = np.where(rnd.random(rows) < 0.16, rnd.integers(0, len(table), rows), like)
        codes[column.name] = column.codes[other]
    grown = table.take(like).with_codes(codes)
    distinct = len(np.unique(np.stack([column.codes for column in grown.columns]), axis=1).T)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "grown.csv")
        grown.write(path)
        schema = ta.Schema.loads(schema_text(data, 8))
        reading, grown = warm(lambda: ta.read_table(path, schema, jobs=os.cpu_count() or 1), 3)
    yield f"{rows:,} rows, {distinct:,} different ones; reading {reading:.2f} s."
    yield ""
    yield "| metric | levels | search s | with reading | ARX with reading, scaled | ratio |"
    yield "|---|---|---|---|---|---|"
    for metric, theirs in (("height", 3.643), ("gcp_set", 2.259)):
        problem = Problem(grown, (KAnonymity(5),), rows // 20)
        seconds, found = warm(lambda p=problem, m=metric: optimal.search(p, loss=m), 3)
        note(f"adult million {metric}", seconds)
        released, _ = found.recoded(grown)
        assert all(one.holds for one in check(released, problem.models))
        whole, other = seconds + reading, (theirs + 1.4) / YARD * yard
        levels = " ".join(map(str, found.vector.values()))
        yield f"| {metric} | {levels} | {seconds:.2f} | {whole:.2f} | {other:.2f} | {whole / other:.2f} (limit 0.5) |"


def whole(data: Path | None, yard: float, *, rows: int = 1_000_000) -> Lines:
    """The whole command on the invented census: from CSV to a checked release."""
    with tempfile.TemporaryDirectory() as folder:
        census(rows).write(Path(folder, "census.csv"))
        Path(folder, "census.toml").write_text(CENSUS)
        yield "Seconds of the processor, on all cores together, and multiples of the yardstick; seconds of the clock."
        yield ""
        yield "| rows | search | CPU s | yardsticks | s |"
        yield "|---|---|---|---|---|"
        for name, limit in (("local", 6), ("mondrian", 4), ("onedim", 10)):
            line = [sys.executable, "-m", "treeanon", "anonymize", "census.csv", "-s", "census.toml", "-k", "5"]
            line += ["-a", name, "-o", "out.csv", "--force", "-q"]
            clock: list[float] = []

            def once(line: list[str] = line, clock: list[float] = clock) -> None:
                start = time.perf_counter()
                subprocess.run(line, check=True, cwd=folder)
                clock.append(time.perf_counter() - start)

            seconds, _ = warm(once, 1 if rows > 1e5 else 3)
            note(f"{rows:,} rows {name}", seconds)
            least = f"{min(clock):.2f}{f' (limit {limit})' if rows == 1_000_000 else ''}"
            yield f"| {rows:,} | {name} | {seconds:.2f} | {seconds / yard:.1f} | {least} |"


def local_recoding(data: Path, yard: float) -> Lines:
    """Local recoding over hierarchies, no row left out."""
    rows = next(rows for name, rows in tables(data).items() if "Local recoding" in name)
    by_columns = {d: adult(data, d) for d in (5, 8)}
    yield "| d | k | GCP (set) | ARX | GCP (taxonomy) | ms | ARX ms, scaled | ratio |"
    yield "|---|---|---|---|---|---|---|---|"
    for d, k, theirs, _, ms, _ in rows:
        table = by_columns[int(d)]
        problem = Problem(table, (KAnonymity(int(k)),), 0)
        seconds, found = warm(lambda p=problem: table_algorithm_named("local").search(p))
        released, _ = found.recoded(table)
        assert len(released) == len(table)
        assert all(one.holds for one in check(released, problem.models))
        note(f"adult local d={d} k={k}", seconds)
        scaled = float(ms) / YARD * yard
        losses = f"{gcp(released, form='set'):.6f} | {theirs} | {gcp(released):.6f}"
        yield f"| {d} | {k} | {losses} | {1000 * seconds:.0f} | {scaled:.0f} | {1000 * seconds / scaled:.2f} |"


def freeform(data: Path, yard: float, *, rows: int) -> Lines:
    """Freeform generalization against groupings on the first rows of Adult: GCP (set), published as sets."""
    own = {"form": "set", "style": "sets"}
    searches = (
        ("mondrian", {"style": "sets"}),
        ("mondrian", {"style": "sets", "split": "ncp", "mode": "relaxed"}),
        ("onedim", {**own, "order": "hilbert"}),
        ("onedim", {**own, "order": "lexicographic"}),
        ("onedim", own),
        *((name, own) for name in ("freeform-greedy", "freeform-sort", "freeform-hungarian")),
        ("freeform", {**own, "seconds": 25.0}),
    )
    yield from _against_groupings(adult(data, 7).take(np.arange(rows)), searches, "set")


def freeform_census(data: Path, yard: float, *, rows: int) -> Lines:
    """The same on the invented census: GCP (taxonomy), published as is usual there."""
    searches = (
        ("mondrian", {}),
        ("mondrian", {"split": "ncp", "mode": "relaxed"}),
        ("onedim", {}),
        ("local", {}),
        *((name, {}) for name in ("freeform-greedy", "freeform-sort", "freeform-hungarian")),
        ("freeform", {"seconds": 25.0}),
    )
    yield from _against_groupings(census(rows), searches, "taxonomy")


def _against_groupings(table: ta.Table, searches: tuple[tuple[str, dict[str, Any]], ...], form: Form) -> Lines:
    """What each search loses, every release checked; and how far the last one is below the best of the groupings."""
    yield "| k | " + " | ".join(_called(name, asked) for name, asked in searches) + " | below the best grouping |"
    yield "|---|" + "---|" * (len(searches) + 1)
    for k in (5, 10, 20):
        cells, losses, best = [], [], np.inf
        for name, asked in searches:
            search = table_algorithm_named(name)
            problem = Problem(table, (KAnonymity(k),), 0)
            start = time.perf_counter()
            found = search.search(problem, **asked)
            seconds = time.perf_counter() - start
            released, _ = found.recoded(table)
            if search.freeform:
                assert verify_freeform(table, released, k).holds
            else:
                assert all(one.holds for one in check(released, problem.models))
            losses.append(gcp(released, form=form))
            best = best if search.freeform else min(best, losses[-1])
            cells.append(f"{losses[-1]:.5f} ({seconds:.2f} s)")
        yield f"| {k} | " + " | ".join(cells) + f" | {100 * (1 - losses[-1] / best):.1f} % |"


def freeform_bound(data: Path, yard: float) -> Lines:
    """What no graph can be below, and how near the search comes to that."""
    yield "| n | k | best grouping | freeform | no graph below | best grouping above that |"
    yield "|---|---|---|---|---|---|"
    own = {"form": "set", "style": "sets"}
    for rows, k in ((1_000, 3), (1_000, 5)):
        table = adult(data, 7).take(np.arange(rows))
        problem = Problem(table, (KAnonymity(k),), 0)
        groups = table_algorithm_named("onedim").search(problem, **own).counts["gcp"]
        found = table_algorithm_named("freeform").search(problem, **own, seconds=25.0)
        prices = prices_of(table, "set", "sets")
        tuples = Classes.of_rows(prices).tuples(prices, found.graph.edges)
        least = least_cost(tuples, 60.0) / (rows * len(table.quasi))
        lost = found.counts["gcp"]
        yield f"| {rows:,} | {k} | {groups:.5f} | {lost:.5f} | {least:.5f} | {100 * (1 - least / groups):.1f} % |"


def _called(name: str, asked: dict[str, Any]) -> str:
    more = [str(value) for key, value in asked.items() if key in ("split", "mode", "order")]
    return " ".join([name, *more])


PARTS = {
    **{f"freeform-{rows}": partial(freeform, rows=rows) for rows in (1_000, 5_000, 30_162)},
    **{f"freeform-census-{rows}": partial(freeform_census, rows=rows) for rows in (1_000, 5_000, 30_000)},
    "freeform-bound": freeform_bound,
    "lattice": lattice,
    "models": models,
    "command": command,
    "million": million,
    "local": local_recoding,
    "whole": whole,
}


def main() -> None:
    """Measures, prints the tables, and writes them where asked to."""
    parser = argparse.ArgumentParser(description="Time searches of tables against ARX on Adult.")
    parser.add_argument("--data", type=Path, help="folder of adult/ and its README.md")
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows of the whole command")
    parser.add_argument("--only", default=",".join(PARTS), help="parts, comma-separated")
    parser.add_argument("--results", type=Path, help="the file whose tables are to be replaced")
    options = parser.parse_args()
    if options.data is None and options.only != "whole":
        parser.error("all parts but whole need --data")
    parts = PARTS | ({"whole": partial(whole, rows=100_000)} if options.quick else {})
    for name in options.only.split(","):
        yard = yardstick()
        given = (" --quick" if options.quick else "") if name == "whole" else " --data DATA"
        lines = [
            f"`python tests/bench/flat.py{given} --only {name}` ({os.cpu_count()} cores; CPU seconds,"
            f" yardstick {yard:.3f} s here, {YARD} s there)",
            "",
            *parts[name](options.data, yard),
        ]
        put(lines, f"flat:{name}", options.results)


if __name__ == "__main__":
    main()
