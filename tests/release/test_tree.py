"""Releases: made, checked, written and re-applied; nothing appears that was not checked."""

from __future__ import annotations

import gzip
import io
import json
import os
import sys
import zipfile
from dataclasses import replace
from inspect import signature
from pathlib import Path
from random import Random
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

import treeanon as ta
from tests.reference.trees import multiset
from tests.support import stand_in_search
from tests.support.hospital import DISEASES, HOSPITALS, WORD, folder_of, is_truth, slow_release, write_persons
from tests.support.paths import ROOT
from tests.support.strategies import examples, released
from treeanon.algorithms.tree.registry import TREE_ALGORITHMS
from treeanon.algorithms.tree.solution import Result, Solution
from treeanon.errors import FileError, GuaranteeError, TreeanonError, UsageError
from treeanon.privacy import Guarantee
from treeanon.release import Release, Request, SolutionFile
from treeanon.release import tree_release as release_module
from treeanon.release.tree import largest_k
from treeanon.release.tree_request import persons

FORM: dict[str, Any] = json.loads((ROOT / "schemas" / "treeanon.solution.schema.json").read_text())
NAMES = ["o.ndjson", "o.json", "o.xml", "o.trees.jsonl", "o.ndjson.gz", "o.xml.zst", "o.zip", "parts/"]


@pytest.fixture(autouse=True)
def stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """A search that needs no other part of the package, as the default too."""
    known = replace(
        TREE_ALGORITHMS["maximal"], name="stand-in", module="tests.support.stand_in_search", completable=True
    )
    monkeypatch.setitem(TREE_ALGORITHMS.built_in, "stand-in", known)
    monkeypatch.setitem(TREE_ALGORITHMS.built_in, "maximal", replace(known, name="maximal"))
    stand_in_search.CALLS.clear()


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return folder_of(tmp_path / "place")


def a_forest(place: Path, seed: int = 1, count: int = 40) -> ta.Forest:
    return ta.read(write_persons(place / f"in{seed}.ndjson", seed, count), ta.Schema.load(place / "s.toml"))


@pytest.fixture
def forest(place: Path) -> ta.Forest:
    return a_forest(place)


@pytest.fixture
def release(forest: ta.Forest) -> Release:
    return ta.anonymize(forest, k=3)


def nothing_new(folder: Path, before: set[Path]) -> None:
    assert set(folder.rglob("*")) == before


# --- making ----------------------------------------------------------------------------------------------------------


def test_a_release_holds_and_is_what_its_solution_says(forest: ta.Forest, release: Release) -> None:
    assert release.verdict.holds and release.verdict.guarantee == Guarantee(3)
    assert len(release.forest) == len(forest) and is_truth(forest, release)
    assert release.solution.cut and not release.solution.disassociated
    moved = ta.anonymize(forest, k=3, as_published=True)
    assert moved.solution.disassociated and is_truth(forest, moved)
    assert release.counts["records"] == 40 and release.counts["nodes"] == forest.nodes
    assert release.counts["dropped"]["ssn"] == 40
    assert 0 < release.loss.value_loss < 1
    assert WORD not in json.dumps(release.as_dict()) and WORD not in repr(release)


@pytest.mark.parametrize("attacker", ["independent", "joint"])
@examples(15)
@given(st.integers(0, 10**6), st.integers(2, 4), st.integers(1, 3), st.integers(0, 2))
def test_truth(tmp_path_factory: pytest.TempPathFactory, attacker: Any, seed: int, k: int, m: int, n: int) -> None:
    forest = a_forest(folder_of(tmp_path_factory.getbasetemp() / "truth"), seed, 12)
    release = ta.anonymize(forest, k=k, m=m, n=n, attacker=attacker)
    assert is_truth(forest, release)
    assert ta.verify(release.forest, k=k, m=m, n=n, attacker=attacker).holds


def test_classes_that_are_published_as_they_are(tmp_path: Path) -> None:
    """Their values are in no solution, and reports say that they are there."""
    forest = a_forest(folder_of(tmp_path / "p", "note", "secret"))
    with pytest.raises(UsageError, match="'secret' sensitive: give l"):
        ta.anonymize(forest, k=3)
    release = ta.anonymize(forest, k=3, l=1)
    assert release.solution.cut is not None and set(release.solution.cut) == {"sex", "hospital", "diagnosis"}
    assert is_truth(forest, release)
    assert release.as_dict()["published_as_they_are"] == {"sensitive": ["secret"], "keep": ["note"]}


