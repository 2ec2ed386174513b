"""The independent check against brute force, and the traps of SPEC §1."""

from __future__ import annotations

import json
from collections import Counter
from random import Random
from typing import Any

import numpy as np
import pytest

import treeanon as ta
from tests.reference import guarantee as slow
from tests.reference.trees import Tree, with_traces
from tests.support.paths import ROOT
from tests.support.strategies import make_case, make_cut, make_pairs, make_records, properties
from treeanon.errors import DataError, UsageError
from treeanon.forest import Forest
from treeanon.privacy import Guarantee
from treeanon.privacy.guarantee import Diversity
from treeanon.verifier.tree import verify

VECTORS: dict[str, Any] = json.loads((ROOT / "tests/vectors/trees.json").read_text())

UNDER = {"a": None, "b": "a", "c": "b", "d": "a", "e": None, "kept": "b", "s": "a", "t": None}
ROLES = {"kept": "keep", "s": "sensitive", "t": "sensitive"}
KNOWN = ["a", "b", "c", "d", "e"]


def schema_of(under: dict[str, str | None], roles: dict[str, str] | None = None) -> ta.Schema:
    lines = ["version = 1", "[input]", 'format = "trees"']
    for name, above in under.items():
        role = (roles or {}).get(name, "quasi")
        lines += ["[[class]]", f'name = "{name}"', f'under = "{above or "/"}"', f'role = "{role}"']
        if role == "quasi":
            # Inner values too: x1 and x2 lie under x.
            lines.append("hierarchy = { prefix = [1] }")
    return ta.Schema.loads("\n".join(lines))


SCHEMA = schema_of(UNDER, ROLES)


def random_record(rnd: Random, values: int, above: str | None = None, depth: int = 0) -> Tree:
    """A record over the class tree, levels of which may be skipped, with labels at several nodes."""

    def lies_below(name: str) -> bool:
        at = UNDER[name]
        while at is not None and at != above:
            at = UNDER[at]
        return at == above

    below = [name for name in UNDER if above is None or lies_below(name)]
    out: Tree = []
    for _ in range(rnd.choice([0, 1, 2, 2, 3] if depth == 0 else [0, 1, 1, 2]) if below else 0):
        name = rnd.choice(below)
        value = f"{name}{rnd.randrange(values)}" if rnd.random() < 0.9 or name in ROLES else f"{name}…"
        out.append([name, value, random_record(rnd, values, name, depth + 1)])
    return out


def random_forest(rnd: Random) -> Forest:
    values = rnd.choice([1, 2, 3])
    records = [random_record(rnd, values) for _ in range(rnd.randint(0, 8))]
    records = [record for record in records for _ in range(rnd.choice([1, 1, 2, 3]))]
    forest = Forest.from_records(SCHEMA, [*records, [["e", "e0", []]], [["e", "e11", []]]][: len(records)])
    if rnd.random() < 0.3:
        forest = forest.project(make_cut(rnd, forest))
    if rnd.random() < 0.3:
        forest = forest.disassociate(make_pairs(rnd, list(forest.records())))
    return forest.project("*") if rnd.random() < 0.03 else forest


def failing(records: list[Tree], asked: Guarantee, given: dict[str, Any]) -> dict[Any, tuple[int, int]]:
    """What fails by pattern: classes, class relations, sensitive class -> how many, least persons; by brute force."""
    least: dict[Any, int] = {}
    for found in slow.violations(records, asked.k, asked.m, asked.n, **given):
        key = (found.labels, found.relations, "")
        least[key] = min(found.support, least.get(key, found.support))
    if asked.l > 1:
        more: dict[str, Any] = {"l": asked.l, "sensitive": ["s", "t"], "diversity": asked.diversity, **given}
        for group in slow.not_diverse(records, asked.m, asked.n, **more):
            key = (group.labels, group.relations, group.sensitive)
            least[key] = min(group.persons, least.get(key, group.persons))
    by_pattern: dict[Any, list[int]] = {}
    for (labels, relations, sensitive), persons in least.items():
        names = sorted(name.replace("-", "not ") for name, _ in labels)
        pairs = sorted((upper[0], lower[0].replace("-", "not ")) for upper, lower in relations)
        by_pattern.setdefault((tuple(names), tuple(pairs), sensitive), []).append(persons)
    return {pattern: (len(persons), min(persons)) for pattern, persons in by_pattern.items()}


