"""TS: tuple suppression. Rows that too few persons share are left out; the others stay as they are.

After V. Ciriani, S. De Capitani di Vimercati, S. Foresti and P. Samarati, "k-anonymity" (Secure Data Management in
Decentralized Systems, Springer 2007), TS.
"""

from __future__ import annotations

from treeanon.algorithms.table.group_checker import RowGroupChecker
from treeanon.algorithms.table.problem import Problem
from treeanon.algorithms.table.result import Recoding, released
from treeanon.metrics.table.groups import groups_of


def search(problem: Problem) -> Recoding:
    """Return the table without the groups of equal rows that do not satisfy all models; that is the least that can go.

    GuaranteeError if more persons than allowed lose a row by that. Models that look at shares of the whole table take
    those of the input.

    >>> from treeanon.hierarchy import Hierarchy
    >>> from treeanon.privacy.models import KAnonymity
    >>> from treeanon.table import Table
    >>> table = Table.of_texts({"sex": (["f", "m", "f"], Hierarchy.flat(["f", "m"]))})
    >>> found = search(Problem(table, (KAnonymity(2),), max_suppressed=1))
    >>> list(found.table.rows()), found.counts
    ([('f',), ('f',)], {'groups': 2, 'published': 1, 'rows_suppressed': 1})
    """
    numbers, groups = groups_of(problem.table)
    holds = RowGroupChecker(problem).holds(numbers, groups)
    counts = {"groups": groups, "published": int(holds.sum())}
    return released(problem, "suppress-tuples", problem.table, holds[numbers], **counts)
