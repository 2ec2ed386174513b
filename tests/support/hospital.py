"""A small hospital for tests of releases: a schema, persons, and slow obvious code for what a solution says."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import treeanon as ta
from tests.reference.trees import (
    Tree,
    disassociated_in_order,
    left_out_in_order,
    merged,
    multiset,
    projected,
    projected_to_star,
)
from tests.support.strategies import parents_of, parents_of_classes
from treeanon.algorithms.tree.solution import Solution

WORD = "CANARY"

SCHEMA = """version = 1
[input]
format = "ndjson"
objects = "merged"
[[class]]
name = "sex"
path = "sex"
[[class]]
name = "hospital"
path = "visits[].hospital"
hierarchy = "hospital.csv"
[[class]]
name = "diagnosis"
path = "visits[].diagnoses[]"
hierarchy = "diagnosis.csv"
"""
EXTRA = {
    "secret": '[[class]]\nname = "secret"\npath = "visits[].secret"\nrole = "sensitive"\n',
    "note": '[[class]]\nname = "note"\npath = "visits[].note"\nrole = "keep"\n',
}
HOSPITALS = [f"{WORD}-H{i}" for i in range(4)]
DISEASES = [f"{WORD}-D{i}" for i in range(6)]


def folder_of(path: Path, *extra: str) -> Path:
    """The folder, with hierarchies and a schema that has the extra classes."""
    path.mkdir(exist_ok=True)
    rows = [f"{name};{WORD}-group {i // 2};*\n" for i, name in enumerate(HOSPITALS)]
    (path / "hospital.csv").write_text("".join(rows))
    rows = [f"{name};{WORD}-kind {i // 3};*\n" for i, name in enumerate(DISEASES)]
    (path / "diagnosis.csv").write_text("".join(rows))
    (path / "s.toml").write_text(SCHEMA + "".join(EXTRA[name] for name in extra))
    return path


def person(rnd: Random) -> dict[str, Any]:
    visits = [
        {
            "hospital": HOSPITALS[min(rnd.randrange(4), rnd.randrange(5))],
            "diagnoses": [DISEASES[min(rnd.randrange(6), rnd.randrange(8))] for _ in range(rnd.randint(0, 2))],
            "secret": f"{WORD}-S{rnd.randrange(3)}",
            "note": f"{WORD}-N{rnd.randrange(50)}",
        }
        for _ in range(rnd.randint(1, 2))
    ]
    return {"sex": f"{WORD}-{rnd.choice('FM')}", "visits": visits, "ssn": rnd.randrange(10**9)}


def write_persons(path: Path, seed: int, count: int = 40) -> Path:
    rnd = Random(seed)
    path.write_text("".join(json.dumps(person(rnd)) + "\n" for _ in range(count)))
    return path


def slow_release(forest: ta.Forest, solution: Solution) -> list[Tree]:
    """What a solution makes of the records, one after another, in the most obvious way."""
    assert solution.cut is not None
    return [slow_record(forest, record, solution) for record in forest.records()]


def slow_record(forest: ta.Forest, record: Tree, solution: Solution) -> Tree:
    def without(nodes: Tree) -> Tree:
        out: Tree = []
        for name, value, below in nodes:
            out.extend(without(below) if name in solution.withheld else [[name, value, without(below)]])
        return out

    record = merged(without(record))
    cut = solution.cut or {}
    record = projected_to_star(record) if "*" in cut else projected(record, parents_of(forest), cut)
    record = disassociated_in_order(record, solution.disassociated)
    return merged(left_out_in_order(record, solution.left_out, parents_of_classes(forest)))


def is_truth(forest: ta.Forest, release: Any) -> bool:
    """Whether the release is what its solution makes of the forest, by slow obvious code."""
    records = slow_release(forest, release.solution)
    if release.kept is not None:
        records = [records[i] for i in release.kept]
    return multiset(records) == multiset(release.forest.records())
