"""Measure how long importing takes, beside `import numpy`: each in processes of their own, in turns, medians.

Compare two versions of the program, each a folder with `treeanon` in it:

    python tests/bench/imports.py before=/path/to/old after=.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

STARTS = {
    "import treeanon": "import treeanon",
    "treeanon --help": "import sys; sys.argv = ['treeanon', '--help']; from treeanon.cli.main import run; run()",
    "treeanon anonymize --help": (
        "import sys; sys.argv = ['treeanon', 'anonymize', '--help']; from treeanon.cli.main import run; run()"
    ),
    "treeanon.anonymize": "import treeanon; treeanon.anonymize",
}


def seconds(code: str, home: str) -> float:
    """Return how long a process takes that runs this code, with the program in `home`."""
    began = time.perf_counter()
    environment = {**os.environ, "PYTHONPATH": home}
    subprocess.run(
        [sys.executable, "-c", code], env=environment, cwd=home or None, stdout=subprocess.DEVNULL, check=True
    )
    return time.perf_counter() - began


def loaded(code: str, home: str) -> int:
    """Return how many modules are loaded at the end."""
    counting = f"import atexit, sys; atexit.register(lambda: print(len(sys.modules), file=sys.stderr)); {code}"
    environment = {**os.environ, "PYTHONPATH": home}
    done = subprocess.run(
        [sys.executable, "-c", counting], env=environment, cwd=home or None, capture_output=True, text=True, check=True
    )
    return int(done.stderr.split()[-1])


def main() -> None:
    """Measure all starts of the programs that are named, and print a table for RESULTS.md."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("programs", nargs="+", metavar="LABEL=FOLDER")
    parser.add_argument("--rounds", type=int, default=15)
    given = parser.parse_args()
    homes = {program.rpartition("=")[0]: str(Path(program.rpartition("=")[2]).resolve()) for program in given.programs}
    cases = {(name, label): (code, home) for name, code in STARTS.items() for label, home in homes.items()}
    cases |= {("python", ""): ("pass", ""), ("import numpy", ""): ("import numpy", "")}
    times: dict[tuple[str, str], list[float]] = {case: [] for case in cases}
    for _ in range(given.rounds):
        for case, (code, home) in cases.items():
            times[case].append(seconds(code, home))
    middle = {case: statistics.median(found) for case, found in times.items()}
    bare = middle.pop(("python", ""))
    numpy = middle.pop(("import numpy", "")) - bare
    print("| start | program | beyond Python / import numpy | modules loaded |\n|---|---|---|---|")
    for (name, label), found in middle.items():
        print(f"| `{name}` | {label} | {(found - bare) / numpy:.2f} | {loaded(*cases[name, label]):,} |")


if __name__ == "__main__":
    main()
