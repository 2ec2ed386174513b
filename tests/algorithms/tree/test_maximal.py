"""The default search: what it releases is checked by brute force, and compared with the searches of TREE."""

from __future__ import annotations

from dataclasses import replace
from itertools import takewhile
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import treeanon as ta
from tests.reference.guarantee import holds, violations
from tests.support.profiles import few
from tests.support.search_strategies import random_forest
from tests.support.strategies import properties
from treeanon.algorithms.tree.default import indexed_forest, maximal, run, shared_state
from treeanon.algorithms.tree.default import pair_support as facts
from treeanon.algorithms.tree.default import published_labels as partition
from treeanon.algorithms.tree.default.greedy_walk import Walk, WalkResult
from treeanon.algorithms.tree.default.label_step import Step
from treeanon.algorithms.tree.default.leaving_out import Ending
from treeanon.algorithms.tree.default.maximal import search
from treeanon.algorithms.tree.default.objective import Effort, Objective
from treeanon.algorithms.tree.default.objectives import objective_of
from treeanon.algorithms.tree.published.cut_searches import acs, gcs, ocs
from treeanon.algorithms.tree.record_sets import RecordSets
from treeanon.algorithms.tree.solution import Result, Solution
from treeanon.errors import GuaranteeError, UsageError
from treeanon.kernels.tree import objects as canonical_form
from treeanon.kernels.tree.record_sets import distinct_records, shared
from treeanon.metrics import measure, rpd
from treeanon.privacy import Guarantee
from treeanon.verifier.tree import verify

HOSPITAL = ta.Schema.load("schemas/hospital-xml.toml")
MERGED = HOSPITAL.with_objects("merged")


def flat_schema(*names: str, under: dict[str, str] | None = None) -> ta.Schema:
    text = 'version = 1\n[input]\nformat = "trees"\n'
    for name in names:
        text += f'[[class]]\nname = "{name}"\nunder = "{(under or {}).get(name, "/")}"\n'
    return ta.Schema.loads(text)


def check(forest: ta.Forest, known: frozenset[str], guarantee: Guarantee, found: Result) -> None:
    records = list(found.forest.records())
    wrong = violations(records, guarantee.k, guarantee.m, guarantee.n, attacker=guarantee.attacker, known=known)
    assert not wrong
    before = forest if found.kept is None else forest.take(found.kept)
    assert found.solution.apply(before) == found.forest
    assert found.solution.suppressed == len(forest) - len(found.forest)


def release_is_safe_and_true(seed: int) -> None:
    rnd = Random(seed)
    forest, known = random_forest(rnd)
    guarantee = Guarantee(rnd.randint(2, 5), m=rnd.randint(1, 4), n=rnd.randint(0, 3))
    options = {
        "recoding": rnd.choice(maximal.RECODINGS),
        "objective": rnd.choice(["loss", "loss", "rpd", "rpda"]),
        "max_suppressed": rnd.choice([0, 0, 1, 2]),
        "effort": 0.1,
        "seed": seed,
    }
    if not known or len(forest) < guarantee.k:
        with pytest.raises((GuaranteeError, UsageError)):
            search(forest, guarantee, **options)
        return
    try:
        found = search(forest, guarantee, **options)
    except GuaranteeError:
        assert any("*" in str(record) for record in forest.records())
        return
    check(forest, known, guarantee, found)
    assert found.kept is None or len(forest) - len(found.kept) <= options["max_suppressed"]


@few(40, 300)
@given(st.integers(0, 10**9))
def test_release_is_safe_and_true(seed: int) -> None:
    release_is_safe_and_true(seed)


@pytest.mark.slow
@settings(settings.get_profile("thorough"), max_examples=4000)
@given(st.integers(0, 10**9))
def test_release_is_safe_and_true_at_length(seed: int) -> None:
    release_is_safe_and_true(seed)


