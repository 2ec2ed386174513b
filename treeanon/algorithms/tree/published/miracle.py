"""MiRaCle: multirelational k-anonymity by clustering, with local recoding.

After M. E. Nergiz, C. Clifton and A. E. Nergiz, "Multirelational k-anonymity" (IEEE TKDE 2009), as the baseline that O.
Gkountouna and M. Terrovitis, "Anonymizing collections of tree-structured data" (IEEE TKDE 2015) compares with in
Section IV. Persons are put into groups of at least k, and the trees of a group are made equal: aligned from the top,
node by node, matched nodes get the lowest common ancestor of their values, and subtrees that some member has no partner
for are suppressed. Whatever is known of a person's published tree, k persons fit it: the release is k^(m,n)-anonymous
for every m and n, for both attackers and for negative knowledge.

With l-diversity, groups that are not diverse are dissolved, and their persons join others, until all are: whoever forms
a group by what is known gets whole groups of equal persons.

Once groups of k are formed, what is left joins the nearest group, up to `climit` persons. As soon as a group has one
more than k, whoever of them costs the others most is left out if that is more than a `threshold` of what they would
show without that person: one odd record does not make all the others general.

Where we differ: neighbors are sought in a window of the persons sorted by the shape of their trees, not among all;
children are aligned greedily, those of very wide nodes in the order of their labels.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np

from treeanon.algorithms.tree.default.strict import sensitive_values
from treeanon.algorithms.tree.solution import Result, Solution
from treeanon.arrays import Ints, Longs, unique_values
from treeanon.errors import GuaranteeError, UsageError
from treeanon.forest import Forest
from treeanon.forest.classes import Classes
from treeanon.kernels.tree import miracle as kernels
from treeanon.kernels.tree.forest import canonical, depths
from treeanon.kernels.tree.miracle import State
from treeanon.kernels.tree.miracle_match import Labels, Links, link, work_space
from treeanon.privacy import Guarantee
from treeanon.privacy.guarantee import refuse_too_few, roles_of
from treeanon.progress import Progress

WINDOW = 1000
CLIMIT = 150
THRESHOLD = 0.1
BLOCK = 10_000
PRESENCE = 0.05
SORTED_LABELS = 12


def search(
    forest: Forest,
    guarantee: Guarantee,
    *,
    window: int = WINDOW,
    climit: int = CLIMIT,
    threshold: float = THRESHOLD,
    progress: Progress | None = None,
    seed: int | None = None,
) -> Result:
    """Return the trees made equal in groups of at least k persons, record by record of the input.

    `window` persons are looked at for each that joins a group; with a window as large as the forest, up to 10,000
    records, that is everybody. Groups have at most `climit` persons (k where that is more). Persons are left out if the
    others of their group would show less because of them, by more than the share `threshold`, and if no group has room
    for them; 1 leaves out nobody for what it costs. `seed` draws the order of persons whose trees sort alike; without
    it that is the order of the records.

    Nodes of classes that are not quasi are neither compared nor recoded. They stay with the person, below the published
    node that their nearest quasi ancestor became, and go when that is suppressed. No quasi node stays below them:
    where there was one it hangs under its own nearest quasi ancestor, so that the trees without such nodes are equal
    and none of these gives a group away by its place.
    """
    if window < 1:
        raise UsageError("window must be a whole number from 1")
    if climit < 1 or not 0 <= threshold <= 1:
        raise UsageError("climit must be a whole number from 1, threshold a number from 0 to 1")
    roles = roles_of(forest, guarantee)
    refuse_too_few(forest, guarantee.k)
    options = {"window": window, "climit": climit, "threshold": threshold, **({} if seed is None else {"seed": seed})}
    solution = Solution(guarantee, "miracle", None, options=options)
    if guarantee.k == 1 and guarantee.l == 1:
        return Result(solution, forest, report={"groups": len(forest), "largest_group": 1, "suppressed_nodes": 0})
    hidden = [forest.classes.names[i] for i in (*roles.sensitive, *roles.others)]
    core = forest.without(hidden)
    clustering = _Clustering(core, guarantee.k, window, seed, climit, threshold)
    clustering.run(progress)
    published = _written(forest, core, clustering, hidden)
    while guarantee.l > 1 and len(groups := _not_diverse(published, clustering.state.group, guarantee)):
        clustering.dissolve(groups)
        published = _written(forest, core, clustering, hidden)
    kept = np.flatnonzero(clustering.state.group >= 0)
    if len(kept) == len(forest):
        return Result(solution, published, report=clustering.report())
    solution = replace(solution, suppressed=len(forest) - len(kept))
    return Result(solution, published, kept, clustering.report())


def _written(forest: Forest, core: Forest, clustering: _Clustering, hidden: list[str]) -> Forest:
    """Return the trees that are published for the groups there are: of the persons who are in one."""
    trees = kernels.write_groups(core.offsets, core.parent, clustering.state.rep, clustering.state.group)
    if hidden:
        trees = _with_others(forest, core, clustering, trees, hidden)
    rank = np.arange(len(forest.classes), dtype=np.int32)
    written = Forest(forest.schema, forest.classes, *canonical(*trees, rank), forest.report)
    grouped = clustering.state.group >= 0
    return written if grouped.all() else written.take(np.flatnonzero(grouped))


def _not_diverse(published: Forest, group: Ints, guarantee: Guarantee) -> Ints:
    """Return the groups that are not diverse in a sensitive class; of published trees, `group` has those of all."""
    group = group[group >= 0]
    sizes = np.bincount(group)
    starts, values, kinds, _ = sensitive_values(published, roles_of(published, guarantee).sensitive)
    own = np.repeat(group, np.diff(starts))
    if guarantee.diversity == "frequency":
        pairs, persons = np.unique(np.stack([own, values]), axis=1, return_counts=True)
        return unique_values(pairs[0][persons * guarantee.l > sizes[pairs[0]]]).astype(np.int32)
    held: dict[tuple[int, int], list[set[int]]] = {}
    for record, number in enumerate(group.tolist()):
        mine = values[starts[record] : starts[record + 1]]
        for kind in unique_values(kinds[mine]).tolist():
            held.setdefault((number, kind), []).append(set(mine[kinds[mine] == kind].tolist()))
    failing = {number for (number, _), sets in held.items() if not _are_left(sets, guarantee.l)}
    return np.array(sorted(failing), np.int32)


def _are_left(sets: list[set[int]], l: int) -> bool:  # noqa: E741 - its name in the literature
    """Return whether l values are left when the persons that hold any one value are taken away.

    >>> _are_left([{1}, {1}, {2}, {3}], 2), _are_left([{1, 2}, {1, 3}, {1, 4}], 2)
    (True, False)
    """
    return all(len(set().union(*(one for one in sets if value not in one))) >= l for value in set().union(*sets))


class _Clustering:
    """The groups of the records of a forest in which all classes are known."""

    def __init__(
        self,
        core: Forest,
        k: int,
        window: int,
        seed: int | None,
        climit: int = CLIMIT,
        threshold: float = THRESHOLD,
    ) -> None:
        self.core, self.k, self.window, self.seed = core, k, max(window, k), seed
        self.most, self.threshold = max(climit, k), threshold
        self.offsets = core.offsets
        self.first_child, self.next_sibling = link(core.offsets, core.parent)
        self.links = (self.first_child, self.next_sibling, core.label)
        self.labels = _labels(core.classes)
        nothing = np.full(core.nodes, -1, np.int32)
        self.state = State(core.label.copy(), nothing, nothing.copy(), np.full(len(core), -1, np.int32))
        self.counts = _class_counts(core, self.labels)
        self.levels = int(depths(core.offsets, core.parent).max(initial=0)) + 1

    def run(self, progress: Progress | None) -> None:
        """Blocks of neighbors first, then what they left, then each of the last few to its nearest group."""
        order = _order(self.core, self.counts, self.seed)
        size = max(BLOCK, 8 * self.k)
        blocks = [order[at : at + size] for at in range(0, len(order), size)]
        done = 0
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            # Blocks share no record, so the result is the same for any number of threads.
            for block, left in zip(blocks, pool.map(self._form, blocks), strict=True):
                done += len(block) - left
                if progress:
                    progress(done, len(order))
        self._form(order[self.state.group[order] < 0])
        rest = order[self.state.group[order] < 0]
        if len(rest):
            self._join(rest, self.threshold)
        if progress:
            progress(len(order), len(order))

    def dissolve(self, groups: Ints) -> None:
        """Let every second of some groups join others, person by person; GuaranteeError if there is but one group."""
        state, every = self.state, unique_values(self.state.group[self.state.group >= 0])
        if len(every) == 1:
            raise GuaranteeError("all persons together, made equal, are not diverse in a sensitive class")
        going = groups[1::2] if len(groups) > 1 else groups
        rest = np.flatnonzero(np.isin(state.group, going))
        nodes = np.concatenate([np.arange(self.offsets[r], self.offsets[r + 1]) for r in rest.tolist()]).astype(int)
        state.group[rest] = -1
        state.slot[nodes] = -1
        state.rep[nodes] = self.core.label[nodes]
        self._join(rest, 1.0)

    def _join(self, rest: Longs, threshold: float) -> None:
        """Take persons without a group into their nearest one, or leave out who costs the others too much there."""
        state, where = self.state, self._where()
        order = np.argsort(state.group, kind="stable")
        order = order[state.group[order] >= 0].astype(np.int64)
        starts = np.flatnonzero(np.diff(state.group[order], prepend=-1))
        members = np.split(order, starts[1:])
        firsts = state.group[order[starts]].astype(np.int64)
        sizes = np.array([len(group) for group in members], np.int64)
        held = np.array([kernels.group_worth(first, self.offsets, self.labels, state) for first in firsts.tolist()])
        scratch = State(*(array.copy() for array in state)) if threshold < 1 else state
        for record in rest.tolist():
            at, kept = kernels.nearest_group(record, firsts, sizes, held, self.most, *where)
            if at < 0:
                continue
            group = np.append(members[at], record)
            # Who was there before is looked at once, when there is somebody to take the place.
            odd = self._odd(group, held[at], kept, threshold, scratch, alone=sizes[at] > self.k)
            if odd == record:
                continue
            if odd is None:
                kernels.join_group(firsts[at], record, sizes[at], *where[1:], work_space(self.offsets, self.levels))
                held[at] = kept
            else:
                gone = slice(self.offsets[odd], self.offsets[odd + 1])
                state.group[odd], state.slot[gone], state.rep[gone] = -1, -1, self.core.label[gone]
                group = group[group != odd]
                firsts[at] = group[0]
                held[at] = kernels.group_together(group, *where)
            members[at], sizes[at] = group, len(group)

    def _odd(
        self, group: Longs, before: float, kept: float, threshold: float, scratch: State, *, alone: bool
    ) -> int | None:
        """Return who of a group, the last of whom is new, costs the others more than a share of what they would show.

        `before` is what the others show without the last, `kept` what all show together; with `alone` only the last is
        looked at.
        """
        if threshold >= 1:
            return None
        without = np.array([before])
        if not alone:
            where = (self.levels, self.offsets, self.links, self.labels, scratch)
            without = np.append(kernels.worth_without_each(group, *where)[:-1], before)
        most = int(np.argmax(without))
        if kept >= (1 - threshold) * without[most]:
            return None
        return int(group[-1] if alone else group[most])

    def _form(self, order: Longs) -> int:
        window = min(self.window, len(order))
        return kernels.form_groups(order, self.k, window, self.counts, *self._where())

    def _where(self) -> tuple[int, Longs, Links, Labels, State]:
        return self.levels, self.offsets, self.links, self.labels, self.state

    def report(self) -> dict[str, int]:
        """Return how many groups there are, the persons of the largest, and the nodes of known classes suppressed."""
        _, sizes = np.unique(self.state.group[self.state.group >= 0], return_counts=True)
        slot = self.state.slot
        published = np.repeat(self.state.group >= 0, np.diff(self.offsets))
        gone = published & ((slot < 0) | (self.state.rep[slot] < 0))
        return {"groups": len(sizes), "largest_group": int(sizes.max()), "suppressed_nodes": int(gone.sum())}


def _labels(classes: Classes) -> Labels:
    """Return labels as the kernels want them: a node is worth 1 - NCP, and a little for being there at all."""
    up, end, worth = [np.array([-1])], [np.array([1])], [np.array([1.0])]
    for first, hierarchy in zip(classes.first.tolist(), classes.hierarchies, strict=False):
        up.append(np.where(hierarchy.parent < 0, -1, hierarchy.parent + first))
        end.append(hierarchy.end + first)
        leaves = hierarchy.leaf_count
        worth.append(1 - np.where(leaves > 1, leaves / leaves[0], 0.0))
    # Exact sums: ties must not hang on the order of adding up.
    whole = np.round((np.concatenate(worth) + PRESENCE) * 2**20) / 2**20
    return Labels(classes.class_of, np.concatenate(up).astype(np.int32), np.concatenate(end).astype(np.int32), whole)


def _class_counts(core: Forest, labels: Labels) -> Ints:
    """Return the number of nodes of every record and class; `*` is the first class."""
    kinds = len(core.classes.names) + 1
    record = np.repeat(np.arange(len(core)), np.diff(core.offsets))
    held = record * kinds + labels.kind[core.label] + 1
    return np.bincount(held, minlength=len(core) * kinds).reshape(len(core), kinds).astype(np.int32)


def _order(core: Forest, counts: Ints, seed: int | None) -> Longs:
    """Return the records by size, by the nodes of every class, and by their first labels in preorder.

    Nodes without a partner cost most, so shapes come first; labels are in preorder of their hierarchies, so that
    neighbors have near values.
    """
    records = len(core)
    draw = np.arange(records) if seed is None else np.random.default_rng(seed).permutation(records)
    size = np.diff(core.offsets)
    padded = np.append(core.label, -1)
    labels = [padded[np.where(size > i, core.offsets[:-1] + i, -1)] for i in range(min(SORTED_LABELS, size.max()))]
    keys = [size, *counts.T, *labels, draw]
    return np.lexsort(keys[::-1]).astype(np.int64)


def _with_others(
    forest: Forest, core: Forest, found: _Clustering, trees: tuple[Longs, Ints, Ints], hidden: list[str]
) -> tuple[Longs, Ints, Ints]:
    """Return the groups' trees with each record's own nodes of the classes that an attacker is not taken to know."""
    classes = [forest.classes.index(name) for name in hidden]
    known = ~np.isin(forest.classes.class_of[forest.label], classes)
    whole = (forest.offsets, forest.parent, forest.label, known)
    place = kernels.nearest_known(*whole, core.offsets, *found.links)
    return kernels.attach_others(*whole, place, found.state, *trees, core.offsets)
