"""A table: columns of codes, each with the hierarchy whose nodes they are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from treeanon.arrays import Ints, unique_values
from treeanon.errors import UsageError
from treeanon.forest.report import ReadReport
from treeanon.hierarchy import Hierarchy
from treeanon.kernels.table.groups import group_numbers
from treeanon.schema.model import ClassSpec
from treeanon.shown import Grid, Shown, Summary
from treeanon.table.covers import Covers

if TYPE_CHECKING:
    import pyarrow as pa

MISSING = -1
"""The code of a value that is not there, which is a value of its own."""


@dataclass(frozen=True, eq=False, repr=False)
class Column:
    """Column of a table: its class in the schema, its hierarchy, and a node of that (or MISSING) per row.

    Of a release that has ranges or sets of values, `covers` has these, and the codes are their numbers instead.
    """

    spec: ClassSpec
    hierarchy: Hierarchy
    codes: Ints
    covers: Covers | None = None

    @property
    def name(self) -> str:
        """Return the column's name, that of its class."""
        return self.spec.name

    @property
    def header(self) -> str:
        """Return the column's name in files and frames: that of the column which the class was read from."""
        path = self.spec.path
        return self.name if path is None else path.steps[-1].name or self.name

    @property
    def role(self) -> str:
        """Return the role: quasi, sensitive, keep, …"""
        return self.spec.role

    def texts(self) -> list[str | None]:
        """Return the value of every row; None where it is missing."""
        texts = [*self.values, None]
        return [texts[code] for code in self.codes.tolist()]

    @property
    def values(self) -> Sequence[str]:
        """Return the texts that codes stand for."""
        return self.hierarchy.texts if self.covers is None else self.covers.texts

    @property
    def size(self) -> int:
        """Return the number of possible values: codes are less."""
        return len(self.hierarchy if self.covers is None else self.covers)

    @property
    def places(self) -> Ints:
        """Return the codes, with a missing value numbered after all others.

        >>> Table.of_texts({"sex": (["f", None], Hierarchy.flat(["f", "m"]))}).columns[0].places.tolist()
        [1, 3]
        """
        return np.where(self.codes < 0, self.size, self.codes).astype(np.int32)


