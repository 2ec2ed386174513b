"""Samarati's search: the paper's examples, all k-minimal vectors of random tables, preferences."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

import treeanon as ta
from tests.support.strategies import properties
from tests.support.table_worlds import CASES, VECTORS, random_problem, vector_problem
from treeanon.algorithms.table.lattice import Lattice
from treeanon.algorithms.table.objective import PREFERENCES
from treeanon.algorithms.table.samarati import search
from treeanon.cli.summaries import table_release_summary
from treeanon.errors import GuaranteeError, UsageError
from treeanon.hierarchy import Hierarchy
from treeanon.table import Table
from treeanon.table.controls import with_controls


def named(names: tuple[str, ...], found: Any) -> list[tuple[tuple[int, ...], int]]:
    return sorted((tuple(vector[name] for name in names), lost) for vector, lost in found)


@pytest.mark.parametrize("matrix", [True, False])
@pytest.mark.parametrize("name,case", CASES, ids=lambda x: x if isinstance(x, str) else str(x["k"]))
def test_paper(name: str, case: dict[str, Any], matrix: bool) -> None:
    problem = vector_problem(name, case)
    found = search(problem, matrix=matrix)
    names = Lattice(problem).names
    expected = sorted((tuple(one["vector"]), one["suppressed"]) for one in case["k_minimal"])
    assert named(names, found.minimal) == expected
    assert found.counts["lowest_height"] == case["lowest_height"]


@pytest.mark.parametrize("limit", [1, 2])
@pytest.mark.parametrize("preference", PREFERENCES)
def test_preferences_of_the_paper(limit: int, preference: str) -> None:
    expected = VECTORS["race_zip_8"]["preferences"][f"max_suppressed={limit}"].get(preference, "compute")
    problem = vector_problem("race_zip_8", {"k": 2, "max_suppressed": limit})
    found = search(problem, preference=preference)
    if expected != "compute":
        shown = [[one["Race"], one["ZIP"]] for one in found.counts["preferred"]]
        assert sorted(shown) == sorted(expected)
        assert list(found.vector.values()) in expected


def test_weights_turn_the_choice() -> None:
    problem = vector_problem("race_zip_8", {"k": 2, "max_suppressed": 2})
    races, zips = (
        replace(problem, table=with_controls(problem.table, {name: {"weight": 5}})) for name in ("Race", "ZIP")
    )
    assert search(races).vector == {"Race": 0, "ZIP": 1}
    assert search(zips).vector == {"Race": 1, "ZIP": 0}
    with pytest.raises(UsageError, match="takes no weights"):
        search(zips, preference="minimum_suppression")
    with pytest.raises(UsageError, match="unknown preference"):
        search(problem, preference="nicest")


def all_minimal(rnd: Random) -> None:
    problem, world = random_problem(rnd)
    expected = sorted(world.minimal().items())
    names = tuple(column.name for column in problem.table.quasi)
    preference = rnd.choice(list(PREFERENCES))
    try:
        found = search(problem, preference=preference, matrix=rnd.choice([None, False]))
    except GuaranteeError:
        assert not expected
        return
    assert named(names, found.minimal) == expected
    chosen = tuple(found.vector[name] for name in names)
    assert (chosen, found.suppressed) in expected
    ranks = {
        "minimum_absolute_distance": sum,
        "minimum_relative_distance": lambda v: sum(x / max(h, 1) for x, h in zip(v, world.heights, strict=True)),
        "maximum_distribution": lambda v: -world.published(v),
        "minimum_suppression": world.suppressed,
        "minimum_distance_peak": max,
        "fewest_generalized": lambda v: sum(x > 0 for x in v),
        "most_generalized": lambda v: -sum(x > 0 for x in v),
    }
    rank = ranks[preference]
    assert rank(chosen) <= min(rank(vector) for vector, _ in expected) + 1e-9


test_all_minimal, test_all_minimal_thoroughly = properties(all_minimal, 60, 3000)


@pytest.mark.parametrize(
    ("limit", "preference", "best"),
    [
        (1, "minimum_distance_peak", [(1, 0)]),
        (2, "minimum_distance_peak", [(0, 1), (1, 0)]),
        (1, "fewest_generalized", [(0, 2), (1, 0)]),
        (1, "most_generalized", [(0, 2), (1, 0)]),
        (0, "most_generalized", [(1, 1)]),
    ],
)
def test_further_preferences(limit: int, preference: str, best: list[tuple[int, int]]) -> None:
    problem = vector_problem("race_zip_8", {"k": 2, "max_suppressed": limit})
    found = search(problem, preference=preference)
    assert sorted((one["Race"], one["ZIP"]) for one in found.counts["preferred"]) == best


def test_counts_of_generalized_columns_are_preferred() -> None:
    """Of 11 persons and five columns, at k = 2 with two left out, as the vectors have them."""
    problem = vector_problem("medical_11", {"k": 2, "max_suppressed": 2})
    minimal = [vector for vector, _ in search(problem).minimal]
    counts = [sum(level > 0 for level in vector.values()) for vector in minimal]
    for preference, best in (("fewest_generalized", min(counts)), ("most_generalized", max(counts))):
        found = search(problem, preference=preference)
        assert [dict(v) for v, own in zip(minimal, counts, strict=True) if own == best] == found.counts["preferred"]
    peaks = [max(vector.values()) for vector in minimal]
    assert max(search(problem, preference="minimum_distance_peak").vector.values()) == min(peaks)


def test_suppressed_rows_keep_their_other_columns() -> None:
    """Where they satisfy the models as a group of their own, which the check of the release counts like any other."""
    ages, ills = Hierarchy.flat([str(age) for age in range(20, 30)]), Hierarchy.flat(["flu", "gout"])
    told = {"age": (["20"] * 4 + ["21", "22"], ages), "ill": (["flu", "gout"] * 3, ills)}
    table = Table.of_texts(told, {"ill": "sensitive"})
    asked = {"algorithm": "samarati", "max_suppressed": 2, "l": 2, "seed": 1}
    release = ta.anonymize(table, k=2, parameters={"suppressed": "other_columns"}, **asked)
    assert sorted(release.table.rows()) == [("*", "flu"), ("*", "gout"), *[("20", "flu")] * 2, *[("20", "gout")] * 2]
    assert release.found.suppressed == 2 and ta.verify(release.table, k=2, l=2).holds
    # Three alike are asked for, and the two that are left would be told from all others.
    few = ta.anonymize(table, k=3, parameters={"suppressed": "other_columns"}, **asked)
    assert len(few.table) == 4 and len(ta.anonymize(table, k=2, **asked).table) == 4


def test_all_answers_are_told(tmp_path: Path) -> None:
    table = vector_problem("race_zip_8", {"k": 2, "max_suppressed": 1}).table
    release = ta.anonymize(table, k=2, algorithm="samarati", max_suppressed=1)
    answers = [{"levels": {"Race": 0, "ZIP": 2}, "suppressed": 1}, {"levels": {"Race": 1, "ZIP": 0}, "suppressed": 1}]
    assert sorted(release.as_dict()["minimal"], key=str) == answers
    release.write_solution(tmp_path / "s.json")
    assert sorted(json.loads((tmp_path / "s.json").read_text())["minimal"], key=str) == answers
    assert len(ta.apply(tmp_path / "s.json", table).table) == 7
    told = table_release_summary(release, "out.csv")
    assert "All 2 k-minimal combinations of levels:" in told and "  Race 0, ZIP 2 (1 record suppressed)" in told


@pytest.mark.parametrize("algorithm", ["samarati", "incognito", "optimal", "local", "mondrian"])
def test_somebody_stays_however_many_may_go(algorithm: str) -> None:
    table = vector_problem("race_zip_12", {"k": 2, "max_suppressed": 0}).table
    release = ta.anonymize(table, k=3, algorithm=algorithm, max_suppressed="100%")
    assert len(release.table) >= 3 and release.verdict.holds
