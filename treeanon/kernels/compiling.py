"""Tells when kernels are being compiled: that takes seconds, and what is broken off must be begun again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba.core import event


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
