"""Anatomy's groups: different values in each, as many groups as the greedy draw of the paper makes."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from math import ceil
from random import Random

import numpy as np
import pytest

from tests.support.strategies import properties
from treeanon.algorithms.table.anatomy import search
from treeanon.algorithms.table.problem import Problem
from treeanon.errors import GuaranteeError, UsageError
from treeanon.hierarchy import Hierarchy
from treeanon.privacy.models import DistinctDiversity, EntropyDiversity, FrequencyDiversity, KAnonymity
from treeanon.table import Table

KINDS = Hierarchy.flat("abcdef")


def problem_of(values, models):
    numbers = Hierarchy.flat([str(i) for i in range(100)])
    columns = {"x": ([str(i % 100) for i in range(len(values))], numbers), "s": (values, KINDS)}
    return Problem(Table.of_texts(columns, roles={"s": "sensitive"}), models)


def drawn(values, size):
    """How many groups the paper's loop makes, and how many rows are left."""
    left = Counter(values)
    groups = 0
    while len(left) >= size:
        left -= Counter(value for value, _ in left.most_common(size))
        groups += 1
    return groups, sum(left.values())


def values_of(found, values):
    held = defaultdict(list)
    for value, group in zip(values, found.group.tolist(), strict=True):
        held[group].append(value)
    assert sorted(held) == list(range(found.counts["groups"]))
    return list(held.values())


def groups_hold(rnd: Random) -> None:
    rnd = Random(rnd.getrandbits(32))
    kinds = rnd.choice(["ab", "abc", "abcdef"])
    values = [rnd.choice([*kinds, None]) if rnd.random() < 0.7 else kinds[0] for _ in range(rnd.randint(0, 40))]
    size = rnd.choice([2, 2, 3, 4])
    is_frequency = rnd.random() < 0.6
    model = FrequencyDiversity(size) if is_frequency else DistinctDiversity(size)
    problem = problem_of(values, (model,))
    most = max(Counter(values).values(), default=0)
    if values and (most * size > len(values) if is_frequency else len(set(values)) < size):
        with pytest.raises(GuaranteeError):
            search(problem, seed=rnd.randrange(9))
        return
    found = search(problem, seed=rnd.randrange(9))
    assert (found.counts["groups"], found.counts["left_over"]) == drawn(values, size)
    for group in values_of(found, values):
        counts = Counter(group)
        assert len(counts) >= size
        # A row that is left over joins a group without its value while there is one: where all can, values differ.
        assert not is_frequency or max(counts.values()) == 1


test_groups_hold, test_groups_hold_thoroughly = properties(groups_hold, 150, 4000)


def test_k_puts_groups_together():
    values = [*"abcdef"] * 7 + [*"abc"]
    found = search(problem_of(values, (KAnonymity(10), DistinctDiversity(3))))
    sizes = [len(group) for group in values_of(found, values)]
    assert min(sizes) >= 10 and sum(sizes) == 45 and len(sizes) == 3
    found = search(problem_of(values, (KAnonymity(45), DistinctDiversity(3))))
    assert set(found.group.tolist()) == {0}


def test_rows_are_drawn_at_random():
    problem = problem_of([*"abcdef"] * 20, (FrequencyDiversity(2),))
    assert np.array_equal(search(problem, seed=1).group, search(problem, seed=1).group)
    assert not np.array_equal(search(problem).group, search(problem).group)


def test_shares_between_whole_numbers():
    values = [*"aabbc"]
    found = search(problem_of(values, (FrequencyDiversity(2.5),)))
    for group in values_of(found, values):
        assert max(Counter(group).values()) * 2.5 <= len(group)
    assert found.counts["groups"] == len(values) // ceil(2.5)


def test_wrong_requests():
    for models in ((KAnonymity(2),), (EntropyDiversity(2),), (DistinctDiversity(1),)):
        with pytest.raises(UsageError):
            search(problem_of([*"abc"], models))
    problem = problem_of([*"abcc"], (DistinctDiversity(2),))
    several = replace(problem.table, person=np.array([0, 0, 1, 2], np.int32))
    with pytest.raises(UsageError, match="one row a person"):
        search(Problem(several, problem.models))
    with pytest.raises(GuaranteeError, match="cannot be 9-anonymous"):
        search(problem_of([*"abcc"], (DistinctDiversity(2), KAnonymity(9))))
    two = Table(
        (
            *problem.table.columns,
            replace(problem.table.columns[1], spec=replace(problem.table.columns[1].spec, name="t")),
        )
    )
    with pytest.raises(UsageError, match="one sensitive column"):
        search(Problem(two, problem.models))
