from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.reference import table_losses as slow
from tests.reference.suppression import best_cut, random_world
from tests.support.profiles import few
from tests.support.strategies import properties
from tests.support.waiting import Clock
from treeanon.algorithms.table import koptimize
from treeanon.algorithms.table.koptimize import cut_column, search
from treeanon.algorithms.table.problem import Problem
from treeanon.errors import GuaranteeError, UsageError
from treeanon.hierarchy import Hierarchy
from treeanon.metrics import table as flat
from treeanon.privacy.models import DistinctDiversity, FrequencyDiversity, KAnonymity, TCloseness
from treeanon.table import Table
from treeanon.verifier.table import check


def k_optimum(table, k, most=None, **options):
    """What k-Optimize finds for k-anonymity; without a limit of suppression if none is given."""
    return search(Problem(table, (KAnonymity(k),), len(table) if most is None else most), **options)


def with_label(table, labels):
    columns = {c.name: (c.texts(), c.hierarchy) for c in table.columns}
    yes = Hierarchy.flat(["yes", "no", "maybe"])
    return Table.of_texts({**columns, "label": (labels, yes)}, roles={"label": "sensitive"})


def check_release(table, found, label=None):
    """The release keeps its models, lacks what it says, and costs what an independent loss says of it."""
    released = found.table
    assert all(one.holds for one in check(released, found.models, reference=table))
    assert len(table) - len(released) == found.suppressed
    assert found.rows.tolist() == sorted(set(found.rows.tolist()))
    if label is None:
        assert flat.discernibility(released, found.suppressed) == found.counts["cost"]
    else:
        share = found.counts["cost"] / max(len(table), 1)
        assert flat.classification(released, label, found.suppressed) == pytest.approx(share)


@few(75, 150)
@given(slow.tables(min_rows=1, max_rows=9), st.integers(1, 4), st.one_of(st.none(), st.integers(0, 4)))
def test_dm_equals_brute_force(table, k, most):
    limit = len(table) if most is None else most
    if len(table) < k and len(table) > limit:
        with pytest.raises(GuaranteeError, match="does not give"):
            k_optimum(table, k, most)
        return
    found = k_optimum(table, k, most)
    assert found.counts["cost"] == slow.best_cut(table, k, lambda rows: slow.dm(rows, k, len(table)), limit)
    assert found.counts["optimal"]
    assert found.suppressed <= limit
    assert all(n >= k for n in Counter(found.table.rows()).values())
    check_release(table, found)


@few(75, 150)
@given(slow.tables(min_rows=1, max_rows=9), st.integers(1, 4), st.one_of(st.none(), st.integers(0, 4)), st.data())
def test_cm_equals_brute_force(table, k, most, data):
    if len(table) < k:
        return
    kinds = st.sampled_from(["yes", "no", "maybe", None])
    labels = data.draw(st.lists(kinds, min_size=len(table), max_size=len(table)))
    labeled = with_label(table, labels)
    found = k_optimum(labeled, k, most, metric="cm", label="label")
    limit = len(table) if most is None else most
    assert found.counts["cost"] == slow.best_cut(table, k, lambda rows: slow.cm(rows, labels, k), limit)
    assert found.counts["optimal"]
    check_release(labeled, found, "label")


def without_first_solutions(patch):
    """Leaves the enumeration alone, with nothing known to be better."""
    for name in ("_ascend", "_exchange"):
        patch.setattr(koptimize._Search, name, lambda *_: None)


def all_models(rnd):
    problem, world = random_world(rnd, rows=rnd.choice([2, 6, 10]), columns=2)
    if not world.rows:
        return
    label = rnd.choice([None, 0]) if problem.table.sensitive else None
    options = {} if label is None else {"metric": "cm", "label": "s0"}
    best = best_cut(problem, world, label)
    with pytest.MonkeyPatch.context() as patch:
        if rnd.random() < 0.5:
            without_first_solutions(patch)
        if best is None:
            with pytest.raises(GuaranteeError, match="does not give"):
                search(problem, **options)
            return
        found = search(problem, **options)
    assert found.counts["cost"] == best
    assert found.counts["optimal"]
    assert found.suppressed <= problem.max_suppressed
    check_release(problem.table, found, None if label is None else "s0")


test_all_models, test_all_models_thoroughly = properties(all_models, 60, 1500)


def numbers_table(rows=400, seed=3, columns=3, values=12):
    rng = np.random.default_rng(seed)
    hierarchy = Hierarchy.flat(str(v) for v in range(values))
    texts = [[str(v) for v in np.minimum(rng.geometric(0.2, rows) - 1, values - 1)] for _ in range(columns)]
    return Table.of_texts({f"c{i}": (column, hierarchy) for i, column in enumerate(texts)})


