"""The builders make the same hierarchies as their slow twins, of odd texts and of many plain ones."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.reference.hierarchies import slow_build, slow_depth_and_end
from tests.support.hierarchy_strategies import texts
from tests.support.profiles import few
from treeanon.errors import HierarchyError
from treeanon.hierarchy import Dates, Flat, Groups, Intervals, Prefix
from treeanon.hierarchy import dates as periods
from treeanon.hierarchy import numbers as plain_numbers
from treeanon.hierarchy.model import depth_and_end
from treeanon.hierarchy.numbers import RARE, by_shape


@pytest.fixture(autouse=True, scope="module", params=[1, RARE])
def rare(request):
    """The builders read few texts one by one: with 1, none are too few to be read all at once."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (periods, plain_numbers):
            patch.setattr(module, "RARE", request.param)
        yield


digits = st.text("0123456789", max_size=3)
odd_numbers = st.sampled_from(
    [
        "07",
        "+5",
        "-0",
        "1e3",
        "-1E-2",
        "+.5",
        "5.",
        ".",
        "",
        " 7",
        "7 ",
        "7\n",
        "1\0",
        "٣",
        "1_0",
        "nan",
        "x",
        "1-2",
        "[0, 5)",
        "0-4",
        "[0, 5]",
        "7.0",
        "7.00",
        "1" * 18,
        "9" * 18,
        "-" + "9" * 30,
        "0" * 25 + "7",
        "0." + "3" * 25,
        "1e400",
        "-1e-400",
        "4.99999999999999999999",
        "5.00000000000000000001",
        "30.0",
        "30",
        "3e1",
        "30.000000000000001",
    ]
)
written = st.builds("{}{}{}{}".format, st.sampled_from(["", "", "-", "+"]), digits, st.sampled_from(["", "."]), digits)
whole = st.integers(-60, 130).map(str)
decimals = st.decimals(-60, 130, places=2).map(str)
# so many neighbors of one shape that they are read all at once
runs = st.builds(
    lambda first, step, places: [f"{(first + at * step) / 10**places:.{places}f}" for at in range(RARE + 4)],
    st.integers(-200, 3000),
    st.integers(1, 40),
    st.integers(0, 3),
)
numbers = st.one_of(odd_numbers, written, whole, decimals)

steps = st.tuples(st.sampled_from([1, 2, 5, 0.1, 0.25, 7, 1e-20, 10**19]), st.lists(st.integers(2, 4), max_size=2))
bounds = st.one_of(st.none(), st.integers(-40, 120), st.sampled_from([0.5, -7.25, 30, 10**20, -(10**20), 1e-19]))


@st.composite
def interval_builders(draw):
    integer = draw(st.booleans())
    width, factors = draw(steps)
    low, high = draw(bounds), draw(bounds)
    if integer:
        width, low, high = max(1, int(width)), *(None if bound is None else int(bound) for bound in (low, high))
    widths = [width]
    for factor in factors:
        widths.append(float(f"{widths[-1] * factor:.12g}") if isinstance(width, float) else widths[-1] * factor)
    if low is not None and high is not None and low > high:
        low, high = high, low
    if None not in (low, high) and high - low > 10**6 * width:
        low = None
    return Intervals(tuple(widths), low, high, integer)


def mixed(draw, builder, single, run):
    """Odd values, plain ones by the dozen, and labels of the hierarchy that a part of them makes."""
    values = draw(st.lists(single, max_size=12)) + [value for many in draw(st.lists(run, max_size=3)) for value in many]
    labels = slow_build(builder, values[::2]).texts
    return draw(st.permutations(values + draw(st.lists(st.sampled_from(labels), max_size=6))))


def assert_twins(builder, values):
    fast, slow = builder.build(values), slow_build(builder, values)
    assert fast.texts == slow.texts
    assert fast.parent.tolist() == slow.parent.tolist()


@few(100, 200)
@given(interval_builders(), st.data())
def test_intervals(builder, data):
    assert_twins(builder, mixed(data.draw, builder, st.one_of(numbers, texts), runs))


@given(st.lists(st.floats(-1e6, 1e6).map(repr), min_size=60, max_size=90), st.booleans())
def test_intervals_of_floats_with_many_digits(values, closed):
    bound = 10**6 if closed else None
    assert_twins(Intervals((0.5, 100, 1000), (closed and -bound) or None, bound, integer=False), values)


