"""Privacy models: twins in fractions, the papers' distances, and what unions keep."""

from __future__ import annotations

import pickle
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.reference import models as slow
from treeanon.cli.summaries import order_notes
from treeanon.hierarchy import Hierarchy, read_hierarchy
from treeanon.hierarchy.files import dump_csv, load_csv
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
    distribution,
)
from treeanon.privacy.models import model as limits
from treeanon.schema.model import ClassSpec
from treeanon.table import Column, Groups, Table
from treeanon.table.histograms import groups_of, merged
from treeanon.verifier.table import check, verify_table

TREES = [
    Hierarchy.flat(["1", "10", "9", "1.0"]),
    Hierarchy.from_paths([["3", "low", "*"], ["1", "low", "*"], ["2", "2", "*"], ["5", "high", "*"]]),
    Hierarchy.from_parents({"b": "a", "c": "b", "d": "c", "e": "c", "f": "b", "g": "a", "h": "g"}),
    Hierarchy.flat([], root="0"),
]
SHARES = st.fractions(0, 1, max_denominator=12)
SIZES = st.integers(1, 4)


@st.composite
def worlds(draw: st.DrawFn, *, several: bool = False) -> tuple[Hierarchy, list[list[slow.Row]]]:
    """A hierarchy and groups of rows: every row a person of its own, unless several."""
    hierarchy = draw(st.sampled_from(TREES))
    value = st.none() | st.integers(0, len(hierarchy) - 1)
    groups = draw(st.lists(st.lists(value, min_size=1, max_size=7), min_size=1, max_size=4))
    rows: list[list[slow.Row]] = []
    for values in groups:
        before = sum(map(len, rows))
        persons = [draw(st.integers(0, 5)) if several else before + at for at in range(len(values))]
        rows.append(list(zip(persons, values, strict=True)))
    return hierarchy, rows


def groups_from(hierarchy: Hierarchy, rows: list[list[slow.Row]]) -> Groups:
    flat = [row for group in rows for row in group]
    codes = np.array([-1 if value is None else value for _, value in flat], np.int32)
    column = Column(ClassSpec("s", role="sensitive"), hierarchy, codes)
    table = Table((column,), np.array([person for person, _ in flat], np.int32))
    return groups_of(table, np.repeat(np.arange(len(rows)), [len(group) for group in rows]))


@given(worlds(several=True), SIZES, SIZES, st.fractions(Fraction(1, 8), 4, max_denominator=8), SHARES)
def test_models_agree_with_fractions(world: Any, k: int, p: int, c: Fraction, share: Fraction) -> None:
    hierarchy, rows = world
    groups = groups_from(hierarchy, rows)
    least = 1 + c
    node = p % len(hierarchy)

    def below(value: slow.Value) -> bool:
        return value is not None and hierarchy.covers(node, value)

    twins: list[tuple[Model, Any]] = [
        (KAnonymity(k), lambda g: slow.size(g) >= k),
        (DistinctDiversity(p), lambda g: len(slow.counts(g)) >= p),
        (PSensitiveKAnonymity(min(p, k), k), lambda g: slow.size(g) >= k and len(slow.counts(g)) >= min(p, k)),
        (FrequencyDiversity(p), lambda g: slow.frequency(g, Fraction(p))),
        (FrequencyDiversity(least), lambda g: slow.frequency(g, least)),
        (EntropyDiversity(p), lambda g: slow.entropy(g, Fraction(p))),
        (EntropyDiversity(least), lambda g: slow.entropy(g, least)),
        (RecursiveDiversity(c, p), lambda g: slow.recursive(g, c, p)),
        (AlphaKAnonymity(share, k), lambda g: slow.alpha_k(g, share, k, None)),
        (
            AlphaKAnonymity(share, k, column="s", value=hierarchy.texts[node]),
            lambda g: slow.alpha_k(g, share, k, below),
        ),
    ]
    for model, twin in twins:
        assert model.holds(groups).tolist() == [twin(group) for group in rows], model.name


