"""Query precision against plain loops over rows and cells."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.reference import queries as slow
from tests.reference import table_losses as slow_flat_losses
from treeanon.algorithms.table.result import STYLES, recoded_groups
from treeanon.errors import UsageError
from treeanon.hierarchy import Hierarchy
from treeanon.metrics.table.queries import permuted_query_loss, query_loss
from treeanon.table import Column, Table

NUMBERS = [[["10", "*"], ["9", "*"], ["11", "*"], ["7", "*"]]]


@st.composite
def worlds(draw, secret=None):
    """A table whose last column may be sensitive, the rows that are published, and the group of each of them."""
    table = draw(slow_flat_losses.tables(min_rows=1, paths=slow_flat_losses.PATHS[:3] + NUMBERS))
    last = table.columns[-1]
    if len(table.columns) > 1 and (draw(st.booleans()) if secret is None else secret):
        secretive = Column(replace(last.spec, role="sensitive"), last.hierarchy, last.codes)
        table = Table((*table.columns[:-1], secretive))
    groups = draw(st.lists(st.integers(-1, 2), min_size=len(table), max_size=len(table)))
    return table, np.array(groups, np.int64)


@given(worlds(), st.sampled_from(STYLES), st.data())
def test_generalized_releases_equal_the_twin(world, style, data):
    table, groups = world
    rows = np.flatnonzero(groups >= 0)
    released = table.take(rows)
    if len(rows):
        released = recoded_groups(released, np.unique(groups[rows], return_inverse=True)[1], style)
    level = data.draw(st.integers(1, len(table.quasi)))
    found = query_loss(table, released.take(np.arange(len(rows))[::-1]), level)
    assert found.divergences == pytest.approx(slow.generalized(table, released, level), abs=1e-9)
    assert found.mean == pytest.approx(sum(found.divergences.values()) / len(found.divergences))


@given(worlds(secret=True), st.data())
def test_permuted_releases_equal_the_twin(world, data):
    table, groups = world
    if not table.sensitive:
        return
    level = data.draw(st.integers(1, len(table.quasi)))
    found = permuted_query_loss(table, groups, level).divergences
    assert found == pytest.approx(slow.permuted(table, groups.tolist(), level), abs=1e-9)


@given(worlds(), st.data())
def test_what_is_published_as_it_is_answers_exactly(world, data):
    table, _ = world
    level = data.draw(st.integers(1, len(table.quasi)))
    if all(len(column.hierarchy) > 1 for column in table.quasi):
        assert query_loss(table, table, level).mean == pytest.approx(0, abs=1e-12)
    if table.sensitive:
        assert permuted_query_loss(table, np.arange(len(table)), level).mean == pytest.approx(0, abs=1e-12)


def patients(roles):
    letters = Hierarchy.flat("ab")
    return Table.of_texts({name: (["a", "b", "b"], letters) for name in ("x", "y", "z")}, roles)


def test_what_cannot_be_asked():
    table, all_quasi = patients({"y": "sensitive", "z": "sensitive"}), patients({})
    with pytest.raises(UsageError, match="choose one of y, z"):
        query_loss(table, table, 1)
    assert query_loss(table, table, 1, sensitive="z").mean == 0
    with pytest.raises(UsageError, match="'x' is not sensitive"):
        query_loss(table, table, 1, sensitive="x")
    for level in (0, 4):
        with pytest.raises(UsageError, match="1 to 3 quasi columns"):
            query_loss(all_quasi, all_quasi, level)
    with pytest.raises(UsageError, match="nothing to permute"):
        permuted_query_loss(all_quasi, np.zeros(3, np.int64), 1)
    with pytest.raises(UsageError, match="one for every row"):
        permuted_query_loss(table, np.zeros(2, np.int64), 1, sensitive="y")
    with pytest.raises(UsageError, match="no more rows"):
        query_loss(all_quasi.take(np.array([0])), all_quasi, 1)
    with pytest.raises(UsageError, match="without rows"):
        query_loss(all_quasi.take(np.array([], np.int64)), all_quasi, 1)
    general = Table.of_texts({"x": (["*"], Hierarchy.flat("ab"))})
    with pytest.raises(UsageError, match="groups of values already"):
        query_loss(general, general, 1)


def test_a_release_of_other_rows_is_infinitely_wrong():
    table = patients({})
    assert query_loss(table, table.take(np.array([0, 0, 0])), 2).mean == np.inf