def check_against_brute_force(rnd: Random) -> None:
    forest = random_forest(rnd)
    asked = Guarantee(
        rnd.randint(2, 5),
        rnd.randint(1, 4),
        rnd.randint(0, 3),
        rnd.choice(["independent", "joint"]),
        rnd.choice([1, 1, 2, 3]),
        rnd.choice(["distinct", "frequency"]),
        rnd.choice([(), (), ("b",), ("a", "c")]),
        rnd.choice([False, True]),
    )
    given: dict[str, Any] = {"attacker": asked.attacker, "known": KNOWN, "negative": asked.negative}
    given["under"] = UNDER
    published = list(forest.records())
    traced = with_traces(published, UNDER)
    with pytest.MonkeyPatch.context() as patched:
        if rnd.random() < 0.5:
            # As if there were too many labels for a table of their pairs.
            patched.setattr("treeanon.verifier.tree_knowledge._MOST_CELLS", 0)
        verdict = verify(forest, asked, jobs=rnd.choice([1, 2]))
    assert verdict.published_k == slow.largest_k(published, asked.m, asked.n, **given)
    assert verdict.original_k == slow.largest_k(traced, asked.m, asked.n, **given)
    records = published if asked.as_published else traced
    assert verdict.largest_k == (verdict.published_k if asked.as_published else verdict.original_k)
    expected = failing(records, asked, given)
    assert verdict.holds == (not expected) == bool(verdict)
    found = {(tuple(sorted(f.labels)), f.relations, f.sensitive): (f.combinations, f.least) for f in verdict.failures}
    assert found == expected
    sensitive = ["s", "t"] if asked.l > 1 else []
    assert verdict.holds == slow.holds(
        records, asked.k, asked.m, asked.n, sensitive=sensitive, l=asked.l, diversity=asked.diversity, **given
    )
    short = verify(forest, asked, patterns=False)
    assert (short.holds, short.largest_k, short.failures) == (verdict.holds, verdict.largest_k, ())


test_verdicts_are_those_of_brute_force, test_verdicts_are_those_of_brute_force_many = properties(
    check_against_brute_force, 150, 6000
)


def check_largest_l(rnd: Random) -> None:
    """The largest l is told exactly."""
    forest = random_forest(rnd)
    asked = Guarantee(
        1,
        rnd.randint(1, 3),
        rnd.randint(0, 2),
        rnd.choice(["independent", "joint"]),
        2,
        rnd.choice(["distinct", "frequency"]),
    )
    records = with_traces(forest.records(), UNDER)
    for result in verify(forest, asked).diversity:
        given: dict[str, Any] = {"sensitive": [result.sensitive], "diversity": asked.diversity, "known": KNOWN}
        holding = [
            least
            for least in range(1, 30)
            if slow.holds(records, 1, asked.m, asked.n, l=least, attacker=asked.attacker, **given)
        ]
        assert holding[-1] == (result.largest_l or 29)
        assert result.holds == (2 in holding)


test_largest_l, test_largest_l_many = properties(check_largest_l, 30, 1000)


def check_random_schemas(rnd: Random) -> None:
    """Random class trees and hierarchies, values of any kind."""
    case = make_case(rnd, "json")
    schema = case.schema.for_format("trees")
    forest = Forest.from_records(schema, make_records(rnd, case))
    records = list(forest.records())
    known = {field.name for field in case.published if field.role == "quasi"}
    m, n = rnd.randint(1, 3), rnd.randint(0, 2)
    attacker = rnd.choice(["independent", "joint"])
    verdict = verify(forest, Guarantee(2, m, n, attacker), jobs=1)
    assert verdict.largest_k == slow.largest_k(records, m, n, attacker=attacker, known=known)
    assert verdict.holds == slow.holds(records, 2, m, n, attacker=attacker, known=known)


