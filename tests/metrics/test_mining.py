from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from random import Random

import numpy as np
import pytest

from tests.metrics.test_losses import draw, paired, visits
from tests.reference import tree_losses as slow
from tests.support.strategies import parents_of, properties
from treeanon.errors import UsageError
from treeanon.metrics import dtree, measure, ml2
from treeanon.reports import losses_data, losses_text


def against_brute_force(rnd: Random) -> None:
    before, after, kept = draw(rnd)
    share, most = rnd.choice([0.01, 0.4, 0.7]), rnd.choice([1, 2, 3])
    found = ml2(before, after, kept, min_support=share, most_nodes=most)
    need = max(1, -(-round(share * 100) * len(before) // 100))
    levels = found.levels
    expected = slow.mining(paired(before, after, kept), parents_of(before), need, [at.most_nodes for at in levels])
    assert [(at.before, at.after) for at in levels] == [(had, has) for had, has, _ in expected]
    assert [at.distance for at in levels] == pytest.approx([distance for *_, distance in expected])
    total = sum(had for had, *_ in expected)
    assert found.ml2 == pytest.approx(1 - sum(has for _, has, _ in expected) / total if total else 0)
    assert 0 <= found.ml2 <= 1 and found.dml2 >= 0


test_ml2, test_ml2_long = properties(against_brute_force, 25, 1000)


def test_example_3() -> None:
    assert dtree([0, 1], 0, 1) == 0.25
    assert dtree([0, 1], 1, 1) == 0.75
    assert dtree([2], 0, 0) == 1


def test_example_3_of_a_forest(tmp_path: Path) -> None:
    """One hospital and one disease: the subtree of both is published as Example 3 has it."""
    before = visits(tmp_path, *[{"H": ["Flu"]}] * 3)
    general = before.project({"disease": ["Lung", "Stomach"]})
    run_interruptibly = general.disassociate([(("hospital", "H"), ("disease", "Lung"))])
    for after, both in ((general, 0.25), (run_interruptibly, 0.75)):
        deepest = ml2(before, after).levels[-1]
        # the hospital alone is a frequent subtree too, and untouched
        assert (deepest.before, deepest.distance) == (2, both)


def test_untouched_and_nothing_left(tmp_path: Path) -> None:
    before = visits(tmp_path, {"H": ["Flu", "Ulcer"]}, {"H": ["Flu"], "G": ["Asthma"]})
    same = ml2(before, before)
    assert (same.ml2, same.dml2) == (0, 0) and sum(at.before for at in same.levels) > 0
    assert ml2(before, before.take([]), np.empty(0, np.int64)).ml2 == 1
    assert ml2(before, before.project("*")).ml2 == 1
    empty = visits(tmp_path, {})
    assert (ml2(empty, empty).ml2, ml2(empty, empty).dml2) == (0, 0)
    assert ml2(empty.take([]), empty.take([])).ml2 == 0


def test_what_only_the_release_shows_is_not_counted(tmp_path: Path) -> None:
    before = visits(tmp_path, *[{"H": ["Flu"]}] * 4)
    after = before.disassociate([(("hospital", "H"), ("disease", "Flu"))])
    for level in ml2(before, after).levels:
        assert (level.before, level.after) == (2, 1)  # H, and H with its disease


def test_samples_are_stated_and_repeatable(tmp_path: Path) -> None:
    rnd = Random(5)
    records = [{rnd.choice("GH"): rnd.sample(["Flu", "Asthma", "Ulcer"], 2)} for _ in range(60)]
    before = visits(tmp_path, *records)
    kept = np.arange(0, 60, 2)
    after = before.take(kept).project({"disease": ["Lung", "Stomach"]})
    found = ml2(before, after, kept, most_records=30, seed=1)
    assert (found.records, found.of_records) == (30, 60)
    assert found == ml2(before, after, kept, most_records=30, seed=1)
    assert found != ml2(before, after, kept, most_records=30, seed=2)
    data = losses_data(measure(before, after, kept), found)
    assert json.loads(json.dumps(data))["mining"] == found.as_dict() | {"levels": data["mining"]["levels"]}
    assert "mined in a sample of 30 persons" in losses_text(measure(before, after, kept), found)


def test_wrong_usage_is_named(tmp_path: Path) -> None:
    forest = visits(tmp_path, {"H": ["Flu"]})
    for options in ({"min_support": 0.0}, {"min_support": 2.0}, {"most_records": 0}, {"most_nodes": 0}):
        with pytest.raises(UsageError):
            ml2(forest, forest, **options)  # type: ignore[arg-type]


def test_one_percent_is_not_rounded_up(tmp_path: Path) -> None:
    """0.01 * 700 is a little above 7 in binary: 7 records are enough all the same."""
    before = visits(tmp_path, *[{"H": []}] * 7, *[{}] * 693)
    assert [level.before for level in ml2(before, before).levels] == [1] * 3


def test_measuring_without_mining_stays_light() -> None:
    code = (
        "import sys, treeanon.metrics, treeanon.reports\n"
        "print([name for name in ('mlxtend', 'pandas', 'matplotlib', 'sklearn') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
