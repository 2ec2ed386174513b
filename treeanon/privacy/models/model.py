"""The protocol of privacy models, and what those that look at sensitive columns have in common."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import numpy.typing as npt

from treeanon.errors import UsageError
from treeanon.kernels.tree.forest import Longs
from treeanon.table import Groups, Histogram

Flags = npt.NDArray[np.bool_]


class Model(Protocol):
    """What must hold for every published group.

    `name` says it with its parameters ("5-anonymity"). `is_monotone` is true if a union of groups that satisfy it
    always does, where no person is in two of them: then a generalisation of a table that satisfies it does too.

    `holds_when_grown` asks more: that a group that satisfies it does so whoever is added. Searches that suppress the
    groups that fail may cut only then (otherwise a group that fails can spoil one that holds when they are merged, and
    a generalisation may suppress *more*), and so may those of tables where a person has several rows.
    """

    @property
    def name(self) -> str:
        """The model with its parameters, in words."""

    @property
    def is_monotone(self) -> bool:
        """Whether unions of groups that satisfy it, of different persons, satisfy it."""

    @property
    def holds_when_grown(self) -> bool:
        """Whether whatever contains a group that satisfies it satisfies it."""

    @property
    def sensitive(self) -> tuple[str, ...] | None:
        """The sensitive columns that it looks at; None for none at all, () for every one of the table."""

    def holds(self, groups: Groups) -> Flags:
        """Whether it holds, for each group."""


@dataclass(frozen=True)
class SensitiveModel:
    """A model of one sensitive column, or of each: what holds for the histogram of one is left to its subclasses.

    Columns are looked at one by one, in the groups as they are: who has several sensitive columns asks for each with
    groups that the others belong to, as `check` does.
    """

    column: str | None = field(default=None, kw_only=True)

    @property
    def is_monotone(self) -> bool:
        """True: so for each of ours, shown where it is defined."""
        return True

    @property
    def holds_when_grown(self) -> bool:
        """False for what speaks of shares: who is added can have what is frequent already."""
        return False

    @property
    def sensitive(self) -> tuple[str, ...]:
        """The column, or () for every one of the table."""
        return () if self.column is None else (self.column,)

    @property
    def name(self) -> str:
        """The model with its parameters and its column."""
        return self._short if self.column is None else f"{self._short} of {self.column}"

    @property
    def _short(self) -> str:
        raise NotImplementedError

    def holds(self, groups: Groups) -> Flags:
        """Whether it holds in all of its columns, for each group."""
        found = [one for one in groups.sensitive if self.column in (None, one.name)]
        if not found:
            has = ", ".join(one.name for one in groups.sensitive) or "none"
            raise UsageError(f"{self.name} needs a sensitive column that is there; there is: {has}")
        flags = np.ones(len(groups), np.bool_)
        for histogram in found:
            flags &= self._holds_in(groups.sizes, histogram)
        return flags

    def _holds_in(self, sizes: Longs, histogram: Histogram) -> Flags:
        """Whether it holds for each group: how many persons there are, and what values they have."""
        raise NotImplementedError
