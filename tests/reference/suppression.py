"""Problems with any set of models, and suppression by obvious code: every set of columns, every way to cut."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from random import Random

from tests.reference import models as slow_models
from tests.reference.lattice import Holds, Row, World
from tests.reference.table_losses import all_cuts
from tests.support.table_worlds import problem_of, random_problem
from treeanon.algorithms.table.problem import Problem
from treeanon.privacy.models import (
    AlphaKAnonymity,
    DistinctDiversity,
    EntropyDiversity,
    FrequencyDiversity,
    KAnonymity,
    Model,
    PSensitiveKAnonymity,
    RecursiveDiversity,
    TCloseness,
)
from treeanon.privacy.models.model import SensitiveModel, is_joined

Pairs = Sequence[tuple[int, str | None]]
Test = Callable[[Pairs, Pairs], bool]
"""Whether a group is good: the person and the value of every row of it, and of every row there is."""


def close(own: Pairs, whole: Pairs, t: Fraction) -> bool:
    here, there = slow_models.counts(own), slow_models.counts(whole)
    shares = ((Fraction(here[v], sum(here.values())), Fraction(there[v], sum(there.values()))) for v in there)
    return sum(abs(a - b) for a, b in shares) / 2 <= t


def random_models(rnd: Random, has_sensitive: bool) -> list[tuple[Model, Test]]:
    """Up to three models, each with obvious code of the same."""
    k, least, share = rnd.randint(1, 3), rnd.randint(2, 3), Fraction(rnd.randint(3, 9), 10)
    size: tuple[Model, Test] = (KAnonymity(k), lambda own, _: slow_models.size(own) >= k)
    if not has_sensitive:
        return [size]
    kinds: list[tuple[Model, Test]] = [
        size,
        size,
        (DistinctDiversity(least), lambda own, _: len(slow_models.counts(own)) >= least),
        (FrequencyDiversity(2), lambda own, _: slow_models.frequency(own, Fraction(2))),
        (EntropyDiversity(2), lambda own, _: slow_models.entropy(own, Fraction(2))),
        (RecursiveDiversity(2, 2), lambda own, _: slow_models.recursive(own, Fraction(2), 2)),
        (AlphaKAnonymity(share, k), lambda own, _: slow_models.alpha_k(own, share, k, None)),
        (PSensitiveKAnonymity(1, k), lambda own, _: slow_models.size(own) >= k),
        (TCloseness(share), lambda own, whole: close(own, whole, share)),
    ]
    return [(either_way(rnd, model), test) for model, test in rnd.sample(kinds, rnd.randint(1, 3))]


def either_way(rnd: Random, model: Model) -> Model:
    """The model, of sensitive columns by themselves or with the others joined to the quasi columns."""
    if isinstance(model, SensitiveModel) and not isinstance(model, PSensitiveKAnonymity):
        return replace(model, joined=rnd.random() < 0.5)
    return model


def holds_all(asked: Sequence[tuple[Model, Test]], everybody: Sequence[Row]) -> Holds:
    """Whether all hold for a group, of each sensitive column by itself, or with the others joined to the quasi ones."""

    def holds(rows: Sequence[Row]) -> bool:
        for model, test in asked:
            if model.sensitive is None:
                if not test([(row.person, None) for row in rows], ()):
                    return False
                continue
            for c in range(len(rows[0].sensitive)):
                parts = defaultdict(list)
                for row in rows:
                    others = row.sensitive[:c] + row.sensitive[c + 1 :] if is_joined(model) else ()
                    parts[others].append((row.person, row.sensitive[c]))
                whole = [(row.person, row.sensitive[c]) for row in everybody]
                if not all(test(part, whole) for part in parts.values()):
                    return False
        return True

    return holds


def random_world(rnd: Random, rows: int | None = None, columns: int | None = None) -> tuple[Problem, World]:
    """A problem, of so many rows (of a person each) and columns at most if given, and the same for obvious code."""
    problem, world = random_problem(rnd)
    rnd = Random(rnd.getrandbits(32))
    many = problem.table.person is not None
    if rows is not None:
        some = [Row(i, row.quasi[:columns], row.sensitive) for i, row in enumerate(world.rows[:rows])]
        world = replace(world, rows=some, paths=world.paths[:columns])
        many = False
    asked = random_models(rnd, bool(problem.table.sensitive))
    world = replace(world, holds=holds_all(asked, world.rows))
    return problem_of(world, tuple(model for model, _ in asked), many), world


def groups_without(world: World, gone: Collection[int]) -> Mapping[tuple[str | None, ...], list[Row]]:
    """The rows that look alike without some columns."""
    groups = defaultdict(list)
    for row in world.rows:
        groups[tuple(value for c, value in enumerate(row.quasi) if c not in gone)].append(row)
    return groups


def worth_without(world: World, gone: Collection[int]) -> tuple[int, int, int]:
    """How many columns are gone, how many persons are lost then, and minus how many groups are left."""
    groups = groups_without(world, gone).values()
    lost = {row.person for rows in groups if not world.holds(rows) for row in rows}
    return len(gone), len(lost), -sum(map(world.holds, groups))


def fewest_columns(world: World) -> tuple[int, int, int] | None:
    """The best that suppression of columns comes to; None if nothing does."""
    columns = range(len(world.paths))
    found = (worth_without(world, gone) for size in range(len(columns) + 1) for gone in combinations(columns, size))
    return min((worth for worth in found if worth[1] <= world.limit), default=None)


def best_cut(problem: Problem, world: World, label: int | None) -> int | None:
    """The least cost of all cuts, DM or of a sensitive column CM; None if every one suppresses too much."""
    order = [[*paths, None] for paths in world.paths]
    rows = world.rows
    held = [[value for value in order[c] if value in {row.quasi[c] for row in rows}] for c in range(len(order))]
    best = None
    for cut in all_cuts(held):
        groups = defaultdict(list)
        for row in rows:
            groups[tuple(of[value] for of, value in zip(cut, row.quasi, strict=True))].append(row)
        cost = out = 0
        for group in groups.values():
            if not world.holds(group):
                out += len(group)
                cost += len(group) * (len(rows) if label is None else 1)
            elif label is None:
                cost += len(group) ** 2
            else:
                labels = [row.sensitive[label] for row in group]
                cost += len(group) - max(map(labels.count, labels))
        if out <= problem.max_suppressed:
            best = cost if best is None else min(best, cost)
    return best
