"""The synopsis tree of a forest: one node per distinct path of labels, with the ids of the records that hold it.

O. Gkountouna and M. Terrovitis, "Anonymizing collections of tree-structured data" (IEEE TKDE 2015), Section III-A.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from treeanon.arrays import Ints, Longs, unique_values
from treeanon.forest.forest import Forest
from treeanon.kernels.jit import read_only
from treeanon.kernels.tree.synopsis import group, merge_paths, merged_lists, record_lists


@dataclass(frozen=True, eq=False)
class Synopsis:
    """A tree of labels that holds all trees of a forest at once (Figure 11 of the paper).

    Node v has a parent (-1: the root, which is no node; parents come before their children), a label, and the records
    that have its path, ascending: records[starts[v] : starts[v + 1]]. It need not be read again to be projected.

    >>> import treeanon as ta
    >>> schema = ta.Schema.loads('version = 1\\n[input]\\nformat = "trees"\\n[[class]]\\nname = "disease"')
    >>> forest = ta.Forest.from_records(schema, [[["disease", "flu", []]], [["disease", "flu", []]]])
    >>> synopsis = Synopsis.of(forest)
    >>> len(synopsis), synopsis.support.tolist(), synopsis.records.tolist()
    (1, [2], [0, 1])
    """

    parent: Ints
    label: Ints
    starts: Longs
    records: Ints
    count: int
    labels: int

    @classmethod
    def of(cls, forest: Forest) -> Synopsis:
        """Return the synopsis of a forest."""
        return synopsis_and_nodes(forest)[0]

    def __len__(self) -> int:
        return len(self.parent)

    @property
    def support(self) -> Longs:
        """The number of records of every node."""
        return np.diff(self.starts)

    @cached_property
    def _sidelinks(self) -> tuple[Longs, Ints]:
        return group(self.label, self.labels)

    def sidelinks(self, label: int, after: int | None = None) -> Ints:
        """Return the nodes with this label (or one less than `after`) anywhere: the entry of the item index."""
        starts, nodes = self._sidelinks
        return nodes[starts[label] : starts[label + 1 if after is None else after]]

    def records_of(self, label: int) -> Ints:
        """Return the records with a node of this label, ascending (the item index's array L)."""
        parts = [self.records[self.starts[v] : self.starts[v + 1]] for v in self.sidelinks(label).tolist()]
        return unique_values(np.concatenate(parts)) if parts else np.zeros(0, np.int32)

    def project(self, mapping: Ints) -> Synopsis:
        """Return the synopsis with every label x replaced by mapping[x] (`Forest.cut_map` makes mappings).

        What gets its parent's label, as for the cut {*}, is merged into the parent.
        """
        label = np.asarray(mapping, np.int32)[self.label]
        above = np.where(label == 0, -1, self.parent).astype(np.int32)
        (label,) = read_only(label)
        node_of, parent, label = merge_paths(above, label, self.labels)
        groups, members = group(node_of, len(parent))
        everything = np.ones(len(parent), np.bool_)
        starts, records = merged_lists(groups, members, everything, self.starts, self.records, self.count)
        for v in np.flatnonzero(np.diff(groups) > 1).tolist():
            records[starts[v] : starts[v + 1]].sort()
        return Synopsis(parent, label, starts, records, self.count, self.labels)

    def as_dict(self) -> Mapping[tuple[int, ...], list[int]]:
        """Return the records of every path of labels, for inspection of small ones."""
        paths: list[tuple[int, ...]] = []
        for up, label in zip(self.parent.tolist(), self.label.tolist(), strict=True):
            paths.append((*(paths[up] if up >= 0 else ()), label))
        lists = np.split(self.records, self.starts[1:-1])
        return {path: found.tolist() for path, found in zip(paths, lists, strict=False)}


def synopsis_and_nodes(forest: Forest) -> tuple[Synopsis, Ints]:
    """Return the synopsis of a forest, and the synopsis node of every node of the forest."""
    first = np.repeat(forest.offsets[:-1], np.diff(forest.offsets))
    above = np.where(forest.parent < 0, -1, forest.parent + first).astype(np.int32)
    node_of, parent, label = merge_paths(above, forest.label, len(forest.classes))
    starts, records = record_lists(forest.offsets, node_of, len(parent))
    return Synopsis(parent, label, starts, records, len(forest), len(forest.classes)), node_of
