"""Documents with a table release in them: both guarantees counted in what was written, by code of its own."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from lxml import etree

import treeanon as ta
from tests.reference import guarantee as slow_guarantee
from tests.reference.trees import multiset
from tests.support.paths import FOLDER
from tests.support.strategies import parents_of, properties
from treeanon.errors import GuaranteeError, UsageError
from treeanon.privacy.models import DistinctDiversity, KAnonymity, TCloseness
from treeanon.release import DocumentsRelease, Request, TableRequest, documents_of, table_documents
from treeanon.release.table_documents import person_classes, rows_of, with_rows
from treeanon.table import Table

SCHEMA = """version = 1
[input]
format = "ndjson"
[[class]]
name = "age"
path = "age"
type = "integer"
hierarchy = { intervals = [10, 20], min = 0, max = 40 }
[[class]]
name = "sex"
path = "about.sex"
hierarchy = { flat = true }
[[class]]
name = "job"
path = "job"
role = "sensitive"
[[class]]
name = "note"
path = "note"
role = "keep"
[[class]]
name = "hobby"
path = "hobbies[]"
hierarchy = { flat = true }
[[class]]
name = "hospital"
path = "visits[].hospital"
hierarchy = { flat = true }
[[class]]
name = "ill"
path = "visits[].ills[]"
hierarchy = { flat = true }
[[class]]
name = "shoe"
path = "shoe"
under = "age"
hierarchy = { flat = true }
"""
OWN = ("age", "sex", "job", "note")
QUICK = {"effort": 0.02}
PATHS = {"age": ("age",), "sex": ("about", "sex"), "job": ("job",), "note": ("note",)}


def a_person(rnd: Random) -> dict[str, Any]:
    """Fields of a person, now and then some that are missing."""
    fields = {
        "age": rnd.choice([3, 7, 12, 12, 33]),
        "about": {"sex": rnd.choice("FM")},
        "job": rnd.choice(["cook", "smith", "nurse"]),
        "note": f"n{rnd.randrange(9)}",
        "shoe": rnd.choice(["39", "44"]),
        "hobbies": rnd.sample(["chess", "golf", "go"], rnd.randint(0, 2)),
        "visits": [
            {"hospital": rnd.choice(["H1", "H2"]), "ills": rnd.sample(["flu", "gout", "acne"], rnd.randint(0, 2))}
            for _ in range(rnd.randint(0, 2))
        ],
    }
    return {name: value for name, value in fields.items() if name == "job" or rnd.random() < 0.9}


def forest_of(folder: Path, rnd: Random, count: int, changed: str = SCHEMA) -> ta.Forest:
    path = folder / "in.ndjson"
    path.write_text("".join(json.dumps(a_person(rnd)) + "\n" for _ in range(count)))
    return ta.read(path, ta.Schema.loads(changed))


@pytest.fixture
def forest(tmp_path: Path) -> ta.Forest:
    return forest_of(tmp_path, Random(4), 60)


def own_values(document: dict[str, Any]) -> dict[str, str]:
    """The values of the classes of the person in a JSON document."""
    found = {}
    for name, path in PATHS.items():
        at: Any = document
        for key in path:
            at = at.get(key) if isinstance(at, dict) else None
        if at is not None:
            found[name] = str(at)
    return found


def groups_alike(written: list[dict[str, Any]]) -> dict[Any, list[dict[str, str]]]:
    """The persons of written documents by age and sex."""
    found = defaultdict(list)
    for document in written:
        values = own_values(document)
        found[values.get("age"), values.get("sex")].append(values)
    return found


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def counted(rows: Iterable[dict[str, str]]) -> Counter[frozenset[tuple[str, str]]]:
    return Counter(frozenset(row.items()) for row in rows)


def label_tops(record: list[Any]) -> dict[str, str]:
    """The values of the classes of the person in a tree."""
    return {name: value for name, value, _ in record if name in OWN}


def is_above(up: str, value: str, parents: dict[str, str]) -> bool:
    while value != up and value in parents:
        value = parents[value]
    return value == up


def is_more_general(forest: ta.Forest, release: DocumentsRelease) -> bool:
    """Whether every value of a person is published as it was or as an ancestor, and no other record is there."""
    parents = parents_of(forest)
    before = list(forest.records())
    for number, record in zip(release.kept.tolist(), release.forest.records(), strict=True):
        was, now = label_tops(before[number]), label_tops(record)
        if not set(now) <= set(was) | {name for name, value in now.items() if value not in parents[name]}:
            return False
        if not all(is_above(value, was[name], parents[name]) for name, value in now.items() if name in was):
            return False
    return len(set(release.kept.tolist())) == len(release.forest)


# --- the two kinds of release ----------------------------------------------------------------------------------------


def a_release(rnd: Random) -> None:
    rnd = Random(rnd.getrandbits(32))
    k, l, m, n = rnd.randint(1, 3), rnd.randint(1, 2), rnd.randint(1, 2), rnd.randint(0, 1)  # noqa: E741
    folder = FOLDER
    forest = forest_of(folder, rnd, rnd.choice([1, 4, 9, 14]))
    models = (KAnonymity(k), *([DistinctDiversity(l)] if l > 1 else []))
    style = {"style": "hierarchy"}
    algorithm, options = rnd.choice([("optimal", {}), ("samarati", {}), ("suppress-tuples", {}), ("hilbert", style)])
    limit = 0 if algorithm == "hilbert" else rnd.choice([0, 2, 5])
    request = TableRequest(models, algorithm, limit, options, unprotected=l == 1)
    rest: Any = rnd.choice(["drop", Request(k, m, n, l=l, seed=1, options=QUICK)])
    try:
        release = documents_of(forest, request, rest)
    except (GuaranteeError, UsageError) as problem:
        assert "report" not in str(problem), problem
        return
    out = folder / "out.ndjson"
    verdicts = release.write(out, force=True)
    assert verdicts[0].holds and release.rows.verdict.holds
    written = lines(out)
    assert len(written) == len(release.forest) >= len(forest) - limit
    for group in groups_alike(written).values():
        assert len(group) >= k
        assert l == 1 or len({values.get("job") for values in group}) >= l
    assert is_more_general(forest, release)
    again = ta.read(out, forest.schema)
    if rest == "drop":
        rows = [
            {name: text for name, text in zip(OWN, row, strict=True) if text is not None}
            for row in release.rows.table.rows()
        ]
        assert release.classes == OWN and counted(map(own_values, written)) == counted(rows)
        assert {key for document in written for key in document} <= {"age", "about", "job", "note"}
        return
    trees = list(again.records())
    known = ["age", "sex", "hobby", "hospital", "ill", "shoe"]
    assert slow_guarantee.holds(trees, k, m, n, known=known, l=l, sensitive=["job"], diversity="frequency")


test_releases, test_many_releases = properties(a_release, 40, 2000)


def test_what_is_told(forest: ta.Forest, tmp_path: Path) -> None:
    request = TableRequest((KAnonymity(4),), "samarati", 3, unprotected=True)
    dropped = documents_of(forest, request)
    told = json.loads(json.dumps(dropped.as_dict()))
    assert told["classes_of_the_person"] == list(OWN) and told["trees"] is None
    assert told["rest"]["treated"] == "dropped"
    assert sorted(told["rest"]["classes"]) == ["hobby", "hospital", "ill", "shoe"]
    assert told["rows"]["models"] == ["4-anonymity"] and told["rows"]["verification"]["holds"]
    assert told["published_as_they_are"] == {"sensitive": ["job"], "keep": ["note"]}
    assert told["counts"]["records"] == 60
    assert told["counts"]["published_records"] == 60 - told["rows"]["suppressed"]
    whole = documents_of(forest, request, Request(4, l=1, seed=1, options=QUICK))
    told = whole.as_dict()
    assert told["rest"]["treated"] == "anonymized" and told["trees"]["guarantee"]["k"] == 4
    assert told["losses"]["value_loss"] < dropped.loss.value_loss
    assert whole.rows.loss.gcp_taxonomy >= dropped.rows.loss.gcp_taxonomy
    both = whole.write(tmp_path / "o.ndjson")
    assert both[0].holds and both[1] is not None and both[1].holds
    assert "4-anonymity" in repr(whole) and "cook" not in repr(whole) + json.dumps(told)


@pytest.mark.parametrize("name", ["o.json", "o.xml", "o.trees.jsonl", "o.ndjson.gz", "parts/"])
def test_other_forms(forest: ta.Forest, tmp_path: Path, name: str) -> None:
    release = documents_of(
        forest, TableRequest((KAnonymity(3),), unprotected=True), Request(3, l=1, seed=1, options=QUICK)
    )
    release.write(tmp_path / name)
    form = {"o.json": "json", "o.xml": "xml", "o.trees.jsonl": "trees"}.get(name, "ndjson")
    assert ta.read(tmp_path / name, forest.schema.for_format(form), format=form) == release.forest
    if name == "o.xml":
        sizes: dict[Any, int] = defaultdict(int)
        for person in etree.parse(tmp_path / name).getroot():
            sizes[person.findtext("age"), person.findtext("about/sex")] += 1
        assert min(sizes.values()) >= 3 and sum(sizes.values()) == len(release.forest)


# --- the trees with rows in them -------------------------------------------------------------------------------------


def slow_with_rows(record: list[Any], row: dict[str, str | None]) -> list[Any]:
    out = [[name, row.get(name, value), below] for name, value, below in record]
    there = {name for name, _, _ in record}
    return out + [[name, value, []] for name, value in row.items() if value is not None and name not in there]


def rows_in_trees(rnd: Random) -> None:
    """Values made more general in place, what hangs under them stays; roots where there was nothing."""
    rnd = Random(rnd.getrandbits(32))
    forest = forest_of(FOLDER, rnd, rnd.choice([1, 3, 8]))
    rows = rows_of(forest, person_classes(forest))
    codes = {}
    for column in rows.columns:
        own = [rnd.choice(column.hierarchy.ancestors(code)) if code >= 0 else code for code in column.codes.tolist()]
        codes[column.name] = np.array([rnd.choice([0, -1]) if code < 0 else code for code in own], np.int32)
    rows = rows.with_codes(codes)
    found = list(with_rows(forest, rows).records())
    texts = [dict(zip(OWN, row, strict=True)) for row in rows.rows()]
    expected = [slow_with_rows(record, row) for record, row in zip(forest.records(), texts, strict=True)]
    assert [multiset([one]) for one in found] == [multiset([sorted(one)]) for one in expected]


test_rows_in_trees, test_many_rows_in_trees = properties(rows_in_trees, 30, 2000)


def test_classes_of_the_person(forest: ta.Forest) -> None:
    """Those of the record itself, under the root; what hangs under one of them is the rest."""
    assert person_classes(forest) == OWN
    text = 'version = 1\n[input]\nformat = "trees"\n' + "".join(
        f'[[class]]\nname = "{name}"\nunder = "/"\n' for name in "ab"
    )
    trees = [[["a", "1", []], ["b", "1", []], ["b", "2", []]], [["a", "1", []]]]
    assert person_classes(ta.Forest.from_records(ta.Schema.loads(text), trees)) == ("a",)
    assert person_classes(ta.Forest.from_records(ta.Schema.loads(text), trees[1:])) == ("a", "b")


def test_persons_without_anything(tmp_path: Path) -> None:
    """A person of whom nothing is left is an empty document, of which there are k too."""
    path = tmp_path / "in.ndjson"
    path.write_text('{"hobbies": ["go"]}\n' * 2 + '{"age": 3}\n' * 2)
    forest = ta.read(path, ta.Schema.loads(SCHEMA))
    release = documents_of(forest, TableRequest((KAnonymity(2),), unprotected=True))
    release.write(tmp_path / "o.ndjson")
    written = lines(tmp_path / "o.ndjson")
    assert sorted(map(len, written)) == [0, 0, 1, 1]


# --- what cannot be --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("style", ["auto", "ranges", "sets"])
def test_ranges_and_sets(forest: ta.Forest, style: str) -> None:
    request = TableRequest((KAnonymity(3),), "hilbert", options={"style": style}, unprotected=True)
    with pytest.raises(UsageError, match="--param style=hierarchy"):
        documents_of(forest, request)
    documents_of(forest, replace(request, options={"style": "hierarchy"}))


def test_a_search_of_intervals(forest: ta.Forest) -> None:
    with pytest.raises(UsageError, match="koptimize would publish ranges or sets of values, which documents cannot"):
        documents_of(forest, TableRequest((KAnonymity(3),), "koptimize", unprotected=True))


def test_what_cannot_be_asked(forest: ta.Forest, tmp_path: Path) -> None:
    request = TableRequest((KAnonymity(2),), unprotected=True)
    with pytest.raises(UsageError, match="max_suppressed is of its request"):
        documents_of(forest, request, Request(2, l=1, max_suppressed=1))
    with pytest.raises(UsageError, match="the schema calls class 'job' sensitive"):
        documents_of(forest, request, Request(2))
    with pytest.raises(UsageError, match="the schema calls job sensitive"):
        documents_of(forest, TableRequest((KAnonymity(2),)))
    with pytest.raises(GuaranteeError, match="fewer than k = 61"):
        documents_of(forest, TableRequest((KAnonymity(61),), unprotected=True))
    only_rest = SCHEMA.replace('path = "age"', 'path = "x[].age"').replace('path = "about.sex"', 'path = "x[].sex"')
    only_rest = only_rest.replace('path = "shoe"', 'path = "x[].shoe"')
    with pytest.raises(UsageError, match="no class of role quasi is one that the record itself holds once"):
        documents_of(forest_of(tmp_path, Random(1), 5, only_rest), request)
    below = SCHEMA.replace('path = "job"', 'path = "visits[].job"')
    with pytest.raises(UsageError, match="distinct 2-diversity needs a class of role sensitive that the record itself"):
        documents_of(forest_of(tmp_path, Random(1), 9, below), TableRequest((KAnonymity(2), DistinctDiversity(2))))


def test_models_that_hold_no_more(forest: ta.Forest, monkeypatch: pytest.MonkeyPatch) -> None:
    real = table_documents.fulfill

    def losing(*args: Any, **given: Any) -> Any:
        found = real(*args, **given)
        return replace(found, forest=found.forest.take(np.arange(3)), kept=np.arange(3))

    monkeypatch.setattr(table_documents, "fulfill", losing)
    with pytest.raises(GuaranteeError, match="leave the rest out, or ask less of the trees"):
        documents_of(forest, TableRequest((KAnonymity(4),), unprotected=True), Request(4, l=1, seed=1, options=QUICK))


@pytest.mark.parametrize("which", ["verify", "verify_table", "rows_of"])
def test_nothing_appears_unchecked(
    forest: ta.Forest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, which: str
) -> None:
    release = documents_of(
        forest, TableRequest((KAnonymity(3),), unprotected=True), Request(3, l=1, seed=1, options=QUICK)
    )
    real = getattr(table_documents, which)

    def wrong(*args: Any, **given: Any) -> Any:
        found = real(*args, **given)
        if which == "rows_of":
            return found.take(np.arange(2))
        if which == "verify":
            return replace(found, holds=False)
        return replace(found, checked=tuple(replace(one, groups=1) for one in found.checked))

    monkeypatch.setattr(table_documents, which, wrong)
    before = set(tmp_path.rglob("*"))
    with pytest.raises(GuaranteeError, match="does not hold for what was written"):
        release.write(tmp_path / "o.ndjson")
    assert set(tmp_path.rglob("*")) == before


def test_distances_by_the_hierarchies_of_the_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a class whose hierarchy is built from the data, a release shows a part only: the check knows it all."""
    text = SCHEMA.replace('path = "job"\nrole', 'path = "job"\nhierarchy = { groups = 2 }\nrole')
    forest = forest_of(tmp_path, Random(7), 40, text)
    release = documents_of(forest, TableRequest((KAnonymity(2), TCloseness(0.6, "hierarchical")), "optimal", "20%"))
    looked_at: list[Table] = []
    real = table_documents.verify_table

    def looking(table: Table, models: Any, **bounds: Any) -> Any:
        looked_at.append(table)
        return real(table, models, **bounds)

    monkeypatch.setattr(table_documents, "verify_table", looking)
    assert release.write(tmp_path / "o.ndjson")[0].holds
    assert looked_at[-1] == release.rows.table
    own = [column.hierarchy for column in release.rows.table.columns]
    assert [column.hierarchy for column in looked_at[-1].columns] == own
