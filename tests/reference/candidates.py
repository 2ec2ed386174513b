"""What the guarantee means, by brute force: for all that is known of an original person, the records it may be.

Trees are frozensets of (label, children); labels are (class, value). Nothing here shares code with the package.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations, product

Label = tuple[str, str]
Tree = frozenset  # of (Label, Tree)
Pair = tuple[Label, Label]


def merged(nodes: Iterable[tuple[Label, Tree]]) -> Tree:
    """A tree of nodes, those with equal labels made one, and so on below."""
    below: dict[Label, list[tuple[Label, Tree]]] = {}
    for label, children in nodes:
        below.setdefault(label, []).extend(children)
    return frozenset((label, merged(children)) for label, children in below.items())


@dataclass(frozen=True)
class Schema:
    """Classes from the top of their tree down, each with the class that it lies under ("" for the root)."""

    under: Mapping[str, str]

    def above(self, name: str) -> list[str]:
        """The classes above a class, the nearest first."""
        out = []
        while name := self.under[name]:
            out.append(name)
        return out

    def trees(self, values: Mapping[str, Iterable[str]]) -> list[Tree]:
        """All trees over the values of the classes, heads missing wherever they may."""

        def below(name: str) -> list[Tree]:
            inner = [one for one in self.under if name in self.above(one) or not name]
            choices = []
            for one in inner:
                for value in values[one]:
                    choices.append([None, *(((one, value), tree) for tree in below(one))])
            return [frozenset(node for node in chosen if node is not None) for chosen in product(*choices)]

        return below("")


def facts(tree: Tree) -> tuple[set[Label], set[Pair]]:
    """The labels of a tree, and its pairs of labels one above the other."""
    labels: set[Label] = set()
    pairs: set[Pair] = set()

    def walk(nodes: Tree, above: tuple[Label, ...]) -> None:
        for label, children in nodes:
            labels.add(label)
            pairs.update((upper, label) for upper in above)
            walk(children, (*above, label))

    walk(tree, ())
    return labels, pairs


@dataclass(frozen=True)
class Attacker:
    """What may be known of a person: 1 to m labels and up to n relations between them, and more.

    With `joint`, also that the relations speak of the same nodes, each label of one. Of classes in `negative` also
    labels that a person lacks ("-" before the class), and, of a label of them, that it is not below another: a relation
    to such an absence. That may be known of labels in `exact` alone, if given. `labels` are all that anybody may have;
    nothing is known of `hidden` classes.
    """

    m: int
    n: int
    joint: bool = False
    negative: tuple[str, ...] = ()
    labels: tuple[Label, ...] = ()
    hidden: tuple[str, ...] = ()
    exact: frozenset[Label] | None = None

    def sees(self, tree: Tree) -> Tree:
        """The part of a tree that something may be known of."""
        return frozenset((label, self.sees(below)) for label, below in tree if label[0] not in self.hidden)

    def knows(self, schema: Schema, tree: Tree) -> Iterator[tuple[bool, frozenset[Label], frozenset[Pair]]]:
        """Everything that may be known of a person; the first says whether the same nodes are meant."""
        placed = _placed(tree, ())
        held = {path[-1] for path in placed}
        absent = {("-" + name, value) for name, value in self.labels if name in self.negative} - {
            ("-" + name, value) for name, value in held
        }
        for size in range(1, self.m + 1):
            for chosen in combinations(sorted(held | absent), size):
                here = [label for label in chosen if label in held]
                pairs = [(a, b) for a in here for b in here if a[0] in schema.above(b[0])]
                below = {pair for pair in pairs if any(_is_below(pair[0], path, pair[1]) for path in placed)}
                facts = [pair if pair in below else _denied(pair) for pair in pairs if pair in below or self._may(pair)]
                yield from ((False, frozenset(chosen), related) for related in _some(facts, self.n))
                if self.joint:
                    yield from ((True, frozenset(chosen), related) for related in self._jointly(here, pairs, placed))

    def _may(self, pair: Pair) -> bool:
        return pair[1][0] in self.negative and (self.exact is None or pair[1] in self.exact)

    def _jointly(self, here: list[Label], pairs: list[Pair], placed: list[Path]) -> set[frozenset[Pair]]:
        """Relations that hold when every label stands for one node."""
        found: set[frozenset[Pair]] = set()
        for nodes in product(*([path for path in placed if path[-1] == label] for label in here)):
            at = dict(zip(here, nodes, strict=True))
            facts = [(a, b) for a, b in pairs if at[b][: len(at[a])] == at[a]]
            lacking = [(a, b) for a, b in pairs if not any(p[: len(at[a])] == at[a] and p[-1] == b for p in placed)]
            facts += [_denied(pair) for pair in lacking if self._may(pair)]
            found.update(_some(facts, self.n))
        return found


Path = tuple[Label, ...]
"""A node, by the labels from the root down to it: siblings have different labels."""


def _placed(tree: Tree, above: Path) -> list[Path]:
    out = []
    for label, children in tree:
        out += [(*above, label), *_placed(children, (*above, label))]
    return out


def _is_below(upper: Label, path: Path, lower: Label) -> bool:
    return path[-1] == lower and upper in path[:-1]


def _denied(pair: Pair) -> Pair:
    return pair[0], ("-" + pair[1][0], pair[1][1])


def _some(facts: Iterable[Pair], n: int) -> Iterator[frozenset[Pair]]:
    listed = sorted(facts)
    for count in range(min(n, len(listed)) + 1):
        yield from map(frozenset, combinations(listed, count))


@dataclass(frozen=True)
class Recipe:
    """A solution: what each label is published as, relations to end by moving, and rules of leaving out, in order."""

    schema: Schema
    published_as: Mapping[Label, Label]
    disassociated: tuple[Pair, ...] = ()
    left_out: tuple[Pair, ...] = ()
    withheld: frozenset[str] = frozenset()

    def publish(self, tree: Tree) -> Tree:
        """The record that is published for an original tree."""
        tree = self._project(tree)
        for pair in self.disassociated:
            tree = self._move(tree, *pair)
        for rule in self.left_out:
            tree = self._leave_out(tree, *rule)
        return tree

    def _project(self, tree: Tree) -> Tree:
        out: list[tuple[Label, Tree]] = []
        for label, children in tree:
            below = self._project(children)
            out += below if label[0] in self.withheld else [(self.published_as.get(label, label), below)]
        return merged(out)

    def _move(self, tree: Tree, upper: Label, lower: Label) -> Tree:
        out: list[tuple[Label, Tree]] = []
        for label, children in tree:
            if label == upper:
                children, found = self._cut(children, lower)
                out += [(lower, frozenset())] if found else []
                out.append((label, children))
            else:
                out.append((label, self._move(children, upper, lower)))
        return merged(out)

    def _cut(self, tree: Tree, lower: Label) -> tuple[Tree, bool]:
        """The tree without nodes of a label, whose children stay where they were; and whether there was one."""
        out: list[tuple[Label, Tree]] = []
        found = False
        for label, children in tree:
            if label == lower:
                inner, _ = self._cut(children, lower)
                out += inner
                found = True
            else:
                inner, deeper = self._cut(children, lower)
                out.append((label, inner))
                found |= deeper
        return merged(out), found

    def _leave_out(self, tree: Tree, upper: Label, lower: Label, above: tuple[Label, ...] = ()) -> Tree:
        beside = {label for label, _ in tree}
        out = []
        for label, children in tree:
            if label != lower or upper not in {*above, *beside}:
                out.append((label, self._leave_out(children, upper, lower, (*above, label))))
        return frozenset(out)


@dataclass(frozen=True)
class Candidates:
    """The released records that each person may be, for whoever knows something of a person and the recipe."""

    released: list[Tree]
    groups: list[list[int]]

    @classmethod
    def of(cls, persons: list[Tree], recipe: Recipe, world: list[Tree], attacker: Attacker) -> Candidates:
        """The groups of candidates for everything that can be known of any of these persons.

        `world` has all trees without hidden classes: these are published as they are.
        """
        origins: dict[Tree, list[Tree]] = {}
        for tree in world:
            origins.setdefault(recipe.publish(tree), []).append(tree)
        released = [recipe.publish(tree) for tree in persons]
        visible = [attacker.sees(record) for record in released]
        may_be = {
            record: set().union(*(attacker.knows(recipe.schema, tree) for tree in origins[record]))
            for record in set(visible)
        }
        wanted = set().union(*(attacker.knows(recipe.schema, attacker.sees(tree)) for tree in set(persons)))
        return cls(released, [[i for i, seen in enumerate(visible) if known in may_be[seen]] for known in wanted])

    @property
    def least(self) -> int:
        """The fewest candidates that there are for anything; all, where nothing can be known."""
        return min(map(len, self.groups), default=len(self.released))

    def are_diverse(self, name: str, l: int, diversity: str) -> bool:  # noqa: E741 - its name in the literature
        """Whether a sensitive class is l-diverse in every group of candidates."""
        held = [{label for label in facts(tree)[0] if label[0] == name} for tree in self.released]
        for group in self.groups:
            for value in set().union(*(held[i] for i in group)):
                holders = [i for i in group if value in held[i]]
                left = set().union(*(held[i] for i in group if i not in holders))
                if len(left) < l if diversity == "distinct" else len(holders) * l > len(group):
                    return False
        return True
