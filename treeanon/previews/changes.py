"""What a release made of single records: where every original node went.

A node is *generalised* where its published value is another, *moved* where it hangs under another node than the one
that its own parent became, *merged* where several nodes became one, and *dropped* where none is published for it. What
hung under a dropped node hangs under the one above, and is not told as moved: the dropped node says it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from treeanon.errors import UsageError
from treeanon.forest import Forest
from treeanon.kernels.tree.losses import Floats
from treeanon.metrics.labels import label_losses, label_parents, released_as
from treeanon.previews.matching import matched
from treeanon.previews.model import Change, Fate, RecordChange
from treeanon.previews.records import Record
from treeanon.previews.replay import Recipe
from treeanon.release import Release

MOVED = 0.5
"""What is lost of a node that moved, of what its value has left."""


def record_change(before: Forest, release: Release, number: int) -> RecordChange:
    """What became of one record of the input; `record_changes` is quicker for several.

    >>> import treeanon as ta
    >>> schema = ta.Schema.loads('version = 1\\n[input]\\nformat = "ndjson"\\n[[class]]\\nname = "age"\\npath = "age"')
    >>> forest = ta.Forest.from_records(schema, [[["age", "34", []]], [["age", "34", []]], [["age", "35", []]]])
    >>> change = record_change(forest, ta.anonymize(forest, k=2), 2)
    >>> change.before[0].value, change.after[0].value, sorted(change.fates[0].changes), change.change
    ('35', '*', ['generalised'], 1.0)
    """
    return record_changes(before, release, [number])[0]


def record_changes(before: Forest, release: Release, numbers: Iterable[int]) -> list[RecordChange]:
    """What became of these records of the input, in that order.

    The `change` of a record is the mean over its nodes of what is lost of each: 1 for one that is gone; else the value
    loss of what it is published as, and, if it moved, half of what is left then. It is 1 for a record left out.
    """
    tracing = _Tracing(before, release)
    return [tracing.change(number) for number in numbers]


class _Tracing:
    """A release and its input, and what is worked out once for all records."""

    def __init__(self, before: Forest, release: Release) -> None:
        self.before, self.after = before, release.forest
        self.released = released_as(before, release.forest, release.kept)
        self.recipe = None if release.solution.cut is None else Recipe.of(release.solution, before)
        self.label_parents = label_parents(before.classes)
        self.losses = label_losses(before.classes)

    def change(self, number: int) -> RecordChange:
        if not 0 <= number < len(self.before):
            raise UsageError(f"there is no record {number + 1:,}: there are {len(self.before):,}")
        record = Record.of(self.before, number)
        nodes = record.nodes(self.before.classes)
        place = int(self.released[number])
        if place < 0:
            gone = tuple(Fate(node, None, frozenset({"dropped"})) for node in range(len(record)))
            return RecordChange(number, nodes, None, gone, 1.0)
        published = Record.of(self.after, place)
        became = self._became(record, published)
        fates = tuple(fates_of(record, published, became))
        change = change_of(record, published, fates, self.losses)
        return RecordChange(number, nodes, published.nodes(self.after.classes), fates, change)

    def _became(self, record: Record, published: Record) -> list[int | None]:
        if self.recipe is not None:
            made, became = self.recipe.replay(record)
            if made == published:
                return became
        return matched(record, published, self.label_parents)


def fates_of(before: Record, after: Record, became: list[int | None]) -> Iterable[Fate]:
    """The fate of every node, by where it went."""
    shares = Counter(became)
    for node, place in enumerate(became):
        if place is None:
            yield Fate(node, None, frozenset({"dropped"}))
            continue
        left = _left(before, after, became, node, place)
        happened: dict[Change, bool] = {
            "generalised": before.label[node] != after.label[place],
            "moved": left is not None,
            "merged": shares[place] > 1,
        }
        yield Fate(node, place, frozenset(change for change, is_so in happened.items() if is_so), left)


def _left(before: Record, after: Record, became: list[int | None], node: int, place: int) -> int | None:
    """The uppermost node that a moved one no longer stands under; None if it hangs where it hung."""
    # What became one with the node itself is not above it any more, nor has it left it.
    lines = [up for up in before.above(node) if became[up] is not None and became[up] != place]
    if not lines or became[lines[0]] == after.parent[place]:
        return None
    now = {*after.above(place)}
    return next((up for up in reversed(lines) if became[up] not in now), None)


def change_of(before: Record, after: Record, fates: Iterable[Fate], losses: Floats) -> float:
    """How much a record has changed, from 0 to 1, by what happened to its nodes and the value losses of labels."""
    lost = 0.0
    for fate in fates:
        kept = 0.0
        if fate.after is not None:
            kept = 1 - float(losses[after.label[fate.after]]) if "generalised" in fate.changes else 1.0
        lost += 1 - kept * (1 - MOVED if "moved" in fate.changes else 1)
    return lost / len(before) if len(before) else 0.0
