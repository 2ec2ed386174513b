"""Batches made of the rows and cells that kernels fill as they read a block of text, whatever the format.

Also conversion of values of documents into texts, and of texts into codes of a batch's dictionaries.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import orjson

from treeanon.arrays import Bytes, Ints, Longs
from treeanon.forest.report import Dropped
from treeanon.forest.tables import Batch, ContainerRows, MovedNodes, TextCodes
from treeanon.hierarchy.intervals import Intervals
from treeanon.hierarchy.numbers import EXACT, NumberTexts, is_shortest, number_text
from treeanon.kernels.jsonread import Rows, fill_columns
from treeanon.kernels.jsontext import short_numbers
from treeanon.schema import Layout

_MANY_NUMBERS = 1000
"""Different numbers of a class in a block from which on their texts are not made."""

_MOST_DECIMALS, _MOST_DIGITS = 6, 12


class Filled(NamedTuple):
    """How many rows, cells and entries a kernel has filled."""

    rows: int
    cells: int
    entries: int


class KernelColumns:
    """Maker of batches of a layout; several threads may use it at once.

    Cells of classes after those of the layout count what the schema does not name: each stands for a place, of
    `places`.
    """

    def __init__(self, layout: Layout, places: Sequence[str]) -> None:
        self.layout, self.places = layout, places
        self.class_container = np.array([c.container for c in layout.classes], np.int32)
        # What intervals make of numbers they make of them without their texts.
        self.numbers = [isinstance(c.spec.hierarchy, Intervals) and not c.spec.pseudonym for c in layout.classes]
        self.free: list[Rows] = []

    @contextmanager
    def buffers(self, size: int, records: int) -> Iterator[Rows]:
        """Provide empty buffers for a text of this size that no other thread has; too small ones are forgotten."""
        rows = None
        while rows is None:
            try:
                rows = self.free.pop()
            except IndexError:
                rows = _new_rows(size, records)
            if not _fits(rows, size, records):
                rows = None
        rows.slots[:] = 0
        yield rows
        self.free.append(rows)

    def batch(
        self, block: bytes, rows: Rows, filled: Filled, decode: Callable[[list[bytes]], list[str]], *, as_texts: bool
    ) -> tuple[Batch, Dropped]:
        """Return the batch of filled rows, and the counts of what was dropped.

        `decode` gives the texts of entries, of which blank ones are no node. Entries are texts of a document where
        `as_texts` is set, or else numbers and strings of JSON.
        """
        codes, texts = self._decode(block, rows, filled.entries, decode, as_texts)
        columns = fill_columns(
            rows, filled.rows, filled.cells, len(self.layout.containers), self.class_container, codes
        )
        dropped = self._dropped(block, rows, filled.cells)
        return Batch(self._tables(*columns), texts, MovedNodes.none()), dropped

    def _tables(self, buffer: Ints, owner_first: Longs, code_first: Longs) -> tuple[ContainerRows, ...]:
        return tuple(
            ContainerRows(
                buffer[owner_first[c.index] : owner_first[c.index + 1]],
                {held: buffer[code_first[held] : code_first[held + 1]] for held in c.held},
            )
            for c in self.layout.containers
        )

    def _decode(
        self, block: bytes, rows: Rows, n_entries: int, decode: Callable[[list[bytes]], list[str]], as_texts: bool
    ) -> tuple[Ints, tuple[Sequence[str], ...]]:
        """Return a code per entry, and the texts of every class. Entries differ as they are written; their decoded
        texts may be equal.
        """
        text: Bytes = np.frombuffer(block, np.uint8)
        held = rows.entry_class[:n_entries]
        codes = np.full(n_entries, -1, np.int32)
        texts: list[Sequence[str]] = []
        for number in range(len(self.layout.classes)):
            chosen = np.flatnonzero(held == number)
            starts, stops = rows.entry_start[chosen], rows.entry_stop[chosen]
            numbers = None
            if self.numbers[number] and len(chosen) >= _MANY_NUMBERS:
                numbers = _numbers(*short_numbers(text, starts, stops, as_texts))
            if numbers is not None:
                found, codes[chosen] = numbers
                texts.append(found)
                continue
            made = decode([block[a:b] for a, b in zip(starts.tolist(), stops.tolist(), strict=True)])
            codes[chosen] = np.arange(len(made))
            if as_texts:
                codes[chosen[[at for at, one in enumerate(made) if one.isspace()]]] = -1
            texts.append(made)
        return codes, tuple(texts)

    def _dropped(self, block: bytes, rows: Rows, n_cells: int) -> Dropped:
        """Return the counts of unnamed keys that the kernel noted, by place; items that met no predicate have none."""
        dropped, classes = Dropped(), len(self.layout.classes)
        noted = rows.cell_class[:n_cells] >= classes
        if not noted.any():
            return dropped
        held, entries = rows.cell_class[:n_cells][noted] - classes, rows.cell_entry[:n_cells][noted]
        pairs, times = np.unique(np.stack([held, entries]), axis=1, return_counts=True)
        for place, entry, count in zip(*pairs.tolist(), times.tolist(), strict=True):
            key = "[]" if entry < 0 else block[rows.entry_start[entry] : rows.entry_stop[entry]].decode()
            dropped.add(self.places[place], key, count)
        return dropped


def _numbers(digits: Longs, decimals: Longs) -> tuple[NumberTexts, Ints] | None:
    """Return numbers as texts that are not made, and the code of each; None if one is not to be had, or too large."""
    most = int(decimals.max())
    if (
        decimals.min() < 0
        or most > _MOST_DECIMALS
        or np.abs(digits // 10**decimals).max() >= 10 ** (2 * _MOST_DECIMALS)
    ):
        return None
    steps, codes = np.unique(digits * 10 ** (most - decimals), return_inverse=True)
    return NumberTexts(steps, most), codes.astype(np.int32)


def _new_rows(size: int, records: int) -> Rows:
    """Return buffers for all that a text of this size can hold; memory that is not filled costs nothing."""
    most = size // 2 + records + 2
    entries = size // 4 + 64
    return Rows(
        row_container=np.empty(most, np.int32),
        row_owner=np.empty(most, np.int32),
        cell_row=np.empty(most, np.int32),
        cell_class=np.empty(most, np.int32),
        cell_entry=np.empty(most, np.int32),
        entry_start=np.empty(entries, np.int64),
        entry_stop=np.empty(entries, np.int64),
        entry_class=np.empty(entries, np.int32),
        entry_hash=np.empty(entries, np.uint64),
        slots=np.empty(1 << (2 * entries - 1).bit_length(), np.int32),
    )


def _fits(rows: Rows, size: int, records: int) -> bool:
    return len(rows.row_container) >= size // 2 + records + 2 and len(rows.entry_start) >= size // 4 + 64


class NeedsExactNumbers(Exception):
    """A number came as a float that may once have been an integer beyond 64 bits."""


class NotAScalar(Exception):
    """An object or array, or a text with a NUL character, stands where a value is expected."""


def token_texts(tokens: list[bytes]) -> list[str]:
    r"""Return the texts of values given as JSON texts, without any loss.

    >>> token_texts([rb'"a\u0062"', b"1.50", b"98765432109876543210", b"true", b"12"])
    ['ab', '1.5', '98765432109876543210', 'true', '12']
    """
    if not tokens:
        return []
    # JSON texts hold no raw newline.
    texts = b"\n".join(tokens).decode().split("\n")
    plain = is_shortest
    return [
        (text[1:-1] if "\\" not in text else orjson.loads(text))
        if text[0] == '"'
        else text
        if plain(text)
        else _unusual_token(text)
        for text in texts
    ]


def _unusual_token(text: str) -> str:
    if text in ("true", "false"):
        return text
    if "." in text or "e" in text or "E" in text:
        return number_text(float(text))
    return "0" if text == "-0" else text


class ValueCodes(TextCodes):
    """Codes by value, as JSON gives values: text, number, boolean or null (-1: no node).

    Python holds 1, 1.0 and True for one key, and a float for an integer that it rounds to: those are never stored.
    """

    def __init__(self) -> None:
        super().__init__()
        self.update({None: -1, "": -1})

    def __missing__(self, value: Any) -> int:
        if type(value) is str:
            return self.add(value, value)
        text = self.scalar_text(value)
        code = self[text]
        if value not in (0, 1) and abs(value) < EXACT:
            self[value] = code
        return code

    def scalar_text(self, value: Any) -> str:
        """Return the text of a number or boolean."""
        if value is True:
            return "true"
        if value is False:
            return "false"
        if type(value) is float and abs(value) >= EXACT:
            raise NeedsExactNumbers
        if type(value) in (int, float):
            return number_text(value)
        raise NotAScalar

    def add(self, key: str, text: str) -> int:
        """Return a new code for a text; raise NotAScalar for a NUL character, which no other format could hold."""
        if "\0" in text:
            raise NotAScalar
        return super().add(key, text)


class ExactCodes:
    """Codes for a document parsed with exact integers: floats really are floats."""

    def __init__(self, codes: ValueCodes) -> None:
        self.codes = codes

    def __getitem__(self, value: Any) -> int:
        if type(value) in (int, float):
            return self.codes[number_text(value)]
        return self.codes[value]


def new_codes(layout: Layout) -> list[ValueCodes]:
    """Return empty dictionaries, one per class."""
    return [ValueCodes() for _ in layout.classes]
