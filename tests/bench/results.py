"""Where what was measured goes: printed, into the part of a file that is between two marks, and to `all.py`."""

from __future__ import annotations

import json
import os
import resource
from collections.abc import Iterable
from pathlib import Path

NOTES = "TREEANON_BENCH_NOTES"
"""The variable by which `all.py` says to which file times go."""


def put(lines: Iterable[str], name: str, results: Path | None) -> None:
    """Prints the lines, and puts them in place of what stands under a name in the results, if there are any."""
    text = "\n".join(lines)
    print(text, flush=True)
    if results is None:
        return
    start, end = f"<!-- {name} -->", f"<!-- /{name} -->"
    old = results.read_text()
    results.write_text(old[: old.index(start) + len(start)] + f"\n{text}\n" + old[old.index(end) :])


def note(name: str, seconds: float) -> None:
    """Tells `all.py`, if it is what has started this, how many yardsticks something took.

    The yardstick is measured here and now, beside what it is for: other work slows both.
    """
    if path := os.environ.get(NOTES):
        with Path(path).open("a") as file:
            print(json.dumps({"name": name, "yardsticks": seconds / yardstick(3)}), file=file)


def cpu() -> float:
    """The seconds of the processor that this process and those that it waited for have taken so far."""
    both = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in both)


def yardstick(rounds: int = 5) -> float:
    """The seconds of the processor that a loop over a Python dictionary takes here: the least of some rounds."""

    def once() -> float:
        start, table = cpu(), {}
        for i in range(1_000_000):
            table[i * 7919 % 1000003] = i
        return cpu() - start

    return min(once() for _ in range(rounds))
