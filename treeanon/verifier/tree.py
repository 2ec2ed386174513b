"""An independent check of k^(m,n)-anonymity: its own counting, from published trees alone."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence

import numpy as np

from treeanon.errors import UsageError
from treeanon.forest import Forest
from treeanon.kernels.tree.forest import Ints
from treeanon.kernels.verify import counting as kernels
from treeanon.kernels.verify.knowledge import holders_of
from treeanon.privacy.guarantee import Attacker, Diversity, Guarantee, roles_of
from treeanon.progress import Progress
from treeanon.verifier.tree_groups import Groups
from treeanon.verifier.tree_knowledge import Rows, rows_of
from treeanon.verifier.verdict import Diverse, Failure, Verdict
from treeanon.verifier.work import in_parts


def verify(
    forest: Forest,
    guarantee: Guarantee | None = None,
    *,
    k: int | None = None,
    m: int = 2,
    n: int = 1,
    attacker: Attacker = "independent",
    l: int = 1,  # noqa: E741 - its name in the literature
    diversity: Diversity = "distinct",
    negative: str | Sequence[str] = (),
    patterns: bool = True,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> Verdict:
    """Whether the trees keep a guarantee, given whole or by its parts, and the largest k that they keep.

    Counts every combination of labels and relations that somebody holds, exactly and without the searches' structures.
    `patterns=False` leaves out what fails in detail. `jobs` is the number of threads (default: all cores).

    >>> import treeanon as ta
    >>> schema = ta.Schema.loads('''
    ... version = 1
    ... [input]
    ... format = "trees"
    ... [[class]]
    ... name = "disease"
    ... ''')
    >>> flu, asthma = ["disease", "Flu", []], ["disease", "Asthma", []]
    >>> verdict = verify(ta.Forest.from_records(schema, [[flu], [flu], [flu, asthma]]), k=2)
    >>> verdict.holds, verdict.largest_k
    (False, 1)
    """
    asked = _asked(guarantee, k, m, n, attacker, l, diversity, negative)
    begun = time.perf_counter()
    jobs = jobs or os.cpu_count() or 1
    roles = roles_of(forest, asked)
    joint = asked.attacker == "joint" and asked.m > 2 and asked.n > 1
    rows = rows_of(forest, asked, roles, apart=joint)
    least, sets = _least_support(rows, asked.m, asked.n, jobs, progress)
    found: tuple[Diverse, ...] = ()
    if joint or asked.l > 1:
        groups = Groups(rows, forest, asked, roles, jobs, progress, joint=joint)
        every = asked.diversity == "frequency" and asked.l > 1
        below, found, _ = groups.failing(every=every)
        least = min(least, below) if least is not None and below is not None else least
    holds = (least is None or least >= asked.k) and all(result.holds for result in found)
    failures: tuple[Failure, ...] = ()
    if patterns and not holds:
        failures = Groups(rows, forest, asked, roles, jobs, progress, joint=joint).failing(every=True)[2]
    return Verdict(asked, holds, least, len(forest), sets, failures, found, time.perf_counter() - begun)


def _asked(
    guarantee: Guarantee | None,
    k: int | None,
    m: int,
    n: int,
    attacker: Attacker,
    l: int,  # noqa: E741
    diversity: Diversity,
    negative: str | Sequence[str],
) -> Guarantee:
    if guarantee is not None:
        if k is not None:
            raise UsageError("give a guarantee or its parts, not both")
        return guarantee
    if k is None:
        raise UsageError("k is needed: the least number of persons behind every combination")
    return Guarantee(k, m, n, attacker, l, diversity, (negative,) if isinstance(negative, str) else tuple(negative))


def _least_support(rows: Rows, m: int, n: int, jobs: int, progress: Progress | None) -> tuple[int | None, int]:
    """The least number of persons behind a combination that anybody holds, and the label sets looked at."""
    begin, holder, place, work = holders_of(rows.start, rows.item, rows.items, m)
    shared = np.array([kernels.NOBODY], np.int64)

    def counted(firsts: Ints) -> tuple[int, int]:
        return kernels.least_support(
            rows.start,
            rows.item,
            rows.known,
            rows.rel_start,
            rows.rel,
            rows.weight,
            begin,
            holder,
            place,
            firsts,
            m,
            n,
            shared,
        )

    found = in_parts(counted, work, jobs, progress)
    best = min((least for least, _ in found), default=kernels.NOBODY)
    return (None if best == kernels.NOBODY else best), sum(sets for _, sets in found)
