"""Dates moved: all dates of a person by one secret random span, which is drawn here and kept nowhere.

Whoever knows an original date knows the published one only up to the bound; what lies between two dates of a person
stays as it was. A search sees moved dates alone, so that whatever is counted is what will be published.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from treeanon.arrays import Ints, Longs, unique_values
from treeanon.errors import DataError
from treeanon.forest.build import hierarchy_for
from treeanon.forest.classes import Classes
from treeanon.forest.forest import Forest
from treeanon.forest.report import ReadReport
from treeanon.hierarchy import Hierarchy
from treeanon.hierarchy.dates import WEEK, from_serial, label, read_periods, serial
from treeanon.kernels.tree.objects import canonical_trees
from treeanon.randomness import Randomness
from treeanon.schema import ClassSpec

_MONTH, _QUARTER, _YEAR = 2, 3, 4
_DAYS_OF_MONTH = 30.436875
_MONTHS_OF = {_MONTH: 1, _QUARTER: 3, _YEAR: 12}
_LAST_YEAR = 9999


def shifted(forest: Forest, spans: Longs | None = None) -> Forest:
    """Return the forest with the dates of each person moved, where the schema asks for it and it was not yet done.

    `spans` are the days by which those of each person move, for tests alone: they are the secret.

    >>> import treeanon as ta
    >>> schema = ta.Schema.loads('''
    ... version = 1
    ... input = { format = "ndjson" }
    ... class = [{ name = "day", path = "days[]", type = "date", shift = "person" }]
    ... ''')
    >>> forest = ta.Forest.from_records(schema, [[["day", "2019-12-30T10:00Z", []], ["day", "2020-03", []]]])
    >>> shifted(forest, np.array([40])).record(0)
    [['day', '2020-02-08T10:00Z', []], ['day', '2020-04', []]]
    """
    chosen = [spec for spec in forest.schema.classes if spec.shift and spec.published]
    report = forest.report or ReadReport()
    if not chosen or report.shift_days:
        return forest
    days = forest.schema.input.shift_days
    spans = _drawn(len(forest), days) if spans is None else spans
    moved, unknown = Counter[str](), Counter[str]()
    classes, label_of = _moved_classes(forest, chosen, spans, moved, unknown)
    trees = canonical_trees(
        forest.offsets, forest.parent, label_of, np.arange(len(classes), dtype=np.int32), classes.types
    )
    still = tuple(
        spec.name for spec in forest.schema.classes if spec.type == "date" and spec.published and not spec.shift
    )
    told = replace(report, shift_days=days, shifted=moved, unshifted=still, unknown=report.unknown + unknown)
    return Forest(forest.schema, classes, *trees, told)


def _drawn(count: int, days: int) -> Longs:
    """Return a span for each person by chance of the operating system, whatever seed a test may give: never 0."""
    drawn = Randomness().below(2 * days, count) - days
    return drawn + (drawn >= 0)


def _moved_classes(
    forest: Forest, chosen: Sequence[ClassSpec], spans: Longs, moved: Counter[str], unknown: Counter[str]
) -> tuple[Classes, Ints]:
    """Return the classes with hierarchies of the moved dates, and the label of each node among them."""
    old = forest.classes
    owner = old.class_of[forest.label]
    record = np.repeat(np.arange(len(forest)), np.diff(forest.offsets))
    hierarchies, texts = list(old.hierarchies), {}
    for spec in chosen:
        index = old.index(spec.name)
        at = np.flatnonzero(owner == index)
        texts[index] = at, *_moved_texts(forest, index, forest.label[at], spans[record[at]])
        hierarchies[index] = hierarchy_for(spec, [texts[index][1]])
    classes = Classes(old.names, old.parents, tuple(hierarchies), old.types)
    found = forest.label - old.first[owner] + classes.first[owner]
    found[owner < 0] = 0
    for index, (at, own, which) in texts.items():
        spec = forest.schema.spec(old.names[index])
        codes = np.maximum(_codes(classes.hierarchies[index], own), 0)[which]
        was_root = forest.label[at] == old.first[index]
        lost = int(np.count_nonzero((codes == 0) & ~was_root))
        _count_lost(spec, lost, unknown)
        moved[spec.name] += len(at) - lost - int(was_root.sum())
        found[at] = classes.first[index] + np.where(was_root, 0, codes)
    return classes, found.astype(np.int32)


def _codes(hierarchy: Hierarchy, texts: Sequence[str]) -> Ints:
    """Return the nodes of texts, that of an empty one is the root."""
    return np.where(np.array([bool(text) for text in texts], bool), hierarchy.encode(texts), 0)


def _count_lost(spec: ClassSpec, lost: int, unknown: Counter[str]) -> None:
    """Count what cannot be moved, or refuse it where the schema says so: left as it is, it could tell the span."""
    if lost and spec.on_unknown != "suppress":
        raise DataError(
            f"class {spec.name!r}: {lost:,} of its values are no dates that can be moved, and what stayed where it is"
            ' could tell by how much the others moved; correct them or set on_unknown = "suppress"'
        )
    if lost:
        unknown[spec.name] += lost


def _moved_texts(forest: Forest, index: int, labels: Ints, spans: Longs) -> tuple[list[str], Longs]:
    """Return the distinct texts of moved dates ("" for what is no date), and which of them each node has."""
    values, which = np.unique(labels, return_inverse=True)
    texts = forest.classes.texts_of(index, values)
    starts, ranks = _periods(texts)
    pairs = np.stack([which, _moved(starts[which], ranks[which], spans)])
    distinct, back = np.unique(pairs, axis=1, return_inverse=True)
    own = [
        _text(texts[value], int(ranks[value]), start) if start >= 0 else ""
        for value, start in zip(*distinct.tolist(), strict=True)
    ]
    return own, back.reshape(-1)


def _periods(texts: Sequence[str]) -> tuple[Longs, Longs]:
    """Return the first day of each text that is a period (-1: it is none), and its rank."""
    starts, ranks = np.full(len(texts), -1, np.int64), np.full(len(texts), -1, np.int64)
    found = {text: (start, rank) for text, start, rank in zip(*_plain(read_periods(texts)), strict=True)}
    for at, text in enumerate(texts):
        if text in found:
            starts[at], ranks[at] = found[text]
    return starts, ranks


def _plain(read: tuple[list[str], Longs, Longs]) -> tuple[list[str], list[int], list[int]]:
    return read[0], read[1].tolist(), read[2].tolist()


def _moved(starts: Longs, ranks: Longs, spans: Longs) -> Longs:
    """Return the moved starts, -1 for what is no period or would leave the calendar.

    Periods move by as many of them as come nearest to the span, so that two that differ do so afterwards; decades and
    centuries stay.
    """
    out = starts.copy()
    for rank in unique_values(ranks[starts >= 0]).tolist():
        at = (starts >= 0) & (ranks == rank)
        if rank <= 0:
            out[at] = from_serial(serial(starts[at]) + spans[at])
        elif rank == WEEK:
            out[at] = from_serial(serial(starts[at]) + 7 * np.rint(spans[at] / 7).astype(np.int64))
        elif rank in _MONTHS_OF:
            size = _MONTHS_OF[rank]
            steps = size * np.rint(spans[at] / (size * _DAYS_OF_MONTH)).astype(np.int64)
            months = starts[at] // 10_000 * 12 + starts[at] // 100 % 100 - 1 + steps
            out[at] = months // 12 * 10_000 + (months % 12 + 1) * 100 + 1
    # centuries begin before year 1
    has_left = (starts >= 0) & (ranks <= _YEAR) & ((out < 10_000) | (out >= (_LAST_YEAR + 1) * 10_000))
    return np.where((starts < 0) | has_left, -1, out)


def _text(text: str, rank: int, start: int) -> str:
    """Return the moved date as the text was written, with its time and zone.

    >>> _text("20191230101500-0500", -1, 20200102), _text("2019-12-30T10:15Z", -1, 20200102)
    ('20200102101500-0500', '2020-01-02T10:15Z')
    """
    if rank >= 0:
        return label(start, rank)
    return label(start, 0) + text[10:] if text[4] == "-" else f"{start:08d}{text[8:]}"
