"""What the parts of tables that are written apart must have in common."""

from __future__ import annotations

from dataclasses import dataclass

from treeanon.io.columns.value_columns import Kind
from treeanon.io.relational.fresh_keys import KeyColumns
from treeanon.io.relational.key_constraints import Column


@dataclass(frozen=True)
class Agreed:
    """The keys that every row has, the tables from whose rows nodes were moved, and the kinds that fit all values."""

    whole: frozenset[KeyColumns]
    moved: frozenset[str]
    fitting: frozenset[tuple[Column, Kind]]

    def with_part(self, other: Agreed) -> Agreed:
        """What these parts have in common with another."""
        return Agreed(self.whole & other.whole, self.moved | other.moved, self.fitting & other.fitting)

    def kind(self, column: Column) -> Kind:
        """The kind of a column with values."""
        kinds: tuple[Kind, ...] = ("integer", "number")
        return next((kind for kind in kinds if (column, kind) in self.fitting), "text")
