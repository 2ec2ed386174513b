"""Paths of the schema: where in a document a class lies, in dotted (JSON) or slashed (XML) form."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import combinations, product

MOST_STEPS = 256
"""The longest path: what is named is read, joined and written level by level."""


class PathError(ValueError):
    """A malformed path; the message says what is expected."""


@dataclass(frozen=True)
class Predicate:
    """`[code/@code=11450-4]`: the field a repeated step is chosen by, and the constant it must equal.

    In XML `[resource/*=Condition]` chooses by the name of the first element there.

    >>> parse_path("entry[resource.type=Condition].code", slashed=False).steps[0].predicate
    Predicate(names=('resource', 'type'), attribute=None, value='Condition')
    """

    names: tuple[str, ...]
    attribute: str | None
    value: str

    def is_of_element(self, *, slashed: bool) -> bool:
        """Return whether the constant is the name of an element."""
        return slashed and self.attribute is None and self.names[-1:] == ("*",)


@dataclass(frozen=True)
class Step:
    """One level of a path: its name (None for an array directly in an array) and whether it may repeat.

    In tables a name is a table's, and `key` has the columns of the foreign key to follow where there are several.

    >>> parse_path("flight.airport(origin_id).city", slashed=False, keyed=True).steps[1].label
    'airport(origin_id)'
    """

    name: str | None
    repeated: bool = False
    predicate: Predicate | None = None
    key: tuple[str, ...] = ()

    @property
    def label(self) -> str | None:
        """The name of the step where only one name can be shown."""
        if not self.key:
            return self.name
        columns = ", ".join(_name_text(column, slashed=False) for column in self.key)
        return f"{_name_text(self.name or '', slashed=False)}({columns})"


@dataclass(frozen=True)
class FieldPath:
    """Where the values of a class lie, from the record inwards.

    >>> path = parse_path("visits[].hospital", slashed=False)
    >>> [step.name for step in path.steps], path.steps[0].repeated, path.attribute
    (['visits', 'hospital'], True, None)
    >>> parse_path("visit[]/@hospital", slashed=True).attribute
    'hospital'
    """

    steps: tuple[Step, ...]
    attribute: str | None = None

    def text(self, *, slashed: bool) -> str:
        """Return the path as the schema writes it."""
        parts: list[str] = []
        for step in self.steps:
            mark = "[]" if step.repeated and step.predicate is None else ""
            if step.predicate is not None:
                mark = f"[{_predicate_text(step.predicate, slashed=slashed)}]"
            if step.name is None and parts:
                parts[-1] += mark
            elif step.key:
                parts.append(f"{step.label}{mark}")
            else:
                parts.append(("" if step.name is None else _name_text(step.name, slashed=slashed)) + mark)
        if self.attribute is not None:
            parts.append("@" + _name_text(self.attribute, slashed=slashed))
        return ("/" if slashed else ".").join(parts)


def _name_text(name: str, *, slashed: bool) -> str:
    special = "/@[]='\"" if slashed else ".,()[]='\""
    if name and not any(char in special or (slashed and char.isspace()) for char in name):
        return name
    return f"'{name}'" if "'" not in name else f'"{name}"' if name else ""


def _predicate_text(predicate: Predicate, *, slashed: bool) -> str:
    parts = [_name_text(name, slashed=slashed) for name in predicate.names]
    if predicate.attribute is not None:
        parts.append("@" + _name_text(predicate.attribute, slashed=slashed))
    value = predicate.value
    if value != value.strip() or value[:1] in ("'", '"') or "]" in value:
        value = f"'{value}'" if "'" not in value else f'"{value}"'
    return ("/" if slashed else ".").join(parts) + "=" + value


_STARTS = (
    "A-Z_a-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02ff\u0370-\u037d\u037f-\u1fff\u200c\u200d\u2070-\u218f\u2c00-\u2fef"
    "\u3001-\ud7ff\uf900-\ufdcf\ufdf0-\ufffd\U00010000-\U000effff"
)
_FOLLOWS = _STARTS + "0-9.\u00b7\u0300-\u036f\u203f\u2040-"


@cache
def xml_name() -> re.Pattern[str]:
    """Return the pattern of names of elements or attributes, without a prefix, as XML 1.0 has them."""
    return re.compile(f"[{_STARTS}][{_FOLLOWS}]*")


@cache
def xml_name_start() -> re.Pattern[str]:
    """Return the pattern of the characters with which such a name may begin."""
    return re.compile(f"[{_STARTS}]")


@cache
def not_in_xml_names() -> re.Pattern[str]:
    """Return the pattern of the characters that such a name cannot have."""
    return re.compile(f"[^{_FOLLOWS}]")


_QUOTED = re.compile(r"'([^']*)'|\"([^\"]*)\"")
_DOTTED_NAME = re.compile(r"[^.\[\]='\"]+")
_KEYED_NAME = re.compile(r"[^.,()\[\]='\"]+")
_SLASHED_NAME = re.compile(r"[^/@\[\]='\"\s]+")


class _Scanner:
    """A scanner of a path from left to right."""

    def __init__(self, text: str, *, slashed: bool, keyed: bool = False) -> None:
        self.text, self.at, self.slashed, self.keyed = text, 0, slashed, keyed
        self.separator = "/" if slashed else "."
        self.plain = _SLASHED_NAME if slashed else _KEYED_NAME if keyed else _DOTTED_NAME

    def fail(self, what: str) -> PathError:
        example = "visit[]/diagnosis[]/@name" if self.slashed else "visits[].diagnoses[].name"
        if self.keyed:
            example = "visit.diagnosis.name, or flight.airport(origin_id).city"
        return PathError(f"{what} at character {self.at + 1}; a path looks like {example}")

    def done(self) -> bool:
        return self.at >= len(self.text)

    def take(self, char: str) -> bool:
        if self.text.startswith(char, self.at):
            self.at += len(char)
            return True
        return False

    def name(self) -> str:
        quoted = _QUOTED.match(self.text, self.at)
        if quoted is not None:
            self.at = quoted.end()
            return quoted.group(1) if quoted.group(1) is not None else quoted.group(2)
        plain = self.plain.match(self.text, self.at)
        if plain is None:
            raise self.fail("a name is expected")
        self.at = plain.end()
        return plain.group()

    def names_and_attribute(self) -> tuple[tuple[str, ...], str | None]:
        names: list[str] = []
        while True:
            if self.slashed and self.take("@"):
                return tuple(names), self.name()
            names.append(self.name())
            if not self.take(self.separator):
                return tuple(names), None

    def key(self) -> tuple[str, ...]:
        """Return the columns in the parentheses that follow, if any do."""
        if not (self.keyed and self.take("(")):
            return ()
        columns: list[str] = []
        while not columns or self.take(","):
            while self.take(" "):
                pass
            quoted = self.text[self.at : self.at + 1] in ("'", '"')
            column = self.name()
            columns.append(column if quoted else column.rstrip())
            while self.take(" "):
                pass
        if not self.take(")"):
            raise self.fail("a comma or ) is expected")
        return tuple(columns)

    def mark(self) -> tuple[bool, Predicate | None]:
        """Return whether `[]` or `[field=constant]` follows, and the predicate if there is one."""
        if not self.take("["):
            return False, None
        if self.take("]"):
            return True, None
        names, attribute = self.names_and_attribute()
        if not self.take("="):
            raise self.fail("[] or [field=constant] is expected")
        quoted = _QUOTED.match(self.text, self.at)
        if quoted is not None:
            value, self.at = quoted.group()[1:-1], quoted.end()
        else:
            end = self.text.find("]", self.at)
            value = self.text[self.at : end if end >= 0 else len(self.text)]
            self.at += len(value)
        if not value or not self.take("]"):
            raise self.fail("a constant and ] are expected")
        return True, Predicate(names, attribute, value)


def _step(scan: _Scanner) -> list[Step]:
    name, key = scan.name(), scan.key()
    repeated, predicate = scan.mark()
    steps = [Step(name, repeated, predicate, key)]
    while repeated and not scan.slashed and not scan.keyed and scan.text.startswith("[", scan.at):
        again, inner = scan.mark()
        steps.append(Step(None, again, inner))
    return steps


def parse_path(text: str, *, slashed: bool, keyed: bool = False) -> FieldPath:
    """Return the path that `text` writes; PathError says what is wrong with it.

    `keyed` paths, those of tables, may name the columns of a key in parentheses after a step.
    """
    scan = _Scanner(text, slashed=slashed, keyed=keyed)
    steps: list[Step] = []
    while True:
        if slashed and scan.take("@"):
            attribute = scan.name()
            if not scan.done():
                raise scan.fail("an attribute ends the path; nothing is expected")
            return FieldPath(tuple(steps), attribute)
        steps.extend(_step(scan))
        if len(steps) > MOST_STEPS:
            raise PathError(f"has more than {MOST_STEPS} steps, the limit of nesting")
        if scan.done():
            return FieldPath(tuple(steps))
        if not scan.take(scan.separator):
            raise scan.fail(f"{scan.separator!r} or the end is expected")


@dataclass(frozen=True)
class RecordPath:
    """Where one person is: names to go through, and whether the last of them is an array of persons.

    `keyed` says that it is an object instead, whose members are persons, under keys that are not published.

    >>> parse_record("data.patients[]", slashed=False)
    RecordPath(names=('data', 'patients'), repeated=True)
    >>> parse_record("patients/patient", slashed=True)
    RecordPath(names=('patients', 'patient'), repeated=True)
    >>> parse_record(".", slashed=True).whole_file
    True
    >>> parse_record("*", slashed=False).keyed, parse_record("data.patients.*", slashed=False).names
    (True, ('data', 'patients'))
    """

    names: tuple[str, ...]
    repeated: bool
    keyed: bool = field(default=False, repr=False)

    @property
    def whole_file(self) -> bool:
        """Whether every file holds one person."""
        return not self.repeated


def parse_record(text: str, *, slashed: bool) -> RecordPath:
    """Return the record path that `text` writes; PathError says what is wrong with it."""
    if text == ".":
        return RecordPath((), False)
    if slashed:
        path = parse_path(text.removesuffix("[]"), slashed=True)
        if path.attribute is not None or any(step.repeated for step in path.steps):
            raise PathError("must be the element names from the root to one person, such as patients/patient")
        names = tuple(step.name or "" for step in path.steps)
        return RecordPath(names, len(names) > 1)
    if text in ("[]", "*"):
        return RecordPath((), True, text == "*")
    if text.endswith(".*"):
        steps = parse_path(text.removesuffix(".*"), slashed=False).steps
        if any(step.repeated or step.predicate for step in steps):
            raise PathError("must be the object whose members are persons, such as * or data.patients.*")
        return RecordPath(tuple(step.name or "" for step in steps), True, True)
    path = parse_path(text, slashed=False)
    if not path.steps[-1].repeated or any(s.repeated for s in path.steps[:-1]) or path.steps[-1].predicate:
        raise PathError('must be the array of persons, such as patients[] or data.patients[] (or "." or "*")')
    return RecordPath(tuple(step.name or "" for step in path.steps), True)


def parse_root(text: str) -> RecordPath:
    """Return the record path of a table whose rows are persons; PathError says what is wrong with it.

    >>> parse_root("'the customers'").names
    ('the customers',)
    """
    steps = parse_path(text, slashed=False, keyed=True).steps
    if len(steps) != 1 or steps[0].predicate or steps[0].key:
        raise PathError("must be the name of the table of which each row is one person, such as customer")
    return RecordPath((steps[0].name or "",), True)


def parse_column(text: str) -> FieldPath:
    """Return the path that is the name of one column; PathError says what is wrong with it.

    >>> parse_column("'zip.code'").steps[0].name
    'zip.code'
    """
    what = "must be the name of one column; put it in quotes if it holds dots, commas or brackets: 'zip.code'"
    try:
        path = parse_path(text, slashed=False, keyed=True)
    except PathError:
        raise PathError(what) from None
    if len(path.steps) != 1 or path.steps[0] != Step(path.steps[0].name):
        raise PathError(what)
    return path


def bare(path: FieldPath) -> tuple[tuple[str | None, ...], str | None]:
    """Return the names of a path; two that may read one value have the same."""
    return tuple(step.label for step in path.steps), path.attribute


def _apart(first: Step, second: Step) -> bool:
    """Return whether no item can satisfy the predicates of both steps."""
    p, q = first.predicate, second.predicate
    return bool(p and q and (p.names, p.attribute) == (q.names, q.attribute) and p.value != q.value)


def may_read_one(first: FieldPath, second: FieldPath) -> bool:
    """Return whether two paths have the same names and no predicates that exclude each other."""
    if bare(first) != bare(second):
        return False
    return not any(_apart(a, b) for a, b in zip(first.steps, second.steps, strict=True))


def pairs_to_compare(paths: Sequence[FieldPath | None], *, slashed: bool) -> list[list[int]]:
    """Return for each path which ones before it may read what it reads, or take a name of it for something else.

    Among thousands of paths most have a name of their own and need no comparison.

    >>> texts = ["a.b", "a.c", "a.b", "a[].d"]
    >>> pairs_to_compare([parse_path(text, slashed=False) for text in texts], slashed=False)
    [[], [], [0], [0, 1, 2]]
    """
    by_names = defaultdict(list)
    uses: dict[tuple[str | None, ...], dict[tuple[bool, bool], list[int]]] = {}
    for number, path in enumerate(paths):
        if path is None:
            continue
        by_names[bare(path)].append(number)
        labels, last = bare(path)[0], len(path.steps) - 1
        for at, step in enumerate(path.steps):
            use = (step.repeated, not slashed and at == last)
            uses.setdefault(labels[: at + 1], {}).setdefault(use, []).append(number)
    found: list[set[int]] = [set() for _ in paths]
    for same in by_names.values():
        for first, second in combinations(same, 2):
            found[second].add(first)
    for kinds in uses.values():
        for one, other in combinations(kinds.values(), 2):
            for first, second in product(one, other):
                found[max(first, second)].add(min(first, second))
    return [sorted(each) for each in found]


def disagreement(first: FieldPath, second: FieldPath, *, slashed: bool) -> str | None:
    """Return the name that two paths, which may go through one item, use in contradicting ways."""
    ends = len(first.steps) - 1, len(second.steps) - 1
    for at, (a, b) in enumerate(zip(first.steps, second.steps, strict=False)):
        if a.label != b.label or _apart(a, b):
            return None
        if a.repeated != b.repeated or (not slashed and (at == ends[0]) != (at == ends[1])):
            return a.label
    return None
