"""Reads JSON records that a parser has found valid straight into rows and cells, by tables compiled from a schema.

Whatever is not of the usual form (a repeated or escaped key, an object where a value is expected, one item without
its array, the reserved name, more distinct values than there is room for, …) makes a record *unusual*: it leaves no
trace here and is read by the slow reader.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from treeanon.arrays import Bytes, Ints, Longs
from treeanon.kernels.jit import njit
from treeanon.kernels.jsontext import MAX_DEPTH, skip_blanks, value_end

SKIP, SCALAR, OBJECT, ITEMS, UNUSUAL = 0, 1, 2, 3, 4
"""What a key leads to: nothing, a value of a class, an object (state), an array, or the slow reader."""

_MAX_KEYS = 256
_QUOTE, _BACKSLASH, _COLON, _COMMA = 34, 92, 58, 44
_OPEN_OBJECT, _CLOSE_OBJECT, _OPEN_ARRAY, _CLOSE_ARRAY = 123, 125, 91, 93
_NULL = 110


class ReadTables(NamedTuple):
    """A layout as arrays. A *state* is an object the schema knows, an *array* a key whose items are containers.

    Keys of state s: key_first[s]:key_first[s + 1]; containers of array a: item_first[a]:item_first[a + 1]. A name is
    names[start:stop]. A predicate is a run of names and the constant that must follow.
    """

    names: Bytes
    key_first: Ints
    key_start: Ints
    key_stop: Ints
    key_kind: Ints
    key_target: Ints
    item_first: Ints
    item_container: Ints
    item_kind: Ints
    item_target: Ints
    item_predicate: Ints
    step_first: Ints
    step_start: Ints
    step_stop: Ints
    constant_start: Ints
    constant_stop: Ints
    classes: int
    root_kind: int
    root_target: int


class Rows(NamedTuple):
    """What reading fills: rows (container, owner row), cells (row, class, entry), entries (span in the text).

    Cells of class `classes + s` count unnamed keys of state s, those of `classes + states + a` items of array a that
    met no predicate.
    """

    row_container: Ints
    row_owner: Ints
    cell_row: Ints
    cell_class: Ints
    cell_entry: Ints
    entry_start: Longs
    entry_stop: Longs
    entry_class: Ints
    entry_hash: npt.NDArray[np.uint64]
    slots: Ints


@njit
def equal(text: Bytes, a: int, b: int, other: Bytes, c: int, d: int) -> bool:
    """Whether two spans of bytes are equal."""
    if b - a != d - c:
        return False
    for i in range(b - a):
        if text[a + i] != other[c + i]:
            return False
    return True


@njit
def _member(text: Bytes, at: int, tables: ReadTables, step: int) -> int:
    """The start of the value of a member of the object at `at`; -1 if there is none, -2 if a key has an escape."""
    if text[at] != _OPEN_OBJECT:
        return -1
    found = -1
    at = skip_blanks(text, at + 1)
    while text[at] != _CLOSE_OBJECT:
        end = value_end(text, at)
        for i in range(at + 1, end - 1):
            if text[i] == _BACKSLASH:
                return -2
        value = skip_blanks(text, skip_blanks(text, end) + 1)
        if equal(text, at + 1, end - 1, tables.names, tables.step_start[step], tables.step_stop[step]):
            found = value
        at = skip_blanks(text, value_end(text, value))
        if text[at] == _COMMA:
            at = skip_blanks(text, at + 1)
    return found


@njit
def _field(text: Bytes, at: int, tables: ReadTables, predicate: int) -> int:
    """The start of the value that a predicate of the item at `at` looks at; negative as in `_member`."""
    for step in range(tables.step_first[predicate], tables.step_first[predicate + 1]):
        at = _member(text, at, tables, step)
        if at < 0:
            return at
    return at


@njit
def _same_field(tables: ReadTables, one: int, other: int) -> bool:
    """Whether two predicates look at one field: those of the kinds in one array do, and it is looked for once."""
    first, second = tables.step_first[one], tables.step_first[other]
    count = tables.step_first[one + 1] - first
    if tables.step_first[other + 1] - second != count:
        return False
    for i in range(count):
        a, b = first + i, second + i
        names, start, stop = tables.names, tables.step_start, tables.step_stop
        if not equal(names, start[a], stop[a], names, start[b], stop[b]):
            return False
    return True


@njit
def _holds(text: Bytes, at: int, tables: ReadTables, predicate: int) -> int:
    """1 if the value at `at` is the predicate's constant, 0 if not, -1 if only the slow reader can tell."""
    if at < 0:
        return -1 if at == -2 else 0
    end = value_end(text, at)
    if text[at] != _QUOTE:
        if text[at] == _OPEN_ARRAY or text[at] == _OPEN_OBJECT:
            return 0
        # Numbers have many forms: the slow reader compares them.
        return 0 if text[at] == _NULL else -1
    for i in range(at + 1, end - 1):
        if text[i] == _BACKSLASH:
            return -1
    start, stop = tables.constant_start[predicate], tables.constant_stop[predicate]
    return 1 if equal(text, at + 1, end - 1, tables.names, start, stop) else 0


