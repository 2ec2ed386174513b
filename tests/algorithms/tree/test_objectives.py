"""What the default search minimizes beside the ordinary loss: subtrees that are mined, and errors of queries."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import numpy as np
import pytest

import treeanon as ta
from tests.metrics.test_losses import draw, visits
from tests.support.command_line import treeanon
from tests.support.strategies import properties
from treeanon.algorithms.tree.default.frequent import MiningObjective
from treeanon.algorithms.tree.default.maximal import search
from treeanon.algorithms.tree.published.cut_searches import gcs, ocs
from treeanon.bench.tpch import trees
from treeanon.errors import FileError, UsageError
from treeanon.metrics import ml2, objects_kept, relations_kept, value_loss
from treeanon.metrics.mining import FrequentSubtrees
from treeanon.metrics.objects import share_whole
from treeanon.privacy import Guarantee
from treeanon.queries.grammar import parse
from treeanon.queries.trees import count_trees
from treeanon.queries.workload import Workload, queries_in
from treeanon.verifier.tree import verify

MERGED = ta.Schema.load("schemas/hospital-xml.toml").with_objects("merged")


# --- mining ----------------------------------------------------------------------------------------------------------


def against_the_measure(rnd: Random) -> None:
    """What a search counts by bits is what ML² counts by records, which brute force checks."""
    before, after, kept = draw(rnd)
    share, most = rnd.choice([0.01, 0.4]), rnd.choice([1, 2, 3])
    mined = FrequentSubtrees.of(before, min_support=share, most_nodes=most)
    expected = ml2(before, after, kept, min_support=share, most_nodes=most)
    assert 1 - mined.shown(after, kept) == pytest.approx(expected.ml2)
    assert mined.count == sum(level.before for level in expected.levels)


test_shown, test_shown_long = properties(against_the_measure, 15, 500)


def against_generalized_trees(rnd: Random) -> None:
    """A walk is judged by the labels that it publishes: as its trees would be."""
    before, _, _ = draw(rnd)
    goal = MiningObjective(before, Guarantee(2, 2, 1))
    if goal._general:
        return
    cut, classes = {}, before.classes
    for name, hierarchy in zip(classes.names, classes.hierarchies, strict=True):
        if not goal._known[classes.root(name)]:
            continue
        nodes = [0]
        while (inner := [x for x in nodes if hierarchy.leaf_count[x] > 1]) and rnd.random() < 0.7:
            chosen = rnd.choice(inner)
            nodes.remove(chosen)
            nodes += np.flatnonzero(hierarchy.parent == chosen).tolist()
        cut[name] = [classes.texts[classes.root(name) + node] for node in nodes]
    mapping = before.cut_map(cut)
    assert 1 - goal._shown(mapping) == pytest.approx(ml2(before, before.relabel(mapping)).ml2)


test_walks, test_walks_long = properties(against_generalized_trees, 15, 500)


@pytest.mark.parametrize(("k", "m", "n"), [(5, 2, 1), pytest.param(5, 3, 2, marks=pytest.mark.slow)])
def test_mining_is_below_all_other_searches(k: int, m: int, n: int) -> None:
    forest, guarantee = trees(250), Guarantee(k, m, n)
    ours = search(forest, guarantee, objective="mining", effort=0.3)
    assert verify(ours.forest, guarantee).holds
    assert ours.solution.apply(forest) == ours.forest
    lost = ml2(forest, ours.forest).ml2
    assert ours.report["objective"]["value"] == pytest.approx(lost)
    others = [search(forest, guarantee, effort=0.3), gcs(forest, guarantee), ocs(forest, guarantee)]
    assert lost < min(ml2(forest, other.forest).ml2 for other in others)
    assert ours.report["objective"]["by_loss"] == pytest.approx(ml2(forest, others[0].forest).ml2)


def test_mining_of_whole_objects_and_persons_left_out() -> None:
    forest = ta.read("samples/patients.xml", "schemas/hospital-xml.toml")[:30]
    found = ta.anonymize(
        forest, k=3, max_suppressed=3, effort=0.1, parameters={"objective": "mining"}, algorithm="maximal"
    )
    told = found.report["objective"]
    assert found.verdict.holds and told["value"] <= told["by_loss"]
    assert told["value"] == pytest.approx(ml2(forest, found.forest, found.kept).ml2)


# --- queries ---------------------------------------------------------------------------------------------------------

QUERIES = [
    "diagnosis = Asthma",
    "age 30-40 and sex = f",
    "diagnosis = Asthma under hospital = 'North Clinic'",
    "not zip = missing and age > 60",
]


def test_errors_are_those_of_estimates(tmp_path: Path) -> None:
    before = visits(tmp_path, {"H": ["Flu"]}, {"H": ["Asthma"], "G": ["Ulcer"]}, {"G": ["Flu", "Ulcer"]})
    texts = ["disease = Flu", "disease = Flu under hospital = H", "hospital = G and not disease = Flu"]
    asked = Workload(before, texts)
    assert asked.truth.tolist() == [2, 1, 1] and asked.error(before) == 0
    after = before.project({"disease": ["Lung", "Stomach"]})
    expected = [count_trees(after, parse(text))[0] for text in texts]
    assert asked.estimates(after).tolist() == expected
    errors = [abs(found - true) / true for found, true in zip(expected, [2, 1, 1], strict=True)]
    assert asked.error(after) == pytest.approx(sum(errors) / 3)
    assert asked.near_estimates(after) == pytest.approx(expected)
    # A person who is left out satisfies nothing.
    assert asked.errors(asked.estimates(before.take([0]))).tolist() == [0.5, 0, 1]


def test_queries_lose_less_than_the_ordinary_loss() -> None:
    forest, guarantee = ta.read("samples/patients.xml", MERGED)[:150], Guarantee(5, 2, 1)
    hospital = sorted({node[1] for record in forest.records() for node in record if node[0] == "hospital"})[0]
    texts = [text.replace("North Clinic", hospital.replace("'", "''")) for text in QUERIES]
    found = search(forest, guarantee, objective="queries", queries=texts, effort=0.3)
    assert verify(found.forest, guarantee).holds
    told = found.report["objective"]
    assert told["queries"] == 4 and told["value"] < told["by_loss"]
    assert told["value"] == pytest.approx(Workload(forest, texts).error(found.forest))
    # Solutions tell how many were asked, not what.
    assert found.solution.options["queries"] == 4


def test_files_of_queries(tmp_path: Path) -> None:
    file = tmp_path / "asked.txt"
    file.write_text("# of 2019\n\n  age 30-40\nsex = f\n")
    assert queries_in(file) == queries_in(str(file)) == ("age 30-40", "sex = f")
    file.write_text("age 30-40\n\nage >\n")
    with pytest.raises(UsageError, match=r"asked\.txt, line 3: query, character 6: a value is expected"):
        queries_in(file)
    for text in ("", "# nothing\n"):
        file.write_text(text)
        with pytest.raises(UsageError, match="no query"):
            queries_in(file)
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match="UTF-8"):
        queries_in(file)
    with pytest.raises(FileError, match="cannot be read"):
        queries_in(tmp_path / "none.txt")
    with pytest.raises(UsageError):
        queries_in([])


def test_what_does_not_fit_is_refused() -> None:
    forest = ta.read("samples/patients.xml", MERGED)[:50]
    for given, said in (
        ({"objective": "queries"}, "needs queries"),
        ({"queries": ["sex = f"]}, "queries are for objective = queries"),
        ({"objective": "queries", "queries": ["sex = f", "shoe = 42"]}, "number 2: query, character 1: unknown class"),
        ({"objective": "queries", "queries": ["sex = f under diagnosis = Flu"]}, "number 1"),
        ({"objective": "best"}, "one of loss, rpd, rpda, mining, queries"),
    ):
        with pytest.raises(UsageError, match=said):
            ta.anonymize(forest, k=2, parameters=given)
    with pytest.raises(UsageError, match="algorithm 'gcs' has no parameter 'objective'"):
        ta.anonymize(forest, k=2, algorithm="gcs", parameters={"objective": "mining"})


def test_on_the_command_line(tmp_path: Path) -> None:
    asked, out, solution = tmp_path / "asked.txt", tmp_path / "out.xml", tmp_path / "solution.json"
    asked.write_text("# the survey\nage 30-40\nsex = f and age > 70\n")
    command = ["anonymize", "samples/patients.xml", "-s", "schemas/hospital-xml.toml", "-k", "5", "--effort", "0.1"]
    done = treeanon(*command, "-o", out, "--objective", "queries", "--queries", asked, "--solution", solution)
    assert done.returncode == 0
    assert "Objective queries: mean relative error of 2 queries: " in done.stderr
    assert "age > 70" not in solution.read_text()
    told = json.loads(treeanon("compare", *command[1:4], out, "--queries", asked, "--json").stdout)["queries"]
    assert f"{told['error']:.3f}" in done.stderr and [one["query"] for one in told["queries"]] == [
        "age 30-40",
        "sex = f and age > 70",
    ]
    text = treeanon("compare", *command[1:4], out, "--queries", asked).stdout
    assert f"{told['queries'][0]['before']:,}" in text and "mean error of queries" in text
    for more, code, said in (
        (["--objective", "queries"], 2, "needs queries"),
        (["--objective", "queries", "--queries", tmp_path / "none"], 4, "cannot be read"),
        (["--objective", "rpd", "--param", "objective=rpd"], 2, "are the same"),
        (["--objective", "mining", "-a", "ocs"], 2, "has no parameter 'objective'"),
    ):
        done = treeanon(*command, "-o", tmp_path / "other.xml", *more)
        assert (done.returncode, said in done.stderr) == (code, True), done.stderr


# --- objects kept whole ----------------------------------------------------------------------------------------------


def test_a_heavier_weight_keeps_more_objects_whole() -> None:
    forest = ta.read("samples/patients.xml", ta.Schema.load("schemas/hospital-xml.toml"))
    guarantee, lost = Guarantee(10, m=2, n=1), []
    for weight in (1, 10):
        found = search(forest, guarantee, seed=1, effort=0.2, objects_weight=weight)
        share = share_whole(objects_kept(forest, found.forest))
        assert share is not None
        lost.append(1 - share)
        assert found.report["cost"] == pytest.approx(
            value_loss(forest, found.forest).total + 1 - relations_kept(forest, found.forest).total + weight * lost[-1]
        )
        assert found.solution.options.get("objects_weight", 1) == weight
    assert lost[0] > lost[1]


def test_the_weight_of_objects_is_refused_where_it_says_nothing() -> None:
    merged = ta.read("samples/patients.xml", MERGED)[:50]
    whole = ta.read("samples/patients.xml", MERGED.with_objects("whole"))[:50]
    with pytest.raises(UsageError, match="merged trees have none"):
        search(merged, Guarantee(2), objects_weight=2)
    with pytest.raises(UsageError, match="objective = loss"):
        search(whole, Guarantee(2), objective="rpd", objects_weight=2)
    for wrong in (-1, float("nan"), float("inf")):
        with pytest.raises(UsageError, match="objects_weight"):
            ta.anonymize(whole, k=2, parameters={"objects_weight": wrong})


def test_what_is_carried_on_from_a_cut_that_leaves_nodes_out_is_safe(tmp_path: Path) -> None:
    # The cut of gcs holds here because nodes are left out, so that walks from it have rare relations, too.
    up = {"A": {"X": ["1", "2"], "Y": ["3", "4"]}, "B": {"X": ["1", "2"], "Y": ["3", "4"]}, "C": {"*": ["1", "2", "3"]}}
    lines = ["version = 1", "[input]", 'format = "trees"']
    for name, under in (("A", ""), ("B", 'under = "A"'), ("C", 'under = "B"')):
        inner = {f"{name}{node}": "*" for node in up[name] if node != "*"}
        leaves = {f"{name}{leaf}": node.strip("*") and f"{name}{node}" for node, of in up[name].items() for leaf in of}
        (tmp_path / f"{name}.json").write_text(json.dumps(inner | {leaf: node or "*" for leaf, node in leaves.items()}))
        lines += ["[[class]]", f'name = "{name}"', f'hierarchy = "{name}.json"', under]
    (tmp_path / "s.toml").write_text("\n".join(lines))
    counted = [
        (26, {"A2": {"B2": ["C1"]}}), (21, {"A2": {}}), (20, {"A3": {"B1": [], "B2": ["C1"]}}), (2, {}),
        (1, {"A4": {}}), (1, {"A1": {"B1": ["C1"]}, "A4": {"B1": []}}), (1, {"A3": {}}),
        (1, {"A1": {"B1": ["C1"], "B3": ["C1"]}}),
        (1, {"A1": {"B1": ["C3"], "B3": ["C1", "C3"]}, "A3": {"B1": ["C1"]}}), (1, {"A1": {"B2": ["C1"]}}),
        (1, {"A3": {"B3": [], "B4": ["C1"]}}), (1, {"A1": {"B1": []}}), (1, {"A1": {"B1": ["C1"]}}),
        (1, {"A2": {"B2": []}, "A3": {}}), (1, {"A1": {"B1": []}, "A4": {"B1": ["C2"]}}),
        (1, {"A1": {"B2": ["C3"], "B3": ["C2"]}}), (1, {"A3": {"B4": ["C2"]}}),
        (1, {"A2": {"B1": ["C1", "C2"], "B3": []}, "A4": {"B1": ["C2"]}}),
    ]  # fmt: skip
    people = [
        [["A", a, [["B", b, [["C", c, []] for c in cs]] for b, cs in bs.items()]] for a, bs in tree.items()]
        for times, tree in counted
        for _ in range(times)
    ]
    forest = ta.Forest.from_records(ta.Schema.load(tmp_path / "s.toml"), people)
    guarantee = Guarantee(k=4, m=2, n=1)
    assert gcs(forest, guarantee).solution.left_out
    mined = ta.anonymize(forest, k=4, m=2, n=1, effort=0.1, parameters={"objective": "mining"})
    completed = ta.anonymize(forest, k=4, m=2, n=1, algorithm="gcs", complete=True)
    assert verify(mined.forest, guarantee).holds
    assert verify(completed.forest, guarantee).holds
