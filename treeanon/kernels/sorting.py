"""Sorting within kernels, short to compile: numpy's sort takes five times as long."""

from __future__ import annotations

from treeanon.arrays import Ints, Longs
from treeanon.kernels.jit import njit

_SMALL = 24


@njit
def sort(work: Ints | Longs, lo: int, hi: int) -> None:
    """Sort work[lo:hi] in place."""
    if hi - lo <= _SMALL:
        for i in range(lo + 1, hi):
            key = work[i]
            j = i - 1
            while j >= lo and work[j] > key:
                work[j + 1] = work[j]
                j -= 1
            work[j + 1] = key
        return
    # A heap is built from the middle on; then its greatest goes to the end, again and again.
    start, end = (hi - lo) // 2, hi - lo
    while end > 1:
        if start > 0:
            start -= 1
        else:
            end -= 1
            work[lo], work[lo + end] = work[lo + end], work[lo]
        at, key = start, work[lo + start]
        while 2 * at + 1 < end:
            child = 2 * at + 1
            if child + 1 < end and work[lo + child] < work[lo + child + 1]:
                child += 1
            if key >= work[lo + child]:
                break
            work[lo + at] = work[lo + child]
            at = child
        work[lo + at] = key
