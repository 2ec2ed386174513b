"""Candidates: cuts that searches specialize node by node, with the checks of their values and structure and their cost.

After O. Gkountouna and M. Terrovitis, "Anonymizing collections of tree-structured data" (IEEE TKDE 2015), Sections
III-A (item index), III-B and III-C: what Algorithm 4 (`acs`) does with each cut.

`OneCut` has the paper's checks of a cut that is given, step by step: what a search does with each that it comes to.
"""

from __future__ import annotations

import os
import threading
import time
from bisect import insort
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Any, Literal

import numpy as np

from treeanon.algorithms.tree.default.strict import keeps_extensions
from treeanon.algorithms.tree.published.candidate_check import (
    Base,
    Projected,
    StructureCheck,
    fix_structure,
    value_check,
)
from treeanon.algorithms.tree.published.cuts import WHOLE, Cut, CutSpace
from treeanon.algorithms.tree.record_sets import Mark, SetStack, list_room
from treeanon.algorithms.tree.solution import Label, LabelPair, Result, Solution
from treeanon.arrays import Ints, SetArrays
from treeanon.errors import GuaranteeError
from treeanon.forest import Forest
from treeanon.forest.synopsis import synopsis_and_nodes
from treeanon.kernels.tree.synopsis import union_sets
from treeanon.metrics.values import Scope, level_sizes, rounded
from treeanon.privacy import Guarantee
from treeanon.privacy.guarantee import roles_of
from treeanon.progress import Progress

Choose = Literal["rpd", "rpda"]

LEADING = 8
"""So many of the best cuts are kept: what moved nodes leave behind can make another than the first one best."""

Pair = tuple[int, int]
"""Two nodes of a cut, the upper one first."""


@dataclass(frozen=True)
class Candidate:
    """A cut that has passed, with its disassociations, in order, and its cost.

    `worth` is what is compared in the end: the cost, RPDa, or the RPD. `node` was specialized to get it; `unsure` are
    the relations that changed: what was counted with them says nothing about finer cuts. `closed` are the nodes that
    the search does not specialize below this cut.
    """

    cut: Cut
    cost: float
    worth: float
    moves: tuple[Pair, ...] = ()
    unsure: frozenset[Pair] = frozenset()
    node: int = -1
    closed: frozenset[int] = frozenset()


@dataclass(frozen=True, eq=False)
class _Parent:
    """A cut whose specializations are looked at: its projected synopsis, and the record sets of its relations."""

    candidate: Candidate
    published: Ints
    tree: Projected | None = None
    sets: SetArrays | None = None


@dataclass
class Limit:
    """When a search is to end with the best so far: at a time, or as soon as somebody asks for it."""

    until: float | None = None
    finish: threading.Event | None = None
    is_over: bool = False

    def reached(self) -> bool:
        """Return whether the search is to end now; once reached, a limit stays so."""
        if not self.is_over:
            late = self.until is not None and time.monotonic() >= self.until
            self.is_over = late or (self.finish is not None and self.finish.is_set())
        return self.is_over


@dataclass
class Counts:
    """How many cuts a search examined, and how many of them did not pass."""

    cuts: int = 0
    values_failed: int = 0
    structure_failed: int = 0
    extensions_failed: int = 0


@dataclass(frozen=True)
class _Store:
    """A workspace with its marks: after the label sets, and after the relations of the parent it holds."""

    space: SetStack
    labels: Mark


def is_extended(guarantee: Guarantee) -> bool:
    """Return whether a guarantee asks for l-diversity or negative knowledge (Sections III-F and III-G)."""
    return guarantee.l > 1 or bool(guarantee.negative)


