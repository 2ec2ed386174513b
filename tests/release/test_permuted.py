"""Permuted releases: what an attacker with the files can say of a person, counted by csv and plain Python alone."""

from __future__ import annotations

import csv
import io
import json
import math
import tempfile
import zipfile
from collections import Counter, defaultdict
from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import treeanon as ta
from tests.support.strategies import properties
from treeanon.algorithms.table.registry import TABLE_ALGORITHMS
from treeanon.algorithms.table.result import Partition
from treeanon.errors import DataError, GuaranteeError, UsageError
from treeanon.metrics.table import permuted_query_loss
from treeanon.privacy.models import FrequencyDiversity, KAnonymity, TCloseness
from treeanon.release import table as permuted_release
from treeanon.release.table import check_permuted
from treeanon.table import Column
from treeanon.table.permuted import Permuted, permuted

AGES = ta.Hierarchy.from_paths([[str(age), f"{age // 10 * 10}s", "*"] for age in range(20, 60, 3)])
TOWNS = ta.Hierarchy.from_paths([["Ulm", "south", "*"], ["Bonn", "west", "*"], ["Essen", "west", "*"]])
ILLS = ta.Hierarchy.flat(["flu", "gout", "acne", "HIV", "mumps"])
SCHEMA = """
version = 1
[input]
format = "csv"
[[class]]
name = "age"
path = "age"
type = "integer"
[[class]]
name = "town"
path = "town"
[[class]]
name = "ill"
path = "ill"
role = "sensitive"
"""
ABLE = sorted(name for name, one in TABLE_ALGORITHMS.items() if one.groups)
Rows = list[dict[str, str]]


def people(rnd: Random, rows: int, gap: float = 0.0) -> ta.Table:
    def some(values: list[str]) -> list[str | None]:
        return [None if rnd.random() < gap else rnd.choice(values) for _ in range(rows)]

    leaves = [AGES.texts[leaf] for leaf in AGES.leaf_nodes]
    columns = {
        "age": (some(leaves), AGES),
        "town": (some(["Ulm", "Bonn", "Essen"]), TOWNS),
        "ill": (some(["flu", "flu", "gout", "acne", "HIV", "mumps"]), ILLS),
    }
    return ta.Table.of_texts(columns, {"ill": "sensitive"})


def files_in(path: Path) -> dict[str, bytes]:
    if path.suffix == ".zip":
        with zipfile.ZipFile(path) as archive:
            return {name: archive.read(name) for name in archive.namelist()}
    return {file.name: file.read_bytes() for file in path.iterdir()}


def written(path: Path) -> tuple[Rows, Rows]:
    """The two tables of a release, by their own description."""
    files = files_in(path)
    tables = {}
    for resource in json.loads(files["datapackage.json"])["resources"]:
        data = files[resource["path"]]
        if resource["format"] == "parquet":
            rows = pq.read_table(io.BytesIO(data)).to_pylist()
            tables[resource["name"]] = [{k: "" if v is None else str(v) for k, v in row.items()} for row in rows]
        else:
            between = "\t" if resource["format"] == "tsv" else ","
            tables[resource["name"]] = list(csv.DictReader(io.StringIO(data.decode()), delimiter=between))
    return tables["records"], tables["values"]


def groups_of(records: Rows, values: Rows) -> dict[str, Counter[str]]:
    """The sensitive values of every group; each has as many as it has records."""
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for row in values:
        assert row["ill"] not in found[row["group"]] and int(row["count"]) > 0
        found[row["group"]][row["ill"]] = int(row["count"])
    assert Counter(row["group"] for row in records) == {name: one.total() for name, one in found.items()}
    return found


def worst_guess(records: Rows, values: Rows) -> float:
    """The largest probability of one sensitive value, for somebody who knows all quasi values of a person."""
    groups = groups_of(records, values)
    alike: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for row in records:
        alike[tuple(text for name, text in row.items() if name != "group")].append(row["group"])
    worst = 0.0
    for candidates in alike.values():
        for ill in {ill for group in candidates for ill in groups[group]}:
            chance = sum(groups[group][ill] / groups[group].total() for group in candidates) / len(candidates)
            worst = max(worst, chance)
    # Who also knows which of the rows it is.
    surest = max(max(one.values()) / one.total() for one in groups.values())
    assert worst <= surest + 1e-12
    return surest