dates = st.dates().map(str)
times = st.datetimes().map(str)
odd_dates = st.sampled_from(
    [
        "2019-02-29",
        "20190230",
        "0000-01-01",
        "00000101",
        "2019-13",
        "2019-00",
        "0000",
        "0000s",
        "0000-0099",
        "2015s",
        "2010s",
        "2000-2099",
        "2000-2199",
        "2019-Q2",
        "2019-Q5",
        "2019-W01",
        "2018-W52",
        "2020-W53",
        "2019-W53",
        "2019-W00",
        "0000-W01",
        "2018-12-31",
        "2019-12-31",
        "2016-01-03",
        "2019-03-07T10Z",
        "2019-03-07 10:15:00,5 +01:00",
        "2019-03-07T",
        "20190307101500+0100",
        "x",
        "",
        "2019-03-07\n",
        "٢019-01-01",
        "2019",
        "2019-03",
    ]
)
day_runs = st.builds(
    lambda year, step, form: [form.format(year + i % 3, i * step % 14, i * 7 % 33, i % 99) for i in range(RARE + 4)],
    st.integers(0, 9990),
    st.integers(1, 13),
    st.sampled_from(["{:04d}-{:02d}-{:02d}", "{:04d}{:02d}{:02d}", "{:04d}-{:02d}-{:02d}T{:02d}:00Z", "{:04d}"]),
)
names = ("day", "week", "month", "quarter", "year", "decade", "century")
date_builders = st.lists(st.sampled_from(names), min_size=1, unique=True).map(
    lambda levels: Dates(tuple(sorted(levels, key=names.index)))
)


@few(75, 150)
@given(date_builders, st.data())
def test_dates(builder, data):
    assert_twins(builder, mixed(data.draw, builder, st.one_of(dates, times, odd_dates, texts), day_runs))


@pytest.mark.parametrize("year", [1, 4, 100, 400, 1900, 2000, 2023, 2024, 9999])
def test_every_day_of_a_year_is_a_day(year):
    days = [f"{year:04d}-{month:02d}-{day:02d}" for month in range(14) for day in range(33)]
    assert_twins(Dates(names), days)


keeps = st.lists(st.integers(1, 5), min_size=1, unique=True).map(lambda keep: tuple(sorted(keep, reverse=True)))


@few(100, 200)
@given(keeps, st.lists(st.one_of(st.text("12*!", max_size=6), texts), max_size=40))
@example((3, 2, 1), ["12*", "2*", "1*"])
@example((2, 1), ["1", "1!", "1**", "1*", "12*", "12!"])
def test_prefixes(keep, values):
    assert_twins(Prefix(keep), values)


@few(100, 200)
@given(st.integers(2, 4), st.booleans(), st.data())
def test_groups(fanout, numeric, data):
    single = st.one_of(whole, decimals, st.just("1e400"), st.just("-0.0")) if numeric else st.one_of(numbers, texts)
    assert_twins(Groups(fanout, numeric), mixed(data.draw, Groups(fanout, numeric), single, runs))


@given(st.integers(2, 5), st.integers(0, 130))
def test_groups_of_every_size(fanout, count):
    assert_twins(Groups(fanout), [f"{i:03d}" for i in range(count)])


@given(st.lists(texts, max_size=12))
def test_flat(values):
    assert_twins(Flat(), values)


@few(125, 250)
@given(st.lists(st.integers(-1, 8), max_size=9))
def test_layouts_and_the_first_node_out_of_order(parents):
    parents = [-1, *parents]
    expected = slow_depth_and_end(parents)
    if isinstance(expected, int):
        with pytest.raises(HierarchyError, match=f"node {expected}:"):
            depth_and_end(np.array(parents))
    else:
        assert tuple(array.tolist() for array in depth_and_end(np.array(parents))) == expected


@given(st.lists(st.one_of(texts, numbers, st.just("\ud800")), max_size=20))
def test_shapes_are_the_texts_with_zeros(values):
    expected = {}
    for at, value in enumerate(values):
        shape = "".join("0" if character in "0123456789" else character for character in value)
        expected.setdefault(shape, []).append(at)
    assert {shape: places.tolist() for shape, places in by_shape(values)} == expected
