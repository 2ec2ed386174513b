"""Queries of trees: the truth of an original lies in the bounds of every release, with its solution and without."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import treeanon as ta
from tests.reference.answers import tree_satisfies
from treeanon.errors import GuaranteeError, UsageError
from treeanon.io.memory import forest_of_records
from treeanon.queries.grammar import parse

SCHEMA = """
version = 1
[input]
format = "ndjson"
objects = "OBJECTS"
[[class]]
name = "age"
path = "age"
type = "integer"
hierarchy = { intervals = [5, 10] }
[[class]]
name = "hospital"
path = "visits[].hospital"
hierarchy = { prefix = [1] }
[[class]]
name = "disease"
path = "visits[].diseases[].name"
hierarchy = { prefix = [1] }
[[class]]
name = "drug"
path = "visits[].diseases[].drug"
hierarchy = { prefix = [1] }
"""
visit = st.fixed_dictionaries(
    {
        "hospital": st.sampled_from(["N1", "N2", "S1"]),
        "diseases": st.lists(
            st.fixed_dictionaries(
                {"name": st.sampled_from(["Fa", "Fb", "Ga"])}, optional={"drug": st.sampled_from(["Xa", "Xb"])}
            ),
            max_size=2,
        ),
    }
)
people = st.lists(
    st.fixed_dictionaries({"visits": st.lists(visit, max_size=2)}, optional={"age": st.integers(20, 39)}),
    min_size=4,
    max_size=12,
)
QUERIES = (
    "age 25-34",
    "hospital = N1",
    "disease = Fa and not hospital = S1",
    "disease in (Fa, Ga) or age < 30",
    "not disease = F*",
    "disease = missing or drug != Xa",
    "disease = Fa under hospital = N*",
    "drug = Xb under hospital = N1 and age >= 30",
    "not (disease = Ga under hospital in (N1, S1))",
    "drug = Xa under disease = F*",
    "hospital = '*' and not drug = '*'",
)


def is_below(name: str, value: str, node: str) -> bool:
    """Whether a value lies below a node of the hierarchies of SCHEMA."""
    return name != "age" and node.endswith("*") and value.startswith(node[:-1])


SEARCHES: list[tuple[str, dict[str, Any]]] = [
    ("whole", {}),
    ("whole", {"attacker": "joint", "max_suppressed": 2}),
    ("merged", {}),
    ("merged", {"taking_apart": "move", "as_published": True}),
    ("merged", {"algorithm": "gcs", "parameters": {"g": 3}, "as_published": True}),
    ("merged", {"algorithm": "acs"}),
    ("merged", {"algorithm": "ocs"}),
    ("merged", {"algorithm": "miracle"}),
]


@pytest.mark.parametrize("number", range(len(SEARCHES)))
@settings(max_examples=3)
@given(records=people, k=st.sampled_from([2, 3]))
def test_the_truth_lies_in_the_bounds(number: int, records: list[dict[str, Any]], k: int) -> None:
    objects, asked = SEARCHES[number]
    schema = ta.Schema.loads(SCHEMA.replace("OBJECTS", objects))
    original = forest_of_records(records, schema)
    try:
        release = ta.anonymize(original, k=k, m=2, n=1, seed=1, **asked)
    except (GuaranteeError, UsageError):
        return
    gone = len(original) - len(release.forest)
    for query in QUERIES:
        trees = [original.record(at) for at in range(len(original))]
        true = sum(tree_satisfies(parse(query), tree, is_below, whole=objects == "whole") for tree in trees)
        exact = ta.query(release, query)
        blind = ta.query(release.to_records(), query, schema=schema, suppressed=gone) if gone < len(records) else exact
        for found in (exact, blind):
            assert found.least <= true <= found.most, query
            assert found.least - 1e-9 <= found.estimate <= found.most + 1e-9, query
        assert blind.least <= exact.least and exact.most <= blind.most, query
        whole = replace(release.solution, cut={}, left_out=(), disassociated=(), withheld=(), suppressed=0)
        known = ta.query(original, query, solution=whole)
        assert (known.least, known.most) == (true, true), query


def test_a_worked_example() -> None:
    """Leaving out widens the bounds where the rule's trigger stands, and nowhere else."""
    schema = ta.Schema.loads(SCHEMA.replace("OBJECTS", "merged"))
    records: list[dict[str, Any]] = [{"visits": [{"hospital": "N1", "diseases": [{"name": "Fa"}]}]} for _ in range(5)]
    records += [{"visits": [{"hospital": "S1", "diseases": [{"name": "Ga"}]}]} for _ in range(4)]
    forest = forest_of_records(records, schema)
    rule = (("hospital", "S1"), ("disease", "Fa"))
    from treeanon.algorithms.tree.solution import Solution

    cut = dict.fromkeys(("age", "hospital", "disease", "drug"), ("*",))
    left_out = Solution(ta.Guarantee(4), "maximal", cut, left_out=(rule,))
    assert _bounds(forest, "disease = Fa", left_out) == (5, 9)
    # What lay below a node that was left out is not seen either.
    assert _bounds(forest, "drug = Xa", left_out) == (0, 4)
    assert _bounds(forest, "disease = Ga under hospital = N*", left_out) == (0, 0)
    assert _bounds(forest, "disease = Fa under hospital = N*", left_out) == (5, 5)
    assert _bounds(forest, "disease = Fa under hospital = S1", left_out) == (0, 4)
    moved = Solution(ta.Guarantee(4), "gcs", cut, disassociated=(rule,))
    assert _bounds(forest, "disease = Fa under hospital = N1", moved) == (5, 5)
    withheld = Solution(ta.Guarantee(4), "gcs", cut, withheld=("drug",), suppressed=2)
    assert _bounds(forest, "drug = Xa", withheld) == (0, 11)
    assert _bounds(forest, "hospital = S*", withheld) == (4, 6)


def _bounds(forest: Any, query: str, solution: Any) -> tuple[int, int]:
    found = ta.query(forest, query, solution=solution)
    return found.least, found.most


def test_relations_that_no_tree_has_are_refused() -> None:
    whole, merged = (
        forest_of_records([{"age": 30}], ta.Schema.loads(SCHEMA.replace("OBJECTS", how))) for how in ("whole", "merged")
    )
    for forest in (whole, merged):
        with pytest.raises(UsageError, match="character 1: hospital never lies under disease"):
            ta.query(forest, "hospital = N1 under disease = Fa")
    with pytest.raises(UsageError, match=r"character 20: age stands in the record itself"):
        ta.query(whole, "disease = Fa under  age = 30".replace("  ", " "))
    with pytest.raises(UsageError, match="unknown class 'town'"):
        ta.query(whole, "town = x")
    with pytest.raises(UsageError, match="neither negated nor about missing"):
        ta.query(whole, "disease = missing under hospital = N1")
