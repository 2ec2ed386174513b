"""The one place that decides how kernels are compiled.

Set NUMBA_DISABLE_JIT=1 to run the same code uncompiled, for debugging.

Tells when kernels are being compiled: that takes seconds, and what is broken off must be begun again.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
import numpy.typing as npt
from numba.core import event

F = TypeVar("F", bound=Callable[..., Any])


def njit(function: F) -> F:
    """The function, compiled on its first call and cached on disk; it holds no interpreter lock.

    Where nothing on disk can be written (a service user without a home), it is compiled anew in every process.
    """
    try:
        compiled = numba.njit(cache=True, nogil=True)(function)
    except RuntimeError:
        return cast(F, numba.njit(nogil=True)(function))
    _drop_stale(compiled)
    return cast(F, compiled)


_looked_at: set[str] = set()


def _drop_stale(compiled: Any) -> None:
    """Drops cached kernels that are older than any source of kernels.

    numba compares a cached kernel with its own file only: when a kernel that it calls has changed, in another file, it
    would go on running the old one.
    """
    folder = getattr(getattr(compiled, "_cache", None), "cache_path", None)
    if folder is None or folder in _looked_at:
        return
    _looked_at.add(folder)
    newest = max(source.stat().st_mtime for source in Path(__file__).parent.rglob("*.py"))
    with contextlib.suppress(OSError):
        for index in Path(folder).glob("*.nbi"):
            if index.stat().st_mtime < newest:
                index.unlink(missing_ok=True)


def read_only(*arrays: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], ...]:
    """Views of arrays that cannot be written to.

    A kernel is compiled anew for arrays that can and for arrays that cannot: where both come in, this saves seconds.
    """
    views = tuple(array.view() for array in arrays)
    for view in views:
        view.flags.writeable = False
    return views


class _Counting(event.Listener):
    def __init__(self, add: Callable[[int], None]) -> None:
        self.add = add

    def on_start(self, event: Any) -> None:
        self.add(1)

    def on_end(self, event: Any) -> None:
        self.add(-1)


def watch(add: Callable[[int], None]) -> None:
    """Calls `add` with 1 whenever a compilation begins and with -1 when it ends; loading kept kernels is none."""
    event.register("numba:compile", _Counting(add))  # type: ignore[no-untyped-call]
