"""A record before and after, and what became of each of its values: the one model that every renderer draws.

It holds *original* values. Renderers for the public show its `after` side alone, without `number`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

Change = Literal["generalised", "moved", "merged", "dropped"]
"""What can become of a node: its value is more general; it hangs under another; it is one with others; it is gone."""


@dataclass(frozen=True)
class Node:
    """A node as it is drawn: `id` is its own on its side (before or after), in preorder from 0."""

    id: int
    cls: str
    value: str
    children: tuple[Node, ...] = ()

    def walk(self) -> Iterator[Node]:
        """The node and all below it, in preorder."""
        yield self
        for child in self.children:
            yield from child.walk()


@dataclass(frozen=True)
class Fate:
    """What became of one node of the record as it was.

    `after` is the node that it became part of (None: it is gone), `moved_from` the original node that it no longer
    stands under, with whatever was between (None: it stands where it stood), and `changes` all that happened to it.
    """

    before: int
    after: int | None
    changes: frozenset[Change] = frozenset()
    moved_from: int | None = None


@dataclass(frozen=True)
class RecordChange:
    """One record before and after. `number` counts the input's records from 0; `after` is None if it was left out.

    `fates` has one entry per node of `before`, in the order of their ids. `change` is a share from 0 (as it was) to
    1 (nothing left), by which `--worst` sorts.
    """

    number: int
    before: tuple[Node, ...]
    after: tuple[Node, ...] | None
    fates: tuple[Fate, ...]
    change: float


@dataclass(frozen=True)
class RowChange:
    """One row of a table before and after, a text per column (None: missing); `after` is None if it was left out.

    `alike` is how many published rows have its quasi values, itself counted.
    """

    number: int
    columns: tuple[str, ...]
    before: tuple[str | None, ...]
    after: tuple[str | None, ...] | None
    alike: int
    change: float