@dataclass
class Candidates:
    """Makes and checks the cuts of one forest for one guarantee; `leading` are the best that have passed so far.

    Which is better tells `choose`: the RPDa, in levels of the scope, which guides the searches, or the exact RPD, with
    the levels of the class, as reports have it.
    With `repair` off, a cut that would need disassociations does not pass (OCS). Nor does one whose trees do not keep
    l-diversity or what negative knowledge asks for (their Sections III-F and III-G), or, where what is known of the
    original is to be hidden beside these, one that would need disassociations.
    """

    forest: Forest
    guarantee: Guarantee
    scope: Scope = "class"
    repair: bool = True
    progress: Progress | None = None
    counts: Counts = field(default_factory=Counts)
    choose: Choose = "rpda"
    limit: Limit = field(default_factory=Limit)

    def __post_init__(self) -> None:
        given = self.guarantee
        self._extended = is_extended(given)
        if self._extended and not given.as_published:
            self.repair = False
        self.space = CutSpace.of(self.forest, roles_of(self.forest, given))
        synopsis, nodes = synopsis_and_nodes(self.forest)
        self.base = Base(synopsis, self.forest.offsets, nodes, self.forest.classes.class_of)
        self.level = level_sizes(self.forest.classes, self.scope)
        self._reported = level_sizes(self.forest.classes)
        self._related = given.m > 1 and given.n > 0
        label_sets = self._item_index()
        self._first = given.m + len(label_sets[0])
        self._threads = _processors()
        self._stores: SimpleQueue[_Store] = SimpleQueue()
        for _ in range(self._threads):
            space = SetStack(len(self.forest), given.m)
            space.extend(label_sets)
            self._stores.put(_Store(space, space.mark))
        self.root = self._start()
        self.leading = [self.root]

    def workspace(self) -> SetStack:
        """Return a workspace with the records of all labels, which is not given to a search any more."""
        return self._stores.get().space

    def _item_index(self) -> SetArrays:
        """Return the records of every node of the hierarchies that has some (the paper's item index L)."""
        synopsis, space = self.base.synopsis, self.space
        nodes = [
            node
            for node in range(1, 2 * synopsis.labels)
            if space.counts[node // 2] and (node % 2 == 0 or space.kids(node - 1)) and not space.is_empty(node)
        ]
        self.label_set = np.full(2 * synopsis.labels, -1, np.int32)
        self.label_set[nodes] = self.guarantee.m + np.arange(len(nodes))
        groups = np.zeros(len(nodes) + 1, np.int64)
        parts = [np.zeros(0, np.int32)]
        for i, node in enumerate(nodes):
            parts.append(synopsis.sidelinks(node // 2, node // 2 + 1 if node % 2 else int(space.end[node // 2])))
            groups[i + 1] = groups[i] + len(parts[-1])
        room = list_room(synopsis.count)
        return union_sets(groups, np.concatenate(parts), synopsis.starts, synopsis.records, synopsis.count, room)

    def _start(self) -> Candidate:
        """Return the cut {*}; GuaranteeError if not even that holds."""
        records, k = len(self.forest), self.guarantee.k
        held = int(np.count_nonzero(np.diff(self.forest.offsets)))
        if not records:
            raise GuaranteeError("there are no records")
        if 0 < held < k and self.space.known:
            some = "of them has" if held == 1 else "of them have"
            raise GuaranteeError(f"k is {k:,}, but there are {records:,} records, and only {held:,} {some} any value")
        self.counts.cuts += 1
        if self.space.known:
            whole = Candidate(WHOLE, float(held), float(held) if self.choose == "rpda" else rounded(held / records))
            if self._extended and not keeps_extensions(self._solution(whole, "").apply(self.forest), self.guarantee):
                raise GuaranteeError("the persons that have any value are not diverse in a sensitive class")
            return whole
        # No attacker knows any label: nothing need be generalized.
        tree = Projected(self.base, self.space.publishes(()), np.zeros(0, np.int32))
        tree.count(np.zeros(0, np.bool_), None)
        return Candidate((), *self._priced(tree))

    def _priced(self, tree: Projected) -> tuple[float, float]:
        """Return the RPDa of a projected synopsis, and what is compared in the end."""
        cost = tree.cost(self.level)
        return cost, cost if self.choose == "rpda" else tree.record_cost(self._reported)

    def expand(self, wanted: Sequence[tuple[Candidate, Sequence[int]]]) -> list[list[Candidate | None]]:
        """Return for every parent and every one of its nodes the cut with that node specialized, None where it fails.

        The cuts are looked at in parallel, but `leading` is what it would be one after another.
        """
        run: Callable[..., Any] = map
        with ThreadPoolExecutor(self._threads) as pool:
            if self._threads > 1:
                run = pool.map
            parents = list(run(self._as_parent, [parent for parent, nodes in wanted if nodes]))
            tasks = [nodes for _, nodes in wanted if nodes]
            found = iter(
                run(
                    self._specialize,
                    [parent for parent, nodes in zip(parents, tasks, strict=True) for _ in nodes],
                    [node for nodes in tasks for node in nodes],
                )
            )
            return [[self._counted(next(found)) for _ in nodes] for _, nodes in wanted]

    def _counted(self, found: Candidate | str | None) -> Candidate | None:
        if found is None:
            return None
        self.counts.cuts += 1
        if self.progress is not None:
            self.progress(self.counts.cuts, None)
        if isinstance(found, Candidate):
            if len(self.leading) < LEADING or found.worth < self.leading[-1].worth:
                # Of equally good ones the first stays in front.
                insort(self.leading, found, key=lambda one: one.worth)
                del self.leading[LEADING:]
            return found
        setattr(self.counts, found, getattr(self.counts, found) + 1)
        return None

    def labels(self, cut: Cut) -> Ints:
        """Return the nodes of a cut that records have: the labels of the guarantee."""
        return np.array([node for node in cut if self.label_set[node] >= 0], np.int32)

    def _as_parent(self, candidate: Candidate) -> _Parent:
        published = self.space.publishes(candidate.cut)
        if candidate.cut == WHOLE:
            return _Parent(candidate, published)
        labels = self.labels(candidate.cut)
        tree = Projected(self.base, published, labels)
        tree.count(np.ones(len(labels), np.bool_), None)
        sets = tree.relations(np.ones(len(labels), np.bool_), None, self._first) if self._related else None
        return _Parent(candidate, published, tree, sets)

    def _specialize(self, parent: _Parent, node: int) -> Candidate | str | None:
        """Return the cut with one more node specialized, or which count of failures it belongs to.

        None if there is no time left to look at it.
        """
        if self.limit.reached():
            return None
        before = parent.candidate
        cut = self.space.specialized(before.cut, node)
        if node and self.space.is_empty(node):
            return Candidate(cut, before.cost, before.worth, before.moves, before.unsure, node, before.closed)
        store = self._stores.get()
        space = store.space
        try:
            if space.holds is not parent:
                space.back_to(store.labels)
                if parent.sets is not None:
                    space.extend(parent.sets)
                space.holds = parent
            mark = space.mark
            try:
                return self._checked(parent, cut, node, space)
            finally:
                space.back_to(mark)
        finally:
            self._stores.put(store)

    def _checked(self, parent: _Parent, cut: Cut, node: int, space: SetStack) -> Candidate | str:
        given, before = self.guarantee, parent.candidate
        labels = self.labels(cut)
        fresh = np.isin(labels, self.space.kids(node))
        label_set = self.label_set[labels]
        if not value_check(space, label_set, fresh, given.k, given.m):
            return "values_failed"
        published = (
            self.space.publishes(cut)
            if before.cut == WHOLE
            else self.space.republished(parent.published, self.space.kids(node))
        )
        tree = Projected(self.base, published, labels)
        tree.count(fresh, parent.tree)
        unsure: frozenset[Pair] = frozenset()
        if self._related:
            lasting = space.mark[0]
            space.extend(tree.relations(fresh, parent.tree, lasting))
            tree.doubt(before.unsure)
            check = StructureCheck(tree, space, label_set, fresh, given)
            if self.repair:
                fix_structure(check, lasting)
            elif check.next() is not None:
                return "structure_failed"
            unsure = tree.doubted()
        found = Candidate(cut, *self._priced(tree), tree.moved_items(), unsure, node, before.closed)
        if self._extended and not keeps_extensions(self._solution(found, "").apply(self.forest), given):
            return "extensions_failed"
        return found

    def _solution(self, candidate: Candidate, algorithm: str, **options: Any) -> Solution:
        decode = self.forest.classes.decode
        return Solution(
            self.guarantee,
            algorithm,
            self.space.texts(candidate.cut),
            tuple((decode(upper // 2), decode(lower // 2)) for upper, lower in candidate.moves),
            options={**options, "scope": self.scope},
        )

    def found(self, candidate: Candidate, algorithm: str) -> Result:
        """Return a cut that passed as a solution, with the trees that it publishes."""
        solution = self._solution(candidate, algorithm)
        return Result(solution, solution.apply(self.forest), report={"rpda": candidate.cost})


def _processors() -> int:
    """Return the number of processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class OneCut:
    """A forest projected to a cut: whether its values pass, what fails in its structure, and its repair."""

    def __init__(self, forest: Forest, guarantee: Guarantee, cut: Mapping[str, Sequence[str]]) -> None:
        classes = forest.classes
        nodes = tuple(sorted(2 * classes.label(name, text) for name, texts in cut.items() for text in texts))
        self.candidates = Candidates(forest, guarantee)
        self.space = self.candidates.workspace()
        labels = self.candidates.labels(nodes)
        label_set, fresh = self.candidates.label_set[labels], np.ones(len(labels), np.bool_)
        self.values_pass = value_check(self.space, label_set, fresh, guarantee.k, guarantee.m)
        """Whether the cut passes ValueCheck (Algorithm 1)."""
        self.tree = Projected(self.candidates.base, self.candidates.space.publishes(nodes), labels)
        self.tree.count(fresh, None)
        self._lasting = self.space.mark[0]
        self.space.extend(self.tree.relations(fresh, None, self._lasting))
        self._given = (label_set, fresh, guarantee)
        self._check = StructureCheck(self.tree, self.space, *self._given)
        self._decode = classes.decode

    def failing(self) -> tuple[tuple[Label, ...], tuple[LabelPair, ...]] | None:
        """Return the next labels and relations that fail StructureCheck (Algorithm 2); None if all pass."""
        found = self._check.next()
        if found is None:
            return None
        label = [self._label(int(node)) for node in self.tree.labels]
        pairs = tuple((label[upper], label[lower]) for upper, lower in found.relations)
        return tuple(label[place] for place in found.labels), pairs

    def fix(self) -> int:
        """Disassociate until StructureCheck finds nothing (FixStructure, Algorithm 3); the number of passes."""
        return fix_structure(StructureCheck(self.tree, self.space, *self._given), self._lasting)

    @property
    def moves(self) -> tuple[LabelPair, ...]:
        """The disassociations so far, in their order."""
        return tuple((self._label(upper), self._label(lower)) for upper, lower in self.tree.moved_items())

    @property
    def cost(self) -> float:
        """The RPDa of the tree as it is now."""
        return self.tree.cost(self.candidates.level)

    def _label(self, node: int) -> Label:
        return self._decode(node // 2)
