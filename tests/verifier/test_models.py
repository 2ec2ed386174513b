"""Checks of whole tables: the papers' tables, several sensitive columns, who is counted, and what is refused."""

from __future__ import annotations

import json
from collections import defaultdict
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.paths import ROOT
from treeanon.errors import UsageError
from treeanon.hierarchy import Hierarchy
from treeanon.privacy.models import (
    AlphaKAnonymity,
    DistinctDiversity,
    EntropyDiversity,
    FrequencyDiversity,
    KAnonymity,
    Model,
    PSensitiveKAnonymity,
    RecursiveDiversity,
    TCloseness,
)
from treeanon.table import Groups, Table
from treeanon.table.covers import level_maps
from treeanon.verifier.table import Checked, check

VECTORS = json.loads((ROOT / "tests/vectors/tables.json").read_text())


def vector_table(name: str, roles: dict[str, str]) -> Table:
    vector = VECTORS[name]
    columns = {}
    for at, column in enumerate(vector["columns"]):
        texts = [row[at] for row in vector["rows"]]
        ups = vector.get("hierarchies", {}).get(column)
        tree = Hierarchy.from_paths([[text, *up] for text, up in ups.items()]) if ups else Hierarchy.flat(texts)
        columns[column] = (texts, tree)
    return Table.of_texts(columns, roles)


def test_figure_18() -> None:
    vector = VECTORS["figure_18_attribute_disclosure"]
    table = vector_table("figure_18_attribute_disclosure", {"Disease": "sensitive"})

    def failing(model: Model) -> tuple[int, int]:
        (found,) = check(table, [model])
        return found.groups, found.persons

    assert failing(KAnonymity(vector["k"])) == (0, 0)
    assert failing(KAnonymity(vector["k"] + 1)) == (3, 9)
    assert failing(DistinctDiversity(vector["distinct_l"])) == (0, 0)
    for l in (1, 2, 3):  # noqa: E741
        assert failing(DistinctDiversity(l))[0] == sum(n < l for n in vector["distinct_l_per_block"].values())
    shares = sorted(vector["alpha_for_HIV"].values())
    for alpha in [*shares, *(Fraction(a + b) / 2 for a, b in pairwise(map(Fraction, shares)))]:
        found = failing(AlphaKAnonymity(alpha, 3, column="Disease", value="HIV"))[0]
        assert found == sum(Fraction(share) > Fraction(alpha) for share in shares)
    holds = failing(AlphaKAnonymity(0.4, 3, column="Disease", value="HIV"))[0] == 0
    assert holds is vector["alpha_k_holds(0.4,3,HIV)"]


def test_patients_10() -> None:
    vector = VECTORS["patients_10"]
    table = vector_table("patients_10", {"Disease": "sensitive"})
    for levels, suppressed in vector["suppression_needed_k3"].items():
        codes = {
            column.name: level_maps(column.hierarchy)[level][column.codes]
            for column, level in zip(table.quasi, json.loads(levels), strict=True)
        }
        (found,) = check(table.with_codes(codes), [KAnonymity(3)])
        assert found.persons == suppressed


def slow_check(table: Table, kind: str, number: int, *, joined: bool = True) -> list[tuple[str | None, int, int]]:
    """KAnonymity or DistinctDiversity, by dictionaries of rows."""
    rows = list(table.rows())
    names = [column.name for column in table.columns]
    persons = range(len(rows)) if table.person is None else table.person.tolist()
    found = []
    for column in [None] if kind == "k" else table.sensitive:
        own = None if column is None else names.index(column.name)
        known = [names.index(c.name) for c in table.quasi]
        if column is not None and joined:
            known += [names.index(c.name) for c in table.sensitive if c is not column]
        groups = defaultdict(list)
        for person, row in zip(persons, rows, strict=True):
            groups[tuple(row[at] for at in known)].append((person, None if own is None else row[own]))
        failing = [
            group
            for group in groups.values()
            if (len({p for p, _ in group}) if own is None else len({v for _, v in group})) < number
        ]
        fail = {p for group in failing for p, _ in group}
        found.append((None if column is None else column.name, len(failing), len(fail)))
    return found


@given(
    st.lists(st.tuples(*[st.sampled_from([None, "a", "b"])] * 4, st.integers(0, 5)), max_size=10),
    st.integers(1, 2),
    st.booleans(),
    st.integers(1, 4),
)
def test_check_agrees_with_dictionaries(rows: list[Any], sensitive: int, several: bool, number: int) -> None:
    tree = Hierarchy.flat(["a", "b"])
    names = ["q1", "q2", "s1", "s2"]
    roles = {"s1": "sensitive", "s2": "sensitive" if sensitive == 2 else "keep"}
    table = Table.of_texts({name: ([row[at] for row in rows], tree) for at, name in enumerate(names)}, roles)
    if several:
        table = Table(table.columns, np.array([row[4] for row in rows], np.int32))
    models = (("k", False, KAnonymity(number)), ("l", False, DistinctDiversity(number)))
    for kind, joined, model in (*models, ("l", True, DistinctDiversity(number, joined=True))):
        found = check(table, [model])
        expected = slow_check(table, kind, number, joined=joined)
        assert [(one.column, one.groups, one.persons) for one in found] == expected
        assert [one.model for one in found] == [model.name] * len(found)