@pytest.mark.parametrize(
    ("wanted", "error", "words"),
    [
        ({}, UsageError, "k is required"),
        ({"k": 41}, GuaranteeError, "40 records are fewer than k = 41"),
        ({"k": 0}, UsageError, "k must be a whole number from 1"),
        ({"k": 2, "m": 9}, UsageError, "m must be a whole number from 1 to 8"),
        ({"k": 2, "n": -1}, UsageError, "n must be"),
        ({"k": 2, "l": 2}, UsageError, "role sensitive; the schema has none"),
        ({"k": 2, "attacker": "other"}, UsageError, "attacker must be one of independent, joint"),
        ({"k": 2, "negative": ["dignosis"]}, UsageError, "unknown class 'dignosis'; choose from sex, hospital"),
        ({"k": 2, "weights": {"age": 2}}, UsageError, "a weight: unknown class 'age'"),
        ({"k": 2, "algorithm": "magic"}, UsageError, "unknown algorithm 'magic'; choose from maximal, acs"),
        (
            {"k": 2, "algorithm": "gcs", "effort": 1},
            UsageError,
            "'gcs' has no parameter 'effort'; its parameters: g, closed, scope",
        ),
        ({"k": 2, "algorithm": "gcs", "max_suppressed": 1}, UsageError, "has no parameter 'max_suppressed'"),
        ({"k": 2, "algorithm": "miracle", "complete": True}, UsageError, "cannot be completed"),
        ({"k": 2, "color": 1}, UsageError, "unknown parameter 'color'"),
        ({"k": 2, "max_suppressed": "many"}, UsageError, "a share such as"),
        ({"k": 2, "max_loss": 2}, UsageError, "max_loss must be"),
    ],
)
def test_what_cannot_be(forest: ta.Forest, wanted: Any, error: type[TreeanonError], words: str) -> None:
    with pytest.raises(error) as caught:
        ta.anonymize(forest, **wanted)
    assert words in str(caught.value) and WORD not in str(caught.value)
    assert not stand_in_search.CALLS


def test_nothing_to_hide_in(forest: ta.Forest, tmp_path: Path) -> None:
    with pytest.raises(GuaranteeError, match="no record"):
        ta.anonymize(forest[:0], k=2)
    schema = ta.Schema.loads((tmp_path / "place" / "s.toml").read_text().replace('"\npath', '"\nrole = "keep"\npath'),
                             folder=tmp_path / "place")  # fmt: skip
    with pytest.raises(UsageError, match="no class of the schema has role quasi"):
        ta.anonymize(ta.Forest.from_records(schema, list(forest.records())), k=2)


def test_a_search_that_is_wrong_publishes_nothing(forest: ta.Forest, monkeypatch: pytest.MonkeyPatch) -> None:
    right = stand_in_search.search

    def untrue(*given: Any, **options: Any) -> Result:
        found = right(*given, **options)
        return replace(found, forest=found.forest.project("*"))

    def unsafe(forest: ta.Forest, guarantee: Guarantee, **options: Any) -> Result:
        return Result(Solution(guarantee, "x", {}), forest)

    for search, words in ((untrue, "not what its solution makes"), (unsafe, "did not pass the check")):
        monkeypatch.setattr(stand_in_search, "search", search)
        with pytest.raises(GuaranteeError, match=words):
            ta.anonymize(forest, k=3, as_published=True)


def test_options_reach_the_search(forest: ta.Forest) -> None:
    calls = stand_in_search.CALLS
    solution = ta.anonymize(forest, k=3, recoding="subtree", weights={"sex": 2}, jobs=1, max_suppressed="5%").solution
    assert calls == [{"recoding": "subtree", "weights": {"sex": 2}, "jobs": 1, "max_suppressed": 2}]
    assert solution.options == {"recoding": "subtree", "weights": {"sex": 2}} and solution.suppressed == 2
    calls.clear()
    assert ta.anonymize(forest, k=3, seed=7).solution.options == {"seed": 7}
    assert calls == [{"seed": 7}]


def test_suppressed_persons(forest: ta.Forest) -> None:
    release = ta.anonymize(forest, k=3, max_suppressed=2)
    assert len(release.forest) == 38 and release.counts["published_records"] == 38 and is_truth(forest, release)
    assert release.as_dict()["suppressed"] == 2


