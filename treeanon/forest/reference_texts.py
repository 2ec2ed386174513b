"""Texts of references: what they name, whatever server, type and version they say."""

from __future__ import annotations

import re

_BEFORE = re.compile(r"urn:(?:uuid|oid):|#|.*/", re.DOTALL | re.IGNORECASE)
_VERSION = re.compile(r"/_history/[^/]*$")
_KIND = re.compile(r"(?:.*/)?([A-Z][A-Za-z]*)/[^/]+", re.DOTALL)


def identity(text: str) -> str:
    """Return what a reference names, without its type, its version and the address of its server.

    >>> [identity(text) for text in ("Patient/17", "urn:uuid:17", "17", "#17", "https://host/Patient/17/_history/2")]
    ['17', '17', '17', '17', '17']
    """
    return _BEFORE.sub("", _VERSION.sub("", text.strip().rstrip("/")), count=1)


def kind_named(text: str) -> str:
    """Return the kind of object that a reference names, if it does.

    >>> kind_named("Group/17"), kind_named("https://host/fhir/Patient/17"), kind_named("urn:uuid:17")
    ('Group', 'Patient', '')
    """
    found = _KIND.fullmatch(text.strip())
    return found[1] if found is not None else ""