def grounds(hierarchy: Hierarchy, everybody: list[slow.Row]) -> dict[tuple[Any, Any], slow.Ground]:
    """The distance of two values for each kind of closeness that there is for these values."""
    values = {value for _, value in everybody}
    leaves: dict[slow.Value, Any] = {v: None if v is None else int(hierarchy.row_order[v]) for v in values}
    found = {("equal", "auto"): slow.equal, ("hierarchical", "auto"): slow.hierarchical(hierarchy)}
    found["ordered", "leaves"] = found["ordered", "auto"] = slow.ordered(leaves)
    if all(value is None or hierarchy.texts[value][-1].isdigit() for value in values):
        numbers = {value: None if value is None else float(hierarchy.texts[value]) for value in values}
        found["ordered", "numbers"] = found["ordered", "auto"] = slow.ordered(numbers)
    return found


@given(worlds(several=True), SHARES, st.booleans())
def test_closeness_agrees_with_the_work_of_moving_mass(world: Any, t: Fraction, doubles: bool) -> None:
    hierarchy, rows = world
    groups = groups_from(hierarchy, rows)
    # Each person once for each value, wherever the rows are.
    everybody = sorted({row for group in rows for row in group}, key=str)
    for (distance, order), ground in grounds(hierarchy, everybody).items():
        far = [slow.earth_mover(group, everybody, ground) for group in rows]
        with pytest.MonkeyPatch.context() as patch:
            if doubles:
                patch.setattr(distribution, "ROOM", 0)
            # Doubles may only err towards "does not hold".
            for limit in (t, *(min(f + Fraction(1, 10**9), Fraction(1)) for f in far), *(() if doubles else far)):
                found = TCloseness(limit, distance, order).holds(groups).tolist()
                assert all(x == (f <= limit) for x, f in zip(found, far, strict=True) if not doubles or f != limit)
                assert not any(x for x, f in zip(found, far, strict=True) if f > limit)


def test_closeness_of_groups_with_many_values() -> None:
    random = np.random.default_rng(3)
    numbers = random.permutation(40).tolist()
    paths = [[str(n), f"{n // 4}xx", f"{n // 12}xxx", "*"] for n in numbers]
    tree = Hierarchy.from_paths(paths)
    codes = [tree.code(str(n)) for n in numbers]
    rows = [[(i, codes[at]) for i, at in enumerate(random.integers(0, 40, 60).tolist())], [(100, c) for c in codes[:3]]]
    rows.append([(200 + i, code) for i, code in enumerate(codes)])
    groups = groups_from(tree, rows)
    everybody = [row for group in rows for row in group]
    for (distance, order), ground in grounds(tree, everybody).items():
        far = [slow.earth_mover(group, everybody, ground) for group in rows]
        for limit in far:
            assert TCloseness(limit, distance, order).holds(groups).tolist() == [f <= limit for f in far]


def all_models(k: int, p: int, c: Fraction, share: Fraction) -> list[Model]:
    return [
        KAnonymity(k),
        DistinctDiversity(p),
        PSensitiveKAnonymity(min(p, k), k),
        FrequencyDiversity(1 + c / 2),
        EntropyDiversity(1 + c / 2),
        RecursiveDiversity(c, p),
        AlphaKAnonymity(share, k),
        TCloseness(share),
        TCloseness(share, "ordered"),
        TCloseness(share, "hierarchical"),
    ]


@given(
    worlds(),
    SIZES,
    SIZES,
    st.fractions(Fraction(1, 8), 4, max_denominator=8),
    SHARES,
    st.lists(st.integers(0, 3), min_size=4, max_size=4),
)
def test_unions_keep_what_is_monotone(
    world: Any, k: int, p: int, c: Fraction, share: Fraction, into: list[int]
) -> None:
    groups = groups_from(*world)
    numbers = np.unique(into[: len(groups)], return_inverse=True)[1]
    coarse = merged(groups, numbers)
    for model in all_models(k, p, c, share):
        assert model.is_monotone
        before, (after, lost) = model.holds(groups), limits.judged(model, coarse)
        assert after.tolist() == model.holds(coarse).tolist() and not lost[after].any()
        for union in range(len(coarse)):
            parts = before[numbers == union]
            asked = parts.any() if model.holds_when_grown else parts.all()
            assert after[union] or not asked, model.name
            # Whoever is in a part that fails has to go: at least so many as the union is said to lose.
            assert lost[union] <= groups.sizes[numbers == union][~parts].sum(), model.name