def test_a_cut_is_completed(forest: ta.Forest) -> None:
    solution = ta.anonymize(forest, k=3, algorithm="stand-in", complete=True, recoding="subtree").solution
    first, second = stand_in_search.CALLS
    assert first == {"recoding": "subtree"} and isinstance(second["start"], Solution)
    assert solution.algorithm == "stand-in" and solution.options == {
        "recoding": "subtree",
        "complete": True,
        "taking_apart": "move",
    }


def test_shares_of_persons() -> None:
    assert [persons(given, 250) for given in (0, "0", 3, "3", "1%", " 2.5 % ".replace(" %", "%"), 0.5)] == [
        0, 0, 3, 3, 2, 6, 125,
    ]  # fmt: skip
    for wrong in (-1, 1.5, "x", "", "101%", "-1%", "1/0", True, float("nan"), float("inf")):
        with pytest.raises(UsageError):
            persons(wrong, 250)


# --- the largest k within a loss -------------------------------------------------------------------------------------


@given(st.integers(1, 50), st.integers(0, 80), st.integers(1, 80))
def test_the_largest_k(least: int, truth: int, most: int) -> None:
    asked: list[int] = []

    def within(k: int) -> int | None:
        asked.append(k)
        return k if k <= truth else None

    found = largest_k(within, least, most)
    assert found == (min(truth, most) if least <= min(truth, most) else None)
    assert len(set(asked)) == len(asked) and all(least <= k <= most for k in asked)


def test_largest_k_within_a_loss(forest: ta.Forest) -> None:
    losses = {k: ta.anonymize(forest, k=k).loss.value_loss for k in range(2, 12)}
    bound = losses[4]
    release = ta.anonymize(forest, max_loss=bound)
    k = release.solution.guarantee.k
    assert release.loss.value_loss <= bound and k >= 4 and release.verdict.holds
    assert ta.anonymize(forest, k=3, max_loss=bound).solution.guarantee.k == k
    with pytest.raises(GuaranteeError, match="k = 2 loses more than a value loss of 0"):
        ta.anonymize(forest, max_loss=0)
    with pytest.raises(GuaranteeError, match="k = 39 loses more"):
        ta.anonymize(forest, k=39, max_loss=bound)


# --- writing ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_written_and_read_again(name: str, release: Release, forest: ta.Forest, place: Path) -> None:
    verdict = release.write(f"{place}/{name}")
    assert verdict.holds and verdict.largest_k == release.verdict.largest_k
    form = {"o.json": "json", "o.xml": "xml", "o.xml.zst": "xml"}.get(name, "ndjson")
    again = ta.read(place / name, ta.Schema.load(place / "s.toml").for_format(form))
    assert multiset(again.records()) == multiset(slow_release(forest, release.solution))
    with pytest.raises(FileError, match="exists already"):
        release.write(f"{place}/{name}")


def fails(*given: Any, **options: Any) -> Any:
    """A verifier for which nothing holds."""
    return replace(ta.verify(*given, **options), holds=False)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("nameless", [True, False])
