"""FHIR R4: bundles of one person each, or files of one type of resource, valid as the standard has them.

A value that cannot stand in its element (a range in a number, a decade in a date, `*` in a code) stands beside it, in
the extensions of the primitive: the standard's data-absent-reason `masked`, and ours with the published label. What the
standard demands and a release does not have is absent as `masked`, too; references to the person are made anew.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import orjson

from treeanon.errors import DataError
from treeanon.hierarchy.numbers import number_text
from treeanon.io.profiles.fhir_elements import ELSEWHERE, NO_TEXT, REQUIRED, Way, as_primitive, is_text, type_of
from treeanon.schema.layout import MOVED

Json = dict[str, Any]

PUBLISHED = "urn:treeanon:published"
"""The extension that has a published label which cannot stand in its element."""

INSTEAD = f"{PUBLISHED}:"
"""The same of a label that stands with another element than its own, before the name of that."""

ESCAPED = "urn:treeanon:escaped"
"""The same of a label that no text of FHIR can hold, as text of JSON."""

MOVED_EXTENSION = "urn:treeanon:moved"
"""The extension that has nodes which are out of place, as text of JSON."""

ABSENT = "http://hl7.org/fhir/StructureDefinition/data-absent-reason"
MASKED = {"url": ABSENT, "valueCode": "masked"}
LABEL_OF_ANONYMIZED = {"system": "http://terminology.hl7.org/CodeSystem/v3-ObservationValue", "code": "ANONYED"}
META = {"source": "urn:treeanon:1", "security": [LABEL_OF_ANONYMIZED]}
"""What marks a bundle or resource as one that was written here, and as anonymized."""

NO_VALUE: Json = {"extension": [MASKED]}

_OWN_URL = re.compile(r"urn:uuid:[0-9a-f]{8}-0000-4000-8000-000000000000")


class _Encoder:
    """Writer of one record."""

    def __init__(self, number: int, kind: str) -> None:
        self.kind = kind
        self.url = f"urn:uuid:{number:08x}-0000-4000-8000-000000000000"

    def record(self, body: Json) -> Json:
        """Return a bundle, or the resource that a row of a file is."""
        if self.kind:
            return self.resource(body, self.kind, None, META)
        entries = body.pop("entry", [])
        moved = body.pop(MOVED, None)
        made: Json = {"resourceType": "Bundle", "meta": dict(META)}
        if moved is not None:
            made["meta"]["extension"] = [_moved(moved)]
        made["type"] = "collection"
        made |= {name: value for name, value in self.element(body, ()).items() if name not in made}
        people = [entry for entry in entries if _type_of_entry(entry) == "Patient"]
        person = {"reference": self.url} if people else None
        for entry in entries:
            made.setdefault("entry", []).append(self.entry(entry, person, entry in people[:1]))
        return made

    def entry(self, entry: Json, person: Json | None, is_person: bool) -> Json:
        """Return an entry of a bundle."""
        body = entry.pop("resource", {})
        made: Json = {"fullUrl": self.url} if is_person and "fullUrl" not in entry else {}
        made |= self.element(entry, ())
        kind = body.get("resourceType", "")
        made["resource"] = self.resource(body, kind, person, None)
        return made

    def resource(self, body: Json, kind: str, person: Json | None, meta: Json | None) -> Json:
        """Return a resource with what the standard demands of it; `person` is the reference to the person."""
        made: Json = {"resourceType": kind} if kind else {}
        if meta is not None:
            made["meta"] = meta
        made |= {name: value for name, value in self.element(body, ()).items() if name not in made}
        if kind in ELSEWHERE:
            _put_instead(made, *ELSEWHERE[kind])
        for rule in REQUIRED.get(kind, ()):
            path, _, what = rule.partition(":")
            for holder in _holders(made, path.split(".")[:-1]):
                _require(holder, path.rpartition(".")[2], what, person)
        return made

    def element(self, body: Json, way: Way) -> Json:
        """Return an element of which every value can stand where it does."""
        made: Json = {}
        for name, value in body.items():
            inner = (*way, name)
            if name == MOVED:
                made.setdefault("extension", []).append(_moved(value))
            elif isinstance(value, dict):
                made[name] = self.element(value, inner) or NO_VALUE
            elif isinstance(value, list):
                self.items(made, name, value, inner)
            else:
                own, beside = _primitive(value, inner)
                if beside is None:
                    made[name] = own
                elif way[-1:] == ("extension",) and name.startswith("value"):
                    # An extension has a value or extensions.
                    made["extension"] = [MASKED, {"url": f"{INSTEAD}{name}", "valueString": _label(beside) or "*"}]
                else:
                    made[f"_{name}"] = beside
        label = _label(made.get("_code"))
        if label is not None and label != "*" and is_text(label) and "display" not in made and way[-1:] == ("coding",):
            made["display"] = label
        return made

    def items(self, made: Json, name: str, values: list[Any], way: Way) -> None:
        """Put the items of an array into an element."""
        if any(isinstance(value, dict) for value in values):
            own = [(isinstance(value, dict) and self.element(value, way)) or NO_VALUE for value in values]
            made[name] = made[name] + own if name in made else own
            return
        pairs = [_primitive(value, way) for value in values]
        if any(value is not None for value, _ in pairs):
            made[name] = [value for value, _ in pairs]
        if any(beside is not None for _, beside in pairs):
            made[f"_{name}"] = [beside for _, beside in pairs]


def _type_of_entry(entry: Json) -> Any:
    return entry.get("resource", {}).get("resourceType")


def _moved(value: Any) -> Json:
    return {"url": MOVED_EXTENSION, "valueString": orjson.dumps(value).decode()}


def _primitive(value: Any, way: Way) -> tuple[Any, Json | None]:
    """Return what stands in a primitive, and what beside it; one of the two is None."""
    if value is None:
        return None, NO_VALUE
    label = value if isinstance(value, str) else number_text(value) if type(value) in (int, float) else str(value)
    own = as_primitive(label, type_of(way))
    if own is not None:
        return own, None
    if is_text(label):
        return None, {"extension": [MASKED, {"url": PUBLISHED, "valueString": label}]}
    return None, {"extension": [MASKED, {"url": ESCAPED, "valueString": json.dumps(label)}]}


def _label(beside: Any) -> str | None:
    """Return the label that stands beside a primitive, if one does."""
    found = beside.get("extension") if isinstance(beside, dict) and len(beside) == 1 else None
    if not isinstance(found, list) or len(found) != 2 or found[0] != MASKED or not isinstance(found[1], dict):
        return None
    url, label = found[1].get("url"), found[1].get("valueString")
    if len(found[1]) != 2 or url not in (PUBLISHED, ESCAPED) or not isinstance(label, str):
        return None
    return label if url == PUBLISHED else str(_loads(label.encode()))


def _put_instead(made: Json, name: str, other: str) -> None:
    """Put a masked value into another element of the same choice."""
    beside = made.pop(f"_{name}", None)
    if beside is None:
        return
    label = beside["extension"][1]["valueString"]
    marked = {"extension": [MASKED, {"url": f"{INSTEAD}{name}", "valueString": label}]}
    if other.endswith("String"):
        made[other] = NO_TEXT if label == "*" else label
        made[f"_{other}"] = marked
    else:
        made[other] = marked


def _instead(beside: Any) -> tuple[str, str] | None:
    """Return the name and the label of a value that stands with another element."""
    found = beside.get("extension") if isinstance(beside, dict) and len(beside) == 1 else None
    return _named_label(found)


def _named_label(found: Any) -> tuple[str, str] | None:
    if not isinstance(found, list) or len(found) != 2 or found[0] != MASKED or not isinstance(found[1], dict):
        return None
    url, label = found[1].get("url"), found[1].get("valueString")
    if len(found[1]) != 2 or not isinstance(url, str) or not isinstance(label, str) or not url.startswith(INSTEAD):
        return None
    return url.removeprefix(INSTEAD), label


def _holders(body: Json, names: list[str]) -> Iterator[Json]:
    """Yield the elements that a path leads to, through arrays."""
    if not names:
        yield body
        return
    inner = body.get(names[0])
    for item in inner if isinstance(inner, list) else [inner]:
        if isinstance(item, dict):
            yield from _holders(item, names[1:])


def _require(holder: Json, name: str, what: str, person: Json | None) -> None:
    """Put what the standard demands into an element that does not have it."""
    stem = name.removesuffix("[x]")
    if name != stem:
        if any(each.lstrip("_").startswith(stem) for each in holder):
            return
        name = stem + what
        if what == "String":
            holder |= {name: NO_TEXT, f"_{name}": NO_VALUE}
            return
        what = "Element"
    if name in holder or f"_{name}" in holder:
        return
    if what == "Patient":
        # Files of bulk data have the reference of their rows already.
        holder[name] = person or NO_VALUE
    elif what == "List":
        holder[name] = [NO_VALUE]
    else:
        holder[name if what else f"_{name}"] = NO_VALUE


class _Decoder:
    """Reader that takes back what `_Encoder` has changed."""

    def document(self, value: Any) -> Any:
        """Return a document, in which any object may be a record that was written here."""
        if isinstance(value, list):
            return [self.document(item) for item in value]
        if not isinstance(value, dict):
            return value
        meta = value.get("meta")
        if isinstance(meta, dict) and {name: meta[name] for name in meta if name != "extension"} == META:
            return self.record(value)
        return {name: self.document(inner) for name, inner in value.items()}

    def record(self, value: Json) -> Json:
        """Return a record as the format writes it."""
        body = {name: inner for name, inner in value.items() if name not in ("resourceType", "meta", "type")}
        if value.get("resourceType") != "Bundle":
            if "type" in value:
                body["type"] = value["type"]
            return self.element(body)
        if value.get("type") != "collection":
            body["type"] = value.get("type")
        if "extension" in value["meta"]:
            body["extension"] = value["meta"]["extension"]
        entries = body.pop("entry", None)
        found = self.element(body)
        if isinstance(entries, list):
            found["entry"] = [self.entry(entry) for entry in entries]
        return found

    def entry(self, entry: Any) -> Any:
        """Return an entry without the addresses that were made for it."""
        if not isinstance(entry, dict):
            return entry
        body = dict(entry)
        if _is_own_url(body.get("fullUrl")):
            del body["fullUrl"]
        resource = body.get("resource")
        if isinstance(resource, dict):
            own = {"reference"}
            body["resource"] = {
                name: inner
                for name, inner in resource.items()
                if not (isinstance(inner, dict) and inner.keys() == own and _is_own_url(inner["reference"]))
            }
        return self.element(body)

    def element(self, body: Json) -> Json:
        """Return an element with the labels in their places, and without what is only demanded."""
        made: Json = {}
        for name, value in body.items():
            if name.startswith("_"):
                self.beside(made, name[1:], value)
            elif name == "extension" and isinstance(value, list):
                self.extensions(made, value)
            elif (other := _instead(value)) is not None:
                made[other[0]] = other[1]
            elif isinstance(value, dict):
                if value != NO_VALUE:
                    made[name] = self.element(value)
            elif isinstance(value, list) and value == [NO_VALUE]:
                made[name] = [{}]
            elif isinstance(value, list):
                made[name] = [self.item(item) for item in value]
                self.fill(made, name, body.get(f"_{name}"))
            else:
                made[name] = value
        label = _label(body.get("_code"))
        if label not in (None, "*") and made.get("display") == label:
            del made["display"]
        return made

    def item(self, item: Any) -> Any:
        """Return an item of an array."""
        if not isinstance(item, dict):
            return item
        return {} if item == NO_VALUE else self.element(item)

    def extensions(self, made: Json, found: list[Any]) -> None:
        """Put extensions into an element, those of what is out of place by their own name."""
        left = []
        own = _named_label(found)
        if own is not None:
            made[own[0]] = own[1]
            return
        for one in found:
            text = one.get("valueString") if isinstance(one, dict) and one.get("url") == MOVED_EXTENSION else None
            if isinstance(text, str) and len(one) == 2:
                made[MOVED] = _loads(text.encode())
            else:
                left.append(self.item(one))
        if left:
            made["extension"] = left

    def beside(self, made: Json, name: str, value: Any) -> None:
        """Put into a primitive what stands beside it."""
        if isinstance(value, list):
            if name not in made:
                made[name] = [None] * len(value)
                self.fill(made, name, value)
        elif (label := _label(value)) is not None:
            made[name] = label
        elif (other := _instead(value)) is not None:
            made.pop(name, None)
            made[other[0]] = other[1]
        elif value == NO_VALUE:
            if made.get(name) == NO_TEXT:
                del made[name]
        else:
            made[f"_{name}"] = value

    def fill(self, made: Json, name: str, beside: Any) -> None:
        """Put into the items of an array what stands beside them."""
        for at, value in enumerate(beside if isinstance(beside, list) else []):
            label = _label(value)
            if label is not None and at < len(made[name]) and made[name][at] is None:
                made[name][at] = label


def _is_own_url(text: Any) -> bool:
    return isinstance(text, str) and _OWN_URL.fullmatch(text) is not None


def _loads(text: bytes) -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        raise DataError("is not valid JSON") from None


class FhirR4:
    """The codec of the profile `fhir-r4`.

    >>> record = '{"entry":[{"resource":{"resourceType":"Condition","onsetDateTime":"2010s"}}]}'
    >>> written = CODEC.encode(record, 1, "")
    >>> "2010s" in written, CODEC.decode(written.encode()).decode() == record
    (True, True)
    """

    def encode(self, text: str, number: int, kind: str) -> str:
        """Return a canonical record as a bundle, or as a resource of the type that its file is named after."""
        return orjson.dumps(_Encoder(number, kind).record(orjson.loads(text))).decode()

    def decode(self, text: bytes) -> bytes:
        """Return a document as the format writes it."""
        try:
            return orjson.dumps(_Decoder().document(orjson.loads(text)))
        except orjson.JSONDecodeError:
            # The reader says what is wrong with it.
            return text
        except RecursionError:
            raise DataError("is nested too deeply") from None


CODEC = FhirR4()