def entropy(one: Counter[str]) -> float:
    return -sum(n / one.total() * math.log(n / one.total()) for n in one.values())


ASKED = {
    "frequency 2": ({"l": 2, "diversity": "frequency"}, lambda one: max(one.values()) * 2 <= one.total()),
    "frequency 3": ({"l": 3, "diversity": "frequency"}, lambda one: max(one.values()) * 3 <= one.total()),
    "distinct": ({"l": 2, "k": 4}, lambda one: len(one) >= 2 and one.total() >= 4),
    "entropy": ({"l": 2, "diversity": "entropy"}, lambda one: entropy(one) >= math.log(2) - 1e-9),
    "alpha": ({"k": 3, "alpha": 0.5}, lambda one: max(one.values()) * 2 <= one.total() >= 3),
    "p": ({"k": 3, "p": 2}, lambda one: len(one) >= 2 and one.total() >= 3),
}


def no_attacker_gains(rnd: Random) -> None:
    rnd = Random(rnd.getrandbits(32))
    table = people(rnd, rnd.choice([1, 3, 8, 20, 40]), rnd.choice([0, 0, 0.2]))
    asked, holds = ASKED[rnd.choice(sorted(ASKED))]
    algorithm = rnd.choice(ABLE)
    more = {"max_loss": rnd.choice([0.3, 1.0])} if algorithm == "onedim-dual" else {}
    try:
        release = ta.anonymize(table, publish="permuted", algorithm=algorithm, **asked, **more)
    except (GuaranteeError, UsageError):
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, rnd.choice(["out", "out.zip"]))
        verdict = release.write(path, files=rnd.choice(["csv", "tsv", "parquet"]))
        records, values = written(path)
        again = ta.read_permuted(path, ta.Schema.loads(SCHEMA))
    groups = groups_of(records, values)
    assert all(map(holds, groups.values()))
    if asked.get("diversity") == "frequency":
        assert worst_guess(records, values) <= 1 / asked["l"] + 1e-12
    assert worst_guess(records, values) == pytest.approx(verdict.largest_share)
    assert verdict.smallest == min(one.total() for one in groups.values()) and verdict.groups == len(groups)
    # Nothing is invented, and quasi values are as they were.
    left = Counter(("" if a is None else a, "" if t is None else t) for a, t, _ in table.rows())
    gone = left - Counter((row["age"], row["town"]) for row in records)
    assert gone.total() == len(table) - len(records) == release.loss.suppressed
    ills = Counter("" if ill is None else ill for *_, ill in table.rows())
    assert sum(groups.values(), Counter()) <= ills
    # By the same schema, and by the question itself.
    assert ta.verify(again, models=release.models).holds
    assert not ta.verify(again, k=max(one.total() for one in groups.values()) + 1).holds


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


test_no_attacker_gains, test_no_attacker_gains_thoroughly = properties(no_attacker_gains, 30, 800)


@pytest.mark.parametrize("algorithm", ABLE)
def test_every_value_is_counted_in_the_group_of_its_row(home: Path, algorithm: str) -> None:
    rnd = Random(5)
    own = [str(i) for i in range(60)]
    ills = [rnd.choice(["flu", "gout", "acne", "HIV", "mumps"]) for _ in own]
    ages = ta.Hierarchy.from_paths([[one, f"from {int(one) // 20 * 20}", "*"] for one in own])
    columns = {"age": (own, ages), "ill": (ills, ILLS)}
    table = ta.Table.of_texts(columns, {"ill": "sensitive"})
    more = {"max_loss": 1.0, "parameters": {"bound": "mean"}} if algorithm == "onedim-dual" else {}
    ta.anonymize(table, publish="permuted", algorithm=algorithm, l=2, diversity="frequency", **more).write("out")
    records, values = written(home / "out")
    true: dict[str, Counter[str]] = defaultdict(Counter)
    for row in records:
        true[row["group"]][ills[int(row["age"])]] += 1
    assert len(records) == 60 and len(true) > 1
    assert true == groups_of(records, values)


