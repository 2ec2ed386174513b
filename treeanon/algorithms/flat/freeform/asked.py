"""What a freeform search is asked for: how many originals a tuple covers, and how diverse they are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from treeanon.algorithms.flat.problem import Problem
from treeanon.errors import GuaranteeError, UsageError
from treeanon.kernels.freeform_rounds import Rule
from treeanon.kernels.trees import Ints, Longs
from treeanon.privacy.models import DistinctDiversity, FrequencyDiversity, KAnonymity
from treeanon.privacy.models.limits import exact


@dataclass(frozen=True, eq=False)
class Asked:
    """Every tuple covers k originals. Of their sensitive `values` (by row; none if nothing is asked of them) none comes
    more than `most` times, and `least` are different.
    """

    k: int
    values: Ints
    most: int
    least: int

    @property
    def is_diverse(self) -> bool:
        """Whether anything is asked of sensitive values."""
        return bool(len(self.values))

    def rule(self, rows: Longs) -> Rule:
        """The same for some of the rows, numbered from 0 on."""
        return Rule(self.values[rows] if self.is_diverse else np.zeros(len(rows), np.int32), self.most, self.least)


def asked_of(problem: Problem, *, diverse: bool = True) -> Asked:
    """What the models of a problem ask for; an error if a freeform release cannot have it, or never of these rows.

    `diverse` says whether the search can look at sensitive values.

    >>> from treeanon.hierarchy import Hierarchy
    >>> from treeanon.table import Table
    >>> letters = Hierarchy.flat("abc")
    >>> table = Table.of_texts({"x": ("aab", letters), "y": ("abc", letters)}, roles={"y": "sensitive"})
    >>> asked = asked_of(Problem(table, (KAnonymity(2), DistinctDiversity(2))))
    >>> asked.k, asked.most, asked.least
    (2, 2, 2)
    """
    table, k, most_share, least = problem.table, 1, exact("l", 1), 1
    for model in problem.models:
        if isinstance(model, KAnonymity):
            k = max(k, model.k)
        elif diverse and isinstance(model, FrequencyDiversity):
            most_share = max(most_share, exact("l", model.l))
        elif diverse and isinstance(model, DistinctDiversity):
            least = max(least, model.l)
        else:
            can = "k-anonymity, and distinct and frequency l-diversity" if diverse else "k-anonymity alone"
            raise UsageError(f"this freeform search is for {can}, not for {model.name}")
    if table.persons < len(table):
        raise UsageError("freeform searches are for one row a person; reduce the rows of each person to one first")
    k = max(k, least, -int(-most_share // 1))
    if 0 < len(table) < k:
        raise GuaranteeError(f"a table of {len(table):,} persons cannot be {k:,}-anonymous")
    if least == 1 and most_share == 1:
        return Asked(k, np.zeros(0, np.int32), k, 1)
    if len(table.sensitive) != 1:
        raise UsageError("a freeform release is diverse in one sensitive column; give the others another role")
    values, most = table.sensitive[0].codes, int(k // most_share)
    if len(table):
        counts = np.bincount(values + 1)
        if int(counts.max()) * k > most * len(table) or int((counts > 0).sum()) < least:
            raise GuaranteeError("a sensitive value is too frequent, or there are too few, for the diversity asked for")
    return Asked(k, np.ascontiguousarray(values), most, least)
