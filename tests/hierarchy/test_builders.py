from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.hierarchy_strategies import chain, cuts, texts
from tests.support.steps import check_linear
from treeanon.builders import BUILDERS as TABLE
from treeanon.hierarchy import Dates, Flat, Groups, Hierarchy, Intervals, Prefix, parse_builder

integers = st.integers(-60, 130).map(str)
numbers = st.decimals(-60, 130, places=2).map(str)
days = st.dates().map(str)
BUILDERS = {
    "integer": (Intervals((1, 5, 10, 40)), integers),
    "range": (Intervals((5, 10, 20), min=-7, max=118), integers),
    "number": (Intervals((0.5, 5, 15), integer=False), numbers),
    "closed": (Intervals((5, 10), min=0, max=110, integer=False), numbers),
    "dates": (Dates(("day", "month", "quarter", "year", "decade", "century")), days),
    "weeks": (Dates(("day", "week", "month", "year")), days),
    "years": (Dates(("quarter", "decade")), st.one_of(days, st.datetimes().map(str))),
    "prefix": (Prefix((3, 2, 1)), st.text("12*", min_size=1, max_size=6)),
    "groups": (Groups(2), texts),
    "numeric": (Groups(3, numeric=True), st.one_of(integers, numbers)),
    "flat": (Flat(), texts),
}
NAMES = st.sampled_from(sorted(BUILDERS))
STABLE = st.sampled_from(sorted(set(BUILDERS) - {"groups", "numeric", "flat"}))


@given(NAMES, st.data())
def test_known_values_lie_under_the_star_whatever_their_order(name, data):
    builder, values = BUILDERS[name]
    sample = data.draw(st.lists(st.one_of(values, values, texts), max_size=12))
    h = builder.build(sample)
    assert h.root == "*"
    assert all(h.ancestors(code)[-1] == 0 for code in h.encode(sample).tolist() if code >= 0)
    shuffled = sample * 2
    random.Random(0).shuffle(shuffled)
    assert builder.build(iter(shuffled)) == h


@given(STABLE, st.data())
def test_labels_of_any_cut_are_their_nodes_again(name, data):
    builder, values = BUILDERS[name]
    h = builder.build(data.draw(st.lists(values, max_size=12)))
    cut = data.draw(cuts(h))
    again = builder.build(cut)
    assert [chain(again, text) for text in cut] == [chain(h, text) for text in cut]
    everything = builder.build(h.texts)
    assert everything == h


@given(st.sampled_from(["groups", "numeric", "flat"]), st.data())
def test_labels_of_groups_have_a_place_again(name, data):
    builder, values = BUILDERS[name]
    h = builder.build(data.draw(st.lists(values, max_size=12)))
    cut = data.draw(cuts(h))
    assert -1 not in builder.build(cut).encode(cut)


