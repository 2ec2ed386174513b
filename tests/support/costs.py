"""What each test costs: seconds of CPU, its children's too, seconds of compiling kernels, and memory.

    python -m pytest -n 0 -p tests.support.costs --costs=build/costs.tsv tests/io
    python -m tests.support.costs build/costs.tsv

No wall clock: CPU seconds hardly depend on what else the machine does. Every process of a parallel run adds its lines
to the same file. The second command prints the sums of packages and files, the most that each process held at the end
of a test, and the dearest tests.
"""

from __future__ import annotations

import os
import resource
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from treeanon.kernels import ahead

MOST = 100
"""So many tests are printed."""


def _cpu() -> tuple[float, float]:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return _compiling_time(), children.ru_utime + children.ru_stime


def memory() -> int:
    """Return the bytes that the process holds now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()


def _begin_peak() -> None:
    """Have Linux note anew the most that the process holds."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def _peak() -> int:
    """Return the most bytes that the process has held since then."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) * 1024


class Compiling:
    """The seconds of CPU spent compiling kernels, here or in a process beside, and how many were compiled."""

    def __init__(self) -> None:
        self.seconds, self.count, self.depth, self.began = 0.0, 0, 0, 0.0

    def watch(self) -> None:
        from treeanon.kernels import jit

        jit.watch(self.add)

    def add(self, step: int) -> None:
        if step > 0 and self.depth == 0:
            self.began = _compiling_time()
        self.depth += step
        if step < 0:
            self.count += 1
            if self.depth == 0:
                self.seconds += _compiling_time() - self.began


def _compiling_time() -> float:
    return time.process_time() + (ahead.beside.seconds if ahead.beside is not None else 0)


compiling = Compiling()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--costs", type=Path, help="add the costs of each test to this file")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--costs") is not None:
        compiling.watch()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Measure one test with its fixtures."""
    target = item.config.getoption("--costs")
    if target is None:
        return (yield)
    _begin_peak()
    (own, children), before = _cpu(), memory()
    compiled, count = compiling.seconds, compiling.count
    result = yield
    own_after, children_after = _cpu()
    costs = (own_after - own, children_after - children, compiling.seconds - compiled)
    line = [*(f"{each:.3f}" for each in costs), str(compiling.count - count)]
    line += [f"{size / 1e6:.0f}" for size in (memory() - before, memory(), _peak())]
    line += [os.environ.get("PYTEST_XDIST_WORKER", "alone"), item.nodeid]
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.open("a") as file:
        file.write("\t".join(line) + "\n")
    return result


def main() -> None:
    """Print the sums of packages and files, what processes held, and the dearest tests."""
    lines = [line.split("\t", 8) for name in sys.argv[1:] for line in Path(name).read_text().splitlines()]
    tests = [(*(float(number) for number in numbers), test) for *numbers, _, test in lines]
    own, children, compiled, kernels = (sum(test[i] for test in tests) for i in range(4))
    print(f"{len(tests)} tests: {own + children:.0f} s of CPU, {children:.0f} of these in children")
    print(f"{compiled:.0f} s for {kernels:.0f} kernels")
    for depth in (2, 9):
        sums: Counter[str] = Counter()
        for own, children, *_, test in tests:
            sums["/".join(test.partition("::")[0].split("/")[:depth])] += own + children
        print("\n" + "\n".join(f"{seconds:8.1f}  {place}" for place, seconds in sums.most_common(60)))
    for process in sorted({line[7] for line in lines}):
        end, peak = (max(float(line[i]) for line in lines if line[7] == process) for i in (5, 6))
        print(f"{process} held {end:.0f} MB after a test, {peak:.0f} MB within one")
    print("\n     CPU  children  compiling  MB")
    for own, children, compiled, _, megabytes, _, _, test in sorted(tests, key=lambda test: -test[0] - test[1])[:MOST]:
        print(f"{own + children:8.1f}  {children:8.1f}  {compiled:9.1f}  {megabytes:3.0f}  {test}")


if __name__ == "__main__":
    main()
