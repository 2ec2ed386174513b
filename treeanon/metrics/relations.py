"""Relations kept: which part of the input's ancestor-descendant pairs of labels a release still shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from treeanon.forest import Forest
from treeanon.kernels.tree.forest import Longs
from treeanon.kernels.tree.losses import count_relations
from treeanon.metrics.labels import released_as


@dataclass(frozen=True)
class RelationsKept:
    """The share of relations kept, in total and by pair of classes (`upper>lower`) that the input relates.

    `relations` has how many there were and are, by the same pairs: the different pairs of labels of each record.
    """

    total: float
    by_pair: Mapping[str, float]
    relations: Mapping[str, tuple[int, int]]


def relation_counts(forest: Forest) -> Longs:
    """For every two classes the different (upper, lower) pairs of labels in a record, summed over the records."""
    classes = forest.classes
    return count_relations(forest.offsets, forest.parent, forest.label, classes.class_of, len(classes.names))


def relations_kept(
    before: Forest, after: Forest, kept: Longs | None = None, *, counted: Longs | None = None
) -> RelationsKept:
    """The share of the input's relations that the release shows; 1 where there were none.

    Relations are counted by record and by labels, so those that become equal count once: a release keeps fewer of them
    when it is more general, as well as by disassociation and suppression. A search that asks often gives the counts of
    the input as `counted` (`relation_counts(before)`).

    >>> import treeanon as ta
    >>> schema = ta.Schema.loads('version = 1\\n[input]\\nformat = "trees"\\n[[class]]\\nname = "hospital"\\n'
    ...     '[[class]]\\nname = "disease"\\nunder = "hospital"')
    >>> diseases = [["disease", "flu", []], ["disease", "acne", []]]
    >>> forest = ta.Forest.from_records(schema, [[["hospital", "H", diseases]]])
    >>> relations_kept(forest, forest.disassociate([(("hospital", "H"), ("disease", "flu"))]))
    RelationsKept(total=0.5, by_pair={'hospital>disease': 0.5}, relations={'hospital>disease': (2, 1)})
    """
    released_as(before, after, kept)
    had = relation_counts(before) if counted is None else counted
    return kept_of_counts(before.classes.names, had, relation_counts(after))


def kept_of_counts(names: Sequence[str], had: Longs, has: Longs) -> RelationsKept:
    """The share of relations kept, by how many there were and are between every two classes."""
    relations = {
        f"{names[upper]}>{names[lower]}": (int(had[upper, lower]), int(has[upper, lower]))
        for upper, lower in zip(*had.nonzero(), strict=True)
    }
    total = int(had.sum())
    by_pair = {pair: now / once for pair, (once, now) in relations.items()}
    return RelationsKept(int(has.sum()) / total if total else 1.0, by_pair, relations)
