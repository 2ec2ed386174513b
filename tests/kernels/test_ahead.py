"""The list of kernels that are compiled ahead is what a first release needs."""

from __future__ import annotations

import os
import subprocess
import sys
from inspect import signature
from itertools import chain
from pathlib import Path

import numba
import numpy as np
import pytest
from numba.core import event
from numba.core.caching import _CacheLocator

from tests.support.first_kernels import compiled_first
from treeanon.kernels import ahead, jit
from treeanon.kernels.table import freeform_prices
from treeanon.kernels.tree import record_sets

pytestmark = pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="nothing is compiled")


@pytest.mark.parametrize("line", list(chain(*ahead.lists().values())), ids=lambda line: line.split()[0])
def test_a_line_names_a_kernel_and_the_types_of_its_arguments(line: str) -> None:
    kernel, types = ahead.read(line)
    assert len(signature(kernel.py_func).parameters) == len(types)
    assert ahead.spelled(kernel, types) == line


def test_a_named_tuple_is_another_type_than_a_tuple() -> None:
    kind = numba.typeof(freeform_prices.Prices(*[np.zeros(1)] * len(freeform_prices.Prices._fields)))
    line = ahead.spelled(record_sets.ones, (kind,))
    assert ahead.read(line)[1] == (kind,) != (numba.types.Tuple(kind.types),)


def test_for_the_kernel_that_the_helper_is_at_the_release_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ahead, "_started", [])
    monkeypatch.setattr(ahead, "_told", b"")
    assert not ahead.wait_for("walk (int64,)")
    code = "print('first (int64,)', flush=True); print('walk (int64,)', flush=True); input()"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as helper:
        assert helper.stdin is not None and helper.stdout is not None
        os.set_blocking(helper.stdout.fileno(), False)
        ahead._started.append(helper)
        while b"walk" not in ahead._told:
            assert not ahead.wait_for("first (int64,) of another")
        # It is past the first, and not at what ends alike.
        assert not ahead.wait_for("first (int64,)") and not ahead.wait_for("alk (int64,)")
        monkeypatch.setattr("select.select", lambda *_: helper.stdin.close() or helper.wait())
        assert ahead.wait_for("walk (int64,)") and helper.returncode is not None
        assert not ahead.wait_for("walk (int64,)")


class Noted:
    """What stands for a kernel, and notes that it is compiled."""

    def __init__(self, name: str, compiled: list[str]) -> None:
        self.name, self.compiled = name, compiled

    def compile(self, types: tuple[()]) -> None:
        self.compiled.append(self.name)
        if self.name == "out of date":
            raise TypeError


def test_the_helper_goes_from_the_end_passes_what_is_out_of_date_and_ends_with_its_caller(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compiled: list[str] = []
    monkeypatch.setattr(ahead, "lists", lambda: {"other": ["of others"], "own": ["first", "out of date", "last"]})
    monkeypatch.setattr(ahead, "read", lambda line: (Noted(line, compiled), ()))
    ahead.compile_listed(os.getppid(), "own")
    assert compiled == ["last", "out of date", "first"]
    ahead.compile_listed(-1, "own")
    assert len(compiled) == 3


def test_only_the_command_starts_a_helper(monkeypatch: pytest.MonkeyPatch) -> None:
    registered: list[object] = []
    monkeypatch.setattr("numba.core.event.register", lambda kind, listener: registered.append(listener))
    # Commands that ran in this process may have set it.
    monkeypatch.setattr(ahead, "is_wanted", False)
    monkeypatch.setattr(ahead, "_started", [])
    ahead.watch()
    assert not registered
    monkeypatch.setattr(ahead, "is_wanted", True)
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    ahead.watch()
    assert len(registered) == 1


@pytest.mark.parametrize("own", [True, False], ids=["in a folder of its own", "beside the sources"])
def test_the_helper_starts_at_once_where_the_first_kernel_of_a_search_is_not_kept(
    own: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[str] = []
    monkeypatch.setattr(ahead, "_start", started.append)
    monkeypatch.setattr(ahead, "is_wanted", True)
    monkeypatch.setattr(ahead, "_started", [])
    monkeypatch.setattr(ahead, "_search", "")
    monkeypatch.setattr(ahead, "LIST", tmp_path / "first.txt")
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    ahead.LIST.write_text("one other\ntree.walk.walk_on (int64,)\n\nthird\ntree.walk.walk_back (int64,)\n")
    if own:
        monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "own"))
        kept = tmp_path / "own" / _CacheLocator.get_suitable_cache_subpath(str(tmp_path / "tree" / "walk.py"))
    else:
        monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
        kept = tmp_path / "tree" / "__pycache__"
    ahead.start_first("none")
    assert not started
    ahead.start_first("other")
    kept.mkdir(parents=True)
    (kept / "walk.walk_on-276.py311.nbi").touch()
    ahead.start_first("one")
    ahead.start_first("third")
    assert started == ["other", "third"]