@pytest.mark.parametrize("old", [True, False])
def test_a_failing_check_leaves_nothing(
    old: bool, nameless: bool, name: str, release: Release, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not nameless:
        monkeypatch.delattr(os, "O_TMPFILE")
    if old:
        release.write(f"{place}/{name}", seed=1)
    before = {path: path.read_bytes() for path in place.rglob("*") if path.is_file()}
    monkeypatch.setattr(release_module, "verify", fails)
    with pytest.raises(GuaranteeError, match="does not hold for what was written"):
        release.write(f"{place}/{name}", force=old)
    assert {path: path.read_bytes() for path in place.rglob("*") if path.is_file()} == before
    assert not list(place.glob(".*"))


@pytest.mark.parametrize("name", NAMES)
def test_other_trees_than_the_published_do_not_appear(
    name: str, release: Release, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What lies in the file is checked, not what should."""
    other = release.forest.project("*")
    real = release_module.write

    def wrong(forest: ta.Forest, target: str, **options: Any) -> None:
        real(other, target, **options)

    monkeypatch.setattr(release_module, "write", wrong)
    before = set(place.rglob("*"))
    with pytest.raises(GuaranteeError, match="does not give the published trees"):
        release.write(f"{place}/{name}")
    nothing_new(place, before)


def test_unreadable_output_does_not_appear(release: Release, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(path: Path, *given: Any, **options: Any) -> Any:
        with gzip.open(place / "x.ndjson.gz", "wb") as stream:
            stream.write(b'{"sex":["a","b"]}\n')
        return ta.read(place / "x.ndjson.gz", release.forest.schema)

    monkeypatch.setattr(release_module, "read_back", broken)
    with pytest.raises(GuaranteeError, match="could not be read again"):
        release.write(place / "o.ndjson")
    assert not (place / "o.ndjson").exists()


def test_standard_output(release: Release, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Out:
        buffer = io.BytesIO()

    monkeypatch.setattr(sys, "stdout", Out)
    monkeypatch.setattr(release_module, "verify", fails)
    with pytest.raises(GuaranteeError):
        release.write("-")
    assert Out.buffer.getvalue() == b""
    monkeypatch.undo()
    monkeypatch.setattr(sys, "stdout", Out)
    assert release.write("-").holds
    assert Out.buffer.getvalue().count(b"\n") == 40


def test_one_file_for_each_record(place: Path) -> None:
    text = (place / "s.toml").read_text().replace('"ndjson"', '"json"\nrecord = "."')
    schema = ta.Schema.loads(text, folder=place)
    forest = ta.Forest.from_records(schema, list(a_forest(place).records()))
    release = ta.anonymize(forest, k=3)
    for target in ("files/", "files.zip"):
        assert release.write(f"{place}/{target}").holds
    assert len(list((place / "files").iterdir())) == len(zipfile.ZipFile(place / "files.zip").namelist()) == 40
    assert ta.read(place / "files", schema) == ta.read(place / "files.zip", schema) == release.forest


def test_order_is_random_unless_seeded(release: Release, place: Path) -> None:
    def written(seed: int | None) -> bytes:
        release.write(place / "o.ndjson", force=True, seed=seed)
        return (place / "o.ndjson").read_bytes()

    assert written(1) == written(1) != written(2)
    assert written(None) != written(None)


# --- solution files --------------------------------------------------------------------------------------------------


def test_solution_files(release: Release, place: Path) -> None:
    path = place / "x.solution.json"
    release.write_solution(path)
    plain = json.loads(path.read_text())
    jsonschema.validate(plain, FORM)
    assert plain["verification"]["holds"] and plain["counts"]["records"] == 40 and plain["treeanon"] == ta.__version__
    again = SolutionFile.load(path)
    assert again.solution == replace(release.solution, options=dict(release.solution.options))
    assert again.losses == release.loss.as_dict() and again.as_dict() == plain
    with pytest.raises(FileError, match="exists already"):
        release.write_solution(path)
    release.write_solution(path, force=True)


def test_the_form_and_the_file_have_the_same_keys() -> None:
    from treeanon.release.solution_file import KEYS

    jsonschema.Draft202012Validator.check_schema(FORM)
    assert list(FORM["properties"]) == list(KEYS)
    assert set(FORM["$defs"]["guarantee"]["properties"]) == set(signature(Guarantee).parameters)


@examples(30)
@given(st.randoms(use_true_random=False))
def test_solutions_there_and_back(rnd: Random) -> None:
    pairs = tuple((("a", f"v{rnd.random()}"), ("b", '"\\\u2028')) for _ in range(rnd.randrange(3)))
    guarantee = Guarantee(rnd.randint(1, 9), attacker=rnd.choice(["joint", "independent"]), l=rnd.randint(1, 3),
                          negative=tuple(rnd.sample(["a", "b"], rnd.randrange(3))))  # fmt: skip
    cut = rnd.choice([None, {"*": ("*",)}, {"a": ("x", ""), "b": ()}])
    solution = Solution(
        guarantee, "x", cut, pairs, tuple(rnd.sample("ab", 1)), rnd.randrange(3), {"g": 2, "w": {"a": 1}}
    )
    file = SolutionFile.from_dict(json.loads(json.dumps(SolutionFile(solution).as_dict())))
    assert file.solution == solution
    jsonschema.validate(json.loads(json.dumps(file.as_dict())), FORM)


BROKEN: dict[str, tuple[Any, str]] = {
    "no object": ([WORD], "is no solution file"),
    "no version": ({"version": None}, "its version is not known"),
    "another version": ({"version": 2}, "its version is not known; this treeanon reads version 1"),
    "true": ({"version": True}, "its version is not known"),
    "a strange key": ({WORD: 1}, "1 keys of it are unknown; choose from version"),
    "no guarantee": ({"guarantee": WORD}, "guarantee: must be an object with k"),
    "guarantee without k": ({"guarantee": {"m": 2}}, "guarantee: must be an object with k"),
    "k a text": ({"guarantee": {"k": WORD}}, "guarantee: k must be a whole number"),
    "strange part": ({"guarantee": {"k": 2, WORD: 1}}, "guarantee: 1 keys of it are unknown"),
    "negative": ({"guarantee": {"k": 2, "negative": WORD}}, "negative: must be a list of classes"),
    "attacker": ({"guarantee": {"k": 2, "attacker": [WORD]}}, "attacker must be one of"),
    "algorithm": ({"algorithm": 7}, "algorithm: must be a text"),
    "options": ({"options": [WORD]}, "options: must be an object"),
    "cut of texts": ({"cut": WORD}, "cut: must be an object"),
    "cut of numbers": ({"cut": {"sex": [1]}}, "cut: must be an object"),
    "withheld": ({"withheld": WORD}, "withheld: must be a list of classes"),
    "pairs": ({"disassociated": {}}, "disassociated: must be a list"),
    "a pair of one": ({"disassociated": [[["a", "b"]]]}, "entry 1 must be two labels"),
    "a label of one": ({"disassociated": [[["a", "b"], ["a"]]]}, "entry 1 must be two labels"),
    "suppressed": ({"suppressed": -1}, "suppressed: must be a whole number"),
    "losses": ({"losses": []}, "losses: must be an object"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_solution_files(name: str, release: Release, place: Path) -> None:
    change, words = BROKEN[name]
    release.write_solution(place / "x.json")
    plain = {**json.loads((place / "x.json").read_text()), **change} if isinstance(change, dict) else change
    (place / "x.json").write_text(json.dumps(plain))
    with pytest.raises(UsageError) as caught:
        SolutionFile.load(place / "x.json")
    assert words in str(caught.value) and "x.json" in str(caught.value) and WORD not in str(caught.value)
    assert not jsonschema.Draft202012Validator(FORM).is_valid(plain)


def test_files_that_are_no_solutions(place: Path) -> None:
    for data, words in (
        (f'{{"version": 1,\n{WORD}'.encode(), "line 2: is not JSON"),
        (b"\xff" + WORD.encode(), "is not UTF-8"),
        (b"[" * 100_000, "nested too deep"),
        (b"", "line 1: is not JSON"),
    ):
        (place / "x").write_bytes(data)
        with pytest.raises(UsageError, match=words) as caught:
            SolutionFile.load(place / "x")
        assert WORD not in str(caught.value)
    with pytest.raises(FileError):
        SolutionFile.load(place / "none")


# --- other data ------------------------------------------------------------------------------------------------------


def test_applied_to_other_data(place: Path) -> None:
    release = ta.anonymize(a_forest(place, 1, 120), k=4, m=2, n=1)
    other = a_forest(place, 2, 120)
    again = ta.apply(replace(release.solution, guarantee=Guarantee(2)), other)
    assert again.verdict.holds and is_truth(other, again) and again.solution.guarantee == Guarantee(2)
    release.write_solution(place / "s.json")
    same = ta.apply(place / "s.json", a_forest(place, 1, 120))
    assert same.forest == release.forest and same.loss == release.loss
    assert same.write(place / "same.ndjson").holds


def test_what_does_not_hold_for_other_data(release: Release, place: Path) -> None:
    with pytest.raises(GuaranteeError) as caught:
        ta.apply(release.solution, a_forest(place, 2, 12))
    assert "new data may need a new search" in str(caught.value) and WORD not in str(caught.value)
    with pytest.raises(GuaranteeError, match="fewer than k = 3"):
        ta.apply(release.solution, a_forest(place, 2, 2))


def test_solutions_that_do_not_fit(release: Release, forest: ta.Forest) -> None:
    s = release.solution
    assert s.cut is not None
    strange, file = f"{WORD}-strange", "the hierarchy of class 'diagnosis'"
    wrong: list[tuple[Solution, str]] = [
        (replace(s, cut=None, algorithm="miracle"), "a solution of miracle recodes every record by itself"),
        (replace(s, cut={**s.cut, "age": ("*",)}), "class 'age', which the schema lacks; it has: sex, hospital"),
        (replace(s, withheld=("age",)), "class 'age', which the schema lacks"),
        (replace(s, disassociated=((("age", strange), ("sex", strange)),)), "class 'age', which the schema lacks"),
        (replace(s, cut={**s.cut, "diagnosis": ("*", strange)}), "names nodes that the hierarchy of class 'diagnosis'"),
        (replace(s, disassociated=((("hospital", HOSPITALS[0]), ("diagnosis", strange)),)), file),
        (replace(s, cut={**s.cut, "diagnosis": (DISEASES[0],)}), "does not cover the hierarchy of class 'diagnosis'"),
        (replace(s, cut={"sex": ("*",), "hospital": ("*",)}, left_out=()), "says nothing of class 'diagnosis'"),
    ]
    for solution, words in wrong:
        with pytest.raises(UsageError) as caught:
            ta.apply(solution, forest)
        assert words in str(caught.value) and WORD not in str(caught.value)


def test_hierarchies_that_are_built_from_the_data(forest: ta.Forest) -> None:
    """Nodes for values that the new data lack are no mistake; values that the solution does not know are."""
    cut = {"sex": (f"{WORD}-F", f"{WORD}-M", f"{WORD}-X"), "hospital": ("*",), "diagnosis": ("*",)}
    pair = (("sex", f"{WORD}-X"), ("hospital", "*"))
    release = ta.apply(Solution(Guarantee(2, m=1), "x", cut, (pair,)), forest)
    assert release.solution.cut is not None and release.solution.cut["sex"] == cut["sex"][:2]
    assert not release.solution.disassociated and is_truth(forest, release)
    with pytest.raises(GuaranteeError, match="the data have values of class 'sex' that the solution does not know"):
        ta.apply(Solution(Guarantee(2, m=1), "x", {**cut, "sex": (f"{WORD}-F",)}), forest)


def test_the_cut_of_everything(forest: ta.Forest) -> None:
    release = ta.apply(Solution(Guarantee(40), "x", {"*": ("*",)}), forest)
    assert release.forest.nodes == 40 and is_truth(forest, release)


def test_what_is_not_there_is_not_told_of(tmp_path: Path) -> None:
    forest = a_forest(folder_of(tmp_path / "p", "note"))
    assert ta.apply(Solution(Guarantee(40), "x", {"*": ("*",)}), forest).unprotected() == {}


@examples(40)
@given(st.randoms(use_true_random=False))
def test_any_trees_can_be_written_and_checked(tmp_path_factory: pytest.TempPathFactory, rnd: Random) -> None:
    """Whatever cut and disassociations made them; the guarantee asks for nothing here."""
    folder = folder_of(tmp_path_factory.getbasetemp() / "any")
    forest = released(rnd, a_forest(folder, rnd.randrange(1000), 6))
    guarantee = Guarantee(1, m=rnd.randint(1, 4), n=rnd.randint(0, 3), attacker=rnd.choice(["independent", "joint"]))
    release = Release(forest, Solution(guarantee, "x", {}), None, None, {})  # type: ignore[arg-type]
    assert release.write(folder / rnd.choice(NAMES[:-1]), force=True).holds


def test_public_names() -> None:
    assert {"anonymize", "apply", "Release", "verify"} <= set(dir(ta))
    for name in ta.__all__:
        assert getattr(ta, name)
    assert Request(k=2).guarantee.k == 2


@pytest.mark.parametrize(("values", "options"), [("xxxxxx", {"l": 2}), ("xxxxyz", {"l": 2, "diversity": "frequency"})])
def test_a_collection_that_is_not_diverse_as_a_whole(values: str, options: dict[str, Any]) -> None:
    text = 'version = 1\n[input]\nformat = "trees"\n[[class]]\nname = "a"\n[[class]]\nname = "s"\nrole = "sensitive"\n'
    forest = ta.Forest.from_records(ta.Schema.loads(text), [[["a", "1", []], ["s", value, []]] for value in values])
    with pytest.raises(ta.GuaranteeError, match="collection as a whole"):
        ta.anonymize(forest, k=2, **options)
