from __future__ import annotations

from collections import Counter
from random import Random

import networkx as nx
import numpy as np
import pytest
import slow_flat_losses as slow
from hypothesis import given, settings
from hypothesis import strategies as st

from treeanon.algorithms.flat import attribute_suppression, cell_suppression, tuple_suppression
from treeanon.errors import GuaranteeError, UsageError
from treeanon.hierarchy import Hierarchy
from treeanon.kernels.cell_suppression import cut_trees, grow_forest
from treeanon.table import Table

TWO = [[["a", "*"], ["b", "*"]]]
# CHAP, Figure 1: the patients as they are (ZIP, marital status, sex).
PATIENTS = """22030 married F; 22030 married F; 22030 single M; 22032 single M; 22032 divorced F; 22045 married M;
22047 widow M; 22047 widow M; 22032 single M; 22032 married F"""


def table_of(rows):
    columns = list(zip(*rows, strict=True))
    hierarchies = [Hierarchy.flat(sorted(set(column))) for column in columns]
    return Table.of_texts({f"c{i}": pair for i, pair in enumerate(zip(columns, hierarchies, strict=True))})


def patients():
    return table_of([row.split() for row in PATIENTS.split(";")])


def assert_holds(released, k):
    """What shares nothing with the code: the texts of the rows, counted."""
    assert all(n >= k for n in Counter(released.rows()).values())


def assert_only_suppressed(original, released):
    """Every cell is as it was, or says nothing."""
    for before, after in zip(original.columns, released.columns, strict=True):
        nothing = before.hierarchy.root if before.hierarchy.height else None
        assert all(b in (a, nothing) for a, b in zip(before.texts(), after.texts(), strict=True))


def test_the_patients_of_the_chapter():
    table = patients()
    # With k = 3 every tuple as it is must go; the vectors say so too (suppression_needed_k3 of [0, 0, 0]).
    assert tuple_suppression.search(table, 3).rows == 10
    assert tuple_suppression.search(table, 2).rows == 4
    found = attribute_suppression.search(table, 3, max_suppressed=1)
    rows = list(table.rows())
    assert (len(found.columns), found.rows) == slow.fewest_columns(rows, 3, 3, 1)[:2]
    cells = cell_suppression.search(table, 2)
    best = slow.fewest_cells(rows, 2)
    assert best <= cells.cells <= 2 * best
    assert_holds(cells.table, 2)


@given(slow.tables(), st.integers(1, 4))
def test_tuple_suppression_takes_just_the_rare_rows(table, k):
    found = tuple_suppression.search(table, k)
    counts = Counter(table.rows())
    assert list(found.table.rows()) == [row for row in table.rows() if counts[row] >= k]
    assert found.rows == len(table) - len(found.table)
    assert tuple_suppression.search(table, k, max_suppressed=found.rows).rows == found.rows
    if found.rows:
        with pytest.raises(GuaranteeError, match="would be suppressed"):
            tuple_suppression.search(table, k, max_suppressed=found.rows - 1)


@given(slow.tables(min_rows=1, max_columns=4), st.integers(1, 4), st.integers(0, 3))
def test_attribute_suppression_equals_brute_force(table, k, most):
    if len(table) < k:
        with pytest.raises(GuaranteeError, match="cannot be"):
            attribute_suppression.search(table, k, max_suppressed=most)
        return
    found = attribute_suppression.search(table, k, max_suppressed=most)
    columns, out, groups = slow.fewest_columns(list(table.rows()), len(table.quasi), k, most)
    names = {column.name: i for i, column in enumerate(table.quasi)}
    kept = [i for name, i in names.items() if name not in found.columns]
    sizes = Counter(tuple(row[i] for i in kept) for row in table.rows()).values()
    assert (len(found.columns), found.rows, sum(n >= k for n in sizes)) == (columns, out, -groups)
    assert found.cells == columns * len(found.table)
    assert found.is_optimal
    assert_holds(found.table, k)


@given(slow.tables(min_rows=2, max_columns=4), st.integers(1, 3), st.integers(0, 2))
def test_greedy_attribute_suppression_holds_and_needs_what_it_takes(table, k, most):
    if len(table) < k:
        return
    found = attribute_suppression.search(table, k, max_suppressed=most, exact=0)
    assert not found.is_optimal
    assert found.rows <= most
    assert_holds(found.table, k)
    for name in found.columns:
        kept = [i for i, c in enumerate(table.quasi) if c.name == name or c.name not in found.columns]
        sizes = Counter(tuple(row[i] for i in kept) for row in table.rows()).values()
        assert sum(n for n in sizes if n < k) > most


