"""Shortest texts of many numbers at a time, made only on request: until then the numbers represent them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray

from treeanon.arrays import unique_values
from treeanon.hierarchy.numbers import decimal_text

if TYPE_CHECKING:
    import pyarrow as pa

_DIGITS = 19
"""Largest number of digits of a 64-bit number."""

_SHORTEST = r"(0|-?[1-9][0-9]*)(\.[0-9]*[1-9])?|-0\.[0-9]*[1-9]"
_ONE = re.compile(_SHORTEST)


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
    pattern = f"^({_SHORTEST})$"
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
        return cls(unique_values(np.concatenate(numbers)), decimals) if len(numbers) == len(parts) else None

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
