"""Foreign keys between tables, as the schema and its paths write them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

_BARE = re.compile(r"[^\s.,()\[\]='\"<>-]+")


class KeyFormError(ValueError):
    """A malformed key; the message says what is expected."""


@dataclass(frozen=True, order=True)
class ForeignKey:
    """Columns of a table whose values name a row of another table (or of the same) by columns of that.

    >>> key = parse_key("lines.(order_no, year) -> orders.(no, year)")
    >>> key.table, key.columns, key.target, key.target_columns
    ('lines', ('order_no', 'year'), 'orders', ('no', 'year'))
    >>> str(key), str(parse_key("orders.custkey -> 'the customers'.custkey"))
    ('lines.(order_no, year) -> orders.(no, year)', "orders.custkey -> 'the customers'.custkey")
    """

    table: str
    columns: tuple[str, ...]
    target: str
    target_columns: tuple[str, ...]

    def __str__(self) -> str:
        return f"{columns_text(self.table, self.columns)} -> {columns_text(self.target, self.target_columns)}"

    @property
    def of_itself(self) -> bool:
        """Whether rows of the table refer to rows of the same table."""
        return self.table == self.target


def name_text(name: str) -> str:
    """Return a table's or column's name as keys write it: in quotes unless it is a plain name.

    >>> name_text("custkey"), name_text("order no")
    ('custkey', "'order no'")
    """
    if _BARE.fullmatch(name):
        return name
    return f"'{name}'" if "'" not in name else f'"{name}"'


def columns_text(table: str, columns: Iterable[str]) -> str:
    """Return columns of a table as keys write them.

    >>> columns_text("orders", ["no"]), columns_text("orders", ["no", "year"])
    ('orders.no', 'orders.(no, year)')
    """
    names = [name_text(column) for column in columns]
    return f"{name_text(table)}.{names[0] if len(names) == 1 else '(' + ', '.join(names) + ')'}"


class _Reader:
    """A reader of a key from left to right."""

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0

    def blanks(self) -> None:
        while self.at < len(self.text) and self.text[self.at].isspace():
            self.at += 1

    def take(self, mark: str) -> bool:
        self.blanks()
        if self.text.startswith(mark, self.at):
            self.at += len(mark)
            return True
        return False

    def expect(self, mark: str) -> None:
        if not self.take(mark):
            raise KeyFormError(f"{mark!r} is expected at character {self.at + 1}")

    def name(self) -> str:
        self.blanks()
        quote = self.text[self.at : self.at + 1]
        if quote in ("'", '"') and (end := self.text.find(quote, self.at + 1)) > self.at + 1:
            name, self.at = self.text[self.at + 1 : end], end + 1
            return name
        found = _BARE.match(self.text, self.at)
        if found is None:
            raise KeyFormError(f"a name is expected at character {self.at + 1}")
        self.at = found.end()
        return found.group()

    def names(self) -> tuple[str, ...]:
        names = [self.name()]
        while self.take(","):
            names.append(self.name())
        return tuple(names)

    def side(self) -> tuple[str, tuple[str, ...]]:
        table = self.name()
        self.expect(".")
        if not self.take("("):
            return table, (self.name(),)
        columns = self.names()
        self.expect(")")
        return table, columns


def parse_key(text: str) -> ForeignKey:
    """Return the foreign key that `text` writes; KeyFormError says what is wrong with it."""
    reader = _Reader(text)
    try:
        table, columns = reader.side()
        reader.expect("->")
        target, target_columns = reader.side()
        reader.blanks()
        if reader.at < len(text):
            raise KeyFormError(f"nothing is expected at character {reader.at + 1}")
    except KeyFormError as problem:
        example = "orders.custkey -> customer.custkey, or lines.(no, year) -> orders.(no, year)"
        raise KeyFormError(f"{problem}; a key looks like {example}") from None
    if len(columns) != len(target_columns):
        raise KeyFormError(f"{len(columns)} columns cannot refer to {len(target_columns)}")
    if len(set(columns)) < len(columns) or len(set(target_columns)) < len(target_columns):
        raise KeyFormError("a column is named twice")
    return ForeignKey(table, columns, target, target_columns)
