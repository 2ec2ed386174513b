"""Which records to look at: typical ones, the most changed, or those in which some class changed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from treeanon.errors import UsageError
from treeanon.kernels.tree.forest import Longs
from treeanon.previews.scores import Scores

_NEAR = 64
"""How many records near the middle typical ones are chosen from."""


def choose(scores: Scores, records: int, *, worst: bool = False, classes: Sequence[str] = ()) -> list[int]:
    """The numbers of so many records: typical ones, or the most changed, the most first.

    With `classes` only records count in which one of these changed. Typical are records near the middle in how much
    they changed and in size, and of those such as differ in what changed; where values moved in some record, the last
    one shows that. The choice is always the same.

    >>> changed = np.array([[0], [1], [1], [2]], np.int32)
    >>> scores = Scores(("age",), np.array([0.0, 0.5, 0.4, 0.9]), np.array([1, 1, 1, 2]), changed)
    >>> choose(scores, 2), choose(scores, 2, worst=True), choose(scores, 9, classes=["age"], worst=True)
    ([1, 0], [3, 1], [3, 1, 2])
    """
    if records < 1:
        raise UsageError("records must be a whole number from 1")
    wanted = _eligible(scores, classes)
    if worst:
        order = np.lexsort((wanted, -scores.change[wanted]))
        return [int(number) for number in wanted[order][:records]]
    chosen = _varied(scores, _near_middle(scores, wanted, max(records, _NEAR)), records)
    return _with_a_move(scores, wanted, chosen)


def check_classes(names: Sequence[str], classes: Sequence[str]) -> None:
    """UsageError if a class is none of those with these names."""
    for name in classes:
        if name not in names:
            raise UsageError(f"there is no class {name!r}; there is: {', '.join(names)}")


def _eligible(scores: Scores, classes: Sequence[str]) -> Longs:
    check_classes(scores.names, classes)
    if not classes:
        return np.arange(len(scores.change))
    chosen = [scores.names.index(name) for name in classes]
    return np.flatnonzero(scores.changed[:, chosen].any(axis=1))


def _near_middle(scores: Scores, numbers: Longs, most: int) -> Longs:
    """The records nearest to the median change and the median size, the nearest first."""
    if not len(numbers):
        return numbers
    distance = np.zeros(len(numbers))
    for values in (scores.change[numbers], np.log1p(scores.size[numbers])):
        away = np.abs(values - np.median(values))
        distance += away / (np.median(away) or away.max() or 1.0)
    return numbers[np.argsort(distance, kind="stable")[:most]]


def _with_a_move(scores: Scores, numbers: Longs, chosen: list[int]) -> list[int]:
    """The chosen ones, the last of several replaced by a record in which something moved, unless one is there."""
    if scores.moved is None or len(chosen) < 2 or scores.moved[chosen].any() or not scores.moved[numbers].any():
        return chosen
    return [*chosen[:-1], int(_near_middle(scores, numbers[scores.moved[numbers]], 1)[0])]


def _varied(scores: Scores, numbers: Longs, records: int) -> list[int]:
    """So many of these records, the first one and then always the one that differs most from those chosen."""
    if not len(numbers):
        return []
    features = np.log1p(scores.changed[numbers].astype(np.float64))
    chosen = [0]
    nearest = np.abs(features - features[0]).sum(axis=1)
    while len(chosen) < min(records, len(numbers)):
        nearest[chosen] = -1.0
        chosen.append(int(nearest.argmax()))
        nearest = np.minimum(nearest, np.abs(features - features[chosen[-1]]).sum(axis=1))
    return [int(numbers[i]) for i in chosen]