def test_many_columns_are_few_looks():
    rng = np.random.default_rng(5)
    rows = [[str(x) for x in row] for row in rng.integers(0, 3, (200, 30))]
    found = attribute_suppression.search(table_of(rows), 5)
    assert_holds(found.table, 5)
    assert found.checked < 30 * 30


def test_persons_with_several_rows_are_counted_once():
    hierarchy = Hierarchy.flat(["a", "b"])
    rows = Table.of_texts({"c0": (["a", "a", "a", "b", "b"], hierarchy)})
    table = Table(rows.columns, np.array([7, 7, 7, 1, 2], np.int32))
    assert list(tuple_suppression.search(table, 2).table.rows()) == [("b",), ("b",)]
    assert tuple_suppression.search(table, 2, max_suppressed=1).rows == 3
    assert attribute_suppression.search(table, 2).columns == ("c0",)
    assert attribute_suppression.search(table, 2, max_suppressed=1).columns == ()
    with pytest.raises(GuaranteeError, match="3 persons"):
        attribute_suppression.search(table, 4)
    with pytest.raises(UsageError, match="one row a person"):
        cell_suppression.search(table, 2)


@settings(max_examples=60, deadline=None)
@given(slow.tables(min_rows=2, max_rows=8, max_columns=4), st.integers(2, 4))
def test_forest_keeps_its_bound(table, k):
    if len(table) < k:
        with pytest.raises(GuaranteeError, match="cannot be"):
            cell_suppression.search(table, k)
        return
    found = cell_suppression.search(table, k, method="forest")
    assert_holds(found.table, k)
    assert_only_suppressed(table, found.table)
    best = slow.fewest_cells(list(table.rows()), k)
    assert best <= found.cells <= max(2 * k - 1, 3 * k - 5) * best


@settings(max_examples=60, deadline=None)
@given(slow.tables(min_rows=2, max_rows=8, max_columns=5))
def test_matching_keeps_its_bound(table):
    found = cell_suppression.search(table, 2)
    assert_holds(found.table, 2)
    assert_only_suppressed(table, found.table)
    values = [len(set(column.texts())) for column in table.quasi]
    best = slow.fewest_cells(list(table.rows()), 2)
    assert best <= found.cells <= (1.5 if max(values) <= 2 else 2) * best


@settings(max_examples=60, deadline=None)
@given(slow.tables(min_rows=2, max_rows=8, max_columns=6, paths=TWO))
def test_matching_keeps_one_and_a_half_where_columns_have_two_values(table):
    rows = [tuple(text or "a" for text in row) for row in table.rows()]
    found = cell_suppression.search(table_of(rows), 2, method="matching")
    assert found.cells <= 1.5 * slow.fewest_cells(rows, 2)


def test_one_two_factor_weighs_the_least():
    for seed in range(40):
        rnd = Random(seed)
        rows, columns = rnd.randint(2, 6), rnd.randint(1, 5)
        values = np.array([[rnd.randint(0, 2) for _ in range(columns)] for _ in range(rows)], np.int32)
        group = cell_suppression.one_two_factor(values)
        assert set(Counter(group.tolist()).values()) <= {2, 3}

        def apart(i, j, values=values):
            return int((values[i] != values[j]).sum())

        def weight(part):
            hubs = [sum(apart(i, j) for j in part) for i in part]
            return min(hubs) if len(part) == 3 else apart(*part)

        parts = [[i for i in range(rows) if group[i] == g] for g in set(group.tolist())]
        small = (p for p in slow.partitions(tuple(range(rows)), 2) if max(map(len, p)) <= 3)
        assert sum(map(weight, parts)) == min(sum(map(weight, p)) for p in small)


@settings(max_examples=200, deadline=None)
@given(st.integers(2, 7), st.integers(0, 10**6), st.sampled_from([0.0, 0.5, 0.95]), st.booleans())
def test_decomposed_trees_are_small_and_share_no_edge(k, seed, bias, is_shuffled):
    rnd = Random(seed)
    nodes = rnd.randint(k, 8 * k)
    # Biased to one hub, or to long paths.
    parent = [-1] + [0 if rnd.random() < bias else rnd.randint(max(0, v - 3), v - 1) for v in range(1, nodes)]
    names = list(range(nodes))
    if is_shuffled:
        rnd.shuffle(names)
    moved = np.full(nodes, -1, np.int64)
    for v in range(1, nodes):
        moved[names[v]] = names[parent[v]]
    group = cell_suppression.decompose(moved, k)
    parts = {}
    for v in range(nodes):
        parts.setdefault(int(group[v]), []).append(v)
    assert min(map(len, parts.values())) >= k
    assert max(map(len, parts.values())) <= max(2 * k - 1, 3 * k - 5)
    tree = nx.Graph([(v, int(p)) for v, p in enumerate(moved.tolist()) if p >= 0])
    used = Counter()
    for part in parts.values():
        paths = (nx.shortest_path(tree, part[0], v) for v in part)
        used.update({frozenset(edge) for path in paths for edge in nx.utils.pairwise(path)})
    assert max(used.values(), default=0) <= 1