@pytest.mark.parametrize("name", sorted(TABLE_ALGORITHMS))
def test_the_registry_says_what_searches_find(name: str) -> None:
    one = TABLE_ALGORITHMS[name]
    table = people(Random(3), 60)
    asked = {"l": 2, "diversity": "frequency"}
    more = dict.fromkeys(one.needs, 0.9)
    if not one.groups:
        with pytest.raises(UsageError, match=r"these do: .*mondrian"):
            ta.anonymize(table, algorithm=name, publish="permuted", **asked, **more)
        return
    release = ta.anonymize(table, algorithm=name, publish="permuted", **asked, **more)
    assert isinstance(release.found, Partition)
    assert release.models == (FrequencyDiversity(2),) or one.reaches
    if one.needs:
        with pytest.raises(UsageError, match=f"needs the parameter {one.needs[0]!r}"):
            ta.anonymize(table, algorithm=name, **asked)


def test_what_is_reached_is_what_is_told(home: Path) -> None:
    table = people(Random(4), 80)
    least = {"algorithm": "onedim-dual", "max_loss": 0.7}
    for publish in ("generalized", "permuted"):
        release = ta.anonymize(table, publish=publish, l=2, diversity="frequency", **least)
        (model,) = release.models
        assert model.l > 2 and release.as_dict()["models"] == [model.name] and release.verdict.holds
        assert release.found.counts["privacy"] == model.l
    release.write("out")
    assert worst_guess(*written(home / "out")) <= 1 / model.l
    release = ta.anonymize(table, k=2, l=1, **least)
    (model,) = release.models
    assert model.k > 2 and release.verdict.largest_k >= model.k


def test_neither_order_nor_numbers_tell_of_the_input(home: Path) -> None:
    table = people(Random(6), 30)

    def once(seed: int | None) -> tuple[Rows, Rows]:
        release = ta.anonymize(table, publish="permuted", algorithm="mondrian", l=2, seed=seed)
        release.write("out", force=True, seed=seed)
        return written(home / "out")

    assert once(7) == once(7)
    many = [once(None) for _ in range(8)]
    for part in (0, 1):
        assert len({json.dumps(one[part]) for one in many}) == 8
    assert len({one[1][0]["group"] for one in many}) > 1
    assert {row["group"] for row in many[0][0]} == {str(i + 1) for i in range(len({r["group"] for r in many[0][0]}))}
    # The order of codes is that of the input where a schema has no hierarchy.
    release = ta.anonymize(table, publish="permuted", algorithm="mondrian", l=2)
    assert len({tuple(ta.anonymize(table, publish="permuted", l=2).values.rows()) for _ in range(5)}) > 1
    assert sorted(release.to_frame(pa.table({}))[0].column_names) == ["age", "group", "town"]


def test_the_package_ties_both_tables(home: Path) -> None:
    for gap in (0.0, 0.3):
        release = ta.anonymize(people(Random(1), 40, gap), publish="permuted", l=2)
        release.write("out", force=True)
        package = json.loads((home / "out" / "datapackage.json").read_text())
        records, values = package["resources"]
        assert records["schema"]["foreignKeys"] == [
            {"fields": ["group"], "reference": {"resource": "values", "fields": ["group"]}}
        ]
        key = "uniqueKeys" if gap else "primaryKey"
        assert values["schema"][key] == ([["group", "ill"]] if gap else ["group", "ill"])
    assert sorted(path.name for path in home.iterdir()) == ["out"]


