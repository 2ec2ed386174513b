"""Where a schema's output profile meets readers and writers: sources are decoded, records encoded."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import BinaryIO, cast

from treeanon.errors import DataError
from treeanon.formats import PROFILES, Format, Profile
from treeanon.io.interface import MAX_DOCUMENT_BYTES, Document, writer_of
from treeanon.io.sources import Source
from treeanon.schema import Schema

_BLOCK = 4 << 20


def profile_of(schema: Schema, form: Format) -> Profile | None:
    """Return the profile by which records of a format are written, if there is one."""
    profile = PROFILES.named(schema.profile) if schema.profile else None
    return profile if profile is not None and profile.is_for(form) else None


def document_of(schema: Schema, form: Format, kind: str = "") -> Document:
    """Return how the texts of records become a document, each in the profile of the schema; `kind` is a `[[file]]`."""
    document = writer_of(form.name).document(schema)
    profile = profile_of(schema, form)
    if profile is None:
        return document
    encode, line = profile.codec.encode, document.line
    return replace(document, line=lambda number, text: line(number, encode(text, number, kind)))


def decoded(sources: Sequence[Source], schema: Schema, form: Format) -> tuple[Source, ...]:
    """Return the sources with what the profile of the schema changed taken back."""
    profile = profile_of(schema, form)
    if profile is None:
        return tuple(sources)
    # Lines are decoded one by one, so that errors name the right one; other documents as a whole.
    by_line = form.spark == "lines"
    return tuple(
        replace(source, raw=partial(_opened, source, profile.name, by_line), unpacked=True) for source in sources
    )


def _opened(source: Source, name: str, by_line: bool) -> BinaryIO:
    profile = PROFILES[name]
    pieces = _lines(source, profile) if by_line else _whole(source, profile)
    return cast(BinaryIO, _Pieces(pieces))


def _whole(source: Source, profile: Profile) -> Iterator[bytes]:
    held: list[bytes] = []
    with source.open() as stream:
        while block := stream.read(_BLOCK):
            held.append(block)
            if sum(map(len, held)) > MAX_DOCUMENT_BYTES:
                raise DataError(f"is longer than {MAX_DOCUMENT_BYTES >> 30} GB", source=source.name)
    data = b"".join(held)
    yield _decoded(data, profile, source.name, "")


def _lines(source: Source, profile: Profile) -> Iterator[bytes]:
    from treeanon.io.documents.json_document import line_blocks

    number = 1
    with source.open() as stream:
        for block in line_blocks(stream, source.name):
            if profile.marker not in block:
                yield block
            else:
                lines = block.split(b"\n")
                found = enumerate(lines, start=number)
                yield b"\n".join(_decoded(line, profile, source.name, f"line {at}") for at, line in found)
            number += block.count(b"\n")


def _decoded(text: bytes, profile: Profile, source: str, place: str) -> bytes:
    if profile.marker not in text:
        return text
    try:
        return profile.codec.decode(text)
    except DataError as problem:
        raise DataError(problem.message, source=source, place=place) from None


class _Pieces(io.RawIOBase):
    """A stream of pieces of bytes."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self.pieces, self.held, self.at = pieces, b"", 0

    def read(self, size: int = -1) -> bytes:
        if size < 0:
            left, self.held, self.at = self.held[self.at :], b"", 0
            return left + b"".join(self.pieces)
        while self.at == len(self.held):
            piece = next(self.pieces, None)
            if piece is None:
                return b""
            self.held, self.at = piece, 0
        found = self.held[self.at : self.at + size]
        self.at += len(found)
        return found

    def close(self) -> None:
        self.pieces.close() if hasattr(self.pieces, "close") else None
        super().close()
