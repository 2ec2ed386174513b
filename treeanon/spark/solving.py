"""From records on the workers to a solution that is safe for all: sample, search, count, repair, count again.

The driver searches in a sample, which does not depend on how the records are partitioned.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from functools import partial
from math import ceil
from typing import Any

import numpy as np
import pyarrow as pa

from treeanon.algorithms.tree.default.leaving_out import bound_classes
from treeanon.algorithms.tree.default.traces import label_pairs
from treeanon.algorithms.tree.solution import Solution
from treeanon.arrays import Floats, Longs, unique_values
from treeanon.errors import GuaranteeError, UsageError
from treeanon.forest import Forest
from treeanon.forest.classes import STAR
from treeanon.io.interface import ReadOptions
from treeanon.metrics import Losses
from treeanon.privacy.guarantee import Guarantee, roles_of
from treeanon.progress import Progress
from treeanon.release.tree import plain_solution, search
from treeanon.release.tree_request import Request, persons
from treeanon.schema import Schema
from treeanon.schema.persons import refuse_persons, refuse_shift
from treeanon.spark.checking import check_diversity, check_written_trees
from treeanon.spark.counting import (
    HAD,
    Fingerprints,
    RareSet,
    Supports,
    Tally,
    cost_of,
    count_distinct,
    count_supports,
    ended_pairs,
    holders_of,
    losses_of,
    nodes_under,
    relations_of,
)
from treeanon.spark.diversity import sets_not_diverse
from treeanon.spark.finer import finer_labels
from treeanon.spark.interface import Notify
from treeanon.spark.lines import Lines
from treeanon.spark.persons import with_persons_together
from treeanon.spark.reading import Dataset, Recipe, broadcast_published, encode
from treeanon.spark.records import (
    BLOCKS,
    Batches,
    batch_of,
    fingerprints,
    forests_of,
    joined,
    kinds_of,
    map_batches,
    of_own_values,
    to_block,
)
from treeanon.spark.repair import CostModel, Repair, add_witnesses
from treeanon.spark.session import not_as_published, reading_again, spark_failures
from treeanon.spark.signed import Diversity
from treeanon.spark.spread import Outliers, Signs, Spread, refuse_unspreadable
from treeanon.verifier.parts import PartCheck
from treeanon.verifier.tree_knowledge import pairs_in
from treeanon.verifier.verdict import Diverse, Verdict

SAMPLE = 100_000
"""Default number of records that the driver searches in; a search takes some kilobytes for each.