test_random_schemas, test_random_schemas_many = properties(check_random_schemas, 40, 1000)


def check_large_sets(rnd: Random) -> None:
    """Sets of more labels than are counted at once, as few as persons have, and relations in several words."""
    values = rnd.choice([2, 60])
    records: list[Tree] = []
    for _ in range(rnd.randint(1, 3)):
        tops = [[f"{'abe'[i % 2]}", f"v{i}", []] for i in range(rnd.randint(0, values + 10))]
        if values == 60:
            tops = [["a", "root", [["b", f"v{i}", []] for i in rnd.sample(range(90), 70)]]]
        else:
            tops = random_record(rnd, 2) + random_record(rnd, 2)
        records += [tops] * rnd.randint(1, 3)
    forest = Forest.from_records(SCHEMA, records)
    m, n = (2, 1) if values == 60 else (rnd.randint(5, 8), rnd.randint(0, 3))
    plain = list(forest.records())
    if any(slow.count_labels(record) > 11 for record in plain) and values != 60:
        return
    attacker = rnd.choice(["independent", "joint"])
    verdict = verify(forest, k=1, m=m, n=n, attacker=attacker)
    assert verdict.largest_k == slow.largest_k(plain, m, n, attacker=attacker, known=KNOWN)


test_large_sets, test_large_sets_many = properties(check_large_sets, 25, 500)


# --- worked examples -------------------------------------------------------------------------------------------------

HOSPITAL = schema_of({"hospital": None, "disease": "hospital", "treatment": "disease"})


def as_violation(found: dict[str, Any]) -> slow.Violation:
    labels = frozenset((name, value) for name, value in found["labels"])
    pairs = frozenset(((a[0], a[1]), (d[0], d[1])) for a, d in found["relations"])
    return slow.Violation(labels, pairs, found["support"])


@pytest.mark.parametrize("name", list(VECTORS["database_figure_10"]["violations"]))
def test_figure_10(name: str) -> None:
    """The vectors list what is minimal: no part of it fails."""
    k, m, n = (int(part.split("=")[1]) for part in name.split(","))
    records = VECTORS["database_figure_10"]["records"]
    expected = {as_violation(found) for found in VECTORS["database_figure_10"]["violations"][name]}
    assert set(slow.violations(records, k, m, n)) == expected
    verdict = verify(Forest.from_records(HOSPITAL, records), k=k, m=m, n=n)
    assert verdict.holds == (not expected)
    assert Counter({f.labels: f.combinations for f in verdict.failures}) == Counter(
        tuple(sorted((name for name, _ in found.labels), key=["hospital", "disease", "treatment"].index))
        for found in expected
    )


@pytest.mark.parametrize("k", [2, 3])
def test_figure_13_is_not_what_the_paper_says(k: int) -> None:
    """TREE calls it 3^(2,1)-anonymous; {Gastritis, Hospital2} is in two records."""
    records = VECTORS["figure_13"]["records"]
    alone = slow.Violation(frozenset({("disease", "Gastritis"), ("hospital", "Hospital2")}), frozenset(), 2)
    assert slow.violations(records, k, 2, 1) == [alone] * (k == 3)
    verdict = verify(Forest.from_records(HOSPITAL, records), k=k, m=2, n=1, as_published=True)
    assert (verdict.holds, verdict.largest_k, verdict.original_k) == (k == 2, 2, 1)
    assert [f.pattern for f in verdict.failures] == ["hospital + disease"] * (k == 3)


def test_a_disassociation_can_break_another_relation() -> None:
    vector = VECTORS["disassociation_can_break_another_relation"]
    chain = schema_of({"a": None, "b": "a", "c": "b"})
    for records, supports in ((vector["records"], 3), (vector["after"], 2)):
        only = [f for f in slow.groups(records, 2, 1) if f == _pair(("b", "b1"), ("c", "c1"))]
        assert len(slow.groups(records, 2, 1)[only[0]]) == supports
    verdict = verify(Forest.from_records(chain, vector["after"]), k=3, m=2, n=1)
    assert ("b", "c") in {pair for f in verdict.failures for pair in f.relations}


