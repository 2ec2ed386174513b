"""Applies a solution to other data, and lets nothing out that does not hold its guarantee there too."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np

from treeanon.algorithms.tree.default.object_rules import bound_types, leaving_kinds
from treeanon.algorithms.tree.solution import Label, LabelRule, Solution
from treeanon.errors import GuaranteeError, UsageError
from treeanon.forest import Forest
from treeanon.forest.classes import STAR
from treeanon.forest.planting import merged
from treeanon.forest.shifting import shifted
from treeanon.hierarchy import Hierarchy
from treeanon.metrics.measure import measure
from treeanon.privacy.guarantee import refuse_too_few, roles_of
from treeanon.release.solution_file import SolutionFile
from treeanon.release.tree import counts_of
from treeanon.release.tree_release import Release
from treeanon.schema.persons import of_merged_trees
from treeanon.verifier.tree import verify

_MERGED = "the solution was made for merged trees"

SEARCH_ANEW = "new data may need a new search (treeanon anonymize)"


def apply(solution: Solution | str | Path, forest: Forest) -> Release:
    """The release that a solution (or the file of one) makes of other data, checked for the solution's guarantee.

    GuaranteeError if the guarantee does not hold for these data: the solution was found for others. UsageError if the
    solution does not fit the schema of the forest.
    """
    if not isinstance(solution, Solution):
        solution = SolutionFile.load(solution).solution
    forest = shifted(trees_of(solution, forest))
    refuse_too_few(forest, solution.guarantee.k)
    own = replace(fitted(solution, forest), suppressed=0)
    _refuse_told(forest, own)
    published = own.apply(forest)
    verdict = verify(published, own.guarantee)
    if not verdict.holds:
        raise GuaranteeError(
            f"the guarantee of the solution does not hold for these data: {SEARCH_ANEW};"
            " what a search makes of them may lose more"
        )
    return Release(published, own, measure(forest, published), verdict, counts_of(forest, published))


def trees_of(solution: Solution, forest: Forest) -> Forest:
    """Return the trees of which a solution is: those given, or merged ones where the schema leaves it open."""
    whole = bool(forest.classes.types)
    if whole and solution.objects == "merged":
        return forest if of_merged_trees(forest.schema, _MERGED) is forest.schema else merged(forest)
    if solution.objects == "whole" and not whole and len(forest.schema.layout.containers) > 1:
        raise UsageError('the solution was made for whole objects: the schema needs objects = "whole"')
    return forest


def fitted(solution: Solution, forest: Forest) -> Solution:
    """Return the solution in terms of a forest's hierarchies.

    Hierarchies that are built from the data have no node for what the data lack: such nodes are left out.
    """
    if solution.cut is None:
        raise UsageError(
            f"a solution of {solution.algorithm} recodes every record by itself: it has no cut to apply to other data"
        )
    names, ended = forest.classes.names[forest.classes.types :], (*solution.disassociated, *solution.left_out)
    named = {*solution.cut, *solution.withheld, *(label[0] for pair in ended for label in pair[:2])}
    for name in sorted(named - {*names, STAR}):
        raise UsageError(f"the solution speaks of class {name!r}, which the schema lacks; it has: {', '.join(names)}")
    if STAR in solution.cut:
        return solution
    for index in roles_of(forest, solution.guarantee).known:
        if (name := forest.classes.names[index]) not in named:
            raise UsageError(f"the solution says nothing of class {name!r}: it was made with another schema")
    cut = {name: _nodes(forest, name, nodes) for name, nodes in solution.cut.items() if name not in solution.withheld}
    if forest.classes.types:
        _check_rules_of_objects(forest, solution)
    else:
        _check_order(forest, solution.left_out)
    moved = tuple(pair for pair in solution.disassociated if all(_exists(forest, label) for label in pair))
    left_out = tuple(rule for rule in solution.left_out if _exists(forest, rule[0]) and _exists(forest, rule[1]))
    return replace(solution, cut=cut, disassociated=moved, left_out=left_out)


def _check_rules_of_objects(forest: Forest, solution: Solution) -> None:
    """UsageError unless the rules of leaving out are such that they tell nothing where objects stay whole.

    A rule whose trigger is b comes after all rules that leave b out, so that rules have no circle either.
    """
    if solution.disassociated:
        raise UsageError("the solution moves nodes, which is for merged trees: here objects stay whole")
    triggered: set[Label] = set()
    classes = forest.classes
    for rule in solution.left_out:
        if len(rule) != 3:
            raise UsageError("the solution was made for merged trees: here objects stay whole")
        home = classes.type_label(rule[2]) - 1
        for name, _ in rule[:2]:
            above = classes.parents[classes.index(name)]
            while above >= 0 and above != home:
                above = classes.parents[above]
            if above < 0:
                raise UsageError(f"the solution has a rule for {name} in {rule[2]}, whose objects hold no {name}")
        lower = classes.index(rule[1][0])
        if int(classes.depth[home]) not in leaving_kinds(classes, lower):
            raise UsageError(
                f"the solution leaves {rule[1][0]} out of {rule[2]}, where it is a field of an object that stays: its"
                " absence would tell"
            )
        triggered.add(rule[0])
        if rule[1] in triggered:
            raise UsageError(
                "the rules of leaving out are not in order: one leaves out what has triggered another, or itself"
            )


def _refuse_told(forest: Forest, solution: Solution) -> None:
    """GuaranteeError if a rule leaves out, of whole objects, what every other object holds just one of."""
    bound = bound_types(forest) if forest.classes.types and solution.left_out else frozenset()
    for rule in solution.left_out:
        if forest.classes.index(rule[1][0]) in bound:
            raise GuaranteeError(
                f"in these data every object that can hold {rule[1][0]} holds just one, so that leaving it out would"
                f" tell: {SEARCH_ANEW}"
            )


def _check_order(forest: Forest, rules: Iterable[LabelRule]) -> None:
    """UsageError unless the upper label of every pair is of a class above the lower one's.

    So no rule of leaving out can trigger one that triggers it, and their order is that of the class tree.
    """
    classes = forest.classes
    for rule in rules:
        if len(rule) == 3:
            raise UsageError('the solution was made for whole objects: the schema needs objects = "whole"')
        upper, lower = rule
        above = -1 if lower[0] == STAR else classes.parents[classes.index(lower[0])]
        while above >= 0 and classes.names[above] != upper[0]:
            above = classes.parents[above]
        if above < 0:
            raise UsageError(f"the solution ends a relation of {upper[0]} to {lower[0]}, which it is not above")


def _hierarchy(forest: Forest, name: str) -> Hierarchy:
    return forest.classes.hierarchies[forest.classes.index(name)]


def _is_given(forest: Forest, name: str) -> bool:
    """Return whether the hierarchy of a class is the schema's, not built from the data."""
    return isinstance(forest.schema.spec(name).hierarchy, Hierarchy)