@few(20, 40)
@given(st.integers(0, 10**9))
def test_completed_cuts_of_the_paper_are_safe_and_no_coarser(seed: int) -> None:
    rnd = Random(seed)
    forest, known = random_forest(rnd)
    guarantee = Guarantee(rnd.randint(2, 3), m=rnd.randint(1, 3), n=rnd.randint(0, 2))
    found_by = rnd.choice([acs, gcs, ocs])
    if not known or len(forest) < guarantee.k:
        return
    try:
        start = found_by(forest, guarantee)
    except GuaranteeError:
        return
    found = search(forest, guarantee, start=start.solution, effort=0.1)
    check(forest, known, guarantee, found)
    if "*" not in start.solution.cut:
        own = {name: start.solution.cut[name] for name in known}
        # Every value is published as what the given cut says, or as something below that.
        coarse, fine = forest.cut_map(own), forest.cut_map({name: found.solution.cut[name] for name in known})
        held = np.unique(forest.label)
        assert np.array_equal(coarse[fine[held]], coarse[held])


def test_same_result_however_many_cores_look() -> None:
    forest = ta.read("samples/patients.xml", HOSPITAL)[:60]
    guarantee = Guarantee(4, m=3, n=2)
    found = [search(forest, guarantee, jobs=jobs, seed=5, effort=0.2) for jobs in (1, 3)]
    assert all(one.solution == found[0].solution for one in found)
    assert all(one.forest == found[0].forest for one in found)


FEW, ALL = 100, 1000
BY_SIZE = [(k, m, n, FEW) for k, m, n in ((5, 2, 1), (5, 2, 0), (20, 3, 2), (50, 1, 0))]
THOROUGH = [(k, m, n, ALL) for k, m, n in ((5, 2, 1), (5, 2, 0), (5, 3, 2), (20, 2, 1), (20, 3, 2), (50, 1, 0))]


@pytest.mark.parametrize(
    ("k", "m", "n", "persons"), [*BY_SIZE, *(pytest.param(*given, marks=pytest.mark.slow) for given in THOROUGH)]
)
def test_never_above_the_published_search_on_the_sample(k: int, m: int, n: int, persons: int) -> None:
    forest = ta.read("samples/patients.xml", MERGED)[:persons]
    guarantee = Guarantee(k, m=m, n=n)
    theirs = [gcs(forest, guarantee, closed="values"), gcs(forest, guarantee, closed="cuts")]
    ours = measure(forest, search(forest, guarantee).forest)
    by_rpd = search(forest, guarantee, objective="rpd", effort=0.3)
    for other in theirs:
        losses = measure(forest, other.forest)
        assert ours.value_loss <= losses.value_loss
        assert ours.relations_kept >= losses.relations_kept
        assert rpd(by_rpd.forest) <= losses.rpd


@few(12, 100)
@given(st.integers(0, 10**9))
def test_never_above_the_published_search_on_small_forests(seed: int) -> None:
    rnd = Random(seed)
    forest, known = random_forest(rnd)
    guarantee = Guarantee(2, m=rnd.randint(1, 3), n=rnd.randint(0, 2), as_published=True)
    if not known:
        return
    try:
        theirs = gcs(forest, guarantee)
        for objective in ("loss", "rpd", "mining"):
            cost = objective_of(objective, forest, guarantee).of_release
            ours = search(forest, guarantee, objective=objective, effort=0.1)
            assert cost(ours.forest) <= cost(theirs.forest) + 1e-12
    except GuaranteeError:
        return


def test_frequent_values_stay_beside_the_general_label_of_rare_ones() -> None:
    schema = flat_schema("disease")
    records = [[["disease", value, []]] for value in ["flu"] * 6 + ["acne"] * 5 + ["a", "b", "c"]]
    forest = ta.Forest.from_records(schema, records)
    guarantee = Guarantee(3, m=1, n=0)
    siblings = search(forest, guarantee)
    assert set(siblings.solution.cut["disease"]) == {"*", "flu", "acne"}
    assert search(forest, guarantee, recoding="subtree").solution.cut["disease"] == ("*",)
    assert holds(list(siblings.forest.records()), 3, 1, 0)


