"""Risks where objects stay whole, against brute force over all sets of labels and relations."""

from __future__ import annotations

import random
from collections import Counter, defaultdict

from hypothesis import given, settings
from hypothesis import strategies as st

import treeanon as ta
from tests.reference.objects import Knowledge, Record, known
from tests.support.object_worlds import SCHEMA, Shape, forest_of, random_record, types_of
from tests.support.profiles import few
from treeanon.risks.trees import risk_of_trees


def holders_of(records: list[Record], m: int, n: int) -> dict[Knowledge, set[int]]:
    found: dict[Knowledge, set[int]] = defaultdict(set)
    for number, record in enumerate(records):
        for knowledge in known(record, m, n):
            found[knowledge].add(number)
    return found


def singled_out(found: dict[Knowledge, set[int]], k: int, m: int, n: int) -> int:
    small = [held for (v, r), held in found.items() if len(v) <= m and len(r) <= n and len(held) < k]
    return len(set().union(*small))


def dangerous(found: dict[Knowledge, set[int]], k: int, order: list[str], types: list[str]) -> Counter:
    """The persons whom each pattern of classes singles out, with no part of it doing so."""
    rare = {one: held for one, held in found.items() if len(held) < k}
    persons: dict[tuple, set[int]] = defaultdict(set)
    for (v, r), held in rare.items():
        if any(a <= v and b <= r and (a, b) != (v, r) for a, b in rare):
            continue
        classes = tuple(sorted((label[0] for label in v), key=order.index))
        pairs = []
        for a, b, kind in r:
            first, second = sorted((a[0], b[0]), key=order.index)
            pairs.append((types[kind].count("[]"), order.index(first), order.index(second), types[kind]))
        persons[classes, tuple((order[a], order[b], t) for _, a, b, t in sorted(pairs))] |= held
    return Counter({pattern: len(held) for pattern, held in persons.items()})


def check(records: list[Record], schema: ta.Schema, k: int, m: int, n: int, most: int = 4) -> None:
    forest = forest_of(records, schema)
    risk = risk_of_trees(forest, k=k, m=m, n=n, seconds=None, jobs=1)
    found = holders_of(records, m, n)
    for size in range(1, min(m, most) + 1):
        for relations in range(n + 1):
            for share, least in ((risk.below_k, k), (risk.unique, 2)):
                assert share[size - 1][relations].persons == singled_out(found, least, size, relations)
    order = list(forest.classes.names)
    slow = dangerous(found, k, order, types_of(schema))
    told = {(one.classes, one.relations): one.persons for one in risk.combinations}
    assert m > most or (told.items() <= slow.items() and len(told) == min(len(slow), len(told)))
    assert m > most or not slow or max(told.values()) == max(slow.values())


@few(30, 60)
@given(
    seed=st.integers(0, 10**9),
    persons=st.integers(2, 12),
    k=st.integers(2, 4),
    m=st.integers(1, 4),
    n=st.integers(0, 3),
)
def test_it_is_what_brute_force_finds(seed: int, persons: int, k: int, m: int, n: int) -> None:
    draw = random.Random(seed)
    usual = [random_record(draw) for _ in range(3)]
    records = [draw.choice(usual) if draw.random() < 0.6 else random_record(draw) for _ in range(persons)]
    check(records, SCHEMA, k, m, n)


DEEP = Shape("v[]", {"A": ("a", ("a1", "a2"))}, (
    Shape("d[]", {"B": ("b", ("b1",))}, (Shape("p[]", {"C": ("c", ("c1",)), "D": ("d", ("d1", "d2"))}),)),
))  # fmt: skip


def deep_schema() -> ta.Schema:
    """A schema of objects in objects in objects, each of which can hold two values."""
    lines = ["version = 1", "[input]", 'format = "ndjson"', 'objects = "whole"']
    for name, path in DEEP.paths():
        lines += ["[[class]]", f'name = "{name}"', f'path = "{path}"']
    return ta.Schema.loads("\n".join(lines))


def deep_record(draw: random.Random) -> Record:
    """A record of a visit or two, with diagnoses and prescriptions in them."""

    def some(*labels: tuple[str, str]) -> frozenset:
        return frozenset(label for label in labels if draw.random() < 0.7)

    def inner() -> frozenset:
        found = {
            (2, some(("C", "c1"), ("D", draw.choice(["d1", "d2"]))), frozenset()) for _ in range(draw.randrange(3))
        }
        return frozenset(one for one in found if one[1])

    middle = [(1, some(("B", "b1")), inner()) for _ in range(draw.randint(0, 2))]
    own = some(("A", draw.choice(["a1", "a2"])))
    visits = [(0, own, frozenset(one for one in middle if one[1] or one[2]))]
    visits += [(0, some(("A", "a1")), frozenset())] if draw.random() < 0.5 else []
    return frozenset(), frozenset(one for one in visits if one[1] or one[2])


@settings(max_examples=25)
@given(seed=st.integers(0, 10**9), m=st.integers(1, 4), n=st.integers(0, 3))
def test_at_any_depth(seed: int, m: int, n: int) -> None:
    """Of objects in objects in objects, sets of four labels are not looked at: who has more labels is undecided."""
    draw, schema = random.Random(seed), deep_schema()
    usual = [deep_record(draw) for _ in range(3)]
    records = [draw.choice([*usual, deep_record(draw)]) for _ in range(draw.randint(4, 12))]
    forest = forest_of(records, schema)
    assert forest.classes.kinds == 3
    check(records, schema, 2, m, n, most=3)
    share = risk_of_trees(forest, k=2, m=4, n=n, seconds=None, jobs=1).at(4, n)
    real = singled_out(holders_of(records, 4, n), 2, 4, n)
    assert share.low * len(records) <= real + 1e-9 and real <= share.high * len(records) + 1e-9