def test_the_helper_starts_with_the_list_of_the_search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    registered: list[event.Listener] = []
    started: list[str] = []
    monkeypatch.setattr("numba.core.event.register", lambda kind, listener: registered.append(listener))
    monkeypatch.setattr(ahead, "_start", started.append)
    monkeypatch.setattr(ahead, "is_wanted", True)
    monkeypatch.setattr(ahead, "_started", [])
    monkeypatch.setattr(ahead, "LIST", tmp_path / "first.txt")
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    ahead.LIST.write_text(f"one\n{ONES}\n\nother\n{ONES}\n")
    ahead.watch()
    data = {"dispatcher": jit.njit(record_sets.ones.py_func), "args": (numba.types.uint64,)}
    for search in ("", "other", "third"):
        monkeypatch.setattr(ahead, "_search", search)
        registered[0].on_start(event.Event("numba:compile", event.EventStatus.START, data))
    assert started == ["one", "other"]


ONES = "tree.record_sets.ones (uint64,)"


@pytest.mark.skipif(jit.PLAIN, reason="kernels are compiled in this process")
def test_a_kernel_is_compiled_in_a_process_beside_and_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    beside = ahead.Beside()
    monkeypatch.setattr(ahead, "beside", beside)
    monkeypatch.setattr(ahead.Beside, "MOST", 2)
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    began: list[int] = []
    watch = jit._Counting(began.append)
    event.register("numba:compile", watch)
    try:
        kernel = jit.njit(record_sets.ones.py_func)
        assert kernel(np.uint64(0b1011)) == 3
        assert not kernel.stats.cache_misses and sum(kernel.stats.cache_hits.values()) == 1
        process = beside.process
        assert began == [1, -1] and beside.seconds > 0 and process is not None
        # What cannot be compiled there is answered, too, and after so many the process ends.
        beside.compile("no kernel (int64,)")
        assert beside.process is None and process.returncode is not None
        # So it does when it is lost: the kernel is compiled here then.
        monkeypatch.setattr(ahead.Beside, "_running", lambda _: (_ for _ in ()).throw(BrokenPipeError))
        other = jit.njit(record_sets.ones.py_func)
        assert other(np.int64(3)) == 2 and sum(other.stats.cache_misses.values()) == 1
    finally:
        beside.end()
        event.unregister("numba:compile", watch)


def test_what_compiles_for_others_starts_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("subprocess.Popen", lambda *_, **__: pytest.fail("a process of a process"))
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    monkeypatch.setattr(ahead, "is_wanted", True)
    monkeypatch.setattr(ahead, "_started", [])
    assert ahead._may_start()
    monkeypatch.setattr(sys.modules["__main__"], "__spec__", ahead.__spec__)
    assert not ahead._may_start()
    beside = ahead.Beside()
    beside.compile(ONES)
    assert beside.process is None
    # Neither does one inherit that it should.
    code = "from treeanon.kernels import ahead; print(ahead.beside, ahead.is_wanted)"
    monkeypatch.undo()
    monkeypatch.setattr(ahead, "beside", beside)
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "None False\n"


@pytest.mark.slow
@pytest.mark.skipif(jit.PLAIN, reason="the list is of kernels that are compiled as a whole")
def test_the_lists_are_what_the_first_commands_compile() -> None:
    """Their order varies where two threads come to need one at a time."""
    wanted = {search: lines for searches, lines in compiled_first().items() for search in searches.split()}
    assert {search: sorted(lines) for search, lines in wanted.items()} == {
        search: sorted(lines) for search, lines in ahead.lists().items()
    }
