"""Risks of trees against brute force over all sets of labels and relations, and what must hold of any."""

from __future__ import annotations

from random import Random

import pytest

import treeanon as ta
from tests.reference import guarantee as slow_guarantee
from tests.reference.risks import dangerous, singled_out
from tests.reference.trees import with_traces
from tests.support.risk_worlds import hospital
from tests.support.search_strategies import random_forest as small_forest
from tests.support.strategies import parents_of_classes, properties
from tests.verifier.test_tree import KNOWN, random_forest
from treeanon.errors import UsageError
from treeanon.privacy import Guarantee
from treeanon.reports.text import risk_text
from treeanon.risks import Risk, trees
from treeanon.risks.trees import one_more, risk_of_trees

SCHEMA = 'version = 1\n[input]\nformat = "trees"\n[[class]]\nname = "disease"\n'


def persons_by_cell(risk: Risk) -> dict[tuple[int, int], tuple[int, int]]:
    return {
        (m, n): (risk.below_k[m - 1][n].persons, risk.unique[m - 1][n].persons)
        for m in range(1, risk.m + 1)
        for n in range(risk.n + 1)
    }


def crowded_forest(rnd: Random) -> ta.Forest:
    """Persons with many of a few labels, so that it takes several to single one out."""
    values = [["disease", f"d{i}", []] for i in range(rnd.randint(4, 8))]
    records = [rnd.sample(values, rnd.randint(3, len(values))) for _ in range(rnd.randint(6, 14))]
    return ta.Forest.from_records(ta.Schema.loads(SCHEMA), records)


def related_forest(rnd: Random) -> ta.Forest:
    """Persons who have much the same labels, so that it is relations between them that single one out."""
    lines = ['[[class]]\nname = "a"', '[[class]]\nname = "b"\nunder = "a"', '[[class]]\nname = "c"\nunder = "b"']
    schema = ta.Schema.loads('version = 1\n[input]\nformat = "trees"\n' + "\n".join([*lines, '[[class]]\nname = "x"']))
    records = []
    for _ in range(rnd.randint(6, 16)):
        c = ["c", "c0", []]
        b = ["b", "b0", [c] if rnd.random() < 0.6 else []]
        a = ["a", "a0", [b] if rnd.random() < 0.6 else []]
        others = [["x", f"x{i}", []] for i in range(2) if rnd.random() < 0.8]
        loose = [node for node in (b, c) if rnd.random() < 0.5]
        records.append([a, *loose, *others])
    return ta.Forest.from_records(schema, records)


def check_by_brute_force(rnd: Random) -> None:
    if rnd.random() < 0.2:
        forest, known = crowded_forest(rnd), ["disease"]
    elif rnd.random() < 0.3:
        forest, known = related_forest(rnd), ["a", "b", "c", "x"]
    elif rnd.random() < 0.5:
        forest, known = random_forest(rnd), list(KNOWN)
    else:
        forest, classes = small_forest(rnd)
        known = sorted(classes)
    k, m, n = rnd.randint(2, 6), rnd.randint(1, 4), rnd.randint(0, 6)
    records = with_traces(forest.records(), parents_of_classes(forest))
    with pytest.MonkeyPatch.context() as patched:
        # From so many holders on, sets are first looked for in a part of them.
        patched.setattr(trees, "_LARGE", rnd.choice([1, 4096]))
        risk = risk_of_trees(forest, k=k, m=m, n=n, seconds=None, jobs=1)
        beyond = one_more(forest, Guarantee(k, m - 1, n)) if m > 1 else None
    found = slow_guarantee.groups(records, m, n, known=known)
    assert persons_by_cell(risk) == {
        (i, j): (len(singled_out(found, k, i, j)), len(singled_out(found, 2, i, j)))
        for i in range(1, m + 1)
        for j in range(n + 1)
    }
    if beyond is not None:
        assert (beyond.share.persons, beyond.share.of) == (len(singled_out(found, k, m, n)), len(records))
    assert (risk.decided, risk.persons, risk.exactness) == (len(records), len(records), "exact")
    assert {share.of for row in risk.below_k for share in row} == {len(records)}
    order = ["*", *forest.classes.names]
    slow = dangerous(records, k, m, n, known, order)
    told = {(one.classes, one.relations): one.persons for one in risk.combinations}
    assert told == dict(slow.most_common(len(told))) or len(slow) > 100


