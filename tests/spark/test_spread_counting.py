"""Sets counted part by part agree with the slow twin, and what a whole collection's check says."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random

import numpy as np
import pytest

import treeanon as ta
from tests.reference.guarantee import groups
from tests.support.hospital import folder_of, write_persons
from treeanon.errors import UsageError
from treeanon.kernels.tree.spread import count_pairs, fits, set_of_words
from treeanon.privacy import Guarantee
from treeanon.spark.counting import RareSet
from treeanon.spark.repair import CostModel, Repair, _least
from treeanon.spark.spread import Spread, SpreadCounter, counter_of


def forest_of(tmp_path: Path, seed: int, count: int = 25) -> ta.Forest:
    folder = folder_of(tmp_path / "f")
    return ta.read(write_persons(tmp_path / "p.ndjson", seed, count), ta.Schema.load(folder / "s.toml"))


def spread_of(forest: ta.Forest, m: int, n: int) -> Spread:
    return Spread.of(np.unique(forest.label).astype(np.int32), len(forest.classes), Guarantee(2, m, n))


@pytest.mark.parametrize("by_sets", [False, True])
@pytest.mark.parametrize(("m", "n"), [(1, 0), (2, 0), (2, 1), (2, 2), (3, 1), (3, 2), (4, 3)])
def test_sets_of_parts_add_up_to_those_of_the_slow_twin(tmp_path: Path, m: int, n: int, by_sets: bool) -> None:
    forest = forest_of(tmp_path, seed=m + n)
    spread = spread_of(forest, m, n)
    found: Counter[tuple[frozenset, frozenset]] = Counter()
    for start, stop in ((0, 7), (7, 7), (7, 20), (20, len(forest))):
        counter = SpreadCounter(spread) if by_sets else counter_of(spread)
        tables = [*counter.add_all(forest[start:stop]), counter.taken()]
        for first, second, persons in np.concatenate(tables).tolist():
            labels, relations = spread.decode(first, second)
            name = forest.classes.decode
            # Which of a relation's labels is the upper one follows from their classes.
            pairs = frozenset(frozenset(map(name, relation[:2])) for relation in relations)
            found[frozenset(map(name, labels)), pairs] += persons
    slow = groups(list(forest.records()), m, n)
    wanted = {(labels, frozenset(map(frozenset, pairs))): len(who) for (labels, pairs), who in slow.items()}
    assert found == wanted


def test_a_table_of_sets_grows_and_is_handed_over(tmp_path: Path) -> None:
    forest = forest_of(tmp_path, seed=1, count=400)
    counter = SpreadCounter(spread_of(forest, 4, 3))
    counter.add(forest)
    assert counter.used > 1 << 9
    taken = counter.taken()
    assert len(taken) > 1 << 9
    assert counter.used == 0
    assert not len(counter.taken())


def test_words_hold_what_fits() -> None:
    assert fits(2, 31)
    assert fits(8, 10)
    assert not fits(8, 20)
    assert set_of_words(0, 0, 2, 31) == ((), ())


@pytest.mark.parametrize(
    "more",
    [
        {"negative": ("sex",), "attacker": "joint"},
        {"m": 3, "n": 2, "attacker": "joint"},
        {"m": 8, "n": 0},
    ],
)
def test_what_cannot_be_spread_is_refused(more: dict) -> None:
    labels = np.arange(1 << 16, dtype=np.int32)
    with pytest.raises(UsageError):
        Spread.of(labels, len(labels), Guarantee(**{"k": 2, "m": 2, "n": 1} | more))


def test_only_the_smallest_rare_sets_are_met() -> None:
    small, pair, other = RareSet((1,), (), 1), RareSet((1, 2), (), 1), RareSet((2, 3), ((2, 3, 0),), 1)
    assert _least([pair, other, small]) == [small, other]


def test_a_repair_covers_what_a_sample_did_not_show(tmp_path: Path) -> None:
    forest = forest_of(tmp_path, seed=2)
    release = ta.anonymize(forest, k=2, seed=1)
    cut = {name: nodes[:1] for name, nodes in release.solution.cut.items()}
    for sibling in (True, False):
        solution = ta.anonymize(forest, k=2, seed=1).solution
        repair = Repair(type(solution)(solution.guarantee, "x", cut), forest.classes, CostModel(1, 1), sibling=sibling)
        repair.cover()
        forest.project(repair.result().cut)
        nodes = [forest.classes.label(name, text) for name, texts in repair.result().cut.items() for text in texts]
        inside = [(a, b) for a in nodes for b in nodes if a < b < repair.end[a]]
        assert sibling or not inside


def slow_pairs(records: list[list[tuple[int, int, int]]], slots: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes as (parent, coarse slot, fine slot)."""
    shared, related = np.zeros((slots, slots), int), np.zeros((slots, slots), int)
    for nodes in records:
        held = {slot for _, *both in nodes for slot in both if slot >= 0}
        pairs = set()
        for up, *lower in nodes:
            while up >= 0:
                pairs |= {frozenset((a, b)) for a in lower for b in nodes[up][1:] if min(a, b) >= 0 and a != b}
                up = nodes[up][0]
        for a in held:
            for b in held:
                if a <= b:
                    shared[a, b] += 1
        for pair in pairs:
            related[min(pair), max(pair)] += 1
    return shared, related


@pytest.mark.parametrize("seed", range(5))
def test_pairs_of_two_levels_are_those_of_the_slow_twin(seed: int) -> None:
    rnd = Random(seed)
    records = [
        [(rnd.randrange(-1, i), rnd.randrange(-1, 4), rnd.randrange(-1, 7)) for i in range(rnd.randrange(6))]
        for _ in range(40)
    ]
    nodes = np.array([node for record in records for node in record], np.int32).reshape(-1, 3)
    offsets = np.cumsum([0, *map(len, records)]).astype(np.int64)
    shared, related = np.zeros((7, 7), np.int32), np.zeros((7, 7, 1), np.int32)
    parent, coarse, fine = (np.ascontiguousarray(nodes[:, i]) for i in range(3))
    count_pairs(offsets, parent, coarse, fine, shared, related)
    slow_shared, slow_related = slow_pairs(records, 7)
    assert np.array_equal(shared, slow_shared)
    assert np.array_equal(related[:, :, 0], slow_related)


@pytest.mark.parametrize(("m", "n"), [(2, 1), (3, 2)])
def test_needed_records_keep_supports_up_to_the_bound_however_parted(tmp_path: Path, m: int, n: int) -> None:
    forest = forest_of(tmp_path, seed=5, count=120)
    spread, least = spread_of(forest, m, n), 3

    def thinned(part: ta.Forest) -> ta.Forest:
        return part.take(np.flatnonzero(SpreadCounter(spread).needed(part, least)))

    whole = thinned(forest)
    parts = [
        number
        for start in (0, 30, 70)
        for number in np.flatnonzero(
            SpreadCounter(spread).needed(forest[start : {0: 30, 30: 70, 70: 120}[start]], least)
        )
        + start
    ]
    assert np.array_equal(thinned(forest.take(parts)).label, whole.label)
    assert len(whole) < len(forest)
    every, few = (groups(list(one.records()), m, n) for one in (forest, whole))
    assert {name: min(len(who), least) for name, who in every.items()} == {
        name: min(len(who), least) for name, who in few.items()
    }
