"""Bounds of every published group: kept by every search that takes them, as counting says that shares nothing."""

from __future__ import annotations

import re
from collections import defaultdict
from random import Random

import pytest

import treeanon as ta
from tests.support.diversity_worlds import PATHS
from tests.support.strategies import properties
from treeanon.algorithms.table.registry import TABLE_ALGORITHMS
from treeanon.errors import GuaranteeError, UsageError
from treeanon.schema.model import ClassSpec
from treeanon.table import Column, Table

ABLE = [name for name, one in TABLE_ALGORITHMS.items() if one.takes("max_group_loss")]
TOWNS = {path[0]: path for path in PATHS}


def people(rnd: Random, rows: int) -> Table:
    """Return a table of an age from 20 to 60, a town of six in three districts, and an illness."""
    ages = [str(rnd.choice([20, 21, 22, 30, 31, 45, 59, 60])) for _ in range(rows)]
    made = {
        "age": (ages, ta.Hierarchy.flat([str(n) for n in range(20, 61)])),
        "town": ([rnd.choice(sorted(TOWNS)) for _ in range(rows)], ta.Hierarchy.from_paths(PATHS)),
        "ill": ([rnd.choice("abcd") for _ in range(rows)], ta.Hierarchy.flat("abcd")),
    }
    table = Table.of_texts(made, {"ill": "sensitive"})
    age = table.columns[0]
    return Table((Column(ClassSpec("age", type="integer"), age.hierarchy, age.codes), *table.columns[1:]))


def ages_of(text: str) -> list[int]:
    return list(range(20, 61)) if text == "*" else [int(number) for number in re.findall(r"\d+", text)]


def towns_of(text: str) -> set[str]:
    named = set(re.findall(r"\w\w", text)) & set(TOWNS)
    if "…" in text:
        first, last = sorted(named)
        return {town for town in TOWNS if first <= town <= last}
    return named or {town for town, path in TOWNS.items() if text in path}


def share_of(towns: set[str]) -> float:
    """The share of all towns that lie below the lowest node above these."""
    districts = {TOWNS[town][1] for town in towns}
    if len(towns) == 1 or len(districts) > 1:
        return float(len(towns) > 1)
    return sum(path[1] in districts for path in PATHS) / len(PATHS)


