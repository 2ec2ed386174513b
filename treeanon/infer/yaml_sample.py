"""Records of YAML documents, and of streams of them."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, BinaryIO

from treeanon.infer.json_sample import json_sample, lines_sample, one_json_record
from treeanon.infer.model import Sample, SampleRequest
from treeanon.io.documents.yaml_document import as_json, as_json_source, documents, json_of_file
from treeanon.io.interface import ReadOptions
from treeanon.io.sources import Source
from treeanon.schema import RecordPath

_MEMBER = re.compile(rb"(?:- )?[A-Za-z_][A-Za-z0-9_ .-]*:(?:\s|$)")
_OPTIONS = ReadOptions()


def is_yaml(text: bytes) -> bool:
    """Return whether a text begins as a YAML document, in blocks.

    >>> is_yaml(b"# people\\npatients:\\n- age: 34\\n"), is_yaml(b"age,sex\\n"), is_yaml(b"{}")
    (True, False, False)
    """
    first = next((line for line in text.split(b"\n") if line.strip() and not line.startswith(b"#")), b"")
    return first.startswith((b"---", b"%YAML")) or _MEMBER.match(first) is not None


def is_yaml_stream(text: bytes) -> bool:
    """Return whether a text is a YAML document with another one after it.

    >>> is_yaml_stream(b"---\\nage: 34\\n---\\nage: 35\\n"), is_yaml_stream(b"---\\nage: 34\\n")
    (True, False)
    """
    return is_yaml(text) and b"\n---" in text.lstrip().removeprefix(b"---")


def sample_yaml(request: SampleRequest) -> Sample:
    """Return records of YAML documents."""
    if request.collection and request.record is not None and request.record.whole_file:
        return request.of_whole_files(lambda item: one_json_record(as_json_source(item, _OPTIONS)))
    return request.of_documents(_document)


def _document(stream: BinaryIO, source: str, path: RecordPath | None, most: int) -> Sample:
    data = json_of_file(Source(source, None, lambda: io.BytesIO(stream.read()), True), _OPTIONS)
    return replace(json_sample(io.BytesIO(data), source, path, most), format="yaml")


def sample_yaml_stream(request: SampleRequest) -> Sample:
    """Return documents of streams."""

    def parse(text: bytes, source: str, place: str) -> Any:
        return json.loads(text)

    return lines_sample(request, parse, _texts)


def _texts(name: str, stream: BinaryIO) -> Iterator[bytes]:
    return (as_json(value).encode() for value in documents(stream, name))
