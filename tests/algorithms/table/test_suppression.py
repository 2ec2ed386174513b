from __future__ import annotations

from collections import Counter, defaultdict
from random import Random

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.reference import table_losses as slow
from tests.reference.suppression import fewest_columns, groups_without, random_world, worth_without
from tests.support.profiles import few
from tests.support.strategies import properties
from treeanon.algorithms.table import cell_suppression
from treeanon.algorithms.table.problem import Problem
from treeanon.algorithms.table.suppression import attribute_suppression, tuple_suppression
from treeanon.errors import GuaranteeError, UsageError
from treeanon.hierarchy import Hierarchy
from treeanon.kernels.table.cell_suppression import cut_trees, grow_forest, merge_nearest
from treeanon.privacy.models import DistinctDiversity, KAnonymity
from treeanon.release import anonymize_table
from treeanon.table import Table
from treeanon.verifier.table import check

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


def k_anonymous(form, table, k, most=None, **options):
    """What a form of suppression finds; without a limit if none is given."""
    return form(Problem(table, (KAnonymity(k),), len(table) if most is None else most), **options)


def assert_holds(released, k):
    """What shares nothing with the code: the texts of the rows, counted."""
    assert all(n >= k for n in Counter(released.rows()).values())


def assert_only_suppressed(original, released):
    """Every cell is as it was, or says nothing."""
    for before, after in zip(original.columns, released.columns, strict=True):
        nothing = before.hierarchy.root if before.role == "quasi" else None
        assert all(b in (a, nothing) for a, b in zip(before.texts(), after.texts(), strict=True))


def assert_checked(problem, found):
    """The independent check holds, and so does what is said of the rows."""
    assert all(one.holds for one in check(found.table, problem.models, reference=problem.table))
    assert (
        found.counts["rows_suppressed"] == len(problem.table) - len(found.table) == len(problem.table) - len(found.rows)
    )
    assert found.recoded(problem.table) == (found.table, found.rows)


def test_the_patients_of_the_chapter():
    table = patients()
    # With k = 3 every tuple as it is must go; the vectors say so too (suppression_needed_k3 of [0, 0, 0]).
    assert k_anonymous(tuple_suppression, table, 3).suppressed == 10
    assert k_anonymous(tuple_suppression, table, 2).suppressed == 4
    found = k_anonymous(attribute_suppression, table, 3, most=1)
    rows = list(table.rows())
    assert (len(found.counts["columns"]), found.suppressed) == slow.fewest_columns(rows, 3, 3, 1)[:2]
    cells = k_anonymous(cell_suppression.search, table, 2)
    best = slow.fewest_cells(rows, 2)
    assert best <= cells.counts["cells"] <= 2 * best
    assert_holds(cells.table, 2)


@given(slow.tables(), st.integers(1, 4))
def test_tuple_suppression_takes_just_the_rare_rows(table, k):
    found = k_anonymous(tuple_suppression, table, k)
    counts = Counter(table.rows())
    assert list(found.table.rows()) == [row for row in table.rows() if counts[row] >= k]
    lost = len(table) - len(found.table)
    assert found.suppressed == found.counts["rows_suppressed"] == lost
    assert k_anonymous(tuple_suppression, table, k, most=lost).suppressed == lost
    if lost:
        with pytest.raises(GuaranteeError, match="persons left out"):
            k_anonymous(tuple_suppression, table, k, most=lost - 1)


def tuples_by_all_models(rnd):
    problem, world = random_world(rnd)
    bottom = (0,) * len(world.paths)
    lost = world.suppressed(bottom)
    if lost > world.limit:
        with pytest.raises(GuaranteeError):
            tuple_suppression(problem)
        return
    found = tuple_suppression(problem)
    assert sorted(found.table.rows(), key=repr) == world.release(bottom)
    assert found.suppressed == lost
    assert found.counts["published"] == world.published(bottom)
    assert_checked(problem, found)


test_tuples_by_all_models, test_tuples_by_all_models_thoroughly = properties(tuples_by_all_models, 50, 2000)


