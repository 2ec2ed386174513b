"""Random histories of releases, and an attacker who holds all their files and solutions.

The attacker's part (from `Attack` on) reads the written files alone, with code that shares nothing with the package.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any

import treeanon as ta
from tests.reference.candidates import Label, Pair, Schema, Tree, facts, merged
from tests.reference.candidates import Recipe as Reference
from tests.support.candidate_worlds import nested, unnested
from treeanon.errors import DataError, GuaranteeError

PARENT = {"a1": "AX", "a2": "AX", "a3": "AY", "b1": "BX", "b2": "BX", "c1": "*", "c2": "*"}
SHAPES = (
    ({"A": "", "B": "A"}, {"A": ("a1", "a2", "a3"), "B": ("b1", "b2")}),
    ({"A": "", "B": "A", "C": "A"}, {"A": ("a1", "a2"), "B": ("b1", "b2"), "C": ("c1", "c2")}),
    ({"A": "", "B": "A", "C": "B"}, {"A": ("a1", "a2"), "B": ("b1", "b2"), "C": ("c1",)}),
)


@cache
def world_of(shape: int, headless: bool) -> tuple[Schema, list[Tree]]:
    """The class tree of a shape, and all trees over its values; `headless` ones too, where a class above is missing.

    With fewer trees there are fewer candidates. Where nodes are moved, the others are needed.
    """
    under, values = SHAPES[shape]
    schema = Schema(under)
    return schema, [tree for tree in schema.trees(values) if headless or _has_heads(tree, "", under)]


def _has_heads(tree: Tree, above: str, under: dict[str, str]) -> bool:
    return all(under[name] == above and _has_heads(below, name, under) for (name, _), below in tree)


def schema_text(shape: int, folder: Path) -> str:
    """A schema of a shape, with its hierarchies in files beside it."""
    under, values = SHAPES[shape]
    lines = ["version = 1", "[input]", 'format = "trees"']
    for name, above in under.items():
        up = {value: PARENT[value] for value in values[name]}
        up |= {node: "*" for node in up.values() if node != "*"}
        (folder / f"{name}.json").write_text(json.dumps(up))
        lines += [
            "[[class]]",
            f'name = "{name}"',
            f'hierarchy = "{name}.json"',
            *([f'under = "{above}"'] if above else []),
        ]
    return "\n".join(lines) + "\n"


@dataclass
class History:
    """What happened: the files, and of every delivery the persons, and whether everything was published anew."""

    shape: int
    headless: bool
    k: int
    m: int
    n: int
    deliveries: list[list[Tree]] = field(default_factory=list)
    files: list[tuple[Path | None, Path, bool]] = field(default_factory=list)
    """Of every delivery the release (None: nobody was published), the solution, and whether it has everything."""

    @property
    def world(self) -> tuple[Schema, list[Tree]]:
        """The class tree, and all trees that there may be."""
        return world_of(self.shape, self.headless)


def play(seed: int, folder: Path, *, how: str = "leave-out") -> History | None:
    """Let a history of 2 to 4 releases happen; None where already the first cannot be."""
    draw = random.Random(seed)
    shape = draw.randrange(len(SHAPES))
    headless = how != "leave-out"
    _, trees = world_of(shape, headless)
    path = folder / "s.toml"
    path.write_text(schema_text(shape, folder))
    schema = ta.Schema.load(path)
    usual = draw.sample(trees, draw.choice([2, 3, 4]))
    m, n = draw.choice([(1, 0), (2, 0), (2, 1), (3, 1), (3, 2)])
    story = History(shape, headless, draw.choice([2, 3]), m, n)
    state: ta.History | None = None
    for number in range(draw.choice([2, 3, 4])):
        size = draw.choice([3, 6, 10, 16] if number else [8, 16, 24])
        persons = [draw.choice(usual) if draw.random() < 0.8 else draw.choice(trees) for _ in range(size)]
        forest = ta.Forest.from_records(schema, [nested(tree) for tree in persons])
        release_file, solution_file = folder / f"r{number}.trees.jsonl", folder / f"s{number}.json"
        story.deliveries.append(persons)
        try:
            if not number:
                options = {"algorithm": "gcs"} if how == "gcs" else {"taking_apart": how, "effort": 0.1}
                first = ta.anonymize(forest, k=story.k, m=m, n=n, **options)  # type: ignore[arg-type]
                first.write(release_file)
                first.write_solution(solution_file)
                story.files.append((release_file, solution_file, True))
                continue
            state = _appended(story, forest, state, draw, release_file, solution_file)
        except (GuaranteeError, DataError):
            # Too little is left of it, or it is the same few persons again.
            if not number:
                return None
            # Nothing was written: the delivery has not happened.
            story.deliveries.pop()
    return story


def _appended(
    story: History, forest: ta.Forest, state: ta.History | None, draw: random.Random, out: Path, solution_out: Path
) -> ta.History:
    anew, before = draw.random() < 0.4, story.files[-1][1]
    since = max(i for i, one in enumerate(story.files) if one[2])
    files = [one[0] for one in story.files[since:] if one[0] is not None]
    more: dict[str, Any] = {"published": files, "schema": forest.schema} if anew or draw.random() < 0.3 else {}
    done = ta.append(before, forest, history=state, max_held="100%", anew=anew, **more)
    solution_out.write_text(before.read_text())
    if done.release is not None:
        done.release.write(out)
        if anew:
            done.release.write_solution(solution_out, force=True)
    story.files.append((out if done.release is not None else None, solution_out, done.is_anew))
    return done.history


# The attacker: files, solutions, and all trees that there may be. Nothing of the package below.


@dataclass(frozen=True)
class Recipe:
    """A solution, as its file says."""

    cut: dict[str, list[str]]
    left_out: tuple[Pair, ...]
    moved: tuple[Pair, ...]
    withheld: tuple[str, ...]

    @classmethod
    def of(cls, path: Path) -> Recipe:
        """The recipe in a solution file."""
        plain = json.loads(path.read_text())
        pairs = [tuple((tuple(a), tuple(b)) for a, b in plain[part]) for part in ("left_out", "disassociated")]
        return cls(plain["cut"], pairs[0], pairs[1], tuple(plain["withheld"]))

    def generalize(self, tree: Tree) -> Tree:
        """The tree with every value as its nearest node in the cut."""
        if "*" in self.cut:
            return frozenset([(("*", "*"), frozenset())]) if tree else frozenset()
        out: list[tuple[Label, Tree]] = []
        for (name, value), below in tree:
            inner = self.generalize(below)
            out += inner if name in self.withheld else [((name, self._node(name, value)), inner)]
        return merged(out)

    def _node(self, name: str, value: str) -> str:
        node = value
        while name in self.cut and node not in self.cut[name]:
            if node == "*":
                return value
            node = PARENT.get(node, "*")
        return node

    def publish(self, schema: Schema, tree: Tree) -> Tree:
        """What is published of a tree."""
        tree = self.generalize(tree)
        return tree if "*" in self.cut else Reference(schema, {}, self.moved, self.left_out).publish(tree)


def written(path: Path | None) -> Counter[Tree]:
    """The records of a release."""
    lines = [] if path is None else path.read_text().splitlines()
    return Counter(unnested(json.loads(line)["tree"]) for line in lines)


Knowledge = tuple[frozenset[Label], frozenset[Pair]]


def known_of(tree: Tree, m: int, n: int) -> Iterator[Knowledge]:
    """Everything that may be known of a person."""
    labels, pairs = facts(tree)
    for size in range(1, m + 1):
        for chosen in map(frozenset, combinations(sorted(labels), size)):
            inner = sorted(pair for pair in pairs if set(pair) <= chosen)
            for count in range(min(n, len(inner)) + 1):
                yield from ((chosen, frozenset(related)) for related in combinations(inner, count))


class Attack:
    """An attacker who holds all files of a history, and all that there may be.

    `parts` has for every delivery the records that only it can have brought: what is in a release of everything beyond
    the older records, made more general.
    """

    def __init__(self, story: History) -> None:
        self.story = story
        self.recipes = [Recipe.of(solution) for _, solution, _ in story.files]
        self.parts: list[Counter[Tree]] = []
        self.wholes: list[Counter[Tree]] = []
        everything: Counter[Tree] = Counter()
        for recipe, (path, _, is_whole) in zip(self.recipes, story.files, strict=True):
            found = written(path)
            if is_whole:
                older: Counter[Tree] = Counter()
                for record, times in everything.items():
                    older[recipe.generalize(record)] += times
                assert older <= found, "an older person has become something else"
                self.parts.append(found - older)
                everything = found
                self.wholes.append(found)
            else:
                self.parts.append(found)
                everything = everything + found
        self._may_be: dict[int, dict[Tree, set[Knowledge]]] = {}
        self._published: dict[str, list[Tree]] = {}
        self._known = [set(known_of(tree, story.m, story.n)) for tree in story.world[1]]

    def may_be(self, number: int) -> dict[Tree, set[Knowledge]]:
        """What may be true of each record that the solution of a delivery can publish."""
        if number not in self._may_be:
            out: dict[Tree, set[Knowledge]] = {}
            for record, own in zip(self._world_by(number), self._known, strict=True):
                if record in self.parts[number]:
                    out.setdefault(record, set()).update(own)
            self._may_be[number] = out
        return self._may_be[number]

    def _world_by(self, number: int) -> list[Tree]:
        """What the solution of a delivery publishes of all trees."""
        schema, trees = self.story.world
        name = self.story.files[number][1].read_text()
        if name not in self._published:
            self._published[name] = [self.recipes[number].publish(schema, tree) for tree in trees]
        return self._published[name]

    def candidates(self, number: int, known: Knowledge) -> Counter[Tree]:
        """The records of a part that may be a person of whom this is known."""
        may_be = self.may_be(number)
        part = self.parts[number]
        return Counter({record: times for record, times in part.items() if known in may_be.get(record, ())})

    def published_in(self) -> list[tuple[int, int, Tree]]:
        """Who was delivered when and published when; persons that look alike when published share their fate."""
        out, waiting = [], []
        for number, persons in enumerate(self.story.deliveries):
            recipe, left = self.recipes[number], []
            for came, tree in [*waiting, *((number, tree) for tree in persons)]:
                is_there = recipe.publish(self.story.world[0], tree) in self.parts[number]
                (out if is_there else left).append((came, number, tree) if is_there else (came, tree))  # type: ignore[attr-defined]
            waiting = left
        return out

    def least(self) -> float:
        """The fewest candidates that the attacker is left with, of anybody, by anything that is known."""
        least = float("inf")
        persons: Sequence[tuple[int, int, Tree]] = sorted(set(self.published_in()), key=str)
        for came, published, tree in persons:
            for known in known_of(tree, self.story.m, self.story.n):
                here = self.candidates(published, known)
                least = min(least, here.total())
                before = range(came, published)
                if before and not any(self.candidates(i, known) for i in before):
                    # Nobody fits before: so the person was held back, and is one of those who would have been.
                    least = min(least, sum(here[one] for one in self._waiting(published, known, before)))
        return least

    def _waiting(self, number: int, known: Knowledge, before: range) -> set[Tree]:
        """The records of a part that may be of somebody of whom this is known, and who was held back before."""
        worlds = [self._world_by(i) for i in (number, *before)]
        out = set()
        for own, record, *earlier in zip(self._known, *worlds, strict=True):
            if known not in own or record not in self.parts[number] or record in out:
                continue
            if all(self.is_singled(i, one) for i, one in zip(before, earlier, strict=True)):
                out.add(record)
        return out

    def is_singled(self, number: int, record: Tree) -> bool:
        """Whether a record holds something that fewer than k of a part and itself do."""
        part = self.parts[number]
        if record in part:
            return False
        own = set(known_of(record, self.story.m, self.story.n))
        counts: Counter[Knowledge] = Counter(dict.fromkeys(own, 1))
        for other, times in part.items():
            for known in own & set(known_of(other, self.story.m, self.story.n)):
                counts[known] += times
        return min(counts.values(), default=self.story.k) < self.story.k
