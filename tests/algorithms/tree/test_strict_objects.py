"""Joint attackers and l-diversity where objects stay whole: releases against the brute force of the definitions."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

import pytest

import treeanon as ta
from tests.reference.objects import Record, facts, known, least_candidates, least_support, signed_groups, signed_support
from tests.support.object_worlds import ObjectWorld, forest_of, world_of
from treeanon.algorithms.tree.default import maximal
from treeanon.errors import GuaranteeError, UsageError
from treeanon.forest.classes import STAR
from treeanon.privacy import Guarantee


def released(world: ObjectWorld, guarantee: Guarantee) -> tuple[list[Record], maximal.Solution] | None:
    """The published records of a world, and how they were made; None where there can be none, or nothing in them."""
    try:
        found = maximal.search(world.forest, guarantee, effort=0.2)
    except GuaranteeError:
        return None
    assert ta.verify(found.forest, guarantee).holds
    if STAR in (found.solution.cut or {}):
        return None
    assert not found.solution.left_out
    return world.records_of(found.forest), found.solution


def one_or_several(seed: int) -> ObjectWorld:
    """A world in which most persons have any two of three values in one visit, and a few have all three."""
    draw = random.Random(seed)
    schema, objects = world_of(5)
    pairs = [found for found in objects if len(found[1]) == 2]
    every = [found for found in objects if len(found[1]) == 3]
    all_of = draw.choice(every)
    usual = frozenset(found for found in pairs if found[1] < all_of[1])
    persons = [usual if draw.random() < 0.9 else usual | {draw.choice(pairs)} for _ in range(draw.choice([8, 16]))]
    persons += [usual | {all_of if draw.random() < 0.8 else draw.choice(every)} for _ in range(draw.randrange(3))]
    records: list[Record] = [(frozenset(), own) for own in persons]
    return ObjectWorld(objects, records, forest_of(records, schema), 3, 3, 2)


def sweep_joint(seeds: range) -> tuple[int, int]:
    """How many releases there were, and how many of them are not those for independent attackers."""
    count = others = 0
    for seed in seeds:
        world = one_or_several(seed)
        found = released(world, Guarantee(world.k, 3, 2, "joint"))
        if found is None:
            continue
        records, solution = found
        least = least_support(records, 3, 2, joint=True)
        assert least is None or least >= world.k, f"seed {seed}"
        candidates = least_candidates(world.persons, world.recipe(solution), world.objects, 3, 2, joint=True)
        assert candidates >= world.k, f"seed {seed}"
        plain = maximal.search(world.forest, Guarantee(world.k, 3, 2), effort=0.2, taking_apart="none")
        joint = least_support(world.records_of(plain.forest), 3, 2, joint=True)
        count += 1
        others += joint is not None and joint < world.k
    return count, others


def with_sensitive(world: ObjectWorld, name: str) -> ObjectWorld:
    """The world in which a class is sensitive."""
    schema = world.forest.schema
    classes = tuple(replace(spec, role="sensitive") if spec.name == name else spec for spec in schema.classes)
    forest = world.forest
    made = ta.Forest(
        replace(schema, classes=classes), forest.classes, forest.offsets, forest.parent, forest.label, forest.report
    )
    return replace(world, forest=made)


def parted(records: list[Record], sensitive: str) -> tuple[list[Record], list[set]]:
    """The records without a class, and its labels of each."""

    def without(record: Record) -> Record:
        return _stripped(record[0], sensitive), frozenset(_object(one, sensitive) for one in record[1])

    values = [{label for label in facts(record)[0] if label[0] == sensitive} for record in records]
    return [without(record) for record in records], values


def least_diverse(records: list[Record], sensitive: str, m: int, n: int) -> float:
    """The least ratio of the persons of a group to those who share a sensitive value in it."""
    plain, values = parted(records, sensitive)
    groups = {knowledge for record in plain for knowledge in known(record, m, n)}
    least = float("inf")
    for labels, relations in groups:
        group = [
            held
            for record, held in zip(plain, values, strict=True)
            if labels <= facts(record)[0] and relations <= facts(record)[1]
        ]
        shared = Counter(value for held in group for value in held)
        if shared:
            least = min(least, len(group) / max(shared.values()))
    return least


def _stripped(labels: frozenset, name: str) -> frozenset:
    return frozenset(label for label in labels if label[0] != name)


def _object(found: tuple, name: str) -> tuple:
    return found[0], _stripped(found[1], name), frozenset(_object(inner, name) for inner in found[2])


def sweep_diverse(seeds: range) -> int:
    """How many releases there were."""
    count = 0
    for seed in seeds:
        world = with_sensitive(ObjectWorld.draw(seed), "B")
        found = released(world, Guarantee(world.k, world.m, world.n, l=2))
        if found is None:
            continue
        assert least_diverse(found[0], "B", world.m, world.n) >= 2, f"seed {seed}"
        count += 1
    return count


def sweep_negative(seeds: range) -> int:
    """How many releases there were that are not those without negative knowledge."""
    count = 0
    for seed in seeds:
        world = ObjectWorld.draw(seed)
        for negative in (("A",), ("B",), ("B", "C")):
            found = released(world, Guarantee(world.k, world.m, world.n, negative=negative))
            if found is None:
                continue
            least = signed_support(found[0], world.m, world.n, negative)
            assert least is None or least >= world.k, f"seed {seed}"
            plain = maximal.search(world.forest, Guarantee(world.k, world.m, world.n), effort=0.2, taking_apart="none")
            least = signed_support(world.records_of(plain.forest), world.m, world.n, negative)
            count += least is not None and least < world.k
    return count


def test_what_is_lacked_leaves_groups_diverse() -> None:
    count = 0
    for seed in range(8):
        world = with_sensitive(ObjectWorld.draw(seed), "B")
        found = released(world, Guarantee(world.k, world.m, world.n, l=2, negative=("A",)))
        if found is None:
            continue
        plain, values = parted(found[0], "B")
        for group in signed_groups(plain, world.m, world.n, ("A",)):
            shared = Counter(value for number in group for value in values[number])
            assert max(shared.values(), default=0) * 2 <= len(group), f"seed {seed}"
        count += 1
    assert count > 1


def test_a_joint_attacker_finds_k() -> None:
    count, others = sweep_joint(range(12))
    assert count > 3 and others > 1


def test_every_group_is_diverse() -> None:
    assert sweep_diverse(range(16)) > 3


@pytest.mark.slow
def test_a_joint_attacker_finds_k_thorough() -> None:
    count, others = sweep_joint(range(400))
    assert count > 100 and others > 5


@pytest.mark.slow
def test_every_group_is_diverse_thorough() -> None:
    assert sweep_diverse(range(400)) > 100


def test_what_is_lacked_is_shared_by_k() -> None:
    assert sweep_negative(range(10)) > 2


@pytest.mark.slow
def test_what_is_lacked_is_shared_by_k_thorough() -> None:
    assert sweep_negative(range(400)) > 100


def test_negative_knowledge_of_joint_attackers_is_of_merged_trees() -> None:
    world = ObjectWorld.draw(1)
    with pytest.raises(UsageError, match="negative knowledge"):
        maximal.search(world.forest, Guarantee(2, 2, 1, "joint", negative=("A",)))
    with pytest.raises(UsageError, match="negative knowledge"):
        ta.verify(world.forest, Guarantee(2, 2, 1, "joint", negative=("A",)))