def columns_by_all_models(rnd):
    problem, world = random_world(rnd)
    best = fewest_columns(world)
    if best is None:
        with pytest.raises(GuaranteeError):
            attribute_suppression(problem)
        return
    found = attribute_suppression(problem)
    names = [column.name for column in problem.table.quasi]
    gone = {names.index(name) for name in found.counts["columns"]}
    assert worth_without(world, gone) == best
    assert found.suppressed == best[1]
    assert found.counts["optimal"]
    assert found.counts["lattice"] == 2 ** len(names) >= found.counts["checked"]
    assert_checked(problem, found)
    if not world.rows:
        return
    # What is published, said by the rows: those of groups that hold, without the columns that are gone.
    kept = {id(row) for rows in groups_without(world, gone).values() if world.holds(rows) for row in rows}
    shown = [row for row in world.rows if id(row) in kept]
    assert found.rows.tolist() == [i for i, row in enumerate(world.rows) if id(row) in kept]
    for c, name in enumerate(names):
        hierarchy = problem.table.column(name).hierarchy
        nothing = hierarchy.root
        assert found.table.column(name).texts() == [nothing if c in gone else row.quasi[c] for row in shown]


test_columns_by_all_models, test_columns_by_all_models_thoroughly = properties(columns_by_all_models, 50, 2000)


def test_of_sets_as_good_the_one_with_more_groups_is_kept():
    table = table_of([[a, b] for a, b in zip("aaaabbbb", "ppqqrrss", strict=True)])
    # Together they are pairs as well, but for one: so one column must go, and either would do.
    found = k_anonymous(attribute_suppression, table_of([*table.rows(), ("b", "p"), ("a", "s")]), 2, most=0)
    assert (found.counts["columns"], len(set(found.table.rows()))) == (("c0",), 4)


@given(slow.tables(min_rows=2, max_columns=4), st.integers(1, 3), st.integers(0, 2))
def test_greedy_attribute_suppression_holds_and_needs_what_it_takes(table, k, most):
    if len(table) < k:
        return
    found = k_anonymous(attribute_suppression, table, k, most=most, exact=0)
    gone = found.counts["columns"]
    assert found.counts["optimal"] == (not gone)
    assert found.suppressed <= most
    assert_holds(found.table, k)
    for name in gone:
        kept = [i for i, c in enumerate(table.quasi) if c.name == name or c.name not in gone]
        sizes = Counter(tuple(row[i] for i in kept) for row in table.rows()).values()
        assert sum(n for n in sizes if n < k) > most


def cells_by_all_models(rnd):
    problem, world = random_world(rnd)
    if len({row.person for row in world.rows}) < len(world.rows):
        with pytest.raises(UsageError, match="one row a person"):
            cell_suppression.search(problem)
        return
    if world.rows and not world.holds(world.rows):
        with pytest.raises(GuaranteeError):
            cell_suppression.search(problem)
        return
    found = cell_suppression.search(problem)
    assert_checked(problem, found)
    assert_only_suppressed(problem.table, found.table)
    groups = defaultdict(list)
    for row, shown in zip(world.rows, zip(*(c.texts() for c in found.table.quasi), strict=True), strict=True):
        groups[shown].append(row)
    assert all(map(world.holds, groups.values()))
    assert found.suppressed == 0
    # What a column without a root lacks looks like what is suppressed.
    looks_alike = any(column.hierarchy.height == 0 for column in problem.table.quasi)
    assert looks_alike or found.counts["groups"] == len(groups)


test_cells_by_all_models, test_cells_by_all_models_thoroughly = properties(cells_by_all_models, 75, 2000)


def test_many_columns_are_few_looks():
    rng = np.random.default_rng(5)
    rows = [[str(x) for x in row] for row in rng.integers(0, 3, (200, 30))]
    found = k_anonymous(attribute_suppression, table_of(rows), 5, most=0)
    assert_holds(found.table, 5)
    assert found.counts["checked"] < 30 * 30


def test_persons_with_several_rows_are_counted_once():
    hierarchy = Hierarchy.flat(["a", "b"])
    rows = Table.of_texts({"c0": (["a", "a", "a", "b", "b"], hierarchy)})
    table = Table(rows.columns, np.array([7, 7, 7, 1, 2], np.int32))
    found = k_anonymous(tuple_suppression, table, 2, most=1)
    assert list(found.table.rows()) == [("b",), ("b",)]
    assert (found.suppressed, found.counts["rows_suppressed"]) == (1, 3)
    assert k_anonymous(attribute_suppression, table, 2, most=0).counts["columns"] == ("c0",)
    assert k_anonymous(attribute_suppression, table, 2, most=1).counts["columns"] == ()
    with pytest.raises(GuaranteeError, match="0 of 3 persons"):
        k_anonymous(attribute_suppression, table, 4, most=0)
    with pytest.raises(UsageError, match="one row a person"):
        k_anonymous(cell_suppression.search, table, 2)


