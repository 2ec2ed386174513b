"""Texts of many numbers, made only when somebody asks for them: until then the numbers stand for them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from treeanon.hierarchy.decimal_texts import steps_of_texts, texts_of_steps
from treeanon.hierarchy.numbers import decimal_text

SAFE = 2**60
"""Below it numbers, and sums of a few of them, fit into 64 bits."""

_MOST_DECIMALS = 12


class NumberTexts(Sequence[str]):
    """The shortest texts of different numbers in ascending order, each steps * 10**-decimals; "" for those left out.

    Whoever has a quicker way to make them all may give it as `make`.

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
    def read(cls, texts: Sequence[str]) -> NumberTexts | None:
        """The different texts as numbers in ascending order; None unless each is the shortest of a number.

        >>> texts = NumberTexts.read(["7", "-0.5"])
        >>> texts.steps.tolist(), texts.decimals, NumberTexts.read(["7", "07"])
        ([-5, 70], 1, None)
        """
        decimals = max((len(text) - text.find(".") - 1 for text in texts if "." in text), default=0)
        if decimals > _MOST_DECIMALS:
            return None
        steps, found = steps_of_texts(texts, decimals)
        return cls(np.unique(steps), decimals) if found.all() else None

    def __reduce__(self) -> Any:
        return NumberTexts, (self.steps, self.decimals, None, self.kept)

    def __len__(self) -> int:
        return len(self.steps)

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> list[str]: ...
    def __getitem__(self, at: Any) -> Any:
        """A text, or the texts of a slice."""
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
        """The same texts, with "" in place of those not kept."""
        return NumberTexts(self.steps, self.decimals, self._all, kept)

    def numbers(self) -> NDArray[np.int64]:
        """The numbers of those that are kept, in steps."""
        return self.steps if self.kept is None else self.steps[self.kept]

    def in_steps(self, decimals: int) -> NDArray[np.int64] | None:
        """The numbers as whole steps of 10**-decimals; None if that takes a fraction, or more than 64 bits.

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
        """The texts of those that are kept."""
        return [text for text in self if text]

    def _all(self) -> list[str]:
        if self._made is None:
            self._made = texts_of_steps(self.steps, self.decimals) if self._make is None else self._make()
        return self._made
