"""How much work something is, counted: the lines of Python that it runs, which no busy machine changes."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

Work = Callable[[], object]


def steps_of(work: Work) -> int:
    """Return the number of lines of Python that the work runs in this thread; a loop counts each time around."""
    steps = 0

    def trace(frame: Any, event: str, argument: Any) -> Any:
        nonlocal steps
        steps += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return steps


def check_linear(make: Callable[[int], Work], size: int) -> None:
    """Check that twice the size is no more than about twice the work: for n² it would be four times."""
    make(size)()  # what is loaded and compiled once is not counted
    small, large = steps_of(make(size)), steps_of(make(2 * size))
    assert large <= 2.5 * small, (small, large)
