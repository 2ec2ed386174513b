from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
import slow_flat_losses as slow
from hypothesis import given, settings
from hypothesis import strategies as st

from treeanon.algorithms.flat import koptimize
from treeanon.algorithms.flat.koptimize import search
from treeanon.errors import GuaranteeError, UsageError
from treeanon.hierarchy import Hierarchy
from treeanon.loss import flat
from treeanon.table import Table


def with_label(table, labels):
    columns = {c.name: (c.texts(), c.hierarchy) for c in table.columns}
    yes = Hierarchy.flat(["yes", "no", "maybe"])
    return Table.of_texts({**columns, "label": (labels, yes)}, roles={"label": "sensitive"})


def check_release(table, found, label=None):
    """The release is k-anonymous, lacks what it says, and costs what an independent loss says of it."""
    released = found.apply()
    assert all(n >= found.k for n in Counter(zip(*(c.texts() for c in released.quasi), strict=True)).values())
    assert len(table) - len(released) == found.suppressed
    if label is None:
        assert flat.discernibility(released, found.suppressed) == found.cost
    else:
        assert flat.classification(released, label, found.suppressed) == pytest.approx(found.cost / max(len(table), 1))


@settings(max_examples=150, deadline=None)
@given(slow.tables(min_rows=1, max_rows=9), st.integers(1, 4), st.one_of(st.none(), st.integers(0, 4)))
def test_dm_equals_brute_force(table, k, most):
    if len(table) < k:
        with pytest.raises(GuaranteeError, match="cannot be"):
            search(table, k)
        return
    found = search(table, k, max_suppressed=most)
    limit = len(table) if most is None else most
    assert found.cost == slow.best_cut(table, k, lambda rows: slow.dm(rows, k, len(table)), limit)
    assert found.is_optimal
    assert found.suppressed <= limit
    check_release(table, found)


@settings(max_examples=150, deadline=None)
@given(slow.tables(min_rows=1, max_rows=9), st.integers(1, 4), st.one_of(st.none(), st.integers(0, 4)), st.data())
def test_cm_equals_brute_force(table, k, most, data):
    if len(table) < k:
        return
    kinds = st.sampled_from(["yes", "no", "maybe", None])
    labels = data.draw(st.lists(kinds, min_size=len(table), max_size=len(table)))
    labelled = with_label(table, labels)
    found = search(labelled, k, metric="cm", label="label", max_suppressed=most)
    limit = len(table) if most is None else most
    assert found.cost == slow.best_cut(table, k, lambda rows: slow.cm(rows, labels, k), limit)
    assert found.is_optimal
    check_release(labelled, found, "label")


def numbers_table(rows=400, seed=3, columns=3, values=12):
    rng = np.random.default_rng(seed)
    hierarchy = Hierarchy.flat(str(v) for v in range(values))
    texts = [[str(v) for v in np.minimum(rng.geometric(0.2, rows) - 1, values - 1)] for _ in range(columns)]
    return Table.of_texts({f"c{i}": (column, hierarchy) for i, column in enumerate(texts)})


def test_time_that_is_over_leaves_a_release_and_a_bound():
    table = numbers_table()
    none = search(table, 5, seconds=0)
    check_release(table, none)
    assert none.cost == len(table) ** 2
    assert not none.is_optimal
    some = search(table, 5, seconds=0.5)
    check_release(table, some)
    assert none.lower_bound <= some.lower_bound <= some.cost < none.cost


def test_a_search_that_runs_to_its_end_prunes():
    table = numbers_table(rows=150, columns=2, values=7)
    found = search(table, 6)
    check_release(table, found)
    assert found.is_optimal
    assert found.checked < 2**11
    assert found.cost == slow.best_cut(table, 6, lambda rows: slow.dm(rows, 6, len(table)), len(table))


@settings(max_examples=150, deadline=None)
@given(slow.tables(min_rows=4, max_rows=10), st.integers(2, 3), st.booleans())
def test_the_enumeration_alone_is_exact(table, k, is_cm):
    labels = ["yes" if i % 3 else "no" for i in range(len(table))]
    rows = list(table.rows())
    with pytest.MonkeyPatch.context() as patch:
        for name in ("_ascend", "_exchange"):
            patch.setattr(koptimize._Search, name, lambda *_: None)
        options = {"metric": "cm", "label": "label"} if is_cm else {}
        found = search(with_label(table, labels), k, **options)

    def cost(recoded):
        return slow.cm(recoded, labels, k) if is_cm else slow.dm(recoded, k, len(rows))

    assert found.cost == slow.best_cut(table, k, cost, len(rows))
    assert found.is_optimal


def test_values_that_only_cut_outliers_off_are_of_use(monkeypatch):
    for name in ("_ascend", "_exchange"):
        monkeypatch.setattr(koptimize._Search, name, lambda *_: None)
    hierarchy = Hierarchy.flat("abc")
    table = Table.of_texts({"x": ([*"a", *"b" * 10, *"c"], hierarchy)})
    assert search(table, 2).cost == 100 + 2 * 12


def test_intervals_have_texts_of_their_own():
    hierarchy = Hierarchy.flat(["1", "2", "3", "1 … 2"])
    table = Table.of_texts({"x": (["1", "2", "3", "3", None, None, "1", "2"], hierarchy)})
    found = search(table, 4)
    assert found.starts == {"x": (hierarchy.code("3"),)}
    released = found.apply()
    assert Counter(released.rows()) == {("1 … 2 …",): 4, ("3 … 1 … 2 or missing",): 4}
    column = released.columns[0]
    assert [column.hierarchy.texts[v] for v in column.hierarchy.leaf_nodes] == ["1", "2", "3", "1 … 2"]
    assert flat.ncp(column) == pytest.approx(0.5)


def test_values_alone_stay_as_they_are():
    table = Table.of_texts({"x": (["a"] * 3 + ["b"] * 3 + [None] * 3, Hierarchy.flat(["a", "b"]))})
    found = search(table, 3)
    assert found.apply() == Table.of_texts({"x": (table.columns[0].texts(), Hierarchy.flat(["a", "b"]))})
    assert found.cost == 27


def test_odd_tables():
    flat_one = Hierarchy.from_paths([["only"]])
    constant = Table.of_texts({"x": (["only"] * 4, flat_one)})
    assert search(constant, 4).cost == 16
    assert list(search(constant, 4).apply().rows()) == [("*",)] * 4
    empty = Table.of_texts({"x": ([], flat_one)})
    assert search(empty, 3).cost == 0
    assert len(search(empty, 3).apply()) == 0
    with pytest.raises(GuaranteeError, match="cannot be 5-anonymous"):
        search(constant, 5)


def test_wrong_requests():
    hierarchy = Hierarchy.flat(["a", "b"])
    table = Table.of_texts({"x": (["a", "*"], hierarchy)})
    with pytest.raises(UsageError, match="leaves"):
        search(table, 2)
    table = Table.of_texts({"x": (["a", "b"], hierarchy)})
    for wrong in ({"metric": "cm"}, {"label": "x"}, {"metric": "ncp"}):
        with pytest.raises(UsageError, match="metric"):
            search(table, 2, **wrong)
    with pytest.raises(UsageError, match="one row a person"):
        search(Table(table.columns, np.array([1, 1], np.int32)), 1)
