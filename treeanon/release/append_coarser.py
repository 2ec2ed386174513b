"""A coarser solution, where too many new persons would have to be held back: and everything published so far by it.

It is searched for in the new persons, as the earlier solution's cut publishes them. So each of its nodes is above, or
is, one of the earlier cut, and what was published becomes more general without a look at the originals: whoever
compares the releases finds, of the older persons, what could be worked out from the earlier release alone.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from treeanon.algorithms.tree.solution import Solution
from treeanon.arrays import Ints
from treeanon.errors import GuaranteeError, UsageError
from treeanon.forest import Forest
from treeanon.forest.classes import STAR
from treeanon.progress import Progress, run_interruptibly
from treeanon.release.append_persons import together
from treeanon.release.tree import search
from treeanon.release.tree_reapply import fitted, trees_of
from treeanon.release.tree_request import Request


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
