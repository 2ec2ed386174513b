"""Waiting for other threads, processes and browsers: for what must happen, not for how long it takes."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable

WAIT = 900
"""The seconds after which a test gives up what will never come. No machine is so busy that it needs them."""

_PAUSE = 0.02


def wait_until(condition: Callable[[], object]) -> None:
    """Return when the condition holds."""
    for _ in range(int(WAIT / _PAUSE)):
        if condition():
            return
        time.sleep(_PAUSE)
    raise AssertionError("what was waited for did not happen")


class Clock:
    """A clock that goes on by one step with every look at it, in place of `time` in a module that has a time limit."""

    def __init__(self, step: float) -> None:
        self._looks, self._step = itertools.count(), step

    def monotonic(self) -> float:
        return next(self._looks) * self._step
