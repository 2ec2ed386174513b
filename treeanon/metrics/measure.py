"""Everything that a release of trees has lost, measured at once, from a release at hand or from one that was read.

Relations kept: which part of the input's ancestor-descendant pairs of labels a release still shows.

What a release has lost when nobody says which of its records came from which of the input.

A written release has its records in random order. Relations kept, RPD and ML² are of totals, and need no more; the
value loss needs to know what a record held only where the input has general values itself, or values or persons were
left out.

Also published trees mapped to the classes and hierarchies of their original, and the nodes that cannot stem from it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from treeanon.arrays import Floats, Ints, Longs, unique_values
from treeanon.errors import UsageError
from treeanon.forest import Classes
from treeanon.forest.forest import Forest
from treeanon.forest.planting import comparable, merged
from treeanon.kernels.tree.forest import hash_records
from treeanon.kernels.tree.losses import count_records_under, count_records_with, count_relations
from treeanon.kernels.tree.object_relations import count_object_relations
from treeanon.metrics.objects import ObjectsKept, objects_counted, objects_kept
from treeanon.metrics.values import (
    Scope,
    ValueLoss,
    Weights,
    label_parents,
    loss_of_counts,
    released_as,
    rpd,
    value_loss,
)
from treeanon.shown import Grid, Shown, Summary, percent


def in_terms_of(original: Forest, published: Forest) -> tuple[Forest, Mapping[str, int]]:
    """Return the published trees with the original's classes and hierarchies, and the strange nodes by class.

    `published` has its values as they stand. A node is strange where its value is neither one of the original's nor
    above one; one that the hierarchy does not know at all becomes the root. Classes without strange nodes are left out.

    >>> import treeanon as ta
    >>> text = 'version = 1\\n[input]\\nformat = "trees"\\n[[class]]\\nname = "age"\\n'
    >>> schema = ta.Schema.loads(text + "hierarchy = { prefix = [1] }")
    >>> forest, other = (ta.Forest.from_records(schema, [[["age", age, []] for age in held]]) for held in ("34", "9"))
    >>> in_terms_of(forest, other)[0].record(0), in_terms_of(forest, other)[1]
    ([['age', '*', []]], {'age': 1})
    """
    ours, theirs = original.classes, published.classes
    if ours.tree != theirs.tree:
        raise UsageError("a release has the classes of its input, each under the same class")
    mapping = np.zeros(len(theirs), np.int32)
    known = np.ones(len(theirs), np.bool_)
    for i, (hierarchy, other) in enumerate(zip(ours.hierarchies, theirs.hierarchies, strict=True)):
        codes = hierarchy.encode(other.texts)
        first, begin = int(theirs.first[i]), int(ours.first[i])
        mapping[first : first + len(other)] = begin + np.maximum(codes, 0)
        known[first : first + len(other)] = codes >= 0
    fine = known & _possible(original)[mapping]
    strange = theirs.class_of[published.label[~fine[published.label]]]
    counts = np.bincount(strange[strange >= 0], minlength=len(ours.names)).tolist()
    # Labels have other codes here, and by these siblings are sorted; those that are equal now are merged.
    trees = Forest(
        original.schema, ours, published.offsets, published.parent, mapping[published.label], published.report
    ).relabel(np.arange(len(ours), dtype=np.int32))
    return trees, {name: times for name, times in zip(ours.names, counts, strict=True) if times}


def _possible(original: Forest) -> np.ndarray:
    """Return whether each label may stand for one of the original: its own, and all above them; `*` always."""
    classes = original.classes
    fine = np.zeros(len(classes), np.bool_)
    fine[original.label] = fine[0] = True
    for first, hierarchy in zip(classes.first.tolist(), classes.hierarchies, strict=False):
        own = fine[first : first + len(hierarchy)]
        below: Ints = np.append(0, np.cumsum(own)).astype(np.int32)
        own |= below[hierarchy.end] > below[:-1]
    return fine


@dataclass(frozen=True)
class RelationsKept:
    """The share of relations kept, in total and by pair of classes (`upper>lower`) that the input relates.

    Where objects stay whole, by pair of classes and type of objects (`class+class in type`).

    `relations` has how many there were and are, by the same pairs: the different pairs of labels of each record.
    """

    total: float
    by_pair: Mapping[str, float]
    relations: Mapping[str, tuple[int, int]]


def relation_counts(forest: Forest) -> Longs:
    """Return, for each pair of classes, the distinct (upper, lower) label pairs of all records.

    Where objects stay whole, for each pair of classes and kind the different pairs of labels that an object holds.
    """
    classes = forest.classes
    if classes.types:
        return count_object_relations(
            forest.offsets, forest.parent, forest.label, classes.class_of, len(classes.names), classes.types,
            classes.kinds,
        )  # fmt: skip
    return count_relations(forest.offsets, forest.parent, forest.label, classes.class_of, len(classes.names))


def relations_kept(
    before: Forest, after: Forest, kept: Longs | None = None, *, counted: Longs | None = None
) -> RelationsKept:
    """Return the share of the input's relations that the release shows; 1 where there were none.

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
    return kept_of_counts(before.classes, had, relation_counts(after))


