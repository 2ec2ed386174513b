"""Cached kernels that may be out of date are not run."""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys
from pathlib import Path

import numba
import numpy as np
import pytest

from tests.support.paths import ROOT
from treeanon.kernels import jit
from treeanon.kernels.tree import record_sets


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    """Kernels in three files: the first imports the second, and that one the third; and one of its own."""
    folder = tmp_path / "kernels"
    (folder / "tree").mkdir(parents=True)
    (folder / "first.py").write_text("from treeanon.kernels.tree.second import (\n    walk,\n)\n")
    (folder / "tree" / "second.py").write_text("from treeanon.kernels.third import step\n")
    (folder / "third.py").write_text("step = 1\n")
    (folder / "other.py").write_text("")
    return folder


def stamps(folder: Path) -> dict[str, bytes]:
    jit.stamp_of.cache_clear()
    return {file.stem: jit.stamp_of(file) for file in folder.rglob("*.py")}


def test_kernels_are_compiled_anew_when_a_source_changes_that_they_call(sources: Path) -> None:
    before = stamps(sources)
    assert len(set(before.values())) == 4
    os.utime(sources / "third.py", (0, 0))
    assert stamps(sources) == before
    (sources / "third.py").write_text("step = 2\n")
    after = stamps(sources)
    assert {name for name in before if before[name] != after[name]} == {"first", "second", "third"}


def test_kernels_import_kernels_by_the_name_of_their_file() -> None:
    """Otherwise their stamps would miss what they call."""
    for file in (ROOT / "treeanon" / "kernels").rglob("*.py"):
        for line in re.findall(r"^[ \t]*(?:from|import) .*treeanon.*", file.read_text(), re.MULTILINE):
            name = re.fullmatch(r"from (treeanon(?:\.\w+)+) import .*", line)
            assert name is not None and (ROOT / name[1].replace(".", "/")).with_suffix(".py").exists(), (file, line)


def test_nothing_is_written_at_the_end_where_colorama_is_installed() -> None:
    pytest.importorskip("colorama")
    code = "import treeanon.kernels.jit, numba.core.errors as e; print(type(e.termcolor()).__name__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "NOPColorScheme\n"


@pytest.mark.skipif(jit.PLAIN or bool(numba.config.DISABLE_JIT), reason="kernels are not compiled as a whole")
def test_what_a_kernel_calls_is_compiled_with_it_and_stays_callable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts of a kernel have no machine code of their own: nobody else may come to call them as if they had."""
    whole, part = jit.njit(record_sets.distinct_records.py_func), jit.njit(record_sets.ones.py_func)
    monkeypatch.setitem(whole.py_func.__globals__, "ones", part)
    marks = np.zeros(2, np.uint64)
    assert whole(np.array([70, 3, 70], np.int32), marks).tolist() == [3, 70] and not marks.any()
    assert not part.signatures
    assert part(np.uint64(0b1011)) == 3
    assert len(part.signatures) == 1
    # The kernel above has compiled this kind of `np.empty` as a part of it.
    assert numba.njit(lambda size: np.empty(size, np.int32))(2).shape == (2,)


def test_a_slice_takes_no_other_shape(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "kernels" / "slices.py"
    file.parent.mkdir()
    (file.parent / "jit.py").touch()
    monkeypatch.syspath_prepend(file.parent)
    file.write_text("""
from treeanon.kernels.jit import njit

@njit
def assign(wide, one, many):
    wide[0, 1:], wide[1:] = one, many
    return wide
""")
    assign = importlib.import_module("slices").assign
    wide = assign(np.zeros((3, 3)), np.ones(2), np.full((2, 3), 2.0))
    assert wide.tolist() == [[0, 1, 1], [2, 2, 2], [2, 2, 2]]
    for one, many in ((3, (2, 3)), (2, (2, 2))):
        with pytest.raises(ValueError):
            assign(np.zeros((3, 3)), np.ones(one), np.ones(many))


@pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="nothing is compiled")
def test_kernels_compiled_plainly_give_the_same_and_load_nothing_of_the_others(tmp_path: Path) -> None:
    code = """
import sys
import numpy as np
from treeanon.kernels.tree.record_sets import distinct_records, ones

print(distinct_records(np.array([70, 3, 70], np.int32), np.zeros(2, np.uint64)).tolist(), ones(np.uint64(11)))
print(len(distinct_records.stats.cache_misses), "treeanon.kernels.whole" in sys.modules)
"""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-c", code]
    told = [
        subprocess.run(
            command, env=environment | {"TREEANON_PLAIN_KERNELS": plain}, capture_output=True, text=True, check=True
        ).stdout.splitlines()
        for plain in ("", "", "1")
    ]
    assert [lines[0] for lines in told] == ["[3, 70] 3"] * 3
    assert [lines[1] for lines in told] == ["1 True", "0 True", "1 False"]


def test_settings_in_the_current_folder_are_passed_over(tmp_path: Path) -> None:
    """Whoever sent the data that lie there must not say how kernels are compiled, nor from where they are loaded."""
    (tmp_path / ".numba_config.yaml").write_text("disable_jit: 1\ncache_dir: here\n")
    code = (
        "import sys; from treeanon.kernels import jit; from numba import config; loaded = 'yaml' in sys.modules\n"
        "import yaml; print(config.DISABLE_JIT, config.CACHE_DIR == 'here', loaded, yaml.safe_load('1'))"
    )
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "0 False False 1\n", "")
