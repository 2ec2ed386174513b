"""Publishes persons that are new since the last release, by its solution, as a batch that hides everybody in it.

docs/append.md says what is guaranteed of several releases together, and why.

Also a coarser solution, where too many new persons would have to be held back: and everything published so far by it.

It is searched for in the new persons, as the earlier solution's cut publishes them. So each of its nodes is above, or
is, one of the earlier cut, and what was published becomes more general without a look at the originals: whoever
compares the releases finds, of the older persons, what could be worked out from the earlier release alone.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from treeanon.algorithms.tree.solution import Solution
from treeanon.arrays import Ints, Longs
from treeanon.errors import DataError, GuaranteeError, UsageError
from treeanon.forest import Forest
from treeanon.forest.classes import STAR
from treeanon.forest.shifting import shifted
from treeanon.infer.persons import refuse_repeats
from treeanon.metrics.measure import measure
from treeanon.metrics.values import value_loss
from treeanon.privacy import Guarantee
from treeanon.progress import Progress, run_interruptibly, stage
from treeanon.release.append_hiding import hidden_by
from treeanon.release.append_history import History, Marked, Persons, together
from treeanon.release.reapply import fitted, trees_of
from treeanon.release.solution_file import SolutionFile
from treeanon.release.tree import counts_of, search
from treeanon.release.tree_release import Release
from treeanon.release.tree_request import Request
from treeanon.release.tree_request import persons as persons_of_bound
from treeanon.verifier.tree import verify
from treeanon.verifier.verdict import Verdict


def coarser(solution: Solution, forest: Forest, most: int, progress: Progress | None = None) -> Solution | None:
    """Return a coarser solution by which at most so many of these persons are held back; None if there is none.

    It ends relations anew, by leaving out: what the earlier one has left out is missing in the older records anyway.
    """
    plain = replace(solution, disassociated=(), left_out=())
    own = fitted(plain, forest)
    seen, g = own.apply(forest), solution.guarantee
    request = Request(
        g.k, g.m, g.n, g.attacker, g.l, g.diversity, g.negative, max_suppressed=most, as_published=g.as_published,
        options={"taking_apart": "leave-out"} if g.as_published else {},
    )  # fmt: skip
    try:
        found = run_interruptibly(partial(search, request, seen, g), progress).solution
    except GuaranteeError:
        return None
    withheld = tuple(dict.fromkeys((*solution.withheld, *found.withheld)))
    options = {**solution.options, "coarser": True}
    if found.cut is not None and STAR in found.cut:
        return replace(plain, cut={STAR: (STAR,)}, withheld=withheld, suppressed=0, options=options)
    assert own.cut is not None and found.cut is not None
    cut = {
        name: _joined(forest, name, nodes, own.cut.get(name, ()), found.cut)
        for name, nodes in (solution.cut or {}).items()
        if name not in withheld
    }
    return replace(plain, cut=cut, left_out=found.left_out, withheld=withheld, suppressed=0, options=options)


def _joined(
    forest: Forest, name: str, nodes: tuple[str, ...], known: tuple[str, ...], more: Mapping[str, Sequence[str]]
) -> tuple[str, ...]:
    """Return the nodes of a class by which values are published as by `nodes` first, and what that gives as by `more`.

    Nodes that these data know nothing of stay.
    """
    index = forest.classes.index(name)
    first, last = forest.classes.first[index : index + 2].tolist()
    hierarchy = forest.classes.hierarchies[index]
    own = np.arange(first, last, dtype=np.int32)
    once = forest.cut_map({name: known})[first:last] if known else own
    twice = (forest.cut_map({name: more[name]})[once] if name in more else once) - first
    leaves = hierarchy.leaf_nodes
    chosen = set(twice[leaves].tolist())
    while True:
        nearest = _nearest(hierarchy.parent, chosen)
        # A node inside one of the earlier cut would tell more of new persons than of older ones.
        inside = nearest[leaves] != nearest[once[leaves] - first]
        if not inside.any():
            break
        chosen -= set(nearest[leaves][inside].tolist())
    found = tuple(hierarchy.texts[code] for code in sorted(chosen))
    return (*found, *(text for text in nodes if hierarchy.find(text) is None))


def _nearest(parent: Ints, chosen: Collection[int]) -> Ints:
    """Return for every node of a hierarchy (in preorder) itself, or the next chosen one above it (-1: none)."""
    found = np.full(len(parent), -1, np.int32)
    for node, above in enumerate(parent.tolist()):
        found[node] = node if node in chosen else found[above] if above >= 0 else -1
    return found


def anew(solution: Solution, published: Forest, batch: Forest) -> Forest:
    """Return everything published so far by a coarser solution, with a batch that it has made of new persons."""
    plain = replace(solution, disassociated=(), left_out=())
    older = fitted(plain, published).apply(published)
    return together(batch, list(older.records()))


def published_trees(solution: Solution, published: Forest) -> Forest:
    """Return the published trees of files; UsageError if they have values that the solution does not publish.

    Relations that it ends may be there: in older records that a coarser solution has made more general.
    """
    found = trees_of(solution, published)
    if fitted(replace(solution, disassociated=(), left_out=()), found).apply(found) != found:
        raise UsageError("what is given as published is not a release by this solution")
    return found


MAX_HELD = "10%"
"""So many of those to be published may be held back, unless it is asked for otherwise."""


@dataclass(frozen=True, repr=False)
class Coarser:
    """A coarser solution: how many of the new persons it holds back, what it loses of the others, and its cut.

    `nodes` has for each class whose values become more general how many nodes were published, and how many are then.
    """

    solution: Solution
    held: int
    value_loss: float
    nodes: Mapping[str, tuple[int, int]]

    @property
    def sentence(self) -> str:
        """Return the proposal in words, without a value of the data."""
        classes = ", ".join(f"{name} from {was:,} to {now:,} nodes" for name, (was, now) in self.nodes.items())
        return f"a coarser cut holds back {self.held:,}, with a value loss of {self.value_loss:.3f}: {classes}"


class TooManyHeldError(GuaranteeError):
    """More persons would be held back than may be. Nothing was published; `coarser` is a way out (None: there is none).

    `held` of `persons` would wait.
    """

    def __init__(self, held: int, persons: int, most: int, coarser: Coarser | None) -> None:
        self.held, self.persons, self.coarser = held, persons, coarser
        told = (
            f"{held:,} of {persons:,} persons would be held back, and at most {most:,} may be, so nothing is published"
        )
        ways = "wait until there are more new persons, or let more be held back (--max-held)"
        if coarser is not None:
            ways = f"{coarser.sentence}\npublish everything anew by it (--anew), {ways}"
        super().__init__(f"{told}\n{ways}")


@dataclass(frozen=True, repr=False)
class Appended:
    """What came of a delivery: a release of its persons, who is held back, and the history for the next time.

    `release` is None where nobody is published: everybody waits. With `is_anew` it has everything published so far,
    and `release.solution` is the one for the next time. Its losses are those of the persons of the delivery.
    `counts` has numbers of persons: known before, delivered, waited (held back before), published and held back; and
    alike, where new persons have the content of somebody published before.
    """

    release: Release | None
    history: History
    counts: Mapping[str, int]
    is_anew: bool = False

    @property
    def held(self) -> int:
        """How many persons wait for the next time."""
        return self.counts["held"]

    def __repr__(self) -> str:
        return f"<Appended: {self.counts['published']:,} persons published, {self.held:,} held back>"

    def write(
        self,
        target: str | Path,
        *,
        history: str | Path,
        solution: str | Path | None = None,
        force: bool = False,
        **written: Any,
    ) -> None:
        """Write the release as `Release.write` does, if there is one, and the history: for its owner alone to read.

        An older history is replaced, as it is part of the new one. Where everything is published anew, `solution` gets
        the solution for the next time. The history appears last, and not at all if the release does not.
        """
        with self.history.written_after(history, force=True):
            if self.release is not None:
                self.release.write(target, force=force, **written)
                if solution is not None:
                    self.release.write_solution(solution, force=force)

    def as_dict(self) -> dict[str, Any]:
        """Return the facts as plain data, without a value of the data."""
        facts = {} if self.release is None else self.release.as_dict()
        return {**facts, "append": {**self.counts, "anew": self.is_anew}}


@dataclass(frozen=True)
class Asked:
    """How a delivery is to be appended; see `treeanon.append`."""

    person: str | None = None
    full: bool = False
    k: int | None = None
    max_held: int | float | str = MAX_HELD
    anew: bool = False
    jobs: int | None = None
    progress: Progress | None = None


def append(
    solution: Solution | str | Path,
    delivery: Persons,
    *,
    history: History | str | Path | None = None,
    earlier: Persons | None = None,
    published: Forest | None = None,
    asked: Asked,
) -> Appended:
    """Return what comes of a delivery; `earlier` are the persons of the release that the solution was found for."""
    solution = _asked_of(solution, asked)
    if asked.anew and published is None:
        raise UsageError("anew: everything that was published so far is needed (published)")
    history, marked = _known(solution, delivery, history, earlier, asked)
    new = history.new_in(marked, full=asked.full)
    candidates = history.with_waiting(marked, new, full=asked.full)
    counts = {"known": len(marked) - len(new), "delivered": len(new), "waited": len(candidates) - len(new)}
    if not asked.full and (alike := history.alike(marked, new)):
        counts["alike"] = alike
    if not len(candidates):
        raise DataError("nobody is new: everybody was published before")
    forest = shifted(trees_of(solution, candidates.forest))
    older = None if published is None else published_trees(solution, published)
    if asked.anew:
        solution = _coarser(solution, forest, asked)
    own = replace(fitted(solution, forest), suppressed=0)
    kept, batch = hidden_by(own, forest)
    counts |= {"published": len(kept), "held": len(forest) - len(kept)}
    _refuse_many(solution, forest, counts["held"], asked)
    after = history.after(marked, candidates, kept, solution, asked.person)
    if not len(kept):
        return Appended(None, after, counts)
    if older is not None:
        counts["published_before"] = len(older)
    release = _release(solution, own, forest, kept, batch, older, asked)
    return Appended(release, after, counts, asked.anew)


def _asked_of(solution: Solution | str | Path, asked: Asked) -> Solution:
    """Return the solution with the k that is asked for; UsageError for what cannot be appended to."""
    if not isinstance(solution, Solution):
        solution = SolutionFile.load(solution).solution
    guarantee = solution.guarantee
    if asked.k is not None:
        guarantee = replace(guarantee, k=asked.k)
    return replace(solution, guarantee=guarantee)


def _known(
    solution: Solution,
    delivery: Persons,
    history: History | str | Path | None,
    earlier: Persons | None,
    asked: Asked,
) -> tuple[History, Marked]:
    """Return who is known before a delivery, and the delivery with the marks of its persons."""
    refuse_repeats(delivery.forest.report)
    if history is not None and not isinstance(history, History):
        history = History.load(history)
    if history is not None and earlier is not None:
        raise UsageError("earlier: the history has the persons of earlier releases already")
    if history is None and earlier is None and asked.full:
        raise UsageError(
            "full: nobody is known from before; give the input of the earlier release (earlier) or a history"
        )
    history = history or History()
    if earlier is not None:
        history = history.of_earlier(earlier.marked(history.key), asked.person)
    marked = delivery.marked(history.key)
    history.check(solution, marked, asked.person)
    return history, marked


def _coarser(solution: Solution, forest: Forest, asked: Asked) -> Solution:
    most = persons_of_bound(asked.max_held, len(forest), "max_held")
    found = coarser(solution, forest, most, stage(asked.progress, "searching"))
    if found is None:
        raise GuaranteeError("no coarser solution publishes enough of the new persons: wait for more of them")
    return found


def _refuse_many(solution: Solution, forest: Forest, held: int, asked: Asked) -> None:
    """Raise TooManyHeldError where more persons are held back than may be, with a coarser solution."""
    most = persons_of_bound(asked.max_held, len(forest), "max_held")
    if held <= most:
        return
    found = None if asked.anew else coarser(solution, forest, most, stage(asked.progress, "searching"))
    raise TooManyHeldError(held, len(forest), most, None if found is None else _proposal(solution, found, forest))


def _proposal(solution: Solution, found: Solution, forest: Forest) -> Coarser:
    own = fitted(found, forest)
    kept, batch = hidden_by(own, forest)
    nodes = {
        name: (len(was), len((found.cut or {}).get(name, "*")))
        for name, was in (solution.cut or {}).items()
        if (found.cut or {}).get(name) != was
    }
    loss = value_loss(forest, batch, kept).total if len(kept) else 1.0
    return Coarser(found, len(forest) - len(kept), loss, nodes)


def _release(
    solution: Solution,
    own: Solution,
    forest: Forest,
    kept: Longs,
    batch: Forest,
    older: Forest | None,
    asked: Asked,
) -> Release:
    """Return the checked release: of the batch, or of everything where it is published anew."""
    verdict = _verified(batch, own.guarantee, asked, "of the new persons")
    losses = measure(forest, batch, kept)
    alone = Release(batch, own, losses, verdict, counts_of(forest, batch), kept=kept)
    if older is None:
        return alone
    everything = anew(solution, older, batch) if asked.anew else together(batch, list(older.records()))
    whole = _verified(everything, own.guarantee, asked, "of everything published")
    if not asked.anew:
        return alone
    counts = counts_of(forest, everything)
    counts |= {"records": len(forest) + len(older), "nodes": forest.nodes + older.nodes}
    return Release(everything, solution, losses, whole, counts)


def _verified(forest: Forest, guarantee: Guarantee, asked: Asked, what: str) -> Verdict:
    verdict = verify(forest, guarantee, jobs=asked.jobs, progress=stage(asked.progress, "verifying"))
    if not verdict.holds:
        raise GuaranteeError(f"the records {what} did not pass the check, so nothing is published")
    return verdict
