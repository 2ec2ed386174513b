"""The language of queries: conditions on classes, joined by `and`, `or`, `not` and parentheses.

```
query     = conjunction { "or" conjunction }
conjunction = negation { "and" negation }
negation  = "not" negation | "(" query ")" | condition [ "under" condition ]
condition = CLASS ( "=" | "!=" | "<" | "<=" | ">" | ">=" ) value
          | CLASS [ "=" ] LOW "-" HIGH | CLASS [ "=" ] LOW ".." HIGH
          | CLASS [ "not" ] "in" "(" value { "," value } ")"
value     = WORD | "'" TEXT "'" | '"' TEXT '"' | "*" | "missing"
```

Names and values that hold blanks, or are words of the language, stand in quotes; a quote in them is doubled.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal, TypeVar

from treeanon.errors import UsageError

Operator = Literal["in", "<", "<=", ">", ">=", "missing"]
T = TypeVar("T")

_TOKEN = re.compile(
    r"\s*(?:(?P<mark><=|>=|!=|<>|==|=|<|>|\(|\)|,|\.\.)|(?P<quoted>'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\")"
    r"|(?P<word>(?:(?!\.\.)[^\s<>=!(),'\"])+))"
)
_SPAN = re.compile(r"([+-]?[0-9.]+)-([+-]?[0-9.]+)")
_COMPARED = ("=", "==", "!=", "<>", "<", "<=", ">", ">=")
_WORDS = ("and", "or", "not", "in", "under", "missing")
DEEPEST = 100


@dataclass(frozen=True)
class Constant:
    """A value of a query, at a position of it.

    `span` has the ends of a range, both included. That of `30-40` may be none, where a class has such a value:
    `is_range` says that it was written with two points.
    """

    text: str
    place: int
    span: tuple[str, str] | None = None
    is_range: bool = False


@dataclass(frozen=True)
class Condition:
    """One condition: a class, what is asked of its value, and the constants (one, but for `in`)."""

    name: str
    operator: Operator
    constants: tuple[Constant, ...]
    place: int


@dataclass(frozen=True)
class Under:
    """A relation: a node that satisfies `lower` lies below one that satisfies `upper`."""

    lower: Condition
    upper: Condition


@dataclass(frozen=True)
class Not:
    """What does not hold."""

    part: Formula


@dataclass(frozen=True)
class Both:
    """Two parts that hold together, or of which one holds."""

    joined: Literal["and", "or"]
    left: Formula
    right: Formula


Formula = Condition | Under | Not | Both


class QueryError(UsageError):
    """A query that cannot be understood; it says at which character."""

    def __init__(self, place: int, what: str) -> None:
        super().__init__(f"query, character {place + 1}: {what}")


@dataclass(frozen=True)
class _Token:
    kind: str
    text: str
    place: int

    def is_word(self, *words: str) -> bool:
        return self.kind == "word" and self.text.lower() in words


def parse(text: str) -> Formula:
    """Return the formula of a query; UsageError says at which character it is wrong.

    >>> parse("age 30-40 and not sex = f").left.constants
    (Constant(text='30-40', place=4, span=('30', '40'), is_range=False),)
    >>> parse("age >")
    Traceback (most recent call last):
    treeanon.queries.grammar.QueryError: query, character 6: a value is expected
    """
    return _Parser(text).whole()


def conditions(formula: Formula) -> Iterator[Condition]:
    """Return the conditions of a formula, from left to right.

    >>> [one.name for one in conditions(parse("a = 1 or not (b = 2 under c = 3)"))]
    ['a', 'b', 'c']
    """
    if isinstance(formula, Condition):
        yield formula
    elif isinstance(formula, Under):
        yield from (formula.lower, formula.upper)
    elif isinstance(formula, Not):
        yield from conditions(formula.part)
    else:
        yield from conditions(formula.left)
        yield from conditions(formula.right)


def relations(formula: Formula) -> Iterator[Under]:
    """Return the relations of a formula, from left to right."""
    if isinstance(formula, Under):
        yield formula
    elif isinstance(formula, Not):
        yield from relations(formula.part)
    elif isinstance(formula, Both):
        yield from relations(formula.left)
        yield from relations(formula.right)


def fold(
    formula: Formula,
    leaf: Callable[[Condition | Under], T],
    negated: Callable[[T], T],
    joined: Callable[[str, T, T], T],
) -> T:
    """Return what a formula comes to, from what its conditions come to."""
    if isinstance(formula, Condition | Under):
        return leaf(formula)
    if isinstance(formula, Not):
        return negated(fold(formula.part, leaf, negated, joined))
    sides = (fold(side, leaf, negated, joined) for side in (formula.left, formula.right))
    return joined(formula.joined, *sides)


class _Parser:
    def __init__(self, text: str) -> None:
        self.tokens = list(_tokens(text))
        self.at = 0
        self.depth = 0

    @property
    def token(self) -> _Token:
        return self.tokens[self.at]

    def next(self) -> _Token:
        self.at += 1
        return self.tokens[self.at - 1]

    def takes(self, *marks: str) -> bool:
        if self.token.kind == "mark" and self.token.text in marks:
            self.at += 1
            return True
        return False

    def takes_word(self, word: str) -> bool:
        if self.token.is_word(word):
            self.at += 1
            return True
        return False

    def whole(self) -> Formula:
        found = self.disjunction()
        if self.token.kind != "end":
            raise QueryError(self.token.place, "'and', 'or' or the end of the query is expected")
        return found

    def disjunction(self) -> Formula:
        found = self.conjunction()
        while self.takes_word("or"):
            found = Both("or", found, self.conjunction())
        return found

    def conjunction(self) -> Formula:
        found = self.negation()
        while self.takes_word("and"):
            found = Both("and", found, self.negation())
        return found

    def negation(self) -> Formula:
        self.depth += 1
        if self.depth > DEEPEST:
            raise QueryError(self.token.place, f"the query is nested deeper than {DEEPEST} levels")
        try:
            if self.takes_word("not"):
                return Not(self.negation())
            if self.takes("("):
                found = self.disjunction()
                if not self.takes(")"):
                    raise QueryError(self.token.place, "a closing parenthesis is expected")
                return found
            return self.relation()
        finally:
            self.depth -= 1

    def relation(self) -> Formula:
        found = self.condition()
        if not self.token.is_word("under"):
            return found
        place = self.next().place
        upper = self.condition()
        if not all(isinstance(end, Condition) and end.operator != "missing" for end in (found, upper)):
            raise QueryError(place, "'under' joins two conditions that are neither negated nor about missing values")
        assert isinstance(found, Condition) and isinstance(upper, Condition)
        return Under(found, upper)

    def condition(self) -> Formula:
        token = self.next()
        if token.kind not in ("word", "quoted") or token.is_word(*_WORDS):
            raise QueryError(token.place, "the name of a class is expected")
        name, place = token.text, token.place
        if self.token.kind == "mark" and self.token.text in _COMPARED:
            return self.compared(name, place, self.next().text)
        negated = self.takes_word("not")
        if self.takes_word("in"):
            found = self.listed(name, place)
            return Not(found) if negated else found
        if not negated and self.token.kind in ("word", "quoted"):
            constant = self.value()
            if constant.span is not None:
                return Condition(name, "in", (constant,), place)
            raise QueryError(constant.place, "=, !=, <, <=, >, >=, in or a range such as 30-40 is expected")
        raise QueryError(self.token.place, "=, !=, <, <=, >, >=, in or a range such as 30-40 is expected")

    def compared(self, name: str, place: int, mark: str) -> Formula:
        if self.takes_word("missing"):
            if mark not in ("=", "==", "!=", "<>"):
                raise QueryError(self.tokens[self.at - 1].place, "only = and != ask for a missing value")
            missing = Condition(name, "missing", (), place)
            return missing if mark in ("=", "==") else Not(missing)
        constant = self.value()
        if mark in ("=", "==", "!=", "<>"):
            found = Condition(name, "in", (constant,), place)
            return found if mark in ("=", "==") else Not(found)
        if constant.is_range:
            raise QueryError(constant.place, "a single value is expected")
        operator: dict[str, Operator] = {"<": "<", "<=": "<=", ">": ">", ">=": ">="}
        return Condition(name, operator[mark], (constant,), place)

    def listed(self, name: str, place: int) -> Formula:
        if not self.takes("("):
            raise QueryError(self.token.place, "a list of values in parentheses is expected")
        constants: list[Constant] = []
        missing = False
        while True:
            if self.takes_word("missing"):
                missing = True
            else:
                constants.append(self.value())
            if self.takes(")"):
                break
            if not self.takes(","):
                raise QueryError(self.token.place, "a comma or a closing parenthesis is expected")
        absent = Condition(name, "missing", (), place)
        if not constants:
            return absent
        found = Condition(name, "in", tuple(constants), place)
        return Both("or", found, absent) if missing else found

    def value(self) -> Constant:
        token = self.next()
        if token.kind not in ("word", "quoted") or token.is_word("and", "or", "in", "under"):
            raise QueryError(token.place, "a value is expected")
        if self.takes(".."):
            high = self.next()
            if high.kind not in ("word", "quoted"):
                raise QueryError(high.place, "the end of the range is expected")
            return Constant(f"{token.text}..{high.text}", token.place, (token.text, high.text), is_range=True)
        span = _SPAN.fullmatch(token.text) if token.kind == "word" else None
        return Constant(token.text, token.place, (span[1], span[2]) if span else None)


def _tokens(text: str) -> Iterator[_Token]:
    at = 0
    end = len(text.rstrip())
    while at < end:
        match = _TOKEN.match(text, at)
        if match is None:
            start = at + len(text[at:]) - len(text[at:].lstrip())
            is_quote = text[start] in "'\""
            raise QueryError(start, "this quote is not closed" if is_quote else "this character is not expected")
        kind = str(match.lastgroup)
        found, place = match[kind], match.start(kind)
        if kind == "quoted":
            found = found[1:-1].replace(found[0] * 2, found[0])
        yield _Token(kind, found, place)
        at = match.end()
    yield _Token("end", "", len(text))