def test_one_rare_relation_is_ended_where_that_buys_much() -> None:
    schema = flat_schema("hospital", "disease", under={"disease": "hospital"})
    pairs = [("H1", "flu")] * 9 + [("H2", "acne")] * 9 + [("H1", "acne"), ("H2", "flu")] * 1
    records = [[["hospital", h, [["disease", d, []]]]] for h, d in pairs]
    # Whoever has both diseases and both hospitals makes the labels alone safe together.
    records += [[["hospital", "H1", [["disease", "flu", []]]], ["hospital", "H2", [["disease", "acne", []]]]]] * 4
    # Were there a disease below every hospital, its absence would tell that one was left out.
    always = search(ta.Forest.from_records(schema, records), Guarantee(3, m=2, n=1))
    assert not always.solution.left_out
    records += [[["hospital", hospital, []]] for hospital in ("H1", "H2")] * 3
    forest = ta.Forest.from_records(schema, records)
    rare = {("H1", "acne"), ("H2", "flu")}
    guarantee = Guarantee(3, m=2, n=1)
    found = search(forest, guarantee)
    assert {tuple(text for _, text in pair) for pair in found.solution.left_out} == rare
    assert 0 < measure(forest, found.forest).value_loss < 0.05
    found = search(forest, replace(guarantee, as_published=True))
    assert {tuple(text for _, text in pair) for pair in found.solution.disassociated} == rare
    assert measure(forest, found.forest).value_loss == 0
    assert not violations(list(found.forest.records()), 3, 2, 1)


def test_a_class_of_too_few_persons_is_withheld() -> None:
    schema = flat_schema("sex", "tattoo")
    records = [[["sex", value, []]] for value in "FFFFMMMM"]
    records[0].append(["tattoo", "anchor", []])
    forest = ta.Forest.from_records(schema, records)
    found = search(forest, Guarantee(3, m=2, n=1))
    assert found.solution.withheld == ("tattoo",)
    assert set(found.solution.cut["sex"]) >= {"F", "M"}
    assert found.solution.apply(forest) == found.forest


def test_leaving_out_an_outlier_pays() -> None:
    schema = flat_schema("sex", "town")
    records = [[["sex", sex, []], ["town", town, []]] for sex in "FM" for town in ("A", "B") for _ in range(10)]
    records.append([["sex", "F", []], ["town", "A", []], ["town", "B", []]])
    forest = ta.Forest.from_records(schema, records)
    guarantee = Guarantee(3, m=2, n=1)
    assert measure(forest, search(forest, guarantee).forest).value_loss > 0.2
    found = search(forest, guarantee, max_suppressed=1)
    assert found.kept is not None and 40 not in found.kept and found.solution.suppressed == 1
    assert measure(found.forest, found.forest).value_loss == 0


def test_dear_classes_are_kept_finer() -> None:
    schema = flat_schema("left", "right")
    rnd = Random(1)
    records = [[["left", rnd.choice("abcd"), []], ["right", rnd.choice("wxyz"), []]] for _ in range(60)]
    forest = ta.Forest.from_records(schema, records)
    for dear in ("left", "right"):
        found = search(forest, Guarantee(6, m=2, n=0), weights={dear: 100.0}, recoding="subtree")
        by_class = measure(forest, found.forest).value_loss_by_class
        assert by_class[dear] == min(by_class.values())
        assert search(forest, Guarantee(6, m=2, n=0), weights={dear: 0.0}).solution.cut


def test_what_cannot_be_reached_is_said() -> None:
    schema = flat_schema("sex")
    with pytest.raises(GuaranteeError, match="no records"):
        search(ta.Forest.from_records(schema, []), Guarantee(2))
    with pytest.raises(GuaranteeError, match="fewer than k = 5"):
        search(ta.Forest.from_records(schema, [[["sex", "F", []]]]), Guarantee(5))


