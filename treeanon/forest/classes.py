"""The labels of a forest: the classes, their tree, and one code for every node of every hierarchy.

Also what facets say of each value of their class, and of how many values records disagree.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, pairwise
from typing import Any

import numpy as np

from treeanon.arrays import Ints, unique_values
from treeanon.errors import UsageError
from treeanon.hierarchy import Hierarchy

STAR = "*"
"""Class and value of the one node above all class roots; its label is 0."""

_MANY = 4
"""All texts are made at once when one in this many is requested."""


@dataclass(frozen=True, eq=False)
class Classes:
    """What labels mean. Label 0 is `*`; the others number the hierarchies of the classes one after another.

    >>> from treeanon.hierarchy import Hierarchy
    >>> classes = Classes(("sex", "age"), (-1, -1), (Hierarchy.flat(["F", "M"]), Hierarchy.flat(["7"])))
    >>> len(classes), classes.decode(2), classes.label("age", "7")
    (6, ('sex', 'F'), 5)
    """

    names: tuple[str, ...]
    parents: tuple[int, ...]
    hierarchies: tuple[Hierarchy, ...]
    types: int = 0
    """The first classes are this many types of objects, of one label each (1 to `types`); 0 in merged trees."""

    def __post_init__(self) -> None:
        if not len(self.names) == len(self.parents) == len(self.hierarchies):
            raise ValueError("names, parents and hierarchies must have one entry per class")
        if any(not -1 <= parent < i for i, parent in enumerate(self.parents)):
            raise ValueError("a class must come after the class it lies under")

    def __len__(self) -> int:
        return int(self.first[-1])

    @cached_property
    def first(self) -> Ints:
        """The label of each class's root, and the number of labels at the end."""
        sizes = [len(hierarchy) for hierarchy in self.hierarchies]
        return np.cumsum([1, *sizes]).astype(np.int32)

    @cached_property
    def class_of(self) -> Ints:
        """The class of every label; -1 for `*`."""
        sizes = np.diff(self.first)
        return np.repeat(np.arange(-1, len(sizes), dtype=np.int32), [1, *sizes])

    @cached_property
    def texts(self) -> Sequence[str]:
        """The value text of every label; not all at once where a hierarchy makes its own on request."""
        if any(not isinstance(hierarchy.texts, tuple) for hierarchy in self.hierarchies):
            return _Texts(self)
        return [STAR, *chain.from_iterable(hierarchy.texts for hierarchy in self.hierarchies)]

    @cached_property
    def depth(self) -> Ints:
        """The depth of every class: how many types of objects it lies in, where objects stay whole."""
        out = np.zeros(len(self.parents), np.int32)
        for index, above in enumerate(self.parents):
            out[index] = 0 if above < 0 else out[above] + 1
        return out

    @cached_property
    def kinds(self) -> int:
        """How many kinds of relations there are: one, and in whole objects one for each depth of what can hold two
        labels.
        """
        held = np.bincount([above for above in self.parents if above >= 0], minlength=len(self.parents))
        inner = {above for above in self.parents[: self.types] if above >= 0}
        return max([1, *(int(self.depth[t]) + 1 for t in range(self.types) if held[t] > 1 or t in inner)])

    def type_of(self, owner: int, kind: int) -> int:
        """Return the type of objects at depth `kind` that a class lies in (-1: none, its objects are not so deep)."""
        above = self.parents[owner]
        while above >= 0 and self.depth[above] > kind:
            above = self.parents[above]
        return above if above >= 0 and self.depth[above] == kind else -1

    @property
    def tree(self) -> tuple[tuple[str | int, int], ...]:
        """What two collections must share to be compared: the names of classes, and what each lies under.

        How a type of objects is called depends on the format, and does not count.
        """
        names: list[str | int] = [*range(self.types), *self.names[self.types :]]
        return tuple(zip(names, self.parents, strict=True))

    def texts_of(self, owner: int, labels: Ints) -> list[str]:
        """Return the value texts of labels of one class.

        >>> from treeanon.hierarchy import Hierarchy
        >>> Classes(("sex",), (-1,), (Hierarchy.flat(["F", "M"]),)).texts_of(0, np.array([3, 2]))
        ['M', 'F']
        """
        codes = labels - self.first[owner]
        texts: Sequence[str] = self.hierarchies[owner].texts
        if len(codes) * _MANY > len(texts):
            texts = tuple(texts)
        return list(map(texts.__getitem__, codes.tolist()))

    def decoded(self, labels: Ints) -> list[tuple[str, str]]:
        """Return class and value of ascending labels.

        >>> from treeanon.hierarchy import Hierarchy
        >>> Classes(("sex",), (-1,), (Hierarchy.flat(["F", "M"]),)).decoded(np.array([0, 1, 3]))
        [('*', '*'), ('sex', '*'), ('sex', 'M')]
        """
        bounds = np.searchsorted(labels, self.first).tolist()
        found = [(STAR, STAR)] * bounds[0]
        for owner, (start, stop) in enumerate(pairwise(bounds)):
            if start < stop:
                found += [(self.names[owner], text) for text in self.texts_of(owner, labels[start:stop])]
        return found

    def text_rank(self, labels: Ints) -> Ints:
        """Return the places of different labels in the order of (class, value) as texts; 0 for all others."""
        labels = unique_values(labels)
        keys = self.decoded(labels)
        rank = np.zeros(len(self), np.int32)
        rank[labels[sorted(range(len(keys)), key=keys.__getitem__)]] = np.arange(len(keys), dtype=np.int32)
        return rank

    def index(self, name: str) -> int:
        """Return the number of the class of that name."""
        try:
            return self.names.index(name)
        except ValueError:
            known = ", ".join(self.names)
            raise UsageError(f"unknown class {name!r}; choose from {known}") from None

    def decode(self, label: int) -> tuple[str, str]:
        """Return class and value of a label."""
        owner = int(self.class_of[label])
        return (STAR if owner < 0 else self.names[owner]), self.texts[label]

    def label(self, name: str, text: str) -> int:
        """Return the label of a value of a class; UsageError if its hierarchy has no such node."""
        if name == STAR:
            return 0
        index = self.index(name)
        code = self.hierarchies[index].find(text)
        if code is None:
            raise UsageError(f"the hierarchy of class {name!r} has no node of that text")
        return int(self.first[index]) + code

    def type_label(self, name: str) -> int:
        """Return the label of a type of objects; UsageError if there is none of that name."""
        known = self.names[: self.types]
        if name not in known:
            raise UsageError(f"unknown type of objects {name!r}; choose from {', '.join(known) or 'none'}")
        return known.index(name) + 1

    def root(self, name: str) -> int:
        """Return the label of a class's root ("any value")."""
        return int(self.first[self.index(name)])


