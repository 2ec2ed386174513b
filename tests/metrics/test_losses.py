from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

import treeanon as ta
from tests.reference import tree_losses as slow
from tests.support.paths import ROOT
from tests.support.strategies import make_case, make_pairs, make_records, parents_of, properties, released
from treeanon.errors import UsageError
from treeanon.metrics import (
    Counts,
    Losses,
    counts,
    measure,
    relation_counts,
    relations_kept,
    rpd,
    rpd_of_records,
    value_loss,
    value_loss_alone,
    value_loss_of_supports,
)
from treeanon.reports import losses_data, losses_text

LUNG = {"Flu": "Lung", "Asthma": "Lung", "Ulcer": "Stomach", "Lung": "Disease", "Stomach": "Disease"}
DISEASES = ["Flu", "Asthma", "Ulcer"]


def schema(folder: Path) -> ta.Schema:
    (folder / "disease.json").write_text(json.dumps(LUNG))
    return ta.Schema.loads(
        'version = 1\n[input]\nformat = "trees"\n[[class]]\nname = "hospital"\n'
        '[[class]]\nname = "disease"\nunder = "hospital"\nhierarchy = "disease.json"\n',
        folder=folder,
    )


def visits(folder: Path, *records: dict[str, list[str]]) -> ta.Forest:
    """A forest of records given as hospital to diseases."""
    trees = [
        [["hospital", name, [["disease", text, []] for text in texts]] for name, texts in record.items()]
        for record in records
    ]
    return ta.Forest.from_records(schema(folder), trees)


# --- against the slow twins ------------------------------------------------------------------------------------------


def draw(rnd: Random) -> tuple[ta.Forest, ta.Forest, np.ndarray | None]:
    """An input, a release of it, and which records were kept."""
    case = make_case(rnd, "ndjson")
    forest = ta.Forest.from_records(case.schema, make_records(rnd, case))
    if rnd.random() < 0.3:  # data with inner nodes of the hierarchies as values
        forest = released(rnd, forest)
    after = released(rnd, forest)
    if rnd.random() < 0.2:
        after = after.without([rnd.choice(forest.classes.names)])
    if rnd.random() < 0.5:
        return forest, after, None
    kept = np.array([r for r in rnd.sample(range(len(forest)), len(forest)) if rnd.random() < 0.7], np.int64)
    return forest, after.take(kept), kept


def paired(before: ta.Forest, after: ta.Forest, kept: np.ndarray | None) -> list[tuple[Any, Any]]:
    source = range(len(before)) if kept is None else kept.tolist()
    found = dict(zip(source, after.records(), strict=True))
    return [(record, found.get(r)) for r, record in enumerate(before.records())]


def close(found: dict[str, float], expected: dict[str, float]) -> bool:
    return found == pytest.approx(expected, rel=1e-12, abs=1e-15)


def value_losses(rnd: Random) -> None:
    before, after, kept = draw(rnd)
    weights = {name: rnd.choice([0.0, 0.5, 3.0]) for name in before.classes.names if rnd.random() < 0.3}
    found = value_loss(before, after, kept, weights=weights)
    total, by_class = slow.value_loss(paired(before, after, kept), parents_of(before), weights)
    assert found.total == pytest.approx(total, abs=1e-12)
    assert close(dict(found.by_class), by_class)


def relation_losses(rnd: Random) -> None:
    before, after, kept = draw(rnd)
    found = relations_kept(before, after, kept, counted=relation_counts(before) if rnd.random() < 0.5 else None)
    total, by_pair = slow.relations_kept(paired(before, after, kept))
    assert found.total == pytest.approx(total) and close(dict(found.by_pair), by_pair)
    assert 0 <= found.total <= 1


def path_losses(rnd: Random) -> None:
    _, forest, _ = draw(rnd)
    parents = parents_of(forest)
    for scope, everywhere in (("class", False), ("hierarchy", True)):
        expected = [slow.rpd(record, parents, everywhere) for record in forest.records()]
        assert rpd_of_records(forest, scope).tolist() == pytest.approx(expected)  # type: ignore[arg-type]
        assert rpd(forest, scope) == pytest.approx(sum(expected) / max(len(expected), 1))  # type: ignore[arg-type]


