"""Keyed pseudonyms: what is published for an identifier that has `pseudonym = true`."""

from __future__ import annotations

import hashlib
import hmac
import os
import re

from treeanon.errors import UsageError

KEY_VARIABLE = "TREEANON_KEY"
"""The environment variable that holds the key."""

_PSEUDONYM = re.compile(r"p-[0-9a-f]{32}")
_TAG = b"treeanon pseudonym "


def pseudonym(text: str, key: bytes) -> str:
    """The keyed pseudonym of a text; a pseudonym (of a release read again) stays as it is.

    Its last 8 digits check the others, so that an id that merely looks like one is not taken for it.

    >>> first = pseudonym("123-45-6789", b"secret key of 16+")
    >>> len(first), pseudonym(first, b"another key of 16") == first
    (34, True)
    >>> pseudonym("p-d41d8cd98f00b204e9800998ecf8427e", b"another key of 16") == "p-d41d8cd98f00b204e9800998ecf8427e"
    False
    """
    if _PSEUDONYM.fullmatch(text) and _check(text[2:26]) == text[26:]:
        return text
    digits = hmac.new(key, text.encode(), hashlib.sha256).hexdigest()[:24]
    return f"p-{digits}{_check(digits)}"


def _check(digits: str) -> str:
    return hashlib.sha256(_TAG + digits.encode()).hexdigest()[:8]


def pseudonym_key() -> bytes:
    """The key from the environment; UsageError says how to set it."""
    key = os.environ.get(KEY_VARIABLE, "").encode()
    if len(key) < 16:
        raise UsageError(
            f"a class has pseudonym = true: set the environment variable {KEY_VARIABLE} to a secret of 16 bytes or more"
        )
    return key
