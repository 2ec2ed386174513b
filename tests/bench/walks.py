"""Count how far a reader has to go through the code to follow one call.

Three calls are followed: documents from the command line, a frame with Mondrian, and documents on Spark (there the
driver's side; what workers do in processes of their own is not seen). Every Python function of the package is
recorded when it is first called, whichever thread calls it. Of the functions in the order of their first calls:

- functions: how many there are. Lambdas, comprehensions, and the bodies of modules and classes are no functions of
  their own; nor are the kernels, which are compiled.
- files: how many files they stand in.
- returns: how often the next function stands in another file than the one before it, and in one that was seen before.
  That is a reader who turns back to a file that was already put away.

Compare two versions of the program, each a folder with `treeanon`, `samples` and `schemas` in it:

    python tests/bench/walks.py before=/path/to/old after=.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from itertools import groupby
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

WALKS = {
    "cli": "treeanon anonymize patients.xml",
    "frame": 'ta.anonymize(frame, schema=schema, algorithm="mondrian", k=5)',
    "spark": "treeanon anonymize patients.ndjson --engine spark",
}
NO_FUNCTIONS = {"<module>", "<lambda>", "<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"}


class Recorder:
    """The functions of a package in the order of their first calls."""

    def __init__(self, package: Path) -> None:
        self.package = str(package) + os.sep
        self.seen: set[CodeType] = set()
        self.calls: list[tuple[str, str]] = []

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        """Record the function of a frame, if it is called for the first time."""
        code = frame.f_code
        if event != "call" or code in self.seen:
            return
        self.seen.add(code)
        if not code.co_filename.startswith(self.package) or code.co_name in NO_FUNCTIONS:
            return
        # The body of a class runs like a function, but without fast locals.
        if code.co_flags & 0x2:
            self.calls.append((code.co_filename[len(self.package) :], code.co_qualname))

    def start(self) -> None:
        """Record from now on, in this thread and in those that begin later."""
        threading.setprofile(self)
        sys.setprofile(self)

    def stop(self) -> None:
        """Record no more."""
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]  # typeshed does not know that None ends it


def counted(calls: list[tuple[str, str]]) -> dict[str, int]:
    """Return how many functions, files and returns there are in a list of first calls.

    >>> counted([("a.py", "f"), ("a.py", "g"), ("b.py", "f"), ("a.py", "h"), ("c.py", "f"), ("b.py", "g")])
    {'functions': 6, 'files': 3, 'returns': 2}
    """
    seen: set[str] = set()
    last, returns = "", 0
    for file, _ in calls:
        returns += file != last and file in seen
        seen.add(file)
        last = file
    return {"functions": len(calls), "files": len(seen), "returns": returns}


def walk(name: str, home: Path) -> list[tuple[str, str]]:
    """Return the first calls of one walk, with the program that is imported now."""
    import treeanon

    recorder = Recorder(Path(treeanon.__file__).resolve().parent)
    schemas, samples = home / "schemas", home / "samples"
    if name == "frame":
        import pyarrow.csv

        frame = pyarrow.csv.read_csv(
            samples / "census.csv", convert_options=pyarrow.csv.ConvertOptions(strings_can_be_null=True)
        )
        schema = treeanon.Schema.load(schemas / "census.toml")
        recorder.start()
        treeanon.anonymize(frame, schema=schema, algorithm="mondrian", k=5, l=1)
        recorder.stop()
        return recorder.calls
    data, schema_file, more = {
        "cli": ("patients.xml", "hospital-xml.toml", []),
        "spark": ("patients.ndjson", "hospital-json.toml", ["--engine", "spark"]),
    }[name]
    guarantee = ["-k", "5", "-m", "2", "-n", "1"]
    target = ["-o", "released" + Path(data).suffix if name == "cli" else "released", "--force"]
    sys.argv = [
        "treeanon",
        "anonymize",
        str(samples / data),
        "-s",
        str(schemas / schema_file),
        *guarantee,
        *target,
        *more,
    ]
    from treeanon.cli.main import run

    recorder.start()
    try:
        run()
    except SystemExit as end:
        if end.code:
            raise
    finally:
        recorder.stop()
    return recorder.calls


def measured(home: Path, name: str) -> list[tuple[str, str]]:
    """Return the first calls of one walk of the program in `home`, run in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        told = Path(folder) / "calls.json"
        paths = {"PYTHONPATH": str(home), "NUMBA_DISABLE_JIT": "0"}
        subprocess.run(
            [sys.executable, __file__, "--walk", name, "--home", str(home), "--told", str(told)],
            cwd=folder,
            env={**os.environ, **paths},
            check=True,
            stdout=subprocess.DEVNULL,
        )
        return [(file, function) for file, function in json.loads(told.read_text())]


def main() -> None:
    """Measure all walks of the programs that are named, and print a table for RESULTS.md."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("programs", nargs="*", metavar="LABEL=FOLDER")
    parser.add_argument("--only", choices=WALKS, action="append", help="this walk alone; may be repeated")
    parser.add_argument(
        "--files",
        action="store_true",
        help="print the files of each walk in the order of first calls, and the returns to each",
    )
    parser.add_argument("--walk", choices=WALKS, help=argparse.SUPPRESS)
    parser.add_argument("--home", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--told", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.walk:
        given.told.write_text(json.dumps(walk(given.walk, given.home)))
        return
    print("| walk | program | functions | files | returns |\n|---|---|---|---|---|")
    for name in given.only or WALKS:
        for program in given.programs:
            label, _, folder = program.rpartition("=")
            calls = measured(Path(folder).resolve(), name)
            numbers = counted(calls)
            print(f"| `{WALKS[name]}` | {label} | {numbers['functions']} | {numbers['files']} | {numbers['returns']} |")
            if given.files:
                times = Counter(file for file, _ in groupby(file for file, _ in calls))
                print("\n".join(f"    {file} {count - 1}" for file, count in times.items()))


if __name__ == "__main__":
    main()
