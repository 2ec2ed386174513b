"""Properties: always the same examples by default, random ones in the slow sweeps (`-m slow`).

`--hypothesis-profile=thorough` runs the quick tests of properties with random examples, too. A failure then prints a
`@reproduce_failure` that repeats it.
"""

from __future__ import annotations

import atexit
import gc
import linecache
import os
import platform
import sys
from collections.abc import Callable
from ctypes import CDLL
from types import ModuleType

import pytest
from hypothesis.strategies import text
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling
from xdist.workermanage import WorkerController

from tests.support import profiles as profiles
from tests.support.costs import memory
from treeanon.kernels import ahead, jit

# Some hundred tests start the command in a process of its own. What its modules compile to is kept for the next one,
# even on machines that are set to write no bytecode.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
# Arrow's own allocator keeps what it was once given; the system's gives it back.
os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")

LONGEST = (
    "tests/spark",
    "tests/algorithms/tree",
    "tests/algorithms/table",
    "tests/io",
    "tests/explore",
    "tests/reports",
)
"""What takes longest begins first, so that no worker is left alone with it at the end.

Trees beside tables: where no kernel is compiled yet, two workers compile different ones and keep them for the rest.
"""

WHOLE = ("tests/spark",)
"""Packages of which one worker runs all: there is one Spark, and not one for every worker."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Sort what takes longest to the beginning."""
    items.sort(key=lambda item: _place(item.nodeid))


def _place(test: str) -> int:
    return next((place for place, start in enumerate(LONGEST) if test.startswith(f"{start}/")), len(LONGEST))


class Garbage:
    """What processes hold in circles, as errors of reading do with what was read, goes when it is much.

    By itself Python looks for it when a quarter more objects live than before: hardly ever beside those of all tests.
    And it looks again and again at what has just been made: a fifth of the time of compiling kernels. So what lives
    once the tests are collected is no more looked at, what is new seldom, and the memory freed goes back to the system.

    Threads share one heap: with a heap each, as glibc has it, all of them keep what the largest test left free there.
    Sources that were read for a traceback or to list tests are read again when needed, and what tests keep for the rest
    of their file goes with it.
    """

    MUCH = 30_000_000
    ARENA_MAX = -8

    def __init__(self) -> None:
        gc.set_threshold(50_000, 10, 10)
        self.held = memory()
        self.give_back: Callable[[int], object] = int
        if platform.libc_ver()[0] == "glibc":
            library = CDLL(None)
            library.mallopt(self.ARENA_MAX, 1)
            self.give_back = library.malloc_trim

    def pytest_collectreport(self) -> None:
        linecache.clearcache()

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self) -> None:
        gc.collect()
        gc.freeze()
        atexit.register(gc.unfreeze)
        # A command freezes all there is when it ends: in this process, also what is garbage by then, for good.
        gc.freeze = lambda: None

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logfinish(self) -> None:
        if memory() > self.held + self.MUCH:
            linecache.clearcache()
            gc.collect()
            self.give_back(0)
            self.held = memory()

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_teardown(self, item: pytest.Item, nextitem: pytest.Item | None) -> None:
        if nextitem is None or nextitem.path != item.path:
            for name, module in list(sys.modules.items()):
                if name.startswith("tests."):
                    _forget(module)


def _forget(module: ModuleType) -> None:
    """Empty the caches of the functions of a module."""
    for function in vars(module).values():
        if getattr(function, "__module__", None) == module.__name__ and hasattr(function, "cache_clear"):
            function.cache_clear()


def pytest_configure(config: pytest.Config) -> None:
    # A worker runs kernels for all packages, and would hold half a gigabyte of what they were compiled from.
    ahead.beside = ahead.Beside()
    # Tests are of few rows, and of what is compiled for more.
    jit.FEW = 0
    if sys.platform == "linux":
        config.pluginmanager.register(Garbage())


@pytest.hookimpl(tryfirst=True)
def pytest_collection() -> None:
    if os.environ.get("PYTEST_XDIST_WORKER") == "gw0":
        # The first strategy of texts lists all characters, in 200 MB, and keeps the list in a file for all: best before
        # the worker holds anything else.
        text().validate()


class ByPackage(LoadScopeScheduling):
    """Run a file in one worker, and the files of a package in the same one as long as there are packages for all.

    So each worker compiles the kernels of its packages alone and loads what they need, and fixtures of a module are
    made once. At the end workers share what is left of a package. (Groups of xdist 3.8 are silently none under
    pytest 9.2.)
    """

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        return next((package for package in WHOLE if file.startswith(f"{package}/")), file)

    def _assign_work_unit(self, node: WorkerController) -> None:
        self.workqueue.move_to_end(self._best_for(node), last=False)
        super()._assign_work_unit(node)

    def _best_for(self, node: WorkerController) -> str:
        """Return a file of the package of the node's last one, else of one that no node has begun, else any."""
        last = {each: _package(next(reversed(units))) for each, units in self.assigned_work.items() if units}
        others = {package for each, package in last.items() if each is not node}

        def rank(file: str) -> int:
            package = _package(file)
            return 0 if package == last.get(node) else 2 if package in others else 1

        return min(self.workqueue, key=rank)


def _package(scope: str) -> str:
    return scope if scope in WHOLE else scope.rpartition("/")[0]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> ByPackage:
    return ByPackage(config, log)