def test_random_unions_do_hold_something() -> None:
    """Not in vain: of groups drawn at random, many satisfy each model, and many do not."""
    random = np.random.default_rng(5)
    rows = [[(20 * g + i, int(v)) for i, v in enumerate(random.integers(1, 5, 20))] for g in range(60)]
    groups = groups_from(TREES[0], rows)
    for model in [
        FrequencyDiversity(Fraction(5, 2)),
        EntropyDiversity(3.7),
        RecursiveDiversity(0.6, 2),
        AlphaKAnonymity(0.4, 5),
        TCloseness(0.1),
        TCloseness(0.1, "ordered"),
        TCloseness(0.1, "hierarchical"),
    ]:
        assert 5 <= model.holds(groups).sum() <= 55, model.name
        if model.limits.share < 1 or isinstance(model, TCloseness):
            assert limits.judged(model, groups)[1].max() > 1, model.name
        holding = groups_from(TREES[0], [row for row, ok in zip(rows, model.holds(groups), strict=True) if ok])
        pairs = merged(holding, np.arange(len(holding)) // 2)
        if not isinstance(model, TCloseness):  # the whole is another one there
            assert model.holds(pairs).all()


# A person with a row in both groups is one of half of each, but of a third of both together.
SHARED = [[(1, 1), (2, 2)], [(3, 1), (2, 2)]]


@pytest.mark.parametrize("model", [FrequencyDiversity(2), EntropyDiversity(2), AlphaKAnonymity(0.5, 2)])
def test_shares_are_not_kept_where_persons_are_in_both_groups(model: Model) -> None:
    assert model.holds(groups_from(TREES[0], SHARED)).all()
    assert not model.holds(groups_from(TREES[0], [SHARED[0] + SHARED[1]])).any()
    assert not model.holds_when_grown


def test_what_is_added_to_a_group_can_spoil_shares() -> None:
    """So a more general table may have to suppress more, and searches that suppress may not cut by these."""
    good, bad = [(0, 1), (1, 2)], [(2, 1), (3, 1)]
    for model in all_models(1, 2, Fraction(2), Fraction(1, 2)):
        run_interruptibly = model.holds(groups_from(TREES[0], [good, bad]))
        together = model.holds(groups_from(TREES[0], [good + bad]))
        if model.holds_when_grown:
            assert together[0] or not run_interruptibly[0], model.name
    for model in (FrequencyDiversity(2), EntropyDiversity(2), RecursiveDiversity(2, 2), AlphaKAnonymity(0.5)):
        assert model.holds(groups_from(TREES[0], [good, bad])).tolist() == [True, False]
        assert not model.holds(groups_from(TREES[0], [good + bad]))[0], model.name


def test_the_salaries_of_li_li_and_venkatasubramanian() -> None:
    """{3k, 4k, 5k} is 0.375 from 3k to 11k, {6k, 8k, 11k} is 0.167 (their Section 3.2)."""
    salaries = Hierarchy.flat(["11000", *(f"{n}000" for n in range(3, 11))])
    code = [salaries.code(f"{n}000") for n in (3, 4, 5, 6, 8, 11, 7, 9, 10)]
    groups = groups_from(
        salaries, [list(enumerate(code[:3])), list(enumerate(code[3:6], 3)), [(6, code[6]), (7, code[7]), (8, code[8])]]
    )
    assert TCloseness(0.375, "ordered").holds(groups)[:2].tolist() == [True, True]
    assert TCloseness(0.374, "ordered").holds(groups)[:2].tolist() == [False, True]
    assert TCloseness(Fraction(1, 6), "ordered").holds(groups)[:2].tolist() == [False, True]
    assert TCloseness(0.166, "ordered").holds(groups)[:2].tolist() == [False, False]


def test_the_diseases_of_li_li_and_venkatasubramanian() -> None:
    """Flu is 1/3 from bronchitis, 2/3 from pulmonary embolism, and 1 from stomach cancer (their Figure 1)."""
    above = {"infection": "respiratory", "vascular": "respiratory", "stomach": "digestive"}
    ill = {"flu": "infection", "bronchitis": "infection", "embolism": "vascular", "cancer": "stomach"}
    tree = Hierarchy.from_paths([[text, ill[text], above[ill[text]], "*"] for text in ill])
    for other, far in (("bronchitis", 1), ("embolism", 2), ("cancer", 3)):
        # Half of the whole has to go all the way.
        groups = groups_from(tree, [[(0, tree.code("flu"))], [(1, tree.code(other))]])
        assert TCloseness(Fraction(far, 6), "hierarchical").holds(groups).all()
        assert not TCloseness(Fraction(far, 6) - Fraction(1, 100), "hierarchical").holds(groups).any()


def test_near_ties_are_decided_exactly() -> None:
    million = 10**6
    groups = groups_from(TREES[0], [[(0, 1)], [(1, 1)]])
    (one,) = groups.sensitive
    counts = np.array([million, million + 1, million, million], np.int64)
    twice = type(one)("s", np.array([0, 2, 4]), np.array([1, 2, 1, 2]), counts, one.whole, one.hierarchy)
    known = Groups(np.array([2 * million + 1, 2 * million]), (twice,))
    assert EntropyDiversity(2).holds(known).tolist() == [False, True]
    assert FrequencyDiversity(2).holds(known).tolist() == [False, True]
    assert RecursiveDiversity(1 + 1e-6, 2).holds(known).tolist() == [False, True]
    # 1/2 and four times 1/8 are 2 bits, as 4 equal shares are.
    counts = np.array([4, 1, 1, 1, 1, 4 * million + 1, *[million] * 4], np.int64)
    five = type(one)("s", np.array([0, 5, 10]), np.array([0, 1, 2, 3, 4] * 2), counts, one.whole, one.hierarchy)
    known = Groups(np.array([8, 8 * million + 1]), (five,))
    assert EntropyDiversity(4).holds(known).tolist() == [True, False]


@given(st.lists(st.tuples(st.integers(0, 2**40), st.integers(1, 2**40)), max_size=5), SHARES, st.integers(1, 2**61))
def test_shares_are_compared_exactly(parts: list[tuple[int, int]], share: Fraction, fine: int) -> None:
    part = np.array([min(a, b) for a, b in parts], np.int64)
    of = np.array([b for _, b in parts], np.int64)
    for limit in (share, Fraction(fine, 2**61), *(Fraction(min(a, b), b) for a, b in parts)):
        assert limits.at_most(part, of, limit).tolist() == [Fraction(min(a, b), b) <= limit for a, b in parts]


def test_ordered_distance_of_texts_goes_by_the_rows_of_the_file(tmp_path: Path) -> None:
    """Rows of one parent apart: low, middle, high stand in the file's order, not in that of the tree."""
    (tmp_path / "pay.csv").write_text("low;worker;*\nmiddle;clerk;*\nhigh;worker;*\n")
    tree = read_hierarchy(tmp_path / "pay.csv")
    assert tree.texts == ("*", "worker", "low", "high", "clerk", "middle")
    again = pickle.loads(pickle.dumps(tree))
    for known in (tree, again, load_csv(dump_csv(tree))):
        rows = ["low", "low", "middle", "high", "high", "middle"]
        columns = {"q": (list("aaabbb"), Hierarchy.flat("ab")), "pay": (rows, known)}
        table = Table.of_texts(columns, {"pay": "sensitive"})
        # Of the first group 2/3 are low: over either gap goes 1/3; by the order of the tree 1/3 and 0.
        for t, holds in ((Fraction(1, 3), True), (Fraction(33, 100), False)):
            model = TCloseness(t, "ordered")
            assert model.orders_by_rows(table.column("pay"))
            assert model.holds(groups_of(table, np.array([0, 0, 0, 1, 1, 1]))).all() == holds
            assert check(table, [model])[0].holds == holds
    (found,) = verify_table(table, [KAnonymity(1)], measured=True).reached
    assert found["t_ordered"].label == "t (ordered distance, by rows of the hierarchy)"
    assert found["t_ordered"].reached == pytest.approx(1 / 3, abs=1e-5)
    (note,) = order_notes(table, [TCloseness(0.5, "ordered"), TCloseness(0.5)])
    assert "order of the rows" in note
