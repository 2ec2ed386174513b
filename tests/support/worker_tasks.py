"""Tasks for workers in tests: they are functions of a module, as a process of its own must find them."""

from __future__ import annotations

import os
import time
from typing import Any

from treeanon.errors import GuaranteeError
from treeanon.explore.worker import Check


def room(*arguments: Any) -> list[Any]:
    return [*arguments]


def add(state: list[Any], check: Check, thing: Any) -> list[Any]:
    state.append(thing)
    return state


def polite(state: list[Any], check: Check, seconds: float) -> None:
    """Asks now and then whether it is still wanted."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        check(1, None)
        time.sleep(0.01)


def stubborn(state: list[Any], check: Check, seconds: float) -> None:
    time.sleep(seconds)


def failing(state: list[Any], check: Check, kind: str) -> None:
    if kind == "guarantee":
        raise GuaranteeError("cannot be reached")
    if kind == "memory":
        raise MemoryError
    if kind == "killed":
        os._exit(9)
    raise ValueError(f"a value of the data: {kind}")


def process(state: list[Any], check: Check) -> int:
    return os.getpid()


def compiling(state: list[Any], check: Check, seconds: float) -> str:
    """What compiles for so long: events of numba as it sends them itself."""
    from numba.core import event

    with event.trigger_event("numba:compile"), event.trigger_event("numba:compile"):
        time.sleep(seconds)
    check()
    return "not canceled"