@pytest.mark.parametrize(
    ("builder", "value", "expected"),
    [
        (Intervals((5, 10)), "-7", ["-7", "-10--6", "-10--1", "*"]),
        (Intervals((1, 5)), "7", ["7", "5-9", "*"]),
        (Intervals((5,)), "007", ["007", "5-9", "*"]),
        (Intervals((5, 20), min=18, max=90), "19", ["19", "18-22", "18-37", "*"]),
        (Intervals((5, 20), min=18, max=90), "90", ["90", "88-90", "78-90", "*"]),
        (Intervals((5, 10), min=0, max=120), "120", ["120", "*"]),
        (Intervals((5, 200), min=0, max=120), "3", ["3", "0-4", "*"]),
        (Intervals((0.1,), integer=False), "0.3", ["0.3", "[0.3, 0.4)", "*"]),
        (Intervals((0.1,), integer=False), "-1e-2", ["-1e-2", "[-0.1, 0)", "*"]),
        (Intervals((5, 20), min=0, max=30, integer=False), "30", ["30", "[25, 30]", "[20, 30]", "*"]),
        (Intervals((5, 20), min=0, max=30, integer=False), "[25, 30]", ["[25, 30]", "[20, 30]", "*"]),
        (Dates(("month", "year")), "2019-03-07T10:15:00Z", ["2019-03-07T10:15:00Z", "2019-03", "2019", "*"]),
        (Dates(("day", "year")), "20190307101500+0100", ["20190307101500+0100", "2019-03-07", "2019", "*"]),
        (Dates(("day", "week", "month")), "2019-03-31", ["2019-03-31", "2019-W13", "2019-03", "*"]),
        (Dates(("week", "month")), "2019-04-01T10:00", ["2019-04-01T10:00", "2019-W14", "2019-04", "*"]),
        (Dates(("week", "month", "year")), "2018-12-31", ["2018-12-31", "2019-W01", "2019-01", "2019", "*"]),
        (Dates(("month",)), "2019-W01", ["2019-W01", "2019-01", "*"]),
        (Dates(("day", "year")), "2019-03-07", ["2019-03-07", "2019", "*"]),
        (Dates(("quarter", "year")), "2019-06", ["2019-06", "2019-Q2", "2019", "*"]),
        (Dates(("decade", "century")), "2019", ["2019", "2010s", "2000-2099", "*"]),
        (Dates(("year", "century")), "2010s", ["2010s", "2000-2099", "*"]),
        (Dates(("day",)), "2019", ["2019", "*"]),
        (Prefix((3, 1)), "12103", ["12103", "121*", "1*", "*"]),
        (Prefix((3, 1)), "121", ["121", "1*", "*"]),
        (Prefix((3, 1)), "121*", ["121*", "1*", "*"]),
        (Prefix((3, 1)), "1", ["1", "*"]),
        (Prefix((3, 1)), "12*", ["12*", "1*", "*"]),
        (Flat(), "x", ["x", "*"]),
    ],
)
def test_the_way_up(builder, value, expected):
    assert chain(builder.build([value]), value) == expected


@pytest.mark.parametrize(
    ("builder", "values"),
    [
        (
            Intervals((5,), min=0, max=99),
            ["-1", "100", " 7", "7 ", "7.0", "NaN", "", "٣", "0-5", "95-100", "5-", "1_0"],
        ),
        (
            Intervals((5,), integer=False),
            ["nan", "inf", "-Infinity", " 1", "0x10", "[1, 5)", "[0, 5]", "1e9999"],
        ),
        (
            Dates(("day",)),
            ["2019-02-29", "2019-13", "2019-00", "0000", "2019-Q5", "2015s", "2000-2199", "2000-2100"],
        ),
        (Dates(("day",)), ["20190230", "2019-03-07x", "07.03.2019", "2019-03-07T", "", "x", "1950-2049"]),
    ],
)
def test_values_without_a_place_are_left_out(builder, values):
    assert set(builder.build(values).encode(values).tolist()) == {-1}


@given(st.integers(-(10**30), 10**30), st.lists(st.integers(2, 4), max_size=3), st.integers(2, 7))
def test_an_integer_lies_in_the_aligned_interval_of_each_width(number, factors, width):
    widths = [width]
    for factor in factors:
        widths.append(widths[-1] * factor)
    path = chain(Intervals(tuple(widths)).build([str(number)]), str(number))
    starts = [next(start for start in range(number, number - step, -1) if start % step == 0) for step in widths]
    labels = [f"{start}-{start + step - 1}" for start, step in zip(starts, widths, strict=True)]
    assert path == [str(number), *labels, "*"]


@given(st.dates())
def test_a_day_lies_in_its_periods(day):
    levels = ("day", "month", "quarter", "year", "decade", "century")
    text, year = day.isoformat(), f"{day.year:04d}"
    quarter = year + "-Q" + "111222333444"[day.month - 1]
    century = f"{year[:2]}00-{year[:2]}99"
    expected = [text, text[:7], quarter, year, year[:3] + "0s", century, "*"]
    assert chain(Dates(levels).build([text]), text) == expected


def test_a_full_range_does_not_depend_on_the_data():
    builder = Intervals((5, 10, 20), min=0, max=119)
    assert builder.build([]) == builder.build(["7", "0-4"])
    assert builder.build([]).leaf_count[0] == 120
    assert [text for text in builder.build([]).texts if "-" in text][:4] == ["0-19", "0-9", "0-4", "5-9"]
    huge = Intervals((1, 10), min=0, max=10**9).build(["7"])
    assert huge.texts == ("*", "0-9", "7")
    reals = Intervals((5, 10), min=0, max=20, integer=False).build([])
    assert reals.texts == ("*", "[0, 10)", "[0, 5)", "[5, 10)", "[10, 20]", "[10, 15)", "[15, 20]")


