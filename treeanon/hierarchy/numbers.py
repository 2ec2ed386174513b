"""Exact numbers read from texts, one or many of one shape at a time, and their shortest texts, made on request."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray

from treeanon.arrays import unique_values

if TYPE_CHECKING:
    import pyarrow as pa


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


_DIGITS = 19
"""Largest number of digits of a 64-bit number."""

_SHORTEST_TEXT = r"(0|-?[1-9][0-9]*)(\.[0-9]*[1-9])?|-0\.[0-9]*[1-9]"
_ONE = re.compile(_SHORTEST_TEXT)


def steps_of_text(text: str, decimals: int) -> int | None:
    """Return the number as steps of 10**-decimals, if it is the shortest text of a multiple of such steps.

    >>> steps_of_text("-2.5", 2), steps_of_text("2.50", 2), steps_of_text("0.125", 2)
    (-250, None, None)
    """
    whole, _, part = text.partition(".")
    if len(whole) + decimals > _DIGITS + 1 or len(part) > decimals or _ONE.fullmatch(text) is None:
        return None
    steps = int((whole + part).ljust(len(whole) + decimals, "0"))
    return steps if -(2**63) <= steps < 2**63 else None


def steps_of_texts(texts: Sequence[str] | pa.Array, decimals: int) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the same for many texts: their steps, and which texts have any.

    >>> steps, found = steps_of_texts(["7", "x", "0.05", "7.0"], 2)
    >>> steps[found].tolist(), found.tolist()
    ([700, 5], [True, False, True, False])
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    given = pa.array(texts, pa.string())
    pattern = f"^({_SHORTEST_TEXT})$"
    found = pc.match_substring_regex(given, pattern)
    fine = pc.match_substring_regex(
        given, rf"^-?[0-9]{{1,{max(_DIGITS - decimals, 1)}}}(\.[0-9]{{1,{max(decimals, 1)}}})?$"
    )
    kept = pc.and_(found, fine)
    if not decimals:
        kept = pc.and_(kept, pc.invert(pc.match_substring(given, ".")))
    numbers = pc.cast(given.filter(kept), pa.decimal128(38, decimals))
    places, steps, is_number = np.flatnonzero(np.asarray(kept)), np.zeros(len(given), np.int64), np.asarray(kept).copy()
    if len(numbers):
        words = np.frombuffer(numbers.buffers()[1], np.int64).reshape(-1, 2)[numbers.offset :][: len(numbers)]
        steps[places] = words[:, 0]
        is_number[places] = words[:, 1] == words[:, 0] >> 63
    return steps, is_number


def _decimals(texts: pa.Array) -> int:
    """Return how many digits the texts have after a point at most."""
    import pyarrow.compute as pc

    point = pc.find_substring(texts, ".")
    after = pc.subtract(pc.subtract(pc.binary_length(texts), point), 1)
    return int(pc.max(after.filter(pc.greater_equal(point, 0))).as_py() or 0)


def texts_of_steps(steps: NDArray[np.int64], decimals: int) -> list[str]:
    """Return the shortest texts of so many steps of 10**-decimals.

    >>> texts_of_steps(np.array([-250, 200, 5, 0]), 2)
    ['-2.5', '2', '0.05', '0']
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if not decimals:
        found: list[str] = list(map(str, steps.tolist()))
        return found
    words = np.empty((len(steps), 2), np.int64)
    words[:, 0], words[:, 1] = steps, steps >> 63
    kind = pa.decimal128(38, decimals)
    texts = pa.Array.from_buffers(kind, len(steps), [None, pa.py_buffer(words)]).cast(pa.string())
    found = pc.utf8_rtrim(pc.utf8_rtrim(texts, "0"), ".").to_pylist()
    # Arrow writes the least of them with exponents.
    for at in np.flatnonzero(np.asarray(pc.match_substring(texts, "E"))).tolist():
        found[at] = decimal_text(int(steps[at]), decimals)
    return found


SAFE = 2**60
"""Below it numbers, and sums of a few of them, fit into 64 bits."""

_MOST_DECIMALS = 12


