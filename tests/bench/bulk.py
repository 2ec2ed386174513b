"""Reading a bulk export of many lines in ten files by `[[file]]` and `[[key]]`: time, and how memory grows with lines.

    nice python tests/bench/bulk.py [--lines 1000000 10000000] [--results tests/bench/RESULTS.md]

Each size is read in a process of its own, which says its peak of memory. Lines have 100 or 200 bytes, in random order;
each names its person, and of five kinds also the encounter that it lies in.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from results import put

import treeanon as ta

KINDS = tuple(f"Kind{number}" for number in range(1, 9))
_AT_ONCE = 100_000


def schema_text() -> str:
    """Return the schema: persons, encounters, and eight kinds of rows, five of which lie in encounters."""
    files = [("Patient", "id"), *((kind, "subject.reference") for kind in ("Encounter", *KINDS))]
    lines = ['version = 1\ninput = { format = "ndjson" }']
    lines += [f'[[file]]\nname = "{name}"\nperson = "{field}"' for name, field in files]
    lines += [f'[[key]]\nfrom = "{kind}.encounter.reference"\nto = "Encounter.id"' for kind in KINDS[:5]]
    lines += [
        '[[class]]\nname = "sex"\npath = "Patient.gender"',
        '[[class]]\nname = "visit"\npath = "Encounter.class.code"',
    ]
    lines += [f'[[class]]\nname = "{kind} code"\npath = "{kind}.code.coding[].code"' for kind in KINDS]
    return "\n".join(lines)


def write_export(folder: Path, lines: int) -> None:
    """Write ten files with so many lines in all, of invented persons with 50 lines each."""
    chance = np.random.default_rng(1)
    people, visits = lines // 50, lines // 10
    rows = (lines - people - visits) // len(KINDS)
    whose = chance.integers(0, people, visits)
    _put(folder / "Patient.ndjson", people, lambda at: f'{{"id":"p{at}","gender":"{"mf"[at % 2]}"}}')
    reference = '"subject":{{"reference":"Patient/p{}"}}'
    _put(
        folder / "Encounter.ndjson",
        visits,
        lambda at: (
            f'{{"id":"e{at}",{reference.format(whose[at])},"class":{{"code":"{("AMB", "IMP", "EMER")[at % 3]}"}}}}'
        ),
    )
    for number, kind in enumerate(KINDS):
        visit, code = chance.integers(0, visits, rows), chance.integers(0, 300, rows)
        lies = ',"encounter":{{"reference":"Encounter/e{}"}}' if number < 5 else ""
        _put(
            folder / f"{kind}.ndjson",
            rows,
            lambda at, visit=visit, code=code, lies=lies, kind=kind: (
                f'{{"resourceType":"{kind}","id":"{at}","status":"final",{reference.format(whose[visit[at]])}'
                f'{lies.format(visit[at])},"code":{{"coding":[{{"system":"http://codes.example","code":"C{code[at]}"}}]}}}}'
            ),
        )


def _put(path: Path, lines: int, line: object) -> None:
    with path.open("w") as stream:
        for start in range(0, lines, _AT_ONCE):
            stream.write("".join(f"{line(at)}\n" for at in range(start, min(lines, start + _AT_ONCE))))  # type: ignore[operator]


def read_one(folder: str) -> None:
    """Read an export, and print seconds, the growth of the peak of memory in MB, nodes and the bytes of the forest."""
    schema = ta.Schema.loads(schema_text())
    with tempfile.TemporaryDirectory() as small:
        write_export(Path(small), 1000)
        ta.read(small, schema)
    before, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.perf_counter()
    forest = ta.read(folder, schema)
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    held = forest.parent.nbytes + forest.label.nbytes + forest.offsets.nbytes
    print(f"{seconds:.1f} {peak / 1024:.0f} {forest.nodes} {held / 2**20:.0f} {len(forest)}")


def table(sizes: list[int]) -> str:
    """Return the measures as a table."""
    lines = ["| lines | persons | nodes | seconds | lines/s | memory, MB | of it the forest, MB | bytes a line |"]
    lines.append("| --- " * 8 + "|")
    for size in sizes:
        with tempfile.TemporaryDirectory() as folder:
            write_export(Path(folder), size)
            told = subprocess.run(
                [sys.executable, __file__, "--read", folder], check=True, capture_output=True, text=True
            ).stdout.split()
        seconds, peak, nodes, held, persons = (float(each) for each in told)
        cells = [
            f"{size:,}",
            f"{persons:,.0f}",
            f"{nodes:,.0f}",
            f"{seconds:.1f}",
            f"{size / seconds:,.0f}",
            f"{peak:,.0f}",
        ]
        lines.append(f"| {' | '.join([*cells, f'{held:,.0f}', f'{peak * 2**20 / size:.0f}'])} |")
    return "\n".join(lines)


def main() -> None:
    """Measure, and print or put into RESULTS.md."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", type=int, nargs="+", default=[100_000, 1_000_000, 10_000_000])
    parser.add_argument("--results", type=Path)
    parser.add_argument("--read")
    given = parser.parse_args()
    if given.read:
        read_one(given.read)
        return
    head = f"`python tests/bench/bulk.py` ({os.cpu_count()} cores)"
    put([head, "", table(given.lines)], "bulk", given.results)


if __name__ == "__main__":
    main()