test_risks_are_those_of_brute_force, test_risks_are_those_of_brute_force_often = properties(check_by_brute_force, 150)


def check_release(rnd: Random) -> None:
    """A release that keeps k^(m,n)-anonymity singles nobody out in its cell, and one that does not, somebody."""
    forest = random_forest(rnd)
    k, m, n = rnd.randint(2, 3), rnd.randint(1, 3), rnd.randint(0, 3)
    holds = ta.verify(forest, k=k, m=m, n=n, patterns=False).holds
    risk = risk_of_trees(forest, k=k, m=m, n=n, seconds=None, jobs=1)
    assert holds == (risk.at(m, n).persons == 0)


test_risk_agrees_with_the_check, test_risk_agrees_with_the_check_often = properties(check_release, 75)


def test_a_release_singles_nobody_out_in_its_cell() -> None:
    forest = hospital(120)
    before = risk_of_trees(forest, k=4, m=3, n=2)
    release = ta.anonymize(forest, k=4, m=2, n=1)
    after = risk_of_trees(release.forest, k=4, m=3, n=2)
    assert before.at(2, 1).persons > 0
    assert after.at(2, 1).persons == after.at(1, 0).persons == 0
    assert all(c.persons > 0 for c in after.combinations if len(c.classes) <= 2 and len(c.relations) > 1)
    assert not [c for c in after.combinations if len(c.classes) <= 2 and len(c.relations) <= 1]


def test_persons_that_traces_point_to_are_those_with_too_few_candidates() -> None:
    forest = hospital(120)
    release = ta.anonymize(forest, k=4, m=2, n=1, as_published=True)
    pointed = release.counts["pointed_to"]
    assert pointed["persons"] > 0 and pointed["of"] == 120
    assert release.verdict.original_k < 4 <= release.verdict.published_k
    assert "pointed_to" not in ta.anonymize(forest, k=4, m=2, n=1).counts


def test_more_knowledge_never_singles_out_fewer_also_in_a_sample() -> None:
    risk = risk_of_trees(hospital(300), k=5, m=4, n=3, sample=80, seed=1)
    assert (risk.exactness, risk.decided, risk.persons) == ("sampled", 80, 300)
    for shares in (risk.below_k, risk.unique):
        for m in range(4):
            for n in range(4):
                share = shares[m][n]
                assert share.low <= share.share <= share.high
                assert m == 0 or shares[m - 1][n].persons <= share.persons
                assert n == 0 or shares[m][n - 1].persons <= share.persons


def test_a_sample_is_of_all_persons_and_compared_with_all_records() -> None:
    forest = hospital(300)
    whole = risk_of_trees(forest, k=5, m=2, n=1)
    samples = [risk_of_trees(forest, k=5, m=2, n=1, sample=100, seed=seed) for seed in range(60)]
    for m in (1, 2):
        true = whole.at(m, 1).share
        shares = [sample.at(m, 1).share for sample in samples]
        assert abs(sum(shares) / 60 - true) < 0.03
        assert sum(s.at(m, 1).low <= true <= s.at(m, 1).high for s in samples) >= 54


def test_the_time_given_decides_how_many_are_looked_at() -> None:
    risk = risk_of_trees(hospital(2000), k=5, seconds=1e-6, jobs=1)
    assert (risk.exactness, risk.decided) == ("sampled", 100)
    assert risk_of_trees(hospital(50), k=5, seconds=1e-6).exactness == "exact"


