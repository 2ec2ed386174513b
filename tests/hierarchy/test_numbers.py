"""Hierarchies of numbers whose texts are made later are those of the texts."""

from __future__ import annotations

import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from treeanon.forest import Classes
from treeanon.hierarchy import Hierarchy, Intervals
from treeanon.hierarchy.numbers import NumberTexts, decimal_text, steps_of_text, steps_of_texts, texts_of_steps

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


@given(cases())
def test_single_texts_and_copies_are_those_of_the_whole(case: tuple[Intervals, NumberTexts]) -> None:
    builder, values = case
    plain, late = builder.build(filter(None, values)), builder.build_numbers(values)
    if late is None:
        return
    assert [late.texts[code] for code in range(len(late))] == list(plain.texts)
    copy = pickle.loads(pickle.dumps(late))
    assert copy == late and copy == plain and [copy.find(text) for text in plain.texts] == list(range(len(plain)))
    assert late.encode(plain.texts).tolist() == list(range(len(plain)))


@given(st.integers(0, 4), st.lists(st.integers(-(10**17), 10**17)))
def test_texts_of_numbers_are_read_as_these(decimals: int, steps: list[int]) -> None:
    texts = [decimal_text(step, decimals) for step in steps]
    assert texts_of_steps(np.array(steps, np.int64), decimals) == texts
    found = NumberTexts.read(texts)
    assert found is not None and list(found) == sorted(set(texts), key=Fraction)
    assert [steps_of_text(text, decimals) for text in texts] == steps
    read, known = steps_of_texts(texts, decimals)
    assert read.tolist() == steps and known.all()


@pytest.mark.parametrize(
    "text", ["-0", "-0.0", "00", "01", "1.", "+1", ".5", "1e5", "1.50", "x", "-", "1,5", "١", " 1", "1\n", "", "9" * 30]
)
def test_other_spellings_are_no_numbers_of_a_hierarchy(text: str) -> None:
    assert steps_of_text(text, 2) is None and not steps_of_texts([text, "7"], 2)[1][0]
    assert NumberTexts.read([text]) is None
    late = Intervals((10,), integer=False).build_numbers(NumberTexts(np.array([50, 100, 150]), 2))
    assert late is not None and late.find(text) is None and late.encode([text, "1"]).tolist()[0] == -1


def test_labels_of_very_many_numbers_have_texts_one_by_one() -> None:
    late = Intervals((10,), integer=False).build_numbers(NumberTexts(np.arange(0, 50_000, 7), 2))
    assert late is not None
    classes = Classes(("sex", "pay"), (-1, -1), (Hierarchy.flat("FM"), late))
    assert classes.decode(2) == ("sex", "F") and classes.decode(len(classes) - 1) == ("pay", late.texts[-1])
    assert "all_texts" not in vars(late)
    assert [classes.texts[label] for label in range(len(classes))] == list(classes.texts)
    few = np.array([5, 4, 90], np.int32)
    assert classes.texts_of(1, few) == [classes.texts[label] for label in few.tolist()]
