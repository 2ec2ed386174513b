"""Whatever is known of an original person, at least k released records may be that person's."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import islice

import pytest

import treeanon as ta
from tests.reference.candidates import Attacker, Candidates, Label, Recipe, Schema, Tree, facts, merged
from tests.reference.trees import paths
from tests.support.candidate_worlds import World, forest_of, rare_relation, unnested
from tests.support.paths import ROOT
from tests.support.strategies import parents_of_classes
from treeanon.algorithms.tree.default import maximal
from treeanon.algorithms.tree.default.leaving_out import safe_result
from treeanon.algorithms.tree.published.cut_searches import acs, gcs, ocs
from treeanon.algorithms.tree.solution import Solution
from treeanon.errors import GuaranteeError, UsageError
from treeanon.forest.classes import STAR
from treeanon.release.tree import refuse_uniform


def released(world: World, name: str) -> tuple[int, bool]:
    """The least number of candidates in what a search releases of a world, and whether relations were ended."""
    guarantee = world.guarantee()
    refuse_uniform(world.forest, guarantee)
    if name in ("leave-out", "move", "none"):
        found = maximal.search(world.forest, guarantee, taking_apart=name, effort=0.3)
    else:
        found = safe_result(world.forest, {"acs": acs, "gcs": gcs, "ocs": ocs}[name](world.forest, guarantee))
    if STAR in (found.solution.cut or {}):
        # Every record says no more than that there is something.
        return sum(map(bool, found.forest.records())) or world.k, False
    recipe = world.recipe(found.solution)
    assert [unnested(record) for record in found.forest.records()] == [recipe.publish(tree) for tree in world.persons]
    assert ta.verify(found.forest, guarantee).holds
    ended = bool(found.solution.disassociated or found.solution.left_out)
    # Of what is published more generally, no more than this can be said: docs/limits.md.
    as_they_are = frozenset(label for label, other in recipe.published_as.items() if label == other)
    attacker = replace(world.attacker, exact=as_they_are)
    candidates = Candidates.of(world.persons, recipe, world.trees, attacker)
    if world.l > 1 and not candidates.are_diverse("S", world.l, world.diversity):
        return -1, ended
    return candidates.least, ended


def sweep(name: str, seeds: range, *extensions: str) -> int:
    """How many releases had relations ended; every release must have k candidates for everything."""
    ended = 0
    for seed in seeds:
        world = World.draw(seed, *extensions)
        try:
            least, apart = released(world, name)
        except GuaranteeError:
            continue
        assert least >= world.k, f"seed {seed}"
        ended += apart
    return ended


@pytest.mark.parametrize("name", ["leave-out", "move", "none", "gcs"])
def test_everything_known_of_the_original_has_k_candidates(name: str) -> None:
    assert sweep(name, range(4)) > 0


@pytest.mark.slow
@pytest.mark.parametrize("name", ["leave-out", "move", "none", "acs", "gcs", "ocs"])
def test_everything_known_of_the_original_has_k_candidates_thorough(name: str) -> None:
    sweep(name, range(1_000, 3_000))


def test_what_stands_out_of_place_may_have_been_moved_and_is_not_denied() -> None:
    """One person lacks the values that stand beside their upper class in the others."""
    sweep("leave-out", range(5_012, 5_013), "negative")


def told_by_traces(seeds: range, *extensions: str) -> int:
    """How many releases as published had moved nodes; verify must not promise more for the original than there is."""
    moved = 0
    for seed in seeds:
        world = World.draw(seed, *extensions)
        guarantee = world.guarantee(as_published=True)
        try:
            found = gcs(world.forest, guarantee)
        except GuaranteeError:
            continue
        if STAR in (found.solution.cut or {}):
            continue
        least = Candidates.of(world.persons, world.recipe(found.solution), world.trees, world.attacker).least
        promised = ta.verify(found.forest, guarantee).original_k
        assert promised is None or promised <= least, f"seed {seed}"
        moved += bool(found.solution.disassociated)
    return moved


def test_what_stayed_behind_tells_of_the_node_that_was_moved() -> None:
    """Whoever knows that the same node was below one and above another: its child now stands where it stood."""
    assert told_by_traces(range(5_043, 5_045), "joint") > 0
    assert sweep("gcs", range(5_043, 5_044), "joint") == 1


@pytest.mark.slow
@pytest.mark.parametrize("extensions", [(), ("joint",)], ids=str)
def test_verify_promises_no_more_than_traces_leave_thorough(extensions: tuple[str, ...]) -> None:
    told_by_traces(range(1_000, 2_000), *extensions)


EXTENSIONS = [("joint",), ("l",), ("negative",), ("joint", "l"), ("joint", "l", "negative")]


@pytest.mark.parametrize("extensions", EXTENSIONS, ids="-".join)
@pytest.mark.parametrize("name", ["leave-out", "gcs"])
def test_stronger_attackers_are_left_with_as_many(name: str, extensions: tuple[str, ...]) -> None:
    sweep(name, range(2), *extensions)


@pytest.mark.slow
@pytest.mark.parametrize("extensions", EXTENSIONS, ids="-".join)
@pytest.mark.parametrize("name", ["leave-out", "move", "none", "acs", "gcs", "ocs"])
def test_stronger_attackers_are_left_with_as_many_thorough(name: str, extensions: tuple[str, ...]) -> None:
    sweep(name, range(1_000, 1_300), *extensions)


def test_what_is_denied_of_a_general_value_is_counted_as_published() -> None:
    """The limit that docs/limits.md names: of the general b, all but one person have none outside of h."""
    schema = Schema({"A": "", "B": "A"})

    def person(**visits: str) -> Tree:
        return frozenset((("A", a), frozenset((("B", b), frozenset()) for b in bs.split())) for a, bs in visits.items())

    persons = [person(h="b2", g="b1"), person(h="b1", g=""), person(h="b2", g="")]
    persons += [*[person(h="b1")] * 2, person(h="b2"), *[person(g="b1")] * 2, person(g="b2")]
    recipe = Recipe(schema, {("B", "b1"): ("B", "*"), ("B", "b2"): ("B", "*")})
    forest = forest_of(schema, [recipe.publish(one) for one in persons])
    assert ta.verify(forest, k=2, m=2, n=1, negative="B").holds
    world = schema.trees({"A": ("g", "h"), "B": ("b1", "b2")})
    labels = (("A", "g"), ("A", "h"), ("B", "b1"), ("B", "b2"))
    attacker = Attacker(2, 1, False, ("B",), labels)
    assert Candidates.of(persons, recipe, world, attacker).least == 1
    assert Candidates.of(persons, recipe, world, replace(attacker, exact=frozenset(labels[:2]))).least >= 2


def hospital_persons() -> ta.Forest:
    """Forty persons, of whom one has a relation that nobody else has."""
    schema = """
    version = 1
    [input]
    format = "trees"
    [[class]]
    name = "hospital"
    [[class]]
    name = "disease"
    under = "hospital"
    """
    return ta.Forest.from_records(ta.Schema.loads(schema), rare_relation(40))


def test_a_moved_node_points_to_its_person_and_a_node_left_out_does_not() -> None:
    forest = hospital_persons()
    moved = forest.disassociate([(("hospital", "H1"), ("disease", "Asthma"))])
    published, known = (ta.verify(moved, k=40, as_published=published) for published in (True, False))
    assert published.holds and not known.holds
    assert (known.largest_k, known.published_k) == (1, 40)
    left_out = forest.leave_out([(("hospital", "H1"), ("disease", "Asthma"))])
    assert ta.verify(left_out, k=40, as_published=False).holds


def test_the_release_of_the_sample_hides_what_is_known_of_the_original() -> None:
    schema = ta.Schema.load(ROOT / "schemas/hospital-xml.toml").with_objects("merged")
    forest = ta.read(ROOT / "samples/patients.xml", schema)[:500]
    for k in (10,):
        release = ta.anonymize(forest, k=k, as_published=False, seed=1)
        assert release.solution.left_out and not release.solution.disassociated
        assert release.verdict.holds and "known of the original" in release.verdict.sentence
        again = ta.apply(Solution.from_dict(release.solution.as_dict()), forest)
        assert again.forest == release.forest
        assert fewest_by_insertion(forest, release, k) >= k


def fewest_by_insertion(forest: ta.Forest, release: ta.Release, enough: int) -> int:
    """The least candidates of any relation of the original, among records with what was left out put back into them."""
    solution = release.solution
    projected = replace(solution, left_out=()).apply(forest)
    recipe = Recipe(Schema(parents_of_classes(forest)), {}, (), solution.left_out)
    records = [unnested(record) for record in release.forest.records()]
    held = Counter(pair for record in records for pair in facts(record)[1])
    assert min(held.values()) >= enough
    fewest, looked_at = enough, set()
    for record in projected.records():
        for path in paths(record):
            for end in range(1, len(path)):
                lost = [(upper, path[end]) for upper in path[:end] if (upper, path[end]) not in held]
                rules = [i for i in range(1, end + 1) if any((up, path[i]) in solution.left_out for up in path[:i])]
                key = (path[: end + 1], tuple(lost))
                if not lost or key in looked_at:
                    continue
                looked_at.add(key)
                trigger, branch = path[rules[0] - 1], path[rules[0] : end + 1]
                found = (put_back(one, trigger, branch) for one in records)
                fits = (
                    recipe.publish(tree) == one and set(lost) <= facts(tree)[1]
                    for one, tree in zip(records, found, strict=True)
                )
                fewest = min(fewest, sum(1 for _ in islice(filter(None, fits), enough)))
    assert looked_at
    return fewest


def put_back(tree: Tree, trigger: Label, branch: tuple[Label, ...]) -> Tree:
    """The tree with a branch below every node of a label."""
    added: Tree = frozenset()
    for label in reversed(branch):
        added = frozenset([(label, added)])
    return frozenset(
        (label, merged([*put_back(below, trigger, branch), *(added if label == trigger else ())]))
        for label, below in tree
    )


def test_a_solution_that_leaves_out_what_lies_above_is_refused() -> None:
    forest = hospital_persons()
    solution = ta.anonymize(forest, k=2, as_published=False).solution
    wrong = replace(solution, left_out=((("disease", "*"), ("hospital", "*")),))
    with pytest.raises(UsageError, match="which it is not above"):
        ta.apply(wrong, forest)
