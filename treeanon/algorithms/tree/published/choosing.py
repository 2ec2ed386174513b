"""Which of the cuts that a search has come to is taken: by the paper's guide, or by the loss that its text speaks of.

O. Gkountouna and M. Terrovitis, "Anonymizing collections of tree-structured data" (IEEE TKDE 2015), Section III-C says
that the cost of a solution is its RPD, and Section II-E that searches are guided by RPDa, which a synopsis tells. The
two may disagree: of the cuts that a search passes, the one with the least RPDa can have three times the RPD of another.
So searches are guided by RPDa and take, of all cuts that passed, the one with the least RPD, over both ways of counting
a level. A release as published, and whoever asks for it, has the paper's way: one scope, and the least RPDa.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, Literal, get_args

from treeanon.algorithms.tree.default.leaving_out import safe_result
from treeanon.algorithms.tree.published.candidates import Candidates, Choose, Counts, Limit, is_extended
from treeanon.algorithms.tree.solution import Result
from treeanon.errors import GuaranteeError, UsageError
from treeanon.forest import Forest
from treeanon.metrics.values import Scope, rpd
from treeanon.privacy import Guarantee
from treeanon.progress import Progress

Scopes = Literal["class", "hierarchy", "both"]

Walk = Callable[[Candidates], None]
"""Goes through cuts; `Candidates.leading` are the best that it found."""


@dataclass(frozen=True)
class Asked:
    """How a published search chooses, and how long it may look.

    `scope` and `choose` are None for what the guarantee suggests. `budget` are seconds; `finish` is set when the best
    so far is wanted at once.
    """

    scope: Scopes | None = None
    choose: Choose | None = None
    stricter: bool = False
    budget: float | None = None
    finish: threading.Event | None = None
    progress: Progress | None = None

    def settled(self, guarantee: Guarantee) -> Asked:
        """Return the same with what was left open filled in; UsageError for what there is not."""
        scope = self.scope or ("class" if guarantee.as_published else "both")
        choose = self.choose or ("rpda" if guarantee.as_published else "rpd")
        if scope not in get_args(Scopes):
            raise UsageError(f"the scope of a level must be one of {', '.join(get_args(Scopes))}")
        if choose not in get_args(Choose):
            raise UsageError(f"choose must be one of {', '.join(get_args(Choose))}")
        return replace(self, scope=scope, choose=choose)

    @property
    def scopes(self) -> tuple[Scope, ...]:
        """The scopes to be tried."""
        return ("class", "hierarchy") if self.scope == "both" else (self.scope or "class",)


def searched(
    algorithm: str,
    forest: Forest,
    guarantee: Guarantee,
    asked: Asked,
    walk: Walk,
    *,
    repairs: Sequence[bool] = (True,),
    **options: Any,
) -> Result:
    """Return the best that walks over the candidates of all scopes find, and how many cuts they have seen.

    `repairs` says whether walks repair cuts by disassociation: where what is known of the original is to be hidden, it
    costs more than the walk knows, so that one without it may end with less loss. As published the first is alone.
    With `stricter`, walks for a little more k, m and n are tried as well: what they find holds, too, and a greedy
    search that passes fewer cuts may end with less loss.
    """
    asked = asked.settled(guarantee)
    wanted = [guarantee, *(_stricter(guarantee) if asked.stricter else ())]
    if guarantee.as_published or asked.choose == "rpda" or is_extended(guarantee):
        repairs = repairs[:1]
    runs = list(product(wanted, repairs, asked.scopes))
    counts, is_cut_short = Counts(), False
    found: list[tuple[Result, Guarantee]] = []
    problems: list[GuaranteeError] = []
    began = time.monotonic()
    for number, (given, repair, scope) in enumerate(runs, start=1):
        # Each walk has its share of the budget, and what those before it have left over.
        until = None if asked.budget is None else began + asked.budget * number / len(runs)
        limit = Limit(until, asked.finish)
        try:
            candidates = Candidates(forest, given, scope, repair, asked.progress, counts, asked.choose or "rpda", limit)
            walk(candidates)
            found += [(result, given) for result in _released(forest, candidates, algorithm, asked.choose)]
        except GuaranteeError as problem:
            problems.append(problem)
        is_cut_short |= limit.is_over
    if not found:
        raise problems[0]
    best, given = min(found, key=lambda one: rpd(one[0].forest)) if len(found) > 1 else found[0]
    own = {"scope": asked.scope, "choose": asked.choose} | ({"stricter": True} if asked.stricter else {})
    solution = replace(best.solution, guarantee=guarantee, options={**options, **own})
    report = {**best.report, "scope": best.solution.options["scope"], "rpd": rpd(best.forest), **vars(counts)}
    report |= {"ended_early": True} if is_cut_short else {}
    report |= {} if given == guarantee else {"stricter": {name: getattr(given, name) for name in "kmn"}}
    return replace(best, solution=solution, report=report)


def _released(forest: Forest, candidates: Candidates, algorithm: str, choose: Choose | None) -> list[Result]:
    """Return what would be released of the leading cuts; GuaranteeError if nothing can be.

    What is left of moved nodes may point to persons. Then more has to go, so that the second may become the first.
    """
    first = candidates.leading[0]
    if candidates.guarantee.as_published or choose == "rpda" or not first.moves:
        return [candidates.found(first, algorithm)]
    found, problem = [], None
    for candidate in candidates.leading:
        try:
            found.append(safe_result(forest, candidates.found(candidate, algorithm)))
        except GuaranteeError as failed:
            problem = problem or failed
        if not candidate.moves:
            # Nothing is left of it to be mended: those behind it are no better.
            break
    if problem is not None and not found:
        raise problem
    return found


def _stricter(guarantee: Guarantee) -> list[Guarantee]:
    """Return guarantees from which the given one follows."""
    found = [replace(guarantee, k=guarantee.k + max(1, guarantee.k // 4)), replace(guarantee, m=guarantee.m + 1)]
    return [*found, *([replace(guarantee, n=guarantee.n + 1)] if guarantee.m > 1 else [])]
