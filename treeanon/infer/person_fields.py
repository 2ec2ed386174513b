"""Fields that look like ids of persons, by their names and the shape of their values."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import Any

from treeanon.formats import FORMATS
from treeanon.infer.leaves import Leaf
from treeanon.infer.model import Findings, LeftOut, Repeat
from treeanon.infer.roots import PEOPLE
from treeanon.infer.secrets import ENOUGH, words
from treeanon.schema import FieldPath

_IDS = frozenset(
    {"id", "ids", "identifier", "uuid", "guid", "key", "no", "nr", "number", "num", "code", "ref", "reference", "hash"}
    | {"pseudonym", "fk", "sk", "pk", "token"}
)
_JOINED = ("identifier", "number", "uuid", "guid", "key", "id", "no", "nr")
_OF_PERSONS = frozenset(
    {"ssn", "mrn", "empi", "nhs", "nino", "usubjid", "subjid", "pid", "patid", "personid", "custkey", "seqn", "enrolid"}
    | {"bene", "desynpuf"}
)
_PLAIN = frozenset({"id", "uuid", "guid", "identifier"})
_UUID = re.compile(r"(?:urn:uuid:)?[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_REFERENCE = re.compile(rf"(?:.*/)?(?i:{'|'.join(sorted(PEOPLE))})/[^/\s]+")
_ID_LIKE = re.compile(r"(?=.*[0-9])[^\s]{4,}")


NOT_PUBLISHED = "the key of the person, which is not published: a release has fresh numbers"
"""Why the field of `person` is no class."""


def person_fields(leaves: Iterable[Leaf], *, slashed: bool) -> list[Repeat]:
    """Return the fields of records that look like ids of persons, the likeliest first, as counted in a sample.

    Those that repeat come with `repeats`; a schema of their records needs `person`, unless `one_per_person` is true.
    """
    rated = []
    for leaf in leaves:
        if leaf.holder.parent is not None or any(step.repeated for step in leaf.path.steps):
            continue
        score, why = _score(leaf.labels, leaf.values.counts, leaf.values.occurrences)
        if score:
            text, values = leaf.path.text(slashed=slashed), leaf.values
            rated.append((score, Repeat(leaf.path, text, values.occurrences, values.distinct, why)))
    # One that a person's records share is likelier than one that each record has of its own.
    return [found for _, found in sorted(rated, key=lambda each: (-each[0], not each[1].repeats, each[1].text))]


def with_person(findings: Findings, leaves: Iterable[Leaf]) -> Findings:
    """Return the findings with the field that says whose a record is, if one that looks so repeats.

    A class of which each person has one value in all records of the sample lies under the person, after the others.
    """
    key = next((each for each in person_fields(leaves, slashed=findings.slashed) if each.repeats), None)
    if key is None or (findings.sample.format in FORMATS and FORMATS[findings.sample.format].names_classes):
        return findings
    classes = [found for found in findings.classes if found.path != key.path]
    if not any(found.published for found in classes):
        return findings
    paths = [found.path for found in classes if found.path is not None and found.published]
    # What is in another table lies under the row that leads there.
    own_paths = [path for path in paths if len(path.steps) == 1] if findings.is_relational else paths
    same = _same_for_each(findings.sample.records, key.path, own_paths)
    varied = [found for found in classes if found.path not in same]
    own = [replace(found, under="/") for found in classes if found.path in same]
    left = (*findings.left_out, LeftOut(key.text, NOT_PUBLISHED))
    return replace(findings, classes=(*varied, *own), left_out=left, person=key)


def _same_for_each(records: Sequence[Any], key: FieldPath, paths: Sequence[FieldPath]) -> set[FieldPath]:
    """Return the paths of fields of which every person has one value in all records that have any.

    >>> from treeanon.schema.paths import Step
    >>> records = [{"id": 1, "sex": "f", "ill": "Flu"}, {"id": 1, "sex": "f", "ill": "Cold"}]
    >>> by_name = {name: FieldPath((Step(name),)) for name in ("id", "sex", "ill")}
    >>> [path.text(slashed=False) for path in _same_for_each(records, by_name["id"], list(by_name.values())[1:])]
    ['sex']
    """
    found = {path for path in paths if not any(step.repeated for step in path.steps)}
    known: dict[tuple[FieldPath, Any], Any] = {}
    for record in records:
        if not isinstance(record, dict):
            return set()
        person = _value(record, key)
        for path in [path for path in found if person is not None]:
            value = _value(record, path)
            if value is not None and known.setdefault((path, person), value) != value:
                found.discard(path)
    return found


def _value(record: Any, path: FieldPath) -> Any:
    for step in path.steps:
        record = record.get(step.name) if isinstance(record, dict) else None
    return None if isinstance(record, dict | list) or record == "" else record


def _score(labels: Sequence[str], counts: Collection[str], occurrences: int) -> tuple[float, str]:
    """Return how much a field looks like the id of a person, 0 for not at all, and why.

    >>> _score(["patient_id"], ["1", "2"], 2)[0], _score(["doctor_id"], ["1", "2"], 2)[0], _score(["age"], ["34"], 1)[0]
    (3.0, 0, 0)
    """
    parts = [word for label in labels[-2:] for word in words(label)]
    last = words(labels[-1]) if labels else []
    joined = "".join(last)
    if _OF_PERSONS & {*last, joined}:
        return 3.0, "its name is that of an id of persons"
    person = PEOPLE & set(parts)
    if person and last and last[-1] in _IDS:
        return 3.0, "its name is that of an id of persons"
    if any(joined == name + ending for name in PEOPLE for ending in _JOINED):
        return 3.0, "its name is that of an id of persons"
    if counts and all(map(_REFERENCE.fullmatch, counts)):
        return 3.0, "its values are references to persons"
    if person and last and last[-1] in person and counts and all(map(_ID_LIKE.fullmatch, counts)):
        return 2.0, "it is named after persons, and its values are made to be unique"
    if occurrences < ENOUGH:
        return 0, ""
    if len(labels) == 1 and joined in _PLAIN:
        return 1.0, "its name is that of an id"
    if len(labels) == 1 and counts and all(map(_UUID.fullmatch, counts)) and 10 * len(counts) > occurrences:
        return 0.5, "its values are made to be unique (UUID)"
    return 0, ""


def question(found: Repeat, records: str = "records") -> str:
    """Return the question that a field which repeats asks, with both answers."""
    return (
        f"field {found.text!r} looks like the id of a person ({found.why}) and repeats: {found.records:,} {records}"
        f" have {found.distinct:,} different values, so that {records} would be counted for persons. Answer in [input]"
        f" of the schema: person = {_quoted(found.text)}, if all {records} with one value are one person's; or"
        f" one_per_person = true, if each is another person all the same"
    )


def _quoted(text: str) -> str:
    return f"'{text}'" if '"' in text or "\\" in text else f'"{text}"'
