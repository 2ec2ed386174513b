"""Small random tables with hierarchies of even depth, and the same as the obvious code sees them."""

from __future__ import annotations

import json
from dataclasses import replace
from random import Random
from typing import Any

import numpy as np

from tests.reference.lattice import Holds, Row, World, at_least, diverse, frequent
from tests.support.paths import ROOT
from treeanon.algorithms.table.problem import Problem
from treeanon.hierarchy import Hierarchy
from treeanon.privacy.models import DistinctDiversity, FrequencyDiversity, KAnonymity, Model
from treeanon.table import Table

VECTORS = json.loads((ROOT / "tests/vectors/tables.json").read_text())


def random_paths(rnd: Random, column: int) -> dict[str, list[str]]:
    height, leaves = rnd.choice([0, 1, 1, 2, 2, 3]), rnd.randint(1, 6)
    if height == 0:
        return {f"c{column}": [f"c{column}"]}
    paths = {}
    for leaf in range(leaves):
        path, at = [f"c{column} 0 {leaf}"], leaf
        for level in range(1, height):
            at = at // 2
            path.append(f"c{column} {level} {at}")
        paths[path[0]] = [*path, f"c{column} *"]
    return paths


def random_models(rnd: Random, sensitive: int) -> tuple[tuple[Model, ...], Holds]:
    k, least = rnd.randint(1, 4), 2
    kind = rnd.choice(["k", "distinct", "frequency", "frequency"]) if sensitive else "k"
    if kind == "k":
        return (KAnonymity(k),), at_least(k)
    if kind == "distinct":
        return (KAnonymity(k), DistinctDiversity(least, joined=True)), diverse(least, k)
    if sensitive > 1:
        return (KAnonymity(k),), at_least(k)
    return (FrequencyDiversity(least), KAnonymity(k)), frequent(least, k)


def random_problem(rnd: Random) -> tuple[Problem, World]:
    """A problem, and the same for the obvious code."""
    # hypothesis prefers simple draws, which make tables with nothing to find; a seed of its own gives all kinds.
    rnd = Random(rnd.getrandbits(32))
    paths = [random_paths(rnd, c) for c in range(rnd.randint(1, 4))]
    many = rnd.random() < 0.25
    sensitive = rnd.choice([0, 1, 1, 2])
    gap = rnd.choice([0, 0, 0.2])
    rows = []
    for i in range(rnd.choice([0, 1, 5, 10, 15, 20])):
        quasi = tuple(None if rnd.random() < gap else rnd.choice(list(path)) for path in paths)
        values = tuple(None if rnd.random() < gap else rnd.choice("xyz") for _ in range(sensitive))
        rows.append(Row(rnd.randrange(9) if many else i, quasi, values))
    models, holds = random_models(rnd, sensitive)
    world = World(rows, paths, holds, rnd.choice([0, 1, 2, 4, 6]))
    return problem_of(world, models, many), world


def problem_of(world: World, models: tuple[Model, ...], many: bool = False) -> Problem:
    columns: dict[str, Any] = {}
    for c, paths in enumerate(world.paths):
        hierarchy = Hierarchy.from_paths(list(paths.values()))
        columns[f"q{c}"] = ([row.quasi[c] for row in world.rows], hierarchy)
    count = len(world.rows[0].sensitive) if world.rows else 1
    for c in range(count):
        columns[f"s{c}"] = ([row.sensitive[c] for row in world.rows], Hierarchy.flat("xyz"))
    table = Table.of_texts(columns, roles={f"s{c}": "sensitive" for c in range(count)})
    if many:
        table = replace(table, person=np.array([row.person for row in world.rows], np.int32))
    return Problem(table, models, world.limit)


def vector_problem(name: str, case: dict[str, Any]) -> Problem:
    """A case of the papers' vectors."""
    world = VECTORS[name]
    quasi = world.get("quasi_identifiers", world["columns"])
    columns = {}
    for c, column in enumerate(world["columns"]):
        texts = [row[c] for row in world["rows"]]
        if column in quasi:
            hierarchy = Hierarchy.from_paths([[leaf, *path] for leaf, path in world["hierarchies"][column].items()])
        else:
            hierarchy = Hierarchy.flat(texts)
        columns[column] = (texts, hierarchy)
    roles = {column: "sensitive" for column in columns if column not in quasi}
    return Problem(Table.of_texts(columns, roles), (KAnonymity(case["k"]),), case["max_suppressed"])


CASES = [(name, case) for name, world in VECTORS.items() for case in world.get("cases", [])]
"""Every case of the vectors: the name of its table, k, the most suppressed, and what is k-minimal."""
