"""Objects kept whole, against a slow and obvious count."""

from __future__ import annotations

import json
import random
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import treeanon as ta
from tests.reference.objects import Object, Record
from tests.support.object_worlds import SCHEMA, forest_of, random_record, record_of, types_of
from treeanon.metrics import ObjectsKept, measure, objects_kept
from treeanon.metrics.measure import in_terms_of
from treeanon.reports.text import losses_text

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
        if held[1]:
            found.append((held[0], any(len(shown[1]) == len(held[1]) for shown in candidates)))
        else:
            found.append((held[0], any(shows(held, shown) for shown in candidates)))
        inner = frozenset(one for shown in candidates for one in shown[2])
        found += whole_objects(held[2], inner)
    return found


def shows(held: Object, shown: Object) -> bool:
    """Whether a value of an object, or of one in it, can be seen in what it can have become."""
    return may_be(held, shown) and (bool(shown[1]) or any(shows(a, b) for a in held[2] for b in shown[2]))


def kinds_of(objects: frozenset[Object]) -> list[int]:
    """The types of objects, and of all in them."""
    return [kind for one in objects for kind in (one[0], *kinds_of(one[2]))]


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
    # Records are sets here: of equal objects there is one.
    shown = [kind for _, record in records for kind in kinds_of(record[1])]
    for kind, name in enumerate(types_of(SCHEMA)):
        whole = [is_whole for of, is_whole in slow if of == kind]
        if whole:
            assert found[name] == ObjectsKept(len(whole), shown.count(kind), sum(whole) / len(whole))
        else:
            assert name not in found


def test_an_object_of_which_nothing_is_left_is_not_whole() -> None:
    """Also one that holds nothing but objects, where its person has another of its type."""
    inner: list[Object] = [(1, frozenset({label}), frozenset()) for label in (("D", "d1"), ("E", "e1"))]
    forest = forest_of([(frozenset(), frozenset((0, frozenset(), frozenset({one})) for one in inner))])
    assert objects_kept(forest, forest)["visits[]"] == ObjectsKept(2, 2, 1.0)
    assert objects_kept(forest, forest.without(["D"]))["visits[]"] == ObjectsKept(2, 1, 0.5)


def test_reports_show_it() -> None:
    draw = random.Random(3)
    forest = forest_of([random_record(draw) for _ in range(8)])
    losses = measure(forest, forest.without(["E"]))
    text = losses_text(losses)
    assert "kept whole" in text and losses.as_dict()["objects"]["visits[]"]["whole"] == 1.0
    assert losses.objects["visits[].diagnoses[]"].whole < 1
    assert "H + Y in visits[]" not in text and "D + E in visits[]" in text


STAYS = """
version = 1
[input]
format = "ndjson"
objects = "{objects}"
[[class]]
name = "ward"
path = "stays[].ward"
[[class]]
name = "start"
path = "stays[].start"
[[class]]
name = "end"
path = "stays[].end"
[[class]]
name = "ill"
path = "stays[].ills[].name"
"""


def _stays(*of: tuple[str, str, str]) -> dict[str, Any]:
    return {"stays": [{"ward": ward, "start": start, "end": end, "ills": [{"name": start}]} for ward, start, end in of]}


def test_merged_trees_take_documents_apart_as_they_come_back(tmp_path: Path) -> None:
    """Two stays in one ward become one node, and come back as a ward with each start, and one with each end."""
    people = [_stays(("A", "1", "2"), ("A", "3", "4"), ("B", "1", "2")), _stays(("A", "1", "2"))] * 3
    path = tmp_path / "in.ndjson"
    path.write_text("".join(json.dumps(one) + "\n" for one in people))
    merged, whole = (ta.Schema.loads(STAYS.format(objects=name)) for name in ("merged", "whole"))
    forest = ta.read(path, merged)
    found = objects_kept(forest, forest)
    assert (found["stays[]"].before, found["stays[]"].whole) == (12, 0.5)
    release = ta.anonymize(forest, k=2, m=1, n=0)
    # The same by the file that is written, whose objects another reader counts.
    release.write(tmp_path / "out.ndjson")
    lines = [json.loads(line)["stays"] for line in (tmp_path / "out.ndjson").read_text().splitlines()]
    shown = sum(len({json.dumps(stay, sort_keys=True) for stay in stays}) for stays in lines)
    assert release.loss.objects["stays[]"].after == shown
    ordered = ta.read(tmp_path / "in.ndjson", whole)
    assert objects_kept(ordered, ordered)["stays[]"] == ObjectsKept(12, 12, 1.0)


def test_merged_trees_of_what_cannot_be_read_again_have_no_objects(tmp_path: Path) -> None:
    path = tmp_path / "in.ndjson"
    path.write_text("".join(json.dumps(_stays((ward, "1", "2"))) + "\n" for ward in "AAB"))
    forest = ta.read(path, ta.Schema.loads(STAYS.format(objects="merged")))
    assert objects_kept(forest[:2], forest[:2]) == {}
    assert objects_kept(forest, forest)
    path.unlink()
    assert forest.report is not None
    forest.report.whole = None
    assert objects_kept(forest, forest) == {}


@settings(deadline=None, max_examples=30)
@given(st.lists(st.lists(st.tuples(*[st.sampled_from("AB")] * 3), max_size=3), min_size=1, max_size=3))
def test_merged_objects_are_those_of_the_file_that_is_written(people: list[Any]) -> None:
    folder = Path(tempfile.mkdtemp())
    (folder / "in.ndjson").write_text("".join(json.dumps(_stays(*one)) + "\n" for one in people))
    merged, whole = (ta.Schema.loads(STAYS.format(objects=name)) for name in ("merged", "whole"))
    forest = ta.read(folder / "in.ndjson", merged)
    found = objects_kept(forest, forest)
    # Records one by one, so that their order is known.
    total: dict[str, list[float]] = {}
    before = ta.read(folder / "in.ndjson", whole)
    for at in range(len(forest)):
        ta.write(forest[at : at + 1], folder / "out.ndjson", force=True)
        one = ta.read(folder / "out.ndjson", whole)
        for name, of in objects_kept(before[at : at + 1], in_terms_of(before, one)[0]).items():
            assert of.whole is not None
            own = of.before, of.after, of.before * of.whole
            total[name] = [a + b for a, b in zip(total.get(name, [0, 0, 0]), own, strict=True)]
    expected = {name: ObjectsKept(int(a), int(b), c / a) for name, (a, b, c) in total.items()}
    assert {name: (of.before, of.after) for name, of in found.items()} == {
        name: (of.before, of.after) for name, of in expected.items()
    }
    for name, of in found.items():
        assert of.whole == pytest.approx(expected[name].whole)
