from __future__ import annotations

from itertools import pairwise
from random import Random

import numpy as np
import pytest

import treeanon as ta
from tests.reference import trees as slow
from tests.support.strategies import (
    Case,
    make_case,
    make_cut,
    make_pairs,
    make_records,
    parents_of,
    properties,
    shuffled,
)
from treeanon.errors import UsageError

FORMATS = ["ndjson", "json", "xml"]


def draw(rnd: Random) -> tuple[Case, list[slow.Tree], ta.Forest]:
    case = make_case(rnd, rnd.choice(FORMATS))
    records = make_records(rnd, case)
    return case, records, ta.Forest.from_records(case.schema, records)


def check_canonical(forest: ta.Forest) -> None:
    assert forest.nbytes <= 24 * forest.nodes + 8 * (len(forest) + 1)
    for lo, hi in pairwise(forest.offsets.tolist()):
        parent, label = forest.parent[lo:hi].tolist(), forest.label[lo:hi].tolist()
        open_nodes = [-1]
        last: dict[int, int] = {}
        for node, (above, code) in enumerate(zip(parent, label, strict=True)):
            # preorder: the parent is still open; siblings ascend strictly
            while open_nodes[-1] != above:
                open_nodes.pop()
            open_nodes.append(node)
            assert last.get(above, -1) < code
            last[above] = code


def merging(rnd: Random) -> None:
    _, records, forest = draw(rnd)
    assert list(forest.records()) == [slow.merged(record) for record in records]
    assert len(forest) == len(records)
    assert forest.nodes == sum(slow.count_nodes(slow.merged(record)) for record in records)
    check_canonical(forest)


def projecting(rnd: Random) -> None:
    _, records, forest = draw(rnd)
    cut = make_cut(rnd, forest)
    found = forest.project(cut)
    parents = parents_of(forest)
    assert list(found.records()) == [slow.projected(record, parents, cut) for record in records]
    check_canonical(found)
    assert found.project(cut) == found
    assert list(forest.project("*").records()) == [slow.projected_to_star(record) for record in records]


def disassociating(rnd: Random) -> None:
    _, records, forest = draw(rnd)
    pairs = make_pairs(rnd, records, most=6)
    found = forest.disassociate(pairs)
    assert list(found.records()) == [slow.disassociated_in_order(record, pairs) for record in records]
    check_canonical(found)
    one_by_one = forest
    for pair in pairs:
        one_by_one = one_by_one.disassociate([pair])
    assert one_by_one == found


def both(rnd: Random) -> None:
    _, records, forest = draw(rnd)
    cut = make_cut(rnd, forest)
    general = forest.project(cut)
    pairs = make_pairs(rnd, list(general.records()), most=6)
    found = general.disassociate(pairs)
    parents = parents_of(forest)
    expected = [slow.disassociated_in_order(slow.projected(r, parents, cut), pairs) for r in records]
    assert list(found.records()) == expected


def choosing(rnd: Random) -> None:
    _, records, forest = draw(rnd)
    plain = [slow.merged(record) for record in records]
    chosen = [rnd.randrange(-len(plain), len(plain)) for _ in range(rnd.randint(0, 5))]
    taken = forest.take(chosen)
    assert list(taken.records()) == [plain[i] for i in chosen]
    check_canonical(taken)
    bounds = [rnd.choice([None, rnd.randint(-8, 8)]) for _ in range(2)]
    part = slice(*bounds, rnd.choice([None, 1, 2, -1, -2]))
    assert list(forest[part].records()) == plain[part]
    assert forest[part].offsets[0] == 0
    index = rnd.randrange(-len(plain), len(plain))
    assert forest.record(index) == plain[index]


