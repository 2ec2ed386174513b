"""Mondrian against obvious code, and its releases against the models."""

from __future__ import annotations

from collections import Counter, defaultdict
from random import Random

import numpy as np
import pytest

from tests.reference.mondrian import Slow, as_sets, random_options
from tests.support.strategies import properties
from tests.support.table_worlds import VECTORS, random_problem
from treeanon.algorithms.table.mondrian import search
from treeanon.algorithms.table.problem import Problem
from treeanon.errors import GuaranteeError, UsageError
from treeanon.hierarchy import Hierarchy
from treeanon.metrics.table import gcp
from treeanon.privacy.models import (
    AlphaKAnonymity,
    DistinctDiversity,
    EntropyDiversity,
    FrequencyDiversity,
    KAnonymity,
    PSensitiveKAnonymity,
    RecursiveDiversity,
    TCloseness,
)
from treeanon.table import Table
from treeanon.verifier.table import check


def groups_of(found, rows):
    held = defaultdict(list)
    for row, group in zip(rows, found.group.tolist(), strict=True):
        held[group].append(row)
    return list(held.values())


def same_as_slow(rnd: Random) -> None:
    problem, world = random_problem(rnd)
    options = random_options(rnd)
    rows, k = world.rows, max((m.k for m in problem.models if isinstance(m, KAnonymity)), default=1)
    if rows and not world.holds(rows):
        with pytest.raises(GuaranteeError):
            search(problem, **options)
        return
    found = search(problem, **options)
    asks = any(model.sensitive is not None for model in problem.models)
    is_one_each = len({row.person for row in rows}) == len(rows)
    all_at_once = is_one_each and (not asks or len(problem.table.sensitive) == 1)
    slow = Slow(world, options["style"], k)
    expected = slow.mondrian(rows, options["mode"], options["split"], all_at_once) if rows else []
    assert as_sets(groups_of(found, rows)) == as_sets(expected)
    released, numbers = found.recoded(problem.table)
    assert numbers.tolist() == list(range(len(rows))) and found.suppressed == 0
    assert all(one.holds for one in check(released, problem.models))
    alike = defaultdict(list)
    for row, key in zip(rows, zip(*(c.texts() for c in released.quasi), strict=True), strict=True):
        alike[key].append(row)
    assert all(world.holds(group) for group in alike.values())


test_same_as_slow, test_same_as_slow_thoroughly = properties(same_as_slow, 125, 4000)


def table_of(seed=1, rows=300, sensitive=1):
    rng = np.random.default_rng(seed)
    numbers = Hierarchy.flat([str(i) for i in range(40)])
    letters = Hierarchy.from_paths([[x, "vowels" if x in "ae" else "others", "*"] for x in "abcdefg"])
    columns = {
        "x": ([str(i) for i in np.minimum(rng.geometric(0.1, rows), 39)], numbers),
        "y": ([str(i) for i in rng.integers(0, 40, rows)], numbers),
        "z": (rng.choice([*"abcdefg"], rows).tolist(), letters),
    }
    for i in range(sensitive):
        columns[f"s{i}"] = (rng.choice([*"abcdefg"], rows).tolist(), letters)
    return Table.of_texts(columns, roles={f"s{i}": "sensitive" for i in range(sensitive)})


MODELS = [
    (KAnonymity(7),),
    (KAnonymity(1),),
    (DistinctDiversity(4),),
    (KAnonymity(4), FrequencyDiversity(2.5)),
    (EntropyDiversity(3),),
    (RecursiveDiversity(2, 3), KAnonymity(5)),
    (AlphaKAnonymity(0.4, 4),),
    (AlphaKAnonymity(0.2, 4, value="a", column="s0"),),
    (PSensitiveKAnonymity(3, 6),),
    (TCloseness(0.4), KAnonymity(5)),
]


@pytest.mark.parametrize("models", MODELS, ids=lambda models: ", ".join(m.name for m in models))
@pytest.mark.parametrize("split", ["median", "ncp"])
def test_every_model_holds(models, split):
    table = table_of()
    for style in ("hierarchy", "ranges", "sets"):
        for mode in ("strict", "relaxed"):
            found = search(Problem(table, models), mode=mode, split=split, style=style)
            assert all(one.holds for one in check(found.recoded(table)[0], models))
            assert found.counts["groups"] > 3


def test_two_sensitive_columns():
    table = table_of(sensitive=2, rows=400)
    models = (KAnonymity(5), DistinctDiversity(2, column="s0"))
    found = search(Problem(table, models), split="ncp")
    assert all(one.holds for one in check(found.recoded(table)[0], models))


def test_least_loss_loses_less_than_medians():
    table = table_of(rows=1000)
    lost = [
        gcp(search(Problem(table, (KAnonymity(5),)), split=split, style="ranges").recoded(table)[0], form="set")
        for split in ("median", "ncp")
    ]
    assert lost[1] < lost[0]


