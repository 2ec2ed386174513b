"""An independent check of a permuted release: models of its sensitive column, from its two tables alone."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from treeanon.arrays import Longs
from treeanon.errors import DataError, UsageError
from treeanon.io.beyond.findings import Finding, as_data, said_of
from treeanon.privacy.models.model import Model, asks_for_size
from treeanon.table import Column
from treeanon.table.permuted import Permuted
from treeanon.table.reductions import members_of
from treeanon.verifier.criteria import failing
from treeanon.verifier.groups import CountedGroups, ValueCounts
from treeanon.verifier.reached import Reached, c_of, reached_in
from treeanon.verifier.table import AllChecked, Checked

_NUMBER = re.compile("[1-9][0-9]{0,11}")


@dataclass(frozen=True, repr=False)
class PermutedVerdict(AllChecked):
    """Verdict on a permuted release: its models, its smallest group, and the largest share of a value.

    `largest_share` is the most that somebody who finds a person's row can know of the value: the share of the value
    that is most frequent in a group, where that is largest. None without a group, as `smallest`.
    """

    checked: tuple[Checked, ...]
    smallest: int | None
    largest_share: float | None
    groups: int
    rows: int
    seconds: float = 0.0
    beyond: tuple[Finding, ...] = ()
    reached: tuple[Reached, ...] = ()

    @property
    def sentence(self) -> str:
        """Return the verdict as a sentence."""
        words = [one.sentence for one in self.checked]
        if self.smallest is None or self.largest_share is None:
            return said_of(self.beyond, " ".join([*words, "The release has no rows."]))
        people = "person" if self.smallest == 1 else "persons"
        share = f"No value is that of more than {100 * self.largest_share:.1f} % of a group."
        return said_of(
            self.beyond,
            " ".join([*words, f"The smallest of {self.groups:,} groups has {self.smallest:,} {people}.", share]),
        )

    def as_dict(self) -> dict[str, Any]:
        """Return the verdict as plain data."""
        return {
            "holds": self.holds,
            "models": [one.as_dict() for one in self.checked],
            "smallest_group": self.smallest,
            "largest_share_of_a_value": self.largest_share,
            "groups": self.groups,
            "rows": self.rows,
            "reached": [one.as_dict() for one in self.reached],
            "seconds": round(self.seconds, 3),
        } | as_data(self.beyond)


def verify_permuted(made: Permuted, models: Sequence[Model], *, measured: bool = False) -> PermutedVerdict:
    """Check that the groups of a permuted release satisfy all models; shares nothing with the searches.

    k-anonymity asks for groups of k persons: quasi values are exact, so that it does not speak of rows that look alike.
    t-closeness compares with all values published. DataError where the two tables do not belong together. With
    `measured` the verdict says too what the groups reach, whether asked for or not.

    >>> import numpy as np
    >>> from treeanon.hierarchy import Hierarchy
    >>> from treeanon.privacy.models import KAnonymity
    >>> from treeanon.table import Table
    >>> from treeanon.table.permuted import permuted
    >>> columns = {"age": (["1", "2"], Hierarchy.flat("12")), "ill": (["flu", "acne"], Hierarchy.flat(["flu", "acne"]))}
    >>> made = permuted(Table.of_texts(columns, roles={"ill": "sensitive"}), np.array([0, 0]))
    >>> verify_permuted(made, [KAnonymity(3)]).checked[0].sentence
    'a group size of at least 3 does not hold: 1 group with 2 persons.'
    """
    if not models:
        raise UsageError("nothing is asked of the release: give l, or another model of its sensitive column")
    refuse_others(models, made.sensitive.name)
    if members_of(made.sensitive) is not None:
        raise UsageError("a permuted release has one sensitive value a person, and its column holds sets")
    begun = time.perf_counter()
    groups, values = _counted(made)
    found = []
    for model in models:
        fails = failing(groups, model)
        column = None if model.sensitive is None else made.sensitive.name
        found.append(Checked(name_of(model), column, int(fails.sum()), int(groups.persons[fails].sum())))
    share = float((values.count / groups.persons[values.group]).max()) if len(groups) else None
    smallest = int(groups.persons.min()) if len(groups) else None
    rows = len(made.records)
    reached = (reached_in(groups, c=c_of(models)),) if measured else ()
    seconds = time.perf_counter() - begun
    return PermutedVerdict(tuple(found), smallest, share, len(groups), rows, seconds, reached=reached)


def _counted(made: Permuted) -> tuple[CountedGroups, ValueCounts]:
    """Return the groups that the two tables have, and their sensitive values; DataError if they do not fit together.

    A group is what both tables call it: the text of its number.
    """
    column = made.sensitive
    number: dict[str, int] = {}
    of_records = _numbered(made.records.column(made.group), number)
    of_values = _numbered(made.values.column(made.group), number)
    count = _counts(made.values.column(made.count))
    persons = np.bincount(of_records, minlength=len(number))
    value = np.where(column.codes < 0, len(column.hierarchy), column.codes).astype(np.int64)
    order = np.lexsort((value, of_values))
    group, value, count = of_values[order], value[order], count[order]
    if ((group[1:] == group[:-1]) & (value[1:] == value[:-1])).any():
        raise DataError("a group of a permuted release lists one sensitive value twice")
    listed, whole = np.zeros(len(number), np.int64), np.zeros(len(column.hierarchy) + 1, np.int64)
    np.add.at(listed, group, count)
    np.add.at(whole, value, count)
    if not np.array_equal(listed, persons):
        raise DataError("the two tables of a permuted release do not have the same persons in each group")
    found = ValueCounts(column.name, group, value, count, whole, column.hierarchy)
    return CountedGroups(persons, found), found


def _numbered(column: Column, number: dict[str, int]) -> Longs:
    """Return the number of the text in every row; texts that are new get the next ones."""
    codes, of_code = np.unique(column.codes, return_inverse=True)
    if (codes < 0).any():
        raise DataError("a row of a permuted release has no group")
    texts = column.values
    return np.array([number.setdefault(texts[code], len(number)) for code in codes.tolist()], np.int64)[of_code]


def _counts(column: Column) -> Longs:
    """Return the whole number in every row; DataError where there is none."""
    codes, of_code = np.unique(column.codes, return_inverse=True)
    texts = [*column.values, ""]
    found = [texts[code] for code in codes.tolist()]
    if any(not _NUMBER.fullmatch(text) for text in found):
        raise DataError("the counts of a permuted release must be whole numbers from 1")
    return np.array([int(text) for text in found], np.int64)[of_code]


def refuse_others(models: Sequence[Model], column: str) -> None:
    """Raise UsageError for models that do not apply to a permuted release with this sensitive column."""
    for model in models:
        if model.sensitive is None and not asks_for_size(model):
            raise UsageError(f"{model.name} speaks of no sensitive column, which is all that a permuted release hides")
        for name in model.sensitive or ():
            if name != column:
                raise UsageError(f"{model.name}: the sensitive column of the release is {column!r}")


def name_of(model: Model) -> str:
    """Return the name of a model for a permuted release: of k-anonymity only the size of groups is left.

    >>> from treeanon.privacy.models import KAnonymity
    >>> name_of(KAnonymity(3))
    'a group size of at least 3'
    """
    return f"a group size of at least {model.limits.persons:,}" if asks_for_size(model) else model.name


def promise(hidden: str, models: Sequence[Model], verdict: PermutedVerdict) -> str:
    """Return what a permuted release protects, as a sentence: less where a group has only one value.

    >>> from treeanon.privacy.models import KAnonymity
    >>> promise("ill", [KAnonymity(3)], PermutedVerdict((), 3, 0.5, 2, 7))
    'Nobody can tell which person of a group has which value of ill: each group satisfies a group size of at least 3.'
    """
    asked = f"each group satisfies {', '.join(map(name_of, models))}"
    if verdict.largest_share == 1:
        return f"In some group all have the same value of {hidden}, which tells it of each of them: {asked}, no more."
    return f"Nobody can tell which person of a group has which value of {hidden}: {asked}."