def test_losses_are_those_of_the_groups() -> None:
    table = people(Random(2), 50)
    release = ta.anonymize(table, publish="permuted", algorithm="onedim-l", l=2, diversity="frequency")
    loss = release.as_dict()["losses"]
    for level in (1, 2):
        assert loss["queries"][str(level)] == permuted_query_loss(table, release.found.group, level).mean
    sizes = Counter(release.found.group.tolist())
    assert (loss["groups"], loss["largest_group"]) == (len(sizes), max(sizes.values()))
    assert loss["average_group_size"] == pytest.approx(50 / len(sizes))
    general = table.with_codes({"town": np.full(50, TOWNS.find("west"), np.int32)})
    assert ta.anonymize(general, publish="permuted", l=2).loss.queries == {}


def test_frames_become_two_frames() -> None:
    frame = pa.table({"age": [20, 23, 26, 29], "town": ["Ulm"] * 4, "ill": ["flu", "gout", "flu", "acne"]})
    records, values = ta.anonymize(frame, schema=ta.Schema.loads(SCHEMA), publish="permuted", l=2)
    assert isinstance(records, pa.Table) and records.column_names == ["age", "town", "group"]
    assert sorted(records["age"].to_pylist()) == [20, 23, 26, 29]
    assert sum(values["count"].to_pylist()) == 4


def test_names_that_are_taken(home: Path) -> None:
    table = people(Random(8), 20)
    schema = ta.Schema.loads(
        SCHEMA.replace('path = "age"', "path = \"'group'\"").replace('path = "town"', 'path = "count"')
    )
    specs = [replace(column.spec, path=schema.spec(column.name).path) for column in table.columns]
    made = ta.Table(tuple(Column(s, c.hierarchy, c.codes) for s, c in zip(specs, table.columns, strict=True)))
    release = ta.anonymize(made, publish="permuted", l=2)
    assert release.as_dict()["columns"] == {"group": "group_", "count": "count_"}
    release.write("out")
    assert (home / "out" / "records.csv").read_text().splitlines()[0] == '"group","count","group_"'
    assert ta.verify(ta.read_permuted("out", schema), l=2).holds
    # A class that has the name of what was added.
    schema = ta.Schema.loads(SCHEMA.replace('name = "town"', 'name = "group"'))
    ta.anonymize(table, publish="permuted", l=2).write("other")
    assert ta.verify(ta.read_permuted("other", schema), l=2).holds


def test_one_row_and_equal_rows(home: Path) -> None:
    one = people(Random(1), 1)
    ta.anonymize(one, publish="permuted", p=1, k=1).write("one")
    assert len(written(home / "one")[0]) == 1
    equal = one.take(np.zeros(6, np.int64)).with_codes({"ill": np.array([1, 1, 2, 2, 3, 3], np.int32)})
    release = ta.anonymize(equal, publish="permuted", algorithm="onedim-l", l=3, diversity="frequency")
    release.write("equal")
    assert worst_guess(*written(home / "equal")) <= 1 / 3


def test_what_cannot_be_had(home: Path) -> None:
    table = people(Random(1), 12)
    same = table.with_codes({"ill": np.ones(12, np.int32)})
    for data, asked in ((same, {"l": 2}), (table, {"k": 13, "l": 2}), (table.take(np.zeros(0, np.int64)), {"l": 2})):
        with pytest.raises(GuaranteeError):
            ta.anonymize(data, publish="permuted", **asked)
    two = ta.Table((*table.columns, replace(table.columns[2], spec=replace(table.columns[2].spec, name="ill2"))))
    for data, asked, words in (
        (table, {"k": 3, "l": 1}, "only the values of ill are hidden"),
        (table, {"l": 2, "publish": "both"}, "published as generalized or permuted"),
        (table, {"l": 2, "algorithm": "hilbert"}, "these do: "),
        (two, {"l": 2}, "one sensitive class; the schema has: ill, ill2"),
        (ta.Table(table.columns[:2]), {"l": 2}, "has: none"),
        (replace(table, person=np.zeros(12, np.int32)), {"l": 2}, "one row a person"),
        (table, {"models": (FrequencyDiversity(2, column="town"),)}, "not sensitive"),
    ):
        with pytest.raises(UsageError, match=words):
            ta.anonymize(data, **{"publish": "permuted"} | asked)
    release = ta.anonymize(table, publish="permuted", l=2)
    for target, files in (("out.csv", "csv"), ("-", "csv"), ("out", "xml")):
        with pytest.raises(UsageError):
            release.write(target, files=files)
    with pytest.raises(UsageError, match="sensitive column of the release is 'ill'"):
        ta.verify(release.made, models=[TCloseness(0.5, column="age")])
    assert not list(home.iterdir())


