from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.reference import table_losses as slow
from treeanon.errors import UsageError
from treeanon.hierarchy import Hierarchy, Intervals
from treeanon.hierarchy.numbers import NumberTexts
from treeanon.metrics import table as flat
from treeanon.metrics.table.groups import groups_of
from treeanon.schema.model import ClassSpec
from treeanon.table import Column, Table
from treeanon.table.covers import level_maps

ZIP = Hierarchy.from_paths([[z, f"{z[:4]}*", "220**"] for z in ("22030", "22032", "22045", "22047")])
STATUS = Hierarchy.from_paths(
    [
        ["single", "never married", "any"],
        ["married", "been married", "any"],
        ["divorced", "been married", "any"],
        ["widow", "been married", "any"],
    ]
)
SEX = Hierarchy.from_paths([["M", "any sex"], ["F", "any sex"]])
# CHAP, Figure 18: the patients with <1,1,0>, of ten; the one left out is suppressed.
BLOCKS = [("2203*", "been married", "F")] * 3 + [("2203*", "never married", "M")] * 3
BLOCKS += [("2204*", "been married", "M")] * 3
DISEASES = ["hypertension"] * 3 + ["hypertension", "HIV", "obesity", "HIV", "HIV", "obesity"]


def patients():
    columns = zip(*BLOCKS, strict=True)
    named = dict(zip(("zip", "status", "sex"), zip(columns, (ZIP, STATUS, SEX), strict=True), strict=True))
    named["disease"] = (DISEASES, Hierarchy.flat(["hypertension", "HIV", "obesity"]))
    return Table.of_texts(named, roles={"disease": "sensitive"})


def test_the_patients_of_the_chapter():
    released = patients()
    original = released.take(np.array([*range(9), 0]))
    losses = flat.measure(original, released, 1, label="disease")
    zips, status, sex = Fraction(1, 2), (6 * Fraction(3, 4)) / 9, 0
    assert losses.ncp_taxonomy == pytest.approx(
        {"zip": (9 * zips + 1) / 10, "status": (9 * status + 1) / 10, "sex": 0.1}
    )
    assert losses.gcp_taxonomy == pytest.approx((9 * (zips + status + sex) + 3) / 30)
    assert losses.gcp_set == pytest.approx((9 * Fraction(1, 3) + 6 * Fraction(2, 3) + 3) / 30)
    assert losses.discernibility == 27 + 10
    assert losses.classification == pytest.approx((0 + 2 + 1 + 1) / 10)
    assert (losses.average_class_size, losses.groups, losses.suppressed, losses.rows) == (3, 3, 1, 10)
    assert losses.height == 2
    # The single hospital patients' "never married" is a step up too, though it covers one value.
    assert losses.precision == pytest.approx(1 - (9 * Fraction(1, 2) + 9 * Fraction(1, 2) + 3) / 30)
    assert flat.measure(original, released, k=3).average_class_size == 1


@given(slow.tables(leaves_only=False), st.integers(0, 3))
def test_losses_equal_their_twins(table, suppressed):
    for form in ("taxonomy", "set"):
        assert flat.gcp(table, suppressed, form=form) == pytest.approx(float(slow.gcp(table, suppressed, form)))
    assert flat.precision(table, suppressed) == pytest.approx(float(slow.precision(table, suppressed)))
    rows = list(table.rows())
    whole = len(rows) + suppressed
    assert flat.discernibility(table, suppressed) == slow.dm(rows, 1, whole) + suppressed * whole
    sizes = slow.groups(rows).values()
    assert flat.average_class_size(table, 2) == pytest.approx(len(rows) / len(sizes) / 2 if rows else 0)
    heights = [max((slow.levels_up(c, text) for text in c.texts()), default=c.hierarchy.height) for c in table.quasi]
    assert flat.height(table) == sum(heights)
    numbers, count = groups_of(table)
    assert [sorted(set(numbers.tolist())), count] == [list(range(len(sizes))), len(sizes)]
    assert all(
        (a == b) == (x == y) for a, x in zip(numbers, rows, strict=True) for b, y in zip(numbers, rows, strict=True)
    )


@given(slow.tables(min_rows=1), st.data())
def test_classification_equals_its_twin(table, data):
    yes = Hierarchy.flat(["yes", "no"])
    labels = data.draw(st.lists(st.sampled_from(["yes", "no", None]), min_size=len(table), max_size=len(table)))
    columns = {c.name: (c.texts(), c.hierarchy) for c in table.columns}
    suppressed = data.draw(st.integers(0, 2))
    for role in ("sensitive", "quasi"):
        with_labels = Table.of_texts({**columns, "label": (labels, yes)}, roles={"label": role})
        wrong = slow.cm(list(table.rows()), labels, 1) + suppressed
        found = flat.classification(with_labels, "label", suppressed)
        assert found == pytest.approx(wrong / (len(table) + suppressed))


