"""Every search of trees keeps l-diversity and negative knowledge, by brute force and by the verifier."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

import treeanon as ta
from tests.algorithms.tree.test_strict import make_forest
from tests.reference import guarantee as slow
from tests.support.strategies import properties
from treeanon.algorithms.tree.registry import TREE_ALGORITHMS
from treeanon.errors import GuaranteeError
from treeanon.privacy.guarantee import Diversity, roles_of

WARD = """version = 1
[input]
format = "trees"
[[class]]
name = "hospital"
[[class]]
name = "disease"
under = "hospital"
[[class]]
name = "outcome"
under = "hospital"
role = "sensitive"
"""
DIVERSITIES: tuple[Diversity, ...] = ("frequency", "distinct")


def released(rnd: Random, name: str) -> bool:
    """Whether a search found a release of a random forest; if so, it holds."""
    roles = ["quasi", *rnd.choices(["quasi", "quasi", "keep"], k=rnd.randint(0, 2)), "sensitive"]
    rnd.shuffle(roles)
    forest = make_forest(rnd, roles)
    if rnd.random() < 0.7:
        forest = forest.take([number for number in range(len(forest)) for _ in range(3)])
    quasi = [f"c{i}" for i, role in enumerate(roles) if role == "quasi"]
    k, m, n = rnd.randint(1, 3), rnd.randint(1, 3), rnd.randint(0, 2)
    asked: dict[str, Any] = {"k": k, "m": m, "n": n, "attacker": rnd.choice(["independent", "joint"])}
    asked |= {"l": rnd.choice([1, 2, 2, 3]), "diversity": rnd.choice(DIVERSITIES)}
    asked |= {"negative": tuple(name for name in quasi if rnd.random() < 0.5)}
    published = rnd.random() < 0.5
    options = {"effort": 0.1} if name == "maximal" else {}
    try:
        release = ta.anonymize(forest, algorithm=name, as_published=published, **asked, **options)
    except GuaranteeError as problem:
        assert "report" not in str(problem)
        return False
    roles_there = roles_of(forest, release.solution.guarantee)
    known, sensitive = ([forest.classes.names[i] for i in some] for some in (roles_there.known, roles_there.sensitive))
    records = list(release.forest.records())
    assert slow.holds(
        records, k, m, n, known=known, sensitive=sensitive, **{key: asked[key] for key in list(asked)[3:]}
    )
    assert ta.verify(release.forest, as_published=published, **asked).holds
    return True


def _check(rnd: Random) -> None:
    released(rnd, rnd.choice(list(TREE_ALGORITHMS.built_in)))


test_releases_hold, test_releases_hold_thoroughly = properties(_check, few=60)


@pytest.mark.parametrize("name", list(TREE_ALGORITHMS.built_in))
def test_releases_are_found(name: str) -> None:
    assert sum(released(Random(seed), name) for seed in range(15)) > 3


def hospital(*ills: tuple[str, ...]) -> ta.Forest:
    """Persons of one hospital with these outcomes each, at one of three wards' worth of diseases."""
    records = [
        [["hospital", "H1", [["disease", f"D{number % 3}", []], *(["outcome", ill, []] for ill in held)]]]
        for number, held in enumerate(ills)
    ]
    return ta.Forest.from_records(ta.Schema.loads(WARD), records)


OTHERS = (("Flu", "Gout"), ("Flu", "Acne"), ("Gout", "Acne"), ("Cold", "Gout"))


@pytest.mark.parametrize("name", list(TREE_ALGORITHMS.built_in))
@pytest.mark.parametrize("diversity", DIVERSITIES)
def test_thirty_persons_with_hiv_are_not_diverse(name: str, diversity: Diversity) -> None:
    """Each has two other illnesses as well, so that many values occur: everybody has HIV all the same."""
    forest = hospital(*(("HIV", *OTHERS[number % 4]) for number in range(30)))
    with pytest.raises(GuaranteeError):
        ta.anonymize(forest, k=5, l=3, diversity=diversity, algorithm=name)


@pytest.mark.parametrize("name", list(TREE_ALGORITHMS.built_in))
def test_persons_with_one_disease_are_hidden_among_others(name: str) -> None:
    """All with D0 have HIV: a release that holds publishes something more general than D0."""
    forest = hospital(*(("HIV" if number % 3 == 0 else OTHERS[number % 4][0],) for number in range(36)))
    release = ta.anonymize(forest, k=3, l=2, algorithm=name)
    assert release.verdict.holds and (release.verdict.diversity[0].largest_l or 0) >= 2
    labels = {release.forest.classes.decode(label) for label in release.forest.label.tolist()}
    assert ("disease", "D0") not in labels and ("outcome", "HIV") in labels


def guest(*visits: tuple[str, tuple[str, ...]]) -> list[Any]:
    return [["hospital", name, [["disease", ill, []] for ill in ills]] for name, ills in visits]


@pytest.mark.parametrize("name", list(TREE_ALGORITHMS.built_in))
def test_what_is_not_below_a_label_is_hidden(name: str) -> None:
    """One person was at H1 and never had flu there; three others had."""
    odd = guest(("H1", ("Gastritis",)), ("H2", ("Flu",)))
    usual = guest(("H1", ("Gastritis", "Flu")), ("H2", ("Flu",)))
    forest = ta.Forest.from_records(ta.Schema.loads(WARD), [odd, usual, usual, usual])
    assert ta.verify(forest, k=3, negative="disease").largest_k == 1
    release = ta.anonymize(forest, k=3, l=1, negative="disease", algorithm=name)
    assert release.verdict.holds
    assert slow.holds(list(release.forest.records()), 3, 2, 1, negative=["disease"])
