"""The lattice of a page: each node's state is what counting the rows on these levels says."""

from __future__ import annotations

from collections import Counter
from itertools import product
from random import Random

import treeanon as ta
from treeanon.algorithms.table.lattice import FullDomainResult
from treeanon.hierarchy import Hierarchy
from treeanon.reports.page.page import page
from treeanon.reports.page.rows import DrawnLattice

AGES = Hierarchy.from_paths([[str(age), f"{age // 10}0s", f"from {age // 20 * 20}", "*"] for age in range(20, 60)])
TOWNS = Hierarchy.from_paths([["Ulm", "south", "*"], ["Augsburg", "south", "*"], ["Kiel", "north", "*"]])
SEXES = Hierarchy.flat(["f", "m"])
K, LEFT_OUT = 3, 4


def rows() -> list[tuple[str, str, str]]:
    rnd = Random(5)
    towns = ["Ulm", "Augsburg", "Kiel"]
    return [(str(rnd.randint(20, 59)), rnd.choice(towns), rnd.choice("fm")) for _ in range(80)]


def text_on(hierarchy: Hierarchy, text: str, level: int) -> str:
    node = hierarchy.texts.index(text)
    for _ in range(level):
        node = int(hierarchy.parent[node])
    return hierarchy.texts[node]


def satisfied(vector: tuple[int, ...]) -> bool:
    """Whether rows on these levels leave out no more than is allowed: counted from their texts."""
    there = [
        tuple(text_on(h, text, at) for h, text, at in zip((AGES, TOWNS, SEXES), row, vector, strict=True))
        for row in rows()
    ]
    return sum(number for number in Counter(there).values() if number < K) <= LEFT_OUT


def release() -> ta.TableRelease:
    ages, towns, sexes = zip(*rows(), strict=True)
    table = ta.Table.of_texts({"age": (ages, AGES), "town": (towns, TOWNS), "sex": (sexes, SEXES)})
    return ta.anonymize(table, k=K, algorithm="samarati", max_suppressed=LEFT_OUT)


def test_states_are_what_counting_says() -> None:
    found = release()
    assert isinstance(found.found, FullDomainResult)
    lattice = DrawnLattice.of(found.table, found.found)
    every = list(product(range(4), range(3), range(2)))
    assert lattice.drawn() == every and lattice.size == len(every)
    states = {vector: lattice.state(vector) for vector in every}
    assert set(states.values()) == {"chosen", "minimal", "above", "fails"}
    for vector, state in states.items():
        assert (state != "fails") == satisfied(vector), (vector, state)
        below = [tuple(v - (at == i) for i, v in enumerate(vector)) for at in range(3) if vector[at]]
        assert (state in ("chosen", "minimal")) == (satisfied(vector) and not any(map(satisfied, below)))


def test_internal_pages_alone_have_the_lattice() -> None:
    found = release()
    shown = page(found, audience="internal")
    assert "The lattice of levels" in shown and shown.count('class="level') == 24
    assert "lattice" not in page(found).partition("</style>")[2]