def kept(rnd: Random) -> None:
    rnd = Random(rnd.getrandbits(32))
    table, name = people(rnd, rnd.choice([4, 12, 40])), rnd.choice(ABLE)
    most, style = rnd.choice([None, 0.1, 0.3, 0.6]), rnd.choice(["ranges", "sets", "hierarchy"])
    spans = {"age": rnd.choice([0.5, 2, 11, 30]), "town": rnd.choice([1, 2, 3])}
    spans = dict(rnd.sample(sorted(spans.items()), rnd.choice([0, 1, 2])))
    models = {"l": 2, "diversity": "frequency"} if name in ("onedim-l", "anatomy") else {"k": 2, "l": 1}
    own = {"style": style} if TABLE_ALGORITHMS[name].takes("style") else {}
    limit = rnd.choice([0, len(table) // 2, len(table) - 2])
    try:
        release = ta.anonymize(
            table, algorithm=name, spans=spans, max_group_loss=most, max_suppressed=limit, parameters=own, **models
        )
    except GuaranteeError as problem:
        assert "please report" not in str(problem)
        return
    assert len(table) - len(release.table) <= limit
    groups = defaultdict(list)
    for age, town, ill in release.table.rows():
        ages, towns = ages_of(age), towns_of(town)
        assert "age" not in spans or max(ages) - min(ages) <= spans["age"], (name, age)
        assert "town" not in spans or len(towns) <= spans["town"], (name, town)
        groups[age, town].append(ill)
        wide = (max(ages) - min(ages)) / 40
        assert most is None or (wide + share_of(towns)) / 2 <= most + 1e-9, (name, age, town)
    for ills in groups.values():
        assert len(ills) >= 2
        assert "k" in models or max(map(ills.count, ills)) * 2 <= len(ills)


test_kept, test_kept_thoroughly = properties(kept, 60, 3000)


def dual_kept(rnd: Random) -> None:
    """The group that loses most, in each form of the loss and by the weights, for every method."""
    rnd = Random(rnd.getrandbits(32))
    table, form, most = people(rnd, rnd.choice([4, 12, 40])), rnd.choice(["taxonomy", "set", "free"]), rnd.random()
    method, primal = rnd.choice([("heuristic", None), ("ipcsd", "onedim"), ("ipcsd", "mondrian")])
    own = {"form": form, "style": rnd.choice(["ranges", "sets"]), "method": method}
    own |= {} if primal is None else {"primal": primal}
    models = rnd.choice([{"k": 2, "l": 1}, {"l": 2, "diversity": "frequency"}])
    weights = {"age": rnd.choice([0, 1, 4]), "town": rnd.choice([1, 3])}
    spans = rnd.choice([None, {"age": 11}])
    asked = {"max_loss": most, "weights": weights, "spans": spans, "max_suppressed": rnd.choice([0, len(table) // 2])}
    try:
        release = ta.anonymize(table, algorithm="onedim-dual", parameters=own, **asked, **models)
    except GuaranteeError as problem:
        assert "please report" not in str(problem), (own, asked)
        return
    for age, town, _ in release.table.rows():
        ages, towns = ages_of(age), towns_of(town)
        if own["style"] == "ranges" and form != "set":
            ages = list(range(min(ages), max(ages) + 1))
        listed = len(ages) if "…" not in age else max(ages) - min(ages) + 1
        wide = (listed - 1) / 40 if form == "set" else (max(ages) - min(ages)) / 40
        held = share_of(towns) if form == "taxonomy" else (len(towns) - 1) / (len(TOWNS) - 1)
        lost = (weights["age"] * wide + weights["town"] * held) / sum(weights.values())
        assert lost <= most + 1e-9, (own, asked, age, town)
        assert not spans or max(ages) - min(ages) <= 11


test_dual_kept, test_dual_kept_thoroughly = properties(dual_kept, 30, 1500)


def test_one_far_row_is_left_out_and_not_all() -> None:
    ages = ta.Hierarchy.flat([str(n) for n in range(100)])
    column = Table.of_texts({"age": (["20", "21", "22", "90"], ages)}).columns[0]
    table = Table((Column(ClassSpec("age", type="integer"), ages, column.codes),))
    for name in ABLE:
        if name in ("onedim-l", "anatomy"):
            continue
        own = {"style": "ranges"} if name == "local" else {}
        asked = {"algorithm": name, "k": 3, "spans": {"age": 5}, "parameters": own}
        release = ta.anonymize(table, max_suppressed=1, **asked)
        assert len(release.table) == 3 and release.verdict.holds, name
        with pytest.raises(
            GuaranteeError, match=r"max_span 5 of age: \S+ found no group that keeps this for \d persons?"
        ):
            ta.anonymize(table, **asked)


@pytest.mark.parametrize("name", sorted(set(TABLE_ALGORITHMS) - set(ABLE) - {"onedim-dual"}))
def test_what_cannot_keep_it_refuses_it_by_name(name: str) -> None:
    with pytest.raises(UsageError, match=f"'{name}' has no parameter 'max_group_loss'"):
        ta.anonymize(people(Random(1), 20), algorithm=name, k=2, l=1, max_group_loss=0.2)


def test_what_is_excluded() -> None:
    table = people(Random(1), 20)
    for asked, message in (
        ({"round_ranges": True, "spans": {"age": 5}}, "rounding ranges does not honor max_span"),
        ({"round_ranges": True, "max_group_loss": 0.5}, "excludes max_group_loss"),
        ({"publish": "permuted", "spans": {"age": 5}}, "does not honor max_span"),
        ({"publish": "permuted", "max_group_loss": 0.5}, "no loss of groups to bound"),
        ({"max_group_loss": 1.5}, "a number from 0 to 1"),
        ({"spans": {"age": -1}}, "must be a number above 0"),
    ):
        with pytest.raises(UsageError, match=message):
            ta.anonymize(table, algorithm="mondrian", k=2, l=2, **asked)
    with pytest.raises(UsageError, match="excludes max_loss"):
        ta.anonymize(table, algorithm="onedim-dual", k=2, l=1, max_loss=0.5, round_ranges=True)
    with pytest.raises(UsageError, match="spans and max_group_loss are for rows"):
        ta.verify(table, k=2, spans={"age": 5}, original=table)


def test_spark_refuses_it_by_name() -> None:
    pytest.importorskip("pyspark")
    from treeanon.release.table_request import table_request_of
    from treeanon.spark.table.searching import check_request

    schema = ta.Schema.load("schemas/census.toml")
    request = table_request_of(k=5, l=2, algorithm="mondrian", max_group_loss=0.5)
    with pytest.raises(UsageError, match="engine spark does not honor max_group_loss"):
        check_request(request, schema)