@pytest.mark.parametrize("effort", ["0", "-1", "nan", "fast", "0s", ""])
def test_efforts_that_are_none(effort: str) -> None:
    with pytest.raises(UsageError, match="effort"):
        Effort.of(effort)


def test_effort_in_seconds_ends() -> None:
    forest = ta.read("samples/patients.xml", HOSPITAL)[:100]
    assert search(forest, Guarantee(5), effort="0.2s").forest.nodes


@few(50, 100)
@given(st.integers(0, 10**9))
def test_record_sets_are_sets(seed: int) -> None:
    rnd = Random(seed)
    count = rnd.choice([5, 70, 300])
    sets = RecordSets(count)
    held: dict[int, set[int]] = {}
    for _ in range(120):
        what = rnd.random()
        if what < 0.5 or not held:
            members = set(rnd.sample(range(count), rnd.randint(1, min(count, rnd.choice([3, 60])))))
            number = sets.add(np.array(sorted(members), np.int32))
            held[number] = members
        elif what < 0.7:
            number = rnd.choice(list(held))
            sets.drop(number)
            del held[number]
        else:
            number = rnd.choice(list(held))
            gone = set(rnd.sample(sorted(held[number]), rnd.randint(1, len(held[number]))))
            smaller = sets.lessen(number, np.array(sorted(gone), np.int32))
            if rnd.random() < 0.5:
                sets.restore(number, smaller, np.array(sorted(gone), np.int32))
            else:
                members = held.pop(number)
                if smaller != number:
                    sets.drop(number)
                if members - gone:
                    held[smaller] = members - gone
                else:
                    sets.drop(smaller)
        chosen = [rnd.choice(list(held)) for _ in range(rnd.randint(1, 4))] if held else []
        if chosen:
            both = set.intersection(*(held[number] for number in chosen))
            enough = rnd.randint(1, 6)
            arrays = sets.kind, sets.at, sets.size, sets.rows, sets.lists
            found = shared(*arrays, np.array(chosen, np.int32), len(chosen), enough)
            assert min(found, enough) == min(len(both), enough)


@given(st.lists(st.integers(0, 200)))
def test_distinct_records(records: list[int]) -> None:
    marks = np.zeros(4, np.uint64)
    assert distinct_records(np.array(records, np.int32), marks).tolist() == sorted(set(records))
    assert not marks.any()


def test_values_that_are_inner_nodes_are_kept(tmp_path: Path) -> None:
    (tmp_path / "h.json").write_text('{"lung": "any", "flu": "lung", "asthma": "lung"}')
    text = 'version = 1\n[input]\nformat = "trees"\n[[class]]\nname = "disease"\nhierarchy = "h.json"\n'
    forest = ta.Forest.from_records(ta.Schema.loads(text, folder=tmp_path), [[["disease", "lung", []]]] * 6)
    found = search(forest, Guarantee(2, m=2, n=0))
    assert found.forest == forest
    assert measure(forest, found.forest).value_loss == 0


@pytest.mark.parametrize("extension", [{"l": 2}, {"negative": ("a",)}])
def test_extensions_without_tables_of_pairs(extension: dict[str, Any]) -> None:
    text = 'version = 1\n[input]\nformat = "trees"\n[[class]]\nname = "a"\n[[class]]\nname = "s"\nrole = "sensitive"\n'
    records = [[["a", x, []], ["s", y, []]] for x in "pq" for y in "123"]
    forest = ta.Forest.from_records(ta.Schema.loads(text), records)
    assert search(forest, Guarantee(2, m=1, n=0, **extension), jobs=3).forest == forest


def test_more_labels_than_tables_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (facts, partition):
        monkeypatch.setattr(module, "MOST_LABELS", 20)
    schema = flat_schema("code", "sex")
    rnd = Random(3)
    records = [[["code", str(rnd.randrange(60)), []], ["sex", rnd.choice("FM"), []]] for _ in range(900)]
    forest = ta.Forest.from_records(schema, records)
    found = search(forest, Guarantee(3, m=3, n=1), jobs=2, effort=0.2)
    assert not violations(list(found.forest.records()), 3, 3, 1)
    assert 2 < len(np.unique(found.forest.label)) <= 20


