"""The work of a check in portions, on several threads."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from treeanon.kernels.tree.forest import Ints
from treeanon.progress import Progress

T = TypeVar("T")

_PORTIONS = 64


def in_parts(task: Callable[[Ints], T], work: npt.NDArray[np.float64], jobs: int, progress: Progress | None) -> list[T]:
    """What the task makes of all items, in portions of about equal work; kernels hold no interpreter lock."""
    parts = shares(work)
    found: list[T] = []
    with ThreadPoolExecutor(min(jobs, max(len(parts), 1))) as pool:
        for made in pool.map(task, parts):
            found.append(made)
            if progress is not None:
                progress(len(found), len(parts))
    return found


def shares(work: npt.NDArray[np.float64]) -> list[Ints]:
    """The items in portions of about equal work, the heaviest first.

    >>> [part.tolist() for part in shares(np.array([1.0, 100.0, 100.0, 0.5]))]
    [[1], [2], [0, 3]]
    """
    order = np.argsort(-work, kind="stable").astype(np.int32)
    portion = work.sum() / _PORTIONS
    ends: list[int] = []
    held = 0.0
    for number, item in enumerate(order.tolist(), start=1):
        held += work[item]
        if held >= portion:
            ends.append(number)
            held = 0.0
    return [part for part in np.split(order, ends) if len(part)]
