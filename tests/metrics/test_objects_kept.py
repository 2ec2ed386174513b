"""Objects kept whole, against a slow and obvious count."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from tests.reference.objects import Object, Record
from tests.support.object_worlds import SCHEMA, forest_of, random_record, record_of, types_of
from treeanon.metrics import measure, objects_kept
from treeanon.report.text import losses_text

EVERYTHING: Record = (
    frozenset(),
    frozenset(
        (
            0,
            frozenset({("H", f"h{i}"), ("Y", f"y{i}")}),
            frozenset({(1, frozenset({("D", f"d{i}"), ("E", "e1")}), frozenset())}),
        )
        for i in (1, 2)
    ),
)


def may_be(held: Object, shown: Object) -> bool:
    """Whether an object can have become another: each value of that is one of this, or any value of a class of it."""
    return held[0] == shown[0] and all(
        label in held[1] or (label[1] == "*" and any(label[0] == own[0] for own in held[1])) for label in shown[1]
    )


def whole_objects(before: frozenset[Object], after: frozenset[Object]) -> list[tuple[int, bool]]:
    """The type of every object, and whether it is whole among some that the objects around it can have become."""
    found = []
    for held in before:
        candidates = [shown for shown in after if may_be(held, shown)]
        found.append((held[0], any(len(shown[1]) == len(held[1]) for shown in candidates)))
        inner = frozenset(one for shown in candidates for one in shown[2])
        found += whole_objects(held[2], inner)
    return found


@given(seed=st.integers(0, 10**9), persons=st.integers(1, 6))
def test_it_is_what_a_slow_count_says(seed: int, persons: int) -> None:
    draw = random.Random(seed)
    forest = forest_of([EVERYTHING, *(random_record(draw) for _ in range(persons))])
    persons += 1
    names = [name for name in ("H", "Y", "D", "E", "P") if draw.random() < 0.3]
    after = forest.without(names).project({name: ["*"] for name in ("H", "D") if draw.random() < 0.5})
    rules = [(("H", "h1"), ("D", "d1"), "visits[]"), (("D", "d2"), ("E", "e1"), "visits[].diagnoses[]")]
    after = after.leave_out([rule for rule in rules if draw.random() < 0.5])
    kept = sorted(draw.sample(range(persons), draw.randrange(persons + 1)))
    records: list[tuple[Record, Record]] = [
        (record_of(forest.record(i)), record_of(after.record(i)) if i in kept else (frozenset(), frozenset()))
        for i in range(persons)
    ]
    slow = [one for before, shown in records for one in whole_objects(before[1], shown[1])]
    found = objects_kept(forest, after.take(kept), kept)
    for kind, name in enumerate(types_of(SCHEMA)):
        whole = [is_whole for of, is_whole in slow if of == kind]
        if whole:
            assert (found[name].before, found[name].whole) == (len(whole), sum(whole) / len(whole))
        else:
            assert name not in found


def test_reports_show_it() -> None:
    draw = random.Random(3)
    forest = forest_of([random_record(draw) for _ in range(8)])
    losses = measure(forest, forest.without(["E"]))
    text = losses_text(losses)
    assert "kept whole" in text and losses.as_dict()["objects"]["visits[]"]["whole"] == 1.0
    assert losses.objects["visits[].diagnoses[]"].whole < 1
    assert "H + Y in visits[]" not in text and "D + E in visits[]" in text
