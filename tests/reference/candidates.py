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


def known(tree: Tree, m: int, n: int) -> Iterator[tuple[frozenset[Label], frozenset[Pair]]]:
    """Everything that an attacker may know of a person: 1 to m labels, and up to n relations between them."""
    labels, pairs = facts(tree)
    for size in range(1, m + 1):
        for chosen in combinations(sorted(labels), size):
            inside = sorted(pair for pair in pairs if pair[0] in chosen and pair[1] in chosen)
            for count in range(min(n, len(inside)) + 1):
                for related in combinations(inside, count):
                    yield frozenset(chosen), frozenset(related)


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


def least_candidates(persons: list[Tree], recipe: Recipe, world: list[Tree], m: int, n: int) -> int:
    """The least number of released records that a person may be, over all that can be known of any person."""
    origins: dict[Tree, list[Tree]] = {}
    for tree in world:
        origins.setdefault(recipe.publish(tree), []).append(tree)
    released = [recipe.publish(tree) for tree in persons]
    may_be = {}
    for record in set(released):
        may_be[record] = set().union(*(set(known(tree, m, n)) for tree in origins[record]))
    wanted = set().union(*(set(known(tree, m, n)) for tree in persons))
    return min((sum(knowledge in may_be[record] for record in released) for knowledge in wanted), default=len(persons))
