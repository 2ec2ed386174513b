"""Reads XML records of the usual form straight into rows and cells, by tables compiled from a schema.

What is read here is well-formed beyond doubt: elements and attributes without prefixes, text with the five entities of
XML itself. At the first record that is of another form (comments, CDATA, namespaces, a text where none is expected, a
field twice, …) or wrong it stops: the reader of XML goes on from there.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from treeanon.arrays import Bytes, Ints
from treeanon.kernels.jit import njit
from treeanon.kernels.jsonread import Rows, entry_of, equal
from treeanon.kernels.jsontext import character_end

SKIP, SCALAR, OBJECT, ITEM = 0, 1, 2, 3
"""What an element is: nothing that is published, a value of a class, an object (state), an item of a container."""

MAX_KEYS = 62
"""Elements of one state that may be named."""

_MAX_DEPTH = 200
_MAX_ATTRIBUTES = 64
_MAX_TEXT = 1 << 20
_OPEN, _CLOSE, _SLASH, _AMPERSAND, _EQUALS, _QUOTE, _APOSTROPHE = 60, 62, 47, 38, 61, 34, 39


class XmlTables(NamedTuple):
    """A layout as arrays. A *state* is an element that the schema knows; state 0 is what lies around the records.

    Elements of state s: child_first[s]:child_first[s + 1], attributes likewise. A name is names[start:stop]. `target`
    is a class or a state, `container` that of an item; `text_class` is the class of the text of a state (-1: none).
    """

    names: Bytes
    child_first: Ints
    child_start: Ints
    child_stop: Ints
    child_kind: Ints
    child_target: Ints
    child_container: Ints
    attribute_first: Ints
    attribute_start: Ints
    attribute_stop: Ints
    attribute_class: Ints
    text_class: Ints
    classes: int


@njit
def _name_end(text: Bytes, start: int, stop: int) -> int:
    """The end of the name at `start`, of letters, digits and `_-.`; `start` itself if there is none."""
    i = start
    while i < stop:
        char = text[i]
        is_letter = 97 <= char | 32 <= 122 or char == 95
        if not is_letter and (i == start or not (48 <= char <= 57 or char == 45 or char == 46)):
            break
        i += 1
    return i


@njit
def _blanks_end(text: Bytes, start: int, stop: int) -> int:
    i = start
    while i < stop and (text[i] == 32 or text[i] == 10 or text[i] == 13 or text[i] == 9):
        i += 1
    return i


@njit
def _entity_end(text: Bytes, start: int, stop: int) -> int:
    """The end of one of XML's own entities; -1 if it is none."""
    i = start + 1
    if i + 3 > stop:
        return -1
    a, b, c = text[i], text[i + 1], text[i + 2]
    if (a == 108 or a == 103) and b == 116 and c == 59:
        return i + 3
    if i + 4 > stop:
        return -1
    d = text[i + 3]
    if a == 97 and b == 109 and c == 112 and d == 59:
        return i + 4
    if i + 5 > stop or text[i + 4] != 59:
        return -1
    if a == 97 and b == 112 and c == 111 and d == 115:
        return i + 5
    return i + 5 if a == 113 and b == 117 and c == 111 and d == 116 else -1


@njit
def _text_end(text: Bytes, start: int, stop: int, quote: int) -> tuple[int, bool, bool]:
    """Where a text ends, at `<` or the quote given; whether it is blank, and whether it has a carriage return.

    -1 for what is no text, or of another form. Attributes have neither tabs nor line ends.
    """
    i = start
    is_blank, returns = True, False
    while i < stop:
        char = text[i]
        if char == quote:
            return i, is_blank, returns
        if char < 32:
            if quote != _OPEN or (char != 10 and char != 9 and char != 13):
                return -1, is_blank, returns
            returns |= char == 13
            i += 1
        elif char == _AMPERSAND:
            is_blank = False
            i = _entity_end(text, i, stop)
            if i < 0:
                return -1, is_blank, returns
        elif char == _OPEN:
            return -1, is_blank, returns
        elif char < 128:
            # `]]>` may not stand in a text.
            if char == _CLOSE and quote == _OPEN and i > start + 1 and text[i - 1] == 93 and text[i - 2] == 93:
                return -1, is_blank, returns
            is_blank &= char == 32
            i += 1
        else:
            is_blank = False
            # U+FFFE and U+FFFF are no characters of XML.
            if char == 0xEF and i + 2 < stop and text[i + 1] == 0xBF and text[i + 2] >= 0xBE:
                return -1, is_blank, returns
            i = character_end(text, i, stop)
            if i < 0:
                return -1, is_blank, returns
        if i - start > _MAX_TEXT:
            return -1, is_blank, returns
    return -1, is_blank, returns