@given(slow.tables(min_rows=1), st.data())
def test_more_general_never_loses_less(table, data):
    maps = [level_maps(column.hierarchy) for column in table.quasi]
    low = [data.draw(st.integers(0, len(levels) - 1)) for levels in maps]
    high = [data.draw(st.integers(level, len(levels) - 1)) for level, levels in zip(low, maps, strict=True)]
    found = []
    for vector in (low, high):
        codes = {}
        for column, levels, level in zip(table.quasi, maps, vector, strict=True):
            new = levels[level][column.codes]
            codes[column.name] = np.where(new == len(column.hierarchy), -1, new).astype(np.int32)
        found.append(flat.measure(table, table.with_codes(codes)))
    less, more = found
    for name in ("gcp_taxonomy", "gcp_set", "discernibility", "average_class_size", "height"):
        assert getattr(less, name) <= getattr(more, name) + 1e-12
    assert less.precision >= more.precision - 1e-12
    assert more.height <= sum(high)


@given(slow.tables(leaves_only=False, min_rows=1))
def test_nothing_published_loses_all(table):
    losses = flat.measure(table, table.take(np.array([], np.int32)))
    assert losses.gcp_taxonomy == losses.gcp_set == 1
    assert losses.discernibility == len(table) ** 2
    assert losses.suppressed == len(table)
    assert losses.precision == (0 if any(c.hierarchy.height for c in table.quasi) else 1)
    assert losses.as_dict()["groups"] == 0


def numeric(built, hierarchy, texts, kind):
    codes = hierarchy.encode("" if text is None else text for text in texts)
    return Column(ClassSpec("x", type=kind, hierarchy=built), hierarchy, codes)


def test_intervals_lose_by_range_not_by_values():
    built = Intervals((5, 10), min=0, max=50)
    hierarchy = built.build(["21", "27"])
    column = numeric(built, hierarchy, ["21", "20-24", "20-29", "*", None], "integer")
    ranges = flat.node_ncp(column)[column.codes]
    assert ranges.tolist() == pytest.approx([0, 4 / 50, 9 / 50, 1, 0])
    assert flat.node_ncp(column, "set")[hierarchy.code("20-24")] == pytest.approx(4 / 50)


def test_ranges_of_decimals_and_of_open_builders():
    built = Intervals((0.5, 1), integer=False)
    hierarchy = built.build(["-0.25", "0.1", "1.75"])
    column = numeric(built, hierarchy, ["0.1", "[0, 0.5)", "[-1, 0)", "*"], "number")
    # The outermost intervals reach from -1 to 2.
    assert flat.node_ncp(column)[column.codes].tolist() == pytest.approx([0, 0.5 / 3, 1 / 3, 1])


def test_ranges_of_a_number_hierarchy_equal_those_of_texts():
    built = Intervals((10, 100))
    numbers = np.array([3, 17, 250, 999])
    lazy = built.build_numbers(NumberTexts(numbers, 0, lambda: [str(n) for n in numbers]))
    plain = built.build(str(n) for n in numbers)
    assert lazy is not None and lazy.texts == plain.texts
    both = [flat.node_ncp(numeric(built, h, ["17"], "integer")) for h in (lazy, plain)]
    assert both[0].tolist() == both[1].tolist()
    assert both[0][plain.code("10-19")] == pytest.approx(9 / 999)


def test_a_range_of_one_number_and_no_numbers():
    for values in ([], ["7"]):
        built = Intervals((5,), min=7, max=7)
        column = numeric(built, built.build(values), ["*"], "integer")
        assert flat.node_ncp(column).max() == 0


def test_wrong_requests_are_errors_without_values():
    table = Table.of_texts({"sex": (["M", "F"], SEX)})
    with pytest.raises(UsageError, match="cannot lack"):
        flat.measure(table, table, 1)
    with pytest.raises(UsageError, match="cannot lack"):
        flat.measure(table.take(np.array([0])), table)
    with pytest.raises(UsageError, match="quasi columns"):
        flat.measure(table, patients())
    with pytest.raises(UsageError, match="weigh"):
        flat.gcp(table, weights={"age": 1})
    with pytest.raises(UsageError, match="not negative"):
        flat.gcp(table, weights={"sex": float("nan")})
    with pytest.raises(UsageError, match="form"):
        flat.gcp(table, form="range")
    with pytest.raises(UsageError, match="unknown column"):
        flat.classification(table, "disease")
    assert flat.gcp(table, weights={"sex": 0}) == 0


def test_groups_of_more_columns_than_one_number_holds():
    rng = np.random.default_rng(1)
    hierarchy = Hierarchy.flat(map(str, range(5000)))
    texts = [[str(v) for v in rng.integers(0, 5000, 300)] for _ in range(8)]
    table = Table.of_texts({f"c{i}": (column * 2, hierarchy) for i, column in enumerate(texts)})
    numbers, count = groups_of(table)
    assert count == 300
    assert (numbers[:300] == numbers[300:]).all()
