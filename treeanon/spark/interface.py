"""What an engine is: something that makes a checked release of a dataset that it reads and writes itself."""

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
"""Is told in a sentence how far the work is."""


@dataclass(frozen=True)
class Job:
    """One input to be published: where it is, by which schema, as what, and how broken records are met."""

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
    """A release that an engine has written, with all that there is to tell of it; the records stay where they are."""

    solution: Solution
    loss: Losses
    verdict: Verdict
    counts: Mapping[str, Any]
    as_they_are: Mapping[str, list[str]]
    report: Mapping[str, Any] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """The same as plain data, in the form that every release has."""
        from treeanon.release.tree_release import told

        return told(self.solution, self.loss, self.verdict, self.counts, self.report, dict(self.as_they_are))

    def write_solution(self, target: str | Path, *, force: bool = False) -> None:
        """Writes the solution file, by which `apply` makes the same of other data: for whoever holds the data."""
        from treeanon.release.solution_file import SolutionFile

        SolutionFile.of(self).write(target, force=force)


def is_dataframe(data: object) -> bool:
    """Whether an object is a dataframe of an engine; no package is loaded to know."""
    return any(one.__module__.startswith("pyspark.sql.") and one.__name__ == "DataFrame" for one in type(data).__mro__)


def are_dataframes(data: object) -> bool:
    """Whether an object has dataframes of an engine by the names of tables."""
    return isinstance(data, Mapping) and bool(data) and all(map(is_dataframe, data.values()))


class Engine(Protocol):
    """Publishes a dataset."""

    def publish_rows(self, job: Job, request: TableRequest, notify: Notify | None = None) -> TableRelease:
        """The release of a job's rows that a request asks for, written and checked; its table has no rows."""

    def publish(self, job: Job, request: Request, notify: Notify | None = None) -> DistributedRelease:
        """The release of a job's input that a request asks for, written and checked."""

    def publish_frame(self, frame: Any, schema: Schema, arguments: Mapping[str, Any]) -> Any:
        """The published rows of a dataframe of the engine, or of several that are tables, as another one."""


ENGINES = {"spark": "treeanon.spark.engine"}
"""Engines beside the local one, and the modules that have them as `ENGINE`; none is loaded before it is asked for."""


def engine_named(name: str) -> Engine:
    """The engine of that name, loaded; UsageError lists what there is."""
    if name not in ENGINES:
        raise UsageError(f"there is no engine {name!r}; there is: local, {', '.join(ENGINES)}")
    found: Engine = importlib.import_module(ENGINES[name]).ENGINE
    return found
