"""The output profiles: standards that a release must be valid by, beyond the form of its format.

A canonical record is what a format writes of a tree. A profile writes it as its standard wants it, and takes that back
when the release is read. Add a profile: write one module that holds a codec, and a line in the table below.

This table is read wherever a schema is, so it imports no codec: it is given as "module:name".
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Protocol, cast

from treeanon.formats import Format
from treeanon.plugins import Registry


class Codec(Protocol):
    """The two directions of a profile; `decode` undoes `encode`, to the byte."""

    def encode(self, text: str, number: int, kind: str) -> str:
        """Return the text of a canonical record as the standard wants it.

        `number` is the fresh number of the record, from 1; `kind` the name of its `[[file]]`, empty where there is
        none. Nothing but these may decide what comes out.
        """

    def decode(self, text: bytes) -> bytes:
        """Return a document (in formats of lines, a line) with all that `encode` changed taken back.

        What `encode` did not write stays as it is. DataError says what cannot be read.
        """


@dataclass(frozen=True)
class Profile:
    """One profile: its name in schemas, the formats that it is for, and its codec.

    Documents without `marker` in their bytes are no releases of it, and are read as they are.

    >>> PROFILES["fhir-r4"].formats
    ('json', 'ndjson')
    """

    name: str
    formats: tuple[str, ...]
    about: str
    marker: bytes
    where: str
    root: str = ""
    """The name of the root element of a document of XML."""

    @property
    def codec(self) -> Codec:
        """Its codec, whose module is imported when it is needed."""
        module, _, name = self.where.partition(":")
        return cast(Codec, getattr(import_module(module), name))

    def is_for(self, form: Format) -> bool:
        """Return whether records of a format are written by it."""
        return form.name in self.formats


_OWN = (
    Profile(
        "fhir-r4",
        ("json", "ndjson"),
        "bundles of one person each, or files of bulk data, as valid FHIR R4",
        b"urn:treeanon:",
        "treeanon.io.profiles.fhir_r4:CODEC",
    ),
    Profile(
        "c-cda",
        ("xml",),
        "Continuity of Care Documents of one person each, with what C-CDA 2.1 demands",
        b"urn:hl7-org:v3",
        "treeanon.io.profiles.c_cda:CODEC",
        root="ClinicalDocument",
    ),
)

PROFILES: Registry[Profile] = Registry("treeanon.profiles", Profile, "profile", {own.name: own for own in _OWN})
