"""Hierarchies of the concepts of a terminology: codes with names and parents, of which a concept may have several.

Of several parents the one with the longest way to the top counts, which is the most special one; of equally long ways
that of the smallest code, by the order of its characters.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from treeanon.arrays import unique_values
from treeanon.errors import HierarchyError
from treeanon.hierarchy.links import ROOT, Ids, places
from treeanon.hierarchy.model import Hierarchy
from treeanon.hierarchy.ordering import preorder

MOST_LEVELS = 10_000
_MOST_PLACES = 5


@dataclass(frozen=True, eq=False)
class Concepts:
    """Codes and their names as a file has them, and links from children to parents, each with its place there."""

    codes: Sequence[str]
    names: Sequence[str]
    child: Ids
    above: Ids
    place: NDArray[np.int64]
    unit: str = "line"


@dataclass(frozen=True, eq=False)
class Terminology:
    """Builder: a code lies in the concepts above it, which are published with their names; see `terminology`."""

    codes: Sequence[str]
    names: Sequence[str]
    parent: Ids
    inner: NDArray[np.bool_]
    index: dict[str, int]

    @classmethod
    def of(cls, concepts: Concepts) -> Terminology:
        """Return the builder; an error if parents make a cycle or codes cannot be told from labels.

        >>> links = np.array([1, 2]), np.array([0, 0]), np.array([2, 3])
        >>> found = Terminology.of(Concepts(["10", "20", "30"], ["lung", "flu", "cold"], *links))
        >>> found.build(["20", "30", "10"]).texts
        ('*', '10', '20', '30')
        """
        count = len(concepts.codes)
        rank = np.empty(count, dtype=np.int64)
        rank[sorted(range(count), key=concepts.codes.__getitem__)] = np.arange(count)
        parent = _one_parent(concepts, rank)
        tops = np.flatnonzero(parent < 0)
        if len(tops) == 1:
            # what is above all is the root of the hierarchy already
            parent = np.where(parent == tops[0], -1, parent)
        inner = np.zeros(count, dtype=np.bool_)
        inner[parent[parent >= 0]] = True
        made = cls(concepts.codes, concepts.names, parent, inner, dict(zip(concepts.codes, range(count), strict=True)))
        made._check_labels()
        return made

    def label(self, concept: int) -> str:
        """Return the text of a concept's node: its code, and its name where other concepts lie under it."""
        name = self.names[concept] if self.inner[concept] else ""
        return f"{self.codes[concept]} {name}" if name else self.codes[concept]

    def _check_labels(self) -> None:
        if "" in self.index or ROOT in self.index:
            raise HierarchyError(f"a code is empty or {ROOT!r}, which every hierarchy has")
        if any(" " in code for code in self.codes):
            labels = [self.label(concept) for concept in np.flatnonzero(self.inner).tolist()]
            named = [label for label in labels if label not in self.index or self.names[self.index[label]]]
            if len(set(labels)) < len(labels) or any(label in self.index and " " in label for label in named):
                raise HierarchyError("a code with its name is the same text as another code: they cannot be told apart")

    def build(self, values: Iterable[str]) -> Hierarchy:
        """Return the hierarchy of the values that are codes, or labels of concepts, with what lies above them."""
        texts = sorted(set(values) - {"", ROOT})
        found = np.fromiter(map(self._concept, texts), dtype=np.intp, count=len(texts))
        concepts = self._with_ancestors(found[found >= 0])
        number = np.full(len(self.codes) + 1, -1, dtype=np.intp)
        number[concepts] = np.arange(len(concepts))
        labels = [self.label(concept) for concept in concepts.tolist()]
        parents = number[self.parent[concepts]]
        # A code whose concept has a name and others under it is a value in that concept's node.
        own = [at for at, concept in enumerate(found.tolist()) if concept >= 0 and self.label(concept) != texts[at]]
        labels += [texts[at] for at in own]
        parents = np.append(parents, number[found[own]])
        rank = np.empty(len(labels), dtype=np.int64)
        rank[sorted(range(len(labels)), key=labels.__getitem__)] = np.arange(len(labels))
        return Hierarchy(*preorder(labels, parents, rank))

    def _concept(self, text: str) -> int:
        """Return the concept of a code or label, -1 for another text."""
        concept = self.index.get(text, -1)
        blank = text.find(" ") if concept < 0 else -1
        while concept < 0 <= blank:
            candidate = self.index.get(text[:blank], -1)
            if candidate >= 0 and self.label(candidate) == text:
                concept = candidate
            blank = text.find(" ", blank + 1)
        return concept

    def _with_ancestors(self, concepts: Ids) -> Ids:
        is_needed = np.zeros(len(self.codes), dtype=np.bool_)
        while len(concepts):
            is_needed[concepts] = True
            above = self.parent[concepts]
            above = unique_values(above[above >= 0])
            concepts = above[~is_needed[above]]
        return np.flatnonzero(is_needed)


def _one_parent(concepts: Concepts, rank: NDArray[np.int64]) -> Ids:
    """Return the parent of each concept that counts, -1 for those without."""
    depth = _longest_ways(len(concepts.codes), concepts.child, concepts.above)
    if (depth < 0).any():
        raise _cycle(concepts, depth)
    order = np.lexsort((rank[concepts.above], -depth[concepts.above], concepts.child))
    children, first = np.unique(concepts.child[order], return_index=True)
    parent = np.full(len(concepts.codes), -1, dtype=np.intp)
    parent[children] = concepts.above[order][first]
    return parent


def _longest_ways(count: int, child: Ids, above: Ids) -> NDArray[np.int64]:
    """Return the links of the longest way from each concept to a top, -1 for those on and below cycles."""
    order = np.argsort(above, kind="stable")
    below, start = child[order], np.searchsorted(above[order], np.arange(count + 1))
    waiting = np.bincount(child, minlength=count)
    depth = np.full(count, -1, dtype=np.int64)
    layer, level = np.flatnonzero(waiting == 0), 0
    while len(layer):
        if level > MOST_LEVELS:
            raise HierarchyError(f"concepts lie more than {MOST_LEVELS:,} levels deep")
        depth[layer] = level
        lengths = start[layer + 1] - start[layer]
        ends = np.cumsum(lengths)
        at = np.repeat(start[layer] - ends + lengths, lengths) + np.arange(int(ends[-1]))
        reached, times = np.unique(below[at], return_counts=True)
        waiting[reached] -= times
        layer, level = reached[waiting[reached] == 0], level + 1
    return depth


def _cycle(concepts: Concepts, depth: NDArray[np.int64]) -> HierarchyError:
    """Return the error for a cycle, with the places of its links."""
    within = np.flatnonzero((depth[concepts.child] < 0) & (depth[concepts.above] < 0))
    link = dict(zip(concepts.child[within].tolist(), within.tolist(), strict=True))
    walked: dict[int, int] = {}
    concept = min(link)
    while concept not in walked:
        walked[concept] = link[concept]
        concept = int(concepts.above[link[concept]])
    on_cycle = list(walked.values())[list(walked).index(concept) :]
    where = places(concepts.unit, [int(concepts.place[each]) for each in on_cycle[:_MOST_PLACES]])
    return HierarchyError(f"{where}: a concept lies above itself: parents must not make a cycle")
