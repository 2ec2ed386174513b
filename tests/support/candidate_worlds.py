"""Small worlds with rare relations, for what can be known of the original."""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import cache
from typing import Literal

import treeanon as ta
from tests.reference.candidates import Attacker, Label, Pair, Recipe, Schema, Tree, facts
from treeanon.algorithms.tree.solution import Solution
from treeanon.privacy import Guarantee
from treeanon.privacy.guarantee import Diversity

DIVERSITIES: tuple[Diversity, ...] = ("frequency", "distinct")

SHAPES = (
    ({"A": "", "B": "A"}, {"A": ("a1", "a2", "a3"), "B": ("b1", "b2")}),
    ({"A": "", "B": "A", "C": "B"}, {"A": ("a1", "a2"), "B": ("b1", "b2"), "C": ("c1",)}),
    ({"A": "", "B": "A", "C": "A"}, {"A": ("a1", "a2"), "B": ("b1", "b2"), "C": ("c1",)}),
)


SENSITIVE = {"S": ("s1", "s2", "s3")}
"""The sensitive class of worlds that have one: a person may have any of these."""


@cache
def trees_of(shape: int, sensitive: bool = False) -> tuple[Schema, list[Tree]]:
    """The schema of a shape, and all trees over its values; with a sensitive class, of which these hold nothing."""
    under, values = SHAPES[shape]
    trees = Schema(under).trees(values)
    return Schema({**under, "S": ""} if sensitive else under), trees


@cache
def facts_of(shape: int, sensitive: bool = False) -> list[tuple[set[Label], set[Pair]]]:
    """The labels and relations of each of these trees."""
    return [facts(tree) for tree in trees_of(shape, sensitive)[1]]


def rarely_related(usual: list[Tree], shape: int, sensitive: bool) -> list[Tree]:
    """Trees that hold the labels of a usual one, and one relation more than it."""
    trees = trees_of(shape, sensitive)[1]
    known = [facts(tree) for tree in usual]
    return [
        tree
        for tree, (labels, pairs) in zip(trees, facts_of(shape, sensitive), strict=True)
        if any(labels == own and len(pairs - related) == 1 and related <= pairs for own, related in known)
    ]


def with_sensitive(tree: Tree, draw: random.Random) -> Tree:
    """A tree with other sensitive values: mostly one."""
    rest = [node for node in tree if node[0][0] not in SENSITIVE]
    chosen = draw.sample(SENSITIVE["S"], draw.choice([0, 1, 1, 1, 1, 2]))
    return frozenset([*rest, *((("S", value), frozenset()) for value in chosen)])


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
    attacker: Attacker
    l: int = 1  # noqa: E741 - its name in the literature
    diversity: Diversity = "frequency"

    @classmethod
    def draw(cls, seed: int, *extensions: str) -> World:
        """The world of a number; `extensions` are joint, negative or l, which is with a sensitive class."""
        draw = random.Random(seed)
        shape, sensitive = draw.randrange(len(SHAPES)), "l" in extensions
        schema, trees = trees_of(shape, sensitive)
        # Mostly trees with relations, so that there is something to end.
        related = [tree for tree, (_, pairs) in zip(trees, facts_of(shape, sensitive), strict=True) if len(pairs) > 1]
        usual = draw.sample(related if draw.random() < 0.8 else trees, draw.choice([2, 3, 4]))
        odd = rarely_related(usual, shape, sensitive) if draw.random() < 0.8 else trees
        size = draw.choice([8, 12, 16, 24])
        # As rare as can be, and now and then not quite.
        rare = [draw.choice(odd or trees) for _ in range(draw.choice([1, 1, 2, 3]))]
        persons = [*rare, *(draw.choice(usual) for _ in range(size - len(rare)))]
        if "l" in extensions:
            persons = [with_sensitive(tree, draw) for tree in persons]
        m, n = draw.choice([(2, 1), (3, 1), (3, 2)])
        k = draw.choice([2, 3])
        labels = tuple(sorted({label for tree in trees for label in facts(tree)[0]}))
        negative = tuple(draw.sample(["A", "B"], draw.choice([1, 2]))) if "negative" in extensions else ()
        attacker = Attacker(m, n, "joint" in extensions, negative, labels, ("S",))
        l, diversity = (2, draw.choice(DIVERSITIES)) if "l" in extensions else (1, DIVERSITIES[0])  # noqa: E741
        return cls(schema, trees, persons, forest_of(schema, persons), k, m, n, attacker, l, diversity)

    def guarantee(self, *, as_published: bool = False) -> Guarantee:
        """What is asked of the release."""
        kind: Literal["joint", "independent"] = "joint" if self.attacker.joint else "independent"
        return Guarantee(
            self.k, self.m, self.n, kind, self.l, self.diversity, self.attacker.negative, as_published=as_published
        )

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
        lines += ['role = "sensitive"'] if name in SENSITIVE else []
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
