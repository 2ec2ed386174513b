"""The compiled loops against plain Python, and the whole package with compilation switched off."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.reference.onedim import random_table
from tests.support.paths import ROOT
from tests.support.profiles import few
from tests.support.strategies import properties
from treeanon.algorithms.table import local, mondrian
from treeanon.algorithms.table.freeform.heuristics import greedy
from treeanon.algorithms.table.onedim.costs import best_cuts, ncp_costs, table_costs
from treeanon.algorithms.table.onedim.orders import ordered
from treeanon.algorithms.table.problem import Problem
from treeanon.kernels import jit
from treeanon.kernels.jsontext import array_items, repeats_a_key, value_end
from treeanon.kernels.sorting import sort
from treeanon.kernels.tree import objects
from treeanon.kernels.tree.forest import canonical, gather, group_by_record, hash_records
from treeanon.kernels.verify.knowledge import rows_of_first
from treeanon.privacy.models import KAnonymity
from treeanon.table import Table


def random_trees(rnd: Random, records: int) -> list[list[tuple[int, int]]]:
    """(parent, label) of the nodes of each record, parents in any order."""
    out = []
    for _ in range(records):
        size = rnd.choice([0, 1, 3, 8, 40])
        ups = [rnd.randint(-1, i - 1) for i in range(size)]
        place = list(range(size))
        rnd.shuffle(place)
        nodes = [(0, 0)] * size
        for i in range(size):
            nodes[place[i]] = (-1 if ups[i] < 0 else place[ups[i]], rnd.randrange(5))
        out.append(nodes)
    return out


def arrays(trees: list[list[tuple[int, int]]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    offsets = np.cumsum([0, *map(len, trees)]).astype(np.int64)
    flat = [node for nodes in trees for node in nodes]
    return offsets, *(np.array([node[i] for node in flat], np.int32) for i in (0, 1))


def slow_canonical(nodes: list[tuple[int, int]], rank: list[int]) -> list[tuple[int, int]]:
    out: list[tuple[int, int]] = []

    def visit(members: set[int], above: int) -> None:
        below = [i for i, (up, _) in enumerate(nodes) if up in members]
        for label in sorted({nodes[i][1] for i in below}, key=rank.__getitem__):
            out.append((above, label))
            visit({i for i in below if nodes[i][1] == label}, len(out) - 1)

    visit({-1}, -1)
    return out


def canonical_form(rnd: Random) -> None:
    trees = random_trees(rnd, rnd.randint(0, 4))
    rank = list(range(5))
    rnd.shuffle(rank)
    offsets, parent, label = canonical(*arrays(trees), np.array(rank, np.int32))
    expected = arrays([slow_canonical(nodes, rank) for nodes in trees])
    assert [a.tolist() for a in (offsets, parent, label)] == [a.tolist() for a in expected]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(objects, "_MANY_NODES", 0)
        patch.setattr(os, "cpu_count", lambda: 3)
        again = objects.canonical_trees(*arrays(trees), np.array(rank, np.int32), 0)
    assert [a.tolist() for a in again] == [a.tolist() for a in expected]
    again = canonical(offsets, parent, label, np.array(rank, np.int32))
    assert [a.tolist() for a in again] == [a.tolist() for a in expected]


def gathering(rnd: Random) -> None:
    trees = random_trees(rnd, 4)
    chosen = [rnd.randrange(4) for _ in range(rnd.randint(0, 6))]
    found = gather(*arrays(trees), np.array(chosen, np.int64))
    assert [a.tolist() for a in found] == [a.tolist() for a in arrays([trees[i] for i in chosen])]


def grouping(rnd: Random) -> None:
    """Nodes of all records mixed, parents counted over all of them: the same trees, record by record."""
    trees = random_trees(rnd, 4)
    nodes = [(record, i) for record, found in enumerate(trees) for i in range(len(found))]
    rnd.shuffle(nodes)
    at = {node: number for number, node in enumerate(nodes)}
    record = np.array([r for r, _ in nodes], np.int32)
    parent = np.array([-1 if trees[r][i][0] < 0 else at[r, trees[r][i][0]] for r, i in nodes], np.int32)
    label = np.array([trees[r][i][1] for r, i in nodes], np.int32)
    rank = np.arange(5, dtype=np.int32)
    found = canonical(*group_by_record(record, parent, label, 4), rank)
    assert [a.tolist() for a in found] == [a.tolist() for a in canonical(*arrays(trees), rank)]


def hashing(rnd: Random) -> None:
    rank = np.arange(5, dtype=np.int32)
    trees = [slow_canonical(nodes, list(range(5))) for nodes in random_trees(rnd, 30)]
    hashes = hash_records(*canonical(*arrays(trees), rank), 1).tolist()
    for i, first in enumerate(trees):
        for j, second in enumerate(trees):
            assert (hashes[i] == hashes[j]) == (first == second)


def sorting(rnd: Random) -> None:
    """Whatever lies beside the part that is sorted stays where it is."""
    size, most = rnd.choice([1, 2, 24, 25, 60, 300]), rnd.choice([2, 1000])
    values = [rnd.randint(-most, most) for _ in range(size)]
    lo, hi = sorted(rnd.randrange(size + 1) for _ in range(2))
    found = np.array(values, np.int64)
    sort(found, lo, hi)
    assert found.tolist() == [*values[:lo], *sorted(values[lo:hi]), *values[hi:]]


def random_value(rnd: Random, depth: int = 0) -> object:
    kind = rnd.randrange(7 if depth < 4 else 5)
    if kind == 5:
        return [random_value(rnd, depth + 1) for _ in range(rnd.randint(0, 4))]
    if kind == 6:
        keys = [rnd.choice(["a", "b", 'q"', "é", "]", "\\"]) for _ in range(rnd.randint(0, 4))]
        return {key: random_value(rnd, depth + 1) for key in keys}
    return [None, True, rnd.choice([0, -1.5, 1e300]), rnd.choice(["", "}", '"', "\\", ",", "é"]), "x"][kind]


def spans_of_values(rnd: Random) -> None:
    items = [random_value(rnd) for _ in range(rnd.randint(0, 6))]
    indent = rnd.choice([None, 1])
    text = json.dumps(items, indent=indent, ensure_ascii=rnd.random() < 0.5).encode()
    data = np.frombuffer(text + rnd.choice([b"", b" ", b",", b"\n}"]), np.uint8)
    assert value_end(data, 0) == len(text)
    spans = np.empty((rnd.randint(1, 4), 2), np.int64)
    found, at, closed = [], 1, False
    while not closed:
        count, at, closed = array_items(data, at, spans)
        assert count >= 0
        found.extend(json.loads(text[a:b]) for a, b in spans[:count].tolist())
    assert found == items and at == len(text)


def repeated_keys(rnd: Random) -> None:
    """A repetition is never missed; plain texts without one are never suspected."""

    def write(value: object, twice: bool) -> str:
        if isinstance(value, dict):
            pairs = [f"{json.dumps(key)}:{write(inner, twice)}" for key, inner in value.items()]
            if twice and pairs and rnd.random() < 0.5:
                repeats.append(True)
                pairs.append(rnd.choice(pairs))
            return "{" + ",".join(pairs) + "}"
        if isinstance(value, list):
            return "[" + ",".join(write(inner, twice) for inner in value) + "]"
        return json.dumps(value)

    repeats: list[bool] = []
    text = write(random_value(rnd), rnd.random() < 0.5).encode()
    data = np.frombuffer(text, np.uint8)
    found = repeats_a_key(data, 0, len(data))
    if repeats:
        assert found
    elif b"\\" not in text:
        assert not found


def relations_from_a_label_on(rnd: Random) -> None:
    """Persons with many labels: the relations of all that come after one, in as many words as that takes."""
    kinds, sizes = rnd.randint(1, 3), [rnd.choice([1, 5, 63, 64, 65, 130]) for _ in range(rnd.randint(1, 3))]
    bits = [[[rnd.getrandbits(p) for _ in range(kinds)] for p in range(size)] for size in sizes]
    start = np.cumsum([0, *sizes]).astype(np.int64)
    item = np.concatenate([np.arange(size) for size in sizes]).astype(np.int32)
    needed = [(size + 63) // 64 for size in sizes]
    rel_start = np.cumsum([0, *(size * kinds * words for size, words in zip(sizes, needed, strict=True))])
    rel = np.array([w for row, n in zip(bits, needed, strict=True) for p in row for d in p for w in words_of(d, n)])
    place = [rnd.randrange(size) for size in sizes]
    holder, ones = np.arange(len(sizes), dtype=np.int32), np.ones(len(sizes), np.int32)
    known, places = np.array(sizes, np.int32), np.array(place, np.int32)
    begin, items, words, width, _, _ = rows_of_first(
        start, item, known, rel_start.astype(np.int64), rel, ones, holder, places, kinds
    )
    assert items.tolist() == [p for size, first in zip(sizes, place, strict=True) for p in range(first, size)]
    expected = [[d >> first for p in row[first:] for d in p] for row, first in zip(bits, place, strict=True)]
    assert words.tolist() == [w for row in expected for d in row for w in words_of(d, width)]
    assert begin.tolist() == np.cumsum([0, *(size - first for size, first in zip(sizes, place, strict=True))]).tolist()


def words_of(bits: int, width: int) -> list[int]:
    return np.frombuffer(bits.to_bytes(8 * width, "little"), np.int64).tolist()


test_canonical, test_canonical_thorough = properties(canonical_form)
test_gathering, test_gathering_thorough = properties(gathering, 50)
test_grouping, test_grouping_thorough = properties(grouping, 50)
test_sorting, test_sorting_thorough = properties(sorting)
test_hashing, test_hashing_thorough = properties(hashing, 20, 300)
test_spans_of_values, test_spans_of_values_thorough = properties(spans_of_values)
test_repeated_keys, test_repeated_keys_thorough = properties(repeated_keys)
test_relations_from_a_label_on, test_relations_from_a_label_on_thorough = properties(relations_from_a_label_on, 50)


def found_by_all(table: Table, k: int, style: Any) -> list[list[Any]]:
    """Return what the searches find that leave few rows to Python."""
    problem, found = Problem(table, (KAnonymity(k),)), list[Any]()
    for form in ("taxonomy", "set"):
        costs = table_costs(table, form, style)
        for name in ("adaptive", "lexicographic", "hilbert", "idistance"):
            order = ordered(table, name, k=k, form=form, style=style)
            found += [order.rows, order.places, *best_cuts(ncp_costs(costs, order.rows), len(table), k)]
    found += [
        mondrian.search(problem, mode=mode, split=split, style=style).group
        for mode in ("strict", "relaxed")
        for split in ("ncp", "median")
    ]
    drawn = greedy(problem, style=style, seed=1)
    found += [local.search(problem).group, drawn.graph.edges, drawn.original]
    return [np.asarray(each).tolist() for each in found]


@few(8, 200)
@given(st.randoms(use_true_random=False))
def test_few_rows_end_uncompiled_where_they_do_compiled(rnd: Random) -> None:
    rnd = Random(rnd.getrandbits(32))
    table = random_table(rnd, rnd.randint(2, 40))
    k, style = rnd.randint(1, min(5, len(table))), rnd.choice(["auto", "sets", "ranges", "hierarchy"])
    with pytest.MonkeyPatch.context() as patch:
        compiled = found_by_all(table, k, style)
        patch.setattr(jit, "FEW", 128)
        assert found_by_all(table, k, style) == compiled


@pytest.mark.skipif(not hasattr(sort, "py_func"), reason="nothing is compiled")
def test_few_rows_are_not_worth_compiling() -> None:
    work = np.array([3, 1, 2])
    assert jit.for_rows(sort, jit.FEW + 1) is sort
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jit, "FEW", 3)
        uncompiled = jit.for_rows(sort, 3)
    assert uncompiled is not sort
    uncompiled(work, 0, 3)
    assert work.tolist() == [1, 2, 3]


UNCOMPILED = """
import sys, tempfile
from pathlib import Path
import numba
assert numba.config.DISABLE_JIT
import treeanon as ta
schema = ta.Schema.loads('''
version = 1
[input]
format = "ndjson"
objects = "merged"
[[class]]
name = "hospital"
path = "visits[].hospital"
[[class]]
name = "disease"
path = "visits[].diagnoses[].name"
[[class]]
name = "tag"
path = "tags[k=A].v"
''')
folder = Path(tempfile.mkdtemp())
lines = (
    '{"visits":[{"hospital":"H1","x":1,"diagnoses":[{"name":"Flu"},{"name":"Asthma"}]}],"tags":[{"k":"A","v":1},{}]}',
    '{"visits":{"diagnoses":[{"name":"Flu"}]}}',
    "{}",
)
(folder / "in.ndjson").write_text("".join(line + chr(10) for line in lines))
forest = ta.read(folder / "in.ndjson", schema)
assert list(forest.records()) == [
    [["hospital", "H1", [["disease", "Asthma", []], ["disease", "Flu", []]]], ["tag", "1", []]],
    [["disease", "Flu", []]],
    [],
], list(forest.records())
found = forest.disassociate([(("hospital", "H1"), ("disease", "Flu"))])
assert found.record(0) == [["disease", "Flu", []], ["hospital", "H1", [["disease", "Asthma", []]]], ["tag", "1", []]]
assert found != forest and forest == forest.take([2, 0, 1])
for name in ("o.json", "o.xml", "o.ndjson", "o.trees.jsonl"):
    ta.write(found, folder / name)
    form = "trees" if name.endswith("jsonl") else name[2:]
    assert ta.read(folder / name, schema.for_format(form), format=form) == found, name
print("done")
"""


def test_without_compilation() -> None:
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    root = ROOT
    done = subprocess.run([sys.executable, "-c", UNCOMPILED], env=environment, capture_output=True, text=True, cwd=root)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "done\n"
