"""Contents of looked-up rows, to find equal ones in parts of a release that are laid out apart."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from treeanon.arrays import Ints
from treeanon.io.relational.key_constraints import Needs
from treeanon.io.relational.layout import Rows
from treeanon.io.relational.plan import Stop


@dataclass(frozen=True)
class Contents:
    """The rows of a stop that would be one with equal rows, and for each what it and the rows it looks up hold."""

    rows: npt.NDArray[np.intp]
    held: Ints


def contents(needs: Needs, rows: Rows) -> dict[int, Contents]:
    """Return for every stop the contents of the looked-up rows that are merged where they are equal.

    Rows that stay apart, those that look such a row up, and those of child tables are not among them.
    """
    found: dict[int, tuple[np.ndarray, Ints]] = {}
    for stop in reversed(needs.plan.stops):
        found[stop.index] = _held(needs, rows, stop, found)
    return {
        index: Contents(np.flatnonzero(~own), held[~own])
        for index, (own, held) in found.items()
        if not needs.plan.stops[index].is_container
    }


def _held(needs: Needs, rows: Rows, stop: Stop, found: dict[int, tuple[np.ndarray, Ints]]) -> tuple[np.ndarray, Ints]:
    """Return which rows of a stop may be merged with others, and the labels in each and in what it looks up."""
    here, below = rows.stops[stop.index], needs.plan.below(stop)
    if stop.is_container or stop.index in needs.apart or any(other.is_container for other in below):
        return np.ones(here.count, bool), np.empty((here.count, 0), np.int32)
    own = np.zeros(here.count, bool)
    columns = [here.labels[held][:, None] for held in stop.columns]
    for other in below:
        link = rows.stops[other.index].link
        there = link >= 0
        is_apart, held = found[other.index]
        own[there] |= is_apart[link[there]]
        looked_up = np.full((here.count, held.shape[1] + 1), -1, np.int32)
        looked_up[there, 0] = 0
        looked_up[there, 1:] = held[link[there]]
        columns.append(looked_up)
    return own, np.hstack([np.empty((here.count, 0), np.int32), *columns])