class NumberTexts(Sequence[str]):
    """The shortest texts of different numbers in ascending order, each steps * 10**-decimals; "" for those left out.

    `make` may be a faster function that makes them all.

    >>> texts = NumberTexts(np.array([150, 200]), 2)
    >>> list(texts), list(texts.only(np.array([False, True])))
    (['1.5', '2'], ['', '2'])
    """

    def __init__(
        self,
        steps: NDArray[np.int64],
        decimals: int,
        make: Callable[[], list[str]] | None = None,
        kept: NDArray[np.bool_] | None = None,
    ) -> None:
        self.steps, self.decimals, self.kept = steps, decimals, kept
        self._make = make
        self._made: list[str] | None = None

    @classmethod
    def read(cls, texts: Sequence[str] | pa.ChunkedArray) -> NumberTexts | None:
        """Return the different texts as numbers in ascending order; None unless each is the shortest of a number.

        Texts of an Arrow column become no Python objects.

        >>> texts = NumberTexts.read(["7", "-0.5"])
        >>> texts.steps.tolist(), texts.decimals, NumberTexts.read(["7", "07"])
        ([-5, 70], 1, None)
        """
        import pyarrow as pa

        parts = texts.chunks if isinstance(texts, pa.ChunkedArray) else [pa.array(texts, pa.string())]
        decimals = max(map(_decimals, parts), default=0)
        if decimals > _MOST_DECIMALS:
            return None
        read = [steps_of_texts(part, decimals) for part in parts]
        if not all(found.all() for _, found in read):
            return None
        return cls(unique_values(np.concatenate([np.empty(0, np.int64), *(steps for steps, _ in read)])), decimals)

    @classmethod
    def together(cls, parts: Sequence[Sequence[str]]) -> NumberTexts | None:
        """Return the different texts of all parts, of which "" is none; None unless each is the shortest of a number.

        >>> texts = NumberTexts.together([["7", ""], NumberTexts(np.array([70, 105]), 1)])
        >>> list(texts or []), NumberTexts.together([["7"], ["x"]])
        (['7', '10.5'], None)
        """
        if len(parts) == 1 and isinstance(parts[0], NumberTexts):
            return parts[0]
        read = [part if isinstance(part, cls) else cls.read([text for text in part if text]) for part in parts]
        decimals = max((part.decimals for part in read if part is not None), default=0)
        steps = [None if part is None else part.in_steps(decimals) for part in read]
        kept = [
            None if part is None or own is None else own if part.kept is None else own[part.kept]
            for part, own in zip(read, steps, strict=True)
        ]
        numbers = [own for own in kept if own is not None]
        found = unique_values(np.concatenate([np.empty(0, np.int64), *numbers]))
        return cls(found, decimals) if len(numbers) == len(parts) else None

    def __reduce__(self) -> Any:
        return NumberTexts, (self.steps, self.decimals, None, self.kept)

    def __len__(self) -> int:
        return len(self.steps)

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> list[str]: ...
    def __getitem__(self, at: Any) -> Any:
        """Return a text, or the texts of a slice."""
        if isinstance(at, slice):
            return list(self)[at]
        if self.kept is not None and not self.kept[at]:
            return ""
        return decimal_text(int(self.steps[at]), self.decimals) if self._made is None else self._made[at]

    def __iter__(self) -> Iterator[str]:
        if self.kept is None:
            return iter(self._all())
        return (text if kept else "" for text, kept in zip(self._all(), self.kept.tolist(), strict=True))

    def only(self, kept: NDArray[np.bool_]) -> NumberTexts:
        """Return the same texts, with "" in place of those not kept."""
        return NumberTexts(self.steps, self.decimals, self._all, kept)

    def numbers(self) -> NDArray[np.int64]:
        """Return the numbers of those that are kept, in steps."""
        return self.steps if self.kept is None else self.steps[self.kept]

    def in_steps(self, decimals: int) -> NDArray[np.int64] | None:
        """Return the numbers as whole steps of 10**-decimals; None if that takes a fraction, or more than 64 bits.

        >>> texts = NumberTexts(np.array([150, 200]), 2, lambda: ["1.5", "2"])
        >>> texts.in_steps(1).tolist(), texts.in_steps(0)
        ([15, 20], None)
        """
        factor = 10 ** abs(decimals - self.decimals)
        if decimals < self.decimals:
            return None if bool((self.steps % factor).any()) else self.steps // factor
        largest = max(int(self.steps.max(initial=0)), -int(self.steps.min(initial=0)))
        if largest * factor >= SAFE:
            return None
        return self.steps if factor == 1 else self.steps * factor

    def texts(self) -> list[str]:
        """Return the texts of those that are kept."""
        return [text for text in self if text]

    def _all(self) -> list[str]:
        if self._made is None:
            self._made = texts_of_steps(self.steps, self.decimals) if self._make is None else self._make()
        return self._made
