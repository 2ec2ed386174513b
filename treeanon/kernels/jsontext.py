"""Scans over JSON text: what orjson does not tell (repeated keys), and where the items of an array lie."""

from __future__ import annotations

from typing import Any

import numpy as np

from treeanon.arrays import Bytes, Flags, Longs
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


_DEEP = 128
"""Nesting that is checked here; what is deeper is left to the parser."""

_MOST_DIGITS = 15
"""Significant digits of numbers that floats hold exactly enough to have the same shortest text."""


@njit
def character_end(text: Bytes, start: int, stop: int) -> int:
    """The end of the character of several bytes at `start`, in UTF-8; -1 if it is none, or half of one."""
    char = text[start]
    more = 1 if 0xC2 <= char <= 0xDF else 2 if 0xE0 <= char <= 0xEF else 3 if 0xF0 <= char <= 0xF4 else 0
    if more == 0 or start + more >= stop:
        return -1
    second = text[start + 1]
    if (
        (char == 0xE0 and second < 0xA0)
        or (char == 0xED and second > 0x9F)
        or (char == 0xF0 and second < 0x90)
        or (char == 0xF4 and second > 0x8F)
    ):
        return -1
    for i in range(start + 1, start + 1 + more):
        if text[i] & 0xC0 != 0x80:
            return -1
    return start + 1 + more


@njit
def _string_end(text: Bytes, start: int, stop: int) -> int:
    """The end of the string whose first quote is at `start`; -1 unless it is one beyond doubt."""
    i = start + 1
    while i < stop:
        char = text[i]
        if char == _QUOTE:
            return i + 1
        if char < 32:
            return -1
        if char == _BACKSLASH:
            if i + 1 >= stop:
                return -1
            kind = text[i + 1]
            if kind == 117:
                if i + 5 >= stop:
                    return -1
                for j in range(i + 2, i + 6):
                    digit = text[j] | 32
                    if not (48 <= text[j] <= 57 or 97 <= digit <= 102):
                        return -1
                # Halves of characters are for the parser.
                if text[i + 2] | 32 == 100 and text[i + 3] >= 56:
                    return -1
                i += 6
            elif kind in (34, 47, 92, 98, 102, 110, 114, 116):
                i += 2
            else:
                return -1
        elif char < 128:
            i += 1
        else:
            i = character_end(text, i, stop)
            if i < 0:
                return -1
    return -1


@njit
def _plain_end(text: Bytes, start: int, stop: int) -> int:
    """The end of a number or literal; -1 unless it is one beyond doubt: of a number without exponent, and short."""
    char = text[start]
    i = start
    if char == 116 or char == 110:
        if i + 4 > stop:
            return -1
        if char == 116:
            return i + 4 if text[i + 1] == 114 and text[i + 2] == 117 and text[i + 3] == 101 else -1
        return i + 4 if text[i + 1] == 117 and text[i + 2] == 108 and text[i + 3] == 108 else -1
    if char == 102:
        if i + 5 > stop or text[i + 1] != 97 or text[i + 2] != 108 or text[i + 3] != 115 or text[i + 4] != 101:
            return -1
        return i + 5
    if char == 45:
        i += 1
    first = i
    while i < stop and 48 <= text[i] <= 57:
        i += 1
    if i == first or i - first > 18 or (text[first] == 48 and i > first + 1):
        return -1
    if i < stop and text[i] == 46:
        point = i
        i += 1
        while i < stop and 48 <= text[i] <= 57:
            i += 1
        if i == point + 1 or i - point > 18:
            return -1
    # An exponent, or whatever else goes on here.
    if i < stop and (text[i] | 32 == 101 or text[i] == 43 or text[i] == 45 or text[i] == 46):
        return -1
    return i


