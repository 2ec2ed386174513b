"""Solution files of tables, and their use on other data: nothing comes out that does not hold there too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

from treeanon.algorithms.algorithm import current_names
from treeanon.algorithms.table.lattice import OTHER_COLUMNS, FullDomainResult, Lattice
from treeanon.algorithms.table.problem import Problem
from treeanon.algorithms.table.registry import TABLE_ALGORITHMS
from treeanon.algorithms.table.result import scattered
from treeanon.errors import GuaranteeError, UsageError
from treeanon.privacy.models.model import Model
from treeanon.privacy.models.registry import model_of, plain_model
from treeanon.release.solution_file import FINDINGS, VERSION, PlainFile, checked_plain, read_plain, version
from treeanon.release.table import check_recoding, release_of
from treeanon.release.table_release import TableRelease
from treeanon.release.table_search import refuse_too_few
from treeanon.release.tree_reapply import SEARCH_ANEW
from treeanon.release.tree_request import persons
from treeanon.schema.persons import refuse_shift
from treeanon.table import Table
from treeanon.table.controls import as_known, told_controls, with_controls
from treeanon.table.published_numbers import microaggregated
from treeanon.verifier.table import verify_table

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
    refuse_too_few(table, solution.models)
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
