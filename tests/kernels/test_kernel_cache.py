"""Cached kernels that may be out of date are not run."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace

from treeanon.kernels import jit


def test_kernels_older_than_a_source_are_compiled_anew(tmp_path: Path) -> None:
    old, new = tmp_path / "verify.least-1.py311.nbi", tmp_path / "trees.canonical-1.py311.nbi"
    for index in (old, new):
        index.write_bytes(b"")
    os.utime(old, (0, 0))
    jit._drop_stale(SimpleNamespace(_cache=SimpleNamespace(cache_path=str(tmp_path))))
    assert not old.exists() and new.exists()
