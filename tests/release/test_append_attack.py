"""Who holds all releases of a history, and knows when a person came, finds at least k candidates."""

from __future__ import annotations

import json
import random
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

import treeanon as ta
from tests.reference.candidates import Candidates
from tests.reference.objects import Object, Recipe, Record, least_candidates
from tests.support.append_histories import Attack, play
from tests.support.candidate_worlds import World, unnested
from tests.support.candidate_worlds import forest_of as forest_of_trees
from tests.support.object_worlds import SHAPES, forest_of, record_of, some_objects, types_of
from treeanon.errors import DataError, GuaranteeError


def sweep(folder: Path, seeds: range, how: str = "leave-out") -> Counter[str]:
    """What happened in histories of merged trees; none may leave an attacker with fewer than k candidates."""
    seen: Counter[str] = Counter()
    for seed in seeds:
        place = folder / str(seed)
        place.mkdir()
        story = play(seed, place, how=how)
        if story is None:
            continue
        attack = Attack(story)
        assert attack.least() >= story.k, f"seed {seed}"
        seen["anew"] += sum(whole for _, _, whole in story.files[1:])
        seen["published later"] += sum(came < published for came, published, _ in attack.published_in())
        seen["rules"] += any(recipe.left_out or recipe.moved for recipe in attack.recipes)
        seen["appended"] += sum(path is not None for path, _, _ in story.files[1:])
    return seen


def test_all_releases_together_leave_k_candidates(tmp_path: Path) -> None:
    seen = sweep(tmp_path, range(10))
    assert min(seen[what] for what in ("anew", "published later", "rules", "appended")) > 0


def test_moved_nodes_leave_k_candidates(tmp_path: Path) -> None:
    assert sweep(tmp_path, range(2_000, 2_002), "move")["appended"] > 0


@pytest.mark.slow
@pytest.mark.parametrize("how", ["leave-out", "move", "gcs"])
def test_all_releases_together_leave_k_candidates_thorough(how: str, tmp_path: Path) -> None:
    sweep(tmp_path, range(5_000, 5_300), how)


def extended(seeds: range, *extensions: str) -> int:
    """How many batches were published by solutions of stronger guarantees; each must leave k candidates of its own."""
    published = 0
    for seed in seeds:
        world, draw = World.draw(seed, *extensions), random.Random(seed)
        try:
            first = ta.anonymize(world.forest, effort=0.1, taking_apart="leave-out", **asked_of(world))
        except GuaranteeError:
            continue
        if "*" in (first.solution.cut or {}):
            continue
        new = [draw.choice(world.persons) for _ in range(16)]
        try:
            done = ta.append(first.solution, forest_of_trees(world.schema, new), max_held="100%")
        except (GuaranteeError, DataError):
            continue
        if done.release is None:
            continue
        batch = Counter(map(unnested, done.release.forest.records()))
        recipe = world.recipe(first.solution)
        persons = [tree for tree in new if recipe.publish(tree) in batch]
        assert Counter(map(recipe.publish, persons)) == batch, f"seed {seed}"
        exact = frozenset(label for label, other in recipe.published_as.items() if label == other)
        found = Candidates.of(persons, recipe, world.trees, replace(world.attacker, exact=exact))
        assert found.least >= world.k, f"seed {seed}"
        assert world.l == 1 or found.are_diverse("S", world.l, world.diversity), f"seed {seed}"
        published += 1
    return published


def asked_of(world: World) -> dict:
    """What is asked of the first release of a world."""
    g = world.guarantee()
    asked = {"k": g.k, "m": g.m, "n": g.n, "attacker": g.attacker, "negative": g.negative}
    return asked | ({"l": g.l, "diversity": g.diversity} if g.l > 1 else {})


EXTENSIONS = [("joint",), ("l",), ("negative",)]


@pytest.mark.parametrize("extensions", EXTENSIONS, ids="-".join)
def test_stronger_attackers_are_left_with_as_many_of_a_batch(extensions: tuple[str, ...]) -> None:
    assert extended(range(6), *extensions) > 0


@pytest.mark.slow
@pytest.mark.parametrize("extensions", [*EXTENSIONS, ("joint", "l", "negative")], ids="-".join)
def test_stronger_attackers_are_left_with_as_many_of_a_batch_thorough(extensions: tuple[str, ...]) -> None:
    extended(range(7_000, 7_300), *extensions)


