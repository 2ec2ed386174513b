"""What FHIR R4 says of elements, as far as releases have to do with it: what must be there, and types of primitives."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import orjson

from treeanon.hierarchy.numbers import number_text

Way = tuple[str, ...]
"""The names that lead to a value, without those of the resource's type and of items."""

REQUIRED: Mapping[str, tuple[str, ...]] = {
    "AllergyIntolerance": ("patient:Patient", "reaction.manifestation:List"),
    "CarePlan": ("status", "intent", "subject:Patient", "activity.detail.status"),
    "CareTeam": ("subject:Patient",),
    "Condition": ("subject:Patient",),
    "Coverage": ("status", "beneficiary:Patient", "payor:List"),
    "Device": ("patient:Patient",),
    "DiagnosticReport": ("status", "code:Element", "subject:Patient"),
    "Encounter": (
        "status",
        "class:Element",
        "subject:Patient",
        "location.location:Element",
        "diagnosis.condition:Element",
    ),
    "EpisodeOfCare": ("status", "patient:Patient"),
    "FamilyMemberHistory": ("status", "patient:Patient", "relationship:Element", "condition.code:Element"),
    "Goal": ("lifecycleStatus", "description:Element", "subject:Patient"),
    "ImagingStudy": ("status", "subject:Patient", "series.uid", "series.modality:Element"),
    "Immunization": ("status", "vaccineCode:Element", "patient:Patient", "occurrence[x]:String"),
    "MedicationAdministration": (
        "status",
        "medication[x]:CodeableConcept",
        "subject:Patient",
        "effective[x]:Period",
    ),
    "MedicationDispense": ("status", "medication[x]:CodeableConcept", "subject:Patient"),
    "MedicationRequest": ("status", "intent", "medication[x]:CodeableConcept", "subject:Patient"),
    "MedicationStatement": ("status", "medication[x]:CodeableConcept", "subject:Patient"),
    "Observation": ("status", "code:Element", "subject:Patient", "component.code:Element"),
    "Patient": ("communication.language:Element",),
    "Procedure": ("status", "subject:Patient"),
    "ServiceRequest": ("status", "intent", "code:Element", "subject:Patient"),
    "Specimen": ("subject:Patient",),
}
"""Of each type of resource what must be there, or is the person: `path:what`, a primitive where nothing is said."""

ELSEWHERE: Mapping[str, tuple[str, str]] = {
    "Immunization": ("occurrenceDateTime", "occurrenceString"),
    "MedicationAdministration": ("effectiveDateTime", "effectivePeriod"),
}
"""Where one of several elements must have a value, so that a masked one cannot be alone: the element that then is."""

NO_TEXT = "masked"

_DAY = r"\d{4}(-(0[1-9]|1[0-2])(-(0[1-9]|[12]\d|3[01]))?)?"
_TIME = r"T([01]\d|2[0-3]):[0-5]\d:([0-5]\d|60)(\.\d+)?(Z|[+-]\d\d:\d\d)"
_FORMS = {
    "date": re.compile(_DAY),
    "dateTime": re.compile(rf"{_DAY}|\d{{4}}-\d\d-\d\d{_TIME}"),
    "instant": re.compile(rf"\d{{4}}-\d\d-\d\d{_TIME}"),
    "code": re.compile(r"[^\s*…]+"),
    "uri": re.compile(r"[^\s*…]+"),
    "boolean": re.compile("true|false"),
    "integer": re.compile(r"-?(0|[1-9]\d{0,8})"),
    "decimal": re.compile(r"-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?"),
}
_ENDINGS = (
    ("DateTime", "dateTime"),
    ("Boolean", "boolean"),
    ("Integer", "integer"),
    ("Code", "code"),
    ("Date", "date"),
)
_NAMED = {
    **dict.fromkeys(("birthDate", "expirationDate", "startDate", "dueDate", "statusDate"), "date"),
    **dict.fromkeys(
        ("start", "end", "authoredOn", "recordedDate", "date", "started", "assertedDate", "created", "recorded"),
        "dateTime",
    ),
    **dict.fromkeys(("lastOccurrence", "whenPrepared", "whenHandedOver", "dateAsserted"), "dateTime"),
    **dict.fromkeys(("issued", "lastUpdated"), "instant"),
    **dict.fromkeys(("active", "preferred", "primarySource", "doNotPerform", "isSubpotent"), "boolean"),
    **dict.fromkeys(("sequence", "rank", "numberOfSeries", "numberOfInstances", "count"), "integer"),
    **dict.fromkeys(("code", "status", "gender", "intent", "priority", "use", "lifecycleStatus", "mode"), "code"),
    **dict.fromkeys(("category", "criticality", "severity", "comparator", "kind", "type", "language"), "code"),
    **dict.fromkeys(("system", "url", "fullUrl"), "uri"),
}
_BLANKS = str.maketrans("\r\n\t", "   ")
_OF_QUANTITIES = re.compile(r".*[qQ]uantity|low|high|numerator|denominator|duration|age|dose|value|onsetAge")


def type_of(way: Way) -> str:
    """Return the type of a primitive by the names that lead to it.

    >>> type_of(("birthDate",)), type_of(("valueQuantity", "value")), type_of(("code", "text"))
    ('date', 'decimal', 'string')
    """
    name = way[-1]
    if name == "value" and len(way) > 1 and _OF_QUANTITIES.fullmatch(way[-2]):
        return "decimal"
    ended = next((kind for ending, kind in _ENDINGS if name.endswith(ending) and name not in _NAMED), "string")
    return _NAMED.get(name, ended)


def as_primitive(label: str, kind: str) -> Any:
    """Return what stands for a label in a primitive of a type; None where it cannot.

    >>> as_primitive("2021-05", "dateTime"), as_primitive("2020s", "dateTime"), as_primitive("1.5", "decimal")
    ('2021-05', None, 1.5)
    """
    if kind == "string":
        return label if label != "*" and is_text(label) else None
    if not _FORMS[kind].fullmatch(label) or not is_text(label):
        return None
    if kind in ("integer", "decimal", "boolean"):
        value = orjson.loads(label)
        # What a reader of numbers would not give back as it was is masked.
        return value if kind == "boolean" or number_text(value) == label else None
    return label


def is_text(label: str) -> bool:
    """Return whether a string of FHIR can be this text, which has more than blanks and no control characters.

    >>> is_text("Flu"), is_text(" "), is_text(chr(7))
    (True, False, False)
    """
    return label.strip() != "" and (label.isprintable() or label.translate(_BLANKS).isprintable())
