"""How values of documents become texts, and texts become codes of a batch's dictionaries."""

from __future__ import annotations

import hashlib
import hmac
import os
import re
from typing import Any

import orjson

from treeanon.errors import UsageError
from treeanon.forest.tables import TextCodes
from treeanon.schema import Layout

KEY_VARIABLE = "TREEANON_KEY"
"""The environment variable that holds the key of pseudonyms."""

_EXACT = 2**63
_PSEUDONYM = re.compile(r"p-[0-9a-f]{32}")


class NeedsExactNumbers(Exception):
    """A number came as a float that may once have been an integer beyond 64 bits."""


class NotAScalar(Exception):
    """An object or array, or a text with a NUL character, where a value is expected."""


def number_text(value: int | float) -> str:
    """An integer exactly; another number in its shortest form, without needless zeros.

    >>> [number_text(v) for v in (12345678901234567890123, 1.50, 2.0, 1e-7, 1e300, -0.0)]
    ['12345678901234567890123', '1.5', '2', '1e-7', '1e300', '0']
    """
    if isinstance(value, int):
        return str(value)
    if value == int(value) and abs(value) < _EXACT:
        return str(int(value))
    mantissa, mark, exponent = repr(value).partition("e")
    return mantissa.removesuffix(".0") + mark + str(int(exponent)) if mark else mantissa


_SHORTEST = re.compile(r"-?(?:[1-9][0-9]{0,8}(?:\.[0-9]{0,5}[1-9])?|0\.[0-9]{0,3}[1-9])|0")
is_shortest = _SHORTEST.fullmatch
"""Tells of a text whether it is surely a number in its shortest form."""


def token_texts(tokens: list[bytes]) -> list[str]:
    """The texts of values given as JSON texts, without any loss.

    >>> token_texts([b'"a\\u0062"', b"1.50", b"98765432109876543210", b"true", b"12"])
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
        if value not in (0, 1) and abs(value) < _EXACT:
            self[value] = code
        return code

    def scalar_text(self, value: Any) -> str:
        """The text of a number or boolean."""
        if value is True:
            return "true"
        if value is False:
            return "false"
        if type(value) is float and abs(value) >= _EXACT:
            raise NeedsExactNumbers
        if type(value) in (int, float):
            return number_text(value)
        raise NotAScalar

    def known(self, text: str) -> str:
        """What is published for a text: itself."""
        return text

    def add(self, key: str, text: str) -> int:
        """A new code for a text; a NUL character, which no other format could hold, is refused."""
        if "\0" in text:
            raise NotAScalar
        return super().add(key, text)


class ExactCodes:
    """Wraps codes for a document parsed with exact integers: floats are what they say they are."""

    def __init__(self, codes: ValueCodes) -> None:
        self.codes = codes

    def __getitem__(self, value: Any) -> int:
        if type(value) in (int, float):
            return self.codes[number_text(value)]
        return self.codes[value]


class PseudonymCodes(ValueCodes):
    """Codes for keyed pseudonyms: what is published is an HMAC of the value, never the value."""

    def __init__(self, key: bytes) -> None:
        super().__init__()
        self.key = key

    def add(self, key: str, text: str) -> int:
        """A new code for the pseudonym of a text; a pseudonym (of a release read again) stays as it is."""
        return super().add(key, self.known(text))


    def known(self, text: str) -> str:
        """What is published for a text: its pseudonym, or itself if it is one (of a release read again)."""
        return text if _PSEUDONYM.fullmatch(text) else pseudonym(text, self.key)


def pseudonym(text: str, key: bytes) -> str:
    """The keyed pseudonym of a text.

    >>> pseudonym("123-45-6789", b"secret key of 16+")
    'p-c27dcbcad0f8d7e5'
    """
    return "p-" + hmac.new(key, text.encode(), hashlib.sha256).hexdigest()[:32]


def pseudonym_key() -> bytes:
    """The key of pseudonyms from the environment; UsageError says how to set it."""
    key = os.environ.get(KEY_VARIABLE, "").encode()
    if len(key) < 16:
        raise UsageError(
            f"a class has pseudonym = true: set the environment variable {KEY_VARIABLE} to a secret of 16 bytes or more"
        )
    return key


def new_codes(layout: Layout) -> list[ValueCodes]:
    """Empty dictionaries, one per class."""
    return [
        PseudonymCodes(pseudonym_key()) if published.spec.pseudonym else ValueCodes()
        for published in layout.classes
    ]