@pytest.fixture
def clock(monkeypatch):
    """Time goes by with every look at the clock: searches find the same on any machine."""
    monkeypatch.setattr("treeanon.algorithms.table.koptimize.monotonic", Clock(0.005).monotonic)


def test_time_that_is_over_leaves_a_release_and_a_bound(clock):
    table = numbers_table()
    none = k_optimum(table, 5, seconds=0)
    check_release(table, none)
    assert none.counts["cost"] == len(table) ** 2
    assert not none.counts["optimal"]
    some = k_optimum(table, 5, seconds=0.5)
    check_release(table, some)
    bounds = none.counts["lower_bound"], some.counts["lower_bound"]
    assert bounds[0] <= bounds[1] <= some.counts["cost"] < none.counts["cost"]


def test_other_models_search_no_longer_than_is_allowed_either(clock):
    table = numbers_table(columns=4, rows=1500)
    rng = np.random.default_rng(8)
    table = with_label(table, rng.choice(["yes", "no", "maybe"], len(table)).tolist())
    models = (KAnonymity(5), FrequencyDiversity(1.5), TCloseness(0.4))
    found = search(Problem(table, models, 60), seconds=0.5)
    check_release(table, found)
    assert found.suppressed <= 60
    assert found.counts["lower_bound"] <= found.counts["cost"] < len(table) ** 2


def test_nothing_found_in_time_is_not_nothing():
    table = with_label(numbers_table(rows=20), ["yes"] * 15 + ["no"] * 5)
    # All rows together fail: somebody must go.
    with pytest.raises(GuaranteeError, match="in 0 seconds"):
        search(Problem(table, (FrequencyDiversity(2),), 15), seconds=0)
    with pytest.raises(GuaranteeError, match="0 of 20 persons"):
        search(Problem(table, (FrequencyDiversity(2),)), seconds=0)


def test_a_search_that_runs_to_its_end_prunes():
    table = numbers_table(rows=150, columns=2, values=7)
    found = k_optimum(table, 6)
    check_release(table, found)
    assert found.counts["optimal"]
    assert found.counts["checked"] < 2**11
    assert found.counts["values"] == 12
    assert found.counts["cost"] == slow.best_cut(table, 6, lambda rows: slow.dm(rows, 6, len(table)), len(table))


@few(75, 150)
@given(slow.tables(min_rows=4, max_rows=10), st.integers(2, 3), st.booleans())
def test_the_enumeration_alone_is_exact(table, k, is_cm):
    labels = ["yes" if i % 3 else "no" for i in range(len(table))]
    rows = list(table.rows())
    with pytest.MonkeyPatch.context() as patch:
        without_first_solutions(patch)
        options = {"metric": "cm", "label": "label"} if is_cm else {}
        found = k_optimum(with_label(table, labels), k, **options)

    def cost(recoded):
        return slow.cm(recoded, labels, k) if is_cm else slow.dm(recoded, k, len(rows))

    assert found.counts["cost"] == slow.best_cut(table, k, cost, len(rows))
    assert found.counts["optimal"]


def test_values_that_only_cut_outliers_off_are_of_use(monkeypatch):
    without_first_solutions(monkeypatch)
    hierarchy = Hierarchy.flat("abc")
    table = Table.of_texts({"x": ([*"a", *"b" * 10, *"c"], hierarchy)})
    assert k_optimum(table, 2).counts["cost"] == 100 + 2 * 12


def test_intervals_are_of_all_values_between_their_ends():
    hierarchy = Hierarchy.flat(["10", "9", "8", "7", "6"])
    table = Table.of_texts({"x": (["6", "8", "9", "9", None, None, "6", "8"], hierarchy)})
    # In the order of their numbers; 7 and 10 occur in no row.
    assert Counter(k_optimum(table, 4).table.rows()) == {("6 … 8",): 4, ("9 … 10 or missing",): 4}
    assert flat.ncp(k_optimum(table, 4).table.columns[0], "set") == pytest.approx((0.5 + 1) / 2)
    assert list(k_optimum(table, 8).table.rows()) == [("*",)] * 8


def test_texts_of_intervals_are_no_other_texts():
    hierarchy = Hierarchy.flat(["1", "2", "3", "1 … 2"])
    table = Table.of_texts({"x": (["1", "2", "3", "3", None, None, "1", "2"], hierarchy)})
    assert Counter(k_optimum(table, 4).table.rows()) == {('["1","2"]',): 4, ('["3","1 … 2",null]',): 4}


