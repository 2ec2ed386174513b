"""Scans over JSON text: what orjson does not tell (repeated keys), and where the items of an array lie."""

from __future__ import annotations

import numpy as np

from treeanon.arrays import Bytes, Longs
from treeanon.kernels.jit import njit

MAX_DEPTH = 1024
"""Deeper nesting is left to the parser, which refuses it."""

_MAX_KEYS = 256

_QUOTE, _BACKSLASH, _COLON = 34, 92, 58
_OPEN_OBJECT, _CLOSE_OBJECT, _OPEN_ARRAY, _CLOSE_ARRAY, _COMMA = 123, 125, 91, 93, 44


@njit
def repeats_a_key(text: Bytes, start: int, stop: int) -> bool:
    """Whether an object in text[start:stop] may hold one key twice; never wrongly False for valid JSON.

    Keys are compared by a 64-bit hash of their bytes. A key with an escape, an object of more than 256 keys or very
    deep nesting counts as a repetition too: the caller looks again, exactly.
    """
    hashes = np.empty(_MAX_KEYS, np.uint64)
    base = np.zeros(MAX_DEPTH + 1, np.int32)
    is_object = np.zeros(MAX_DEPTH + 1, np.bool_)
    depth = 0
    used = 0
    i = start
    wants_key = False
    while i < stop:
        char = text[i]
        if char == _QUOTE:
            i += 1
            if wants_key:
                code = np.uint64(0xCBF29CE484222325)
                while i < stop and text[i] != _QUOTE:
                    if text[i] == _BACKSLASH:
                        return True
                    code = (code ^ np.uint64(text[i])) * np.uint64(0x100000001B3)
                    i += 1
                for j in range(base[depth], used):
                    if hashes[j] == code:
                        return True
                if used == _MAX_KEYS:
                    return True
                hashes[used] = code
                used += 1
                wants_key = False
            else:
                while i < stop and text[i] != _QUOTE:
                    i += 2 if text[i] == _BACKSLASH else 1
        elif char == _OPEN_OBJECT or char == _OPEN_ARRAY:
            depth += 1
            if depth > MAX_DEPTH:
                return True
            base[depth] = used
            is_object[depth] = char == _OPEN_OBJECT
            wants_key = is_object[depth]
        elif char == _CLOSE_OBJECT or char == _CLOSE_ARRAY:
            if depth == 0:
                return False
            used = base[depth]
            depth -= 1
            wants_key = False
        elif char == _COMMA:
            wants_key = is_object[depth]
        i += 1
    return False


@njit
def lines_with_repeats(text: Bytes, starts: Longs, stops: Longs) -> Longs:
    """The numbers of the spans in which a key may be repeated."""
    found = np.empty(len(starts), np.int64)
    count = 0
    for i in range(len(starts)):
        if repeats_a_key(text, starts[i], stops[i]):
            found[count] = i
            count += 1
    return found[:count].copy()


@njit
def value_end(text: Bytes, start: int) -> int:
    """The end of the JSON value that begins at start (-1 if the text ends before it does)."""
    i = start
    depth = 0
    while i < len(text):
        char = text[i]
        if char == _QUOTE:
            i += 1
            while i < len(text) and text[i] != _QUOTE:
                i += 2 if text[i] == _BACKSLASH else 1
            if i >= len(text):
                return -1
            i += 1
            if depth == 0:
                return i
            continue
        if char == _OPEN_OBJECT or char == _OPEN_ARRAY:
            depth += 1
        elif char == _CLOSE_OBJECT or char == _CLOSE_ARRAY:
            if depth == 0:
                return i
            depth -= 1
            if depth == 0:
                return i + 1
        elif depth == 0 and (char == _COMMA or char <= 32):
            return i
        i += 1
    return -1 if depth else i


@njit
def skip_blanks(text: Bytes, start: int) -> int:
    """The first position from start on that is no JSON white space."""
    i = start
    while i < len(text) and (text[i] == 32 or text[i] == 10 or text[i] == 13 or text[i] == 9):
        i += 1
    return i


@njit
def array_items(text: Bytes, start: int, spans: Longs) -> tuple[int, int, bool]:
    """Fills `spans` with (start, stop) of items of an array, from `start` inside it on.

    Returns how many there are, where to go on, and whether the array is closed there. A count of -1 tells that the
    text is no JSON at the position returned.
    """
    i = skip_blanks(text, start)
    count = 0
    while count < len(spans):
        if i >= len(text):
            return -1, i, False
        if text[i] == _CLOSE_ARRAY:
            return count, i + 1, True
        end = value_end(text, i)
        if end <= i:
            return -1, i, False
        spans[count, 0] = i
        spans[count, 1] = end
        count += 1
        i = skip_blanks(text, end)
        if i >= len(text):
            return -1, i, False
        if text[i] == _COMMA:
            i = skip_blanks(text, i + 1)
            if i < len(text) and text[i] == _CLOSE_ARRAY:
                return -1, i, False
        elif text[i] != _CLOSE_ARRAY:
            return -1, i, False
    return count, i, False
