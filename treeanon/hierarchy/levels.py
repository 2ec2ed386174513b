"""Hierarchies without the values themselves: nothing finer than a builder's first level is ever published.

The values stay known, as other names of the nodes that stand for them, so that data are read by such a hierarchy and
releases too.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from treeanon.hierarchy.model import Codes, Hierarchy


class LevelBuilder(Protocol):
    """A builder that can tell its own labels from values."""

    def build(self, values: Iterable[str]) -> Hierarchy:
        """Return the hierarchy of the values."""

    def labels_among(self, texts: Sequence[str]) -> Collection[str]:
        """Return those of the texts that are labels of levels, and no values."""


class NamedHierarchy(Hierarchy):
    """A hierarchy that knows other texts for its nodes, which are none of their own."""

    def __init__(self, texts: tuple[str, ...], parent: Codes, names: Mapping[str, int]) -> None:
        super().__init__(texts, parent)
        object.__setattr__(self, "names", dict(names))
        object.__setattr__(self, "_index", {**names, **self._index})

    def __reduce__(self) -> tuple[type[Hierarchy], tuple[object, ...]]:
        return NamedHierarchy, (self.texts, self.parent, getattr(self, "names"))  # noqa: B009


@dataclass(frozen=True)
class Levels:
    """Builder: what another builder makes, without the values below its levels.

    >>> from treeanon.hierarchy.dates import Dates
    >>> h = Levels(Dates(("year", "decade"))).build(["1987-07-01", "1990", "1988-05"])
    >>> h.texts, h.texts[h.code("1987-07-01")]
    (('*', '1980s', '1987', '1988', '1990s', '1990'), '1987')
    """

    builder: LevelBuilder
    knows_values: bool = True
    """Whether values are known, as names of levels; in a release there are none."""

    def build(self, values: Iterable[str]) -> Hierarchy:
        """Return the hierarchy, in which values are other names of the levels right above them."""
        whole = self.builder.build(values)
        leaves = [code for code in whole.leaf_nodes.tolist() if code]
        labels = self.builder.labels_among([whole.texts[code] for code in leaves])
        dropped = np.zeros(len(whole), bool)
        dropped[[code for code in leaves if whole.texts[code] not in labels]] = True
        place = np.cumsum(~dropped) - 1
        kept = np.flatnonzero(~dropped)
        parent = np.where(whole.parent[kept] < 0, -1, place[whole.parent[kept]])
        values_of = np.flatnonzero(dropped).tolist() if self.knows_values else []
        names = {whole.texts[code]: int(place[whole.parent[code]]) for code in values_of}
        return NamedHierarchy(tuple(whole.texts[code] for code in kept.tolist()), parent.astype(np.int32), names)
