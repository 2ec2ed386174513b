from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given

from tests.support.hierarchy_strategies import hierarchies, slow_descendants
from tests.support.steps import check_linear
from treeanon.errors import HierarchyError
from treeanon.hierarchy import Hierarchy

ADULT = [
    ["Bachelors", "Undergraduate", "Higher education", "*"],
    ["Some-college", "Undergraduate", "Higher education", "*"],
    ["11th", "High School", "Secondary education", "*"],
    ["Masters", "Graduate", "Higher education", "*"],
    ["Preschool", "Primary School", "Primary education", "*"],
]


def test_adult_rows_in_order_of_first_appearance():
    h = Hierarchy.from_paths(ADULT)
    higher = h.code("Higher education")
    assert h.children(0) == [higher, h.code("Secondary education"), h.code("Primary education")]
    assert [h.texts[v] for v in h.leaves(higher)] == ["Bachelors", "Some-college", "Masters"]
    assert h.height == 3 and len(h.nodes_at(2)) == 4
    assert h.encode(["Masters", "unknown", "*"]).tolist() == [h.code("Masters"), -1, 0]


@given(hierarchies())
def test_intervals_of_codes_and_leaves_are_those_of_a_slow_walk(h):
    all_leaves = [v for v in range(len(h)) if slow_descendants(h, v) == [v]]
    assert h.leaf_nodes.tolist() == all_leaves
    for v in range(len(h)):
        below = slow_descendants(h, v)
        assert below == list(range(v, h.end[v]))
        leaves = [u for u in below if u in all_leaves]
        assert h.leaves(v).tolist() == leaves
        assert h.leaf_start[v] == sum(leaf < v for leaf in all_leaves)
        assert h.leaf_count[v] == len(leaves)
        assert h.is_leaf(v) == (below == [v])
        assert h.children(v) == np.flatnonzero(h.parent == v).tolist()
        assert h.depth[v] == len(h.ancestors(v)) - 1
        assert h.ancestors(v)[0] == v and h.ancestors(v)[-1] == 0
        assert [u for u in range(len(h)) if h.covers(v, u)] == below


@given(hierarchies())
def test_copies_are_equal_and_every_text_is_found(h):
    assert pickle.loads(pickle.dumps(h)) == h
    assert hash(pickle.loads(pickle.dumps(h))) == hash(h)
    assert h.encode(h.texts).tolist() == list(range(len(h)))
    graph = h.to_networkx()
    assert list(graph.nodes) == list(h.texts) and graph.number_of_edges() == len(h) - 1


@given(hierarchies())
def test_parents_and_paths_give_the_hierarchy_back(h):
    parents = {text: h.texts[h.parent[v]] for v, text in enumerate(h.texts) if v}
    assert Hierarchy.from_parents(parents, root=h.root) == h
    assert Hierarchy.from_paths([[h.texts[v] for v in h.ancestors(leaf)] for leaf in h.leaf_nodes]) == h


def test_arrays_are_read_only_and_repr_shows_no_text():
    h = Hierarchy.flat(["secret"])
    for name in ("parent", "end", "depth", "leaf_start", "leaf_count", "leaf_nodes"):
        array = getattr(h, name)
        assert array.dtype == np.int32 and not array.flags.writeable
    assert "secret" not in repr(h)
    assert h != "secret"


@pytest.mark.parametrize(
    ("texts", "parents", "says"),
    [
        ((), [], "at least one node"),
        (("a",), [0], "node 0"),
        (("a", "b"), [-1], "one per text"),
        (("a", "b"), [-1.0, 0.0], "integers"),
        (("a", ""), [-1, 0], "node 1"),
        (("a", "b", "b"), [-1, 0, 0], "nodes 1 and 2"),
        (("a", "b"), [-1, -1], "node 1"),
        (("a", "b"), [-1, 1], "node 1"),
        (("a", "b", "c", "d"), [-1, 0, 0, 1], "node 3"),
        (("a", "b"), [-1, 5], "node 1"),
    ],
)
def test_what_is_not_one_tree_in_preorder_is_refused(texts, parents, says):
    with pytest.raises(HierarchyError, match=says):
        Hierarchy(texts, np.array(parents) if parents else np.array([], dtype=np.int32))


