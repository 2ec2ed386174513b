"""Exact numbers read from texts, one or many of one shape at a time, and their shortest texts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

Number = int | Fraction

# the lengths are bounded so that a hostile text cannot cause numbers of millions of digits
INTEGER = r"[+-]?[0-9]{1,400}"
DECIMAL = r"[+-]?(?:[0-9]{1,400}(?:\.[0-9]{0,400})?|\.[0-9]{1,400})(?:[eE][+-]?[0-9]{1,3})?"
_INTEGER, _DECIMAL = re.compile(INTEGER), re.compile(DECIMAL)


def parse_number(text: str, integer: bool) -> Number | None:
    """Return the exact number that the text is, or None; no blanks, no NaN, no infinity.

    >>> parse_number("007", integer=True), parse_number("0.1", integer=False)
    (7, Fraction(1, 10))
    >>> parse_number("NaN", integer=False)
    """
    if integer:
        return int(text) if _INTEGER.fullmatch(text) else None
    return Fraction(text) if _DECIMAL.fullmatch(text) else None


def exact(value: int | float | Fraction) -> Number:
    """Return the number as it was written: a float stands for its shortest decimal, not for its binary fraction.

    >>> exact(0.1), exact(5)
    (Fraction(1, 10), 5)
    """
    return Fraction(repr(value)) if isinstance(value, float) else value


def shortest(number: Number) -> str:
    """Return the shortest decimal text of a number that has one, without an exponent.

    >>> shortest(Fraction(-5, 2)), shortest(Fraction(20)), shortest(Fraction(1, 20))
    ('-2.5', '20', '0.05')
    """
    number = Fraction(number)
    decimals = decimals_of(number)
    return decimal_text(number.numerator * 10**decimals // number.denominator, decimals)


def decimals_of(number: Number) -> int:
    """Return how many digits after the point the shortest text of the number has.

    >>> decimals_of(Fraction(5, 2)), decimals_of(7)
    (1, 0)
    """
    decimals, denominator = 0, Fraction(number).denominator
    while 10**decimals % denominator:
        decimals += 1
    return decimals


def decimal_text(steps: int, decimals: int) -> str:
    """Return the shortest text of so many steps of 10**-decimals.

    >>> decimal_text(-250, 2), decimal_text(200, 1), decimal_text(5, 2)
    ('-2.5', '20', '0.05')
    """
    if not decimals:
        return str(steps)
    digits = str(abs(steps)).zfill(decimals + 1)
    text = f"{digits[:-decimals]}.{digits[-decimals:]}".rstrip("0").rstrip(".")
    return f"-{text}" if steps < 0 else text


EXACT = 2**63
"""Below it floats and integers can be distinguished."""


def number_text(value: int | float) -> str:
    """Return an integer exactly; another number in its shortest form, without needless zeros.

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
"""Pattern of texts that are surely numbers in their shortest form."""


RARE = 16
MOST_DIGITS = 18
"""Number of digits that always fit into 64 bits."""
_TO_ZERO = bytes.maketrans(b"123456789", b"0" * 9)


def by_shape(texts: Sequence[str]) -> Iterator[tuple[str, NDArray[np.intp]]]:
    """Return each shape, every digit being 0 in it, with the places of its texts.

    >>> [(shape, places.tolist()) for shape, places in by_shape(["7.5", "x", "1.2"])]
    [('0.0', [0, 2]), ('x', [1])]
    """
    found = _shapes(texts)
    number = {shape: at for at, shape in enumerate(dict.fromkeys(found))}
    which = np.fromiter(map(number.__getitem__, found), dtype=np.int32, count=len(found))
    order = np.argsort(which, kind="stable")
    stops = np.cumsum(np.bincount(which, minlength=len(number)))
    start = 0
    for shape, stop in zip(number, stops.tolist(), strict=True):
        yield shape.decode("utf-8", "surrogatepass"), order[start:stop]
        start = stop


def _shapes(texts: Sequence[str]) -> list[bytes]:
    """Return the shapes, of all texts at once unless one contains a line end."""
    if not texts:
        return []
    together = _shape("\n".join(texts)).split(b"\n")
    return together if len(together) == len(texts) else [_shape(text) for text in texts]


def _shape(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass").translate(_TO_ZERO)


def digits(texts: Sequence[str], shape: str, columns: Sequence[int]) -> NDArray[np.int64]:
    """Return the whole numbers that the digits in these columns make, of texts that have the shape.

    >>> digits(["7.5", "1.2"], "0.0", [0, 2]).tolist()
    [75, 12]
    """
    table = np.array(texts, dtype=f"U{len(shape)}").view(np.uint32).reshape(len(texts), len(shape))
    numbers = np.zeros(len(texts), dtype=np.int64)
    for column in columns:
        numbers *= 10
        numbers += table[:, column]
        numbers -= ord("0")
    return numbers


_PLAIN = re.compile(r"[+-]?(0*)(\.(0*))?")


@dataclass(frozen=True)
class PlainNumbers:
    """The numbers at some places of a list of texts, each digits * 10**-decimals; and the places of the rest.

    >>> plain = PlainNumbers.read(["1.5"] * 20 + ["1e3"], integer=False)
    >>> int(plain.digits[0]), int(plain.decimals[0]), plain.others
    (15, 1, [20])
    """

    places: NDArray[np.intp]
    digits: NDArray[np.int64]
    decimals: NDArray[np.int64]
    others: list[int]

    @classmethod
    def read(cls, texts: Sequence[str], integer: bool) -> PlainNumbers:
        """Return the texts, of which the odd ones, the long ones and those of a rare shape are the rest.

        >>> PlainNumbers.read(["7", "x"], integer=True).others
        [0, 1]
        """
        no_places = np.zeros(0, dtype=np.intp)
        places, numbers, decimals, others = [no_places], [no_places], [no_places], [no_places]
        for shape, found in by_shape(texts):
            match = _PLAIN.fullmatch(shape)
            if match is None or len(found) < RARE or not _is_readable(match, integer):
                others.append(found)
                continue
            places.append(found)
            numbers.append(_signed([texts[at] for at in found.tolist()], shape))
            decimals.append(np.full(len(found), len(match[3] or ""), dtype=np.int64))
        rest = np.sort(np.concatenate(others)).tolist()
        return cls(np.concatenate(places), np.concatenate(numbers), np.concatenate(decimals), rest)

    def only(self, chosen: NDArray[np.bool_]) -> PlainNumbers:
        """Return those chosen; the rest stays.

        >>> PlainNumbers.read(["7"] * 16, integer=True).only(np.arange(16) < 2).places.tolist()
        [0, 1]
        """
        return PlainNumbers(self.places[chosen], self.digits[chosen], self.decimals[chosen], self.others)


def _is_readable(match: re.Match[str], integer: bool) -> bool:
    count = len(match[1]) + len(match[3] or "")
    return 0 < count <= MOST_DIGITS and not (integer and match[2])


def _signed(texts: Sequence[str], shape: str) -> NDArray[np.int64]:
    columns = [at for at, character in enumerate(shape) if character == "0"]
    numbers = digits(texts, shape, columns)
    return -numbers if shape[0] == "-" else numbers
