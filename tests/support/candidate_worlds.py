"""Small worlds with rare relations, for what can be known of the original."""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import cache

import treeanon as ta
from tests.reference.candidates import Pair, Recipe, Schema, Tree, facts
from treeanon.algorithms.tree.solution import Solution

SHAPES = (
    ({"A": "", "B": "A"}, {"A": ("a1", "a2", "a3"), "B": ("b1", "b2")}),
    ({"A": "", "B": "A", "C": "B"}, {"A": ("a1", "a2"), "B": ("b1", "b2"), "C": ("c1",)}),
    ({"A": "", "B": "A", "C": "A"}, {"A": ("a1", "a2"), "B": ("b1", "b2"), "C": ("c1",)}),
)


@cache
def trees_of(shape: int) -> tuple[Schema, list[Tree]]:
    """The schema of a shape, and all trees over its values."""
    under, values = SHAPES[shape]
    schema = Schema(under)
    return schema, schema.trees(values)


@dataclass(frozen=True)
class World:
    """Persons, most of them like a few others, and what is asked of their release."""

    schema: Schema
    trees: list[Tree]
    persons: list[Tree]
    forest: ta.Forest
    k: int
    m: int
    n: int

    @classmethod
    def draw(cls, seed: int) -> World:
        """The world of a number."""
        draw = random.Random(seed)
        schema, trees = trees_of(draw.randrange(len(SHAPES)))
        usual = draw.sample(trees, draw.choice([2, 3, 4]))
        size = draw.choice([8, 12, 16, 24])
        persons = [draw.choice(usual) if draw.random() < 0.85 else draw.choice(trees) for _ in range(size)]
        m, n = draw.choice([(2, 1), (3, 1), (3, 2)])
        return cls(schema, trees, persons, forest_of(schema, persons), draw.choice([2, 3]), m, n)

    def recipe(self, solution: Solution) -> Recipe:
        """A solution as the brute force reads it; the hierarchies of these worlds are flat."""
        labels = {label for tree in self.trees for label in facts(tree)[0]}
        assert solution.cut is not None
        published = {}
        for name, value in labels:
            nodes = solution.cut.get(name, (value,))
            published[name, value] = (name, value if value in nodes else nodes[0] if len(nodes) == 1 else "*")
        return Recipe(
            self.schema,
            published,
            solution.disassociated,
            solution.left_out,
            frozenset(solution.withheld),
        )


def forest_of(schema: Schema, persons: list[Tree]) -> ta.Forest:
    """Persons as a forest."""
    lines = ["version = 1", "[input]", 'format = "trees"']
    for name, under in schema.under.items():
        lines += ["[[class]]", f'name = "{name}"', *([f'under = "{under}"'] if under else [])]
    return ta.Forest.from_records(ta.Schema.loads("\n".join(lines)), [nested(tree) for tree in persons])


def nested(tree: Tree) -> list[list]:
    """A tree as records hold it."""
    return [[*label, nested(children)] for label, children in sorted(tree, key=str)]


def unnested(record: list) -> Tree:
    """The tree of a record."""
    return frozenset(((name, value), unnested(children)) for name, value, children in record)


def rare_relation(persons: int) -> list[list]:
    """Persons with H1 > Flu and H2 > Asthma, the first of them also with H1 > Asthma."""
    flu, asthma = ["disease", "Flu", []], ["disease", "Asthma", []]
    usual = [["hospital", "H1", [flu]], ["hospital", "H2", [asthma]]]
    return [[["hospital", "H1", [flu, asthma]], ["hospital", "H2", [asthma]]], *[usual] * (persons - 1)]


__all__ = ["SHAPES", "Pair", "World", "forest_of", "nested", "rare_relation", "trees_of", "unnested"]
