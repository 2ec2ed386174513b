"""From a forest to a release: search, check by other code than the search's, measure.

The largest k that is good enough, by doubling and halving.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

import numpy as np

from treeanon.algorithms.tree.default.leaving_out import safe_result
from treeanon.algorithms.tree.registry import TREE_DEFAULT, tree_algorithm_named
from treeanon.algorithms.tree.solution import Result, Solution
from treeanon.arrays import unique_values
from treeanon.errors import GuaranteeError
from treeanon.forest import Forest
from treeanon.forest.classes import STAR
from treeanon.forest.planting import merged
from treeanon.forest.shifting import shifted
from treeanon.infer.persons import refuse_repeats
from treeanon.metrics.measure import measure
from treeanon.metrics.objects import objects_kept
from treeanon.metrics.values import value_loss
from treeanon.privacy.guarantee import Guarantee, refuse_too_few, roles_of
from treeanon.progress import Progress, beside, run_interruptibly, stage
from treeanon.release.tree_release import Release
from treeanon.release.tree_request import SMALLEST_K, Request, persons, request_of
from treeanon.risks.trees import pointed_to
from treeanon.verifier.tree import verify

T = TypeVar("T")


def largest_k(within: Callable[[int], T | None], least: int, most: int) -> T | None:
    """What `within` gives for the largest k from `least` to `most` for which it gives anything; None if for none.

    Taken for granted: what a k gives, a smaller one gives too. Where that is not quite so, the answer is still one
    that `within` gave.

    >>> largest_k(lambda k: f"k is {k}" if k <= 37 else None, 2, 1000)
    'k is 37'
    >>> largest_k(lambda k: k if k <= 37 else None, 40, 1000) is None
    True
    """
    best = within(least) if least <= most else None
    if best is None:
        return None
    good, bad = least, most + 1
    step = min(2 * good, most)
    while step > good and (found := within(step)) is not None:
        best, good = found, step
        step = min(2 * good, most)
    if step > good:
        bad = step
    while bad - good > 1:
        middle = (good + bad) // 2
        found = within(middle)
        if found is None:
            bad = middle
        else:
            best, good = found, middle
    return best


def anonymize(forest: Forest, **asked: Any) -> Release:
    """Return a checked release of a forest; `asked` are those of `treeanon.anonymize`, and parameters of the search.

    >>> import treeanon as ta
    >>> schema = ta.Schema.loads('version = 1\\n[input]\\nformat = "ndjson"\\n[[class]]\\nname = "age"\\npath = "age"')
    >>> forest = ta.Forest.from_records(schema, [[["age", "34", []]], [["age", "34", []]], [["age", "35", []]]])
    >>> release = anonymize(forest, k=2)
    >>> release.verdict.holds, list(release.forest.records())[0]
    (True, [['age', '*', []]])
    """
    progress = asked.pop("progress", None)
    return fulfill(request_of(**asked), forest, progress)


def fulfill(request: Request, forest: Forest, progress: Progress | None = None) -> Release:
    """Return the release of a forest that a request asks for."""
    request.check(forest.schema)
    request = request.weighted(forest.schema)
    forest = shifted(fitting(request, forest))
    refuse_repeats(forest.report)
    roles_of(forest, request.guarantee)
    refuse_too_few(forest, request.guarantee.k)
    refuse_uniform(forest, request.guarantee)

    finish = threading.Event() if "finish" in request.search.receives else None

    def find(guarantee: Guarantee) -> Result:
        work = partial(search, request, forest, guarantee, finish=finish)
        return run_interruptibly(work, stage(progress, "searching"), finish=finish)

    if request.max_loss is None:
        found = find(request.guarantee)
    else:
        found = _largest(request.guarantee, request.max_loss, forest, find)
    return _release(request, forest, found, stage(progress, "verifying"))


def fitting(request: Request, forest: Forest) -> Forest:
    """Return the trees that a request is of: those given, or merged ones where it needs these."""
    return forest if request.fitting(forest.schema) is forest.schema else merged(forest)


def refuse_uniform(forest: Forest, guarantee: Guarantee) -> None:
    """GuaranteeError if a sensitive class is not diverse in the whole collection: then no group need be formed."""
    if guarantee.l == 1:
        return
    classes = forest.classes
    for index in roles_of(forest, guarantee).sensitive:
        if not _is_diverse_as_a_whole(forest, index, guarantee):
            raise GuaranteeError(
                f"class {classes.names[index]!r} is not {guarantee.l}-diverse in the collection as a whole, so that"
                " knowing nothing of a person would be enough"
            )


def _is_diverse_as_a_whole(forest: Forest, index: int, guarantee: Guarantee) -> bool:
    """Return whether a sensitive class is diverse among all persons; one of which nobody has a value is."""
    nodes = np.flatnonzero(forest.classes.class_of[forest.label] == index)
    record, value = np.searchsorted(forest.offsets, nodes, side="right") - 1, forest.label[nodes]
    if not len(nodes):
        return True
    if guarantee.diversity == "frequency":
        pairs = np.unique(np.stack([value, record]), axis=1)
        return int(np.bincount(pairs[0]).max()) * guarantee.l <= len(forest)
    values = unique_values(value)
    for one in values.tolist():
        holders = np.zeros(len(forest), bool)
        holders[record[value == one]] = True
        if len(unique_values(value[~holders[record]])) < guarantee.l:
            return False
    return True


def search(
    request: Request,
    forest: Forest,
    guarantee: Guarantee,
    progress: Progress | None = None,
    finish: threading.Event | None = None,
) -> Result:
    """What the search finds, carried on to a maximal cut where that is wanted.

    Searches that look at cut after cut give the best so far when `finish` is set.
    """
    algorithm = request.search
    given = dict(request.options)
    common = {"seed": request.seed, "jobs": request.jobs, "progress": progress, "finish": finish}
    # Somebody is published, however many may be left out.
    if left_out := min(persons(request.max_suppressed, len(forest)), max(len(forest) - guarantee.k, 0)):
        given["max_suppressed"] = left_out
    own = {name: value for name, value in given.items() if algorithm.takes(name)}
    found = algorithm.search(forest, guarantee, **own, **algorithm.received(**common))
    if not request.complete:
        return safe_result(forest, found)
    finishing = tree_algorithm_named(TREE_DEFAULT)
    # What the paper's searches move is moved on, and left out where it would point back.
    rest = {} if guarantee.as_published else {"taking_apart": "move"}
    rest |= {name: value for name, value in given.items() if finishing.takes(name)}
    done = finishing.search(forest, guarantee, **rest, start=found.solution, **finishing.received(**common))
    options = {**found.solution.options, **rest, "complete": True}
    solution = replace(done.solution, algorithm=algorithm.name, options=options)
    return replace(done, solution=solution, report={**found.report, **done.report})


def _largest(least: Guarantee, bound: float, forest: Forest, find: Callable[[Guarantee], Result]) -> Result:
    """What is found for the largest k, from the least on, whose value loss is within the bound."""

    def within(k: int) -> Result | None:
        try:
            found = find(replace(least, k=k))
        except GuaranteeError:
            return None
        return found if value_loss(forest, found.forest, found.kept).total <= bound else None

    found = largest_k(within, max(least.k, SMALLEST_K), len(forest))
    if found is None:
        k = max(least.k, SMALLEST_K)
        raise GuaranteeError(f"already k = {k} loses more than a value loss of {bound:g}, or cannot be reached")
    return found


def _release(request: Request, forest: Forest, found: Result, progress: Progress | None) -> Release:
    """Return the release of what was found; GuaranteeError unless it is what it is said to be."""
    # For this the input is read once more, as whole objects: it takes as long as all the rest of this function.
    objects = beside(partial(objects_kept, forest, found.forest, found.kept), request.jobs)
    solution = plain_solution(request, forest, found.solution)
    before = forest if found.kept is None else forest.take(found.kept)
    counts = counts_of(forest, found.forest)
    if solution.cut is not None:
        whole = solution.taken_apart(before)
        if not _same(whole.leave_out(solution.left_out), found.forest):
            raise GuaranteeError("the search's trees are not what its solution makes of the input: please report it")
        if solution.left_out:
            counts["nodes_left_out"] = whole.nodes - found.forest.nodes
        del whole
    verdict = verify(found.forest, solution.guarantee, jobs=request.jobs, progress=progress)
    if not verdict.holds:
        raise GuaranteeError("the search's trees did not pass the check, so nothing is published: please report it")
    if solution.guarantee.as_published and solution.disassociated:
        counts["pointed_to"] = pointed_to(found.forest, solution.guarantee, request.jobs).as_dict()
    losses = measure(forest, found.forest, found.kept, objects=objects)
    return Release(found.forest, solution, losses, verdict, counts, found.report, found.kept)


def plain_solution(request: Request, forest: Forest, solution: Solution) -> Solution:
    """Return the solution as it is kept: a cut of the generalized classes alone, a seed only if one was given.

    The cut of a class that is published as it is would list values of the data.
    """
    seed = {} if request.seed is None else {"seed": request.seed}
    options = {name: value for name, value in solution.options.items() if name != "seed" and value is not None} | seed
    cut = solution.cut
    if cut is not None and STAR not in cut:
        known = [forest.classes.names[i] for i in roles_of(forest, solution.guarantee).known]
        cut = {name: cut[name] for name in known if name in cut and name not in solution.withheld}
    return replace(solution, options=options, cut=cut, objects="whole" if forest.classes.types else "merged")


def _same(one: Forest, other: Forest) -> bool:
    """Return whether both hold the same trees in the same order."""
    if one.classes is not other.classes:
        return one == other
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in ("offsets", "parent", "label"))


def counts_of(before: Forest, after: Forest) -> dict[str, Any]:
    """Records and nodes before and after, and what reading left out."""
    counts = {
        "records": len(before),
        "nodes": before.nodes,
        "published_records": len(after),
        "published_nodes": after.nodes,
    }
    return counts if before.report is None else counts | before.report.as_dict()