def _pair(upper: slow.Label, lower: slow.Label) -> slow.Combination:
    return frozenset({upper, lower}), frozenset({(upper, lower)})


def test_sizes_below_m_count() -> None:
    """Who has fewer than m labels hides nothing behind "size exactly m"."""
    records: list[Tree] = [[["a", "rare", []]]] + [[["a", "a1", []], ["d", "d1", []], ["e", "e1", []]]] * 5
    for m in (1, 2, 3, 8):
        assert verify(Forest.from_records(SCHEMA, records), k=2, m=m, n=0).largest_k == 1


def test_labels_outside_the_relations_count() -> None:
    """{a1, b1, d1} with a1 ⇝ b1 is in one record only, though d1 takes part in no relation there."""
    whole: Tree = [["a", "a1", [["b", "b1", []]]], ["d", "d1", []]]
    run_interruptibly: Tree = [["a", "a1", []], ["b", "b1", []], ["d", "d1", []]]
    pair: Tree = [["a", "a1", [["b", "b1", []]]]]
    forest = Forest.from_records(SCHEMA, [whole, *[run_interruptibly] * 4, *[pair] * 4])
    assert verify(forest, k=5, m=2, n=1).holds
    verdict = verify(forest, k=5, m=3, n=1)
    assert [(f.pattern, f.least) for f in verdict.failures] == [("a + b + d with a ⇝ b", 1)]


def test_joint_attackers_know_more() -> None:
    """H1 ⇝ Flu ⇝ Antibiotic and H2 ⇝ Flu ⇝ Painkiller hold H1 ⇝ Flu and Flu ⇝ Painkiller, but by two Flus."""
    antibiotic, painkiller = ["treatment", "Antibiotic", []], ["treatment", "Painkiller", []]
    crossed: Tree = [
        ["hospital", "H1", [["disease", "Flu", [antibiotic]], painkiller]],
        ["hospital", "H2", [["disease", "Flu", [painkiller]], antibiotic]],
    ]
    both: Tree = [["hospital", name, [["disease", "Flu", [antibiotic, painkiller]]]] for name in ("H1", "H2")]
    forest = Forest.from_records(HOSPITAL, [crossed] * 5 + [both])
    assert verify(forest, k=5, m=3, n=2).largest_k == 6
    verdict = verify(forest, k=5, m=3, n=2, attacker="joint")
    assert not verdict.holds and verdict.largest_k == 1
    assert verify(forest, k=5, m=3, n=1, attacker="joint").holds
    # A joint support of 0 does not excuse an independent support of 1.
    alone = Forest.from_records(HOSPITAL, [crossed] + [both[:1], both[1:]] * 5)
    assert verify(alone, k=2, m=3, n=2, attacker="joint").largest_k == 1


def test_the_cut_star() -> None:
    """One label, which everybody with a node holds."""
    records: list[Tree] = [[["a", "a1", [["b", "b1", []]]]], [["e", "e1", []]], [], [["t", "t1", []]]]
    verdict = verify(Forest.from_records(SCHEMA, records).project("*"), k=3)
    assert (verdict.holds, verdict.largest_k) == (True, 3)
    assert verify(Forest.from_records(SCHEMA, records).project("*"), k=4).failures[0].labels == ("*",)


def test_nothing_known_holds() -> None:
    for records in ([], [[], []], [[["t", "t1", []]], []]):
        verdict = verify(Forest.from_records(SCHEMA, records), k=5, m=3, n=2, l=2)
        assert (verdict.holds, verdict.largest_k) == (True, None)
        assert "no person has a label" in verdict.sentence


