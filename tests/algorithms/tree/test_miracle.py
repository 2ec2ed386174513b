"""MiRaCle: groups of equal trees, true to their persons, and the guarantee that follows."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from random import Random
from typing import Any

import numpy as np
import pytest

import treeanon as ta
from tests.reference import guarantee as slow_guarantee
from tests.reference import trees as slow
from tests.reference.trees import Label, Tree
from tests.support.strategies import make_case, make_records, parents_of, properties
from treeanon.algorithms.tree.published import miracle
from treeanon.errors import GuaranteeError, UsageError
from treeanon.forest.classes import STAR
from treeanon.kernels.tree.miracle_match import WIDE, match, work_space
from treeanon.privacy import Guarantee

CLINIC = """
version = 1
[input]
format = "trees"
[[class]]
name = "hospital"
hierarchy = { groups = 2 }
[[class]]
name = "ward"
under = "hospital"
role = "keep"
[[class]]
name = "disease"
under = "ward"
hierarchy = { groups = 2 }
[[class]]
name = "outcome"
under = "disease"
role = "sensitive"
"""


def clinic(records: list[Tree]) -> ta.Forest:
    return ta.Forest.from_records(ta.Schema.loads(CLINIC), records)


def hospital(value: str, *below: list[Any]) -> list[Any]:
    return ["hospital", value, list(below)]


def ward(value: str, *below: list[Any]) -> list[Any]:
    return ["ward", value, list(below)]


def disease(value: str, *below: list[Any]) -> list[Any]:
    return ["disease", value, list(below)]


def outcome(value: str) -> list[Any]:
    return ["outcome", value, []]


# --- plain twins -----------------------------------------------------------------------------------------------------


def known_classes(forest: ta.Forest) -> set[str]:
    roles = {spec.name: spec.role for spec in forest.schema.classes}
    return {STAR, *(name for name in forest.classes.names if roles[name] == "quasi")}


def known_part(nodes: Tree, known: set[str]) -> Tree:
    """The tree without nodes of other classes; what hangs under them goes up."""
    return slow.tree_of_paths(
        path for path in (tuple(x for x in whole if x[0] in known) for whole in slow.paths(nodes)) if path
    )


def others_of(nodes: Tree, known: set[str]) -> list[tuple[tuple[Label, ...], tuple[Label, ...]]]:
    """For every node of another class the known labels above it, and itself with the others right above it."""
    found = []
    for path in slow.paths(nodes):
        if path[-1][0] in known:
            continue
        above = tuple(x for x in path if x[0] in known)
        last = max((i for i, x in enumerate(path) if x[0] in known), default=-1)
        found.append((above, path[last + 1 :]))
    return found


def ancestors(label: Label, parents: dict[str, dict[str, str]]) -> set[Label]:
    name, value = label
    found = {label}
    while value in parents.get(name, {}):
        value = parents[name][value]
        found.add((name, value))
    return found


def is_true(path: tuple[Label, ...], originals: list[tuple[Label, ...]], parents: dict[str, dict[str, str]]) -> bool:
    return any(
        len(original) == len(path) and all(a in ancestors(b, parents) for a, b in zip(path, original, strict=True))
        for original in originals
    )


def check_release(forest: ta.Forest, found: miracle.Result, k: int) -> None:
    everybody = np.arange(len(forest)) if found.kept is None else found.kept
    assert found.solution.suppressed == len(forest) - len(everybody)
    forest = forest.take(everybody)
    assert found.solution.cut is None and found.solution.algorithm == "miracle"
    assert len(found.forest) == len(forest)
    known, parents = known_classes(forest), parents_of(forest)
    before, after = list(forest.records()), list(found.forest.records())
    trees = Counter(repr(known_part(record, known)) for record in after)
    assert min(trees.values()) >= k
    for old, new in zip(before, after, strict=True):
        assert new == slow.merged(new)
        own = list(slow.paths(known_part(old, known)))
        assert all(is_true(path, own, parents) for path in slow.paths(known_part(new, known)))
        originals = others_of(old, known)
        for above, others in others_of(new, known):
            assert any(is_true(above, [held], parents) and others == tail for held, tail in originals)
    report = found.report
    assert report["groups"] * k <= len(forest) and report["largest_group"] >= k


def small_check(records: list[Tree], known: set[str], k: int) -> bool:
    """2^(2,1)-anonymity and the like, counted from sets of labels and of ordered pairs."""
    support: Counter[Any] = Counter()
    for record in records:
        paths = [tuple(x for x in path if x[0] in known) for path in slow.paths(record)]
        labels = {x for path in paths for x in path}
        support.update(frozenset(chosen) for size in (1, 2) for chosen in combinations(sorted(labels), size))
        support.update({pair for path in paths for pair in combinations(path, 2)})
    return all(count >= k for count in support.values())


# --- properties ------------------------------------------------------------------------------------------------------


def draw(rnd: Random, most: int = 14) -> ta.Forest:
    case = make_case(rnd, rnd.choice(["ndjson", "json", "xml"]))
    records = make_records(rnd, case, count=most)
    if rnd.random() < 0.5:
        records += rnd.choices(records, k=rnd.randint(1, 5))
    return ta.Forest.from_records(case.schema, records)


def releases(rnd: Random) -> None:
    forest = draw(rnd)
    k = rnd.randint(2, 5)
    window = rnd.choice([1, 4, 1000])
    seed = rnd.choice([None, 1, 2])
    if len(forest) < k:
        with pytest.raises(GuaranteeError):
            miracle.search(forest, Guarantee(k), window=window, seed=seed)
        return
    bounds: dict[str, Any] = {"climit": rnd.choice([1, 6, 150]), "threshold": rnd.choice([0, 0.1, 0.5, 1])}
    found = miracle.search(forest, Guarantee(k), window=window, seed=seed, **bounds)
    check_release(forest, found, k)
    assert found.report["largest_group"] <= max(bounds["climit"], k)
    if bounds["threshold"] == 1 and bounds["climit"] == 150:
        assert found.kept is None
    assert small_check(list(found.forest.records()), known_classes(forest), k)
    again = miracle.search(forest, Guarantee(k), window=window, seed=seed, **bounds)
    assert np.array_equal(found.forest.label, again.forest.label)


test_releases, test_releases_slow = properties(releases, few=50)


def guarantees(rnd: Random) -> None:
    forest = draw(rnd, most=8)
    k = rnd.randint(2, 4)
    if len(forest) < k:
        return
    found = miracle.search(forest, Guarantee(k, attacker="joint"))
    records = list(found.forest.records())
    if max(map(slow.count_nodes, records), default=0) > 10:
        return
    known = known_classes(forest)
    negative = tuple(sorted(known - {STAR}))[:1]
    assert slow_guarantee.holds(records, k, 3, 2, attacker="joint", known=known, negative=negative)


test_guarantees, test_guarantees_slow = properties(guarantees, few=25)


def slow_kept(slots: Tree, nodes: Tree, labels: Any, forest: ta.Forest) -> float:
    """What matching two lists of subtrees keeps, by recursion; dead slots are None."""
    classes = forest.classes

    def worth(a: int, b: int) -> float:
        if b < 0 or classes.class_of[a] != classes.class_of[b]:
            return -1.0
        above = {a}
        while labels.up[a] >= 0:
            a = int(labels.up[a])
            above.add(a)
        while b not in above:
            b = int(labels.up[b])
        return float(labels.worth[b])

    pairs = []
    for i, (rep, below) in enumerate(slots):
        for j, (label, under) in enumerate(nodes):
            own = -1.0 if rep is None else worth(rep, label)
            if own >= 0:
                pairs.append((own + slow_kept(below, under, labels, forest), i, j))
    kept, rows, columns = 0.0, set[int](), set[int]()
    for value, i, j in sorted(pairs, key=lambda pair: (-pair[0], pair[1], pair[2])):
        if i not in rows and j not in columns:
            kept += value
            rows.add(i)
            columns.add(j)
    return kept


def as_lists(forest: ta.Forest, record: int, label: np.ndarray) -> Tree:
    lo, hi = forest.offsets[record], forest.offsets[record + 1]
    nodes: Tree = [[None if label[x] < 0 else int(label[x]), []] for x in range(lo, hi)]
    for x in range(lo, hi):
        if forest.parent[x] >= 0:
            nodes[forest.parent[x]][1].append(nodes[x - lo])
    return [nodes[x - lo] for x in range(lo, hi) if forest.parent[x] < 0]


def matching(rnd: Random) -> None:
    forest = draw(rnd, most=4)
    clustering = miracle._Clustering(forest, 2, 10, None)
    labels, rep = clustering.labels, forest.label.copy()
    for x in range(forest.nodes):
        if rnd.random() < 0.1:
            rep[x] = -1
        elif rnd.random() < 0.2 and labels.up[rep[x]] >= 0:
            rep[x] = labels.up[rep[x]]
    work = work_space(forest.offsets, clustering.levels)
    for _ in range(4):
        a, b = rnd.randrange(len(forest)), rnd.randrange(len(forest))
        tops = [int(lo) if lo < hi else -1 for lo, hi in (forest.offsets[i : i + 2] for i in (a, b))]
        kept = match(tops[0], tops[1], clustering.links, labels, rep, work)
        slots, nodes = as_lists(forest, a, rep), as_lists(forest, b, forest.label)
        assert kept == slow_kept(slots, nodes, labels, forest)


test_matching, test_matching_slow = properties(matching, few=50)


# --- by hand ---------------------------------------------------------------------------------------------------------


def test_a_worked_example() -> None:
    """Two pairs of neighbors: values meet in their group, what one of a pair lacks is suppressed."""
    forest = clinic(
        [
            [hospital("H1", disease("D1"))],
            [hospital("H3", disease("D3"), disease("D4"))],
            [hospital("H2", disease("D1"))],
            [hospital("H3", disease("D3"), disease("D4")), hospital("H4", disease("D1"))],
        ]
    )
    found = miracle.search(forest, Guarantee(2))
    above = parents_of(forest)["hospital"]["H1"]
    assert above == parents_of(forest)["hospital"]["H2"] != parents_of(forest)["hospital"]["H3"]
    pair = [hospital(above, disease("D1"))]
    other = [hospital("H3", disease("D3"), disease("D4"))]
    assert list(found.forest.records()) == [pair, other, pair, other]
    assert found.report == {"groups": 2, "largest_group": 2, "suppressed_nodes": 2}


def test_other_classes_stay_with_their_person() -> None:
    """A ward is kept, an outcome follows its disease; a disease leaves its ward for the hospital."""
    forest = clinic(
        [
            [hospital("H1", ward("east", disease("D1", outcome("well"))))],
            [hospital("H1", ward("west", disease("D1", outcome("ill")), disease("D3", outcome("well"))))],
        ]
    )
    found = miracle.search(forest, Guarantee(2))
    assert list(found.forest.records()) == [
        [hospital("H1", disease("D1", outcome("well")), ward("east"))],
        [hospital("H1", disease("D1", outcome("ill")), ward("west"))],
    ]


def test_siblings_that_became_equal_merge() -> None:
    forest = clinic([[hospital("H1"), hospital("H2")], [hospital("H3"), hospital("H4")]])
    top = forest.classes.hierarchies[0].root
    found = miracle.search(forest, Guarantee(2))
    assert list(found.forest.records()) == [[hospital(top)], [hospital(top)]]


def test_the_last_few_join_the_nearest_group() -> None:
    forest = clinic([[hospital(f"H{1 + i % 2}")] for i in range(7)])
    found = miracle.search(forest, Guarantee(3), threshold=1)
    assert sorted(Counter(map(repr, found.forest.records())).values()) == [3, 4]
    assert found.report["largest_group"] == 4
    check_release(forest, found, 3)


def test_the_odd_one_of_figure_10_is_left_out() -> None:
    """Three trees of the paper's database are alike; the fourth would make them as general as itself."""
    forest = ta.read("samples/paper.trees.jsonl", "schemas/paper.toml")
    shown = []
    for threshold, left_out in ((0.1, [3]), (1, [])):
        found = miracle.search(forest, Guarantee(3), threshold=threshold)
        check_release(forest, found, 3)
        kept = range(4) if found.kept is None else found.kept.tolist()
        assert sorted({0, 1, 2, 3} - set(kept)) == left_out
        shown.append(found.forest.nodes / len(found.forest))
    assert shown[0] > shown[1]


