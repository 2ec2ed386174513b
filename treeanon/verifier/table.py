"""An independent check of a published table: every model asked for, and microaggregated columns, from its rows.

It is made straight from the rows, and shares nothing with the searches.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from treeanon.arrays import Flags, Longs, unique_values
from treeanon.errors import UsageError
from treeanon.io.beyond.findings import Finding, as_data, said_of
from treeanon.privacy.models.model import Model, is_joined, refuse_sets
from treeanon.privacy.models.population import is_of_whole
from treeanon.shown import Grid, Shown, Summary
from treeanon.table import Column, Table
from treeanon.table.reductions import members_of
from treeanon.verifier.controls import GroupBound, broken_controls, over_loss
from treeanon.verifier.criteria import failing
from treeanon.verifier.groups import CountedGroups, count_groups, count_values, group_rows
from treeanon.verifier.population import failing_of_whole
from treeanon.verifier.reached import Reached, c_of, reached_in


@dataclass(frozen=True)
class Checked:
    """Result of one model for one sensitive column (None for a model of none): what fails, if anything.

    `groups` are those that fail, `persons` how many are in them.
    """

    model: str
    column: str | None
    groups: int
    persons: int

    @property
    def holds(self) -> bool:
        """Return whether no group fails."""
        return self.groups == 0

    def as_dict(self) -> dict[str, Any]:
        """Return the result as plain data."""
        return {
            "model": self.model,
            "column": self.column,
            "holds": self.holds,
            "failing_groups": self.groups,
            "failing_persons": self.persons,
        }

    @property
    def sentence(self) -> str:
        """Return the result as a sentence."""
        of = "" if self.column is None or self.model.endswith(f" of {self.column}") else f" of {self.column}"
        if self.holds:
            return f"{self.model}{of} holds."
        groups = f"{self.groups:,} group{'s' if self.groups > 1 else ''}"
        return (
            f"{self.model}{of} does not hold: {groups} with {self.persons:,} person{'s' if self.persons > 1 else ''}."
        )


class AllChecked(Shown):
    """Base of verdicts with `checked` models, and with what a file holds that was not counted."""

    checked: tuple[Checked, ...]
    beyond: tuple[Finding, ...]
    rows: int

    @property
    def sentence(self) -> str:
        """Return the verdict as a sentence."""
        raise NotImplementedError

    def _summary(self) -> Summary:
        rows = [
            [one.model, one.column or "", "holds" if one.holds else "does not hold", one.groups, one.persons]
            for one in self.checked
        ]
        heads = ["Model", "Column", "", "Failing groups", "Failing persons"]
        return Summary(type(self).__name__, self.sentence, [("rows", self.rows)], [Grid("Models", heads, rows)])

    @property
    def holds(self) -> bool:
        """Return whether all models hold, and nothing is left uncounted."""
        return not self.beyond and all(one.holds for one in self.checked)

    def __bool__(self) -> bool:
        """Return whether all models hold, and nothing is left uncounted."""
        return self.holds


def check(
    table: Table, models: Iterable[Model], reference: Table | None = None, *, alike: Longs | None = None
) -> list[Checked]:
    """Return what fails of each model, for each sensitive column that it looks at.

    Groups are rows that have the same values, or lack them, in all quasi columns. Where there are several sensitive
    columns, each is looked at by itself; of a model that is joined, with the others joined to the quasi columns (CHAP
    §5), as an attacker may know those: all of the model, so k of (α,k)-anonymity too. Persons are counted, not rows;
    one who fails in two groups counts once.

    t-closeness compares with the table itself, as that is all an attacker sees, or with `reference`. `alike` saves
    numbering rows by their quasi columns, where that is done already.

    >>> from treeanon.hierarchy import Hierarchy
    >>> from treeanon.privacy.models.k_anonymity import KAnonymity
    >>> table = Table.of_texts({"age": (["34", "34", "41"], Hierarchy.flat(["34", "41"]))})
    >>> check(table, [KAnonymity(2)])
    [Checked(model='2-anonymity', column=None, groups=1, persons=1)]
    """
    found = []
    alike = group_rows(table.quasi, len(table)) if alike is None else alike
    grouped: dict[tuple[str | None, bool], tuple[Longs, CountedGroups]] = {}
    for model in models:
        for column in _columns_of(model, table):
            name = None if column is None else column.name
            key = name, is_joined(model)
            if key not in grouped:
                grouped[key] = _groups(table, alike, column, reference, joined=is_joined(model))
            numbers, groups = grouped[key]
            if is_of_whole(model):
                fails = failing_of_whole(table, numbers, groups.persons, model)
            else:
                fails = failing(groups, model)
            found.append(Checked(model.name, name, int(fails.sum()), _persons(table, fails[numbers])))
    return found


def check_controls(table: Table, alike: Longs, bound: GroupBound | None = None) -> list[Checked]:
    """Return what fails of what was asked of single columns, such as their levels, and of all groups; these are rows
    alike.
    """
    found = []
    if bound is not None:
        rows = over_loss(table, bound)
        found.append(Checked(bound.name, None, len(unique_values(alike[rows])), _persons(table, rows)))
    for what, name, rows in broken_controls(table):
        found.append(Checked(what, name, len(unique_values(alike[rows])), _persons(table, rows)))
    return found


def _columns_of(model: Model, table: Table) -> Sequence[Column | None]:
    """Return the columns that a model examines, or only None; UsageError if they are missing."""
    if model.sensitive is None:
        return [None]
    found = [table.column(name) for name in model.sensitive] or list(table.sensitive)
    if not found:
        raise UsageError(f"{model.name} needs a column with role sensitive; the table has none")
    for column in found:
        if column.role != "sensitive":
            raise UsageError(f"{model.name}: the role of column {column.name!r} is not sensitive")
        refuse_sets(model, column)
    return found


def _groups(
    table: Table, alike: Longs, column: Column | None, reference: Table | None, *, joined: bool
) -> tuple[Longs, CountedGroups]:
    """Return the group number of each row, and the groups, for one sensitive column or for none."""
    if column is None:
        return alike, count_groups(table, alike, None)
    others = [other for other in table.sensitive if joined and other.name != column.name]
    numbers = group_rows([*table.quasi, *others], len(table)) if others else alike
    if reference is None:
        return numbers, count_groups(table, numbers, column)
    other = reference.column(column.name)
    if other.hierarchy != column.hierarchy:
        raise UsageError(f"column {column.name!r}: the table to compare with has another hierarchy")
    return numbers, count_groups(table, numbers, column, count_values(other, reference.person))


def _persons(table: Table, rows: Flags) -> int:
    if table.person is None:
        return int(rows.sum())
    return len(unique_values(table.person[rows]))


@dataclass(frozen=True, repr=False)
class TableVerdict(AllChecked):
    """Verdict on a table: its models, and the size of the smallest group of equal rows.

    `checked` has what came out for each model and each sensitive column that it looks at. `largest_k` is the number of
    persons in the smallest group: the largest k for which the table is k-anonymous; None for a table without rows.
    `reached` has what else the groups reach, for each sensitive column, where that was measured.
    """

    checked: tuple[Checked, ...]
    largest_k: int | None
    groups: int
    rows: int
    persons: int
    seconds: float = 0.0
    beyond: tuple[Finding, ...] = ()
    reached: tuple[Reached, ...] = ()

    @property
    def sentence(self) -> str:
        """Return the verdict as a sentence."""
        words = [one.sentence for one in self.checked]
        if self.largest_k is None:
            return said_of(self.beyond, " ".join([*words, "The table has no rows."]))
        people = "person" if self.largest_k == 1 else "persons"
        return said_of(
            self.beyond, " ".join([*words, f"The smallest of {self.groups:,} groups has {self.largest_k:,} {people}."])
        )

    def as_dict(self) -> dict[str, Any]:
        """Return the verdict as plain data."""
        return {
            "holds": self.holds,
            "models": [one.as_dict() for one in self.checked],
            "largest_k": self.largest_k,
            "groups": self.groups,
            "rows": self.rows,
            "persons": self.persons,
            "reached": [one.as_dict() for one in self.reached],
            "seconds": round(self.seconds, 3),
        } | as_data(self.beyond)


def verify_table(
    table: Table, models: Sequence[Model], *, measured: bool = False, bound: GroupBound | None = None
) -> TableVerdict:
    """Check that a table satisfies all models, in groups of rows equal in all quasi columns, and columns' controls.

    Shares nothing with the searches. t-closeness compares with the table itself, which is all that an attacker sees.
    `bound` says how much any group may lose. With `measured` the verdict says too what the groups reach in each
    sensitive column, whether asked for or not.

    >>> from treeanon.hierarchy import Hierarchy
    >>> from treeanon.privacy.models import KAnonymity
    >>> table = Table.of_texts({"age": (["34", "34", "41"], Hierarchy.flat(["34", "41"]))})
    >>> verify_table(table, [KAnonymity(2)]).sentence
    '2-anonymity does not hold: 1 group with 1 person. The smallest of 2 groups has 1 person.'
    """
    if not models:
        raise UsageError("nothing is asked of the table: give k, or another model")
    begun = time.perf_counter()
    alike = group_rows(table.quasi, len(table))
    found = (*check(table, models, alike=alike), *check_controls(table, alike, bound))
    sizes = count_groups(table, alike, None).persons
    least = int(sizes.min()) if len(sizes) else None
    reached = measures(table, models, alike) if measured else ()
    seconds = time.perf_counter() - begun
    return TableVerdict(found, least, len(sizes), len(table), table.persons, seconds, reached=reached)


def measures(table: Table, models: Iterable[Model], alike: Longs) -> tuple[Reached, ...]:
    """Return what the groups of a table reach in each sensitive column; `alike` numbers rows by their quasi columns."""
    models = tuple(models)
    joined = any(map(is_joined, models))
    return tuple(
        reached_in(
            _groups(table, alike, column, None, joined=joined)[1], c=c_of(models), sets=members_of(column) is not None
        )
        for column in table.sensitive
    )


_SLACK = Fraction(1, 2)


def holds_aggregates(before: Table, after: Table, name: str) -> bool:
    """Return whether one column of published rows is what they have in the middle; row i is of row i `before`.

    The published number must be the mean or median of all rows that look alike, but for half a unit of its last place.
    """
    own, made = before.column(name), after.column(name)
    groups = group_rows(after.quasi, len(after))
    numbers, published = _values(own), _values(made)
    places = max((_places(text) for text in own.texts() if text is not None), default=0) + 2
    slack = _SLACK / 10**places
    for rows in _rows_by(groups):
        known = sorted(numbers[row] for row in rows if numbers[row] is not None)  # type: ignore[type-var]
        told = {published[row] for row in rows}
        if len(told) != 1:
            return False
        (number,) = told
        if number is None or not known:
            if number is not None or known:
                return False
            continue
        if abs(number - _middle(known, own.spec.controls.microaggregate)) > slack:  # type: ignore[arg-type]
            return False
    return True


def _values(column: Column) -> list[Fraction | None]:
    return [None if text is None else Fraction(Decimal(text)) for text in column.texts()]


def _places(text: str) -> int:
    exponent = Decimal(text).normalize().as_tuple().exponent
    return max(-exponent, 0) if isinstance(exponent, int) else 0


def _rows_by(groups: Longs) -> list[list[int]]:
    order = np.argsort(groups, kind="stable")
    first = np.flatnonzero(np.diff(groups[order], prepend=-1))
    return [part.tolist() for part in np.split(order, first[1:])] if len(order) else []


def _middle(ordered: list[Fraction], how: str | None) -> Fraction:
    """Return the mean, or the value in the middle: of an even number the mean of the two there."""
    many = len(ordered)
    if how == "median":
        return (ordered[(many - 1) // 2] + ordered[many // 2]) / 2
    return sum(ordered, Fraction(0)) / many