@given(st.integers(2, 8), st.data())
def test_bundles_are_within_the_bound(k, data):
    sizes = data.draw(st.lists(st.integers(1, k - 1), min_size=2, max_size=20))
    if sum(sizes) + 1 < 2 * k:
        return
    bundles = cell_suppression.bundled(sizes, k)
    assert sorted(i for bundle in bundles for i in bundle) == list(range(len(sizes)))
    totals = [sum(sizes[i] for i in bundle) + (number == 0) for number, bundle in enumerate(bundles)]
    assert k <= min(totals) <= max(totals) <= max(2 * k - 1, 3 * k - 5)


@settings(max_examples=60)
@given(st.integers(1, 5), st.integers(0, 10**6))
def test_forest_links_to_rows_near_enough(k, seed):
    rnd = np.random.default_rng(seed)
    values = np.unique(rnd.integers(0, 3, (rnd.integers(1, 12), 3)), axis=0).astype(np.int32)
    counts = rnd.integers(1, 3, len(values))
    if counts.sum() < k:
        return
    link = grow_forest(values, counts, k)
    graph = nx.Graph()
    graph.add_nodes_from(range(len(values)))
    graph.add_edges_from((u, v) for u, v in enumerate(link.tolist()) if v >= 0)
    assert nx.is_forest(graph)
    assert all(sum(counts[v] for v in tree) >= k for tree in nx.connected_components(graph))
    for u, v in enumerate(link.tolist()):
        if v >= 0:
            # No further than its (k - 1)th neighbour, equal rows among these.
            apart = np.repeat((values != values[u]).sum(axis=1), counts)
            assert (values[u] != values[v]).sum() <= np.sort(apart)[k - 1]


def test_cut_trees_leaves_no_edge_to_cut():
    parent = np.array([-1, 0, 1, 2, 3, 4, 5, 6])
    left, order, below, tree = cut_trees(parent, 3)
    assert Counter(tree.tolist()) == {0: 5, 5: 3}
    assert left.tolist() == [-1, 0, 1, 2, 3, -1, 5, 6]
    assert order.tolist() == [7, 6, 5, 4, 3, 2, 1, 0]
    assert below.tolist() == [5, 4, 3, 2, 1, 3, 2, 1]


@pytest.mark.parametrize("form", [tuple_suppression, attribute_suppression, cell_suppression])
def test_odd_tables(form):
    empty = Table.of_texts({"c0": ([], Hierarchy.flat(["a", "b"]))})
    assert len(form.search(empty, 2).table) == 0
    constant = table_of([["a", "b"]] * 5)
    found = form.search(constant, 5)
    assert (found.rows, found.cells, found.columns, len(found.table)) == (0, 0, (), 5)
    nulls = Table.of_texts({"c0": ([None] * 4, Hierarchy.flat(["a"])), "c1": ([None, "a"] * 2, Hierarchy.flat(["a"]))})
    assert_holds(form.search(nulls, 2).table, 2)
    with pytest.raises(UsageError, match="whole number"):
        form.search(constant, 0)


def test_one_row_and_wrong_methods():
    one = table_of([["a"]])
    assert tuple_suppression.search(one, 2).rows == 1
    with pytest.raises(GuaranteeError, match="cannot be 2-anonymous"):
        cell_suppression.search(one, 2)
    three = table_of([["a"], ["b"], ["b"]])
    with pytest.raises(UsageError, match="forest or matching"):
        cell_suppression.search(three, 2, method="clusters")
    with pytest.raises(UsageError, match="for k = 2"):
        cell_suppression.search(three, 3, method="matching")
    assert cell_suppression.search(three, 1).cells == 0


def test_a_column_whose_root_is_its_only_value_is_suppressed_as_missing():
    only = Hierarchy.from_paths([["only"]])
    table = Table.of_texts({"c0": (["only", None], only)})
    assert list(cell_suppression.search(table, 2).table.rows()) == [(None,), (None,)]
    assert list(attribute_suppression.search(table, 2).table.rows()) == [(None,), (None,)]
