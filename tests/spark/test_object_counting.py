"""Whole objects counted part by part: the rounds and the check of what was written agree with the brute force."""

from __future__ import annotations

import random
from collections import Counter
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import treeanon as ta
from tests.reference.objects import Record, facts, known
from tests.support.object_worlds import SCHEMA, forest_of, random_record, types_of
from treeanon.errors import DataError
from treeanon.forest.planting import merged
from treeanon.kernels.tree.spread import count_object_pairs
from treeanon.metrics import label_losses, measure
from treeanon.metrics.values import label_parents
from treeanon.privacy import Guarantee
from treeanon.spark import counting
from treeanon.spark.counting import RareSet
from treeanon.spark.reading import Recipe
from treeanon.spark.records import of_own_values
from treeanon.spark.repair import CostModel, Repair
from treeanon.spark.spread import Spread, SpreadCounter, counter_of
from treeanon.verifier.parts import PartCheck

Sets = Counter[tuple[frozenset, frozenset]]


def draw_records(seed: int, persons: int) -> list[Record]:
    draw = random.Random(seed)
    usual = [random_record(draw) for _ in range(3)]
    return [draw.choice(usual) if draw.random() < 0.5 else random_record(draw) for _ in range(persons)]


def known_labels(forest: ta.Forest) -> np.ndarray:
    labels = np.unique(forest.label)
    return labels[labels > forest.classes.types].astype(np.int32)


def spread_of(forest: ta.Forest, m: int, n: int) -> Spread:
    classes = forest.classes
    guarantee = Guarantee(2, m, n)
    return Spread.of(known_labels(forest), len(classes), guarantee, types=classes.types, kinds=classes.kinds)


def named(forest: ta.Forest, spread: Spread, counts: list[tuple[int, int, int]]) -> Sets:
    """Counted sets by texts, relations by the names of their types."""
    classes, found = forest.classes, Sets()
    names = types_of(SCHEMA)
    for first, second, persons in counts:
        labels, relations = spread.decode(first, second)
        told = set()
        for a, b, kind in relations:
            home = classes.type_of(int(classes.class_of[a]), kind)
            assert home == classes.type_of(int(classes.class_of[b]), kind)
            told.add((*sorted(map(classes.decode, (a, b))), names.index(classes.names[home])))
        found[frozenset(map(classes.decode, labels)), frozenset(told)] += persons
    return found


@given(seed=st.integers(0, 10**9), persons=st.integers(1, 12), m=st.integers(1, 4), n=st.integers(0, 3))
@settings(max_examples=40)
def test_sets_of_parts_add_up_to_the_brute_force(seed: int, persons: int, m: int, n: int) -> None:
    records = draw_records(seed, persons)
    forest = forest_of(records)
    wanted = Sets()
    for record in records:
        # With one label there is nothing to relate.
        wanted.update(set(known(record, m, n)))
    spread, pieces = spread_of(forest, m, n), [forest[:3], forest[3:3], forest[3:]]
    for kind in (SpreadCounter, counter_of):
        rounds: list[tuple[int, int, int]] = []
        for piece in pieces:
            counter = kind(spread)
            rounds += np.concatenate([*counter.add_all(piece), counter.taken()]).tolist()
        assert named(forest, spread, rounds) == wanted
    classes = forest.classes
    is_known = classes.class_of >= classes.types
    shape = {"types": classes.types, "kinds": classes.kinds}
    check = PartCheck.of(known_labels(forest), is_known, Guarantee(2, m, n), **shape)
    checked = [row for counts in check.sets_of(pieces) for row in zip(*(c.tolist() for c in counts), strict=True)]
    assert named(forest, spread, checked) == wanted


def test_trees_that_are_no_whole_objects_are_not_counted() -> None:
    forest = forest_of(draw_records(5, 12))
    other = merged(forest)
    is_known = np.ones(len(other.classes), bool)
    check = PartCheck.of(np.unique(other.label).astype(np.int32), is_known, Guarantee(2), types=3, kinds=2)
    with pytest.raises(DataError, match="class tree"):
        list(check.sets_of([other]))


@given(seed=st.integers(0, 10**9), persons=st.integers(1, 10))
@settings(max_examples=30)
def test_pairs_of_two_levels_are_those_of_the_slow_twin(seed: int, persons: int) -> None:
    records = draw_records(seed, persons)
    forest = forest_of(records)
    classes, draw = forest.classes, random.Random(seed)
    slot_of = [[draw.randrange(-1, 3), draw.randrange(-1, 7)] for _ in range(len(classes))]
    for label in range(classes.types + 1):
        slot_of[label] = [-1, -1]
    coarse, fine = (np.array([both[i] for both in slot_of], np.int32)[forest.label] for i in range(2))
    shared, related = np.zeros((7, 7), np.int32), np.zeros((7, 7, classes.kinds), np.int32)
    trees = forest.offsets, forest.parent, forest.label
    count_object_pairs(*trees, coarse, fine, classes.types, shared, related)
    held, told = Counter[tuple[int, int]](), Counter[tuple[int, int, int]]()
    names = types_of(SCHEMA)
    for record in records:
        slots = {label: {s for s in slot_of[classes.label(*label)] if s >= 0} for label in facts(record)[0]}
        every = set().union(*slots.values())
        held.update((a, b) for a in every for b in every if a <= b)
        # One label can stand for two slots at once, in each object around it.
        inside: set[tuple[int, int, int]] = set()
        for labels, kind in contents(record):
            mine = set().union(*(slots[label] for label in labels))
            depth = int(classes.depth[classes.names.index(names[kind])])
            inside |= {(a, b, depth) for a in mine for b in mine if a < b and depth < classes.kinds}
        told.update(inside)
    assert {(a, b): int(shared[a, b]) for a, b in np.argwhere(shared).tolist()} == dict(held)
    assert {(a, b, d): int(related[a, b, d]) for a, b, d in np.argwhere(related).tolist()} == dict(told)