More make the first solution little better, as all records are counted afterwards, and the search much longer.
"""


_DRAWN = "hash long, times long"


def sample(dataset: Dataset, most: int, seed: int | None) -> tuple[Forest, int]:
    """Return about `most` records in the order of their fingerprints, with equal records in proportion; and how many
    different records there are.

    The sample depends only on the trees, the seed and the number of records. All records are returned if there are no
    more than `most`.
    """
    if dataset.records <= most:
        found = _whole(dataset)
        return found, len(unique_values(fingerprints(found)))
    kinds = kinds_of(dataset.frame, partial(_trees, shapes=dataset.shapes))
    work = partial(_drawn, share=most / dataset.records, seed=seed or 0)
    table = map_batches(kinds, work, _DRAWN).toArrow().sort_by("hash")
    hashes, times = (table.column(name).to_numpy() for name in ("hash", "times"))
    different = -int(times[times <= 0].sum())
    hashes, times = hashes[times > 0], times[times > 0]
    wanted = dataset.frame.sparkSession.sparkContext.broadcast(hashes)
    chosen = map_batches(dataset.frame, partial(_of_kinds, shapes=dataset.shapes, wanted=wanted), BLOCKS).toArrow()
    found = joined([_empty(dataset), *forests_of(chosen.to_batches(), dataset.schema, dataset.classes)])
    # Several partitions may have sent records of a kind.
    first = np.unique(fingerprints(found), return_index=True)[1]
    return found.take(np.repeat(first, times)), different


def _trees(batches: Batches, shapes: Any) -> Iterator[Forest]:
    yield from forests_of(batches, *shapes.value)


def _drawn(batches: Batches, share: float, seed: int) -> Iterator[pa.RecordBatch]:
    """Yield the fingerprints that come into the sample, and how often; last the number of all, as less than 0."""
    different = 0
    for batch in batches:
        for row in zip(*batch.columns, strict=True):
            hashes, times = (np.frombuffer(cell.as_buffer(), np.int64) for cell in row)
            # A pseudo-random number from 0 to 1 for each different tree rounds its share of the sample at random.
            taken = np.floor(times * share + random_shares(hashes, seed)).astype(np.int64)
            different += len(hashes)
            yield batch_of(_DRAWN, hashes[taken > 0], taken[taken > 0])
    yield batch_of(_DRAWN, [0], [-different])


def random_shares(hashes: Longs, seed: int) -> Floats:
    """Return a pseudo-random number from 0 to 1 (exclusive) for each fingerprint, the same whenever it comes again.

    >>> random_shares(np.arange(3), 1).round(3).tolist() == random_shares(np.arange(3), 1).round(3).tolist()
    True
    >>> bool(0.49 < random_shares(np.arange(10_000), 7).mean() < 0.51)
    True
    """
    words = hashes.view(np.uint64) ^ np.uint64((seed * 0x9E3779B97F4A7C15) & (2**64 - 1))
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        words = (words ^ words >> np.uint64(shift)) * np.uint64(factor)
    return (words ^ words >> np.uint64(31)) / np.float64(2**64)


def _of_kinds(batches: Batches, shapes: Any, wanted: Any) -> Iterator[pa.RecordBatch]:
    """Yield a record of each wanted fingerprint that a partition has, as rows of many records."""
    for forest in forests_of(batches, *shapes.value):
        found, first = np.unique(fingerprints(forest), return_index=True)
        yield to_block(forest.take(first[np.isin(found, wanted.value, assume_unique=True)]))


def _empty(dataset: Dataset) -> Forest:
    nothing = np.empty(0, np.int32)
    return Forest(dataset.schema, dataset.classes, np.zeros(1, np.int64), nothing, nothing)


def _whole(dataset: Dataset) -> Forest:
    """Return all records in the order of their fingerprints."""
    parts = forests_of(dataset.frame.toArrow().to_batches(), dataset.schema, dataset.classes)
    found = joined([_empty(dataset), *parts])
    return found.take(np.argsort(fingerprints(found), kind="stable"))


MAX_ROUNDS = 50
MAX_FINER_ROUNDS = 8
_LEAST_GAIN = 0.01
"""Refinement stops when the cost falls by less than this share."""


@dataclass(frozen=True)
class SolveResult:
    """A solution that is safe over all partitions, its recipe, the release's fingerprints, losses and report."""

    solution: Solution
    recipe: Recipe
    prints: Fingerprints
    loss: Losses
    report: Mapping[str, Any]


def check_request(request: Request, schema: Schema) -> None:
    """Raise UsageError for a request that this engine cannot fulfill."""
    request.check(schema)
    refuse_persons(schema, "engine spark", but_rows=True)
    refuse_shift(schema.classes, "engine spark")
    refuse_unspreadable(request.guarantee)
    if request.algorithm == "miracle":
        raise UsageError("miracle recodes every record together with similar ones: it needs all records in one place")
    if (name := request.options.get("objective")) in ("mining", "queries"):
        raise UsageError(f"objective = {name}: engine spark cannot count it over all records; it minimizes the loss")
    if request.max_loss is not None:
        raise UsageError("max_loss: engine spark takes a k and cannot search for the largest")