def test_groups_have_at_most_climit_persons() -> None:
    forest = clinic([[hospital("H1")] for _ in range(7)])
    found = miracle.search(forest, Guarantee(4), climit=5)
    assert (found.report["largest_group"], found.solution.suppressed) == (5, 2)
    assert miracle.search(forest, Guarantee(4), climit=1).solution.suppressed == 3
    assert miracle.search(forest, Guarantee(4)).kept is None


def test_who_costs_a_group_much_is_left_out() -> None:
    """One with another shape, and one with a far value: the others keep what they have."""
    alike = [hospital("H1", disease("D1"))]
    for odd in ([hospital("H9")], [hospital("H9", disease("D9"))]):
        forest = clinic([alike, alike, odd, alike])
        found = miracle.search(forest, Guarantee(3))
        assert found.kept is not None and found.kept.tolist() == [0, 1, 3]
        assert list(found.forest.records()) == [alike] * 3
        release = ta.anonymize(forest, k=3, algorithm="miracle", l=1)
        assert release.verdict.holds and release.solution.suppressed == 1


def test_empty_records_are_a_group() -> None:
    forest = clinic([[], [hospital("H1")], [], [hospital("H1")]])
    assert miracle.search(forest, Guarantee(2)).forest == forest
    nobody = clinic([[], []])
    assert miracle.search(nobody, Guarantee(2)).forest == nobody


