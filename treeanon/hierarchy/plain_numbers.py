"""Plain decimals such as -12.50, read many at a time as whole numbers of decimal steps."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from treeanon.hierarchy.shapes import MOST_DIGITS, RARE, by_shape, digits

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
        """The texts, of which the odd ones, the long ones and those of a rare shape are the rest.

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
        """Those chosen; the rest stays.

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