def solve(
    dataset: Dataset, request: Request, notify: Notify, most: int | None = None, progress: Progress | None = None
) -> SolveResult:
    """Return a solution in which, by exact counting, no set is rare over all partitions; GuaranteeError if none is
    found.
    """
    guarantee, begun = request.guarantee, time.perf_counter()
    if dataset.records < guarantee.k:
        raise GuaranteeError(f"{dataset.records:,} records are fewer than k = {guarantee.k:,}")
    most = SAMPLE if most is None else most
    some, different = sample(dataset, most, request.seed)
    notify(f"searching in {len(some):,} of {dataset.records:,} records")
    k = guarantee.k
    if len(some) < dataset.records:
        # k in proportion to the sample, at least 2: exact counts over all records find and repair what is still rare.
        k = min(k, max(2, ceil(k * len(some) / dataset.records)))
    # Nobody is left out at first, and then as many as may be where that loses less.
    allowed = min(persons(request.max_suppressed, dataset.records), dataset.records - guarantee.k)
    searched = some if len(some) == dataset.records else of_own_values(some)
    rounds = _Rounds(dataset, replace(request, max_suppressed=0), notify, _bound(some), progress)
    tries = [rounds] if not allowed else [rounds, rounds.leaving_out(allowed, len(some))]
    best: _SafeSolution | None = None
    with spark_failures("counting"):
        for one in tries:
            found = search(one.request, searched, replace(guarantee, k=k), progress)
            own = _all_left_out(plain_solution(request, some, replace(found.solution, guarantee=guarantee)))
            safe = one.make_safe(_covering(dataset, own))
            if len(some) < dataset.records and is_sibling(safe.solution) and STAR not in (safe.solution.cut or {}):
                safe = one.refine(safe, some, most)
            if best is None or one.cost(safe.numbers) < one.cost(best.numbers):
                best, told = safe, found.report
        assert best is not None
        safe = best
        trees = different, count_distinct(dataset, safe.recipe)
        losses = losses_of(safe.numbers, dataset, trees, request.options.get("weights"))
    solution = replace(safe.solution, suppressed=dataset.records - safe.prints.records)
    report = {
        "engine": "spark", "sample": len(some), "rounds": sum(one.rounds for one in tries),
        "changes": sum(one.changes for one in tries), "seconds": time.perf_counter() - begun, **told,
    }  # fmt: skip
    return SolveResult(solution, safe.recipe, safe.prints, losses, report)


@dataclass(frozen=True)
class _SafeSolution:
    """A solution without rare sets, its recipe, and the fingerprints and numbers of its release."""

    solution: Solution
    recipe: Recipe
    prints: Fingerprints
    numbers: Tally


