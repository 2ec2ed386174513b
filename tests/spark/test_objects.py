"""Releases of whole objects by Spark: safe by brute force, what their solution makes, and as one machine checks."""

from __future__ import annotations

import json
import random
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import treeanon as ta
from tests.reference.objects import least_candidates, least_support
from tests.support.object_worlds import (
    SCHEMA,
    ObjectWorld,
    Shape,
    document,
    forest_of,
    random_record,
    record_of,
    types_of,
)
from tests.support.paths import ROOT
from treeanon.errors import DataError, UsageError
from treeanon.forest.planting import merged
from treeanon.io.interface import ReadOptions
from treeanon.metrics import measure
from treeanon.release.tree_request import request_of
from treeanon.schema import Schema
from treeanon.spark.engine import anonymize_frame, kept
from treeanon.spark.interface import DistributedRelease, Job, engine_named
from treeanon.spark.lines import lines_of_files
from treeanon.spark.reading import read_dataset
from treeanon.spark.solving import solve


def write(path: Path, documents: list[dict]) -> Path:
    path.write_text("".join(json.dumps(one) + "\n" for one in documents))
    return path


def persons(seed: int, count: int) -> list[dict]:
    draw = random.Random(seed)
    usual = [random_record(draw) for _ in range(6)]
    return [document(draw.choice(usual) if draw.random() < 0.6 else random_record(draw)) for _ in range(count)]


def publish(source: Path, schema: Schema, out: Path, *, sample: int | None = None, **asked: Any) -> DistributedRelease:
    job = Job(str(source), schema, str(out), force=True, sample=sample)
    return engine_named("spark").publish(job, request_of(seed=1, **asked))


def check(release: DistributedRelease, forest: ta.Forest, written: ta.Forest, m: int, n: int) -> None:
    """The release is what its solution makes, in its losses too, and the check of one machine says the same."""
    solution = release.solution
    assert solution.objects == "whole"
    # By the way of `apply`, which refuses rules that would tell what was left out.
    again = ta.apply(solution, forest)
    assert again.forest == written
    local = ta.verify(written, k=solution.guarantee.k, m=m, n=n)
    assert local.holds and local.largest_k == release.verdict.largest_k
    losses = measure(forest, again.forest)
    assert release.loss.objects == losses.objects and release.loss.objects
    assert (release.loss.before, release.loss.after) == (losses.before, losses.after)
    assert release.loss.relations_kept_by_pair == pytest.approx(losses.relations_kept_by_pair)
    for name in ("value_loss", "relations_kept", "rpd"):
        assert getattr(release.loss, name) == pytest.approx(getattr(losses, name))


@pytest.mark.parametrize(
    ("seed", "count", "asked"),
    [
        (3, 50, {"k": 3, "m": 3, "n": 2, "sample": 15}),
        (4, 60, {"k": 4, "m": 2, "n": 2, "sample": 10, "recoding": "subtree", "attacker": "joint"}),
    ],
)
def test_releases_are_safe_and_what_their_solution_makes(
    spark: Any, tmp_path: Path, seed: int, count: int, asked: dict[str, Any]
) -> None:
    source = write(tmp_path / "p.ndjson", persons(seed, count))
    release = publish(source, SCHEMA, tmp_path / "out", **asked)
    written = ta.read(tmp_path / "out", SCHEMA)
    check(release, ta.read(source, SCHEMA), written, asked["m"], asked["n"])
    least = least_support([record_of(one) for one in written.records()], asked["m"], asked["n"], joint=False)
    assert least == release.verdict.largest_k


LISTS = Shape(
    "v[]",
    {"H": ("h", ("h1", "h2", "h3"))},
    (Shape("d[]", {"D": ("", ("d1", "d2", "d3"))}), Shape("p[]", {"P": ("", ("p1", "p2"))})),
)


def rarely_together(seed: int, k: int) -> ObjectWorld:
    """Persons who all hold almost every value, but few of them certain two in one visit."""
    lines = ["version = 1", "[input]", 'format = "ndjson"', 'objects = "whole"']
    for name, path in LISTS.paths():
        lines += ["[[class]]", f'name = "{name}"', f'path = "{path}"']
    schema = Schema.loads("\n".join(lines))
    names, draw = types_of(schema), random.Random(seed)

    def item(one: str) -> Any:
        name, path = ("D", "v[].d[]") if one[0] == "d" else ("P", "v[].p[]")
        return names.index(path), frozenset({(name, one)}), frozenset()

    def visit(ward: str, *held: str) -> Any:
        return names.index("v[]"), frozenset({("H", ward)}), frozenset(map(item, held))

    usual = [visit("h1", "d1", "d2", "p1"), visit("h2", "d2", "d3", "p2"), visit("h3", "d1", "p1", "p2"), visit("h3")]
    odd = [visit("h3", "d3"), visit("h1", "d3", "p2"), visit("h2", "d1"), visit("h2", "p1")]
    persons = []
    for number in range(60):
        mine = [one for one in usual if draw.random() < 0.9]
        persons.append((frozenset(), frozenset([*mine, *([odd[number % 4]] if number < 6 else [])])))
    draw.shuffle(persons)
    return ObjectWorld(LISTS.objects(names), persons, forest_of(persons, schema), k, 2, 1)


