"""A forest with the places of every value, as the walks of the default search read it.

Labels that fewer than k records hold can never be published: each is published as the nearest label above it that more
hold. So walks read a smaller forest, in which these are that label, equal siblings merged, and the labels left are
numbered anew. What is published of it is what would be published of the whole.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from treeanon.arrays import Flags, Ints, Longs, Shorts, Words
from treeanon.forest import Forest
from treeanon.kernels.tree.label_splits import list_holders, supports
from treeanon.kernels.tree.record_sets import distinct_records
from treeanon.privacy import Guarantee
from treeanon.privacy.guarantee import roles_of

_BEYOND_CACHE = 1_000_000

_HUGE, _MOST_TRIED = 50_000_000, 2048
"""Of so many nodes no more labels than that are tried, those that most records hold: pairs of them are counted once for
all walks, which else count every label on the records."""


@dataclass(frozen=True)
class IndexedForest:
    """A forest of the known classes, with the places of every value: shared by all walks, never changed.

    Labels are numbers of its own: label i is `labels[i]` of the forest, and `number_of` says for each label of the
    forest as which number it can be published at best. `all_above` and `all_held` speak of the forest's labels.
    `holders` has for each label in turn the records of its nodes, ascending; label i begins at `starts[i]`.

    Walks read parents and labels again and again: of many nodes in short numbers, which take half as much of the
    memory's time, most of a walk's. Of few nodes all is in the cache.
    """

    offsets: Longs
    parent: Ints | Shorts
    label: Ints | Shorts
    holders: Ints
    starts: Longs
    above: Ints
    end: Ints
    held: Ints
    labels: Longs
    number_of: Ints
    all_above: Ints
    all_held: Ints
    types: int = 0
    kinds: int = 1
    least: int = 0
    """Labels that fewer records hold are published as one above them."""

    @classmethod
    def of(cls, forest: Forest, guarantee: Guarantee, *, condensed: bool = True) -> IndexedForest:
        """Return the index of a forest; nodes of classes that an attacker is not taken to know are passed over.

        If it is not to be `condensed`, labels keep their numbers, and rare ones are there, too.
        """
        return cls._of(forest, guarantee, generalize=True, least=guarantee.k if condensed else 0)

    @classmethod
    def as_is(cls, forest: Forest, guarantee: Guarantee) -> IndexedForest:
        """Return the index of a forest whose labels are taken as they are, with nothing above or below them."""
        return cls._of(forest, guarantee, generalize=False, least=0)

    @classmethod
    def _of(cls, forest: Forest, guarantee: Guarantee, *, generalize: bool, least: int) -> IndexedForest:
        known, classes = roles_of(forest, guarantee).known, forest.classes
        forest = forest.without([name for i, name in enumerate(classes.names) if i not in known and i >= classes.types])
        above, end = label_tree(forest)
        if not generalize:
            above, end = np.full_like(above, -1), np.arange(1, len(above) + 1, dtype=np.int32)
        held = supports(forest.offsets, forest.label, above)[0]
        # Objects are no labels: what is known of them is what they hold.
        held[1 : classes.types + 1] = 0
        least = _least(held, above, least) if least and forest.nodes >= _HUGE else least
        kept = (held >= least) | (above < 0)
        nearest = _nearest(kept, above)
        if not kept.all():
            forest = forest.relabel(nearest)
        labels = np.flatnonzero(kept)
        number_of = (np.cumsum(kept, dtype=np.int32) - 1)[nearest].astype(np.int32)
        most = max(len(labels), int(forest.parent.max(initial=0)))
        is_short = forest.nodes >= _BEYOND_CACHE and most <= np.iinfo(np.int16).max
        number_type: type = np.int16 if is_short else np.int32
        parent: Ints | Shorts = forest.parent.astype(number_type, copy=False)
        label: Ints | Shorts = number_of.astype(number_type)[forest.label]
        holders, starts = list_holders(forest.offsets, label, len(labels))
        up = above[labels]
        return cls(
            forest.offsets,
            parent,
            label,
            holders,
            starts,
            np.where(up < 0, -1, number_of[up]).astype(np.int32),
            np.searchsorted(labels, end[labels]).astype(np.int32),
            held[labels],
            labels,
            number_of,
            above,
            held,
            classes.types,
            classes.kinds,
            least,
        )

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def records_of(self, label: int, marks: Words) -> Ints:
        """Return the records that hold a label or something below it, ascending."""
        return distinct_records(self.holders[self.starts[label] : self.starts[self.end[label]]], marks)


def _least(held: Ints, above: Ints, least: int) -> int:
    """Return how many records must hold a label for it to be tried, so that no more than _MOST_TRIED are."""
    counts = np.sort(held[(held >= least) & (above >= 0)])
    room = max(_MOST_TRIED - int(np.count_nonzero(above < 0)), 0)
    # Of labels that as many hold as the first that is left out, none is tried.
    return least if len(counts) <= room else int(counts[len(counts) - room - 1]) + 1


def _nearest(kept: Flags, above: Ints) -> Ints:
    """Return for every label the nearest that is kept, itself or above it; roots are."""
    nearest = np.arange(len(above), dtype=np.int32)
    while not (there := kept[nearest]).all():
        nearest = np.where(there, nearest, above[nearest]).astype(np.int32)
    return nearest


def label_tree(forest: Forest) -> tuple[Ints, Ints]:
    """Return for every label its parent in the hierarchy (-1: a class root, or `*`) and the end of its subtree."""
    above, end = np.full(len(forest.classes), -1, np.int32), np.arange(1, len(forest.classes) + 1, dtype=np.int32)
    for first, hierarchy in zip(forest.classes.first, forest.classes.hierarchies, strict=False):
        codes = slice(first, first + len(hierarchy))
        above[codes] = np.where(hierarchy.parent < 0, -1, hierarchy.parent + first)
        end[codes] = hierarchy.end + first
    return above, end