@njit
def _is_surely_json(text: Bytes, start: int, stop: int, is_object: Flags) -> bool:
    """Whether a span is one JSON value beyond doubt. (One function: its state would have to go in and out of parts.)"""
    i = start
    depth = 0
    # What comes next: a value, a value or the end of the array, a key or the end of the object, a key, what follows a
    # value.
    value, first_value, first_key, key, after = 0, 1, 2, 3, 4
    state = value
    while True:
        while i < stop and (text[i] == 32 or text[i] == 10 or text[i] == 13 or text[i] == 9):
            i += 1
        if i >= stop:
            return state == after and depth == 0
        char = text[i]
        if state == after:
            if depth == 0:
                return False
            if char == _COMMA:
                state = key if is_object[depth] else value
            elif char == (_CLOSE_OBJECT if is_object[depth] else _CLOSE_ARRAY):
                depth -= 1
            else:
                return False
            i += 1
        elif state == first_key or state == key:
            if char == _CLOSE_OBJECT and state == first_key:
                depth -= 1
                state = after
                i += 1
                continue
            if char != _QUOTE:
                return False
            i = _string_end(text, i, stop)
            if i < 0:
                return False
            while i < stop and (text[i] == 32 or text[i] == 10 or text[i] == 13 or text[i] == 9):
                i += 1
            if i >= stop or text[i] != _COLON:
                return False
            i += 1
            state = value
        elif char == _CLOSE_ARRAY and state == first_value:
            depth -= 1
            state = after
            i += 1
        elif char == _OPEN_OBJECT or char == _OPEN_ARRAY:
            depth += 1
            if depth > _DEEP:
                return False
            is_object[depth] = char == _OPEN_OBJECT
            state = first_key if char == _OPEN_OBJECT else first_value
            i += 1
        else:
            i = _string_end(text, i, stop) if char == _QUOTE else _plain_end(text, i, stop)
            if i < 0:
                return False
            state = after


@njit
def surely_json(text: Bytes, starts: Longs, stops: Longs) -> Flags:
    """Which spans are JSON beyond doubt, as any parser has it; of the others only a parser can tell."""
    found = np.zeros(len(starts), np.bool_)
    is_object = np.zeros(_DEEP + 1, np.bool_)
    for i in range(len(starts)):
        found[i] = _is_surely_json(text, starts[i], stops[i], is_object)
    return found


@njit
def short_numbers(text: Bytes, starts: Longs, stops: Longs, as_texts: bool) -> tuple[Longs, Longs]:
    """The digits of numbers and their decimals, trailing zeros left out; decimals of -1 for what is no short one.

    A number is digits * 10**-decimals. Of short numbers a float has the same shortest text, without an exponent. With
    `as_texts` only what is this shortest text is one, and any text may be given; without it they are numbers of JSON.
    """
    digits, decimals = np.zeros(len(starts), np.int64), np.full(len(starts), -1, np.int64)
    for n in range(len(starts)):
        i, stop = starts[n], stops[n]
        is_negative = text[i] == 45
        if is_negative:
            i += 1
        first = i
        number: Any = np.int64(0)
        used, point = 0, np.int64(-1)
        while i < stop:
            if text[i] == 46 and point < 0:
                point = i
            elif 48 <= text[i] <= 57:
                number = number * 10 + np.int64(text[i] - 48)
                used += number > 0
            else:
                break
            if used > _MOST_DIGITS:
                break
            i += 1
        if i < stop or i == first or point == first or point == stop - 1:
            continue
        places: Any = i - point - 1 if point >= 0 else 0
        if as_texts:
            has_zeros = text[first] == 48 and stop > first + 1 and text[first + 1] != 46
            if has_zeros or (places > 0 and text[stop - 1] == 48) or (is_negative and number == 0):
                continue
        while places > 0 and number % 10 == 0:
            number //= 10
            places -= 1
        # Smaller numbers than .0001 are written with exponents.
        if places > 4 and number < 10 ** (places - 4):
            continue
        digits[n], decimals[n] = -number if is_negative else number, places
    return digits, decimals