@njit
def _may_hold_nul(text: Bytes, start: int, stop: int) -> bool:
    """Whether a JSON string may have the escape of the NUL character in it."""
    for i in range(start, stop - 5):
        if text[i] == _BACKSLASH and text[i + 1] == 117 and text[i + 2] == 48 and text[i + 3] == 48:
            if text[i + 4] == 48 and text[i + 5] == 48:
                return True
    return False


@njit
def entry_of(text: Bytes, start: int, stop: int, held: int, seed: int, entries: int, rows: Rows) -> int:
    """The entry for a span of text in a class: the one there is, or number `entries` made new."""
    code = np.uint64(seed) ^ (np.uint64(held) * np.uint64(0x9E3779B97F4A7C15))
    for i in range(start, stop):
        code = (code ^ np.uint64(text[i])) * np.uint64(0x100000001B3)
    code ^= code >> np.uint64(32)
    mask = np.uint64(len(rows.slots) - 1)
    slot = code & mask
    while True:
        found = rows.slots[slot] - 1
        if found < 0:
            rows.slots[slot] = entries + 1
            rows.entry_start[entries] = start
            rows.entry_stop[entries] = stop
            rows.entry_class[entries] = held
            rows.entry_hash[entries] = code
            return entries
        if rows.entry_hash[found] == code and rows.entry_class[found] == held:
            if equal(text, rows.entry_start[found], rows.entry_stop[found], text, start, stop):
                return int(found)
        slot = (slot + np.uint64(1)) & mask