def contents(record: Record) -> list[tuple[set, int]]:
    from tests.reference.objects import all_objects, labels_in

    return [(labels_in(found), found[0]) for found in all_objects(record[1])]


def test_rules_of_a_repair_have_one_order_that_keeps_those_that_are_there() -> None:
    lines = ["version = 1", "[input]", 'format = "ndjson"', 'objects = "whole"']
    for name, path in (("A", "v[].a[]"), ("B", "v[].b[]"), ("C", "v[].c")):
        lines += ["[[class]]", f'name = "{name}"', f'path = "{path}"']
    visit = {"a": ["a1", "a2"], "b": ["b1", "b2"], "c": "c1"}
    schema = ta.Schema.loads("\n".join(lines))
    names = types_of(schema)
    tree = ["v[]", "*", [["C", visit["c"], []]]]
    for name, held in (("A", visit["a"]), ("B", visit["b"])):
        tree[2] += [[f"v[].{name.lower()}[]", "*", [[name, value, []]]] for value in held]
    forest = ta.Forest.from_records(schema, [[tree]] * 4)
    classes = forest.classes
    label = {
        text: classes.label(name, text) for name, texts in (("A", ["a1", "a2"]), ("B", ["b1", "b2"])) for text in texts
    }
    c1 = classes.label("C", "c1")
    solution = ta.anonymize(forest, k=2, seed=1).solution
    # The rarer label triggers here; and what is new has to go along with that.
    there = ((("A", "a2"), ("B", "b1"), names[0]),)
    repair = Repair(
        type(solution)(solution.guarantee, "x", solution.cut, left_out=there, objects="whole"),
        classes,
        CostModel(10, 10),
        sibling=True,
    )
    held = {label["a1"]: 9, label["a2"]: 3, label["b1"]: 8, label["b2"]: 2, c1: 1}
    sets = [
        RareSet(tuple(sorted(pair)), ((*sorted(pair), 0),), 1)
        for pair in ((label["a2"], label["b1"]), (label["b1"], label["b2"]), (c1, label["a1"]))
    ]
    repair._cost = lambda action, sets: 1.0 if action[0] == "end" else 1e9  # type: ignore[method-assign]
    assert repair.run(sets, held) == 3
    rules = repair.result().left_out
    assert [(a[1], b[1], t) for a, b, t in rules] == [
        ("c1", "a1", names[0]),
        ("a2", "b1", names[0]),
        ("b1", "b2", names[0]),
    ]
    # A field never is left out, and the recipe says what the solution does.
    published = repair.result().apply(forest)
    empty = Recipe(
        forest.cut_map(repair.result().cut),
        *[np.empty(0, np.int32)] * 2,
        *(np.array([label.get(r[i][1], c1) for r in rules], np.int32) for i in range(2)),
        np.array([classes.type_label(r[2]) for r in rules], np.int32),
        (),
    )
    assert empty.apply(forest)[0] == published


@pytest.mark.parametrize(("seed", "left_out"), [(3, 0), (4, 2)])
def test_losses_of_parts_are_those_of_the_whole(seed: int, left_out: int) -> None:
    objects = forest_of(draw_records(seed, 30))
    for forest in (objects, merged(objects)):
        release = ta.anonymize(forest, k=3, seed=1)
        classes = forest.classes
        dataset: Any = SimpleNamespace(classes=classes, schema=forest.schema)
        recipe = Recipe.of(release.solution, dataset)
        kept = np.arange(left_out, len(forest))
        counted: Counter[tuple[int, int]] = Counter()
        for first, part in ((0, forest[:11]), (11, forest[11:])):
            own = kept[(kept >= first) & (kept < first + len(part))] - first
            after = recipe.apply(part)[0].take(own)
            numbers = counting.Numbers(classes)
            numbers.add(part, after, own)
            for kind, places, times in numbers.rows():
                counted.update(dict(zip(((kind, place) for place in places.tolist()), times.tolist(), strict=True)))
        rows = np.array([(*name, times) for name, times in counted.items()]).T
        held = np.bincount(forest.label, minlength=len(classes))
        dataset.held = held
        numbers = counting.Tally(*rows)
        losses = counting.losses_of(numbers, dataset, (0, 0), None)
        whole = measure(forest, recipe.apply(forest)[0].take(kept), kept)
        assert losses.value_loss == pytest.approx(whole.value_loss)
        assert losses.relations_kept == pytest.approx(whole.relations_kept)
        assert losses.rpd == pytest.approx(whole.rpd)
        assert losses.objects == whole.objects or not classes.types
        for mine, theirs in ((losses.before, whole.before), (losses.after, whole.after)):
            assert (mine.records, mine.nodes, mine.values) == (theirs.records, theirs.nodes, theirs.values)
        under = counting.nodes_under(held, classes, recipe)
        home = counting.right_below(recipe.mapping, label_parents(classes))
        wanted = np.zeros(len(classes), np.int64)
        np.add.at(wanted, home[home >= 0], held[home >= 0])
        assert np.array_equal(under, wanted)


def test_a_sample_of_its_own_values_is_searched_with_the_losses_of_all() -> None:
    forest = forest_of(draw_records(6, 30))
    some = forest[:6]
    own = of_own_values(some)
    assert len(own.classes) <= len(forest.classes)
    assert [*map(str, own.records())] == [*map(str, some.records())]
    mine, whole = label_losses(own.classes), label_losses(forest.classes)
    for label in range(1, len(own.classes)):
        name, text = own.classes.decode(label)
        assert mine[label] == whole[forest.classes.label(name, text)]
