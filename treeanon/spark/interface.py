"""The interface of an engine, which reads a dataset, anonymizes it, and writes and checks the release."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

from treeanon.algorithms.tree.solution import Solution
from treeanon.errors import UsageError
from treeanon.metrics.measure import Losses
from treeanon.release.table_release import TableRelease
from treeanon.release.table_request import TableRequest
from treeanon.release.tree_request import Request
from treeanon.schema import Schema
from treeanon.verifier.verdict import Verdict

Notify = Callable[[str], None]
"""A callback that takes a short sentence on the progress."""


@dataclass(frozen=True)
class Job:
    """One input to publish: source, schema, target, and how to handle invalid records."""

    source: str
    schema: Schema
    target: str
    source_format: str | None = None
    target_format: str | None = None
    on_error: Literal["error", "skip"] = "error"
    strict: bool = False
    show_values: bool = False
    force: bool = False
    sample: int | None = None
    delimiter: str = ""
    seed: int | None = None


@dataclass(frozen=True)
class DistributedRelease:
    """A release that an engine has written: solution, losses, verdict and counts, but not the records."""

    solution: Solution
    loss: Losses
    verdict: Verdict
    counts: Mapping[str, Any]
    as_they_are: Mapping[str, list[str]]
    report: Mapping[str, Any] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """Return the release as plain data, in the form common to all releases."""
        from treeanon.release.tree_release import release_facts

        return release_facts(self.solution, self.loss, self.verdict, self.counts, self.report, dict(self.as_they_are))

    def write_solution(self, target: str | Path, *, force: bool = False) -> None:
        """Write the solution file, by which `apply` recodes other data in the same way; it is not for publication."""
        from treeanon.release.solution_file import SolutionFile

        SolutionFile.of(self).write(target, force=force)


def is_dataframe(data: object) -> bool:
    """Return whether an object is a dataframe of an engine, without importing any package."""
    return any(one.__module__.startswith("pyspark.sql.") and one.__name__ == "DataFrame" for one in type(data).__mro__)


def are_dataframes(data: object) -> bool:
    """Return whether an object is a mapping from table names to dataframes of an engine."""
    return isinstance(data, Mapping) and bool(data) and all(map(is_dataframe, data.values()))


class Engine(Protocol):
    """What publishes a dataset."""

    def publish_rows(self, job: Job, request: TableRequest, notify: Notify | None = None) -> TableRelease:
        """Anonymize a job's rows; return the release, written and checked, whose table has no rows."""

    def publish(self, job: Job, request: Request, notify: Notify | None = None) -> DistributedRelease:
        """Anonymize a job's input; return the release, written and checked."""

    def publish_frame(self, frame: Any, schema: Schema, arguments: Mapping[str, Any]) -> Any:
        """Return the published rows of a dataframe of the engine, or of several tables, as a dataframe."""


ENGINES = {"spark": "treeanon.spark.engine"}
"""Engines besides the local one, and the modules that define them as `ENGINE`; imported when first used."""


def engine_named(name: str) -> Engine:
    """Import and return the engine of that name; UsageError lists the known engines."""
    if name not in ENGINES:
        raise UsageError(f"unknown engine {name!r}; choose from local, {', '.join(ENGINES)}")
    found: Engine = importlib.import_module(ENGINES[name]).ENGINE
    return found