@njit
def read_records(
    text: Bytes, starts: Longs, stops: Longs, seed: int, tables: ReadTables, rows: Rows
) -> tuple[npt.NDArray[np.bool_], int, int, int]:
    """Which records are usual, and how many rows, cells and entries the usual ones filled.

    Row 0 of a record is its own; rows of a record follow one another. (One function, as parsers are: its state is a
    dozen scalars, which would have to go in and out of every part.)
    """
    usual = np.zeros(len(starts), np.bool_)
    states = len(tables.key_first) - 1
    room = len(rows.entry_start)
    n_rows = 0
    n_cells = 0
    n_entries = 0
    # One frame per open object or array: what it is to the schema (-1: nothing), and its row.
    is_object = np.zeros(MAX_DEPTH + 2, np.bool_)
    meaning = np.zeros(MAX_DEPTH + 2, np.int32)
    row_of = np.zeros(MAX_DEPTH + 2, np.int32)
    key_base = np.zeros(MAX_DEPTH + 2, np.int32)
    hashes = np.zeros(_MAX_KEYS, np.uint64)
    for record in range(len(starts)):
        stop = stops[record]
        saved_rows, saved_cells = n_rows, n_cells
        rows.row_container[n_rows] = 0
        rows.row_owner[n_rows] = -1
        kind, target, row = tables.root_kind, tables.root_target, n_rows
        n_rows += 1
        depth = 0
        n_keys = 0
        good = True
        i = skip_blanks(text, starts[record])
        while i < stop:
            # Here a value begins, which means (kind, target, row) to the schema.
            char = text[i]
            if char == _OPEN_OBJECT or char == _OPEN_ARRAY:
                opens_object = char == _OPEN_OBJECT
                fits = kind == SKIP or (kind == OBJECT and opens_object) or (kind == ITEMS and not opens_object)
                if not fits or depth == MAX_DEPTH:
                    good = False
                    break
                depth += 1
                is_object[depth] = opens_object
                meaning[depth] = -1 if kind == SKIP else target
                row_of[depth] = row
                key_base[depth] = n_keys
                i = skip_blanks(text, i + 1)
                closes = text[i] == _CLOSE_OBJECT or text[i] == _CLOSE_ARRAY
            else:
                end = value_end(text, i)
                if kind == SCALAR and char == _QUOTE and _may_hold_nul(text, i, end):
                    good = False
                    break
                if n_entries == room:
                    good = False
                    break
                if kind == SCALAR:
                    # null and "" are no node
                    if char != _NULL and not (char == _QUOTE and end - i == 2):
                        entry = entry_of(text, i, end, target, seed, n_entries, rows)
                        if entry == n_entries:
                            n_entries += 1
                        rows.cell_row[n_cells] = row
                        rows.cell_class[n_cells] = target
                        rows.cell_entry[n_cells] = entry
                        n_cells += 1
                elif kind != SKIP and char != _NULL:
                    good = False
                    break
                i = skip_blanks(text, end)
                closes = True
                if depth == 0:
                    break
                if text[i] == _COMMA:
                    i = skip_blanks(text, i + 1)
                    closes = False
            # Close what ends here, up to the next value or the end of the record.
            while closes and depth > 0:
                n_keys = key_base[depth]
                depth -= 1
                i = skip_blanks(text, i + 1)
                if depth > 0 and text[i] == _COMMA:
                    i = skip_blanks(text, i + 1)
                    closes = False
            if depth == 0:
                break
            # What does the next value mean?
            kind, target, row = SKIP, -1, row_of[depth]
            what = meaning[depth]
            if is_object[depth]:
                start = i + 1
                i = start
                code = np.uint64(0xCBF29CE484222325)
                while text[i] != _QUOTE:
                    if text[i] == _BACKSLASH:
                        good = False
                        break
                    code = (code ^ np.uint64(text[i])) * np.uint64(0x100000001B3)
                    i += 1
                if not good or n_keys == _MAX_KEYS:
                    good = False
                    break
                for j in range(key_base[depth], n_keys):
                    if hashes[j] == code:
                        good = False
                hashes[n_keys] = code
                n_keys += 1
                if what >= 0:
                    known = False
                    for j in range(tables.key_first[what], tables.key_first[what + 1]):
                        if equal(text, start, i, tables.names, tables.key_start[j], tables.key_stop[j]):
                            kind, target, known = tables.key_kind[j], tables.key_target[j], True
                            break
                    if not known and n_entries == room:
                        good = False
                        break
                    if not known:
                        entry = entry_of(text, start, i, tables.classes + what, seed, n_entries, rows)
                        if entry == n_entries:
                            n_entries += 1
                        rows.cell_row[n_cells] = row
                        rows.cell_class[n_cells] = tables.classes + what
                        rows.cell_entry[n_cells] = entry
                        n_cells += 1
                if kind == UNUSUAL or not good:
                    good = False
                    break
                i = skip_blanks(text, skip_blanks(text, i + 1) + 1)
            elif what >= 0:
                met = 0
                looked, field = -1, -1
                for j in range(tables.item_first[what], tables.item_first[what + 1]):
                    holds = 1
                    predicate = tables.item_predicate[j]
                    if predicate >= 0:
                        if looked < 0 or not _same_field(tables, looked, predicate):
                            looked, field = predicate, _field(text, i, tables, predicate)
                        holds = _holds(text, field, tables, predicate)
                    if holds < 0:
                        good = False
                    elif holds == 1:
                        met += 1
                        rows.row_container[n_rows] = tables.item_container[j]
                        rows.row_owner[n_rows] = row_of[depth]
                        kind, target, row = tables.item_kind[j], tables.item_target[j], n_rows
                        n_rows += 1
                if met > 1 or not good:
                    good = False
                    break
                if met == 0:
                    rows.cell_row[n_cells] = row
                    rows.cell_class[n_cells] = tables.classes + states + what
                    rows.cell_entry[n_cells] = -1
                    n_cells += 1
        usual[record] = good
        if not good:
            n_rows, n_cells = saved_rows, saved_cells
    return usual, n_rows, n_cells, n_entries


@njit
def fill_columns(
    rows: Rows, n_rows: int, n_cells: int, containers: int, class_container: Ints, entry_code: Ints
) -> tuple[Ints, Longs, Longs]:
    """One buffer with the owner column of every container, then the code column of every class; where each begins.

    Rows keep their order within a container. Classes from len(class_container) on are counts, not columns.
    """
    sizes = np.zeros(containers, np.int64)
    local = np.empty(n_rows, np.int32)
    for r in range(n_rows):
        local[r] = sizes[rows.row_container[r]]
        sizes[rows.row_container[r]] += 1
    owner_first = np.zeros(containers + 1, np.int64)
    for c in range(containers):
        owner_first[c + 1] = owner_first[c] + sizes[c]
    code_first = np.zeros(len(class_container) + 1, np.int64)
    code_first[0] = owner_first[containers]
    for h in range(len(class_container)):
        code_first[h + 1] = code_first[h] + sizes[class_container[h]]
    buffer = np.full(code_first[-1], -1, np.int32)
    for r in range(n_rows):
        owner = rows.row_owner[r]
        buffer[owner_first[rows.row_container[r]] + local[r]] = 0 if owner < 0 else local[owner]
    for i in range(n_cells):
        held = rows.cell_class[i]
        if held < len(class_container):
            buffer[code_first[held] + local[rows.cell_row[i]]] = entry_code[rows.cell_entry[i]]
    return buffer, owner_first, code_first