class _Rounds:
    """Makes solutions for one dataset safe by counting over all records; counts the rounds.

    Up to `allowed` persons are left out where that is cheaper than resolving what is rare.
    """

    def __init__(
        self,
        dataset: Dataset,
        request: Request,
        notify: Notify,
        bound: frozenset[int],
        progress: Progress | None = None,
        allowed: int = 0,
    ) -> None:
        self.bound, self.allowed = bound, allowed
        self.dataset, self.request, self.notify, self.progress = dataset, request, notify, progress
        self.rounds, self.changes = 0, 0
        self._worth: CostModel | None = None

    def leaving_out(self, allowed: int, sampled: int) -> _Rounds:
        """Return rounds that leave out so many persons at most, and in a sample as many in proportion."""
        request = replace(self.request, max_suppressed=allowed * sampled // self.dataset.records)
        made = _Rounds(self.dataset, request, self.notify, self.bound, self.progress, allowed)
        made._worth = self._worth
        return made

    def cost(self, numbers: Tally) -> float:
        """Return what a release costs by its counts."""
        return cost_of(numbers, self.dataset, self.request.options)

    def make_safe(self, solution: Solution) -> _SafeSolution:
        """Return a solution without rare sets: this one or a more general one."""
        guarantee = solution.guarantee
        outliers: list[RareSet] = []
        for _ in range(MAX_ROUNDS):
            recipe = self._recipe(solution, outliers)
            found = _counted(self.dataset, recipe, guarantee, None)
            ended = _ended(self.dataset, recipe, guarantee) if found.traced else np.empty(0, np.int64)
            if len(ended):
                found = _counted(self.dataset, recipe, guarantee, ended)
            self.rounds += 1
            if self._worth is None:
                self._worth = _worth(found.tally, self.dataset, self.request)
            self.notify(f"round {self.rounds}: {found.rare_sets:,} of {found.sets:,} sets are rare over all records")
            failing = found.rare
            if not failing and guarantee.l > 1:
                failing = _not_diverse(self.dataset, recipe, guarantee, ended)
                self.notify(f"round {self.rounds}: {len(failing):,} sets are not diverse over all records")
            if not failing:
                return _SafeSolution(solution, recipe, found.prints, found.tally)
            if STAR in (solution.cut or {}):
                raise GuaranteeError("the records that have any value are fewer than k, or not diverse")
            repair = self.repair(solution)
            # A trace is no set of labels and relations by which persons could be left out.
            spare = 0 if len(ended) else self.allowed - (self.dataset.records - found.prints.records)
            holders = _holders(self.dataset, recipe, guarantee, failing, spare) if spare else {}
            self.changes += repair.run(failing, found.held, spare, holders)
            outliers += repair.outliers
            solution = repair.result()
        raise GuaranteeError(f"no release was found in {MAX_ROUNDS} rounds; a larger sample may help")

    def _recipe(self, solution: Solution, outliers: list[RareSet]) -> Recipe:
        """Return the recipe of a solution that leaves out who holds one of some sets."""
        recipe = Recipe.of(solution, self.dataset)
        if not outliers:
            return recipe
        sets = dict.fromkeys((one.labels, one.relations) for one in outliers)
        spread = _spread(self.dataset, recipe, solution.guarantee)
        return replace(recipe, outliers=Outliers.of(replace(spread, signs=None), sets))

    def repair(self, solution: Solution) -> Repair:
        """Return the repair of a solution, with the costs of this dataset."""
        assert self._worth is not None, "a round comes first"
        return Repair(solution, self.dataset.classes, self._worth, sibling=is_sibling(solution), bound=self.bound)

    def search_again(self, solution: Solution, labels: list[int], some: Forest, most: int) -> Solution | None:
        """Search again with these labels publishable too, in records that include witnesses of all rare sets."""
        repair, guarantee = self.repair(solution), solution.guarantee
        repair.publish(labels)
        # What was withheld or left out for the sample may be frequent enough in all records.
        finest = Recipe.of(replace(repair.result(), disassociated=(), left_out=(), withheld=()), self.dataset)
        spread = _spread(self.dataset, finest, guarantee)
        records = add_witnesses(some, self.dataset, finest, spread, guarantee.k, max(most, SAMPLE))
        if records is None:
            self.notify("not refining further: there are more rare sets than a worker can hold")
            return None
        self.notify(f"searching again in {len(records):,} records, with {len(labels):,} finer values")
        records = of_own_values(records.relabel(finest.mapping))
        found = search(self.request, records, guarantee, self.progress)
        own = _all_left_out(plain_solution(self.request, records, found.solution))
        return _covering(self.dataset, own)

    def refine(self, safe: _SafeSolution, some: Forest, most: int) -> _SafeSolution:
        """Return a safe solution that was refined as long as the loss falls."""
        weights = self.request.options.get("weights")
        cost, offered = self.cost(safe.numbers), set[int]()
        for _ in range(MAX_FINER_ROUNDS):
            held = nodes_under(self.dataset.held, self.dataset.classes, safe.recipe)
            labels = finer_labels(self.dataset, safe.recipe, safe.solution.guarantee, held, weights)
            # What a search had to choose from and did not publish, the next one would hardly publish.
            labels = [label for label in labels if label not in offered]
            offered.update(labels)
            tried = self.search_again(safe.solution, labels, some, most) if labels else None
            if tried is None:
                break
            finer = self.make_safe(tried)
            now = self.cost(finer.numbers)
            pays = cost - now > _LEAST_GAIN * cost
            if now < cost:
                safe, cost = finer, now
            if not pays:
                break
        return safe


def _bound(some: Forest) -> frozenset[int]:
    """Return the classes of which nothing may be left out: by a sample also those that it has no value of."""
    held = unique_values(some.classes.class_of[some.label])
    return bound_classes(some) | (frozenset(range(len(some.classes.names))) - frozenset(held.tolist()))


def is_sibling(solution: Solution) -> bool:
    """Return whether a published node may coexist with its published descendants."""
    return bool(solution.options.get("recoding", "subtree") == "sibling")


def _all_left_out(solution: Solution) -> Solution:
    """Return the solution with nodes left out that a search moved: whether moving is safe no sample can tell."""
    if solution.guarantee.as_published:
        return solution
    rules = tuple(dict.fromkeys((*solution.left_out, *solution.disassociated)))
    return replace(solution, disassociated=(), left_out=rules)


def _covering(dataset: Dataset, solution: Solution) -> Solution:
    """Return the solution of a sample, extended to the values that the sample lacks."""
    if STAR in (solution.cut or {}):
        return solution
    covering = Repair(solution, dataset.classes, CostModel(1, 1), sibling=is_sibling(solution))
    covering.cover()
    return covering.result()


def _worth(numbers: Tally, dataset: Dataset, request: Request) -> CostModel:
    classes = dataset.classes
    # Types of objects are no values.
    labels = int(dataset.held[classes.first[classes.types] :].sum())
    relations = int(numbers.of(HAD, relations_of(classes)).sum())
    return CostModel(labels, relations, request.options.get("weights"))


def _counted(dataset: Dataset, recipe: Recipe, guarantee: Guarantee, ended: Longs | None) -> Supports:
    return count_supports(dataset, recipe, _spread(dataset, recipe, guarantee), guarantee.k, ended)


def _holders(
    dataset: Dataset, recipe: Recipe, guarantee: Guarantee, sets: Sequence[RareSet], most: int
) -> dict[RareSet, list[int]]:
    """Return who holds each set, as numbers of persons; not of sets that more hold or that say what is lacking."""
    chosen = [one for one in sets if one.persons <= most and not one.lacks]
    spread = replace(_spread(dataset, recipe, guarantee), signs=None)
    # All are published: they were counted in what is.
    outliers = Outliers.of(spread, [(one.labels, one.relations) for one in chosen])
    found: dict[RareSet, list[int]] = {}
    if outliers is not None:
        for person, number in holders_of(dataset.frame, recipe.broadcast(dataset).after, outliers):
            found.setdefault(chosen[number], []).append(person)
    return found


def _not_diverse(dataset: Dataset, recipe: Recipe, guarantee: Guarantee, ended: Longs) -> tuple[RareSet, ...]:
    classes, published = dataset.classes, recipe.broadcast(dataset).after
    is_distinct = guarantee.diversity == "distinct"
    spread = _spread(dataset, recipe, guarantee, signed=is_distinct)
    is_sensitive = np.isin(classes.class_of, roles_of(dataset, guarantee).sensitive)
    wanted = Diversity(guarantee.l, np.where(is_sensitive, classes.class_of, -1), is_distinct)
    return sets_not_diverse(dataset.frame, published, spread, wanted, ended)


def _ended(dataset: Dataset, recipe: Recipe, guarantee: Guarantee) -> Longs:
    """Return the pairs of labels whose traces count; nothing leaves a trace where objects stay whole."""
    if guarantee.as_published or dataset.classes.types:
        return np.empty(0, np.int64)
    return ended_pairs(dataset.frame, recipe.broadcast(dataset).after, label_pairs)


def _spread(dataset: Dataset, recipe: Recipe, guarantee: Guarantee, *, signed: bool = False) -> Spread:
    """Return the counting of all labels, `*` included, that the recipe can publish and an attacker may know.

    It has signs where a class is negative, or with `signed`.
    """
    roles, classes = roles_of(dataset, guarantee), dataset.classes
    labels = unique_values(recipe.mapping)
    mine = labels[np.isin(classes.class_of[labels], [-1, *roles.known])].astype(np.int32)
    signs = Signs.of(mine, classes, roles) if roles.negative or signed else None
    return Spread.of(mine, len(classes), guarantee, types=classes.types, kinds=classes.kinds, signs=signs)


def verify_written(lines: Lines, schema: Schema, dataset: Dataset, solved: SolveResult) -> Verdict:
    """Read what was written and return the verdict; GuaranteeError unless it is the release that was searched for."""
    begun = time.perf_counter()
    guarantee, name = solved.solution.guarantee, lines.name
    is_known = np.isin(dataset.classes.class_of, [-1, *roles_of(dataset, guarantee).known])
    labels = unique_values(solved.recipe.mapping).astype(np.int32)
    sensitive = roles_of(dataset, guarantee).sensitive if guarantee.l > 1 else ()
    kind_of = np.where(np.isin(dataset.classes.class_of, sensitive), dataset.classes.class_of, -1)
    classes = dataset.classes
    check = PartCheck.of(
        labels[is_known[labels]],
        is_known,
        guarantee,
        kind_of,
        types=classes.types,
        kinds=classes.kinds,
        classes=classes,
    )
    with ExitStack() as stack:
        stack.enter_context(reading_again(name, "trees"))
        lines = stack.enter_context(closing(with_persons_together(lines, schema, ReadOptions())))
        frame = encode(lines, broadcast_published(dataset, solved.recipe, schema), ReadOptions())
        written = solved.recipe.broadcast(dataset).before
        found = check_written_trees(frame, written, check, guarantee.k, None)
        ended = np.empty(0, np.int64)
        if found.traced and not (guarantee.as_published or dataset.classes.types):
            ended = ended_pairs(frame, written, pairs_in)
            if len(ended):
                found = check_written_trees(frame, written, check, guarantee.k, ended)
        diverse = _diversity(dataset, guarantee, check_diversity(frame, written, check, ended))
    if found.prints != solved.prints:
        raise not_as_published(name, "trees")
    records, seconds = found.prints.records, time.perf_counter() - begun
    holds = not found.rare and all(one.holds for one in diverse)
    verdict = Verdict(guarantee, holds, found.least, records, found.sets, diversity=diverse, seconds=seconds)
    if not verdict.holds:
        raise GuaranteeError(f"{name}: not published, for the guarantee does not hold for what was written")
    return verdict


def _diversity(dataset: Dataset, guarantee: Guarantee, largest: Mapping[int, int]) -> tuple[Diverse, ...]:
    """Return the diversity of every sensitive class, by the largest l of each that has values in some group."""
    if guarantee.l == 1:
        return ()
    names = [(dataset.classes.names[index], largest.get(index)) for index in roles_of(dataset, guarantee).sensitive]
    known = [(name, None if least is None else max(least, 1)) for name, least in names]
    return tuple(Diverse(name, least is None or least >= guarantee.l, least) for name, least in known)


def release_counts(dataset: Dataset, solved: SolveResult) -> dict[str, Any]:
    """Return the numbers of records and nodes before and after, and what reading left out."""
    before, after = solved.loss.before, solved.loss.after
    counts = {
        "records": before.records,
        "nodes": before.nodes,
        "published_records": after.records,
        "published_nodes": after.nodes,
    }
    return counts | dataset.report.as_dict()