def relation_name(classes: Classes, first: int, second: int, *kind: int) -> str:
    """Return how reports name the relations of two classes, of a kind where objects stay whole."""
    names = classes.names
    if not kind:
        return f"{names[first]}>{names[second]}"
    return f"{names[first]}+{names[second]} in {names[classes.type_of(first, *kind)]}"


def kept_of_counts(classes: Classes, had: Longs, has: Longs) -> RelationsKept:
    """Return the share of relations kept, from their counts before and after by pair of classes."""
    relations = {
        relation_name(classes, *pair): (int(had[tuple(pair)]), int(has[tuple(pair)]))
        for pair in np.argwhere(had).tolist()
    }
    total = int(had.sum())
    by_pair = {pair: now / once for pair, (once, now) in relations.items()}
    return RelationsKept(int(has.sum()) / total if total else 1.0, by_pair, relations)


@dataclass(frozen=True)
class Counts:
    """Counts of a collection: persons, nodes, distinct trees, and distinct values by class."""

    records: int
    nodes: int
    trees: int
    values: Mapping[str, int]


@dataclass(frozen=True, repr=False)
class Losses(Shown):
    """Utility losses of a release compared with its input.

    `value_loss` is 0 for what is published as it was and 1 for class roots, `relations_kept` the share of the input's
    ancestor-descendant pairs that can still be seen, `rpd` the reverse path domain of the release (lower is better).
    Where objects stay whole, `objects` says of each type how many are still whole.
    """

    value_loss: float
    value_loss_by_class: Mapping[str, float]
    relations_kept: float
    relations_kept_by_pair: Mapping[str, float]
    rpd: float
    before: Counts
    after: Counts
    objects: Mapping[str, ObjectsKept] = field(default_factory=dict)

    def _summary(self) -> Summary:
        had, has = self.before.values, self.after.values
        rows = [[name, loss, had.get(name, 0), has.get(name, 0)] for name, loss in self.value_loss_by_class.items()]
        grids = [Grid("By class", ["Class", "Value loss", "Values before", "Values after"], rows)]
        whole = [
            [name, of.before, of.after, "unknown" if of.whole is None else percent(of.whole)]
            for name, of in self.objects.items()
        ]
        if whole:
            grids.append(Grid("Objects", ["Type", "Before", "After", "Kept whole"], whole))
        line = f"value loss {self.value_loss:.3f}, relations kept {percent(self.relations_kept)}"
        facts = [("records", f"{self.after.records:,} of {self.before.records:,}"), ("RPD", f"{self.rpd:.5f}")]
        return Summary("Losses", line, facts, grids)

    def as_dict(self) -> dict[str, Any]:
        """Return the same as plain data, as solutions and `--json` have it."""
        plain = asdict(self)
        return plain if self.objects else {name: value for name, value in plain.items() if name != "objects"}


def counts(forest: Forest) -> Counts:
    """Return the number of records, nodes, distinct trees and distinct values of a collection."""
    classes = forest.classes
    used = count_records_with(forest.offsets, forest.label, len(classes))[1:] > 0
    values = np.bincount(classes.class_of[1:][used], minlength=len(classes.names)).tolist()
    trees = len(unique_values(hash_records(forest.offsets, forest.parent, forest.label, 1)))
    by_class = dict(list(zip(classes.names, values, strict=True))[classes.types :])
    return Counts(len(forest), forest.nodes, trees, by_class)


def measure(
    before: Forest,
    after: Forest,
    kept: Longs | None = None,
    *,
    weights: Weights | None = None,
    scope: Scope = "class",
    objects: Callable[[], Mapping[str, ObjectsKept]] | None = None,
) -> Losses:
    """Return all losses of a release whose record i comes from record kept[i] of `before` (None: from i).

    Records that were not kept have lost all their values and relations; the RPD speaks of the published ones alone.
    `weights` says what a label of a class counts for in the total value loss (1 if silent); `objects` gives what
    `objects_kept` does, where that has begun already.

    >>> import treeanon as ta
    >>> schema = ta.Schema.loads('version = 1\\n[input]\\nformat = "trees"\\n[[class]]\\nname = "disease"')
    >>> forest = ta.Forest.from_records(schema, [[["disease", "flu", []]], [["disease", "acne", []]]])
    >>> losses = measure(forest, forest.project({"disease": ["*"]}))
    >>> losses.value_loss, losses.relations_kept, losses.rpd, losses.after.trees
    (1.0, 1.0, 1.0, 1)
    """
    values = value_loss(before, after, kept, weights=weights)
    relations = relations_kept(before, after, kept)
    return Losses(
        values.total,
        values.by_class,
        relations.total,
        relations.by_pair,
        rpd(after, scope),
        counts(before),
        counts(after),
        objects_kept(before, after, kept) if objects is None else objects(),
    )