def test_negative_knowledge() -> None:
    """Four of five have x1; that the fifth lacks it singles them out only for who knows what is absent."""
    forest = Forest.from_records(SCHEMA, [[["a", "a1", []], ["e", "e1", []]]] * 4 + [[["e", "e1", []]]])
    assert verify(forest, k=4, m=2, n=0).holds
    verdict = verify(forest, k=4, m=1, n=0, negative=["a"])
    assert [f.sentence for f in verdict.failures] == ["not a: 1 combination held by as few as 1 person"]


def test_diversity() -> None:
    """A group in which nobody has a value passes; who has none counts for no value but as a person."""
    records: list[Tree] = [[["a", "a1", []], ["t", "x", []]], [["a", "a1", []]], [["a", "a2", []]]]
    forest = Forest.from_records(SCHEMA, records)
    assert not verify(forest, k=1, m=1, n=0, l=2, diversity="distinct").holds
    assert verify(forest, k=1, m=1, n=0, l=2).holds
    assert not verify(forest, k=1, m=1, n=0, l=3).holds
    verdict = verify(forest, k=1, m=1, n=0, l=2, diversity="distinct")
    assert sorted((d.as_dict() for d in verdict.diversity), key=lambda plain: plain["class"]) == [
        {"class": "s", "holds": True, "largest_l": None},
        {"class": "t", "holds": False, "largest_l": 1},
    ]
    assert [f.sensitive for f in verdict.failures] == ["t"]


def test_no_value_is_told() -> None:
    records: list[Tree] = [[["a", "secret1", [["b", "secret2", []]]]], [["a", "other", []]]]
    verdict = verify(Forest.from_records(SCHEMA, records), k=2, m=2, n=1)
    told = json.dumps(verdict.as_dict()) + verdict.sentence + "".join(f.sentence for f in verdict.failures)
    assert "secret" not in told and "other" not in told


def test_what_cannot_be_asked() -> None:
    forest = Forest.from_records(SCHEMA, [])
    with pytest.raises(UsageError, match="k is required"):
        verify(forest)
    with pytest.raises(UsageError, match="not both"):
        verify(forest, Guarantee(2), k=3)
    with pytest.raises(UsageError, match="sensitive"):
        verify(Forest.from_records(HOSPITAL, []), k=2, l=2)


def test_trees_against_the_class_tree_are_refused() -> None:
    forest = Forest.from_records(SCHEMA, [[["a", "a1", [["b", "b1", []]]]]])
    turned = Forest(
        forest.schema, forest.classes, forest.offsets, forest.parent, np.ascontiguousarray(forest.label[::-1])
    )
    with pytest.raises(DataError, match="class tree"):
        verify(turned, k=2)


def test_progress_ends_at_its_total() -> None:
    seen: list[tuple[int, int | None]] = []
    forest = Forest.from_records(SCHEMA, [[["a", f"a{i}", []]] for i in range(100)])
    verify(forest, k=1, progress=lambda done, total: seen.append((done, total)))
    assert seen[-1][0] == seen[-1][1]


def test_a_joint_support_of_one_is_found_among_many_embeddings() -> None:
    text = 'version = 1\n[input]\nformat = "trees"\n[[class]]\nname = "p"\nrole = "keep"\n'
    for name, under in (("y", "p"), ("c", "y"), ("d", "c")):
        text += f'[[class]]\nname = "{name}"\nunder = "{under}"\n'

    def c(*below: Any) -> Any:
        return ["c", "c0", list(below)]

    def y(*below: Any) -> Any:
        return ["y", "y0", list(below)]

    def p(number: int, *below: Any) -> Any:
        return ["p", f"p{number}", list(below)]

    d = ["d", "d0", []]
    twice = [c(d), p(0, y(c())), p(1, y(d)), p(2, y(d)), p(3, c(d)), p(4, c(d), d)]
    once = [p(1, c(d), y(c(), d)), y(c(), d)]
    forest = ta.Forest.from_records(ta.Schema.loads(text), [twice, twice, once])
    verdict = ta.verify(forest, k=2, m=3, n=2, attacker="joint")
    assert (verdict.holds, verdict.largest_k) == (False, 1)


