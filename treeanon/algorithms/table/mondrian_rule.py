"""The models of a problem as a kernel can check them, where it can."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from treeanon.algorithms.table.problem import Problem
from treeanon.algorithms.table.row_group_checker import RowJudge
from treeanon.errors import GuaranteeError
from treeanon.kernels.table.mondrian import Rule
from treeanon.kernels.tree.forest import Ints
from treeanon.privacy.models import (
    AlphaKAnonymity,
    DistinctDiversity,
    FrequencyDiversity,
    KAnonymity,
    PSensitiveKAnonymity,
)
from treeanon.privacy.models.limits import exact

_MOST = 1 << 30


def checked_whole(problem: Problem) -> None:
    """Nothing; an error if not even all rows together satisfy the models."""
    table = problem.table
    for model in problem.models:
        if isinstance(model, KAnonymity) and len(table) and table.persons < model.k:
            raise GuaranteeError(f"a table of {table.persons:,} persons cannot be {model.k:,}-anonymous")
    if all(isinstance(model, KAnonymity) for model in problem.models) or not len(table):
        return
    if not RowJudge(problem).holds(np.zeros(len(table), np.int64), 1).all():
        names = ", ".join(model.name for model in problem.models)
        raise GuaranteeError(f"not even the whole table as one group satisfies {names}")


def rule_of(problem: Problem, *, by_loss: bool = False, is_relaxed: bool = False) -> tuple[Rule, Ints | None]:
    """What a kernel is to check, and the rank of each row's sensitive value.

    None in place of these if it cannot check all: then the rule speaks of the rows that k needs, and no more.
    """
    table = problem.table
    have_k = KAnonymity | AlphaKAnonymity | PSensitiveKAnonymity
    rows = [model.k for model in problem.models if isinstance(model, have_k)]
    least, distinct, share = max(rows, default=1), 1, Fraction(1)
    is_simple = table.person is None or table.persons == len(table)
    asks = False
    for model in problem.models:
        asks |= model.sensitive is not None
        if isinstance(model, DistinctDiversity):
            distinct = max(distinct, model.l)
        elif isinstance(model, PSensitiveKAnonymity):
            distinct = max(distinct, model.p)
        elif isinstance(model, FrequencyDiversity):
            share = min(share, 1 / exact("l", model.l))
        elif isinstance(model, AlphaKAnonymity) and model.value is None:
            share = min(share, exact("alpha", model.alpha))
        elif not isinstance(model, KAnonymity):
            is_simple = False
    is_simple &= share.denominator < _MOST and (not asks or len(table.sensitive) == 1)
    if not is_simple:
        return Rule(least, 1, 1, 1, 0, by_loss, is_relaxed), None
    values = np.zeros(len(table), np.int32)
    kinds = 0
    if asks:
        column = table.sensitive[0]
        used, kinds = column.codes, column.size + 1
        values = np.where(used < 0, column.size, used).astype(np.int32)
    return Rule(least, distinct, share.numerator, share.denominator, kinds, by_loss, is_relaxed), values
