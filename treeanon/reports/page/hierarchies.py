"""Drawings of hierarchies with the cut; similar nodes are counted instead of drawn."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from treeanon.forest import Forest
from treeanon.hierarchy import Hierarchy
from treeanon.kernels.tree.losses import count_records_with
from treeanon.reports.page.elements import Element, el, shown
from treeanon.reports.page.trees import GAP, Box, Placed, drawn, place
from treeanon.table import Column

MAX_ROWS = 40
MAX_CHILDREN = 9
MAX_DEPTH = 12
STEP, HIGH = 32, 26

_UNKNOWN = -2
"""The key of a box that hides a part of the cut."""

_PUBLISHED = -3
"""The key of a box that stands for several published nodes."""


@dataclass(frozen=True)
class DrawnHierarchy:
    """A hierarchy with its published nodes, and the number of persons (or other `things`) with each of them."""

    name: str
    hierarchy: Hierarchy
    published: frozenset[int]
    persons: Mapping[int, int]
    things: str = "persons"


def held_by_class(forest: Forest) -> Iterator[tuple[str, Hierarchy, dict[int, int]]]:
    """Yield every class with its hierarchy, and the number of persons for each occurring node."""
    classes = forest.classes
    support = count_records_with(forest.offsets, forest.label, len(classes))
    for index, name in enumerate(classes.names):
        first, hierarchy = int(classes.first[index]), classes.hierarchies[index]
        own = support[first : first + len(hierarchy)]
        yield name, hierarchy, {int(node): int(own[node]) for node in np.flatnonzero(own)}


def held_in(column: Column) -> dict[int, int]:
    """Return the number of rows for each occurring value."""
    codes, counts = np.unique(column.codes[column.codes >= 0], return_counts=True)
    return dict(zip(codes.tolist(), counts.tolist(), strict=True))


def standing(hierarchy: Hierarchy, cut: Iterable[int | None]) -> list[int]:
    """Return the nodes of a cut that some leaf is published as; other nodes of the cut replace the rest for all leaves.

    >>> lung = Hierarchy.from_paths([["flu", "lung", "*"], ["asthma", "lung", "*"], ["acne", "*"]])
    >>> [lung.texts[node] for node in standing(lung, [0, 1, 2, 3])]
    ['*', 'flu', 'asthma']
    """
    left: dict[int, int] = {}
    above: list[int] = []
    for node in sorted({node for node in cut if node is not None}):
        while above and hierarchy.end[above[-1]] <= node:
            above.pop()
        left[node] = int(hierarchy.leaf_count[node])
        if above:
            left[above[-1]] -= left[node]
        above.append(node)
    return [node for node, leaves in left.items() if leaves]


def published_alone(
    name: str, hierarchy: Hierarchy, persons: Mapping[int, int], things: str = "persons"
) -> DrawnHierarchy:
    """Return the hierarchy restricted to occurring nodes; its root is the class itself.

    >>> lung = Hierarchy.from_paths([["flu", "lung", "*"], ["asthma", "lung", "*"], ["acne", "*"]])
    >>> alone = published_alone("disease", lung, {1: 5, 2: 7})
    >>> alone.hierarchy.texts, alone.hierarchy.parent.tolist(), dict(alone.persons)
    (('any disease', 'lung', 'flu'), [-1, 0, 1], {1: 5, 2: 7})
    """
    root = hierarchy.texts[0] if 0 in persons else f"any {name}"
    texts, parents, counts = [root], [-1], {}
    if 0 in persons:
        counts[0] = persons[0]
    # In preorder, the nearest ancestor is the last earlier node whose subtree has not ended.
    open_nodes = [(len(hierarchy), 0)]
    for node in sorted(node for node in persons if node > 0):
        while open_nodes[-1][0] <= node:
            open_nodes.pop()
        counts[len(texts)] = persons[node]
        parents.append(open_nodes[-1][1])
        open_nodes.append((int(hierarchy.end[node]), len(texts)))
        texts.append(hierarchy.texts[node])
    if root in texts[1:]:
        texts[0] = " " + root
    return DrawnHierarchy(name, Hierarchy(tuple(texts), np.array(parents)), frozenset(counts), counts, things)


def hierarchy_svg(drawn_one: DrawnHierarchy, *, line: bool = True) -> Element:
    """Return the hierarchy as an SVG element: published nodes are filled, and the cut is a line behind them."""
    placed = place([_Folding(drawn_one).root()], step=STEP)
    count = len(drawn_one.published)
    title = f"Hierarchy of {drawn_one.name}: {count:,} {'node is' if count == 1 else 'nodes are'} published"
    lines = _cut_line(placed) if line else []
    return drawn(placed, title, lines, room=GAP, high=HIGH)


class _Folding:
    """Selects the nodes to draw: those above the cut, then those of the cut; nodes below are counted."""

    def __init__(self, of: DrawnHierarchy) -> None:
        self.of, self.hierarchy = of, of.hierarchy
        flags = np.zeros(len(of.hierarchy) + 1, np.int64)
        flags[1:][list(of.published)] = 1
        self.sums = np.cumsum(flags)
        self.rows = 1

    def within(self, node: int) -> int:
        """Return the number of published nodes below a node."""
        return int(self.sums[self.hierarchy.end[node]] - self.sums[node + 1])

    def root(self) -> Box:
        """Return the box of the root, with all boxes below it."""
        root = self._box(0, covered=False)
        queue = deque([(0, root, 0, 0 in self.of.published)])
        while queue:
            node, box, depth, covered = queue.popleft()
            if not self.within(node):
                self._fold_below(node, box, covered)
            elif self.rows >= MAX_ROWS or depth >= MAX_DEPTH:
                text = f"… {self.within(node):,} published"
                box.children = [Box(text, css="more", bare=True, edge="more", key=_UNKNOWN)]
            else:
                queue += [(child, into, depth + 1, above) for child, into, above in self._open(node, box, covered)]
        return root

    def _fold_below(self, node: int, box: Box, covered: bool) -> None:
        leaves = int(self.hierarchy.leaf_count[node])
        if covered and not self.hierarchy.is_leaf(node):
            some = [self.hierarchy.texts[leaf] for leaf in self.hierarchy.leaves(node)[:3].tolist()]
            text = ", ".join(shown(one, 40) for one in some) + (", …" if leaves > len(some) else "")
            hint = f"{leaves:,} {'value' if leaves == 1 else 'values'}: {text}"
            box.children = [Box(hint, css="below", hint=hint, bare=True, edge="below")]

    def _open(self, node: int, box: Box, covered: bool) -> Iterable[tuple[int, Box, bool]]:
        """Return the children to draw with their boxes; the others are counted."""
        children = self.hierarchy.children(node)
        first = sorted(children, key=lambda c: (not self.within(c), c not in self.of.published, -self._count(c)))
        chosen = set(first[:MAX_CHILDREN])
        opened = []
        for child in children:
            if child in chosen:
                above = covered or child in self.of.published
                opened.append((child, self._box(child, covered=covered), above))
        box.children = [one for _, one, _ in opened] + self._folded(first[MAX_CHILDREN:], covered)
        self.rows += len(box.children) - 1
        return opened

    def _count(self, node: int) -> int:
        return self.of.persons.get(node, 0)

    def _folded(self, rest: Sequence[int], covered: bool) -> list[Box]:
        """Return a box for each kind of children that is not drawn."""
        parts = [node for node in rest if self.within(node)]
        whole = [node for node in rest if not self.within(node) and node in self.of.published]
        others = len(rest) - len(parts) - len(whole)
        boxes = []
        if parts:
            boxes.append(Box(f"… {len(parts):,} more, cut further down", css="more", bare=True, key=_UNKNOWN))
        if whole:
            boxes.append(Box(f"… {len(whole):,} more published", css="more", bare=True, key=_PUBLISHED))
        if others:
            words = "more, published generalized" if covered else "more, with no persons"
            boxes.append(Box(f"… {others:,} {words}", css="more", bare=True))
        return boxes

    def _box(self, node: int, *, covered: bool) -> Box:
        published = node in self.of.published
        inside = published or bool(self.within(node))
        css = "published" if published else "" if inside else "below"
        text, count = self.hierarchy.texts[node], self._count(node)
        persons = f": {count:,} {self.of.things[:-1] if count == 1 else self.of.things}" if count else ""
        state = "published" if published else "published generalized" if covered else "not published itself"
        return Box(
            text,
            css=css,
            marks=f"{count:,}" if count else "",
            hint=f"{shown(text, 200)}, {state}{persons}",
            key=node if published else -1,
        )


def _cut_line(placed: Sequence[Placed]) -> list[Element]:
    """Return the line of the cut, which in every row is behind the published node of the row's values."""
    points: list[tuple[float, float]] = []
    lines: list[Element] = []
    for one in [one for one in placed if not one.box.children]:
        at = _published_above(one)
        if at is None:
            lines += _path(points)
            points = []
        else:
            points.append((at.right + GAP / 2, one.y))
    return lines + _path(points)


def _published_above(one: Placed) -> Placed | None:
    at: Placed | None = one
    while at is not None:
        if at.box.key == _UNKNOWN:
            return None
        if at.box.key >= 0 or at.box.key == _PUBLISHED:
            return at
        at = at.up
    return None


def _path(points: Sequence[tuple[float, float]]) -> list[Element]:
    if not points:
        return []
    half = STEP / 2
    path = f"M{points[0][0]:.1f} {points[0][1] - half:.1f}"
    for x, y in points:
        path += f"H{x:.1f}V{y + half:.1f}"
    return [el("path", d=path, class_="cut")]