def test_k_of_one_changes_nothing() -> None:
    forest = clinic([[hospital("H1", ward("east", disease("D1")))], [hospital("H2")]])
    assert list(miracle.search(forest, Guarantee(1)).forest.records()) == list(forest.records())


def test_k_of_everybody_makes_all_equal() -> None:
    rnd = Random(5)
    forest = clinic(
        [[hospital(f"H{rnd.randint(1, 9)}", disease(f"D{rnd.randint(1, 9)}"))] for _ in range(40)],
    )
    found = miracle.search(forest, Guarantee(40))
    assert len(set(map(repr, found.forest.records()))) == 1
    assert found.forest.nodes == 80


def test_wide_lists_are_matched_in_order() -> None:
    """More pairs of siblings than are compared one by one, at the top and below."""
    wide = int(WIDE**0.5) + 8
    records = [
        [hospital(f"H{i}", *(disease(f"D{j:03}") for j in range(wide + shift))) for i in range(wide + shift)]
        for shift in (0, 3, 0)
    ]
    records.append([*records[0], disease("D001")])
    forest = clinic(records)
    found = miracle.search(forest, Guarantee(4))
    assert found.report["suppressed_nodes"] == 3 * (wide + 3) + 3 * wide + 3 + 1
    assert len(set(map(repr, found.forest.records()))) == 1
    assert found.forest[:1] == forest[:1]