def untouched(rnd: Random) -> None:
    before, _, _ = draw(rnd)
    losses = measure(before, before)
    assert losses.value_loss == 0 and losses.relations_kept == 1 and losses.before == losses.after
    assert not any(losses.value_loss_by_class.values()) and set(losses.relations_kept_by_pair.values()) <= {1.0}
    gone = measure(before, before.take([]), np.empty(0, np.int64))
    assert gone.value_loss == bool(losses.value_loss_by_class)
    assert gone.relations_kept == (not losses.relations_kept_by_pair)


def of_supports(rnd: Random) -> None:
    """Where all records hold leaves and are published, supports alone give the value loss."""
    case = make_case(rnd, "ndjson")
    forest = ta.Forest.from_records(case.schema, make_records(rnd, case))
    leaves = np.concatenate([[False], *(h.leaf_count == 1 for h in forest.classes.hierarchies)])
    after = released(rnd, forest)
    if not leaves[forest.label].all() or not after.label.all():
        return
    supports = np.zeros(len(forest.classes), np.int64)
    for lo, hi in zip(after.offsets, after.offsets[1:], strict=False):
        supports[np.unique(after.label[lo:hi])] += 1
    found = value_loss_of_supports(forest.classes, supports)
    assert found == value_loss_alone(after) == value_loss(forest, after)
    moved = after.disassociate(make_pairs(rnd, list(after.records())))
    assert value_loss(forest, moved) == found


test_value_loss, test_value_loss_long = properties(value_losses, 40)
test_relations_kept, test_relations_kept_long = properties(relation_losses, 30)
test_rpd, test_rpd_long = properties(path_losses, 30)
test_nothing_and_everything_lost, test_nothing_and_everything_lost_long = properties(untouched, 40)
test_loss_of_supports, test_loss_of_supports_long = properties(of_supports, 40)


# --- worked examples -------------------------------------------------------------------------------------------------

VECTORS = ROOT / "tests/vectors/trees.json"


def test_the_papers_rpd_of_figures_5_and_7(tmp_path: Path) -> None:
    vectors = json.loads(VECTORS.read_text())
    text = 'version = 1\n[input]\nformat = "trees"\n'
    for name, under in (("hospital", "/"), ("disease", "hospital"), ("treatment", "disease")):
        (tmp_path / f"{name}.json").write_text(json.dumps(vectors["hierarchy_figure_4"][name]))
        text += f'[[class]]\nname = "{name}"\nunder = "{under}"\nhierarchy = "{name}.json"\n'
    figure = vectors["record_figure_2"]
    records = [figure["figure_5_generalized"], figure["figure_7_disassociated(Hospital2,Bronchitis)"]]
    forest = ta.Forest.from_records(ta.Schema.loads(text, folder=tmp_path), records)
    assert rpd_of_records(forest, "hierarchy").tolist() == pytest.approx([0.0012860082304526747, 0.02259355709876543])
    # By class, Hospital1 ─ Gastritis is 1/(1·4 · 2·4), Hospital2 ─ Lung Disease ─ each of two: 1/(1·4 · 2·2 · 3·4).
    assert rpd_of_records(forest)[0] == pytest.approx((1 / 32 + 1 / 192 + 1 / 192) / 3)


def test_merged_labels_count_once(tmp_path: Path) -> None:
    before = visits(tmp_path, {"H": ["Flu", "Asthma", "Ulcer"]})
    after = before.project({"disease": ["Lung", "Ulcer"]})
    found = value_loss(before, after)
    # H, Lung (one of two steps to all three leaves) and Ulcer
    assert found.by_class == {"hospital": 0.0, "disease": 0.25} and found.total == pytest.approx(0.5 / 3)
    assert relations_kept(before, after).total == pytest.approx(2 / 3)


def test_an_inner_node_that_was_held_is_untouched(tmp_path: Path) -> None:
    before = visits(tmp_path, {"H": ["Lung"]}, {"H": ["Lung", "Flu"]})
    assert value_loss(before, before).total == 0
    # the second person's Flu is published as Lung, beside a Lung of its own
    after = before.project({"disease": ["Lung", "Stomach"]})
    assert value_loss(before, after).by_class["disease"] == 0.25
    assert value_loss_alone(after).by_class["disease"] == 0.5


def test_suppressed_withheld_and_star_lose_everything(tmp_path: Path) -> None:
    before = visits(tmp_path, {"H": ["Flu"]}, {"H": ["Flu", "Ulcer"]})
    one = measure(before, before.take([0]), np.array([0]))
    assert one.value_loss == pytest.approx(3 / 5) and one.relations_kept == pytest.approx(1 / 3)
    assert one.value_loss_by_class == {"hospital": 0.5, "disease": pytest.approx(2 / 3)}
    withheld = measure(before, before.without(["disease"]))
    assert withheld.value_loss_by_class == {"hospital": 0.0, "disease": 1.0} and withheld.relations_kept == 0
    star = measure(before, before.project("*"))
    assert star.value_loss == 1 and star.value_loss_by_class == {"hospital": 1.0, "disease": 1.0}
    assert star.relations_kept == 0 and value_loss_alone(before.project("*")).total == 1


