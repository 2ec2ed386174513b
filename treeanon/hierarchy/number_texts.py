"""Texts of many numbers, made only when somebody asks for them: until then the numbers stand for them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray


class NumberTexts(Sequence[str]):
    """The shortest texts of different numbers in ascending order, each steps * 10**-decimals; "" for those left out.

    >>> texts = NumberTexts(np.array([150, 200]), 2, lambda: ["1.5", "2"])
    >>> list(texts), list(texts.only(np.array([False, True])))
    (['1.5', '2'], ['', '2'])
    """

    def __init__(
        self,
        steps: NDArray[np.int64],
        decimals: int,
        make: Callable[[], list[str]],
        kept: NDArray[np.bool_] | None = None,
    ) -> None:
        self.steps, self.decimals, self.kept = steps, decimals, kept
        self._make = make
        self._made: list[str] | None = None

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
        return self._all()[at] if self.kept is None or self.kept[at] else ""

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

    def texts(self) -> list[str]:
        """The texts of those that are kept."""
        return [text for text in self if text]

    def _all(self) -> list[str]:
        if self._made is None:
            self._made = self._make()
        return self._made