@dataclass(frozen=True, eq=False, repr=False)
class Table(Shown):
    """Rows as columns of codes; `person` has the person of each row where one may have several (None: one each).

    `person_header` is then the column of files that says so.

    >>> from treeanon.hierarchy import Hierarchy
    >>> ages = Hierarchy.from_paths([["34", "30-39", "*"], ["41", "40-49", "*"]])
    >>> table = Table.of_texts({"age": (["34", "41", None], ages)})
    >>> len(table), table.column("age").codes.tolist(), list(table.rows())
    (3, [2, 4, -1], [('34',), ('41',), (None,)])
    """

    columns: tuple[Column, ...]
    person: Ints | None = None
    report: ReadReport | None = field(default=None, repr=False)
    person_header: str = ""

    def __post_init__(self) -> None:
        sizes = {len(column.codes) for column in self.columns}
        if len(sizes) > 1 or (self.person is not None and {len(self.person)} != sizes):
            raise ValueError("all columns of a table must have one length")
        names = [column.name for column in self.columns]
        if len(set(names)) < len(names):
            raise ValueError("all columns of a table must have names of their own")

    @classmethod
    def of_texts(
        cls,
        columns: Mapping[str, tuple[Sequence[str | None], Hierarchy]],
        roles: Mapping[str, Any] | None = None,
    ) -> Table:
        """Return the table of texts (None: missing), each column with its hierarchy; roles are quasi unless given."""
        found = []
        for name, (texts, hierarchy) in columns.items():
            codes = hierarchy.encode("" if text is None else text for text in texts)
            if any(code < 0 and text is not None for code, text in zip(codes.tolist(), texts, strict=True)):
                raise UsageError(f"column {name!r}: its hierarchy does not know all of its values")
            spec = ClassSpec(name, role=(roles or {}).get(name, "quasi"), hierarchy=hierarchy)
            found.append(Column(spec, hierarchy, codes))
        return cls(tuple(found))

    def __len__(self) -> int:
        return len(self.columns[0].codes) if self.columns else 0

    def _summary(self) -> Summary:
        rows = [
            [c.name, c.role, len(unique_values(c.codes[c.codes >= 0])), int((c.codes < 0).sum()), c.hierarchy.height]
            for c in self.columns
        ]
        heads = ["Column", "Role", "Values", "Missing", "Levels above"]
        return Summary(
            "Table", f"{len(self):,} rows, {len(self.columns)} columns", grids=[Grid("Columns", heads, rows)]
        )

    def __eq__(self, other: object) -> bool:
        """Return whether both have the same columns and the same rows, in any order."""
        if not isinstance(other, Table):
            return NotImplemented
        names = [column.name for column in self.columns]
        if names != [column.name for column in other.columns] or len(self) != len(other):
            return False
        pairs = list(zip(self.columns, other.columns, strict=True))
        both = [same_codes(*pair) for pair in pairs]
        sizes = [int(codes.max(initial=0)) + 1 for codes in both]
        numbers, groups = group_numbers(both, sizes, 2 * len(self))
        here, there = (np.bincount(part, minlength=groups) for part in np.split(numbers, 2))
        return bool((here == there).all())

    __hash__ = None  # type: ignore[assignment]

    def column(self, name: str) -> Column:
        """Return the column of that name; UsageError lists what there is."""
        for column in self.columns:
            if column.name == name:
                return column
        raise UsageError(f"unknown column {name!r}; choose from {', '.join(c.name for c in self.columns)}")

    @property
    def quasi(self) -> tuple[Column, ...]:
        """Return the quasi-identifiers: the columns that an attacker is assumed to know."""
        return tuple(column for column in self.columns if column.role == "quasi")

    @property
    def sensitive(self) -> tuple[Column, ...]:
        """Return the sensitive columns."""
        return tuple(column for column in self.columns if column.role == "sensitive")

    def take(self, rows: npt.NDArray[np.integer]) -> Table:
        """Return the table of these rows."""
        columns = tuple(replace(c, codes=c.codes[rows]) for c in self.columns)
        return replace(self, columns=columns, person=None if self.person is None else self.person[rows])

    def with_codes(self, codes: Mapping[str, Ints]) -> Table:
        """Return the table with other codes in the columns named."""
        columns = tuple(replace(c, codes=codes.get(c.name, c.codes)) for c in self.columns)
        return replace(self, columns=columns)

    def rows(self) -> Iterator[tuple[str | None, ...]]:
        """Return the rows as texts."""
        return zip(*(column.texts() for column in self.columns), strict=True)

    def to_arrow(self) -> pa.Table:
        """Return the table as an Arrow table with its rows in order; missing values are null."""
        from treeanon.io.columns.write_table import to_arrow

        return to_arrow(self)

    def write(
        self, target: str | Path, *, format: str | None = None, force: bool = False, seed: int | None = None
    ) -> None:
        """Write the table as a CSV or Parquet file, its rows in random order; see `io.columns.write_table`."""
        from treeanon.io.columns.write_table import write_table

        write_table(self, target, format=format, force=force, seed=seed)

    @property
    def persons(self) -> int:
        """Return the number of persons."""
        return len(self) if self.person is None else len(unique_values(self.person))


def same_codes(one: Column, other: Column) -> Ints:
    """Return the values of two columns, one after the other, as shared numbers; 0 for missing."""
    codes = np.concatenate([one.codes, other.codes]).astype(np.int32) + 1
    if one.values is other.values:
        return codes
    number: dict[str, int] = {}
    parts = []
    for column in (one, other):
        found = np.zeros(column.size + 1, np.int32)
        for code in unique_values(column.codes[column.codes >= 0]).tolist():
            found[code] = number.setdefault(column.values[code], len(number) + 1)
        parts.append(found[column.codes])
    return np.concatenate(parts)
