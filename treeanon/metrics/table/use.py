"""What a release of a table is of use for: classifiers that are trained on it, and summary statistics of numbers.

The field's usual measure of use, as in V. S. Iyengar, "Transforming Data to Satisfy Privacy Constraints", KDD 2002, and
K. LeFevre, D. DeWitt, R. Ramakrishnan, "Workload-Aware Anonymization", KDD 2006: how well the quasi columns tell a
target column. Logistic regression over the values as they stand, each one a category, in five folds.

A published interval, range or set of numbers counts as the middle between its least and greatest number, as of a
reader who knows no more. What says nothing (a missing value, the root) is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from treeanon.arrays import Floats, unique_values
from treeanon.errors import UsageError
from treeanon.hierarchy.numbers import parse_number
from treeanon.table import Column, Table
from treeanon.table.covers import ranked_texts

FOLDS = 5
_SEED = 0
_ROUNDS = 300


@dataclass(frozen=True)
class Accuracy:
    """Share of rows whose target is guessed right by a classifier that has not seen them.

    `baseline` is that of the most frequent value of the original, which a release that says nothing still reaches.
    Rows that the release lacks are not guessed: `after` is of those it has.
    """

    target: str
    before: float
    after: float
    baseline: float
    rows_before: int
    rows_after: int

    def as_dict(self) -> dict[str, Any]:
        """Return the same as plain data."""
        return asdict(self)


def classifier_accuracy(original: Table, published: Table, target: str) -> Accuracy:
    """Return how well the quasi columns but the target tell it, before and after; needs the extra `classify`.

    UsageError for a target that is not a column with at least two values, of as many rows as there are folds.
    """
    before, after = _labels(original.column(target)), _labels(published.column(target))
    known = set(before.tolist())
    if not set(after.tolist()) <= known:
        raise UsageError(f"column {target!r} is generalized in the release: a target is published as it is")
    names = [column.name for column in original.quasi if column.name != target]
    if not names:
        raise UsageError(f"there is no quasi column beside {target!r} to guess it by")
    found = [
        _accuracy([table.column(name) for name in names], labels)
        for table, labels in ((original, before), (published, after))
    ]
    most = np.unique(before, return_counts=True)[1].max() / len(before)
    return Accuracy(target, found[0], found[1], float(most), len(before), len(after))


def _labels(column: Column) -> npt.NDArray[np.str_]:
    return np.array(["" if text is None else f"={text}" for text in column.texts()])


def _accuracy(columns: Sequence[Column], labels: npt.NDArray[np.str_]) -> float:
    """Return the mean accuracy over the folds, which chance with a fixed seed makes, as even as can be."""
    try:
        from sklearn.linear_model import LogisticRegression
        from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import OneHotEncoder
    except ImportError:
        raise UsageError("--target needs scikit-learn: pip install 'treeanon[classify]'") from None
    values, times = np.unique(labels, return_counts=True)
    if len(labels) < FOLDS or len(values) < 2:
        raise UsageError(f"a target has at least two values, of at least {FOLDS} rows")
    data = np.stack([column.places for column in columns], axis=1)
    folds = (StratifiedKFold if times.min() >= FOLDS else KFold)(FOLDS, shuffle=True, random_state=_SEED)
    model = make_pipeline(OneHotEncoder(handle_unknown="ignore"), LogisticRegression(max_iter=_ROUNDS))
    return float(np.mean(cross_val_score(model, data, labels, cv=folds, error_score="raise")))


_NUMBERS = ("integer", "number")


@dataclass(frozen=True)
class ColumnStatistics:
    """Mean and variance (of a sample) of one column, and of how many rows; None where too few have a number."""

    column: str
    rows_before: int
    rows_after: int
    mean_before: float | None
    mean_after: float | None
    variance_before: float | None
    variance_after: float | None


@dataclass(frozen=True)
class Correlation:
    """Pearson's correlation of two columns, over the rows that have both; None where one of them does not vary."""

    columns: tuple[str, str]
    before: float | None
    after: float | None


