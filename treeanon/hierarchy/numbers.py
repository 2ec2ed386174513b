"""Exact numbers out of texts, and their shortest texts."""

from __future__ import annotations

import re
from fractions import Fraction

Number = int | Fraction

# the lengths are bounded so that a hostile text cannot ask for numbers of millions of digits
INTEGER = r"[+-]?[0-9]{1,400}"
DECIMAL = r"[+-]?(?:[0-9]{1,400}(?:\.[0-9]{0,400})?|\.[0-9]{1,400})(?:[eE][+-]?[0-9]{1,3})?"
_INTEGER, _DECIMAL = re.compile(INTEGER), re.compile(DECIMAL)


def parse_number(text: str, integer: bool) -> Number | None:
    """The exact number that the text is, or None; no blanks, no NaN, no infinity.

    >>> parse_number("007", integer=True), parse_number("0.1", integer=False)
    (7, Fraction(1, 10))
    >>> parse_number("NaN", integer=False)
    """
    if integer:
        return int(text) if _INTEGER.fullmatch(text) else None
    return Fraction(text) if _DECIMAL.fullmatch(text) else None


def exact(value: int | float | Fraction) -> Number:
    """The number as it was written: a float stands for its shortest decimal, not for its binary fraction.

    >>> exact(0.1), exact(5)
    (Fraction(1, 10), 5)
    """
    return Fraction(repr(value)) if isinstance(value, float) else value


def shortest(number: Number) -> str:
    """The shortest decimal text of a number that has one, without an exponent.

    >>> shortest(Fraction(-5, 2)), shortest(Fraction(20)), shortest(Fraction(1, 20))
    ('-2.5', '20', '0.05')
    """
    number = Fraction(number)
    decimals = decimals_of(number)
    return decimal_text(number.numerator * 10**decimals // number.denominator, decimals)


def decimals_of(number: Number) -> int:
    """How many digits after the point the shortest text of the number has.

    >>> decimals_of(Fraction(5, 2)), decimals_of(7)
    (1, 0)
    """
    decimals, denominator = 0, Fraction(number).denominator
    while 10**decimals % denominator:
        decimals += 1
    return decimals


def decimal_text(steps: int, decimals: int) -> str:
    """The shortest text of so many steps of 10**-decimals.

    >>> decimal_text(-250, 2), decimal_text(200, 1), decimal_text(5, 2)
    ('-2.5', '20', '0.05')
    """
    if not decimals:
        return str(steps)
    digits = str(abs(steps)).zfill(decimals + 1)
    text = f"{digits[:-decimals]}.{digits[-decimals:]}".rstrip("0").rstrip(".")
    return f"-{text}" if steps < 0 else text


EXACT = 2**63
"""Floats below it may be told from integers."""


def number_text(value: int | float) -> str:
    """An integer exactly; another number in its shortest form, without needless zeros.

    >>> [number_text(v) for v in (12345678901234567890123, 1.50, 2.0, 1e-7, 1e300, -0.0)]
    ['12345678901234567890123', '1.5', '2', '1e-7', '1e300', '0']
    """
    if isinstance(value, int):
        return str(value)
    if value == int(value) and abs(value) < EXACT:
        return str(int(value))
    mantissa, mark, exponent = repr(value).partition("e")
    return mantissa.removesuffix(".0") + mark + str(int(exponent)) if mark else mantissa


_SHORTEST = re.compile(r"-?(?:[1-9][0-9]{0,8}(?:\.[0-9]{0,5}[1-9])?|0\.[0-9]{0,3}[1-9])|0")
is_shortest = _SHORTEST.fullmatch
"""Tells of a text whether it is surely a number in its shortest form."""