@pytest.mark.parametrize("objects", ["merged", pytest.param("whole", marks=pytest.mark.slow)])
def test_many_nodes_in_short_numbers_and_in_parts_lead_to_the_same_end(
    objects: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    forest = ta.read("samples/patients.xml", HOSPITAL.with_objects(objects))[:300]
    asked = {"guarantee": Guarantee(5, m=2, n=1), "seed": 1, "effort": 0.1}
    monkeypatch.setattr(run, "_MANY_NODES", 0)
    usual = search(forest, jobs=1, **asked).solution
    monkeypatch.setattr(indexed_forest, "_BEYOND_CACHE", 0)
    monkeypatch.setattr(shared_state, "_FEW", 1)
    monkeypatch.setattr(canonical_form, "_MANY_NODES", 0)
    assert search(forest, jobs=3, **asked).solution == usual


def check_remembered_refusals(rnd: Random) -> None:
    """What walks remember together is what each would find out."""
    forest, _ = random_forest(rnd)
    guarantee = Guarantee(rnd.randint(2, 4), rnd.randint(2, 3), rnd.randint(0, 2))
    found = solution_or_none(forest, guarantee)
    with pytest.MonkeyPatch.context() as patched:
        for remember in ("refuse", "publish"):
            patched.setattr(shared_state.Tried, remember, lambda *_: None)
        assert solution_or_none(forest, guarantee) == found


def solution_or_none(forest: ta.Forest, guarantee: Guarantee) -> Solution | None:
    try:
        return search(forest, guarantee, seed=1, jobs=1).solution
    except (GuaranteeError, UsageError):
        return None


test_remembered_refusals, test_remembered_refusals_often = properties(check_remembered_refusals, 20, 1000)


def check_few_records_looked_at(rnd: Random) -> None:
    """Without tables of pairs, labels of few nodes are refused as they would be when counted."""
    forest, _ = random_forest(rnd)
    guarantee = Guarantee(rnd.randint(2, 4), rnd.randint(2, 3), rnd.randint(0, 2))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(facts, "MOST_LABELS", 0)
        patched.setattr(partition, "_FEW_NODES", -1)
        counted = solution_or_none(forest, guarantee)
        patched.setattr(partition, "_FEW_NODES", rnd.choice([2, 200]))
        assert solution_or_none(forest, guarantee) == counted


test_few_records_looked_at, test_few_records_looked_at_often = properties(check_few_records_looked_at, 10, 1000)


def try_both_ways(patched: pytest.MonkeyPatch) -> list[int]:
    """From now on whatever is refused before it is counted is counted, too; returns the labels refused that way."""
    early, refused = Step._rare_among_plain, list[int]()

    def also_counted(step: Step) -> bool:
        if not early(step):
            return False
        refused.append(step.label)
        with pytest.MonkeyPatch.context() as counting:
            counting.setattr(Step, "_rare_among_plain", lambda _: False)
            assert not Step(step.partition, step.label, step.rest).try_out()
        return True

    patched.setattr(Step, "_rare_among_plain", also_counted)
    return refused


def check_refused_before_counting(rnd: Random) -> None:
    forest, _ = random_forest(rnd)
    with pytest.MonkeyPatch.context() as patched:
        try_both_ways(patched)
        solution_or_none(forest, Guarantee(rnd.randint(2, 4), rnd.randint(3, 4), rnd.randint(0, 2)))


test_refused_before_counting, test_refused_before_counting_often = properties(check_refused_before_counting, 10, 1000)


@pytest.mark.parametrize("objects", ["merged", "whole"])
def test_most_labels_are_refused_before_they_are_counted(objects: str, monkeypatch: pytest.MonkeyPatch) -> None:
    forest = ta.read("samples/patients.xml", HOSPITAL.with_objects(objects))[:300]
    refused = try_both_ways(monkeypatch)
    search(forest, Guarantee(3, m=3, n=1), seed=1, jobs=1, effort=0.1)
    assert refused


def test_many_nodes_are_walked_from_each_place_once(monkeypatch: pytest.MonkeyPatch) -> None:
    forest = ta.read("samples/patients.xml", MERGED)[:300]
    monkeypatch.setattr(run, "_MANY_NODES", 0)
    ended, walk = list[WalkResult](), Walk.run
    monkeypatch.setattr(Walk, "run", lambda self, start=None: ended.append(walk(self, start)) or ended[-1])
    search(forest, Guarantee(10, m=2, n=1), seed=2, jobs=1)
    usual = list(takewhile(lambda walked: not walked.order.price, ended))
    places = {walked.order.weights: walked.published.tobytes() for walked in usual if not walked.order.let_out}
    went_on = [places[walked.order.weights] for walked in usual if walked.order.let_out and walked.order.split]
    assert len(went_on) == len(set(went_on)) > 1 and len(places) > len(went_on)
    # What ends relations goes beside others, from the best so far, and is not gone again.
    dear = [walked.order for walked in ended if walked.order.price]
    assert len(dear) == len(set(dear)) > 0


def check_few_labels_tried(rnd: Random) -> None:
    """Where only the labels that most records hold are tried, the release holds as well."""
    forest, _ = random_forest(rnd)
    guarantee = Guarantee(rnd.randint(2, 4), rnd.randint(1, 3), rnd.randint(0, 2))
    recoding = rnd.choice(["sibling", "subtree"])
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(indexed_forest, "_HUGE", 0)
        patched.setattr(indexed_forest, "_MOST_TRIED", rnd.randint(0, 12))
        try:
            found = search(forest, guarantee, seed=1, jobs=1, effort=0.2, recoding=recoding)
        except (GuaranteeError, UsageError):
            return
    assert verify(found.forest, guarantee).holds
    assert found.solution.apply(forest) == found.forest


test_few_labels_tried, test_few_labels_tried_often = properties(check_few_labels_tried, 20, 1000)


def test_carrying_on_leaves_the_run_as_it_was() -> None:
    """Walks after it must not see nodes where the pairs of another solution moved them."""
    forest = ta.read("samples/patients.xml", MERGED)[:400]
    guarantee = Guarantee(10, m=2, n=1)
    start = gcs(forest, guarantee).solution
    goal = Objective(forest, guarantee)
    run = maximal.Run(forest, guarantee, goal, "sibling", Ending.of(forest, guarantee), Effort(0.1), 0, 1, None)
    before, tree = run.indexed, run.tree
    assert start.disassociated and run.carry_on(start).forest.nodes
    assert run.indexed is before and run.tree is tree


@pytest.mark.parametrize("recoding", maximal.RECODINGS)
def test_nothing_is_lost_where_nobody_need_be_hidden(recoding: str) -> None:
    forest = ta.read("samples/patients.xml", HOSPITAL)
    found = search(forest, Guarantee(1, m=3, n=2), recoding=recoding, max_suppressed=3)
    assert found.forest == forest and found.solution.apply(forest) == forest


def test_completing_leaves_nobody_out() -> None:
    forest = ta.read("samples/patients.xml", MERGED)[:50]
    start = gcs(forest, Guarantee(3)).solution
    with pytest.raises(UsageError, match="max_suppressed"):
        search(forest, Guarantee(3), start=start, max_suppressed=1)


def test_a_repr_shows_no_value() -> None:
    forest = ta.Forest.from_records(flat_schema("disease"), [[["disease", "flu", []]]] * 6)
    found = search(forest, Guarantee(3))
    assert "flu" in found.solution.cut["disease"]
    assert "flu" not in repr(found) + repr(found.solution)
