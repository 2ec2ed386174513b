"""β-likeness and δ-disclosure privacy: counted by hand, against twins, at ties, in searches and in the check."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import treeanon as ta
from tests.reference import models as slow
from tests.support.profiles import few
from treeanon.errors import UsageError
from treeanon.hierarchy import Hierarchy
from treeanon.privacy.models import BetaLikeness, DeltaDisclosure, Model
from treeanon.table import Table
from treeanon.table.histograms import groups_of, merged
from treeanon.verifier.table import check

LETTERS = "wxyz"


def table_of(groups: list[str]) -> Table:
    """A table whose groups have these values, a letter a person."""
    names = [str(number) for number in range(len(groups))]
    quasi = [name for name, values in zip(names, groups, strict=True) for _ in values]
    columns = {"q": (quasi, Hierarchy.flat(names)), "s": (list("".join(groups)), Hierarchy.flat(LETTERS))}
    return Table.of_texts(columns, {"s": "sensitive"})


def holds(groups: list[str], model: Model) -> list[bool]:
    """What the model says of each group, and what the verifier says of all."""
    table = table_of(groups)
    numbers = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
    found: list[bool] = model.holds(groups_of(table, numbers)).tolist()
    (checked,) = check(table, [model])
    assert checked.groups == len(found) - sum(found), model.name
    return found


def test_by_hand() -> None:
    """Of ten persons one half has x, two have y, three have z; the first group has 2 of 4, 1 of 4, 1 of 4."""
    groups = ["xxyz", "xxxyzz"]
    # x: .5 / .5; y: .25 / .2 = 1.25; z: .25 / .3. In the second: x: 1, y: (1/6) / .2 = 5/6, z: (1/3) / .3 = 10/9.
    assert holds(groups, BetaLikeness(0.25, "basic")) == [True, True]
    assert holds(groups, BetaLikeness(0.24, "basic")) == [False, True]
    assert holds(groups, BetaLikeness(0.11, "basic")) == [False, False]
    # |log2| of the most extreme: 1.25 → .3219…; 5/6 → .2630….
    assert holds(groups, DeltaDisclosure(0.322)) == [True, True]
    assert holds(groups, DeltaDisclosure(0.321)) == [False, True]
    assert holds(groups, DeltaDisclosure(0.263)) == [False, False]


def test_enhanced_binds_frequent_values() -> None:
    """x is that of 8 of 10: no group can have more than 1.25 of that, so β = 1 says nothing; -ln .8 = .223 does."""
    groups = ["xxxx", "xxxxyz"]
    assert holds(groups, BetaLikeness(1, "basic")) == [True, True]
    assert holds(groups, BetaLikeness(1)) == [False, True]
    # Where all have one value, nothing is learnt: 1 is at most 1 - ln 1.
    assert holds(["xx", "xxx"], BetaLikeness(5)) == [True, True]


def test_ties_and_what_a_group_lacks() -> None:
    # Twice as frequent: exactly 2^1, which must be less.
    assert holds(["xxyy", "yyyyyyzz", "xxzz"], DeltaDisclosure(8))[0] is False
    assert holds(["xxy", "xyyyyy"], DeltaDisclosure(1)) == [False, False]
    assert holds(["xxy", "xyyyyy"], DeltaDisclosure(Fraction(1000001, 1000000))) == [True, True]
    assert holds(["xxy", "xyyyyy"], BetaLikeness(1, "basic")) == [True, True]


@few(30, 60)
@given(
    st.lists(st.text(LETTERS, min_size=1, max_size=6), min_size=1, max_size=4),
    st.fractions(Fraction(1, 8), 4, max_denominator=8),
)
def test_agrees_with_twins(groups: list[str], limit: Fraction) -> None:
    rows = [[(f"{number}.{at}", value) for at, value in enumerate(group)] for number, group in enumerate(groups)]
    own: Any = rows
    everybody = [row for group in own for row in group]
    assert holds(groups, BetaLikeness(limit, "basic")) == [
        slow.likeness(group, everybody, limit, enhanced=False) for group in own
    ]
    if len(set("".join(groups))) > 1:
        assert holds(groups, BetaLikeness(limit)) == [
            slow.likeness(group, everybody, limit, enhanced=True) for group in own
        ]
    found = holds(groups, DeltaDisclosure(limit))
    if limit.denominator > 1:
        assert found == [slow.disclosure(group, everybody, float(limit)) for group in own]
    for model in (BetaLikeness(limit, "basic"), BetaLikeness(limit), DeltaDisclosure(limit)):
        fine = groups_of(table_of(groups), np.repeat(np.arange(len(groups)), [len(group) for group in groups]))
        union = merged(fine, np.zeros(len(groups), np.int64))
        assert not model.holds(fine).all() or model.holds(union).all()


@pytest.mark.parametrize("algorithm", ["local", "mondrian", "optimal", "topdown"])
@pytest.mark.parametrize("model", ["beta-likeness:beta=0.8", "beta-likeness:beta=1,form=basic"])
def test_releases_hold(algorithm: str, model: str) -> None:
    random = np.random.default_rng(1)
    ages = [str(age) for age in random.integers(0, 40, 120)]
    tree = Hierarchy.from_paths([[str(age), f"{age // 10}x", "*"] for age in range(40)])
    ills = [LETTERS[ill] for ill in random.integers(0, 4, 120)]
    table = Table.of_texts({"age": (ages, tree), "ill": (ills, Hierarchy.flat(LETTERS))}, {"ill": "sensitive"})
    release = ta.anonymize(table, k=3, models=[model, "delta-disclosure-privacy:delta=3"], algorithm=algorithm)
    # By the definition, from the rows that are published.
    rows = list(release.table.rows())
    whole = {ill: sum(row[1] == ill for row in rows) / len(rows) for ill in LETTERS}
    limit = 1.0 if "basic" in model else 0.8
    for value in {row[0] for row in rows}:
        group = [row[1] for row in rows if row[0] == value]
        shares = {ill: group.count(ill) / len(group) for ill in LETTERS}
        assert all(shares[ill] <= whole[ill] * (1 + limit) + 1e-9 for ill in LETTERS)
        assert all(whole[ill] / 8 < shares[ill] < whole[ill] * 8 for ill in LETTERS)


@pytest.mark.parametrize(
    "text", ["beta-likeness:beta=0", "beta-likeness:beta=1,form=other", "delta-disclosure-privacy:delta=-1"]
)
def test_refused(text: str) -> None:
    with pytest.raises(UsageError):
        ta.verify(table_of(["xy"]), models=[text])