@pytest.mark.parametrize(("seed", "k"), [(1, 3), (2, 4)])
def test_values_left_out_leave_k_candidates_for_what_is_known_of_the_original(
    spark: Any, tmp_path: Path, seed: int, k: int
) -> None:
    world = rarely_together(seed, k)
    source, schema = tmp_path / "p.ndjson", world.forest.schema
    ta.write(world.forest, source, seed=1)
    release = publish(source, schema, tmp_path / "out", sample=15, k=k)
    assert release.solution.left_out and release.report["changes"]
    written = ta.read(tmp_path / "out", schema)
    check(release, ta.read(source, schema), written, 2, 1)
    recipe = world.recipe(release.solution)
    assert Counter(map(recipe.publish, world.persons)) == Counter(world.records_of(written))
    assert least_candidates(world.persons, recipe, world.objects, 2, 1) >= k


def test_partitions_do_not_matter(spark: Any, tmp_path: Path) -> None:
    source = write(tmp_path / "p.ndjson", persons(8, 50))
    found = []
    for partitions in (1, 5):
        lines = lines_of_files(spark, str(source), "ndjson")
        lines = replace(lines, frame=lines.frame.repartition(partitions))
        with kept(read_dataset(lines, SCHEMA, ReadOptions())) as dataset:
            found.append(solve(dataset, request_of(seed=1, k=3), lambda _: None, 14))
    assert found[0].solution == found[1].solution
    assert found[0].loss == found[1].loss


def test_a_clinic_of_tables_keeps_its_objects(spark: Any, tmp_path: Path) -> None:
    schema = Schema.load(ROOT / "schemas" / "clinic.toml")
    folder = ROOT / "samples" / "clinic"
    release = publish(folder, schema, tmp_path / "out", sample=150, k=4)
    check(release, ta.read(folder, schema), ta.read(tmp_path / "out", schema), 2, 1)


def test_formats_and_dataframes_hold_the_same(spark: Any, tmp_path: Path) -> None:
    source = write(tmp_path / "p.ndjson", persons(9, 40))
    release = publish(source, SCHEMA, tmp_path / "out", k=3)
    wanted = ta.read(tmp_path / "out", SCHEMA)
    # All that there is fits the sample.
    local = ta.anonymize(ta.read(source, SCHEMA), k=3, seed=1)
    assert wanted == local.forest and release.solution.left_out == local.solution.left_out
    for form in ("trees", "xml", "parquet"):
        out = tmp_path / f"out.{form}"
        job = Job(str(source), SCHEMA, str(out), target_format=form)
        engine_named("spark").publish(job, request_of(k=3, seed=1))
        if form != "parquet":
            assert ta.read(out, SCHEMA.for_format(form), format=form) == wanted
    rows, release = anonymize_frame(spark.read.json(str(source)), SCHEMA, request_of(k=3, seed=1))
    assert rows.count() == 40 and release.solution.objects == "whole"


def test_l_diversity_is_counted_over_all_records(spark: Any, tmp_path: Path) -> None:
    draw = random.Random(4)
    documents = persons(10, 60)
    for one in documents:
        for visit in one.get("visits", []):
            visit["secret"] = f"s{draw.randrange(3)}"
    secret = 'name = "secret"\npath = "visits[].secret"\nrole = "sensitive"'
    lines = ["version = 1", "[input]", 'format = "ndjson"', "[[class]]", secret]
    for name, path in (("S", "sex"), ("H", "visits[].hospital"), ("D", "visits[].diagnoses[].name")):
        lines += ["[[class]]", f'name = "{name}"', f'path = "{path}"']
    schema = Schema.loads("\n".join(lines))
    source = write(tmp_path / "p.ndjson", documents)
    release = publish(source, schema, tmp_path / "out", sample=25, k=3, l=2)
    local = ta.verify(ta.read(tmp_path / "out", schema), k=3, l=2)
    assert local.holds and local.diversity == release.verdict.diversity
    assert not release.solution.left_out


def test_what_needs_merged_trees_takes_them_or_says_so(spark: Any, tmp_path: Path) -> None:
    source = write(tmp_path / "p.ndjson", persons(11, 40))
    with pytest.raises(UsageError, match="merged"):
        publish(source, SCHEMA, tmp_path / "out", k=3, algorithm="gcs")
    auto = replace(SCHEMA, input=replace(SCHEMA.input, objects_open=True))
    release = publish(source, auto, tmp_path / "out", k=3, algorithm="gcs")
    assert release.solution.objects == "merged"
    trees = merged(ta.read(source, auto))
    moved = tmp_path / "moved.ndjson"
    ta.write(trees.disassociate([(("H", "h1"), ("D", "d1"))]), moved)
    assert not ta.read(moved, auto).classes.types
    with pytest.raises(DataError, match="--objects merged"):
        publish(moved, auto, tmp_path / "again", k=3)
    with pytest.raises(DataError, match="not above its own"):
        publish(moved, SCHEMA, tmp_path / "again", k=3)
