"""Columns of published values: numbers where the declared types and all values allow it, else texts."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Literal

from treeanon.arrays import Ints
from treeanon.errors import DataError
from treeanon.hierarchy.numbers import number_text
from treeanon.io.columns.texts import indices, strings

if TYPE_CHECKING:
    import pyarrow as pa

Kind = Literal["integer", "number", "text"]
_INTEGER = re.compile(r"-?[1-9][0-9]{0,18}|0")


def value_column(codes: Ints, texts: Sequence[str], wanted: set[str]) -> tuple[pa.Array, Kind]:
    """Return a column of values: numbers where its classes are declared as numbers and all values are numbers, else
    texts.
    """
    kind = next(kinds_of(texts, wanted))
    return values_of(texts, kind).take(indices(codes)), kind


def kinds_of(texts: Sequence[str], wanted: set[str]) -> Iterator[Kind]:
    """Return the kinds of column that can hold all texts and that the declared types allow, the most specific first."""
    if wanted <= {"integer", "number"}:
        if all(map(_is_integer, texts)):
            yield "integer"
        if all(map(_is_float, texts)):
            yield "number"
    yield "text"


def values_of(texts: Sequence[str], kind: Kind) -> pa.Array:
    """Return texts as values of a kind that can hold them."""
    import pyarrow as pa

    if kind == "integer":
        return pa.array([int(text) for text in texts], pa.int64())
    if kind == "number":
        return pa.array([float(text) for text in texts], pa.float64())
    return text_array(texts)


def _is_integer(text: str) -> bool:
    return bool(_INTEGER.fullmatch(text)) and abs(int(text)) < 2**63


def _is_float(text: str) -> bool:
    """Return whether reading the number and writing it again gives just this text."""
    try:
        value = float(text)
    except ValueError:
        return False
    return math.isfinite(value) and number_text(value) == text


def text_array(texts: Sequence[str]) -> pa.Array:
    """Return texts as an array; DataError if one cannot be stored."""
    try:
        return strings(texts)
    except UnicodeEncodeError:
        raise DataError("a value holds a lone surrogate, which tables cannot hold") from None
