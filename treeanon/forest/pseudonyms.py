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


def pseudonym(text: str, key: bytes) -> str:
    """The keyed pseudonym of a text; a pseudonym (of a release read again) stays as it is.

    >>> pseudonym("123-45-6789", b"secret key of 16+")
    'p-c0b8b45b2315bd4450405b7b1087e2f1'
    >>> pseudonym(_, b"another key of 16")
    'p-c0b8b45b2315bd4450405b7b1087e2f1'
    """
    if _PSEUDONYM.fullmatch(text):
        return text
    return "p-" + hmac.new(key, text.encode(), hashlib.sha256).hexdigest()[:32]


def pseudonym_key() -> bytes:
    """The key from the environment; UsageError says how to set it."""
    key = os.environ.get(KEY_VARIABLE, "").encode()
    if len(key) < 16:
        raise UsageError(
            f"a class has pseudonym = true: set the environment variable {KEY_VARIABLE} to a secret of 16 bytes or more"
        )
    return key