def _strange(name: str) -> UsageError:
    return UsageError(
        f"the solution names nodes that the hierarchy of class {name!r} does not have: it was made with another one"
    )


def _exists(forest: Forest, label: Label) -> bool:
    found = label[0] == STAR or _hierarchy(forest, label[0]).find(label[1]) is not None
    if not found and _is_given(forest, label[0]):
        raise _strange(label[0])
    return found


def _nodes(forest: Forest, name: str, nodes: tuple[str, ...]) -> tuple[str, ...]:
    """Return the nodes of a class's cut that its hierarchy has; they must cover all of its leaves."""
    hierarchy, given = _hierarchy(forest, name), _is_given(forest, name)
    own = tuple(text for text in nodes if hierarchy.find(text) is not None)
    if given and len(own) < len(nodes):
        raise _strange(name)
    covered = np.zeros(int(hierarchy.leaf_count[0]), bool)
    for text in own:
        code = hierarchy.code(text)
        covered[hierarchy.leaf_start[code] :][: hierarchy.leaf_count[code]] = True
    if covered.all():
        return own
    if given:
        raise UsageError(f"the solution does not cover the hierarchy of class {name!r}: it was made with another one")
    raise GuaranteeError(
        f"the data have values of class {name!r} that the solution does not know, and its hierarchy is built from the"
        f" data: {SEARCH_ANEW}; a hierarchy in a file stays the same (treeanon hierarchy build)"
    )