class _Texts(Sequence[str]):
    """The texts of all labels, made on request."""

    def __init__(self, classes: Classes) -> None:
        self.firsts: list[int] = classes.first.tolist()
        self.hierarchies = classes.hierarchies

    def __len__(self) -> int:
        return self.firsts[-1]

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, slice):
            return list(self)[at]
        label = range(len(self))[at]
        if not label:
            return STAR
        owner = bisect_right(self.firsts, label) - 1
        return self.hierarchies[owner].texts[label - self.firsts[owner]]

    def __iter__(self) -> Iterator[str]:
        return chain([STAR], chain.from_iterable(hierarchy.texts for hierarchy in self.hierarchies))


_END = "\0"


def node_text(text: str, value: str) -> str:
    """Return the text of the node of a facet above a value, which no other value has; the facet may be empty."""
    return f"{text}{_END}{value}"


def written(text: str) -> str:
    """Return what is written for the text of a node: of the node of a facet what it says, which may be nothing.

    >>> written("Flu"), written(node_text("Influenza", "J11")), written(node_text("", "J12"))
    ('Flu', 'Influenza', '')
    """
    return text.partition(_END)[0]


@dataclass
class FacetTexts:
    """What one facet is for each value of its class, and the values for which records disagree or leave it out.

    `alone` counts where it stands without a value.
    """

    texts: dict[str, str] = field(default_factory=dict)
    disagree: set[str] = field(default_factory=set)
    missing: set[str] = field(default_factory=set)
    alone: int = 0

    def add(self, value: str, text: str | None) -> None:
        """Take in that a value stands with this text somewhere, or with none."""
        if text is None:
            self.missing.add(value)
        elif self.texts.setdefault(value, text) != text:
            self.disagree.add(value)

    def agreed(self) -> dict[str, str]:
        """Return the text of each value for which all records agree."""
        lost = self.disagree | self.missing
        return {value: text for value, text in self.texts.items() if value not in lost}

    def counts(self) -> dict[str, int]:
        """Return how many values keep the facet, and how many lose it because records disagree or leave it out."""
        absent = (self.missing - self.disagree) & self.texts.keys()
        return {"values": len(self.agreed()), "disagree": len(self.disagree), "missing": len(absent)}

    def beyond(self) -> int:
        """Return how often the facet says more than its values; never in a release."""
        counts = self.counts()
        return counts["disagree"] + counts["missing"] + self.alone


def facet_counts(found: Mapping[tuple[str, str], FacetTexts]) -> dict[str, dict[str, dict[str, int]]]:
    """Return the counts of all facets, by class and facet."""
    made: dict[str, dict[str, dict[str, int]]] = {}
    for (name, facet), texts in found.items():
        made.setdefault(name, {})[facet] = texts.counts()
    return made
