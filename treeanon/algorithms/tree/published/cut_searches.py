"""ACS, GCS and OCS: the searches of cuts of the paper on trees, and which of the cuts that they come to is taken.

After O. Gkountouna and M. Terrovitis, "Anonymizing collections of tree-structured data" (IEEE TKDE 2015). Section III-C
says that the cost of a solution is its RPD, and Section II-E that searches are guided by RPDa, which a synopsis tells.
The two may disagree: of the cuts that a search passes, the one with the least RPDa can have three times the RPD of
another. So searches are guided by RPDa and take, of all cuts that passed, the one with the least RPD, over both ways of
counting a level. A release as published, and whoever asks for it, has the paper's way: one scope, and the least RPDa.

`acs` visits every cut once, from {*} down, except below cuts that fail ValueCheck: all cuts search (Section III-C,
Algorithm 4). `walk_all` is its loop, from the cut {*} down; `Closing` its body: which cuts come from a cut, each of
them once, and that those which fail ValueCheck are dead with all that is below them. Each is checked by
`Candidates.expand`: Algorithms 1 to 3, then its cost.

What is not specialized again: cuts that were seen, or values that a cheaper sibling has specialized. The paper closes
cuts in its text, and values in its implementation note (and in Examples 6 and 8). Closing values makes the search a set
enumeration: below a cut, nothing is specialized that one of its cheaper siblings specialized. Its second best branch so
never gets what the best one has.

`gcs` is GCS(g), greedy cut search (Section III-D): the g cheapest cuts of each step are specialized further.

`ocs` is OnlyCutSearch (Section IV, where it is compared with): GCS(g) in which a cut that fails StructureCheck is dead,
so that no relation is disassociated. The specializations of a dead cut are dead with it. Without disassociation that
loses nothing for n ≤ 1; for n ≥ 2 a finer cut may hold where a coarser one does not (two nodes of one label can witness
two relations, and part).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import Any, Literal, get_args

from treeanon.algorithms.tree.default.leaving_out import safe_result
from treeanon.algorithms.tree.published.candidates import Candidate, Candidates, Choose, Counts, Limit, is_extended
from treeanon.algorithms.tree.published.cuts import Cut
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


Closed = Literal["values", "cuts"]


def acs(
    forest: Forest,
    guarantee: Guarantee,
    *,
    closed: Closed = "values",
    scope: Scopes | None = None,
    choose: Choose | None = None,
    stricter: bool = False,
    budget: float | None = None,
    finish: threading.Event | None = None,
    progress: Progress | None = None,
) -> Result:
    """Return the best cut of all that pass (see `searched`), with the disassociations that FixStructure makes for it.

    The number of cuts grows exponentially: for small hierarchies, or much data that is rare. At the end of `budget`
    seconds, or when `finish` is set, it is the best of those seen so far; {*}, the first, always holds. Both ways of
    closing visit the same cuts, in different orders: of equally cheap cuts the first wins.
    """

    asked = Asked(scope, choose, stricter, budget, finish, progress)
    return searched("acs", forest, guarantee, asked, partial(walk_all, closed=closed), closed=closed)


def walk_all(candidates: Candidates, closed: Closed) -> None:
    """Go through all cuts, depth first; `candidates.leading` are what was found."""
    closing = Closing(candidates, closed)
    # The last one in is the first one out.
    waiting: list[Candidate] = [candidates.root]
    while waiting and not candidates.limit.reached():
        [children] = closing.expand([waiting.pop()])
        waiting.extend(reversed(children))


class Closing:
    """Specializes cuts, each cut once."""

    def __init__(self, candidates: Candidates, closed: Closed) -> None:
        if closed not in get_args(Closed):
            raise UsageError(f"what is closed must be one of {', '.join(get_args(Closed))}")
        self._candidates = candidates
        self._values = closed == "values"
        self._seen: set[Cut] = set()

    def _open(self, parent: Candidate) -> list[int]:
        """Return the nodes of a cut that are to be specialized."""
        space = self._candidates.space
        nodes = [node for node in parent.cut if node not in parent.closed and space.kids(node)]
        if self._values:
            return nodes
        chosen = []
        for node in nodes:
            cut = space.specialized(parent.cut, node)
            if cut not in self._seen:
                self._seen.add(cut)
                chosen.append(node)
        return chosen

    def expand(self, parents: Sequence[Candidate]) -> list[list[Candidate]]:
        """Return the specializations of each parent that pass, cheapest first.

        A node whose specialisation fails is closed below all of them: it would fail there too.
        """
        wanted = [(parent, self._open(parent)) for parent in parents]
        if self._candidates.limit.reached():
            return [[] for _ in parents]
        out = []
        for (_, nodes), found in zip(wanted, self._candidates.expand(wanted), strict=True):
            dead = frozenset(node for node, child in zip(nodes, found, strict=True) if child is None)
            children = sorted((child for child in found if child is not None), key=lambda child: child.cost)
            for i, child in enumerate(children):
                cheaper = {sibling.node for sibling in children[:i]} if self._values else set()
                children[i] = replace(child, closed=child.closed | dead | cheaper)
            out.append(children)
        return out


def gcs(
    forest: Forest,
    guarantee: Guarantee,
    *,
    g: int = 2,
    closed: Closed = "values",
    scope: Scopes | None = None,
    choose: Choose | None = None,
    stricter: bool = False,
    budget: float | None = None,
    finish: threading.Event | None = None,
    progress: Progress | None = None,
) -> Result:
    """Return the best cut of those that GCS(g) comes to (see `searched`), with the disassociations of FixStructure.

    All cuts that pass at a step are one pool, whichever parent they come from; of equally cheap ones the first stay.
    A step's best may cost more than its parent (disassociations can raise RPDa), so the best cut need not be a last.
    """
    asked = Asked(scope, choose, stricter, budget, finish, progress)
    steps = partial(walk_greedily, g=g, closed=closed)
    return searched("gcs", forest, guarantee, asked, steps, repairs=(True, False), g=g, closed=closed)


def walk_greedily(candidates: Candidates, g: int, closed: Closed) -> None:
    """Go down with a beam of g cuts until none of them can be specialized; `candidates.leading` are what was found."""
    if g < 1:
        raise UsageError("g must be at least 1")
    closing = Closing(candidates, closed)
    beam = [candidates.root]
    while beam and not candidates.limit.reached():
        pool = [child for children in closing.expand(beam) for child in children]
        beam = sorted(pool, key=lambda candidate: candidate.cost)[:g]


def ocs(
    forest: Forest,
    guarantee: Guarantee,
    *,
    g: int = 2,
    closed: Closed = "values",
    scope: Scopes | None = None,
    choose: Choose | None = None,
    stricter: bool = False,
    budget: float | None = None,
    finish: threading.Event | None = None,
    progress: Progress | None = None,
) -> Result:
    """Return the best cut (see `searched`) that a beam of g comes to and that needs no disassociation."""
    asked = Asked(scope, choose, stricter, budget, finish, progress)
    steps = partial(walk_greedily, g=g, closed=closed)
    return searched("ocs", forest, guarantee, asked, steps, repairs=(False,), g=g, closed=closed)