def test_children_are_in_the_order_of_numbers_and_of_time():
    assert Intervals((10,)).build(["9", "10", "-3", "100"]).texts[1::2] == (
        "-10--1",
        "0-9",
        "10-19",
        "100-109",
    )
    h = Dates(("year",)).build(["2020-01-02", "1999-12-31", "2020-01-01"])
    assert h.texts == ("*", "1999", "1999-12-31", "2020", "2020-01-01", "2020-01-02")


def test_groups_make_no_group_of_one():
    h = Groups(2).build("abcde")
    assert h.texts == ("*", "a…d", "a…b", "a", "b", "c…d", "c", "d", "e")
    assert Groups(5).build("abcde") == Hierarchy.flat("abcde")
    assert Groups(2).build([]).texts == ("*",)


@given(st.lists(texts, min_size=3, max_size=30), st.integers(2, 4))
def test_group_labels_show_no_whole_value_beyond_one_character(values, fanout):
    h = Groups(fanout).build(values)
    leaves = set(values) - {"*"}
    for code, label in enumerate(h.texts[1:], start=1):
        if not h.is_leaf(code):
            assert 2 <= len(h.children(code)) <= fanout
            covered = sorted(h.texts[leaf] for leaf in h.leaves(code))
            assert any(
                covered[0].startswith(low := label[:at]) and (len(low) == 1 or low not in leaves)
                for at in range(1, len(label))
                if label[at] == "…"
            )


def test_group_labels_are_unique_and_need_not_spell_values():
    h = Groups(2).build(["Flu", "Flu A", "Flu B", "Flu C", "Smithson"])
    assert h.texts == ("*", "F…F", "F…Fl", "Flu", "Flu A", "Fl…F", "Flu B", "Flu C", "Smithson")
    same = Groups(2).build(["a", "aa", "aaa", "aaaa", "aaaaa", "a…a"])
    assert "a…a (2)" in same.texts and same.texts.count("a…a") == 1 and same.leaf_count[0] == 6


def test_numeric_groups_round_outward_as_far_as_neighbors_allow():
    h = Groups(2, numeric=True).build(["1234", "1240", "1251", "1999", "-55", "-3"])
    inner = [text for code, text in enumerate(h.texts) if code and not h.is_leaf(code)]
    assert inner == ["-60…1240", "-60…-3", "1000…1240", "1250…2000"]
    h = Groups(2, numeric=True).build(["10", "20", "25", "30", "31"])
    assert h.texts == ("*", "10…30", "10…20", "10", "20", "25…30", "25", "30", "31")
    assert Groups(2, numeric=True).build(["9", "10", "x", "y"]).texts[2:4] == ("10", "9")


@pytest.mark.parametrize(
    "builder",
    [
        Intervals((5, 10)),
        Intervals((10_000, 50_000, 100_000), 0, 800_000, integer=False),
        Prefix((3, 2)),
        Groups(5),
        Groups(5, numeric=True),
        Flat(),
        Dates(("month", "year")),
    ],
)
def test_thirty_thousand_values_build_in_linear_work(builder):
    def values(size):
        if isinstance(builder, Dates):
            return [f"{1900 + i // 336}-{i // 28 % 12 + 1:02d}-{i % 28 + 1:02d}" for i in range(size)]
        return [str(i) for i in range(size)]

    h = builder.build(values(30_000))
    assert h.leaf_count[0] >= 29_000 and -1 not in h.encode(values(30_000))
    texts = {size: values(size) for size in (1000, 2000)}
    check_linear(lambda size: lambda: builder.build(texts[size]).encode(texts[size]), 1000)


def test_the_table_of_builders_says_what_their_parsers_accept():
    for name, builder in TABLE.items():
        own = {one.name: one.example or one.default or True for one in builder.parameters if one.required}
        for value_type in ("text", "integer", "number", "date"):
            problems = parse_builder(own, value_type)[1]
            refused = any("needs a class of type" in message for _, message in problems)
            assert refused == (value_type not in builder.types), (name, value_type)
            # The example files of terminologies are not there.
            assert not problems or refused or builder.files