def test_an_unknown_text_or_code_is_an_error_without_the_text():
    h = Hierarchy.flat(["a"])
    with pytest.raises(HierarchyError) as caught:
        h.code("secret")
    assert "secret" not in str(caught.value)
    for call in (h.is_leaf, h.children, h.ancestors, h.leaves):
        for node in (-1, 2):
            with pytest.raises(HierarchyError):
                call(node)


def test_the_common_star_is_dropped_over_one_class_only():
    assert Hierarchy.from_parents({"flu": "any", "any": "*"}).texts == ("any", "flu")
    assert Hierarchy.from_parents({"flu": "*", "acne": "*"}).texts == ("*", "flu", "acne")
    assert Hierarchy.from_parents({"flu": "*"}, root="*").texts == ("*", "flu")
    assert Hierarchy.from_parents({}).texts == ("*",)


@pytest.mark.parametrize(
    ("parents", "says"),
    [
        ({"a": "b", "b": "a"}, "pairs 1 and 2: .*cycle"),
        ({"a": "a"}, "pair 1: .*cycle"),
        ({"x": "r", "a": "b", "b": "c", "c": "a", "y": "a"}, "pairs 2, 3 and 4: .*cycle"),
        ({"a": "r", "b": "s"}, "pairs 1 and 2: 2 texts have no parent"),
        ({"a": ""}, "pair 1: "),
    ],
)
def test_mappings_that_are_no_tree_are_refused(parents, says):
    with pytest.raises(HierarchyError, match=says):
        Hierarchy.from_parents(parents)


def test_a_root_that_is_not_the_top_is_refused():
    with pytest.raises(HierarchyError):
        Hierarchy.from_parents({"a": "b"}, root="a")


@pytest.mark.parametrize(
    ("rows", "texts"),
    [
        ([["a", "a", "A", "*"], ["b", "", "*"]], ("*", "A", "a", "b")),
        ([["a"], ["b"]], ("*", "a", "b")),
        ([["a"]], ("a",)),
        ([["a", "A"], ["b", "B"]], ("*", "A", "a", "B", "b")),
        ([["a", "A", "Any"], ["b", "", ""], ["c", "A", "Any"]], ("Any", "A", "a", "c", "b")),
        ([["a", "A", "*"], ["A", "*"], ["A", "A", "*"], ["a", "A", "*"]], ("*", "A", "a")),
        ([["a", "A", "*"], ["b", "B"]], ("*", "A", "a", "B", "b")),
        ([["a", "A", "X"], ["c", "*"]], ("*", "X", "A", "a", "c")),
        ([["a", "A"], ["b", "B", "T"]], ("T", "A", "a", "B", "b")),
        ([["a", "A", ""], [], ["", ""], ["b", "A", ""]], ("A", "a", "b")),
    ],
)
def test_ragged_rows_make_one_tree(rows, texts):
    assert Hierarchy.from_paths(rows).texts == texts


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ([["secret", "A", "*"], ["z", "*"], ["secret", "B", "*"]], "rows 1 and 3: .*two different parents"),
        ([["x", "A", "B"], ["y", "B", "A"]], "rows 1 and 2: .*cycle"),
        ([["a", "b", "a"]], "row 1: .*cycle"),
        ([["a", "b", "a", "c"]], "row 1: "),
        ([], "no rows"),
        ([["", ""]], "no rows"),
        ([["a", "*", "T"], ["b", "B", "U"]], "rows 1 and 2: "),
    ],
)
def test_rows_that_are_no_tree_name_their_rows_only(rows, says):
    with pytest.raises(HierarchyError, match=says) as caught:
        Hierarchy.from_paths(rows)
    assert "secret" not in str(caught.value)


def test_deep_and_wide_hierarchies():
    wide = Hierarchy.from_paths([str(i), f"{i // 10}x", f"{i // 100}y", "*"] for i in range(30_000))
    deep = Hierarchy.from_parents({str(i): str(i + 1) for i in range(30_000)})
    assert wide.leaf_count[0] == 30_000 and deep.height == 30_000
    assert wide.encode(wide.texts).tolist() == list(range(len(wide)))


def test_building_takes_linear_work():
    check_linear(lambda size: lambda: Hierarchy.from_paths([str(i), f"{i // 10}x", "*"] for i in range(size)), 1000)
    check_linear(lambda size: lambda: Hierarchy.from_parents({str(i): str(i + 1) for i in range(size)}), 1000)
    wide = {size: Hierarchy.flat(str(i) for i in range(size)) for size in (1000, 2000)}
    check_linear(lambda size: lambda: wide[size].encode(wide[size].texts), 1000)
