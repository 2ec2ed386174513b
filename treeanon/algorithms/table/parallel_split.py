"""Groups of rows divided again and again, on all cores."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from itertools import pairwise
from math import log2
from os import cpu_count

import numpy as np

from treeanon.algorithms.table.problem import Problem
from treeanon.kernels.tree.forest import Flags

Divide = Callable[[int, int, int], None]
"""Divides rows, from a start to an end, and what comes of them, but nothing of less rows than the third number."""

SMALL = 10_000
"""Fewer rows are divided to the end in one go."""

_PARTS = 128
"""There are more than so many portions of work where there are many rows."""


def divide_all(problem: Problem, starts: Flags, divide: Divide, least: int) -> None:
    """Divides all rows; `starts`, which says where a group begins, becomes that of what cannot be divided any more.

    Groups of less than `least` rows are not looked at. A row is looked at each time that its group is divided: so the
    work left is told as the sum over all groups of their rows times how often these can be halved.
    """
    rows = len(starts)
    small = max(SMALL, rows // _PARTS)
    whole = left = _work(rows, least)
    with ThreadPoolExecutor(cpu_count()) as pool:
        running: dict[Future[None], tuple[int, int]] = {}

        def begin(start: int, end: int) -> None:
            size = end - start
            running[pool.submit(divide, start, end, least if size <= small else size)] = start, end

        begin(0, rows)
        try:
            while running:
                for ended in wait(running, return_when=FIRST_COMPLETED).done:
                    start, end = running.pop(ended)
                    ended.result()
                    left -= _work(end - start, least)
                    # What is small has been divided to the end.
                    for part in _parts(starts, start, end) if end - start > small else ():
                        left += _work(part[1] - part[0], least)
                        begin(*part)
                problem.tell(whole - left, whole)
        finally:
            for waiting in running:
                waiting.cancel()


def _parts(starts: Flags, start: int, end: int) -> list[tuple[int, int]]:
    """What a group was divided into; nothing if that could not be."""
    inner = start + 1 + np.flatnonzero(starts[start + 1 : end])
    return list(pairwise([start, *inner.tolist(), end])) if len(inner) else []


def _work(rows: int, least: int) -> int:
    return int(rows * log2(max(rows / max(least, 1), 1)))
