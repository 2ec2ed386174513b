"""A search that is slow, obvious and poor: it stands in for the real ones where these are not what is tested.

It publishes the hierarchy nodes of one depth for each class, the greatest depths for which the slow brute force finds
nothing after rare relations were ended one by one (by leaving out, or by moving if the guarantee is as published); then
it withholds classes from the last to the first.
"""

from __future__ import annotations

from itertools import product
from typing import Any

from tests.reference.guarantee import violations
from treeanon.algorithms.tree.solution import Label, Result, Solution
from treeanon.errors import GuaranteeError
from treeanon.forest import Forest
from treeanon.privacy import Guarantee
from treeanon.privacy.guarantee import roles_of
from treeanon.progress import Progress

CALLS: list[dict[str, Any]] = []
"""The options of every call."""


def search(forest: Forest, guarantee: Guarantee, *, progress: Progress | None = None, **options: Any) -> Result:
    CALLS.append(options)
    given = {name: value for name, value in options.items() if name not in ("jobs", "start", "max_suppressed")}
    known = [forest.classes.names[i] for i in roles_of(forest, guarantee).known]
    heights = [range(forest.classes.hierarchies[forest.classes.index(name)].height + 1) for name in known]
    depths = sorted(product(*heights), key=lambda chosen: (-sum(chosen), chosen))
    suppressed = int(options.get("max_suppressed", 0))
    kept = range(suppressed, len(forest))
    tried = [(dict(zip(known, chosen, strict=True)), ()) for chosen in depths]
    tried += [({}, tuple(known[i:])) for i in range(len(known))[::-1]]
    for number, (depth, withheld) in enumerate(tried):
        if progress is not None:
            progress(number, len(tried))
        cut = {name: at_depth(forest, name, depth.get(name, 0)) for name in forest.classes.names}
        solution = Solution(guarantee, "stand-in", cut, (), withheld, suppressed, given)
        found = run_interruptibly(solution, forest.take(list(kept)), known)
        if found is not None:
            return Result(*found, kept=None if not suppressed else list(kept), report={"tried": number + 1})  # type: ignore[arg-type]
    raise GuaranteeError("the stand-in finds nothing")


def at_depth(forest: Forest, name: str, depth: int) -> tuple[str, ...]:
    """The nodes of a class of that depth, and leaves above it; a class that is not quasi stays as it is."""
    hierarchy = forest.classes.hierarchies[forest.classes.index(name)]
    if forest.schema.spec(name).role != "quasi":
        return hierarchy.texts
    chosen = [i for i in range(len(hierarchy)) if hierarchy.depth[i] == depth or hierarchy.is_leaf(i)]
    return tuple(hierarchy.texts[i] for i in chosen if hierarchy.depth[i] <= depth)


def run_interruptibly(solution: Solution, forest: Forest, known: list[str]) -> tuple[Solution, Forest] | None:
    """The solution with the relations ended that single somebody out; None where values alone do."""
    g = solution.guarantee
    pairs: list[tuple[Label, Label]] = []
    while True:
        ended = "disassociated" if g.as_published else "left_out"
        solution = Solution(**{**vars(solution), ended: tuple(pairs)})
        published = solution.apply(forest)
        wrong = violations(list(published.records()), g.k, g.m, g.n, attacker=g.attacker, known=known)
        if not wrong:
            return solution, published
        rare = sorted({relation for violation in wrong for relation in violation.relations})
        if any(not violation.relations for violation in wrong) or len(pairs) > 5:
            return None
        pairs.append(rare[0])