def comparing(rnd: Random) -> None:
    case, records, forest = draw(rnd)
    other = [shuffled(rnd, record) for record in records]
    rnd.shuffle(other)
    again = ta.Forest.from_records(case.schema, other)
    assert again == forest
    assert forest.take(list(range(len(forest)))[::-1]) == forest
    change = rnd.choice(["drop", "add", "value", "other"])
    if change == "drop":
        other.pop()
    elif change == "add":
        other.append(rnd.choice(other))
    elif change == "other":
        other = make_records(rnd, case)
    else:
        touched = [node for record in other for node in record if node[0] != "*"]
        if touched:
            node = rnd.choice(touched)
            published = next(f for f in case.published if f.name == node[0])
            node[1] = rnd.choice(published.values)
    different = ta.Forest.from_records(case.schema, other) if other else forest.take([])
    assert (different == forest) == (slow.multiset(other) == slow.multiset(records))


def relabeling(rnd: Random) -> None:
    """Any mapping of labels within their class is like changing the texts and merging."""
    _, records, forest = draw(rnd)
    classes = forest.classes
    mapping = np.arange(len(classes), dtype=np.int32)
    for first, stop in pairwise(classes.first.tolist()):
        for label in range(first, stop):
            if rnd.random() < 0.5:
                mapping[label] = rnd.randrange(first, stop)

    def renamed(nodes: slow.Tree) -> slow.Tree:
        return [
            [*classes.decode(int(mapping[classes.label(name, value)])), renamed(below)] for name, value, below in nodes
        ]

    found = forest.relabel(mapping)
    assert list(found.records()) == [slow.merged(renamed(record)) for record in records]
    check_canonical(found)


test_merging, test_merging_thorough = properties(merging)
test_projecting, test_projecting_thorough = properties(projecting)
test_disassociating, test_disassociating_thorough = properties(disassociating)
test_projecting_then_disassociating, test_projecting_then_disassociating_thorough = properties(both)
test_choosing, test_choosing_thorough = properties(choosing)
test_comparing, test_comparing_thorough = properties(comparing)
test_relabeling, test_relabeling_thorough = properties(relabeling)


def trees_schema(*names: str, under: dict[str, str] | None = None) -> ta.Schema:
    text = 'version = 1\n[input]\nformat = "trees"\n'
    for name in names:
        text += f'[[class]]\nname = "{name}"\n' + (f'under = "{under[name]}"\n' if under and name in under else "")
    return ta.Schema.loads(text)


def test_many_equal_siblings_are_sorted_and_merged() -> None:
    # more siblings than the insertion sort of the kernel takes
    schema = trees_schema("a", "b", under={"b": "a"})
    record = [["a", f"v{i % 97}", [["b", f"w{i % 7}", []]]] for i in range(500)]
    forest = ta.Forest.from_records(schema, [record, record[:30], []])
    assert list(forest.records()) == [slow.merged(record), slow.merged(record[:30]), []]
    check_canonical(forest)


def test_a_forest_without_records() -> None:
    forest = ta.Forest.from_records(trees_schema("a"), [])
    assert len(forest) == 0 and forest.nodes == 0 and list(forest.records()) == []
    assert forest == forest.project("*") == forest.disassociate([]) == forest.take([]) == forest[:]


def test_different_class_trees_are_different() -> None:
    record = [["a", "1", []], ["b", "1", []]]
    flat, nested = trees_schema("a", "b"), trees_schema("a", "b", under={"b": "a"})
    assert ta.Forest.from_records(flat, [record]) != ta.Forest.from_records(nested, [record])


def test_a_cut_must_cover_every_leaf() -> None:
    forest = ta.Forest.from_records(trees_schema("a"), [[["a", "1", []], ["a", "2", []]]])
    with pytest.raises(UsageError, match="every leaf"):
        forest.project({"a": ["1"]})
    with pytest.raises(UsageError):
        forest.project("a")
    with pytest.raises(UsageError):
        forest.project({"b": ["*"]})


def test_records_that_do_not_exist() -> None:
    forest = ta.Forest.from_records(trees_schema("a"), [[], [["a", "1", []]]])
    for index in (2, -3):
        with pytest.raises(IndexError):
            forest.record(index)
        with pytest.raises(IndexError):
            forest.take([index])
    assert forest.record(-1) == [["a", "1", []]]