def wide_lists(rnd: Random) -> None:
    least = int(WIDE**0.5) + 1
    values = [f"{i:03}" for i in range(least + 8)]
    records: list[Tree] = []
    for _ in range(rnd.randint(2, 4)):
        chosen = rnd.sample(values, rnd.randint(least, len(values)))
        tops = rnd.sample(values, rnd.randint(least, len(values)))
        records.append([*map(hospital, tops[1:]), hospital("000", *map(disease, chosen)), *map(disease, chosen)])
    forest = clinic(records)
    found = miracle.search(forest, Guarantee(len(records)))
    check_release(forest, found, len(records))
    diseases = [sum(name == "disease" for name, _, _ in record) for record in forest.records()]
    unmerged = forest.nodes - found.report["suppressed_nodes"]
    assert unmerged >= len(records) * min(diseases)


test_wide_lists, test_wide_lists_slow = properties(wide_lists, few=5, many=100)


def test_more_records_than_a_block() -> None:
    rnd = Random(1)
    forest = clinic([[hospital(f"H{rnd.randint(1, 9)}", disease(f"D{rnd.randint(1, 9)}"))] for _ in range(300)])
    seen: list[tuple[int, int | None]] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(miracle, "BLOCK", 50)
        found = miracle.search(forest, Guarantee(4), progress=lambda done, total: seen.append((done, total)))
        with pytest.MonkeyPatch.context() as inner:
            inner.setattr(miracle.os, "cpu_count", lambda: 1)
            single = miracle.search(forest, Guarantee(4))
    check_release(forest, found, 4)
    assert seen == sorted(seen) and seen[-1] == (300, 300) and len(seen) == 7
    assert np.array_equal(found.forest.label, single.forest.label)


def test_seeds_draw_the_order_of_equals() -> None:
    forest = clinic([[hospital("H1", disease("D1", outcome(str(i))))] for i in range(9)])
    first = miracle.search(forest, Guarantee(4), seed=3)
    assert first.solution.options == {"window": miracle.WINDOW, "climit": 150, "threshold": 0.1, "seed": 3}
    assert list(first.forest.records()) == list(forest.records())


def test_a_wider_window_keeps_more() -> None:
    rnd = Random(3)
    forest = clinic(
        [
            [hospital(f"H{rnd.randint(1, 30)}", disease(f"D{rnd.randint(1, 30)}")) for _ in range(rnd.randint(1, 3))]
            for _ in range(400)
        ]
    )
    worth = miracle._labels(forest.classes).worth
    kept = [worth[miracle.search(forest, Guarantee(5), window=window).forest.label].sum() for window in (5, 50, 400)]
    assert kept == sorted(kept)


def test_what_cannot_be() -> None:
    forest = clinic([[hospital("H1")], [hospital("H2")]])
    with pytest.raises(GuaranteeError, match="2 records are fewer than k = 3"):
        miracle.search(forest, Guarantee(3))
    with pytest.raises(GuaranteeError, match="no records"):
        miracle.search(forest[:0], Guarantee(1))
    with pytest.raises(UsageError, match="window"):
        miracle.search(forest, Guarantee(2), window=0)
    for bounds in ({"climit": 0}, {"threshold": -0.1}, {"threshold": 2}):
        with pytest.raises(UsageError, match="climit must be"):
            miracle.search(forest, Guarantee(2), **bounds)
