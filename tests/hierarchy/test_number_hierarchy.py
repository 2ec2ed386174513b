"""Hierarchies of numbers whose texts are made later are those of the texts."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from treeanon.hierarchy import Intervals
from treeanon.hierarchy.number_texts import NumberTexts
from treeanon.hierarchy.numbers import decimal_text

WIDTHS = st.sampled_from([(5,), (5, 10), (1, 10, 100), (0.5, 2.5)])
BOUNDS = st.sampled_from([None, -7, 0, 20, 1000])


@st.composite
def cases(draw: st.DrawFn) -> tuple[Intervals, NumberTexts]:
    integer = draw(st.booleans())
    widths = draw(WIDTHS.filter(lambda w: not integer or all(isinstance(x, int) for x in w)))
    low, high = draw(BOUNDS), draw(BOUNDS)
    low, high = (low, high) if low is None or high is None or low <= high else (high, low)
    decimals = draw(st.integers(0, 3))
    steps = sorted(draw(st.sets(st.integers(-3000, 30_000), max_size=30)))
    if integer and draw(st.booleans()):
        steps = [step * 10**decimals for step in steps]
    texts = [decimal_text(step, decimals) for step in steps]
    values = NumberTexts(np.array(steps, np.int64), decimals, lambda: texts)
    if draw(st.booleans()):
        values = values.only(np.array([draw(st.booleans()) for _ in steps], bool))
    return Intervals(widths, low, high, integer), values


@given(cases())
def test_numbers_have_the_hierarchy_of_their_texts(case: tuple[Intervals, NumberTexts]) -> None:
    builder, values = case
    plain = builder.build(filter(None, values))
    late = builder.build_numbers(values)
    if late is None:
        return
    assert late.encode(values).tolist() == plain.encode(list(values)).tolist()
    assert len(late) == len(plain) and late == plain and hash(late) == hash(plain)
    assert late.encode(list(values)).tolist() == plain.encode(list(values)).tolist()
    for name in ("parent", "end", "depth", "leaf_start", "leaf_count"):
        assert np.array_equal(getattr(late, name), getattr(plain, name))
    assert all(late.find(text) == plain.find(text) for text in [*plain.texts, "x"])


def test_what_is_not_for_numbers_is_left_to_texts() -> None:
    halves = NumberTexts(np.array([5, 10], np.int64), 1, lambda: ["0.5", "1"])
    assert Intervals((5,), integer=True).build_numbers(halves) is None
    huge = NumberTexts(np.array([2**62], np.int64), 0, lambda: [str(2**62)])
    assert Intervals((5,), integer=False).build_numbers(huge) is None
    assert Intervals((5,), 0, 9).build_numbers(NumberTexts(np.array([3], np.int64), 0, lambda: ["3"])) is None


def test_texts_are_not_made_before_they_are_asked_for() -> None:
    def never() -> list[str]:
        raise AssertionError

    values = NumberTexts(np.arange(0, 50_000, 7), 2, never)
    found = Intervals((1, 10), integer=False).build_numbers(values)
    assert found is not None and found.encode(values).min() > 0 and found.height == 3