@given(slow.tables(min_rows=1, max_columns=1), st.data())
def test_cut_columns_say_the_interval_of_each_value(table, data):
    column = table.columns[0]
    hierarchy = column.hierarchy
    leaves = [hierarchy.texts[v] for v in hierarchy.leaf_nodes]
    starts = data.draw(st.lists(st.integers(1, len(leaves)), unique=True).map(sorted))
    values = [*leaves, None] if None in column.texts() else leaves
    bounds = [0, *(start for start in starts if start < len(values)), len(values)]
    for text, shown in zip(column.texts(), cut_column(column, starts).texts(), strict=True):
        place = values.index(text)
        low, high = next((a, b) for a, b in pairwise(bounds) if a <= place < b)
        own = values[low:high]
        if len(own) == 1:
            assert shown == text
        elif not starts and hierarchy.height:
            assert shown == "*"
        elif len(own) == 2 and own[1] is None:
            assert shown == f'["{own[0]}",null]'
        else:
            end = f"{own[-2]} or missing" if own[-1] is None else own[-1]
            assert shown == f"{own[0]} … {end}"


def test_values_of_suppressed_rows_do_not_show():
    table = Table.of_texts({"x": ([*"a", *"b" * 10, *"d"], Hierarchy.flat("abcd"))})
    found = k_optimum(table, 2, most=2)
    assert (found.suppressed, found.rows.tolist()) == (2, list(range(1, 11)))
    # The interval reaches to the next one, which begins at a value that is in the input; nothing tells of the others.
    assert found.table.columns[0].values == ("b … c",)


def test_values_alone_stay_as_they_are():
    table = Table.of_texts({"x": (["a"] * 3 + ["b"] * 3 + [None] * 3, Hierarchy.flat(["a", "b"]))})
    found = k_optimum(table, 3)
    assert found.table == table
    assert found.counts["cost"] == 27
    assert search(Problem(table, ())).table == table


def test_nothing_goes_where_nothing_may():
    table = Table.of_texts({"x": (["a"] * 9 + ["c"], Hierarchy.flat("abc"))})
    assert k_optimum(table, 2, most=1).suppressed == 1
    found = k_optimum(table, 2, most=0)
    assert (found.suppressed, list(found.table.rows())) == (0, [("*",)] * 10)


def test_odd_tables():
    flat_one = Hierarchy.from_paths([["only"]])
    constant = Table.of_texts({"x": (["only"] * 4, flat_one)})
    assert k_optimum(constant, 4).counts["cost"] == 16
    assert list(k_optimum(constant, 4).table.rows()) == [("only",)] * 4
    empty = Table.of_texts({"x": ([], flat_one)})
    assert k_optimum(empty, 3).counts["cost"] == 0
    assert len(k_optimum(empty, 3).table) == 0
    with pytest.raises(GuaranteeError, match="0 of 4 persons"):
        k_optimum(constant, 5, most=0)
    assert len(k_optimum(constant, 5, most=4).table) == 0
    one = Table.of_texts({"x": (["only"], flat_one)})
    assert list(k_optimum(one, 1).table.rows()) == [("only",)]


def test_wrong_requests():
    hierarchy = Hierarchy.flat(["a", "b"])
    table = Table.of_texts({"x": (["a", "*"], hierarchy)})
    with pytest.raises(UsageError, match="leaves"):
        k_optimum(table, 2)
    table = Table.of_texts({"x": (["a", "b"], hierarchy)})
    for wrong in ({"metric": "cm"}, {"label": "x"}, {"metric": "ncp"}):
        with pytest.raises(UsageError, match="metric"):
            k_optimum(table, 2, **wrong)
    with pytest.raises(UsageError, match="cannot be the label"):
        k_optimum(table, 2, metric="cm", label="x")
    with pytest.raises(UsageError, match="not negative"):
        k_optimum(table, 2, seconds=-1)
    with pytest.raises(UsageError, match="one row a person"):
        k_optimum(Table(table.columns, np.array([1, 1], np.int32)), 1)


def test_models_that_sizes_do_not_tell_suppress_too():
    labels = ["yes", "yes", "no", "yes", "no", "maybe"]
    table = with_label(Table.of_texts({"x": ([*"aabbbb"], Hierarchy.flat("ab"))}), labels)
    problem = Problem(table, (KAnonymity(2), DistinctDiversity(2)), 2)
    found = search(problem)
    # Group a has one label alone: it goes, or everything is one group.
    assert found.counts["cost"] == min(4 * 4 + 2 * 6, 6 * 6)
    assert found.suppressed == 2
