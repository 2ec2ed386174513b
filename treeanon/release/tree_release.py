"""A release: the trees to publish, how they were made, what that cost, and the check that they passed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from treeanon.algorithms.tree.solution import Solution, plain_data
from treeanon.arrays import Longs
from treeanon.errors import DataError, GuaranteeError, HierarchyError
from treeanon.forest import Forest
from treeanon.io import output_format, write
from treeanon.io.output import Written
from treeanon.io.reading import read_back
from treeanon.io.relational.urls import shown
from treeanon.metrics.measure import Losses
from treeanon.progress import Progress, beside, stage
from treeanon.risks.trees import OneMore, one_more
from treeanon.shown import Shown, Summary
from treeanon.verifier.tree import verify
from treeanon.verifier.verdict import Verdict


@dataclass(frozen=True, repr=False)
class Release(Shown):
    """Published trees that hold what `solution.guarantee` says, which `verdict` has found by counting.

    `counts` has the records and nodes of the input and of the release, and what reading left out. `report` is what
    the search tells of itself. `kept` has the records of the input that those of `forest` come from (None: all).
    """

    forest: Forest
    solution: Solution
    loss: Losses
    verdict: Verdict
    counts: Mapping[str, Any]
    report: Mapping[str, Any] = field(default_factory=dict)
    kept: Longs | None = None

    @cached_property
    def one_more(self) -> OneMore | None:
        """Whom one more known value than the guarantee covers singles out, measured when it is asked for."""
        return one_more(self.forest, self.solution.guarantee)

    def _summary(self) -> Summary:
        g, lost = self.solution.guarantee, self.loss._summary()
        line = f"{len(self.forest):,} records, {g.k}^({g.m},{g.n})-anonymous by {self.solution.algorithm}"
        facts = [("guarantee", g.sentence), ("verified", self.verdict.sentence), ("losses", lost.line), *lost.facts]
        return Summary("Release", line, facts, lost.grids)

    def write(
        self,
        target: str | Path,
        *,
        format: str | None = None,
        force: bool = False,
        seed: int | None = None,
        jobs: int | None = None,
        progress: Progress | None = None,
    ) -> Verdict:
        """Write the release, and return the verdict on what was written.

        Before the target appears, what was written is read again by the same schema; unless that gives exactly the
        published trees, and they hold the guarantee, GuaranteeError is raised and nothing appears. Records come in
        random order; `seed` makes it repeatable, for tests.
        """
        form = output_format(target, self.forest.schema, format)
        verdicts: list[Verdict] = []

        def check(written: Written) -> None:
            verdicts.append(self._check(written, shown(str(target)), form.name, jobs, stage(progress, "verifying")))

        write(self.forest, target, format=form.name, force=force, seed=seed, progress=progress, check=check)
        return verdicts[-1]

    def _check(self, found: Written, target: str, format: str, jobs: int | None, progress: Progress | None) -> Verdict:
        """Return the verdict on what was written, which is to become `target`."""
        read = partial(read_back, found, target, self.forest.schema, format, jobs=jobs or 1)
        return self._verdict(read, target, "written", jobs, progress)

    def to_records(self, *, seed: int | None = None, jobs: int | None = None) -> list[dict[str, Any]]:
        """Return the published records as dicts that hold dicts and lists, in random order.

        As in `write`, the records are read again and verified before they are returned; `seed` is for tests.
        """
        from treeanon.io.memory import forest_of_records, records_of_forest

        records = records_of_forest(self.forest, seed)
        read = partial(forest_of_records, records, self.forest.schema, jobs=jobs or 1)
        self._verdict(read, "the records", "made", jobs)
        return records

    def to_frame(self, like: Any, *, seed: int | None = None, jobs: int | None = None) -> Any:
        """Return the published records as a frame with nested columns, of the same library as another frame.

        As in `write`, the frame is read again and verified before it is returned; `seed` is for tests.
        """
        from treeanon.io.memory import forest_of_nested, nested_of_forest

        frame = nested_of_forest(self.forest, like, seed)
        read = partial(forest_of_nested, frame, self.forest.schema, jobs=jobs or 1)
        self._verdict(read, "the frame", "made", jobs)
        return frame

    def to_frames(self, like: Mapping[str, Any], *, seed: int | None = None, jobs: int | None = None) -> dict[str, Any]:
        """Return the published records as frames by the names of tables, each of the library of its namesake in `like`.

        Keys are fresh, rows in random order; what was disassociated is in tables of its own. As in `write`, the frames
        are read again and verified before they are returned; `seed` is for tests.
        """
        from treeanon.io.memory import forest_of_tables, frames_like, tables_of_forest

        tables = tables_of_forest(self.forest, seed)
        frames = frames_like(tables, like, self.forest.schema)
        # The tables must themselves say which keys there are, unless the schema does.
        schema = replace(self.forest.schema, input=replace(self.forest.schema.input, relations=None))
        read = partial(forest_of_tables, frames, schema, jobs=jobs or 1, made=tables)
        self._verdict(read, "the frames", "made", jobs)
        return frames

    def _verdict(
        self, read: Callable[[], Forest], name: str, how: str, jobs: int | None, progress: Progress | None = None
    ) -> Verdict:
        """Return the verdict on what was written or made, read again; GuaranteeError unless it is as it must be."""
        again = _read_again(read, name)
        verdict = beside(partial(verify, again, self.solution.guarantee, jobs=jobs, progress=progress), jobs)
        require_same(again, self.forest, name)
        found = verdict()
        if not found.holds:
            raise GuaranteeError(f"{name}: not published, for the guarantee does not hold for what was {how}")
        return found

    def as_dict(self) -> dict[str, Any]:
        """Return the facts of the release as plain data, without a value of the data."""
        return release_facts(self.solution, self.loss, self.verdict, self.counts, self.report, self.unprotected())

    def unprotected(self) -> dict[str, list[str]]:
        """Return the classes in the release whose values are published as they are, by their role."""
        return unprotected_classes(self.forest)

    def write_solution(self, target: str | Path, *, force: bool = False) -> None:
        """Write the solution file, by which `apply` makes the same of other data.

        It is for whoever holds the data: it names relations that were too rare to be published.
        """
        from treeanon.release.solution_file import SolutionFile

        SolutionFile.of(self).write(target, force=force)


def release_facts(
    solution: Solution,
    loss: Losses,
    verdict: Verdict,
    counts: Mapping[str, Any],
    report: Mapping[str, Any],
    as_they_are: Mapping[str, list[str]],
) -> dict[str, Any]:
    """Return the facts of a release of trees as plain data, without a value of the data."""
    plain = solution.as_dict()
    moved, left_out = (
        [{"upper": up, "lower": low, "pairs": times} for (up, low), times in pairs.most_common()]
        for pairs in (
            Counter((pair[0][0], pair[1][0]) for pair in ended) for ended in (solution.disassociated, solution.left_out)
        )
    )
    return {
        "guarantee": plain["guarantee"],
        "verification": verdict.as_dict(),
        "algorithm": plain["algorithm"],
        "options": plain["options"],
        "losses": loss.as_dict(),
        "counts": dict(counts),
        "withheld": plain["withheld"],
        "suppressed": plain["suppressed"],
        "disassociated": moved,
        "left_out": left_out,
        "published_as_they_are": dict(as_they_are),
        "search": plain_data(report),
    }


def read_again(found: Written, target: str, forest: Forest, format: str, jobs: int | None) -> Forest:
    """What was written, and is to become `target`, read again; GuaranteeError unless it is the published trees."""
    written = _read_again(partial(read_back, found, target, forest.schema, format, jobs=jobs or 1), target)
    require_same(written, forest, target)
    return written


def _read_again(read: Callable[[], Forest], target: str) -> Forest:
    try:
        return read()
    except (DataError, HierarchyError) as problem:
        raise GuaranteeError(f"{target}: not published, for it could not be read again: {problem}") from None


def require_same(written: Forest, forest: Forest, target: str) -> None:
    """GuaranteeError unless what was read of a release is the published trees."""
    if written != forest:
        raise GuaranteeError(f"{target}: not published, for reading it again does not give the published trees")


def unprotected_classes(forest: Forest) -> dict[str, list[str]]:
    """Return the classes that published trees have values of as they were in the input, by their role."""
    out: dict[str, list[str]] = {}
    there = set(forest.classes.class_of[forest.label].tolist())
    for index, published in enumerate(forest.schema.layout.classes):
        if index in there and published.spec.role != "quasi" and not published.is_object:
            role = "pseudonym" if published.spec.pseudonym else published.spec.role
            out.setdefault(role, []).append(published.name)
    return out
