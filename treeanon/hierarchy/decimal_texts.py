"""Texts of decimals in their shortest form, and back, many at a time: -12.5, 0.05, 7, without zeros to spare."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from treeanon.hierarchy.numbers import decimal_text

_DIGITS = 19
"""No number of 64 bits has more."""

_SHORTEST = r"(0|-?[1-9][0-9]*)(\.[0-9]*[1-9])?|-0\.[0-9]*[1-9]"
_ONE = re.compile(_SHORTEST)


def steps_of_text(text: str, decimals: int) -> int | None:
    """The number as steps of 10**-decimals, if the text is the shortest of one that such steps can make up.

    >>> steps_of_text("-2.5", 2), steps_of_text("2.50", 2), steps_of_text("0.125", 2)
    (-250, None, None)
    """
    whole, _, part = text.partition(".")
    if len(whole) + decimals > _DIGITS + 1 or len(part) > decimals or _ONE.fullmatch(text) is None:
        return None
    steps = int((whole + part).ljust(len(whole) + decimals, "0"))
    return steps if -(2**63) <= steps < 2**63 else None


def steps_of_texts(texts: Sequence[str], decimals: int) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """The same for many texts: their steps, and which texts have any.

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


def texts_of_steps(steps: NDArray[np.int64], decimals: int) -> list[str]:
    """The shortest texts of so many steps of 10**-decimals.

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