PATIENTS = [("Male", "25", "53711"), ("Female", "25", "53712"), ("Male", "26", "53711"), ("Male", "27", "53710")]
PATIENTS += [("Female", "27", "53712"), ("Male", "28", "53711")]


def test_the_patients_of_the_paper():
    """LeFevre et al., Figures 1 and 3: all columns are equally wide at first, and the first one is cut."""
    sex, age, code = zip(*PATIENTS, strict=True)
    table = Table.of_texts(
        {
            "Sex": (sex, Hierarchy.flat(["Male", "Female"])),
            "Age": (age, Hierarchy.flat(["25", "26", "27", "28"])),
            "Zipcode": (code, Hierarchy.flat(["53710", "53711", "53712"])),
        }
    )
    released, _ = search(Problem(table, (KAnonymity(2),)), style="ranges").recoded(table)
    assert Counter(released.rows()) == {
        ("Male", "25 … 26", "53711"): 2,
        ("Female", "25 … 27", "53712"): 2,
        ("Male", "27 … 28", "53710 … 53711"): 2,
    }


def test_the_patients_of_the_chapter():
    """CHAP's table in two columns, k = 3: cut between the areas, then by who was married where rows are enough."""
    world = VECTORS["patients_10"]
    columns = {}
    for c, name in enumerate(("ZIP", "MaritalStatus")):
        hierarchy = Hierarchy.from_paths([[leaf, *path] for leaf, path in world["hierarchies"][name].items()])
        columns[name] = ([row[c] for row in world["rows"]], hierarchy)
    table = Table.of_texts(columns)
    found = search(Problem(table, (KAnonymity(3),)), style="hierarchy")
    released = Counter(found.recoded(table)[0].rows())
    assert sorted(released.values()) == [3, 3, 4]
    assert Counter(zip_code for zip_code, _ in released) == {"2203*": 2, "2204*": 1}
    assert ("2203*", "been_married") in released and len(set(found.group[[0, 1, 5]].tolist())) == 1


def test_relaxed_halves_what_is_equal():
    numbers = Hierarchy.flat(["1", "2", "3"])
    table = Table.of_texts({"x": (["1"] + ["2"] * 6 + ["3"], numbers)})
    problem = Problem(table, (KAnonymity(2),))
    assert search(problem).counts["groups"] == 1
    # The two, and then those without any other: rows that are equal need no cut.
    assert sorted(np.bincount(search(problem, mode="relaxed").group).tolist()) == [2, 2, 2, 2]


def test_many_values_in_few_rows():
    """Groups whose values lie far apart are sorted, not counted."""
    numbers = Hierarchy.flat([str(i) for i in range(5000)])
    rng = np.random.default_rng(2)
    texts = [[str(i) for i in rng.permutation(5000)] for _ in range(2)]
    table = Table.of_texts({"x": (texts[0], numbers), "y": (texts[1], numbers)})
    found = search(Problem(table, (KAnonymity(3),)), style="ranges")
    assert set(np.bincount(found.group)) <= {3, 4, 5}
    assert all(one.holds for one in check(found.recoded(table)[0], found.models))


def test_inner_nodes_and_missing_values():
    letters = Hierarchy.from_paths([["a", "v", "*"], ["e", "v", "*"], ["b", "o", "*"]])
    table = Table.of_texts({"x": (["a", "v", "v", "b", "o", None, None, "e"], letters)})
    for split in ("median", "ncp"):
        found = search(Problem(table, (KAnonymity(2),)), split=split)
        released = found.recoded(table)[0]
        assert Counter(released.rows()) == {(None,): 2, ("v",): 4, ("o",): 2}


def test_odd_tables():
    hierarchy = Hierarchy.flat(["a", "b"])
    for texts in (["a"], ["a"] * 9, [None] * 3):
        table = Table.of_texts({"x": (texts, hierarchy)})
        found = search(Problem(table, (KAnonymity(1),)), mode="relaxed", split="ncp")
        assert set(found.group.tolist()) == {0}
        assert found.recoded(table)[0] == table
    with pytest.raises(GuaranteeError, match="cannot be 10-anonymous"):
        search(Problem(table, (KAnonymity(10),)))
    same = Table.of_texts({"x": ([*"abab"], hierarchy), "s": ([*"aaaa"], hierarchy)}, roles={"s": "sensitive"})
    with pytest.raises(GuaranteeError, match="not even the whole"):
        search(Problem(same, (DistinctDiversity(2),)))
    with pytest.raises(UsageError, match="strict"):
        search(Problem(table, ()), mode="loose")
    with pytest.raises(UsageError, match="median"):
        search(Problem(table, ()), split="mean")
    with pytest.raises(UsageError, match="style"):
        search(Problem(table, ()), style="nice")
