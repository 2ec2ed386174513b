"""A small hospital whose patients are alike in part."""

from __future__ import annotations

from random import Random

import treeanon as ta

SCHEMA = """version = 1
[input]
format = "trees"
[[class]]
name = "sex"
under = "/"
[[class]]
name = "hospital"
under = "/"
hierarchy = { groups = 2 }
[[class]]
name = "disease"
under = "hospital"
hierarchy = { groups = 3 }
[[class]]
name = "drug"
under = "disease"
hierarchy = { groups = 3 }
"""


def hospital(persons: int, seed: int = 0) -> ta.Forest:
    rnd = Random(seed)

    def some(name: str, values: int, below: list[object]) -> list[object]:
        return [name, f"{name}{min(rnd.randrange(values), rnd.randrange(values))}", below]

    records = []
    for _ in range(persons):
        visits = [
            some(
                "hospital",
                4,
                [some("disease", 8, [some("drug", 6, [])] * rnd.randint(0, 1)) for _ in range(rnd.randint(0, 2))],
            )
            for _ in range(rnd.randint(1, 2))
        ]
        records.append([["sex", rnd.choice("FM"), []], *visits])
    return ta.Forest.from_records(ta.Schema.loads(SCHEMA), records)