@dataclass(frozen=True)
class Statistics:
    """The statistics of all columns of numbers, and the correlation of every pair of them."""

    columns: tuple[ColumnStatistics, ...]
    correlations: tuple[Correlation, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return the same as plain data."""
        return asdict(self)


def statistics(original: Table, published: Table) -> Statistics:
    """Return the statistics of two tables with the same columns and hierarchies, those of type integer or number.

    >>> from dataclasses import replace
    >>> from treeanon.hierarchy import Intervals
    >>> ages = Intervals((10,)).build(["30", "31", "39", "41", "49"])
    >>> def table(texts):
    ...     column = Table.of_texts({"age": (texts, ages)}).columns[0]
    ...     return Table((replace(column, spec=replace(column.spec, type="integer")),))
    >>> found = statistics(table(["31", "41", "45"][:2]), table(["30-39", "40-49"])).columns[0]
    >>> found.mean_before, found.mean_after, found.variance_before
    (36.0, 39.75, 50.0)
    """
    pairs = [
        (column.name, numbers_of(column), numbers_of(published.column(column.name)))
        for column in original.columns
        if column.spec.type in _NUMBERS
    ]
    columns = tuple(_of_column(*pair) for pair in pairs)
    correlations = tuple(
        Correlation((one[0], other[0]), _correlation(one[1], other[1]), _correlation(one[2], other[2]))
        for one, other in combinations(pairs, 2)
    )
    return Statistics(columns, correlations)


def lost_variance(before: Column, after: Column) -> float:
    """Return the share of a column's variance that means of groups no longer have: SSE / SST of Domingo-Ferrer.

    It is 0 where nothing is lost, and 1 where all rows have one number. Of medians it is near to that.

    >>> from treeanon.hierarchy import Hierarchy
    >>> numbers = Hierarchy.flat(["1", "2", "3", "1.5"])
    >>> table = Table.of_texts({"a": (["1", "2", "3"], numbers), "b": (["1.5", "1.5", "3"], numbers)})
    >>> lost_variance(*table.columns)
    0.25
    """
    own, made = (found[np.isfinite(found)] for found in map(numbers_of, (before, after)))
    whole = own.var() if len(own) else 0.0
    if whole == 0:
        return 0.0
    return float(np.clip(1 - (made.var() if len(made) else 0.0) / whole, 0, 1))


def _of_column(name: str, before: Floats, after: Floats) -> ColumnStatistics:
    before, after = before[np.isfinite(before)], after[np.isfinite(after)]
    return ColumnStatistics(
        name, len(before), len(after), _mean(before), _mean(after), _variance(before), _variance(after)
    )


def _mean(numbers: Floats) -> float | None:
    return float(numbers.mean()) if len(numbers) else None


def _variance(numbers: Floats) -> float | None:
    return float(numbers.var(ddof=1)) if len(numbers) > 1 else None


def _correlation(one: Floats, other: Floats) -> float | None:
    both = np.isfinite(one) & np.isfinite(other)
    one, other = one[both], other[both]
    if len(one) < 2 or np.ptp(one) == 0 or np.ptp(other) == 0:
        return None
    return float(np.corrcoef(one, other)[0, 1])


def numbers_of(column: Column) -> Floats:
    """Return the number in every row; NaN where nothing is said."""
    values = _of_nodes(column) if column.covers is None else _of_covers(column)
    found: Floats = np.append(values, np.nan)[column.codes]
    return found


def _of_nodes(column: Column) -> Floats:
    """Return the middle of the numbers below every node; NaN of the root, unless it is all there is."""
    hierarchy = column.hierarchy
    leaves = _parsed(hierarchy.texts[leaf] for leaf in hierarchy.leaf_nodes.tolist())
    found = np.full(len(hierarchy), np.nan)
    for node in unique_values(column.codes[column.codes >= 0]).tolist():
        start, count = int(hierarchy.leaf_start[node]), int(hierarchy.leaf_count[node])
        if node or count == 1:
            found[node] = _middle(leaves[start : start + count])
    return found


def _of_covers(column: Column) -> Floats:
    """Return the middle of what each published value covers; NaN of what covers all."""
    covers = column.covers
    assert covers is not None, "the column has ranges or sets"
    leaves = _parsed(ranked_texts(column.hierarchy))
    low, high = leaves[covers.low], leaves[covers.high]
    return np.where(covers.counts < max(len(leaves), 2), (low + high) / 2, np.nan)


def _parsed(texts: Iterable[str]) -> Floats:
    numbers = (parse_number(text, False) for text in texts)
    return np.array([np.nan if number is None else float(number) for number in numbers])


def _middle(numbers: Floats) -> float:
    known = numbers[np.isfinite(numbers)]
    return float((known.min() + known.max()) / 2) if len(known) else np.nan