def test_a_seed_repeats_a_sample() -> None:
    forest = hospital(300)
    one, same = (risk_of_trees(forest, k=5, sample=40, seed=7) for _ in range(2))
    assert (one.below_k, one.combinations) == (same.below_k, same.combinations)


def test_who_is_alike_hides_each_other_and_counts_once_each() -> None:
    schema = ta.Schema.loads(SCHEMA)
    flu, acne, gout = (["disease", name, []] for name in ("flu", "acne", "gout"))
    forest = ta.Forest.from_records(schema, [[flu]] * 5 + [[acne, gout]] * 4 + [[]])
    risk = risk_of_trees(forest, k=5, m=1, n=0)
    assert (risk.at(1).persons, risk.at(1).of, risk.unique[0][0].persons) == (4, 10, 0)
    # A sample counts each person, though those alike are decided once.
    assert sum(risk_of_trees(forest, k=5, m=1, n=0, sample=9, seed=s).decided for s in range(3)) == 27


def test_persons_with_too_many_labels_widen_the_bounds() -> None:
    schema = ta.Schema.loads(SCHEMA)
    everything = [["disease", f"d{i}", []] for i in range(110)]
    # Each lacks four values that nobody else lacks: any three of a person are had by others, if not all four.
    records = [everything[: 4 * i] + everything[4 * i + 4 :] for i in range(12)]
    forest = ta.Forest.from_records(schema, records)
    risk = risk_of_trees(forest, k=5, m=4, n=0, seconds=None, jobs=1)
    assert risk.at(3).as_dict() | {} == {"persons": 0, "of": 12, "share": 0.0, "low": 0.0, "high": 0.0}
    assert (risk.at(4).persons, risk.at(4).low, risk.at(4).high) == (0, 0.0, 1.0)


def test_nobody_and_persons_without_labels() -> None:
    schema = ta.Schema.loads(SCHEMA)
    nobody = risk_of_trees(ta.Forest.from_records(schema, []))
    assert (nobody.decided, nobody.at(4, 3).share, nobody.combinations) == (0, 0.0, ())
    empty = risk_of_trees(ta.Forest.from_records(schema, [[], []]))
    assert (empty.decided, empty.at(4, 3).persons) == (2, 0)


@pytest.mark.parametrize("wrong", [{"k": 1}, {"m": 0}, {"m": 5}, {"n": -1}, {"n": 7}, {"seconds": 0}, {"sample": 0}])
def test_what_cannot_be_asked(wrong: dict[str, int]) -> None:
    with pytest.raises(UsageError):
        risk_of_trees(hospital(5), **wrong)  # type: ignore[arg-type]


def check_largest_l(rnd: Random) -> None:
    forest = random_forest(rnd)
    risk = risk_of_trees(forest, k=2, m=3, n=2, jobs=1)
    assert set(risk.largest_l) == {"s", "t"}
    records = list(forest.records())
    for name, largest in risk.largest_l.items():
        given = {"sensitive": [name], "diversity": "frequency", "known": KNOWN}
        holding = [least for least in range(1, 30) if slow_guarantee.holds(records, 1, 2, 1, l=least, **given)]
        assert holding[-1] == (largest or 29)


test_largest_l, test_largest_l_many = properties(check_largest_l, 15, 500)


def test_the_largest_l_counts_persons() -> None:
    """Thirty persons of one hospital have HIV and two other illnesses each: five values, and everybody has one."""
    schema = SCHEMA + '[[class]]\nname = "outcome"\nrole = "sensitive"\n'
    others = [("Flu", "Gout"), ("Flu", "Acne"), ("Gout", "Acne"), ("Cold", "Gout")]
    records = [
        [["disease", "D", []], *(["outcome", ill, []] for ill in ("HIV", *others[number % 4]))] for number in range(30)
    ]
    risk = ta.risk(ta.Forest.from_records(ta.Schema.loads(schema), records), k=2, m=2, n=1)
    assert risk.largest_l == {"outcome": 1} and risk.as_dict()["largest_l"] == {"outcome": 1}
    assert "outcome                1" in risk_text(risk)
