"""An independent check of a published table: every model asked for, from its rows alone."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from treeanon.errors import UsageError
from treeanon.io.beyond.findings import Finding, as_data, said_of
from treeanon.privacy.models.model import Model
from treeanon.table import Table
from treeanon.verifier.groups import count_groups, group_rows
from treeanon.verifier.models import AllChecked, Checked, check


@dataclass(frozen=True)
class TableVerdict(AllChecked):
    """Verdict on a table: its models, and the size of the smallest group of equal rows.

    `checked` has what came out for each model and each sensitive column that it looks at. `largest_k` is the number of
    persons in the smallest group: the largest k for which the table is k-anonymous; None for a table without rows.
    """

    checked: tuple[Checked, ...]
    largest_k: int | None
    groups: int
    rows: int
    persons: int
    seconds: float = 0.0
    beyond: tuple[Finding, ...] = ()

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
            "seconds": round(self.seconds, 3),
        } | as_data(self.beyond)


def verify_table(table: Table, models: Sequence[Model]) -> TableVerdict:
    """Check that a table satisfies all models, in groups of rows equal in all quasi columns.

    Shares nothing with the searches. t-closeness compares with the table itself, which is all that an attacker sees.

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
    found = tuple(check(table, models, alike=alike))
    sizes = count_groups(table, alike, None).persons
    least = int(sizes.min()) if len(sizes) else None
    return TableVerdict(found, least, len(sizes), len(table), table.persons, time.perf_counter() - begun)