@few(30, 60)
@given(slow.tables(min_rows=2, max_rows=8, max_columns=4), st.integers(2, 4))
def test_forest_keeps_its_bound(table, k):
    if len(table) < k:
        with pytest.raises(GuaranteeError, match="does not give"):
            k_anonymous(cell_suppression.search, table, k)
        return
    found = k_anonymous(cell_suppression.search, table, k, method="forest")
    assert_holds(found.table, k)
    assert_only_suppressed(table, found.table)
    best = slow.fewest_cells(list(table.rows()), k)
    assert best <= found.counts["cells"] <= max(2 * k - 1, 3 * k - 5) * best
    assert found.counts["merged"] == 0


@few(30, 60)
@given(slow.tables(min_rows=2, max_rows=8, max_columns=5))
def test_matching_keeps_its_bound(table):
    found = k_anonymous(cell_suppression.search, table, 2)
    assert_holds(found.table, 2)
    assert_only_suppressed(table, found.table)
    values = [len(set(column.texts())) for column in table.quasi]
    best = slow.fewest_cells(list(table.rows()), 2)
    assert best <= found.counts["cells"] <= (1.5 if max(values) <= 2 else 2) * best


@few(30, 60)
@given(slow.tables(min_rows=2, max_rows=8, max_columns=6, paths=TWO))
def test_matching_keeps_one_and_a_half_where_columns_have_two_values(table):
    rows = [tuple(text or "a" for text in row) for row in table.rows()]
    found = k_anonymous(cell_suppression.search, table_of(rows), 2, method="matching")
    assert found.counts["cells"] <= 1.5 * slow.fewest_cells(rows, 2)


def test_one_two_factor_weighs_the_least():
    for seed in range(40):
        rnd = Random(seed)
        rows, columns = rnd.randint(2, 6), rnd.randint(1, 5)
        values = np.array([[rnd.randint(0, 2) for _ in range(columns)] for _ in range(rows)], np.int32)
        group = cell_suppression.one_two_factor(values)
        assert set(Counter(group.tolist()).values()) <= {2, 3}

        def run_interruptibly(i, j, values=values):
            return int((values[i] != values[j]).sum())

        def weight(part):
            hubs = [sum(run_interruptibly(i, j) for j in part) for i in part]
            return min(hubs) if len(part) == 3 else run_interruptibly(*part)

        parts = [[i for i in range(rows) if group[i] == g] for g in set(group.tolist())]
        small = (p for p in slow.partitions(tuple(range(rows)), 2) if max(map(len, p)) <= 3)
        assert sum(map(weight, parts)) == min(sum(map(weight, p)) for p in small)


@few(100, 200)
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


@few(30, 60)
@given(st.integers(1, 5), st.integers(0, 10**6))
def test_forest_links_to_rows_near_enough(k, seed):
    rnd = np.random.default_rng(seed)
    values = np.unique(rnd.integers(0, 3, (rnd.integers(1, 12), 3)), axis=0).astype(np.int32)
    counts = rnd.integers(1, 3, len(values))
    if counts.sum() < k:
        return
    weights = rnd.integers(1, 4, values.shape[1])
    link = grow_forest(values, weights, counts, k)
    graph = nx.Graph()
    graph.add_nodes_from(range(len(values)))
    graph.add_edges_from((u, v) for u, v in enumerate(link.tolist()) if v >= 0)
    assert nx.is_forest(graph)
    assert all(sum(counts[v] for v in tree) >= k for tree in nx.connected_components(graph))
    for u, v in enumerate(link.tolist()):
        if v >= 0:
            # No further than its (k - 1)th neighbor, equal rows among these.
            run_interruptibly = np.repeat((values != values[u]) @ weights, counts)
            assert (values[u] != values[v]) @ weights <= np.sort(run_interruptibly)[k - 1]


def test_cut_trees_leaves_no_edge_to_cut():
    parent = np.array([-1, 0, 1, 2, 3, 4, 5, 6])
    left, order, below, tree = cut_trees(parent, 3)
    assert Counter(tree.tolist()) == {0: 5, 5: 3}
    assert left.tolist() == [-1, 0, 1, 2, 3, -1, 5, 6]
    assert order.tolist() == [7, 6, 5, 4, 3, 2, 1, 0]
    assert below.tolist() == [5, 4, 3, 2, 1, 3, 2, 1]


