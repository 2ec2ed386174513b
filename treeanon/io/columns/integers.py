"""Texts that are declared to be integers, as integers: exactly, whatever their size."""

from __future__ import annotations

import re

import pyarrow as pa
import pyarrow.compute as pc

_INTEGER = re.compile(r"[ \t]*([+-]?)0*([0-9]+)[ \t]*")


class NoInteger(Exception):
    """A text that is no integer: its row (from 0)."""

    def __init__(self, row: int) -> None:
        super().__init__(row)
        self.row = row


def as_integers(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column of texts as 64-bit integers, or as texts of all their digits if one is larger; else NoInteger.

    >>> as_integers(pa.chunked_array([["7", "+08", None]])).to_pylist()
    [7, 8, None]
    >>> as_integers(pa.chunked_array([["7", "-098765432109876543210"]])).to_pylist()
    ['7', '-98765432109876543210']
    """
    if pa.types.is_string(column.type):
        column = column.dictionary_encode()
    chunks = column.unify_dictionaries().chunks
    if not chunks:
        return pa.chunked_array([], pa.int64())
    found = [_INTEGER.fullmatch(text) for text in chunks[0].dictionary.to_pylist()]
    if None in found:
        raise NoInteger(_first(chunks, pa.array([match is None for match in found])))
    texts = pa.array([_plain(match.group(1), match.group(2)) for match in found if match], pa.string())
    try:
        values = texts.cast(pa.int64())
    except pa.ArrowInvalid:
        values = texts
    return pa.chunked_array([pc.take(values, chunk.indices) for chunk in chunks], values.type)


def _plain(sign: str, digits: str) -> str:
    return f"-{digits}" if sign == "-" and digits != "0" else digits


def _first(chunks: list[pa.DictionaryArray], bad: pa.BooleanArray) -> int:
    """The first row whose text is one of the bad ones."""
    start = 0
    for chunk in chunks:
        row: int = pc.fill_null(bad.take(chunk.indices), False).index(True).as_py()
        if row >= 0:
            return start + row
        start += len(chunk)
    return 0
