"""Names of tables and columns as words, and which column may refer to which table by its name."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

from treeanon.infer.secrets import words
from treeanon.io.relational.source import TableInfo

_SUFFIXES = frozenset(
    {"id", "ids", "key", "code", "no", "nr", "num", "number", "ref", "uuid", "guid", "fk", "sk", "pk", "cd"}
)
_JOINED_SUFFIXES = ("key", "id", "code", "no", "nr")
_TABLE_MARKS = frozenset({"tbl", "tab", "table", "t", "d", "f", "dim", "fact", "stg", "ref", "lkp", "lookup", "mst"})
_NO_KEY = frozenset({"is", "has", "was", "can", "num", "number", "count", "total", "sum", "avg", "max", "min", "qty"})
_ABOVE = frozenset(
    {"parent", "boss", "manager", "supervisor", "superior", "mother", "father", "predecessor", "previous", "next"}
    | {"reportsto", "partof", "belongsto", "successor", "head", "lead", "mentor", "sponsor", "referrer", "origin"}
)
_SHORT = 3
"""Least number of letters of an abbreviation."""


@dataclass(frozen=True)
class ColumnName:
    """A column's name without the mark of its table and of keys: `base` has the words left, `keyed` says it is a key's.

    >>> column_name("c_custkey", "c"), column_name("attendingDoctorId", "")
    (ColumnName(base=('cust',), keyed=True), ColumnName(base=('attending', 'doctor'), keyed=True))
    """

    base: tuple[str, ...]
    keyed: bool

    @property
    def joined(self) -> str:
        """The base as one word."""
        return "".join(self.base)


def column_name(name: str, mark: str) -> ColumnName:
    """Return the parts of a column's name, given the prefix shared by its table's columns."""
    found = words(name)
    if mark and found[:1] == [mark]:
        found = found[1:]
    keyed = False
    while found and found[-1] in _SUFFIXES:
        keyed = True
        found.pop()
    if found and not keyed:
        for suffix in _JOINED_SUFFIXES:
            if found[-1].endswith(suffix) and len(found[-1]) >= len(suffix) + _SHORT:
                return ColumnName((*found[:-1], found[-1].removesuffix(suffix)), True)
    return ColumnName(tuple(found), keyed)


def table_forms(table: str) -> frozenset[str]:
    """Return the names by which a column may refer to a table: singular and plural, without warehouse prefixes.

    >>> {"customer", "customers"} <= table_forms("dim_customers"), "cities" in table_forms("public.city")
    (True, True)
    """
    found = words(table.rpartition(".")[2])
    while len(found) > 1 and found[0] in _TABLE_MARKS:
        found = found[1:]
    return _numbers("".join(found)) if found else frozenset()


def _numbers(word: str) -> frozenset[str]:
    """Return a word in singular and plural."""
    forms = {word, word + "s"}
    if word.endswith("ies"):
        forms.add(word[:-3] + "y")
    elif word.endswith("y"):
        forms.add(word[:-1] + "ies")
    if word.endswith("s") and not word.endswith("ss"):
        forms.add(word[:-1])
        forms.add(word + "es")
    if word.endswith("es"):
        forms.add(word[:-2])
    forms |= {"person", "people"} if word in ("person", "people", "persons") else set()
    return frozenset(form for form in forms if len(form) > 1)


def column_mark(table: str, columns: tuple[str, ...]) -> str:
    """Return the prefix of all column names, if it stands for the table.

    >>> column_mark("partsupp", ("ps_partkey", "ps_suppkey")), column_mark("visit", ("patient_id", "patient_age"))
    ('ps', '')
    """
    split = [words(column) for column in columns]
    firsts = {found[0] if len(found) > 1 else "" for found in split}
    if len(columns) < 2 or len(firsts) != 1:
        return ""
    (first,) = firsts
    return first if len(first) <= _SHORT or first in table_forms(table) else ""


@dataclass(frozen=True)
class Names:
    """The names of all tables and columns of an input."""

    tables: Mapping[str, TableInfo]
    forms: Mapping[str, frozenset[str]] = field(init=False)
    columns: Mapping[tuple[str, str], ColumnName] = field(init=False)

    def __post_init__(self) -> None:
        marks = {table: column_mark(table, info.columns) for table, info in self.tables.items()}
        parsed = {(table, c): column_name(c, marks[table]) for table, info in self.tables.items() for c in info.columns}
        object.__setattr__(self, "forms", {table: table_forms(table) for table in self.tables})
        object.__setattr__(self, "columns", parsed)

    def called(self, table: str, column: str) -> str:
        """Return a column's name without the marks of its table and of keys; its whole name where nothing is left."""
        return self.columns[table, column].joined or column.lower()

    def calls(self, targets: Mapping[str, Collection[str]]) -> Callable[[str, str], list[str]]:
        """Return a lookup of the tables that a column's name may refer to, so that not all need be tried."""
        by_word: dict[str, list[str]] = {}
        for table, columns in targets.items():
            called = {self.columns[table, column].joined for column in columns} | {c.lower() for c in columns}
            starts = {form[:length] for form in self.forms[table] for length in range(_SHORT, len(form))}
            for word in self.forms[table] | called | starts:
                by_word.setdefault(word, []).append(table)

        def found(table: str, column: str) -> list[str]:
            base = self.columns[table, column].base
            tails = ["".join(base[at:]) for at in range(len(base))]
            tables = [t for word in (*tails, column.lower()) for t in by_word.get(word, ())]
            return list(dict.fromkeys([*tables, table]))

        return found

    def is_own(self, table: str, column: str) -> bool:
        """Return whether a column is named as the key of its own table: id, customer_id."""
        name = self.columns[table, column]
        return name.keyed and (not name.base or name.joined in self.forms[table])

    def may_be_target(self, table: str, column: str) -> bool:
        """Return whether a column may be the key of its table."""
        info, name = self.tables[table], self.columns[table, column]
        if info.primary:
            return info.primary == (column,)
        return self.is_own(table, column) or (name.keyed and (column == info.columns[0] or self.is_short(table, name)))

    def is_short(self, table: str, name: ColumnName) -> bool:
        """Return whether a column's name abbreviates that of a table."""
        return len(name.joined) >= _SHORT and any(form.startswith(name.joined) for form in self.forms[table])

    def match(self, table: str, column: str, target: str, target_column: str) -> int | None:
        """Return how well a column's name fits a reference to a column of a table (0 is best); None if not at all."""
        name, goal = self.columns[table, column], self.columns[target, target_column]
        if not name.base or name.base[0] in ("is", "has", "was", "can"):
            return None
        if table == target:
            return 1 if name.joined in _ABOVE or (name.base[0] in _ABOVE and self._role(name, target)) else None
        called = name.joined in self.forms[target]
        if called:
            return 0
        if self.is_own(table, column):
            return None
        if name.keyed and goal.keyed and name.joined == goal.joined and len(name.joined) > 1:
            return 1
        if column.lower() == target_column.lower() and self.tables[target].primary and len(name.joined) >= _SHORT:
            return 1
        if self._role(name, target):
            return 2
        return 3 if name.keyed and self.is_short(target, name) else None

    def _role(self, name: ColumnName, target: str) -> bool:
        """Return whether the last words name the table and those before them its role: home_airport."""
        if name.base[0] in _NO_KEY and not name.keyed:
            return False
        tails = ("".join(name.base[at:]) for at in range(1, len(name.base)))
        return any(tail in self.forms[target] for tail in tails)