@pytest.mark.parametrize("form", [tuple_suppression, attribute_suppression, cell_suppression.search])
def test_odd_tables(form):
    empty = Table.of_texts({"c0": ([], Hierarchy.flat(["a", "b"]))})
    assert len(k_anonymous(form, empty, 2).table) == 0
    constant = table_of([["a", "b"]] * 5)
    found = k_anonymous(form, constant, 5)
    assert (found.suppressed, found.table == constant) == (0, True)
    nulls = Table.of_texts({"c0": ([None] * 4, Hierarchy.flat(["a"])), "c1": ([None, "a"] * 2, Hierarchy.flat(["a"]))})
    assert_holds(k_anonymous(form, nulls, 2).table, 2)
    assert form(Problem(nulls, ())).table == nulls
    assert form(Problem(nulls, (KAnonymity(1),))).table == nulls


def test_one_row_and_wrong_methods():
    one = table_of([["a"]])
    assert k_anonymous(tuple_suppression, one, 2).suppressed == 1
    assert k_anonymous(attribute_suppression, one, 2).suppressed == 1
    with pytest.raises(GuaranteeError, match="does not give 2-anonymity with at most 1 of 1 persons"):
        k_anonymous(cell_suppression.search, one, 2)
    three = table_of([["a"], ["b"], ["b"]])
    with pytest.raises(UsageError, match="choose from auto, forest, matching"):
        k_anonymous(cell_suppression.search, three, 2, method="clusters")
    with pytest.raises(UsageError, match="for k = 2"):
        k_anonymous(cell_suppression.search, three, 3, method="matching")
    assert k_anonymous(cell_suppression.search, three, 1).counts["cells"] == 0


@pytest.mark.parametrize("algorithm", ["suppress-cells", "suppress-columns"])
def test_a_column_whose_root_is_its_only_value_is_suppressed_to_it(algorithm):
    table = Table.of_texts({"c0": (["only", None], Hierarchy.from_paths([["only"]]))})
    release = anonymize_table(table, k=2, algorithm=algorithm)
    assert list(release.table.rows()) == [("only",), ("only",)]


def test_groups_that_fail_go_into_the_nearest():
    hierarchies = [Hierarchy.flat("ab"), Hierarchy.flat("ab"), Hierarchy.flat(["flu", "acne"])]
    texts = ["aaaabb", "aabbbb", ["flu", "flu", "acne", "acne", "flu", "flu"]]
    columns = dict(zip("xys", zip(texts, hierarchies, strict=True), strict=True))
    table = Table.of_texts(columns, roles={"s": "sensitive"})
    found = cell_suppression.search(Problem(table, (KAnonymity(2), DistinctDiversity(2))))
    # Rows aa have flu alone, and so have rows bb: each goes with rows ab, which are as near to both.
    assert found.counts["merged"] == 2
    assert {row[:2] for row in found.table.rows()} == {("*", "*")}
    with pytest.raises(GuaranteeError):
        cell_suppression.search(Problem(table, (DistinctDiversity(3),)))


def slow_merge(shared, weights, sizes, fails):
    """The same as `merge_nearest`, by lists."""
    into, waits = list(range(len(sizes))), list(fails)
    for u in range(len(sizes)):
        if not waits[u]:
            continue

        def cells(v, u=u):
            differ = [c for c in range(len(shared[u])) if shared[u][c] != shared[v][c]]
            return sum(weights[c] * sizes[w] for c in differ for w in (u, v) if shared[w][c] >= 0)

        best = min((v for v in range(len(sizes)) if v != u and into[v] == v), key=lambda v: (cells(v), v))
        shared[best] = [a if a == b else -1 for a, b in zip(shared[u], shared[best], strict=True)]
        sizes[best] += sizes[u]
        into[u] = best
        waits[u] = waits[best] = False
    return into


@few(50, 100)
@given(st.integers(0, 10**6))
def test_merges_are_with_the_nearest(seed):
    rng = np.random.default_rng(seed)
    groups, columns = rng.integers(2, 9), rng.integers(1, 5)
    shared = rng.integers(-1, 3, (groups, columns)).astype(np.int32)
    sizes, fails = rng.integers(1, 5, groups), rng.random(groups) < 0.6
    weights = rng.integers(1, 4, columns)
    ours = shared.copy(), sizes.copy()
    slow_shared, slow_sizes = shared.tolist(), sizes.tolist()
    into = slow_merge(slow_shared, weights.tolist(), slow_sizes, fails.tolist())
    assert merge_nearest(ours[0], weights, ours[1], fails).tolist() == into
    left = sorted(set(into))
    assert ours[0][left].tolist() == [slow_shared[v] for v in left]
    assert ours[1][left].tolist() == [slow_sizes[v] for v in left]
