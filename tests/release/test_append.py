"""`treeanon.append`: who is published in a batch, who waits, and who is refused."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import treeanon as ta
from tests.reference import guarantee as brute
from tests.support.hospital import EXTRA, WORD, folder_of, write_persons
from tests.support.strategies import examples
from treeanon.algorithms.tree.solution import Solution
from treeanon.errors import DataError, GuaranteeError, UsageError
from treeanon.privacy import Guarantee
from treeanon.release import SolutionFile, TooManyHeldError
from treeanon.release.append_batch import _joined
from treeanon.release.append_hiding import hidden_by

HOSPITAL = f"{WORD}-group 0", f"{WORD}-group 1"
DISEASE = f"{WORD}-kind 0", f"{WORD}-kind 1"
COARSE = {"sex": ("*",), "hospital": ("*",), "diagnosis": DISEASE}
FINE = {"sex": ("*",), "hospital": HOSPITAL, "diagnosis": DISEASE}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    folder = folder_of(tmp_path / "place")
    text = (folder / "s.toml").read_text()
    (folder / "s.toml").write_text(text + '[[class]]\nname = "ssn"\npath = "ssn"\nrole = "identifier"\n')
    return folder


def solution(cut: dict = COARSE, **guarantee: object) -> Solution:
    return Solution(Guarantee(**{"k": 2, **guarantee}), "maximal", cut)  # type: ignore[arg-type]


def lines(*files: Path) -> list[dict]:
    return [json.loads(line) for file in files for line in file.read_text().splitlines()]


def delivered(place: Path, name: str, records: list[dict]) -> Path:
    path = place / f"{name}.ndjson"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


SCHEMA = ta.Schema.loads(
    'version = 1\n[input]\nformat = "trees"\n[[class]]\nname = "A"\n[[class]]\nname = "B"\nunder = "A"\n'
)
VALUES = {"A": ["a1", "a2"], "B": ["b1", "b2", "b3"]}


@st.composite
def collections(draw: st.DrawFn) -> list[list]:
    def tree(which: int) -> list:
        return [
            ["A", a, [["B", b, []] for j, b in enumerate(VALUES["B"]) if which >> (4 * i + 1 + j) & 1]]
            for i, a in enumerate(VALUES["A"])
            if which >> (4 * i) & 1
        ]

    return [tree(which) for which in draw(st.lists(st.integers(0, 255), min_size=3, max_size=14))]


def slowly_hidden(trees: list[list], k: int, m: int, n: int) -> list[int]:
    """The largest part in which everybody is hidden: whoever holds something rare goes, one after another."""
    left = list(range(len(trees)))
    while len(left) >= k:
        groups = brute.groups([trees[i] for i in left], m, n, joint=False)
        singled = {person for persons in groups.values() if len(persons) < k for person in persons}
        if not singled:
            return left
        left.remove(left[min(singled)])
    return []


@examples(40)
@given(collections(), st.integers(2, 3), st.sampled_from([(1, 0), (2, 0), (2, 1), (3, 1), (3, 2)]))
def test_the_largest_part_is_hidden(trees: list[list], k: int, known: tuple[int, int]) -> None:
    forest = ta.Forest.from_records(SCHEMA, trees)
    kept, batch = hidden_by(Solution(Guarantee(k, *known), "maximal", {}), forest)
    assert kept.tolist() == slowly_hidden(trees, k, *known)
    assert not len(kept) or ta.verify(batch, Guarantee(k, *known)).holds


def test_who_waits_is_published_later(place: Path) -> None:
    schema = ta.Schema.load(place / "s.toml")
    flu = {"sex": "f", "visits": [{"hospital": f"{WORD}-H0", "diagnoses": [f"{WORD}-D0"]}]}
    odd = {"sex": "f", "visits": [{"hospital": f"{WORD}-H0", "diagnoses": [f"{WORD}-D3"]}]}
    first = ta.append(solution(), [flu, flu, odd], schema=schema, max_held="50%")
    assert first.release is not None and len(first.release.forest) == 2 and first.held == 1
    assert WORD not in repr((first, first.history, first.history.held)) + json.dumps(first.as_dict())
    first.write(place / "one.ndjson", history=place / "h.json")
    assert (place / "h.json").stat().st_mode & 0o777 == 0o600
    second = ta.append(solution(), [odd, flu, flu, flu], schema=schema, history=place / "h.json")
    assert second.release is not None and second.held == 0 and second.counts["waited"] == 1
    second.write(place / "two.ndjson", history=place / "h.json")
    shown = Counter(json.dumps(record, sort_keys=True) for record in lines(place / "two.ndjson"))
    assert sorted(shown.values()) == [2, 3] and second.history.persons == 7
    (place / "h.json").chmod(0o644)
    ta.append(solution(), [flu, flu], schema=schema, history=place / "h.json").write(
        place / "three.ndjson", history=place / "h.json"
    )
    assert (place / "h.json").stat().st_mode & 0o777 == 0o600


def test_nobody_is_published_of_too_few(place: Path) -> None:
    schema = ta.Schema.load(place / "s.toml")
    done = ta.append(solution(), [{"sex": "f"}], schema=schema, max_held="100%")
    assert done.release is None and done.held == 1
    done.write(place / "none.ndjson", history=place / "h.json")
    assert not (place / "none.ndjson").exists() and (place / "h.json").exists()


def test_too_many_held_back_get_a_coarser_solution(place: Path) -> None:
    schema = ta.Schema.load(place / "s.toml")
    base = ta.read(write_persons(place / "base.ndjson", 1, 60), schema)
    new = ta.read(write_persons(place / "new.ndjson", 2, 30), schema)
    old = ta.apply(solution(FINE, k=2, m=1, n=0), base)
    with pytest.raises(TooManyHeldError) as caught:
        ta.append(solution(FINE, k=6), new)
    found = caught.value
    assert found.coarser is not None and found.held > 3 and found.persons == 30 and found.coarser.held <= 3
    assert WORD not in str(found) and "hospital from 2 to " in str(found) and "--anew" in str(found)
    with pytest.raises(UsageError, match="published"):
        ta.append(solution(FINE, k=6), new, anew=True)
    with pytest.raises(UsageError, match="not a release by this solution"):
        ta.append(solution(FINE, k=6), new, anew=True, published=base)
    done = ta.append(solution(FINE, k=6), new, anew=True, published=old.forest)
    assert done.is_anew and done.release is not None
    assert len(done.release.forest) == 60 + done.counts["published"]
    assert ta.verify(done.release.forest, k=6).holds
    done.write(place / "all.ndjson", history=place / "h.json", solution=place / "coarse.json")
    again = ta.append(place / "coarse.json", new[:12], history=place / "h.json", max_held="100%")
    assert again.held + again.counts["published"] == 12 + done.held
    with pytest.raises(UsageError, match="another solution"):
        ta.append(solution(FINE, k=6), new[:12], history=place / "h.json")


def test_persons_are_recognized_by_an_identifier(place: Path) -> None:
    schema = ta.Schema.load(place / "s.toml")
    earlier = lines(write_persons(place / "base.ndjson", 1, 30))
    new = lines(write_persons(place / "new.ndjson", 2, 30))
    common = {"schema": schema, "person": "ssn", "max_held": "100%"}

    def rejected(records: list[dict], *words: str, **more: object) -> None:
        with pytest.raises(DataError) as caught:
            ta.append(solution(k=3), records, **{**common, "earlier": earlier, **more})  # type: ignore[arg-type]
        text = str(caught.value)
        assert all(word in text for word in words) and WORD not in text
        assert not any(str(record["ssn"]) in text for record in [*earlier, *new])

    changed = [{**earlier[0], "visits": earlier[1]["visits"]}, *earlier[1:]]
    rejected([*earlier, *new], "30 of 60 persons were published before")
    rejected([*changed, *new], "1 have changed and 0 are missing", full=True)
    rejected([*earlier[2:], *new], "0 have changed and 2 are missing", full=True)
    rejected([new[0], *new], "1 records have a value of class 'ssn' that another record has")
    rejected([{"sex": "f"}, *new], "1 records have no value of it")
    done = ta.append(solution(k=3), [*new[::-1], *earlier], full=True, earlier=earlier, **common)
    assert done.counts["known"] == 30 and done.counts["delivered"] == 30 and done.release is not None
    assert "ssn" not in done.release.forest.classes.names
    done.write(place / "new-release.ndjson", history=place / "h.json")
    text = (place / "h.json").read_text()
    assert not any(str(record["ssn"]) in text for record in new)
    with pytest.raises(UsageError, match="by class 'ssn'"):
        ta.append(solution(k=3), new, schema=schema, history=place / "h.json")
    with pytest.raises(DataError, match="appended already"):
        ta.append(solution(k=3), [*earlier, *new], history=place / "h.json", full=True, **common)


def test_of_who_waits_the_newer_version_counts(place: Path) -> None:
    schema = ta.Schema.load(place / "s.toml")
    flu = {"visits": [{"hospital": f"{WORD}-H0", "diagnoses": [f"{WORD}-D0"]}]}
    odd = {"visits": [{"hospital": f"{WORD}-H0", "diagnoses": [f"{WORD}-D3"]}], "ssn": 3}
    common = {"schema": schema, "person": "ssn"}
    first = ta.append(solution(), [{**flu, "ssn": 1}, {**flu, "ssn": 2}, odd], max_held="50%", **common)
    assert first.held == 1
    newer = [{**flu, "ssn": 3}, {**flu, "ssn": 4}]
    second = ta.append(solution(), newer, history=first.history, **common)
    assert (second.held, second.counts["waited"], second.counts["published"]) == (0, 0, 2)


def test_persons_are_recognized_by_their_content(place: Path) -> None:
    schema = ta.Schema.load(place / "s.toml")
    odd = {"sex": "x", "visits": [{"hospital": f"{WORD}-H0"}, {"hospital": f"{WORD}-H3"}]}
    earlier = [odd, *lines(write_persons(place / "base.ndjson", 1, 59))]
    new = lines(write_persons(place / "new.ndjson", 2, 30))
    common = {"schema": schema, "max_held": "100%", "earlier": earlier}
    done = ta.append(solution(k=3), [*new, *earlier], full=True, **common)
    assert (done.counts["known"], done.counts["delivered"]) == (60, 30)
    changed = [{**odd, "visits": []}, *earlier[1:]]
    with pytest.raises(DataError, match="1 of the persons published before are not there as they were"):
        ta.append(solution(k=3), [*new, *changed], full=True, **common)
    with pytest.raises(DataError, match="everybody who was published before is in the data again"):
        ta.append(solution(k=3), [*new, *earlier], **common)
    assert ta.append(solution(k=3), [*new, earlier[0]], **common).counts["alike"] >= 1
    with pytest.raises(DataError, match="nobody is new"):
        ta.append(solution(k=3), earlier, full=True, **common)
    with pytest.raises(UsageError, match="nobody is known"):
        ta.append(solution(k=3), new, schema=schema, full=True)


def test_extended_guarantees_are_kept_by_all_or_nobody_is_published(place: Path) -> None:
    (place / "s.toml").write_text((place / "s.toml").read_text() + EXTRA["secret"])
    schema = ta.Schema.load(place / "s.toml")
    visit = {"hospital": f"{WORD}-H0", "diagnoses": [f"{WORD}-D0"]}
    same, other = ({"visits": [{**visit, "secret": f"{WORD}-S{i}"}]} for i in range(2))
    diverse = solution(l=2)
    done = ta.append(diverse, [same, other] * 2, schema=schema)
    assert done.release is not None and done.release.verdict.diversity[0].holds
    with pytest.raises(TooManyHeldError) as caught:
        ta.append(diverse, [same] * 4, schema=schema)
    assert caught.value.held == 4 and WORD not in str(caught.value)
    lone = {"visits": [{"hospital": f"{WORD}-H0"}]}
    lacking = ta.append(solution(negative=("diagnosis",)), [same, same, same, lone], schema=schema, max_held="100%")
    assert (lacking.release, lacking.held) == (None, 4)
    joint = ta.append(solution(attacker="joint", m=3, n=2), [same, other], schema=schema)
    assert joint.release is not None and joint.release.solution.guarantee.attacker == "joint"


def test_all_that_is_left_of_a_record_is_not_rare(place: Path) -> None:
    schema = ta.Schema.load(place / "s.toml")
    star = replace(solution(), cut={"*": ("*",)})
    done = ta.append(star, [{"sex": "f"}, {}, {}, {}], schema=schema, max_held="100%")
    assert done.held == 1 and done.release is not None
    done = ta.append(star, [{"sex": "f"}] * 2, schema=schema)
    assert list(done.release.forest.records()) == [[["*", "*", []]]] * 2  # type: ignore[union-attr]


def test_pseudonyms_tell_who_is_who(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TREEANON_KEY", "a secret of 16 bytes")
    text = (place / "s.toml").read_text()
    (place / "s.toml").write_text(text.replace('role = "identifier"', 'role = "identifier"\npseudonym = true'))
    schema = ta.Schema.load(place / "s.toml")
    flu = {"visits": [{"hospital": f"{WORD}-H0", "diagnoses": [f"{WORD}-D0"]}]}
    first = ta.append(solution(), [{**flu, "ssn": 1}, {**flu, "ssn": 2}], schema=schema, person="ssn")
    assert first.release is not None and "ssn" in first.release.forest.classes.names
    with pytest.raises(DataError, match="1 of 2 persons were published before"):
        again = [{**flu, "ssn": 3}, {**flu, "ssn": 2}]
        ta.append(solution(), again, schema=schema, person="ssn", history=first.history)


def test_local_recoding_and_tables_are_refused(place: Path) -> None:
    schema = ta.Schema.load(place / "s.toml")
    with pytest.raises(UsageError, match="recodes every record by itself"):
        ta.append(replace(solution(), cut=None, algorithm="miracle"), [{"sex": "f"}] * 3, schema=schema)
    (place / "table.json").write_text('{"version": 1, "kind": "table"}')
    with pytest.raises(UsageError, match="solution of a table"):
        ta.append(place / "table.json", [{"sex": "f"}], schema=schema)
    with pytest.raises(UsageError, match="a Forest has no identifiers"):
        ta.append(solution(), ta.read(write_persons(place / "n.ndjson", 1), schema), person="ssn")
    with pytest.raises(UsageError, match="it has: ssn"):
        ta.append(solution(), [{"sex": "f"}], schema=schema, person="sex")


def test_unknown_values_of_hierarchies_from_data_are_refused(place: Path) -> None:
    schema = ta.Schema.load(place / "s.toml")
    known = replace(solution(), cut={**COARSE, "sex": ("f", "m")})
    with pytest.raises(GuaranteeError, match="values of class 'sex' that the solution does not know") as caught:
        ta.append(known, [{"sex": f"{WORD}-x"}] * 3, schema=schema)
    assert WORD not in str(caught.value)


def test_a_missing_value_tells_where_all_others_have_one() -> None:
    """A rule took the B of one person, and all others of the batch have exactly one: the person has to wait."""
    rule = ((("A", "a1"), ("B", "b1")),)
    found = Solution(Guarantee(2, 1, 0), "maximal", {}, left_out=rule)
    usual, odd = ["A", "a1", [["B", "b2", []]]], ["A", "a1", [["B", "b1", []]]]
    forest = ta.Forest.from_records(SCHEMA, [[usual], [usual], [odd]])
    assert hidden_by(found, forest)[0].tolist() == [0, 1]
    more = ta.Forest.from_records(SCHEMA, [[usual], [usual], [odd], [["A", "a1", []]]])
    assert hidden_by(found, more)[0].tolist() == [0, 1, 2, 3]


def test_the_coarser_cut_tells_no_more_of_new_persons_than_of_older_ones() -> None:
    """An older "other" of a node and its part: nothing in between may be published of new persons."""
    paths = [["l1", "mid", "top", "*"], ["l2", "mid", "top", "*"], ["l3", "top", "*"], ["l4", "*"]]
    hierarchy = ta.Hierarchy.from_paths(paths)
    schema = ta.Schema.loads('version = 1\n[input]\nformat = "trees"\n[[class]]\nname = "A"\n')
    forest = ta.Forest.from_records(schema, [[["A", "l1", []]]])
    classes = replace(forest.classes, hierarchies=(hierarchy,))
    forest = replace(forest, classes=classes, label=forest.label)
    assert _joined(forest, "A", ("l1", "top", "l4"), ("l1", "top", "l4"), {"A": ("mid", "top", "l4")}) == ("top", "l4")
    assert _joined(forest, "A", ("l1", "l2", "top", "l4"), ("l1", "l2", "top", "l4"), {"A": ("mid", "*")}) == (
        "*",
        "mid",
    )


def test_histories_that_are_none_are_refused(place: Path) -> None:
    schema = ta.Schema.load(place / "s.toml")
    SolutionFile(solution()).write(place / "sol.json")
    for text in ("[]", '{"version": 1}', '{"kind": "history of releases"}', "{"):
        (place / "h.json").write_text(text)
        with pytest.raises(UsageError, match=r"h\.json"):
            ta.append(place / "sol.json", [{"sex": "f"}] * 2, schema=schema, history=place / "h.json")
    with pytest.raises(UsageError, match="has the persons of earlier releases already"):
        ta.append(solution(), [{"sex": "f"}], schema=schema, history=ta.History(), earlier=[{"sex": "f"}])
