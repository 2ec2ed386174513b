"""One search of a figure: run it, check its release, and measure it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any

import numpy as np

from treeanon.algorithms.table.problem import Problem
from treeanon.algorithms.table.registry import TABLE_ALGORITHMS
from treeanon.algorithms.table.result import Result
from treeanon.arrays import Longs
from treeanon.bench.figures import Line, Measure, Setting
from treeanon.bench.invented import census, synthetic
from treeanon.errors import GuaranteeError, TreeanonError, UsageError
from treeanon.hierarchy import Hierarchy
from treeanon.metrics.table import Form, gcp, permuted_query_loss, query_loss
from treeanon.metrics.table.groups import (
    average_ncp,
    groups_of,
    largest_extent,
    largest_ncp,
    mean_extent,
    weighted_average_volume,
    weighted_maximum_ncp,
    weighted_maximum_share,
)
from treeanon.privacy.models import FrequencyDiversity, KAnonymity, Model
from treeanon.schema.model import ClassSpec
from treeanon.table import Column, Table
from treeanon.verifier.table import check

MeasureKey = tuple[Measure, int]
"""A measure, and the level of its queries (0: none)."""
Numbers = Mapping[MeasureKey, float]

_SMALL = 300
_QUICK, _REPEATS = 1.0, 3
_LOSSES: Mapping[Measure, Callable[[Table], float]] = {
    "il1": mean_extent,
    "ilmax": largest_extent,
    "average_ncp": average_ncp,
    "maximum_ncp": weighted_maximum_ncp,
    "maximum_share": weighted_maximum_share,
    "volume": weighted_average_volume,
}


class Measuring:
    """Runs and measures searches in this process, on tables of up to `rows` rows."""

    def __init__(self, rows: int, seed: int) -> None:
        self.rows, self.seed = rows, seed
        self._tables: dict[Setting, Table] = {}
        self._warm: set[Line] = set()

    def warm_up(self, line: Line, setting: Setting) -> None:
        """Search few rows once for each line, as the first search compiles or loads kernels."""
        if line not in self._warm:
            # Few rows may be too few for the guarantee.
            with suppress(TreeanonError):
                _searched(line, setting, _table(setting, min(_SMALL, self.rows), self.seed))
            self._warm.add(line)

    def numbers(self, line: Line, setting: Setting, wanted: Iterable[MeasureKey]) -> Numbers:
        """Run a search and return the requested measures; an error says why there are none."""
        self.warm_up(line, setting)
        table = self._table(setting)
        best, found = _searched(line, setting, table)
        for _ in range(_REPEATS - 1 if best < _QUICK else 0):
            best = min(best, _searched(line, setting, table)[0])
        release = _Release(line, setting, table, found)
        release.check()
        return {(how, level): best if how == "seconds" else release.number(how, level) for how, level in wanted}

    def _table(self, setting: Setting) -> Table:
        only = Setting(
            setting.data, setting.rows, setting.quasi, correlation=setting.correlation, projection=setting.projection
        )
        if only not in self._tables:
            if len(self._tables) > 8:
                self._tables.clear()
            self._tables[only] = _table(setting, max(1, round(self.rows * setting.rows)), self.seed)
        return self._tables[only]


def _table(setting: Setting, rows: int, seed: int) -> Table:
    if setting.data == "census":
        if not setting.projection:
            return census(rows, seed, quasi=setting.quasi)
        whole = census(rows, seed)
        return Table((*(whole.quasi[number] for number in setting.projection), *whole.sensitive))
    return synthetic(rows, seed, correlation=setting.correlation, quasi=setting.quasi)


def _models(line: Line, setting: Setting) -> tuple[Model, ...]:
    if line.privacy == "k":
        return (KAnonymity(setting.k),)
    # Accuracy first: the smallest ℓ is enough.
    return (FrequencyDiversity(setting.l if line.privacy == "l" else 1),)


def _searched(line: Line, setting: Setting, table: Table) -> tuple[float, Result]:
    """Return the seconds of a search, and what it found."""
    algorithm = TABLE_ALGORITHMS.get(line.algorithm)
    if algorithm is None:
        raise UsageError(f"left out: there is no algorithm {line.algorithm!r} here")
    options: dict[str, Any] = dict(line.options)
    if line.privacy == "loss":
        options["max_loss"] = setting.max_loss
    options = algorithm.checked(options)
    problem = Problem(table, _models(line, setting))
    search = algorithm.search
    started = time.perf_counter()
    found = search(problem, **options)
    return time.perf_counter() - started, found


class _Release:
    """The release of a search, and its measures."""

    def __init__(self, line: Line, setting: Setting, table: Table, found: Result) -> None:
        self.line, self.setting, self.table = line, setting, table
        # Accuracy first: the ℓ reached, not the ℓ requested.
        self.models = found.models if line.privacy == "loss" else _models(line, setting)
        self.group: Longs | None = None
        if line.publish == "permuted":
            self.group = getattr(found, "group", None)
            if self.group is None:
                raise UsageError("the result has no groups, so nothing can be permuted")
            rows = np.flatnonzero(self.group >= 0)
            self.released = _by_group(table.take(rows), self.group[rows])
        else:
            self.released, _rows = found.recoded(table)

    def check(self) -> None:
        """Raise GuaranteeError unless the release keeps its guarantee."""
        for checked in check(self.released, self.models):
            if not checked.holds:
                raise GuaranteeError(f"the release fails its check: {checked.sentence}")
        if self.line.privacy == "loss" and largest_ncp(self.released) > self.setting.max_loss + 1e-9:
            raise GuaranteeError("the release fails its check: a group has a greater NCP than is allowed")

    def number(self, measure: Measure, level: int) -> float:
        """Return the value of a measure."""
        if measure == "privacy":
            return diversity(self.released)
        if measure == "divergence" and self.group is not None:
            return permuted_query_loss(self.table, self.group, level).mean
        if measure == "divergence":
            return query_loss(self.table, self.released, level).mean
        if measure in _LOSSES:
            return _LOSSES[measure](self.released)
        form: Form = "set" if measure == "gcp_set" else "taxonomy"
        return gcp(self.released, len(self.table) - len(self.released), form=form)


def _by_group(table: Table, group: Longs) -> Table:
    """Return what an attacker knows of a permuted release: the group of each row, and the sensitive values of each
    group.
    """
    numbers = np.unique(group, return_inverse=True)[1]
    hierarchy = Hierarchy.flat(map(str, range(int(numbers.max(initial=-1)) + 1)))
    column = Column(ClassSpec("group", hierarchy=hierarchy), hierarchy, (numbers + 1).astype(np.int32))
    return Table((column, *table.sensitive))


def diversity(table: Table) -> float:
    """Return the ℓ of a table: the least ratio of a group's size to the count of its most frequent sensitive value.

    >>> from treeanon.hierarchy import Hierarchy
    >>> columns = {"sex": ("ffmm", Hierarchy.flat("fm")), "ill": ("aabc", Hierarchy.flat("abc"))}
    >>> diversity(Table.of_texts(columns, {"ill": "sensitive"})), diversity(Table.of_texts(columns).take(np.array([0])))
    (1.0, inf)
    """
    least = float("inf")
    numbers, groups = groups_of(table)
    sizes = np.bincount(numbers, minlength=groups)
    for column in table.sensitive:
        both, parts = groups_of(table, [*table.quasi, column])
        most = np.zeros(groups, np.int64)
        owner = np.zeros(parts, np.int64)
        owner[both] = numbers
        np.maximum.at(most, owner, np.bincount(both, minlength=parts))
        least = min(least, float((sizes / most).min(initial=np.inf)))
    return least