# --- worked examples of l-diversity and structural negative knowledge ------------------------------------------------

WARD = schema_of({"hospital": None, "disease": "hospital", "outcome": "hospital"}, {"outcome": "sensitive"})


def test_diversity_counts_persons() -> None:
    """Thirty persons of one hospital, each with HIV and two other illnesses: everybody there has HIV."""
    for ward in (WARD, schema_of({"hospital": None, "outcome": None}, {"outcome": "sensitive"})):
        others = [["flu", "gout"], ["flu", "acne"], ["gout", "acne"], ["asthma", "gout"]]
        records: list[Tree] = []
        for number in range(30):
            ills = [["outcome", value, []] for value in ("HIV", *others[number % 4])]
            below = ward.spec("outcome").under == "hospital"
            records.append([["hospital", "H1", ills]] if below else [["hospital", "H1", []], *ills])
        forest = Forest.from_records(ward, records)
        diversities: tuple[Diversity, ...] = ("frequency", "distinct")
        for diversity in diversities:
            verdict = verify(forest, k=30, m=2, n=1, l=3, diversity=diversity)
            assert not verdict.holds and verdict.largest_k == 30
            assert [found.largest_l for found in verdict.diversity] == [1]
            assert "3-diversity of outcome does not hold: the largest l is 1." in verdict.sentence


def test_distinct_diversity_takes_the_holders_of_a_value_away() -> None:
    """Of three values two are left without the persons of any one, however many hold it."""
    records: list[Tree] = [[["hospital", "H1", [["outcome", value, []]]]] for value in "aaaabc"]
    forest = Forest.from_records(WARD, records)
    assert verify(forest, k=6, l=2, diversity="distinct").holds
    assert not verify(forest, k=6, l=3, diversity="distinct").holds
    assert not verify(forest, k=6, l=2).holds  # four of six hold one value


def test_structural_negative_knowledge() -> None:
    """At H1, and never flu there: that is one person's alone, though four have flu and four were at H1."""
    one: Tree = [["hospital", "H1", [["disease", "Gastritis", []]]], ["hospital", "H2", [["disease", "Flu", []]]]]
    both = [["disease", "Gastritis", []], ["disease", "Flu", []]]
    three: Tree = [["hospital", "H1", both], ["hospital", "H2", [["disease", "Flu", []]]]]
    forest = Forest.from_records(HOSPITAL, [one, three, three, three])
    assert verify(forest, k=3, m=2, n=0, negative="disease").holds
    verdict = verify(forest, k=3, m=2, n=1, negative="disease")
    assert not verdict.holds and verdict.largest_k == 1
    sentences = [failure.sentence for failure in verdict.failures]
    assert sentences == [
        "hospital + disease with no such disease below hospital: 1 combination held by as few as 1 person"
    ]
    assert verdict.failures[0].as_dict()["relations"] == [["hospital", "not disease"]]
    assert verify(forest, k=3, m=2, n=1, negative="hospital").holds


def test_a_joint_attacker_knows_which_node_lacks_something() -> None:
    """All four had flu with a pill somewhere; a flu without one only one of them had."""
    pill = ["treatment", "Pill", []]
    flu, cured, gout = ["disease", "Flu", []], ["disease", "Flu", [pill]], ["disease", "Gout", [pill]]
    usual: Tree = [["hospital", "H1", [cured]], ["hospital", "H2", [cured, gout]]]
    odd: Tree = [["hospital", "H1", [cured]], ["hospital", "H2", [flu, gout]]]
    forest = Forest.from_records(HOSPITAL, [usual, usual, usual, odd])
    assert verify(forest, k=4, m=2, n=1, negative="treatment").largest_k == 4
    assert verify(forest, k=4, m=2, n=1, attacker="joint").largest_k == 4
    verdict = verify(forest, k=4, m=2, n=1, attacker="joint", negative="treatment")
    assert [(found.pattern, found.least) for found in verdict.failures] == [
        ("disease + treatment with no such treatment below disease", 1)
    ]
