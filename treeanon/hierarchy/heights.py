"""How high the hierarchies of a builder are, whatever values it sees: levels are counted from there."""

from __future__ import annotations

from treeanon.hierarchy.ages import Ages
from treeanon.hierarchy.builders import Flat
from treeanon.hierarchy.codes import Atc
from treeanon.hierarchy.dates import Dates
from treeanon.hierarchy.intervals import Intervals
from treeanon.hierarchy.levels import Levels
from treeanon.hierarchy.model import Hierarchy
from treeanon.hierarchy.prefixes import Prefix


def height_of(source: object) -> int | None:
    """Return the last level that a class can have by its hierarchy or builder; None where that depends on the values.

    >>> from treeanon.hierarchy import Groups
    >>> height_of(Prefix((2, 1))), height_of(Hierarchy.flat("ab")), height_of(Groups(3))
    (3, 1, None)
    """
    if isinstance(source, Hierarchy):
        return source.height
    if isinstance(source, Levels):
        below = height_of(source.builder)
        return None if below is None else below - 1
    if isinstance(source, Prefix):
        return len(source.keep) + 1
    if isinstance(source, Dates):
        return len(source.levels) + 1
    if isinstance(source, Intervals):
        return len(source.widths) + 1
    if isinstance(source, Ages):
        return len(source.widths) + 2
    return 1 if isinstance(source, Flat) else 5 if isinstance(source, Atc) else None


def full_height(source: object, tree: Hierarchy) -> int:
    """Return the last level of a class whose hierarchy is a tree: that of a release may lack the lowest levels."""
    return max(height_of(source) or 0, tree.height)
