"""Small worlds of whole objects: visits with diagnoses and drugs in them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import treeanon as ta
from tests.reference.objects import Object, Recipe, Record, facts, objects_over
from treeanon.algorithms.tree.solution import Solution

SCHEMA = ta.Schema.loads(
    "\n".join(
        [
            "version = 1",
            "[input]",
            'format = "ndjson"',
            'objects = "whole"',
            *(
                f'[[class]]\nname = "{name}"\npath = "{path}"'
                for name, path in (
                    ("S", "sex"),
                    ("H", "visits[].hospital"),
                    ("Y", "visits[].when.year"),
                    ("D", "visits[].diagnoses[].name"),
                    ("E", "visits[].diagnoses[].degree"),
                    ("P", "pills[]"),
                )
            ),
        ]
    )
)

VALUES = {"S": ("f", "m"), "H": ("h1", "h2"), "Y": ("y1", "y2"), "D": ("d1", "d2"), "E": ("e1",), "P": ("p1", "p2")}


def _some(draw: random.Random, *names: str) -> frozenset:
    return frozenset((name, draw.choice(VALUES[name])) for name in names if draw.random() < 0.6)


def random_record(draw: random.Random) -> Record:
    """A record of up to two visits with up to two diagnoses each, and pills."""
    visits = []
    for _ in range(draw.randrange(3)):
        inner = [(1, _some(draw, "D", "E"), frozenset()) for _ in range(draw.randrange(3))]
        visits.append((0, _some(draw, "H", "Y"), frozenset(one for one in inner if one[1])))
    pills = [(2, _some(draw, "P"), frozenset()) for _ in range(draw.randrange(2))]
    return _some(draw, "S"), frozenset(one for one in [*visits, *pills] if one[1] or one[2])


def document(record: Record) -> dict:
    """A record as a JSON document."""
    out: dict = {}
    for _, value in record[0]:
        out["sex"] = value
    for kind, labels, inner in record[1]:
        if kind == 2:
            out.setdefault("pills", []).extend(value for _, value in labels)
        else:
            out.setdefault("visits", []).append(_visit(labels, inner))
    return out


def _visit(labels: frozenset, inner: frozenset[Object]) -> dict:
    held = dict(labels)
    out: dict = {}
    if "H" in held:
        out["hospital"] = held["H"]
    if "Y" in held:
        out["when"] = {"year": held["Y"]}
    if inner:
        out["diagnoses"] = [_diagnosis(dict(one[1])) for one in inner]
    return out


def _diagnosis(held: dict) -> dict:
    return {name: held[key] for key, name in (("D", "name"), ("E", "degree")) if key in held}


def types_of(schema: ta.Schema) -> list[str]:
    """The names of the types of objects of a schema, by their numbers."""
    return [published.name for published in schema.layout.classes if published.is_object]


def nested(record: Record, schema: ta.Schema = SCHEMA) -> list:
    """A record as plain nested lists."""
    names = types_of(schema)

    def nodes(labels: frozenset, objects: frozenset[Object]) -> list:
        values = [[*label, []] for label in sorted(labels)]
        return values + [[names[kind], "*", nodes(held, inner)] for kind, held, inner in sorted(objects, key=str)]

    return nodes(*record)


def forest_of(records: list[Record], schema: ta.Schema = SCHEMA) -> ta.Forest:
    """Records as a forest."""
    return ta.Forest.from_records(schema, [nested(record, schema) for record in records])


def record_of(tree: list, schema: ta.Schema = SCHEMA) -> Record:
    """The record of plain nested lists."""
    names = types_of(schema)

    def parts(nodes: list) -> tuple[frozenset, frozenset]:
        labels = frozenset((name, value) for name, value, _ in nodes if name not in names)
        return labels, frozenset((names.index(name), *parts(below)) for name, _, below in nodes if name in names)

    return parts(tree)


@dataclass(frozen=True)
class Shape:
    """A type of objects: its path, the values of the fields (path "" is a value itself), and the types in it."""

    path: str
    fields: dict[str, tuple[str, tuple[str, ...]]]
    inner: tuple[Shape, ...] = ()

    def paths(self, above: str = "") -> Iterator[tuple[str, str]]:
        """The path of every class."""
        own = f"{above}{self.path}"
        for name, (path, _) in self.fields.items():
            yield name, f"{own}.{path}" if path else own
        for shape in self.inner:
            yield from shape.paths(f"{own}.")

    def objects(self, names: list[str], above: str = "") -> list[Object]:
        """All objects of the type."""
        own = f"{above}{self.path}"
        inner = [found for shape in self.inner for found in shape.objects(names, f"{own}.")]
        values = {name: held for name, (_, held) in self.fields.items()}
        return objects_over(names.index(own), values, inner)


A, B, C = ("a", ("a1", "a2")), ("b", ("b1", "b2")), ("c", ("c1",))

SHAPES = (
    Shape("v[]", {"A": A}, (Shape("d[]", {"B": B}), Shape("p[]", {"C": ("", C[1])}))),
    Shape("v[]", {"A": A, "C": C}, (Shape("d[]", {"B": B}),)),
    Shape("v[]", {"C": C}, (Shape("d[]", {"A": A}), Shape("p[]", {"B": ("", B[1])}))),
    Shape("v[]", {"C": C}, (Shape("d[]", {}, (Shape("p[]", {"A": ("", A[1])}), Shape("q[]", {"B": ("", ("b1",))}))),)),
    Shape("v[]", {"A": A}, (Shape("d[]", {"B": ("b", ("b1",))}, (Shape("p[]", {"C": ("", C[1])}),)),)),
    Shape("v[]", {"A": A, "B": B, "C": C}),
    Shape("v[]", {"A": ("a", ("a1",))}, (Shape("d[]", {"B": B, "C": C}),)),
)


@cache
def world_of(shape: int) -> tuple[ta.Schema, list[Object]]:
    """The schema of a shape, and all of its objects."""
    lines = ["version = 1", "[input]", 'format = "ndjson"', 'objects = "whole"']
    for name, path in SHAPES[shape].paths():
        lines += ["[[class]]", f'name = "{name}"', f'path = "{path}"']
    schema = ta.Schema.loads("\n".join(lines))
    return schema, SHAPES[shape].objects(types_of(schema))


def some_objects(draw: random.Random, objects: list[Object]) -> Record:
    """A record of up to two objects, none of which holds more than three others."""
    few = [found for found in objects if len(found[2]) < 4]
    return frozenset(), frozenset(draw.sample(few, draw.randrange(3)))


@dataclass(frozen=True)
class ObjectWorld:
    """Persons, most of them like a few others, and what is asked of their release."""

    objects: list[Object]
    persons: list[Record]
    forest: ta.Forest
    k: int
    m: int
    n: int

    @classmethod
    def draw(cls, seed: int) -> ObjectWorld:
        """The world of a number."""
        draw = random.Random(seed)
        schema, objects = world_of(draw.randrange(len(SHAPES)))
        usual = [some_objects(draw, objects) for _ in range(draw.choice([2, 3, 4]))]
        size = draw.choice([8, 12, 16, 24])
        persons = [draw.choice(usual) if draw.random() < 0.85 else some_objects(draw, objects) for _ in range(size)]
        m, n = draw.choice([(2, 1), (3, 1), (3, 2)])
        return cls(objects, persons, forest_of(persons, schema), draw.choice([2, 3]), m, n)

    def records_of(self, forest: ta.Forest) -> list[Record]:
        """The records of a forest of this world."""
        return [record_of(record, self.forest.schema) for record in forest.records()]

    def recipe(self, solution: Solution) -> Recipe:
        """A solution as the brute force reads it; the hierarchies of these worlds are flat."""
        labels = facts((frozenset(), frozenset(self.objects)))[0]
        assert solution.cut is not None
        published = {}
        for name, value in labels:
            nodes = solution.cut.get(name, (value,))
            published[name, value] = (name, value if value in nodes else nodes[0] if len(nodes) == 1 else "*")
        names = types_of(self.forest.schema)
        rules = tuple((rule[0], rule[1], names.index(rule[2])) for rule in solution.left_out if len(rule) == 3)
        return Recipe(published, rules, frozenset(solution.withheld))
