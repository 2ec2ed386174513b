"""Trees as plain nested lists [[class, value, [children]], ...], and what SPEC §1 does to them, plainly."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

Tree = list[list[Any]]
Label = tuple[str, str]


def merged(nodes: Tree) -> Tree:
    """Equal siblings merged, recursively, and sorted."""
    children: dict[Label, Tree] = {}
    for name, value, below in nodes:
        children.setdefault((name, value), []).extend(below)
    return [[name, value, merged(below)] for (name, value), below in sorted(children.items())]


def paths(nodes: Tree, above: tuple[Label, ...] = ()) -> Iterator[tuple[Label, ...]]:
    """The labels from the top down to every node."""
    for name, value, below in nodes:
        yield (*above, (name, value))
        yield from paths(below, (*above, (name, value)))


def tree_of_paths(found: Iterable[tuple[Label, ...]]) -> Tree:
    """The merged tree that has exactly these nodes (a node is known by the labels on the way to it)."""
    top: dict[Label, Any] = {}
    for path in found:
        at = top
        for label in path:
            at = at.setdefault(label, {})

    def listed(level: dict[Label, Any]) -> Tree:
        return [[*label, listed(below)] for label, below in sorted(level.items())]

    return listed(top)


def published_as(value: str, parents: Mapping[str, str], chosen: set[str]) -> str:
    """The nearest ancestor-or-self of a value that is chosen; the value itself if there is none."""
    at: str | None = value
    while at is not None:
        if at in chosen:
            return at
        at = parents.get(at)
    return value


def projected(nodes: Tree, parents: Mapping[str, Mapping[str, str]], cut: Mapping[str, Iterable[str]]) -> Tree:
    """The record projected to a cut; `parents` has child to parent for every class."""
    out = set()
    for path in paths(nodes):
        out.add(
            tuple(
                (name, published_as(value, parents[name], set(cut[name])) if name in cut else value)
                for name, value in path
            )
        )
    return tree_of_paths(out)


def projected_to_star(nodes: Tree) -> Tree:
    """The record projected to {*}: every node has its parent's label, and is merged into it."""
    return [["*", "*", []]] if nodes else []


def disassociated(nodes: Tree, upper: Label, lower: Label) -> Tree:
    """The record after upper and lower were disassociated.

    Each `lower` below an `upper` becomes a leaf child of upper's parent, its children go to its own former parent.
    """
    out: set[tuple[Label, ...]] = set()
    for path in paths(nodes):
        if upper in path and lower in path[path.index(upper) + 1 :]:
            # what is below the moved node stays where that was; the moved node is a leaf beside upper
            rest = tuple(label for label in path if label != lower)
            out.add(rest)
            out.add((*path[: path.index(upper)], lower))
        else:
            out.add(path)
    return tree_of_paths(out)


def disassociated_in_order(nodes: Tree, pairs: Iterable[tuple[Label, Label]]) -> Tree:
    nodes = merged(nodes)
    for upper, lower in pairs:
        nodes = disassociated(nodes, upper, lower)
    return nodes


def left_out_in_order(nodes: Tree, rules: Iterable[tuple[Label, Label]], parents: Mapping[str, str | None]) -> Tree:
    """The record without what rules leave out, those whose triggers are of upper classes first.

    `parents` has the class that each class lies under, None for those at the top.
    """
    for upper, lower in sorted(rules, key=lambda rule: len(classes_above(rule[0][0], parents))):
        nodes = left_out(nodes, upper, lower, ())
    return nodes


def left_out(nodes: Tree, upper: Label, lower: Label, above: tuple[Label, ...]) -> Tree:
    """The record without every `lower` below an `upper`, or beside one, with all below it."""
    told = {*above, *((name, value) for name, value, _ in nodes)}
    return [
        [name, value, left_out(below, upper, lower, (*above, (name, value)))]
        for name, value, below in nodes
        if (name, value) != lower or upper not in told
    ]


def classes_above(name: str, parents: Mapping[str, str | None]) -> list[str]:
    """The classes that a class lies under, the nearest first."""
    out: list[str] = []
    up = parents.get(name)
    while up is not None:
        out.append(up)
        up = parents.get(up)
    return out


def with_traces(records: Iterable[Tree], parents: Mapping[str, str | None]) -> list[Tree]:
    """The records with a leaf b below a for every trace of an ended relation: a b beside an a of an upper class."""
    records = list(records)
    related = {(path[i], path[-1]) for record in records for path in paths(record) for i in range(len(path) - 1)}

    def traced(nodes: Tree) -> Tree:
        beside = {(name, value) for name, value, _ in nodes}
        return [
            [
                name,
                value,
                traced(below)
                + [
                    [*lower, []]
                    for lower in sorted(beside)
                    if name in classes_above(lower[0], parents) and ((name, value), lower) not in related
                ],
            ]
            for name, value, below in nodes
        ]

    return [merged(traced(record)) for record in records]


def multiset(records: Iterable[Tree]) -> list[str]:
    """Records without their order: equal lists mean equal collections."""
    return sorted(repr(merged(record)) for record in records)


def count_nodes(nodes: Tree) -> int:
    return sum(1 + count_nodes(below) for _, _, below in nodes)
