"""Small tables with one sensitive column."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from treeanon.hierarchy import Hierarchy
from treeanon.table import Table

PATHS = [[x, f"{x[0]}x", "*"] for x in ("aa", "ab", "ac", "ba", "bb", "ca")]
NUMBERS = [str(n) for n in (1, 2, 3, 5, 8, 13)]


def random_table(rnd: Random, rows: int, columns: int | None = None) -> Table:
    made = {}
    for c in range(columns or rnd.randint(1, 3)):
        gap = rnd.choice([0, 0, 0.3])
        leaves, hierarchy = rnd.choice(
            [([p[0] for p in PATHS], Hierarchy.from_paths(PATHS)), (NUMBERS, Hierarchy.flat(NUMBERS))]
        )
        some = leaves[: rnd.randint(1, len(leaves))]
        made[f"q{c}"] = ([None if rnd.random() < gap else rnd.choice(some) for _ in range(rows)], hierarchy)
    weights = [rnd.random() ** 2 + 0.01 for _ in range(rnd.randint(1, 6))]
    ill = [None if v == 5 else f"s{v}" for v in rnd.choices(range(len(weights)), weights, k=rows)]
    made["ill"] = (ill, Hierarchy.flat([f"s{v}" for v in range(5)]))
    table = Table.of_texts(made, roles={"ill": "sensitive"})
    kinds = {"q0": rnd.choice(["text", "integer"])}
    return Table(
        tuple(
            replace(c, spec=replace(c.spec, type="integer"))
            if kinds.get(c.name) == "integer" and "13" in c.values
            else c
            for c in table.columns
        )
    )


def table_of(ages: str, ill: str) -> Table:
    columns = {"age": (list(ages), Hierarchy.flat("123456789")), "ill": (list(ill), Hierarchy.flat("abcdxyz"))}
    return Table.of_texts(columns, roles={"ill": "sensitive"})
