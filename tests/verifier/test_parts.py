"""The check of parts lists, sorts and adds up the same sets as the slow twin, and as the rounds count in their way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import treeanon as ta
from tests.reference.guarantee import groups
from tests.support.hospital import folder_of, write_persons
from treeanon.errors import UsageError
from treeanon.kernels.tree.spread import set_of_words
from treeanon.privacy import Guarantee
from treeanon.spark.spread import Spread, SpreadCounter
from treeanon.verifier import parts
from treeanon.verifier.parts import Counts, PartCheck, PartsTotal, add_equal, total_of


def forest_of(tmp_path: Path, seed: int, count: int = 40) -> ta.Forest:
    folder = folder_of(tmp_path / "f")
    return ta.read(write_persons(tmp_path / "p.ndjson", seed, count), ta.Schema.load(folder / "s.toml"))


def check_of(forest: ta.Forest, guarantee: Guarantee) -> PartCheck:
    labels = np.unique(forest.label).astype(np.int32)
    return PartCheck.of(labels, np.ones(len(forest.classes), np.bool_), guarantee)


def sorted_counts(check: PartCheck, pieces: list[ta.Forest]) -> Iterator[Counts]:
    """All sets of some parts, sorted as Spark sorts them, and cut into batches of three."""
    counts = (one for piece in pieces for one in check.sets_of([piece]))
    columns = [np.concatenate(column) for column in zip(*counts, strict=True)]
    order = np.lexsort((columns[1], columns[0]))
    for start in range(0, len(order), 3):
        rows = order[start : start + 3]
        yield columns[0][rows], columns[1][rows], columns[2][rows]


@pytest.mark.parametrize(
    ("m", "n", "cells"),
    [(1, 0, 1 << 22), (2, 0, 1 << 22), (2, 1, 1 << 22), (2, 2, 1 << 22), (1, 0, 0), (2, 1, 0), (3, 1, 0), (3, 2, 0),
     (4, 3, 0)],
)  # fmt: skip
def test_parts_add_up_to_the_slow_twin_and_to_the_rounds(
    tmp_path: Path, m: int, n: int, cells: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    forest = forest_of(tmp_path, seed=m + 2 * n)
    pieces = [forest[:9], forest[9:9], forest[9:]]
    guarantee = Guarantee(3, m, n)
    check = check_of(forest, guarantee)
    monkeypatch.setattr(parts, "_AT_ONCE", 4)
    monkeypatch.setattr(parts, "_MOST", 50)
    monkeypatch.setattr("treeanon.verifier.tree_knowledge._MOST_CELLS", cells)
    slow = groups(list(forest.records()), m, n)
    sizes = [len(who) for who in slow.values()]
    totals = list(total_of(sorted_counts(check, pieces), 3))
    assert min(total.least for total in totals) == min(sizes)
    assert (sum(total.sets for total in totals), sum(total.rare for total in totals)) == (
        len(sizes),
        sum(size < 3 for size in sizes),
    )
    found: Counter[tuple[int, int]] = Counter()
    for first, second, persons in check.sets_of(pieces):
        found.update(dict(zip(zip(first.tolist(), second.tolist(), strict=True), persons.tolist(), strict=True)))
    counter = SpreadCounter(Spread.of(check.labels, len(forest.classes), guarantee))
    for piece in pieces:
        counter.add(piece)
    rounds = {(first, second): persons for first, second, persons in counter.taken().tolist()}
    named = [{set_of_words(*words, m, check.bits): count for words, count in one.items()} for one in (found, rounds)]
    assert named[0] == named[1]


class ManyLabels(PartCheck):
    """A check in which numbers of labels are as long as those of half a billion: a word has room for two of them."""

    bits = 29  # type: ignore[assignment]


def test_sets_of_two_words_are_sorted_too(tmp_path: Path) -> None:
    forest = forest_of(tmp_path, seed=3)
    near = check_of(forest, Guarantee(2, 3, 1))
    far = ManyLabels(near.labels, near.number, near.is_known, 3, 1, near.kind_of)
    assert len(next(far.sets_of([forest]))[0]) == len(next(near.sets_of([forest]))[0])


def test_a_value_that_may_not_occur_is_a_set_of_nobody(tmp_path: Path) -> None:
    forest = forest_of(tmp_path, seed=4)
    check = check_of(forest, Guarantee(1, 2, 1))
    fewer = PartCheck.of(check.labels[:-1], check.is_known, Guarantee(1, 2, 1))
    totals = list(total_of(sorted_counts(fewer, [forest]), 1))
    assert sum(total.rare for total in totals) == 1 and min(total.least for total in totals) == 0
    assert not any(total.rare for total in total_of(sorted_counts(check, [forest]), 1))


def test_no_sets_are_no_totals() -> None:
    nothing = np.zeros(0, np.int64)
    assert add_equal(nothing, nothing, nothing)[2].tolist() == []
    assert list(total_of(iter([(nothing, nothing, nothing)]), 2)) == []
    one = np.array([7])
    assert list(total_of(iter([(one, one, one)] * 3), 30)) == [PartsTotal(21, 1, 1)]


@pytest.mark.parametrize(
    "more",
    [
        {"l": 2, "diversity": "distinct"},
        {"negative": ("sex",)},
        {"m": 3, "n": 2, "attacker": "joint"},
        {"m": 8, "n": 0},
    ],
)
def test_what_is_checked_in_one_place_alone_is_refused(more: dict) -> None:
    labels = np.arange(1 << 16, dtype=np.int32)
    with pytest.raises(UsageError):
        PartCheck.of(labels, np.ones(len(labels), np.bool_), Guarantee(**{"k": 2, "m": 2, "n": 1} | more))
