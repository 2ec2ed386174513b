"""The default search: greedy walks to cuts of which nothing can be made finer, from many starts; the best is taken.

A walk publishes one more hierarchy node at a time and keeps it if the *whole* guarantee, values and relations, still
holds; what fails is not tried again. (For n <= 1 that loses nothing; for n >= 2 a refused cut may have a safe one below
it, so the last walk tries again where the data are not many.) Walks differ in what a class is worth, drawn over up to
four decades, and in whether all children of a node are published at once, as a cut has it, or one by one beside the
general label of the others. Then relations are ended where that buys more than it costs, and the trees themselves are
repaired until nothing is rare. The published searches (O. Gkountouna and M. Terrovitis, "Anonymizing collections of
tree-structured data", IEEE TKDE 2015) instead repair every cut that they pass.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any, Literal

import numpy as np

from treeanon.algorithms.tree.default.greedy_walk import (
    Order,
)
from treeanon.algorithms.tree.default.leaving_out import Ending, bound_classes
from treeanon.algorithms.tree.default.objective import Draft, Effort, Guide, Objective
from treeanon.algorithms.tree.default.objectives import objective_of
from treeanon.algorithms.tree.default.run import Run
from treeanon.algorithms.tree.default.strict import needed as strictly
from treeanon.algorithms.tree.published.cut_searches import gcs
from treeanon.algorithms.tree.solution import Result, Solution
from treeanon.arrays import Floats, Longs
from treeanon.errors import GuaranteeError, UsageError
from treeanon.forest import Forest
from treeanon.privacy import Guarantee
from treeanon.privacy.guarantee import refuse_too_few, roles_of
from treeanon.progress import Progress
from treeanon.queries.workload import queries_in

RECODINGS = ("sibling", "subtree")

# How few nodes and labels let the published GCS have a look too: see _published_may_help.
_FEW_NODES, _MOST_TREE_LABELS = 5_000, 10_000

_MOST_RELATIONS = 31
"""So many relations that a set of labels may have can be told apart in the check."""


def search(
    forest: Forest,
    guarantee: Guarantee,
    *,
    recoding: str = "sibling",
    objective: str = "loss",
    weights: Mapping[str, float] | None = None,
    objects_weight: float = 1,
    effort: str | float = 1,
    seed: int | None = None,
    max_suppressed: int = 0,
    taking_apart: str | None = None,
    jobs: int | None = None,
    progress: Progress | None = None,
    start: Solution | None = None,
    queries: str | Path | Sequence[str] | None = None,
) -> Result:
    """Return the best release found. It is the same for the same seed (0 if there is none), however many cores look.

    `start` is a solution to be carried on from: its cut is made finer until nothing can be added. `max_suppressed`
    persons at most are left out, if that saves more than it costs. `taking_apart` says how relations are ended: nodes
    are left out, or moved as the paper has it, or neither. A move that points back to somebody becomes a node left out,
    but where the release is wanted `as_published`. `objective` says what is minimized (see `objectives`); `queries`, or
    the path of a file of them, belong to the objective of that name, and `objects_weight` to the loss.
    """
    if recoding not in RECODINGS:
        raise UsageError(f"recoding must be one of {', '.join(RECODINGS)}")
    refuse_too_few(forest, guarantee.k)
    if forest.classes.types:
        _refuse_for_objects(forest, guarantee, start)
    if not roles_of(forest, guarantee).known:
        raise UsageError("no class has the role quasi: there is nothing that an attacker is taken to know")
    if start is not None and max_suppressed:
        raise UsageError("what others have found is carried on for all persons: max_suppressed does not go with it")
    options: dict[str, Any] = {"recoding": recoding, "objective": objective, "effort": effort}
    if taking_apart is not None:
        options["taking_apart"] = taking_apart
    if weights:
        options["weights"] = dict(weights)
    if objects_weight != 1:
        options["objects_weight"] = objects_weight
    if seed is not None:
        options["seed"] = seed
    asked = None if queries is None else queries_in(queries)
    if asked is not None:
        options["queries"] = len(asked)
    jobs = jobs or os.cpu_count() or 1
    with ThreadPoolExecutor(1) as pool:
        indexed = pool.submit(Run.index_of, forest, guarantee) if jobs > 1 else None
        goal = objective_of(objective, forest, guarantee, weights, asked, objects_weight)
        ending = Ending.of(forest, guarantee, taking_apart)
    look = Effort.of(effort)
    if goal.beside and look.seconds is not None:
        look = Effort(seconds=look.seconds / 2)
    index = None if indexed is None else indexed.result()
    run = Run(forest, guarantee, goal, recoding, ending, look, seed or 0, jobs, progress, index)
    usual: Draft | None = None
    if guarantee.k == 1 and not strictly(guarantee):
        best = run.untouched()
    else:
        best = run.best() if start is None else run.carry_on(start)
    if guarantee.k > 1 and start is None:
        if goal.beside:
            usual = _of_least_loss(run)
            best = min(best, usual, key=lambda draft: draft.cost)
        if _published_may_help(run):
            best = _or_as_published(run, best)
        if max_suppressed:
            best = _without_outliers(run, best, max_suppressed)
    solution = best.solution(guarantee, options, len(forest))
    if forest.classes.types:
        solution = replace(solution, objects="whole")
    told = goal.told(best.forest, None if usual is None else usual.forest, best.kept)
    if look.rounds > 1 and start is None:
        told["gained"] = run.gained
    return Result(solution, best.forest, best.kept, {"walks": run.walks, "cost": best.cost, **told})


def _of_least_loss(run: Run) -> Draft:
    """Return the release of the least ordinary loss, with its cost by the objective of a run."""
    goal = Objective(run.forest, run.guarantee, run.goal.by_name)
    usual = Run(run.forest, run.guarantee, goal, run.recoding, run.ending, run.effort, run.seed, run.jobs, run.progress)
    found = usual.best()
    run.walks += usual.walks
    return replace(found, cost=run.goal.of_release(found.forest))


def _refuse_for_objects(forest: Forest, guarantee: Guarantee, start: Solution | None) -> None:
    """UsageError for what the search cannot do yet where objects stay whole."""
    if start is not None:
        raise UsageError("a solution is carried on from in merged trees alone, not where objects stay whole")
    if guarantee.of_merged_trees:
        raise UsageError(guarantee.of_merged_trees)
    kinds, m = forest.classes.kinds, guarantee.m
    if kinds * (m * (m - 1) // 2) > _MOST_RELATIONS:
        raise UsageError(f"m = {m} is too large where objects lie in objects, {kinds} deep")


def _published_may_help(run: Run) -> bool:
    """Return whether the published GCS is tried too: for its own measures and recoding, else if that is quick."""
    if strictly(run.guarantee) or run.forest.classes.types or len(run.forest.classes) > _MOST_TREE_LABELS:
        return False
    return bool(run.goal.guides) or not run.sibling or run.forest.nodes <= _FEW_NODES


def _or_as_published(run: Run, best: Draft) -> Draft:
    """Return the best release, or what the published GCS finds, carried on, where that costs less.

    Finer is not always less by RPD: a level of an unbalanced hierarchy may hold fewer nodes than the one
    above it, so that walks to maximal cuts can end above a coarser one. And few records leave few cuts, of which that
    search sees many.
    """
    closings: tuple[Literal["values", "cuts"], ...] = ("values", "cuts")
    guides: tuple[Guide, ...] = run.goal.guides or (("class", "rpda"),)
    for closed, (scope, choose) in product(closings, guides):
        try:
            found = gcs(run.forest, run.guarantee, closed=closed, scope=scope, choose=choose)
        except GuaranteeError:  # it can withhold no class
            return best
        drafts = [best, run.taken_over(found.solution), run.carried_on(found.solution)]
        best = min((draft for draft in drafts if draft is not None), key=lambda draft: draft.cost)
    return best


def _without_outliers(run: Run, best: Draft, most: int) -> Draft:
    """Return the best release with at most so many persons left out; the given one where that does not pay."""
    order = Order(tuple(run.goal.weights.tolist())) if best.walked is None else best.walked.order
    [(_, walked)] = run.walk_all([replace(order, let_out=run.sibling, price=0.0, again=False, blame=True)])
    score = np.zeros(len(run.forest)) if walked.blame is None else walked.blame
    everybody = np.arange(len(run.forest))
    for count in dict.fromkeys(max(1, most // part) for part in (4, 2, 1)):
        kept = np.setdiff1d(everybody, _worst(score, count))
        if len(kept) == len(everybody) or len(kept) < run.guarantee.k:
            continue
        fewer = run.forest.take(kept)
        goal = run.goal.of_others(fewer)
        ending = replace(run.ending, bound=bound_classes(fewer))
        inner = Run(fewer, run.guarantee, goal, run.recoding, ending, run.effort, run.seed, run.jobs, run.progress)
        found = inner.best()
        run.walks += inner.walks
        cost = run.goal.of_release(found.forest, kept)
        if cost < best.cost:
            best = replace(found, cost=cost, kept=kept)
    return best


def _worst(score: Floats, most: int) -> Longs:
    """Return the records with the highest scores above 0, at most so many."""
    chosen = np.argsort(-score, kind="stable")[:most]
    return chosen[score[chosen] > 0]
