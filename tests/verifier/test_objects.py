"""The verifier of whole objects against the brute force of the definition."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

import treeanon as ta
from tests.reference.objects import least_support, signed_support
from tests.support.object_worlds import SCHEMA, forest_of, random_record
from tests.support.profiles import few
from treeanon.privacy import Guarantee
from treeanon.verifier.tree import verify


@given(
    seed=st.integers(0, 10**9),
    persons=st.integers(1, 14),
    m=st.integers(1, 4),
    n=st.integers(0, 3),
    joint=st.booleans(),
)
@few(75, 150)
def test_the_largest_k_is_that_of_the_definition(seed, persons, m, n, joint):
    draw = random.Random(seed)
    usual = [random_record(draw) for _ in range(3)]
    records = [draw.choice(usual) if draw.random() < 0.7 else random_record(draw) for _ in range(persons)]
    attacker = "joint" if joint else "independent"
    with pytest.MonkeyPatch.context() as patched:
        if draw.random() < 0.5:
            # As if there were too many labels for a table of their pairs.
            patched.setattr("treeanon.verifier.tree_knowledge._MOST_CELLS", 0)
        verdict = verify(forest_of(records), Guarantee(2, m, n, attacker), jobs=1)
    assert verdict.largest_k == least_support(records, m, n, joint=joint)


@given(
    seed=st.integers(0, 10**9),
    persons=st.integers(1, 12),
    m=st.integers(1, 3),
    n=st.integers(0, 2),
    negative=st.sets(st.sampled_from("SHDEP"), min_size=1, max_size=2),
)
@few(30, 60)
def test_negative_knowledge_is_that_of_the_definition(seed, persons, m, n, negative):
    draw = random.Random(seed)
    usual = [random_record(draw) for _ in range(3)]
    records = [draw.choice(usual) if draw.random() < 0.7 else random_record(draw) for _ in range(persons)]
    least = signed_support(records, m, n, negative)
    for k in {1, least or 1, (least or 1) + 1}:
        verdict = verify(forest_of(records), Guarantee(k, m, n, negative=tuple(sorted(negative))), jobs=1)
        assert verdict.largest_k == least
        assert verdict.holds == (least is None or least >= k)
        assert bool(verdict.failures) != verdict.holds


def test_a_value_that_no_visit_has_with_another_points_at_a_person():
    """Who was in the hospital, and had the illness, but never there."""

    def visit(*labels):
        return 0, frozenset({labels[0]}), frozenset((1, frozenset({label}), frozenset()) for label in labels[1:])

    one, other, flu, acne = ("H", "h1"), ("H", "h2"), ("D", "d1"), ("D", "d2")
    usual = frozenset(), frozenset({visit(one, acne, flu), visit(other, flu)})
    odd = frozenset(), frozenset({visit(one, acne), visit(other, flu)})
    forest = forest_of([usual, usual, usual, odd])
    assert verify(forest, k=3, m=2, n=1).holds
    verdict = verify(forest, k=3, m=2, n=1, negative="D")
    assert verdict.largest_k == 1
    # The visit in the one hospital has no flu, and no visit has both illnesses.
    assert {failure.pattern for failure in verdict.failures} == {
        "H + D with H and not D in one visits[]",
        "D + D with D and not D in one visits[]",
    }


def test_one_object_or_several_are_told_apart_by_the_joint_attacker_alone():
    def visit(*labels):
        inner = frozenset((1, frozenset({label}), frozenset()) for label in labels if label[0] == "D")
        return 0, frozenset(label for label in labels if label[0] != "D"), inner

    h, y, d = ("H", "h1"), ("Y", "y1"), ("D", "d1")
    apart = {visit(h, y), visit(h, d), visit(y, d)}
    forest = forest_of([(frozenset(), frozenset(apart)), (frozenset(), frozenset(apart | {visit(h, y, d)}))])
    found = {attacker: verify(forest, Guarantee(2, 3, 2, attacker)).largest_k for attacker in ("independent", "joint")}
    assert found == {"independent": 2, "joint": 1}


def test_the_pattern_of_a_failure_names_the_type_of_the_objects():
    a, b = ("H", "h1"), ("D", "d1")
    inside = frozenset(), frozenset({(0, frozenset({a}), frozenset({(1, frozenset({b}), frozenset())}))})
    apart = (
        frozenset(),
        frozenset(
            {
                (0, frozenset({a}), frozenset()),
                (0, frozenset(), frozenset({(1, frozenset({b}), frozenset())})),
            }
        ),
    )
    verdict = verify(forest_of([inside, apart, apart]), k=2, m=2, n=1)
    assert [failure.pattern for failure in verdict.failures] == ["H + D with H and D in one visits[]"]


def test_what_is_too_deep_for_m_is_refused():
    forest = forest_of([random_record(random.Random(1))])
    assert forest.classes.kinds == 2
    with pytest.raises(ta.errors.UsageError, match="the largest is 6"):
        verify(forest, k=2, m=7, n=1)


def test_the_schema_of_these_worlds_has_two_types():
    assert SCHEMA.layout.types == 3
