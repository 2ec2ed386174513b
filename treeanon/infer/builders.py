"""The type of the values of a class, and the hierarchy builder that fits them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from treeanon.hierarchy import Atc, Builder, Icd10
from treeanon.hierarchy.codes import VERSIONS
from treeanon.hierarchy.dates import read_periods
from treeanon.hierarchy.numbers import parse_number
from treeanon.infer.sampling import Values
from treeanon.infer.secrets import ENOUGH, words
from treeanon.schema.model import ValueType

_FEW = 8
_INTEGER = re.compile(r"[+-]?(?:0|[1-9][0-9]{0,17})")
_NUMBER = re.compile(r"[+-]?(?:0|[1-9][0-9]{0,14})(?:\.[0-9]{1,20})?(?:[eE][+-]?[0-9]{1,2})?")
_YEAR = re.compile(r"[0-9]{4}")
_CLOCK = re.compile(r"[T ][0-9]{2}|[0-9]{8}[0-9]{2}")
_SHOWN = 0.95
"""The share of the values that must be codes of a system for its builder to be proposed."""
_CODE = re.compile(r"[0-9A-Za-z-]{3,12}")
_CODE_WORDS = frozenset(
    {
        "zip",
        "zipcode",
        "postal",
        "postcode",
        "postalcode",
        "plz",
        "code",
        "icd",
        "fips",
        "npi",
        "ward",
        "district",
    }
)
_AGE_WORDS = frozenset({"age", "alter", "edad"})
_BIRTH_WORDS = frozenset(
    {"birth", "birthdate", "birthday", "birthtime", "dateofbirth", "dob", "born", "geburtsdatum", "geboren"}
)
GROUPED = (
    "many values: neighbors in the alphabet make groups, whose labels mean nothing; "
    "better is a hierarchy file or a terminology"
)
_SERIES = {1: (1, 5, 10, 50), 2: (2, 10, 20, 100), 5: (5, 10, 50, 100)}
"""Widths by the first digit of the smallest: each a multiple of the one before."""


@dataclass(frozen=True)
class Built:
    """A hierarchy builder as the schema writes it, and why it was chosen."""

    spec: dict[str, object]
    why: str


def type_of(values: Values, name: str) -> ValueType:
    """Return the type that all values have; codes made of digits are text.

    >>> values = Values()
    >>> for text in ("34", "7"): values.add(text, 1, quoted=True)
    >>> type_of(values, "age"), type_of(values, "zip")
    ('integer', 'text')
    """
    texts = [text.strip() for text in values.counts]
    if not texts or not all(texts) or _is_code(texts, values, name):
        return "text"
    if _are_dates(texts):
        return "date"
    if all(map(_INTEGER.fullmatch, texts)):
        return "integer"
    return "number" if all(map(_NUMBER.fullmatch, texts)) else "text"


def _is_code(texts: list[str], values: Values, name: str) -> bool:
    """Return whether digits are codes, not numbers: by name, by leading zeros, or as strings of one length."""
    if not all(text.isdigit() and text.isascii() for text in texts):
        return False
    if _CODE_WORDS & set(words(name)) or any(text[0] == "0" and len(text) > 1 for text in texts):
        return not _are_dates(texts)
    lengths = {len(text) for text in texts}
    long = len(lengths) == 1 and min(lengths) >= 5 and values.quoted == values.occurrences
    return long and len(texts) >= _FEW and not _are_dates(texts)


def _are_dates(texts: list[str]) -> bool:
    if all(map(_YEAR.fullmatch, texts)):
        return False
    if len(read_periods(texts)[0]) != len(texts):
        return False
    # eight digits may be any number: as dates they count only from 1800 to 2199
    return all(1800 <= int(text[:4]) < 2200 for text in texts if text[:5].isdigit())


def builder_for(values: Values, name: str, value_type: ValueType) -> Built:
    """Return the builder for values of a type."""
    if value_type == "date":
        if is_birth(name):
            return Built({"dates": ["year", "decade"]}, "a day of birth: its year, before anything finer")
        return _dates([text.strip() for text in values.counts])
    if value_type in ("integer", "number"):
        return _intervals(values, name, integer=value_type == "integer")
    if values.distinct <= _FEW:
        return Built({"flat": True}, "few values: each is published, or none")
    system = _code_system([text.strip() for text in values.counts])
    if system is not None:
        return system
    keep = _prefix(values.counts.keys(), name)
    if keep:
        return Built({"prefix": keep}, "codes: their first characters are the coarser code")
    return Built({"groups": 5}, GROUPED)


def _code_system(texts: list[str]) -> Built | None:
    """Return the builder of a code system that nearly all values belong to; codes of one letter alone say nothing."""
    if not all(len(text) > 2 and text.isascii() for text in texts):
        return None
    atc = sum(len(text) > 3 for text in _known(Atc(), texts))
    if atc >= _SHOWN * len(texts):
        return Built({"atc": True}, "codes of ATC: the groups of drugs that they lie in")
    known = {version: len(_known(Icd10(version), texts)) for version in VERSIONS}
    # what only the Clinical Modification has: letters in the category, and codes of more than five characters
    if known["cm"] >= _SHOWN * len(texts) and (
        known["cm"] > known["who"] or any(len(text.replace(".", "")) > 5 for text in texts)
    ):
        return Built({"icd10": "cm"}, "codes of ICD-10-CM: the categories, blocks and chapters that they lie in")
    if known["who"] >= _SHOWN * len(texts):
        return Built({"icd10": True}, "codes of ICD-10: the categories, blocks and chapters that they lie in")
    return None


def _known(builder: Builder, texts: list[str]) -> list[str]:
    return [text for text, code in zip(texts, builder.build(texts).encode(texts).tolist(), strict=True) if code >= 0]


def is_birth(name: str) -> bool:
    """Return whether a name is that of a day of birth.

    >>> is_birth("birthDate"), is_birth("DOB"), is_birth("admitted")
    (True, True, False)
    """
    return bool(_BIRTH_WORDS & set(words(name)))


def _dates(texts: list[str]) -> Built:
    years = [int(text[:4]) for text in texts]
    levels = ["month", "quarter", "year"]
    if any(_CLOCK.search(text) for text in texts):
        levels.insert(0, "day")
    if max(years) - min(years) >= 15:
        levels.append("decade")
    return Built({"dates": levels}, "dates: the periods that hold them")


def _intervals(values: Values, name: str, *, integer: bool) -> Built:
    if _AGE_WORDS & set(words(name)) and all(0 <= n <= 120 for n in _numbers(values, integer=integer)):
        # the bounds are those of human life, not of these records
        return Built({"intervals": [5, 10, 20, 40], "min": 0, "max": 120}, "ages: intervals of 5 to 40 years")
    numbers = _numbers(values, integer=integer)
    span = max(numbers) - min(numbers)
    if integer and values.distinct <= _FEW and values.occurrences >= ENOUGH and span <= 2 * _FEW:
        return Built({"flat": True}, "few values: each is published, or none")
    return Built({"intervals": nice_widths(span, integer=integer)}, "numbers: intervals that suit their range")


def _numbers(values: Values, *, integer: bool) -> list[int | Fraction]:
    found = (parse_number(text.strip(), integer) for text in values.counts)
    return [number for number in found if number is not None]


def nice_widths(span: int | Fraction, *, integer: bool) -> list[int | float]:
    """Return round interval widths for a range: the smallest about a twentieth of it, each a multiple of the last.

    >>> nice_widths(87, integer=True), nice_widths(Fraction(1, 2), integer=False), nice_widths(0, integer=True)
    ([5, 10, 50], [0.05, 0.1], [5])
    """
    power = 0
    while span and Fraction(span) / 20 > 10 ** (power + 1):
        power += 1
    while span and not integer and Fraction(span) / 20 <= Fraction(10) ** power:
        power -= 1
    first = next((lead for lead in _SERIES if Fraction(span) / 20 <= lead * Fraction(10) ** power), 1)
    if Fraction(span) / 20 > 5 * Fraction(10) ** power:
        power, first = power + 1, 1
    widths = [lead * Fraction(10) ** power for lead in _SERIES[first]]
    fitting = [width for width in widths if width * 3 <= span * 2 and (not integer or width > 1)]
    chosen = fitting or [width for width in widths if not integer or width > 1][:1]
    return [int(width) if width.denominator == 1 else float(width) for width in chosen]


def _prefix(texts: Iterable[str], name: str) -> list[int]:
    """Return how many characters each level keeps, if the texts are codes."""
    found = list(texts)
    lengths = {len(text) for text in found}
    with_digit = all(any(char.isdigit() for char in text) for text in found)
    named = bool(_CODE_WORDS & set(words(name)))
    if not all(map(_CODE.fullmatch, found)) or not with_digit or (len(lengths) > 1 and not named):
        return []
    length = min(lengths)
    return [3, 2, 1] if length in (4, 5) else [2, 1] if length == 3 else [length - 2, length // 2, 1]