def test_other_sensitive_columns_are_known() -> None:
    """Each column alone is 2-diverse; but who knows the one knows the other."""
    letters, digits = Hierarchy.flat(["a", "b"]), Hierarchy.flat(["1", "2"])
    columns = {"q": (["a"] * 4, letters), "x": (["a", "a", "b", "b"], letters), "y": (["1", "1", "2", "2"], digits)}
    alone = Table.of_texts(columns, {"x": "sensitive", "y": "keep"})
    assert check(alone, [DistinctDiversity(2)]) == [Checked("distinct 2-diversity", "x", 0, 0)]
    both = Table.of_texts(columns, {"x": "sensitive", "y": "sensitive"})
    assert all(one.holds for one in check(both, [DistinctDiversity(2), PSensitiveKAnonymity(2, 4)]))
    asked = [DistinctDiversity(2, joined=True), DistinctDiversity(2, column="y", joined=True), KAnonymity(4)]
    found = check(both, asked)
    assert [(one.column, one.groups, one.persons) for one in found] == [
        ("x", 2, 4),
        ("y", 2, 4),
        ("y", 2, 4),
        (None, 0, 0),
    ]
    assert [one.sentence for one in found[1:]] == [
        "distinct 2-diversity (sensitive columns joined) of y does not hold: 2 groups with 4 persons.",
        "distinct 2-diversity (sensitive columns joined) of y does not hold: 2 groups with 4 persons.",
        "4-anonymity holds.",
    ]


def test_many_wide_columns_are_told_apart() -> None:
    """More combinations than 64 bits have."""
    values = Hierarchy.flat(map(str, range(10_000)))
    texts = [str(n) for n in range(500)] * 2
    table = Table.of_texts({f"q{i}": (texts[i:] + texts[:i], values) for i in range(8)})
    assert check(table, [KAnonymity(2), KAnonymity(3)]) == [
        Checked("2-anonymity", None, 0, 0),
        Checked("3-anonymity", None, 500, 1000),
    ]


def test_a_release_may_be_compared_with_what_it_came_from() -> None:
    letters = Hierarchy.flat(["a", "b"])
    original = Table.of_texts({"q": (["a"] * 4, letters), "s": (["a", "a", "a", "b"], letters)}, {"s": "sensitive"})
    release = original.take(np.array([0, 3]))
    assert check(release, [TCloseness(0)])[0].holds
    assert not check(release, [TCloseness(0.24)], reference=original)[0].holds
    assert check(release, [TCloseness(0.25)], reference=original)[0].holds
    other = Table.of_texts({"s": (["a"], Hierarchy.flat(["b", "a"]))}, {"s": "sensitive"})
    with pytest.raises(UsageError, match="another hierarchy"):
        check(release, [TCloseness(0.2)], reference=other)


def test_an_empty_table_fails_nothing() -> None:
    tree = Hierarchy.flat(["a"])
    table = Table.of_texts({"q": ([], tree), "s": ([], tree)}, {"s": "sensitive"})
    diverse = [DistinctDiversity(2), FrequencyDiversity(2), EntropyDiversity(2), RecursiveDiversity(2, 2)]
    close = [TCloseness(0), TCloseness(0, "ordered"), TCloseness(0, "hierarchical")]
    models = [KAnonymity(2), AlphaKAnonymity(0.5, 2), PSensitiveKAnonymity(2, 2), *diverse, *close]
    assert all(one.holds for one in check(table, models))


@pytest.mark.parametrize(
    "make",
    [
        lambda: KAnonymity(0),
        lambda: KAnonymity(True),
        lambda: KAnonymity(2.0),  # type: ignore[arg-type]
        lambda: DistinctDiversity(0),
        lambda: FrequencyDiversity(0.5),
        lambda: FrequencyDiversity(float("inf")),
        lambda: EntropyDiversity(float("nan")),
        lambda: EntropyDiversity("3"),  # type: ignore[arg-type]
        lambda: RecursiveDiversity(0, 2),
        lambda: RecursiveDiversity(2, 0),
        lambda: AlphaKAnonymity(1.1, 2),
        lambda: AlphaKAnonymity(0.5, 0),
        lambda: AlphaKAnonymity(0.5, 2, "HIV"),
        lambda: TCloseness(-0.1),
        lambda: TCloseness(0.1, "near"),  # type: ignore[arg-type]
        lambda: TCloseness(0.1, "ordered", "none"),  # type: ignore[arg-type]
        lambda: PSensitiveKAnonymity(3, 2),
        lambda: PSensitiveKAnonymity(0, 2),
    ],
)
def test_parameters_out_of_bounds_are_refused(make: Any) -> None:
    with pytest.raises(UsageError):
        make()


def test_columns_that_do_not_fit_are_refused() -> None:
    letters = Hierarchy.flat(["secret", "a"])
    plain = Table.of_texts({"q": (["a"], letters)})
    table = Table.of_texts({"q": (["a"], letters), "s": (["secret"], letters)}, {"s": "sensitive"})
    for asked, model, match in (
        (plain, DistinctDiversity(2), "role sensitive"),
        (table, DistinctDiversity(2, column="q"), "not sensitive"),
        (table, DistinctDiversity(2, column="z"), "choose from q, s"),
        (table, TCloseness(0.2, "ordered", "numbers"), "numbers"),
        (table, AlphaKAnonymity(0.5, column="s", value="hidden"), "does not know"),
    ):
        with pytest.raises(UsageError, match=match) as caught:
            check(asked, [model])
        assert "secret" not in str(caught.value) and "hidden" not in str(caught.value)
    with pytest.raises(UsageError, match="choose from none"):
        DistinctDiversity(2).holds(Groups(np.array([1])))
