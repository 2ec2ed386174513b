"""The order of the rows in a file, which may tell of what is sensitive, makes no difference to a release."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import product
from random import Random

import pytest

import treeanon as ta
from tests.reference.onedim import random_table
from treeanon.algorithms.table.registry import TABLE_ALGORITHMS
from treeanon.hierarchy import Hierarchy
from treeanon.table import Table

NAMES = sorted(name for name, algorithm in TABLE_ALGORITHMS.items() if algorithm.freeform)
GROUPS = ["hilbert", "idistance", "local", "mondrian", "onedim", "suppress-cells", "topdown"]


def released(table: Table, name: str, k: int):
    options = {"seconds": 0.0} if name == "freeform" else {}
    return ta.anonymize(table, k=k, l=1, algorithm=name, **options)


@pytest.mark.parametrize("name", [*NAMES, *GROUPS])
def test_what_is_published_of_the_quasi_columns_does_not_depend_on_the_order_of_rows(name: str) -> None:
    for seed in range(2):
        rnd = Random(seed)
        table, k = random_table(rnd, 9), rnd.randint(2, 3)
        published = {
            tuple(sorted(map(str, released(table.take(rnd.sample(range(9), 9)), name, k).table.rows())))
            for _ in range(3)
        }
        assert len(published) == 1


@pytest.mark.parametrize("name", NAMES)
def test_which_of_the_rows_that_are_alike_is_covered_with_another_is_left_to_chance(name: str) -> None:
    table = Table.of_texts({"x": ("1112", Hierarchy.flat("12"))})
    partners: Counter[int] = Counter()
    for _ in range(60):
        edges = released(table, name, 2).found.graph.edges.tolist()
        partners.update(i for own in edges if 3 in own for i in set(own) - {3})
    assert set(partners) == {0, 1, 2}


@pytest.mark.parametrize("name", ["freeform-nh", "onedim"])
def test_who_knows_that_the_file_is_sorted_by_what_is_sensitive_learns_nothing_from_that(name: str) -> None:
    """All tables of the values A and B, sorted by them; what somebody may believe who knows that, and the program."""
    quasi, drawn = "1112", 40
    hierarchies = Hierarchy.flat("12"), Hierarchy.flat("AB")
    believed: defaultdict[tuple[tuple[str | None, ...], ...], Counter[str]] = defaultdict(Counter)
    for values in product("AB", repeat=4):
        rows = sorted(zip(values, quasi, strict=True))
        table = Table.of_texts(
            {"x": ([x for _, x in rows], hierarchies[0]), "s": ([s for s, _ in rows], hierarchies[1])},
            roles={"s": "sensitive"},
        )
        for _ in range(drawn):
            believed[tuple(sorted(released(table, name, 2).table.rows()))][values[3]] += 1
    # The one row with 2 is behind one of two tuples that have A and B: it has either as likely.
    unsure = [counts for rows, counts in believed.items() if len({s for x, s in rows if x != "1"}) == 2]
    assert len(unsure) == 3
    for counts in unsure:
        assert 0.3 < counts["A"] / counts.total() < 0.7