def value_loss_unmatched(before: Forest, after: Forest, *, weights: Weights | None = None) -> ValueLoss:
    """Return the value loss of a release from the numbers of records that hold each label, before and after.

    It is `value_loss` where the input holds leaves only and nothing was left out. A general label of the input counts
    as published as it was in as many records as had it. How many records lost all values under a published label is
    known, not which: they lost what those that have one hold of them in the mean. A value of which no label is
    published is lost entirely.
    """
    classes = before.classes
    held, shown = (count_records_with(one.offsets, one.label, len(classes)) for one in (before, after))
    same = np.minimum(held, shown)
    return loss_of_counts(classes, shown - same, same, held * _shares_lost(before, after, held, shown), weights)


def _shares_lost(before: Forest, after: Forest, held: Longs, shown: Longs) -> Floats:
    """Return for every label the share of its records of which nothing is published for it."""
    up = label_parents(before.classes)
    had, has = (count_records_under(one.offsets, one.label, up).tolist() for one in (before, after))
    # Records may also show a value as a label above, where that is published for more special ones.
    wider = np.maximum(shown - held, 0).tolist()
    wider[0] = 0
    share, published = [1.0] * len(up), [False] * len(up)
    # What is above a label comes before it.
    for label, above in enumerate(up[1:].tolist(), 1):
        share[label], published[label] = share[above], published[above]
        if shown[label]:
            lost = max(1 - (has[label] + wider[above]) / max(had[label], 1), 0.0)
            share[label] = max(lost, share[above]) if published[above] else lost
            published[label] = True
        wider[label] += wider[above]
    return np.array(share)


def measure_unmatched(
    before: Forest, after: Forest, *, weights: Mapping[str, float] | None = None, scope: Scope = "class"
) -> Losses:
    """Return all losses of a release with records in any order, some perhaps left out.

    As `measure`, but for the value loss: see `value_loss_unmatched`.

    >>> import treeanon as ta
    >>> schema = ta.Schema.loads('version = 1\\n[input]\\nformat = "trees"\\n[[class]]\\nname = "disease"')
    >>> forest = ta.Forest.from_records(schema, [[["disease", "flu", []]], [["disease", "acne", []]]])
    >>> [measure_unmatched(forest, forest.take(chosen)).value_loss for chosen in ([1, 0], [1])]
    [0.0, 0.5]
    """
    if len(after) > len(before):
        raise UsageError(f"a release of {len(after):,} records cannot have been made of {len(before):,}")
    values = value_loss_unmatched(before, after, weights=weights)
    relations = relations_kept(before, after, np.arange(len(after)))
    return Losses(
        values.total,
        values.by_class,
        relations.total,
        relations.by_pair,
        rpd(after, scope),
        counts(before),
        counts(after),
        objects_counted(before, after),
    )


@dataclass(frozen=True)
class ComparedTrees:
    """Losses of a release, both collections by the same classes, and nodes that nobody in the original can have.

    `raw` has the release's values as they stand. `recognized` says that both were merged because the release relates
    values of an object that no object of the original does, and the schema leaves it open what objects are.
    """

    losses: Losses
    original: Forest
    published: Forest
    strange: Mapping[str, int]
    raw: Forest
    recognized: bool = False


def compared_trees(
    original: Forest,
    raw: Forest,
    *,
    weights: Weights | None = None,
    scope: Scope = "class",
    in_order: bool = False,
) -> ComparedTrees:
    """Return what a release has lost; `raw` has its values as they stand, its records in the original's order or any.

    >>> import treeanon as ta
    >>> schema = ta.Schema.loads('version = 1\\n[input]\\nformat = "trees"\\n[[class]]\\nname = "disease"')
    >>> forest = ta.Forest.from_records(schema, [[["disease", "flu", []]], [["disease", "acne", []]]])
    >>> compared_trees(forest, forest.project({"disease": ["*"]})).losses.value_loss
    1.0
    """
    original = comparable(original, raw)
    published, strange = in_terms_of(original, raw)
    recognized = _are_merged(original, published)
    if recognized:
        original, raw = merged(original), merged(raw)
        published, strange = in_terms_of(original, raw)
    losses = (measure if in_order else measure_unmatched)(original, published, weights=weights, scope=scope)
    return ComparedTrees(losses, original, published, strange, raw, recognized)


def _are_merged(original: Forest, published: Forest) -> bool:
    # A release of whole objects relates no more values than they did, however general it is.
    if not original.classes.types or not original.schema.input.objects_open:
        return False
    return bool((relation_counts(published) > relation_counts(original)).any())