def test_nothing_appears_that_does_not_hold(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = people(Random(1), 12)
    release = ta.anonymize(table, publish="permuted", l=2)
    really = permuted_release.write_permuted
    wrong = permuted(table, np.zeros(12, np.int64) if len(set(release.found.group)) > 1 else np.arange(12) // 6)

    def lying(made: Permuted, *args: object, **options: object) -> None:
        really(wrong, *args, **options)

    monkeypatch.setattr(permuted_release, "write_permuted", lying)
    with pytest.raises(GuaranteeError, match="does not give the published tables"):
        release.write("out")
    poor = replace(release, models=(KAnonymity(500),))
    monkeypatch.setattr(permuted_release, "write_permuted", really)
    with pytest.raises(GuaranteeError, match="does not hold for what was written"):
        poor.write("out.zip")
    assert not list(home.iterdir())


def test_other_tables_than_the_rows_are_found_out() -> None:
    table, group = people(Random(1), 12), np.arange(12) // 4
    good = permuted(table, group)
    check_permuted(table, good, group, 0)
    fewer, more = permuted(table.take(np.arange(8)), group[:8]), permuted(table, np.where(group > 1, -1, group))
    elsewhere = permuted(table.with_codes({"town": np.zeros(12, np.int32)}), group)
    ill = permuted(table.with_codes({"ill": np.ones(12, np.int32)}), group)
    for made in (fewer, more, elsewhere, ill):
        with pytest.raises(GuaranteeError, match="not those of the rows"):
            check_permuted(table, made, group, 12)
    left = np.where(group > 1, -1, group)
    check_permuted(table, more, left, 4)
    with pytest.raises(GuaranteeError, match="more persons"):
        check_permuted(table, more, left, 3)


GOOD = {"records.csv": "age,town,group\n20,Ulm,1\n23,Ulm,1\n", "values.csv": "group,ill,count\n1,flu,1\n1,acne,1\n"}


@pytest.mark.parametrize(
    ("file", "text", "words"),
    [
        ("records.csv", "age,town,ill,group\n20,Ulm,flu,1\n23,Ulm,acne,1\n", "records have the sensitive column"),
        ("records.csv", "age,town\n20,Ulm\n", "three columns"),
        ("records.csv", "age,town,group\n20,Ulm,1\n", "same persons"),
        ("records.csv", "age,town,group\n20,Ulm,1\n23,Ulm,\n", "has no group"),
        ("records.csv", "age,town,group\n20,Ulm,1\n23,Ulm,2\n", "same persons"),
        ("values.csv", "group,ill,count,age\n1,flu,1,20\n1,acne,1,23\n", "three columns"),
        ("values.csv", "group,ill,count\n1,flu,1\n1,flu,1\n", "twice"),
        ("values.csv", "group,ill,count\n1,flu,2\n1,acne,0\n", "whole numbers"),
        ("values.csv", "group,ill,count\n1,flu,1.5\n1,acne,1\n", "whole numbers"),
        ("values.csv", "group,ill,count\n1,flu,\n1,acne,1\n", "whole numbers"),
        ("values.csv", "group,ill,count\n", "no row"),
        ("other.csv", "a\n1\n", "records and values"),
    ],
)
def test_files_that_are_no_such_release(home: Path, file: str, text: str, words: str) -> None:
    schema = ta.Schema.loads(SCHEMA)
    for name, good in GOOD.items():
        (home / name).write_text(good)
    assert ta.verify(ta.read_permuted(home, schema), l=2, k=2).holds
    (home / file).write_text(text)
    with pytest.raises(DataError, match=words) as caught:
        ta.verify(ta.read_permuted(home, schema), l=2)
    assert "flu" not in str(caught.value)
