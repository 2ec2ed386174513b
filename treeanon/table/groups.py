"""Groups of rows that look alike, and what is counted of them: persons, and sensitive values."""

from __future__ import annotations

from dataclasses import dataclass

from treeanon.hierarchy import Hierarchy
from treeanon.kernels.tree.forest import Ints, Longs


@dataclass(frozen=True)
class Histogram:
    """How often each sensitive value occurs in each group: of group g, values[starts[g]:starts[g + 1]] and counts.

    Values ascend within a group; they are nodes of `hierarchy`, or len(hierarchy) for a missing one. `whole` counts
    every value in the whole table, by code.
    """

    name: str
    starts: Longs
    values: Ints
    counts: Longs
    whole: Longs
    hierarchy: Hierarchy


@dataclass(frozen=True)
class Groups:
    """All groups: how many persons are in each, and for each sensitive column its histogram."""

    sizes: Longs
    sensitive: tuple[Histogram, ...] = ()

    def __len__(self) -> int:
        return len(self.sizes)
