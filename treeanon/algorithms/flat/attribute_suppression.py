"""AS: attribute suppression. As few columns as possible are suppressed altogether (CHAP).

Sets of columns form a lattice, in which k-anonymity is monotone: what holds with a set of columns published holds
with each of its subsets. Which set is best is NP-hard to say, so all sets are looked at for few columns only.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np

from treeanon.algorithms.flat.suppression import Suppression, checked_k, persons_of, suppressed_code
from treeanon.algorithms.flat.tuple_suppression import rare_rows
from treeanon.kernels.flat_losses import group_numbers
from treeanon.kernels.trees import Longs
from treeanon.loss.flat.groups import groups_of, shifted
from treeanon.table import Table

EXACT = 14
"""For so many columns all sets of them can be looked at."""

Kept = frozenset[int]
Worth = tuple[int, int]


def search(table: Table, k: int, *, max_suppressed: int = 0, exact: int = EXACT) -> Suppression:
    """The k-anonymous table with the fewest columns suppressed, beside rows of at most `max_suppressed` persons.

    Among sets of as few columns the one that suppresses the fewest persons, then the one that leaves the most groups.
    With more than `exact` columns a greedy choice: what is suppressed is needed, but a smaller set may do.

    >>> from treeanon.hierarchy import Hierarchy
    >>> sexes, zips = Hierarchy.flat(["f", "m"]), Hierarchy.flat(["1", "2"])
    >>> table = Table.of_texts({"sex": (["f", "m", "f", "m"], sexes), "zip": (["1", "1", "2", "2"], zips)})
    >>> found = search(table, 2)
    >>> found.columns, list(found.table.rows())
    (('zip',), [('f', '*'), ('m', '*'), ('f', '*'), ('m', '*')])
    """
    checked_k(table, k)
    columns = _Columns(table, k, max_suppressed)
    is_optimal = len(table.quasi) <= exact
    kept = _fewest(columns) if is_optimal else _greedy(columns)
    gone = [column for i, column in enumerate(table.quasi) if i not in kept]
    codes = {c.name: np.full(len(table), suppressed_code(c), np.int32) for c in gone}
    whole = table.with_codes(codes)
    is_out = rare_rows(whole, k)
    released = whole.take(np.flatnonzero(~is_out).astype(np.int32))
    names = tuple(column.name for column in gone)
    rows = int(is_out.sum())
    return Suppression("AS", released, names, rows, len(gone) * len(released), is_optimal, len(columns.seen))


@dataclass
class _Columns:
    """The quasi columns of a table, and what comes of publishing a set of them."""

    table: Table
    k: int
    most: int

    def __post_init__(self) -> None:
        self.seen: dict[Kept, Worth] = {}

    @cached_property
    def distinct(self) -> tuple[Table, Longs]:
        """The different rows, of each person where there may be several, and how often they occur."""
        numbers, groups = groups_of(self.table)
        if self.table.person is not None:
            room = int(self.table.person.max(initial=0)) + 1
            pair = [numbers.astype(np.int32), self.table.person]
            numbers, groups = group_numbers(pair, [groups, room], len(self.table))
        _, first, counts = np.unique(numbers, return_index=True, return_counts=True)
        return self.table.take(first.astype(np.int32)), counts.astype(np.int64)

    def __len__(self) -> int:
        return len(self.table.quasi)

    def worth(self, kept: Kept) -> Worth:
        """The persons that must be suppressed if these columns are published, and minus the groups that are left."""
        if kept not in self.seen:
            rows, counts = self.distinct
            used = [rows.quasi[i] for i in sorted(kept)]
            sizes = [len(column.hierarchy) + 1 for column in used]
            numbers, groups = group_numbers([shifted(column) for column in used], sizes, len(rows))
            if rows.person is None:
                persons = np.bincount(numbers, counts, groups).astype(np.int64)
                out = int(persons[persons < self.k].sum())
            else:
                persons = persons_of(rows, numbers, groups)
                out = len(np.unique(rows.person[persons[numbers] < self.k]))
            self.seen[kept] = (out, -int((persons >= self.k).sum()))
        return self.seen[kept]

    def holds(self, kept: Kept) -> bool:
        return self.worth(kept)[0] <= self.most


def _fewest(columns: _Columns) -> Kept:
    """The best of the largest sets that may be published; sets that hold one that may not are not looked at."""
    every = range(len(columns))
    failed = [kept for i in every if not columns.holds(kept := frozenset([i]))]
    pairs = (frozenset(pair) for pair in combinations(every, 2))
    failed += [pair for pair in pairs if not any(bad <= pair for bad in failed) and not columns.holds(pair)]
    for size in range(len(columns), 0, -1):
        sets = (frozenset(kept) for kept in combinations(every, size))
        fit = [kept for kept in sets if not any(bad <= kept for bad in failed) and columns.holds(kept)]
        if fit:
            return min(fit, key=lambda kept: (columns.worth(kept), sorted(kept)))
    return frozenset()


def _greedy(columns: _Columns) -> Kept:
    """Columns go one by one, each time the one that helps most; then those that are not needed come back."""
    kept = frozenset(range(len(columns)))
    gone: list[int] = []
    while not columns.holds(kept):
        gone.append(min(kept, key=lambda i: (columns.worth(kept - {i}), i)))
        kept -= {gone[-1]}
    for i in gone:
        if columns.holds(kept | {i}):
            kept |= {i}
    return kept
