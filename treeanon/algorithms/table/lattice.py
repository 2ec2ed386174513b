"""The lattice of full-domain generalizations of a table, and what each of its vectors suppresses.

A vector has the level of every quasi column. Models of a whole release, and of a population, are checked here, too.

A search of the lattice finds a full-domain recoding: the level of every column, what that suppresses, and how to apply
it to other tables.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from treeanon.algorithms.table.group_checker import GroupChecker, RowGroupChecker, Tuples
from treeanon.algorithms.table.problem import Problem
from treeanon.algorithms.table.result import scattered
from treeanon.algorithms.table.rollup import RolledCells, RolledUp, Rollup, Vector
from treeanon.arrays import Flags, Floats, Ints, Longs
from treeanon.errors import GuaranteeError
from treeanon.privacy.models.model import Model
from treeanon.privacy.models.population import People, PopulationModel, WholeModel, is_of_whole
from treeanon.table import Table
from treeanon.table.controls import is_bounded, levels_of, raised
from treeanon.table.covers import level_maps


def split_models(problem: Problem) -> tuple[Problem, WholeChecker | None]:
    """Return the problem with the models of single groups, and a checker of the others, if there are any."""
    others = [model for model in problem.models if is_of_whole(model)]
    if not others:
        return problem, None
    alone = tuple(model for model in problem.models if not is_of_whole(model))
    return replace(problem, models=alone), WholeChecker(problem, others)


class WholeChecker:
    """The models of a problem that no group by itself decides."""

    def __init__(self, problem: Problem, models: list[Model]) -> None:
        self._whole = [model for model in models if isinstance(model, WholeModel)]
        columns = problem.table.quasi
        self._behind = [
            (model, _Behind(model.people(columns))) for model in models if isinstance(model, PopulationModel)
        ]
        # A group that is left out can raise the mean of the others, and is found by those who fit nothing else.
        self.is_monotone = problem.max_suppressed == 0 and all(model.is_monotone for model in models)

    def published(self, rolled: RolledUp, sizes: Longs, holds: Flags) -> Flags:
        """Return which groups can be published, of those of a vector that hold by themselves."""
        for model, behind in self._behind:
            persons, others = behind.of(rolled)
            holds = holds & model.holds_behind(sizes, persons)
            if model.needs_everybody and (others or persons[~holds].any()):
                return np.zeros(len(holds), np.bool_)
        if holds.any() and not all(model.holds_together(sizes[holds]) for model in self._whole):
            return np.zeros(len(holds), np.bool_)
        return holds


class _Behind:
    """The persons of a population by vector."""

    def __init__(self, people: People) -> None:
        tuples = Tuples.of(people.table)
        weights = np.bincount(tuples.tuple_of, people.weights, len(tuples)).astype(np.int64)
        self._persons = people.persons
        self._rollup = Rollup(replace(tuples, rows=weights))

    def of(self, rolled: RolledUp) -> tuple[Longs, int]:
        """Return how many persons fit each group of a vector, and how many fit none."""
        there = self._rollup.stage(rolled.vector)
        both = np.concatenate([rolled.keys, there.keys])
        number = np.unique(both, axis=0, return_inverse=True)[1].ravel()
        persons = np.zeros(int(number.max(initial=-1)) + 1, np.int64)
        persons[number[len(rolled.keys) :]] = there.rows
        found: Longs = persons[number[: len(rolled.keys)]]
        return found, self._persons - int(found.sum())


OTHER_COLUMNS = "other_columns"
"""The option by which suppressed rows are published without their quasi values."""

_TAGGED = 1 << 22
"""A lattice of more nodes than this remembers what it has seen, but not what follows from it."""


@dataclass(frozen=True)
class Evaluation:
    """Of one vector: how many persons it suppresses at least, and how many groups it then publishes."""

    suppressed: int
    groups: int


class Lattice:
    """All vectors of a problem; a column's level is counted from the least that it allows, and ends at the highest.

    `is_monotone` says whether no vector suppresses more than those below it. Groups of few persons can only grow, but a
    model such as t-closeness does not hold for any group that contains one for which it holds: a group that fails can
    spoil another when they are joined. Then what lies below is bounded by what sizes suppress, and by how many persons
    have to leave a group that fails, however it is divided (`may_hold`).

    >>> from treeanon.hierarchy import Hierarchy
    >>> from treeanon.table import Table
    >>> sexes = Hierarchy.flat(["f", "m"])
    >>> table = Table.of_texts({"a": (["f", "f", "m"], sexes), "b": (["f", "m", "m"], sexes)})
    >>> lattice = Lattice(Problem(table, ()))
    >>> lattice.heights, lattice.size, list(lattice.at_height(1)), lattice.evaluate((0, 1))
    ((1, 1), 4, [(0, 1), (1, 0)], Evaluation(suppressed=0, groups=2))
    """

    def __init__(self, problem: Problem) -> None:
        problem = replace(problem, table=raised(problem.table))
        self.problem = problem
        self.names = tuple(column.name for column in problem.table.quasi)
        alone, self.whole = split_models(problem)
        self.checker = GroupChecker(alone)
        self.tuples = Tuples.of(problem.table, self.checker.columns)
        self.rollup = Rollup(self.tuples)
        self._one_row_each = not len(self.tuples.pair_tuple)
        # Where somebody has several rows or values, counts of groups that come together do not add up.
        self._adds_up = self._one_row_each and not any(cells.person.size for cells in self.tuples.cells)
        self._cells = [
            RolledCells(self.tuples, self.tuples.cells[at], self.rollup.order, joined=joined)
            for at, joined, _ in (self.checker.asked if self._adds_up else ())
        ]
        self.heights: Vector = self.rollup.heights
        self.lowest: Vector = tuple(levels_of(column)[0] for column in problem.table.quasi)
        self.full_heights: Vector = tuple(column.hierarchy.height for column in problem.table.quasi)
        self.size = int(np.prod([float(h + 1) for h in self.heights]))
        self.bottom: Vector = (0,) * len(self.heights)
        self.top = self.heights
        self.order = self.rollup.order
        self.is_monotone = self.checker.is_monotone(self.tuples) and (self.whole is None or self.whole.is_monotone)
        self._seen: dict[Vector, Evaluation] = {}
        self._bounds: dict[Vector, int] = {}
        self._hopeless: set[Vector] = set()
        self._looks = 0

    @property
    def sizes_decide(self) -> bool:
        """Whether no model asks for more than the size of each group, or something else of it alone."""
        return not self.checker.columns and self.whole is None

    # --- nodes -------------------------------------------------------------------------------------------------------

    @property
    def checked(self) -> int:
        """How many nodes have been evaluated."""
        return len(self._seen.keys() | self._bounds.keys())

    def looked(self) -> None:
        """Say that one more node has been looked at."""
        self._looks += 1
        self.problem.report_progress(self._looks)

    def at_height(self, height: int) -> Iterator[Vector]:
        """Return the vectors whose levels add up to a height, in ascending order."""
        below = [0, *itertools.accumulate(reversed(self.heights))]
        room = below[::-1]

        def extend(head: Vector, left: int) -> Iterator[Vector]:
            at = len(head)
            if at == len(self.heights):
                yield head
                return
            for level in range(max(0, left - room[at + 1]), min(self.heights[at], left) + 1):
                yield from extend((*head, level), left - level)

        if 0 <= height <= room[0]:
            yield from extend((), height)

    def above(self, vector: Vector) -> list[Vector]:
        """Return the vectors one step more general."""
        return [(*vector[:c], level + 1, *vector[c + 1 :]) for c, level in enumerate(vector) if level < self.heights[c]]

    def below(self, vector: Vector) -> list[Vector]:
        """Return the vectors one step more specific."""
        return [(*vector[:c], level - 1, *vector[c + 1 :]) for c, level in enumerate(vector) if level]

    def named(self, vector: Vector) -> Mapping[str, int]:
        """Return the level of each column by its name."""
        return {name: low + level for name, low, level in zip(self.names, self.lowest, vector, strict=True)}

    def vector_of(self, levels: Mapping[str, int]) -> Vector:
        """Return the vector of these levels of columns; `named` is the way back."""
        return tuple(levels[name] - low for name, low in zip(self.names, self.lowest, strict=True))

    # --- what a node suppresses --------------------------------------------------------------------------------------

    def evaluate(self, vector: Vector, fixed: int | None = None) -> Evaluation:
        """Return what a vector suppresses; beyond what is allowed it may be more. `fixed` as in `Rollup.probe`."""
        found = self._seen.get(vector)
        if found is None:
            found = self._seen[vector] = self._evaluate(vector, fixed)
            self.looked()
        return found

    def _evaluate(self, vector: Vector, fixed: int | None) -> Evaluation:
        checker, least = self.checker, self.checker.least
        if least is not None and self._one_row_each:
            lost, published = self.rollup.probe(vector, least, fixed)
            if self.sizes_decide or lost > self.problem.max_suppressed:
                # What sizes alone suppress is no more than what all models do, and enough to say no.
                return Evaluation(lost, published)
        if self._adds_up:
            return self._judge(vector, fixed)
        _, number, holds = self.groups(vector)
        return Evaluation(checker.lost(self.tuples, number, holds), int(np.count_nonzero(holds)))

    def bound(self, vector: Vector, fixed: int | None = None) -> int:
        """Return what this vector and every one below it suppress at least, by sizes alone if groups can lose."""
        if self.is_monotone:
            return self.evaluate(vector, fixed).suppressed
        if self.checker.least is None:
            return 0
        found = self._bounds.get(vector)
        if found is None:
            found = self._bounds[vector] = self._lost_by_size(vector, self.checker.least, fixed)
            self.looked()
        return found

    def _lost_by_size(self, vector: Vector, least: int, fixed: int | None) -> int:
        if self._one_row_each:
            return self.rollup.probe(vector, least, fixed)[0]
        rolled, number = self.rollup.numbered(vector)
        sizes = self.checker.sizes(self.tuples, rolled.rows, number)
        return self.checker.lost(self.tuples, number, sizes >= least)

    def may_hold(self, vector: Vector, fixed: int | None = None) -> bool:
        """Return whether this vector or one below it may suppress no more than is allowed."""
        if self.bound(vector, fixed) > self.problem.max_suppressed:
            return False
        if not self.is_monotone and self._adds_up:
            self.evaluate(vector, fixed)
        return vector not in self._hopeless

    def _judge(self, vector: Vector, fixed: int | None) -> Evaluation:
        """Evaluate a vector by what has been counted for those below it, and note whether none of these can hold."""
        rolled = self.rollup.rolled(vector, fixed)
        holds, out = self.checker.judge(
            rolled.rows, lambda which, holds: self._cells[which].groups(rolled, holds, fixed)
        )
        if out.sum() > self.problem.max_suppressed:
            self._hopeless.add(vector)
        if self.whole is not None:
            holds = self.whole.published(rolled, rolled.rows, holds)
        return Evaluation(int(rolled.rows[~holds].sum()), int(np.count_nonzero(holds)))

    def groups(self, vector: Vector) -> tuple[RolledUp, Ints, Flags]:
        """Return the groups of a vector, the group of each tuple, and whether each satisfies all models."""
        rolled, number = self.rollup.numbered(vector)
        holds = self.checker.holds(self.tuples, rolled.rows, number)
        if self.whole is not None:
            holds = self.whole.published(rolled, self.checker.sizes(self.tuples, rolled.rows, number), holds)
        return rolled, number, holds

    def satisfies(self, vector: Vector) -> bool:
        """Return whether a vector suppresses no more than is allowed; not evaluated if what is known says so."""
        tags, limit = self._tags, self.problem.max_suppressed
        if tags is not None and tags[vector]:
            return bool(tags[vector] > 0)
        if not self.may_hold(vector):
            if tags is not None:
                tags[tuple(slice(0, level + 1) for level in vector)] = -1
            return False
        holds = self.evaluate(vector).suppressed <= limit
        if holds and self.is_monotone and tags is not None:
            tags[tuple(slice(level, None) for level in vector)] = 1
        return holds

    @cached_property
    def _tags(self) -> npt.NDArray[np.int8] | None:
        return np.zeros([h + 1 for h in self.heights], np.int8) if self.size <= _TAGGED else None

    def require_top(self) -> None:
        """Raise GuaranteeError if not even the top of the lattice is satisfied, where that means that nothing is."""
        if self.bound(self.top) > self.problem.max_suppressed:
            raise self.unsolvable()

    def unsolvable(self) -> GuaranteeError:
        """Return what to raise where no vector is satisfied."""
        names = ", ".join(model.name for model in self.problem.models)
        return GuaranteeError(
            f"no generalization of the quasi columns gives {names} with at most {self.problem.max_suppressed} of "
            f"{self.tuples.persons} persons suppressed"
        )

    def suppressed_cost(self, vector: Vector, costs: list[Floats]) -> tuple[int, float]:
        """Return how many rows a vector suppresses, and the sum of the costs of their generalized codes."""
        if self.checker.least is not None and self.sizes_decide and not len(self.tuples.pair_tuple):
            rolled = self.rollup.stage(vector)
            lost = rolled.rows < self.checker.least
        else:
            rolled, _, holds = self.groups(vector)
            lost = ~holds
        return int(rolled.rows[lost].sum()), self.rollup.cost_of(rolled, lost, costs)


@dataclass(frozen=True)
class FullDomainResult:
    """A full-domain recoding: `vector` has the level of every quasi column by name.

    `suppressed` counts the persons left out, who have a row in a group that does not satisfy all models. `minimal` has
    all k-minimal vectors where the algorithm gives them (satisfied, and nothing below them is), with what each
    suppresses. `counts` has the lattice's size, the nodes checked, and what else the algorithm reports.
    `keeps_others` says that suppressed rows are published without quasi values, where they satisfy the models so.
    """

    algorithm: str
    models: tuple[Model, ...]
    vector: Mapping[str, int]
    suppressed: int
    minimal: tuple[tuple[Mapping[str, int], int], ...] = ()
    counts: Mapping[str, Any] = field(default_factory=dict)
    keeps_others: bool = False

    @classmethod
    def of(
        cls, lattice: Lattice, algorithm: str, vector: Vector, minimal: Iterable[Vector] = (), **counts: Any
    ) -> FullDomainResult:
        """Return the solution that a vector of a lattice is."""
        found = tuple((lattice.named(v), lattice.evaluate(v).suppressed) for v in minimal)
        suppressed = lattice.evaluate(vector).suppressed
        counts = {"lattice": lattice.size, "checked": lattice.checked, **counts}
        return cls(algorithm, lattice.problem.models, lattice.named(vector), suppressed, found, counts)

    @property
    def height(self) -> int:
        """The sum of the levels."""
        return sum(self.vector.values())

    def apply(self, table: Table) -> Table:
        """Return the release of a table: generalized, without the rows of groups that do not satisfy the models.

        Rows come in random order, and persons are numbered anew: neither says where a row was.
        """
        return scattered(self.recoded(table)[0])

    def recoded(self, table: Table) -> tuple[Table, Longs]:
        """Return the rows of a table that are published, generalized; and their numbers in the table."""
        lattice = Lattice(Problem(table, self.models))
        _, number, holds = lattice.groups(lattice.vector_of(self.vector))
        generalized = {}
        for column in table.quasi:
            # The last entry of a level's map is of a missing value, which is code -1 in a table.
            codes = level_maps(column.hierarchy)[self.vector[column.name]][column.codes]
            generalized[column.name] = np.where(codes == len(column.hierarchy), -1, codes).astype(np.int32)
        kept = holds[number[lattice.tuples.tuple_of]]
        if self.keeps_others:
            kept = kept | self._emptied(table, generalized, kept)
        rows = np.flatnonzero(kept)
        return table.with_codes(generalized).take(rows), rows

    def _emptied(self, table: Table, generalized: dict[str, Ints], kept: Flags) -> Flags:
        """Return which suppressed rows are published without quasi values: all, if they satisfy the models, or none.

        They are a group like any other, together with rows of which every value is published as the root.
        """
        bare = ~kept
        if not bare.any() or any(is_bounded(column) for column in table.quasi):
            return np.zeros(len(table), np.bool_)
        alike = np.logical_and.reduce([codes == 0 for codes in generalized.values()])
        group = np.flatnonzero(bare | alike)
        checker = RowGroupChecker(Problem(table, self.models))
        if not checker.holds(np.zeros(len(group), np.int64), 1, group)[0]:
            return np.zeros(len(table), np.bool_)
        for name, codes in generalized.items():
            generalized[name] = np.where(bare, 0, codes).astype(np.int32)
        return bare

    def as_dict(self) -> dict[str, Any]:
        """Return the level of every column, and all k-minimal combinations of levels where they were searched for."""
        levels: dict[str, Any] = {"levels": dict(self.vector)}
        if self.minimal:
            levels["minimal"] = [{"levels": dict(found), "suppressed": lost} for found, lost in self.minimal]
        return levels
