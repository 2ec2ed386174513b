"""The accuracy of a classifier that is trained on the original, and of one that is trained on the release.

The field's usual measure of use, as in V. S. Iyengar, "Transforming Data to Satisfy Privacy Constraints", KDD 2002, and
K. LeFevre, D. DeWitt, R. Ramakrishnan, "Workload-Aware Anonymization", KDD 2006: how well the quasi columns tell a
target column. Logistic regression over the values as they stand, each one a category, in five folds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from treeanon.errors import UsageError
from treeanon.table import Column, Table

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