@njit
def _named(text: Bytes, a: int, b: int, tables: XmlTables, starts: Ints, stops: Ints, first: int, last: int) -> int:
    """The place of a name among those of a state; -1 if it is not there."""
    for j in range(first, last):
        if equal(text, a, b, tables.names, starts[j], stops[j]):
            return j
    return -1


@njit
def _end_tag(text: Bytes, at: int, stop: int, start: int, end: int) -> int:
    """The end of the end tag at `at`, of the element whose name is text[start:end]; -1 if it is not there."""
    size = end - start
    if at + 2 + size >= stop or text[at] != _OPEN or text[at + 1] != _SLASH:
        return -1
    if not equal(text, at + 2, at + 2 + size, text, start, end):
        return -1
    i = _blanks_end(text, at + 2 + size, stop)
    return i + 1 if i < stop and text[i] == _CLOSE else -1


@njit
def read_elements(text: Bytes, seed: int, tables: XmlTables, rows: Rows) -> tuple[int, int, int, int, int]:
    """The number of records read, where the last ends, and how many rows, cells and entries they filled.

    Only the white space behind the last record may be left. Cells of class `classes + s` count elements of state s
    that are not named, those of `classes + states + s` its attributes. (One function, as parsers are: its state is a
    dozen scalars, which would have to go in and out of every part.)
    """
    stop = len(text)
    states = len(tables.text_class)
    room = len(rows.entry_start) - 1
    n_rows, n_cells, n_entries = 0, 0, 0
    records, done = 0, 0
    # One frame for each open element: its state (-1: nothing), its row, the named elements seen in it, its name.
    state = np.zeros(_MAX_DEPTH + 1, np.int32)
    row_of = np.zeros(_MAX_DEPTH + 1, np.int32)
    seen = np.zeros(_MAX_DEPTH + 1, np.int64)
    name_start = np.zeros(_MAX_DEPTH + 1, np.int64)
    name_stop = np.zeros(_MAX_DEPTH + 1, np.int64)
    hashes = np.zeros(_MAX_ATTRIBUTES, np.uint64)
    while True:
        i = _blanks_end(text, done, stop)
        saved_rows, saved_cells, saved_entries = n_rows, n_cells, n_entries
        depth = 0
        good = i < stop
        while good:
            # Here a tag begins.
            good = i + 1 < stop and text[i] == _OPEN
            if not good:
                break
            if text[i + 1] == _SLASH:
                i = _end_tag(text, i, stop, name_start[depth], name_stop[depth]) if depth > 0 else -1
                depth -= 1
            else:
                start = i + 1
                end = _name_end(text, start, stop)
                # Names that begin so are reserved; prefixes are not read here.
                if end == start or end >= stop or depth == _MAX_DEPTH:
                    good = False
                    break
                what = state[depth]
                kind, target, container, row = np.int32(SKIP), np.int32(-1), np.int32(-1), row_of[depth]
                named = -1
                if what >= 0:
                    first, last = tables.child_first[what], tables.child_first[what + 1]
                    named = _named(text, start, end, tables, tables.child_start, tables.child_stop, first, last)
                    if named >= 0:
                        kind, target = tables.child_kind[named], tables.child_target[named]
                        container = tables.child_container[named]
                        bit = np.int64(1) << np.int64(named - first)
                        if kind != ITEM and seen[depth] & bit != 0:
                            good = False
                            break
                        seen[depth] |= bit
                    elif what == 0 or n_entries >= room:
                        good = False
                        break
                    else:
                        entry = entry_of(text, start, end, tables.classes + what, seed, n_entries, rows)
                        n_entries += entry == n_entries
                        rows.cell_row[n_cells] = row
                        rows.cell_class[n_cells] = tables.classes + what
                        rows.cell_entry[n_cells] = entry
                        n_cells += 1
                if kind == ITEM:
                    rows.row_container[n_rows] = container
                    rows.row_owner[n_rows] = row if what > 0 else -1
                    row = n_rows
                    n_rows += 1
                own = target if kind == OBJECT or kind == ITEM else -1
                i = end
                many = 0
                while good:
                    at = _blanks_end(text, i, stop)
                    if at >= stop or text[at] == _CLOSE or text[at] == _SLASH:
                        i = at
                        break
                    key = _name_end(text, at, stop)
                    # Attributes stand apart from each other; those of values are for the reader of XML.
                    if at == i or key == at or many == _MAX_ATTRIBUTES or (named >= 0 and own < 0):
                        good = False
                        break
                    code = np.uint64(0xCBF29CE484222325)
                    for j in range(at, key):
                        code = (code ^ np.uint64(text[j])) * np.uint64(0x100000001B3)
                    for j in range(many):
                        if hashes[j] == code:
                            good = False
                    hashes[many] = code
                    many += 1
                    # A declaration of a namespace begins so.
                    if key - at >= 5 and text[at] == 120 and text[at + 1] == 109 and text[at + 2] == 108:
                        good = False
                    begin = _blanks_end(text, key, stop)
                    if not good or begin >= stop or text[begin] != _EQUALS:
                        good = False
                        break
                    begin = _blanks_end(text, begin + 1, stop)
                    if begin >= stop or (text[begin] != _QUOTE and text[begin] != _APOSTROPHE):
                        good = False
                        break
                    close, is_blank, _ = _text_end(text, begin + 1, stop, int(text[begin]))
                    if close < 0 or n_entries >= room:
                        good = False
                        break
                    i = close + 1
                    if own < 0:
                        continue
                    first, last = tables.attribute_first[own], tables.attribute_first[own + 1]
                    place = _named(text, at, key, tables, tables.attribute_start, tables.attribute_stop, first, last)
                    held: Any = tables.attribute_class[place] if place >= 0 else tables.classes + states + own
                    if held < 0 or (place >= 0 and is_blank):
                        continue
                    a, b = (begin + 1, close) if place >= 0 else (at, key)
                    entry = entry_of(text, a, b, held, seed, n_entries, rows)
                    n_entries += entry == n_entries
                    rows.cell_row[n_cells] = row
                    rows.cell_class[n_cells] = held
                    rows.cell_entry[n_cells] = entry
                    n_cells += 1
                if not good or i + 1 >= stop:
                    good = False
                    break
                own_class: Any = target if kind == SCALAR else tables.text_class[own] if own >= 0 else -1
                if text[i] == _SLASH:
                    i = i + 2 if text[i + 1] == _CLOSE else -1
                elif named >= 0 and (own < 0 or own_class >= 0):
                    # An element that holds nothing but text.
                    begin = i + 1
                    close, is_blank, returns = _text_end(text, begin, stop, _OPEN)
                    if close < 0 or n_entries >= room or (returns and not is_blank and own_class >= 0):
                        good = False
                        break
                    if own_class >= 0 and not is_blank:
                        entry = entry_of(text, begin, close, own_class, seed, n_entries, rows)
                        n_entries += entry == n_entries
                        rows.cell_row[n_cells] = row
                        rows.cell_class[n_cells] = own_class
                        rows.cell_entry[n_cells] = entry
                        n_cells += 1
                    i = _end_tag(text, close, stop, start, end)
                else:
                    depth += 1
                    state[depth], row_of[depth], seen[depth] = own, row, 0
                    name_start[depth], name_stop[depth] = start, end
                    i += 1
            if i < 0 or depth < 0:
                good = False
            elif depth == 0:
                break
            else:
                close, is_blank, _ = _text_end(text, i, stop, _OPEN)
                i = close
                good = close >= 0 and (is_blank or state[depth] < 0)
        if not good:
            return records, done, saved_rows, saved_cells, saved_entries
        records += 1
        done = i