def objects_schema(shape: int, folder: Path) -> ta.Schema:
    """The schema of a shape of whole objects, with hierarchies in files, so that no value is unknown later."""
    values = {name: held for each in _shapes(shape) for name, (_, held) in each.fields.items()}
    lines = ["version = 1", "[input]", 'format = "ndjson"', 'objects = "whole"']
    for name, path in SHAPES[shape].paths():
        (folder / f"{name}.json").write_text(json.dumps(dict.fromkeys(values[name], "*")))
        lines += ["[[class]]", f'name = "{name}"', f'path = "{path}"', f'hierarchy = "{name}.json"']
    (folder / "s.toml").write_text("\n".join(lines) + "\n")
    return ta.Schema.load(folder / "s.toml")


def _shapes(shape: int) -> list:
    found = [SHAPES[shape]]
    for each in found:
        found += each.inner
    return found


def object_recipe(path: Path, objects: list[Object], types: list[str]) -> Recipe:
    """What a solution file says, as the brute force reads it; all hierarchies are flat."""
    plain = json.loads(path.read_text())
    labels = set().union(*(_labels(found) for found in objects))
    published = {
        (name, value): (name, value if value in plain["cut"].get(name, [value]) else "*") for name, value in labels
    }
    rules = tuple((tuple(a), tuple(b), types.index(t)) for a, b, t in plain["left_out"])
    return Recipe(published, rules, frozenset(plain["withheld"]))


def _labels(found: Object) -> set:
    return {*found[1], *(label for inner in found[2] for label in _labels(inner))}


def attacked_objects(seed: int, folder: Path) -> Counter[str]:
    """A history of whole objects, published in batches and anew; every batch must leave k candidates."""
    draw = random.Random(seed)
    shape = draw.randrange(len(SHAPES))
    schema = objects_schema(shape, folder)
    types = types_of(schema)
    objects = SHAPES[shape].objects(types)
    usual = [some_objects(draw, objects) for _ in range(draw.choice([2, 3]))]
    k, (m, n) = draw.choice([2, 3]), draw.choice([(2, 1), (3, 1), (3, 2)])
    seen: Counter[str] = Counter()
    everything: Counter[Record] = Counter()
    waiting: list[Record] = []
    files: list[Path] = []
    state = None
    for number in range(3):
        persons = [draw.choice(usual) if draw.random() < 0.85 else some_objects(draw, objects) for _ in range(14)]
        forest = forest_of(persons, schema)
        out, solution = folder / f"{number}.trees.jsonl", folder / f"{number}.json"
        is_anew = number > 0 and draw.random() < 0.5
        try:
            if not number:
                first = ta.anonymize(forest, k=k, m=m, n=n, effort=0.1)
                if "*" in (first.solution.cut or {}):
                    return seen
                first.write(out)
                first.write_solution(solution)
            else:
                before = folder / f"{number - 1}.json"
                done = ta.append(
                    before, forest, schema=schema, history=state, max_held="100%", anew=is_anew,
                    published=files if is_anew else None,
                )  # fmt: skip
                state, is_anew = done.history, done.is_anew
                solution.write_bytes(before.read_bytes())
                if done.release is not None:
                    done.release.write(out)
                    if is_anew:
                        done.release.write_solution(solution, force=True)
        except (GuaranteeError, DataError):
            return seen
        if "*" in json.loads(solution.read_text())["cut"]:
            return seen
        recipe = object_recipe(solution, objects, types)
        found = Counter(record_of(json.loads(line)["tree"], schema) for line in _lines(out))
        older: Counter[Record] = Counter()
        for record, times in everything.items() if is_anew else ():
            older[Recipe(recipe.published_as, (), recipe.withheld).publish(record)] += times
        assert older <= found, f"seed {seed}"
        part, everything = found - older, found if is_anew else everything + found
        files = [*([] if is_anew else files), *([out] if out.exists() else [])]
        candidates = [*waiting, *persons]
        published = [person for person in candidates if recipe.publish(person) in part]
        waiting = [person for person in candidates if recipe.publish(person) not in part]
        assert Counter(map(recipe.publish, published)) == part, f"seed {seed}"
        assert not published or least_candidates(published, recipe, objects, m, n) >= k, f"seed {seed}"
        if number:
            seen.update(appended=int(bool(published)), anew=is_anew, held=len(waiting), rules=len(recipe.left_out))
    return seen


def _lines(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []


def sweep_objects(folder: Path, seeds: range) -> Counter[str]:
    """What happened in histories of whole objects."""
    seen: Counter[str] = Counter()
    for seed in seeds:
        (folder / str(seed)).mkdir()
        seen += attacked_objects(seed, folder / str(seed))
    return seen


def test_whole_objects_leave_k_candidates(tmp_path: Path) -> None:
    seen = sweep_objects(tmp_path, range(6))
    assert min(seen[what] for what in ("appended", "anew", "held")) > 0


@pytest.mark.slow
def test_whole_objects_leave_k_candidates_thorough(tmp_path: Path) -> None:
    sweep_objects(tmp_path, range(6_000, 6_300))