def test_a_general_value_beside_an_exact_one(tmp_path: Path) -> None:
    before = visits(tmp_path, {"H": ["Flu"]}, {"H": ["Asthma"]})
    found = value_loss(before, before.project({"disease": ["Disease", "Flu"]}))
    assert found.by_class["disease"] == 0.5 and found.total == 0.25
    assert value_loss(before, before.project({"disease": ["Disease"]}), weights={"hospital": 0}).total == 1


def test_one_leaf_has_nothing_to_lose(tmp_path: Path) -> None:
    text = 'version = 1\n[input]\nformat = "trees"\n[[class]]\nname = "x"\n'
    before = ta.Forest.from_records(ta.Schema.loads(text), [[["x", "only", []]]])
    assert value_loss(before, before.project({"x": [before.classes.hierarchies[0].root]})).total == 0


def test_empty_records_and_forests(tmp_path: Path) -> None:
    empty = visits(tmp_path, {}, {})
    losses = measure(empty, empty)
    assert (losses.value_loss, losses.relations_kept, losses.rpd) == (0, 1, 0)
    assert losses.before == Counts(2, 0, 1, {"hospital": 0, "disease": 0})
    assert rpd(empty.take([])) == 0 and measure(empty.take([]), empty.take([])).value_loss == 0
    assert rpd(visits(tmp_path, {}, {"H": []})) == pytest.approx(0.5)


def test_counts(tmp_path: Path) -> None:
    forest = visits(tmp_path, {"H": ["Flu"]}, {"H": ["Flu"]}, {"H": ["Asthma", "Ulcer"]})
    assert counts(forest) == Counts(3, 7, 2, {"hospital": 1, "disease": 3})


def test_wrong_usage_is_named(tmp_path: Path) -> None:
    forest = visits(tmp_path, {"H": ["Flu"]}, {"H": []})
    other = ta.Forest.from_records(
        ta.Schema.loads('version = 1\n[input]\nformat = "trees"\n[[class]]\nname = "hospital"\n'), [[]]
    )
    one = forest.take([0])
    for call in (
        lambda: measure(forest, one),
        lambda: measure(forest, other.take([0, 0])),
        lambda: measure(forest, one, np.array([2])),
        lambda: measure(forest, one, np.array([0, 1])),
        lambda: measure(forest, forest, np.array([0, 0])),
        lambda: value_loss(forest, forest, weights={"hospital": -1.0}),
        lambda: value_loss(forest, forest, weights={"hospital": float("nan")}),
        lambda: value_loss(forest, forest, weights={"ward": 1.0}),
        lambda: rpd(forest, "all"),  # type: ignore[arg-type]
    ):
        with pytest.raises(UsageError):
            call()


def test_many_pairs_of_one_record(tmp_path: Path) -> None:
    """More pairs than slots have bits in common, and labels that repeat."""
    names = {f"H{i}": DISEASES for i in range(400)}
    before = visits(tmp_path, names, {"H1": ["Flu"]}, names)
    assert relation_counts(before).tolist() == [[0, 2401], [0, 0]]


# --- reports ---------------------------------------------------------------------------------------------------------


def test_the_report_fits_a_terminal(tmp_path: Path) -> None:
    before = visits(tmp_path, {"H": ["Flu", "Asthma"]}, {"H": ["Ulcer"]})
    losses = measure(before, before.project({"disease": ["Lung", "Ulcer"]}))
    text = losses_text(losses)
    assert "value loss                             0.125" in text and "hospital > disease" in text
    plain = losses_data(losses)
    assert json.loads(json.dumps(plain)) == plain and plain["value_loss"] == losses.value_loss
    long = "a class with\na very long name " * 5
    held = Counts(10**9, 10**10, 10**9, {long: 10**6})
    pairs = {f"{long}>{i}": 0.123 for i in range(30)}
    wide = losses_text(Losses(0.5, {long: 1.0}, 0.5, pairs, 123.0, held, held))
    assert max(map(len, wide.splitlines())) <= 80 and "and 10 more pairs" in wide
