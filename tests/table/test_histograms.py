"""Groups with histograms, against counting row by row."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.reference.models import counts, size
from treeanon.hierarchy import Hierarchy
from treeanon.schema.model import ClassSpec
from treeanon.table import Column, Groups, Histogram, Table, histograms
from treeanon.table.histograms import groups_of, merged, whole_of

LETTERS = Hierarchy.from_paths([["a", "ab", "*"], ["b", "ab", "*"], ["c", "c", "*"]])
Rows = list[tuple[int, int, int]]  # group, person, code

ROWS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5), st.integers(-1, len(LETTERS) - 1)), max_size=12)


def table_of(rows: Rows, *, several: bool) -> tuple[Table, np.ndarray]:
    """The table, with persons numbered with gaps, and the groups, which are numbered without."""
    numbers = np.unique(np.array([row[0] for row in rows], np.int64), return_inverse=True)[1]
    codes = np.array([row[2] for row in rows], np.int32)
    person = np.array([7 * row[1] for row in rows], np.int32) if several else None
    return Table((Column(ClassSpec("letter", role="sensitive"), LETTERS, codes),), person), numbers


def plain(groups: Groups) -> list[tuple[int, dict[int, int]]]:
    """The size and the counts by code of every group."""
    (one,) = groups.sensitive
    assert (np.diff(one.starts) > 0).all() and one.starts[0] == 0 and one.starts[-1] == len(one.values)
    found = []
    for group, persons in enumerate(groups.sizes.tolist()):
        part = slice(one.starts[group], one.starts[group + 1])
        values = one.values[part].tolist()
        assert values == sorted(set(values))
        found.append((persons, dict(zip(values, one.counts[part].tolist(), strict=True))))
    return found


def slow(rows: list[tuple[int, int]]) -> tuple[int, dict[int, int]]:
    return size(rows), {len(LETTERS) if code == -1 else code: count for code, count in counts(rows).items()}  # type: ignore[misc]


@given(ROWS, st.booleans(), st.sampled_from([0, 4, 1000]))
def test_groups_are_counted_row_by_row(rows: Rows, several: bool, dense: int) -> None:
    if not several:
        rows = [(group, at, code) for at, (group, _, code) in enumerate(rows)]
    table, numbers = table_of(rows, several=several)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(histograms, "DENSE", dense)
        patch.setattr(histograms, "_ROOM", 2**62 if dense else 0)
        groups = groups_of(table, numbers)
    assert plain(groups) == [slow([row[1:] for row in rows if row[0] == g]) for g in sorted({row[0] for row in rows})]
    whole = slow([row[1:] for row in rows])[1]
    assert groups.sensitive[0].whole.tolist() == [whole.get(code, 0) for code in range(len(LETTERS) + 1)]
    assert whole_of(table.columns[0], table.person).tolist() == groups.sensitive[0].whole.tolist()


@given(ROWS, st.lists(st.integers(0, 2), min_size=4, max_size=4), st.sampled_from([0, 1000]))
def test_merged_groups_are_the_groups_of_merged_rows(rows: Rows, into: list[int], dense: int) -> None:
    table, numbers = table_of([(group, at, code) for at, (group, _, code) in enumerate(rows)], several=False)
    total = int(numbers.max()) + 1 if rows else 0
    to = np.unique(np.array(into[:total], np.int64), return_inverse=True)[1]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(histograms, "DENSE", dense)
        coarse = merged(groups_of(table, numbers), to)
    assert plain(coarse) == plain(groups_of(table, to[numbers]))


def test_a_person_counts_once_in_a_group_and_once_for_each_value() -> None:
    table, numbers = table_of([(0, 1, 2), (0, 1, 2), (0, 1, 3), (0, 2, 2), (1, 1, 2)], several=True)
    groups = groups_of(table, numbers)
    assert groups.sizes.tolist() == [2, 1]
    assert plain(groups)[0] == (2, {2: 2, 3: 1})
    assert groups.sensitive[0].whole[2] == 2


@pytest.mark.parametrize("numbers", [[0, 2], [-1, 0], [0]])
def test_numbers_with_gaps_are_refused(numbers: list[int]) -> None:
    table, _ = table_of([(0, 0, 1), (1, 1, 1)], several=False)
    with pytest.raises(ValueError, match="number"):
        groups_of(table, np.array(numbers))


def test_an_empty_table_has_no_groups() -> None:
    table, numbers = table_of([], several=False)
    groups = groups_of(table, numbers)
    assert len(groups) == 0 and isinstance(groups.sensitive[0], Histogram)
    assert groups.sensitive[0].starts.tolist() == [0]
    assert len(merged(groups, np.zeros(0, np.int64))) == 0
