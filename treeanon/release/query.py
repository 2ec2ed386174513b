"""`ta.query`: how many persons or rows of the original satisfy a query, told by a release alone.

Also the answer to a query: how many persons or rows satisfy it, by an estimate and by bounds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, overload

from treeanon.algorithms.tree.solution import Solution
from treeanon.errors import UsageError
from treeanon.forest import Forest
from treeanon.io.given import Data, Given
from treeanon.queries.grammar import Formula, QueryError, conditions, parse
from treeanon.queries.rows import count_permuted, count_rows
from treeanon.queries.trees import count_trees
from treeanon.release.reapply import TableSolution, is_of_table
from treeanon.release.solution_file import SolutionFile
from treeanon.release.table import PermutedRelease
from treeanon.release.table_release import TableRelease
from treeanon.release.tree_release import Release
from treeanon.schema import Schema
from treeanon.schema.load import SchemaLike, schema_of
from treeanon.table import Table
from treeanon.table.permuted import Permuted


@dataclass(frozen=True)
class Answer:
    """How many of the original satisfy a query: at `least`, at `most`, and an `estimate`.

    `of` are those of the original: the `released` ones, and the `suppressed` ones, which may satisfy it or not. `notes`
    say what the estimate assumes and what widens the bounds.
    """

    unit: Literal["persons", "rows"]
    estimate: float
    least: int
    most: int
    released: int
    suppressed: int = 0
    notes: tuple[str, ...] = ()

    @property
    def of(self) -> int:
        """How many the original has."""
        return self.released + self.suppressed

    @property
    def share(self) -> tuple[float, float, float]:
        """The estimate and both bounds as shares of the original; zeros where it has none."""
        whole = self.of or 1
        return self.estimate / whole, self.least / whole, self.most / whole

    def as_dict(self) -> dict[str, Any]:
        """Return the answer as plain data."""
        estimate, least, most = self.share
        return {
            "unit": self.unit,
            "estimate": self.estimate,
            "least": self.least,
            "most": self.most,
            "of": self.of,
            "share": {"estimate": estimate, "least": least, "most": most},
            "released": self.released,
            "suppressed": self.suppressed,
            "notes": list(self.notes),
        }


UNIFORM = (
    "The estimate takes every value that a published one may stand for as equally frequent, and columns as independent"
    " within it."
)
ALIKE = "What was suppressed is estimated like the rest."


def answered(
    unit: Literal["persons", "rows"],
    counts: tuple[float, int, int],
    released: int,
    suppressed: int,
    notes: tuple[str, ...],
) -> Answer:
    """Return the answer from what the released ones come to, with those added that are suppressed.

    >>> answered("rows", (2.0, 1, 3), 8, 4, ()).estimate
    3.0
    """
    estimate, least, most = counts
    more = estimate * suppressed / released if released else suppressed / 2
    told = (*notes, *([ALIKE] if suppressed else []))
    return Answer(unit, estimate + more, least, most + suppressed, released, suppressed, told)


Published = Release | TableRelease | PermutedRelease | Forest | Table | Permuted
Solutions = Solution | TableSolution | str | Path

GROUPS = "The estimate gives the values of a group to its rows evenly."
TREES = "The estimate takes the nodes of a record, and its conditions, as independent."
UNSEEN = (
    "Without the solution, a value may have been left out of any record that shows none of a class, and of classes that"
    " repeat, so that the most is high: give it (--solution) if you have it."
)
LEFT_OUT = "What was left out, moved or withheld widens the bounds."


@overload
def query(data: Published, text: str, *, suppressed: int | None = ..., solution: Solutions | None = ...) -> Answer: ...
@overload
def query(
    data: Data,
    text: str,
    *,
    schema: SchemaLike,
    suppressed: int | None = ...,
    solution: Solutions | None = ...,
) -> Answer: ...
def query(
    data: Any,
    text: str,
    *,
    schema: SchemaLike | None = None,
    suppressed: int | None = None,
    solution: Any = None,
) -> Answer:
    """Return how many of the original satisfy a query: an estimate, and bounds that surely hold.

    `least` and `most` hold whatever the original was, if it is one that may have been published so: nobody who has the
    release alone can give better ones for rows that are generalized, freeform or permuted. Persons are counted in
    trees, rows in tables. In trees a condition asks whether a person has some such value. A value of the original that
    is a group itself stands for one of its members.

    Parameters
        data: a release, or what was published: a Forest, a Table, a permuted release, or data with a schema as
            `treeanon.anonymize` takes them.
        text: the query, such as "age 30-40 and sex = f" or "disease = Flu under hospital in (North, South)".
        schema: what is in the data, where they are not read yet: a Schema, the path of one, or its TOML text.
        suppressed: how many persons or rows of the original the release lacks, which may satisfy the query. A release,
            or a solution, says it.
        solution: of trees: the solution, or the path of its file, which says what was left out; a release has it.

    >>> import treeanon as ta
    >>> ages = ta.Hierarchy.from_paths([["31", "30-39", "*"], ["36", "30-39", "*"], ["41", "40-49", "*"]])
    >>> found = ta.query(ta.Table.of_texts({"age": (["30-39", "30-39", "41"], ages)}), "age < 35")
    >>> found.least, found.estimate, found.most
    (0, 1.0, 2)
    """
    formula = parse(text)
    if schema is not None:
        schema = schema_of(schema)
        refuse_pseudonyms(formula, schema)
    data, known, gone = _published(data, schema, solution)
    gone = gone if suppressed is None else suppressed
    if gone < 0:
        raise UsageError("suppressed must be 0 or more")
    if isinstance(data, Forest):
        counts = count_trees(data, formula, known)
        return answered("persons", counts, len(data), gone, (UNIFORM, TREES, UNSEEN if known is None else LEFT_OUT))
    if known is not None:
        raise UsageError("the solution is one of trees, and these data are rows")
    if isinstance(data, Permuted):
        return answered("rows", count_permuted(data, formula), len(data.records), gone, (GROUPS,))
    return answered("rows", count_rows(data, formula), len(data), gone, (UNIFORM,))


def refuse_pseudonyms(formula: Formula, schema: Schema) -> None:
    """Refuse conditions on classes of which a release has pseudonyms, that a value of the original cannot be among."""
    hidden = {spec.name for spec in schema.classes if spec.pseudonym}
    for condition in conditions(formula):
        if condition.name in hidden:
            what = "is published as pseudonyms, which stand for no value that is known here"
            raise QueryError(condition.place, f"{condition.name} {what}")


def _published(
    data: Any, schema: SchemaLike | None, solution: Any
) -> tuple[Forest | Table | Permuted, Solution | None, int]:
    """Return what was published, the solution of trees, and how many persons or rows it lacks."""
    known, gone = solution_of(solution)
    if isinstance(data, Release):
        return data.forest, data.solution, data.solution.suppressed
    if isinstance(data, TableRelease):
        return data.table, known, _lacking(data.counts)
    if isinstance(data, PermutedRelease):
        return data.made, known, _lacking(data.counts)
    if not isinstance(data, Forest | Table | Permuted):
        given = Given.of(data, schema, released=True)
        data = given.read(rows=given.is_rows)
    return data, known, gone


def solution_of(solution: Any) -> tuple[Solution | None, int]:
    """Return a solution of trees, or None for one of a table; and how many persons or rows it has left out."""
    if isinstance(solution, str | Path):
        solution = TableSolution.load(solution) if is_of_table(solution) else SolutionFile.load(solution).solution
    if isinstance(solution, TableSolution):
        return None, _lacking(solution.findings.get("counts", {}))
    if solution is not None and not isinstance(solution, Solution):
        raise UsageError("solution must be a Solution, or the path of a solution file")
    return solution, 0 if solution is None else solution.suppressed


def _lacking(counts: Mapping[str, Any]) -> int:
    """Return how many rows the counts of a release say that it lacks."""
    rows, published = (counts.get(name, 0) for name in ("rows", "published_rows"))
    return max(rows - published, 0) if isinstance(rows, int) and isinstance(published, int) else 0
