"""Whole objects: whatever is known of an original person, at least k released records may be that person's."""

from __future__ import annotations

from dataclasses import replace

import pytest

import treeanon as ta
from tests.reference.objects import Recipe, least_candidates
from tests.support.object_worlds import ObjectWorld, forest_of, record_of, world_of
from treeanon.algorithms.tree.default import maximal
from treeanon.algorithms.tree.default.object_rules import bound_types, label_ranks, leave_out_of_objects, leaving_kinds
from treeanon.algorithms.tree.solution import Solution
from treeanon.errors import GuaranteeError, UsageError
from treeanon.forest.classes import STAR
from treeanon.privacy import Guarantee


def left_out(world: ObjectWorld) -> int | None:
    """The least number of candidates where rules alone make a world safe; None where they need not or cannot."""
    guarantee = Guarantee(world.k, world.m, world.n, as_published=False)
    found = leave_out_of_objects(world.forest, guarantee, frozenset())
    if found is None or not found[0]:
        return None
    decode = world.forest.classes.decode
    recipe = Recipe({}, tuple((decode(a), decode(b), t - 1) for a, b, t in found[0]))
    published = [recipe.publish(record) for record in world.persons]
    assert world.records_of(found[1]) == published
    assert found[1] == forest_of(published, world.forest.schema)
    assert ta.verify(found[1], k=world.k, m=world.m, n=world.n, as_published=False).holds
    return least_candidates(world.persons, recipe, world.objects, world.m, world.n)


def searched(world: ObjectWorld, how: str) -> int:
    """The least number of candidates in what the search releases of a world."""
    guarantee = Guarantee(world.k, world.m, world.n, as_published=False)
    found = maximal.search(world.forest, guarantee, taking_apart=how, effort=0.3)
    if STAR in (found.solution.cut or {}):
        return sum(map(bool, found.forest.records())) or world.k
    recipe = world.recipe(found.solution)
    assert world.records_of(found.forest) == [recipe.publish(record) for record in world.persons]
    assert ta.verify(found.forest, k=world.k, m=world.m, n=world.n, as_published=False).holds
    again = ta.apply(Solution.from_dict(found.solution.as_dict()), world.forest)
    assert again.forest == found.forest
    return least_candidates(world.persons, recipe, world.objects, world.m, world.n)


def sweep_rules(seeds: range) -> int:
    """How many worlds needed rules; each must have k candidates for everything."""
    found = 0
    for seed in seeds:
        least = left_out(world := ObjectWorld.draw(seed))
        if least is not None:
            assert least >= world.k, f"seed {seed}"
            found += 1
    return found


def sweep_searches(how: str, seeds: range) -> None:
    for seed in seeds:
        world = ObjectWorld.draw(seed)
        try:
            least = searched(world, how)
        except GuaranteeError:
            continue
        assert least >= world.k, f"seed {seed}"


def test_what_rules_leave_out_has_k_candidates() -> None:
    assert sweep_rules(range(60)) > 10


@pytest.mark.parametrize("how", ["leave-out", "none"])
def test_what_the_search_releases_has_k_candidates(how: str) -> None:
    sweep_searches(how, range(12))


@pytest.mark.slow
def test_what_rules_leave_out_has_k_candidates_thorough() -> None:
    sweep_rules(range(1_000, 6_000))


@pytest.mark.slow
@pytest.mark.parametrize("how", ["leave-out", "none"])
def test_what_the_search_releases_has_k_candidates_thorough(how: str) -> None:
    sweep_searches(how, range(1_000, 3_000))


def solution_with(*rules: tuple) -> Solution:
    nodes = {"A": ("*", "a1", "a2"), "B": ("*", "b1"), "C": ("*", "c1")}
    return Solution(Guarantee(1), "maximal", nodes, left_out=rules, objects="whole")


def test_rules_that_would_tell_are_refused() -> None:
    schema, objects = world_of(3)
    forest = forest_of([(frozenset(), frozenset({found})) for found in objects], schema)
    a, other, b, c, inner = ("A", "a1"), ("A", "a2"), ("B", "b1"), ("C", "c1"), "v[].d[]"
    assert ta.apply(solution_with((a, b, inner), (b, other, inner)), forest).verdict.holds
    for wrong in (((b, other, inner), (a, b, inner)), ((a, b, inner), (b, a, inner)), ((a, a, inner),)):
        with pytest.raises(UsageError, match="not in order"):
            ta.apply(solution_with(*wrong), forest)
    with pytest.raises(UsageError, match="its absence would tell"):
        ta.apply(solution_with((a, c, "v[]")), forest)
    with pytest.raises(UsageError, match="hold no C"):
        ta.apply(solution_with((c, a, inner)), forest)
    with pytest.raises(UsageError, match="unknown type of objects"):
        ta.apply(solution_with((a, b, "pills[]")), forest)
    with pytest.raises(UsageError, match="merged trees"):
        ta.apply(solution_with((a, b)), forest)
    with pytest.raises(UsageError, match="merged trees"):
        ta.apply(replace(solution_with(), disassociated=((a, b),)), forest)
    one_each = frozenset(
        {(1, frozenset(), frozenset({(2, frozenset({a}), frozenset()), (3, frozenset({b}), frozenset())}))}
    )
    with pytest.raises(GuaranteeError, match="holds just one"):
        ta.apply(
            solution_with((a, b, inner)), forest_of([(frozenset(), frozenset({(0, frozenset(), one_each)}))], schema)
        )


def test_a_rule_looks_into_objects_below_and_takes_out_of_them() -> None:
    schema, _ = world_of(1)
    inner = frozenset({(1, frozenset({("B", "b1")}), frozenset()), (1, frozenset({("B", "b2")}), frozenset())})
    held = frozenset({("A", "a1"), ("C", "c1")})
    forest = forest_of([(frozenset(), frozenset({(0, held, inner)}))], schema)
    taken = forest.leave_out([(("A", "a1"), ("B", "b1"), "v[]")])
    assert record_of(taken.record(0), schema)[1] == {
        (0, held, frozenset(one for one in inner if ("B", "b2") in one[1]))
    }
    # What a rule has left out triggers none.
    gone = forest.leave_out([(("B", "b2"), ("A", "a1"), "v[]"), (("A", "a1"), ("C", "c1"), "v[]")])
    assert record_of(gone.record(0), schema)[1] == {(0, frozenset({("C", "c1")}), inner)}


def test_what_every_object_holds_once_and_what_leaves_a_trace_is_not_left_out() -> None:
    schema, _ = world_of(1)
    persons = [
        (frozenset(), frozenset({(0, frozenset({("A", "a1")}), frozenset({(1, frozenset({("B", b)}), frozenset())}))}))
        for b in ("b1", "b2", "b1")
    ]
    forest = forest_of(persons, schema)
    names = forest.classes.names
    assert {names[index] for index in bound_types(forest)} == {"A", "B"}
    assert [names[i] for i in range(len(names)) if leaving_kinds(forest.classes, i)] == ["B"]
    bare = frozenset(), frozenset({(0, frozenset({("C", "c1")}), frozenset())})
    assert bound_types(forest_of([*persons, bare], schema)) == frozenset()
    rank, label = label_ranks(forest, bound_types(forest)), forest.classes.label
    assert rank[label("A", "a1")] < rank[label("B", "b1")] < rank[label("B", "b2")]
