"""Conversion of values of documents into texts, and of texts into codes of a batch's dictionaries."""

from __future__ import annotations

from typing import Any

import orjson

from treeanon.forest.tables import TextCodes
from treeanon.hierarchy.numbers import EXACT, is_shortest, number_text
from treeanon.schema import Layout


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
