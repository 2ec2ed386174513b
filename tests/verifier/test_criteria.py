"""The check of tables counts and compares with code of its own: what it says is what the searches' code says."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from fractions import Fraction
from random import Random

import numpy as np
import pytest

import treeanon as ta
from tests.support.strategies import properties
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
from treeanon.privacy.models.model import Group
from treeanon.table import Table
from treeanon.table.histograms import groups_of
from treeanon.verifier import criteria
from treeanon.verifier.criteria import failing
from treeanon.verifier.groups import CountedGroups, count_groups, group_rows
from treeanon.verifier.table import verify_table

TREES = [
    Hierarchy.flat(["1", "10", "9", "1.0", "1e1"]),
    Hierarchy.from_paths([["3", "low", "*"], ["1", "low", "*"], ["2", "2", "*"], ["5", "high", "*"]]),
    Hierarchy.from_parents({"b": "a", "c": "b", "d": "c", "e": "c", "f": "b", "g": "a", "h": "g"}),
    Hierarchy.flat([], root="0"),
]


def random_table(rnd: Random, tree: Hierarchy) -> Table:
    """Rows of a quasi and a sensitive column, which may be inner nodes or missing; a person may have several."""
    rows, letters = rnd.choice([1, 2, 5, 12, 40]), Hierarchy.flat("abcdef")
    quasi = [rnd.choice([None, *"abcdef"]) for _ in range(rows)]
    often = rnd.choices([None, *tree.texts], k=rnd.randint(1, 4))
    values = [rnd.choice(often) if rnd.random() < 0.7 else rnd.choice([None, *tree.texts]) for _ in range(rows)]
    table = Table.of_texts({"q": (quasi, letters), "s": (values, tree)}, {"s": "sensitive"})
    if rnd.random() < 0.3:
        table = Table(table.columns, np.array([rnd.randrange(rows) for _ in range(rows)], np.int32))
    return table


def random_model(rnd: Random, tree: Hierarchy) -> Model:
    k, share = rnd.randint(1, 5), Fraction(rnd.randint(0, 12), rnd.randint(12, 13))
    over = Fraction(rnd.randint(4, 16), 4)
    return rnd.choice(
        [
            KAnonymity(k),
            DistinctDiversity(k),
            PSensitiveKAnonymity(rnd.randint(1, k), k),
            FrequencyDiversity(over),
            EntropyDiversity(over),
            RecursiveDiversity(over / 3, rnd.randint(1, 3)),
            AlphaKAnonymity(share, k),
            AlphaKAnonymity(float(share), k, rnd.choice(tree.texts), column="s"),
            *(TCloseness(share / rnd.choice([1, 2, 4]), distance) for distance in ("equal", "hierarchical")),
            TCloseness(share / rnd.choice([1, 2, 4]), "ordered", rnd.choice(["auto", "leaves"])),
        ]
    )


def agrees_with_the_searches(rnd: Random) -> None:
    rnd = Random(rnd.getrandbits(32))
    tree = rnd.choice(TREES)
    table = random_table(rnd, tree)
    numbers = group_rows(table.quasi, len(table))
    keys = list(zip(*(column.texts() for column in table.quasi), strict=True))
    assert (len(set(keys)), len(set(zip(keys, numbers.tolist(), strict=True)))) == (numbers.max() + 1,) * 2
    own = count_groups(table, numbers, table.column("s"))
    theirs = groups_of(table, numbers, [table.column("s")])
    assert own.persons.tolist() == theirs.sizes.tolist()
    for _ in range(6):
        model = random_model(rnd, tree)
        wanted = (~model.holds(theirs)).tolist()
        assert failing(own, model).tolist() == wanted, model.name
        with pytest.MonkeyPatch.context() as patch:
            # The same in whole numbers of Python, and by the digits of logarithms.
            patch.setattr(criteria, "_SAFE", 0)
            patch.setattr(criteria, "_POWERS", 0)
            assert failing(own, model).tolist() == wanted, model.name


test_agrees_with_the_searches, test_agrees_thoroughly = properties(agrees_with_the_searches, 75, 4000)


def test_distances_at_the_limit_are_decided_exactly() -> None:
    """In groups whose distance is known as a fraction, t holds from that on and not below."""
    tree = TREES[1]
    table = Table.of_texts({"q": ("aaab", Hierarchy.flat("ab")), "s": (["3", "3", "1", "5"], tree)}, {"s": "sensitive"})
    groups = count_groups(table, group_rows(table.quasi, 4), table.column("s"))
    # Of a: 2/3 and 1/3 against 1/2, 1/4 and 1/4 of all; of b: all of one value that a quarter has.
    for distance in ("equal", "hierarchical"):
        for at, limit in enumerate((Fraction(1, 4), Fraction(3, 4))):
            assert not failing(groups, TCloseness(limit, distance))[at]  # type: ignore[arg-type]
            assert failing(groups, TCloseness(limit - Fraction(1, 10**9), distance))[at]  # type: ignore[arg-type]


def test_a_tampered_release_fails() -> None:
    """One person moved to another group, or one value changed, and no row of a release is trusted any more."""
    ages = Hierarchy.from_paths([[str(age), f"{age // 10}0s", "*"] for age in range(20, 60)])
    rnd = Random(3)
    ills = ["flu", "gout", "acne", "mumps"]
    table = Table.of_texts(
        {
            "age": ([str(rnd.randrange(20, 60)) for _ in range(200)], ages),
            "ill": ([rnd.choice(ills) for _ in range(200)], Hierarchy.flat(ills)),
        },
        {"ill": "sensitive"},
    )
    release = ta.anonymize(table, k=5, l=2, diversity="frequency", seed=1)
    models = release.models
    assert verify_table(release.table, models).holds
    age, ill = release.table.columns
    alone = age.codes.copy()
    alone[0] = next(code for code in range(len(ages)) if code not in set(alone.tolist()))
    assert not verify_table(release.table.with_codes({"age": alone}), models).holds
    same = ill.codes.copy()
    same[age.codes == age.codes[0]] = ill.codes[0]
    assert not verify_table(release.table.with_codes({"ill": same}), models).holds
    left = release.table.take(np.flatnonzero(age.codes != age.codes[0]))
    few = release.table.take(np.append(np.flatnonzero(age.codes != age.codes[0]), 0))
    assert verify_table(left, models).holds and not verify_table(few, models).holds


@dataclass(frozen=True)
class Majority:
    """A model of another package: no value is that of more than half of a group."""

    name = "no majority"
    is_monotone = True
    holds_when_grown = False
    sensitive = ("s",)

    def check(self, group: Group) -> bool:
        return max(group.values.values()) * 2 <= group.persons


def test_a_model_of_others_checks_each_group_itself() -> None:
    table = random_table(Random(7), TREES[0])
    found = verify_table(table, [Majority()]).checked[0]  # type: ignore[list-item]
    groups = defaultdict(list)
    for quasi, value in table.rows():
        groups[quasi].append(value)
    failing_groups = [one for one in groups.values() if max(map(one.count, one)) * 2 > len(one)]
    assert (found.groups, found.persons) == (len(failing_groups), sum(map(len, failing_groups)))
    assert list(CountedGroups(np.array([2])).each()) == [Group(2)]


def test_a_model_that_nobody_can_check_is_refused() -> None:
    class Unchecked:
        name = "unchecked"

    with pytest.raises(UsageError, match="no method check"):
        failing(CountedGroups(np.array([2])), Unchecked())  # type: ignore[arg-type]
