"""Applies solutions of trees and of tables to other data, and lets nothing out that does not hold there too."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

import numpy as np

from treeanon.algorithms.algorithm import current_names
from treeanon.algorithms.table.lattice import OTHER_COLUMNS, FullDomainResult, Lattice
from treeanon.algorithms.table.problem import Problem
from treeanon.algorithms.table.registry import TABLE_ALGORITHMS
from treeanon.algorithms.table.result import scattered
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
from treeanon.privacy.models.model import Model
from treeanon.privacy.models.registry import model_of, plain_model
from treeanon.release.solution_file import (
    FINDINGS,
    VERSION,
    PlainFile,
    SolutionFile,
    checked_plain,
    read_plain,
    version,
)
from treeanon.release.table import check_recoding, release_of
from treeanon.release.table_release import TableRelease
from treeanon.release.table_search import refuse_too_few_rows
from treeanon.release.tree import counts_of
from treeanon.release.tree_release import Release
from treeanon.release.tree_request import persons
from treeanon.schema.persons import of_merged_trees, refuse_shift
from treeanon.table import Table
from treeanon.table.controls import as_known, told_controls, with_controls
from treeanon.table.published_numbers import microaggregated
from treeanon.verifier.table import verify_table
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


KIND = "table"
KEYS = (
    "version",
    "treeanon",
    "kind",
    "models",
    "algorithm",
    "options",
    "max_suppressed",
    "levels",
    "minimal",
    "unprotected",
    *FINDINGS,
)


@dataclass(frozen=True)
class TableSolution(PlainFile):
    """What was done to a table: the models, the search, and the level of every column (None: rows one by one).

    `minimal` has all k-minimal combinations of levels, where the search finds them, with what each suppresses.
    `unprotected` are the sensitive columns of which no model speaks, as the owner of the data wanted it.
    """

    models: tuple[Model, ...]
    algorithm: str
    levels: Mapping[str, int] | None
    max_suppressed: int | float | str = 0
    options: Mapping[str, Any] = field(default_factory=dict)
    unprotected: tuple[str, ...] = ()
    findings: Mapping[str, Any] = field(default_factory=dict)
    minimal: Sequence[Any] = ()

    @classmethod
    def of(cls, release: TableRelease) -> TableSolution:
        """Return the solution of a release."""
        plain = release.as_dict()
        found = release.found.as_dict()
        levels, minimal = found.get("levels"), found.get("minimal", ())
        findings = {name: plain[name] for name in FINDINGS}
        bare = unspoken(release.table, release.models)
        return cls(
            release.models,
            release.found.algorithm,
            levels,
            release.max_suppressed,
            release.options,
            bare,
            findings,
            minimal,
        )

    def as_dict(self) -> dict[str, Any]:
        """Return the file as plain data; it may name values, as parameters of models or of the search."""
        return {
            "version": VERSION,
            "treeanon": version(),
            "kind": KIND,
            "models": [plain_model(model) for model in self.models],
            "algorithm": self.algorithm,
            "options": dict(self.options),
            "max_suppressed": self.max_suppressed,
            "levels": None if self.levels is None else dict(self.levels),
            **({"minimal": list(self.minimal)} if self.minimal else {}),
            "unprotected": list(self.unprotected),
            **self.findings,
        }

    @classmethod
    def from_dict(cls, plain: object) -> Self:
        """Return the solution of plain data; UsageError says what is wrong with it.

        >>> plain = {"version": 1, "kind": "table", "models": [{"model": "k-anonymity", "k": 2}], "levels": {"age": 1}}
        >>> TableSolution.from_dict(plain).levels
        {'age': 1}
        """
        if not isinstance(plain, dict) or plain.get("kind") != KIND:
            raise UsageError("is no solution file of a table")
        plain = checked_plain(plain, KEYS)
        models = plain.get("models")
        if not isinstance(models, list) or not models:
            raise UsageError("models: must be a list of models")
        levels = plain.get("levels")
        if levels is not None and not (
            isinstance(levels, dict) and all(type(level) is int and level >= 0 for level in levels.values())
        ):
            raise UsageError("levels: must be a whole number for each column")
        allowed = plain.get("max_suppressed", 0)
        if not isinstance(allowed, int | float | str):
            raise UsageError("max_suppressed: must be a number of persons or a share")
        persons(allowed, 1)
        options = plain.get("options", {})
        if not isinstance(options, dict):
            raise UsageError("options: must be an object")
        options = current_names(TABLE_ALGORITHMS.built_in.values(), options)
        told_controls(options)
        bare = plain.get("unprotected", [])
        if not isinstance(bare, list) or not all(isinstance(name, str) for name in bare):
            raise UsageError("unprotected: must be a list of columns")
        findings = {name: plain.get(name, {}) for name in FINDINGS}
        made_by = str(plain.get("algorithm", ""))
        minimal = plain.get("minimal", [])
        if not isinstance(minimal, list):
            raise UsageError("minimal: must be a list of combinations of levels")
        return cls(tuple(map(model_of, models)), made_by, levels, allowed, options, tuple(bare), findings, minimal)


def unspoken(table: Table, models: Sequence[Model]) -> tuple[str, ...]:
    """Return the sensitive columns of a table of which no model speaks.

    >>> from treeanon.hierarchy import Hierarchy
    >>> table = Table.of_texts({"ill": (["flu"], Hierarchy.flat(["flu"]))}, {"ill": "sensitive"})
    >>> from treeanon.privacy.models import KAnonymity
    >>> unspoken(table, [KAnonymity(2)])
    ('ill',)
    """
    if any(model.sensitive == () for model in models):
        return ()
    spoken = {name for model in models for name in model.sensitive or ()}
    return tuple(column.name for column in table.sensitive if column.name not in spoken)


def is_of_table(path: str | Path) -> bool:
    """Return whether a file is a solution file of a table, and not of trees."""
    plain = read_plain(path)
    return isinstance(plain, dict) and plain.get("kind") == KIND


def apply_table(solution: TableSolution | str | Path, table: Table) -> TableRelease:
    """The release that a solution (or the file of one) makes of another table, checked for the solution's models.

    Rows of groups that fail are left out; GuaranteeError if these are of more persons than the solution allows for.

    >>> from treeanon.hierarchy import Hierarchy
    >>> from treeanon.privacy.models import KAnonymity
    >>> ages = Hierarchy.from_paths([["34", "30-39", "*"], ["35", "30-39", "*"], ["41", "40-49", "*"]])
    >>> solution = TableSolution((KAnonymity(2),), "optimal", {"age": 1}, 1)
    >>> list(apply_table(solution, Table.of_texts({"age": (["34", "35", "41"], ages)})).table.rows())
    [('30-39',), ('30-39',)]
    """
    if not isinstance(solution, TableSolution):
        solution = TableSolution.load(solution)
    if solution.levels is None:
        raise UsageError(
            f"a solution of {solution.algorithm} recodes every row by itself: it has no levels to apply to other data"
        )
    if bare := [name for name in unspoken(table, solution.models) if name not in solution.unprotected]:
        raise UsageError(
            f"the schema calls {', '.join(bare)} sensitive, of which no model of the solution speaks: search anew, and"
            " ask for one (treeanon anonymize)"
        )
    table = with_controls(table, told_controls(solution.options))
    refuse_shift((column.spec for column in table.columns), "a solution of tables")
    refuse_too_few_rows(table, solution.models)
    allowed = persons(solution.max_suppressed, table.persons)
    lattice = Lattice(Problem(table, solution.models, allowed))
    vector = _fitted(solution.levels, lattice)
    found = FullDomainResult.of(lattice, solution.algorithm, vector)
    found = replace(found, keeps_others=solution.options.get("suppressed") == OTHER_COLUMNS)
    made, rows = found.recoded(table)
    recoded = microaggregated(made, table.take(rows))
    verdict = verify_table(as_known(recoded), solution.models)
    if found.suppressed > allowed or not verdict.holds:
        raise GuaranteeError(f"the guarantee of the solution does not hold for these data: {SEARCH_ANEW}")
    check_recoding(table, recoded, rows, allowed)
    return release_of(
        table, scattered(recoded), found, verdict, solution.models, solution.options, solution.max_suppressed
    )


def _fitted(levels: Mapping[str, int], lattice: Lattice) -> tuple[int, ...]:
    """Return the vector of these levels; UsageError if they are not of this table."""
    if set(levels) != set(lattice.names):
        raise UsageError(
            f"the solution has levels for other columns than the schema's of role quasi: {', '.join(lattice.names)}"
        )
    for name, height in zip(lattice.names, lattice.full_heights, strict=True):
        if levels[name] > height:
            raise UsageError(f"the solution's level of {name!r} is above what its hierarchy has here: {height}")
    vector = lattice.vector_of(levels)
    for name, level, most in zip(lattice.names, vector, lattice.heights, strict=True):
        if not 0 <= level <= most:
            raise UsageError(f"the solution's level of {name!r} is not one that the schema allows")
    return vector
