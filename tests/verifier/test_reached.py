"""What a release reaches in each sensitive column: the largest l, p and the least α, t that the check lets pass."""

from __future__ import annotations

import json
from collections import defaultdict
from fractions import Fraction
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import treeanon as ta
from tests.reference import models as slow
from tests.support.paths import ROOT
from tests.support.profiles import few
from treeanon.cli.summaries import reached_lines
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
from treeanon.table import Table
from treeanon.verifier.reached import MEASURES
from treeanon.verifier.table import check, verify_table

TREE = Hierarchy.from_paths([["3", "low", "*"], ["1", "low", "*"], ["2", "2", "*"], ["5", "high", "*"]])
STEP = Fraction(1, 10**6)


def test_figure_18() -> None:
    """The table of the chapter on k-anonymity, Figure 18: each block's values are in the vector."""
    vector = json.loads((ROOT / "tests/vectors/tables.json").read_text())["figure_18_attribute_disclosure"]
    columns = {
        name: ([row[at] for row in vector["rows"]], Hierarchy.flat(row[at] for row in vector["rows"]))
        for at, name in enumerate(vector["columns"])
    }
    table = Table.of_texts(columns, {"Disease": "sensitive"})
    (found,) = ta.verify(table, k=2).reached
    assert found["distinct_l"].reached == found["p"].reached == vector["distinct_l"]
    assert found["distinct_l"].groups == sum(n == vector["distinct_l"] for n in vector["distinct_l_per_block"].values())


def models_of(name: str, reached: Any, step: Fraction, c: float | None) -> tuple[Model, Model | None]:
    """The model of what is told, which must hold, and of a step more, which must not."""
    up, down = Fraction(str(reached)) + step, Fraction(str(reached)) - step
    told = Fraction(str(reached))
    if name in ("distinct_l", "p"):
        return DistinctDiversity(reached), DistinctDiversity(reached + 1)
    if name == "frequency_l":
        return FrequencyDiversity(told), FrequencyDiversity(up)
    if name == "entropy_l":
        return EntropyDiversity(told), EntropyDiversity(up)
    if name == "recursive_l":
        assert c is not None
        return (RecursiveDiversity(c, reached) if reached else KAnonymity(1)), RecursiveDiversity(c, reached + 1)
    if name == "alpha":
        return AlphaKAnonymity(told), (AlphaKAnonymity(down) if down >= 0 else None)
    distance: Any = name.removeprefix("t_")
    return TCloseness(told, distance), (TCloseness(down, distance) if down >= 0 else None)


@few(20, 40)
@given(
    st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from([None, "1", "2", "3", "5"])), min_size=1, max_size=12),
    st.sampled_from([1, 2, 3.5]),
)
def test_what_is_told_holds_and_no_step_more(rows: list[tuple[str, str | None]], c: float) -> None:
    columns = {"q": ([q for q, _ in rows], Hierarchy.flat("ab")), "s": ([s for _, s in rows], TREE)}
    table = Table.of_texts(columns, {"s": "sensitive"})
    verdict = verify_table(table, [KAnonymity(1), RecursiveDiversity(c, 1)], measured=True)
    (found,) = verdict.reached
    assert tuple(one.name for one in found.measures) == MEASURES
    groups = defaultdict(list)
    for person, (q, s) in enumerate(rows):
        groups[q].append((person, None if s is None else TREE.code(s)))
    for one in found.measures:
        holds, fails = models_of(one.name, one.reached, STEP, one.c)
        assert check(table, [holds])[0].holds, one
        if fails is not None:
            (failing,) = check(table, [fails])
            assert failing.groups >= 1, one
    # Where: by the definition itself, in fractions.
    shares = {q: max(slow.counts(group).values()) / Fraction(slow.size(group)) for q, group in groups.items()}
    worst = [q for q, share in shares.items() if share == max(shares.values())]
    assert found["alpha"].groups == found["frequency_l"].groups == len(worst)
    assert found["alpha"].persons == min(len(groups[q]) for q in worst)
    few = {q: len(slow.counts(group)) for q, group in groups.items()}
    assert found["p"].reached == min(few.values())
    assert found["p"].persons == min(len(groups[q]) for q in groups if few[q] == min(few.values()))


def test_p_holds_with_the_largest_k() -> None:
    columns = {"q": ("aabbb", Hierarchy.flat("ab")), "s": ("12123", Hierarchy.flat("123"))}
    table = Table.of_texts(columns, {"s": "sensitive"})
    verdict = ta.verify(table, k=2)
    (found,) = verdict.reached
    assert verdict.largest_k is not None
    assert check(table, [PSensitiveKAnonymity(int(found["p"].reached), verdict.largest_k)])[0].holds
    assert found.as_dict()["alpha"] == {"reached": 0.5, "groups": 1, "persons": 2}


def test_columns_of_sets_have_shares_alone() -> None:
    sets = ['["Flu"]', '["Flu","HIV"]']
    columns = {"q": ("aab", Hierarchy.flat("ab")), "ill": ([sets[0], sets[1], sets[0]], Hierarchy.flat(sets))}
    (found,) = ta.verify(Table.of_texts(columns, {"ill": "sensitive"}), k=1).reached
    assert {one.name: one.reached for one in found.measures} == {"frequency_l": 1, "alpha": 1}


def test_permuted_releases_are_measured_too() -> None:
    ages = Hierarchy.flat(map(str, range(6)))
    columns = {"age": ([str(i) for i in range(6)], ages), "ill": ("xyxyxz", Hierarchy.flat("xyz"))}
    table = Table.of_texts(columns, {"ill": "sensitive"})
    release = ta.anonymize(table, k=2, l=2, publish="permuted")
    (found,) = ta.verify(release.made, l=2).reached
    assert found["distinct_l"].reached == 2


def test_nothing_is_measured_of_no_rows_and_where_nobody_asks() -> None:
    table = Table.of_texts({"q": ("a", Hierarchy.flat("a")), "s": ("x", Hierarchy.flat("x"))}, {"s": "sensitive"})
    assert ta.verify(table.take(np.array([], np.int64)), k=1).reached[0].measures == ()
    assert verify_table(table, [KAnonymity(1)]).reached == ()


def test_lines_never_round_to_what_does_not_hold() -> None:
    columns = {"q": ("aaaaa", Hierarchy.flat("a")), "s": ("xxxyz", Hierarchy.flat("xyz"))}
    verdict = ta.verify(Table.of_texts(columns, {"s": "sensitive"}), k=5)
    lines = [line.split() for line in reached_lines(verdict)]
    assert ["s", "frequency", "l", "1.666666", "5", "persons"] in lines
    assert ["s", "t", "(ordered", "distance,", "by", "rows", "of", "the", "hierarchy)", "0", "5", "persons"] in lines
    assert verdict.as_dict()["reached"][0]["alpha"] == {"reached": 0.6, "groups": 1, "persons": 5}
