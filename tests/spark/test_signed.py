"""Negative knowledge counted part by part: the rounds and the check of what was written agree with the brute force."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import treeanon as ta
from tests.reference.guarantee import diverse, groups
from tests.reference.objects import signed_groups
from tests.spark.test_object_counting import draw_records
from tests.support.hospital import folder_of, write_persons
from tests.support.object_worlds import forest_of as objects_of
from treeanon.privacy import Guarantee
from treeanon.privacy.guarantee import Diversity, roles_of
from treeanon.spark import checking, signed
from treeanon.spark.spread import Signs, Spread, SpreadCounter
from treeanon.verifier.parts import PartCheck
from treeanon.verifier.signed import SignedTotals, signed_totals


def hospital_forest(tmp_path: Path, seed: int, count: int = 25) -> ta.Forest:
    folder = folder_of(tmp_path / "f")
    return ta.read(write_persons(tmp_path / "p.ndjson", seed, count), ta.Schema.load(folder / "s.toml"))


def parts_of(forest: ta.Forest) -> list[ta.Forest]:
    return [forest[:7], forest[7:7], forest[7:]]


def labels_of(forest: ta.Forest, guarantee: Guarantee) -> np.ndarray:
    there = np.unique(forest.label)
    return there[np.isin(forest.classes.class_of[there], roles_of(forest, guarantee).known)].astype(np.int32)


def columns_of(batches: Any) -> np.ndarray:
    found = [np.stack([column.to_numpy() for column in batch.columns]) for batch in batches]
    return np.concatenate([one.astype(np.int64) for one in found], axis=1)


def batches_of(schema: str, columns: np.ndarray, order: list[int]) -> list[pa.RecordBatch]:
    """Rows as Spark sorts them, in batches of five."""
    columns = columns[:, np.lexsort([columns[i] for i in reversed(order)])]
    return [signed.batch_of(schema, *columns[:, i : i + 5]) for i in range(0, columns.shape[1], 5)]


def values_of(forest: ta.Forest, l: int, guarantee: Guarantee) -> list[tuple[int, np.ndarray]]:  # noqa: E741
    """All records, and those that hold each sensitive value."""
    found = [(0, np.arange(len(forest)))]
    if l > 1:
        record = np.repeat(np.arange(len(forest)), np.diff(forest.offsets))
        sensitive = np.isin(forest.classes.class_of[forest.label], roles_of(forest, guarantee).sensitive)
        found += [(int(v), np.unique(record[forest.label == v])) for v in np.unique(forest.label[sensitive])]
    if guarantee.diversity == "distinct":
        pairs = [(a, b, np.intersect1d(x, y)) for (a, x), (b, y) in combinations(found[1:], 2)]
        found += [(a << 32 | b, both) for a, b, both in pairs if len(both)]
    return found


def of_rounds(forest: ta.Forest, guarantee: Guarantee) -> tuple[Counter, int, Counter]:
    """Rare (or not diverse) sets, the number of sets, and the persons of single labels."""
    classes, roles = forest.classes, roles_of(forest, guarantee)
    labels = labels_of(forest, guarantee)
    signs = Signs.of(labels, classes, roles)
    spread = Spread.of(labels, len(classes), guarantee, types=classes.types, kinds=classes.kinds, signs=signs)
    rows: list[tuple[int, int, int, int]] = []
    wanted = None
    if guarantee.l > 1:
        kinds = np.where(np.isin(classes.class_of, roles.sensitive), classes.class_of, -1)
        wanted = signed.Diversity(guarantee.l, kinds, guarantee.diversity == "distinct")
    for value, chosen in values_of(forest, guarantee.l, guarantee):
        rows.append((value, 0, 0, len(chosen)))
        counter = SpreadCounter(spread)
        counter.add(forest.take(chosen))
        rows += [(value, *row) for row in counter.taken().tolist()]
    shared = SimpleNamespace(value=(spread, wanted))
    given = signed.batch_of("value long, first long, second long, persons long", *np.array(rows).T)
    beside = columns_of(signed._listed([given], shared))
    together = batches_of(signed._BESIDE, beside, [1, 2])
    found = columns_of(signed._judged(together, shared, guarantee.k, 10**6))
    rare: Counter = Counter()
    for what, first, second, more, rest, persons in found.T.tolist():
        if what == signed._RARE:
            labels_there, relations = spread.decode(first, second)
            group = signed._Group(spread, np.array([[0], [first], [second], [0], [0], [persons]]))
            lacking = group._surplus(more, rest)
            lacks = {classes.decode(int(spread.labels[code - 1])) for kind, code in lacking if kind == "label"}
            denied = {bit for kind, bit in lacking if kind == "relation"}
            pairs = [(i, j, d) for j in range(spread.m) for i in range(j) for d in range(spread.kinds)]
            ended = {
                (*sorted(classes.decode(labels_there[i]) for i in pair[:2]), pair[2])
                for bit, pair in enumerate(pairs)
                if bit in denied
            }
            there = {(*sorted(map(classes.decode, related[:2])), related[2]) for related in relations}
            rare[frozenset(map(classes.decode, labels_there)), frozenset(lacks), frozenset(there), frozenset(ended)] = (
                persons
            )
    sets = int(found[5][found[0] == signed._SETS].sum())
    return rare, sets, Counter()


def of_check(forest: ta.Forest, guarantee: Guarantee) -> SignedTotals:
    classes = forest.classes
    labels = labels_of(forest, guarantee)
    is_known = np.zeros(len(classes), bool)
    is_known[labels] = True
    kind_of = np.where(np.isin(classes.class_of, roles_of(forest, guarantee).sensitive), classes.class_of, -1)
    shape = {"types": classes.types, "kinds": classes.kinds, "classes": classes}
    check = PartCheck.of(labels, is_known, guarantee, kind_of, **shape)
    lackings = check.lackings or check.nothing_lacking
    shared = SimpleNamespace(value=(lackings, check.is_distinct))
    if guarantee.l == 1:
        rows = [(-1, -1, 0, 0, len(forest))]
        for counts in check.sets_of(parts_of(forest)):
            rows += [(-1, -1, *row) for row in zip(*(c.tolist() for c in counts), strict=True)]
    else:
        rows = []
        for value, kind, counts in check.valued_sets_of(parts_of(forest)):
            rows += [(kind, value, *row) for row in zip(*(c.tolist() for c in counts), strict=True)]
    given = signed.batch_of("kind long, value long, first long, second long, persons long", *np.array(rows).T)
    beside = columns_of(checking._beside([given], shared))
    batches = batches_of(checking._BESIDE, beside, [2, 3, 4, 5, 0, 1])
    k = guarantee.k if guarantee.l == 1 else 1
    return signed_totals((columns_of([b]) for b in batches), lackings, k, is_distinct=check.is_distinct)


def slow_sets(forest: ta.Forest, guarantee: Guarantee, negative: tuple[str, ...]) -> dict:
    """By what is there, what is lacking, what is related and what is not: the persons."""
    under = dict.fromkeys(forest.classes.names)
    under |= {
        n: forest.classes.names[p] for n, p in zip(forest.classes.names, forest.classes.parents, strict=True) if p >= 0
    }
    known = [forest.classes.names[i] for i in roles_of(forest, guarantee).known]
    slow = groups(list(forest.records()), guarantee.m, guarantee.n, negative=negative, under=under, known=known)
    found = {}
    for (labels, relations), who in slow.items():
        there = frozenset(label for label in labels if not label[0].startswith("-"))
        lacks = frozenset((name[1:], value) for name, value in labels - there)
        plain = lambda pair: (*sorted((pair[0], (pair[1][0].removeprefix("-"), pair[1][1]))), 0)  # noqa: E731
        related = frozenset(plain(pair) for pair in relations if not pair[1][0].startswith("-"))
        ended = frozenset(plain(pair) for pair in relations if pair[1][0].startswith("-"))
        found[there, lacks, related, ended] = who
    return found


def plainer(name: tuple) -> list[tuple]:
    """A set with one of the things that are lacking left out."""
    there, lacks, related, ended = name
    return [(there, lacks - {one}, related, ended) for one in lacks] + [
        (there, lacks, related, ended - {one}) for one in ended
    ]


def compared(rare: Counter, slow: dict, fails: Any) -> None:
    """What was found rare is, and what is rare was found, but for what is so without one of the things lacking."""
    assert all(len(slow[name]) == persons and fails(name) for name, persons in rare.items())
    for name in filter(fails, slow):
        there, _, related, _ = name
        of_all = fails((there, frozenset(), related, frozenset())) if there else False
        without = any(slow.get(one) == slow[name] for one in plainer(name) if any(one))
        assert name in rare or without or (of_all and (name[1] or name[3])), name


@pytest.mark.parametrize(("m", "n"), [(1, 0), (2, 0), (2, 1), (3, 1), (3, 2)])
def test_merged_trees_are_judged_as_by_brute_force(tmp_path: Path, m: int, n: int) -> None:
    forest = hospital_forest(tmp_path, seed=m + n, count=14)
    names = [forest.classes.names[i] for i in roles_of(forest, Guarantee(2)).known]
    for negative in ((names[-1],), (names[0], names[-1])):
        guarantee = Guarantee(4, m, n, negative=negative)
        slow = slow_sets(forest, guarantee, negative)
        rare, _, _ = of_rounds(forest, guarantee)
        compared(rare, slow, lambda name, slow=slow: len(slow[name]) < 4)
        found = of_check(forest, guarantee)
        assert found.least == min(map(len, slow.values()))
        assert bool(found.rare) == bool(rare)
        verdict = ta.verify(forest, k=4, m=m, n=n, negative=negative)
        assert verdict.largest_k == found.least


@pytest.mark.parametrize(("seed", "m", "n"), [(1, 2, 1), (2, 2, 1), (3, 3, 1), (4, 3, 2)])
def test_whole_objects_are_judged_as_by_brute_force(seed: int, m: int, n: int) -> None:
    records = draw_records(seed, 12)
    forest = objects_of(records)
    negative = (forest.classes.names[-1],)
    guarantee = Guarantee(3, m, n, negative=negative)
    sizes = [len(who) for who in signed_groups(records, m, n, negative)]
    rare, _, _ = of_rounds(forest, guarantee)
    assert set(rare.values()) <= set(sizes)
    assert bool(rare) == (min(sizes) < 3)
    found = of_check(forest, guarantee)
    assert found.least == min(sizes) == ta.verify(forest, k=3, m=m, n=n, negative=negative).largest_k
    # Whoever keeps the guarantee of k = the least is judged so, too.
    assert not of_rounds(forest, Guarantee(min(sizes), m, n, negative=negative))[0]


@pytest.mark.parametrize(("m", "n"), [(1, 0), (2, 1), (3, 1)])
@pytest.mark.parametrize(
    ("diversity", "negative"),
    [("frequency", ("sex", "diagnosis")), ("distinct", ("sex", "diagnosis")), ("distinct", ())],
)
def test_groups_are_diverse_or_not_as_by_brute_force(
    tmp_path: Path, m: int, n: int, diversity: Diversity, negative: tuple[str, ...]
) -> None:
    folder = folder_of(tmp_path / "f", "secret")
    for seed in range(3):
        source = write_persons(tmp_path / f"p{seed}.ndjson", seed, 14)
        forest = ta.read(source, ta.Schema.load(folder / "s.toml"))
        guarantee = Guarantee(1, m, n, l=2, negative=negative, diversity=diversity)
        slow, records = slow_sets(forest, guarantee, negative), list(forest.records())

        def fails(name: tuple, slow: dict = slow, records: list = records) -> bool:
            return not diverse(records, slow[name], "secret", 2, diversity)

        rare, _, _ = of_rounds(forest, guarantee)
        rare = Counter({name: persons for name, persons in rare.items() if any(name)})
        assert rare
        compared(rare, slow, fails)
        found = of_check(forest, guarantee).largest_l
        verdict = ta.verify(forest, guarantee=guarantee)
        assert [one.largest_l for one in verdict.diversity] == [max(least, 1) for least in found.values()]


def test_a_label_that_may_not_occur_is_held_by_nobody(tmp_path: Path) -> None:
    forest = hospital_forest(tmp_path, seed=1)
    guarantee = Guarantee(1, 2, 1, negative=("sex",))
    labels = np.unique(forest.label).astype(np.int32)
    is_known = np.ones(len(forest.classes), bool)
    check = PartCheck.of(labels[1:], is_known, guarantee, classes=forest.classes)
    rows = [(-1, -1, 0, 0, len(forest))]
    for counts in check.sets_of([forest]):
        rows += [(-1, -1, *row) for row in zip(*(c.tolist() for c in counts), strict=True)]
    given = signed.batch_of("kind long, value long, first long, second long, persons long", *np.array(rows).T)
    beside = columns_of(checking._beside([given], SimpleNamespace(value=(check.lackings, False))))
    batches = batches_of(checking._BESIDE, beside, [2, 3, 4, 5, 0, 1])
    found = signed_totals((columns_of([b]) for b in batches), check.lackings, 1)
    assert (found.least, found.rare) == (0, 1)
